internal import ArgumentParser
internal import AuthKit

/// `authctl register [URL]`
struct Register: Command {
  static let configuration = CommandConfiguration(
    commandName: "register", abstract: "Create an account at the API.",
    discussion: """
      With a URL, authctl creates a profile, and saves it if the server creates the
      account. It stores a session only if the answer has tokens. On a terminal, it
      asks for the new password twice.

      Examples:
        authctl register -p shop -u ada@shop.example
        authctl register https://shop.example --preset express-jwt -u ada
        authctl register -u ada@shop.example --password-file pw.txt --field roleId=1
      """
  ).alone

  @Argument(help: ArgumentHelp("The API's base URL, or its sign-in URL.", valueName: "url"))
  var url: String?

  @OptionGroup(title: "New profile") var profile: ProfileOptions
  @OptionGroup var credentials: CredentialOptions

  @Flag(help: "Use the detected settings without asking.")
  var yes = false

  @OptionGroup var output: JSONOutput
  @OptionGroup(title: "Global options") var globals: Globals

  var wantsJSON: Bool { output.json }

  func run(in app: App) throws(Failure) -> Int32 {
    let (choice, made) = try chosen(app)
    let profile = choice.profile
    app.logChoice(choice, app.namedAccount(profile))
    let keeper = try app.keeper(for: profile)
    try keeper.api.check(profile.recipe.register)
    if made?.isNew ?? false { try app.profiles.checkWritable() }
    try keeper.store.open()
    if let caution = keeper.store.caution { app.console.warn(caution) }
    let (account, signedIn) = try registered(keeper, app)
    try made?.save(in: app)
    let name = account.map { DisplayText.oneLine($0) } ?? "the account"
    guard let session = signedIn?.session else {
      let rest = made?.isNew ?? false ? "no session" : "nothing"
      app.console.notice("Registered \(name) at \(profile.name); \(rest) was stored.")
      tellSaved(made, app)
      let next = Suggestion.login(profile.name, account: account).command
      app.console.next(next ?? "authctl login")
      if output.json {
        try app.console.out(
          JSONValue.object([
            ("profile", .string(profile.name)), ("account", account.map { .string($0) } ?? nil),
            ("origin", .string(keeper.api.base.origin.description)), ("expires_at", nil),
            ("refreshable", nil), ("store", nil),
          ]))
      }
      return 0
    }
    try keeper.keep(session)
    app.console.notice(
      "Registered and signed in to \(profile.name) as \(name). \(Messages.validity(session))")
    tellSaved(made, app)
    app.makeFirstDefault(profile, in: keeper.store)
    Messages.tellUnusedRefreshToken(of: session, keeper, app)
    if output.json {
      try app.console.out(Messages.json(session, keeper))
    }
    return 0
  }

  /// Returns the profile, which is new if there is a URL and no profile for it.
  private func chosen(_ app: App) throws(Failure) -> (ProfileChoice, NewProfile?) {
    guard profile.fromCurl == nil else {
      throw Failure(
        .usage, "--from-curl describes a sign-in, not a registration",
        hint: "authctl login --from-curl FILE")
    }
    guard let url else {
      guard profile.isEmpty else {
        throw Failure(
          .usage, "options for a new profile require the API's URL",
          hint: "add the URL, or to change a profile, run: authctl profile set NAME KEY=VALUE")
      }
      return (try app.choose(), nil)
    }
    let described = try APIDescription(profile, in: app)
    let made = try NewProfile.make(for: url, described, looks: true, assumesYes: yes, in: app)
    app.context.profile = made.profile.name
    return (ProfileChoice(profile: made.profile, reason: made.isNew ? "new" : "by its URL"), made)
  }

  private func tellSaved(_ made: NewProfile?, _ app: App) {
    guard let made, made.isNew else { return }
    let file = app.profiles.shown(app.profiles.path(of: made.profile.name))
    app.console.notice("Saved: profile in \(file)")
  }

  /// Returns the account's name, and a session if the server gave one. The password is gone from
  /// memory by then.
  private func registered(
    _ keeper: SessionKeeper, _ app: App
  ) throws(Failure) -> (String?, SignedIn?) {
    let profile = keeper.api.profile
    let asker = try CredentialPrompt(
      app: app, profile: profile, sources: credentials.sources, fields: credentials.field)
    let call = profile.recipe.register
    let known = app.namedAccount(profile)?.name
    let account = try asker.account(for: call, keeper.api, known: known)
    app.context.account = account
    let values = try asker.values(for: call, keeper.api, account: account, isNew: true)
    let signedIn = try Messages.nothingChanged(profile) { () throws(Failure) in
      try keeper.api.register(values, account: account)
    }
    return (account, signedIn)
  }
}
