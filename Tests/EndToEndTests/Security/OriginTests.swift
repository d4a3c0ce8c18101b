import Testing

/// Where a credential may be sent: rules A1, A2, A7, A8, B18.
@Suite struct OriginTests {
  // MARK: Rule A1

  @Test func tokenOfTheEnvironmentServesOneOrigin() async throws {
    try await Sandbox.with(.none) { box in
      let token = box.canary.make("access")
      let (a, b) = (try box.recorder(), try box.recorder())
      for (name, url) in [("a", a.url), ("b", b.url)] {
        try box.profile(name, "url = \"\(url)\"\n")
      }
      struct Row {
        var words: [String]
        var env: [String: String] = [:]
        var status: Int32
        var reaches: String?
      }
      let rows = [
        Row(words: ["-p", "a", "/"], status: 0, reaches: "a"),
        Row(words: ["/"], env: ["AUTHCTL_PROFILE": "b"], status: 0, reaches: "b"),
        Row(words: ["/"], env: ["AUTHCTL_URL": a.url], status: 0, reaches: "a"),
        Row(words: ["-p", "b", "/"], env: ["AUTHCTL_URL": a.url], status: 13),
        Row(words: [b.url + "/"], env: ["AUTHCTL_URL": a.url], status: 13),
        Row(words: [a.url + "/"], env: ["AUTHCTL_URL": a.url], status: 0, reaches: "a"),
        Row(words: ["/"], env: ["AUTHCTL_URL": a.url, "AUTHCTL_PROFILE": "b"], status: 13),
        Row(words: [b.url + "/"], status: 13),
        Row(words: [b.url + "/"], env: ["AUTHCTL_PROFILE": "a"], status: 13),
        Row(words: ["-p", "a", b.url + "/"], status: 13),
        Row(words: ["/"], status: 2),
      ]
      for row in rows {
        let before = (a.connections.count, b.connections.count)
        var env: [String: String?] = ["AUTHCTL_TOKEN": token]
        for (name, value) in row.env { env[name] = value }
        let run = try await box.run(["get"] + row.words, env: env)
        let note: Comment = "\(row.words) \(row.env): \(run.stderr)"
        #expect(run.status == row.status, note)
        #expect(a.connections.count - before.0 == (row.reaches == "a" ? 1 : 0), note)
        #expect(b.connections.count - before.1 == (row.reaches == "b" ? 1 : 0), note)
      }
      // The only profile is chosen, but only for its own origin.
      #expect(try await box.run("profile", "remove", "b").status == 0)
      let foreign = try await box.run("get", b.url + "/", env: ["AUTHCTL_TOKEN": token])
      #expect(foreign.status == 13, "\(foreign.stderr)")
      #expect(b.connections.count == 1)
    }
  }

  @Test func tokenOfTheEnvironmentIsBoundToItsProfileByName() async throws {
    try await Sandbox.with(.none) { box in
      let (common, own) = (box.canary.make("common"), box.canary.make("own"))
      let (a, b) = (try box.recorder(), try box.recorder())
      try box.profile("a", "url = \"\(a.url)\"\n")
      try box.profile("my-shop.b", "url = \"\(b.url)\"\n")
      let env = ["AUTHCTL_TOKEN": common, "AUTHCTL_TOKEN_FOR_MY_SHOP_B": own]
      #expect(try await box.run("get", "-p", "my-shop.b", "/", env: env).status == 0)
      #expect(Scene.holds(b, [common, own]) == [own])
      #expect(try await box.run("get", "-p", "a", "/", env: env).status == 0)
      #expect(Scene.holds(a, [common, own]) == [common])
    }
  }

  @Test func recipeThatNeedsMoreThanATokenNamesWhatIsMissing() async throws {
    try await Sandbox.with(.none) { box in
      let token = box.canary.make("access")
      let api = try box.recorder()
      try box.profile(
        "shop",
        Scene.profile(
          api.url, request: #"headers = { uid = "{session.uid}", tok = "{access_token}" }"#,
          more: "[session.keep]\nuid = \"header:uid\"\n"))
      let run = try await box.run("get", "-p", "shop", "/", env: ["AUTHCTL_TOKEN": token])
      #expect(run.status == 10)
      #expect(run.stderr.contains("session.uid"))
      #expect(api.connections.count == 0)
    }
  }

  // MARK: Rule A2

  /// A change of the profile after the sign-in, and the commands that must then refuse.
  struct Change: Sendable, CustomTestStringConvertible {
    var name: String
    var profile: @Sendable (_ a: String, _ b: String) -> String
    var refused: [[String]]
    var testDescription: String { name }
  }

