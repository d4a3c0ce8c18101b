internal import Glibc

/// The folder of session files, 0700, and the files in it, 0600. All names are relative to its open
/// descriptor, so that no one can replace the folder meanwhile.
///
/// Every failure is of kind `store_missing`, or `store_timeout` for a lock that is not free.
struct SessionFolder: ~Copyable {
  private let descriptor: Int32
  /// Its path when it was opened.
  let path: String

  /// Opens the folder at `path` for writing, and creates it if there is none.
  static func made(_ path: String) throws(Failure) -> SessionFolder {
    try asStore { () throws(Failure) in try StateFolder.prepare(path) }
    if let folder = try existing(path) { return folder }
    throw Failure(.storeMissing, "\(DisplayText.oneLine(path)) was removed by another process")
  }

  /// Opens the folder at `path`; nil if there is none.
  static func existing(_ path: String) throws(Failure) -> SessionFolder? {
    let descriptor = try asStore { () throws(Failure) in try StateFolder.open(path) }
    return descriptor < 0 ? nil : SessionFolder(descriptor: descriptor, path: path)
  }

  private init(descriptor: Int32, path: String) {
    self.descriptor = descriptor
    self.path = path
  }

  deinit { close(descriptor) }

  /// The permissions, as for chmod(1).
  var mode: mode_t {
    var status = stat()
    return fstat(descriptor, &status) == 0 ? status.st_mode & 0o7777 : 0
  }

  // MARK: Reading

  /// The largest file: a session of 256 KiB, its names, and what sealing adds.
  private static let largestFile = SessionKey.largestPayload + 16_384

  /// Returns the content of the file; nil if there is none.
  func read(_ name: String) throws(Failure) -> Secret? {
    let file = openat(descriptor, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else {
      if errno == ENOENT { return nil }
      guard errno == ELOOP else { throw failure("cannot read", name, errno) }
      throw Failure(
        .storeMissing, "\(place(name)) is a symbolic link",
        hint: "remove it: authctl creates no symbolic links")
    }
    defer { close(file) }
    try checkOwnerAndMode(file, name)
    let contents: Secret
    do throws(SystemError) {
      contents = try Descriptor.contents(file, limit: Self.largestFile)
    } catch { throw failure("cannot read", name, error.number) }
    guard contents.count <= Self.largestFile else {
      throw Failure(.storeMissing, "\(place(name)) is too large for a session")
    }
    return contents
  }

  /// Refuses a file that anyone but this user could read, write, or have made.
  private func checkOwnerAndMode(_ file: Int32, _ name: String) throws(Failure) {
    var status = stat()
    guard fstat(file, &status) == 0 else { throw failure("cannot read", name, errno) }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw Failure(.storeMissing, "\(place(name)) is not a regular file")
    }
    let ownership = Ownership(status)
    guard ownership.isOwn else {
      throw Failure(
        .storeMissing, "\(place(name)) belongs to another user (uid \(ownership.owner))",
        hint: "with sudo, use sudo -H or set AUTHCTL_STATE_DIR")
    }
    guard !ownership.isOpenToOthers else {
      throw Failure(
        .storeMissing, "\(place(name)) is accessible to other users",
        hint: DisplayText.shellCommand(["chmod", "600", path + "/" + name]))
    }
  }

  /// Returns the names of the files that end in `suffix`, sorted by their bytes.
  func names(_ suffix: String) throws(Failure) -> [String] {
    let copy = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard copy >= 0, let stream = fdopendir(copy) else { throw failure("cannot read", "", errno) }
    defer { closedir(stream) }
    let names: [String]
    do throws(SystemError) { names = try entryNames(stream) } catch {
      throw failure("cannot read", "", error.number)
    }
    return names.filter { $0.ends(withBytesOf: suffix) }
      .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  // MARK: Writing

  /// The suffix of incomplete files, which the next writer removes.
  static let partSuffix = ".part"

  /// Runs `work` while no other process writes here, after removing the incomplete files of killed
  /// writers.
  func locked<R>(timeout: Double, _ work: () throws(Failure) -> R) throws(Failure) -> R {
    let file = openat(descriptor, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw failure("cannot use", "lock", errno) }
    defer { close(file) }
    switch FileLock.wait(for: file, timeout: timeout) {
    case 0: break
    case EWOULDBLOCK:
      throw Failure(
        .storeTimeout, "timed out waiting for another authctl that is writing to \(place(""))",
        hint: "use --store-timeout SECONDS to wait longer")
    case let number: throw failure("cannot lock", "lock", number)
    }
    for name in try names(Self.partSuffix) { unlinkat(descriptor, name, 0) }
    return try work()
  }

  /// Writes the file atomically: afterwards the old file or the new one is on the disk. Call it in
  /// `locked`.
  func write(_ bytes: UnsafeRawBufferPointer, as name: String) throws(Failure) {
    do throws(SystemError) {
      let part = "." + randomHex(bytes: 8) + Self.partSuffix
      let file = try AtomicFile(name, in: descriptor, temporary: part)
      try file.write(bytes)
      guard fchmod(file.descriptor, 0o600) == 0 else { throw SystemError(errno) }
      try file.commit(isSynced: true)
    } catch { throw failure("cannot write", name, error.number) }
    fsync(descriptor)
  }

  /// Deletes the file; returns false if there was none.
  func remove(_ name: String) throws(Failure) -> Bool {
    guard unlinkat(descriptor, name, 0) == 0 else {
      if errno == ENOENT { return false }
      throw failure("cannot remove", name, errno)
    }
    fsync(descriptor)
    return true
  }

  // MARK: Words

  /// Returns the path of a file here, or of the folder, for messages.
  func place(_ name: String) -> String {
    DisplayText.oneLine(name.isEmpty ? path : path + "/" + name, limit: 400)
  }

  private func failure(_ what: String, _ name: String, _ number: Int32) -> Failure {
    Failure(
      .storeMissing,
      "\(what) \(place(name)): \(SystemError(number).reason)",
      hint: "set AUTHCTL_STATE_DIR to another folder")
  }

  private static func asStore<R>(_ work: () throws(Failure) -> R) throws(Failure) -> R {
    do throws(Failure) { return try work() } catch {
      var failure = error
      if failure.kind == .failed { failure.kind = .storeMissing }
      throw failure
    }
  }
}
