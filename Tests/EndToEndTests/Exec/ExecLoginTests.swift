import Glibc
import Testing

/// `exec --login`: a session for one program, only in memory. Design 9.
@Suite struct ExecLoginTests {
  private static let password: [String: String?] = ["AUTHCTL_PASSWORD": Shop.password]

  private func shell(_ script: String) -> [String] { ["--", "/bin/sh", "-c", script] }

  /// The Bearer tokens in the requests for a path.
  private func bearers(_ api: APIServer, _ path: String) async throws -> [String] {
    try await api.requests().filter { $0["path"]?.string == path }.map { request in
      guard case .object(let headers)? = request["headers"] else { return "" }
      let line = headers.first { $0.key.lowercased() == "authorization" }?.value.string ?? ""
      return String(line.dropFirst("Bearer ".count))
    }
  }

  /// A machine without bus, keyring and terminal, with the profile next to the program.
  @Test func nothingIsStoredAndTheServerEndsIt() async throws {
    try await Shop.with(kind: .none, signsIn: false) { shop, api in
      let box = shop.box
      let profile = try #require(box.read("config/authctl/profiles/shop.toml"))
      unlink(box.configHome + "/authctl/profiles/shop.toml")
      let file = try box.write("ci/shop.toml", profile)
      let script = #""$1" get /me; echo; printf %s "$AUTHCTL_TOKEN""#
      let run = try await box.run(
        ["exec", "--login", "-p", "./ci/shop.toml", "-u", Shop.ada] + shell("cd /; " + script)
          + ["sh", try Built.authctl()], env: Self.password, directory: box.root)
      let parts = run.stdout.split(separator: "\n")
      #expect(parts.first.map(String.init) == Shop.me)
      #expect(run.stderr == "")
      #expect(run.status == 0)
      #expect(try await bearers(api, "/logout") == [String(parts.last ?? "")])
      #expect(try await api.counts() == ["POST /login": 1, "GET /me": 1, "POST /logout": 1])
      #expect(box.files() == ["ci/shop.toml"])
      #expect(file.hasPrefix(box.root))
    }
  }

