internal import Glibc

/// The locks of sessions: one file for each, in a folder that is the same whatever the environment
/// is, so that a terminal and a cron job meet at it (rule B8).
package struct SessionLocks {
  private let folder: String
  private let timeout: Double

  /// - Parameters:
  ///   - folder: a folder below the state folder; it is made when first needed.
  ///   - timeout: the seconds to wait for a lock.
  package init(folder: String, timeout: Double) {
    self.folder = folder
    self.timeout = timeout
  }

  /// Runs `work` while no other process holds the lock of `profile` and `account`.
  ///
  /// - Throws: `timeout` when the lock is not free in time, `store_missing` when the folder cannot
  ///   be used, or what `work` throws.
  package func hold<R>(
    profile: String, account: String, _ work: () throws(Failure) -> R
  ) throws(Failure) -> R {
    let folder = try Self.usable(folder)
    let path = try folder + "/" + Self.fileName(profile: profile, account: account) + ".lock"
    let descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      throw Failure(
        .storeMissing,
        "cannot open the lock file \(path): \(SystemError(errno).reason)")
    }
    defer { close(descriptor) }
    try acquire(descriptor, path: path, whose: profile)
    return try work()
  }

  private func acquire(
    _ descriptor: Int32, path: String, whose profile: String
  ) throws(Failure) {
    switch FileLock.wait(for: descriptor, timeout: timeout) {
    case 0: return
    case EWOULDBLOCK:
      throw Failure(
        .timeout, "\(profile): timed out waiting for another authctl that is using this session",
        hint: "use --lock-timeout SECONDS to wait longer; is a job stopped (Ctrl-Z)?")
    case let number:
      throw Failure(
        .storeMissing,
        "cannot lock \(path): \(SystemError(number).reason)",
        hint: "set AUTHCTL_STATE_DIR to another folder")
    }
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
