internal import ArgumentParser
internal import AuthKit

/// `authctl login [URL]`
struct Login: Command {
  static let configuration = CommandConfiguration(
    commandName: "login", abstract: "Sign in and store the session.",
    discussion: """
      With a URL, authctl creates a profile and saves it if the sign-in succeeds. The
      URL is the API's base or the address of its sign-in. The first profile that
      signs in becomes the default.

      Examples:
        authctl login https://shop.example/api/login -u ada@shop.example
        authctl login shop --if-needed --password-command 'pass show shop'
        authctl login --from-curl copied.txt

      Presets (authctl profile presets FILTER describes them):
      \(Presets.list)
      """
  ).alone

  @Argument(
    help: ArgumentHelp(
      "The API's base URL, its sign-in URL, or a profile.", valueName: "url|name"))
  var target: String?

  @OptionGroup(title: "New profile") var profile: ProfileOptions
  @OptionGroup(title: "Browser sign-in") var browser: BrowserOptions
  @OptionGroup var credentials: CredentialOptions
  @OptionGroup(title: "Subject token") var subject: SubjectOptions
  @OptionGroup(title: "Existing token") var token: SecretOptions<TokenNames>
  @OptionGroup(title: "Existing refresh token") var refreshToken: SecretOptions<RefreshTokenNames>

  @Flag(name: .customLong("if-needed"), help: "Do nothing if the stored session is still valid.")
  var ifNeeded = false

  @Option(
    name: .customLong("min-ttl"), parsing: .unconditional,
    help: ArgumentHelp("With --if-needed, require at least this validity.", valueName: "duration"))
  var minTTL: Duration?

  @Flag(
    name: .customLong("keep-command"),
    help: "Keep --password-command or --subject-token-command, to sign in again.")
  var keepCommand = false

  @Flag(help: "Use detected or copied settings without asking.")
  var yes = false

  @Flag(name: .customLong("revoke-old"), help: "End the replaced session at the server.")
  var revokeOld = false

  @OptionGroup var output: JSONOutput
  @OptionGroup(title: "Global options") var globals: Globals

  var wantsJSON: Bool { output.json }

  func run(in app: App) throws(Failure) -> Int32 {
    guard !keepCommand || credentials.password.command != nil || subject.token.command != nil else {
      throw Failure(
        .usage, "--keep-command requires --password-command or --subject-token-command")
    }
    try subject.check()
    guard !keepCommand || !token.source.isGiven && !refreshToken.source.isGiven else {
      throw Failure(.usage, "--keep-command cannot be used with an existing token")
    }
    let url = try givenURL(app)
    var described = try APIDescription(profile, assumesYes: yes, in: app) { (url) throws(Failure) in
      try checkLine(url, app)
    }
    if subject.given != nil { described.useTokenExchange() }
    var address = try described.base(url)
    if address == nil { address = try askForAddress(app) }
    if let address { return try signIn(at: address, described, app) }
    guard profile.isEmpty else {
      throw Failure(
        .usage, "options for a new profile require the API's URL",
        hint: "add the URL, or to change a profile, run: authctl profile set NAME KEY=VALUE")
    }
    let choice = try app.choose()
    do throws(Failure) { return try signIn(choice, nil, described, app) } catch {
      throw namingSource(error, app)
    }
  }

  /// Signs in to the API at `address`; saves a new profile only when that has succeeded (design 5).
  private func signIn(
    at address: String, _ described: APIDescription, _ app: App
  ) throws(Failure) -> Int32 {
    var new: NewProfile?
    do throws(Failure) {
      let made = try NewProfile.make(
        for: address, described, looks: !isAdopted(described), assumesYes: yes, in: app)
      new = made
      let choice = ProfileChoice(profile: made.profile, reason: made.isNew ? "new" : "by its URL")
      return try signIn(choice, made, described, app)
    } catch {
      throw new?.isNew == false
        ? namingSource(error, app)
        : unsaved(error, address, new?.profile.recipe, described, app)
    }
  }

  private func isAdopted(_ described: APIDescription) -> Bool {
    token.source.isGiven || refreshToken.source.isGiven || described.token != nil
  }

