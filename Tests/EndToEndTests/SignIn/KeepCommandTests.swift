import Glibc
import Testing

/// `login --password-command CMD --keep-command`: a session that can sign in again by itself.
@Suite struct KeepCommandTests {
  /// Runs `body` after a sign-in to a shop without a refresh request, with a command that prints
  /// the password from a file.
  private func withShop(
    without: Set<String> = ["refresh"], _ options: [String] = [],
    _ body: @Sendable (Shop, APIServer) async throws -> Void
  ) async throws {
    try await Shop.with(without: without, signsIn: false) { shop, api in
      try shop.box.write("password", Shop.password + "\n")
      let run = try await login(shop, options)
      #expect(run.status == 0, "\(run.stderr)")
      #expect(run.stdout == "")
      try await body(shop, api)
    }
  }

  private func login(_ shop: Shop, _ options: [String] = []) async throws -> Run {
    let file = shop.box.root + "/password"
    return try await shop.box.run(
      ["login", "-p", "shop", "--password-command", "cat '\(file)'", "--keep-command"] + options)
  }

  @Test func aSessionThatEndsSignsInAgainOnce() async throws {
    try await withShop { shop, api in
      let before = try await shop.payload()
      try await shop.age(ended: 10)
      for _ in 0..<2 {
        let run = try await shop.box.run("get", "/me")
        #expect(run.stderr == "")
        #expect(run.stdout == Shop.me)
        #expect(run.status == 0)
      }
      #expect(try await api.count("POST /login") == 2)
      let after = try await shop.payload()
      #expect(after["generation"]?.string != before["generation"]?.string)
      #expect(after["request_origins"] == before["request_origins"])
      #expect(after["sign_in_again"] == before["sign_in_again"])
    }
  }

  @Test func manyProcessesSignInOnce() async throws {
    try await withShop { shop, api in
      try await shop.age(ended: 10)
      let crowd = try (0..<20).map { _ in try shop.box.start(["get", "/me"]) }
      for child in crowd {
        let run = try await child.finish()
        #expect(run.stderr == "")
        #expect(run.stdout == Shop.me)
        #expect(run.status == 0)
      }
      #expect(try await api.count("POST /login") == 2)
    }
  }

  @Test(arguments: [["refresh"], ["token"], ["whoami"], ["exec", "--", "true"]])
  func everyCommandThatNeedsATokenGetsOne(_ command: [String]) async throws {
    try await withShop { shop, api in
      try await shop.age(ended: 10)
      let run = try await shop.box.run(command)
      #expect(run.status == 0, "\(run.stderr)")
      #expect(try await api.count("POST /login") == 2)
    }
  }

  /// Only the server can end such a session: a 401 shows it.
  @Test func aRefusedTokenIsReplacedAndTheRequestSentAgain() async throws {
    try await withShop { shop, api in
      try await api.misbehave(["path": "/me", "times": 1, "status": 401])
      let run = try await shop.box.run("get", "/me")
      #expect(run.stderr == "")
      #expect(run.stdout == Shop.me)
      #expect(run.status == 0)
      #expect(try await api.count("POST /login") == 2)
    }
  }

