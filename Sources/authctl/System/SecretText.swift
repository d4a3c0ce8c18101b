internal import AuthKit

/// What a secret may be, wherever it comes from (rule C8).
enum SecretText {
  /// The bytes up to the first LF, without a CR before it; all of them when there is no LF.
  static func firstLine(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return bytes }
    let line = UnsafeRawBufferPointer(rebasing: bytes[..<end])
    return line.last == UInt8(ascii: "\r") ? .init(rebasing: line.dropLast()) : line
  }

  /// The bytes without one LF or CR LF at their end.
  static func withoutLineEnd(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    guard bytes.last == UInt8(ascii: "\n") else { return bytes }
    let line = UnsafeRawBufferPointer(rebasing: bytes.dropLast())
    return line.last == UInt8(ascii: "\r") ? .init(rebasing: line.dropLast()) : line
  }

  /// A secret as typed, or a failure that says what is wrong with it, never what it is.
  static func checked(
    _ line: borrowing Secret, name: String, limit: Int
  ) throws(Failure) -> Secret {
    try line.withBytes { bytes throws(Failure) in
      try checked(bytes, name: name, from: nil, limit: limit)
    }
  }

  /// `bytes` as a secret.
  ///
  /// - Parameters:
  ///   - name: what it is ("password").
  ///   - source: the option or variable that gave it, for the message.
  ///   - limit: the most bytes it may have.
  /// - Throws: `usage` when it is empty, too long, no UTF-8 or has control bytes.
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
