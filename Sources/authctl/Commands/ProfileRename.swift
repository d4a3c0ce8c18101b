internal import ArgumentParser
internal import AuthKit

/// `authctl profile rename OLD NEW`
struct ProfileRename: Command {
  static let configuration = CommandConfiguration(
    commandName: "rename", abstract: "Rename a profile and its sessions.",
    usage: "authctl profile rename [<options>] <name> <new>",
    discussion: """
      Also renames the profile's sessions in every store, and default_profile. If the
      command is interrupted, run it again.

      Examples:
        authctl profile rename school college
        authctl profile rename shop old-shop
      """
  ).alone

  @Argument(help: ArgumentHelp("The profile's name.", valueName: "name")) var name: String
  @Argument(help: ArgumentHelp("The new name.", valueName: "new")) var newName: String
  @OptionGroup(title: "Global options") var globals: Globals

  func run(in app: App) throws(Failure) -> Int32 {
    try app.profiles.checkRename(name, to: newName)
    var moves: [(sessions: SessionRename, accounts: [String])] = []
    let chosen = try app.store()
    for store in [chosen] + (try app.otherStores(than: chosen)) {
      let accounts = try accounts(in: store, app)
      let sessions = SessionRename(
        in: store, from: name, to: newName, locks: try app.locks(), redactor: app.redactor)
      // Nothing changes before all sessions are known to be readable.
      for account in accounts { try sessions.check(account) }
      moves.append((sessions, accounts))
    }
    try app.profiles.beginRename(name, to: newName)
    for (sessions, accounts) in moves {
      for account in accounts { try sessions.move(account) }
    }
    try app.profiles.finishRename(name, to: newName)
    let count = moves.map(\.accounts.count).reduce(0, +)
    let what = count == 0 ? "" : count == 1 ? " and its session" : " and its \(count) sessions"
    app.console.notice("Renamed the profile \(name)\(what) to \(newName).")
    return 0
  }

  /// Returns the accounts with a session in `store`; none if there is no such store. A store that
  /// only cannot be read may hold some, which would lose their profile.
  private func accounts(in store: any SessionStore, _ app: App) throws(Failure) -> [String] {
    let name = name
    func isOwn(_ item: SessionItem) -> Bool {
      item.profile.map { $0.utf8.elementsEqual(name.utf8) } ?? false
    }
    let isChosen = store.name == (try app.storeName())
    do throws(Failure) {
      let items = try store.list(profiles: [name])
      guard store.name == .secretService else {
        guard items.allSatisfy({ $0.profile != nil }) else {
          throw Failure(
            .storeMissing, "one session in \(store.title) cannot be read: it may be one of \(name)",
            hint: "authctl store test --store \(store.name.rawValue)")
        }
        return items.filter(isOwn).compactMap(\.account).sorted()
      }
      // A store that was not asked for is not unlocked to look for sessions that it may not have.
      guard isChosen || items.contains(where: isOwn) else { return [] }
      return try app.storedAccounts(of: name, in: store)
    } catch {
      let isAbsent = error.isStoreAbsent || !isChosen && store.name == .secretService
      guard error.kind == .storeMissing, isAbsent else { throw error }
      return []
    }
  }
}
