/// When a request that met with a passing trouble is sent again (contract section 8).
package struct RetryPolicy: Sendable {
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
