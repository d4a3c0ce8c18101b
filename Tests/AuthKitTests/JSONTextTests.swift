import Testing

@testable import AuthKit

private func text(_ text: String) throws -> JSONText {
  try JSONText(ByteBuffer(Array(text.utf8)))
}

private func collected(
  _ write: ((UnsafeRawBufferPointer) -> Void) throws -> Void
) rethrows -> (text: String, longest: Int) {
  var (bytes, longest): ([UInt8], Int) = ([], 0)
  try write {
    bytes += $0
    longest = max(longest, $0.count)
  }
  return (String(decoding: bytes, as: UTF8.self), longest)
}

/// JSON that is read in place gives the same result as its tree.
@Suite struct JSONTextTests {
  private static let samples = [
    "null", " true ", "-1.50e+3", "\"\"", #""a""#, "[]", "[ ]", "{}", "{ }", "\u{FEFF}[1]",
    #" {"a" : [ 1 , { } , [ ] , null ] , "b" : { "c" : "d" } , "a" : false } "#,
    #"["\"\\\/\b\f\n\r\t","\u0000\u001b\u007f\u00e9\ud83d\ude00","é😀","\u202e\u2028"]"#,
    #"{"\u0061b":1,"a~1b":2,"a/b":{"m~n":[0,1,2]},"":{"":"x"},"\\":"]","}":"{","x,y:":","}"#,
    "[[[[1],2],3],[],{\"a\":[{\"b\":{}}]}]", "[1,\n\t2]",
  ]

