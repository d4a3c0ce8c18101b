internal import Glibc

/// Keeps the sessions of one profile: reads, renews under lock, writes, forgets.
public final class SessionKeeper {
  /// The API that the sessions are for.
  public let api: API
  /// Where the sessions are kept.
  public let store: any SessionStore
  private let lockFolder: String
  private let lockTimeout: Double
  let clock: () -> Moment
  let redactor: Redactor
  let warn: (String) -> Void

  var profile: Profile { api.profile }

  /// - Parameters:
  ///   - lockFolder: below the state folder, whatever the environment.
  ///   - lockTimeout: seconds.
  public init(
    api: API, store: any SessionStore, lockFolder: String, lockTimeout: Double,
    redactor: Redactor, clock: @escaping () -> Moment, warn: @escaping (String) -> Void
  ) {
    self.api = api
    self.store = store
    self.lockFolder = lockFolder
    self.lockTimeout = lockTimeout
    self.clock = clock
    self.redactor = redactor
    self.warn = warn
  }

  // MARK: - Store

  /// The stored session of `account`; nil when there is certainly none.
  public func read(_ account: String) throws(Failure) -> Session? {
    guard let payload = try store.read(profile: profile.name, account: account) else { return nil }
    let session = try Session(payload: payload, profile: profile.name, account: account)
    for entry in session.values.all { redactor.learn(entry.value.secret) }
    for cookie in session.cookies.cookies { redactor.learn(cookie.value) }
    return session
  }

  /// Stores a new session over whatever was there; a failure to store is a failed sign-in.
  public func keep(_ session: Session) throws(Failure) {
    try locked(session.account) { () throws(Failure) in try write(session) }
  }

  private func write(_ session: Session) throws(Failure) {
    try store.write(
      session.payload(),
      key: SessionKey(
        profile: session.profile, account: session.account,
        origin: api.base.origin.description, generation: session.generation))
  }

  private func locked<R>(_ account: String, _ work: () throws(Failure) -> R) throws(Failure) -> R {
    try FileLock.hold(
      folder: lockFolder, profile: profile.name, account: account, timeout: lockTimeout, work)
  }

  /// Writes what an answer changed, cookies or rotated values, unless the stored session is another
  /// by now (rule B1). What other processes have written meanwhile stays.
  func update(
    _ session: Session, cookies: [HTTPClient.NewCookie], tokens: API.Tokens?
  ) throws(Failure) {
    try locked(session.account) { () throws(Failure) in
      guard var stored = try read(session.account), stored.generation == session.generation else {
        return
      }
      if let tokens { stored = stored.renewed(with: tokens, now: clock()) }
      for cookie in cookies { stored.cookies.store(cookie, now: clock()) }
      try write(stored)
    }
  }

  // MARK: - Renewal

  /// Why a session is renewed.
  public enum Reason {
    /// The access token is about to end.
    case due
    /// The server did not accept the access token.
    case rejected
    /// The person asked for it.
    case asked
  }

  /// `session` with a fresh access token.
  ///
  /// The lock is taken, the store read again, the refresh sent, the new pair stored before it is
  /// used: any number of processes send one refresh (contract section 6).
  ///
  /// - Throws: `session_expired` when the server refuses or nothing can renew it; the session is
  ///   kept when the server cannot be reached or is broken.
  public func renewed(_ session: Session, _ reason: Reason) throws(Failure) -> Session {
    try locked(session.account) { () throws(Failure) in
      guard let stored = try read(session.account) else { throw notSignedIn(session.account) }
      if isNewer(stored, than: session), reason == .asked || !stored.isDue(now: clock()) {
        return stored
      }
      guard let call = profile.recipe.refresh, stored.refreshable, api.canRefresh(stored) else {
        throw expired(stored, reason, "no renewal")
      }
      switch try askForRenewal(stored, call) {
      case .refused(let answer): return try afterRefusal(answer, of: stored, reason)
      case .fresh(let fresh):
        if fresh.secondsLeft(now: clock()) ?? 1 <= 0 {
          warn("\(profile.name): the server's new token has ended already; is a clock wrong?")
        }
        do throws(Failure) { try storeNewPair(fresh) } catch {
          // Who asked for a renewal wants it kept; a request goes on with what is at hand.
          if reason == .asked { throw error }
          warn(
            "\(profile.name): the renewed session could not be stored (\(error.message)); "
              + "it serves this command only: sign in again")
        }
        return fresh
      }
    }
  }

