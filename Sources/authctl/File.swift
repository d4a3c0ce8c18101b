internal import AuthKit
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

  /// What errno says, in lower case.
  static func reason() -> String { String(cString: strerror(errno)).lowercased() }
}

/// The file of `-o`: written beside its place and renamed when it is whole (rule B14).
final class OutputFile {
  private let descriptor: Int32
  /// The file's place, symbolic links resolved; nil where it is written directly: a device, a pipe.
  private let place: String?
  /// The name of the temporary file; nil while it has none.
  private var temporary: String?
  private let mode: mode_t

  /// A file without a name, of open(2); the macro is too much for Swift's reading of C.
  private static let nameless = 0o20000000 | O_DIRECTORY

  init(_ path: String) throws(Failure) {
    var status = stat()
    let exists = stat(path, &status) == 0
    if exists, status.st_mode & S_IFMT != S_IFREG {
      place = nil
      mode = 0
      descriptor = open(path, O_WRONLY | O_CLOEXEC)
    } else {
      let mask = umask(0)
      umask(mask)
      mode = exists ? status.st_mode & 0o7777 : 0o666 & ~mask
      let resolved = exists ? Self.resolved(path) : try Self.end(ofLink: path)
      place = resolved
      let folder = Self.folder(of: resolved)
      // Without a name there is nothing to clean up, whatever ends the process.
      let nameless = open(folder, Self.nameless | O_WRONLY | O_CLOEXEC, 0o600)
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

  /// Leaves nothing behind; the old file stays.
  func abandon() {
    if let temporary { unlink(temporary) }
    temporary = nil
  }

  deinit {
    abandon()
    if descriptor >= 0 { close(descriptor) }
  }

  private static func resolved(_ path: String) -> String {
    guard let real = realpath(path, nil) else { return path }
    defer { free(real) }
    return String(cString: real)
  }

  /// Where a symbolic link to nothing yet points; the path itself where it is no link.
  private static func end(ofLink path: String) throws(Failure) -> String {
    var path = path
    for _ in 0..<40 {
      var buffer = [CChar](repeating: 0, count: 4097)
      let count = readlink(path, &buffer, 4096)
      guard count > 0 else { return path }
      let target = String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
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
