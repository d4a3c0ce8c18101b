internal import AuthKit

/// The profile that a command works with, and how it was chosen (contract section 5).
struct Choice {
  var profile: Profile
  /// For `-v`: `from AUTHCTL_PROFILE`.
  var reason: String
  /// Whether the origin of an absolute URL chose it.
  var isByURL = false
}

extension App {
  /// Chooses a profile; `target` is the argument of a request.
  ///
  /// - Throws: `usage` when none is named and several could be meant, `not_signed_in` when there is
  ///   none at all.
  func choose(target: String? = nil) throws(Failure) -> Choice {
    let choice = try chosen(target)
    context.profile = choice.profile.name
    return choice
  }

  private func chosen(_ target: String?) throws(Failure) -> Choice {
    if let name = globals.profile { return Choice(profile: try load(name), reason: "from -p") }
    if let target, isURL(target), let choice = try chooseByURL(target) { return choice }
    if let name = environment["AUTHCTL_PROFILE"], !name.isEmpty {
      return Choice(profile: try load(name), reason: "from AUTHCTL_PROFILE")
    }
    if let url = environment["AUTHCTL_URL"], !url.isEmpty {
      return Choice(profile: try transient(url), reason: "from AUTHCTL_URL")
    }
    if let name = try config().defaultProfile {
      return Choice(profile: try load(name), reason: "default")
    }
    let names = try profiles.names()
    if let only = names.first, names.count == 1 {
      return Choice(profile: try profiles.load(only), reason: "the only profile")
    }
    if names.isEmpty {
      let place = target.flatMap { isURL($0) ? try? WebURL($0, from: .person).origin : nil }
      throw Failure(
        .notSignedIn, place.map { "not signed in to \($0)" } ?? "not signed in to any API",
        hint: profiles.homelessHint ?? "authctl login \(place.map(\.description) ?? "URL")")
    }
    throw Failure(
      .usage, "which profile? There are \(names.joined(separator: ", "))",
      hint: "-p NAME, AUTHCTL_PROFILE, or authctl profile default NAME")
  }

  /// Whether a target is a URL and not a path.
  func isURL(_ target: String) -> Bool {
    URLWords.hasScheme(target)
  }

  /// Refuses the target of a request that is neither a path nor a URL.
  func checkTarget(_ target: String) throws(Failure) {
    let isPath = target.utf8.first == UInt8(ascii: "/") && !target.utf8.starts(with: "//".utf8)
    guard isPath || isURL(target) else {
      throw Failure(
        .usage, "\(DisplayText.oneLine(target, limit: 80)) is neither a path nor a URL",
        hint: "a target begins with /, http:// or https://")
    }
  }

  /// Refuses an API's address that has no scheme.
  func checkURL(_ address: String) throws(Failure) {
    guard !isURL(address) else { return }
    let shown = DisplayText.oneLine(address, limit: 60)
    throw Failure(.usage, "\(shown) is not a URL", hint: "write https://\(shown)")
  }

  private func chooseByURL(_ target: String) throws(Failure) -> Choice? {
    let url = try WebURL(target, from: .person)
    let found = try profiles(of: url) { $0.origin == url.origin }
    return try one(of: found, for: url).map {
      Choice(profile: $0, reason: "by its URL", isByURL: true)
    }
  }

  /// The profiles whose `url`, read, is wanted; one with a mistake in it does not stop the others.
  func profiles(of url: WebURL, _ isWanted: (WebURL) -> Bool) throws(Failure) -> [Profile] {
    try profiles.names().compactMap { name in
      guard let profile = try? profiles.load(name),
        let base = try? WebURL(profile.url, from: .person), isWanted(base)
      else { return nil }
      return profile
    }
  }

  /// Of several profiles that of `AUTHCTL_PROFILE`, the default, or the one with the longest
  /// beginning of the URL.
  ///
  /// - Throws: `usage` when that leaves more than one.
  func one(of found: [Profile], for url: WebURL) throws(Failure) -> Profile? {
    if found.count < 2 { return found.first }
    let preferred = [environment["AUTHCTL_PROFILE"], try config().defaultProfile].compactMap { $0 }
    for name in preferred {
      if let profile = found.first(where: { $0.name == name }) { return profile }
    }
    let best = Self.longest(found, matching: url)
    guard best.count == 1 else {
      throw Failure(
        .usage,
        "\(url.origin) is the origin of several profiles: "
          + best.map(\.name).joined(separator: ", "), hint: "-p NAME chooses one")
    }
    return best[0]
  }