  /// Adds the source of a refused password to the hint, where nobody can type it.
  private func namingSource(_ failure: Failure, _ app: App) -> Failure {
    guard failure.kind == .credentialsRefused, !app.mayAsk, let hint = failure.hint,
      hint.utf8.starts(with: "authctl login".utf8)
    else { return failure }
    var failure = failure
    if let words = credentials.password.source.words {
      failure.hint = DisplayText.shellCommand(words).map { "\(hint) \($0)" }
    } else if app.environment[.password] != nil {
      failure.hint = "correct \(Variable.password.rawValue), then run: \(hint)"
    }
    return failure
  }

  /// Returns the URL of the argument; nil if it names a profile, which is then that of `-p`.
  private func givenURL(_ app: App) throws(Failure) -> String? {
    guard let target, !app.isURL(target) else { return target }
    let names = try app.profiles.names()
    if !names.contains(target), ![".", "/"].contains(target.prefix(1)) {
      // A host without its scheme.
      if target.utf8.contains(where: { ".:/".utf8.contains($0) }) { try app.checkURL(target) }
      if names.isEmpty {
        throw Failure(
          .usage, "no profile called \(DisplayText.oneLine(target, limit: 80))",
          suggestion: .loginTo(url: "URL"))
      }
    }
    try app.take(profile: target)
    return nil
  }

  /// Refuses a copied line of curl that uses plain HTTP, and opens the store, before any question.
  private func checkLine(_ text: String, _ app: App) throws(Failure) {
    let url = try WebURL(text, from: .person)
    let isKnown = try !app.profiles(at: url.origin).isEmpty
    if !isKnown, !profile.allowsHTTP {
      try HTTPClient.checkPlainHTTP(to: url.origin, isNew: true)
    }
    if app.mayAsk { try openStore(app) }
  }

  /// Opens the store, so that nobody is asked for what cannot be kept; not if a variable gives a
  /// token.
  private func openStore(_ app: App) throws(Failure) {
    if !App.namesToken(app.environment) { try app.store().open() }
  }

  /// Returns `failure` with the command to repeat, unless another hint helps: a hint may not name
  /// the new profile, which is not saved.
  private func unsaved(
    _ failure: Failure, _ address: String, _ recipe: Recipe?, _ described: APIDescription,
    _ app: App
  ) -> Failure {
    var failure = failure
    let takesNoPassword = recipe.map { $0.login == nil && $0.oauth == nil } ?? false
    switch failure.kind {
    case .usage where takesNoPassword && !isAdopted(described):
      failure.hint = repeated(address, app).map {
        "to store a token, run: \($0) --token-stdin"
      }
    case .usage: break
    case .credentialsRefused where failure.hint?.utf8.starts(with: "authctl login".utf8) ?? true:
      failure.hint = repeated(address, app)
      return namingSource(failure, app)
    default: failure.hint = failure.hint ?? repeated(address, app)
    }
    return failure
  }

  /// Returns this command with all options that decide how it signs in, except those that give a
  /// secret.
  private func repeated(_ address: String, _ app: App) -> String? {
    func option(_ name: String, _ value: String?) -> [String] { value.map { [name, $0] } ?? [] }
    func flag(_ name: String, _ isSet: Bool) -> [String] { isSet ? [name] : [] }
    var words = ["authctl", "login"] + [address]
    words += option("-p", globals.profile) + option("-u", app.context.account ?? globals.username)
    words +=
      profile.words + browser.words + subject.words + credentials.field.flatMap { ["--field", $0] }
    words += flag("--if-needed", ifNeeded) + option("--min-ttl", minTTL?.text)
    words += flag("--yes", yes) + flag("--revoke-old", revokeOld) + flag("--trust", globals.trust)
    words += option("--store", globals.store)
    words += option("--store-timeout", globals.storeTimeout?.text)
    words += option("--lock-timeout", globals.lockTimeout?.text)
    return DisplayText.shellCommand(words)
  }

  /// Asks for the API's address, on a terminal, when there is no profile.
  private func askForAddress(_ app: App) throws(Failure) -> String? {
    let name = app.globals.profile ?? app.environment[.profile] ?? app.environment[.url]
    guard name == nil, try app.profiles.names().isEmpty,
      app.mayAsk, let terminal = Terminal.open()
    else { return nil }
    try openStore(app)
    return try terminal.ask(
      "API URL (its base URL or its sign-in URL)", onNextLine: true)
  }

