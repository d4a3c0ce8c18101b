import Testing

@testable import AuthKit

@Suite struct JSONParsing {
  @Test(arguments: [
    ("null", JSONValue.null),
    ("true", .bool(true)),
    (" \t\r\n false \n", .bool(false)),
    ("0", .number("0")),
    ("-0", .number("-0")),
    ("10.50", .number("10.50")),
    ("1e308", .number("1e308")),
    ("-9e18", .number("-9e18")),
    ("1E+999", .number("1E+999")),
    ("99999999999999999999", .number("99999999999999999999")),
    (#""""#, .string("")),
    (#""a/b\/c""#, .string("a/b/c")),
    (#""\"\\\b\f\n\r\t""#, .string("\"\\\u{08}\u{0C}\n\r\t")),
    (#""\u0000""#, .string("\u{0}")),
    (#""\u00e9\u00E9é""#, .string("ééé")),
    (#""\ud83d\ude00😀""#, .string("😀😀")),
    (#""\uDBFF\uDFFF""#, .string("\u{10FFFF}")),
    ("\"\u{7F}\u{2028}\"", .string("\u{7F}\u{2028}")),
    ("[]", .array([])),
    ("[ ]", .array([])),
    ("[1 , [2],null]", .array([.number(1), .array([.number(2)]), .null])),
    ("{}", .object([])),
    (
      #"{ "b" : 1 ,"a":{"b":[]}, "b":2}"#,
      .object([
        ("b", .number(1)), ("a", .object([("b", .array([]))])), ("b", .number(2)),
      ])
    ),
    ("\u{FEFF}[1]", .array([.number(1)])),
  ])
  func reads(text: String, value: JSONValue) throws {
    #expect(try JSONValue.parse(text) == value)
  }

  @Test(arguments: [
    ("", "empty", 0), ("  ", "ends early", 2), ("\u{FEFF}", "ends early", 3),
    ("nul", "value was expected", 0), ("nulL", "value was expected", 0), ("True", "value", 0),
    ("nullx", "more text", 4), ("1 2", "more text", 2), ("{}}", "more text", 2),
    ("[1,]", "value was expected", 3), ("[1 2]", "comma or ]", 3), ("[", "ends early", 1),
    ("[,1]", "value was expected", 1), ("]", "value was expected", 0),
    ("{a:1}", "key in quotes", 1), (#"{"a" 1}"#, "colon", 5), (#"{"a":1,}"#, "key in quotes", 7),
    (#"{"a":1 "b"}"#, "comma or }", 7), (#"{"a"}"#, "colon", 4), (#"{"a":}"#, "value", 5),
    (#"{1:2}"#, "key in quotes", 1), (#"{"a":1"#, "ends early", 6),
    ("01", "more text", 1), ("-", "ends early", 1), ("+1", "value", 0), (".5", "value", 0),
    ("1.", "ends early", 2), ("1.e1", "digit", 2), ("1e", "ends early", 2), ("1e+", "ends", 3),
    ("0x10", "more text", 1), ("--1", "digit", 1), ("NaN", "value", 0), ("-Infinity", "digit", 1),
    (#"'a'"#, "value", 0), (#""a"#, "ends early", 2), (#""a\"#, "ends early", 3),
    (#""a\u12"#, "ends early", 6), (#""\u12g4""#, "hexadecimal", 5), (#""\x41""#, "escape", 1),
    (#""\U0041""#, "escape", 1), (#""\u+123""#, "hexadecimal", 3),
    ("\"a\nb\"", "control", 2), ("\"\r\n\"", "control", 1), ("\"\u{0}\"", "control", 1),
    ("\"\\n\t\"", "control", 3),
    (#""ab\ud800""#, "lone surrogate", 3), (#""\ud800\u0041""#, "lone surrogate", 1),
    (#""\udc00""#, "lone surrogate", 1), (#""\ud800\n""#, "lone surrogate", 1),
    (#""\ud800\ud800""#, "lone surrogate", 1), (#""\ude00\ud83d""#, "lone surrogate", 1),
    ("\u{A0}1", "value", 0), ("// c\n1", "value", 0), ("[1]\u{0}", "more text", 3),
    ("\u{FEFF}\u{FEFF}1", "value", 3),
  ])
  func refuses(text: String, message: String, offset: Int) throws {
    let error = try #require(throws: JSONError.self) { try JSONValue.parse(text) }
    #expect(error.message.contains(message))
    #expect(error.offset == offset)
  }

  @Test(arguments: [
    [0xFF], [0xC3], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0x80],
    [0xE2, 0x82], [0xF8, 0x88, 0x80, 0x80, 0x80],
  ])
  func refusesWhatIsNotUTF8(bytes: [UInt8]) {
    let quote = UInt8(ascii: "\"")
    #expect(throws: JSONError(message: "not UTF-8 in the string", offset: 1)) {
      try JSONValue.parse([quote] + bytes + [quote])
    }
    #expect(throws: JSONError(message: "not UTF-8 in the string", offset: 1)) {
      try JSONValue.parse([quote] + Array(#"\n"#.utf8) + bytes + [quote])
    }
    #expect(throws: JSONError.self) { try JSONValue.parse(bytes) }
    #expect(throws: JSONError.self) { try JSONValue.parse([UInt8(ascii: "1")] + bytes) }
  }

  @Test(arguments: [("[", "]"), (#"{"a":"#, "}"), (#"[{"a":"#, "}]")])
  func boundsDepth(open: String, close: String) throws {
    let levels = open.utf8.count == 6 ? 64 : 128
    func nested(_ count: Int) -> String {
      String(repeating: open, count: count) + "0" + String(repeating: close, count: count)
    }
    _ = try JSONValue.parse(nested(levels))
    for count in [levels + 1, 100_000] {
      let error = try #require(throws: JSONError.self) { try JSONValue.parse(nested(count)) }
      #expect(error.message == "nested deeper than 128 levels")
      #expect(error.offset == levels * open.utf8.count)
    }
    #expect(throws: JSONError.self) {
      try JSONValue.parse(String(repeating: open, count: 1_000_000))
    }
  }

  @Test func breadthIsNotDepth() throws {
    let value = try JSONValue.parse("[" + String(repeating: "[],", count: 1000) + "[]]")
    guard case .array(let elements) = value else { throw Failure(.failed, "no array") }
    #expect(elements.count == 1001)
  }

  @Test func errorsNeverQuoteTheText() throws {
    let secret = "hunter2secret"
    for text in [
      secret, "\"\(secret)", "[\(secret)]", "{\"a\":\(secret)}", "\"\(secret)\\q\"",
      "\"\(secret)\\ud800\"", "1\(secret)", "{\(secret):1}", "\"\(secret)\n\"",
    ] {
      let error = try #require(throws: JSONError.self) { try JSONValue.parse(text) }
      #expect(!"\(error)".contains("hunter"))
      #expect(error.description == "\(error.message) at byte \(error.offset)")
    }
  }

  /// Every truncation and every changed byte of a comprehensive text gives an error or a value, and
  /// such a value survives a round trip.
  @Test func survivesDamage() throws {
    let text = Array(
      #"{"a":[1,-2.5e+3,true,null],"é\u00e9\ud83d\ude00":{"k~/":"v\n"},"a":""}"#.utf8)
    for index in text.indices {
      #expect(throws: JSONError.self) { try JSONValue.parse(Array(text[..<index])) }
      for byte in UInt8.min...UInt8.max {
        var damaged = text
        damaged[index] = byte
        guard let value = try? JSONValue.parse(damaged) else { continue }
        #expect(try JSONValue.parse(value.serialized()) == value)
        #expect(try JSONValue.parse(value.prettyPrinted(colour: false)) == value)
      }
    }
  }
}

@Suite struct JSONAccess {
  static let document = """
    {"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\\\j":5,"k\\"l":6," ":7,"m~n":8}
    """

  /// The table of RFC 6901, section 5.
  @Test(arguments: [
    ("/foo", #"["bar","baz"]"#), ("/foo/0", #""bar""#), ("/", "0"), ("/a~1b", "1"), ("/c%d", "2"),
    ("/e^f", "3"), ("/g|h", "4"), ("/i\\j", "5"), ("/k\"l", "6"), ("/ ", "7"), ("/m~0n", "8"),
  ])
  func pointsAsTheRFCSays(pointer: String, text: String) throws {
    #expect(try JSONValue.parse(Self.document).at(pointer)?.serialized() == text)
  }

  @Test func theEmptyPointerIsTheWhole() throws {
    let value = try JSONValue.parse(Self.document)
    #expect(try value.at("") == value)
  }

  @Test(arguments: [
    "/x", "/foo/2", "/foo/00", "/foo/01", "/foo/-1", "/foo/+1", "/foo/-", "/foo/", "/foo/0/0",
    "/foo/99999999999999999999", "/foo/1 ", "/foo/\u{0661}", "//", "/a~01b", "/foo/0/",
  ])
  func findsNothing(pointer: String) throws {
    #expect(try JSONValue.parse(Self.document).at(pointer) == nil)
  }

  @Test(arguments: ["foo", "~", "/~", "/a~2b", "/~~0", "#/foo", " /foo", "/a~"])
  func refusesMalformedPointers(pointer: String) throws {
    #expect(throws: JSONPointerError.malformed) { try JSONValue.object([]).at(pointer) }
    #expect(!JSONValue.isPointer(pointer))
  }

  @Test func tildeIsUnescapedOnce() throws {
    #expect(try JSONValue.object([("~1", 1)]).at("/~01") == 1)
    #expect(JSONValue.isPointer("/~01"))
    #expect(JSONValue.isPointer(""))
  }

  @Test(arguments: [
    (#"{"token":"a","token":"b"}"#, "/token", "token"),
    (#"{"token":"b","token":"a"}"#, "/token", "token"),
    (#"{"token":"a","token":"a"}"#, "/token", "token"),
    (#"{"token":"a","\u0074oken":null}"#, "/token", "token"),
    (#"{"d":{"t":1},"d":{}}"#, "/d/t", "d"),
    (#"{"d":1,"d":{"t":1}}"#, "/d/t", "d"),
    (#"[{"t":1,"x":0,"t":2}]"#, "/0/t", "t"),
    (#"{"a/b":1,"a/b":2}"#, "/a~1b", "a/b"),
  ])
  func refusesDoubledKeysOnTheWay(text: String, pointer: String, key: String) throws {
    let value = try JSONValue.parse(text)
    #expect(throws: JSONPointerError.doubledKey(key)) { try value.at(pointer) }
  }

  @Test func doubledKeysElsewhereDoNotMatter() throws {
    let value = try JSONValue.parse(#"{"x":1,"x":2,"token":{"t":"a","y":1,"y":2}}"#)
    #expect(try value.at("/token/t") == "a")
    #expect(try value.at("/nothing") == nil)
  }

  @Test func keysAreComparedByBytes() throws {
    let value = try JSONValue.parse("{\"\u{E9}\":1,\"e\u{301}\":2,\"a\\r\\n\":3}")
    #expect(value["\u{E9}"] == 1)
    #expect(value["e\u{301}"] == 2)
    #expect(try value.at("/e\u{301}") == 2)
    #expect(value["a\r\n"] == 3)
    #expect(value["a\n"] == nil)
    #expect(JSONValue.string("\u{E9}") != .string("e\u{301}"))
    #expect(JSONValue.object([("\u{E9}", nil)]) != .object([("e\u{301}", nil)]))
    #expect(JSONValue.number("1.0") != .number("1"))
  }

  @Test func subscriptTakesTheFirst() throws {
    let value: JSONValue = .object([("a", 1), ("a", 2)])
    #expect(value["a"] == 1)
    #expect(JSONValue.array([])["a"] == nil)
  }

  @Test(arguments: [
    (JSONValue.string("x"), "x" as String?, "x" as String?), (.number("1.50"), nil, "1.50"),
    (.bool(true), nil, "true"), (.bool(false), nil, "false"), (.null, nil, nil),
    (.array(["x"]), nil, nil), (.object([]), nil, nil),
  ])
  func texts(value: JSONValue, text: String?, scalar: String?) {
    #expect(value.text == text)
    #expect(value.scalarText == scalar)
  }

  @Test(arguments: [
    ("1e308", 1e308 as Double?), ("-9e18", -9e18), ("1e999", nil), ("-1e999", nil),
    ("99999999999999999999", 1e20), ("1e-999", 0), ("-0", 0), ("3600", 3600), ("0.5", 0.5),
    (#""3600""#, nil), ("true", nil), ("null", nil), ("[1]", nil),
  ])
  func numbers(text: String, double: Double?) throws {
    #expect(try JSONValue.parse(text).double == double)
  }

  @Test(arguments: [
    (JSONValue.number(3600), "3600"), (.number(-1), "-1"), (.number(3600.0), "3600"),
    (.number(0.5), "0.5"), (.number(1e308), "1e+308"), (.number(Double.infinity), "null"),
    (.number(Double.nan), "null"), (.number(-0.0), "0"), (.number(0x1p53), "9007199254740992"),
    (.number(Int.min), "-9223372036854775808"), (.number(1_764_512_700.25), "1764512700.25"),
    ("x", #""x""#), (true, "true"), (nil, "null"),
  ])
  func builds(value: JSONValue, text: String) throws {
    #expect(value.serialized() == text)
    #expect(try JSONValue.parse(text) == value)
  }
}

@Suite struct JSONWriting {
  static let value: JSONValue = .object([
    ("b", .array([1, "x", .array([]), .object([])])), ("a", .object([("k", nil)])), ("b", true),
  ])

  @Test func compact() {
    #expect(Self.value.serialized() == #"{"b":[1,"x",[],{}],"a":{"k":null},"b":true}"#)
    var out = SecretBuilder()
    out.append("body=")
    Self.value.write(into: &out)
    #expect(out.count == 5 + Self.value.serialized().utf8.count)
  }

  @Test func pretty() {
    #expect(
      Self.value.prettyPrinted(colour: false) == """
        {
          "b": [
            1,
            "x",
            [],
            {}
          ],
          "a": {
            "k": null
          },
          "b": true
        }
        """)
    #expect(JSONValue.array([]).prettyPrinted(colour: false) == "[]")
    #expect(JSONValue.string("x").prettyPrinted(colour: false) == "\"x\"")
  }

  @Test func coloured() {
    #expect(
      JSONValue.object([("k", .array(["s", 1, nil]))]).prettyPrinted(colour: true)
        == "{\n  \u{1B}[1;34m\"k\"\u{1B}[0m: [\n    \u{1B}[32m\"s\"\u{1B}[0m,\n"
        + "    \u{1B}[36m1\u{1B}[0m,\n    \u{1B}[36mnull\u{1B}[0m\n  ]\n}")
  }

  @Test(arguments: [
    ("", #""""#), ("a/b", #""a/b""#), ("\"\\", #""\"\\""#),
    ("\u{08}\u{0C}\n\r\t", #""\b\f\n\r\t""#), ("\r\n", #""\r\n""#),
    ("\u{0}\u{1}\u{1B}\u{1F}", #""\u0000\u0001\u001b\u001f""#),
    ("é😀\u{7F}\u{2028}", "\"é😀\u{7F}\u{2028}\""),
  ])
  func escapes(text: String, json: String) throws {
    #expect(JSONValue.string(text).serialized().utf8.elementsEqual(json.utf8))
    #expect(JSONValue.object([(text, 1)]).serialized() == "{\(json):1}")
    #expect(try JSONValue.parse(json) == .string(text))
  }

  @Test(arguments: [
    ([0x61, 0xFF, 0x62], "a\u{FFFD}b"), ([0xC3], "\u{FFFD}"), ([0xC3, 0x28], "\u{FFFD}("),
    ([0xE2, 0x82, 0x22], "\u{FFFD}\\\""), ([0xED, 0xA0, 0x80], "\u{FFFD}\u{FFFD}\u{FFFD}"),
    ([0xF0, 0x9F, 0x98], "\u{FFFD}"), ([0x80, 0x81], "\u{FFFD}\u{FFFD}"),
    ([0xC3, 0xA9, 0xC3, 0x0A], "é\u{FFFD}\\n"), ([0xF0, 0x9F, 0x98, 0x80], "😀"), ([], ""),
  ])
  func repairsWhatIsNotUTF8(bytes: [UInt8], inside: String) {
    #expect(Self.escaped(bytes) == "\"\(inside)\"")
  }

  /// For every pair of bytes, the output parses and matches Swift's own UTF-8 repair.
  @Test func repairsAsSwiftDoes() throws {
    for first in stride(from: UInt8(0x20), through: 0xFF, by: 3) {
      for second in UInt8.min...UInt8.max {
        let bytes = [first, second, 0x80, 0x41]
        #expect(
          try JSONValue.parse(Self.escaped(bytes))
            == .string(String(decoding: bytes, as: UTF8.self)))
      }
    }
  }

  private static func escaped(_ bytes: [UInt8]) -> String {
    var out = SecretBuilder()
    bytes.withUnsafeBytes { JSONValue.escape($0, into: &out) }
    return out.secret().withBytes { String(decoding: $0, as: UTF8.self) }
  }

  @Test(arguments: [
    ("\u{7F}", "007f"), ("\u{9B}", "009b"), ("\u{85}", "0085"), ("\u{202E}", "202e"),
    ("\u{2066}", "2066"), ("\u{200B}", "200b"), ("\u{FEFF}", "feff"), ("\u{2029}", "2029"),
    ("\u{E0041}", "db40\\udc41"),
  ])
  func escapesMoreForPeople(text: String, digits: String) throws {
    let pretty = JSONValue.object([(text, .string(text))]).prettyPrinted(colour: false)
    #expect(pretty == "{\n  \"\\u\(digits)\": \"\\u\(digits)\"\n}")
    #expect(try JSONValue.parse(pretty) == .object([(text, .string(text))]))
  }

  @Test func theOnlyControlBytesForPeopleAreOurs() {
    let all = String(String.UnicodeScalarView((0...0x10FFFF).compactMap(Unicode.Scalar.init)))
    let pretty = JSONValue.array([.string(all)]).prettyPrinted(colour: false)
    #expect(
      pretty.unicodeScalars.filter { $0.properties.generalCategory == .control }.map(\.value)
        == [0x0A, 0x0A])
  }
}

@Suite struct JSONShape {
  @Test(arguments: [
    (
      #"{"token":"t","user":{"id":1,"email":"e"}}"#, 2,
      "object: token string, user object (id number, email string)"
    ),
    (#"{"token":"t","user":{"id":1}}"#, 1, "object: token string, user object"),
    (#"{"a":1}"#, 0, "object"),
    (#"{"a":{"b":{"c":1}}}"#, 2, "object: a object (b object)"),
    (
      #"{"a":null,"b":true,"c":[],"d":{},"":1}"#, 2,
      #"object: a null, b boolean, c empty array, d empty object, "" number"#
    ),
    (#"[{"a":1},2]"#, 2, "array: object (a number)"),
    (#"{"r":["x","y"]}"#, 2, "object: r array (string)"),
    ("[]", 2, "empty array"), ("{}", 2, "empty object"), (#""x""#, 2, "string"),
    (#"{"a\nhint: b\u001b":"x","é":2}"#, 2, "object: a?hint:?b? string, ?? number"),
  ])
  func tells(text: String, depth: Int, shape: String) throws {
    #expect(try JSONValue.parse(text).shape(depth: depth) == shape)
  }

  @Test func isBounded() throws {
    let longKey = JSONValue.object([(String(repeating: "k", count: 100), 1)])
    #expect(longKey.shape() == "object: " + String(repeating: "k", count: 40) + " number")
    let many = JSONValue.object((0..<100_000).map { ("key\($0)", .string("hunter2")) })
    let shape = many.shape()
    #expect(shape.utf8.count == 200)
    #expect(shape.hasPrefix("object: key0 string, key1 string"))
    #expect(shape.hasSuffix("..."))
    #expect(!shape.contains("hunter"))
  }
}
