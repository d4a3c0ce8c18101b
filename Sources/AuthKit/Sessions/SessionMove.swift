/// Moves sessions from one store to another, each under its lock, so that no renewal is lost.
///
/// The old item is deleted last, after the new one has been read back. An interrupted move can be
/// repeated: sessions that are in both stores by then are compared.
package struct SessionMove {
  /// The result of one move.
  package enum Outcome: String, Sendable {
    /// The session was written, read back, and deleted from the old store.
    case moved
    /// An interrupted move had written the same session; it was deleted from the old store.
    case completed
    /// It replaced an older session in the new store.
    case replaced
    /// The new store has a newer session, which stays; the older was deleted from the old store.
    case outdated
    /// Another process deleted it meanwhile.
    case gone

    /// Whether the new store now has the session of the old one.
    package var isMoved: Bool { self != .outdated && self != .gone }
  }

  private let source: any SessionStore
  private let target: any SessionStore
  private let locks: SessionLocks
  private let redactor: Redactor

  /// - Parameters:
  ///   - locks: those of every `SessionKeeper`.
  ///   - redactor: learns the secrets.
  package init(
    from source: any SessionStore, to target: any SessionStore, locks: SessionLocks,
    redactor: Redactor
  ) {
    self.source = source
    self.target = target
    self.locks = locks
    self.redactor = redactor
  }

  /// Moves the session of `profile` and `account`; `origin` is stored for listings.
  ///
  /// - Throws: `timeout` when its lock is not free in time; `failed` when the two stores hold
  ///   different sessions of the same time; what the stores throw. In all these cases the old store
  ///   keeps its item.
  package func move(
    profile: String, account: String, origin: String?
  ) throws(Failure) -> Outcome {
    try locks.hold(profile: profile, account: account) { () throws(Failure) in
      guard let payload = try source.read(profile: profile, account: account) else { return .gone }
      // A damaged session stays where it is.
      let session = try self.session(payload, profile, account)
      let outcome = try outcome(for: session, payload)
      if outcome.isMoved, outcome != .completed {
        let origin = origin ?? session.requestOrigins.first?.description ?? ""
        let isThere = try target.writeReadingBack(
          payload,
          key: SessionKey(
            profile: profile, account: account, origin: origin, loginID: session.loginID))
        guard isThere else { throw notReadBack(profile, account) }
      }
      _ = try source.delete(profile: profile, account: account)
      return outcome
    }
  }

  /// Compares the session with the item in the new store.
  private func outcome(
    for session: Session, _ payload: borrowing Secret
  ) throws(Failure) -> Outcome {
    guard let other = try target.read(profile: session.profile, account: session.account) else {
      return .moved
    }
    if payload.hasSameBytes(as: other) { return .completed }
    let there = try self.session(other, session.profile, session.account)
    if session.obtainedAt > there.obtainedAt { return .replaced }
    if session.obtainedAt < there.obtainedAt { return .outdated }
    var failure = Failure(
      .failed,
      "\(session.profile): the stores \(source.name.rawValue) and \(target.name.rawValue) hold "
        + "different sessions of \(DisplayText.oneLine(session.account, limit: 80)), and neither "
        + "is newer, so both are kept",
      hint: Suggestion.login(session.profile, account: session.account).command
        .map { "to replace both, run: \($0)" })
    failure.profile = session.profile
    failure.account = session.account
    throw failure
  }

  private func notReadBack(_ profile: String, _ account: String) -> Failure {
    var failure = Failure(
      .storeMissing,
      "\(profile): \(target.title) did not return what was written for the session of "
        + "\(DisplayText.oneLine(account, limit: 80)), so it stays in \(source.title)")
    failure.profile = profile
    failure.account = account
    return failure
  }

  private func session(
    _ payload: borrowing Secret, _ profile: String, _ account: String
  ) throws(Failure) -> Session {
    let session = try Session(payload: payload, profile: profile, account: account)
    redactor.learn(session)
    return session
  }
}