  private func signIn(
    _ choice: ProfileChoice, _ made: NewProfile?, _ described: APIDescription, _ app: App
  ) throws(Failure) -> Int32 {
    let profile = choice.profile
    if let variable = app.tokenVariable(of: profile) {
      app.console.notice("Nothing was stored: \(variable) is set and is used for \(profile.name).")
      return 0
    }
    guard profile.file != nil else {
      throw Failure(
        .usage, "AUTHCTL_URL is not a profile, so you cannot sign in to it",
        suggestion: .loginTo(url: profile.url))
    }
    let keeper = try app.keeper(for: profile)
    if !isAdopted(described) { try keeper.api.check(profile.recipe.login) }
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
          + "\(DisplayText.oneLine(session.account, limit: 80)), which already has a session",
        hint: "use -u with that name to replace the session, or with another name to store both")
    }
    let old = revokeOld ? try keeper.read(session.account) : nil
    try made?.save(in: app)
    if !signedIn.changes.isEmpty, profile.file == app.profiles.path(of: profile.name) {
      try app.profiles.change(profile.name, set: signedIn.changes)
    }
    try keeper.keep(session)
    try endOld(old, session, keeper, app)
    if profile.account == nil, let file = profile.file, file == app.profiles.path(of: profile.name)
    {
      try app.profiles.change(profile.name, set: [("account", .string(session.account))])
    }
    if let place = signedIn.guessedPlace {
      app.console.notice(
        "Found the token at \(DisplayText.oneLine(place)), the only JWT in the answer.")
    }
    if let path = signedIn.refusedPath {
      app.console.notice(
        "The server accepted the password but refused the path (\(path)); "
          + "set login.path to a path that you can read.")
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
      sources: credentials.sources + [token.source, refreshToken.source, subject.token.source],
      fields: credentials.field)
    let isToken = asker.reader.isGiven(.token) || described.token != nil
    if !isToken, asker.reader.isGiven(.refreshToken) {
      throw Failure(
        .usage, "a refresh token requires an access token", hint: "add --token-stdin")
    }
    if let token = try asker.token(pasted: described.token) {
      return SignedIn(session: try adopt(token, asker, keeper, account))
    }
    if let oauth = profile.recipe.oauth {
      let login = OAuthLogin(
        app: app, keeper: keeper, settings: try self.profile.oauth.applied(to: oauth), asker: asker,
        options: browser,
        subject: try SubjectToken(
          subject, audience: self.profile.oauth.audience, asker.reader, in: app),
        keepsCommand: keepCommand,
        passwordCommand: credentials.password.command.map { SharedSecret($0) }, assumesYes: yes)
      return try Messages.nothingChanged(profile) { () throws(Failure) in
        try login.signIn(account: app.givenAccount, known: account)
      }
    }
    if let option = subject.given {
      throw Failure(
        .usage, "\(profile.name): \(option) is for a sign-in at an authorization server",
        hint: "--issuer URL makes a profile that has one")
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
      app.console.warn(
        "the command was not stored: this sign-in requires a one-time code each time")
    } else {
      let reauthentication = Session.Reauthentication(
        command: SharedSecret(command), fields: values.fields)
      signedIn.session.keep(reauthentication, values)
    }
    return signedIn
  }

  private func adopt(
    _ token: SharedSecret, _ asker: CredentialPrompt, _ keeper: SessionKeeper,
    _ account: String?
  ) throws(Failure) -> Session {
    var values = TemplateValues()
    values[.accessToken] = token
    if let token = try asker.reader.read(.refreshToken) {
      values[.refreshToken] = SharedSecret(token)
    }
    if let key = try asker.reader.read(.appKey) { values[.appKey] = SharedSecret(key) }
    return try keeper.api.adopt(values, account: account ?? "default")
  }

  private func endOld(
    _ old: Session?, _ new: Session, _ keeper: SessionKeeper, _ app: App
  ) throws(Failure) {
    guard let old, new.hasOtherToken(than: old) else { return }
    if let reason = keeper.revoke(old).1 {
      app.console.warn("cannot end the earlier session: \(reason.message)")
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
      app.makeFirstDefault(keeper.api.profile, in: keeper.store)
      Messages.tellUnusedRefreshToken(of: session, keeper, app)
      console.next(Messages.nextRequest(keeper.api.profile, app))
    }
    if output.json { try console.out(Messages.json(session, keeper)) }
    return 0
  }
}
