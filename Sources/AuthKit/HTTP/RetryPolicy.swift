/// Decides when to send a request again after a temporary failure (design 8).
///
/// It only decides and does not wait; single requests and `batch` share it.
package struct RetryPolicy: Sendable {
  /// The outcome of a try.
  package enum Outcome: Sendable {
    /// An answer, and the seconds that it asks the client to wait (`retryAfter`).
    case answer(status: Int, told: Double?)
    /// No answer, or an incomplete one.
    case failure(Failure)
  }

  /// A request that was tried.
  package struct Tried: Sendable {
    package var method: String
    /// Whether it can be sent again, and no part of the answer has been output.
    package var isRepeatable = true
    /// The number of tries so far.
    package var times = 1
    /// Seconds since the first try began.
    package var elapsed: Double = 0
    /// Seconds left of the time limit; infinite without a limit.
    package var left = Double.infinity

    /// Creates a request that was tried once, just now.
    package init(method: String) { self.method = method }
  }

  /// What to do next.
  package enum Decision: Sendable, Equatable {
    /// Accept the outcome.
    case take
    /// Send the request again after `seconds`.
    case again(seconds: Double)
    /// Do not send it again: the server asks for a longer wait than is allowed.
    case tooLong(seconds: Double)
  }

  /// The longest wait that a server may ask for without `maximumTime` (rule B6), in seconds.
  package static let longestWait: Double = 60

  /// The largest number of retries.
  package var times = 0
  /// Seconds after the first try in which the last may begin; replaces the limit on `Retry-After`.
  package var maximumTime: Double?
  /// Whether to retry all methods, not only GET and HEAD.
  package var allMethods = false

  /// Creates a policy that never retries.
  package init() {}

  /// Whether requests with this method are ever sent again.
  package func covers(method: String) -> Bool {
    times > 0 && (allMethods || method == "GET" || method == "HEAD")
  }

  /// Decides whether to send `tried` again after `outcome`.
  package func decide(
    _ outcome: Outcome, of tried: Tried,
    jitter: @autoclosure () -> Double = .random(in: 0.8...1.2)
  ) -> Decision {
    guard covers(method: tried.method), tried.isRepeatable, Self.isPassing(outcome) else {
      return .take
    }
    var told: Double?
    if case .answer(_, let seconds) = outcome { told = seconds }
    let wait = wait(failed: tried.times, elapsed: tried.elapsed, told: told, jitter: jitter())
    if let wait { return wait < tried.left ? .again(seconds: wait) : .take }
    guard let told, told > Self.longestWait, tried.times <= times, maximumTime == nil else {
      return .take
    }
    return .tooLong(seconds: told)
  }

  /// Whether `outcome` is a temporary failure. A failed sign-in or renewal that the request needed
  /// does not count.
  package static func isPassing(_ outcome: Outcome) -> Bool {
    switch outcome {
    case .answer(let status, _): isPassing(status: status)
    case .failure(let failure): failure.isOfRequest
    }
  }

  /// Whether `status` is a temporary failure: the same request may succeed later.
  package static func isPassing(status: Int) -> Bool {
    [408, 429, 500, 502, 503, 504].contains(status)
  }

  /// Returns the wait before the next try: the server's own or else 1, 2, 4 … 60 seconds, varied by
  /// up to a fifth so that many clients do not return at once.
  ///
  /// - Parameters:
  ///   - failed: the number of tries so far.
  ///   - elapsed: seconds since the first try began.
  ///   - told: seconds that the server asks for (`retryAfter`).
  /// - Returns: seconds; nil to accept the outcome.
  func wait(
    failed: Int, elapsed: Double, told: Double?, jitter: Double = .random(in: 0.8...1.2)
  ) -> Double? {
    guard failed <= times else { return nil }
    let doubled = Double(1 << min(max(failed - 1, 0), 6))
    let wait = told ?? min(doubled * jitter, Self.longestWait)
    if let maximumTime { return elapsed + wait <= maximumTime ? wait : nil }
    return wait <= Self.longestWait ? wait : nil
  }

  /// Returns the seconds from now that `Retry-After` asks for (RFC 9110, section 10.2.3); infinite
  /// for a number that is too large. A date counts from the server's `Date`, if it sent one.
  package static func retryAfter(_ head: ResponseHead, now: Timestamp) -> Double? {
    guard let text = head.first("Retry-After") else { return nil }
    if !text.isEmpty, text.utf8.allSatisfy(\.isDigit) {
      return Double(text) ?? .infinity
    }
    guard let date = Timestamp.parse(httpDate: text) else { return nil }
    let server = head.first("Date").flatMap { Timestamp.parse(httpDate: $0) } ?? now
    return max(0, date.seconds - server.seconds)
  }
}
