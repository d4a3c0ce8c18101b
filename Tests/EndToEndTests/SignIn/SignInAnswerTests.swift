import Testing

/// Every kind of response to a sign-in: design 2, 3 and 4, rules B6, C4. A failed login never
/// changes the stored session.
@Suite struct SignInAnswerTests {
  private static let placeHint =
    "hint: authctl profile set shop session.access_token=/POINTER\n"
  private static let pageHint =
    "hint: the answer is a web page: this path may be for browsers only\n"

  /// Runs `body` with a shop whose responses the test sets, and a stored session of ada.
  private func withScript(
    session: String = "", _ body: @Sendable (Shop, Script, Recorder) async throws -> Void
  ) async throws {
    try await Sandbox.with { box in
      let script = Script()
      let recorder = try box.recorder(answering: script.answering)
      let shop = try Shop(box, recorder.url, session: session)
      script["POST /login"] = Script.tokens()
      if session.isEmpty { try await shop.signIn() }
      try await body(shop, script, recorder)
    }
  }

  /// Runs a login that must fail without changing the store, after this number of requests.
  private func fails(
    _ shop: Shop, _ recorder: Recorder, _ name: String, _ status: Int32, _ stderr: String?,
    requests: Int = 1
  ) async throws -> Run {
    let before = try await shop.box.items()
    let count = recorder.connections.count
    let run = try await shop.login()
    #expect(run.status == status, "\(name): \(run.stderr)")
    #expect(run.stdout == "", "\(name)")
    if let stderr { #expect(run.stderr == stderr, "\(name)") }
    #expect(run.hasErrorForm, "\(name): \(run.stderr)")
    #expect(recorder.connections.count == count + requests, "\(name)")
    #expect(try await shop.box.items() == before, "\(name)")
    return run
  }

  @Test func answerWithoutTokenShowsItsShapeAndNoValue() async throws {
    try await withScript { shop, script, recorder in
      let value = shop.box.canary.make("value")
      let deep = String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000)
      let cases: [(String, Recorder.Answer, String)] = [
        (
          "another object",
          .http(
            200, #"{"user":{"name":"\#(value)","id":7},"roles":["\#(value)"],"ok":true,"n":null}"#),
          "json: object: user object (name string, id number), roles array (string), ok boolean, "
            + "n null"
        ),
        ("null", .http(200, #"{"access_token":null}"#), "json: object: access_token null"),
        ("empty text", .http(200, #"{"access_token":""}"#), "json: object: access_token string"),
        (
          "no text", .http(200, #"{"access_token":{"a":"\#(value)"}}"#),
          "json: object: access_token object (a string)"
        ),
        ("array", .http(200, "[]"), "json: empty array"),
        ("string", .http(200, "\"\(value)\""), "json: string"),
        ("text", .http(200, value, type: "text/plain"), "\(value.utf8.count) bytes of text/plain"),
        (
          "HTML", .http(200, "<html>\(value)", type: "text/html"),
          "\(value.utf8.count + 6) bytes of text/html"
        ),
        ("empty", .http(200), "an empty body"),
        (
          "cut off", .http(200, #"{"access_token":"\#(value)"#),
          "\(value.utf8.count + 17) bytes of application/json"
        ),
        (
          "two values", .http(200, #"{"access_token":"\#(value)"}{}"#),
          "\(value.utf8.count + 21) bytes of application/json"
        ),
        ("1e5 deep", .http(200, deep), "200000 bytes of application/json"),
        (
          "1e5 deep, cut off", .http(200, String(repeating: #"{"a":"#, count: 100_000)),
          "500000 bytes of application/json"
        ),
      ]
      for (name, answer, shape) in cases {
        script["POST /login"] = answer
        _ = try await fails(
          shop, recorder, name, 15,
          "authctl: shop: no token in the answer to POST \(shop.url)/login (HTTP 200, \(shape))\n"
            + (name == "HTML" ? Self.pageHint : Self.placeHint))
      }
      for status in [201, 202, 204] {
        script["POST /login"] = .http(status)
        _ = try await fails(
          shop, recorder, "\(status)", 15,
          "authctl: shop: no token in the answer to POST \(shop.url)/login "
            + "(HTTP \(status), an empty body)\n" + Self.placeHint)
      }
    }
  }

  @Test func tokenThatNoHeaderCanCarryIsNotStored() async throws {
    try await withScript { shop, script, recorder in
      for token in [#"x\r\nHost: evil.example"#, #"x\u0000y"#, #"x\u0085y"#, "x ", "é"] {
        script["POST /login"] = .http(200, #"{"access_token":"\#(token)"}"#)
        _ = try await fails(shop, recorder, token, 15, nil)
      }
      script["POST /login"] = .http(
        200, #"{"access_token":"\#(String(repeating: "x", count: 65_537))"}"#)
      _ = try await fails(shop, recorder, "longer than 64 KiB", 15, nil)
    }
  }

  @Test func doubledKeyIsRefusedWhicheverStandsFirst() async throws {
    try await withScript { shop, script, recorder in
      for body in [
        #"{"access_token":"a","access_token":"b"}"#, #"{"access_token":"b","access_token":"a"}"#,
        #"{"access_token":"a","access_token":"a"}"#, #"{"access_token":null,"access_token":"a"}"#,
        #"{"access_token":"a","refresh_token":"b","refresh_token":"c"}"#,
        #"{"access_token":"a","expires_in":1,"expires_in":900}"#,
        #"{"access_token":"a","access\u005ftoken":"b"}"#,
        #"{"success":true,"success":false,"access_token":"a"}"#,
      ] {
        script["POST /login"] = .http(200, body)
        let run = try await fails(shop, recorder, body, 15, nil)
        #expect(run.stderr.hasPrefix("authctl: shop: "), "\(run.stderr)")
      }
    }
  }

  @Test func doubledHeaderIsRefusedUnlessBothAreEqual() async throws {
    try await withScript(session: #"access_token = ["header:X-Auth-Token"]"#) {
      shop, script, recorder in
      func answer(_ first: String, _ second: String) -> Recorder.Answer {
        .http(200, "{}", headers: [("X-Auth-Token", first), ("x-auth-token", second)])
      }
      for (first, second) in [("one", "two"), ("two", "one"), ("one", "one ;x")] {
        script["POST /login"] = answer(first, second)
        let run = try await fails(shop, recorder, "\(first), \(second)", 15, nil)
        #expect(run.stderr.hasPrefix("authctl: shop: "), "\(run.stderr)")
      }
      script["POST /login"] = answer("one", "one")
      try await shop.signIn()
      #expect(try await shop.accessToken() == "one")
    }
  }

  @Test func endlessAnswerEndsAtItsBound() async throws {
    try await Shop.with { shop, api in
      let box = shop.box
      let before = try await box.items()
      let endless: [JSON] = [
        ["path": "/login", "endless": true],
        ["path": "/login", "endless": true, "status": 401, "content_type": "text/plain"],
        ["path": "/login", "endless": true, "body": "[[[[", "content_type": "application/json"],
      ]
      for trick in endless {
        try await api.misbehave(trick)
        let run = try await shop.login()
        #expect(run.status == 15, "\(run.stderr)")
        #expect(run.hasErrorForm)
        #expect(run.stderr.hasPrefix("authctl: shop: "), "\(run.stderr)")
      }
      #expect(try await box.items() == before)
    }
  }

  @Test func gzipBombEndsAtTheSizeOfWhatItUnpacksTo() async throws {
    try await withScript { shop, script, recorder in
      let packed = try await shop.box.run(
        "-c", "head -c 50000000 /dev/zero | tr '\\0' ' ' | gzip -9", program: "/bin/sh")
      #expect(packed.stdoutBytes.count < 60_000)
      let head =
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\n"
        + "Content-Length: \(packed.stdoutBytes.count)\r\nConnection: close\r\n\r\n"
      script["POST /login"] = .bytes(Array(head.utf8) + packed.stdoutBytes)
      _ = try await fails(shop, recorder, "gzip bomb", 15, nil)
    }
  }

  @Test func redirectIsNoSignInAndNamesItsTarget() async throws {
    try await withScript { shop, script, recorder in
      let other = try shop.box.recorder()
      let code = shop.box.canary.make("code")
      for (status, location, shown) in [
        (301, other.url + "/sign-in?code=" + code, other.url + "/sign-in"),
        (302, "/sign-in", "/sign-in"), (303, recorder.url + "/login", recorder.url + "/login"),
        (307, other.url + "/login", other.url + "/login"), (308, other.url, other.url),
        (302, other.url + "/", other.url + "/"),
      ] {
        script["POST /login"] = .redirect(status, to: location)
        _ = try await fails(
          shop, recorder, location, 15,
          "authctl: shop: POST \(shop.url)/login answered with a redirect to \(shown) that is "
            + "not followed (HTTP \(status), an empty body)\n"
            + "hint: the path may be wrong: authctl profile show shop --all\n")
      }
      #expect(other.connections.isEmpty)
    }
  }

  @Test func statusDecidesTheExitCodeAndNothingIsSentTwice() async throws {
    try await withScript { shop, script, recorder in
      let page = "<!DOCTYPE html><title>planted page</title>"
      for (codes, exit) in [
        ([400, 401, 403, 422], 14), ([402, 404, 405, 408, 409, 429, 499], 4), ([500, 503, 599], 5),
      ] {
        for status in codes {
          script["POST /login"] = .http(
            status, page, type: "text/html", headers: [("Retry-After", "0")])
          let run = try await fails(shop, recorder, "\(status)", Int32(exit), nil)
          #expect(!run.stderr.contains("<") && !run.stderr.contains("planted"), "\(run.stderr)")
          #expect(run.stderr.contains("HTTP \(status)"), "\(run.stderr)")
          if exit != 14 { #expect(!run.stderr.contains("refused"), "\(run.stderr)") }
        }
      }
      script["POST /login"] = .http(404, "{}")
      _ = try await fails(
        shop, recorder, "404", 4,
        "authctl: shop: HTTP 404 Recorded: POST \(shop.url)/login\n"
          + "hint: the path may be wrong: authctl profile show shop --all\n")
      script["POST /login"] = .http(503, #"{"message":"Down for an hour."}"#)
      _ = try await fails(
        shop, recorder, "503", 5,
        "authctl: shop: HTTP 503 Recorded: POST \(shop.url)/login\nserver: Down for an hour.\n")
    }
  }

  @Test func successFalseIsARefusalWhateverTheStatus() async throws {
    try await withScript { shop, script, recorder in
      for body in [
        #"{"success":false,"message":"Incorrect password"}"#,
        #"{"success":false,"message":"Incorrect password","access_token":"a"}"#,
      ] {
        for status in [200, 201] {
          script["POST /login"] = .http(status, body)
          _ = try await fails(
            shop, recorder, body, 14,
            Shop.refused + " (HTTP \(status))\nserver: Incorrect password\n"
              + "hint: authctl login -p shop -u ada@example.com --password-stdin\n")
        }
      }
    }
  }

  @Test func serverThatCannotBeReachedIsNoWrongPassword() async throws {
    try await withScript { shop, script, recorder in
      let nothing =
        "hint: nothing was stored; to check the connection, run: authctl doctor -p shop\n"
      let cut = Array("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"access_token\":\"a\"}".utf8)
      for (name, answer) in [
        ("closed", Recorder.Answer.close), ("reset", .reset([])), ("truncated", .bytes(cut)),
        ("half a head", .bytes(Array("HTTP/1.1 200 OK\r\nContent-Le".utf8))),
      ] {
        script["POST /login"] = answer
        let run = try await fails(shop, recorder, name, 7, nil)
        #expect(run.stderr.hasSuffix("\n" + nothing), "\(name): \(run.stderr)")
      }
      recorder.close()
      // The port is released after the accepting thread has noticed.
      let api = try await shop.box.api()
      await api.stop()
      let down = try Shop(shop.box, api.url)
      let before = try await shop.box.items()
      let run = try await down.login()
      #expect(run.stderr == "authctl: cannot reach \(api.url): connection refused\n" + nothing)
      #expect(run.status == 7)
      #expect(try await shop.box.items() == before)
    }
  }

  /// Takes half a minute: the only test that waits for the real time limit of rule B6.
  @Test func drippingAnswerEndsWithTheTimeOfASignIn() async throws {
    try await Shop.with(signsIn: false) { shop, api in
      try await api.misbehave([
        "path": "/login", "drip_ms": 500, "status": 200,
        "body": .string(String(repeating: " ", count: 1000)),
      ])
      let run = try await shop.login(limit: 50)
      #expect(run.status == 9, "\(run.stderr)")
      #expect(run.hasErrorForm)
      #expect(run.stdout == "")
      #expect(try await api.count("POST /login") == 1)
      #expect(try await shop.box.items().isEmpty)
    }
  }
}
