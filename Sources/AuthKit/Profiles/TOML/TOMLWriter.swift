/// Writes keys and strings as TOML 1.0.
enum TOMLWriter {
  /// Returns a dotted key, quoted where necessary.
  static func key(_ path: [String]) -> String {
    path.map { !$0.isEmpty && $0.utf8.allSatisfy(isBare) ? $0 : string($0) }.joined(separator: ".")
  }

  /// Whether a key with this byte needs no quotation marks.
  static func isBare(_ byte: UInt8) -> Bool {
    switch Unicode.Scalar(byte) {
    case "a"..."z", "A"..."Z", "0"..."9", "_", "-": true
    default: false
    }
  }

  /// Returns a basic string on one line.
  static func string(_ text: String) -> String {
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
