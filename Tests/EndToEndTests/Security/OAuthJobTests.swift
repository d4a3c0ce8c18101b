import Testing

/// `login --ci`: the token of a CI job (rule B17).
@Suite struct OAuthJobTests {
  private static let oauth = "client_id = \"demo-public\"\nscope = \"read\"\n"
  private static let subject = "repo:demo/shop:ref:refs/heads/main"
  private static let credential = "demo-ci-request-token"

  /// The variables of a job whose token `url` issues, and nothing else.
  private func job(_ url: String, _ more: [String: String?] = [:]) -> [String: String?] {
    let job: [String: String?] = [
      "HOME": nil, "XDG_RUNTIME_DIR": nil, "DBUS_SESSION_BUS_ADDRESS": nil, "BROWSER": nil,
      "PATH": nil, "GITHUB_ACTIONS": "true", "ACTIONS_ID_TOKEN_REQUEST_URL": url,
      "ACTIONS_ID_TOKEN_REQUEST_TOKEN": Self.credential,
    ]
    return job.merging(more) { $1 }
  }

  private func with(
    oauth: String = oauth, _ body: (OAuthShop) async throws -> Void
  ) async throws {
    try await OAuthShop.with(oauth: oauth, settings: [:]) { shop in
      shop.box.canary.watch(Self.credential)
      try await body(shop)
      try await shop.watchSent()
    }
  }

  private func login(_ shop: OAuthShop, _ words: [String] = []) -> [String] {
    ["login", "--ci", "github", "--ci-host", "127.0.0.1", "--audience", shop.api.url] + words
  }

