internal import AuthKit
internal import Glibc

/// Time: what it is, and waiting.
enum Clock {
  /// The one reading of the clock.
  static func now() -> Timestamp {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Timestamp(seconds: Double(time.tv_sec) + Double(time.tv_nsec) / 1e9)
  }

  /// Seconds on a clock that never goes back.
  static func uptime() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  /// Returns after so many seconds.
  static func sleep(_ seconds: Double) {
    let whole = min(max(seconds, 0), 1e9).rounded(.down)
    var rest = timespec(
      tv_sec: Int(exactly: whole) ?? 0,
      tv_nsec: Int(exactly: (min(max(seconds - whole, 0), 0.999) * 1e9).rounded(.up)) ?? 0)
    var left = rest
    while nanosleep(&rest, &left) != 0 && errno == EINTR { rest = left }
  }
}
