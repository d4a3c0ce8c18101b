internal import ArgumentParser
internal import AuthKit

/// The options of `login URL` and `profile add` for a new profile.
struct ProfileOptions: ParsableArguments {
  @Option(parsing: .unconditional, help: ArgumentHelp("Start from a preset.", valueName: "name"))
  var preset: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Sign in with this body; it has {username} and {password}.", valueName: "json"))
  var body: String?

  @Flag(help: "Send the body as a form: --body 'name={username}&pw={password}'.")
  var form = false

  @Option(
    name: .customLong("token-at"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp(
      "Read the token from this place: /POINTER, header:NAME, cookie:NAME or body.",
      valueName: "place"))
  var tokenAt: [String] = []

  @Option(
    parsing: .unconditionalSingleValue,
    help: ArgumentHelp(
      "Send this header: 'X-Token: {access_token}'.", valueName: "header"))
  var send: [String] = []

  @Option(
    parsing: .unconditionalSingleValue,
    help: ArgumentHelp("Set any key of the profile.", valueName: "key=value"))
  var set: [String] = []

  @Option(
    name: .customLong("from-curl"), parsing: .unconditional,
    help: ArgumentHelp(
      "Read a curl command, as copied from a browser; - is standard input.",
      valueName: "file|-"))
  var fromCurl: String?

  @OptionGroup var oauth: OAuthOptions

  /// Whether no option is given.
  var isEmpty: Bool {
    preset == nil && body == nil && !form && tokenAt.isEmpty && send.isEmpty && set.isEmpty
      && fromCurl == nil && oauth.isEmpty
  }

  /// The options as they were given; a copied line of curl on standard input cannot be read again.
  var words: [String] {
    func option(_ name: String, _ values: [String]) -> [String] { values.flatMap { [name, $0] } }
    let file = fromCurl.flatMap { $0 == "-" ? nil : $0 }
    return option("--preset", [preset].compactMap { $0 }) + (form ? ["--form"] : [])
      + option("--body", [body].compactMap { $0 }) + option("--token-at", tokenAt)
      + option("--send", send) + option("--set", set)
      + option("--from-curl", [file].compactMap { $0 }) + oauth.words
  }

  /// Whether plain HTTP to another machine is allowed.
  var allowsHTTP: Bool { self.set.contains("network.allow_http=true") }

  /// Returns the keys and values that the options set, in the order of the file. The default preset
  /// sends name and password as JSON or as a form.
  ///
  /// - Throws: `usage` for an unknown preset, a malformed body, or a value of the wrong type.
  func settings() throws(Failure) -> [(key: String, value: JSONValue)] {
    let wanted = try wantedSettings()
    let isComplete = { (key: String) in key == "preset" || key.utf8.starts(with: "oauth.".utf8) }
    if wanted.contains(where: { isComplete($0.key) }) { return wanted }
    return [("preset", .string(form ? "form" : "json"))] + wanted
  }

  /// Returns only the keys and values that the options set, without a default preset.
  ///
  /// - Throws: as `settings`.
  func wantedSettings() throws(Failure) -> [(key: String, value: JSONValue)] {
    var settings: [(key: String, value: JSONValue)] = []
    if let preset {
      settings.append(("preset", try ProfileStore.value(of: "preset", from: preset)))
    }
    if form { settings.append(("login.encoding", "form")) }
    if let body {
      settings.append(("login.body", form ? try formBody(body) : try Self.jsonBody(body)))
    }
    if !tokenAt.isEmpty {
      settings.append(("session.access_token", .array(tokenAt.map { .string($0) })))
    }
    if !send.isEmpty {
      var headers: [(key: String, value: JSONValue)] = []
      for line in send {
        let (name, value) = try split(line, at: ":", option: "--send", form: "'NAME: VALUE'")
        headers.append((name, .string(value.trimmingSpaces)))
      }
      settings.append(("request.headers", .object(headers)))
    }
    for line in set {
      let (key, value) = try split(line, at: "=", option: "--set", form: "KEY=VALUE")
      settings.append((key, try ProfileStore.value(of: key, from: value)))
    }
    settings += oauth.settings
    return settings
  }

  /// Parses a body from `--body` or the terminal.
  static func jsonBody(_ text: String) throws(Failure) -> JSONValue {
    guard let value = try? JSONValue.parse(text), case .object = value else {
      throw Failure(
        .usage, "--body is not a JSON object",
        hint: #"--body '{"user":"{username}","pass":"{password}"}', or --form with a=b&c=d"#)
    }
    return value
  }

  private func formBody(_ text: String) throws(Failure) -> JSONValue {
    var members: [(key: String, value: JSONValue)] = []
    for pair in text.utf8.split(separator: UInt8(ascii: "&")) {
      let (name, value) = try split(
        String(decoding: pair, as: UTF8.self), at: "=", option: "--form --body",
        form: "'name={username}&pw={password}'")
      members.append((name, .string(value)))
    }
    return .object(members)
  }
}

/// Splits `text` at the first `mark`, both sides unchanged.
///
/// - Throws: `usage` when there is no mark or nothing before it.
func split(
  _ text: String, at mark: Unicode.Scalar, option: String, form: String
) throws(Failure) -> (String, String) {
  guard let place = text.utf8.firstIndex(of: UInt8(ascii: mark)), place != text.utf8.startIndex
  else {
    let shown = DisplayText.oneLine(Redactor.withoutUserInformation(text), limit: 60)
    throw Failure(.usage, "\(option) \(shown): write \(form)")
  }
  return (
    String(decoding: text.utf8[..<place], as: UTF8.self),
    String(decoding: text.utf8[text.utf8.index(after: place)...], as: UTF8.self)
  )
}
