/// When a request that met with a passing trouble is sent again (design 8).
///
/// It decides and waits for nothing; single requests and `batch` ask it alike.
package struct RetryPolicy: Sendable {
  /// What came of a try.
  package enum Outcome: Sendable {
    /// An answer, and the seconds that it asks to wait (`retryAfter`).
    case answer(status: Int, told: Double?)
    /// No answer, or half of one.
    case failure(Failure)
  }

  /// A request that was tried.
  package struct Tried: Sendable {
    package var method: String
    /// The same can be sent once more, and nothing of the answer has left this process.
    package var isRepeatable = true
    /// How often it was tried.
    package var times = 1
    /// Seconds since the first try began.
    package var elapsed: Double = 0
    /// Seconds until all must be over; infinite without a limit.
    package var left = Double.infinity

    /// Tried for the first time just now.
    package init(method: String) { self.method = method }
  }

  /// What comes next.
  package enum Decision: Sendable, Equatable {
    /// What came is taken as it is.
    case take
    /// It is sent again after so many seconds.
    case again(seconds: Double)
    /// It would be sent again, but the server asks for so many seconds, which nobody has allowed.
    case tooLong(seconds: Double)
  }

  /// The longest that is waited on a server's word, where nobody allows more (rule B6): seconds.
  package static let longestWait: Double = 60

  /// How often at most.
  package var times = 0
  /// Seconds from the first try within which the last may begin; raises the bound of `RetryPolicy-After`.
  package var maximumTime: Double?
  /// Methods other than GET and HEAD too.
  package var allMethods = false

  /// Never again.
  package init() {}

  /// Whether requests of this method are sent again at all.
  package func covers(method: String) -> Bool {
    times > 0 && (allMethods || method == "GET" || method == "HEAD")
  }

  /// Whether `tried` is sent again after `outcome`.
  package func decide(
    _ outcome: Outcome, of tried: Tried, jitter: Double = .random(in: 0.8...1.2)
  ) -> Decision {
    guard covers(method: tried.method), tried.isRepeatable, Self.isPassing(outcome) else {
      return .take
    }
    var told: Double?
    if case .answer(_, let seconds) = outcome { told = seconds }
    let wait = wait(failed: tried.times, elapsed: tried.elapsed, told: told, jitter: jitter)
    if let wait { return wait < tried.left ? .again(seconds: wait) : .take }
    guard let told, told > Self.longestWait, tried.times <= times, maximumTime == nil else {
      return .take
    }
    return .tooLong(seconds: told)
  }

  /// Whether it may well be otherwise the next time. A sign-in or a renewal that failed on behalf of
  /// a request is none of its own trouble.
  package static func isPassing(_ outcome: Outcome) -> Bool {
    switch outcome {
    case .answer(let status, _): isPassing(status: status)
    case .failure(let failure): failure.isOfRequest
    }
  }

  /// Whether the same request may well get another answer than this one.
  package static func isPassing(status: Int) -> Bool {
    [408, 429, 500, 502, 503, 504].contains(status)
  }

  /// How long to wait before the request is sent once more: as the server says, else 1, 2, 4 … 60
  /// seconds, a fifth more or less so that many clients do not come back at once.
  ///
  /// - Parameters:
  ///   - failed: how many tries there were.
  ///   - elapsed: seconds since the first began.
  ///   - told: seconds that the server told (`retryAfter`).
  /// - Returns: seconds; nil to take what there is.
  package func wait(
    failed: Int, elapsed: Double, told: Double?, jitter: Double = .random(in: 0.8...1.2)
  ) -> Double? {
    guard failed <= times else { return nil }
    let doubled = Double(1 << min(max(failed - 1, 0), 6))
    let wait = told ?? min(doubled * jitter, Self.longestWait)
    if let maximumTime { return elapsed + wait <= maximumTime ? wait : nil }
    return wait <= Self.longestWait ? wait : nil
  }

  /// What `RetryPolicy-After` says (RFC 9110, section 10.2.3), in seconds from now; infinite for a number
  /// that is too long to be one. A date is read by the server's own clock, where it tells that.
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