  /// A batch signs in once for all refused requests, and before a token expires.
  @Test func aBatchSignsInAgainOnce() async throws {
    try await withShop { shop, api in
      let lines = Batch.lines((1...5).map { #"{"id":\#($0),"url":"/me"}"# })
      try await api.misbehave(["path": "/me", "times": 2, "status": 401])
      for logins in [2, 3] {
        let run = try await shop.box.run(["batch", "--parallel", "2"], stdin: lines)
        #expect(run.stderr == "")
        #expect(try run.answers().map { $0["id"]?.int } == [1, 2, 3, 4, 5])
        #expect(try run.answers().allSatisfy { $0["status"] == 200 && $0["json"]?["id"] == "1" })
        #expect(run.status == 0)
        #expect(try await api.count("POST /login") == logins)
        try await shop.age(ended: -20)
      }
      #expect(try await api.count("GET /me") == 12)
    }
  }

  @Test func theRefreshTokenComesFirst() async throws {
    try await withShop(without: []) { shop, api in
      try await shop.age(ended: 10)
      #expect(try await shop.box.run("get", "/me").stdout == Shop.me)
      #expect(try await api.count("POST /login") == 1)
      try await api.misbehave(["path": "/refresh", "times": 1, "status": 401])
      try await shop.age(ended: 10)
      let run = try await shop.box.run("get", "/me")
      #expect(run.stderr == "")
      #expect(run.stdout == Shop.me)
      #expect(try await api.count("POST /login") == 2)
      #expect(try await api.count("POST /refresh") == 2)
    }
  }

  @Test func statusSaysSo() async throws {
    try await withShop { shop, _ in
      let rows = try JSON(parsing: try await shop.box.run("status", "--json").stdout)
      #expect(rows[0]?["refreshable"]?.bool == true)
      #expect(rows[0]?["keeps_command"]?.bool == true)
      #expect(try await shop.box.run("status").stdout.contains("min, then by command  http"))
      try await shop.age(ended: 10)
      #expect(try await shop.box.run("status").stdout.contains("refreshable  by command  http"))
      let check = try await shop.box.run("status", "--check", "--min-ttl", "300")
      #expect(check.stdout == "")
      #expect(check.stderr == "")
      #expect(check.status == 0)
      let again = try await shop.box.run("login", "-p", "shop", "--if-needed", "--min-ttl", "10m")
      #expect(again.status == 0, "\(again.stderr)")
    }
  }

  /// Repeating a wrong password would lock the account.
  @Test func aRefusedPasswordIsNotTriedAgain() async throws {
    try await withShop { shop, api in
      try shop.box.write("password", "wrong\n")
      try await shop.age(ended: 7300)
      for requests in [2, 2] {
        let run = try await shop.box.run("get", "/me")
        #expect(run.status == 11)
        #expect(run.stdout == "")
        #expect(run.hasErrorForm)
        #expect(
          run.stderr.hasPrefix("authctl: shop: session of \(Shop.ada) expired 2 h ago"))
        #expect(run.stderr.hasSuffix("\nhint: authctl login -p shop -u \(Shop.ada)\n"))
        #expect(try await api.count("POST /login") == requests)
      }
      #expect(try await api.count("GET /me") == 0)
    }
  }

  @Test func aCommandThatFailsIsToldAndKept() async throws {
    try await withShop { shop, api in
      try await shop.age(ended: 10)
      unlink(shop.box.root + "/password")
      let run = try await shop.box.run("get", "/me")
      #expect(run.status == 10)
      #expect(run.stdout == "")
      #expect(
        run.stderr.hasPrefix("authctl: --keep-command: the command exited with status 1: cat: "),
        "\(run.stderr)")
      #expect(try await api.count("POST /login") == 1)
      try shop.box.write("password", Shop.password + "\n")
      #expect(try await shop.box.run("get", "/me").stdout == Shop.me)
    }
  }

  /// The command inherits no secret in its environment and no open connection.
  @Test func theCommandInheritsNothing() async throws {
    try await withShop { shop, api in
      let box = shop.box
      let command = """
        ls /proc/self/fd > '\(box.root)/fds'; env > '\(box.root)/env'; \
        cat '\(box.root)/password'
        """
      let run = try await box.run(
        ["login", "-p", "shop", "--password-command", command, "--keep-command"])
      #expect(run.status == 0, "\(run.stderr)")
      try await api.misbehave(["path": "/me", "times": 1, "status": 401])
      let get = try await box.run(
        "get", "/me", env: ["AUTHCTL_STORE_PASSPHRASE": box.canary.make("passphrase")])
      #expect(get.stdout == Shop.me, "\(get.stderr)")
      #expect(box.read("fds") == "0\n1\n2\n3\n")
      #expect(box.read("env")?.contains("AUTHCTL_STORE_PASSPHRASE") == false)
    }
  }

