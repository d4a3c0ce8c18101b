internal import ArgumentParser
internal import AuthKit

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
        hint: DisplayText.shellCommand(["authctl", "profile", "remove", name, "--logout"]))
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
        app.warnUnread(other, error)
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
    if logout { Logout.report(name, end, app) }
  }
}
