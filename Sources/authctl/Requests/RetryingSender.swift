internal import AuthKit

/// Sends requests: not faster than --rate, again where --retry says so, and within -m.
struct RetryingSender {
  typealias OnHead = (ResponseHead, HTTPClient.RedirectTrace) throws(Failure) -> Void
  typealias OnBody = (UnsafeRawBufferPointer) throws(Failure) -> Void
  typealias Send = (ProtectedRequest, OnHead, OnBody) throws(Failure) -> Void

  private let console: Console
  private let policy: RetryPolicy
  private let deadline: Double
  private let once: Send
  private var pace: RateLimit

  /// - Parameters:
  ///   - limit: seconds from now for everything (`-m`).
  ///   - once: sends a request a single time, a repeat with a renewed session included.
  init(
    _ console: Console, _ options: RetryOptions, limit: Double?, once: @escaping Send
  ) throws(Failure) {
    self.console = console
    self.once = once
    policy = try options.policy()
    pace = RateLimit(interval: options.rate?.interval ?? 0)
    deadline = Clock.uptime() + (limit ?? .infinity)
  }

  /// Sends `wanted` and passes the answer on that is not to be asked for again.
  ///
  /// - Parameters:
  ///   - mayRepeat: whether nothing of an answer that broke off has left this process.
  ///   - onHead: may be called again, for an answer in place of one that broke off.
  mutating func send(
    _ wanted: ProtectedRequest, mayRepeat: () -> Bool, onHead: OnHead, onBody: OnBody
  ) throws(Failure) {
    let start = Clock.uptime()
    var failed = 0
    if policy.times > 0, policy.covers(method: wanted.request.method) { wanted.request.keepBody() }
    while true {
      try waitForTurn()
      var again: (reason: String, seconds: Double)?
      func mayTry(_ reason: String, told: Double?) -> Bool {
        guard policy.covers(method: wanted.request.method), wanted.request.isRepeatable else {
          return false
        }
        again = wait(failed: failed + 1, since: start, told: told).map { (reason, $0) }
        return again != nil
      }
      do throws(Failure) {
        try once(wanted) { (head, hops) throws(Failure) in
          if RetryPolicy.isPassing(status: head.status),
            mayTry("HTTP \(head.status)", told: RetryPolicy.retryAfter(head, now: Clock.now()))
          {
            return
          }
          try onHead(head, hops)
        } _: { (bytes) throws(Failure) in
          if again == nil { try onBody(bytes) }
        }
      } catch {
        guard error.isOfRequest, again != nil || mayRepeat() && mayTry(error.message, told: nil)
        else { throw error }
      }
      guard let again else { return }
      failed += 1
      let seconds = Timestamp.spoken(again.seconds.rounded())
      console.notice(
        "authctl", foreign: "\(again.reason): again in \(seconds) (\(failed) of \(policy.times))")
      pace.pause(again.seconds, now: Clock.uptime())
    }
  }

  /// Seconds to wait before the next try; nil to take what there is.
  private func wait(failed: Int, since start: Double, told: Double?) -> Double? {
    let now = Clock.uptime()
    let seconds = policy.wait(failed: failed, elapsed: now - start, told: told)
    if let seconds { return now + seconds < deadline ? seconds : nil }
    if let told, told > RetryPolicy.longestWait, failed <= policy.times, policy.maximumTime == nil {
      console.notice(
        "authctl",
        foreign:
          "the server asks for \(Timestamp.spoken(told)); --retry-max-time allows more than 60 s"
      )
    }
    return nil
  }

  private mutating func waitForTurn() throws(Failure) {
    let now = Clock.uptime()
    let seconds = pace.turn(now: now)
    guard now + seconds < deadline else {
      throw Failure(
        .timeout, "the time of -m ends before the next request may begin",
        hint: "raise the limit by -m SECONDS")
    }
    if seconds > 0 { Clock.sleep(seconds) }
  }
}
