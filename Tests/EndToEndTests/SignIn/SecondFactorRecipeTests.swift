import Testing

/// Second factors defined by the recipe: a separate request with a ticket, possibly at another
/// origin; and a code that is required at once.
@Suite struct SecondFactorRecipeTests {
  private static func profile(_ url: String, at place: String = "", network: String = "") -> String
  {
    """
    url = "\(url)"
    [login]
    path = "/in"
    body = { name = "{username}", password = "{password}" }
    [otp]
    status = [202]
    when = ["/mfa/ticket"]
    take = { ticket = "/mfa/ticket" }
    path = "\(place)/code"
    headers = { X-Ticket = "{taken.ticket}" }
    body = { ticket = "{taken.ticket}", otp = "{otp}" }
    [network]
    \(network)

    """
  }

  private func question(_ ticket: String, _ cookie: String = "c") -> Recorder.Answer {
    .http(
      202, JSON.object(["mfa": ["ticket": .string(ticket)]]).text,
      headers: [("Set-Cookie", "step=\(cookie); Path=/; HttpOnly")])
  }

  private func body(_ request: String) throws -> JSON {
    try JSON(parsing: String(request.split(separator: "\r\n\r\n", maxSplits: 1).last ?? ""))
  }

  @Test func ticketServesTheSecondRequestAlone() async throws {
    try await Sandbox.with { box in
      let secrets = ["ticket", "cookie", "otp", "password", "access"].map { box.canary.make($0) }
      let (ticket, cookie, code) = (secrets[0], secrets[1], secrets[2])
      let api = try box.recorder(
        answering: Scene.routes([
          "POST /in": question(ticket, cookie), "POST /code": Scene.tokens(secrets[4]),
          "GET /x": .http(200, "[]"),
        ]))
      try box.profile("shop", Self.profile(api.url))
      let run = try await box.run(
        "login", "-p", "shop", "-u", "ada", "--password-stdin", "--otp-stdin", "-vv",
        stdin: "\(secrets[3])\n\(code)\n")
      #expect(run.status == 0 && run.stdout == "", "\(run.stderr)")
      #expect(try await box.run("get", "-p", "shop", "/x").status == 0)
      let texts = api.texts
      try #require(texts.count == 3)
      #expect(try body(texts[0]) == ["name": "ada", "password": .string(secrets[3])])
      #expect(try body(texts[1]) == ["ticket": .string(ticket), "otp": .string(code)])
      #expect(texts[1].contains("\r\nX-Ticket: \(ticket)\r\n"))
      #expect(texts[1].contains("\r\nCookie: step=\(cookie)\r\n"), "what the first answer set")
      #expect(!texts[1].contains(secrets[3]))
      let stored = try #require(try await box.items().first?.secret)
      for secret in secrets[0...3] {
        #expect(!texts[2].contains(secret), "nothing of the sign-in goes on")
        #expect(!stored.contains(secret))
      }
    }
  }

  @Test func promptNamesTheOriginOfTheCode() async throws {
    try await Sandbox.with { box in
      let (password, code) = (box.canary.make("password"), box.canary.make("otp"))
      let id = try box.recorder(answering: Scene.routes(["POST /code": Scene.tokens("a-token")]))
      let api = try box.recorder(answering: Scene.routes(["POST /in": question("ticket-1")]))
      let network = "sign_in_origins = [\"\(id.url)\"]"
      try box.profile("shop", Self.profile(api.url, at: id.url, network: network))
      let run = try await box.terminal(
        ["login", "-p", "shop", "-u", "ada"],
        answers: [
          ("Password for ada at \(api.url): ", password + "\n"),
          ("One-time code at \(id.url): ", code + "\n"),
        ])
      #expect(run.status == 0, "\(run.screen)")
      #expect(Scene.holds(api, [password, code]) == [password])
      #expect(Scene.holds(id, [password, code]) == [code])
      #expect(id.texts.first?.contains("Cookie:") == false, "a cookie stays with its origin")
    }
  }

