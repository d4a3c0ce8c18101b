internal import ArgumentParser
internal import AuthKit

/// `authctl store migrate --from A --to B`
struct StoreMigrate: Command {
  static let configuration = CommandConfiguration(
    commandName: "migrate", abstract: "Move sessions from one store to another.",
    usage: "authctl store migrate --from <name> --to <name> [<options>]",
    discussion: """
      Writes each session to the new store and reads it back before it deletes the
      old copy. If it is interrupted, run the same command again. If both stores have
      a session of one account, it keeps the newer one. With -p or -u, it moves only
      sessions of that profile or account.

      Examples:
        authctl store migrate --from secret-service --to file
        authctl store migrate --from plaintext --to secret-service -p shop
      """
  ).alone

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Move them from this store: secret-service, file or plaintext.", valueName: "name"))
  var from: String

  @Option(
    parsing: .unconditional, help: ArgumentHelp("Move them to this store.", valueName: "name"))
  var to: String

  @OptionGroup var output: JSONOutput
  @OptionGroup(title: "Global options") var globals: Globals

  var wantsJSON: Bool { output.json }

  private typealias Row = (item: SessionItem, end: Result<SessionMove.Outcome, Failure>)

  func run(in app: App) throws(Failure) -> Int32 {
    let names = (from: try StoreName(named: from), to: try StoreName(named: to))
    guard names.from != names.to else {
      throw Failure(.usage, "--from and --to are the same store")
    }
    guard globals.store == nil else {
      throw Failure(.usage, "--store cannot be used here: --from and --to name the stores")
    }
    let source = try app.store(names.from, mayPrompt: true)
    let target = try app.store(names.to, mayPrompt: true)
    let items = try wanted(in: source, app)
    if !items.isEmpty {
      try target.open()
      if let caution = target.caution { app.console.warn(caution) }
    }
    let rows = try move(items, from: source, to: target, app)
    if output.json { try app.console.out(JSONValue.array(rows.map(json))) }
    let failures = rows.compactMap { row in
      if case .failure(let failure) = row.end { failure } else { nil }
    }
    if rows.isEmpty { app.console.notice("No sessions in \(source.title).") }
    if rows.count > failures.count, try app.storeName() != names.to {
      let name = names.to.rawValue
      app.console.notice("Next: set store = \"\(name)\" in config.toml, or AUTHCTL_STORE=\(name).")
    }
    for failure in failures { app.console.report(failure) }
    return failures.map(\.kind.exitCode).max() ?? 0
  }

  /// Returns the sessions to move; unlocks a keyring to read their names.
  private func wanted(in source: any SessionStore, _ app: App) throws(Failure) -> [SessionItem] {
    // Sessions of a file are stored under its real path.
    let profile = try globals.profile.map { (name) throws(Failure) in try app.load(name).name }
    func isWanted(_ name: String?, _ wanted: String?) -> Bool {
      guard let wanted, let name else { return true }
      return name.utf8.elementsEqual(wanted.utf8)
    }
    func mine() throws(Failure) -> [SessionItem] {
      try source.list(profiles: try app.profiles.names()).filter {
        isWanted($0.profile, profile) && isWanted($0.account, globals.username)
      }
    }
    let items = try mine()
    guard items.contains(where: \.isLocked) else { return items }
    try source.open()
    return try mine()
  }

  /// Moves the sessions; one that cannot be moved does not stop the others.
  private func move(
    _ items: [SessionItem], from source: any SessionStore, to target: any SessionStore, _ app: App
  ) throws(Failure) -> [Row] {
    let move = SessionMove(
      from: source, to: target, locks: try app.locks(), redactor: app.redactor)
    return items.map { item in
      do throws(Failure) {
        guard let profile = item.profile, let account = item.account else {
          throw Failure(
            .storeMissing, "one session in \(source.title) cannot be read, so it was not moved")
        }
        let outcome = try move.move(profile: profile, account: account, origin: item.origin)
        let words = words(outcome, source, target)
        let name = DisplayText.oneLine(account, limit: 80)
        app.console.notice("\(DisplayText.oneLine(profile)) (\(name)): \(words).")
        return (item, .success(outcome))
      } catch {
        return (item, .failure(error))
      }
    }
  }

  private func words(
    _ outcome: SessionMove.Outcome, _ source: any SessionStore, _ target: any SessionStore
  ) -> String {
    switch outcome {
    case .moved, .completed: "moved to \(target.title)"
    case .replaced: "moved to \(target.title), replacing an older session"
    case .outdated: "\(target.title) has a newer session; the older one was deleted"
    case .gone: "it is no longer in \(source.title)"
    }
  }

  private func json(_ row: Row) -> JSONValue {
    func text(_ value: String?) -> JSONValue { value.map { .string($0) } ?? nil }
    let (isMoved, result) =
      switch row.end {
      case .success(let outcome): (outcome.isMoved, outcome.rawValue)
      case .failure(let failure): (false, failure.kind.rawValue)
      }
    return .object([
      ("profile", text(row.item.profile)), ("account", text(row.item.account)),
      ("moved", .bool(isMoved)), ("result", .string(result)),
    ])
  }
}
