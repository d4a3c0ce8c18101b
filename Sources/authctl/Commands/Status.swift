internal import ArgumentParser
internal import AuthKit

/// `authctl status`
struct Status: Command {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Every stored session and how long it has; no network.",
    usage: "authctl status [<options>]",
    discussion: """
      Examples:
        authctl status
        authctl status --json
        authctl status --check --min-ttl 10m -p shop || authctl login -p shop
      """
  ).alone

  @Flag(help: "No output; 0 when the session serves or can be renewed, else 10, 11 or 12.")
  var check = false

  @Option(
    name: .customLong("min-ttl"), parsing: .unconditional,
    help: ArgumentHelp("With --check: how long it must serve.", valueName: "duration"))
  var minTTL: Duration?

  @OptionGroup var output: JSONOutput
  @OptionGroup(title: "Global options") var globals: Globals

  var wantsJSON: Bool { output.json }
  static var preloads: Preload { .session }

  func run(in app: App) throws(Failure) -> Int32 {
    if check { return try checkStatus(app) }
    let rows = try StoredSession.all(app, profile: try namedProfile(app), account: globals.username)
    if output.json {
      try app.console.out(JSONValue.array(rows.map(\.json)).serialized())
      return 0
    }
    guard !rows.isEmpty else {
      app.console.notice("No sessions.")
      app.console.hint("authctl login URL")
      return 0
    }
    var table = Table(header: ["PROFILE", "ACCOUNT", "STATE", "LEFT", "ORIGIN"])
    for row in rows {
      table.add(
        [row.profile ?? "?", row.account ?? "?", row.state.rawValue, row.left, row.origin ?? "?"],
        marked: row.isDefault)
    }
    try app.console.out(table)
    if app.console.isErrTerminal { for hint in Self.hints(rows) { app.console.hint(hint) } }
    return 0
  }

  /// The profile that `-p` names: sessions of a file are stored under its real path.
  private func namedProfile(_ app: App) throws(Failure) -> String? {
    guard let name = globals.profile else { return nil }
    return try app.load(name).name
  }

  private static func hints(_ rows: [StoredSession]) -> [String] {
    var hints = rows.filter { $0.state == .expired }.compactMap(\.loginCommand)
    if rows.contains(where: { $0.state == .locked }) { hints.append("authctl store unlock") }
    return hints
  }

  private func checkStatus(_ app: App) throws(Failure) -> Int32 {
    let rows: [StoredSession]
    do throws(Failure) {
      let name = try namedProfile(app) ?? (try? app.choose().profile.name)
      rows = try StoredSession.all(app, profile: name, account: globals.username)
    } catch {
      return error.kind.exitCode
    }
    if rows.isEmpty { return Failure.Kind.notSignedIn.exitCode }
    return rows.map { row in
      switch row.state {
      case .locked: return Failure.Kind.storeLocked.exitCode
      case .refreshable: return 0
      case .expired: return Failure.Kind.sessionExpired.exitCode
      case .valid:
        guard let left = row.secondsLeft, let least = minTTL?.seconds, left < least,
          !row.isRefreshable
        else { return 0 }
        return Failure.Kind.sessionExpired.exitCode
      }
    }.max() ?? 0
  }
}

/// A stored session, as `status`, `profile list` and bare `authctl` tell of it.
struct StoredSession {
  enum State: String {
    case valid, refreshable, expired, locked
  }

  var profile: String?
  var account: String?
  var origin: String?
  var state: State
  var expiresAt: Moment?
  var secondsLeft: Double?
  /// It can get a new access token without a person.
  var isRefreshable = false
  /// It keeps a command that signs in again.
  var keepsCommand = false
  /// The stored secret is a password (rule B15).
  var isPassword = false
  var isDefault = false
  private let store: StoreName

