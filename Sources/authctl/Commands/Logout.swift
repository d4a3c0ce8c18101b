internal import ArgumentParser
internal import AuthKit

/// `authctl logout`
struct Logout: Command {
  static let configuration = CommandConfiguration(
    commandName: "logout", abstract: "End the session at the server and delete it here.",
    usage: "authctl logout [<options>] [<name|file>]",
    discussion: """
      If the server cannot be reached, authctl warns and deletes the stored session
      anyway. It changes only the chosen store, and reports sessions in the others.

      Examples:
        authctl logout shop
        authctl logout shop -u bob@shop.example
        authctl logout --all --all-stores
      """
  ).alone

  @Flag(help: "End every stored session; with a profile, only those of that profile.")
  var all = false

  @Flag(name: .customLong("all-stores"), help: "Use every store, not only the chosen one.")
  var allStores = false

  @Flag(
    name: .customLong("require-revocation"),
    help: "Fail if the server does not end the session, and keep it.")
  var requireRevocation = false

  @Flag(help: "Also delete the client that authctl registered.")
  var unregister = false

  @OptionGroup var profile: ProfileArgument
  @OptionGroup var output: JSONOutput
  @OptionGroup(title: "Global options") var globals: Globals

  var wantsJSON: Bool { output.json }
  var profileArgument: String? { profile.name }

  func run(in app: App) throws(Failure) -> Int32 {
    guard !unregister || !all else {
      throw Failure(.usage, "--unregister and --all cannot be used together")
    }
    var failures: [Failure] = []
    let ends =
      all && app.globals.profile == nil
      ? try endEverything(app, &failures) : try endOne(app, &failures)
    if output.json {
      try app.console.out(
        JSONValue.array(
          ends.map { profile, end in
            .object([
              ("profile", .string(profile)), ("account", .string(end.account)),
              ("revoked", end.revoked.map { .bool($0) } ?? nil), ("deleted", .bool(end.deleted)),
            ])
          }
        ))
    }
    // A session that cannot be ended does not stop the others from ending.
    for failure in failures { app.console.report(failure) }
    return failures.map(\.kind.exitCode).max() ?? 0
  }

  private typealias End = (profile: String, end: SessionKeeper.Ended)

  private func endOne(_ app: App, _ failures: inout [Failure]) throws(Failure) -> [End] {
    guard let choice = try chosen(app) else {
      app.console.notice("No profiles.")
      return []
    }
    let profile = choice.profile
    app.logChoice(choice, all ? nil : app.namedAccount(profile))
    // An untrusted profile sends nothing, but its sessions can be forgotten.
    let keeper = try app.localKeeper(for: profile, mayAskForTrust: true)
    let others = allStores ? try Others(of: keeper, app) : nil
    var accounts: [String]
    if !all, let named = app.namedAccount(profile) {
      accounts = [named.name]
    } else {
      accounts = try app.storedAccounts(of: profile.name, in: keeper.store)
      if let others, all || accounts.isEmpty { accounts += others.accounts(but: accounts) }
      if !all, accounts.count > 1 { throw app.whichAccount(accounts, of: profile) }
    }
    var ends: [End] = []
    for account in accounts {
      do throws(Failure) {
        var end = try keeper.end(
          account, requireRevocation: requireRevocation, unregisters: unregister)
        if unregister, end.deleted { try forgetClient(of: profile, app) }
        try others?.end(account, requireRevocation: requireRevocation, into: &end)
        ends.append((profile.name, end))
      } catch {
        failures.append(error)
      }
    }
    for (profile, end) in ends { Self.report(profile, end, app) }
    if failures.isEmpty, !ends.contains(where: \.end.deleted) {
      app.console.notice("Not signed in to \(profile.name).")
    }
    if !allStores {
      try app.reportHeldElsewhere(
        than: keeper.store, profile: profile.name, account: all ? nil : accounts.first)
    }
    if let variable = app.tokenVariable(of: profile) {
      app.console.warn("\(variable) is still set and is used for \(profile.name)")
    }
    return ends
  }

  /// Forgets the client, whose registration has ended.
  private func forgetClient(of profile: Profile, _ app: App) throws(Failure) {
    if profile.file == app.profiles.path(of: profile.name) {
      try app.profiles.change(
        profile.name, set: [],
        unset: [
          "oauth.client_id", "oauth.registered", "oauth.redirect_port", "oauth.client_auth",
        ])
    }
    app.console.notice("Unregistered the client of \(profile.name).")
  }

