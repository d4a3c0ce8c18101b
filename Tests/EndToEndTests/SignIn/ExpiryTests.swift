import Glibc
import Testing

/// When a session expires: design 5 and 6, rules B5 and B6.
@Suite struct ExpiryTests {
  private func base64URL(_ text: String) -> String {
    let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    var (out, bits, count): ([UInt8], UInt32, UInt32) = ([], 0, 0)
    for byte in text.utf8 {
      (bits, count) = (bits << 8 | UInt32(byte), count + 8)
      while count >= 6 {
        count -= 6
        out.append(letters[Int(bits >> count & 63)])
      }
    }
    if count > 0 { out.append(letters[Int(bits << (6 - count) & 63)]) }
    return String(decoding: out, as: UTF8.self)
  }

  private func jwt(_ payload: String) -> String {
    base64URL(#"{"alg":"HS256","typ":"JWT"}"#) + "." + base64URL(payload) + ".c2lnbmF0dXJl"
  }

  /// The only session in `status --json`.
  private func status(_ box: Sandbox) async throws -> JSON {
    let run = try await box.run("status", "--json")
    try #require(run.status == 0, "\(run.stderr)")
    #expect(run.stderr == "")
    return try #require(try JSON(parsing: run.stdout)[0])
  }

  @Test func everyFormOfExpiryIsUnderstood() async throws {
    try await Sandbox.with { box in
      // In two hours, in whole seconds, so that all formats give the same time.
      let end = (Shop.now() + 7200).rounded(.down)
      let whole = "\(Int(end))"
      let shifted = Shop.date(end + 19_800, "%Y-%m-%dT%H:%M:%S")
      let utc = Shop.date(end, "%Y-%m-%dT%H:%M:%S")
      let token = #""access_token":"opaque""#
      let cases: [(name: String, body: String)] = [
        ("seconds to live", #"{\#(token),"expires_in":7200}"#),
        ("seconds to live, fraction", #"{\#(token),"expires_in":7199.75}"#),
        ("seconds to live, exponent", #"{\#(token),"expires_in":7.2e3}"#),
        ("seconds to live, text", #"{\#(token),"expires_in":"7200"}"#),
        ("milliseconds to live", #"{\#(token),"expires_in_ms":7200000}"#),
        ("epoch", #"{\#(token),"exp":\#(whole)}"#),
        ("epoch, fraction", #"{\#(token),"exp":\#(whole).6828861}"#),
        ("epoch, text", #"{\#(token),"expires_at":"\#(whole)"}"#),
        ("epoch in milliseconds", #"{\#(token),"expires_at":\#(whole)000}"#),
        ("ISO 8601", #"{\#(token),"expires_at":"\#(utc)Z"}"#),
        ("ISO 8601, fraction", #"{\#(token),"expires_at":"\#(utc).099Z"}"#),
        ("ISO 8601, long fraction", #"{\#(token),"expires_at":"\#(utc).123456789Z"}"#),
        ("ISO 8601, offset", #"{\#(token),"expires_at":"\#(shifted)+05:30"}"#),
        ("ISO 8601, offset without colon", #"{\#(token),"expires_at":"\#(shifted).5+0530"}"#),
        ("ISO 8601, no offset", #"{\#(token),"expires_at":"\#(utc)"}"#),
        (
          "ISO 8601, space", #"{\#(token),"expires_at":"\#(Shop.date(end, "%Y-%m-%d %H:%M:%S"))Z"}"#
        ),
        ("JWT", #"{"access_token":"\#(jwt(#"{"exp":\#(whole)}"#))"}"#),
        ("JWT, fraction", #"{"access_token":"\#(jwt(#"{"exp":\#(whole).25}"#))"}"#),
        (
          "the answer before the JWT", #"{"access_token":"\#(jwt(#"{"exp":1}"#))","exp":\#(whole)}"#
        ),
      ]
      let script = Script()
      let shop = try Shop(box, try box.recorder(answering: script.answering).url)
      for (name, body) in cases {
        script["POST /login"] = .http(200, body)
        try await shop.signIn()
        let stored = try #require(try await shop.payload()["expires_at"]?.number, "\(name)")
        // Only for a lifetime in seconds, the expiry may be off by the duration of the sign-in.
        #expect(stored > end - 2 && stored < end + 60, "\(name): \(stored - end)")
        // status shows the stored time: a few formats are enough here.
        guard ["epoch, fraction", "ISO 8601, offset", "JWT"].contains(name) else { continue }
        let seen = try await status(box)
        #expect(seen["state"] == "valid", "\(name)")
        #expect(seen["expires_at"]?.string == Shop.date(stored, "%Y-%m-%dT%H:%M:%SZ"), "\(name)")
        let left = try #require(seen["seconds_left"]?.int, "\(name)")
        #expect(left > 7000 && left <= 7230, "\(name): \(left)")
      }
    }
  }

  @Test func untoldExpiryIsNotInvented() async throws {
    try await Sandbox.with { box in
      let script = Script()
      let recorder = try box.recorder(answering: script.answering)
      let shop = try Shop(box, recorder.url)
      for body in [
        #"{"access_token":"opaque"}"#, #"{"access_token":"\#(jwt(#"{"sub":"1"}"#))"}"#,
        #"{"access_token":"opaque","expires_in":null}"#,
        #"{"access_token":"opaque","expires_at":"tomorrow"}"#,
        #"{"access_token":"opaque","expires_at":"2026-02-30T00:00:00Z"}"#,
      ] {
        script["POST /login"] = .http(200, body)
        let login = try await shop.login()
        #expect(login.status == 0)
        let first = login.stderr.split(separator: "\n").first
        #expect(
          first == "Signed in to shop as ada@example.com. The server did not say when it expires.",
          "\(body)")
        let seen = try await status(box)
        #expect(seen["expires_at"] == JSON.null, "\(body)")
        #expect(seen["seconds_left"] == JSON.null)
        #expect(seen["state"] == "valid")
      }
      // Only the server knows that the session ended: the request is sent, and its 401 exits with
      // 11.
      script["GET /me"] = .http(200, "{}")
      #expect(try await box.run("get", "/me").status == 0)
      script["GET /me"] = .http(401, "{}")
      #expect(try await box.run("get", "/me").status == 11)
    }
  }

  private static let numbers = [
    "1e308", "-1e308", "1e309", "1e-400", "9223372036854775807", "9223372036854775808",
    "-9223372036854775809", "99999999999999999999", "-9e18", "0", "-1", "0.1", "1e11",
    "253402300800", "\"1e308\"", "\"NaN\"", "\"-Infinity\"", "\"9999-12-31T23:59:60Z\"",
    "\"0000-01-01T00:00:00+23:59\"", "true", "{}",
  ]

  /// Responses with `number` in each place for a time. An absurd value is skipped for the next
  /// place, so one response covers all places; a number that is accepted needs its own.
  private func answers(_ number: String) -> [(field: String, answer: Recorder.Answer)] {
    let plain = number.filter { $0 != "\"" }
    let fields = ["expires_in", "expires_in_ms", "expires_at", "exp"]
    let claim = jwt(#"{"exp":\#(number)}"#)
    let headers = [
      ("Date", plain), ("Set-Cookie", "a=b; Max-Age=\(plain)"),
      ("Set-Cookie", "c=d; Expires=\(plain)"),
    ]
    let all = fields.map { "\"\($0)\":\(number)" }.joined(separator: ",")
    var answers: [(String, Recorder.Answer)] = [
      ("all", .http(200, #"{"access_token":"\#(claim)",\#(all)}"#, headers: headers)),
      ("Retry-After", .http(429, "{}", headers: [("Retry-After", plain)])),
    ]
    guard ["0", "0.1", "1e11", "\"9999-12-31T23:59:60Z\""].contains(number) else { return answers }
    answers += fields.map { ($0, .http(200, #"{"access_token":"opaque","\#($0)":\#(number)}"#)) }
    answers.append(("jwt", .http(200, #"{"access_token":"\#(claim)"}"#)))
    return answers
  }

  /// The table of rule B5, numbers by fields: the sign-in, and the commands that read the stored
  /// value.
  @Test(arguments: [numbers[..<7], numbers[7..<14], numbers[14...]])
  func absurdNumberTrapsNowhere(_ numbers: ArraySlice<String>) async throws {
    try await Sandbox.with { box in
      let script = Script()
      let shop = try Shop(
        box, try box.recorder(answering: script.answering).url, without: ["refresh"],
        more: "[request]\ncookies = true")
      script["GET /me"] = .http(200, "{}")
      for number in numbers {
        for (field, answer) in answers(number) {
          script["POST /login"] = answer
          let login = try await shop.login()
          #expect(
            login.status == (field == "Retry-After" ? 4 : 0), "\(number) \(field): \(login.stderr)")
        }
        let get = try await box.run("get", "/me")
        #expect([0, 11].contains(get.status), "\(number): \(get.status) \(get.stderr)")
        // The store is untrusted input too: another program may have written it.
        guard !number.hasPrefix("\"") else { continue }
        try await shop.edit(["expires_at": 1, "lifetime": 1])
        try await shop.rewrite { text in
          text.replacing("\"expires_at\":1,", with: "\"expires_at\":\(number),")
            .replacing("\"lifetime\":1,", with: "\"lifetime\":\(number),")
        }
        for arguments in [["status", "--json"], ["get", "/me"]] {
          let run = try await box.run(arguments)
          #expect([0, 11, 12].contains(run.status), "\(number) \(arguments): \(run.stderr)")
        }
      }
    }
  }

  /// Renewed if less than 30 s or a quarter of the lifetime is left, whichever is less.
  @Test func renewsBeforeItIsTooLate() async throws {
    try await Shop.with { shop, api in
      var renewals = 0
      for (left, lifetime, renews) in [
        (45.0, 900.0, false), (25.0, 900.0, true), (-5.0, 900.0, true), (20.0, 60.0, false),
        (10.0, 60.0, true), (25.0, 80.0, false), (3600.0, 7200.0, false), (-100_000.0, 60.0, true),
      ] {
        try await shop.age(ended: -left, lifetime: lifetime)
        let run = try await shop.box.run("get", "/me")
        #expect(run.stdout == Shop.me)
        #expect(run.stderr == "")
        #expect(run.status == 0)
        if renews { renewals += 1 }
        #expect(try await api.count("POST /refresh") == renewals, "\(left) of \(lifetime)")
      }
      #expect(try await api.count("GET /me") == 8)
    }
  }

  /// If the server's Date differs by more than 30 s, the expiry is stored relative to it.
  @Test(arguments: [3600.0, -3600.0, -86_400.0]) func clockSkewDoesNotMakeItEnd(
    _ skew: Double
  ) async throws {
    try await Sandbox.with { box in
      let script = Script()
      let recorder = try box.recorder(answering: script.answering)
      let shop = try Shop(box, recorder.url)
      let server = Shop.now() + skew
      script["GET /me"] = .http(200, "{}")
      for claim in [
        #""exp":\#(Int(server + 900))"#,
        #""expires_at":"\#(Shop.date(server + 900, "%Y-%m-%dT%H:%M:%SZ"))""#, #""expires_in":900"#,
      ] {
        script["POST /login"] = .http(
          200, #"{"access_token":"one","refresh_token":"two",\#(claim)}"#,
          headers: [("Date", Shop.date(server))])
        try await shop.signIn()
        let left = try #require(try await status(box)["seconds_left"]?.int)
        #expect(left > 840 && left <= 901, "\(claim): \(left)")
        #expect(try await box.run("get", "/me").status == 0)
      }
      #expect(!recorder.texts.contains { $0.hasPrefix("POST /refresh") })
    }
  }

  /// A token that is already expired after a refresh is used once, with a warning.
  @Test func tokenThatComesEndedIsUsedOnce() async throws {
    try await Sandbox.with { box in
      let script = Script()
      let recorder = try box.recorder(answering: script.answering)
      let shop = try Shop(box, recorder.url)
      let past = Int(Shop.now() - 3600)
      script["POST /login"] = .http(
        200, #"{"access_token":"one","refresh_token":"two","exp":\#(past)}"#)
      script["POST /refresh"] = .http(
        200, #"{"access_token":"new","refresh_token":"newer","exp":\#(past)}"#)
      script["GET /me"] = .http(200, "{}")
      try await shop.signIn()
      let run = try await box.run("get", "/me")
      #expect(run.status == 0, "\(run.stderr)")
      #expect(run.stdout == "{}")
      #expect(run.stderr.hasPrefix("authctl: warning: shop: "), "\(run.stderr)")
      let asked = recorder.texts.map { $0.prefix { $0 != "\r\n" } }
      #expect(
        asked == ["POST /login HTTP/1.1", "POST /refresh HTTP/1.1", "GET /me HTTP/1.1"], "\(asked)")
      #expect(recorder.texts.last?.contains("\r\nAuthorization: Bearer new\r\n") == true)
    }
  }
}
