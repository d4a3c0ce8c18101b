internal import ArgumentParser
internal import AuthKit

/// `authctl login [URL]`
struct Login: Command {
  static let configuration = CommandConfiguration(
    commandName: "login", abstract: "Sign in and store the session.",
    discussion: """
      With a URL, the API's base or the address that signs in, a profile is made first.

      Examples:
        authctl login https://shop.example/api/login -u ada@shop.example
        pass show shop | authctl login -p shop --password-stdin
        authctl login -p shop --if-needed --password-command 'pass show shop'
      """)

  @Argument(help: ArgumentHelp("The API's base, or the address that signs in.", valueName: "url"))
  var url: String?

  @OptionGroup(title: "New profile") var profile: ProfileOptions
  @OptionGroup var credentials: CredentialOptions
  @OptionGroup(title: "Token got elsewhere") var token: SecretOptions<TokenNames>
  @OptionGroup(title: "Refresh token got elsewhere") var refreshToken:
    SecretOptions<RefreshTokenNames>

  @Flag(name: .customLong("if-needed"), help: "Do nothing while the stored session serves.")
  var ifNeeded = false

  @Option(
    name: .customLong("min-ttl"), parsing: .unconditional,
    help: ArgumentHelp("With --if-needed: how long it must serve.", valueName: "duration"))
  var minTTL: Duration?

  @Flag(name: .customLong("revoke-old"), help: "End the session that this one replaces.")
  var revokeOld = false

  @OptionGroup var output: JSONOutput
  @OptionGroup(title: "Global options") var globals: Globals

  var wantsJSON: Bool { output.json }

  func run(in app: App) throws(Failure) -> Int32 {
    var made: NewProfile?
    let choice: Choice
    if let url {
      let new = try NewProfile.make(for: url, options: profile, in: app)
      made = new
      choice = Choice(profile: new.profile, reason: new.isNew ? "new" : "by its URL")
    } else {
      guard profile.isEmpty else {
        throw Failure(
          .usage, "options that make a profile need the API's address",
          hint: "authctl login URL [OPTIONS], or authctl profile set NAME KEY=VALUE")
      }
      choice = try app.choose()
    }
    do throws(Failure) { return try signIn(choice, made, app) } catch {
      // A profile that never signed in and is not about to is clutter (contract section 5).
      if Self.keepsProfile(error.kind) { try? made?.save(in: app) }
      throw error
    }
  }

  private static func keepsProfile(_ kind: Failure.Kind) -> Bool {
    switch kind {
    case .notSignedIn, .inputNeeded, .storeLocked, .storeMissing, .storeTimeout,
      .credentialsRefused:
      true
    default: false
    }
  }

  private func signIn(_ choice: Choice, _ made: NewProfile?, _ app: App) throws(Failure) -> Int32 {
    let profile = choice.profile
    if let variable = app.tokenVariable(of: profile) {
      app.console.notice("\(variable) is set and serves \(profile.name): nothing was stored.")
      return 0
    }
    guard profile.file != nil else {
      throw Failure(
        .usage, "AUTHCTL_URL names no profile to sign in to",
        hint: DisplayText.shellCommand(["authctl", "login", profile.url]))
    }
    if profile.recipe.usesOAuth {
      throw Failure(
        .usage, "\(profile.name): sign-in by OAuth ([oauth]) is not in this version yet",
        hint: "authctl login --token-stdin stores a token got elsewhere")
    }
    let keeper = try app.keeper(for: profile)
    let known = app.namedAccount(profile)
    app.tell(choice, known)
    let named = try storedAccount(known?.name, app, keeper)
    if ifNeeded, let account = named, try serves(account, keeper) {
      return try report(try keeper.read(account), keeper, app, quietly: true)
    }
    // A session that cannot be kept must not be asked for: the store comes first.
    try keeper.store.open()
    let signedIn = try signedIn(keeper, app, account: named)
    let session = signedIn.session
    if named == nil, try keeper.read(session.account) != nil {
      throw Failure(
        .answerNotUnderstood,
        "\(profile.name): the server calls this account "
          + "\(DisplayText.oneLine(session.account, limit: 80)), which is signed in already",
        hint: "-u NAME says that it is the same, or gives this one another name")
    }
    let old = revokeOld ? try keeper.read(session.account) : nil
    try made?.save(in: app)
    try keeper.keep(session)
    try endOld(old, session, keeper, app)
    if profile.account == nil, let file = profile.file, file == app.profiles.path(of: profile.name)
    {
      try app.profiles.change(profile.name, set: [("account", .string(session.account))])
    }
    if let place = signedIn.guessedPlace {
      app.console.notice("Token: the only JWT in the answer, at \(DisplayText.oneLine(place)).")
    }
    return try report(session, keeper, app, quietly: false, made: made)
  }

