/// Writes values as TOML 1.0.
enum TOMLWriter {
  /// `value` on one line, tables inline.
  ///
  /// - Throws: `Failure` of kind `usage` for null, which TOML does not have.
  static func inline(_ value: JSONValue) throws(Failure) -> String {
    switch value {
    case .null: throw Failure(.usage, "null has no form in TOML", hint: "leave the key out")
    case .bool(let flag): return flag ? "true" : "false"
    case .number(let text): return text
    case .string(let text): return quoted(text)
    case .array(let values):
      var parts: [String] = []
      for value in values { parts.append(try inline(value)) }
      return "[" + parts.joined(separator: ", ") + "]"
    case .object(let members):
      if members.isEmpty { return "{}" }
      var parts: [String] = []
      for member in members { parts.append("\(key([member.key])) = \(try inline(member.value))") }
      return "{ " + parts.joined(separator: ", ") + " }"
    }
  }

  /// A whole document: plain keys first, then each table under its header.
  static func document(_ root: [TOMLMember]) throws(Failure) -> String {
    var text = ""
    var tables = ""
    for member in root {
      guard case .object(let inner) = member.value else {
        text += "\(key([member.key])) = \(try inline(member.value))\n"
        continue
      }
      tables += "\n[\(key([member.key]))]\n"
      for entry in inner { tables += "\(key([entry.key])) = \(try inline(entry.value))\n" }
    }
    return text + tables
  }

  /// A dotted key, quoted where it must be.
  static func key(_ path: [String]) -> String {
    path.map { name in
      !name.isEmpty && name.utf8.allSatisfy(TOMLMap.isBareKeyByte) ? name : quoted(name)
    }.joined(separator: ".")
  }

  private static func quoted(_ text: String) -> String {
    var out = "\""
    for scalar in text.unicodeScalars {
      switch scalar.value {
      case 0x22: out += "\\\""
      case 0x5C: out += "\\\\"
      case 0x0A: out += "\\n"
      case 0x0D: out += "\\r"
      case 0x09: out += "\\t"
      case 0..<0x20, 0x7F..<0xA0, 0x2028, 0x2029:
        let digits = String(scalar.value, radix: 16, uppercase: true)
        out += "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
      default: out.unicodeScalars.append(scalar)
      }
    }
    return out + "\""
  }
}
