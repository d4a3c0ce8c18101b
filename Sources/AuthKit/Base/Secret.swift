internal import Glibc

/// Bytes that must not be printed, copied by accident, or left in memory.
///
/// The buffer is wiped with `explicit_bzero(3)` when the value is destroyed. It cannot be copied,
/// compared, encoded or interpolated: `"\(secret)"` does not compile. Only closures read the bytes.
/// Copies that libraries make (libcurl, OpenSSL, GLib) are out of reach.
package struct Secret: ~Copyable {
  private let buffer: UnsafeMutableRawBufferPointer

  /// Copies `bytes`; the caller wipes its own.
  package init(copying bytes: UnsafeRawBufferPointer) {
    buffer = .allocate(byteCount: bytes.count, alignment: 1)
    buffer.copyMemory(from: bytes)
  }

  /// Allocates `count` zero bytes for `fill` to write, so that no copy is made.
  init<E: Error>(
    count: Int, filledBy fill: (UnsafeMutableRawBufferPointer) throws(E) -> Void
  ) throws(E) {
    buffer = .allocate(byteCount: count, alignment: 1)
    buffer.initializeMemory(as: UInt8.self, repeating: 0)
    try fill(buffer)
  }

  /// Copies the UTF-8 of `text`, for values that already are a Swift string.
  package init(_ text: String) {
    buffer = .allocate(byteCount: text.utf8.count, alignment: 1)
    buffer.copyBytes(from: text.utf8)
  }

  /// Takes ownership of a buffer whose first `count` bytes are in use.
  fileprivate init(taking buffer: UnsafeMutableRawBufferPointer, _ count: Int) {
    self.buffer = UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
  }

  /// The number of bytes.
  package var count: Int { buffer.count }

  /// Whether it has no bytes.
  package var isEmpty: Bool { buffer.isEmpty }

  /// Lends the bytes for the duration of `body`, which must not keep them.
  package borrowing func withBytes<R: ~Copyable, E: Error>(
    _ body: (UnsafeRawBufferPointer) throws(E) -> R
  ) throws(E) -> R {
    try body(UnsafeRawBufferPointer(buffer))
  }

  /// Returns a second secret with the same bytes, which is wiped separately.
  package borrowing func copy() -> Secret {
    Secret(copying: UnsafeRawBufferPointer(buffer))
  }

  /// Whether both hold the same bytes; the time depends only on the length.
  package borrowing func hasSameBytes(as other: borrowing Secret) -> Bool {
    count == other.count && zip(buffer, other.buffer).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
  }

  deinit {
    if let base = buffer.baseAddress { explicit_bzero(base, buffer.count) }
    buffer.deallocate()
  }
}

/// Collects bytes that may hold secrets: a header line, a body. To grow, it copies them to a new
/// buffer and wipes the old one, so that no half-filled copy remains.
package struct SecretBuilder: ~Copyable {
  private var buffer: UnsafeMutableRawBufferPointer
  private var used = 0

  /// An empty builder with room for `capacity` bytes.
  package init(capacity: Int = 256) {
    buffer = .allocate(byteCount: max(capacity, 16), alignment: 1)
  }

  /// The number of bytes so far.
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

  /// Returns the bytes so far as a secret; the builder stays usable.
  package borrowing func secret() -> Secret {
    Secret(copying: UnsafeRawBufferPointer(rebasing: buffer[..<used]))
  }

  /// Returns the bytes so far as a secret, without a copy, and consumes the builder.
  package consuming func finish() -> Secret {
    let secret = Secret(taking: buffer, used)
    discard self
    return secret
  }

  /// Lends the bytes so far for the duration of `body`, which must not keep them.
  package borrowing func withBytes<R: ~Copyable, E: Error>(
    _ body: (UnsafeRawBufferPointer) throws(E) -> R
  ) throws(E) -> R {
    try body(UnsafeRawBufferPointer(rebasing: buffer[..<used]))
  }

  /// Wipes and removes the bytes; keeps the capacity.
  package mutating func removeAll() {
    if let base = buffer.baseAddress { explicit_bzero(base, used) }
    used = 0
  }

  private borrowing func wipe() {
    if let base = buffer.baseAddress { explicit_bzero(base, buffer.count) }
  }

  deinit {
    if let base = buffer.baseAddress { explicit_bzero(base, buffer.count) }
    buffer.deallocate()
  }
}

/// A secret with several owners: one buffer, wiped when the last owner is gone.
package final class SharedSecret {
  /// The bytes.
  package let secret: Secret

  /// Takes ownership of `secret`.
  package init(_ secret: consuming Secret) { self.secret = secret }

  /// Copies the UTF-8 of `text`.
  package convenience init(_ text: String) { self.init(Secret(text)) }

  /// Lends the bytes for the duration of `body`, which must not keep them.
  package func withBytes<R: ~Copyable, E: Error>(
    _ body: (UnsafeRawBufferPointer) throws(E) -> R
  ) throws(E) -> R {
    try secret.withBytes(body)
  }

  /// The bytes as text, for values that must become text: a JWT to inspect, the output of `token`.
  package var text: String { withBytes { String(decoding: $0, as: UTF8.self) } }

  /// Whether both hold the same bytes; the time depends only on the length.
  package func hasSameBytes(as other: SharedSecret) -> Bool {
    secret.hasSameBytes(as: other.secret)
  }
}
