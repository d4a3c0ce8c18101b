internal import AuthKit

/// The profile that a command works with, and how it was chosen (design 5).
struct ProfileChoice {
  var profile: Profile
  /// For `-v`: `from AUTHCTL_PROFILE`.
  var reason: String
  /// Whether it was chosen by the origin of an absolute URL.
  var isByURL = false
}

extension App {
  /// Chooses a profile; `target` is the argument of a request.
  ///
  /// - Throws: `usage` when none is named and there are several, `not_signed_in` when there are
  ///   none, and what `tokenWithoutAPI` returns when there are none but a token.
  func choose(target: String? = nil) throws(Failure) -> ProfileChoice {
    let choice = try chosen(target)
    context.profile = choice.profile.name
    return choice
  }

  private func chosen(_ target: String?) throws(Failure) -> ProfileChoice {
    if let name = globals.profile {
      return ProfileChoice(profile: try load(name), reason: "from -p")
    }
    if let target, isURL(target), let choice = try chooseByURL(target) { return choice }
    if let name = environment[.profile] {
      return ProfileChoice(profile: try load(name), reason: "from AUTHCTL_PROFILE")
    }
    if let url = environment[.url] {
      return ProfileChoice(profile: try transient(url), reason: "from AUTHCTL_URL")
    }
    if let name = try config().defaultProfile {
      return ProfileChoice(profile: try load(name), reason: "default")
    }
    let names = try profiles.names()
    if let only = names.first, names.count == 1 {
      return ProfileChoice(profile: try profiles.load(only), reason: "the only profile")
    }
    if names.isEmpty {
      let place = target.flatMap { isURL($0) ? try? WebURL($0, from: .person).origin : nil }
      if let failure = tokenWithoutAPI(for: place) { throw failure }
      throw Failure(
        .notSignedIn, place.map { "not signed in to \($0)" } ?? "not signed in to any API",
        hint: profiles.homelessHint
          ?? Suggestion.loginTo(url: place?.description ?? "URL").command)
    }
    throw Failure(
      .usage, "several profiles and no default: \(names.joined(separator: ", "))",
      hint: "use -p NAME, or to set the default, run: authctl use NAME")
  }

  /// Whether there is no profile, and neither an option nor a variable names an API.
  func isWithoutAPI() throws(Failure) -> Bool {
    guard globals.profile == nil, environment[.profile] == nil, environment[.url] == nil else {
      return false
    }
    return try profiles.names().isEmpty
  }

  /// Whether a target is an absolute URL, not a path.
  func isURL(_ target: String) -> Bool {
    URLText.isAbsolute(target)
  }

  /// Whether a target is a path of the API; one that begins with two slashes would name a host.
  static func isPath(_ target: String) -> Bool {
    target.utf8.first == UInt8(ascii: "/") && !target.utf8.starts(with: "//".utf8)
  }

  /// Rejects the target of a request that is neither a path nor a URL.
  ///
  /// - Parameter command: the words before the target, for a hint with the path it may mean.
  func checkTarget(_ target: String, after command: [String] = []) throws(Failure) {
    guard Self.isPath(target) || isURL(target) else {
      throw Failure(
        .usage,
        "\(DisplayText.oneLine(Redactor.withoutUserInformation(target), limit: 80)) is neither a "
          + "path nor a URL",
        hint: hint(for: target, after: command) ?? "a target begins with /, http:// or https://")
    }
  }

  /// Rejects a URL with the parameter through which the profile sends its credential (rule B2).
  func checkParameters(of url: WebURL, _ profile: Profile) throws(Failure) {
    guard let name = profile.credentialParameter(in: url) else { return }
    throw Failure(
      .usage,
      "\(profile.name) sends its credential in the parameter \(DisplayText.oneLine(name, limit: 40))",
      hint: "use --anonymous to send your own")
  }

  /// Returns the command with the path or URL that `target` may mean.
  private func hint(for target: String, after command: [String]) -> String? {
    let first = target.utf8.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
    // User information may be anywhere in what is no URL.
    guard !command.isEmpty, !first.isEmpty, !target.utf8.contains(UInt8(ascii: "@")) else {
      return nil
    }
    let isHost = first.contains(UInt8(ascii: ".")) || first.contains(UInt8(ascii: ":"))
    let profile = globals.profile.map { ["-p", $0] } ?? []
    return DisplayText.shellCommand(
      ["authctl"] + command + profile + [(isHost ? "https://" : "/") + target])
  }

