import Testing

/// A session that the server refused is `refused` until it works again or is replaced, and a cookie
/// that is the session ends it (design 2 and 6).
@Suite struct RefusedSessionTests {
  private func withShop(
    _ kind: Sandbox.Kind = .keyring, _ body: (Shop, Script) async throws -> Void
  ) async throws {
    try await Sandbox.with(kind) { box in
      let script = Script()
      script["POST /login"] = Script.tokens()
      script["GET /me"] = .http(401, "{}")
      script["GET /open"] = .http(200, "{}")
      let shop = try Shop(
        box, try box.recorder(answering: script.answering).url, without: ["refresh"])
      try await shop.signIn()
      try await body(shop, script)
    }
  }

  private func state(_ shop: Shop) async throws -> String? {
    let run = try await shop.box.run("status", "--json")
    return try JSON(parsing: run.stdout)[0]?["state"]?.string
  }

  @Test func refusedUntilTheNextSignIn() async throws {
    try await withShop { shop, _ in
      let box = shop.box
      #expect(try await state(shop) == "valid")
      let before = try await shop.payload()
      let get = try await box.run("get", "/me")
      #expect(get.status == 11 && get.stdout == "")
      #expect(try await state(shop) == "refused")
      // A member that an older authctl does not know; the rest is as it was.
      guard case .object(var members) = try await shop.payload() else { return }
      #expect(members.removeValue(forKey: "refused") == true)
      #expect(JSON.object(members) == before)

      let status = try await box.terminal(["status"])
      let row = #/\* shop     ada@example\.com  refused  -     http.*/#
      let lines = status.screen.split(separator: "\n")
      #expect(lines.count == 3 && lines[1].wholeMatch(of: row) != nil, "\(status.screen)")
      #expect(lines.last == "hint: authctl login -p shop -u ada@example.com")
      #expect(try await box.run("status", "--check").status == 11)
      let bare = try await box.run()
      #expect(
        bare.stdout.hasPrefix(
          "* shop  ada@example.com  refused  authctl login -p shop -u ada@example.com\n"))
      let list = try await box.run("profile", "list")
      #expect(list.stdout.contains("  refused  http"))
      // Such a session does not serve.
      let again = try await shop.login("--if-needed", "-u", Shop.ada)
      #expect(again.status == 0 && again.stderr.contains("Signed in to shop"), "\(again.stderr)")
      #expect(try await state(shop) == "valid")
      #expect(try await shop.payload()["refused"] == nil)
    }
  }

  @Test func anAnswerThatIsASuccessTakesTheMarkAway() async throws {
    try await withShop { shop, _ in
      for words in [["get", "/open"], ["batch"]] {
        #expect(try await shop.box.run("get", "/me").status == 11)
        #expect(try await state(shop) == "refused")
        let run = try await shop.box.run(words, stdin: #"{"url":"/open"}"# + "\n")
        #expect(run.status == 0, "\(run.stderr)")
        #expect(try await state(shop) == "valid", "\(words)")
      }
      let lines = String(repeating: #"{"url":"/me"}"# + "\n", count: 20)
      #expect(try await shop.box.run(["batch"], stdin: lines).status == 11)
      #expect(try await state(shop) == "refused")
    }
  }

  /// A 401 that was asked for, one without the session, and one to a token of the environment.
  @Test func otherRefusalsMarkNothing() async throws {
    try await withShop { shop, _ in
      for words in [["--ok", "401"], ["--anonymous"]] {
        _ = try await shop.box.run(["get", "/me"] + words)
        #expect(try await state(shop) == "valid", "\(words)")
      }
      let token = try await shop.box.run(
        "get", "-p", "shop", "/me", env: ["AUTHCTL_TOKEN": "t0ken-of-the-variable"])
      #expect(token.status == 11)
      #expect(try await state(shop) == "valid")
    }
  }

  @Test func aRefusedRenewalIsARefusalWhereTheTokenWasRefused() async throws {
    try await Shop.with { shop, api in
      try await api.misbehave(["path": "/me", "status": 401])
      try await api.misbehave(["path": "/refresh", "status": 401])
      #expect(try await shop.box.run("get", "/me").status == 11)
      #expect(try await state(shop) == "refused")
    }
  }

  // MARK: Cookies

  private static let cookies = """
    cookies = true
    """

  /// The seconds that `status` says for a sign-in which sets these cookies.
  @Test(
    arguments: [
      (["sid=abcdef1234567890; Path=/; Max-Age=600"], 540...600),
      (["other=1; Max-Age=60", "sid=abcdef1234567890; Path=/; Max-Age=7200"], 7140...7200),
      (["sid=abcdef1234567890; Path=/"], nil),
    ] as [([String], ClosedRange<Int>?)])
  func theEndOfTheCookieIsTheSessions(set: [String], left: ClosedRange<Int>?) async throws {
    try await Sandbox.with { box in
      let routes: Recorder.Answering = { _, request in
        switch Scene.route(of: request) {
        case "POST /login": .http(200, "{}", headers: set.map { ("Set-Cookie", $0) })
        case "GET /roll":
          .http(
            200, "{}", headers: [("Set-Cookie", "sid=fedcba0987654321; Path=/; Max-Age=90000")])
        default: .http(200, "{}")
        }
      }
      let api = try box.recorder(answering: routes)
      try box.profile(
        "shop",
        Scene.profile(
          api.url, request: Self.cookies, session: "access_token = \"cookie:sid\""))
      try await box.signIn("shop")
      func seconds() async throws -> JSON? {
        let json = try JSON(parsing: try await box.run("status", "--json").stdout)
        return json[0]?["seconds_left"]
      }
      if let left {
        #expect(left.contains(try #require(try await seconds()?.int)))
        // A cookie that the server sets anew is the session's new end.
        #expect(try await box.run("get", "-p", "shop", "/roll").status == 0)
        #expect((89_940...90_000).contains(try #require(try await seconds()?.int)))
      } else {
        #expect(try await seconds() == .null)
      }
    }
  }
}
