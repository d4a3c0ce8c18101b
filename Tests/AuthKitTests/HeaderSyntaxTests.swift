import Testing

@testable import AuthKit

struct HeaderSyntaxTests {
  @Test(arguments: ["GET", "X-Auth-Token", "a", "!#$%&'*+-.^_`|~", "0"])
  func token(_ text: String) { #expect(HeaderSyntax.isToken(text)) }

  @Test(arguments: [
    "", " ", "a b", "a\t", "GET / HTTP/1.1\r\n", "a\r\n", "a\n", "a\r", "a\0", "\u{1B}", "a:",
    "(", ")", "<", "@", ",", ";", "\\", "\"", "/", "[", "]", "?", "=", "{", "}", "\u{7F}",
    "na\u{EF}ve", "\u{212A}", "a\u{301}", "\u{85}",
  ])
  func noToken(_ text: String) {
    #expect(!HeaderSyntax.isToken(text))
    #expect(throws: Failure.self) { try WireHeader(removing: text) }
    #expect(throws: Failure.self) { try WireHeader(name: text, value: "a") }
  }

  // value, allowed in a recipe's header, allowed in a user's
  @Test(arguments: [
    ("Bearer abc.def", true, true), ("a", true, true), ("~", true, true), ("a: b, c", true, true),
    ("", false, true), (" ", false, false), ("\t", false, false), (" a", false, false),
    ("a ", false, false), ("a\t", false, false), ("\ta", false, false), ("a\tb", false, true),
    ("caf\u{E9}", false, true), ("a\u{85}", false, true), ("\u{301}", false, true),
    ("a\r\nX-Evil: 1", false, false), ("a\nb", false, false), ("a\rb", false, false),
    ("a\u{D}\u{A}", false, false), ("a\0b", false, false), ("\u{1B}[2J", false, false),
    ("a\u{7F}", false, false), ("\u{1F}", false, false),
  ])
  func value(_ text: String, _ inRecipe: Bool, _ byUser: Bool) {
    #expect(HeaderSyntax.isRecipeValue(text) == inRecipe)
    #expect(HeaderSyntax.isUserValue(text) == byUser)
  }

  @Test func everyByte() {
    for byte in UInt8.min...UInt8.max {
      let bytes = [UInt8(ascii: "a"), byte, UInt8(ascii: "z")]
      #expect(HeaderSyntax.isRecipeValue(bytes) == (0x20...0x7E).contains(byte), "\(byte)")
      let isUsers = byte == 9 || byte >= 0x20 && byte != 0x7F
      #expect(HeaderSyntax.isUserValue(bytes) == isUsers, "\(byte)")
    }
  }

  // name, forbidden in a recipe, forbidden with a credential
  @Test(arguments: [
    ("Host", true, true), ("hOST", true, true), ("Content-Length", true, true),
    ("TRANSFER-ENCODING", true, true), ("Proxy-Authorization", true, true),
    ("proxy-connection", true, true), ("Connection", true, false), ("TE", true, false),
    ("Trailer", true, false), ("Upgrade", true, false), ("Expect", true, false),
    ("Authorization", false, false), ("Proxy", false, false), ("Hostess", false, false),
    ("Accept", false, false), ("Content-Type", false, false), ("Cookie", false, false),
  ])
  func forbidden(_ name: String, _ inRecipe: Bool, _ besideCredential: Bool) {
    #expect(HeaderSyntax.isForbiddenInRecipe(name) == inRecipe)
    #expect(HeaderSyntax.isForbiddenBesideCredential(name) == besideCredential)
  }

  @Test func lowerCaseIsASCII() {
    #expect("X-Auth-TOKEN_09[`{@Z".asciiLowercased == "x-auth-token_09[`{@z")
    let kelvin = "\u{212A}\u{C9}".asciiLowercased
    #expect(Array(kelvin.utf8) == Array("\u{212A}\u{C9}".utf8))
  }
}
