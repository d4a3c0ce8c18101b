internal import AuthKit

extension App {
  /// Detects the settings of the API at `address`, and if that shows nothing, at the root of its
  /// origin: people paste the address of a page.
  ///
  /// - Throws: `usage` for an invalid URL, and what `Detector` throws.
  func detect(_ address: String) throws(Failure) -> Detection {
    try checkURL(address)
    let profile = try transient(address)
    let base = try WebURL(profile.url, from: .person)
    var detector = try Detector(profile, base: base, http: http(for: profile, base: base.origin))
    let detection = try detector.run()
    if let paths = detection.paths { pathCache.keep(paths) }
    guard base.path != "/", !detection.findings.contains(where: { !$0.settings.isEmpty }) else {
      return detection
    }
    let root = try transient(base.origin.description)
    var second = try Detector(
      root, base: try WebURL(root.url, from: .person),
      http: http(for: root, base: base.origin), most: Detector.mostAtRoot)
    var atRoot = try second.run()
    if let paths = atRoot.paths { pathCache.keep(paths) }
    var isFound = false
    for index in atRoot.findings.indices where !atRoot.findings[index].settings.isEmpty {
      isFound = true
      if !atRoot.findings[index].settings.contains(where: { $0.key == "url" }) {
        atRoot.findings[index].settings.insert(("url", .string(atRoot.url)), at: 0)
      }
    }
    let tried = detection.tried + atRoot.tried
    if !isFound { atRoot = detection }
    atRoot.tried = tried
    return atRoot
  }

  /// Finds the authorization server that signs in to the API at `address`.
  ///
  /// - Throws: `usage` when the API names none, and what `Detector` throws.
  func detectAuthorizationServer(_ address: String) throws(Failure) -> Finding {
    let profile = try transient(address)
    let base = try WebURL(profile.url, from: .person)
    var detector = try Detector(profile, base: base, http: http(for: profile, base: base.origin))
    let detection = try detector.runForAuthorizationServer()
    if let finding = detection.best { return finding }
    throw Failure(
      .usage, "\(detection.url) does not say which authorization server signs in to it",
      hint: "name it with --issuer URL")
  }
}

/// The output of detection.
enum Detected {
  /// Returns `authctl profile add NAME URL …`; nil if it must not be printed (rule A13).
  static func command(_ finding: Finding, _ url: String, _ app: App) throws(Failure) -> String? {
    let origin = try WebURL(url, from: .person).origin
    let name = ProfileStore.name(for: origin, taken: try app.profiles.names())
    let base = finding.settings.first { $0.key == "url" }?.value.text ?? url
    return DisplayText.shellCommand(
      ["authctl", "profile", "add", name, base] + words(of: finding.settings))
  }

  private static func words(of settings: [(key: String, value: JSONValue)]) -> [String] {
    settings.flatMap { key, value -> [String] in
      switch (key, value) {
      case ("url", _): return []
      case ("preset", .string(let text)): return ["--preset", text]
      case ("login.body", _): return ["--body", value.serialized()]
      case ("session.access_token", .array(let places)):
        return places.compactMap(\.text).flatMap { ["--token-at", $0] }
      case ("request.headers", .object(let headers)):
        return headers.flatMap { ["--send", "\($0.key): \($0.value.text ?? "")"] }
      default: return ["--set", "\(key)=\(value.text ?? value.serialized())"]
      }
    }
  }

  /// Returns the failure for an API that is not recognised.
  static func nothing(_ detection: Detection) -> Failure {
    Failure(
      .failed,
      "the API at \(detection.url) was not recognized (\(detection.tried.count) requests sent)",
      hint:
        "choose a preset (authctl profile presets), copy its sign-in from the browser as a curl "
        + "command (authctl login --from-curl FILE), or describe it: "
        + "authctl profile add NAME URL --set login.path=/login "
        + #"--body '{"username":"{username}","password":"{password}"}' --token-at /token"#)
  }

  static func json(_ detection: Detection, _ command: String?) -> JSONValue {
    JSONValue.object([
      ("url", .string(detection.url)),
      (
        "findings",
        .array(
          detection.findings.map { finding in
            .object([
              ("certainty", .string(finding.certainty.rawValue)),
              ("place", .string(finding.place)), ("what", .string(finding.what)),
              ("why", .string(finding.why)),
              ("preset", finding.preset.map { .string($0) } ?? nil),
              ("settings", .object(finding.settings)),
            ])
          })
      ),
      ("tried", .array(detection.tried.map { .string($0) })),
      ("command", command.map { .string($0) } ?? nil),
    ])
  }
}
