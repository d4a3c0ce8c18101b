import Testing

@testable import AuthKit

private let now = Timestamp(seconds: 1_796_047_509)
private func later(_ seconds: Double) -> Timestamp { Timestamp(seconds: now.seconds + seconds) }

/// Decisions about a session before a request and after a 401: design 6, rule B6.
@Suite struct SessionLeaseTests {
  private typealias Condition = SessionLease.Condition

  private static let renewable = Condition(isRenewable: true)
  private static let variable = Condition(isFixed: true)

  private func lease(_ renewsOnEveryResponse: Bool = false) -> SessionLease {
    SessionLease(renewsOnEveryResponse: renewsOnEveryResponse)
  }

  @Test func beforeSending() {
    // isFixed, isRenewable, hasEnded, isDue
    let cases: [(Bool, Bool, Bool, Bool, SessionLease.Step)] = [
      (false, true, false, false, .use), (false, true, false, true, .renew),
      (false, true, true, true, .renew), (false, false, false, false, .use),
      (false, false, false, true, .use), (false, false, true, true, .reject),
      (true, false, false, false, .use), (true, false, false, true, .use),
      (true, false, true, true, .reject), (true, true, false, true, .use),
      (true, true, true, true, .reject),
    ]
    for (isFixed, isRenewable, hasEnded, isDue, step) in cases {
      let session = Condition(
        isFixed: isFixed, isRenewable: isRenewable, hasEnded: hasEnded, isDue: isDue)
      #expect(lease().beforeSending(session) == step, "\(session)")
    }
  }

  @Test func afterTheFirstRefusal() {
    let cases: [(Condition, isRepeat: Bool, SessionLease.Step, mayRenew: Bool)] = [
      (Self.renewable, false, .renew, true), (Self.renewable, true, .reread, true),
      (Condition(), false, .reread, false), (Condition(), true, .reread, false),
      (Self.variable, false, .reject, false), (Self.variable, true, .reject, false),
      (Condition(isFixed: true, isRenewable: true), false, .reject, false),
    ]
    for (session, isRepeat, step, mayRenew) in cases {
      #expect(lease().afterRefusal(session, isRepeat: isRepeat, now: now) == step, "\(session)")
      #expect(lease().mayRenew(session, now: now) == mayRenew, "\(session)")
    }
  }

  /// After one renewal and one reading of the store, the refusal is final.
  @Test func refusedAgainAfterARenewal() {
    var lease = lease()
    lease.wasRenewed(Self.renewable)
    #expect(!lease.mayRenew(Self.renewable, now: now))
    #expect(lease.afterRefusal(Self.renewable, now: now) == .reread)
    lease.wasReread(nil)
    #expect(lease.afterRefusal(Self.renewable, now: now) == .reject)
  }

  /// If another process has renewed the session, its token is tried and not renewed for this
  /// request.
  @Test(arguments: [(false, 1), (true, 3)])
  func rereadings(renewsOnEveryResponse: Bool, most: Int) {
    var lease = lease(renewsOnEveryResponse)
    for _ in 0..<most {
      #expect(lease.afterRefusal(Condition(), now: now) == .reread)
      lease.wasReread(Condition())
    }
    #expect(lease.afterRefusal(Condition(), now: now) == .reject)
    #expect(lease.afterRefusal(Self.renewable, now: now) == .reject)
  }

  /// A store with nothing newer is not read again for each refused request, unless a new session
  /// has been accepted since.
  @Test func nothingNewInTheStore() {
    var lease = lease()
    lease.wasReread(nil)
    lease.wasAccepted()
    #expect(lease.afterRefusal(Condition(), now: now) == .reject)
    #expect(lease.afterRefusal(Self.renewable, now: now) == .renew)
    lease.wasRenewed(Self.renewable)
    lease.wasAccepted()
    #expect(lease.afterRefusal(Condition(), now: now) == .reread)
  }

  /// Rule B6: a token that is due right after its renewal is used without another one: either the
  /// clock is wrong, or the server grants a very short lifetime. One that becomes due is renewed.
  @Test func dueStraightAfterItsRenewal() {
    let due = Condition(isRenewable: true, isDue: true)
    let ended = Condition(isRenewable: true, hasEnded: true, isDue: true)
    for session in [due, ended] {
      var lease = lease()
      lease.wasRenewed(session)
      #expect(lease.beforeSending(session) == .use)
      lease.wasReread(session)
      #expect(lease.beforeSending(session) == .use)
      lease.wasRenewed(Self.renewable)
      #expect(lease.beforeSending(Self.renewable) == .use)
      #expect(lease.beforeSending(session) == .renew)
    }
  }

  /// With many requests in one session, a new token must be accepted before the next renewal.
  @Test func renewedAgainOnceItWasAccepted() {
    var lease = lease()
    lease.wasRenewed(Self.renewable)
    lease.wasAccepted(isRepeat: true)
    #expect(lease.afterRefusal(Self.renewable, now: now) == .renew)
    #expect(lease.afterRefusal(Self.renewable, isRepeat: true, now: now) == .reread)
  }

  /// A server that refuses some requests with any token causes at most one renewal per minute.
  @Test func patience() {
    var lease = lease()
    lease.wasRenewed(Self.renewable)
    lease.wasRefusedAgain(now: now)
    lease.wasAccepted()
    #expect(!lease.mayRenew(Self.renewable, now: later(60)))
    #expect(lease.afterRefusal(Self.renewable, now: later(60)) == .reread)
    #expect(lease.afterRefusal(Self.renewable, now: later(61)) == .renew)
    // A renewal that has helped another request does not count against this one.
    var helpful = self.lease()
    helpful.wasRenewed(Self.renewable)
    helpful.wasAccepted(isRepeat: true)
    helpful.wasRefusedAgain(now: now)
    #expect(helpful.afterRefusal(Self.renewable, now: now) == .renew)
  }
}
