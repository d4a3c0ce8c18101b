internal import ArgumentParser
internal import AuthKit

/// The options for retries and for the rate of requests (design 8).
struct RetryOptions: ParsableArguments {
  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Retry up to N times after a temporary failure: 408, 429, 500, 502, 503, 504, a lost connection.",
      valueName: "n"))
  var retry: Int = 0

  @Option(
    name: .customLong("retry-max-time"), parsing: .unconditional,
    help: ArgumentHelp(
      "Start no retry after this time; allow waits of more than 60s.", valueName: "duration"))
  var retryMaximumTime: Duration?

  @Flag(
    name: .customLong("retry-all-methods"), help: "Retry all methods, not only GET and HEAD.")
  var retryAllMethods = false

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Limit the rate of requests: 20/s, 100/m or 5000/h.", valueName: "rate"))
  var rate: Rate?

  /// Returns the retry policy that the options describe.
  ///
  /// - Throws: `usage` for a negative number.
  func policy() throws(Failure) -> RetryPolicy {
    guard retry >= 0 else { throw Failure(.usage, "--retry must be 0 or more") }
    var policy = RetryPolicy()
    policy.times = retry
    policy.maximumTime = retryMaximumTime?.seconds
    policy.allMethods = retryAllMethods
    return policy
  }
}

/// A number of requests per second, minute or hour: `20/s`.
struct Rate: ExpressibleByArgument {
  /// The seconds from one request to the next.
  let interval: Double

  init?(argument: String) {
    guard let interval = RateLimit.interval(argument) else { return nil }
    self.interval = interval
  }
}