  /// It has only descriptors 0, 1 and 2, whatever the caller left open (rule B8).
  @Test func theCommandHasThreeDescriptors() async throws {
    try await withShop { shop, api in
      let box = shop.box
      // 3 is the directory that ls reads.
      let command = "ls /proc/self/fd >> '\(box.root)/fds'; cat '\(box.root)/password'"
      func run(_ words: [String]) async throws -> Run {
        try await box.run(
          ["-c", #"exec 5</dev/null 9>>/dev/null; exec "$@""#, "sh", try Built.authctl()] + words,
          program: "/bin/sh")
      }
      let login = try await run(
        ["login", "-p", "shop", "--password-command", command, "--keep-command"])
      #expect(login.status == 0, "\(login.stderr)")
      #expect(box.read("fds") == "0\n1\n2\n3\n")
      try await api.misbehave(["path": "/me", "times": 1, "status": 401])
      let get = try await run(["get", "/me"])
      #expect(get.stdout == Shop.me, "\(get.stderr)")
      #expect(box.read("fds") == "0\n1\n2\n3\n0\n1\n2\n3\n")
    }
  }

  /// The user decided at the sign-in where the password is sent (rule A2).
  @Test func aChangedProfileGetsNoPassword() async throws {
    try await withShop { shop, _ in
      let other = try shop.box.recorder()
      let text = try #require(shop.box.read("config/authctl/profiles/shop.toml"))
      try shop.box.write(
        "config/authctl/profiles/shop.toml",
        text.replacing("path = \"/login\"", with: "path = \"\(other.url)/login\"")
          + "\n[network]\nsign_in_origins = [\"\(other.url)\"]\n")
      try await shop.age(ended: 10)
      let run = try await shop.box.run("get", "/me")
      #expect(run.status == 13)
      #expect(run.stdout == "")
      #expect(run.stderr.contains("the session was not created for \(other.url)"))
      #expect(other.connections.isEmpty)
    }
  }

  /// Only a sign-in by the user takes the origins that the profile names since (rule A2).
  @Test func originsAreThoseOfTheFirstSignIn() async throws {
    try await withShop { shop, _ in
      let before = try await shop.payload()
      let other = try shop.box.recorder()
      let text = try #require(shop.box.read("config/authctl/profiles/shop.toml"))
      try shop.box.write(
        "config/authctl/profiles/shop.toml",
        text + """
          [network]
          allow_origins = ["\(other.url)"]
          sign_in_origins = ["\(other.url)"]

          """)
      try await shop.age(ended: 10)
      let run = try await shop.box.run("get", "/me")
      #expect(run.stdout == Shop.me && run.stderr == "" && run.status == 0)
      let after = try await shop.payload()
      #expect(after["generation"] != before["generation"])
      for origins in ["request_origins", "sign_in_origins"] {
        #expect(after[origins] != nil && after[origins] == before[origins], "\(origins)")
      }
      let away = try await shop.box.run("get", "-p", "shop", other.url + "/")
      #expect(away.stderr.contains("the session was not created for \(other.url)"))
      #expect(away.stdout == "" && away.status == 13)
      #expect(other.connections.isEmpty)
    }
  }

  /// In the process that gets it from the command (rule B3).
  @Test func passwordThatTheServerRepeatsIsMasked() async throws {
    try await Sandbox.with { box in
      let password = box.canary.make("password")
      try box.write("password", password + "\n")
      let script = Script()
      script["POST /login"] = Script.tokens()
      let api = try box.recorder(answering: script.answering)
      let shop = try Shop(box, api.url, without: ["refresh"])
      let login = try await login(shop)
      try #require(login.status == 0, "\(login.stderr)")
      for (status, code) in [(500, 5), (401, 11)] as [(Int, Int32)] {
        script["POST /login"] = .http(status, #"{"message":"\#(password) is wrong"}"#)
        try await shop.age(ended: 7300)
        let run = try await box.run("get", "/me", "-v")
        #expect(run.stderr.contains("\nserver: "), "\(run.stderr)")
        #expect(run.stderr.contains("*** is wrong\n"), "\(run.stderr)")
        #expect(run.stdout == "" && run.status == code)
      }
      #expect(Scene.holds(api, [password]) == [password])
    }
  }

  @Test func theCommandStandsInTheSecretAlone() async throws {
    try await withShop { shop, _ in
      let command = try await shop.payload()["sign_in_again"]?["command"]?.string
      #expect(command?.hasPrefix("cat ") == true)
      #expect(shop.box.read("config/authctl/profiles/shop.toml")?.contains("cat ") == false)
      #expect(try await shop.box.run("logout", "-p", "shop").status == 0)
      #expect(try await shop.box.items().isEmpty)
    }
  }

  @Test func theKeptFieldsAndKeysServeAgain() async throws {
    try await Sandbox.with { box in
      let server = try box.recorder { _, _ in
        .http(200, #"{"token":"t0k3n-that-is-long"}"#)
      }
      try box.write(
        "config/authctl/profiles/plain.toml",
        """
        url = "\(server.url)"
        [login]
        path = "/login"
        authorization = "app"
        body = { user = "{username}", password = "{password}" }
        [session]
        access_token = ["/token"]
        """)
      let key = box.canary.make("app-key")
      let run = try await box.run(
        "login", "-p", "plain", "-u", "ada", "--password-command", "echo pass-word-9",
        "--keep-command", "--field", "role=3", env: ["AUTHCTL_APP_KEY": "app:\(key)"])
      #expect(run.status == 0, "\(run.stderr)")
      #expect(try await box.run("refresh", "-p", "plain").status == 0)
      #expect(server.texts.count == 2)
      #expect(server.texts.first == server.texts.last)
      #expect(
        server.texts.last?.hasSuffix(#"{"user":"ada","password":"pass-word-9","role":3}"#) == true)
    }
  }

  @Test func whatCannotBeKeptIsSaid() async throws {
    try await withShop { shop, _ in
      for (options, words) in [
        (
          ["--password-stdin"],
          "--keep-command requires --password-command or --subject-token-command"
        ),
        (
          ["--password-command", "true", "--token-stdin"],
          "--keep-command cannot be used with an existing token"
        ),
      ] {
        let run = try await shop.box.run(
          ["login", "-p", "shop", "--keep-command"] + options, stdin: "x\n")
        #expect(run.status == 2)
        #expect(run.stdout == "")
        #expect(run.stderr.hasPrefix("authctl: \(words)"), "\(run.stderr)")
      }
    }
  }
}
