internal import AuthKit
internal import Glibc

/// The file `token` in a folder of its own, for as long as a program of `exec` runs (rule B11).
///
/// The folder is locked while this process lives: what a killed one left is known by its free lock
/// and taken away by the next.
final class TokenFile {
  /// The folder, 0700.
  let folder: String
  private let descriptor: Int32
  /// The file.
  var path: String { folder + "/token" }

  /// Makes the folder below `parent`, which is made where it is not there.
  ///
  /// - Throws: `failed` when it cannot be made.
  init(below parent: String) throws(Failure) {
    if mkdir(parent, 0o700) != 0, errno != EEXIST { throw Self.unusable(parent) }
    guard Self.isOwnAlone(parent) else {
      throw Failure(
        .storeMissing, "\(DisplayText.oneLine(parent)) is not a folder of yours alone",
        hint: "--token-dir DIR names another")
    }
    // The program may go to another folder.
    guard let absolute = realpath(parent, nil) else { throw Self.unusable(parent) }
    defer { free(absolute) }
    guard let parent = String(validatingCString: absolute) else {
      throw Failure(
        .usage, "the token's folder has a name that is not valid UTF-8",
        hint: "--token-dir DIR names another")
    }
    Self.sweep(parent)
    // A folder without its lock yet looks like one left over: another process may take it away.
    for _ in 0..<100 {
      if let made = try Self.makeLocked(below: parent) {
        (folder, descriptor) = made
        return
      }
    }
    throw Self.unusable(parent)
  }

  /// A new folder and its lock; nil when another process took it away in between.
  private static func makeLocked(
    below parent: String
  ) throws(Failure) -> (folder: String, descriptor: Int32)? {
    var template = Array("\(parent)/XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw unusable(parent) }
    let folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    var (held, there) = (stat(), stat())
    if flock(descriptor, LOCK_EX | LOCK_NB) == 0, fstat(descriptor, &held) == 0,
      lstat(folder, &there) == 0, held.st_ino == there.st_ino, held.st_dev == there.st_dev
    {
      return (folder, descriptor)
    }
    close(descriptor)
    return nil
  }

  /// The folder that the system gives a user for such things, or nil.
  static func runtimeFolder(_ environment: [String: String]) -> String? {
    let candidates = [environment["XDG_RUNTIME_DIR"], "/run/user/\(geteuid())"].compactMap { $0 }
    return candidates.first(where: isPrivate)
  }

  /// Whether `folder` is a whole path of a folder that is this user's alone.
  static func isPrivate(_ folder: String) -> Bool {
    folder.utf8.first == UInt8(ascii: "/") && isOwnAlone(folder)
  }

  /// Whether `folder` is one, no link to one, and this user's alone.
  private static func isOwnAlone(_ folder: String) -> Bool {
    var status = stat()
    guard lstat(folder, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return false }
    let ownership = Ownership(status)
    return ownership.isOwn && !ownership.isOpenToOthers
  }

  /// Puts `token` in place of what is there, whole at any moment.
  ///
  /// - Throws: `failed` when it cannot be written.
  func write(_ token: borrowing Secret) throws(Failure) {
    let new = path + ".new"
    unlink(new)
    do throws(SystemError) {
      let file = try AtomicFile(path, temporary: new)
      try token.withBytes { (bytes) throws(SystemError) in try file.write(bytes) }
      try file.commit()
    } catch { throw Self.unusable(folder, error) }
  }

  /// Takes file and folder away.
  func remove() { Self.remove(folder) }

  private static func remove(_ folder: String) {
    unlink(folder + "/token")
    unlink(folder + "/token.new")
    rmdir(folder)
  }

  /// Takes away what processes have left that live no more.
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
      .failed, "cannot write \(DisplayText.oneLine(path)): \(File.reason(error))",
      hint: "--token-dir DIR names another folder")
  }

  deinit { if descriptor >= 0 { close(descriptor) } }
}
