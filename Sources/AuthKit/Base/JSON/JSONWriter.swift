extension JSONValue {
  /// Returns the compact text, in the order of the value. `/` is not escaped.
  package func serialized() -> String {
    var out = SecretBuilder()
    write(into: &out)
    return out.secret().withBytes { String(decoding: $0, as: UTF8.self) }
  }

  /// Adds the compact text to `out`, for bodies that hold secrets.
  package func write(into out: inout SecretBuilder) {
    write(into: &out, style: JSONStyle(), level: 0)
  }

  /// Returns the text for people: two spaces per level, in the order of the value, without a
  /// newline at the end.
  ///
  /// Characters that could act on a terminal or hide in it (DEL, C1, bidirectional controls, zero
  /// width, tags) are written as `\u` escapes, so that the only control bytes are newlines and,
  /// with `colour`, the escape sequences made here (rule B4).
  ///
  /// - Parameter colour: whether to colour keys, strings and other values with ANSI sequences.
  package func prettyPrinted(colour: Bool) -> String {
    var out = SecretBuilder()
    write(into: &out, style: JSONStyle(isForPeople: true, colour: colour), level: 0)
    return out.secret().withBytes { String(decoding: $0, as: UTF8.self) }
  }

  /// Returns a JSON text that is safe for a terminal: characters that could act on it or hide in it
  /// become `\u` escapes with the same meaning (rule B4). Only strings hold such characters; line
  /// ends between values stay.
  package static func shown(_ json: UnsafeRawBufferPointer) -> [UInt8] {
    var out = SecretBuilder(capacity: json.count)
    for scalar in String(decoding: json, as: UTF8.self).unicodeScalars {
      if scalar != "\n", DisplayText.isUnsafe(scalar) {
        writeEscape(scalar, into: &out)
      } else {
        UTF8.encode(scalar)?.forEach { out.append($0) }
      }
    }
    return out.secret().withBytes { Array($0) }
  }

  /// Adds a JSON string with its quotes; invalid UTF-8 in `bytes` becomes U+FFFD.
  package static func escape(_ bytes: UnsafeRawBufferPointer, into out: inout SecretBuilder) {
    escape(bytes, into: &out, isForPeople: false)
  }

  /// Returns the most bytes that `escape` can make of `bytes`, which are UTF-8.
  package static func escapedCount(_ bytes: UnsafeRawBufferPointer) -> Int {
    bytes.reduce(2) { count, byte in
      let isDoubled = byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
      return count + (byte < 0x20 ? 6 : isDoubled ? 2 : 1)
    }
  }

  private func write(into out: inout SecretBuilder, style: JSONStyle, level: Int) {
    switch self {
    case .null: Self.paint("36", &out, style) { $0.append("null") }
    case .bool(let value): Self.paint("36", &out, style) { $0.append(value ? "true" : "false") }
    case .number(let digits): Self.paint("36", &out, style) { $0.append(digits) }
    case .string(let text): Self.write(text, "32", &out, style)
    case .array(let elements):
      out.append(UInt8(ascii: "["))
      for (index, element) in elements.enumerated() {
        if index > 0 { out.append(UInt8(ascii: ",")) }
        Self.newLine(&out, style, level + 1)
        element.write(into: &out, style: style, level: level + 1)
      }
      if !elements.isEmpty { Self.newLine(&out, style, level) }
      out.append(UInt8(ascii: "]"))
    case .object(let members):
      out.append(UInt8(ascii: "{"))
      for (index, member) in members.enumerated() {
        if index > 0 { out.append(UInt8(ascii: ",")) }
        Self.newLine(&out, style, level + 1)
        Self.write(member.key, "1;34", &out, style)
        out.append(style.isForPeople ? ": " : ":")
        member.value.write(into: &out, style: style, level: level + 1)
      }
      if !members.isEmpty { Self.newLine(&out, style, level) }
      out.append(UInt8(ascii: "}"))
    }
  }

  fileprivate static func newLine(_ out: inout SecretBuilder, _ style: JSONStyle, _ level: Int) {
    guard style.isForPeople else { return }
    out.append(UInt8(ascii: "\n"))
    for _ in 0..<level { out.append("  ") }
  }

  private static func paint(
    _ colour: String, _ out: inout SecretBuilder, _ style: JSONStyle,
    _ body: (inout SecretBuilder) -> Void
  ) {
    if style.colour { out.append("\u{1B}[\(colour)m") }
    body(&out)
    if style.colour { out.append("\u{1B}[0m") }
  }

  private static func write(
    _ text: String, _ colour: String, _ out: inout SecretBuilder, _ style: JSONStyle
  ) {
    paint(colour, &out, style) { out in
      var text = text
      text.withUTF8 {
        escape(UnsafeRawBufferPointer($0), into: &out, isForPeople: style.isForPeople)
      }
    }
  }

  // Reads scalars from the bytes: a Swift string would be a copy that is not wiped.
  private static func escape(
    _ bytes: UnsafeRawBufferPointer, into out: inout SecretBuilder, isForPeople: Bool
  ) {
    out.append(UInt8(ascii: "\""))
    escape(inside: bytes, into: &out, isForPeople: isForPeople)
    out.append(UInt8(ascii: "\""))
  }

  /// Adds the escaped text without the quotes.
  fileprivate static func escape(
    inside bytes: UnsafeRawBufferPointer, into out: inout SecretBuilder, isForPeople: Bool
  ) {
    let isPlain = { (byte: UInt8) in
      (0x20..<0x7F).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }
    // Most texts are plain, and reading scalar by scalar takes ten times as long.
    if bytes.allSatisfy(isPlain) { return out.append(bytes) }
    var iterator = bytes.makeIterator()
    var parser = Unicode.UTF8.ForwardParser()
    var position = 0
    var plainStart = 0  // The start of unescaped bytes, which are added in one piece.
    func flush(_ out: inout SecretBuilder) {
      out.append(UnsafeRawBufferPointer(rebasing: bytes[plainStart..<position]))
    }
    reading: while true {
      switch parser.parseScalar(from: &iterator) {
      case .valid(let encoded):
        let scalar = Unicode.UTF8.decode(encoded)
        if isEscaped(scalar) || isForPeople && DisplayText.isUnsafe(scalar) {
          flush(&out)
          writeEscape(scalar, into: &out)
          plainStart = position + encoded.count
        }
        position += encoded.count
      case .error(let length):
        flush(&out)
        out.append("\u{FFFD}")
        position += length
        plainStart = position
      case .emptyInput:
        break reading
      }
    }
    flush(&out)
  }

  /// Whether RFC 8259, section 7, requires an escape.
  private static func isEscaped(_ scalar: Unicode.Scalar) -> Bool {
    scalar.value < 0x20 || scalar == "\"" || scalar == "\\"
  }

  private static func writeEscape(_ scalar: Unicode.Scalar, into out: inout SecretBuilder) {
    switch scalar {
    case "\"": out.append("\\\"")
    case "\\": out.append("\\\\")
    case "\n": out.append("\\n")
    case "\r": out.append("\\r")
    case "\t": out.append("\\t")
    case "\u{08}": out.append("\\b")
    case "\u{0C}": out.append("\\f")
    default:
      for unit in scalar.utf16 {
        let digits = String(unit, radix: 16)
        out.append("\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits)
      }
    }
  }
}

/// The style of written JSON.
struct JSONStyle {
  /// Indented, and safe for a terminal.
  var isForPeople = false
  var colour = false
}

/// The output of `JSONReader`, collected until there is enough to pass on.
struct JSONPieces: ~Copyable {
  enum Token: String {
    case key = "1;34"
    case string = "32"
    case other = "36"
  }

  /// How many bytes are collected.
  static let usual = 32_768

  private let style: JSONStyle
  private var out = SecretBuilder()

  init(_ style: JSONStyle) { self.style = style }

  mutating func append(_ byte: UInt8) { out.append(byte) }

  mutating func newLine(_ level: Int) { JSONValue.newLine(&out, style, level) }

  mutating func begin(_ token: Token) {
    if style.colour { out.append("\u{1B}[\(token.rawValue)m") }
    if token != .other { out.append(UInt8(ascii: "\"")) }
  }

  mutating func end(_ token: Token) {
    if token != .other { out.append(UInt8(ascii: "\"")) }
    if style.colour { out.append("\u{1B}[0m") }
  }

  /// Adds a token unchanged.
  mutating func append<E: Error>(
    _ token: UnsafeRawBufferPointer, to sink: (UnsafeRawBufferPointer) throws(E) -> Void
  ) throws(E) {
    if token.count < Self.usual { return out.append(token) }
    try flush(to: sink, ifAbove: 0)
    try sink(token)
  }

  /// Adds a piece of the text of a string, which is UTF-8.
  mutating func append<E: Error>(
    inside text: UnsafeRawBufferPointer, to sink: (UnsafeRawBufferPointer) throws(E) -> Void
  ) throws(E) {
    JSONValue.escape(inside: text, into: &out, isForPeople: style.isForPeople)
    try flush(to: sink, ifAbove: Self.usual)
  }

  /// Passes on the collected bytes if there are more than `most`.
  mutating func flush<E: Error>(
    to sink: (UnsafeRawBufferPointer) throws(E) -> Void, ifAbove most: Int
  ) throws(E) {
    guard out.count > most else { return }
    try out.withBytes(sink)
    out.removeAll()
  }
}
