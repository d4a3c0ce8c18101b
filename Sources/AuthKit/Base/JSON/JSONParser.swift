/// The reason that a text is not JSON. Never quotes the text, which may hold secrets.
package struct JSONError: Error, Equatable, Sendable, CustomStringConvertible {
  /// What is wrong, in a few words.
  package var message: String
  /// The position, in bytes from the start.
  package var offset: Int
  /// Whether the text may be JSON but is too large for a tree.
  package var isTooLarge = false

  /// `MESSAGE at byte OFFSET`.
  package var description: String { "\(message) at byte \(offset)" }
}

extension JSONValue {
  /// The maximum depth of nested arrays and objects.
  package static let maximumDepth = 128

  /// The memory that a tree may take, in bytes. Untrusted text decides how large a tree is: two
  /// bytes of text can make fifty.
  package static let usualBudget = 24 << 20

  /// Parses one JSON text (RFC 8259): valid UTF-8, nothing after the value, no lone surrogates, at
  /// most `maximumDepth` levels. Skips a byte order mark at the start (section 8.1).
  ///
  /// - Throws: `JSONError`, also when the tree would take more than `budget` bytes of memory.
  package static func parse(
    _ bytes: UnsafeRawBufferPointer, within budget: Int = usualBudget
  ) throws(JSONError) -> JSONValue {
    var parser = JSONParser(bytes: bytes, budget: budget)
    return try parser.document()
  }

  /// Parses an array of bytes.
  ///
  /// - Throws: `JSONError`.
  package static func parse(
    _ bytes: [UInt8], within budget: Int = usualBudget
  ) throws(JSONError) -> JSONValue {
    try bytes.withUnsafeBufferPointer { buffer throws(JSONError) in
      try parse(UnsafeRawBufferPointer(buffer), within: budget)
    }
  }

  /// Parses a string.
  ///
  /// - Throws: `JSONError`.
  package static func parse(_ text: String) throws(JSONError) -> JSONValue {
    try parse(Array(text.utf8))
  }

  /// Checks that `parse` could read a text, whatever the size of the tree; builds none.
  ///
  /// - Throws: `JSONError`.
  package static func check(_ bytes: UnsafeRawBufferPointer) throws(JSONError) {
    var parser = JSONParser(bytes: bytes, budget: nil)
    _ = try parser.document()
  }

  /// Writes a checked JSON text without the white space between its tokens, which stay unchanged.
  package static func writeCompact(_ bytes: UnsafeRawBufferPointer, into out: inout SecretBuilder) {
    var isInString = false
    var isEscaped = false
    var start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
    for index in start..<bytes.count {
      let byte = bytes[index]
      if !isInString, byte <= 0x20 {
        out.append(UnsafeRawBufferPointer(rebasing: bytes[start..<index]))
        start = index + 1
      } else {
        if byte == UInt8(ascii: "\""), !isEscaped { isInString.toggle() }
        isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
      }
    }
    out.append(UnsafeRawBufferPointer(rebasing: bytes[start...]))
  }
}

/// A recursive-descent parser; the depth limit bounds the stack.
private struct JSONParser {
  let bytes: UnsafeRawBufferPointer
  /// The bytes left for values still to come; nil: values are checked and not kept.
  private var budget: Int?
  var position = 0

  init(bytes: UnsafeRawBufferPointer, budget: Int?) {
    self.bytes = bytes
    self.budget = budget
  }

  /// Takes `size` bytes from the budget; returns false when nothing is kept.
  ///
  /// Allocations count with their headers, arrays twice because they grow by doubling.
  private mutating func keeps(_ size: Int) throws(JSONError) -> Bool {
    guard let left = budget else { return false }
    guard size <= left else {
      throw JSONError(
        message: "the values take too much memory", offset: position, isTooLarge: true)
    }
    budget = left - size
    return true
  }

  private static let elementSize = 2 * MemoryLayout<JSONValue>.stride
  private static let memberSize = 2 * MemoryLayout<(key: String, value: JSONValue)>.stride
  /// The overhead of an array or a longer text, from malloc and Swift.
  private static let headerSize = 48

