internal import Glibc

/// An advisory lock on an open file (flock(2)), which ends with the process that holds it.
/// https://man7.org/linux/man-pages/man2/flock.2.html
enum FileLock {
  /// Tries to lock an open file again and again, because flock(2) has no timeout. Returns 0 when it
  /// is held, EWOULDBLOCK when it was not free within `timeout` seconds, otherwise an errno.
  static func wait(for descriptor: Int32, timeout: Double) -> Int32 {
    var waited = 0.0
    var pause = 0.002
    while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
      let number = errno
      guard number == EWOULDBLOCK || number == EINTR else { return number }
      guard waited < timeout else { return EWOULDBLOCK }
      usleep(UInt32(pause * 1_000_000))
      waited += pause
      pause = min(pause * 1.5, 0.05)
    }
    return 0
  }
}