  private func storedAccount(
    _ known: String?, _ app: App, _ keeper: SessionKeeper
  ) throws(Failure) -> String? {
    if let known { return known }
    let names = try app.storedAccounts(of: keeper.api.profile.name, in: keeper.store)
    return names.count == 1 ? names[0] : nil
  }

  private func serves(_ account: String, _ keeper: SessionKeeper) throws(Failure) -> Bool {
    guard let session = try keeper.read(account) else { return false }
    guard let left = session.secondsLeft(now: App.now()) else { return true }
    return left >= minTTL?.seconds ?? 30 || (session.refreshable && keeper.api.canRefresh(session))
  }

  /// The new session. Password and codes are gone from memory when this returns.
  private func signedIn(
    _ keeper: SessionKeeper, _ app: App, account: String?
  ) throws(Failure) -> SignedIn {
    let profile = keeper.api.profile
    let asker = try Asker(
      app: app, profile: profile,
      sources: credentials.sources + [token.source, refreshToken.source], fields: credentials.field)
    if asker.reader.isGiven(.token) || asker.reader.isGiven(.refreshToken) {
      return SignedIn(session: try adopt(asker, keeper, account))
    }
    let call = profile.recipe.login
    let account = try asker.account(for: call, keeper.api, known: account)
    app.context.account = account
    let values = try asker.values(for: call, keeper.api, account: account)
    return try Words.nothingChanged(profile) { () throws(Failure) in
      try keeper.api.login(values, account: account) { (origin) throws(Failure) in
        try asker.code(at: origin)
      }
    }
  }

  private func adopt(
    _ asker: Asker, _ keeper: SessionKeeper, _ account: String?
  ) throws(Failure) -> Session {
    var values = Values()
    if let token = try asker.reader.read(.token) { values[.accessToken] = SharedSecret(token) }
    if let token = try asker.reader.read(.refreshToken) {
      values[.refreshToken] = SharedSecret(token)
    }
    if let key = try asker.reader.read(.appKey) { values[.appKey] = SharedSecret(key) }
    guard values[.accessToken] != nil else {
      throw Failure(.usage, "a refresh token alone makes no session", hint: "--token-stdin too")
    }
    return try keeper.api.adopt(values, account: account ?? "default")
  }

  private func endOld(
    _ old: Session?, _ new: Session, _ keeper: SessionKeeper, _ app: App
  ) throws(Failure) {
    guard let old, let oldToken = old.accessToken, let newToken = new.accessToken,
      !oldToken.hasSameBytes(as: newToken)
    else { return }
    if let reason = keeper.revoke(old).1 {
      app.console.warn("the session before could not be ended: \(reason.message)")
    }
  }

  private func report(
    _ session: Session?, _ keeper: SessionKeeper, _ app: App, quietly: Bool, made: NewProfile? = nil
  ) throws(Failure) -> Int32 {
    guard let session else { return 0 }
    let console = app.console
    if !quietly {
      let name = DisplayText.oneLine(session.account)
      console.notice("Signed in to \(session.profile) as \(name). \(Words.validity(session))")
      if let made, made.isNew {
        let file = app.profiles.shown(app.profiles.path(of: session.profile))
        console.notice(
          "Saved: session in the Secret Service (\(keeper.store.serviceName)), profile in \(file)")
      } else {
        console.notice("Saved: session in the Secret Service (\(keeper.store.serviceName)).")
      }
      console.notice("Next: \(Words.nextRequest(keeper.api.profile, app))")
    }
    if output.json { try console.out(Words.json(session, keeper.api.base.origin, stored: true)) }
    return 0
  }
}

