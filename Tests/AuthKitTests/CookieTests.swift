import Testing

@testable import AuthKit

private let now = Timestamp(seconds: 1_796_047_509)
private let later = Timestamp(seconds: 1_796_047_509 + 100)
private let shop = "https://api.shop.example:443"

extension CookieJar {
  /// A jar with the cookies that `headers` set in a response of `origin` to `path`.
  fileprivate init(_ headers: [String], origin: String = shop, path: String = "/") {
    self.init()
    for header in headers {
      _ = store(setCookie: header, origin: origin, requestPath: path, now: now)
    }
  }

  fileprivate func sent(
    _ origin: String = shop, _ path: String = "/", isSecure: Bool = true, at time: Timestamp = now
  ) -> String? {
    header(for: origin, path: path, isSecure: isSecure, now: time)
  }
}

@Suite struct CookieReading {
  @Test(arguments: [
    ("sid=abc", "sid=abc"), ("sid = abc ; Path=/", "sid=abc"), ("\tsid\t=\tabc\t", "sid=abc"),
    ("sid=", "sid="), ("sid=a=b==", "sid=a=b=="), ("sid=\"a b\"", "sid=\"a b\""),
    ("sid=a,b", "sid=a,b"), ("sid=abc; HttpOnly; SameSite=Lax; Priority=High", "sid=abc"),
    ("sid=abc;;;", "sid=abc"), ("sid=abc; Domain=other.example", "sid=abc"),
    ("sid=abc; Domain=.shop.example", "sid=abc"), ("sid=abc; secure", "sid=abc"),
    ("sid=abc; Path", "sid=abc"), ("SID!#$%&'*+-.^_`|~[]@=1", "SID!#$%&'*+-.^_`|~[]@=1"),
    ("sid=abc; Path=\u{1B}", "sid=abc"), ("sid=abc; Comment=é", "sid=abc"),
  ])
  func takes(setCookie: String, header: String) {
    #expect(CookieJar([setCookie]).sent() == header)
  }

  @Test(arguments: [
    ("", Cookie.Refusal.noName), ("sid", .noName), ("=abc", .noName), ("  =abc", .noName),
    ("; Path=/", .noName), ("sid; a=b", .noName), (";a=b", .noName),
    ("sid=a\u{0}b", .badBytes), ("sid=a\nb", .badBytes), ("sid=a\rb", .badBytes),
    ("sid=a\r\nX-Evil: 1", .badBytes), ("sid=a\u{7F}", .badBytes), ("sid=a\tb", .badBytes),
    ("sid=a\u{1B}[0m", .badBytes), ("sid=\u{E9}", .badBytes), ("sid=a\u{301}", .badBytes),
    ("si d=a", .badBytes), ("s\u{E9}d=a", .badBytes), ("s\r\nid=a", .badBytes),
    ("sid=\r\na", .badBytes),
    ("__Secure-sid=a", .prefix), ("__Host-sid=a", .prefix), ("__Host-sid=a; Secure", .prefix),
    ("__Host-sid=a; Path=/", .prefix), ("__Host-sid=a; Secure; Path=/x", .prefix),
    ("__Host-sid=a; Secure; Path=/; Domain=api.shop.example", .prefix),
    ("__host-sid=a; Secure", .prefix), ("__SECURE-sid=a", .prefix),
  ])
  func refuses(setCookie: String, refusal: Cookie.Refusal) {
    var jar = CookieJar()
    let outcome = jar.store(setCookie: setCookie, origin: shop, requestPath: "/", now: now)
    #expect(outcome == .refused(refusal))
    #expect(jar.isEmpty)
  }

  @Test(arguments: [
    "__Secure-sid=a; Secure", "__Secure-sid=a; Secure; Path=/; Domain=shop.example",
    "__Host-sid=a; Secure; Path=/", "__Host-sid=a; path=/; SECURE; Domain=", "__Hostsid=a",
  ])
  func keepsPrefixRules(setCookie: String) {
    #expect(CookieJar([setCookie]).sent() != nil)
  }

