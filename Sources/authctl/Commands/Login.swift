internal import ArgumentParser
internal import AuthKit

/// `authctl login [URL]`
struct Login: Command {
  static let configuration = CommandConfiguration(
    commandName: "login", abstract: "Sign in and store the session.",
    discussion: """
      With a URL, the API's base or the address that signs in, a profile is made
      first.

      Examples:
        authctl login https://shop.example/api/login -u ada@shop.example
        authctl login -p shop --if-needed --password-command 'pass show shop'
        authctl login --from-curl copied.txt
      """
  ).alone

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

  @Flag(
    name: .customLong("keep-command"),
    help: "Keep --password-command with the session, to sign in again when it has ended.")
  var keepCommand = false

  @Flag(help: "Sign in as a look at the API suggests.")
  var yes = false

  @Flag(name: .customLong("revoke-old"), help: "End the session that this one replaces.")
  var revokeOld = false

  @OptionGroup var output: JSONOutput
  @OptionGroup(title: "Global options") var globals: Globals

  var wantsJSON: Bool { output.json }

  func run(in app: App) throws(Failure) -> Int32 {
    guard !keepCommand || credentials.password.command != nil else {
      throw Failure(
        .usage, "--keep-command keeps the command of --password-command, and there is none")
    }
    guard !keepCommand || !token.source.isGiven && !refreshToken.source.isGiven else {
      throw Failure(.usage, "--keep-command is for a sign-in, not for a token got elsewhere")
    }
    var described = try APIDescription(profile, in: app)
    var made: NewProfile?
    let choice: ProfileChoice
    var address = try described.base(url)
    if address == nil { address = try askForAddress(app) }
    if let address {
      let isAdopted = token.source.isGiven || refreshToken.source.isGiven
      let new = try NewProfile.make(
        for: address, described, looks: !isAdopted, assumesYes: yes, in: app)
      made = new
      choice = ProfileChoice(profile: new.profile, reason: new.isNew ? "new" : "by its URL")
    } else {
      guard profile.isEmpty else {
        throw Failure(
          .usage, "options that make a profile need the API's address",
          hint: "authctl login URL [OPTIONS], or authctl profile set NAME KEY=VALUE")
      }
      choice = try app.choose()
    }
    do throws(Failure) { return try signIn(choice, made, described, app) } catch {
      // Keep the new profile only if another attempt may succeed (design 5).
      if Self.keepsProfile(error.kind) { try? made?.save(in: app) }
      throw error
    }
  }

  /// Asks for the API's address, on a terminal, when there is no profile.
  private func askForAddress(_ app: App) throws(Failure) -> String? {
    let name = globals.profile ?? app.environment[.profile] ?? app.environment[.url]
    guard name == nil, try app.profiles.names().isEmpty,
      app.mayAsk, let terminal = Terminal.open()
    else { return nil }
    return try terminal.ask(
      "API (its address, or the sign-in address you give to curl)", onNextLine: true)
  }

  private static func keepsProfile(_ kind: Failure.Kind) -> Bool {
    switch kind {
    case .notSignedIn, .inputNeeded, .storeLocked, .storeMissing, .storeTimeout,
      .credentialsRefused:
      true
    default: false
    }
  }

  private func signIn(
    _ choice: ProfileChoice, _ made: NewProfile?, _ described: APIDescription, _ app: App
  ) throws(Failure) -> Int32 {
    let profile = choice.profile
    if let variable = app.tokenVariable(of: profile) {
      app.console.notice("\(variable) is set and serves \(profile.name): nothing was stored.")
      return 0
    }
    guard profile.file != nil else {
      throw Failure(
        .usage, "AUTHCTL_URL names no profile to sign in to",
        suggestion: .loginTo(url: profile.url))
    }
    let keeper = try app.keeper(for: profile)
    let known = app.namedAccount(profile)
    app.logChoice(choice, known)
    let named = try storedAccount(known?.name, app, keeper)
    if ifNeeded, let account = named, try serves(account, keeper) {
      return try report(try keeper.read(account), keeper, app, quietly: true)
    }
    // Check the profile and the store first: never ask for what cannot be kept.
    if made?.isNew ?? false { try app.profiles.checkWritable() }
    try keeper.store.open()
    if let caution = keeper.store.caution { app.console.warn(caution) }
    let signedIn = try signedIn(keeper, app, account: named ?? described.account, described)
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
    guard let session = try keeper.read(account), !session.isRefused else { return false }
    // A session that may no longer be sent to the API is of no use.
    let origins = (try? keeper.permittedOrigins(of: session)) ?? []
    guard origins.contains(keeper.api.base.origin) else { return false }
    guard let left = session.secondsLeft(now: Clock.now()) else { return true }
    return left >= minTTL?.seconds ?? 30 || keeper.canRenew(session)
  }

  /// Returns the new session. Password and codes are gone from memory by then.
  private func signedIn(
    _ keeper: SessionKeeper, _ app: App, account: String?, _ described: APIDescription
  ) throws(Failure) -> SignedIn {
    let profile = keeper.api.profile
    let asker = try CredentialPrompt(
      app: app, profile: profile,
      sources: credentials.sources + [token.source, refreshToken.source], fields: credentials.field)
    if asker.reader.isGiven(.token) || asker.reader.isGiven(.refreshToken) {
      return SignedIn(session: try adopt(asker, keeper, account))
    }
    if profile.recipe.usesOAuth {
      throw Failure(
        .usage, "\(profile.name): sign-in by OAuth ([oauth]) is not in this version yet",
        hint: Suggestion.storeToken(profile.name).command
          .map { $0 + " stores a token of yours" })
    }
    let call = profile.recipe.login
    let account = try asker.account(for: call, keeper.api, known: account)
    app.context.account = account
    let values = try asker.values(
      for: call, keeper.api, account: account, pasted: described.password)
    var wasAskedForCode = values[.otp] != nil
    var signedIn = try Messages.nothingChanged(profile) { () throws(Failure) in
      try keeper.api.login(values, account: account) { (origin) throws(Failure) in
        wasAskedForCode = true
        return try asker.code(at: origin)
      }
    }
    guard keepCommand, let command = credentials.password.command else { return signedIn }
    if wasAskedForCode {
      app.console.warn("the command is not kept: this sign-in wants a one-time code each time")
    } else {
      let reauthentication = Session.Reauthentication(
        command: SharedSecret(command), fields: values.fields)
      signedIn.session.keep(reauthentication, values)
    }
    return signedIn
  }

  private func adopt(
    _ asker: CredentialPrompt, _ keeper: SessionKeeper, _ account: String?
  ) throws(Failure) -> Session {
    var values = TemplateValues()
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
    guard let old, new.hasOtherToken(than: old) else { return }
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
      console.notice("Signed in to \(session.profile) as \(name). \(Messages.validity(session))")
      if let made, made.isNew {
        let file = app.profiles.shown(app.profiles.path(of: session.profile))
        console.notice(
          "Saved: session in \(keeper.store.title), profile in \(file)")
      } else {
        console.notice("Saved: session in \(keeper.store.title).")
      }
      console.next(Messages.nextRequest(keeper.api.profile, app))
    }
    if output.json { try console.out(Messages.json(session, keeper)) }
    return 0
  }
}
