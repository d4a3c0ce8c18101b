internal import Glibc

/// Bytes that must not be printed, copied by accident, or left in memory.
///
/// The buffer is wiped by `explicit_bzero(3)` when the value goes. It cannot be copied, compared,
/// encoded or interpolated: `"\(secret)"` does not compile. Bytes are read by closure only.
/// What libraries copy of them (libcurl, OpenSSL, GLib) is out of reach.
package struct Secret: ~Copyable {
  private let buffer: UnsafeMutableRawBufferPointer

  /// Takes over a copy of `bytes`; the caller wipes its own.
  package init(copying bytes: UnsafeRawBufferPointer) {
    buffer = .allocate(byteCount: bytes.count, alignment: 1)
    buffer.copyMemory(from: bytes)
  }

  /// The UTF-8 of `text`, for values that already are a Swift string.
  package init(_ text: String) {
    buffer = .allocate(byteCount: text.utf8.count, alignment: 1)
    buffer.copyBytes(from: text.utf8)
  }

  /// Number of bytes.
  package var count: Int { buffer.count }

  /// Whether there is nothing in it.
  package var isEmpty: Bool { buffer.isEmpty }

  /// Lends the bytes for the time of `body`; they must not be kept.
  package borrowing func withBytes<R: ~Copyable, E: Error>(
    _ body: (UnsafeRawBufferPointer) throws(E) -> R
  ) throws(E) -> R {
    try body(UnsafeRawBufferPointer(buffer))
  }

  /// A second buffer with the same bytes, wiped in its turn.
  package borrowing func copy() -> Secret {
    Secret(copying: UnsafeRawBufferPointer(buffer))
  }

  /// Whether both hold the same bytes; time depends on the length alone.
  package borrowing func hasSameBytes(as other: borrowing Secret) -> Bool {
    count == other.count && zip(buffer, other.buffer).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
  }

  deinit {
    if let base = buffer.baseAddress { explicit_bzero(base, buffer.count) }
    buffer.deallocate()
  }
}

/// Collects bytes that may hold secrets: a header line, a body. Grows by copying into a new
/// buffer and wiping the old one, so that no half-filled copy stays behind.
package struct SecretBuilder: ~Copyable {
  private var buffer: UnsafeMutableRawBufferPointer
  private var used = 0

  /// An empty builder with room for `capacity` bytes.
  package init(capacity: Int = 256) {
    buffer = .allocate(byteCount: max(capacity, 16), alignment: 1)
  }

  /// Number of bytes so far.
  package var count: Int { used }

  /// Adds bytes at the end.
  package mutating func append(_ bytes: UnsafeRawBufferPointer) {
    guard !bytes.isEmpty else { return }
    if used + bytes.count > buffer.count {
      let grown = UnsafeMutableRawBufferPointer.allocate(
        byteCount: max(buffer.count * 2, used + bytes.count), alignment: 1)
      grown.copyMemory(from: UnsafeRawBufferPointer(rebasing: buffer[..<used]))
      wipe()
      buffer.deallocate()
      buffer = grown
    }
    UnsafeMutableRawBufferPointer(rebasing: buffer[used...]).copyMemory(from: bytes)
    used += bytes.count
  }

  /// Adds one byte.
  package mutating func append(_ byte: UInt8) {
    withUnsafeBytes(of: byte) { append($0) }
  }

  /// Adds the UTF-8 of `text`.
  package mutating func append(_ text: String) {
    var text = text
    text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
  }

  /// Adds the bytes of `secret`.
  package mutating func append(_ secret: borrowing Secret) {
    secret.withBytes { append($0) }
  }

  /// The bytes so far as a secret; the builder stays usable.
  package borrowing func secret() -> Secret {
    Secret(copying: UnsafeRawBufferPointer(rebasing: buffer[..<used]))
  }

  /// Lends the bytes so far for the time of `body`; they must not be kept.
  borrowing func withBytes<R: ~Copyable, E: Error>(
    _ body: (UnsafeRawBufferPointer) throws(E) -> R
  ) throws(E) -> R {
    try body(UnsafeRawBufferPointer(rebasing: buffer[..<used]))
  }

  private borrowing func wipe() {
    if let base = buffer.baseAddress { explicit_bzero(base, buffer.count) }
  }

  deinit {
    if let base = buffer.baseAddress { explicit_bzero(base, buffer.count) }
    buffer.deallocate()
  }
}

/// A secret that several places hold at once: one buffer, wiped when the last of them goes.
package final class SharedSecret {
  /// The bytes.
  package let secret: Secret

  /// Takes the secret over.
  package init(_ secret: consuming Secret) { self.secret = secret }

  /// The UTF-8 of `text`.
  package convenience init(_ text: String) { self.init(Secret(text)) }

  /// Lends the bytes for the time of `body`.
  package func withBytes<R: ~Copyable, E: Error>(
    _ body: (UnsafeRawBufferPointer) throws(E) -> R
  ) throws(E) -> R {
    try secret.withBytes(body)
  }

  /// The bytes as text, for values that must become one: a JWT to be looked into, `token`'s output.
  package var text: String { withBytes { String(decoding: $0, as: UTF8.self) } }

  /// Whether both hold the same bytes; time depends on the length alone.
  package func hasSameBytes(as other: SharedSecret) -> Bool {
    secret.hasSameBytes(as: other.secret)
  }
}