  /// Returns the profile; nil when none exists, which is no failure for a logout. Without a home
  /// folder that is unknown.
  private func chosen(_ app: App) throws(Failure) -> ProfileChoice? {
    do throws(Failure) { return try app.choose() } catch {
      guard try app.isWithoutAPI(), app.profiles.homelessHint == nil else { throw error }
      return nil
    }
  }

  private func endEverything(_ app: App, _ failures: inout [Failure]) throws(Failure) -> [End] {
    let store = try app.store()
    var ends = try endEverything(in: store, app, &failures)
    for other in allStores ? try app.otherStores(than: store) : [] {
      for more in try endEverything(inOther: other, app, &failures) {
        let known = ends.firstIndex {
          $0.profile.utf8.elementsEqual(more.profile.utf8)
            && $0.end.account.utf8.elementsEqual(more.end.account.utf8)
        }
        if let known { ends[known].end.add(more.end) } else { ends.append(more) }
      }
    }
    for (profile, end) in ends { Self.report(profile, end, app) }
    if ends.isEmpty, failures.isEmpty { app.console.notice("No sessions.") }
    if !allStores { try app.reportHeldElsewhere(than: store, profile: nil) }
    return ends
  }

  /// Ends the sessions of another store; warns if that store cannot be read.
  private func endEverything(
    inOther store: any SessionStore, _ app: App, _ failures: inout [Failure]
  ) throws(Failure) -> [End] {
    var found: [Failure] = []
    var ends: [End] = []
    do throws(Failure) { ends = try endEverything(in: store, app, &found) } catch {
      found.append(error)
    }
    for failure in found where failure.kind.isOfStore { app.warnUnread(store, failure) }
    failures += found.filter { !$0.kind.isOfStore }
    return ends
  }

  private func endEverything(
    in store: any SessionStore, _ app: App, _ failures: inout [Failure]
  ) throws(Failure) -> [End] {
    var items = try store.list(names: Session.names)
    if items.contains(where: { $0.isLocked && ($0.profile == nil || $0.account == nil) }) {
      try store.open()
      items = try store.list(names: Session.names)
    }
    var ends: [End] = []
    for item in items {
      guard let name = item.profile, let account = item.account else { continue }
      // Without its profile, a session can be forgotten but not ended at the server.
      guard let profile = try? app.load(name) else {
        if requireRevocation {
          failures.append(
            Failure(.failed, "\(name): the session cannot be ended without its profile"))
          continue
        }
        let deleted = try store.delete(profile: name, account: account)
        ends.append((name, SessionKeeper.Ended(account: account, deleted: deleted)))
        continue
      }
      do throws(Failure) {
        let keeper = try app.localKeeper(for: profile, in: store)
        ends.append((name, try keeper.end(account, requireRevocation: requireRevocation)))
      } catch {
        failures.append(error)
      }
    }
    return ends
  }

  /// Reports the result for one session.
  static func report(_ profile: String, _ end: SessionKeeper.Ended, _ app: App) {
    guard end.deleted else { return }
    if let reason = end.reason {
      app.console.warn("the server did not end the session: \(reason.message)")
    }
    let name = DisplayText.oneLine(end.account)
    let place = end.revoked == true ? "at the server and on this machine" : "on this machine only"
    app.console.notice("Signed out of \(profile) as \(name), \(place).")
  }
}

/// The stores other than the chosen one, for `--all-stores`.
private struct Others {
  private let keepers: [SessionKeeper]
  private let app: App

  init(of keeper: SessionKeeper, _ app: App) throws(Failure) {
    var keepers: [SessionKeeper] = []
    for store in try app.otherStores(than: keeper.store) {
      keepers.append(try app.localKeeper(for: keeper.api.profile, in: store))
    }
    self.keepers = keepers
    self.app = app
  }

  /// Returns the accounts with a session in these stores, except `known`.
  func accounts(but known: [String]) -> [String] {
    var names: [String] = []
    for keeper in keepers {
      do throws(Failure) {
        names += try app.storedAccounts(of: keeper.api.profile.name, in: keeper.store)
          .filter { name in
            !(known + names).contains { $0.utf8.elementsEqual(name.utf8) }
          }
      } catch {
        app.warnUnread(keeper.store, error)
      }
    }
    return names
  }

  /// Ends the sessions of `account` in these stores, and adds the results to `end`.
  ///
  /// - Throws: the reason why the server did not end one, with `requireRevocation`.
  func end(
    _ account: String, requireRevocation: Bool, into end: inout SessionKeeper.Ended
  ) throws(Failure) {
    for keeper in keepers {
      do throws(Failure) {
        end.add(try keeper.end(account, requireRevocation: requireRevocation))
      } catch {
        guard error.kind.isOfStore else { throw error }
        app.warnUnread(keeper.store, error)
      }
    }
  }
}