  @Test(arguments: ["sid=a; Secure", "__Secure-sid=a; Secure", "__Host-sid=a; Secure; Path=/"])
  func refusesSecureOverHTTP(setCookie: String) {
    for origin in ["http://127.0.0.1:8101", "http://api.shop.example:80"] {
      var jar = CookieJar()
      #expect(
        jar.store(setCookie: setCookie, origin: origin, requestPath: "/", now: now)
          == .refused(.secureOverHTTP))
    }
  }

  @Test func namesAreComparedByBytes() {
    let jar = CookieJar(["sid=1", "SID=2", "sid=3"])
    #expect(jar.sent() == "sid=3; SID=2")
  }

  @Test func readsOneWithoutAJar() throws {
    let cookie = try Cookie(
      setCookie: "jwt=a.b.c; Max-Age=60; Path=/api; Secure", origin: shop, requestPath: "/",
      now: now)
    #expect(
      cookie
        == Cookie(
          name: "jwt", value: "a.b.c", path: "/api", secure: true,
          expires: Timestamp(seconds: now.seconds + 60), originText: shop))
  }
}

@Suite struct CookieOrigins {
  @Test(arguments: [
    "https://api.shop.example:8443", "http://api.shop.example:443", "http://api.shop.example:80",
    "https://shop.example:443", "https://evil.shop.example:443", "https://x.api.shop.example:443",
    "https://api.shop.example.evil:443", "https://API.shop.example:443", "",
    "https://api.shop.example:443\u{301}", "https://api.shop.example:4433",
  ])
  func neverLeavesItsOrigin(other: String) {
    let jar = CookieJar(["sid=a", "d=b; Domain=.shop.example", "e=c; Domain=shop.example"])
    #expect(jar.sent(other) == nil)
    #expect(jar.sent() == "sid=a; d=b; e=c")
  }

  @Test func portsAndSiblingsKeepTheirOwn() {
    let origins = [
      "http://127.0.0.1:8101", "http://127.0.0.1:8102", "http://localhost:8101",
      "https://a.shop.example:443", "https://b.shop.example:443",
    ]
    var jar = CookieJar()
    for (index, origin) in origins.enumerated() {
      let outcome = jar.store(
        setCookie: "sid=\(index); Domain=shop.example", origin: origin, requestPath: "/", now: now)
      #expect(outcome == .stored)
    }
    for (index, origin) in origins.enumerated() {
      #expect(jar.sent(origin) == "sid=\(index)")
    }
    // Removing one leaves the others.
    #expect(
      jar.store(
        setCookie: "sid=; Max-Age=0", origin: origins[0], requestPath: "/", now: now) == .removed)
    #expect(jar.sent(origins[0]) == nil)
    #expect(jar.sent(origins[1]) == "sid=1")
  }

  @Test func secureStaysOffHTTP() {
    let jar = CookieJar(["a=1; Secure", "b=2"])
    #expect(jar.sent(isSecure: true) == "a=1; b=2")
    #expect(jar.sent(isSecure: false) == "b=2")
  }
}

@Suite struct CookiePaths {
  @Test(arguments: [
    ("/", "/", true), ("/", "/a/b", true), ("/", "", true), ("/", "*", true), ("/", "/?q", true),
    ("/a", "/a", true), ("/a", "/a/", true), ("/a", "/a/b", true), ("/a", "/a?q=/", true),
    ("/a", "/ab", false), ("/a", "/", false), ("/a", "/A", false), ("/a", "/b?x=/a", false),
    ("/a/", "/a", false), ("/a/", "/a/", true), ("/a/", "/a/b", true), ("/a", "/a#f", true),
    ("/a/b", "/a", false), ("/a", "/%61", false), ("/a", "a", false), ("/a", "/a\u{301}", false),
  ])
  func match(cookiePath: String, requestPath: String, isSent: Bool) {
    let jar = CookieJar(["sid=1; Path=\(cookiePath)"])
    #expect(jar.sent(shop, requestPath) == (isSent ? "sid=1" : nil))
  }

