/// A JSON value (RFC 8259) as written: numbers keep their digits, objects their order and their
/// duplicate keys.
///
/// Nothing here is wiped: a secret belongs in a `Secret` (rule C13).
package enum JSONValue: Sendable {
  case null
  case bool(Bool)
  /// The digits as written, in the grammar of RFC 8259, section 6.
  case number(String)
  case string(String)
  case array([JSONValue])
  /// The members in order, including duplicate keys.
  case object([(key: String, value: JSONValue)])

  /// The whole number `value`.
  package static func number(_ value: Int) -> JSONValue { .number(String(value)) }

  /// The number `value`, without a fraction if it has none; `null` for infinity and NaN, which JSON
  /// cannot represent.
  package static func number(_ value: Double) -> JSONValue {
    guard value.isFinite else { return .null }
    // Whole numbers up to 2^53 are exact in a Double: 3600, not 3600.0.
    if value.magnitude <= 0x1p53, let whole = Int(exactly: value) { return .number(whole) }
    return .number(value.description)
  }
}

// MARK: - Reading

extension JSONValue {
  /// The text of a string; `nil` for every other type.
  package var text: String? {
    if case .string(let text) = self { text } else { nil }
  }

  /// The text of a string, the digits of a number as written, or `true` and `false`; `nil` for
  /// null, arrays and objects.
  package var scalarText: String? {
    switch self {
    case .string(let text), .number(let text): text
    case .bool(let value): value ? "true" : "false"
    case .null, .array, .object: nil
    }
  }

  /// The value of a number; `nil` for every other type and for what a Double cannot hold (`1e999`).
  ///
  /// Times and lifetimes go through `Timestamp.bounded` before they are used.
  package var double: Double? {
    guard case .number(let digits) = self, let value = Double(digits), value.isFinite else {
      return nil
    }
    return value
  }

  /// The first member of an object whose key has the same bytes as `key`; `nil` for every other
  /// type.
  package subscript(key: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    return members.first { $0.key.utf8.elementsEqual(key.utf8) }?.value
  }
}

// MARK: - JSON Pointer

/// The reason that a JSON Pointer has no result.
package enum JSONPointerError: Error, Equatable, Sendable {
  /// It is not empty and does not begin with `/`, or a `~` is not followed by 0 or 1.
  case malformed
  /// A key on the path, named here, occurs more than once in its object: programs differ in which
  /// one they take (rule C4; in a response to a sign-in this is exit 15).
  case doubledKey(String)
}

extension JSONValue {
  /// Returns what `pointer` names (RFC 6901): `""` is the whole value; `nil` when there is nothing.
  ///
  /// Keys are compared by bytes. Array indices have no leading zeros; `-` names no element.
  ///
  /// - Throws: `JSONPointerError`.
  package func at(_ pointer: String) throws(JSONPointerError) -> JSONValue? {
    guard let steps = Self.steps(pointer) else { throw .malformed }
    var value = self
    for step in steps {
      switch value {
      case .object(let members):
        let found = members.filter { $0.key.utf8.elementsEqual(step) }
        guard found.count < 2 else { throw .doubledKey(String(decoding: step, as: UTF8.self)) }
        guard let member = found.first else { return nil }
        value = member.value
      case .array(let elements):
        guard let index = Self.index(step), index < elements.count else { return nil }
        value = elements[index]
      case .null, .bool, .number, .string:
        return nil
      }
    }
    return value
  }

  /// Whether `text` is a JSON Pointer (RFC 6901, section 3).
  package static func isPointer(_ text: String) -> Bool { steps(text) != nil }

  /// The reference tokens of a pointer, unescaped; `nil` when it is malformed.
  static func steps(_ pointer: String) -> [[UInt8]]? {
    var steps: [[UInt8]] = []
    var bytes = pointer.utf8.makeIterator()
    while let byte = bytes.next() {
      if byte == UInt8(ascii: "/") {
        steps.append([])
        continue
      }
      guard !steps.isEmpty else { return nil }
      var plain = byte
      if byte == UInt8(ascii: "~") {
        switch bytes.next() {
        case UInt8(ascii: "0"): plain = UInt8(ascii: "~")
        case UInt8(ascii: "1"): plain = UInt8(ascii: "/")
        default: return nil
        }
      }
      steps[steps.count - 1].append(plain)
    }
    return steps
  }