  @Test func storedSessionStaysAsItWas() async throws {
    try await Shop.with { shop, _ in
      let box = shop.box
      let before = try await shop.payload()
      let run = try await box.run(
        ["exec", "--login"] + shell(#"printf %s "$AUTHCTL_TOKEN""#), env: Self.password)
      #expect(run.status == 0, "\(run.stderr)")
      let old = try await shop.accessToken()
      #expect(run.stdout != old)
      #expect(try await shop.payload() == before)
      #expect(try await box.items().count == 1)
      #expect(try await box.run("get", "/me").stdout == Shop.me)
    }
  }

  /// With --file the token stays valid, and authctl ends the session with the latest token.
  @Test func fileIsKeptFreshAndTheLastTokenIsRevoked() async throws {
    try await Shop.with("--token-ttl", "4", kind: .none, signsIn: false) { shop, api in
      let box = shop.box
      let script = #"""
        t=$(cat "$AUTHCTL_TOKEN_FILE"); echo "$t"; env | grep -c '^AUTHCTL_TOKEN='
        while [ "$(cat "$AUTHCTL_TOKEN_FILE")" = "$t" ]; do sleep 0.1; done
        cat "$AUTHCTL_TOKEN_FILE"; echo; "$1" get /me; exit 3
        """#
      let run = try await box.run(
        ["exec", "--login", "--file"] + shell(script) + ["sh", try Built.authctl()],
        env: Self.password)
      let lines = run.stdout.split(separator: "\n").map(String.init)
      #expect(run.status == 3, "\(run.stderr)")
      #expect(run.stderr == "")
      try #require(lines.count == 4)
      #expect(lines[0] != lines[2] && lines[1] == "0" && lines[3] == Shop.me)
      #expect(try await bearers(api, "/logout") == [lines[2]])
      #expect(try await api.count("POST /refresh") == 1)
      #expect(box.tokenFolders == [])
    }
  }

  /// An expired token cannot end the session, so authctl renews it first.
  @Test func deadTokenIsRenewedToEndTheSession() async throws {
    try await Shop.with(kind: .none, signsIn: false) { shop, api in
      let child = try shop.box.start(
        ["exec", "--login"] + shell("echo ready; cat"), keepInputOpen: true, env: Self.password)
      try await child.waitFor("ready\n")
      try await api.expire()
      child.closeInput()
      let run = try await child.finish()
      #expect(run.status == 0)
      #expect(run.stderr == "")
      #expect(
        try await api.counts() == ["POST /login": 1, "POST /logout": 2, "POST /refresh": 1])
    }
  }

  @Test(arguments: [[], ["--file"]]) func signalStillEndsTheSession(_ way: [String]) async throws {
    try await Shop.with(kind: .none, signsIn: false) { shop, api in
      let box = shop.box
      for signal in [SIGTERM, SIGHUP, SIGINT] {
        let child = try box.start(
          ["exec", "--login"] + way + shell("echo ready; exec sleep 120"), env: Self.password)
        try await child.waitFor("ready\n")
        child.signal(signal)
        let run = try await child.finish()
        #expect(run.status == 128 + signal)
        #expect(run.stderr == "")
      }
      #expect(try await api.counts() == ["POST /login": 3, "POST /logout": 3])
      #expect(box.tokenFolders == [])
    }
  }

  /// A failure after the sign-in ends the session too; a failure known before causes no sign-in.
  @Test func programThatDoesNotRun() async throws {
    try await Shop.with(kind: .none, signsIn: false) { shop, api in
      let box = shop.box
      for (words, status) in [
        (["--", "/nowhere"], 127), (["--", "/"], 126),
        (["--file", "--token-dir", "/nowhere", "--", "/bin/echo", "ran"], 125),
        (["--env", "A={session.none}", "--", "/bin/echo", "ran"], 125),
        (["--env", "PATH", "--", "/bin/echo", "ran"], 125),
        (["--env", "A={refresh_token}", "--", "/bin/echo", "ran"], 125),
      ] as [([String], Int32)] {
        let run = try await box.run(["exec", "--login"] + words, env: Self.password)
        #expect(run.status == status, "\(words)")
        #expect(run.stdout == "")
        #expect(run.hasErrorForm, "\(run.stderr)")
        let counts = try await api.counts()
        #expect(counts["POST /login"] == counts["POST /logout"], "\(words): \(counts)")
      }
      let run = try await box.run(
        "exec", "--login", "--env", "LD_PRELOAD=x", "--", "/bin/echo", env: Self.password)
      #expect(run.status == 125)
      #expect(try await api.count("POST /login") <= 4)
    }
  }

  @Test func sessionThatTheServerDoesNotEnd() async throws {
    try await Shop.with(kind: .none, signsIn: false) { shop, api in
      let box = shop.box
      try await api.misbehave(["path": "/logout", "times": 0, "status": 500])
      let run = try await box.run(["exec", "--login"] + shell("exit 3"), env: Self.password)
      #expect(run.status == 3)
      #expect(run.stdout == "")
      #expect(
        run.stderr == "authctl: warning: the server did not end the session: shop: HTTP 500 "
          + "Internal Server Error: POST \(api.url)/logout\n")
      _ = try Shop(box, api.url, without: ["logout"])
      let none = try await box.run(["exec", "--login"] + shell("exit 3"), env: Self.password)
      #expect(none.status == 3)
      #expect(none.stderr == "")
    }
  }

  // MARK: Signing in

  @Test func refusedSignInRunsNothing() async throws {
    try await Shop.with(kind: .none, signsIn: false) { shop, api in
      let box = shop.box
      let ran = ["exec", "--login", "--", "/bin/echo", "ran"]
      let refused = try await box.run(ran, env: ["AUTHCTL_PASSWORD": "wrong"])
      #expect(refused.stderr.hasPrefix(Shop.refused + " (HTTP 401)\nserver: "), "\(refused.stderr)")
      #expect(refused.status == 14)
      #expect(refused.stdout == "")
      let none = try await box.run(ran)
      #expect(
        none.stderr == """
          authctl: a password is required, but authctl cannot ask here
          hint: use --password-stdin, --password-file F, --password-command C or AUTHCTL_PASSWORD

          """)
      #expect(none.status == 10)
      #expect(none.stdout == "")
      let json = try await box.run(
        ran, env: ["AUTHCTL_PASSWORD": "wrong", "AUTHCTL_ERRORS": "json"])
      let error = try JSON(parsing: json.stderr)["error"]
      #expect(json.status == 14 && error?["exit"] == 14)
      #expect(error?["profile"] == "shop" && error?["account"] == .string(Shop.ada))
      #expect(try await api.counts() == ["POST /login": 2])
      await api.stop()
      let down = try await box.run(ran, env: Self.password)
      #expect(down.status == 7)
      #expect(down.stdout == "")
      #expect(down.hasErrorForm, "\(down.stderr)")
    }
  }

  /// The password may come from any source; the rest of standard input is the program's.
  @Test func passwordByEverySource() async throws {
    try await Shop.with(kind: .none, signsIn: false) { shop, api in
      let box = shop.box
      let file = try box.write("pw", Shop.password + "\nsecond line\n")
      let program = shell("cat; env | grep -c AUTHCTL_PASSWORD")
      for (options, input, env) in [
        ([], nil, Self.password), (["--password-file", file], nil, [:]),
        (["--password-command", "cat '\(file)'"], nil, [:]),
        (["--password-stdin"], Shop.password + "\n", [:]),
        (["--password-stdin"], Shop.password + "\r\nfor the program\n", [:]),
        (["--password-fd", "0"], Shop.password + "\nfor the program\n", [:]),
        (["--password-file", file], "for the program\n", ["AUTHCTL_PASSWORD": "wrong"]),
      ] as [([String], String?, [String: String?])] {
        let run = try await box.run(
          ["exec", "--login"] + options + program, stdin: input, env: env)
        let rest = input?.hasSuffix("for the program\n") == true ? "for the program\n" : ""
        #expect(run.stdout == rest + "0\n", "\(options)")
        #expect(run.stderr == "", "\(options)")
        // The exit code of grep.
        #expect(run.status == 1, "\(options)")
      }
      let terminal = try await box.terminal(
        ["exec", "--login"] + shell("exit 3"),
        answers: [("Password for \(Shop.ada) at \(api.url): ", Shop.password + "\n")])
      #expect(terminal.status == 3)
      #expect(try await api.counts() == ["POST /login": 8, "POST /logout": 8])
    }
  }

  @Test func codesAndFieldsGoAlong() async throws {
    try await Sandbox.with(.none) { box in
      let api = try box.recorder(
        answering: Scene.routes([
          "POST /login": Scene.tokens("a-token"), "POST /logout": .http(204),
        ]))
      let password = #"password = "{password}""#
      try box.profile(
        "shop",
        Scene.profile(api.url).replacing(password, with: password + #", code = "{otp}""#))
      let run = try await box.run(
        ["exec", "--login", "-u", "ada", "--password-stdin", "--otp-stdin", "--field", "n=1", "--"]
          + ["/bin/cat"], stdin: "a password\n123456\nrest")
      #expect(run.stdout == "rest")
      #expect(run.stderr == "")
      #expect(run.status == 0)
      let body = try #require(api.texts.first?.split(separator: "\r\n\r\n").last)
      #expect(
        try JSON(parsing: String(body))
          == ["email": "ada", "password": "a password", "code": "123456", "n": 1])
    }
  }
}