  @Test(arguments: [
    ("", "/"), ("/", "/"), ("/login", "/"), ("/api/login", "/api"), ("/api/", "/api"),
    ("/api/v1/login?next=/x/y", "/api/v1"), ("login", "/"), ("a/b", "/"), ("//x", "/"),
    ("/login#a/b", "/"),
  ])
  func defaultPath(requestPath: String, path: String) {
    for header in ["sid=1", "sid=1; Path=", "sid=1; Path=x", "sid=1; Path=/y; Path=x"] {
      #expect(CookieJar([header], path: requestPath).cookies.map(\.path) == [path])
    }
  }

  @Test func theLastPathCounts() {
    #expect(CookieJar(["sid=1; Path=/a; path=/b"]).cookies.map(\.path) == ["/b"])
  }

  @Test func longestPathFirstThenOldest() {
    let jar = CookieJar([
      "a=1; Path=/", "b=2; Path=/x/y", "c=3; Path=/x", "d=4; Path=/x/y", "a=5; Path=/x/y",
      "a=6; Path=/",
    ])
    #expect(jar.sent(shop, "/x/y/z") == "b=2; d=4; a=5; c=3; a=6")
    #expect(jar.sent(shop, "/x") == "c=3; a=6")
    #expect(jar.sent(shop, "/") == "a=6")
  }
}

@Suite struct CookieLife {
  @Test(arguments: [
    ("sid=a; Max-Age=100", true, false), ("sid=a; Max-Age=101", true, true),
    ("sid=a; Max-Age=0", false, false), ("sid=a; Max-Age=-1", false, false),
    ("sid=a; Max-Age=-99999999999999999999999", false, false), ("sid=a; Max-Age=00", false, false),
    ("sid=a; Max-Age=99999999999999999999999", true, true), ("sid=a; Max-Age=", true, true),
    ("sid=a; Max-Age=+0", true, true), ("sid=a; Max-Age=-", true, true),
    ("sid=a; Max-Age=1x", true, true), ("sid=a; Max-Age=1.5", true, true),
    ("sid=a; max-age=50; MAX-AGE=500", true, true),
    ("sid=a; Expires=Mon, 30 Nov 2026 14:05:10 GMT", true, false),
    ("sid=a; Expires=Mon, 30 Nov 2026 14:05:09 GMT", false, false),
    ("sid=a; Expires=Tue, 01 Dec 2026 14:05:10 GMT", true, true),
    ("sid=a; Expires=Thu, 01 Jan 1970 00:00:00 GMT", false, false),
    ("sid=a; Expires=Mon, 01 Jan 1601 00:00:00 GMT", false, false),
    ("sid=a; Expires=Fri, 31 Dec 9999 23:59:59 GMT", true, true),
    ("sid=a; Expires=0", true, true), ("sid=a; Expires=-1", true, true),
    ("sid=a; Max-Age=0; Expires=Tue, 01 Dec 2026 14:05:10 GMT", false, false),
    ("sid=a; Max-Age=500; Expires=Thu, 01 Jan 1970 00:00:00 GMT", true, true),
    ("sid=a; Max-Age=x; Expires=Thu, 01 Jan 1970 00:00:00 GMT", false, false),
    ("sid=a; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=500", true, true),
  ])
  func ends(setCookie: String, isSentNow: Bool, isSentLater: Bool) {
    var jar = CookieJar(["sid=old"])
    let outcome = jar.store(setCookie: setCookie, origin: shop, requestPath: "/", now: now)
    #expect(outcome == (isSentNow ? .stored : .removed))
    #expect(jar.isEmpty == !isSentNow)
    #expect(jar.sent() == (isSentNow ? "sid=a" : nil))
    #expect(jar.sent(at: later) == (isSentLater ? "sid=a" : nil))
  }