  /// The profiles whose path is the longest beginning of the URL's, whole segments only.
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

  /// A profile by its name, or, with a slash, by its file.
  func load(_ name: String) throws(Failure) -> Profile {
    if name.utf8.contains(UInt8(ascii: "/")) { return try ProfileStore.load(file: name) }
    return try profiles.load(name)
  }

  /// The profile that `AUTHCTL_URL` stands for: Bearer, no recipe.
  func transient(_ url: String) throws(Failure) -> Profile {
    let origin = try WebURL(url, from: .person).origin
    return try ProfileReader.read(
      text: "url = \(JSONValue.string(url).serialized())\n",
      name: ProfileStore.name(fromHost: origin.host, taken: []), file: nil, label: "AUTHCTL_URL")
  }

  // MARK: - Tokens of the environment

  /// The session that a variable gives for `choice`; nil when none does (contract section 4).
  ///
  /// - Throws: `origin_refused` when `AUTHCTL_TOKEN` belongs to another origin (rule A1).
  func environmentSession(for choice: Choice) throws(Failure) -> Session? {
    let own = "AUTHCTL_TOKEN_FOR_" + Self.variableName(of: choice.profile.name)
    let variables = [own, "AUTHCTL_TOKEN", "AUTHCTL_TOKEN_FILE"]
    guard let variable = variables.first(where: { !(environment[$0] ?? "").isEmpty }),
      let value = environment[variable]
    else { return nil }
    if variable != own { try checkPin(variable, choice) }
    let base = try WebURL(choice.profile.url, from: .person)
    var values = Values()
    values[.accessToken] = SharedSecret(
      try checked(
        variable == "AUTHCTL_TOKEN_FILE" ? try tokenFile(value) : try token(value, from: variable),
        variable))
    // One origin: no list was fixed at a sign-in, and a profile can be edited.
    var session = Session(
      profile: choice.profile.name, account: "", values: values, now: Self.now(),
      requestOrigins: [base.origin], signInOrigins: [])
    session.variable = variable
    return session
  }

  /// The variable that gives a profile its token, for remarks; the token itself is not read.
  func tokenVariable(of profile: Profile) -> String? {
    let own = "AUTHCTL_TOKEN_FOR_" + Self.variableName(of: profile.name)
    if !(environment[own] ?? "").isEmpty { return own }
    let choice = Choice(profile: profile, reason: "")
    return ["AUTHCTL_TOKEN", "AUTHCTL_TOKEN_FILE"].first { variable in
      !(environment[variable] ?? "").isEmpty && (try? checkPin(variable, choice)) != nil
    }
  }

  /// `AUTHCTL_TOKEN` serves one origin: that of `AUTHCTL_URL`, else of the profile that is named.
  private func checkPin(_ variable: String, _ choice: Choice) throws(Failure) {
    let origin = try WebURL(choice.profile.url, from: .person).origin
    if let url = environment["AUTHCTL_URL"], !url.isEmpty {
      let pinned = try WebURL(url, from: .person).origin
      if pinned == origin { return }
      throw Failure(
        .originRefused, "\(variable) belongs to \(pinned) (AUTHCTL_URL), not to \(origin)",
        hint: "unset \(variable), or give -p the profile of \(pinned)")
    }
    guard choice.isByURL, try profiles.names().count > 1 else { return }
    throw Failure(
      .originRefused, "\(variable) is not sent to a profile that only a URL chose: \(origin)",
      hint: "-p \(choice.profile.name), or AUTHCTL_URL=\(origin), says where it belongs")
  }

  /// What a person gives must be fit for a header at once: it is their mistake, not a server's.
  private func checked(_ token: consuming Secret, _ variable: String) throws(Failure) -> Secret {
    guard token.withBytes({ HeaderSyntax.isRecipeValue($0) }) else {
      throw Failure(.usage, "\(variable) holds a byte that may not stand in a header")
    }
    return token
  }

