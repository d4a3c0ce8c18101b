// Text as bytes: Swift's `lowercased`, `hasSuffix` and trimming work on graphemes, where CR LF is
// one Character and U+212A becomes k in lower case.
extension String {
  /// Whether it contains the bytes of `word`.
  package func contains(bytesOf word: String) -> Bool { Array(utf8).contains(bytesOf: word) }

  /// Whether it ends with the bytes of `word`.
  package func ends(withBytesOf word: String) -> Bool {
    utf8.reversed().starts(with: word.utf8.reversed())
  }
}

extension [UInt8] {
  /// Whether it contains the bytes of `word`.
  func contains(bytesOf word: String) -> Bool {
    let word = Array(word.utf8)
    guard let first = word.first else { return true }
    var rest = self[...]
    while let place = rest.firstIndex(of: first) {
      if rest[place...].starts(with: word) { return true }
      rest = rest[(place + 1)...]
    }
    return false
  }
}

extension UInt8 {
  /// 0-9
  package var isDigit: Bool { (0x30...0x39).contains(self) }

  /// A-Z, a-z
  package var isLetter: Bool { (0x61...0x7A).contains(self | 0x20) }

  /// 0-9, A-Z, a-z
  package var isLetterOrDigit: Bool { isLetter || isDigit }
}

extension String {
  /// The text with A-Z in lower case, all other bytes unchanged.
  package var asciiLowercased: String {
    var text = self
    let changed: String? = text.withUTF8 { bytes in
      guard bytes.contains(where: { $0 != Self.lowered($0) }) else { return nil }
      return String(unsafeUninitializedCapacity: bytes.count) { lower in
        for index in bytes.indices { lower[index] = Self.lowered(bytes[index]) }
        return bytes.count
      }
    }
    return changed ?? self
  }

  /// Whether it equals `other`, ignoring ASCII case; copies neither.
  package func equalsIgnoringCase(_ other: String) -> Bool {
    utf8.count == other.utf8.count
      && zip(utf8, other.utf8).allSatisfy { Self.lowered($0) == Self.lowered($1) }
  }

  private static func lowered(_ byte: UInt8) -> UInt8 {
    byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte
  }

  /// The text without CR and LF at the end.
  package var trimmingLineEnd: String {
    var bytes = Substring(self).utf8
    while let byte = bytes.last, byte == 0x0A || byte == 0x0D { bytes = bytes.dropLast() }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The words between its spaces, as in a scope (RFC 6749, section 3.3).
  package var words: [String] {
    utf8.split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
  }

  /// The text without spaces and tabs at both ends.
  package var trimmingSpaces: String {
    var bytes = Substring(self).utf8
    while let byte = bytes.first, byte == 0x20 || byte == 0x09 { bytes = bytes.dropFirst() }
    while let byte = bytes.last, byte == 0x20 || byte == 0x09 { bytes = bytes.dropLast() }
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// Returns permissions in the format of chmod(1): `0600`.
package func octal(_ mode: UInt32) -> String {
  let digits = String(mode & 0o7777, radix: 8)
  return String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
}

extension UnsafeRawBufferPointer {
  /// Whether all bytes are valid UTF-8; creates no string.
  package var isUTF8: Bool {
    do {
      _ = try UTF8Span(validating: assumingMemoryBound(to: UInt8.self).span)
      return true
    } catch {
      return false
    }
  }
}

extension String {
  /// The text without the slashes at its end, as people write a base URL.
  package var withoutTrailingSlashes: String {
    var text = self
    while text.utf8.last == UInt8(ascii: "/") { text.removeLast() }
    return text
  }
}

/// A text as a key: compared by its bytes, where `String` treats two encodings of one letter as equal.
struct TextKey: Hashable {
  let text: String

  static func == (left: Self, right: Self) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }

  func hash(into hasher: inout Hasher) {
    var text = text
    text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
  }
}