  @Test func endingNeedsTheSamePathAndName() {
    var jar = CookieJar(["sid=a; Path=/x", "sid=b; Path=/"])
    _ = jar.store(setCookie: "sid=; Max-Age=0; Path=/x", origin: shop, requestPath: "/", now: now)
    #expect(jar.cookies.map(\.value) == ["b"])
    _ = jar.store(setCookie: "Sid=; Max-Age=0; Path=/", origin: shop, requestPath: "/", now: now)
    #expect(jar.cookies.map(\.value) == ["b"])
  }

  @Test(arguments: [
    ("Mon, 30 Nov 2026 14:05:09 GMT", 1_796_047_509.0 as Double?),
    ("Mon, 30-Nov-2026 14:05:09 GMT", 1_796_047_509), ("30 Nov 26 14:05:09", 1_796_047_509),
    ("Mon Nov 30 14:05:09 2026", 1_796_047_509), ("2026 November 30 14:05:09", 1_796_047_509),
    ("30 november 2026 14:5:9", 1_796_047_509), ("14:05:09 30 NOV 2026 +0100", 1_796_047_509),
    ("30-Nov-2026 14:05:09Z", 1_796_047_509), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
    ("01 Jan 70 00:00:00", 0), ("01 Jan 69 00:00:00", 3_124_224_000),
    ("30th Nov 2026 14:05:09", 1_796_047_509), ("01 Jan 1601 00:00:00", -11_644_473_600),
    ("01 Jan 1600 00:00:00", nil), ("01 Jan 0001 00:00:00", 978_307_200),
    ("31 Nov 2026 14:05:09", nil),
    ("32 Nov 2026 14:05:09", nil), ("00 Nov 2026 14:05:09", nil), ("30 Nov 2026 24:05:09", nil),
    ("30 Nov 2026 14:60:09", nil), ("30 Nov 2026 14:05:60", nil), ("30 Nov 2026 14:05", nil),
    ("30 Nov 2026", nil), ("30 Foo 2026 14:05:09", nil), ("Nov 2026 14:05:09", nil),
    ("30 Nov 14:05:09", nil), ("30 Nov 20266 14:05:09", nil), ("30 Nov 2026 014:05:09", nil),
    ("30 Nov 2026 14:05:099", nil), ("", nil), ("session", nil), ("\u{0}", nil), ("0", nil),
    ("99999999999999999999", nil), ("30 No\u{301}v 2026 14:05:09", nil),
  ])
  func dates(text: String, seconds: Double?) {
    #expect(Timestamp.parse(cookieDate: Array(text.utf8))?.seconds == seconds)
  }
}

@Suite struct CookieLimits {
  @Test func fiftyCookies() {
    var jar = CookieJar((1...50).map { "c\($0)=v; Max-Age=\($0 == 7 ? 50 : 5000)" })
    #expect(jar.cookies.count == 50)
    func store(_ header: String, at time: Timestamp = now) -> CookieJar.Outcome {
      jar.store(setCookie: header, origin: shop, requestPath: "/", now: time)
    }
    #expect(store("c51=v") == .overflow)
    #expect(store("c1=w; Max-Age=5000") == .stored)
    #expect(store("c99=; Max-Age=0") == .removed)
    #expect(jar.cookies.count == 50)
    #expect(jar.sent()?.hasPrefix("c1=w; c2=v") == true)
    // Expired cookies make room.
    #expect(store("c51=v", at: later) == .stored)
    #expect(!jar.cookies.contains { $0.name == "c7" })
    #expect(store("c52=v", at: later) == .overflow)
    #expect(store("c2=; Max-Age=0", at: later) == .removed)
    #expect(store("c52=v", at: later) == .stored)
  }