  static let changes = [
    Change(
      name: "url", profile: { Scene.profile($1) },
      refused: [["get", "/x"], ["get", "B/x"], ["whoami"], ["refresh"]]),
    Change(
      name: "url, the old one in allow_origins",
      profile: { Scene.profile($1, network: "allow_origins = [\"\($0)\"]") },
      refused: [["get", "/x"], ["refresh"], ["whoami"]]),
    Change(
      name: "allow_origins",
      profile: { Scene.profile($0, network: "allow_origins = [\"\($1)\"]") },
      refused: [["get", "B/x"]]),
    Change(
      name: "refresh.path and sign_in_origins",
      profile: {
        Scene.profile(
          $0, refresh: "path = \"\($1)/refresh\"", network: "sign_in_origins = [\"\($1)\"]")
      },
      refused: [["refresh"], ["token", "--min-ttl", "1h"]]),
    Change(
      name: "logout.path and sign_in_origins",
      profile: {
        Scene.profile(
          $0, logout: "path = \"\($1)/logout\"", network: "sign_in_origins = [\"\($1)\"]")
      },
      refused: [["logout", "--require-revocation"]]),
  ]

  @Test(arguments: changes) func originsAreFixedAtSignIn(_ change: Change) async throws {
    try await Sandbox.with { box in
      let (access, refresh) = (box.canary.make("access"), box.canary.make("refresh"))
      let a = try box.recorder(
        answering: Scene.routes(["POST /login": Scene.tokens(access, refresh)]))
      let b = try box.recorder()
      try box.profile("shop", Scene.profile(a.url))
      try await box.signIn("shop")
      try box.profile("shop", change.profile(a.url, b.url))
      for words in change.refused {
        let words = words.map { $0.hasPrefix("B/") ? b.url + $0.dropFirst() : $0 }
        let run = try await box.run(words + ["-p", "shop", "-u", Scene.account])
        #expect(run.status == 13, "\(words): \(run.stderr)")
        #expect(run.stdout == "")
        #expect(run.stderr.hasSuffix("\nhint: authctl login -p shop\n"), "\(words): \(run.stderr)")
        #expect(try await box.storedTokens() == [access])
      }
      let out = try await box.run("logout", "-p", "shop", "-u", Scene.account)
      #expect(out.status == 0, "\(out.stderr)")
      #expect(try await box.items().isEmpty)
      #expect(b.connections.count == 0)
    }
  }

  @Test func newSignInFixesTheOriginsAnew() async throws {
    try await Sandbox.with { box in
      let (access, refresh) = (box.canary.make("access"), box.canary.make("refresh"))
      let a = try box.recorder(
        answering: Scene.routes(["POST /login": Scene.tokens(access, refresh)]))
      let b = try box.recorder()
      try box.profile("shop", Scene.profile(a.url, network: "allow_origins = [\"\(b.url)\"]"))
      try await box.signIn("shop")
      #expect(try await box.run("get", "-p", "shop", b.url + "/x").status == 0)
      #expect(Scene.holds(b, [access, refresh]) == [access])
      // An origin removed from the profile is refused, whatever the session contains.
      try box.profile("shop", Scene.profile(a.url))
      let run = try await box.run("get", "-p", "shop", "-u", Scene.account, b.url + "/x")
      #expect(run.status == 13)
      #expect(b.connections.count == 1)
    }
  }

  /// `allow_origins` does not permit sending passwords or refresh tokens there.
  @Test func pathElsewhereNeedsASignInOrigin() async throws {
    try await Sandbox.with { box in
      let password = box.canary.make("password")
      let (access, refresh) = (box.canary.make("access"), box.canary.make("refresh"))
      let a = try box.recorder(
        answering: Scene.routes(["POST /login": Scene.tokens(access, refresh)]))
      let b = try box.recorder()
      let network = "allow_origins = [\"\(b.url)\"]"
      let path = "path = \"\(b.url)/there\""
      try box.profile("shop", Scene.profile(a.url, login: path, network: network))
      let login = try await box.run(
        "login", "-p", "shop", "-u", "ada", "--password-stdin", stdin: password)
      #expect(login.status == 13, "\(login.stderr)")
      #expect(login.stderr.contains("network.sign_in_origins"), "\(login.stderr)")
      #expect(a.connections.count == 0)
      try box.profile("shop", Scene.profile(a.url, refresh: path, logout: path, network: network))
      try await box.signIn("shop", password: password)
      let renewal = try await box.run("refresh", "-p", "shop")
      #expect(renewal.status == 13, "\(renewal.stderr)")
      let logout = try await box.run("logout", "-p", "shop")
      #expect(logout.status == 0, "\(logout.stderr)")
      #expect(logout.stderr.contains(b.url), "\(logout.stderr)")
      #expect(try await box.items().isEmpty)
      #expect(b.connections.count == 0)
    }
  }

  // MARK: Rule A7

  @Test func cleartextToThisMachineUsesNoProxy() async throws {
    try await Sandbox.with(.none) { box in
      let token = box.canary.make("access")
      let (api, proxy) = (try box.recorder(), try box.recorder())
      try box.profile("shop", "url = \"\(api.url)\"\n")
      try box.profile("proxied", "url = \"\(api.url)\"\n[network]\nproxy = \"\(proxy.url)\"\n")
      var asked = 0
      for name in ["http_proxy", "ALL_PROXY", "all_proxy", "HTTP_PROXY", "https_proxy", ""] {
        var env: [String: String?] = ["AUTHCTL_TOKEN": token]
        if !name.isEmpty { env[name] = proxy.url }
        let run = try await box.run("get", "-p", name.isEmpty ? "proxied" : "shop", "/", env: env)
        #expect(run.status == 0, "\(name): \(run.stderr)")
        asked += 1
        #expect(api.connections.count == asked)
      }
      #expect(proxy.connections.count == 0)
      #expect(api.texts.allSatisfy { $0.hasPrefix("GET / HTTP/1.1\r\n") })
    }
  }

