internal import CSystem
internal import Glibc

/// A file or pipe that is read while it is sent as a body, never all of it in memory.
///
/// A regular file can be sent any number of times. The bytes of a pipe are kept only if they may
/// have to be sent again: 1 MiB in memory, the rest in a file without a name (rule C5).
package final class BodyFile {
  /// How much of a pipe is kept in memory, in bytes.
  private static let inMemory = 1 << 20

  /// The path as the user wrote it; `-` is standard input.
  package let path: String
  /// The number of bytes to send; nil for a pipe that was not read to its end.
  package private(set) var length: Int64?
  /// Whether the bytes read from a pipe are kept, to be sent again.
  var isKept = false

  private let option: String
  private let descriptor: Int32
  private let isRegular: Bool
  private let withoutLineEnds: Bool
  /// Where a regular file begins and ends: bytes that are appended meanwhile are not sent.
  private let start: off_t
  private let end: off_t
  private var offset: off_t
  private let spoolFolder: String?
  private var memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
  private var spool: Int32 = -1
  /// The number of bytes kept from a pipe, in memory and in the spool; nil once some were not.
  private var kept: Int64? = 0
  private var position: Int64 = 0
  private var hasEnded = false

  /// - Parameters:
  ///   - option: the option that named the file, for messages.
  ///   - withoutLineEnds: leave out CR, LF and NUL, as curl's `-d @FILE` does.
  ///   - waits: read a pipe up to its end or to 1 MiB at once, so that its length is known.
  ///   - spoolFolder: a folder that only this user can read, for the rest of a pipe.
  /// - Throws: `failed` when the file cannot be read.
  package init(
    _ path: String, option: String, withoutLineEnds: Bool = false, waits: Bool = true,
    spoolFolder: String?
  ) throws(Failure) {
    self.path = path
    self.option = option
    self.withoutLineEnds = withoutLineEnds
    self.spoolFolder = spoolFolder
    descriptor =
      path.utf8.elementsEqual("-".utf8)
      ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
    var status = stat()
    let isOpen = descriptor >= 0 && fstat(descriptor, &status) == 0
    // A file of the kernel, below /proc, has no length until it is read.
    var first: UInt8 = 0
    isRegular =
      isOpen && status.st_mode & S_IFMT == S_IFREG
      && (status.st_size > 0 || pread(descriptor, &first, 1, 0) <= 0)
    start = isRegular ? max(0, lseek(descriptor, 0, Int32(SEEK_CUR))) : 0
    end = max(start, status.st_size)
    offset = start
    guard isOpen else { throw unreadable(errno) }
    guard status.st_mode & S_IFMT != S_IFDIR else { throw unreadable(EISDIR) }
    if isRegular {
      length = withoutLineEnds ? try countFiltered() : Int64(end - start)
    } else if waits {
      try fillMemory()
    }
  }

  deinit {
    if let base = memory.baseAddress { explicit_bzero(base, memory.count) }
    memory.deallocate()
    if spool >= 0 { close(spool) }
    if descriptor >= 0 { close(descriptor) }
  }

  /// Whether the body is the whole file at `path`, unchanged.
  package var isWhole: Bool { isRegular && start == 0 && !withoutLineEnds && path != "-" }

  /// Whether the whole body can be sent from the beginning, again or for the first time.
  package var isRepeatable: Bool { isRegular || kept != nil }

  /// Goes back to the beginning; false when a part of a pipe was not kept.
  func rewind() -> Bool {
    guard isRepeatable else { return false }
    offset = start
    position = 0
    return true
  }

  /// Reads the next bytes; returns 0 at the end.
  ///
  /// - Throws: `failed` when the file cannot be read or has become shorter.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws(Failure) -> Int {
    guard !buffer.isEmpty else { return 0 }
    return isRegular ? try readRegular(into: buffer) : try readPipe(into: buffer)
  }

  private func readRegular(into buffer: UnsafeMutableRawBufferPointer) throws(Failure) -> Int {
    while offset < end {
      let wanted = min(buffer.count, Int(end - offset))
      let count = pread(descriptor, buffer.baseAddress, wanted, offset)
      if count < 0, errno == EINTR { continue }
      if count < 0 { throw unreadable(errno) }
      guard count > 0 else {
        throw Failure(
          .failed, "\(option): \(DisplayText.oneLine(path)) became shorter while it was being sent")
      }
      offset += off_t(count)
      let left = filtered(buffer, count)
      if left > 0 { return left }
    }
    return 0
  }

  private func readPipe(into buffer: UnsafeMutableRawBufferPointer) throws(Failure) -> Int {
    if let kept, position < kept {
      let count = min(buffer.count, Int(clamping: kept - position))
      let got = try replay(UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]))
      position += Int64(got)
      return got
    }
    let count = try next(into: buffer)
    if count > 0 {
      if isKept {
        keep(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
      } else {
        kept = nil
      }
      position += Int64(count)
    }
    return count
  }

  /// Reads bytes of the pipe itself; returns 0 at its end.
  private func next(into buffer: UnsafeMutableRawBufferPointer) throws(Failure) -> Int {
    while !hasEnded {
      let count: Int
      do throws(SystemError) { count = try Descriptor.read(descriptor, into: buffer) } catch {
        throw unreadable(error.number)
      }
      hasEnded = count == 0
      let left = filtered(buffer, count)
      if left > 0 { return left }
    }
    return 0
  }

  // MARK: - Kept bytes of a pipe

  private func fillMemory() throws(Failure) {
    memory = .allocate(byteCount: Self.inMemory, alignment: 1)
    var used = 0
    while used < memory.count {
      let count = try next(into: UnsafeMutableRawBufferPointer(rebasing: memory[used...]))
      if count == 0 { break }
      used += count
    }
    kept = Int64(used)
    if hasEnded { length = kept }
  }

  private func keep(_ bytes: UnsafeRawBufferPointer) {
    guard let count = kept else { return }
    if memory.isEmpty { memory = .allocate(byteCount: Self.inMemory, alignment: 1) }
    let room = max(0, memory.count - Int(clamping: count))
    let first = UnsafeRawBufferPointer(rebasing: bytes.prefix(room))
    if !first.isEmpty {
      UnsafeMutableRawBufferPointer(rebasing: memory[Int(clamping: count)...])
        .copyMemory(from: first)
    }
    var rest = bytes.dropFirst(first.count)
    var place = off_t(count) + off_t(first.count) - off_t(memory.count)
    while !rest.isEmpty {
      if spool < 0 { spool = openSpool() }
      let part = UnsafeRawBufferPointer(rebasing: rest)
      let written = spool < 0 ? -1 : pwrite(spool, part.baseAddress, part.count, place)
      if written < 0, spool >= 0, errno == EINTR { continue }
      guard written > 0 else {
        kept = nil
        return
      }
      rest = rest.dropFirst(written)
      place += off_t(written)
    }
    kept = count + Int64(bytes.count)
  }

  private func openSpool() -> Int32 {
    guard let spoolFolder else { return -1 }
    return open(spoolFolder, authctl_O_TMPFILE | O_RDWR | O_CLOEXEC, 0o600)
  }

  private func replay(_ buffer: UnsafeMutableRawBufferPointer) throws(Failure) -> Int {
    if position < Int64(memory.count) {
      let from = Int(clamping: position)
      let count = min(buffer.count, memory.count - from)
      buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[from..<(from + count)]))
      return count
    }
    let place = off_t(position) - off_t(memory.count)
    let count = pread(spool, buffer.baseAddress, buffer.count, place)
    guard count > 0 else { throw unreadable(errno) }
    return count
  }

  // MARK: - Line ends

  /// Removes CR, LF and NUL from the first `count` bytes; returns how many are left.
  private func filtered(_ buffer: UnsafeMutableRawBufferPointer, _ count: Int) -> Int {
    guard withoutLineEnds else { return count }
    var left = 0
    for index in 0..<count where ![0x0A, 0x0D, 0].contains(buffer[index]) {
      buffer[left] = buffer[index]
      left += 1
    }
    return left
  }

  /// Counts the bytes to send: their number must be known before the first one is sent.
  private func countFiltered() throws(Failure) -> Int64 {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 1)
    defer {
      if let base = buffer.baseAddress { explicit_bzero(base, buffer.count) }
      buffer.deallocate()
    }
    var total: Int64 = 0
    while true {
      let count = try readRegular(into: buffer)
      if count == 0 { break }
      total += Int64(count)
    }
    offset = start
    return total
  }

  private func unreadable(_ reason: Int32) -> Failure {
    Failure(
      .failed,
      "\(option): cannot read \(DisplayText.oneLine(path)): "
        + SystemError(reason).reason)
  }
}
