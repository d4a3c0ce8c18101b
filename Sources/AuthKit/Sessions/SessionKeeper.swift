internal import Glibc

/// The sessions of one profile: reads, stores, renews and deletes them under a lock.
package final class SessionKeeper {
  /// The API that the sessions are for.
  package let api: RecipeClient
  /// The store of the sessions.
  package let store: any SessionStore
  private let locks: SessionLocks
  let clock: () -> Timestamp
  let redactor: Redactor
  let warn: (String) -> Void
  /// Runs the command that a session keeps for signing in again, for at most `seconds`, and returns
  /// the password it prints; nil if no command may run.
  package var runCommand:
    ((_ kept: Session.Reauthentication, _ seconds: Int) throws(Failure) -> Secret)?
  /// Blocks the signals that would end this process until the returned function is called.
  package var holdSignals: () -> () -> Void = { {} }

  /// The head of the last answer that refused a session and was not passed on.
  package internal(set) var refusal: ResponseHead?

  /// The marks that this process has stored, by login ID.
  private var marks: [String: Bool] = [:]

  var profile: Profile { api.profile }

  package init(
    api: RecipeClient, store: any SessionStore, locks: SessionLocks, redactor: Redactor,
    clock: @escaping () -> Timestamp, warn: @escaping (String) -> Void
  ) {
    self.api = api
    self.store = store
    self.locks = locks
    self.clock = clock
    self.redactor = redactor
    self.warn = warn
  }

  // MARK: - Store

  /// Returns the stored session of `account`; nil only when there is certainly none.
  package func read(_ account: String) throws(Failure) -> Session? {
    guard let payload = try store.read(profile: profile.name, account: account) else { return nil }
    let session = try Session(payload: payload, profile: profile.name, account: account)
    redactor.learn(session)
    return session
  }

  /// Stores a new session over any earlier one; if that fails, the sign-in fails.
  package func keep(_ session: Session) throws(Failure) {
    try locked(session.account) { () throws(Failure) in try write(session) }
  }

  func write(_ session: Session) throws(Failure) {
    try store.write(
      session.payload(),
      key: SessionKey(
        profile: session.profile, account: session.account,
        origin: api.base.origin.description, loginID: session.loginID))
  }

  func locked<R>(_ account: String, _ work: () throws(Failure) -> R) throws(Failure) -> R {
    try locks.hold(profile: profile.name, account: account, work)
  }

  /// Writes the cookies or rotated values of an answer, unless the stored session is a different
  /// one by now (rule B1). Changes by other processes are kept.
  func update(
    _ session: Session, cookies: [HTTPClient.NewCookie], tokens: RecipeClient.Tokens?
  ) throws(Failure) {
    try locked(session.account) { () throws(Failure) in
      guard var stored = try read(session.account), stored.loginID == session.loginID else {
        return
      }
      if let tokens { stored = stored.renewed(with: tokens, now: clock()) }
      var jar = stored.cookies
      for cookie in cookies { jar.store(cookie, now: clock()) }
      stored.take(jar, now: clock())
      try write(stored)
    }
  }

  // MARK: - Refusals

  /// Marks the stored session as refused, for `status`; a session of a variable has no mark.
  func noteRefusal(of session: Session) { mark(session, refused: true) }

  /// Takes the mark away after an answer with `status` to a request that carried the session.
  func noteAnswer(_ status: Int, to session: Session) {
    if (200...299).contains(status) { mark(session, refused: false) }
  }

  private func mark(_ session: Session, refused: Bool) {
    guard session.variable == nil, (marks[session.loginID] ?? session.isRefused) != refused else {
      return
    }
    marks[session.loginID] = refused
    // A mark that cannot be stored is left out: nothing but `status` depends on it.
    try? locked(session.account) { () throws(Failure) in
      guard var stored = try read(session.account), stored.loginID == session.loginID,
        stored.isRefused != refused, !refused || !isNewer(stored, than: session)
      else { return }
      stored.isRefused = refused
      try write(stored)
    }
  }

  // MARK: - Failures

  /// Returns the failure for an account without a session.
  package func notSignedIn(_ account: String?) -> Failure {
    var failure = Failure(
      .notSignedIn, "not signed in to \(profile.name) (\(api.base.origin))",
      suggestion: .login(profile.name, account: account == profile.account ? nil : account))
    failure.profile = profile.name
    failure.account = account
    return failure
  }

  /// Why a session did not get a fresh token.
  package enum Obstacle {
    /// It cannot be renewed without the user.
    case noRenewal
    /// The server refused the refresh token, with this error code if it has one.
    case renewalRefused(String?)
    /// The server refused the renewed token as well.
    case renewalUseless
    /// The server refused the client, with this error code; the refresh token may be good.
    case clientRefused(String)
    /// The server refused the password that the kept command printed.
    case passwordRefused
    /// The server redirected the request to this sign-in page.
    case signInPage(String)
    /// The server issues no token that is valid for this many seconds.
    case tooShort(seconds: Double)

    /// The cause, for the message.
    fileprivate var cause: String {
      switch self {
      case .noRenewal: "it cannot be renewed"
      case .renewalRefused(let code):
        "the server refused to renew it"
          + (code.map { " (\(DisplayText.oneLine($0, limit: 80)))" } ?? "")
      case .renewalUseless: "the server refused the renewed token too"
      case .clientRefused(let code):
        "the server refused this client (\(DisplayText.oneLine(code, limit: 80)))"
      case .passwordRefused: "the server refused the password of the kept command"
      case .signInPage(let page): "it redirected to its sign-in page (\(page))"
      case .tooShort(let seconds):
        "the server issues no token that is valid for \(Timestamp.spoken(seconds))"
      }
    }
  }

  /// Returns the failure for an expired or refused session; `obstacle` is why there is no fresh
  /// token.
  package func expired(_ session: Session, _ reason: Reason, _ obstacle: Obstacle) -> Failure {
    let left = session.secondsLeft(now: clock())
    let account = DisplayText.oneLine(session.account, limit: 80)
    let start = "\(profile.name): session of \(account)"
    var cause = obstacle.cause
    var help = Suggestion.login(profile.name, account: session.account)
    var isPlain = false
    if case .noRenewal = obstacle {
      isPlain = true
      if api.leavesRefreshToken(of: session) {
        (cause, isPlain) = ("it has a refresh token, but refresh.path is not set", false)
        if reason == .asked, !profile.isInPlace { help = api.setRefresh }
      }
    }
    let message =
      if let left, left <= 0 {
        "\(start) expired \(Timestamp.spoken(-left)) ago; \(cause)"
      } else if reason != .asked {
        "\(start) was refused by the server; \(cause)"
      } else {
        "\(start) cannot be renewed" + (isPlain ? "" : ": \(cause)")
      }
    var failure = Failure(.sessionExpired, message, suggestion: help)
    failure.profile = profile.name
    failure.account = session.account
    return failure
  }

  // MARK: - End

  /// The result of a logout for one account.
  package struct Ended {
    /// The account's name.
    package var account: String
    /// Whether the server ended it; nil if it was not asked or the recipe has no logout.
    package var revoked: Bool?
    /// Whether a stored item was deleted.
    package var deleted: Bool
    /// Why it was not revoked.
    package var reason: Failure?

    /// Creates a result for a logout that was not sent to the server.
    package init(account: String, deleted: Bool) {
      self.account = account
      self.deleted = deleted
    }

    /// Adds the result for another session of the account, in another store.
    package mutating func add(_ other: Ended) {
      deleted = deleted || other.deleted
      guard let ended = other.revoked, revoked != false else { return }
      revoked = ended
      reason = other.reason
    }
  }

  /// The stored item of an account that is being signed out.
  private enum Stored {
    case nothing
    case session(Session)
    /// An unreadable item, which must still be deleted.
    case unreadable

    var isThere: Bool { if case .nothing = self { false } else { true } }
  }

  private func stored(_ account: String) -> Stored {
    do throws(Failure) {
      return try read(account).map { .session($0) } ?? .nothing
    } catch {
      return .unreadable
    }
  }

  /// Revokes the session if the recipe can, then deletes it, whatever the server answers.
  ///
  /// - Parameter unregisters: whether the registration of the client ends too, before the session
  ///   that has the token for it is deleted; if it cannot be ended, the session is kept.
  package func end(
    _ account: String, requireRevocation: Bool, unregisters: Bool = false
  ) throws(Failure) -> Ended {
    try locked(account) { () throws(Failure) in
      let limit = clock().seconds + Self.longestHold
      var ended = Ended(account: account, deleted: false)
      let stored = stored(account)
      if case .session(let before) = stored {
        if unregisters { try checkRegistered(before) }
        var session = before
        (ended.revoked, ended.reason) = revoke(renewing: &session, before: limit)
        // The stored pair must not be one that the failed revocation has used up.
        if requireRevocation, ended.revoked != true, isNewer(session, than: before) {
          try storeNewPair(session)
        }
      }
      if requireRevocation, stored.isThere, ended.revoked != true {
        throw ended.reason
          ?? Failure(
            .failed, "\(profile.name): the session of \(account) cannot be ended on the server",
            hint: "leave out --require-revocation to delete it on this machine only")
      }
      if unregisters, case .session(var session) = stored {
        do throws(Failure) { try unregister(session) } catch {
          session.isRefused = ended.revoked == true
          try? write(session)
          throw error
        }
      }
      ended.deleted = try store.delete(profile: profile.name, account: account)
      return ended
    }
  }

  /// Checks that authctl registered the client that `session` belongs to.
  private func checkRegistered(_ session: Session) throws(Failure) {
    if let call = profile.recipe.unregister, api.canFill(call, with: session) { return }
    throw Failure(
      .usage,
      profile.recipe.oauth?.isRegistered ?? false
        ? "\(profile.name): no session has the token that ends the registration of the client"
        : "\(profile.name): authctl did not register the client of this session",
      suggestion: .logout(profile.name, account: session.account))
  }

  /// Ends the registration of the client that `session` belongs to (RFC 7592, section 2.3).
  private func unregister(_ session: Session) throws(Failure) {
    guard let call = profile.recipe.unregister else { return }
    let answer = try api.send(
      call, values: api.values(of: session), permitted: session.signInLimits)
    try api.refuse(answer, of: call, what: "to end the registration", refused: [])
  }

  /// Revokes a session that is not, or no longer, stored.
  package func revoke(_ session: Session) -> (Bool?, Failure?) {
    var session = session
    return revoke(renewing: &session, before: clock().seconds + Self.longestHold)
  }

  private func revoke(
    renewing session: inout Session, before limit: Double
  ) -> (Bool?, Failure?) {
    let calls = [profile.recipe.logout, profile.recipe.secondLogout].compactMap { $0 }
    var ended: (Bool?, Failure?) = (nil, nil)
    for call in calls {
      let next = revoke(renewing: &session, by: call, before: limit)
      // Without the refresh token the session is over, whatever becomes of the access token.
      if ended.0 == nil { ended = next }
    }
    return ended
  }

  private func revoke(
    renewing session: inout Session, by call: RecipeRequest, before limit: Double
  ) -> (Bool?, Failure?) {
    // A dead access token cannot end the session of an API, and its refresh token would stay valid.
    // At an authorization server the token to end is a parameter, dead or not (RFC 7009).
    let needsAccess = !call.isEndpoint
    do throws(Failure) {
      if needsAccess, session.isDue(now: clock()) {
        _ = try renewInMemory(&session, before: limit)
      }
      guard api.canFill(call, with: session) else { return (nil, nil) }
      var answer = try end(session, by: call, before: limit)
      // 401 means that the token is dead, and so is the session unless it can be renewed.
      if needsAccess, answer.head.status == 401 {
        guard try renewInMemory(&session, before: limit) else { return (true, nil) }
        answer = try end(session, by: call, before: limit)
      }
      if call.isEndpoint {
        // Only 200 without an error code has ended a token (RFC 7009, section 2.2).
        try api.refuse(answer, of: call, what: "to end the session", refused: [])
        return (true, nil)
      }
      // Many servers redirect after a successful sign-out.
      let status = answer.head.status
      if (200...399).contains(status) { return (true, nil) }
      var failure = Failure(
        status >= 500 ? .serverError : .clientError,
        "\(profile.name): HTTP \(status) \(DisplayText.oneLine(answer.head.reason, limit: 60)): "
          + api.named(call, answer))
      failure.server = answer.words
      failure.status = status
      failure.account = session.account
      return (false, failure)
    } catch {
      return (false, error)
    }
  }

  private func end(
    _ session: Session, by call: RecipeRequest, before limit: Double
  ) throws(Failure) -> RecipeResponse {
    try api.send(
      call, values: api.values(of: session), cookies: session.cookies,
      permitted: session.signInLimits, seconds: try secondsLeft(before: limit))
  }

  /// Returns a session that is not stored, renewed if due.
  ///
  /// - Throws: what asking for the renewal throws; `session_expired` when the server refuses.
  package func freshInMemory(_ session: Session) throws(Failure) -> Session {
    guard session.isDue(now: clock()) else { return session }
    var fresh = session
    if try renewInMemory(&fresh, before: clock().seconds + Self.longestHold) { return fresh }
    throw expired(session, .due, .noRenewal)
  }

  /// Renews a session that is not stored, or about to be revoked; returns whether the server issued
  /// a new token.
  private func renewInMemory(
    _ session: inout Session, before limit: Double
  ) throws(Failure) -> Bool {
    guard canRefresh(session) else { return false }
    switch try refreshed(session, before: limit) {
    case .refused: return false
    case .usedUp(let failure): throw failure
    case .fresh(let fresh): session = fresh
    }
    return true
  }
}

extension Session {
  /// Returns this session with the values of a refresh; the others stay as they were.
  func renewed(with tokens: RecipeClient.Tokens, now: Timestamp) -> Session {
    var fresh = self
    fresh.values.merge(tokens.values)
    fresh.expiresAt = tokens.expiresAt
    fresh.lifetime = tokens.lifetime
    fresh.cookies = tokens.cookies
    fresh.notes.merge(tokens.notes) { $1 }
    fresh.sessionCookie = tokens.sessionCookie
    fresh.obtainedAt = now
    fresh.isRefused = false
    return fresh
  }
}
