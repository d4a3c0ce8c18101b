internal import ArgumentParser
internal import AuthKit

/// `authctl register`
struct Register: Command {
  static let configuration = CommandConfiguration(
    commandName: "register", abstract: "Create an account at the API.",
    discussion: """
      Nothing is stored unless the server answers with tokens.

      Examples:
        authctl register -p shop -u ada@shop.example
        authctl register -u ada@shop.example --password-file pw.txt --field roleId=1
      """
  ).alone

  @OptionGroup var credentials: CredentialOptions
  @OptionGroup var output: JSONOutput
  @OptionGroup(title: "Global options") var globals: Globals

  var wantsJSON: Bool { output.json }

  func run(in app: App) throws(Failure) -> Int32 {
    let choice = try app.choose()
    let profile = choice.profile
    app.logChoice(choice, app.namedAccount(profile))
    let keeper = try app.keeper(for: profile)
    try keeper.api.check(profile.recipe.register)
    try keeper.store.open()
    if let caution = keeper.store.caution { app.console.warn(caution) }
    let (account, signedIn) = try registered(keeper, app)
    let name = account.map { DisplayText.oneLine($0) } ?? "the account"
    guard let session = signedIn?.session else {
      app.console.notice("Registered \(name) at \(profile.name); nothing was stored.")
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
    app.makeFirstDefault(profile, in: keeper.store)
    if output.json {
      try app.console.out(Messages.json(session, keeper))
    }
    return 0
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
    let values = try asker.values(for: call, keeper.api, account: account)
    let signedIn = try Messages.nothingChanged(profile) { () throws(Failure) in
      try keeper.api.register(values, account: account)
    }
    return (account, signedIn)
  }
}
