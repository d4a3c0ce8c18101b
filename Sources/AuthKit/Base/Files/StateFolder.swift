internal import Glibc

/// A folder of authctl below the state folder, for locks or for sessions (rule B8).
enum StateFolder {
  /// Makes the folder, 0700, and refuses one that others may write to.
  ///
  /// - Throws: `failed` when it cannot be made, `store_missing` when it cannot be trusted.
  static func prepare(_ folder: String) throws(Failure) {
    _ = try walk(to: folder, making: true)
    guard access(folder, W_OK) == 0 else { throw unusable(folder, errno) }
    var status = stat()
    guard lstat(folder, &status) == 0 else { throw unusable(folder, errno) }
    try checkOwnerAndMode(folder, status)
  }

  /// Opens the folder; returns -1 if it does not exist.
  ///
  /// - Throws: `failed` when it cannot be opened, `store_missing` when it cannot be trusted.
  static func open(_ folder: String) throws(Failure) -> Int32 {
    guard try walk(to: folder, making: false) else { return -1 }
    let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
    let descriptor = Glibc.open(folder, flags)
    guard descriptor >= 0 else {
      if errno == ENOENT { return -1 }
      throw errno == ELOOP || errno == ENOTDIR ? foreign(folder) : unusable(folder, errno)
    }
    do throws(Failure) {
      var status = stat()
      guard fstat(descriptor, &status) == 0 else { throw unusable(folder, errno) }
      try checkOwnerAndMode(folder, status)
    } catch {
      close(descriptor)
      throw error
    }
    return descriptor
  }

  /// Checks every folder on the path; returns false when one is missing and `making` is false.
  private static func walk(to folder: String, making: Bool) throws(Failure) -> Bool {
    var path = ""
    for part in folder.utf8.split(separator: UInt8(ascii: "/")) {
      path += "/" + (String(part) ?? "")
      var status = stat()
      if stat(path, &status) == 0 {
        // With sudo -E, root would leave its files in another user's folders.
        guard Ownership(status).isOwnOrRoots else { throw foreign(path) }
      } else if !making {
        guard errno == ENOENT || errno == ENOTDIR else { throw unusable(path, errno) }
        return false
      } else if mkdir(path, 0o700) != 0, errno != EEXIST {
        throw unusable(path, errno)
      }
    }
    return true
  }

  private static func checkOwnerAndMode(_ folder: String, _ status: stat) throws(Failure) {
    let ownership = Ownership(status)
    guard status.st_mode & S_IFMT == S_IFDIR, ownership.isOwn else { throw foreign(folder) }
    guard !ownership.isWritableByGroupOrOthers else {
      throw Failure(
        .storeMissing, "\(folder) is writable by other users",
        hint: DisplayText.shellCommand(["chmod", "700", folder]))
    }
  }

  private static func foreign(_ folder: String) -> Failure {
    Failure(
      .storeMissing, "\(DisplayText.oneLine(folder)) is not a folder that you own",
      hint: "with sudo, use sudo -H or set AUTHCTL_STATE_DIR")
  }

  private static func unusable(_ path: String, _ number: Int32) -> Failure {
    Failure(
      .failed, "cannot use \(path): \(SystemError(number).reason)",
      hint: "set AUTHCTL_STATE_DIR to another folder")
  }
}