  /// Hosts that are or may be this machine but are not literally loopback, and one that is not.
  static let notLoopback: [(host: String, status: Int32)] = [
    ("localhost.", 2), ("0", 13), ("0.0.0.0", 13), ("[::ffff:127.0.0.1]", 13), ("[::]", 13),
    ("foo.localhost", 13), ("192.0.2.1", 13), ("api.invalid", 13), ("[2001:db8::1]", 13),
    ("128.0.0.1", 13), ("[::ffff:7f00:1]", 13), ("localhost.localdomain", 13),
  ]

  @Test func cleartextElsewhereIsRefusedBeforeAByte() async throws {
    try await Sandbox.with { box in
      let token = box.canary.make("access")
      let password = box.canary.make("password")
      let (four, proxy) = (try box.recorder(), try box.recorder())
      for (index, row) in Self.notLoopback.enumerated() {
        try box.profile("p\(index)", Scene.profile("http://\(row.host):\(four.port)"))
        var env: [String: String?] = ["AUTHCTL_TOKEN": token, "http_proxy": proxy.url]
        let get = try await box.run("get", "-p", "p\(index)", "/", env: env)
        #expect(get.status == row.status, "get \(row.host): \(get.stderr)")
        env["AUTHCTL_TOKEN"] = .some(nil)
        let login = try await box.run(
          "login", "-p", "p\(index)", "-u", "ada", "--password-stdin", stdin: password, env: env)
        #expect(login.status == row.status, "login \(row.host): \(login.stderr)")
        #expect(get.stdout + login.stdout == "")
      }
      #expect(four.connections.count == 0)
      #expect(proxy.connections.count == 0)
      #expect(try await box.items().isEmpty)
    }
  }

  @Test func allowHTTPIsForTheProfilesOwnOriginOnly() async throws {
    try await Sandbox.with(.none) { box in
      let token = box.canary.make("access")
      let (api, proxy) = (try box.recorder(), try box.recorder())
      let network =
        "allow_http = true\nallow_origins = [\"http://other.invalid\"]\nproxy = \"\(proxy.url)\""
      try box.profile("shop", "url = \"\(api.url)\"\n[network]\n\(network)\n")
      let run = try await box.run(
        "get", "-p", "shop", "http://other.invalid/", env: ["AUTHCTL_TOKEN": token])
      #expect(run.status == 13, "\(run.stderr)")
      #expect(proxy.connections.count == 0)
    }
  }

  // MARK: Rule B18

  @Test func profileNamesAreNotPaths() async throws {
    let names = [
      "../x", "..", ".", "", "../../.ssh/x", ".hidden", "-dash", "a b", "a\nb", "x.toml",
      "\u{E9}", "e\u{301}", "a\\b", "a:b", "~", "*", "$HOME", "%2e%2e", "a;b",
      String(repeating: "n", count: 65),
    ]
    try await Sandbox.with(.none) { box in
      let api = try box.recorder()
      try box.profile("shop", "url = \"\(api.url)\"\n")
      try box.write("config/x.toml", "url = \"\(api.url)\"\n")
      let before = box.files()
      for (index, name) in names.enumerated() {
        // A value with a slash names a file, which does not exist in this folder.
        let others = [
          ["profile", "add", "--", name, api.url], ["profile", "show", "--", name],
          ["profile", "remove", "--", name], ["profile", "default", "--", name],
        ]
        for words in [["get", "-p", name, "/"], others[0], others[index % 4]] {
          let run = try await box.run(words, env: ["AUTHCTL_TOKEN": "tok"])
          #expect(run.status == 2, "\(words): \(run.status) \(run.stderr)")
        }
      }
      let preset = try await box.run("profile", "add", "n", api.url, "--preset", "../x")
      #expect(preset.status == 2)
      #expect(box.files() == before)
      #expect(api.connections.count == 0)
    }
  }

  @Test func accountOfTheServerDoesNotReplaceAnotherSession() async throws {
    try await Sandbox.with { box in
      let tokens = ["ada", "bob", "new"].map { box.canary.make($0) }
      let api = try box.recorder(
        answering: Recorder.list(
          Scene.tokens(tokens[0]), Scene.tokens(tokens[1]),
          Scene.tokens(tokens[2], more: ["email": .string(Scene.account)])))
      let text = """
        url = "\(api.url)"
        [login]
        path = "/login"
        body = { pin = "{password}" }

        """
      try box.profile("shop", text)
      try await box.signIn("shop")
      try await box.signIn("shop", as: "bob")
      try box.profile("shop", text)
      let run = try await box.run("login", "-p", "shop", "--password-stdin", stdin: "1234567890")
      #expect(run.status == 15, "\(run.stderr)")
      #expect(try await box.storedTokens() == tokens[...1].sorted())
    }
  }
}
