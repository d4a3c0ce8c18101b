internal import Glibc

/// A growing buffer of bytes, such as a response body that is read as a whole.
///
/// It grows with realloc(3), which moves the pages of a large block without copying them: unlike an
/// array, it never takes twice the memory of its content.
package final class ByteBuffer {
  private var base: UnsafeMutableRawPointer?
  private var capacity = 0
  /// The number of bytes so far.
  package private(set) var count = 0

  /// An empty buffer.
  package init() {}

  /// A buffer that holds a copy of `bytes`.
  package convenience init(_ bytes: [UInt8]) {
    self.init()
    bytes.withUnsafeBytes { append($0) }
  }

  /// Whether it has no bytes.
  package var isEmpty: Bool { count == 0 }

  /// Adds bytes at the end.
  package func append(_ bytes: UnsafeRawBufferPointer) {
    guard let source = bytes.baseAddress, !bytes.isEmpty else { return }
    if count + bytes.count > capacity {
      // Memory that is not written yet costs nothing.
      let wanted = max(capacity * 2, count + bytes.count, 4096)
      // Swift's own collections also end the process when memory runs out.
      guard let grown = realloc(base, wanted) else { abort() }
      (base, capacity) = (grown, wanted)
    }
    base?.advanced(by: count).copyMemory(from: source, byteCount: bytes.count)
    count += bytes.count
  }

  /// Lends the bytes for the duration of `body`, which must not keep them.
  package func withBytes<R, E: Error>(
    _ body: (UnsafeRawBufferPointer) throws(E) -> R
  ) throws(E) -> R {
    try body(UnsafeRawBufferPointer(start: base, count: count))
  }

  deinit { free(base) }
}
