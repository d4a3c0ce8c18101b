internal import Crypto
internal import Glibc

/// An advisory lock on a file (flock(2)): held for the time of a closure, gone with its holder.
/// https://man7.org/linux/man-pages/man2/flock.2.html
public enum FileLock {
  /// Runs `work` while no other process holds the lock of `profile` and `account`.
  ///
  /// The file lies in `folder`, whatever the environment is, so that a terminal and a cron job
  /// meet at it (rule B8).
  ///
  /// - Throws: `timeout` when the lock was not free within `timeout` seconds, `store_missing` when
  ///   the folder cannot be used, or what `work` throws.
  public static func hold<R>(
    folder: String, profile: String, account: String, timeout: Double,
    _ work: () throws(Failure) -> R
  ) throws(Failure) -> R {
    let folder = try usable(folder)
    let path = folder + "/" + fileName(profile: profile, account: account)
    let descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      throw Failure(
        .storeMissing,
        "cannot use the lock \(path): \(String(cString: strerror(errno)).asciiLowercased)")
    }
    defer { close(descriptor) }
    try acquire(descriptor, path: path, whose: profile, timeout: timeout)
    return try work()
  }

  /// Asks again and again: flock(2) has no limit of time of its own.
  private static func acquire(
    _ descriptor: Int32, path: String, whose profile: String, timeout: Double
  ) throws(Failure) {
    var waited = 0.0
    var pause = 0.002
    while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
      guard errno == EWOULDBLOCK || errno == EINTR else {
        throw Failure(
          .storeMissing,
          "cannot lock \(path): \(String(cString: strerror(errno)).asciiLowercased)",
          hint: "AUTHCTL_STATE_DIR names another folder")
      }
      guard waited < timeout else {
        throw Failure(
          .timeout, "\(profile): another authctl has held the lock of this session for too long",
          hint: "--lock-timeout SECONDS waits longer; the lock is \(path)")
      }
      usleep(UInt32(pause * 1_000_000))
      waited += pause
      pause = min(pause * 1.5, 0.05)
    }
  }

  /// SHA-256 of the names: they may hold anything, a file name may not.
  private static func fileName(profile: String, account: String) -> String {
    hexDigits(SHA256.hash(data: Array(profile.utf8) + [0] + Array(account.utf8))) + ".lock"
  }

  /// `folder`, or where the state folder cannot be written the runtime folder of this user.
  private static func usable(_ folder: String) throws(Failure) -> String {
    do throws(Failure) {
      try prepare(folder)
      return folder
    } catch  where error.kind == .failed {
      let runtime = "/run/user/\(geteuid())/authctl"
      do throws(Failure) { try prepare(runtime) } catch {
        throw Failure(
          .storeMissing, "the state folder cannot be written: \(DisplayText.oneLine(folder))",
          hint: "AUTHCTL_STATE_DIR names another folder")
      }
      return runtime
    }
  }

  /// Makes the folder, 0700, and refuses one that others could write to.
  ///
  /// - Throws: `failed` when it cannot be made, `store_missing` when it is not to be trusted.
  private static func prepare(_ folder: String) throws(Failure) {
    var path = ""
    for part in folder.utf8.split(separator: UInt8(ascii: "/")) {
      path += "/" + (String(part) ?? "")
      var status = stat()
      if stat(path, &status) == 0 {
        // With sudo -E root would leave its files in the folders of somebody else.
        if status.st_uid != geteuid(), status.st_uid != 0 { throw foreign(path) }
      } else if mkdir(path, 0o700) != 0, errno != EEXIST {
        throw unusable(path, errno)
      }
    }
    guard access(folder, W_OK) == 0 else { throw unusable(folder, errno) }
    var status = stat()
    guard lstat(folder, &status) == 0 else { throw unusable(folder, errno) }
    guard status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid() else {
      throw foreign(folder)
    }
    guard status.st_mode & 0o022 == 0 else {
      throw Failure(
        .storeMissing, "\(folder) can be written by others",
        hint: DisplayText.shellCommand(["chmod", "700", folder]))
    }
  }

  private static func foreign(_ folder: String) -> Failure {
    Failure(
      .storeMissing, "\(DisplayText.oneLine(folder)) is not a folder of yours",
      hint: "with sudo use sudo -H, or set AUTHCTL_STATE_DIR")
  }

  private static func unusable(_ path: String, _ number: Int32) -> Failure {
    Failure(
      .failed, "cannot use \(path): \(String(cString: strerror(number)).asciiLowercased)",
      hint: "AUTHCTL_STATE_DIR names another folder")
  }
}