  static func index(_ step: [UInt8]) -> Int? {
    guard let first = step.first, step.count == 1 || first != UInt8(ascii: "0") else { return nil }
    // Checked here because Int(_:) also accepts a sign.
    guard step.allSatisfy(\.isDigit) else { return nil }
    return Int(String(decoding: step, as: UTF8.self))
  }
}

// MARK: - Shape

extension JSONValue {
  /// Describes only names and types, for messages about a response that was not understood:
  /// `object: token string, user object (id number, email string)`.
  ///
  /// Never contains a value. Names are cut at 40 bytes, with `?` for what is not printable ASCII;
  /// the text is cut at about 200 characters.
  ///
  /// - Parameter depth: how many levels below this value are shown.
  package func shape(depth: Int = 2) -> String {
    var out = typeName
    if depth > 0, hasParts {
      out += ": "
      appendParts(to: &out, depth: depth)
    }
    guard out.utf8.count > Self.shapeLimit else { return out }
    return String(decoding: out.utf8.prefix(Self.shapeLimit - 3), as: UTF8.self) + "..."
  }

  private static var shapeLimit: Int { 200 }

  private var typeName: String {
    switch self {
    case .null: "null"
    case .bool: "boolean"
    case .number: "number"
    case .string: "string"
    case .array(let elements): elements.isEmpty ? "empty array" : "array"
    case .object(let members): members.isEmpty ? "empty object" : "object"
    }
  }

  private var hasParts: Bool {
    switch self {
    case .array(let elements): !elements.isEmpty
    case .object(let members): !members.isEmpty
    case .null, .bool, .number, .string: false
    }
  }

  /// Adds the members of an object, or the first element of an array, as an example of the rest.
  private func appendParts(to out: inout String, depth: Int) {
    switch self {
    case .object(let members):
      var separator = ""
      for (key, value) in members where out.utf8.count <= Self.shapeLimit {
        out += separator + Self.shapeName(key) + " "
        value.appendShape(to: &out, depth: depth - 1)
        separator = ", "
      }
    case .array(let elements):
      elements.first?.appendShape(to: &out, depth: depth - 1)
    case .null, .bool, .number, .string:
      break
    }
  }

  private func appendShape(to out: inout String, depth: Int) {
    out += typeName
    guard depth > 0, hasParts else { return }
    out += " ("
    appendParts(to: &out, depth: depth)
    out += ")"
  }

  private static func shapeName(_ key: String) -> String {
    guard !key.isEmpty else { return "\"\"" }
    let printable = key.utf8.prefix(40).map { (0x21...0x7E) ~= $0 ? $0 : UInt8(ascii: "?") }
    return String(decoding: printable, as: UTF8.self)
  }
}

// MARK: - Comparing and literals

extension JSONValue: Equatable {
  /// Compares as written: strings, keys and numbers by bytes, objects in order. Swift's own `==` on
  /// strings uses canonical equivalence, which is too loose for names and secrets.
  package static func == (left: JSONValue, right: JSONValue) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.bool(let a), .bool(let b)): a == b
    case (.number(let a), .number(let b)): a.utf8.elementsEqual(b.utf8)
    case (.string(let a), .string(let b)): a.utf8.elementsEqual(b.utf8)
    case (.array(let a), .array(let b)): a == b
    case (.object(let a), .object(let b)):
      a.elementsEqual(b) { $0.key.utf8.elementsEqual($1.key.utf8) && $0.value == $1.value }
    default: false
    }
  }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByBooleanLiteral, ExpressibleByNilLiteral
{
  /// A string.
  package init(stringLiteral value: String) { self = .string(value) }
  /// A whole number.
  package init(integerLiteral value: Int) { self = .number(value) }
  /// `true` or `false`.
  package init(booleanLiteral value: Bool) { self = .bool(value) }
  /// `null`.
  package init(nilLiteral: ()) { self = .null }
}
