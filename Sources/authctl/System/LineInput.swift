internal import AuthKit
internal import Glibc

/// The lines of standard input, read as they arrive and not kept after use.
struct LineInput {
  enum Line {
    case whole(ByteBuffer)
    /// A line longer than a body may be; it is skipped.
    case tooLong
  }

  /// The maximum length of a line in bytes.
  static let longest = 16 << 20
  private static let chunk = 65_536

  private var bytes: [UInt8] = []
  /// The start of the next line; `searched` is the end of the part without a line end.
  private var start = 0
  private var searched = 0
  private var isSkipping = false
  private var isAtEnd = false

  /// Whether no more lines follow.
  var isExhausted: Bool { isAtEnd && start == bytes.count }

  /// Returns the next line, without its line end, if it has arrived.
  mutating func next() -> Line? {
    while true {
      let end = bytes[searched...].firstIndex(of: UInt8(ascii: "\n"))
      searched = end ?? bytes.count
      if isSkipping {
        start = end.map { $0 + 1 } ?? bytes.count
        searched = start
        if end == nil { return nil }
        isSkipping = false
        continue
      }
      if let end {
        defer {
          start = end + 1
          searched = start
        }
        return .whole(line(start..<end))
      }
      if bytes.count - start > Self.longest {
        isSkipping = true
        return .tooLong
      }
      guard isAtEnd, start < bytes.count else { return nil }
      defer { start = bytes.count }
      return .whole(line(start..<bytes.count))
    }
  }

  private func line(_ range: Range<Int>) -> ByteBuffer {
    let line = ByteBuffer()
    bytes.withUnsafeBytes { line.append(UnsafeRawBufferPointer(rebasing: $0[range])) }
    return line
  }

  /// Calls read(2) once.
  ///
  /// - Throws: `failed` when standard input cannot be read.
  mutating func fill() throws(Failure) {
    bytes.removeFirst(start)
    searched -= start
    start = 0
    var chunk = [UInt8](repeating: 0, count: Self.chunk)
    let count = read(STDIN_FILENO, &chunk, chunk.count)
    if count < 0 {
      if errno == EINTR || errno == EAGAIN { return }
      throw Failure(.failed, "cannot read standard input: \(SystemError(errno).reason)")
    }
    isAtEnd = count == 0
    bytes += chunk[..<count]
  }
}