/// The profile that `login URL` works with: one that is there, or a new one.
struct NewProfile {
  var profile: Profile
  /// The text of a new one, which is written when it is known to stay.
  var text: String?

  var isNew: Bool { text != nil }

  /// Writes a new profile's file; one that is there by now stays as it is.
  func save(in app: App) throws(Failure) {
    if let text, try !app.profiles.names().contains(profile.name) {
      try app.profiles.create(profile.name, text: text)
    }
  }

  /// Takes `address` for the API's base or for the address that signs in (contract section 5).
  static func make(
    for address: String, options: ProfileOptions, in app: App
  ) throws(Failure) -> NewProfile {
    guard app.isURL(address) else {
      throw Failure(
        .usage, "\(DisplayText.oneLine(address, limit: 60)) is not a URL",
        hint: "write https://\(DisplayText.oneLine(address, limit: 60))")
    }
    let url = try WebURL(address, from: .person)
    guard url.query == nil else { throw Failure(.usage, "the API's address has no query") }
    var settings = try options.settings()
    var base = url.text
    let last = url.path.utf8.split(separator: UInt8(ascii: "/")).last.map { String($0) ?? "" } ?? ""
    if HTTPClient.signInNames.contains(last.lowercased()) {
      base = url.origin.description
      settings.append(("login.path", .string(url.path)))
    }
    let signInPath = base == url.text ? nil : url.path
    while base.utf8.last == UInt8(ascii: "/") { base.removeLast() }
    let names = try app.profiles.names()
    if let name = app.globals.profile, names.contains(name) {
      return try existing(try app.profiles.load(name), base, signInPath, options)
    }
    if app.globals.profile == nil {
      let known = try WebURL(base, from: .person)
      let same = try app.profiles(of: known) { $0.text == known.text }
      if let profile = try app.one(of: same, for: known) {
        return try existing(profile, base, signInPath, options)
      }
    }
    let name = app.globals.profile ?? ProfileStore.name(fromHost: url.origin.host, taken: names)
    let draft = try app.profiles.draft(name, settings: [("url", .string(base))] + settings)
    return NewProfile(profile: draft.profile, text: draft.text)
  }

  private static func existing(
    _ profile: Profile, _ base: String, _ signInPath: String?, _ options: ProfileOptions
  ) throws(Failure) -> NewProfile {
    let origin = try WebURL(base, from: .person).origin
    guard try WebURL(profile.url, from: .person).origin == origin else {
      throw Failure(
        .usage, "the profile \(profile.name) is of another API: \(profile.url)",
        hint: "leave out -p, or give -p another name")
    }
    let known = profile.values.first { $0.key == "login.path" }?.value.text
    if let signInPath, let known, !known.utf8.elementsEqual(signInPath.utf8) {
      throw Failure(
        .usage, "the profile \(profile.name) signs in at \(known), not at \(signInPath)",
        hint: DisplayText.shellCommand([
          "authctl", "profile", "set", profile.name, "login.path=\(signInPath)",
        ]))
    }
    let wanted = options.isEmpty ? [] : try options.settings()
    let isOther = wanted.contains { setting in
      // The usual preset, where none was named, asks for nothing.
      if setting.key == "preset", options.preset == nil { return false }
      return profile.values.first { $0.key == setting.key }?.value != setting.value
    }
    guard !isOther else {
      throw Failure(
        .usage, "there is a profile for it already, which says otherwise: \(profile.name)",
        hint: "authctl profile set \(profile.name) KEY=VALUE changes it")
    }
    return NewProfile(profile: profile, text: nil)
  }
}
