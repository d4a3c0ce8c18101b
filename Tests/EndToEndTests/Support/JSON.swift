/// A JSON value, for tests to send and compare. Numbers are stored as `Double`.
enum JSON: Sendable, Equatable {
  case null
  case bool(Bool)
  case number(Double)
  case string(String)
  case array([JSON])
  case object([String: JSON])

  /// - Throws: `HarnessError` if the text is not one JSON value.
  init(parsing text: String) throws {
    var parser = Parser(bytes: Array(text.utf8))
    self = try parser.value()
    parser.skipSpace()
    guard parser.at == parser.bytes.count else { throw HarnessError("not one JSON value: \(text)") }
  }

  subscript(key: String) -> JSON? {
    if case .object(let members) = self { members[key] } else { nil }
  }
  subscript(index: Int) -> JSON? {
    if case .array(let values) = self, values.indices.contains(index) { values[index] } else { nil }
  }
  var string: String? { if case .string(let text) = self { text } else { nil } }
  var number: Double? { if case .number(let value) = self { value } else { nil } }
  var int: Int? { number.flatMap { Int(exactly: $0) } }
  var bool: Bool? { if case .bool(let flag) = self { flag } else { nil } }
  /// The elements of an array.
  var elements: [JSON] { if case .array(let values) = self { values } else { [] } }
  /// The names of an object's members, sorted.
  var keys: [String] {
    if case .object(let members) = self { members.keys.sorted() } else { [] }
  }

  /// Compact text, members sorted by name.
  var text: String {
    switch self {
    case .null: "null"
    case .bool(let flag): flag ? "true" : "false"
    case .number(let value): Int(exactly: value).map { "\($0)" } ?? "\(value)"
    case .string(let text): Self.quoted(text)
    case .array(let values): "[" + values.map(\.text).joined(separator: ",") + "]"
    case .object(let members):
      "{"
        + members.sorted { $0.key < $1.key }
        .map { Self.quoted($0.key) + ":" + $0.value.text }.joined(separator: ",") + "}"
    }
  }

  private static func quoted(_ text: String) -> String {
    var out = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": out += "\\\""
      case "\\": out += "\\\\"
      case _ where scalar.value < 0x20:
        let hex = String(scalar.value, radix: 16)
        out += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
      default: out.unicodeScalars.append(scalar)
      }
    }
    return out + "\""
  }

  private struct Parser {
    let bytes: [UInt8]
    var at = 0

    var next: UInt8? { at < bytes.count ? bytes[at] : nil }
    var error: HarnessError {
      HarnessError("no JSON at byte \(at) of \(String(decoding: bytes, as: UTF8.self))")
    }
    mutating func skipSpace() {
      while let byte = next, [9, 10, 13, 32].contains(byte) { at += 1 }
    }
    mutating func take(_ text: String) -> Bool {
      guard bytes[at...].starts(with: text.utf8) else { return false }
      at += text.utf8.count
      return true
    }
    mutating func value() throws -> JSON {
      skipSpace()
      if take("null") { return .null }
      if take("true") { return .bool(true) }
      if take("false") { return .bool(false) }
      if next == UInt8(ascii: "\"") { return .string(try string()) }
      if take("[") {
        return .array(try list(until: "]") { try $0.value() })
      }
      if take("{") {
        let members = try list(until: "}") { parser -> (String, JSON) in
          parser.skipSpace()
          let key = try parser.string()
          parser.skipSpace()
          guard parser.take(":") else { throw parser.error }
          return (key, try parser.value())
        }
        return .object(Dictionary(members) { $1 })
      }
      let start = at
      while let byte = next, "+-.eE0123456789".utf8.contains(byte) { at += 1 }
      guard let number = Double(String(decoding: bytes[start..<at], as: UTF8.self)) else {
        throw error
      }
      return .number(number)
    }
    mutating func list<T>(
      until end: String, _ element: (inout Parser) throws -> T
    ) throws -> [T] {
      var values: [T] = []
      skipSpace()
      if take(end) { return values }
      repeat {
        values.append(try element(&self))
        skipSpace()
      } while take(",")
      guard take(end) else { throw error }
      return values
    }
    mutating func string() throws -> String {
      guard take("\"") else { throw error }
      var units: [UInt8] = []
      while let byte = next {
        at += 1
        if byte == UInt8(ascii: "\"") { return String(decoding: units, as: UTF8.self) }
        guard byte == UInt8(ascii: "\\") else {
          units.append(byte)
          continue
        }
        guard let escape = next else { throw error }
        at += 1
        switch escape {
        case UInt8(ascii: "n"): units.append(10)
        case UInt8(ascii: "r"): units.append(13)
        case UInt8(ascii: "t"): units.append(9)
        case UInt8(ascii: "b"): units.append(8)
        case UInt8(ascii: "f"): units.append(12)
        case UInt8(ascii: "u"):
          var code = try unit()
          if code >> 10 == 0x36, take("\\u") {
            code = 0x10000 + (code & 0x3FF) << 10 + (try unit()) & 0x3FF
          }
          units += String(Unicode.Scalar(code) ?? "\u{FFFD}").utf8
        default: units.append(escape)
        }
      }
      throw error
    }
    mutating func unit() throws -> UInt32 {
      guard at + 4 <= bytes.count,
        let code = UInt32(String(decoding: bytes[at..<at + 4], as: UTF8.self), radix: 16)
      else { throw error }
      at += 4
      return code
    }
  }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
  ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral,
  ExpressibleByNilLiteral
{
  init(stringLiteral value: String) { self = .string(value) }
  init(integerLiteral value: Int) { self = .number(Double(value)) }
  init(floatLiteral value: Double) { self = .number(value) }
  init(booleanLiteral value: Bool) { self = .bool(value) }
  init(arrayLiteral elements: JSON...) { self = .array(elements) }
  init(dictionaryLiteral elements: (String, JSON)...) {
    self = .object(Dictionary(elements) { $1 })
  }
  init(nilLiteral: ()) { self = .null }
}
