internal import Glibc

/// An advisory lock on a file (flock(2)), held while a closure runs and released with its holder.
/// https://man7.org/linux/man-pages/man2/flock.2.html
package enum FileLock {
  /// Runs `work` while no other process holds the lock of `profile` and `account`.
  ///
  /// The file is in `folder`, whatever the environment is, so that a terminal and a cron job
  /// meet at it (rule B8).
  ///
  /// - Throws: `timeout` when the lock was not free within `timeout` seconds, `store_missing` when
  ///   the folder cannot be used, or what `work` throws.
  package static func hold<R>(
    folder: String, profile: String, account: String, timeout: Double,
    _ work: () throws(Failure) -> R
  ) throws(Failure) -> R {
    let folder = try usable(folder)
    let path = try folder + "/" + fileName(profile: profile, account: account) + ".lock"
    let descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      throw Failure(
        .storeMissing,
        "cannot open the lock file \(path): \(String(cString: strerror(errno)).asciiLowercased)")
    }
    defer { close(descriptor) }
    try acquire(descriptor, path: path, whose: profile, timeout: timeout)
    return try work()
  }

  private static func acquire(
    _ descriptor: Int32, path: String, whose profile: String, timeout: Double
  ) throws(Failure) {
    switch wait(for: descriptor, timeout: timeout) {
    case 0: return
    case EWOULDBLOCK:
      throw Failure(
        .timeout, "\(profile): timed out waiting for another authctl that is using this session",
        hint: "use --lock-timeout SECONDS to wait longer; is a job stopped (Ctrl-Z)?")
    case let number:
      throw Failure(
        .storeMissing,
        "cannot lock \(path): \(String(cString: strerror(number)).asciiLowercased)",
        hint: "set AUTHCTL_STATE_DIR to another folder")
    }
  }

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

  /// Returns the SHA-256 of the names, which may contain characters that a file name may not.
  static func fileName(profile: String, account: String) throws(Failure) -> String {
    try Crypto.sha256Hex(Array(profile.utf8) + [0] + Array(account.utf8))
  }

  /// Returns `folder`, or this user's runtime folder if the state folder is not writable.
  private static func usable(_ folder: String) throws(Failure) -> String {
    do throws(Failure) {
      try StateFolder.prepare(folder)
      return folder
    } catch  where error.kind == .failed {
      let runtime = "/run/user/\(geteuid())/authctl"
      do throws(Failure) { try StateFolder.prepare(runtime) } catch {
        throw Failure(
          .storeMissing, "cannot write to the state folder: \(DisplayText.oneLine(folder))",
          hint: "set AUTHCTL_STATE_DIR to another folder")
      }
      return runtime
    }
  }
}