  mutating func document() throws(JSONError) -> JSONValue {
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
    skipSpace()
    let value = try value(depth: 0)
    skipSpace()
    guard next == nil else { throw error("unexpected text after the value") }
    return value
  }

  // The subscript of a raw buffer is not checked in release builds: every read goes through here.
  private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

  /// Returns an error about the text at `offset`, or here; at the end, that the text ends.
  private func error(_ message: String, at offset: Int? = nil) -> JSONError {
    if offset == nil, next == nil { return errorAtEnd }
    return JSONError(message: message, offset: offset ?? position)
  }

  private var errorAtEnd: JSONError {
    let message = bytes.isEmpty ? "the text is empty" : "the text is incomplete"
    return JSONError(message: message, offset: position)
  }

  private mutating func skipSpace() {
    while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 {
      position += 1
    }
  }

  private mutating func skip(_ byte: UInt8) -> Bool {
    guard next == byte else { return false }
    position += 1
    return true
  }

  private mutating func value(depth: Int) throws(JSONError) -> JSONValue {
    guard let byte = next else { throw errorAtEnd }
    switch byte {
    case UInt8(ascii: "{"): return try object(depth: depth + 1)
    case UInt8(ascii: "["): return try array(depth: depth + 1)
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"): return try word("true", .bool(true))
    case UInt8(ascii: "f"): return try word("false", .bool(false))
    case UInt8(ascii: "n"): return try word("null", .null)
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number()
    default: throw error("expected a value")
    }
  }

  private mutating func object(depth: Int) throws(JSONError) -> JSONValue {
    try open(depth: depth)
    var members: [(key: String, value: JSONValue)] = []
    skipSpace()
    if skip(UInt8(ascii: "}")) { return .object(members) }
    _ = try keeps(Self.headerSize)
    while true {
      skipSpace()
      guard next == UInt8(ascii: "\"") else { throw error("expected a key in quotes") }
      let key = try string()
      skipSpace()
      guard skip(UInt8(ascii: ":")) else { throw error("expected a colon") }
      skipSpace()
      let value = try value(depth: depth)
      if try keeps(Self.memberSize) { members.append((key, value)) }
      skipSpace()
      if skip(UInt8(ascii: "}")) { return .object(members) }
      guard skip(UInt8(ascii: ",")) else { throw error("expected , or }") }
    }
  }

  private mutating func array(depth: Int) throws(JSONError) -> JSONValue {
    try open(depth: depth)
    var elements: [JSONValue] = []
    skipSpace()
    if skip(UInt8(ascii: "]")) { return .array(elements) }
    _ = try keeps(Self.headerSize)
    while true {
      skipSpace()
      let value = try value(depth: depth)
      if try keeps(Self.elementSize) { elements.append(value) }
      skipSpace()
      if skip(UInt8(ascii: "]")) { return .array(elements) }
      guard skip(UInt8(ascii: ",")) else { throw error("expected , or ]") }
    }
  }

  private mutating func open(depth: Int) throws(JSONError) {
    guard depth <= JSONValue.maximumDepth else {
      throw error("nested deeper than \(JSONValue.maximumDepth) levels")
    }
    position += 1
  }

  private mutating func word(_ word: StaticString, _ value: JSONValue) throws(JSONError)
    -> JSONValue
  {
    let start = position
    for index in 0..<word.utf8CodeUnitCount where !skip(word.utf8Start[index]) {
      throw error("expected a value", at: start)
    }
    return value
  }

  private mutating func number() throws(JSONError) -> JSONValue {
    let start = position
    _ = skip(UInt8(ascii: "-"))
    if !skip(UInt8(ascii: "0")) { try digits() }
    if skip(UInt8(ascii: ".")) { try digits() }
    if skip(UInt8(ascii: "e")) || skip(UInt8(ascii: "E")) {
      if !skip(UInt8(ascii: "+")) { _ = skip(UInt8(ascii: "-")) }
      try digits()
    }
    guard try keepsText(position - start) else { return .null }
    return .number(String(decoding: bytes[start..<position], as: UTF8.self))
  }

  private mutating func digits() throws(JSONError) {
    let start = position
    while let byte = next, UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte { position += 1 }
    guard position > start else { throw error("expected a digit") }
  }

