internal import AuthKit

/// A sender of requests that keeps to --rate, --retry and -m.
struct RetryingSender {
  typealias Send =
    (ProtectedRequest, HTTPClient.OnHead, HTTPClient.OnBody) throws(Failure) -> Void

  private let console: Console
  private let policy: RetryPolicy
  private let deadline: Double
  private let once: Send
  private var pace: RateLimit

  /// - Parameters:
  ///   - options: nil if none is given.
  ///   - limit: seconds from now for everything (`-m`).
  ///   - once: sends a request once, or twice if it renews the session.
  init(
    _ console: Console, _ options: RetryOptions?, limit: Double?, once: @escaping Send
  ) throws(Failure) {
    self.console = console
    self.once = once
    policy = try options?.policy() ?? RetryPolicy()
    pace = RateLimit(interval: options?.rate?.interval ?? 0)
    deadline = MonotonicClock.now() + (limit ?? .infinity)
  }

  /// Sends `wanted`, with retries, and passes on the final answer.
  ///
  /// - Parameters:
  ///   - mayRepeat: whether no part of an answer that broke off has left this process.
  ///   - onHead: called again for an answer that replaces one that broke off.
  mutating func send(
    _ wanted: ProtectedRequest, mayRepeat: () -> Bool, onHead: HTTPClient.OnHead,
    onBody: HTTPClient.OnBody
  ) throws(Failure) {
    let start = MonotonicClock.now()
    var failed = 0
    if policy.covers(method: wanted.request.method) { wanted.request.keepBody() }
    while true {
      try waitForTurn()
      var again: (reason: String, seconds: Double)?
      do throws(Failure) {
        try once(wanted) { (head, hops) throws(Failure) in
          let told = RetryPolicy.retryAfter(head, now: Clock.now())
          let outcome = RetryPolicy.Outcome.answer(status: head.status, told: told)
          if let wait = wait(outcome, wanted, failed + 1, since: start) {
            again = ("HTTP \(head.status)", wait)
            return
          }
          try onHead(head, hops)
        } _: { (bytes) throws(Failure) in
          if again == nil { try onBody(bytes) }
        }
      } catch {
        if error.isOfRequest, again == nil, mayRepeat(),
          let wait = wait(.failure(error), wanted, failed + 1, since: start)
        {
          again = (error.message, wait)
        }
        guard error.isOfRequest, again != nil else { throw error }
      }
      guard let again else { return }
      failed += 1
      let seconds = Timestamp.spoken(again.seconds.rounded())
      console.notice(
        "authctl", foreign: "\(again.reason); retrying in \(seconds) (\(failed) of \(policy.times))"
      )
      pace.pause(again.seconds, now: MonotonicClock.now())
    }
  }

  /// Returns the seconds to wait before a retry; nil to accept the outcome.
  private func wait(
    _ outcome: RetryPolicy.Outcome, _ wanted: ProtectedRequest, _ times: Int, since start: Double
  ) -> Double? {
    let now = MonotonicClock.now()
    var tried = RetryPolicy.Tried(method: wanted.request.method)
    tried.isRepeatable = wanted.request.isRepeatable
    tried.times = times
    tried.elapsed = now - start
    tried.left = deadline - now
    switch policy.decide(outcome, of: tried) {
    case .take: return nil
    case .again(let seconds): return seconds
    case .tooLong(let seconds):
      let asked = Timestamp.spoken(seconds)
      console.notice(
        "authctl",
        foreign: "the server asks to wait \(asked); use --retry-max-time to allow more than 60 s")
      return nil
    }
  }

  private mutating func waitForTurn() throws(Failure) {
    let now = MonotonicClock.now()
    let seconds = pace.turn(now: now)
    guard now + seconds < deadline else {
      throw Failure(
        .timeout, "the time limit (-m) ends before the next request can start",
        hint: "raise the limit with -m SECONDS")
    }
    if seconds > 0 { Clock.sleep(seconds) }
  }
}
