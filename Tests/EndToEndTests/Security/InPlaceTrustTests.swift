import Glibc
import Testing

/// A file used in place cannot change how secrets travel without confirmation, and a session uses
/// only the network settings of its sign-in (rule A3).
@Suite struct InPlaceTrustTests {
  private static let hint = "hint: read the file, then add --trust or set AUTHCTL_TRUST=1\n"

  /// A proxy that can read the traffic over plain HTTP.
  private static func readable(_ proxy: Recorder) -> String {
    "allow_http = true\nproxy = \"\(proxy.url)\""
  }

  private func with(
    _ kind: Sandbox.Kind = .none,
    _ body: (_ box: Sandbox, _ file: String, _ proxy: Recorder) async throws -> Void
  ) async throws {
    try await Sandbox.with(kind) { box in
      let proxy = try box.recorder()
      let text = Scene.profile("http://api.shop.example", network: Self.readable(proxy))
      try await body(box, try box.write("home/team/shop.toml", text), proxy)
    }
  }

  // MARK: Before confirmation

  @Test func nothingIsSentOrHandedOn() async throws {
    try await with { box, file, proxy in
      let token = box.canary.make("token"), password = box.canary.make("password")
      let signIn = ["-u", "ada", "--password-stdin"]
      let given: [String: String?] = ["AUTHCTL_TOKEN": token]
      let rows: [(words: [String], stdin: String?, env: [String: String?], status: Int32)] = [
        (["get", "/x"], nil, given, 10), (["post", "/x", "-d", "a=b"], nil, given, 10),
        (["get", "/x", "--dry-run"], nil, given, 10), (["get", "/x", "--as-curl"], nil, given, 10),
        (["get", "/x", "--anonymous"], nil, [:], 10), (["batch"], "{\"url\":\"/x\"}\n", given, 10),
        (["whoami"], nil, given, 10), (["token"], nil, given, 10), (["refresh"], nil, [:], 10),
        (["login"] + signIn, password, [:], 10), (["register"] + signIn, password, [:], 10),
        (["login", "--token-stdin"], token, [:], 10),
        (["exec", "--", "true"], nil, given, 125),
        (["exec", "--login"] + signIn + ["--", "true"], password, [:], 125),
        (["helper", "curl-config"], nil, given, 10), (["helper", "netrc"], nil, given, 10),
        (["helper", "git", "get"], "protocol=http\nhost=127.0.0.1\n\n", given, 10),
      ]
      let expected =
        "authctl: \(file) is not trusted yet; it sets network.proxy, network.allow_http\n"
        + Self.hint
      for row in rows {
        for words in [row.words, row.words + ["--no-input", "-q"]] where words.last != "true" {
          let named = [words[0], "-p", "./shop.toml"] + words.dropFirst()
          let run = try await box.run(
            words[0] == "helper" ? words + ["-p", "./shop.toml"] : named, stdin: row.stdin,
            env: row.env, directory: box.home + "/team")
          #expect(run.status == row.status && run.stdout == "", "\(words): \(run.stderr)")
          if row.status == 10 {
            #expect(run.stderr.hasSuffix(expected), "\(words): \(run.stderr)")
          }
        }
        // A helper gets its profile only from -p.
        if row.words[0] == "helper" { continue }
        let byVariable = try await box.run(
          row.words, stdin: row.stdin, env: row.env.merging(["AUTHCTL_PROFILE": file]) { $1 })
        #expect(byVariable.status == row.status && byVariable.stdout == "", "\(row.words)")
      }
      let doctor = try await box.run("doctor", "-p", file, env: given)
      #expect(
        doctor.status == 1 && doctor.stdout.contains("is not trusted yet"), "\(doctor.stdout)")
      #expect(proxy.connections.count == 0)
      // Commands that only show it need no confirmation.
      for words in [
        ["profile", "show", file], ["profile", "check", file], ["status", "-p", file],
      ] {
        let run = try await box.run(words, env: ["AUTHCTL_STORE": "plaintext"])
        #expect(run.status == 0, "\(words): \(run.stderr)")
      }
      let files = box.files().filter { !$0.hasPrefix("state/authctl/locks/") }
      #expect(files == ["home/team/shop.toml"])
    }
  }

  @Test(arguments: ProfileTrustTests.doubtful) func eachKeyTakesAYes(
    _ doubtful: ProfileTrustTests.Doubtful
  ) async throws {
    try await Sandbox.with(.none) { box in
      let file = try box.write("team/shop.toml", doubtful.text)
      let run = try await box.run("get", "/x", "-p", file, env: ["AUTHCTL_TOKEN": "a-token"])
      #expect(run.status == 10 && run.stdout == "", "\(run.stderr)")
      let said = run.stderr.replacing("\n", with: " ")
      for text in doubtful.told {
        #expect(said.contains(text.replacing("FOLDER", with: box.root + "/team")), "\(said)")
      }
      #expect(run.stderr.hasSuffix(Self.hint))
    }
  }

  // MARK: Confirmation

  @Test func trustLastsUntilAFileChanges() async throws {
    try await with { box, file, proxy in
      let ca = try box.write("home/team/ca.pem", "one\n")
      let text = Scene.profile(
        "http://api.shop.example", network: Self.readable(proxy) + "\nca_file = \"ca.pem\"")
      try box.write("home/team/shop.toml", text)
      let env: [String: String?] = ["AUTHCTL_TOKEN": "a-token-of-ours"]
      func get(_ more: [String] = [], _ extra: [String: String?] = [:]) async throws -> Run {
        try await box.run(
          ["get", "/x"] + more,
          env: env.merging(["AUTHCTL_PROFILE": file]) { $1 }
            .merging(extra) { $1 })
      }
      // Trust from the variable is not stored.
      #expect(try await get([], ["AUTHCTL_TRUST": "1"]).status == 0)
      #expect(try await get([], ["AUTHCTL_TRUST": "0"]).status == 10)
      #expect(try await get().status == 10)
      let first = try await get(["--trust"])
      #expect(first.status == 0, "\(first.stderr)")
      #expect(first.stderr.contains("\(proxy.url): all requests go through it"))
      #expect(symlink(file, box.root + "/mine.toml") == 0)
      for path in [file, "./mine.toml", box.home + "/team/../team/shop.toml"] {
        let run = try await box.run(
          "get", "/x", "-p", path, "--trust", env: env, directory: box.root)
        #expect(run.status == 0 && run.stderr == "", "\(path): \(run.stderr)")
      }
      let count = proxy.connections.count
      // A copy at another place, a changed profile and a changed CA file are not trusted.
      let copy = try box.write("home/team/copy.toml", text)
      #expect(try await box.run("get", "/x", "-p", copy, env: env).status == 10)
      try box.write("home/team/shop.toml", text + "# changed\n")
      #expect(try await get().status == 10)
      try box.write("home/team/shop.toml", text)
      #expect(try await get().status == 0)
      try box.write("home/team/ca.pem", "two\n")
      let changed = try await get()
      #expect(changed.status == 10 && changed.stderr.contains("is not trusted yet"))
      #expect(proxy.connections.count == count + 1)
      // If others can write the record of trust, it is ignored.
      try box.write("home/team/ca.pem", "one\n")
      #expect(try await get().status == 0)
      chmod(box.stateHome + "/authctl/trust", 0o777)
      #expect(try await get().status == 10)
      unlink(ca)
    }
  }

  @Test func trustIsAskedForOnTheTerminal() async throws {
    try await with { box, file, proxy in
      let env: [String: String?] = ["AUTHCTL_TOKEN": "a-token-of-ours"]
      for answer in ["n\n", "\n", "\u{4}"] {
        let no = try await box.terminal(
          ["get", "/x", "-p", file], answers: [("[y/N] ", answer)], columns: 300, env: env)
        #expect(no.status == 10, "\(no.screen)")
      }
      #expect(proxy.connections.count == 0)
      // Even without notices, the settings are shown before the question.
      let authctl = try Built.authctl()
      let quiet = try await box.terminal(
        ["-c", #""$0" get /x -q -p "$1" 2>/dev/null"#, authctl, file],
        answers: [("[y/N] ", "yes\n")], columns: 300, env: env, program: "/bin/sh")
      #expect(quiet.status == 0, "\(quiet.screen)")
      let before = (quiet.screen.split(separator: "Trust this file?").first ?? "")
        .replacing("\n", with: " ")
      #expect(before.contains("sends to http://api.shop.example: password, tokens"))
      #expect(before.contains("warning: proxy = \(proxy.url): all requests go through it"))
      #expect(before.contains("warning: allow_http: "))
      let again = try await box.run("get", "/x", "-p", file, env: env)
      #expect(again.status == 0 && again.stderr == "", "\(again.stderr)")
      // Import asks in the same way.
      let imported = try await box.terminal(
        ["-c", #""$0" profile import -q shop "$1" 2>/dev/null"#, authctl, file],
        answers: [("[y/N] ", "y\n")], columns: 300, program: "/bin/sh")
      #expect(imported.status == 0, "\(imported.screen)")
      let told = imported.screen.split(separator: "Trust this file?").first ?? ""
      #expect(told.contains("warning: proxy = \(proxy.url): all requests go through it"))
      #expect(told.contains("shop sends to http://api.shop.example: password, tokens"))
    }
  }

  @Test func secretsInURLsTakeTrust() async throws {
    try await Sandbox.with(.none) { box in
      let file = try box.write(
        "team/shop.toml",
        """
        url = "https://api.shop.example"
        [login]
        path = "/in"
        query = { p = "{password}" }
        secrets_in_url = true

        """)
      let run = try await box.run("profile", "import", "shop", file)
      #expect(run.status == 10 && run.stdout == "")
      #expect(
        run.stderr.contains(
          "warning: login.secrets_in_url: the URL contains secrets, which servers and proxies log\n"
        ))
    }
  }

  /// AUTHCTL_PROXY_USER is sent only to proxies that the user chose.
  @Test func proxyUserIsNotForAProxyOfTheFile() async throws {
    try await Sandbox.with(.none) { box in
      let proxy = try box.recorder(answering: { _, _ in .http(407, "") })
      let user = box.canary.make("proxy-user")
      let text = "url = \"https://api.invalid\"\n[network]\nproxy = \"\(proxy.url)\"\n"
      let file = try box.write("home/team/shop.toml", text)
      try box.profile("own", text)
      try box.write("home/user", "me:\(user)\n")
      let env: [String: String?] = [
        "AUTHCTL_TOKEN": "a-token-of-ours", "AUTHCTL_PROXY_USER": "me:\(user)",
        "AUTHCTL_TRUST": "1",
      ]
      for (words, isSent) in [
        (["-p", file], false), (["-p", file, "-x", proxy.url], true),
        (["-p", file, "--proxy-user-file", "user"], true), (["-p", "own"], true),
      ] {
        let run = try await box.run(["get", "/x"] + words, env: env)
        #expect(run.status == 7, "\(words): \(run.stderr)")
        let text = proxy.texts.last ?? ""
        #expect(text.hasPrefix("CONNECT ") && text.contains("Proxy-Authorization: ") == isSent)
        let warning = "AUTHCTL_PROXY_USER is not sent to the proxy that \(file) names"
        #expect(run.stderr.contains(warning) == !isSent, "\(run.stderr)")
      }
    }
  }

  // MARK: Sessions

  /// Network settings changed after the sign-in, in the user's own folder or in a file used in
  /// place.
  @Test(arguments: [false, true]) func changedWayGetsNothing(inPlace: Bool) async throws {
    try await Sandbox.with { box in
      let secrets = ["access", "refresh"].map { box.canary.make($0) }
      let api = try box.recorder(
        answering: Scene.routes([
          "POST /login": Scene.tokens(secrets[0], secrets[1]), "GET /x": .http(200, "[]"),
          "GET /me": .http(200, #"{"email":"ada"}"#), "POST /logout": .http(204),
        ]))
      let evil = try box.recorder()
      let certificate = try box.write("home/team/ca.pem", "one\n")
      let path = inPlace ? "home/team/shop.toml" : "config/authctl/profiles/shop.toml"
      let name = inPlace ? box.root + "/" + path : "shop"
      func write(_ network: String) throws {
        try box.write(path, Scene.profile(api.url, network: network))
      }
      let authorities = "ca_file = \"\(certificate)\""
      let rows: [(before: String, after: String, key: String)] = [
        ("", "allow_http = true\nproxy = \"\(evil.url)\"", "network.allow_http, network.proxy"),
        ("", authorities, "the content of network.ca_file, network.ca_file"),
        ("", "client_cert = \"/c.pem\"", "network.client_cert"),
        ("", "client_key = \"/k.pem\"", "network.client_key"),
        ("allow_http = true", "", "network.allow_http"),
        (authorities, authorities, "the content of network.ca_file"),
      ]
      let env: [String: String?] = ["AUTHCTL_TRUST": inPlace ? "1" : nil]
      for row in rows {
        try box.write("home/team/ca.pem", "one\n")
        try write(row.before)
        let login = try await box.run(
          "login", "-p", name, "-u", "ada", "--password-stdin", stdin: "a password", env: env)
        #expect(login.status == 0, "\(login.stderr)")
        #expect(try await box.run("get", "/x", "-p", name, env: env).status == 0)
        try write(row.after)
        if row.before == row.after { try box.write("home/team/ca.pem", "two\n") }
        let count = api.connections.count
        let sentence = "\(name): the profile changed after the sign-in, so nothing is sent: "
        let keys = row.key.split(separator: ", ").sorted()
        for words in [["get", "/x"], ["refresh"], ["whoami"], ["post", "/x", "-d", "a"]] {
          let run = try await box.run(words + ["-p", name], env: env)
          #expect(run.status == 13 && run.stdout == "", "\(row.key) \(words): \(run.stderr)")
          #expect(run.stderr.contains(sentence), "\(run.stderr)")
          for key in keys { #expect(run.stderr.contains(key), "\(key): \(run.stderr)") }
          #expect(run.stderr.hasSuffix("\nhint: authctl login -p \(name)\n"), "\(run.stderr)")
        }
        let batch = try await box.run(
          "batch", "-p", name, stdin: "{\"url\":\"/x\"}\n", env: env)
        #expect(batch.status == 13, "\(batch.stdout)")
        // The session can no longer be used: a sign-in is needed, and there is no terminal to ask
        // on.
        let needed = try await box.run("login", "--if-needed", "-p", name, env: env)
        #expect(needed.status == 10, "\(needed.stderr)")
        let keeps = try await box.run("logout", "--require-revocation", "-p", name, env: env)
        #expect(keeps.status == 13, "\(keeps.stderr)")
        let logout = try await box.run("logout", "-p", name, env: env)
        #expect(logout.status == 0 && logout.stdout == "")
        #expect(
          logout.stderr.hasPrefix(
            "authctl: warning: the server did not end the session: \(sentence)")
        )
        #expect(try await box.items().isEmpty)
        #expect(api.connections.count == count && evil.connections.count == 0)
      }
    }
  }

  /// `logout` does not require trust in the file.
  @Test func logoutForgetsWithoutTrust() async throws {
    try await Sandbox.with { box in
      let api = try box.recorder(
        answering: Scene.routes(["POST /login": Scene.tokens("a-token", "r")]))
      let file = try box.write("home/team/shop.toml", Scene.profile(api.url))
      for words in [["logout", "-p", file], ["logout", "--all"]] {
        try box.write("home/team/shop.toml", Scene.profile(api.url))
        let login = try await box.run(
          "login", "-p", file, "-u", "ada", "--password-stdin", stdin: "a password")
        #expect(login.status == 0, "\(login.stderr)")
        try box.write(
          "home/team/shop.toml", Scene.profile(api.url, network: "allow_http = true"))
        let count = api.connections.count
        let logout = try await box.run(words)
        #expect(logout.status == 0 && logout.stdout == "")
        #expect(
          logout.stderr.replacing("machine\nonly.", with: "machine only.") == """
            authctl: warning: the server did not end the session: \(file) is not trusted yet; \
            it sets network.allow_http
            Signed out of \(file) as ada, on this machine only.

            """, "\(logout.stderr)")
        #expect(try await box.items().isEmpty)
        #expect(api.connections.count == count)
      }
    }
  }
}
