/// Makes foreign text safe to show: words of a server, a profile, a certificate, a file name, a
/// D-Bus error (rule B4). All of it passes through here. The result moves no cursor, changes no
/// writing direction and begins no line.
package enum DisplayText {
  /// Returns `text` on one line, at most `limit` Unicode scalars long.
  ///
  /// Line ends become ` ⏎ `; control, format and tag characters become `\u{…}`. A replacement that
  /// does not fit into the limit is omitted. URLs lose their user information.
  ///
  /// - Parameter isMessage: whether it is a sentence of authctl's, not foreign text.
  package static func oneLine(
    _ text: String, limit: Int = 300, isMessage: Bool = false
  ) -> String {
    var shown = String.UnicodeScalarView()
    var length = 0
    var afterReturn = false
    // Before the limit, which could cut off the `@`.
    for scalar in Redactor.withoutUserInformation(in: text, isMessage: isMessage)
      .unicodeScalars
    {
      let isSecondHalf = afterReturn && scalar == "\n"
      afterReturn = scalar == "\r"
      if isSecondHalf { continue }
      let piece = replacement(for: scalar)
      let count = piece?.unicodeScalars.count ?? 1
      guard length + count <= limit else { break }
      length += count
      if let piece { shown.append(contentsOf: piece.unicodeScalars) } else { shown.append(scalar) }
    }
    return String(shown)
  }

  /// Returns a server's words for lines that begin with `server: `: at most three pieces, trimmed,
  /// without empty ones and HTML.
  package static func server(_ pieces: [String]) -> [String] {
    var shown: [String] = []
    for piece in pieces where shown.count < 3 {
      let words = trimmed(piece)
      if words.isEmpty || words.first == "<" { continue }
      shown.append(oneLine(String(words)))
    }
    return shown
  }

  /// Returns the bytes as text; invalid UTF-8 becomes U+FFFD.
  package static func repaired(_ bytes: UnsafeRawBufferPointer) -> String {
    String(decoding: bytes, as: UTF8.self)
  }

  /// Whether a body should not go to a terminal: it has a NUL or invalid UTF-8 in its first KiB. A
  /// character that the end of `bytes` splits does not count.
  package static func looksBinary(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var follower = UTF8Follower()
    for byte in bytes.prefix(1024) {
      if byte == 0 { return true }
      switch follower.follow(byte) {
      case .broken, .stray: return true
      case .partial, .complete: continue
      }
    }
    return false
  }

  /// Returns a command line that `/bin/sh` splits into exactly `words`; nil when there are none, or
  /// when one holds a character that must not be printed (rule A13).
  package static func shellCommand(_ words: [String]) -> String? {
    guard !words.isEmpty else { return nil }
    var line: [UInt8] = []
    for (index, word) in words.enumerated() {
      if word.unicodeScalars.contains(where: { replacement(for: $0) != nil }) { return nil }
      if index > 0 { line.append(UInt8(ascii: " ")) }
      if isPlain(word, isFirst: index == 0) {
        line += word.utf8
        continue
      }
      line.append(UInt8(ascii: "'"))
      for byte in word.utf8 {
        if byte == UInt8(ascii: "'") { line += #"'\''"#.utf8 } else { line.append(byte) }
      }
      line.append(UInt8(ascii: "'"))
    }
    return String(decoding: line, as: UTF8.self)
  }

  /// Returns a command line for shells that support `$'...'` (POSIX.1-2024, section 2.2.4): it
  /// escapes what `shellCommand` does not print (rule C7). No word holds a NUL.
  package static func shellLine(_ words: [[UInt8]]) -> String {
    let shown = words.enumerated().map { index, word -> String in
      if let text = String(validating: word, as: UTF8.self),
        let plain = shellCommand(index == 0 ? [text] : ["x", text])
      {
        return index == 0 ? plain : String(plain.dropFirst(2))
      }
      return "$'" + String(decoding: word.flatMap(Array.init(escaping:)), as: UTF8.self) + "'"
    }
    return shown.joined(separator: " ")
  }

  /// Whether a terminal could act on the character or would hide it: controls (C0, DEL, C1), format
  /// characters (bidirectional, zero-width), line and paragraph separators, tags.
  package static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x20...0x7E: return false
    case 0xE0000...0xE0FFF: return true
    default:
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator: return true
      default: return false
      }
    }
  }

  // The general category Format holds the characters of rule B4 (U+200B-F, U+202A-E, U+2066-9,
  // U+FEFF, the tag characters) and similar ones: U+00AD, U+061C, U+2060. Plane 14 has more
  // invisible ones.
  fileprivate static func replacement(for scalar: Unicode.Scalar) -> String? {
    if scalar == "\n" || scalar == "\r" { return " \u{23CE} " }
    guard isUnsafe(scalar) else { return nil }
    return "\\u{" + String(scalar.value, radix: 16, uppercase: true) + "}"
  }

  private static func trimmed(_ text: String) -> Substring.UnicodeScalarView {
    func isBlank(_ scalar: Unicode.Scalar) -> Bool {
      scalar.properties.isWhitespace || scalar == "\u{FEFF}"
    }
    var rest = Substring(text).unicodeScalars
    while let first = rest.first, isBlank(first) { rest.removeFirst() }
    while let last = rest.last, isBlank(last) { rest.removeLast() }
    return rest
  }

  // In zsh, `=cmd` is a path; `NAME=value` as the first word is an assignment.
  private static func isPlain(_ word: String, isFirst: Bool) -> Bool {
    guard let first = word.utf8.first, first != UInt8(ascii: "=") else { return false }
    let others = isFirst ? "_@%+:,./-" : "_@%+:,./-="
    return word.utf8.allSatisfy { $0.isLetterOrDigit || others.utf8.contains($0) }
  }
}

