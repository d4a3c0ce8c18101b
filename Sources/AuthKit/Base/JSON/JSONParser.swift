/// Why a text is not JSON. Never quotes the text, which may hold secrets.
package struct JSONError: Error, Equatable, Sendable, CustomStringConvertible {
  /// What is wrong, in a few words.
  package var message: String
  /// Where, in bytes from the start.
  package var offset: Int

  /// `MESSAGE at byte OFFSET`.
  package var description: String { "\(message) at byte \(offset)" }
}

extension JSONValue {
  /// How deep arrays and objects may lie in one another.
  package static let maximumDepth = 128

  /// Reads one JSON text (RFC 8259): valid UTF-8, nothing after the value, no lone surrogates, at
  /// most `maximumDepth` levels. A byte order mark at the start is passed over (section 8.1).
  ///
  /// - Throws: `JSONError`.
  package static func parse(_ bytes: UnsafeRawBufferPointer) throws(JSONError) -> JSONValue {
    var parser = JSONParser(bytes: bytes)
    return try parser.document()
  }

  /// The same for an array of bytes.
  ///
  /// - Throws: `JSONError`.
  package static func parse(_ bytes: [UInt8]) throws(JSONError) -> JSONValue {
    try bytes.withUnsafeBufferPointer { buffer throws(JSONError) in
      try parse(UnsafeRawBufferPointer(buffer))
    }
  }

  /// The same for a text.
  ///
  /// - Throws: `JSONError`.
  package static func parse(_ text: String) throws(JSONError) -> JSONValue {
    try parse(Array(text.utf8))
  }

  /// A JSON text without the white space between its tokens, which stay as they are written; nil
  /// when `bytes` are no JSON text.
  package static func compacted(_ bytes: [UInt8]) -> [UInt8]? {
    bytes.withUnsafeBytes { bytes in
      var parser = JSONParser(bytes: bytes, keepsValues: false)
      guard (try? parser.document()) != nil else { return nil }
      var compact: [UInt8] = []
      compact.reserveCapacity(bytes.count)
      var isInString = false
      var isEscaped = false
      for byte in bytes.dropFirst(bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0) {
        if !isInString, byte <= 0x20 { continue }
        compact.append(byte)
        if byte == UInt8(ascii: "\""), !isEscaped { isInString.toggle() }
        isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
      }
      return compact
    }
  }
}

/// Recursive descent; the depth limit bounds the stack.
private struct JSONParser {
  let bytes: UnsafeRawBufferPointer
  /// Whether values are wanted, or only whether they are there.
  let keepsValues: Bool
  var position = 0

  init(bytes: UnsafeRawBufferPointer, keepsValues: Bool = true) {
    self.bytes = bytes
    self.keepsValues = keepsValues
  }

  mutating func document() throws(JSONError) -> JSONValue {
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
    skipSpace()
    let value = try value(depth: 0)
    skipSpace()
    guard next == nil else { throw error("more text after the end of the value") }
    return value
  }

  // The subscript of a raw buffer is not checked in release builds: every read goes through here.
  private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

  /// `message` about what stands at `offset`, or here; at the end of the text, that it ends.
  private func error(_ message: String, at offset: Int? = nil) -> JSONError {
    if offset == nil, next == nil { return errorAtEnd }
    return JSONError(message: message, offset: offset ?? position)
  }

  private var errorAtEnd: JSONError {
    let message = bytes.isEmpty ? "the text is empty" : "the text ends early"
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
    default: throw error("a value was expected")
    }
  }

  private mutating func object(depth: Int) throws(JSONError) -> JSONValue {
    try open(depth: depth)
    var members: [(key: String, value: JSONValue)] = []
    skipSpace()
    if skip(UInt8(ascii: "}")) { return .object(members) }
    while true {
      skipSpace()
      guard next == UInt8(ascii: "\"") else { throw error("a key in quotes was expected") }
      let key = try string()
      skipSpace()
      guard skip(UInt8(ascii: ":")) else { throw error("a colon was expected") }
      skipSpace()
      let value = try value(depth: depth)
      if keepsValues { members.append((key, value)) }
      skipSpace()
      if skip(UInt8(ascii: "}")) { return .object(members) }
      guard skip(UInt8(ascii: ",")) else { throw error("a comma or } was expected") }
    }
  }

  private mutating func array(depth: Int) throws(JSONError) -> JSONValue {
    try open(depth: depth)
    var elements: [JSONValue] = []
    skipSpace()
    if skip(UInt8(ascii: "]")) { return .array(elements) }
    while true {
      skipSpace()
      let value = try value(depth: depth)
      if keepsValues { elements.append(value) }
      skipSpace()
      if skip(UInt8(ascii: "]")) { return .array(elements) }
      guard skip(UInt8(ascii: ",")) else { throw error("a comma or ] was expected") }
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
      throw error("a value was expected", at: start)
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
    return .number(String(decoding: bytes[start..<position], as: UTF8.self))
  }

  private mutating func digits() throws(JSONError) {
    let start = position
    while let byte = next, UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte { position += 1 }
    guard position > start else { throw error("a digit was expected") }
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

  private func text(_ bytes: UnsafeRawBufferPointer, start: Int) throws(JSONError) -> String {
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw error("not UTF-8 in the string", at: start)
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
    default: throw error("an unknown escape", at: start)
    }
  }

  private mutating func fourHexDigits() throws(JSONError) -> UInt16 {
    var code: UInt16 = 0
    for _ in 0..<4 {
      guard let byte = next, let digit = hexValue(byte) else {
        throw error("a hexadecimal digit was expected")
      }
      code = code << 4 | UInt16(digit)
      position += 1
    }
    return code
  }
}
