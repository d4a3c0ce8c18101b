internal import AuthKit

/// The count of a batch's failures by their kind, for the line at its end.
struct BatchFailures {
  private var counts: [String: Int] = [:]

  /// Counts an answer that failed, with the failure of its request or without one.
  mutating func add(status: Int?, _ failure: Failure?) {
    counts[Self.name(status: status, failure), default: 0] += 1
  }

  /// Returns `100 of 200 requests failed (HTTP 404: 98, HTTP 500: 2)`, most frequent kind first;
  /// nil when nothing failed.
  func summary(of total: Int) -> String? {
    guard !counts.isEmpty else { return nil }
    let kinds = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
    let failed = counts.values.reduce(0, +)
    return "\(failed) of \(total) request\(total == 1 ? "" : "s") failed ("
      + kinds.map { "\($0.key): \($0.value)" }.joined(separator: ", ") + ")"
  }

  private static func name(status: Int?, _ failure: Failure?) -> String {
    // A 401 whose renewal the store has stopped is a failure of the store.
    if let status, status >= 300, failure?.kind.isOfStore != true { return "HTTP \(status)" }
    guard let failure else { return "HTTP \(status ?? 0)" }
    return switch failure.kind {
    case .network: status == nil ? "no answer" : "incomplete"
    case .usage: "invalid line"
    case .tooManyRedirects: "too many redirects"
    case .tls: "TLS"
    case .timeout: "timed out"
    case .notSignedIn, .inputNeeded: "not signed in"
    case .sessionExpired: "session expired"
    case .storeLocked, .storeMissing, .storeTimeout: "store"
    case .originRefused: "origin refused"
    case .credentialsRefused: "credentials refused"
    case .answerNotUnderstood: "answer not understood"
    case .failed, .redirect, .clientError, .serverError: "other"
    }
  }
}