  /// Rejects an API's address without a scheme.
  func checkURL(_ address: String) throws(Failure) {
    guard !isURL(address) else { return }
    let shown = DisplayText.oneLine(Redactor.withoutUserInformation(address), limit: 60)
    throw Failure(.usage, "\(shown) is not a URL", hint: "write https://\(shown)")
  }

  private func chooseByURL(_ target: String) throws(Failure) -> ProfileChoice? {
    let url = try WebURL(target, from: .person)
    let all = try profiles(at: url.origin)
    let signedIn = try signedIn(all)
    return try one(of: signedIn.isEmpty ? all : signedIn, for: url, areSignedIn: !signedIn.isEmpty)
      .map { ProfileChoice(profile: $0, reason: "by its URL", isByURL: true) }
  }

  /// Returns those of several profiles that have a session, of which `AUTHCTL_PROFILE` comes first;
  /// none where that is not known or makes no difference.
  func signedIn(_ found: [Profile]) throws(Failure) -> [Profile] {
    if found.count < 2 || found.contains(where: { $0.name == environment[.profile] }) { return [] }
    let items = (try? store(mayPrompt: false).list(profiles: found.map(\.name))) ?? []
    // A keyring that shows no names may have a session of any profile.
    if items.contains(where: { $0.profile == nil && $0.isLocked }) { return [] }
    return found.filter { profile in
      items.contains { $0.profile.map { $0.utf8.elementsEqual(profile.name.utf8) } ?? false }
        || !(environment[Variable.token(of: profile.name)] ?? "").isEmpty
    }
  }

  /// Returns the profiles whose `url` has this origin; skips profiles with a mistake.
  func profiles(at origin: Origin) throws(Failure) -> [Profile] {
    try profiles.names().compactMap { name in
      guard let profile = try? profiles.load(name),
        let base = try? WebURL(profile.url, from: .person), base.origin == origin
      else { return nil }
      return profile
    }
  }

  /// Returns one of several profiles: that of `AUTHCTL_PROFILE`, else the default, else the one
  /// whose path is the longest prefix of the URL's.
  ///
  /// - Parameter areSignedIn: whether they are known to have sessions, for the message.
  /// - Throws: `usage` when that leaves more than one.
  func one(
    of found: [Profile], for url: WebURL, areSignedIn: Bool = false
  ) throws(Failure) -> Profile? {
    if found.count < 2 { return found.first }
    let preferred = [environment[.profile], try config().defaultProfile].compactMap { $0 }
    for name in preferred {
      if let profile = found.first(where: { $0.name == name }) { return profile }
    }
    let best = Self.longest(found, matching: url)
    guard best.count == 1 else {
      throw Failure(
        .usage,
        "\(url.origin) is the origin of several profiles\(areSignedIn ? " with a session" : ""): "
          + best.map(\.name).joined(separator: ", "), hint: "choose one with -p NAME")
    }
    return best[0]
  }

  /// Returns the profiles whose path is the longest prefix of the URL's, in whole segments.
  private static func longest(_ profiles: [Profile], matching url: WebURL) -> [Profile] {
    func segments(_ path: String) -> [String] {
      path.utf8.split(separator: UInt8(ascii: "/")).map { String(decoding: $0, as: UTF8.self) }
    }
    let wanted = segments(url.path)
    let lengths = profiles.map { profile -> Int in
      guard let base = try? WebURL(profile.url, from: .person) else { return -1 }
      let own = segments(base.path)
      return wanted.starts(with: own, by: { $0.utf8.elementsEqual($1.utf8) }) ? own.count : -1
    }
    let longest = lengths.max() ?? -1
    return zip(profiles, lengths).filter { $0.1 == longest }.map(\.0)
  }

  /// Loads a profile by its name or, if `name` has a slash, from that file.
  func load(_ name: String) throws(Failure) -> Profile {
    if name.utf8.contains(UInt8(ascii: "/")) { return try ProfileStore.load(file: name) }
    if let profile = begun?.profile, profile.name.utf8.elementsEqual(name.utf8) { return profile }
    return try profiles.load(name)
  }

  /// Returns the temporary profile for `AUTHCTL_URL`: Bearer, no recipe.
  func transient(_ url: String) throws(Failure) -> Profile {
    let origin = try WebURL(url, from: .person).origin
    return try ProfileReader.read(
      text: "url = \(JSONValue.string(url).serialized())\n",
      name: origin.isAddress ? origin.host : ProfileStore.name(for: origin, taken: []), file: nil,
      label: Variable.url.rawValue)
  }
}