  @Test func fourKiBEach() {
    let longest = "n=" + String(repeating: "v", count: 4095)
    var jar = CookieJar(["n=old"])
    #expect(
      jar.store(setCookie: longest + "v", origin: shop, requestPath: "/", now: now) == .overflow)
    #expect(jar.sent() == "n=old")
    #expect(
      jar.store(
        setCookie: longest + "; Path=/; Secure", origin: shop, requestPath: "/", now: now)
        == .stored)
    #expect(jar.sent() == longest)
  }

  @Test func sixtyFourKiBInAll() {
    let value = String(repeating: "v", count: 4000)
    var jar = CookieJar()
    let outcomes = (0..<20).map { index in
      jar.store(setCookie: "c\(index)=\(value)", origin: shop, requestPath: "/", now: now)
    }
    #expect(
      outcomes == Array(repeating: .stored, count: 16) + Array(repeating: .overflow, count: 4))
    // Setting the same value again takes no more room.
    #expect(
      jar.store(setCookie: "c3=\(value)", origin: shop, requestPath: "/", now: now) == .stored)
    let small = CookieJar(jar.cookies.map { "\($0.name)=\($0.value)" })
    #expect(small == jar)
    #expect(jar.json.serialized().utf8.count < 70_000)
  }

  @Test func longPathsAreNotKept() {
    let jar = CookieJar(["sid=1; Path=/\(String(repeating: "p", count: 1024))"])
    #expect(jar.cookies.map(\.path) == ["/"])
  }
}

@Suite struct CookieKeeping {
  @Test func roundTrip() throws {
    var jar = CookieJar(["a=\"q\\\"; Max-Age=60; Secure", "b=; Path=/x"])
    _ = jar.store(
      setCookie: "c=1; Expires=Mon, 30 Nov 2026 14:06:00 GMT", origin: "http://127.0.0.1:8101",
      requestPath: "/api/login", now: now)
    #expect(jar.cookies.count == 3)
    let text = jar.json.serialized()
    #expect(CookieJar(json: try JSONValue.parse(text)) == jar)
    #expect(CookieJar(json: CookieJar().json)?.isEmpty == true)
  }

  static let good =
    #"{"name":"a","value":"b","path":"/","secure":true,"origin":"https://h:443","expires":1}"#

  @Test(arguments: [
    ("\"a\"", "1"), ("\"a\"", "\"\""), ("\"a\"", "\"a=b\""), ("\"a\"", "\"a;b\""),
    ("\"a\"", #""a\r\nX: 1""#), ("\"b\"", #""\r\n""#), ("\"b\"", "\"a; b=c\""), ("\"b\"", "null"),
    ("\"b\"", #""\u0000""#), ("\"b\"", #""é""#), ("true", "\"true\""), ("true", "null"),
    ("\"/\"", "1"), (":1", ":\"1\""), (":1", ":1e999"), ("\"origin\"", "\"o\""),
    ("\"https://h:443\"", "null"),
  ])
  func refusesDamage(old: String, new: String) throws {
    let damaged = Self.replacingFirst(old, by: new)
    #expect(damaged != Self.good)
    #expect(CookieJar(json: try JSONValue.parse("[\(Self.good)]")) != nil)
    #expect(CookieJar(json: try JSONValue.parse("[\(damaged)]")) == nil)
  }

  private static func replacingFirst(_ old: String, by new: String) -> String {
    let parts = good.split(separator: old, maxSplits: 1, omittingEmptySubsequences: false)
    return parts.joined(separator: new)
  }

  @Test(arguments: ["{}", "null", "[1]", "[null]", "[[]]", "\"\""])
  func refusesOtherShapes(text: String) throws {
    #expect(CookieJar(json: try JSONValue.parse(text)) == nil)
  }

  @Test func refusesTooMany() throws {
    let many = "[" + Array(repeating: Self.good, count: 51).joined(separator: ",") + "]"
    #expect(CookieJar(json: try JSONValue.parse(many)) == nil)
  }
}
