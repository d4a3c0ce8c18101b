import Testing

/// Redirects: rules A6 and, for what may be stored on the way, A10.
@Suite struct RedirectTests {
  /// How the request carries the secret.
  enum Carrier: String, CaseIterable, Sendable {
    case authorization, token, kept, cookie, ownHeader, ownCookie
  }
  /// Where the API at 127.0.0.1 redirects to.
  enum Hop: String, CaseIterable, Sendable { case port, host, name, thereAndBack }

  /// Recorder B must receive no planted byte; nor may A when B redirects back to it.
  @Test(arguments: Carrier.allCases) func nothingGoesElsewhere(_ carrier: Carrier) async throws {
    try await Sandbox.with { box in
      let secrets = ["access", "kept", "cookie", "own"].map { box.canary.make($0) }
      let (access, kept, cookie, own) = (secrets[0], secrets[1], secrets[2], secrets[3])
      let planted = [
        Carrier.authorization: access, .token: access, .kept: kept, .cookie: cookie,
        .ownHeader: own, .ownCookie: own,
      ]
      let secret = try #require(planted[carrier])
      let target = Mutable("")
      let a = try box.recorder { _, request in
        switch Scene.route(of: request) {
        case "POST /login":
          let body = #"{"access_token":"\#(access)","kept":"\#(kept)","expires_in":900}"#
          return .http(200, body, headers: [("Set-Cookie", "sid=\(cookie); Path=/")])
        case "GET /start": return .redirect(302, to: target.value)
        default: return .http(200, "home")
        }
      }
      let headers =
        switch carrier {
        case .token: #"headers = { X-Auth-Token = "{access_token}" }"#
        case .kept: #"headers = { uid = "{session.uid}", t = "{access_token}" }"#
        case .cookie: "cookies = true"
        default: #"headers = { Authorization = "Bearer {access_token}" }"#
        }
      try box.profile(
        "shop", Scene.profile(a.url, request: headers, more: "[session.keep]\nuid = \"/kept\"\n"))
      try await box.signIn("shop")
      var words = ["get", "-p", "shop", "/start"]
      if carrier == .ownHeader { words += ["-H", "X-Own: \(own)"] }
      if carrier == .ownCookie { words += ["-H", "Cookie: own=\(own)"] }
      // The user's own secret is on the command line of these runs.
      if words.count > 4 { box.canary.forget(own) }

      for hop in Hop.allCases {
        // `localhost` may be IPv4 or IPv6: B listens on its port on ::1 as well.
        let both = try box.recorders(at: [hop == .host ? "127.0.0.2" : "127.0.0.1", "::1"]) {
          _, _ in
          hop == .thereAndBack ? .redirect(302, to: a.url + "/back") : .http(200, "elsewhere")
        }
        let (b, six) = (both[0], both[1])
        target.value = (hop == .name ? "http://localhost:\(b.port)" : b.url) + "/b"
        let run = try await box.run(words)
        #expect(run.status == 0, "\(hop): \(run.stderr)")
        #expect(run.stdout == (hop == .thereAndBack ? "home" : "elsewhere"))
        let start = try #require(a.texts.last { $0.hasPrefix("GET /start ") })
        #expect(start.contains(secret))
        #expect(b.connections.count + six.connections.count == 1)
        #expect(Scene.holds(b, secrets) == [])
        #expect(Scene.holds(six, secrets) == [])
      }
      let back = try #require(a.texts.last { $0.hasPrefix("GET /back ") })
      #expect(secrets.filter { back.contains($0) } == [])
    }
  }