  private enum Renewal {
    case fresh(Session)
    case refused(Answer)
  }

  private func askForRenewal(_ stored: Session, _ call: Call) throws(Failure) -> Renewal {
    let answer = try api.send(
      call, values: api.values(of: stored), cookies: stored.cookies,
      permitted: stored.signInOrigins)
    if try isRefusal(answer) { return .refused(answer) }
    try api.refuse(answer, of: call, what: "to renew the session", refused: [])
    guard let tokens = try api.tokens(in: answer) else {
      throw api.notUnderstood(answer, call, "no token in the answer to \(api.named(call))")
    }
    let fresh = stored.renewed(with: tokens, now: clock())
    _ = try api.requestHeaders(api.values(of: fresh))
    return .fresh(fresh)
  }

  func isNewer(_ stored: Session, than mine: Session) -> Bool {
    if stored.generation != mine.generation { return true }
    guard let theirs = stored.accessToken, let own = mine.accessToken else { return false }
    return !theirs.hasSameBytes(as: own) || stored.obtainedAt > mine.obtainedAt
  }

  /// Statuses that say no to the refresh token; 404 and the like say that the recipe is wrong.
  private func isRefusal(_ answer: Answer) throws(Failure) -> Bool {
    if (200...299).contains(answer.head.status) { return try answer.saysNo() }
    return [400, 401, 403, 422].contains(answer.head.status)
      || answer.recipe.refused.contains(answer.head.status)
  }

  /// Somebody else may have renewed it without our lock (another machine's copy, another tool):
  /// the store is read once more before the session is called dead.
  private func afterRefusal(
    _ answer: Answer, of used: Session, _ reason: Reason
  ) throws(Failure) -> Session {
    guard var stored = try read(used.account) else { throw notSignedIn(used.account) }
    if isNewer(stored, than: used) { return stored }
    stored.values[.refreshToken] = nil
    stored.refreshable = false
    try? write(stored)
    var failure = expired(stored, reason, "renewal refused")
    let words = answer.words
    failure.server =
      [
        "HTTP \(answer.head.status)" + (words.first.map { ": \($0)" } ?? "")
      ] + words.dropFirst()
    failure.status = answer.head.status
    throw failure
  }

  /// The old pair is dead at the server by now: a store that fails at once is asked again for a
  /// few seconds; one that has let its time run out has had its chance, as others wait for the lock.
  private func storeNewPair(_ session: Session) throws(Failure) {
    let begin = clock()
    for pause in [0, 200_000, 800_000, 2_000_000] as [UInt32] {
      usleep(pause)
      do throws(Failure) { return try write(session) } catch {
        if pause == 2_000_000 || clock().seconds - begin.seconds > 3 { throw error }
      }
    }
  }

  // MARK: - Failures

  /// There is no session of `account`.
  public func notSignedIn(_ account: String?) -> Failure {
    var failure = Failure(
      .notSignedIn, "not signed in to \(profile.name) (\(api.base.origin))",
      hint: account == nil || account == profile.account
        ? api.command("login") : api.command("login", "-u", account ?? ""))
    failure.profile = profile.name
    failure.account = account
    return failure
  }

  /// The session has ended: `why` is the remark in brackets or behind the semicolon.
  public func expired(_ session: Session, _ reason: Reason, _ why: String) -> Failure {
    let left = session.secondsLeft(now: clock())
    let remark = why == "no renewal" ? " (no renewal)" : "; \(why)"
    let account = DisplayText.oneLine(session.account, limit: 80)
    let message =
      if let left, left <= 0 {
        "\(profile.name): session of \(account) expired \(Moment.spoken(-left)) ago\(remark)"
      } else if reason == .asked {
        "\(profile.name): session of \(account) cannot be renewed\(remark)"
      } else {
        "\(profile.name): session of \(account) was refused by the server\(remark)"
      }
    var failure = Failure(
      .sessionExpired, message,
      hint: api.command("login", "-u", session.account))
    failure.profile = profile.name
    failure.account = session.account
    return failure
  }

  // MARK: - End

  /// What logout came to for one account.
  public struct Ended {
    /// The account's name.
    public var account: String
    /// The server ended it; nil where the recipe cannot ask for that.
    public var revoked: Bool?
    /// Whether there was something to forget here.
    public var deleted: Bool
    /// Why it was not revoked.
    public var reason: Failure?

