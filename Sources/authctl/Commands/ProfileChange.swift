internal import ArgumentParser
internal import AuthKit

/// `authctl profile add NAME URL`
struct ProfileAdd: Command {
  static let configuration = CommandConfiguration(
    commandName: "add", abstract: "Make a profile.",
    discussion: """
      Examples:
        authctl profile add school http://127.0.0.1:8101 --preset express-jwt
        authctl profile add shop https://api.shop.example --set login.path=/auth \\
          --body '{"user":"{username}","pass":"{password}"}' --token-at /data/jwt
        authctl profile add shop-test https://test.shop.example --like shop
      """
  ).alone

  @Argument(help: ArgumentHelp("Its name.", valueName: "name")) var name: String
  @Argument(help: ArgumentHelp("The API's base; --from-curl knows it.", valueName: "url"))
  var url: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Start from another profile; its account is not taken.", valueName: "name"))
  var like: String?

  @Flag(help: "Over a profile of this name.") var replace = false
  @OptionGroup(title: "How the API wants to be spoken to") var options: ProfileOptions
  @OptionGroup var output: JSONOutput
  @OptionGroup(title: "Global options") var globals: Globals

  var wantsJSON: Bool { output.json }

  func run(in app: App) throws(Failure) -> Int32 {
    let draft = try draft(app)
    try app.profiles.write(draft.text, as: name, replacing: replace)
    let file = app.profiles.shown(app.profiles.path(of: name))
    app.console.notice("Made the profile \(name): \(file)")
    let recipe = draft.profile.recipe
    for call in [recipe.login, recipe.register, recipe.refresh] where call?.secretsInURL == true {
      app.console.warn("\(name): secrets_in_url puts secrets into the logs of servers and proxies")
    }
    app.console.notice("Next: \(DisplayText.shellCommand(["authctl", "login", "-p", name]) ?? "")")
    if output.json { try app.console.out(Shown.json(of: draft.profile)) }
    return 0
  }

  private func draft(_ app: App) throws(Failure) -> (profile: Profile, text: String) {
    if let like {
      guard options.preset == nil, options.fromCurl == nil else {
        throw Failure(.usage, "--like and --preset or --from-curl exclude each other")
      }
      var settings = try options.wantedSettings()
      if let url { settings.insert(("url", .string(url)), at: 0) }
      return try app.profiles.draft(name, like: like, settings: settings)
    }
    var described = try Described(options, in: app)
    guard let base = try described.base(url) else {
      throw Failure(
        .usage, "missing expected argument <url>", hint: "authctl profile add \(name) https://...")
    }
    try ProfileStore.check(url: base)
    return try app.profiles.draft(name, settings: [("url", .string(base))] + described.settings)
  }
}

/// `authctl profile set NAME KEY=VALUE…`
struct ProfileSet: Command {
  static let configuration = CommandConfiguration(
    commandName: "set", abstract: "Change keys of a profile; comments stay.",
    usage: "authctl profile set [<options>] <name> [<key=value> ...]",
    discussion: """
      Examples:
        authctl profile set shop account=bob@shop.example
        authctl profile set shop login.path=/login session.access_token=/data/jwt
        authctl profile set shop --unset account
      """
  ).alone

  @Argument(help: ArgumentHelp("Its name.", valueName: "name")) var name: String
  @Argument(help: ArgumentHelp("Keys as in the file, with dots.", valueName: "key=value"))
  var settings: [String] = []

  @Option(
    parsing: .unconditionalSingleValue, help: ArgumentHelp("Take a key out.", valueName: "key"))
  var unset: [String] = []

  @OptionGroup(title: "Global options") var globals: Globals

  func run(in app: App) throws(Failure) -> Int32 {
    guard !settings.isEmpty || !unset.isEmpty else {
      throw Failure(.usage, "nothing to set", hint: "authctl profile set \(name) KEY=VALUE")
    }
    var changes: [(key: String, value: JSONValue)] = []
    for text in settings {
      let (key, value) = try split(text, at: "=", option: "profile set", form: "KEY=VALUE")
      changes.append((key, try ProfileStore.value(of: key, from: value)))
    }
    for key in try app.profiles.change(name, set: changes, unset: unset) {
      app.console.notice("\(name) has no \(DisplayText.oneLine(key, limit: 60)) of its own.")
    }
    return 0
  }
}

/// `authctl profile remove NAME`
struct ProfileRemove: Command {
  static let configuration = CommandConfiguration(
    commandName: "remove", abstract: "Take a profile away; not while it has sessions.",
    usage: "authctl profile remove [<options>] <name>",
    discussion: """
      Examples:
        authctl profile remove school --logout
        authctl profile remove school --force
      """
  ).alone

  @Argument(help: ArgumentHelp("Its name.", valueName: "name")) var name: String
  @Flag(help: "End its sessions first, as authctl logout --all does.") var logout = false
  @Flag(help: "Forget its sessions, without ending them at the server.") var force = false
  @OptionGroup(title: "Global options") var globals: Globals

  func run(in app: App) throws(Failure) -> Int32 {
    guard !logout || !force else {
      throw Failure(.usage, "--logout and --force exclude each other")
    }
    _ = try app.profiles.text(of: name)
    let holders = try holders(app)
    var accounts: [String] = []
    for name in holders.flatMap(\.accounts)
    where !accounts.contains(where: { $0.utf8.elementsEqual(name.utf8) }) {
      accounts.append(name)
    }
    guard accounts.isEmpty || force || logout else {
      throw Failure(
        .failed, "\(name) has \(accounts.count == 1 ? "a session" : "\(accounts.count) sessions")",
        hint: "authctl profile remove \(name) --logout")
    }
    for account in accounts { try forget(account, in: holders, app) }
    try app.profiles.remove(name)
    app.console.notice("Removed the profile \(name).")
    return 0
  }

  private typealias Holder = (store: any SessionStore, accounts: [String])

  /// Every store that may hold sessions of the profile, with their accounts: that in use first, and
  /// those that can be read without a prompt (rule C1).
  private func holders(_ app: App) throws(Failure) -> [Holder] {
    let store = try app.store(mayPrompt: force || logout)
    var holders: [Holder] = []
    do throws(Failure) {
      holders.append((store, try app.storedAccounts(of: name, in: store)))
    } catch {
      // No store, no sessions to lose sight of; a locked one may hold some.
      if error.kind == .storeLocked { throw error }
    }
    for other in try app.otherStores(than: store) {
      do throws(Failure) {
        holders.append((other, try app.storedAccounts(of: name, in: other)))
      } catch {
        app.tellUnread(other, error)
      }
    }
    return holders
  }

  private func forget(_ account: String, in holders: [Holder], _ app: App) throws(Failure) {
    var end = SessionKeeper.Ended(account: account, deleted: false)
    for holder in holders
    where holder.accounts.contains(where: { $0.utf8.elementsEqual(account.utf8) }) {
      if logout {
        let keeper = try app.keeper(for: try app.profiles.load(name), in: holder.store)
        end.add(try keeper.end(account, requireRevocation: false))
      } else {
        // Under the lock: a renewal that runs would write it back.
        _ = try FileLock.hold(
          folder: app.lockFolder(), profile: name, account: account,
          timeout: try app.lockTimeout()
        ) { () throws(Failure) in try holder.store.delete(profile: name, account: account) }
      }
    }
    if logout { Logout.tell(name, end, app) }
  }
}
