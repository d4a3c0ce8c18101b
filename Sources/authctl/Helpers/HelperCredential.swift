internal import AuthKit
internal import Glibc

/// The part that all credential helpers share: what may be handed out (rules A5, A16).
///
/// A helper answers only for an origin that was fixed at sign-in, belongs to exactly one profile,
/// and is spelled as authctl spells it: nothing is normalised until it matches. A helper renews
/// sessions, but never asks, signs in or opens a browser.
struct HelperCredential {
  /// A credential, ready to be written.
  struct Credential {
    var session: Session
    var keeper: SessionKeeper
    /// The header of the recipe that carries it.
    var header: (name: String, value: String)
    /// The token, or the stored password.
    var secret: String

    /// Returns the URLs of `targets`, which may get the credential.
    ///
    /// - Throws: `origin_refused` for any other URL, `usage` for what is no target.
    func urls(of targets: [String], _ app: App) throws(Failure) -> [WebURL] {
      var urls: [WebURL] = []
      for target in targets {
        try app.checkTarget(target)
        let url = try keeper.api.url(for: target)
        guard !URLText.isAbsolute(target) || Origin(canonicalStartOf: target) == url.origin else {
          throw Failure(
            .originRefused, "the target's host is not in canonical form",
            hint: "write \(url.origin)")
        }
        try keeper.check(url, for: session)
        urls.append(url)
      }
      return urls
    }
  }

  let app: App
  /// Whether a stored password may be handed out: only to programs that ask for one.
  let givesPasswords: Bool

  /// Returns the credential for `origin`; nil if there is none, or more than one fits.
  ///
  /// - Parameter username: the account that the program asks for, if any.
  /// - Throws: what reading and renewing the session throws.
  func credential(for origin: Origin, username: String? = nil) throws(Failure) -> Credential? {
    guard origin.isSecure || origin.isLoopback else { return nil }
    guard let choice = try choice(for: origin) else { return nil }
    let keeper = try keeper(for: choice.profile)
    let session: Session?
    do throws(Failure) { session = try self.session(choice, keeper, username) } catch {
      // AUTHCTL_TOKEN is for another API.
      if error.kind == .originRefused { return nil }
      throw error
    }
    guard let session, try keeper.permittedOrigins(of: session).contains(origin) else { return nil }
    return try credential(of: session, keeper, for: origin)
  }

  /// Returns the credential of the profile that `-p` names, whatever program asks.
  ///
  /// - Parameters:
  ///   - helper: the name of the helper, for messages.
  ///   - origin: the destination; nil: the origin of the profile's `url`.
  /// - Throws: `usage` without `-p`; what other commands throw; `origin_refused` when `origin` is not
  ///   the session's.
  static func ofNamedProfile(
    by helper: String, for origin: Origin? = nil, in app: App
  ) throws(Failure) -> Credential {
    guard app.globals.profile != nil else {
      throw Failure(
        .usage, "helper \(helper) requires a profile", hint: "authctl helper \(helper) -p NAME")
    }
    return try HelperCredential(app: app, givesPasswords: false)
      .credential(of: try app.choose(), for: origin)
  }

  private func credential(
    of choice: ProfileChoice, for origin: Origin?
  ) throws(Failure) -> Credential {
    let keeper = try keeper(for: choice.profile)
    try app.checkAccountOption(choice.profile, in: keeper.store)
    guard let session = try session(choice, keeper, nil) else {
      let name = app.namedAccount(choice.profile)?.name
      let stored = try app.storedAccounts(of: choice.profile.name, in: keeper.store)
      if name == nil, stored.count > 1 { throw app.whichAccount(stored, of: choice.profile) }
      throw keeper.notSignedIn(name)
    }
    guard let credential = try credential(of: session, keeper, for: origin) else {
      throw Failure(.usage, "\(choice.profile.name) sends no header with a credential")
    }
    return credential
  }

  private func choice(for origin: Origin) throws(Failure) -> ProfileChoice? {
    if app.globals.profile != nil { return try app.choose() }
    var found: [Profile] = []
    for name in try app.profiles.names() {
      guard let profile = try? app.profiles.load(name),
        let origins = try? profile.requestOrigins()
      else { continue }
      if origins.contains(origin) { found.append(profile) }
    }
    // A profile that is signed out has nothing to answer with.
    let signedIn = try app.signedIn(found)
    if !signedIn.isEmpty { found = signedIn }
    guard found.count == 1 else {
      if !found.isEmpty {
        let names = found.map(\.name).joined(separator: ", ")
        app.console.verbose("* no answer: several profiles are for \(origin): \(names)")
      }
      return nil
    }
    return ProfileChoice(profile: found[0], reason: "by its origin", isByURL: true)
  }

  private func keeper(for profile: Profile) throws(Failure) -> SessionKeeper {
    if !givesPasswords { try Messages.refusePassword(profile, allowed: false) }
    return try app.keeper(for: profile, mayPrompt: false)
  }

  private func credential(
    of session: Session, _ keeper: SessionKeeper, for origin: Origin?
  ) throws(Failure) -> Credential? {
    let handed = try keeper.handOver(session, for: origin) { (session) throws(Failure) in
      try keeper.fresh(session)
    }
    guard let header = try handed.header(), let secret = handed.secret else { return nil }
    return Credential(
      session: handed.session, keeper: keeper, header: header, secret: secret.text)
  }

  private func session(
    _ choice: ProfileChoice, _ keeper: SessionKeeper, _ username: String?
  ) throws(Failure) -> Session? {
    let wanted = username ?? app.namedAccount(choice.profile)?.name
    if var session = try app.environmentSession(for: choice) {
      // A variable has no account: use the name that was given.
      session.account = wanted ?? ""
      return session
    }
    let names = try app.storedAccounts(of: choice.profile.name, in: keeper.store)
    guard let name = wanted ?? (names.count == 1 ? names[0] : nil),
      names.contains(where: { $0.utf8.elementsEqual(name.utf8) })
    else { return nil }
    return try keeper.read(name)
  }

  // MARK: - Reading and writing

  private static let mostInput = 65_536

  /// Returns all of standard input, at most 64 KiB; nil for more.
  static func input() -> [UInt8]? {
    let input = try? Descriptor.contents(STDIN_FILENO, limit: mostInput)
    guard let input else { return [] }
    return input.count > mostInput ? nil : input.withBytes { Array($0) }
  }

  /// Returns a line of standard input without its end; nil at the end of input or above 64 KiB.
  static func line() -> [UInt8]? {
    var line: [UInt8] = []
    while let byte = try? Descriptor.byte(STDIN_FILENO) {
      if byte == UInt8(ascii: "\n") { return line }
      line.append(byte)
      if line.count > mostInput { return nil }
    }
    return line.isEmpty ? nil : line
  }

  /// Refuses a value with a byte that the asking program could read as more than a value.
  ///
  /// - Parameter what: what it is, for the message.
  /// - Throws: `failed`.
  static func check(
    _ value: String, _ what: String = "credential", forbidden: String = ""
  ) throws(Failure) {
    let isFit = value.utf8.allSatisfy { (0x20...0x7E).contains($0) && !forbidden.utf8.contains($0) }
    guard isFit, !value.isEmpty else {
      throw Failure(.failed, "the \(what) contains a character that this format does not allow")
    }
  }

  /// Returns the origin of a registry: a host, with or without a port, or a URL.
  static func origin(ofRegistry text: String) -> Origin? {
    URLText.isAbsolute(text)
      ? Origin(canonicalStartOf: text) : Origin(canonical: "https://" + text)
  }
}
