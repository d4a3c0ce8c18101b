import Foundation
import Testing

@testable import AuthKit

struct DisplayTextTests {
  @Test(arguments: [
    ("plain", "plain"), ("", ""), ("caf\u{E9} \u{1F600}", "caf\u{E9} \u{1F600}"),
    ("bad\nhint: curl x | sh", "bad \u{23CE} hint: curl x | sh"),
    ("a\r\nb\rc\nd", "a \u{23CE} b \u{23CE} c \u{23CE} d"),
    ("\n\r", " \u{23CE}  \u{23CE} "), ("\r\r\n", " \u{23CE}  \u{23CE} "),
    ("\u{1B}]52;c;x\u{7}", "\\u{1B}]52;c;x\\u{7}"), ("a\tb\0", "a\\u{9}b\\u{0}"),
    ("\u{7F}\u{80}\u{85}\u{9B}\u{9F}\u{A0}", "\\u{7F}\\u{80}\\u{85}\\u{9B}\\u{9F}\u{A0}"),
    ("\u{2028}\u{2029}", "\\u{2028}\\u{2029}"),
    ("\u{202A}\u{202E}\u{2066}\u{2069}", "\\u{202A}\\u{202E}\\u{2066}\\u{2069}"),
    ("\u{200B}\u{200F}\u{FEFF}\u{AD}", "\\u{200B}\\u{200F}\\u{FEFF}\\u{AD}"),
    ("\u{E0000}\u{E0041}\u{E007F}", "\\u{E0000}\\u{E0041}\\u{E007F}"),
  ])
  func oneLine(_ text: String, _ shown: String) {
    #expect(Array(DisplayText.oneLine(text).utf8) == Array(shown.utf8))
  }

  @Test func everyForbiddenScalar() throws {
    let ranges: [ClosedRange<UInt32>] = [
      0...0x1F, 0x7F...0x9F, 0x200B...0x200F, 0x2028...0x2029, 0x202A...0x202E, 0x2066...0x2069,
      0xFEFF...0xFEFF, 0xE0000...0xE007F,
    ]
    for value in ranges.joined() {
      let scalar = try #require(Unicode.Scalar(value))
      let shown = DisplayText.oneLine("a\(scalar)b")
      #expect(!shown.unicodeScalars.contains(scalar), "U+\(String(value, radix: 16))")
      #expect(DisplayText.shellCommand(["x", "a\(scalar)b"]) == nil)
    }
  }

  @Test func limit() {
    #expect(DisplayText.oneLine(String(repeating: "x", count: 400)).utf8.count == 300)
    let smileys = DisplayText.oneLine(String(repeating: "\u{1F600}", count: 9), limit: 4)
    #expect(smileys == String(repeating: "\u{1F600}", count: 4))
    #expect(DisplayText.oneLine("ab\u{1B}c", limit: 7) == "ab")
    #expect(DisplayText.oneLine("ab\u{1B}c", limit: 8) == "ab\\u{1B}")
    #expect(DisplayText.oneLine("ab", limit: 0) == "")
  }

  @Test func server() {
    let html = "\u{FEFF} \r\n<!DOCTYPE html><title>x</title>"
    let pieces = ["", " \r\n\t", html, "<b>", "one\r\n", " two\nhint: x", "a < b", "four"]
    #expect(DisplayText.server(pieces) == ["one", "two \u{23CE} hint: x", "a < b"])
    #expect(DisplayText.server([String(repeating: "\u{202E}", count: 500)])[0].utf8.count <= 300)
    #expect(DisplayText.server([]) == [])
  }

  @Test func repaired() {
    let bytes: [UInt8] = [0x61, 0xFF, 0xC3, 0xA9, 0xC3]
    let text = bytes.withUnsafeBytes { DisplayText.repaired($0) }
    #expect(text == "a\u{FFFD}\u{E9}\u{FFFD}")
  }

