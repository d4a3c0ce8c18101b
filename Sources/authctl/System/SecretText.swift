internal import AuthKit

/// The checks of a secret from any source (rule C8).
enum SecretText {
  /// Returns the bytes up to the first LF, without a CR before it; all of them if there is no LF.
  static func firstLine(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return bytes }
    let line = UnsafeRawBufferPointer(rebasing: bytes[..<end])
    return line.last == UInt8(ascii: "\r") ? .init(rebasing: line.dropLast()) : line
  }

  /// Returns the bytes without one LF or CR LF at the end.
  static func withoutLineEnd(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    guard bytes.last == UInt8(ascii: "\n") else { return bytes }
    let line = UnsafeRawBufferPointer(rebasing: bytes.dropLast())
    return line.last == UInt8(ascii: "\r") ? .init(rebasing: line.dropLast()) : line
  }

  /// Checks a typed secret; the failure names the mistake, never the secret.
  static func checked(
    _ line: borrowing Secret, name: String, limit: Int
  ) throws(Failure) -> Secret {
    try line.withBytes { bytes throws(Failure) in
      try checked(bytes, name: name, from: nil, limit: limit)
    }
  }

  /// Returns `bytes` as a secret.
  ///
  /// - Parameters:
  ///   - name: the name of the secret ("password").
  ///   - source: the option or variable that gave it, for the message.
  ///   - limit: the most bytes it may have.
  /// - Throws: `usage` when it is empty, too long, not UTF-8 or has control bytes.
  static func checked(
    _ bytes: UnsafeRawBufferPointer, name: String, from source: String?, limit: Int
  ) throws(Failure) -> Secret {
    let mistake: String
    if bytes.isEmpty {
      mistake = "is empty"
    } else if bytes.count > limit {
      mistake = "is longer than \(limit) bytes"
    } else if bytes.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
      mistake = "contains a control character (byte 00-1F or 7F)"
    } else if (try? UTF8Span(validating: bytes.bindMemory(to: UInt8.self).span)) == nil {
      mistake = "is not valid UTF-8"
    } else {
      return Secret(copying: bytes)
    }
    throw Failure(.usage, "the \(name) \(mistake)" + (source.map { " (\($0))" } ?? ""))
  }
}
