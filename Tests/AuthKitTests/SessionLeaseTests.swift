import Testing

@testable import AuthKit

private let now = Timestamp(seconds: 1_796_047_509)
private func later(_ seconds: Double) -> Timestamp { Timestamp(seconds: now.seconds + seconds) }

/// What is done with a session, before a request and after a refusal: design 6, rule B6.
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

  /// One renewal, one look into the store, then it is over.
  @Test func refusedAgainAfterARenewal() {
    var lease = lease()
    lease.wasRenewed(Self.renewable)
    #expect(!lease.mayRenew(Self.renewable, now: now))
    #expect(lease.afterRefusal(Self.renewable, now: now) == .reread)
    lease.wasReread(nil)
    #expect(lease.afterRefusal(Self.renewable, now: now) == .reject)
  }

  /// Another process has renewed it: its token is tried, and not renewed for the same request.
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

  /// A store that holds nothing newer is not read again for each request that is refused; a session
  /// that took its place and works is another matter.
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

  /// Rule B6: a token that is due straight after its renewal is used as it is, by a clock that is
  /// wrong or a server that gives so little; one that comes to be due is renewed.
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

  /// Many requests of one session: a new token has to be accepted before the next renewal.
  @Test func renewedAgainOnceItWasAccepted() {
    var lease = lease()
    lease.wasRenewed(Self.renewable)
    lease.wasAccepted(isRepeat: true)
    #expect(lease.afterRefusal(Self.renewable, now: now) == .renew)
    #expect(lease.afterRefusal(Self.renewable, isRepeat: true, now: now) == .reread)
  }

  /// A server that refuses some requests whatever they carry costs one renewal in a minute.
  @Test func patience() {
    var lease = lease()
    lease.wasRenewed(Self.renewable)
    lease.wasRefusedAgain(now: now)
    lease.wasAccepted()
    #expect(!lease.mayRenew(Self.renewable, now: later(60)))
    #expect(lease.afterRefusal(Self.renewable, now: later(60)) == .reread)
    #expect(lease.afterRefusal(Self.renewable, now: later(61)) == .renew)
    // Where it has helped another request, the renewal was worth its while.
    var helpful = self.lease()
    helpful.wasRenewed(Self.renewable)
    helpful.wasAccepted(isRepeat: true)
    helpful.wasRefusedAgain(now: now)
    #expect(helpful.afterRefusal(Self.renewable, now: now) == .renew)
  }
}
