/// Moves the sessions of a profile to the profile's new name, each under its locks.
///
/// The old item is deleted last, after the new one has been read back. An interrupted move can be
/// repeated.
package struct SessionRename {
  private let store: any SessionStore
  private let old: String
  private let new: String
  private let locks: SessionLocks
  private let redactor: Redactor

  /// - Parameters:
  ///   - store: the store of the sessions.
  ///   - old: the name of the profile so far.
  ///   - new: its new name.
  ///   - locks: those of every `SessionKeeper`.
  ///   - redactor: learns the secrets.
  package init(
    in store: any SessionStore, from old: String, to new: String, locks: SessionLocks,
    redactor: Redactor
  ) {
    self.store = store
    self.old = old
    self.new = new
    self.locks = locks
    self.redactor = redactor
  }

  /// Checks that the session of `account` can be moved; changes nothing.
  ///
  /// - Throws: `failed` when the new name has another session of this account; what the store throws.
  package func check(_ account: String) throws(Failure) {
    if let session = try session(of: old, account) { _ = try isMoved(session) }
  }

  /// Moves the session of `account`.
  ///
  /// - Throws: `timeout` when a lock is not free in time; as `check`. The old item then stays.
  package func move(_ account: String) throws(Failure) {
    try locks.hold(profile: old, account: account) { () throws(Failure) in
      try locks.hold(profile: new, account: account) { () throws(Failure) in
        guard let session = try session(of: old, account) else { return }
        if try !isMoved(session) { try write(session) }
        _ = try store.delete(profile: old, account: account)
      }
    }
  }

  /// Returns whether an interrupted move has written the session, which may have been renewed since.
  private func isMoved(_ session: Session) throws(Failure) -> Bool {
    guard let other = try self.session(of: new, session.account) else { return false }
    guard other.loginID == session.loginID else {
      var failure = Failure(
        .failed,
        "\(new) has a session of \(DisplayText.oneLine(session.account, limit: 80)) already",
        suggestion: .logout(new, account: session.account))
      failure.profile = new
      failure.account = session.account
      throw failure
    }
    return other.obtainedAt >= session.obtainedAt
  }

  private func write(_ session: Session) throws(Failure) {
    var renamed = session
    renamed.profile = new
    let isThere = try store.writeReadingBack(
      renamed.payload(),
      key: SessionKey(
        profile: new, account: session.account,
        origin: session.requestOrigins.first?.description ?? "", loginID: session.loginID))
    if isThere { return }
    throw Failure(
      .storeMissing,
      "\(store.title) did not return the session of "
        + "\(DisplayText.oneLine(session.account, limit: 80)) as it was written; it stays in \(old)"
    )
  }

  private func session(of profile: String, _ account: String) throws(Failure) -> Session? {
    guard let payload = try store.read(profile: profile, account: account) else { return nil }
    let session = try Session(payload: payload, profile: profile, account: account)
    redactor.learn(session)
    return session
  }
}