  private func token(_ text: String, from variable: String) throws(Failure) -> Secret {
    try Secret(text).withBytes { bytes throws(Failure) in
      try SecretText.checked(bytes, name: "token", from: variable, limit: SecretKind.token.limit)
    }
  }

  private func tokenFile(_ path: String) throws(Failure) -> Secret {
    let source = SecretSource(kind: .token, file: path, variable: "AUTHCTL_TOKEN_FILE")
    guard path != "-", let secret = try secrets([source]).read(.token) else {
      throw Failure(.inputNeeded, "AUTHCTL_TOKEN_FILE names no token")
    }
    return secret
  }

  private static func variableName(of profile: String) -> String {
    String(
      decoding: profile.utf8.map { byte in
        switch byte {
        case 0x61...0x7A: byte & 0xDF
        case 0x41...0x5A, 0x30...0x39: byte
        default: UInt8(ascii: "_")
        }
      }, as: UTF8.self)
  }

  // MARK: - Accounts

  /// The account that a command works with, and how it was chosen.
  ///
  /// - Throws: `input_needed` with the list where several are stored and none is named,
  ///   `not_signed_in` where none is.
  func account(of keeper: SessionKeeper) throws(Failure) -> (name: String, reason: String) {
    if let named = namedAccount(keeper.api.profile) { return named }
    let names = try storedAccounts(of: keeper.api.profile.name, in: keeper.store)
    guard let first = names.first else { throw keeper.notSignedIn(nil) }
    guard names.count == 1 else { throw whichAccount(names, of: keeper.api.profile) }
    return (first, "the only session")
  }

  /// Several are stored, and none is named.
  func whichAccount(_ names: [String], of profile: Profile) -> Failure {
    Failure(
      .inputNeeded,
      "\(profile.name): which account? Stored are "
        + names.map { DisplayText.oneLine($0, limit: 80) }.joined(separator: ", "),
      hint: "-u NAME chooses one")
  }

  /// The account that an option, a variable or the profile names.
  func namedAccount(_ profile: Profile) -> (name: String, reason: String)? {
    if let name = globals.username { return (name, "from -u") }
    if let name = environment["AUTHCTL_USERNAME"], !name.isEmpty {
      return (name, "from AUTHCTL_USERNAME")
    }
    return profile.account.map { ($0, "profile's account") }
  }

  /// The first line of `-v`: what was chosen, and why.
  func tell(_ choice: Choice, _ account: (name: String, reason: String)?) {
    let who = account.map { ", \(DisplayText.oneLine($0.name)) (\($0.reason))" } ?? ""
    console.verbose("* \(choice.profile.name) (\(choice.reason))\(who)")
  }

  /// The accounts that have a stored session of the profile.
  func storedAccounts(
    of profile: String, in store: any SessionStore
  ) throws(Failure) -> [String] {
    func mine() throws(Failure) -> [SessionItem] {
      try store.list(profiles: [profile]).filter { item in
        item.profile.map { $0.utf8.elementsEqual(profile.utf8) } ?? true
      }
    }
    var items = try mine()
    // Hashed attributes of a keyring that was never unlocked tell that there is something, not what.
    if items.contains(where: { $0.isLocked && $0.account == nil }) {
      try store.open()
      items = try mine()
    }
    return items.compactMap(\.account).sorted()
  }

  /// The session that a command works with: a variable's, or the stored one.
  func session(for choice: Choice, _ keeper: SessionKeeper) throws(Failure) -> Session {
    if let session = try environmentSession(for: choice) {
      console.verbose("* \(choice.profile.name) (\(choice.reason)), \(session.variable ?? "")")
      return session
    }
    if choice.profile.file == nil {
      throw Failure(
        .notSignedIn, "not signed in to \(keeper.api.base.origin)",
        hint: "AUTHCTL_TOKEN gives a token for AUTHCTL_URL; or authctl login URL")
    }
    let account = try account(of: keeper)
    context.account = account.name
    tell(choice, account)
    guard let session = try keeper.read(account.name) else {
      throw keeper.notSignedIn(account.name)
    }
    return session
  }
}