extension [UInt8] {
  /// Escapes a byte between `$'` and `'`. Three octal digits: some shells read more than two
  /// hexadecimal ones.
  fileprivate init(escaping byte: UInt8) {
    switch byte {
    case UInt8(ascii: "'"), UInt8(ascii: "\\"): self = [UInt8(ascii: "\\"), byte]
    case UInt8(ascii: "\n"): self = Array(#"\n"#.utf8)
    case UInt8(ascii: "\r"): self = Array(#"\r"#.utf8)
    case UInt8(ascii: "\t"): self = Array(#"\t"#.utf8)
    case 0x20...0x7E: self = [byte]
    default:
      self = [UInt8(ascii: "\\"), 0x30 + (byte >> 6), 0x30 + (byte >> 3 & 7), 0x30 + (byte & 7)]
    }
  }
}

/// Makes a body safe for a terminal, chunk by chunk: control characters other than TAB, LF and
/// CR LF become `^X`, those of C1 `M-^X`, characters that hide or change the writing direction
/// `\u{…}`, invalid UTF-8 U+FFFD.
package struct Caret {
  private var follower = UTF8Follower()
  private var character: [UInt8] = []
  private var afterReturn = false

  /// A stream with nothing held back.
  package init() {}

  /// Whether a CR or a part of a character is held back.
  package var holdsBack: Bool { afterReturn || !character.isEmpty }

  /// Adds `bytes` and returns what may be written now; holds back a CR or a part of a character.
  package mutating func feed(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
    var output: [UInt8] = []
    output.reserveCapacity(bytes.count + 16)
    for byte in bytes {
      if afterReturn {
        afterReturn = false
        output += byte == UInt8(ascii: "\n") ? "\r".utf8 : "^M".utf8
      }
      write(byte, into: &output)
    }
    return output
  }

  /// Returns what was held back; call it after the last bytes.
  package mutating func finish() -> [UInt8] {
    defer { self = Caret() }
    if afterReturn { return Array("^M".utf8) }
    return character.isEmpty ? [] : Array("\u{FFFD}".utf8)
  }

  /// Returns the replacement of a character of several bytes; nil when it may pass.
  private static func replacement(for character: [UInt8]) -> String? {
    String(decoding: character, as: UTF8.self).unicodeScalars.first
      .flatMap(DisplayText.replacement)
  }

  private mutating func write(_ byte: UInt8, into output: inout [UInt8]) {
    var step = follower.follow(byte)
    if step == .broken {
      output += "\u{FFFD}".utf8
      character.removeAll(keepingCapacity: true)
      step = follower.follow(byte)
    }
    guard step != .stray else {
      output += "\u{FFFD}".utf8
      return
    }
    character.append(byte)
    guard step == .complete else { return }
    if character.count == 1, byte == UInt8(ascii: "\r") {
      afterReturn = true
    } else if character.count == 1, byte < 0x20 || byte == 0x7F,
      byte != UInt8(ascii: "\t"), byte != UInt8(ascii: "\n")
    {
      output += [UInt8(ascii: "^"), byte ^ 0x40]
    } else if character.count == 2, character[0] == 0xC2, byte < 0xA0 {
      output += "M-^".utf8
      output.append(byte ^ 0xC0)
    } else if character.count > 1, let piece = Self.replacement(for: character) {
      output += piece.utf8
    } else {
      output += character
    }
    character.removeAll(keepingCapacity: true)
  }
}

/// Follows UTF-8 byte by byte; over-long forms and surrogates are invalid.
/// The Unicode Standard, section 3.9, table 3-7.
private struct UTF8Follower {
  enum Step {
    /// The byte ends a character.
    case complete
    /// The byte belongs to a character that continues.
    case partial
    /// The character before the byte is cut off; the byte must be read once more.
    case broken
    /// The byte is not valid here.
    case stray
  }

  private var missing = 0
  private var allowed: ClosedRange<UInt8> = 0x80...0xBF

  mutating func follow(_ byte: UInt8) -> Step {
    if missing > 0 {
      guard allowed.contains(byte) else {
        missing = 0
        return .broken
      }
      missing -= 1
      allowed = 0x80...0xBF
      return missing == 0 ? .complete : .partial
    }
    allowed = 0x80...0xBF
    switch byte {
    case 0...0x7F: return .complete
    case 0xC2...0xDF: missing = 1
    case 0xE0...0xEF: missing = 2
    case 0xF0...0xF4: missing = 3
    default: return .stray
    }
    switch byte {
    case 0xE0: allowed = 0xA0...0xBF
    case 0xED: allowed = 0x80...0x9F
    case 0xF0: allowed = 0x90...0xBF
    case 0xF4: allowed = 0x80...0x8F
    default: break
    }
    return .partial
  }
}
