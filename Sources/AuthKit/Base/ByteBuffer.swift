internal import Glibc

/// Bytes that are collected, such as the body of an answer that is read as a whole.
///
/// It grows by realloc(3), which moves the pages of a large block and copies none of them: unlike an
/// array it never takes twice the memory of what is in it.
package final class ByteBuffer {
  private var base: UnsafeMutableRawPointer?
  private var capacity = 0
  /// Number of bytes so far.
  package private(set) var count = 0

  /// An empty buffer.
  package init() {}

  /// A buffer that holds a copy of `bytes`.
  package convenience init(_ bytes: [UInt8]) {
    self.init()
    bytes.withUnsafeBytes { append($0) }
  }

  /// Whether there is nothing in it.
  package var isEmpty: Bool { count == 0 }

  /// Adds bytes at the end.
  package func append(_ bytes: UnsafeRawBufferPointer) {
    guard let source = bytes.baseAddress, !bytes.isEmpty else { return }
    if count + bytes.count > capacity {
      // What is not written to yet costs no memory.
      let wanted = max(capacity * 2, count + bytes.count, 4096)
      // Without memory Swift's own collections end the process, too.
      guard let grown = realloc(base, wanted) else { abort() }
      (base, capacity) = (grown, wanted)
    }
    base?.advanced(by: count).copyMemory(from: source, byteCount: bytes.count)
    count += bytes.count
  }

  /// Lends the bytes for the time of `body`; they must not be kept.
  package func withBytes<R, E: Error>(
    _ body: (UnsafeRawBufferPointer) throws(E) -> R
  ) throws(E) -> R {
    try body(UnsafeRawBufferPointer(start: base, count: count))
  }

  deinit { free(base) }
}
