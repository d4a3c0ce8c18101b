import Foundation
import Testing

@testable import AuthKit

/// Masking of secrets in all encodings, and across any split of the text: rules B3 and T9.
struct RedactorTests {
  static let jwt =
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"

  static let secrets: [String] = [
    "12345678", "correct horse battery", "p\"a\\ss/w\u{F6}rd <&>'+~!*()=`$,;:@?",
    "\u{1F511}\u{20AC}\u{E9}!",
    "tab\there\u{1}\u{1F}\u{8}\u{C}", "aaaaaaaaaaaaaaaa", "CfDJ8+/x+Q==", jwt,
    String((0..<3700).map { Array("ab/\"\u{E9}x y+z%")[($0 * $0 + $0 / 7) % 11] }),
  ]

  // MARK: Encoders that share no code with the redactor

  static func jsonEscaped(_ text: String, _ options: JSONEncoder.OutputFormatting) -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = options
    return String(
      String(decoding: (try? encoder.encode([text])) ?? Data(), as: UTF8.self)
        .dropFirst(2).dropLast(2))
  }

  /// Escapes as Python's json.dumps, .NET and others do.
  static func unicodeEscaped(_ text: String, format: String, also set: String, slash: String)
    -> String
  {
    let short: [Unicode.Scalar: String] = [
      "\"": "\\\"", "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\u{8}": "\\b",
      "\u{C}": "\\f", "/": slash,
    ]
    return text.unicodeScalars.map { scalar in
      if !set.unicodeScalars.contains(scalar) {
        if let escaped = short[scalar] { return escaped }
        if scalar.isASCII, scalar.value >= 0x20 { return String(scalar) }
      }
      return String(scalar).utf16.map { String(format: format, $0) }.joined()
    }.joined()
  }

  static func percentEncoded(_ text: String, keeping: String) -> String {
    let set = CharacterSet(
      charactersIn: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789" + keeping)
    return text.addingPercentEncoding(withAllowedCharacters: set) ?? ""
  }

  static func base64(_ text: String) -> String { Data(text.utf8).base64EncodedString() }

  static func urlSafe(_ text: String) -> String {
    text.replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
  }

  static func lowerHex(_ text: String) -> String {
    text.replacing(/%../) { $0.output.lowercased() }
  }

  static func encodings(_ secret: String) -> [(name: String, text: String)] {
    let percent = percentEncoded(secret, keeping: "-._~")
    let form = percentEncoded(secret, keeping: "-._* ").replacingOccurrences(of: " ", with: "+")
    return [
      ("raw", secret),
      ("JSON, \\/", jsonEscaped(secret, [])),
      ("JSON, /", jsonEscaped(secret, [.withoutEscapingSlashes])),
      ("JSON, ASCII", unicodeEscaped(secret, format: "\\u%04x", also: "", slash: "/")),
      ("JSON, ASCII, upper", unicodeEscaped(secret, format: "\\u%04X", also: "", slash: "\\/")),
      ("JSON, HTML-safe", unicodeEscaped(secret, format: "\\u%04x", also: "<>&", slash: "/")),
      ("JSON, .NET", unicodeEscaped(secret, format: "\\u%04X", also: "<>&'+`\"", slash: "/")),
      ("percent", percent), ("percent, lower", lowerHex(percent)),
      ("percent, +", percent.replacingOccurrences(of: "%20", with: "+")),
      ("form", form), ("form, lower", lowerHex(form)),
      ("encodeURIComponent", percentEncoded(secret, keeping: "-._~!'()*")),
      ("Python's quote", percentEncoded(secret, keeping: "-._~/")),
      ("base64", base64(secret)), ("base64url", urlSafe(base64(secret))),
      ("base64, unpadded", base64(secret).replacing(/=+$/, with: "")),
      ("base64url, unpadded", urlSafe(base64(secret)).replacing(/=+$/, with: "")),
    ]
  }

  // MARK: By value

  @Test(arguments: secrets.indices, [0, 1, 2])
  func everyEncodingAndSplit(_ index: Int, _ order: Int) {
    let secret = Self.secrets[index]
    let redactor = Redactor()
    for other in Self.secrets.indices.shuffled() where order == 2 {
      redactor.learn(Self.secrets[other])
    }
    if order == 1 {
      redactor.learn(user: "ada", secret: Secret(secret))
    } else {
      redactor.learn(secret)
    }
    for (name, encoded) in Self.encodings(secret) {
      let text = Array("x=<[\(encoded)]>\n".utf8)
      let shown = text.withUnsafeBytes { redactor.mask($0) }
      #expect(String(decoding: shown, as: UTF8.self) == "x=<[***]>\n", "\(name)")
      for cut in stride(from: 0, through: text.count, by: text.count > 600 ? 509 : 1) {
        #expect(Self.masked(redactor, text, pieces: [cut, text.count]) == shown, "\(name), \(cut)")
      }
      #expect(Self.masked(redactor, text, pieces: Array(1...text.count)) == shown, "\(name)")
    }
  }

  @Test(arguments: secrets)
  func base64AtEveryAlignment(_ secret: String) {
    let redactor = Redactor()
    redactor.learn(secret)
    for before in 0..<6 {
      for after in 0..<6 {
        let text =
          String(repeating: "k", count: before) + secret + String(repeating: "\u{7F}", count: after)
        for encoded in [Self.base64(text), Self.urlSafe(Self.base64(text))] {
          // Base64 characters that also encode a neighbouring byte may stay.
          let first = (before * 8 + 5) / 6
          let end = (before + secret.utf8.count) * 8 / 6
          let rest = after == 0 ? "" : String(encoded.dropFirst(end))
          #expect(redactor.mask(encoded) == encoded.prefix(first) + "***" + rest)
        }
      }
    }
  }

  @Test(arguments: ["ada", "a", "ada@shop.example", ""])
  func basicCredential(_ user: String) {
    let redactor = Redactor()
    redactor.learn(user: user, secret: Secret("pass:word\u{E9}"))
    let credential = Self.base64(user + ":pass:word\u{E9}")
    #expect(redactor.mask("<\(credential)>") == "<***>")
    #expect(redactor.mask("{\(Self.urlSafe(credential))}") == "{***}")
    #expect(redactor.mask("pass:word\u{E9}") == "***")
  }

  @Test func partsOfAToken() {
    let redactor = Redactor()
    redactor.learn(Self.jwt)
    let parts = Self.jwt.split(separator: ".")
    for part in parts { #expect(redactor.mask("a \(part), b") == "a ***, b") }
    #expect(redactor.mask("\(parts[1]).\(parts[2])") == "***.***")
    #expect(redactor.mask(Self.jwt) == "***")
    let short = Redactor()
    short.learn("eyJhbGciOiJ.fifteenfifteen1.sixteensixteen16")
    #expect(short.mask("fifteenfifteen1 sixteensixteen16") == "fifteenfifteen1 ***")
  }

  @Test func longestFirstAndOverlaps() {
    let redactor = Redactor()
    for secret in ["abcdefgh", "abcdefgh12345678", "12345678zzzzzzzz"] { redactor.learn(secret) }
    #expect(redactor.mask("abcdefgh12345678.") == "***.")
    #expect(redactor.mask("abcdefgh1234567.") == "***1234567.")
    #expect(redactor.mask("abcdefgh12345678zzzzzzzz.") == "***.")
    #expect(redactor.mask("abcdefghabcdefgh") == "******")
    #expect(redactor.mask("abcdefg") == "abcdefg")
    #expect(redactor.mask("") == "")
  }

  @Test func nothingIsKeptBackWithoutNeed() {
    let redactor = Redactor()
    var stream = Redactor.Stream(redactor)
    #expect(stream.text("hello") == "hello")
    redactor.learn("secret-number-one")
    #expect(stream.text("GET /a HTTP/1.1\r\n") == "GET /a HTT")
    #expect(stream.text("secret-numb") == "P/1.1\r\n")
    #expect(stream.text("er-one!") == "***")
    #expect(stream.text("secret-number-two") == "!secret-num")
    let rest = stream.finish()
    #expect(String(decoding: rest, as: UTF8.self) == "ber-two")
  }

  @Test func learnedBetweenTwoPieces() {
    let redactor = Redactor()
    redactor.learn("some-other-secret")
    var stream = Redactor.Stream(redactor)
    var shown = stream.text("token: fresh-t")
    redactor.learn("fresh-token-42")
    shown += stream.text("oken-42\n")
    #expect(shown + String(decoding: stream.finish(), as: UTF8.self) == "token: ***\n")
  }

  @Test func bytesThatAreNotText() {
    let redactor = Redactor()
    let secret: [UInt8] = [0xFF, 0, 0x80, 0xC3, 1, 2, 3, 0xFE]
    secret.withUnsafeBytes { redactor.learn($0) }
    let shown = ([0x61] + secret + [0xFF]).withUnsafeBytes { redactor.mask($0) }
    #expect(shown == [0x61] + Array("***".utf8) + [0xFF])
    #expect(redactor.mask("<" + Data(secret).base64EncodedString() + ">") == "<***>")
  }

  // MARK: Short secrets: masking them by value would reveal them

  @Test(arguments: [("me", "to"), ("a", "e"), ("1234567", "GET /ap"), ("Bearer", "cookie")])
  func outputTellsNothingOfAShortPassword(_ first: String, _ second: String) {
    let trace = """
      GET /api/me/to?user=ada HTTP/1.1\r
      X: 1234567 Bearer cookie \(Self.base64("ada:" + first)) \(Self.base64("ada:" + second))\r
      {"password":"\(first)","again":"\(second)"}
      """
    let shown = [first, second].map { password in
      let redactor = Redactor()
      redactor.learn(password)
      redactor.learn(user: "ada", secret: Secret(password))
      return redactor.mask(trace)
        + redactor.mask(
          Redactor.maskedQuery("https://ada:\(password)@h/me?password=\(password)&q=to"))
        + Redactor.bodySummary(
          contentType: "application/json",
          bytes: UnsafeRawBufferPointer(start: nil, count: 0), keys: ["password"])
        + Array("{\"password\":\"\(password)\"}".utf8).withUnsafeBytes {
          Redactor.bodySummary(
            contentType: "application/json", bytes: $0, keys: ["password"], tellsSize: false)
        }
    }
    #expect(shown[0] == shown[1])
    #expect(shown[0].utf8.starts(with: trace.utf8))
  }

  // MARK: By place

  @Test(arguments: [
    ("Authorization", true), ("AUTHORIZATION", true), ("proxy-authorization", true),
    ("Cookie", true), ("Set-Cookie", true), ("X-Auth-Token", true), ("x-auth-token", true),
    ("Accept", false), ("X-Auth", false), ("", false),
  ])
  func headers(_ name: String, _ isSensitive: Bool) {
    #expect(Redactor.isSensitive(header: name, recipe: ["x-auth-token"]) == isSensitive)
  }

  // url, with masked query, without query
  @Test(arguments: [
    ("https://h/a", "https://h/a", "https://h/a"),
    ("https://h/a?x=1&token=abc&y=2", "https://h/a?x=1&token=***&y=2", "https://h/a"),
    ("https://h?Access_Token=a;API_KEY=b", "https://h?Access_Token=***;API_KEY=***", "https://h"),
    ("/a?code=x&state=&token", "/a?code=***&state=***&token", "/a"),
    ("/a?%74oken=x&to%6Ben=a=b", "/a?%74oken=***&to%6Ben=***", "/a"),
    ("/a?user[password]=x&user[name]=y", "/a?user[password]=***&user[name]=y", "/a"),
    ("/cb#access_token=x&a=1", "/cb#access_token=***&a=1", "/cb"),
    ("/a?b=1#token=x?sig=y", "/a?b=1#token=***?sig=***", "/a"),
    ("/a?session=x&tokens=y&monkey=z", "/a?session=***&tokens=y&monkey=z", "/a"),
    ("https://ada:pw@h/a?q=@x", "https://h/a?q=@x", "https://h/a"),
    ("https://ada:p@w@h:8/", "https://h:8/", "https://h:8/"),
    ("https:///ada:pw@h/", "https:///h/", "https:///h/"),
    ("https:/ada:pw@h/", "https:/h/", "https:/h/"),
    ("https://u:p\\@evil/x", "https://evil/x", "https://evil/x"),
    ("//ada:pw@h/x", "//h/x", "//h/x"),
    ("ada:pw@proxy:3128", "proxy:3128", "proxy:3128"),
    ("/users/ada@x/y", "/users/ada@x/y", "/users/ada@x/y"),
    ("/u/http://a:b@c", "/u/http://a:b@c", "/u/http://a:b@c"),
    ("https://ada:p/w@h/a", "https://h/a", "https://h/a"),
    ("https://ada:p?w#x@h/a?key=1", "https://h/a?key=***", "https://h/a"),
    ("http://[::1]:80/users/a@b", "http://[::1]:80/users/a@b", "http://[::1]:80/users/a@b"),
    ("http://h:80/users/a@b", "http://h:80/users/a@b", "http://h:80/users/a@b"),
    ("", "", ""), ("?", "?", ""), ("#", "#", ""), ("https://", "https://", "https://"),
  ])
  func urls(_ url: String, _ masked: String, _ bare: String) {
    #expect(Redactor.maskedQuery(url, names: ["Session"]) == masked)
    #expect(Redactor.withoutQuery(url) == bare)
  }

  @Test func everyNamedParameter() {
    let names = [
      "access_token", "token", "code", "state", "api_key", "apikey", "key", "password", "secret",
      "assertion", "sig", "signature",
    ]
    for name in names {
      #expect(Redactor.maskedQuery("/a?\(name)=planted") == "/a?\(name)=***")
    }
  }

  @Test(
    arguments: [
      (
        "application/json; charset=utf-8", "{\"a\":1}", ["token", "user"],
        "[json, 7 bytes: token, user]"
      ),
      ("application/problem+json", "{}", [], "[json, 2 bytes]"),
      (nil, "[1]", nil, "[text, 3 bytes]"), ("text/plain", "x", nil, "[text, 1 byte]"),
      (nil, "{}", ["a\nb"], "[json, 2 bytes: a \u{23CE} b]"),
      ("application/x-www-form-urlencoded", "a=b", nil, "[form, 3 bytes]"),
      ("multipart/form-data; boundary=x", "--x", nil, "[multipart, 3 bytes]"),
      ("TEXT/HTML;charset=utf-8", "<p>", nil, "[html, 3 bytes]"),
      ("application/octet-stream", "\0\0", nil, "[binary, 2 bytes]"),
      ("application/json", "", nil, "[empty]"),
    ] as [(String?, String, [String]?, String)])
  func bodies(_ type: String?, _ body: String, _ keys: [String]?, _ summary: String) {
    let bytes = Array(body.utf8)
    #expect(
      bytes.withUnsafeBytes { Redactor.bodySummary(contentType: type, bytes: $0, keys: keys) }
        == summary)
  }

  private static func masked(_ redactor: Redactor, _ text: [UInt8], pieces ends: [Int]) -> [UInt8] {
    var stream = Redactor.Stream(redactor)
    var shown: [UInt8] = []
    var start = 0
    for end in ends {
      shown += text[start..<end].withUnsafeBytes { stream.feed($0) }
      start = end
    }
    return shown + stream.finish()
  }
}

extension Redactor.Stream {
  fileprivate mutating func text(_ text: String) -> String {
    let shown = Array(text.utf8).withUnsafeBytes { feed($0) }
    return String(decoding: shown, as: UTF8.self)
  }
}
