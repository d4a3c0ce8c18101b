import Foundation

/// A JSON value that keeps the order of its members.
indirect enum JSON: Sendable {
  case null
  case bool(Bool)
  case int(Int)
  case double(Double)
  case string(String)
  case array([JSON])
  case object([(String, JSON)])

  subscript(name: String) -> JSON? {
    guard case .object(let members) = self else { return nil }
    return members.first { $0.0 == name }?.1
  }
  var string: String? { if case .string(let text) = self { text } else { nil } }
  var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
  var array: [JSON]? { if case .array(let items) = self { items } else { nil } }
  var isObject: Bool { if case .object = self { true } else { false } }
  var int: Int? { if case .int(let number) = self { number } else { nil } }
  var double: Double? {
    switch self {
    case .int(let number): Double(number)
    case .double(let number): number
    default: nil
    }
  }

  /// - Parameter slash: how to write a `/` in a string; Vapor's encoder writes `\/`.
  func text(slash: String = "/") -> String {
    switch self {
    case .null: "null"
    case .bool(let value): value ? "true" : "false"
    case .int(let number): String(number)
    case .double(let number): String(number)
    case .string(let text): Self.quote(text, slash)
    case .array(let items): "[" + items.map { $0.text(slash: slash) }.joined(separator: ",") + "]"
    case .object(let members):
      "{"
        + members.map { Self.quote($0, slash) + ":" + $1.text(slash: slash) }
        .joined(separator: ",") + "}"
    }
  }

  private static func quote(_ text: String, _ slash: String) -> String {
    var out = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": out += "\\\""
      case "\\": out += "\\\\"
      case "/": out += slash
      case "\n": out += "\\n"
      case "\r": out += "\\r"
      case "\t": out += "\\t"
      case _ where scalar.value < 0x20:
        out += "\\u00" + (scalar.value < 16 ? "0" : "") + String(scalar.value, radix: 16)
      default: out.unicodeScalars.append(scalar)
      }
    }
    return out + "\""
  }
}

extension JSON: Decodable {
  /// Returns nil if the bytes are not JSON.
  init?(_ data: Data) {
    guard let value = try? JSONDecoder().decode(JSON.self, from: data) else { return nil }
    self = value
  }

  init(from decoder: any Decoder) throws {
    if let members = try? decoder.container(keyedBy: Name.self) {
      self = .object(
        try members.allKeys.sorted { $0.stringValue < $1.stringValue }
          .map { ($0.stringValue, try members.decode(JSON.self, forKey: $0)) })
      return
    }
    let value = try decoder.singleValueContainer()
    if value.decodeNil() {
      self = .null
    } else if let flag = try? value.decode(Bool.self) {
      self = .bool(flag)
    } else if let number = try? value.decode(Int.self) {
      self = .int(number)
    } else if let number = try? value.decode(Double.self) {
      self = .double(number)
    } else if let text = try? value.decode(String.self) {
      self = .string(text)
    } else {
      self = .array(try value.decode([JSON].self))
    }
  }

  private struct Name: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByStringInterpolation,
  ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral,
  ExpressibleByNilLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  init(stringLiteral value: String) { self = .string(value) }
  init(integerLiteral value: Int) { self = .int(value) }
  init(floatLiteral value: Double) { self = .double(value) }
  init(booleanLiteral value: Bool) { self = .bool(value) }
  init(nilLiteral: ()) { self = .null }
  init(arrayLiteral elements: JSON...) { self = .array(elements) }
  init(dictionaryLiteral elements: (String, JSON)...) { self = .object(elements) }
}