  @Test(arguments: samples) func writes(json: String) throws {
    let (tree, text) = (try JSONValue.parse(json), try text(json))
    #expect(collected { text.write(to: $0) }.text == tree.serialized())
    for colour in [false, true] {
      let pretty = collected { text.writePretty(colour: colour, to: $0) }.text
      #expect(pretty == tree.prettyPrinted(colour: colour))
    }
    #expect(try text.tree() == tree)
    for depth in 0...3 { #expect(text.shape(depth: depth) == tree.shape(depth: depth)) }
  }

  @Test(arguments: samples) func finds(json: String) throws {
    let (tree, text) = (try JSONValue.parse(json), try text(json))
    for pointer in [
      "", "/", "/a", "/a/1", "/a/3", "/b/c", "/0", "/1", "/2", "/01", "/-", "/0/0/0/0", "/ab",
      "/a~01b", "/a~1b", "/a~1b/m~0n/2", "//", "/\\", "/}", "/x,y:", "/2/a/0/b", "/99999999999",
    ] {
      let wanted = Result { try tree.at(pointer) }
      let found = Result { try text.at(pointer)?.tree() }
      switch (wanted, found) {
      case (.success(let wanted), .success(let found)): #expect(found == wanted, "\(pointer)")
      case (.failure(let wanted), .failure(let found)):
        #expect(found as? JSONPointerError == wanted as? JSONPointerError, "\(pointer)")
      default: Issue.record("\(pointer) of \(json): \(wanted), \(found)")
      }
    }
  }

  @Test func pointersThatAreNone() throws {
    let text = try text("{}")
    for pointer in ["a", "/~2", "/~"] {
      #expect(throws: JSONPointerError.malformed) { try text.at(pointer) }
    }
  }

  @Test(arguments: [
    "", "{", "[1,]", "nulL", "\"\\ud800\"", "\"a\nb\"", "\"\\x\"", "01", "[1] 2",
    String(repeating: "[", count: 129) + String(repeating: "]", count: 129),
  ])
  func refusesWhatATreeRefuses(json: String) throws {
    let wanted = #expect(throws: JSONError.self) { try JSONValue.parse(json) }
    let found = #expect(throws: JSONError.self) { try text(json) }
    #expect(found == wanted)
  }

  @Test func refusesWhatIsNotUTF8() {
    for bytes in [[0x22, 0x80, 0x22], [0x22, 0x5C, 0x6E, 0xC3, 0x22]] as [[UInt8]] {
      let wanted = #expect(throws: JSONError.self) { try JSONValue.parse(bytes) }
      let found = #expect(throws: JSONError.self) { try JSONText(ByteBuffer(bytes)) }
      #expect(found == wanted)
    }
  }

  @Test func partsInTurn() throws {
    var (elements, members): ([String], [String]) = ([], [])
    try text(#"[1, [2], {"a":3}, "four"]"#).forEachElement { element in
      elements.append(collected { element.write(to: $0) }.text)
      return elements.count < 3
    }
    #expect(elements == ["1", "[2]", #"{"a":3}"#])
    try text(#"{"a":1,"\u0062":[2],"a":"x"}"#).forEachMember { key, value in
      members.append(key + "=" + collected { value.write(to: $0) }.text)
    }
    #expect(members == ["a=1", "b=[2]", #"a="x""#])
    #expect(try text(#"{"a":1,"b":2,"c":3}"#).keys(most: 2) == ["a", "b"])
    #expect(try text("[1]").keys(most: 2) == [])
  }

  @Test func texts() throws {
    let long = String(repeating: "é\u{1F600}", count: 30_000)
    for (json, wanted) in [
      (#""a\"\u00e9""#, "a\"é"), ("\"\"", ""), ("\"\(long)\"", long),
      ("\"\(long)\\n\(long)\"", long + "\n" + long),
    ] {
      let text = try text(json)
      #expect(text.text == wanted)
      let written = collected { text.writeText(to: $0) }
      #expect(written.text == wanted)
      #expect(written.longest <= 32_768 + 3)
    }
    #expect(try text("[1]").text == nil)
    #expect(collected { (try? text("[1]"))?.writeText(to: $0) }.text == "")
    #expect(try text("\"\(long)\"").scalar == nil)
    #expect(try text("[]").scalar == nil)
    #expect(try text("1.50").scalar == .number("1.50"))
  }

  /// Long output is written in pieces, however much indentation it contains.
  @Test func pieces() throws {
    let deep = String(repeating: "[", count: 127)
    let zeros = String(repeating: "0,", count: 20_000)
    let json = deep + zeros + "0" + String(repeating: "]", count: 127)
    let pretty = collected { (try? text(json))?.writePretty(colour: false, to: $0) }
    #expect(pretty.text.utf8.count > 5_000_000)
    #expect(pretty.longest < 40_000)
    #expect(pretty.text == (try JSONValue.parse(json).prettyPrinted(colour: false)))
  }
}

/// Limits the memory of a tree, whatever its text contains (rule T10).
@Suite struct JSONBudgetTests {
  @Test(arguments: [
    "[],", "{},", "0,", "\"\",", "[0],", #"{"":0},"#, #"{"a":[{"b":""}]},"#, "[[[[[]]]]],",
    "\"0123456789abcdef\",", "1234567890123456,",
  ])
  func treesThatAreTooLarge(unit: String) {
    // The tree of an 8 MiB text takes 50 MiB or more.
    let count = (8 << 20) / unit.utf8.count
    let json = Array(("[" + String(repeating: unit, count: count) + "0]").utf8)
    let error = #expect(throws: JSONError.self) { try JSONValue.parse(json) }
    #expect(error?.isTooLarge == true)
    #expect(error?.message == "the values take too much memory")
    #expect(throws: Never.self) { try JSONText(ByteBuffer(json)) }
  }

  @Test func membersToo() {
    let json = Array(("{" + String(repeating: #""":0,"#, count: 1 << 20) + #""":0}"#).utf8)
    let error = #expect(throws: JSONError.self) { try JSONValue.parse(json) }
    #expect(error?.isTooLarge == true)
  }

  @Test func budgetsAreCounted() throws {
    #expect(throws: Never.self) { try JSONValue.parse(Array("[1,2,3]".utf8), within: 1000) }
    #expect(throws: JSONError.self) { try JSONValue.parse(Array("[1,2,3]".utf8), within: 50) }
    let long = "\"" + String(repeating: "a", count: 1000) + "\""
    #expect(throws: JSONError.self) { try JSONValue.parse(Array(long.utf8), within: 1000) }
    #expect(try JSONValue.parse(Array(long.utf8), within: 2000).text?.utf8.count == 1000)
    // A large ordinary document fits.
    let row = #"{"id":123456,"name":"Ada Lovelace","email":"ada@shop.example","roles":["a","b"]},"#
    let list = "[" + String(repeating: row, count: (1 << 20) / row.utf8.count) + "0]"
    #expect(throws: Never.self) { try JSONValue.parse(list) }
  }
}
