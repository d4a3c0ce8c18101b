import Glibc
import Testing

@testable import AuthKit

/// Compares the reader with Python's tomllib, on documents that toml_oracle.py generates.
///
/// `AUTHCTL_TOML_DOCUMENTS` sets how many; `AUTHCTL_TOML_SEED` selects others.
@Suite struct TOMLOracleTests {
  @Test func readsAsPythonDoes() throws {
    let count = Self.number("AUTHCTL_TOML_DOCUMENTS") ?? 4000
    let script = #filePath.replacing("AuthKitTests/TOMLOracleTests.swift", with: "toml_oracle.py")
    let command = "exec python3 '\(script)' \(Self.number("AUTHCTL_TOML_SEED") ?? 1) \(count)"
    let pipe = try #require(popen(command, "re"))
    var documents = 0
    var valid = 0
    var line: UnsafeMutablePointer<CChar>?
    var capacity = 0
    while getline(&line, &capacity, pipe) > 0, let text = line.map({ String(cString: $0) }) {
      let parts = text.utf8.dropLast().split(separator: 0x20, omittingEmptySubsequences: false)
      try #require(parts.count == 2)
      let bytes = try #require(Self.bytes(Array(parts[0])))
      let expected = String(decoding: parts[1], as: UTF8.self)
      let found = (try? TOMLParser.parse(bytes)).map { Self.canonical(0, in: $0) } ?? "!"
      documents += 1
      valid += expected == "!" ? 0 : 1
      #expect(found == expected, "\(String(decoding: bytes, as: UTF8.self).debugDescription)")
    }
    free(line)
    #expect(pclose(pipe) == 0, "python3 is missing, or it failed")
    #expect(documents == count && valid > count / 5 && valid < count * 4 / 5)
  }

  private static func number(_ name: String) -> Int? {
    getenv(name).flatMap { Int(String(cString: $0)) }
  }

  private static func bytes(_ hexadecimal: [UInt8]) -> [UInt8]? {
    var bytes: [UInt8] = []
    for start in stride(from: 0, to: hexadecimal.count, by: 2) {
      let digits = hexadecimal[start...].prefix(2)
      guard let byte = UInt8(String(decoding: digits, as: UTF8.self), radix: 16) else { return nil }
      bytes.append(byte)
    }
    return bytes
  }

  private static func hexadecimal(_ text: String) -> String {
    text.utf8.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  /// The document in the format of toml_oracle.py.
  private static func canonical(_ number: Int, in tree: TOMLTree) -> String {
    let node = tree.nodes[number]
    switch node.value {
    case .string(let text): return "s" + hexadecimal(text)
    case .integer(let number): return "i\(number)"
    case .float(let number):
      return number.isNaN ? "fnan" : "f" + String(number.bitPattern, radix: 16)
    case .boolean(let flag): return flag ? "T" : "F"
    case .offsetDateTime(let text): return "o" + offset(text)
    case .localDateTime(let text): return "l" + clock(text)
    case .localDate(let text): return "d" + text
    case .localTime(let text): return "t" + clock(text)
    case .array:
      return "[" + node.children.map { canonical($0, in: tree) }.joined(separator: ",") + "]"
    case .table:
      let members = node.children.map {
        hexadecimal(tree.nodes[$0].key) + ":" + canonical($0, in: tree)
      }
      return "{" + members.joined(separator: ",") + "}"
    }
  }

  /// A date and a time joined by T, and microseconds without trailing zeros.
  private static func clock(_ text: String) -> String {
    let parts = text.utf8.split(separator: UInt8(ascii: "."))
    var whole = Array(parts[0])
    if whole.count > 10 { whole[10] = UInt8(ascii: "T") }
    var fraction = parts.count > 1 ? Array(parts[1].prefix(6)) : []
    while fraction.last == UInt8(ascii: "0") { fraction.removeLast() }
    return String(decoding: whole + (fraction.isEmpty ? [] : [0x2E] + fraction), as: UTF8.self)
  }

  /// Like `clock`, with the offset in minutes.
  private static func offset(_ text: String) -> String {
    if text.utf8.last.map({ $0 | 0x20 }) == UInt8(ascii: "z") {
      return clock(String(text.dropLast())) + "+0"
    }
    let digits = text.utf8.suffix(6).map { Int($0) - 0x30 }
    let minutes = (digits[1] * 10 + digits[2]) * 60 + digits[4] * 10 + digits[5]
    let sign = minutes > 0 && text.utf8.suffix(6).first == UInt8(ascii: "-") ? "-" : "+"
    return clock(String(text.dropLast(6))) + sign + "\(minutes)"
  }
}