  @Test func credentialStaysWithinItsOrigin() async throws {
    try await Sandbox.with(.none) { box in
      let token = box.canary.make("access")
      let api = try box.recorder(
        answering: Recorder.list(
          .redirect(301, to: "/two"), .redirect(303, to: "three?x=1"), .redirect(308, to: "?y"),
          .http(200, "end")))
      try box.profile("shop", "url = \"\(api.url)\"\n")
      let run = try await box.run(
        "get", "/one", "-H", "X-Own: mine", env: ["AUTHCTL_TOKEN": token])
      #expect(run.stdout == "end")
      #expect(
        api.texts.map { $0.prefix { $0 != "\r\n" } } == [
          "GET /one HTTP/1.1", "GET /two HTTP/1.1", "GET /three?x=1 HTTP/1.1",
          "GET /three?y HTTP/1.1",
        ])
      for request in api.texts {
        #expect(request.contains("\r\nAuthorization: Bearer \(token)\r\n"))
        #expect(request.contains("\r\nX-Own: mine\r\n"))
      }
    }
  }

  @Test func refusalOfAnotherOriginBurnsNoRefreshToken() async throws {
    try await Sandbox.with { box in
      let (access, refresh) = (box.canary.make("access"), box.canary.make("refresh"))
      let b = try box.recorder { _, _ in
        .http(
          401, #"{"message":"who are you?"}"#, headers: [("Set-Cookie", "planted=1; Path=/")])
      }
      let a = try box.recorder(
        answering: Scene.routes([
          "POST /login": Scene.tokens(access, refresh), "GET /out": .redirect(to: b.url + "/"),
        ]))
      try box.profile(
        "shop",
        Scene.profile(
          a.url, request: "cookies = true\nheaders = { Authorization = \"Bearer {access_token}\" }")
      )
      try await box.signIn("shop")
      let run = try await box.run("get", "-p", "shop", "/out")
      // A 401 to a request without a credential is an ordinary error.
      #expect(run.status == 4)
      #expect(run.stdout == #"{"message":"who are you?"}"#)
      #expect(!a.texts.contains { $0.hasPrefix("POST /refresh") })
      let stored = try await box.items().compactMap(\.secret)
      #expect(stored.count == 1)
      #expect(stored.allSatisfy { !$0.contains("planted") && $0.contains(refresh) })
      _ = try await box.run("get", "-p", "shop", "/x")
      #expect(a.texts.last?.contains("planted") == false)
    }
  }

  @Test func verboseTellsThatAHopWentWithoutTheCredential() async throws {
    try await Sandbox.with(.none) { box in
      let token = box.canary.make("access")
      let b = try box.recorder()
      let a = try box.recorder { _, _ in .redirect(to: b.url + "/b?access_token=abc&x=1") }
      try box.profile("shop", "url = \"\(a.url)\"\n")
      let run = try await box.run("get", "-v", "/", env: ["AUTHCTL_TOKEN": token])
      #expect(
        run.stderr.contains(
          "* redirect to \(b.url)/b?access_token=***&x=1, sent without the credential\n"),
        "\(run.stderr)")
    }
  }

  /// Locations that a redirect must not lead to, whatever the request carries.
  static let badLocations = [
    "file:///etc/passwd", "ftp://127.0.0.1/", "javascript:alert(1)", "scp://127.0.0.1/x",
    "http://u:p@127.0.0.1:B/", "http://127.0.0.1:B\\@h/", "http://127.0.0.1.:B/", "http:///x",
    "http:/127.0.0.1:B/", "http://127.0.0.1%2e:B/", "http://", "http://[::1%25lo]:B/",
    "http://127.0.0.1:0/", "http://h\u{7F}:B/", "https:127.0.0.1", "gopher://127.0.0.1:B/_x",
  ]

  @Test func badLocationsAreRefused() async throws {
    try await Sandbox.with(.none) { box in
      let token = box.canary.make("access")
      let b = try box.recorder()
      let latest = Mutable("")
      let a = try box.recorder { _, _ in .redirect(to: latest.value) }
      try box.profile("shop", "url = \"\(a.url)\"\n")
      for text in Self.badLocations {
        latest.value = String(
          decoding: text.utf8.flatMap { $0 == 0x42 ? Array("\(b.port)".utf8) : [$0] }, as: UTF8.self
        )
        let run = try await box.run("get", "-p", "shop", "/", env: ["AUTHCTL_TOKEN": token])
        #expect(run.status == 13, "\(latest.value): \(run.stderr)")
        #expect(run.stdout == "")
      }
      #expect(b.connections.count == 0)
    }
  }

  /// The body is gone, and with it what describes it (RFC 9110, section 15.4).
  @Test func getAfterA303DescribesNoBody() async throws {
    try await Sandbox.with(.none) { box in
      let status = Mutable(0)
      let api = try box.recorder { _, request in
        Scene.route(of: request) == "POST /one"
          ? .redirect(status.value, to: "/two") : .http(200, "end")
      }
      try box.profile("shop", "url = \"\(api.url)\"\n")
      for (number, more) in [
        (303, ["--json", "{}"]), (302, ["-d", "a=b"]), (301, ["-F", "a=b"]),
        (303, ["-d", "x", "-H", "Content-Type: text/x-own"]),
      ] {
        status.value = number
        let run = try await box.run(
          ["post", "/one", "-L"] + more, env: ["AUTHCTL_TOKEN": "a-token"])
        #expect(run.stdout == "end" && run.stderr == "" && run.status == 0, "\(run)")
        let (post, get) = try (#require(api.texts.dropLast().last), #require(api.texts.last))
        #expect(post.lowercased().contains("\r\ncontent-type: "))
        #expect(get.hasPrefix("GET /two ") && get.hasSuffix("\r\n\r\n"), "\(get)")
        #expect(!get.lowercased().contains("\r\ncontent-"), "\(get)")
      }
    }
  }

  @Test func networkPathIsAnotherOrigin() async throws {
    try await Sandbox.with(.none) { box in
      let token = box.canary.make("access")
      let b = try box.recorder()
      let a = try box.recorder { _, _ in .redirect(to: "//" + b.authority + "/x") }
      try box.profile("shop", "url = \"\(a.url)\"\n")
      let run = try await box.run("get", "/", env: ["AUTHCTL_TOKEN": token])
      #expect(run.status == 0, "\(run.stderr)")
      #expect(b.connections.count == 1)
      #expect(Scene.holds(b, [token]) == [])
    }
  }

  @Test func numberOfRedirectsIsBounded() async throws {
    try await Sandbox.with(.none) { box in
      let api = try box.recorder { index, _ in .redirect(to: "/\(index)") }
      try box.profile("shop", "url = \"\(api.url)\"\n")
      var seen = 0
      for (limit, requests) in [(nil, 11), ("3", 4), ("1", 2)] as [(String?, Int)] {
        let run = try await box.run(
          ["get", "/"] + (limit.map { ["--max-redirs", $0] } ?? []), env: ["AUTHCTL_TOKEN": "t0ken"]
        )
        #expect(run.status == 6, "\(run.stderr)")
        #expect(run.stdout == "")
        seen += requests
        #expect(api.connections.count == seen)
      }
      let none = try await box.run(
        "get", "/", "--max-redirs", "0", env: ["AUTHCTL_TOKEN": "t0ken"])
      #expect(none.status == 3)
      #expect(
        none.stderr == """
          authctl: HTTP 302 Recorded: GET \(api.url)/ (shop, AUTHCTL_TOKEN)
          hint: Location: /\(seen)

          """)
      #expect(api.connections.count == seen + 1)
      let wrong = try await box.run(
        "get", "/", "--max-redirs", "-1", env: ["AUTHCTL_TOKEN": "t0ken"])
      #expect(wrong.status == 2)
    }
  }

  @Test func signInIsNeverRedirected() async throws {
    try await Sandbox.with { box in
      let password = box.canary.make("password")
      let b = try box.recorder()
      let status = Mutable(0)
      let a = try box.recorder { _, _ in .redirect(status.value, to: b.url + "/login?next=1") }
      let origins = "[\"\(b.url)\"]"
      try box.profile(
        "shop",
        Scene.profile(a.url, network: "allow_origins = \(origins)\nsign_in_origins = \(origins)"))
      for number in [301, 302, 303, 307, 308] {
        status.value = number
        let run = try await box.run(
          "login", "-p", "shop", "-u", "ada", "--password-stdin", stdin: password)
        #expect(run.status == 15)
        #expect(run.stderr.contains(b.url + "/login"), "\(run.stderr)")
        #expect(!run.stderr.contains("next=1"))
      }
      #expect(a.connections.count == 5)
      #expect(b.connections.count == 0)
      #expect(try await box.items().isEmpty)
    }
  }

  @Test func renewalAndSignOutAreNeverRedirected() async throws {
    try await Sandbox.with { box in
      let (access, refresh) = (box.canary.make("access"), box.canary.make("refresh"))
      let b = try box.recorder(answering: Scene.routes(["POST /refresh": Scene.tokens("stolen")]))
      let a = try box.recorder(
        answering: Scene.routes([
          "POST /login": Scene.tokens(access, refresh),
          "POST /refresh": .redirect(307, to: b.url + "/refresh"),
          "POST /logout": .redirect(307, to: b.url + "/logout"),
          "GET /me": .redirect(302, to: "/login"),
        ]))
      try box.profile("shop", Scene.profile(a.url))
      try await box.signIn("shop")
      let renewed = try await box.run("refresh", "-p", "shop")
      #expect(renewed.status == 15, "\(renewed.stderr)")
      #expect(try await box.storedTokens() == [access])
      let who = try await box.run("whoami", "-p", "shop")
      #expect(who.status == 15, "\(who.stderr)")
      let out = try await box.run("logout", "-p", "shop", "--json")
      #expect(out.status == 0)
      // A redirect in response to a sign-out counts as success.
      #expect(
        out.stdout
          == #"[{"profile":"shop","account":"ada@shop.example","revoked":true,"deleted":true}]"#
          + "\n")
      #expect(b.connections.count == 0)
      #expect(try await box.items().isEmpty)
    }
  }

  @Test func anonymousHeadersStayWithTheFirstOrigin() async throws {
    try await Sandbox.with(.none) { box in
      let own = "own-credential-of-the-user"
      let b = try box.recorder()
      let a = try box.recorder { _, _ in .redirect(to: b.url + "/b") }
      let run = try await box.run(
        "get", "--anonymous", "-H", "Authorization: Bearer \(own)", "-H", "Cookie: c=\(own)",
        "-H", "X-Key: \(own)", a.url + "/")
      #expect(run.status == 0, "\(run.stderr)")
      #expect(Scene.holds(a, [own]) == [own])
      #expect(b.connections.count == 1)
      #expect(Scene.holds(b, [own]) == [])
    }
  }
}
