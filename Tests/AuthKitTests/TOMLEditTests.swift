import Testing

@testable import AuthKit

@Suite struct TOMLEditTests {
  private func path(_ key: String) -> [String] {
    key.utf8.split(separator: UInt8(ascii: ".")).map { String(decoding: $0, as: UTF8.self) }
  }

  @Test(arguments: [
    ("", "a", "a = 1\n"), ("", "t.a", "[t]\na = 1\n"), ("a = 2", "a", "a = 1"),
    ("b = 2", "a", "b = 2\na = 1\n"), ("# c", "a", "# c\na = 1\n"),
    ("# x\n\n# t\n[t]\n", "a", "# x\n\na = 1\n\n# t\n[t]\n"),
    ("b = 2 # c\n[t]\nc = 3\n", "a", "b = 2 # c\na = 1\n[t]\nc = 3\n"),
    ("b = \"\"\"\n[t]\n\"\"\" # c\n[t]\n", "a", "b = \"\"\"\n[t]\n\"\"\" # c\na = 1\n[t]\n"),
    ("a = [ # c\n  1,\n] # d\n", "a", "a = 1 # d\n"), ("'a' = 2", "a", "'a' = 1"),
    ("t.a = 2 # c\n", "t.a", "t.a = 1 # c\n"), ("t . b = 2\n", "t.a", "t . b = 2\nt.a = 1\n"),
    ("t.b.c = 2\nd = 3\n", "t.a", "t.b.c = 2\nt.a = 1\nd = 3\n"),
    ("[t] # c\n[t.b]\nc = 1\n", "t.a", "[t] # c\na = 1\n[t.b]\nc = 1\n"),
    ("[t.b]\nc = 1", "t.a", "[t.b]\nc = 1\n\n[t]\na = 1\n"),
    ("[t.a]\nb = 2\n# end\n[u]\n", "t.a", "# end\n[u]\n\n[t]\na = 1\n"),
    ("[t]\na.b = 2 # c\na.d = 3\nx = 4\n[u]", "t.a", "[t]\nx = 4\na = 1\n[u]"),
    ("t = {}", "t.a", "t = { a = 1 }"), ("t = {b=2}", "t.a", "t = {b=2, a = 1 }"),
    ("t = { a.b = 2, c = [ 3 ], a.d = 4 } # e", "t.a", "t = { c = [ 3 ], a = 1 } # e"),
    ("t = 2 # c\n", "t.a", "[t]\na = 1\n"), ("[[t]]\nb = 2\n[[t]]\n", "t.a", "[t]\na = 1\n"),
    ("b = 2\r\n[t]\r\nc = 3\r\n", "t.a", "b = 2\r\n[t]\r\nc = 3\r\na = 1\n"),
    ("b = nan\n", "a", "b = nan\na = 1\n"), ("b = 2\n", "é", "b = 2\n\"é\" = 1\n"),
  ])
  func setting(text: String, key: String, result: String) throws {
    let tree = try TOMLParser.parse(Array(text.utf8))
    let edited = try TOMLEdit.setting("1", at: path(key), in: tree)
    #expect(edited.map { String(decoding: $0, as: UTF8.self) } == result)
  }

  @Test(
    arguments: [
      ("a = 1", "a", ""), ("a = 1 # c\n# d\n", "a", "# d\n"),
      ("a.b = 1\nc = 2\na.d = 3", "a", "c = 2\n"),
      ("[a]\nb = 1\n\n# in\nc = 2 # c\n# end\n[d]", "a", "# end\n[d]"),
      ("[a.b]\nc = 1\n[d]\n[a]\n[a.e]\n", "a", "[d]\n"),
      ("[a]\nb = 1\nc = 2\n", "a.b", "[a]\nc = 2\n"),
      ("[a]\nb.c = 1\nb.d = 2\ne = 3\n", "a.b", "[a]\ne = 3\n"),
      ("[[a]]\nb = 1\n[[a]]\n[d]\n", "a", "[d]\n"), ("a = { b = 1 }", "a.b", "a = {}"),
      ("a = { b = 1, c = \"}\" }", "a.b", "a = { c = \"}\" }"),
      ("a = {c=[1,\n2],b=1 }", "a.b", "a = { c=[1,\n2] }"),
      ("a = { b.x = 1, c = 2, b.y = 3 }", "a.b", "a = { c = 2 }"), ("a = 1\n", "b", "a = 1\n"),
      ("a = [1]\n", "a.0", nil),
    ] as [(String, String, String?)])
  func removing(text: String, key: String, result: String?) throws {
    let tree = try TOMLParser.parse(Array(text.utf8))
    let edited = TOMLEdit.removing(at: path(key), in: tree)
    #expect(edited.map { String(decoding: $0, as: UTF8.self) } == result)
  }

  /// Refuses text that is not exactly one TOML value.
  @Test(arguments: ["", "x", "1\nb = 2", "1 # c", "99999999999999999999", "{a = 1, a = 2}", "[1"])
  func wrongValues(value: String) throws {
    let tree = try TOMLParser.parse(Array("b = 1\n".utf8))
    #expect((try? TOMLEdit.setting(value, at: ["a"], in: tree)).flatMap { $0 } == nil)
  }
}