  /// An origin that is not for sign-in receives no code, and none is asked for.
  @Test func codeGoesToNoForeignOrigin() async throws {
    try await Sandbox.with { box in
      let code = box.canary.make("otp")
      let foreign = try box.recorder()
      let api = try box.recorder(answering: Scene.routes(["POST /in": question("ticket-1")]))
      try box.profile("shop", Self.profile(api.url, at: foreign.url))
      let run = try await box.run(
        "login", "-p", "shop", "-u", "ada", "--password-stdin", stdin: "a password\n",
        env: ["AUTHCTL_OTP": code])
      #expect(run.status == 13 && run.stdout == "", "\(run.stderr)")
      #expect(run.stderr.contains("network.sign_in_origins"), "\(run.stderr)")
      #expect(foreign.connections.count == 0 && Scene.holds(api, [code]).isEmpty)
      #expect(try await box.items().isEmpty)
    }
  }

  @Test func answersToTheCodeThatAreNoSignIn() async throws {
    try await Sandbox.with { box in
      let second = Mutable(Recorder.Answer.close)
      let asked = question("ticket-1")
      let api = try box.recorder { _, request in
        Scene.route(of: request) == "POST /in" ? asked : second.value
      }
      try box.profile("shop", Self.profile(api.url))
      let rows: [(answer: Recorder.Answer, status: Int32)] = [
        (.http(401, #"{"message":"no"}"#), 14), (.http(403, "{}"), 14), (asked, 14),
        (.http(404, "{}"), 4), (.http(429, "{}"), 4), (.http(500, "{}"), 5), (.http(200, "{}"), 15),
        (.redirect(302, to: "/elsewhere"), 15), (.http(200, "<html>", type: "text/html"), 15),
      ]
      for (answer, status) in rows {
        second.value = answer
        let before = api.connections.count
        let run = try await box.run(
          "login", "-p", "shop", "-u", "ada", "--password-stdin", stdin: "a password\n",
          env: ["AUTHCTL_OTP": "123456"])
        #expect(run.status == status && run.stdout == "", "\(answer): \(run.stderr)")
        #expect(run.hasErrorForm, "\(run.stderr)")
        #expect(api.connections.count == before + 2, "asked once, whatever comes")
      }
      #expect(try await box.items().isEmpty)
    }
  }

  /// A ticket that could break out of its header is not sent; nor is the request without a ticket.
  @Test func unfitTicketsAreNotSent() async throws {
    try await Sandbox.with { box in
      let body = Mutable("")
      let api = try box.recorder { _, _ in .http(202, body.value) }
      try box.profile(
        "shop",
        Self.profile(api.url).replacing("when = [\"/mfa/ticket\"]", with: "when = [\"/mfa\"]"))
      let tickets = [
        #""a\r\nX-Evil: 1""#, #""a\nb""#, #""a\u0000b""#, #""caf\u00e9""#, #""""#, "null",
      ]
      for ticket in tickets {
        body.value = "{\"mfa\":{\"ticket\":\(ticket),\"on\":true}}"
        let before = api.connections.count
        let run = try await box.run(
          "login", "-p", "shop", "-u", "ada", "--password-stdin", stdin: "a password\n",
          env: ["AUTHCTL_OTP": "123456"])
        #expect(run.status == 15 && run.stdout == "", "\(ticket): \(run.status) \(run.stderr)")
        #expect(api.connections.count == before + 1, "\(ticket)")
      }
      #expect(try await box.items().isEmpty)
    }
  }

  /// Without [otp], a sign-in with a code in its request needs the code at once.
  @Test func codeThatIsWantedAtOnce() async throws {
    try await Sandbox.with { box in
      let (password, code) = (box.canary.make("password"), box.canary.make("otp"))
      let api = try box.recorder(answering: Scene.routes(["POST /in": Scene.tokens("a-token")]))
      try box.profile(
        "shop",
        """
        url = "\(api.url)"
        [login]
        path = "/in"
        body = { name = "{username}", password = "{password}", code = "{otp}" }

        """)
      let words = ["login", "-p", "shop", "-u", "ada"]
      let none = try await box.run(words + ["--password-stdin"], stdin: password + "\n")
      #expect(none.status == 10 && none.stderr.contains("--otp-stdin"), "\(none.stderr)")
      #expect(api.connections.count == 0, "nothing is sent without it")
      let run = try await box.terminal(
        words,
        answers: [
          ("Password for ada at \(api.url): ", password + "\n"),
          ("One-time code at \(api.url): ", code + "\n"),
        ])
      #expect(run.status == 0, "\(run.screen)")
      try #require(api.connections.count == 1)
      #expect(
        try body(api.texts[0])
          == ["name": "ada", "password": .string(password), "code": .string(code)])
    }
  }
}
