internal import Glibc

/// Keeps the sessions of one profile: reads, renews under lock, writes, forgets.
package final class SessionKeeper {
  /// The API that the sessions are for.
  package let api: RecipeClient
  /// Where the sessions are kept.
  package let store: any SessionStore
  private let lockFolder: String
  private let lockTimeout: Double
  let clock: () -> Timestamp
  let redactor: Redactor
  let warn: (String) -> Void
  /// Runs the command that a session keeps for signing in again, and gives the password it prints;
  /// none: no command is run. It has this many seconds.
  package var runCommand: ((_ command: String, _ seconds: Int) throws(Failure) -> Secret)?
  /// Holds back the signals that would end this process, until what it returns is called.
  package var holdSignals: () -> () -> Void = { {} }

  var profile: Profile { api.profile }

  /// - Parameters:
  ///   - lockFolder: below the state folder, whatever the environment.
  ///   - lockTimeout: seconds.
  package init(
    api: RecipeClient, store: any SessionStore, lockFolder: String, lockTimeout: Double,
    redactor: Redactor, clock: @escaping () -> Timestamp, warn: @escaping (String) -> Void
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
  package func read(_ account: String) throws(Failure) -> Session? {
    guard let payload = try store.read(profile: profile.name, account: account) else { return nil }
    let session = try Session(payload: payload, profile: profile.name, account: account)
    redactor.learn(session)
    return session
  }

  /// Stores a new session over whatever was there; a failure to store is a failed sign-in.
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
    try FileLock.hold(
      folder: lockFolder, profile: profile.name, account: account, timeout: lockTimeout, work)
  }

  /// Writes what an answer changed, cookies or rotated values, unless the stored session is another
  /// by now (rule B1). What other processes have written meanwhile stays.
  func update(
    _ session: Session, cookies: [HTTPClient.NewCookie], tokens: RecipeClient.Tokens?
  ) throws(Failure) {
    try locked(session.account) { () throws(Failure) in
      guard var stored = try read(session.account), stored.loginID == session.loginID else {
        return
      }
      if let tokens { stored = stored.renewed(with: tokens, now: clock()) }
      for cookie in cookies { stored.cookies.store(cookie, now: clock()) }
      try write(stored)
    }
  }

  // MARK: - Failures

  /// There is no session of `account`.
  package func notSignedIn(_ account: String?) -> Failure {
    var failure = Failure(
      .notSignedIn, "not signed in to \(profile.name) (\(api.base.origin))",
      suggestion: .login(profile.name, account: account == profile.account ? nil : account))
    failure.profile = profile.name
    failure.account = account
    return failure
  }

  /// Why a session that has ended got no fresh token.
  package enum Obstacle {
    /// It cannot be renewed without a person.
    case noRenewal
    /// The server refused the refresh token.
    case renewalRefused
    /// The server refused the renewed token as well.
    case renewalUseless
    /// The server refused the password that the kept command printed.
    case passwordRefused
    /// The server redirected the request to this sign-in page.
    case signInPage(String)
    /// The server gives no token that lasts this many seconds.
    case tooShort(seconds: Double)

    /// The end of the message.
    fileprivate var remark: String {
      switch self {
      case .noRenewal: " (no renewal)"
      case .renewalRefused: "; renewal refused"
      case .renewalUseless: "; a renewal did not help"
      case .passwordRefused: "; the password of the kept command was refused"
      case .signInPage(let page): "; it redirected to its sign-in page (\(page))"
      case .tooShort(let seconds): "; no token of \(Timestamp.spoken(seconds))"
      }
    }
  }

  /// The session has ended, and `obstacle` is why there is no fresh token.
  package func expired(_ session: Session, _ reason: Reason, _ obstacle: Obstacle) -> Failure {
    let left = session.secondsLeft(now: clock())
    let remark = obstacle.remark
    let account = DisplayText.oneLine(session.account, limit: 80)
    let message =
      if let left, left <= 0 {
        "\(profile.name): session of \(account) expired \(Timestamp.spoken(-left)) ago\(remark)"
      } else if reason == .asked {
        "\(profile.name): session of \(account) cannot be renewed\(remark)"
      } else {
        "\(profile.name): session of \(account) was refused by the server\(remark)"
      }
    var failure = Failure(
      .sessionExpired, message, suggestion: .login(profile.name, account: session.account))
    failure.profile = profile.name
    failure.account = session.account
    return failure
  }

  // MARK: - End

  /// What logout came to for one account.
  package struct Ended {
    /// The account's name.
    package var account: String
    /// The server ended it; nil where the recipe cannot ask for that.
    package var revoked: Bool?
    /// Whether there was something to forget here.
    package var deleted: Bool
    /// Why it was not revoked.
    package var reason: Failure?

    /// Not asked of the server.
    package init(account: String, deleted: Bool) {
      self.account = account
      self.deleted = deleted
    }

    /// Adds what came of another session of the account, in another store.
    package mutating func add(_ other: Ended) {
      deleted = deleted || other.deleted
      guard let ended = other.revoked, revoked != false else { return }
      revoked = ended
      reason = other.reason
    }
  }

  /// What the store has of an account that is signed out.
  private enum Stored {
    case nothing
    case session(Session)
    /// An item that cannot be read: it must still be forgotten.
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

  /// Revokes where the recipe can, then forgets; forgetting does not depend on the server.
  package func end(_ account: String, requireRevocation: Bool) throws(Failure) -> Ended {
    try locked(account) { () throws(Failure) in
      let limit = clock().seconds + Self.longestHold
      var ended = Ended(account: account, deleted: false)
      let stored = stored(account)
      if case .session(let before) = stored {
        var session = before
        (ended.revoked, ended.reason) = revoke(renewing: &session, before: limit)
        // What is kept must not be a pair that revoking has used up.
        if requireRevocation, ended.revoked != true, isNewer(session, than: before) {
          try storeNewPair(session)
        }
      }
      if requireRevocation, stored.isThere, ended.revoked != true {
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
  package func revoke(_ session: Session) -> (Bool?, Failure?) {
    var session = session
    return revoke(renewing: &session, before: clock().seconds + Self.longestHold)
  }

  private func revoke(
    renewing session: inout Session, before limit: Double
  ) -> (Bool?, Failure?) {
    guard let call = profile.recipe.logout else { return (nil, nil) }
    do throws(Failure) {
      // A dead access token cannot end the session, and its refresh token would live on.
      if session.isDue(now: clock()) { _ = try renewInMemory(&session, before: limit) }
      guard api.canFill(call, with: session) else { return (nil, nil) }
      var answer = try end(session, by: call, before: limit)
      // 401 says that the token was dead: so is the session, unless it can be renewed.
      if answer.head.status == 401 {
        guard try renewInMemory(&session, before: limit) else { return (true, nil) }
        answer = try end(session, by: call, before: limit)
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

  private func end(
    _ session: Session, by call: RecipeRequest, before limit: Double
  ) throws(Failure) -> RecipeResponse {
    try api.send(
      call, values: api.values(of: session), cookies: session.cookies,
      permitted: session.signInLimits, seconds: try secondsLeft(before: limit))
  }

  /// A session that is not stored, renewed where it is due.
  ///
  /// - Throws: what asking for the renewal throws; `session_expired` when the server refuses.
  package func freshInMemory(_ session: Session) throws(Failure) -> Session {
    guard session.isDue(now: clock()) else { return session }
    var fresh = session
    if try renewInMemory(&fresh, before: clock().seconds + Self.longestHold) { return fresh }
    throw expired(session, .due, .noRenewal)
  }

  /// A fresh access token for a session that is about to go; whether the server gave one.
  private func renewInMemory(
    _ session: inout Session, before limit: Double
  ) throws(Failure) -> Bool {
    guard canRefresh(session), case .fresh(let fresh) = try refreshed(session, before: limit)
    else { return false }
    session = fresh
    return true
  }
}

extension Session {
  /// This session with what a refresh brought; what it did not bring stays as it was.
  func renewed(with tokens: RecipeClient.Tokens, now: Timestamp) -> Session {
    var fresh = self
    fresh.values.merge(tokens.values)
    fresh.expiresAt = tokens.expiresAt
    fresh.lifetime = tokens.lifetime
    fresh.cookies = tokens.cookies
    fresh.obtainedAt = now
    return fresh
  }
}
