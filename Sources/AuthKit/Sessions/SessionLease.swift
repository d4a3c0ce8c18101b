/// Decides whether the current session can be used for another request, and what to do when it
/// cannot.
///
/// It only decides: the caller reads the store, renews, sends, and reports the results. `get` and
/// `batch` both use it, so that they treat a session alike.
struct SessionLease: Equatable {
  /// The state of a session before a decision.
  struct Condition: Equatable {
    /// It comes from a variable and cannot be replaced.
    var isFixed = false
    /// A refresh token or a kept command can renew it.
    var isRenewable = false
    /// It has expired.
    var hasEnded = false
    /// It has expired or is about to.
    var isDue = false
  }

  /// The next step.
  enum Step: Equatable {
    /// Send the request with the session as it is.
    case use
    /// Renew the session first.
    case renew
    /// Read the store again: another process may have renewed the session.
    case reread
    /// Give up: there is nothing left to try.
    case reject
  }

  /// Seconds to wait after a renewal that did not help before another one.
  static let patience: Double = 60

  /// How often the store may be read again for one session.
  private let mostRereadings: Int
  private var rereadings: Int
  /// Whether the session replaced another and no request was accepted with it yet.
  private(set) var isUnproven = false
  /// Whether a request was accepted with it after being refused with the session before.
  private var hasHelped = false
  /// Whether it was due as soon as it was issued, perhaps by a wrong clock: it is used as it is
  /// (rule B6).
  private var ignoresDue = false
  /// When a renewal last turned out not to help.
  private var uselessAt: Timestamp?

  /// - Parameter renewsOnEveryResponse: whether other processes can use up the token repeatedly.
  init(renewsOnEveryResponse: Bool) {
    mostRereadings = renewsOnEveryResponse ? 3 : 1
    rereadings = mostRereadings
  }

  // MARK: - Decisions

  /// Returns what to do before a request is sent.
  func beforeSending(_ session: Condition) -> Step {
    guard session.isDue, !ignoresDue else { return .use }
    if session.isRenewable, !session.isFixed { return .renew }
    return session.hasEnded ? .reject : .use
  }

  /// Returns what to do after the server refused the session.
  ///
  /// - Parameter isRepeat: whether the request was already repeated with a replaced session; it
  ///   causes no second renewal.
  func afterRefusal(_ session: Condition, isRepeat: Bool = false, now: Timestamp) -> Step {
    if session.isFixed { return .reject }
    if !isRepeat, mayRenew(session, now: now) { return .renew }
    return rereadings > 0 ? .reread : .reject
  }

  /// Whether a refusal leads to a renewal: only if the session of the last renewal, if any, was
  /// accepted.
  func mayRenew(_ session: Condition, now: Timestamp) -> Bool {
    guard session.isRenewable, !session.isFixed, !isUnproven else { return false }
    return uselessAt.map { now.seconds - $0.seconds > Self.patience } ?? true
  }

  // MARK: - Results

  /// Records a renewal; `session` is the new one.
  mutating func wasRenewed(_ session: Condition) {
    isUnproven = true
    hasHelped = false
    ignoresDue = session.isDue
  }

  /// Records a rereading of the store; `session` is the newer one found, or nil.
  mutating func wasReread(_ session: Condition?) {
    guard let session else { return rereadings = 0 }
    rereadings -= 1
    wasRenewed(session)
  }

  /// Records that a request was accepted with the session.
  mutating func wasAccepted(isRepeat: Bool = false) {
    if isRepeat { hasHelped = true }
    guard isUnproven else { return }
    isUnproven = false
    rereadings = mostRereadings
  }

  /// Records that a request was refused again after the session was replaced.
  mutating func wasRefusedAgain(now: Timestamp) {
    if !hasHelped { uselessAt = now }
  }
}
