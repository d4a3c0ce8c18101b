/// Decides when the next request may begin: not more often than `--rate` allows, and not before a
/// server that answered 429 allows it. All requests of a process share one.
package struct RateLimit: Sendable {
  /// Seconds between the starts of two requests; 0: no limit.
  private let interval: Double
  private var earliest = -Double.infinity

  /// - Parameter interval: seconds between the starts of two requests; 0: no limit.
  package init(interval: Double = 0) { self.interval = interval }

  /// Takes the next turn and returns the seconds to wait before the request begins.
  ///
  /// - Parameter now: seconds of a clock that never goes back; the same one in all calls.
  package mutating func turn(now: Double) -> Double {
    let start = max(now, earliest)
    earliest = start + interval
    return start - now
  }

  /// Returns the seconds until the next turn; 0: now.
  package func wait(now: Double) -> Double { max(0, earliest - now) }

  /// Starts no request for the next `seconds`.
  package mutating func pause(_ seconds: Double, now: Double) {
    earliest = max(earliest, now + seconds)
  }

  /// Returns the seconds between two starts for `20/s`, `100/m`, `5000/h`; nil for any other text.
  package static func interval(_ text: String) -> Double? {
    let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    guard parts.count == 2, (1...9).contains(parts[0].count),
      parts[0].allSatisfy(\.isDigit),
      let count = Double(String(decoding: parts[0], as: UTF8.self)), count > 0
    else { return nil }
    switch String(decoding: parts[1], as: UTF8.self) {
    case "s": return 1 / count
    case "m": return 60 / count
    case "h": return 3600 / count
    default: return nil
    }
  }
}
