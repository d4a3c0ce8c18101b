internal import AuthKit

/// A stored session, as `status`, `profile list` and bare `authctl` show it.
struct StoredSession {
  enum State: String {
    case valid, refreshable, expired, refused, locked

    /// The colours of states that need something from the user.
    static let colours: [String: Colour] = [
      expired.rawValue: .red, refused.rawValue: .red, locked.rawValue: .yellow,
    ]
  }

  var profile: String?
  var account: String?
  var origin: String?
  var state: State
  var expiresAt: Timestamp?
  var secondsLeft: Double?
  /// Whether it can get a new access token without asking the user.
  var isRefreshable = false
  /// Whether it keeps a command that signs in again.
  var keepsCommand = false
  /// Whether the stored secret is a password (rule B15).
  var isPassword = false
  var isDefault = false
  /// How an authorization server signed it in, and the scope that it granted.
  var grant: String?
  var scope: String?
  /// The session itself; nil if it cannot be read.
  private(set) var session: Session?
  private let store: StoreName

  /// Returns the stored sessions of one profile or all, default first, without unlocking anything.
  static func all(
    _ app: App, profile: String? = nil, account: String? = nil
  ) throws(Failure) -> [StoredSession] {
    let store = try app.store(mayPrompt: false)
    let names = try app.profiles.names()
    let standard = try app.standardProfile()
    let standardAccount = standard.flatMap { try? app.load($0) }.flatMap(app.namedAccount)?.name
    var rows: [StoredSession] = []
    for content in try store.readAll(profiles: names, names: Session.names) {
      let item = content.item
      if let profile, let own = item.profile, !own.utf8.elementsEqual(profile.utf8) { continue }
      // A damaged file belongs to no known profile: only the list of all sessions shows it.
      if profile != nil, item.profile == nil, !item.isLocked { continue }
      if let account, let own = item.account, !own.utf8.elementsEqual(account.utf8) { continue }
      var row = try StoredSession(content, store)
      // A keyring that was never unlocked shows only the profile's hash; the profile has the URL.
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

  private init(_ content: SessionContent, _ store: any SessionStore) throws(Failure) {
    let item = content.item
    self.store = store.name
    profile = item.profile
    account = item.account
    origin = item.origin
    state = item.isLocked ? .locked : .expired
    guard !item.isLocked, let profile, let account else { return }
    let payload: SharedSecret
    do throws(Failure) {
      guard let found = try content.payload.get() else { return }
      payload = found
    } catch {
      // A keyring fails as a whole; with files, the readable ones are still shown.
      guard store.name != .secretService, error.kind.isOfStore else { throw error }
      if error.kind == .storeLocked { state = .locked }
      return
    }
    // Commands that use a changed item report it.
    guard let session = try? Session(payload: payload.secret, profile: profile, account: account)
    else {
      state = .expired
      return
    }
    self.session = session
    origin = origin ?? session.requestOrigins.first?.description
    expiresAt = session.expiresAt
    secondsLeft = session.secondsLeft(now: Clock.now())
    isRefreshable = session.isRenewable
    keepsCommand = session.reauthentication != nil
    isPassword = session.keepsPassword
    grant = session.notes["grant"]
    scope = session.notes["scope"]
    if session.isRefused {
      state = .refused
      return
    }
    state = (secondsLeft ?? 1) > 0 ? .valid : isRefreshable ? .refreshable : .expired
  }

  /// Whether a locked keyring hides the profile.
  var isHidden: Bool { profile == nil && state == .locked }

  /// The text of the column LEFT.
  var left: String {
    switch state {
    case .locked, .refused: "-"
    case .refreshable: keepsCommand ? "by command" : "-"
    case .valid, .expired:
      (secondsLeft.map { Timestamp.spoken($0) } ?? (state == .valid ? "unknown" : "-"))
        + (keepsCommand ? ", then by command" : "")
    }
  }

  /// The command that signs in to it again.
  var loginCommand: String? {
    profile.flatMap { Suggestion.login($0, account: account).command }
  }

  var json: JSONValue {
    func text(_ value: String?) -> JSONValue { value.map { .string($0) } ?? nil }
    let members: [(key: String, value: JSONValue)] = [
      ("profile", text(profile)), ("account", text(account)), ("origin", text(origin)),
      ("state", .string(state.rawValue)), ("expires_at", Messages.time(expiresAt)),
      ("seconds_left", secondsLeft.map { .number($0.rounded(.down)) } ?? nil),
      ("refreshable", state == .locked ? nil : .bool(isRefreshable)),
      ("store", .string(store.rawValue)), ("default", .bool(isDefault)),
      ("keeps_command", state == .locked ? nil : .bool(keepsCommand)),
      ("kind", state == .locked ? nil : isPassword ? "password" : "token"),
    ]
    return .object(
      members + (grant == nil ? [] : [("grant", text(grant)), ("scope", text(scope))]))
  }
}