  /// Takes a text from the budget; up to 15 bytes are stored within the value.
  private mutating func keepsText(_ length: Int) throws(JSONError) -> Bool {
    try keeps(length > 15 ? Self.headerSize + length : 0)
  }

  private mutating func string() throws(JSONError) -> String {
    position += 1
    let start = position
    while let byte = next, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\"), byte >= 0x20 {
      position += 1
    }
    // Nearly every string ends here, without an escape.
    if next == UInt8(ascii: "\"") {
      defer { position += 1 }
      return try text(UnsafeRawBufferPointer(rebasing: bytes[start..<position]), start: start)
    }
    if budget == nil { return try checkedString(from: start) }
    var unescaped = Array(bytes[start..<position])
    while !skip(UInt8(ascii: "\"")) {
      guard let byte = next else { throw errorAtEnd }
      guard byte >= 0x20 else { throw error("a control character in a string") }
      position += 1
      if byte == UInt8(ascii: "\\") { try escape(into: &unescaped) } else { unescaped.append(byte) }
    }
    return try unescaped.withUnsafeBufferPointer { buffer throws(JSONError) in
      try text(UnsafeRawBufferPointer(buffer), start: start)
    }
  }

  /// Reads the rest of a string that began at `start` without keeping it.
  private mutating func checkedString(from start: Int) throws(JSONError) -> String {
    var unescaped: [UInt8] = []
    while next != UInt8(ascii: "\"") {
      guard let byte = next else { throw errorAtEnd }
      guard byte >= 0x20 else { throw error("a control character in a string") }
      position += 1
      guard byte == UInt8(ascii: "\\") else { continue }
      unescaped.removeAll(keepingCapacity: true)
      try escape(into: &unescaped)
    }
    defer { position += 1 }
    // Escapes are ASCII: a text that is UTF-8 as written is UTF-8 without them.
    return try text(UnsafeRawBufferPointer(rebasing: bytes[start..<position]), start: start)
  }

  /// Returns the text of `bytes`, or an empty one if nothing is kept.
  private mutating func text(
    _ bytes: UnsafeRawBufferPointer, start: Int
  ) throws(JSONError) -> String {
    guard try keepsText(bytes.count) else {
      guard bytes.isUTF8 else { throw error("invalid UTF-8 in a string", at: start) }
      return ""
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw error("invalid UTF-8 in a string", at: start)
    }
    return text
  }

  /// Reads what follows a backslash (RFC 8259, section 7).
  private mutating func escape(into out: inout [UInt8]) throws(JSONError) {
    let start = position - 1
    guard let byte = next else { throw errorAtEnd }
    position += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): out.append(byte)
    case UInt8(ascii: "b"): out.append(0x08)
    case UInt8(ascii: "f"): out.append(0x0C)
    case UInt8(ascii: "n"): out.append(0x0A)
    case UInt8(ascii: "r"): out.append(0x0D)
    case UInt8(ascii: "t"): out.append(0x09)
    case UInt8(ascii: "u"):
      var code = UInt32(try fourHexDigits())
      if 0xD800...0xDBFF ~= code {
        guard skip(UInt8(ascii: "\\")), skip(UInt8(ascii: "u")) else {
          throw error("a lone surrogate", at: start)
        }
        let low = UInt32(try fourHexDigits())
        guard 0xDC00...0xDFFF ~= low else { throw error("a lone surrogate", at: start) }
        code = 0x10000 + ((code - 0xD800) << 10 | (low - 0xDC00))
      }
      // A low surrogate that came first is no scalar either.
      guard let scalar = Unicode.Scalar(code) else { throw error("a lone surrogate", at: start) }
      out.append(contentsOf: scalar.utf8)
    default: throw error("unknown escape", at: start)
    }
  }

  private mutating func fourHexDigits() throws(JSONError) -> UInt16 {
    var code: UInt16 = 0
    for _ in 0..<4 {
      guard let byte = next, let digit = hexValue(byte) else {
        throw error("expected a hexadecimal digit")
      }
      code = code << 4 | UInt16(digit)
      position += 1
    }
    return code
  }
}
