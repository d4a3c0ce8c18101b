internal import CSystem
internal import Glibc

/// The clock for time limits and pauses: it only moves forward, and nobody can set it.
package enum MonotonicClock {
  /// Returns seconds since an unspecified start: CLOCK_MONOTONIC of clock_gettime(2).
  package static func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}
