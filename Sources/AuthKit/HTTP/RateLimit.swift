/// When the next request may begin: not more often than `--rate` says, and not before a server that
/// has enough for now wants it (429). One for all requests of a process.
package struct RateLimit: Sendable {
  /// Seconds between two beginnings; 0: none.
  private let interval: Double
  private var earliest = -Double.infinity

  /// - Parameter interval: seconds between two beginnings.
  package init(interval: Double = 0) { self.interval = interval }

  /// Takes the next turn: seconds to wait before the request begins.
  ///
  /// - Parameter now: seconds of a clock that never goes back; the same one in all calls.
  package mutating func turn(now: Double) -> Double {
    let start = max(now, earliest)
    earliest = start + interval
    return start - now
  }

  /// Seconds until the next turn may be taken; 0: now.
  package func wait(now: Double) -> Double { max(0, earliest - now) }

  /// No request begins within these seconds.
  package mutating func pause(_ seconds: Double, now: Double) {
    earliest = max(earliest, now + seconds)
  }

  /// The seconds between two beginnings of `20/s`, `100/m`, `5000/h`; nil for anything else.
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
