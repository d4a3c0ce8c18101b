internal import ArgumentParser
internal import AuthKit

/// `authctl profile remove NAME`
struct ProfileRemove: Command {
  static let configuration = CommandConfiguration(
    commandName: "remove", abstract: "Delete a profile that has no sessions.",
    usage: "authctl profile remove [<options>] <name>",
    discussion: """
      Examples:
        authctl profile remove school --logout
        authctl profile remove school --force
      """
  ).alone

  @Argument(help: ArgumentHelp("The profile's name.", valueName: "name")) var name: String
  @Flag(help: "End its sessions first, as authctl logout --all does.") var logout = false
  @Flag(help: "Delete its sessions here, but not at the server.") var force = false
  @OptionGroup(title: "Global options") var globals: Globals

  func run(in app: App) throws(Failure) -> Int32 {
    guard !logout || !force else {
      throw Failure(.usage, "--logout and --force cannot be used together")
    }
    _ = try app.profiles.text(of: name)
    let store = try app.store(mayPrompt: force || logout)
    let accounts = try accounts(in: store, app)
    guard accounts.isEmpty || force || logout else {
      throw Failure(
        .failed, "\(name) has \(accounts.count == 1 ? "a session" : "\(accounts.count) sessions")",
        hint: DisplayText.shellCommand(["authctl", "profile", "remove", name, "--logout"]))
    }
    // Without its profile, a session can be forgotten but not ended at the server.
    if !force, let other = try app.heldElsewhere(than: store, profile: name).first {
      throw Failure(
        .failed, "the store \(other.store.rawValue) has sessions of \(name)",
        suggestion: .logoutFrom(store: other.store.rawValue, profile: name))
    }
    for account in accounts { try forget(account, in: store, app) }
    let url = (try? app.profiles.load(name))?.url
    try app.profiles.remove(name)
    if let url { try forgetPaths(of: url, app) }
    app.console.notice("Removed the profile \(name).")
    return 0
  }

  /// Removes what completion knows of the API, unless another profile has use for it.
  private func forgetPaths(of url: String, _ app: App) throws(Failure) {
    let others = try app.profiles.names().compactMap { try? app.profiles.load($0).url }
    app.pathCache.forget(url, keepingFor: others)
  }

  private func accounts(in store: any SessionStore, _ app: App) throws(Failure) -> [String] {
    do throws(Failure) { return try app.storedAccounts(of: name, in: store) } catch {
      // Without a store there are no sessions; one that is locked or cannot be read may hold some.
      guard error.isStoreAbsent || force && error.kind != .storeLocked else { throw error }
      return []
    }
  }

  private func forget(
    _ account: String, in store: any SessionStore, _ app: App
  ) throws(Failure) {
    if logout {
      let keeper = try app.keeper(for: try app.profiles.load(name), in: store)
      Logout.report(name, try keeper.end(account, requireRevocation: false), app)
    } else {
      // Delete it under the lock: a running renewal would write it back.
      _ = try app.locks().hold(profile: name, account: account) { () throws(Failure) in
        try store.delete(profile: name, account: account)
      }
    }
  }
}