  /// Every stored session, of one profile or all, default first; nothing is unlocked.
  static func all(
    _ app: App, profile: String? = nil, account: String? = nil
  ) throws(Failure) -> [StoredSession] {
    let store = try app.store(mayPrompt: false)
    let names = try app.profiles.names()
    let standard = try app.config().defaultProfile ?? (names.count == 1 ? names[0] : nil)
    let standardAccount = standard.flatMap { try? app.load($0) }?.account
    var rows: [StoredSession] = []
    for item in try store.list(profiles: names) {
      if let profile, let own = item.profile, !own.utf8.elementsEqual(profile.utf8) { continue }
      // A damaged file is nobody's: it is told, but says nothing about one profile.
      if profile != nil, item.profile == nil, !item.isLocked { continue }
      if let account, let own = item.account, !own.utf8.elementsEqual(account.utf8) { continue }
      var row = try StoredSession(item, store)
      // A keyring never unlocked tells the profile by its hash alone; the profile tells the rest.
      if row.origin == nil, let name = item.profile, let url = try? app.load(name).url {
        row.origin = try? WebURL(url, from: .person).origin.description
      }
      row.isDefault =
        standard != nil && item.profile == standard
        && (standardAccount == nil || item.account == nil || item.account == standardAccount)
      rows.append(row)
    }
    return rows.sorted { a, b in
      (a.isDefault ? 0 : 1, a.profile ?? "", a.account ?? "")
        < (b.isDefault ? 0 : 1, b.profile ?? "", b.account ?? "")
    }
  }

  private init(_ item: SessionItem, _ store: any SessionStore) throws(Failure) {
    self.store = store.name
    profile = item.profile
    account = item.account
    origin = item.origin
    state = item.isLocked ? .locked : .expired
    guard !item.isLocked, let profile, let account else { return }
    let payload: Secret
    do throws(Failure) {
      guard let found = try store.read(profile: profile, account: account) else { return }
      payload = found
    } catch {
      // A keyring fails as a whole; of files, those that can be read are told all the same.
      guard store.name != .secretService, error.kind.isOfStore else { throw error }
      if error.kind == .storeLocked { state = .locked }
      return
    }
    // An item that somebody changed is told by the commands that use it.
    guard let session = try? Session(payload: payload, profile: profile, account: account) else {
      state = .expired
      return
    }
    expiresAt = session.expiresAt
    secondsLeft = session.secondsLeft(now: App.now())
    isRefreshable = session.isRenewable
    keepsCommand = session.again != nil
    isPassword = session.values[.password] != nil
    state = (secondsLeft ?? 1) > 0 ? .valid : isRefreshable ? .refreshable : .expired
  }

  /// Stands for whatever a locked keyring does not show.
  var isHidden: Bool { profile == nil && state == .locked }

  /// The column LEFT.
  var left: String {
    switch state {
    case .locked: "-"
    case .refreshable: keepsCommand ? "by command" : "-"
    case .valid, .expired:
      (secondsLeft.map { Moment.spoken($0) } ?? (state == .valid ? "not told" : "-"))
        + (keepsCommand ? ", then by command" : "")
    }
  }

  /// The command that brings it back.
  var loginCommand: String? {
    guard let profile else { return nil }
    return DisplayText.shellCommand(
      ["authctl", "login", "-p", profile] + (account.map { ["-u", $0] } ?? []))
  }

  var json: JSONValue {
    func text(_ value: String?) -> JSONValue { value.map { .string($0) } ?? nil }
    return .object([
      ("profile", text(profile)), ("account", text(account)), ("origin", text(origin)),
      ("state", .string(state.rawValue)), ("expires_at", Words.time(expiresAt)),
      ("seconds_left", secondsLeft.map { .number($0.rounded(.down)) } ?? nil),
      ("refreshable", state == .locked ? nil : .bool(isRefreshable)),
      ("store", .string(store.rawValue)), ("default", .bool(isDefault)),
      ("keeps_command", state == .locked ? nil : .bool(keepsCommand)),
      ("kind", state == .locked ? nil : isPassword ? "password" : "token"),
    ])
  }
}
