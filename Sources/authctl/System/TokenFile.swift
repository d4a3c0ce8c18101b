internal import AuthKit
internal import Glibc

/// The file `token` in a folder of its own, for as long as a program of `exec` runs (rule B11).
///
/// The folder is locked while this process runs. An unlocked folder was left by a killed process,
/// and the next process removes it.
final class TokenFile {
  /// The folder, 0700.
  let folder: String
  private let descriptor: Int32
  /// What was written last.
  private var written: SharedSecret?
  /// The file.
  var path: String { folder + "/token" }

  /// Creates the folder in `parent`, which it creates if needed.
  ///
  /// - Throws: `failed` when it cannot be created, `storeMissing` when `parent` is not private to
  ///   this user, `usage` when its path is not valid UTF-8.
  init(below parent: String) throws(Failure) {
    if mkdir(parent, 0o700) != 0, errno != EEXIST { throw Self.unusable(parent) }
    guard Self.isOwnAlone(parent) else {
      throw Failure(
        .storeMissing, "\(DisplayText.oneLine(parent)) is not a folder that only you can use",
        hint: "use --token-dir DIR with another folder")
    }
    // The program may change its working directory.
    guard let absolute = realpath(parent, nil) else { throw Self.unusable(parent) }
    defer { free(absolute) }
    guard let parent = String(validatingCString: absolute) else {
      throw Failure(
        .usage, "the name of the token's folder is not valid UTF-8",
        hint: "use --token-dir DIR with another folder")
    }
    Self.sweep(parent)
    // Until it is locked, a new folder looks abandoned: another process may remove it.
    for _ in 0..<100 {
      if let made = try Self.makeLocked(below: parent) {
        (folder, descriptor) = made
        return
      }
    }
    throw Self.unusable(parent)
  }

  /// Creates and locks a folder; returns nil when another process removed it in between.
  private static func makeLocked(
    below parent: String
  ) throws(Failure) -> (folder: String, descriptor: Int32)? {
    var template = Array("\(parent)/XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw unusable(parent) }
    let folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else {
      let error = SystemError(errno)
      rmdir(folder)
      // Another process has removed it.
      guard error.number != ENOENT else { return nil }
      throw unusable(parent, error)
    }
    var (held, there) = (stat(), stat())
    if flock(descriptor, LOCK_EX | LOCK_NB) == 0, fstat(descriptor, &held) == 0,
      lstat(folder, &there) == 0, held.st_ino == there.st_ino, held.st_dev == there.st_dev
    {
      return (folder, descriptor)
    }
    rmdir(folder)
    close(descriptor)
    return nil
  }

  /// Returns the user's runtime folder, or nil.
  static func runtimeFolder(_ environment: [String: String]) -> String? {
    let candidates = [environment["XDG_RUNTIME_DIR"], "/run/user/\(geteuid())"].compactMap { $0 }
    return candidates.first(where: isPrivate)
  }

  /// Whether `folder` is an absolute path of a folder that is private to this user.
  static func isPrivate(_ folder: String) -> Bool {
    folder.utf8.first == UInt8(ascii: "/") && isOwnAlone(folder)
  }

  /// Whether `folder` is a folder, not a link, and private to this user.
  private static func isOwnAlone(_ folder: String) -> Bool {
    var status = stat()
    guard lstat(folder, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return false }
    let ownership = Ownership(status)
    return ownership.isOwn && !ownership.isOpenToOthers
  }

  /// Replaces the token atomically.
  ///
  /// - Throws: `failed` when it cannot be written.
  func write(_ token: SharedSecret) throws(Failure) {
    if let written, written.hasSameBytes(as: token) { return }
    let new = path + ".new"
    unlink(new)
    do throws(SystemError) {
      let file = try AtomicFile(path, temporary: new)
      try token.withBytes { (bytes) throws(SystemError) in try file.write(bytes) }
      try file.commit()
      written = token
    } catch { throw Self.unusable(folder, error) }
  }

  /// Removes the file and the folder.
  ///
  /// - Throws: `failed` when the file stays; the next process removes it.
  func remove() throws(Failure) {
    Self.remove(folder)
    guard access(path, F_OK) != 0 else {
      throw Failure(
        .failed, "cannot remove \(DisplayText.oneLine(path)), which has the token")
    }
  }

  private static func remove(_ folder: String) {
    unlink(folder + "/token")
    unlink(folder + "/token.new")
    rmdir(folder)
  }

  /// Removes the folders of processes that no longer run.
  private static func sweep(_ parent: String) {
    guard let stream = opendir(parent) else { return }
    defer { closedir(stream) }
    while let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      guard name.utf8.first != UInt8(ascii: ".") else { continue }
      let folder = "\(parent)/\(name)"
      let lock = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
      guard lock >= 0 else { continue }
      if flock(lock, LOCK_EX | LOCK_NB) == 0 { remove(folder) }
      close(lock)
    }
  }

  private static func unusable(
    _ path: String, _ error: SystemError = SystemError(errno)
  ) -> Failure {
    Failure(
      .failed, "cannot write \(DisplayText.oneLine(path)): \(error.reason)",
      hint: "use --token-dir DIR with another folder")
  }

  deinit { if descriptor >= 0 { close(descriptor) } }
}