    /// Not asked of the server.
    public init(account: String, deleted: Bool) {
      self.account = account
      self.deleted = deleted
    }

    /// Adds what came of another session of the account, in another store.
    public mutating func add(_ other: Ended) {
      deleted = deleted || other.deleted
      guard let ended = other.revoked, revoked != false else { return }
      revoked = ended
      reason = other.reason
    }
  }

  /// Revokes where the recipe can, then forgets; forgetting does not depend on the server.
  public func end(_ account: String, requireRevocation: Bool) throws(Failure) -> Ended {
    try locked(account) { () throws(Failure) in
      var ended = Ended(account: account, deleted: false)
      // An item that cannot be read must still be forgotten.
      let stored: Session??
      do throws(Failure) { stored = try read(account) } catch { stored = .none }
      if let before = stored ?? nil {
        var session = before
        (ended.revoked, ended.reason) = revoke(renewing: &session)
        // What is kept must not be a pair that revoking has used up.
        if requireRevocation, ended.revoked != true, isNewer(session, than: before) {
          try storeNewPair(session)
        }
      }
      let isThere = if case .some(.none) = stored { false } else { true }
      if requireRevocation, isThere, ended.revoked != true {
        throw ended.reason
          ?? Failure(
            .failed, "\(profile.name): the session of \(account) cannot be ended at the server",
            hint: "without --require-revocation it is forgotten here")
      }
      ended.deleted = try store.delete(profile: profile.name, account: account)
      return ended
    }
  }

  /// Ends a session at the server that is not, or no longer, stored.
  public func revoke(_ session: Session) -> (Bool?, Failure?) {
    var session = session
    return revoke(renewing: &session)
  }

  private func revoke(renewing session: inout Session) -> (Bool?, Failure?) {
    guard let call = profile.recipe.logout else { return (nil, nil) }
    do throws(Failure) {
      // A dead access token cannot end the session, and its refresh token would live on.
      if session.isDue(now: clock()) { _ = try renewInMemory(&session) }
      guard api.canFill(call, with: session) else { return (nil, nil) }
      var answer = try end(session, by: call)
      // 401 says that the token was dead: so is the session, unless it can be renewed.
      if answer.head.status == 401 {
        guard try renewInMemory(&session) else { return (true, nil) }
        answer = try end(session, by: call)
      }
      // A redirect after a sign-out is the usual end of it.
      let status = answer.head.status
      if (200...399).contains(status) { return (true, nil) }
      var failure = Failure(
        status >= 500 ? .serverError : .clientError,
        "\(profile.name): HTTP \(status) \(DisplayText.oneLine(answer.head.reason, limit: 60)): "
          + api.named(call))
      failure.server = answer.words
      failure.status = status
      failure.account = session.account
      return (false, failure)
    } catch {
      return (false, error)
    }
  }

  private func end(_ session: Session, by call: Call) throws(Failure) -> Answer {
    try api.send(
      call, values: api.values(of: session), cookies: session.cookies,
      permitted: session.signInOrigins)
  }

  /// A session that is not stored, renewed where it is due.
  ///
  /// - Throws: what asking for the renewal throws; `session_expired` when the server refuses.
  public func freshInMemory(_ session: Session) throws(Failure) -> Session {
    guard session.isDue(now: clock()) else { return session }
    var fresh = session
    if try renewInMemory(&fresh) { return fresh }
    throw expired(session, .due, "no renewal")
  }

  /// A fresh access token for a session that is about to go; whether the server gave one.
  private func renewInMemory(_ session: inout Session) throws(Failure) -> Bool {
    guard let call = profile.recipe.refresh, session.refreshable, api.canRefresh(session),
      case .fresh(let fresh) = try askForRenewal(session, call)
    else { return false }
    session = fresh
    return true
  }
}

extension Session {
  /// This session with what a refresh brought; what it did not bring stays as it was.
  func renewed(with tokens: API.Tokens, now: Moment) -> Session {
    var fresh = self
    fresh.values.merge(tokens.values)
    fresh.expiresAt = tokens.expiresAt
    fresh.lifetime = tokens.lifetime
    fresh.cookies = tokens.cookies
    fresh.obtainedAt = now
    return fresh
  }
}