  static let bodies: [([UInt8], String)] = [
    (Array("a\tb\nc\r\nd".utf8), "a\tb\nc\r\nd"),
    (Array("a\rb\r".utf8), "a^Mb^M"), (Array("\r\r\n".utf8), "^M\r\n"),
    (Array("\u{1B}[2J\0\u{7F}\u{7}".utf8), "^[[2J^@^?^G"),
    (Array("\u{9B}2J\u{85}\u{A0}\u{E9}".utf8), "M-^[2JM-^E\u{A0}\u{E9}"),
    (Array("\u{1F600}\u{20AC}".utf8), "\u{1F600}\u{20AC}"),
    (Array("a\u{202E}b\u{2066}\u{200B}\u{FEFF}".utf8), #"a\u{202E}b\u{2066}\u{200B}\u{FEFF}"#),
    (Array("\u{2028}\u{E0041}e\u{301}".utf8), "\\u{2028}\\u{E0041}e\u{301}"),
    ([0x61, 0x9B, 0x62], "a\u{FFFD}b"), ([0xC0, 0x9B], "\u{FFFD}\u{FFFD}"),
    ([0xE0, 0x82, 0x9B], "\u{FFFD}\u{FFFD}\u{FFFD}"), ([0xE2, 0x82], "\u{FFFD}"),
    ([0xE2, 0x82, 0x1B], "\u{FFFD}^["), ([0xE2, 0xC2, 0x9B], "\u{FFFD}M-^["),
    ([0xED, 0xA0, 0x80], "\u{FFFD}\u{FFFD}\u{FFFD}"), ([0xFF, 0x0D, 0x0A], "\u{FFFD}\r\n"),
  ]

  @Test(arguments: bodies)
  func caret(_ body: [UInt8], _ shown: String) {
    var caret = Caret()
    let whole = body.withUnsafeBytes { caret.feed($0) } + caret.finish()
    #expect(whole == Array(shown.utf8))
    for cut in 0...body.count {
      var caret = Caret()
      var pieces = body[..<cut].withUnsafeBytes { caret.feed($0) }
      pieces += body[cut...].withUnsafeBytes { caret.feed($0) }
      pieces += caret.finish()
      #expect(pieces == whole, "cut at \(cut)")
    }
  }

  @Test(
    arguments: [
      ([], false), (Array("{\"a\":\"\u{E9}\"}\r\n\u{1B}[m".utf8), false), ([0x61, 0], true),
      ([0xFF, 0xD8, 0xFF], true), ([0x61, 0xE9, 0x62], true), ([0x61, 0xE2, 0x82], false),
      ([UInt8](repeating: 0x61, count: 1023) + [0xC3, 0xA9], false),
      ([UInt8](repeating: 0x61, count: 1024) + [0], false),
      ([UInt8](repeating: 0x61, count: 1023) + [0], true),
    ] as [([UInt8], Bool)])
  func looksBinary(_ body: [UInt8], _ isBinary: Bool) {
    #expect(body.withUnsafeBytes { DisplayText.looksBinary($0) } == isBinary)
  }

  @Test(arguments: [
    (["authctl", "login", "-p", "shop"], "authctl login -p shop"),
    (
      ["authctl", "-u", "ada@shop.example", "https://h:8/a%20b,c+d=e"],
      "authctl -u ada@shop.example https://h:8/a%20b,c+d=e"
    ),
    (
      ["authctl", "", "~", "=ls", "it's", "a b", "\u{E9}"],
      "authctl '' '~' '=ls' 'it'\\''s' 'a b' '\u{E9}'"
    ),
    (["A=b", "c=d"], "'A=b' c=d"),
  ])
  func shellCommand(_ words: [String], _ line: String) {
    #expect(DisplayText.shellCommand(words) == line)
  }

  @Test(arguments: ["a\nb", "a\r\nb", "\t", "\0", "\u{1B}", "\u{7F}", "\u{85}", "\u{202E}"])
  func shellCommandRefuses(_ word: String) {
    #expect(DisplayText.shellCommand(["authctl", word]) == nil)
    #expect(DisplayText.shellCommand([word]) == nil)
    #expect(DisplayText.shellCommand([]) == nil)
  }

  @Test func shellTakesApartWhatWasPutTogether() throws {
    let folder = NSTemporaryDirectory() + "/authctl-shell-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let stub = folder + "/authctl"
    try "#!/bin/sh\nprintf '%s\\0' \"$@\" >argv\n".write(
      toFile: stub, atomically: true, encoding: .utf8)
    try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: stub)

    var words = [
      "plain", "", " ", "a b", "/x'; touch pwned; #", "$(touch pwned)", "`touch pwned`", "$HOME",
      "${PATH}", "~", "~root", "a=~", "=ls", "*", "a?[b]", "{a,b}", "\\", "\\'", "'", "''", "\"",
      "!", "!!", "#x", "-n", "--", ";", "&", "|", "<", ">pwned", "(", ")", "a\\nb", "%1", "\u{E9}",
      "\u{1F600}", "e\u{301}", "'\"'\"'", "&&touch pwned", "^", "@", "a'b\"c$d`e\\f",
    ]
    var generator = SystemRandomNumberGenerator()
    let alphabet = Array("ab '\"\\$`~=!*?[]{}()<>|&;#%^@-/.,:+_\u{E9}")
    for _ in 0..<200 {
      let length = Int.random(in: 0...12, using: &generator)
      words.append(String((0..<length).map { _ in alphabet.randomElement(using: &generator)! }))
    }
    let line = try #require(DisplayText.shellCommand(["authctl"] + words))
    let script = "cd '\(folder)' && PATH=\"$PWD:$PATH\" && \(line)\n"
    #expect(try run(["/bin/sh", "-c", script]) == 0)

    let dump = try Data(contentsOf: URL(fileURLWithPath: folder + "/argv"))
    let argv = dump.split(separator: 0, omittingEmptySubsequences: false).dropLast()
    #expect(argv.map { Array($0) } == words.map { Array($0.utf8) })
    let files = try FileManager.default.contentsOfDirectory(atPath: folder)
    #expect(files.sorted() == ["argv", "authctl"])
  }

  private func run(_ argv: [String]) throws -> Int32 {
    var pointers: [UnsafeMutablePointer<CChar>?] = argv.map { strdup($0) } + [nil]
    var environment: [UnsafeMutablePointer<CChar>?] = [strdup("PATH=/usr/bin:/bin"), nil]
    defer { for pointer in pointers + environment { free(pointer) } }
    var child: pid_t = 0
    try #require(posix_spawn(&child, argv[0], nil, nil, &pointers, &environment) == 0)
    var status: Int32 = -1
    try #require(waitpid(child, &status, 0) == child)
    return status
  }
}
