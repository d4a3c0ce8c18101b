import Glibc
import Testing

/// `batch` with one session for all its requests: design 6.
@Suite struct BatchSessionTests {
  private func gets(_ ids: ClosedRange<Int>, _ path: String = "/me") -> String {
    Batch.lines(ids.map { #"{"id":\#($0),"url":"\#(path)"}"# })
  }

  /// The refresh token works once: a second refresh would end the session.
  @Test func oneRenewalInMidRunServesAll() async throws {
    try await Shop.with("--rotate") { shop, api in
      let box = shop.box
      let child = try box.start(["batch", "--parallel", "10"], keepInputOpen: true)
      child.write(gets(1...5).utf8)
      try await child.waitFor(#"{"id":5,"#)
      try await api.expire()
      child.write(gets(6...40).utf8)
      child.closeInput()
      let run = try await child.finish()
      let answers = try run.answers()
      #expect(answers.compactMap { $0["id"]?.int } == Array(1...40))
      #expect(answers.allSatisfy { $0["status"] == 200 && $0["json"]?["id"] == "1" })
      #expect(run.stderr == "")
      #expect(run.status == 0)
      #expect(try await api.count("POST /refresh") == 1)
      // Only the refused requests were sent twice.
      let refused = try await api.count("GET /me") - 40
      #expect((1...10).contains(refused))
      box.canary.watch(try await shop.accessToken())
      #expect(try await box.run("get", "/me").stdout == Shop.me)
      #expect(try await api.count("POST /refresh") == 1)
    }
  }

  @Test func tokenThatIsAboutToEndIsRenewedBeforeTheFirst() async throws {
    try await Shop.with("--rotate") { shop, api in
      try await shop.age(ended: 100)
      let run = try await shop.box.run(["batch"], stdin: gets(1...20))
      #expect(try run.answers().allSatisfy { $0["status"] == 200 })
      #expect(run.status == 0)
      #expect(
        try await api.counts() == ["POST /login": 1, "POST /refresh": 1, "GET /me": 20])
    }
  }

  /// A server that always answers 401 causes one renewal.
  @Test func refusalForEverIsOneRenewal() async throws {
    try await Sandbox.with { box in
      let tokens = (0..<4).map { box.canary.make("token-\($0)") }
      let api = try box.recorder(
        answering: Scene.routes([
          "POST /login": Scene.tokens(tokens[0], tokens[1]),
          "POST /refresh": Scene.tokens(tokens[2], tokens[3]),
          "GET /me": .http(401, #"{"message":"who are you?"}"#), "GET /ok": .http(200),
        ]))
      try box.profile("shop", Scene.profile(api.url))
      try await box.signIn("shop")
      let run = try await box.run(
        ["batch", "--parallel", "3"], stdin: gets(1...20) + gets(21...21, "/ok"))
      let answers = try run.answers()
      #expect(answers.count == 21)
      for answer in answers.dropLast() {
        #expect(answer["status"] == 401)
        #expect(
          answer["error"]
            == [
              "code": "session_expired", "exit": 11, "status": 401, "server": "who are you?",
              "message":
                "shop: session of ada@shop.example was refused by the server; a renewal did not help",
              "url": .string(api.url + "/me"), "profile": "shop", "account": "ada@shop.example",
              "hint": "authctl login -p shop -u ada@shop.example",
            ])
      }
      #expect(answers.last?["status"] == 200)
      #expect(run.status == 11)
      #expect(api.texts.filter { $0.hasPrefix("POST /refresh ") }.count == 1)
      // Three were sent twice, the others once.
      #expect(api.texts.filter { $0.hasPrefix("GET /me ") }.count == 23)
    }
  }

  /// Nothing more is sent once the session has ended.
  @Test func refusedRenewalEndsTheSessionForAll() async throws {
    try await Sandbox.with { box in
      let (access, refresh) = (box.canary.make("access"), box.canary.make("refresh"))
      let api = try box.recorder(
        answering: Scene.routes([
          "POST /login": Scene.tokens(access, refresh),
          "POST /refresh": .http(400, #"{"message":"revoked"}"#),
          "GET /me": .http(401, #"{"message":"who are you?"}"#),
        ]))
      try box.profile("shop", Scene.profile(api.url))
      try await box.signIn("shop")
      let run = try await box.run(["batch", "--parallel", "2"], stdin: gets(1...20))
      let answers = try run.answers()
      #expect(answers.count == 20)
      #expect(
        answers.allSatisfy {
          $0["error"]?["code"] == "session_expired"
            && $0["error"]?["server"] == "HTTP 400: revoked"
        })
      #expect(run.status == 11)
      #expect(api.texts.filter { $0.hasPrefix("POST /refresh ") }.count == 1)
      #expect(api.texts.filter { $0.hasPrefix("GET /me ") }.count == 2)
    }
  }

  @Test func brokenRenewalIsAskedForOnce() async throws {
    try await Sandbox.with { box in
      let (access, refresh) = (box.canary.make("access"), box.canary.make("refresh"))
      let api = try box.recorder(
        answering: Scene.routes([
          "POST /login": Scene.tokens(access, refresh), "POST /refresh": .http(500),
          "GET /me": .http(401),
        ]))
      try box.profile("shop", Scene.profile(api.url))
      try await box.signIn("shop")
      let run = try await box.run(["batch", "--parallel", "2"], stdin: gets(1...9))
      #expect(try run.answers().allSatisfy { $0["error"]?["code"] == "server_error" })
      #expect(run.status == 5)
      #expect(api.texts.filter { $0.hasPrefix("POST /refresh ") }.count == 1)
    }
  }

  @Test func cookiesOfAnswersThatCameTogetherAreAllKept() async throws {
    try await Sandbox.with { box in
      let arrived = Mutable(0)
      let latch = try Latch()
      let api = try box.recorder { _, request in
        let route = Scene.route(of: request)
        if route == "POST /login" { return Scene.tokens("access-token-1", "refresh-token-1") }
        if route == "GET /after" { return .http(200) }
        if arrived.increase() == 2 { latch.open() } else { latch.wait() }
        let name = route.suffix(1)
        return .http(200, headers: [("Set-Cookie", "\(name)=value-\(name)-12345; Path=/")])
      }
      try box.profile(
        "shop",
        Scene.profile(
          api.url,
          request: "cookies = true\nheaders = { Authorization = \"Bearer {access_token}\" }"
        ))
      try await box.signIn("shop")
      let run = try await box.run(["batch"], stdin: gets(1...1, "/a") + gets(2...2, "/b"))
      #expect(
        run.stdout
          == Batch.lines([1, 2].map { Batch.answer("\($0)", 0, headers: #""set-cookie":"***","#) }))
      let shown = try await box.run(
        ["batch", "--show-secrets", "--parallel", "1"], stdin: gets(3...3, "/after"))
      #expect(shown.stdout == Batch.lines([Batch.answer("3", 0)]))
      let cookies = try #require(
        api.texts.last?.split(separator: "\r\n").first { $0.hasPrefix("Cookie: ") })
      #expect(
        cookies.dropFirst(8).split(separator: "; ").sorted()
          == ["a=value-a-12345", "b=value-b-12345"])
    }
  }

  @Test func headersOfTheRecipeAreMaskedUnlessAskedFor() async throws {
    try await Sandbox.with { box in
      let api = try box.recorder(
        answering: Scene.routes([
          "POST /login": Scene.tokens("access-token-1", "refresh-token-1"),
          "GET /me": .http(200, headers: [("Uid", "secret-uid"), ("authorization", "echo")]),
        ]))
      try box.profile(
        "shop", Scene.profile(api.url, more: "[session.keep]\nuid = \"header:uid\"\n"))
      try await box.signIn("shop")
      let masked = try await box.run(["batch"], stdin: gets(1...1))
      #expect(
        masked.stdout
          == Batch.lines([
            Batch.answer("1", 0, headers: #""uid":"***","authorization":"***","#)
          ]))
      let shown = try await box.run(["batch", "--show-secrets"], stdin: gets(1...1))
      #expect(
        shown.stdout
          == Batch.lines([
            Batch.answer("1", 0, headers: #""uid":"secret-uid","authorization":"echo","#)
          ]))
    }
  }

  /// The session is checked before the first line is read.
  @Test func withoutSessionNothingIsRead() async throws {
    try await Sandbox.with { box in
      let api = try box.recorder()
      try box.profile("shop", Scene.profile(api.url))
      let run = try await box.run(["batch"], stdin: gets(1...3))
      #expect(run.stdout == "")
      #expect(
        run.stderr == """
          authctl: not signed in to shop (\(api.url))
          hint: authctl login -p shop

          """)
      #expect(run.status == 10)
      #expect(api.connections.isEmpty)
    }
  }
}
