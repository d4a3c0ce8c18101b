import Testing

@testable import AuthKit

/// The tree that `TOMLParser` reads, on one line: keys and strings quoted, dates as written.
private func shown(_ text: String) throws -> String {
  let tree = try TOMLParser.parse(Array(text.utf8))
  func shown(_ number: Int) -> String {
    let node = tree.nodes[number]
    switch node.value {
    case .string(let text): return TOMLWriter.string(text)
    case .integer(let number): return "\(number)"
    case .float(let number): return "\(number)"
    case .boolean(let flag): return "\(flag)"
    case .offsetDateTime(let text): return "offset(\(text))"
    case .localDateTime(let text): return "local(\(text))"
    case .localDate(let text): return "date(\(text))"
    case .localTime(let text): return "time(\(text))"
    case .array: return "[" + node.children.map(shown).joined(separator: " ") + "]"
    case .table:
      let members = node.children.map { TOMLWriter.key([tree.nodes[$0].key]) + "=" + shown($0) }
      return "{" + members.joined(separator: " ") + "}"
    }
  }
  return shown(0)
}

@Suite struct TOMLValueTests {
  @Test(arguments: [
    ("0", "0"), ("+1", "1"), ("-0", "0"), ("1_000", "1000"), ("9_2_3", "923"),
    ("0xDEAD_beef", "3735928559"), ("0o755", "493"), ("0b1101_0110", "214"), ("0x00", "0"),
    ("9223372036854775807", "9223372036854775807"), ("0x7fffffffffffffff", "9223372036854775807"),
    ("-9223372036854775808", "-9223372036854775808"),
    ("1.0", "1.0"), ("+1.5", "1.5"), ("-0.0", "-0.0"), ("1e06", "1000000.0"), ("5E+2", "500.0"),
    ("6.626e-34", "6.626e-34"), ("9_224_617.445_991", "9224617.445991"), ("1e1_0", "10000000000.0"),
    ("0e0", "0.0"), ("inf", "inf"), ("+inf", "inf"), ("-inf", "-inf"), ("nan", "nan"),
    ("-nan", "nan"), ("true", "true"), ("false", "false"),
    ("1979-05-27T07:32:00Z", "offset(1979-05-27T07:32:00Z)"),
    ("1979-05-27t00:32:00.999-07:00", "offset(1979-05-27t00:32:00.999-07:00)"),
    ("1979-05-27 07:32:00z", "offset(1979-05-27 07:32:00z)"),
    ("1979-05-27T07:32:00.5", "local(1979-05-27T07:32:00.5)"),
    ("1979-05-27 07:32:00", "local(1979-05-27 07:32:00)"), ("1979-05-27", "date(1979-05-27)"),
    ("1979-05-27 ", "date(1979-05-27)"),
    ("2000-02-29", "date(2000-02-29)"), ("0000-01-01", "date(0000-01-01)"),
    ("07:32:00", "time(07:32:00)"), ("23:59:59.999999999", "time(23:59:59.999999999)"),
  ])
  func words(text: String, value: String) throws {
    #expect(try shown("a = " + text) == "{a=\(value)}")
    #expect(try shown("a=[{b=\(text)},\(text)\n]") == "{a=[{b=\(value)} \(value)]}")
  }

