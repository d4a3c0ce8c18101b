internal import AuthKit
internal import Glibc

/// The wall clock, and waiting.
enum Clock {
  /// Returns the current time; the only reader of the wall clock.
  static func now() -> Timestamp {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Timestamp(seconds: Double(time.tv_sec) + Double(time.tv_nsec) / 1e9)
  }

  /// Sleeps for `seconds`.
  static func sleep(_ seconds: Double) {
    let whole = min(max(seconds, 0), 1e9).rounded(.down)
    var rest = timespec(
      tv_sec: Int(exactly: whole) ?? 0,
      tv_nsec: Int(exactly: (min(max(seconds - whole, 0), 0.999) * 1e9).rounded(.up)) ?? 0)
    var left = rest
    while nanosleep(&rest, &left) != 0 && errno == EINTR { rest = left }
  }
}
