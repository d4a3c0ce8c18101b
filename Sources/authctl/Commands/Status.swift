internal import ArgumentParser
internal import AuthKit

/// `authctl status`
struct Status: Command {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "List stored sessions and when they expire; no network.",
    usage: "authctl status [<options>] [<name|file>]",
    discussion: """
      Examples:
        authctl status
        authctl status --json
        authctl status shop --check --min-ttl 10m || authctl login shop
      """
  ).alone

  @Flag(
    help:
      "Check the session that a request would use, and print nothing: exit with 0 if it is valid or can be renewed, otherwise with 10, 11, 12 or 13."
  )
  var check = false

  @Option(
    name: .customLong("min-ttl"), parsing: .unconditional,
    help: ArgumentHelp("With --check, require at least this validity.", valueName: "duration"))
  var minTTL: Duration?

  @OptionGroup var profile: ProfileArgument
  @OptionGroup var output: JSONOutput
  @OptionGroup(title: "Global options") var globals: Globals

  var wantsJSON: Bool { output.json }
  var profileArgument: String? { profile.name }
  static var preloads: Preload { .session }

  func run(in app: App) throws(Failure) -> Int32 {
    if check { return try checkStatus(app) }
    // In CI there is often no store to read, and this is why nothing works.
    if try app.isWithoutAPI(), let failure = app.tokenWithoutAPI() { throw failure }
    let rows = try StoredSession.all(app, profile: try namedProfile(app), account: globals.username)
    if output.json {
      try app.console.out(JSONValue.array(rows.map(\.json)))
      return 0
    }
    guard !rows.isEmpty else {
      app.console.notice("No sessions.")
      app.console.hint("authctl login URL")
      return 0
    }
    let isVerbose = app.console.verbosity > 0
    var table = Table(
      header: ["PROFILE", "ACCOUNT", "STATE", "LEFT", "ORIGIN"]
        + (isVerbose ? ["GRANT", "SCOPE"] : []))
    table.colours = (2, StoredSession.State.colours)
    for row in rows {
      table.add(
        [row.profile ?? "?", row.account ?? "?", row.state.rawValue, row.left, row.origin ?? "?"]
          + (isVerbose ? [row.grant ?? "-", row.scope ?? "-"] : []),
        marked: row.isDefault)
    }
    try app.console.out(table)
    if app.console.isErrTerminal { for hint in Self.hints(rows) { app.console.hint(hint) } }
    return 0
  }

  /// Returns the profile that is named; sessions of a file are stored under its real path.
  private func namedProfile(_ app: App) throws(Failure) -> String? {
    guard let name = app.globals.profile else { return nil }
    return try app.load(name).name
  }

  private static func hints(_ rows: [StoredSession]) -> [String] {
    let isLocked = rows.contains { $0.state == .locked }
    return rows.filter { $0.state == .expired || $0.state == .refused }.compactMap(\.loginCommand)
      + (isLocked ? [Suggestion.unlockStore.command].compactMap { $0 } : [])
  }

  private func checkStatus(_ app: App) throws(Failure) -> Int32 {
    do throws(Failure) {
      // The session that a request would use.
      let profile = try app.isWithoutAPI() ? nil : try app.choose().profile
      let rows = try StoredSession.all(
        app, profile: profile?.name, account: profile.flatMap(app.namedAccount)?.name)
      if let profile, rows.count > 1, !rows.contains(where: { $0.state == .locked }) {
        throw app.whichAccount(rows.compactMap(\.account), of: profile)
      }
      guard let row = rows.first else { return Failure.Kind.notSignedIn.exitCode }
      if let profile, let session = row.session {
        let keeper = try app.localKeeper(for: profile, mayPrompt: false)
        try keeper.check(keeper.api.base, for: session)
      }
      return exitCode(of: row)
    } catch {
      if error.kind == .usage { throw error }
      return error.kind.exitCode
    }
  }

  private func exitCode(of row: StoredSession) -> Int32 {
    switch row.state {
    case .locked: return Failure.Kind.storeLocked.exitCode
    case .refreshable: return 0
    case .expired, .refused: return Failure.Kind.sessionExpired.exitCode
    case .valid:
      guard let left = row.secondsLeft, let least = minTTL?.seconds, left < least,
        !row.isRefreshable
      else { return 0 }
      return Failure.Kind.sessionExpired.exitCode
    }
  }
}