  @Test(arguments: [
    (#""""#, #""""#), (#""\b\t\n\f\r\"\\""#, "\u{8}\t\n\u{C}\r\"\\"),
    (#""\u00e9\U0001F600""#, "é😀"),
    (#""\u0000""#, "\0"), ("\"\u{80}\u{2028}\t\"", "\u{80}\u{2028}\t"), (#"'\n"'"#, #"\n""#),
    ("\"\"\"\"\"\"", ""), ("''''''", ""), ("\"\"\"\na\nb\"\"\"", "a\nb"),
    ("'''\r\na\r\nb'''", "a\nb"),
    ("\"\"\"a\\\n  \n\t b\"\"\"", "ab"), ("\"\"\"a\\ \t\r\n b\"\"\"", "ab"),
    ("'''a\\\n'''", "a\\\n"),
    ("\"\"\"\"a\"\"\"\"", "\"a\""), ("\"\"\"\"\"a\"\"\"\"\"", "\"\"a\"\""), ("''''a'''''", "'a''"),
    ("\"\"\"a\"\"b\"\"\"", "a\"\"b"), ("\"\"\"\\\"\"\"\"", "\""), ("\"#\"", "#"),
  ])
  func strings(text: String, value: String) throws {
    let value = value == "\"\"" ? "" : value
    #expect(try shown("a = \(text) # c") == "{a=\(TOMLWriter.string(value))}")
  }

  @Test(arguments: [
    ("", "{}"), ("\n \t\r\n# c", "{}"), ("a = 1\r\nb = 2", "{a=1 b=2}"),
    ("a = 1979-05-27 # c", "{a=date(1979-05-27)}"), ("a=1#c\n", "{a=1}"),
    ("z = 1\na = 2\n[m]\n[b]", "{z=1 a=2 m={} b={}}"),
    ("1 = 1\n-_ = 2\n\"\" = 3\n'a.b' = 4", "{1=1 -_=2 \"\"=3 \"a.b\"=4}"),
    ("a . \"b\"\t.'c' = 1", "{a={b={c=1}}}"), ("3.14 = 1", "{3={14=1}}"),
    ("é = 1".replacing("é", with: "\"e\u{301}\"") + "\n\"é\" = 2", "{\"e\u{301}\"=1 \"é\"=2}"),
    ("a.b = 1\na.c = 2", "{a={b=1 c=2}}"), ("a.x = 1\nb = 2\na.y = 3", "{a={x=1 y=3} b=2}"),
    ("[a.b.c]\nx = 1\n[a]\ny = 2", "{a={b={c={x=1}} y=2}}"),
    ("[ a . b ]\nc.d = 1\n[a.b.c.e]", "{a={b={c={d=1 e={}}}}}"),
    ("[a.b.c]\n[a]\nb.x = 1\nb.y = 2", "{a={b={c={} x=1 y=2}}}"),
    ("[[a]]\nb = 1\n[[a]]\n[a.c]\nd = 2", "{a=[{b=1} {c={d=2}}]}"),
    ("[[a.b]]\n[[a.b.c]]\n[[a.b.c]]\n[[a.b]]", "{a={b=[{c=[{} {}]} {}]}}"),
    ("a = []\nb = [ ]\nc = [1, \"x\", [2.0],\n# c\n{}, ]", "{a=[] b=[] c=[1 \"x\" [2.0] {}]}"),
    ("a = {}\nb = { c.d = 1, c.e = [\n1\n], f = {} }", "{a={} b={c={d=1 e=[1]} f={}}}"),
  ])
  func documents(text: String, value: String) throws {
    #expect(try shown(text) == value)
  }

  @Test func nesting() throws {
    for (opening, closing) in [("[", "]"), ("{a=", "}")] {
      func text(_ depth: Int) -> String {
        "a=" + String(repeating: opening, count: depth) + (closing == "}" ? "1" : "")
          + String(repeating: closing, count: depth)
      }
      #expect(throws: Never.self) { try shown(text(63)) }
      #expect(throws: TOMLError.self) { try shown(text(65)) }
    }
    let names = { (count: Int) in [String](repeating: "a", count: count).joined(separator: ".") }
    for form in ["NAMES = 1", "[NAMES]", "[[NAMES]]"] {
      #expect(throws: Never.self) { try shown(form.replacing("NAMES", with: names(63))) }
      #expect(throws: TOMLError.self) { try shown(form.replacing("NAMES", with: names(65))) }
    }
  }
}

@Suite struct TOMLErrorTests {
  private func check(_ text: String, _ place: String, _ message: String) {
    let error = #expect(throws: TOMLError.self) { try shown(text) }
    let found = error.map { "\($0.place.line):\($0.place.column) \($0.message)" } ?? "none"
    #expect(found == "\(place) \(message)", "\(text.debugDescription)")
  }

  @Test(arguments: [
    "_1", "1__0", "1_", "01", "+01", "0x", "0x_1", "0xG", "0X1", "-0x1", "+0b1", "0b2", "0o8", "0o",
    "1.", "1.e1", "1._5", "1_.5", "1e", "1e+", "1e_5", "00.5", "1.2.3", "1e5.5", "--1", "+", "1-2",
    ".5", "+.5", "e5", "Inf", "+Nan", "infinity", "True", "TRUE", "yes", "null", "x", "a.b",
    "truex",
    "9223372036854775808", "-9223372036854775809", "0x8000000000000000",
    "2024-13-01", "2024-00-01", "2024-04-31", "2023-02-29", "1900-02-29", "2024-1-01", "2024-01-1",
    "24:00:00", "23:60:00", "23:59:60", "7:32:00", "07:32", "07:32:00.", "07:32:00Z",
    "1979-05-27T", "1979-05-27T:", "1979-05-27T07:32", "1979-05-27T07:32:00.Z", "2024-01-01 5",
    "1979-05-27T07:32:00+24:00", "1979-05-27T07:32:00+01:60", "1979-05-27T07:32:00+0100",
    "1979-05-27_07:32:00", "12024-01-01", "1979-05-27T07:32:00ZZ", "1979-05-27 07:32:00 Z",
  ])
  func words(text: String) {
    for around in ["a = \(text)", "a = [\(text)]", "a = {b = \(text)}", "a = \(text)\n"] {
      #expect(throws: TOMLError.self, "\(around)") { try shown(around) }
    }
  }

  @Test(
    arguments: [
      ("a = x", "1:5", "expected a value; text is written in quotation marks"),
      ("a = 01", "1:5", "not a number as TOML writes it"),
      ("\na = 9223372036854775808", "2:5", "a whole number that does not fit into 64 bits"),
      ("a = 2023-02-29", "1:5", "not a date or a time"),
      ("a =", "1:4", "expected a value"), ("a = # c", "1:5", "expected a value"),
      ("a = [1,,2]", "1:8", "expected a value"), ("a = \u{A0}1", "1:5", "expected a value"),
      ("a = \"é\" x", "1:9", "expected the end of the line"),
      ("a = 1 b = 2", "1:7", "expected the end of the line"),
      ("[a] b = 1", "1:5", "expected the end of the line"),
      ("a = 1\rb = 2", "1:6", "expected the end of the line"),
      ("a 1", "1:3", "expected ="), ("a\n= 1", "1:2", "expected ="),
      ("é = 1", "1:1", "expected a key"),
      ("= 1", "1:1", "expected a key"), ("a. = 1", "1:4", "expected a key"),
      ("a..b = 1", "1:3", "expected a key"), ("\"\"\"a\"\"\" = 1", "1:3", "expected ="),
      ("[]", "1:2", "expected a key"), ("[a", "1:3", "expected ]"),
      ("[a]]", "1:4", "expected the end of the line"),
      ("[[a]", "1:5", "expected ]]"), ("[[a] ]", "1:5", "expected ]]"),
      ("[ [a]]", "1:3", "expected a key"),
      ("a = [1 2]", "1:8", "expected , or ]"), ("a = [1", "1:7", "expected , or ]"),
      ("a = [", "1:6", "expected a value"),
      ("a = {b=1", "1:9", "expected , or }"), ("a = {b=1,}", "1:10", "expected a key"),
      ("a = {\nb=1}", "1:6", "expected a key"), ("a = {b=1\n}", "1:9", "expected , or }"),
      ("a = {,}", "1:6", "expected a key"), ("a = {b=1 # c\n}", "1:10", "expected , or }"),
      ("a = \"x", "1:5", "this string is not closed"),
      ("a = \"x\n", "1:5", "this string is not closed on its line"),
      ("a = '''x''\n", "1:5", "this string is not closed"),
      ("a = \"\"\"x\\", "1:9", "unknown escape"), ("a = \"\\", "1:6", "unknown escape"),
      (#"a = "\x41""#, "1:6", "unknown escape"), (#"a = "\e""#, "1:6", "unknown escape"),
      (#"a = "\ ""#, "1:6", "unknown escape"), (#"a = """\ x""""#, "1:8", "unknown escape"),
      (#"a = "\u12g4""#, "1:6", "expected the 4 hexadecimal digits of a character"),
      (#"a = "\uD800""#, "1:6", "expected the 4 hexadecimal digits of a character"),
      (#"a = "\U00110000""#, "1:6", "expected the 8 hexadecimal digits of a character"),
      (#"a = "\u+123""#, "1:6", "expected the 4 hexadecimal digits of a character"),
      ("a = \"\u{1}\"", "1:6", "a control character in a string"),
      ("a = \"\0\"", "1:6", "a control character in a string"),
      ("a = '\u{7F}'", "1:6", "a control character in a string"),
      ("a = '''\rx'''", "1:8", "a carriage return without a line feed"),
      ("a = 1 # \u{1F}", "1:9", "a control character in a comment"),
      ("# \r", "1:3", "expected a key"),
      ("\0", "1:1", "expected a key"), ("\r", "1:1", "expected a key"),
      ("\u{FEFF}a = 1", "1:1", "a byte order mark, which TOML does not allow"),
    ] as [(String, String, String)])
  func syntax(text: String, place: String, message: String) { check(text, place, message) }

  /// Keys that may be defined only once, and tables that cannot be extended.
  @Test(
    arguments: [
      ("a = 1\na = 2", "2:1", "a", 1), ("a = 1\n'a' = 2", "2:1", "a", 1),
      ("a = 1\na.b = 2", "2:1", "a", 1), ("a.b = 1\na = 2", "2:1", "a", 1),
      ("a = 1\n[a]", "2:1", "a", 1), ("a = 1\n[a.b]", "2:1", "a", 1),
      ("a = 1\n[[a]]", "2:1", "a", 1),
      ("[a]\n\n [a]", "3:2", "a", 1), ("[a.b]\n[a]\n[a]", "3:1", "a", 2),
      ("[a]\n[[a]]", "2:1", "a", 1),
      ("[a]\nb = 1\n[a.b]", "3:1", "a.b", 2), ("[a.b]\n[a]\nb = 1", "3:1", "a.b", 1),
      ("[a.b]\n[a]\nb.c = 1", "3:1", "a.b", 1), ("[a]\nb.c = 1\n[a.b]", "3:1", "a.b", 2),
      ("a.b = 1\n[a]", "2:1", "a", 1), ("[a]\nb.c.d = 1\n[a.b.c]", "3:1", "a.b.c", 2),
      ("[x.y]\n[x]\ny.z = 1", "3:1", "x.y", 1),
      ("[a.b]\nc.d = 1\n[a]\nb.c.e = 1", "4:1", "a.b", 1),
      ("[[a]]\n[a]", "2:1", "a", 1), ("[[a.b]]\n[a]\nb.y = 2", "3:1", "a.b", 1),
      ("[a.b]\n[[a]]", "2:1", "a", 1), ("[[a]]\n[a.b]\n[[a.b]]", "3:1", "a.b", 2),
      ("a = []\n[[a]]", "2:1", "a", 1), ("a = [{}]\n[a.b]", "2:1", "a", 1),
      ("a = {}\n[a]", "2:1", "a", 1), ("a = {}\n[a.b]", "2:1", "a", 1),
      ("a = {}\na.b = 1", "2:1", "a", 1),
      ("a = { b = {} }\n[a.b.c]", "2:1", "a", 1), ("a.b = {}\na.b.c = 1", "2:1", "a.b", 1),
      ("[a]\nb = {}\n[a.b.c]", "3:1", "a.b", 2), ("a = {b=1, b=2}", "1:11", "a.b", 1),
      ("a = {b={}, b.c=1}", "1:12", "a.b", 1), ("a = {b=1, b.c=1}", "1:11", "a.b", 1),
      ("a = [{b=1,\"b\"=2}]", "1:11", "a.b", 1), ("\"a b\" = 1\n'a b' = 1", "2:1", "\"a b\"", 1),
    ] as [(String, String, String, Int)])
  func definedTwice(text: String, place: String, name: String, line: Int) {
    check(text, place, "\(name) is already defined on line \(line)")
  }

  @Test(
    arguments: [
      ([0x61, 0x3D, 0x22, 0xC3, 0x22], 4), ([0x23, 0xED, 0xA0, 0x80], 2), ([0x23, 0xC0, 0x80], 2),
      ([0x23, 0x0A, 0x23, 0xF4, 0x90, 0x80, 0x80], 2), ([0xFF], 1), ([0x23, 0xE2, 0x82], 2),
    ] as [([UInt8], Int)])
  func notUTF8(bytes: [UInt8], column: Int) {
    let error = #expect(throws: TOMLError.self) { try TOMLParser.parse(bytes) }
    #expect(error?.message == "not UTF-8" && error?.place.column == column)
  }

  @Test(arguments: [
    "a=" + String(repeating: "[", count: 10_000), "a=" + String(repeating: "{a=", count: 10_000),
    String(repeating: "a.", count: 10_000) + "a=1",
    "[" + String(repeating: "a.", count: 10_000) + "a]",
    "[[" + String(repeating: "a.", count: 10_000) + "a]]",
  ])
  func deepNesting(text: String) {
    let error = #expect(throws: TOMLError.self) { try shown(text) }
    #expect(error?.message == "nested deeper than 64 levels")
  }
}

@Suite struct TOMLPlaceTests {
  private static let text = """
    # é
      url = "é" # c
    [a.b]
    c = [1, { d = 2 }]
    e.f = 1
    [a]
    é = 1
    [[t]]
    [[t]]
    x = 1
    """.replacing("é = 1", with: "\"é\" = 1")

  @Test(arguments: [
    ("url", "2:3 7"), ("a", "6:1 55"), ("a.b", "3:1 22"), ("a.b.c", "4:1 28"),
    ("a.b.c.0", "4:6 33"),
    ("a.b.c.1", "4:9 36"), ("a.b.c.1.d", "4:11 38"), ("a.b.e", "5:1 47"), ("a.b.e.f", "5:1 47"),
    ("a.é", "7:1 59"), ("t", "8:1 68"), ("t.1", "9:1 74"), ("t.1.x", "10:1 80"),
    ("a.b.none", "3:1 22"), ("none", "1:1 0"), ("t.2", "8:1 68"), ("t.-1", "8:1 68"),
  ])
  func places(path: String, expected: String) throws {
    let tree = try TOMLParser.parse(Array(Self.text.utf8))
    let path = path.utf8.split(separator: UInt8(ascii: ".")).map {
      String(decoding: $0, as: UTF8.self)
    }
    let place = tree.place(at: tree.nodes[tree.nearest(path).node].start)
    #expect("\(place.line):\(place.column) \(place.offset)" == expected)
  }
}
