internal import ArgumentParser
internal import AuthKit

/// `authctl logout`
struct Logout: Command {
  static let configuration = CommandConfiguration(
    commandName: "logout", abstract: "End the session at the server and forget it.",
    usage: "authctl logout [<options>]",
    discussion: """
      Forgetting does not depend on the server: with the server down it is a warning.

      Examples:
        authctl logout -p shop
        authctl logout -p shop -u bob@shop.example
        authctl logout --all
      """)

  @Flag(help: "Every stored session; with -p, of that profile.")
  var all = false

  @Flag(
    name: .customLong("require-revocation"),
    help: "Keep the session and fail when the server cannot end it.")
  var requireRevocation = false

  @OptionGroup var output: JSONOutput
  @OptionGroup(title: "Global options") var globals: Globals

  var wantsJSON: Bool { output.json }

  func run(in app: App) throws(Failure) -> Int32 {
    var failures: [Failure] = []
    let ends =
      all && globals.profile == nil
      ? try endEverything(app, &failures) : try endOne(app, &failures)
    for (profile, end) in ends { Self.tell(profile, end, app) }
    if output.json {
      try app.console.out(
        JSONValue.array(
          ends.map { profile, end in
            .object([
              ("profile", .string(profile)), ("account", .string(end.account)),
              ("revoked", end.revoked.map { .bool($0) } ?? nil), ("deleted", .bool(end.deleted)),
            ])
          }
        ).serialized())
    }
    // One session that cannot be ended does not keep the others alive.
    for failure in failures { app.console.report(failure) }
    return failures.map(\.kind.exitCode).max() ?? 0
  }

  private typealias End = (profile: String, end: SessionKeeper.Ended)

  private func endOne(_ app: App, _ failures: inout [Failure]) throws(Failure) -> [End] {
    let choice = try app.choose()
    let profile = choice.profile
    app.tell(choice, all ? nil : app.namedAccount(profile))
    let keeper = try app.keeper(for: profile)
    var accounts: [String]
    if !all, let named = app.namedAccount(profile) {
      accounts = [named.name]
    } else {
      accounts = try app.storedAccounts(of: profile.name, in: keeper.store)
      // Says which there are, and that one must be named.
      if !all, accounts.count > 1 { _ = try app.account(of: keeper) }
    }
    var ends: [End] = []
    for account in accounts {
      do throws(Failure) {
        ends.append((profile.name, try keeper.end(account, requireRevocation: requireRevocation)))
      } catch {
        failures.append(error)
      }
    }
    if failures.isEmpty, !ends.contains(where: \.end.deleted) {
      app.console.notice("Not signed in to \(profile.name): there was nothing to forget.")
    }
    if let variable = app.tokenVariable(of: profile) {
      app.console.warn("\(variable) is still set and serves \(profile.name)")
    }
    return ends
  }

  private func endEverything(_ app: App, _ failures: inout [Failure]) throws(Failure) -> [End] {
    let store = try app.store()
    var items = try store.list()
    if items.contains(where: { $0.profile == nil || $0.account == nil }) {
      try store.open()
      items = try store.list()
    }
    var ends: [End] = []
    for item in items {
      guard let name = item.profile, let account = item.account else { continue }
      // Without its profile a session can be forgotten, not ended at the server.
      guard let profile = try? app.load(name) else {
        if requireRevocation {
          failures.append(Failure(.failed, "\(name): without its profile it cannot be ended"))
          continue
        }
        let deleted = try store.delete(profile: name, account: account)
        ends.append((name, SessionKeeper.Ended(account: account, deleted: deleted)))
        continue
      }
      do throws(Failure) {
        let keeper = try app.keeper(for: profile)
        ends.append((name, try keeper.end(account, requireRevocation: requireRevocation)))
      } catch {
        failures.append(error)
      }
    }
    if ends.isEmpty, failures.isEmpty { app.console.notice("There was no session to forget.") }
    return ends
  }

  /// What became of one session.
  static func tell(_ profile: String, _ end: SessionKeeper.Ended, _ app: App) {
    guard end.deleted else { return }
    if let reason = end.reason {
      app.console.warn("the server did not end the session: \(reason.message)")
    }
    let name = DisplayText.oneLine(end.account)
    let where_ = end.revoked == true ? "at the server and here" : "here"
    app.console.notice("Signed out of \(profile) as \(name), \(where_).")
  }
}
