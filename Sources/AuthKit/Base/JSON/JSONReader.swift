/// Steps through a checked JSON text, from one value to the next.
struct JSONReader {
  private let bytes: UnsafeRawBufferPointer
  private var position: Int

  init(_ bytes: UnsafeRawBufferPointer, at position: Int) {
    self.bytes = bytes
    self.position = position
  }

  // The subscript of a raw buffer is not checked in release builds: every read goes through here. A
  // checked text holds no NUL.
  private func byte(at place: Int) -> UInt8 { place < bytes.count ? bytes[place] : 0 }

  /// The next byte; 0 at the end.
  var byte: UInt8 { byte(at: position) }

  /// Skips white space.
  mutating func skipSpace() {
    while byte <= 0x20, position < bytes.count { position += 1 }
  }

  // MARK: - Values

  /// Skips the value that begins here and returns its range.
  mutating func value() -> Range<Int> {
    let start = position
    var depth = 0
    repeat {
      switch byte {
      case UInt8(ascii: "\""): _ = string()
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        depth += 1
        position += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        depth -= 1
        position += 1
      default:
        position += 1
        if depth == 0 { while !isEnd(byte), position < bytes.count { position += 1 } }
      }
    } while depth > 0 && position < bytes.count
    return start..<position
  }

  private func isEnd(_ byte: UInt8) -> Bool {
    byte <= 0x20 || byte == UInt8(ascii: ",") || byte == UInt8(ascii: "]")
      || byte == UInt8(ascii: "}")
  }

  /// Skips the string that begins here and returns the range between its quotes.
  private mutating func string() -> Range<Int> {
    let start = position + 1
    position = start
    while position < bytes.count, byte != UInt8(ascii: "\"") {
      position += byte == UInt8(ascii: "\\") ? 2 : 1
    }
    defer { position += 1 }
    return start..<min(position, bytes.count)
  }

  /// Enters the array or object that begins here.
  mutating func enter() { position += 1 }

  /// Skips the next element of the entered array; returns nil at its end.
  mutating func element() -> Range<Int>? {
    skipSpace()
    if byte == UInt8(ascii: ",") { position += 1 }
    skipSpace()
    guard position < bytes.count, byte != UInt8(ascii: "]") else { return nil }
    return value()
  }

  /// Skips the next member of the entered object; returns nil at its end.
  mutating func member() -> (key: Range<Int>, value: Range<Int>)? {
    skipSpace()
    if byte == UInt8(ascii: ",") { position += 1 }
    skipSpace()
    guard byte == UInt8(ascii: "\"") else { return nil }
    let key = string()
    skipSpace()
    position += 1
    skipSpace()
    return (key, value())
  }

  // MARK: - Strings

  /// Lends the text of a string in pieces: runs as written, of at most about 32 KiB, and the
  /// character of each escape. No character is split.
  func forEachPiece<E: Error>(
    of range: Range<Int>, _ body: (UnsafeRawBufferPointer) throws(E) -> Void
  ) throws(E) {
    var place = range.lowerBound
    while place < range.upperBound {
      let start = place
      while place < range.upperBound, byte(at: place) != UInt8(ascii: "\\"),
        place - start < JSONPieces.usual || byte(at: place) & 0xC0 == 0x80
      {
        place += 1
      }
      if place > start { try body(UnsafeRawBufferPointer(rebasing: bytes[start..<place])) }
      guard place < range.upperBound else { return }
      guard byte(at: place) == UInt8(ascii: "\\") else { continue }
      try Array(escape(at: &place).utf8).withUnsafeBufferPointer { (text) throws(E) in
        try body(UnsafeRawBufferPointer(text))
      }
    }
  }

  /// Returns the character of the escape at `place` (RFC 8259, section 7).
  private func escape(at place: inout Int) -> Unicode.Scalar {
    let letter = byte(at: place + 1)
    place += 2
    switch letter {
    case UInt8(ascii: "b"): return "\u{08}"
    case UInt8(ascii: "f"): return "\u{0C}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"):
      var code = number(at: &place)
      if 0xD800...0xDBFF ~= code {
        place += 2
        code = 0x10000 + ((code - 0xD800) << 10 | ((number(at: &place) &- 0xDC00) & 0x3FF))
      }
      return Unicode.Scalar(code) ?? "\u{FFFD}"
    default: return Unicode.Scalar(letter)
    }
  }

  private func number(at place: inout Int) -> UInt32 {
    var code: UInt32 = 0
    for _ in 0..<4 {
      let digit = byte(at: place)
      code = code << 4 | UInt32(digit <= 0x39 ? digit &- 0x30 : (digit | 0x20) &- 0x57)
      place += 1
    }
    return code
  }

  /// Whether the text of a string has the bytes `wanted`.
  func string(_ range: Range<Int>, is wanted: [UInt8]) -> Bool {
    // A text is never longer than its escaped form.
    guard range.count >= wanted.count else { return false }
    var rest = wanted[...]
    var isSame = true
    forEachPiece(of: range) { piece in
      isSame = isSame && rest.starts(with: piece)
      rest = rest.dropFirst(piece.count)
    }
    return isSame && rest.isEmpty
  }

  /// Returns the text of a string, of at most `most` bytes as written.
  func text(_ range: Range<Int>, most: Int = .max) -> String {
    let end = min(range.count, most) + range.lowerBound
    var text: [UInt8] = []
    forEachPiece(of: range.lowerBound..<end) { text += $0 }
    return String(decoding: text, as: UTF8.self)
  }

  // MARK: - Writing

  /// Writes the tokens up to `end`, as `JSONValue` writes itself.
  mutating func write<E: Error>(
    upTo end: Int, _ style: JSONStyle, to sink: (UnsafeRawBufferPointer) throws(E) -> Void
  ) throws(E) {
    var out = JSONPieces(style)
    /// For each open array or object: whether it is an object.
    var open: [Bool] = []
    var isKey = false
    while position < end {
      switch byte {
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        let opening = byte
        position += 1
        skipSpace()
        out.append(opening)
        // In ASCII, a closing bracket is two after its opening one.
        if byte == opening + 2 {
          out.append(byte)
          position += 1
        } else {
          open.append(opening == UInt8(ascii: "{"))
          out.newLine(open.count)
          isKey = open.last == true
        }
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        open.removeLast()
        out.newLine(open.count)
        out.append(byte)
        position += 1
      case UInt8(ascii: ","):
        out.append(byte)
        out.newLine(open.count)
        isKey = open.last == true
        position += 1
      case UInt8(ascii: ":"):
        out.append(byte)
        if style.isForPeople { out.append(UInt8(ascii: " ")) }
        isKey = false
        position += 1
      case UInt8(ascii: "\""):
        let range = string()
        out.begin(isKey ? .key : .string)
        try forEachPiece(of: range) { (piece) throws(E) in
          try out.append(inside: piece, to: sink)
        }
        out.end(isKey ? .key : .string)
      default:
        let range = value()
        out.begin(.other)
        try out.append(UnsafeRawBufferPointer(rebasing: bytes[range]), to: sink)
        out.end(.other)
      }
      skipSpace()
      try out.flush(to: sink, ifAbove: JSONPieces.usual)
    }
    try out.flush(to: sink, ifAbove: 0)
  }
}
