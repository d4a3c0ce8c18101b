/// Whether the session at hand is good for another request, and what is done when it is not.
///
/// It decides and does nothing: the caller reads the store, renews, sends, and reports what came of
/// that. `get` and `batch` both ask it, so that one session means the same to both.
struct SessionLease: Equatable {
  /// What is known of a session before a decision.
  struct Condition: Equatable {
    /// It comes from a variable: nothing takes its place.
    var isFixed = false
    /// A refresh token or a kept command can renew it.
    var isRenewable = false
    /// It has ended.
    var hasEnded = false
    /// It has ended, or is about to.
    var isDue = false
  }

  /// What comes next.
  enum Step: Equatable {
    /// The session goes with the request as it is.
    case use
    /// It is renewed first.
    case renew
    /// The store is read again: another process may have renewed it.
    case reread
    /// There is nothing left to try.
    case reject
  }

  /// Seconds for which a renewal that did not help is not followed by another.
  static let patience: Double = 60

  /// How often the store may be read again for one session.
  private let mostRereadings: Int
  private var rereadings: Int
  /// It has taken the place of another, and no request was accepted with it yet.
  private(set) var isUnproven = false
  /// A request was accepted with it that had been refused with the one before.
  private var hasHelped = false
  /// It was due as soon as it was there, by whosever clock: it is used as it is (rule B6).
  private var ignoresDue = false
  /// When a renewal last turned out not to help.
  private var uselessAt: Timestamp?

  /// - Parameter renewsOnEveryResponse: others may have used up the token meanwhile, again and again.
  init(renewsOnEveryResponse: Bool) {
    mostRereadings = renewsOnEveryResponse ? 3 : 1
    rereadings = mostRereadings
  }

  // MARK: - Decisions

  /// Before a request is sent.
  func beforeSending(_ session: Condition) -> Step {
    guard session.isDue, !ignoresDue else { return .use }
    if session.isRenewable, !session.isFixed { return .renew }
    return session.hasEnded ? .reject : .use
  }

  /// After the server has refused it.
  ///
  /// - Parameter isRepeat: the request was sent for a second time, with a session that had taken the
  ///   place of the refused one: another renewal is not for its sake.
  func afterRefusal(_ session: Condition, isRepeat: Bool = false, now: Timestamp) -> Step {
    if session.isFixed { return .reject }
    if !isRepeat, mayRenew(session, now: now) { return .renew }
    return rereadings > 0 ? .reread : .reject
  }

  /// Whether a refusal would lead to a renewal: the last one, if there was one, has brought a
  /// session that the server takes.
  func mayRenew(_ session: Condition, now: Timestamp) -> Bool {
    guard session.isRenewable, !session.isFixed, !isUnproven else { return false }
    return uselessAt.map { now.seconds - $0.seconds > Self.patience } ?? true
  }

  // MARK: - What came of them

  /// It was renewed; `session` is the new one.
  mutating func wasRenewed(_ session: Condition) {
    isUnproven = true
    hasHelped = false
    ignoresDue = session.isDue
  }

  /// The store held a newer one, `session`, or none.
  mutating func wasReread(_ session: Condition?) {
    guard let session else { return rereadings = 0 }
    rereadings -= 1
    wasRenewed(session)
  }

  /// A request was accepted with it.
  mutating func wasAccepted(isRepeat: Bool = false) {
    if isRepeat { hasHelped = true }
    guard isUnproven else { return }
    isUnproven = false
    rereadings = mostRereadings
  }

  /// A request was refused with it that had been refused with the one before.
  mutating func wasRefusedAgain(now: Timestamp) {
    if !hasHelped { uselessAt = now }
  }
}
