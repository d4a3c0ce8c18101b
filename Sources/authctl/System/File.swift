internal import AuthKit
internal import CSystem
internal import Glibc

/// Files that the command line names.
enum File {
  /// The whole text of a small file; `-` is standard input.
  ///
  /// - Throws: `failed` when it cannot be read, `usage` when it is larger than 64 KiB or no UTF-8.
  static func text(_ path: String, option: String) throws(Failure) -> String {
    let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw Failure(.failed, "\(option): cannot read \(DisplayText.oneLine(path)): \(reason())")
    }
    defer { if path != "-" { close(descriptor) } }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 8192)
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else {
        throw Failure(.failed, "\(option): cannot read \(DisplayText.oneLine(path)): \(reason())")
      }
      if count == 0 { break }
      bytes += buffer[..<count]
      guard bytes.count <= 65_536 else {
        throw Failure(.usage, "\(option): \(DisplayText.oneLine(path)) is larger than 64 KiB")
      }
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw Failure(.usage, "\(option): \(DisplayText.oneLine(path)) is not UTF-8")
    }
    return text
  }

  /// Whether something has this name, be it a link to nothing.
  static func exists(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0
  }

  /// What errno says, in lower case.
  static func reason() -> String { String(cString: strerror(errno)).lowercased() }
}

extension Ownership {
  init(_ status: stat) {
    self.init(owner: status.st_uid, group: status.st_gid, mode: status.st_mode)
  }
}

/// The file of `-D` or `--trace`: this user's alone, and never through a link (rule B14).
final class PrivateOutput {
  private let descriptor: Int32
  private let name: String

  /// Opens the file, made empty.
  ///
  /// - Throws: `failed` when it cannot be written, or is a link or another user's.
  init(_ path: String, option: String) throws(Failure) {
    name = "\(option) \(DisplayText.oneLine(path))"
    let flags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY
    descriptor = open(path, flags, 0o600)
    guard descriptor >= 0 else {
      throw Failure(
        .failed,
        "\(name): " + (errno == ELOOP ? "it is a symbolic link" : "cannot write: \(File.reason())"))
    }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return }
    guard Ownership(status).isOwn else {
      throw Failure(.failed, "\(name): it belongs to another user")
    }
    guard fchmod(descriptor, 0o600) == 0, ftruncate(descriptor, 0) == 0 else {
      throw Failure(.failed, "\(name): cannot write: \(File.reason())")
    }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  func write(_ bytes: [UInt8]) throws(Failure) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else {
        throw Failure(.failed, "\(name): cannot write: \(File.reason())")
      }
      rest = rest.dropFirst(count)
    }
  }
}

/// The file of `-o`: written beside its place and renamed when it is whole (rule B14).
final class OutputFile {
  private let descriptor: Int32
  /// The file's place, symbolic links resolved; nil where it is written directly: a device, a pipe.
  private let place: String?
  /// The name of the temporary file; nil while it has none.
  private var temporary: String?
  private let mode: mode_t
  /// Whether nothing may have its name already (`-O`).
  private let isNew: Bool

  /// - Parameter isNew: nothing is overwritten (`-O`).
  init(_ path: String, isNew: Bool = false) throws(Failure) {
    self.isNew = isNew
    if isNew, File.exists(path) { throw Self.isThere(path) }
    var status = stat()
    let exists = stat(path, &status) == 0
    if exists, status.st_mode & S_IFMT != S_IFREG {
      place = nil
      mode = 0
      descriptor = open(path, O_WRONLY | O_CLOEXEC)
    } else {
      let mask = umask(0)
      umask(mask)
      // What comes from a server is not to run as the owner of the old file (rule B14).
      mode = exists ? status.st_mode & 0o777 : 0o666 & ~mask
      let resolved = try Self.end(ofLink: path)
      place = resolved
      let folder = Self.folder(of: resolved)
      // Without a name there is nothing to clean up, whatever ends the process.
      let nameless = open(folder, authctl_O_TMPFILE | O_WRONLY | O_CLOEXEC, 0o600)
      if nameless >= 0, access("/proc/self/fd/\(nameless)", F_OK) == 0 {
        descriptor = nameless
      } else {
        if nameless >= 0 { close(nameless) }
        let name = Self.temporaryName(resolved)
        temporary = name
        descriptor = open(name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0o600)
      }
    }
    guard descriptor >= 0 else {
      throw Failure(.failed, "-o: cannot write \(DisplayText.oneLine(path)): \(File.reason())")
    }
  }

  /// Whether nobody sees what is written before `commit`.
  var isTemporary: Bool { place != nil }

  func write(_ bytes: UnsafeRawBufferPointer) throws(Failure) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = Glibc.write(
        descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else {
        let failure = Failure(
          .failed, "-o: cannot write \(DisplayText.oneLine(place ?? "")): \(File.reason())")
        abandon()
        throw failure
      }
      rest = rest.dropFirst(count)
    }
  }

  /// Puts the whole file in its place.
  func commit() throws(Failure) {
    guard let place else { return }
    fchmod(descriptor, mode)
    guard !isNew else { return try give(place) }
    if temporary == nil {
      let name = Self.temporaryName(place)
      let source = "/proc/self/fd/\(descriptor)"
      if linkat(AT_FDCWD, source, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0 { temporary = name }
    }
    guard let temporary, rename(temporary, place) == 0 else {
      let failure = Failure(
        .failed, "-o: cannot write \(DisplayText.oneLine(place)): \(File.reason())")
      abandon()
      throw failure
    }
    self.temporary = nil
  }

  /// Gives the file a name that nothing has: link(2), other than rename(2), never overwrites.
  private func give(_ place: String) throws(Failure) {
    let source = temporary ?? "/proc/self/fd/\(descriptor)"
    let result = linkat(AT_FDCWD, source, AT_FDCWD, place, temporary == nil ? AT_SYMLINK_FOLLOW : 0)
    let failure =
      errno == EEXIST
      ? Self.isThere(place)
      : Failure(.failed, "-O: cannot write \(DisplayText.oneLine(place)): \(File.reason())")
    abandon()
    if result != 0 { throw failure }
  }

  /// What `-O` says of a name that is taken.
  static func isThere(_ path: String) -> Failure {
    Failure(
      .usage, "-O: \(DisplayText.oneLine(path)) is there already, and not overwritten",
      hint: "-o FILE overwrites")
  }

  /// Leaves nothing behind; the old file stays.
  func abandon() {
    if let temporary { unlink(temporary) }
    temporary = nil
  }

  deinit {
    abandon()
    if descriptor >= 0 { close(descriptor) }
  }

  /// Where a symbolic link points; the path itself where it is no link.
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
      path = target.utf8.first == UInt8(ascii: "/") ? target : folder(of: path) + "/" + target
    }
    throw Failure(.failed, "-o: too many symbolic links: \(DisplayText.oneLine(path))")
  }

  private static func folder(of path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
    return slash == path.utf8.startIndex ? "/" : String(path[..<slash])
  }

  private static func temporaryName(_ path: String) -> String {
    "\(path).\(UInt32.random(in: 0...UInt32.max)).part"
  }
}
