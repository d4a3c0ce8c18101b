internal import Glibc

/// Reads and writes files of the configuration folder, with the checks of rule A3. A write leaves
/// the old file or the new one, never half of one.
enum ConfigFolder {
  /// The maximum size of a configuration file, in bytes.
  static let largestFile = 1 << 20

  /// Returns the text of the file at `path`; nil if it does not exist.
  ///
  /// Links are followed, because people keep these files in dotfile folders; the checks apply to
  /// the target, to its folder and to the folder of the link.
  ///
  /// - Throws: `Failure` of kind `usage` for a file that others may write, `failed` for I/O errors.
  static func read(_ path: String, label: String) throws(Failure) -> String? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      if errno == ENOENT || errno == ENOTDIR { return nil }
      throw failure("cannot read \(label)", errno)
    }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw failure("cannot read \(label)", errno) }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw Failure(.usage, "\(label) is not a regular file")
    }
    try checkOwnerAndMode(status, label: label, path: path)
    try checkFolder(parentFolder(of: path))
    if let real = realPath(path), parentFolder(of: real) != parentFolder(of: path) {
      try checkFolder(parentFolder(of: real))
    }
    let contents: Secret
    do throws(SystemError) {
      contents = try Descriptor.contents(descriptor, limit: largestFile)
    } catch { throw failure("cannot read \(label)", error.number) }
    guard contents.count <= largestFile else {
      throw Failure(.usage, "\(label) is larger than 1 MiB")
    }
    guard let text = contents.withBytes({ String(validating: $0, as: UTF8.self) }) else {
      throw Failure(.usage, "\(label) is not UTF-8 text")
    }
    return text
  }

  /// Throws if anyone but this user and root may change the folder; accepts a missing one.
  static func checkFolder(_ path: String) throws(Failure) {
    var status = stat()
    guard stat(path, &status) == 0 else { return }
    try checkOwnerAndMode(status, label: path, path: path)
  }

  private static func checkOwnerAndMode(
    _ status: stat, label: String, path: String
  ) throws(Failure) {
    let ownership = Ownership(status)
    guard ownership.isOwnOrRoots else {
      throw Failure(
        .usage, "\(label) belongs to user \(ownership.owner), not to you or root",
        hint: DisplayText.shellCommand(["chown", "\(geteuid())", path]))
    }
    guard !ownership.isWritableByOtherUsers else {
      // A shared folder such as /tmp keeps its mode.
      let isShared = status.st_mode & S_IFMT == S_IFDIR && status.st_mode & S_ISVTX != 0
      throw Failure(
        .usage, "\(label) is writable by other users",
        hint: isShared
          ? "keep the file in a folder that you own"
          : DisplayText.shellCommand(["chmod", "go-w", path]))
    }
  }

  /// The beginning of the names of temporary files.
  private static let temporaryPrefix = ".authctl-"

  /// Removes the temporary files that killed processes have left in a folder; call it in `locked`.
  static func sweep(_ folder: String) {
    for name in (try? list(folder)) ?? [] where name.utf8.starts(with: temporaryPrefix.utf8) {
      unlink("\(folder)/\(name)")
    }
  }

  /// Writes `text` to `path`: a temporary file beside it, fsync, rename. A new file gets mode 0600,
  /// an old one keeps its mode; a link is followed and its target replaced.
  ///
  /// - Parameter replacing: false never overwrites.
  /// - Throws: `Failure` of kind `usage` when the file exists and may not be replaced, `failed` for
  ///   I/O errors.
  static func write(
    _ text: String, to path: String, label: String, replacing: Bool
  ) throws(Failure) {
    let target = replacing ? realPath(path) ?? path : path
    let folder = parentFolder(of: target)
    try makeFolders(folder)
    try checkFolder(folder)
    var mode: mode_t = 0o600
    var status = stat()
    if replacing, stat(target, &status) == 0 { mode = status.st_mode & 0o777 }
    let file: AtomicFile
    do throws(SystemError) {
      let name = "\(temporaryPrefix)\(String(UInt64.random(in: 0 ... .max), radix: 36))"
      file = try AtomicFile(target, temporary: "\(folder)/\(name)")
    } catch { throw unwritable("cannot write to \(folder)", error.number) }
    do throws(SystemError) {
      try Secret(text).withBytes { (bytes) throws(SystemError) in try file.write(bytes) }
      guard fchmod(file.descriptor, mode) == 0 else { throw SystemError(errno) }
      try file.commit(isSynced: true, isReplacing: replacing)
    } catch {
      if error.number == EEXIST, !replacing {
        throw Failure(.usage, "\(label) already exists")
      }
      throw failure("cannot write \(label)", error.number)
    }
    syncFolder(folder)
  }

  /// Runs `work` while no other process changes files of the folder, which is made if necessary.
  ///
  /// The lock is flock(2) on the folder itself, so it leaves no file. A file system that has no such
  /// locks, as NFS may, does not stop the change.
  ///
  /// - Throws: `timeout` when another process keeps the lock for 10 s; what `work` throws.
  static func locked<R>(
    _ path: String, label: String, _ work: () throws(Failure) -> R
  ) throws(Failure) -> R {
    try makeFolders(path)
    let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure("cannot open \(label)", errno) }
    defer { close(descriptor) }
    guard FileLock.wait(for: descriptor, timeout: 10) != EWOULDBLOCK else {
      throw Failure(
        .timeout, "timed out waiting for another authctl that is changing \(label)",
        hint: "is it stopped (Ctrl-Z)?")
    }
    return try work()
  }

  /// Gives the file at `path` a second name, `other`; a symbolic link stays one.
  ///
  /// - Throws: `usage` when `other` is another file, `failed` for I/O errors.
  static func link(_ path: String, as other: String, label: String) throws(Failure) {
    guard Glibc.link(path, other) != 0 else { return syncFolder(parentFolder(of: other)) }
    let code = errno
    guard code == EEXIST else { throw failure("cannot create \(label)", code) }
    guard isSameFile(path, other) else { throw Failure(.usage, "\(label) already exists") }
  }

  /// Whether two names, themselves and not their targets, are of one file.
  static func isSameFile(_ path: String, _ other: String) -> Bool {
    var (one, two) = (stat(), stat())
    return lstat(path, &one) == 0 && lstat(other, &two) == 0 && one.st_ino == two.st_ino
      && one.st_dev == two.st_dev
  }

  /// Makes the folder and its parents, 0700; those that exist stay as they are. Nothing is made in
  /// another user's folder: with sudo -E, root would leave its own folders there.
  static func makeFolders(_ path: String) throws(Failure) {
    var status = stat()
    if stat(path, &status) == 0 {
      guard Ownership(status).isOwnOrRoots else {
        throw Failure(
          .usage, "\(path) belongs to user \(status.st_uid), not to you or root",
          hint: "with sudo, use sudo -H or set AUTHCTL_CONFIG_DIR")
      }
      return
    }
    let above = parentFolder(of: path)
    if above != path { try makeFolders(above) }
    guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
      throw unwritable("cannot create the folder \(path)", errno)
    }
  }

  /// Throws when the folder, existing or not yet, could not be written in; makes nothing.
  static func checkWritable(_ path: String) throws(Failure) {
    if access(path, W_OK) == 0 { return }
    let code = errno
    let above = parentFolder(of: path)
    guard code == ENOENT, above != path else { throw unwritable("cannot write to \(path)", code) }
    try checkWritable(above)
  }

  /// Removes the file at `path`.
  ///
  /// - Returns: whether it existed.
  static func remove(_ path: String, label: String) throws(Failure) -> Bool {
    guard unlink(path) == 0 else {
      if errno == ENOENT { return false }
      throw failure("cannot remove \(label)", errno)
    }
    syncFolder(parentFolder(of: path))
    return true
  }

  /// Returns the names in a folder; none if it does not exist.
  static func list(_ path: String) throws(Failure) -> [String] {
    guard let folder = opendir(path) else {
      if errno == ENOENT { return [] }
      throw failure("cannot read \(path)", errno)
    }
    defer { closedir(folder) }
    do throws(SystemError) { return try entryNames(folder) } catch {
      throw failure("cannot read \(path)", error.number)
    }
  }

  static func realPath(_ path: String) -> String? {
    guard let resolved = realpath(path, nil) else { return nil }
    defer { free(resolved) }
    return String(validatingCString: resolved)
  }

  private static func syncFolder(_ path: String) {
    let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    fsync(descriptor)
    close(descriptor)
  }

  private static func unwritable(_ message: String, _ code: Int32) -> Failure {
    var failure = failure(message, code)
    failure.hint = "set AUTHCTL_CONFIG_DIR to another folder"
    return failure
  }

  private static func failure(_ message: String, _ code: Int32) -> Failure {
    Failure(.failed, "\(message): \(SystemError(code).reason)")
  }
}