  @Test(arguments: ["token-exchange", "jwt-bearer"])
  func gitHub(grant: String) async throws {
    try await with(oauth: Self.oauth + "grant = \"\(grant)\"\n") { shop in
      let env = job(shop.api.url + "/ci-token?api-version=2.0")
      let run = try await shop.run(login(shop, ["-vv"]), env: env)
      #expect(run.status == 0 && run.stdout == "", "\(run.stderr)")
      #expect(run.stderr.contains("Signed in to shop as \(Self.subject). "), "\(run.stderr)")
      let asked = try #require(
        try await shop.api.requests().filter { $0["path"]?.string == "/ci-token" }.first)
      #expect(asked["method"]?.string == "GET")
      #expect(asked["headers"]?["authorization"]?.string == "Bearer " + Self.credential)
      #expect(asked["query"]?["api-version"]?.string == "2.0", "\(asked)")
      #expect(asked["query"]?["audience"]?.string == shop.api.url, "\(asked)")
      let form = try #require(try await shop.forms("/token").first)
      let token = form[grant == "jwt-bearer" ? "assertion" : "subject_token"] ?? ""
      #expect(try OAuthByHand.claims(token)["sub"]?.string == Self.subject)
      #expect(
        form["subject_token_type"]
          == (grant == "jwt-bearer"
            ? nil : "urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Ajwt"))
      let get = try await shop.run("get", "/me", env: env)
      #expect(get.status == 0 && get.stdout.contains(Self.subject), "\(get)")
    }
  }

  /// A new profile keeps the grant and the audience, and nothing of the job.
  @Test func newProfile() async throws {
    try await with { shop in
      let run = try await shop.run(
        [
          "login", shop.api.url + "/oauth-api", "--issuer", shop.api.url, "--client-id",
          "demo-public", "-p", "new", "--scope", "read", "--audience", "sts", "--ci", "github",
          "--ci-audience", shop.api.url, "--ci-host", "127.0.0.1",
        ], env: job(shop.api.url + "/ci-token"))
      #expect(run.status == 0, "\(run.stderr)")
      let text = try #require(shop.box.read("config/authctl/profiles/new.toml"))
      #expect(text.contains("grant = \"token-exchange\"") && text.contains("audience = \"sts\""))
      #expect(!text.contains("ci"), "\(text)")
      #expect(try await shop.forms("/token").first?["audience"] == "sts")
      // A profile without a grant, and an option for it.
      for (words, parameter) in [
        ([], "subject_token"), (["--grant", "jwt-bearer"], "assertion"),
      ] as [([String], String)] {
        let run = try await shop.run(
          login(shop, ["-p", "shop", "-u", "ci", "-v"] + words),
          env: job(shop.api.url + "/ci-token"))
        #expect(run.status == 0, "\(run.stderr)")
        #expect(try await shop.forms("/token").last?[parameter] != nil)
      }
    }
  }

  @Test func gitLab() async throws {
    try await with { shop in
      let token = shop.box.canary.make("job")
      try await shop.set(["subject_tokens": [.string(token)]])
      let env: [String: String?] = [
        "HOME": nil, "XDG_RUNTIME_DIR": nil, "PATH": nil, "BROWSER": nil, "GITLAB_CI": "true",
      ]
      for (words, name) in [
        ([], "AUTHCTL_SUBJECT_TOKEN"), (["--ci-variable", "SHOP_ID_TOKEN"], "SHOP_ID_TOKEN"),
      ] as [([String], String)] {
        let words = ["login", "--ci", "gitlab", "-u", "job", "-vv"] + words
        let run = try await shop.run(words, env: env.merging([name: token]) { $1 })
        #expect(run.status == 0 && run.stdout == "", "\(run.stderr)")
        let form = try #require(try await shop.forms("/token").last)
        #expect(form["subject_token"] == token)
        #expect(form["subject_token_type"]?.hasSuffix("%3Ajwt") == true)
        let missing = try await shop.run(words, env: env)
        #expect(missing.status == 10 && missing.stdout == "")
        #expect(
          missing.stderr.hasSuffix(
            """
            authctl: --ci gitlab: \(name) is not set
            hint: name it below id_tokens of the job, with its aud

            """), "\(missing.stderr)")
      }
    }
  }

  @Test func outsideAJob() async throws {
    try await with { shop in
      for (changes, says, hint) in [
        (
          ["ACTIONS_ID_TOKEN_REQUEST_URL": nil, "GITHUB_ACTIONS": nil],
          "--ci github: ACTIONS_ID_TOKEN_REQUEST_URL is not set",
          "this is not a job of GitHub Actions"
        ),
        (
          ["ACTIONS_ID_TOKEN_REQUEST_TOKEN": ""],
          "--ci github: ACTIONS_ID_TOKEN_REQUEST_TOKEN is not set",
          "give the job the permission id-token: write"
        ),
      ] as [([String: String?], String, String)] {
        let run = try await shop.run(login(shop), env: job(shop.api.url + "/ci-token", changes))
        #expect(run.status == 10 && run.stdout == "")
        #expect(run.stderr == "authctl: \(says)\nhint: \(hint)\n")
      }
      let lab = try await shop.run("login", "--ci", "gitlab")
      #expect(lab.stderr.hasSuffix("\nhint: this is not a job of GitLab CI\n"), "\(lab.stderr)")
      #expect(try await shop.api.count("GET /ci-token") == 0)
    }
  }

  /// A profile does not choose for whom the job vouches.
  @Test func audienceIsOfTheCommandLine() async throws {
    try await with(oauth: Self.oauth + "audience = \"sts.example\"") { shop in
      let run = try await shop.run(
        "login", "--ci", "github", "--ci-host", "127.0.0.1",
        env: job(shop.api.url + "/ci-token"))
      #expect(run.status == 2 && run.stdout == "")
      #expect(
        run.stderr == """
          authctl: --ci github requires an audience
          hint: --audience NAME says whom the job's token is for

          """)
      #expect(try await shop.api.requests().isEmpty)
    }
  }

  @Test(
    arguments: [
      "http://x.actions.githubusercontent.com/t", "https://evil.example/t",
      "https://evil.example/.actions.githubusercontent.com",
      "https://x.actions.githubusercontent.com.evil.example/t",
      "https://user:pass@x.actions.githubusercontent.com/t", "http://127.0.0.2:9/t",
      "http://127.0.0.1.evil.example/t", "file:///etc/passwd", "127.0.0.1",
      "https://x.actions.githubusercontent.com/t?audience=sts.example",
    ])
  func hostileVariable(url: String) async throws {
    try await with { shop in
      // A proxy would see where a request goes.
      let proxy = try shop.box.recorder()
      let run = try await shop.run(
        login(shop), env: job(url, ["https_proxy": proxy.url, "http_proxy": proxy.url]))
      #expect(run.status == 13 && run.stdout == "" && run.hasErrorForm, "\(run.stderr)")
      #expect(run.stderr.contains("ACTIONS_ID_TOKEN_REQUEST_URL"), "\(run.stderr)")
      #expect(!run.stderr.contains("user:pass"))
      #expect(proxy.connections.isEmpty)
      #expect(try await shop.api.requests().isEmpty)
    }
  }

  /// Without --ci-host nothing but GitHub is asked, this machine included.
  @Test func hostThatIsNotNamed() async throws {
    try await with { shop in
      let run = try await shop.run(
        "login", "--ci", "github", "--audience", "x", env: job(shop.api.url + "/ci-token"))
      #expect(run.status == 13 && run.stdout == "")
      #expect(
        shop.shown(run) == """
          authctl: ACTIONS_ID_TOKEN_REQUEST_URL leads to API, which is not GitHub
          hint: --ci-host HOST permits the host of a GitHub Enterprise Server

          """)
      #expect(try await shop.api.requests().isEmpty)
    }
  }

  /// A named host is asked by TLS, and its certificate is verified.
  @Test func namedHostByTLS() async throws {
    try await with { shop in
      let claims = OAuthByHand.base64URL(Array(#"{"aud":["x","shop"],"sub":"ci"}"#.utf8))
      let token = OAuthByHand.base64URL(Array(#"{"alg":"RS256"}"#.utf8)) + "." + claims + ".c2ln"
      shop.box.canary.watch(token)
      try await shop.set(["subject_tokens": [.string(token)]])
      let own = try await shop.box.certificate("own")
      let server = try await shop.box.tlsServer(own)
      try shop.box.write(
        "www/token?audience=shop",
        "HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n{\"value\":\"\(token)\"}")
      let words = ["login", "--ci", "github", "--ci-host", "127.0.0.1", "--audience", "shop"]
      let unknown = try await shop.run(words, env: job(server.url + "/token"))
      #expect(unknown.status == 8 && unknown.stdout == "", "\(unknown.stderr)")
      #expect(try await shop.forms("/token").isEmpty)
      try shop.profile(Self.oauth, more: "[network]\nca_file = \"\(own).pem\"")
      let run = try await shop.run(words, env: job(server.url + "/token"))
      #expect(run.status == 0, "\(run.stderr)\n\(server.log)")
      #expect(run.stderr.contains("Signed in to shop as ci."))
    }
  }

  @Test(
    arguments: [
      (Recorder.Answer.http(302, headers: [("Location", "https://evil.example/")]), 15),
      (.http(307, headers: [("Location", "/elsewhere")]), 15), (.http(401), 14), (.http(403), 14),
      (.http(404), 4), (.http(500), 5), (.http(200, "{}"), 15), (.http(200, "no"), 15),
      (.http(200, #"{"value":""}"#), 15), (.http(200, #"{"value":"opaque"}"#), 15),
      (.http(200, #"{"value":"e30.e30.e30"}"#), 15),
      (.http(200, #"{"value":"e30.eyJhdWQiOiJvdGhlciJ9.e30"}"#), 15), (.close, 7),
    ] as [(Recorder.Answer, Int32)])
  func answersOfTheService(answer: Recorder.Answer, status: Int32) async throws {
    try await with { shop in
      let service = try shop.box.recorder { _, request in
        // It repeats what it was sent, if it answers at all.
        guard case .bytes(let bytes) = answer else { return answer }
        let echo = String(decoding: request, as: UTF8.self).replacing("\r\n", with: " ")
        let text = String(decoding: bytes, as: UTF8.self)
        return text.contains("Content-Length: 0")
          ? .bytes(
            Array(
              text.replacing(
                "Content-Length: 0", with: "X-Echo: \(echo)\r\nContent-Length: \(echo.utf8.count)"
              ).utf8) + Array(echo.utf8)) : answer
      }
      for words in [["-vv"], ["--errors", "json"]] {
        let run = try await shop.run(login(shop, words), env: job(service.url + "/t"))
        #expect(run.status == status && run.stdout == "", "\(run.stderr)")
      }
      #expect(service.connections.count == 2, "a redirect is not followed")
      #expect(try await shop.forms("/token").isEmpty)
    }
  }

  /// A server that puts the token into its error, and makes it long.
  @Test(arguments: ["token-exchange", "jwt-bearer"])
  func serverThatRepeatsTheToken(grant: String) async throws {
    try await with(oauth: Self.oauth + "grant = \"\(grant)\"\n") { shop in
      try await shop.set(["token_error": "invalid_grant", "error_echo": true])
      for words in [["-vv"], ["--errors", "json"]] {
        let run = try await shop.run(
          login(shop, words), env: job(shop.api.url + "/ci-token?api-version=2.0"))
        #expect(run.status == 14 && run.stdout == "", "\(run.stderr)")
        #expect(
          run.stderr.contains("invalid_grant") && run.stderr.contains("=***"), "\(run.stderr)")
      }
      // The token as the error code itself, with the status of success.
      let token = shop.box.canary.make("subject") + String(repeating: "x", count: 200)
      shop.box.canary.watch(String(token.prefix(60)))
      try await shop.set([
        "token_error": .string(token), "token_error_status": 200, "error_echo": false,
        "error_description": .string(String(repeating: "y", count: 400)),
      ])
      let run = try await shop.run(
        "login", "-u", "x", "--grant", grant, "--subject-token-stdin", stdin: token + "\n")
      #expect(run.status == 4 && run.stdout == "", "\(run.stderr)")
      #expect(run.stderr.filter { $0 == "y" }.count == 200, "\(run.stderr)")
    }
  }

  // MARK: - token --mask

  @Test func maskIsOneLineOfStandardOutput() async throws {
    try await OAuthShop.with(oauth: Self.oauth, settings: [:]) { shop in
      shop.box.canary.watch(Self.credential)
      let env = job(shop.api.url + "/ci-token")
      let login = try await shop.run(login(shop), env: env)
      #expect(login.status == 0 && !login.stderr.contains("add-mask"), "\(login.stderr)")
      let token = try await shop.run("token", env: env)
      let mask = try await shop.run("token", "--mask", env: env)
      #expect(mask.status == 0 && mask.stderr == "")
      #expect(mask.stdout == "::add-mask::" + token.stdout)
      // The runner decodes %.
      try await shop.set(["token": ["access_token": "a%0Ab-token"]])
      #expect(try await shop.run(self.login(shop), env: env).status == 0)
      #expect(
        try await shop.run("token", "--mask", env: env).stdout == "::add-mask::a%250Ab-token\n")
      for other in ["--json", "--header", "--introspect"] {
        let run = try await shop.run("token", "--mask", other, env: env)
        #expect(run.status == 2 && run.stdout == "", "\(run.stderr)")
      }
      // Nobody would take the line off the log.
      for value in [nil, "", "false"] as [String?] {
        let run = try await shop.run(
          "token", "--mask", env: env.merging(["GITHUB_ACTIONS": value]) { $1 })
        #expect(run.status == 2 && run.stdout == "")
        #expect(
          run.stderr == """
            authctl: --mask is for jobs of GitHub Actions, and GITHUB_ACTIONS is not true here

            """)
      }
    }
  }
}
