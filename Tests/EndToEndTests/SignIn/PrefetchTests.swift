import Glibc
import Testing

/// `[prefetch]`: a request sent first, usually for a CSRF token, and the values taken from its
/// response.
@Suite struct PrefetchTests {
  /// Answers by route, with a new CSRF token and cookie for each `/csrf` request.
  private struct Server: Sendable {
    let api: Recorder
    /// The values issued, in order.
    let tokens: [String]
    let cookies: [String]

    init(_ box: Sandbox, _ table: @escaping @Sendable (String) -> Recorder.Answer?) throws {
      let tokens = (0..<6).map { _ in box.canary.make("csrf") }
      let cookies = (0..<6).map { _ in box.canary.make("cookie") }
      let given = Mutable(0)
      api = try box.recorder { _, request in
        let route = Scene.route(of: request)
        if let answer = table(route) { return answer }
        guard route == "GET /csrf" else { return .http(404, #"{"message":"no such route"}"#) }
        let index = given.value
        given.value = index + 1
        return .http(
          200, "{\"result\":\"\(tokens[index])\"}",
          headers: [("Set-Cookie", "sid=\(cookies[index]); Path=/; HttpOnly")])
      }
      (self.tokens, self.cookies) = (tokens, cookies)
    }

    /// Request `index`; empty if it was never received.
    private func text(_ index: Int) -> String {
      let texts = api.texts
      return texts.indices.contains(index) ? texts[index] : ""
    }

    var routes: [String] { api.connections.map { Scene.route(of: $0) } }

    /// The values of a header in request `index`.
    func header(_ name: String, _ index: Int) -> [String] {
      let head = text(index).split(separator: "\r\n\r\n", maxSplits: 1).first ?? ""
      return head.split(separator: "\r\n").compactMap { line in
        let parts = line.split(separator: ": ", maxSplits: 1)
        return parts.count == 2 && parts[0].lowercased() == name.lowercased()
          ? String(parts[1]) : nil
      }
    }

    func body(_ index: Int) -> String {
      String(text(index).split(separator: "\r\n\r\n", maxSplits: 1).dropFirst().first ?? "")
    }
  }

  private static func profile(
    _ url: String, prefetch: String = "", login: String = "", more: String = ""
  ) -> String {
    """
    url = "\(url)"
    [prefetch]
    path = "/csrf"
    take = { csrf = "/result" }
    \(prefetch)
    [login]
    path = "/login"
    body = { email = "{username}", password = "{password}" }
    \(login)
    \(more)

    """
  }

  private func login(_ box: Sandbox, _ options: String...) async throws -> Run {
    try await box.run(
      ["login", "-p", "shop", "-u", "ada", "--password-stdin"] + options, stdin: "a password\n")
  }

  // MARK: Sign-in

  @Test func tokenAndCookieGoAlongWithTheSignIn() async throws {
    try await Sandbox.with { box in
      let access = box.canary.make("access")
      let server = try Server(box) { $0 == "POST /login" ? Scene.tokens(access) : nil }
      let header = "headers = { X-CSRFToken = \"{taken.csrf}\", Referer = \"{url}/\" }"
      try box.profile("shop", Self.profile(server.api.url, login: header))
      for round in 0..<2 {
        let run = try await login(box, "-vv")
        #expect(run.status == 0 && run.stdout == "", "\(run.stderr)")
        #expect(server.routes.suffix(2) == ["GET /csrf", "POST /login"])
        let (first, second) = (2 * round, 2 * round + 1)
        #expect(server.header("Authorization", first).isEmpty)
        #expect(server.header("X-CSRFToken", first).isEmpty && server.body(first).isEmpty)
        #expect(server.header("Cookie", first).isEmpty, "nothing is left of the time before")
        #expect(server.header("X-CSRFToken", second) == [server.tokens[round]])
        #expect(server.header("Cookie", second) == ["sid=\(server.cookies[round])"])
        #expect(server.header("Referer", second) == ["\(server.api.url)/"])
        // Neither value is stored.
        let stored = try #require(try await box.items().first?.secret)
        #expect(stored.contains(access))
        for secret in server.tokens + server.cookies { #expect(!stored.contains(secret)) }
      }
      // A request with the token needs neither of them.
      _ = try await box.run("get", "-p", "shop", "/x")
      #expect(server.routes.last == "GET /x" && server.routes.count == 5)
      #expect(server.header("Cookie", 4).isEmpty && server.header("X-CSRFToken", 4).isEmpty)
    }
  }

  /// In a form, as older frameworks require; cookies stay in a session that stores cookies.
  @Test func tokenInAFormAndCookiesThatAreKept() async throws {
    try await Sandbox.with { box in
      let session = box.canary.make("session")
      let server = try Server(box) { route in
        switch route {
        case "POST /login":
          .http(200, #"{"token":"t"}"#, headers: [("Set-Cookie", "auth=\(session); Path=/")])
        case "GET /x": .http(200, "[]")
        default: nil
        }
      }
      let text = Self.profile(
        server.api.url, more: "[request]\ncookies = true\n"
      ).replacing(
        "body = { email = \"{username}\", password = \"{password}\" }",
        with: "encoding = \"form\"\nbody = { u = \"{username}\", _csrf = \"{taken.csrf}\" }")
      try box.profile("shop", text)
      let run = try await login(box)
      #expect(run.status == 0, "\(run.stderr)")
      #expect(server.body(1) == "u=ada&_csrf=\(server.tokens[0])")
      #expect(server.header("Content-Type", 1) == ["application/x-www-form-urlencoded"])
      #expect(try await box.run("get", "-p", "shop", "/x").status == 0)
      #expect(server.routes.count == 3)
      let sent = Set((server.header("Cookie", 2).first ?? "").split(separator: "; "))
      #expect(sent.contains("auth=\(session)") && sent.contains("sid=\(server.cookies[0])"))
      #expect(try await box.items().first?.secret?.contains(server.tokens[0]) == false)
    }
  }

  /// If the prefetch request fails, the password is not sent.
  @Test func signInDoesNotGoWithoutIt() async throws {
    try await Sandbox.with { box in
      let first = Mutable(Recorder.Answer.close)
      let api = try box.recorder { _, request in
        Scene.route(of: request) == "GET /csrf" ? first.value : Scene.tokens("a-token")
      }
      let password = box.canary.make("password")
      try box.profile(
        "shop", Self.profile(api.url, login: "headers = { X-CSRFToken = \"{taken.csrf}\" }"))
      let answers: [(answer: Recorder.Answer, status: Int32)] = [
        (.http(404, #"{"message":"no"}"#), 4), (.http(401, "{}"), 4), (.http(500, "{}"), 5),
        (.close, 7), (.redirect(302, to: "/other"), 15), (.http(200, "<html>"), 15),
      ]
      // Missing, empty, or not allowed in a header.
      let bodies = [
        "{}", #"{"result":""}"#, #"{"result":null}"#, #"{"result":{"a":1}}"#, #"{"result":["a"]}"#,
        #"{"result":"a\r\nX-Evil: 1"}"#, #"{"result":"a\u0000b"}"#, #"{"result":"a","result":"b"}"#,
      ]
      for (index, (answer, status)) in (answers + bodies.map { (.http(200, $0), 15) }).enumerated()
      {
        first.value = answer
        let before = api.connections.count
        let run = try await box.run(
          "login", "-p", "shop", "-u", "ada", "--password-stdin", stdin: password + "\n")
        #expect(run.status == status && run.stdout == "", "\(index): \(run.status) \(run.stderr)")
        #expect(run.hasErrorForm, "\(run.stderr)")
        #expect(api.connections.count == before + 1, "\(index): \(api.texts.last ?? "")")
      }
      #expect(Scene.holds(api, [password]).isEmpty)
      #expect(try await box.items().isEmpty)
    }
  }

  // MARK: With the session

  private static let whoami = "[whoami]\npath = \"/me\"\nmethod = \"POST\"\n"
  private static let writes = "[request]\nwrite_headers = { X-CSRFToken = \"{taken.csrf}\" }\n"
  private static let access = "authorization = \"access\""

  /// Runs `body` after a sign-in, with the other routes of a session.
  private func withSession(
    prefetch: String = access, more: String,
    _ body: (Sandbox, Server, _ access: String) async throws -> Void
  ) async throws {
    try await Sandbox.with { box in
      let (access, refresh) = (box.canary.make("access"), box.canary.make("refresh"))
      let server = try Server(box) { route in
        switch route {
        case "POST /login": Scene.tokens(access, refresh)
        case "GET /x": .http(200, "[1]")
        case _ where route.hasSuffix(" /me"): .http(200, #"{"email":"ada@shop.example"}"#)
        case "POST /refresh": Scene.tokens(access, refresh)
        case "POST /logout": .http(204)
        default: nil
        }
      }
      try box.profile(
        "shop", Self.profile(server.api.url, prefetch: prefetch, more: more))
      let run = try await login(box)
      try #require(run.status == 0, "\(run.stderr)")
      #expect(server.routes == ["POST /login"], "the sign-in wants nothing of it")
      try await body(box, server, access)
      for item in try await box.items() {
        for secret in server.tokens + server.cookies {
          #expect(item.secret?.contains(secret) == false)
        }
      }
    }
  }

  @Test func whoamiByPostCarriesTheWriteHeaders() async throws {
    try await withSession(more: Self.whoami + Self.writes) { box, server, access in
      let run = try await box.run("whoami", "-p", "shop", "-v")
      #expect(run.status == 0 && run.stdout == "ada@shop.example\n", "\(run.stderr)")
      #expect(server.routes == ["POST /login", "GET /csrf", "POST /me"])
      for index in 1...2 { #expect(server.header("Authorization", index) == ["Bearer \(access)"]) }
      #expect(server.header("X-CSRFToken", 1).isEmpty && server.header("Cookie", 1).isEmpty)
      #expect(server.header("X-CSRFToken", 2) == [server.tokens[0]])
      #expect(server.header("Cookie", 2) == ["sid=\(server.cookies[0])"])
      // The token is fetched again each time.
      #expect(try await box.run("whoami", "-p", "shop").status == 0)
      #expect(server.header("X-CSRFToken", 4) == [server.tokens[1]])
    }
  }

  /// All requests that may change data.
  @Test(arguments: ["POST", "PUT", "PATCH", "DELETE", "QUERY"])
  func writingRequestsFetchFirst(_ method: String) async throws {
    let more = Self.whoami.replacing("POST", with: method) + Self.writes
    try await withSession(more: more) { box, server, _ in
      let run = try await box.run("whoami", "-p", "shop")
      #expect(run.status == 0 && run.stdout == "ada@shop.example\n", "\(run.stderr)")
      #expect(server.routes == ["POST /login", "GET /csrf", "\(method) /me"])
      #expect(server.header("X-CSRFToken", 2) == [server.tokens[0]])
    }
  }

  @Test(arguments: ["GET", "OPTIONS"]) func readingRequestsDoNot(_ method: String) async throws {
    let more = Self.whoami.replacing("POST", with: method) + Self.writes
    try await withSession(more: more) { box, server, access in
      let whoami = try await box.run("whoami", "-p", "shop")
      #expect(whoami.status == 0 && whoami.stdout == "ada@shop.example\n", "\(whoami.stderr)")
      let get = try await box.run("get", "-p", "shop", "/x")
      #expect(get.status == 0 && get.stdout == "[1]", "\(get.stderr)")
      #expect(server.routes == ["POST /login", "\(method) /me", "GET /x"])
      for index in 1...2 {
        #expect(server.header("X-CSRFToken", index).isEmpty)
        #expect(server.header("Authorization", index) == ["Bearer \(access)"])
      }
    }
  }

  /// The recipe's own requests use the taken value in headers and bodies.
  @Test(arguments: [
    (
      "whoami",
      "[whoami]\npath = \"/me\"\nmethod = \"POST\"\nheaders = { X-CSRFToken = \"{taken.csrf}\" }\n"
    ),
    ("whoami", "[whoami]\npath = \"/me\"\nmethod = \"POST\"\nbody = { csrf = \"{taken.csrf}\" }\n"),
    (
      "refresh",
      "[refresh]\npath = \"/refresh\"\nbody = { r = \"{refresh_token}\", csrf = \"{taken.csrf}\" }\n"
    ),
    ("logout", "[logout]\npath = \"/logout\"\nheaders = { X-CSRFToken = \"{taken.csrf}\" }\n"),
  ])
  func recipesOwnRequestsFetchToo(command: String, table: String) async throws {
    try await withSession(more: table) { box, server, access in
      let run = try await box.run(command, "-p", "shop")
      #expect(run.status == 0, "\(run.stderr)")
      #expect(!run.stderr.contains("warning"), "\(run.stderr)")
      let path = command == "whoami" ? "/me" : "/" + command
      #expect(server.routes == ["POST /login", "GET /csrf", "POST \(path)"])
      #expect(server.header("Authorization", 1) == ["Bearer \(access)"])
      let places = server.header("X-CSRFToken", 2) + [server.body(2)]
      #expect(places.contains { $0.contains(server.tokens[0]) }, "\(places)")
      #expect(server.header("Cookie", 2) == ["sid=\(server.cookies[0])"])
    }
  }

  /// The access token is expired, which either the prefetch request or the one after it reveals;
  /// after the only renewal both are sent again.
  @Test(arguments: ["GET /csrf", "POST /me"])
  func deadTokenIsRenewedOnce(_ dead: String) async throws {
    try await Sandbox.with { box in
      let (old, new) = (box.canary.make("old"), box.canary.make("new"))
      let refresh = box.canary.make("refresh")
      let api = try box.recorder { _, request in
        let route = Scene.route(of: request)
        let isOld = find(Array(old.utf8), in: request) != nil
        if route == dead, isOld { return .http(401, #"{"message":"expired"}"#) }
        return switch route {
        case "POST /login": Scene.tokens(old, refresh)
        case "POST /refresh": Scene.tokens(new, refresh)
        case "GET /csrf": .http(200, "{\"result\":\"for-\(isOld ? "old" : "new")\"}")
        default: .http(200, #"{"email":"ada@shop.example"}"#)
        }
      }
      let more =
        "[refresh]\npath = \"/refresh\"\nbody = { r = \"{refresh_token}\" }\n" + Self.whoami
        + Self.writes
      try box.profile("shop", Self.profile(api.url, prefetch: Self.access, more: more))
      let login = try await login(box)
      try #require(login.status == 0, "\(login.stderr)")
      let run = try await box.run("whoami", "-p", "shop")
      #expect(run.status == 0 && run.stdout == "ada@shop.example\n" && run.stderr == "")
      let routes = api.connections.map { Scene.route(of: $0) }
      let first = dead == "GET /csrf" ? ["GET /csrf"] : ["GET /csrf", "POST /me"]
      #expect(routes == ["POST /login"] + first + ["POST /refresh", "GET /csrf", "POST /me"])
      let last = api.texts.last ?? ""
      #expect(last.contains("\r\nX-CSRFToken: for-new\r\n") && last.contains(new))
      #expect(!last.contains(old))
      #expect(try await box.storedTokens() == [new])
    }
  }

  /// The prefetch request may go only where the session may go.
  @Test func prefetchElsewhereIsRefused() async throws {
    try await Sandbox.with { box in
      let access = box.canary.make("access")
      let foreign = try box.recorder()
      let api = try box.recorder(answering: Scene.routes(["POST /login": Scene.tokens(access)]))
      let text = Self.profile(
        api.url, prefetch: Self.access, more: Self.whoami + Self.writes)
      try box.profile("shop", text)
      #expect(try await login(box).status == 0)
      // A change after the sign-in, as by someone else who can write the file (rule A2).
      let moved = text.replacing("path = \"/csrf\"", with: "path = \"\(foreign.url)/csrf\"")
      for network in ["", "[network]\nsign_in_origins = [\"\(foreign.url)\"]\n"] {
        try box.profile("shop", moved + network)
        let run = try await box.run("whoami", "-p", "shop", "-u", "ada")
        #expect(run.status == 13 && run.stdout == "", "\(run.stderr)")
        #expect(run.hasErrorForm, "\(run.stderr)")
        #expect(foreign.connections.count == 0 && api.connections.count == 1)
      }
    }
  }
}
