internal import AuthKit
internal import Glibc

/// Functions for files that the command line names.
enum File {
  /// Returns a path that does not depend on the working folder.
  static func absolute(_ path: String) -> String {
    guard path.utf8.first != UInt8(ascii: "/"), let folder = getcwd(nil, 0) else { return path }
    defer { free(folder) }
    return String(validatingCString: folder).map { $0 + "/" + path } ?? path
  }

  /// Returns the whole text of a small file; `-` is standard input.
  ///
  /// - Throws: `failed` when it cannot be read, `usage` when it is larger than 64 KiB or not UTF-8.
  static func text(_ path: String, option: String) throws(Failure) -> String {
    let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
    func unreadable(_ error: SystemError) -> Failure {
      Failure(.failed, "\(option): cannot read \(DisplayText.oneLine(path)): \(error.reason)")
    }
    guard descriptor >= 0 else { throw unreadable(SystemError(errno)) }
    defer { if path != "-" { close(descriptor) } }
    let contents: Secret
    do throws(SystemError) { contents = try Descriptor.contents(descriptor, limit: 65_536) } catch {
      throw unreadable(error)
    }
    guard contents.count <= 65_536 else {
      throw Failure(.usage, "\(option): \(DisplayText.oneLine(path)) is larger than 64 KiB")
    }
    guard let text = contents.withBytes({ String(validating: $0, as: UTF8.self) }) else {
      throw Failure(.usage, "\(option): \(DisplayText.oneLine(path)) is not UTF-8")
    }
    return text
  }

  /// Whether the path exists, even as a dangling link.
  static func exists(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0
  }
}

extension Ownership {
  init(_ status: stat) {
    self.init(owner: status.st_uid, group: status.st_gid, mode: status.st_mode)
  }
}

/// The file of `-D` or `--trace`: private to this user, never opened through a link (rule B14).
final class PrivateOutput {
  private let descriptor: Int32
  private let name: String

  /// Opens and truncates the file.
  ///
  /// - Throws: `failed` when it cannot be written, is a link or belongs to another user.
  init(_ path: String, option: String) throws(Failure) {
    name = "\(option) \(DisplayText.oneLine(path))"
    let flags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY
    descriptor = open(path, flags, 0o600)
    guard descriptor >= 0 else {
      throw Failure(
        .failed,
        "\(name): "
          + (errno == ELOOP
            ? "it is a symbolic link" : "cannot write: \(SystemError(errno).reason)"))
    }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return }
    guard Ownership(status).isOwn else {
      throw Failure(.failed, "\(name): it belongs to another user")
    }
    guard fchmod(descriptor, 0o600) == 0, ftruncate(descriptor, 0) == 0 else {
      throw Failure(.failed, "\(name): cannot write: \(SystemError(errno).reason)")
    }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  func write(_ bytes: [UInt8]) throws(Failure) {
    do throws(SystemError) {
      try bytes.withUnsafeBufferPointer { (buffer) throws(SystemError) in
        try Descriptor.write(UnsafeRawBufferPointer(buffer), to: descriptor)
      }
    } catch { throw Failure(.failed, "\(name): cannot write: \(error.reason)") }
  }
}

/// The file of `-o`: written next to its destination and renamed when complete (rule B14).
final class OutputFile {
  /// nil when writing directly to a device or a pipe.
  private let file: AtomicFile?
  private let descriptor: Int32
  /// The destination, with symbolic links resolved.
  private let place: String
  private let mode: mode_t
  /// Whether the file must not exist yet (`-O`).
  private let isNew: Bool

  /// - Parameter isNew: whether to fail instead of overwriting a file (`-O`).
  init(_ path: String, isNew: Bool = false) throws(Failure) {
    self.isNew = isNew
    if isNew, File.exists(path) { throw Self.isThere(path) }
    var status = stat()
    let exists = stat(path, &status) == 0
    let mask = umask(0)
    umask(mask)
    // A server's file must not inherit setuid or setgid from the old file (rule B14).
    mode = exists ? status.st_mode & 0o777 : 0o666 & ~mask
    if exists, status.st_mode & S_IFMT != S_IFREG {
      (file, place) = (nil, path)
      descriptor = open(path, O_WRONLY | O_CLOEXEC)
      guard descriptor >= 0 else { throw Self.unwritable(path, SystemError(errno)) }
      return
    }
    place = try Self.end(ofLink: path)
    do throws(SystemError) {
      let random = UInt32.random(in: 0...UInt32.max)
      let file = try AtomicFile(place, temporary: "\(place).\(random).part", isNameless: true)
      (self.file, descriptor) = (file, file.descriptor)
    } catch { throw Self.unwritable(path, error) }
  }

  /// The number of bytes written.
  private(set) var count = 0

  /// Whether the written data stays invisible until `commit`.
  var isTemporary: Bool { file != nil }

  func write(_ bytes: UnsafeRawBufferPointer) throws(Failure) {
    do throws(SystemError) { try Descriptor.write(bytes, to: descriptor) } catch {
      abandon()
      throw Self.unwritable(place, error)
    }
    count += bytes.count
  }

  /// Moves the complete file to its destination.
  func commit() throws(Failure) {
    guard let file else { return }
    // Ignore the error: a file system without modes accepts the file anyway.
    fchmod(descriptor, mode)
    defer { abandon() }
    do throws(SystemError) { try file.commit(isReplacing: !isNew) } catch {
      throw isNew && error.number == EEXIST
        ? Self.isThere(place) : Self.unwritable(place, error, isNew ? "-O" : "-o")
    }
  }

  private static func unwritable(
    _ path: String, _ error: SystemError, _ option: String = "-o"
  ) -> Failure {
    Failure(
      .failed, "\(option): cannot write \(DisplayText.oneLine(path)): \(error.reason)")
  }

  /// Returns the failure of `-O` for an existing file.
  static func isThere(_ path: String) -> Failure {
    Failure(
      .usage, "-O: \(DisplayText.oneLine(path)) already exists",
      hint: "use -o FILE to overwrite it")
  }

  /// Removes the temporary file; the old file stays.
  func abandon() { file?.abandon() }

  deinit { if file == nil { close(descriptor) } }

  /// Returns the final target of a symbolic link, or the path itself if it is not a link.
  private static func end(ofLink path: String) throws(Failure) -> String {
    var path = path
    for _ in 0..<40 {
      var buffer = [CChar](repeating: 0, count: 4097)
      let count = readlink(path, &buffer, 4096)
      guard count > 0 else { return path }
      let bytes = buffer[..<count].map { UInt8(bitPattern: $0) }
      guard let target = String(validating: bytes, as: UTF8.self) else {
        throw Failure(
          .usage, "-o: \(DisplayText.oneLine(path)) is a link to a name that is not valid UTF-8")
      }
      path = target.utf8.first == UInt8(ascii: "/") ? target : parentFolder(of: path) + "/" + target
    }
    throw Failure(.failed, "-o: too many symbolic links: \(DisplayText.oneLine(path))")
  }
}
