import Testing

/// `authctl login URL`: a profile and a session in one command (design 5).
@Suite struct ProfileByLoginTests {
  private static let jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEiLCJleHAiOjE5MDAwMDAwMDB9.c2ln"
  /// So that messages show the usual paths.
  private static let home: [String: String?] = ["XDG_CONFIG_HOME": nil]
  private static let folder = "home/.config/authctl/profiles/"

  private func login(
    _ box: Sandbox, _ words: String..., password: String? = "correct horse battery"
  ) async throws -> Run {
    try await box.run(
      ["login"] + words + (password == nil ? [] : ["--password-stdin"]),
      stdin: password.map { $0 + "\n" }, env: Self.home)
  }

  private func names(_ box: Sandbox) -> [String] {
    box.files().filter { $0.hasPrefix(Self.folder) }.map {
      String($0.dropFirst(Self.folder.count))
    }
  }

  @Test func aSignInAddressAloneIsEnough() async throws {
    try await Sandbox.with { box in
      let api = try await box.api("--token-ttl", "3600")
      let run = try await login(box, api.url + "/login", "-u", "ada@example.com")
      #expect(run.status == 0 && run.stdout == "", "\(run.stderr)")
      #expect(
        run.stderr == """
          Signed in to \(api.profileName) as ada@example.com. Valid for 60 min; cannot be
          renewed.
          Saved: session in the Secret Service (gnome-keyring), profile in
          ~/.config/authctl/profiles/\(api.profileName).toml
          Default profile: \(api.profileName). To change it, run: authctl use NAME
          The answer has a refresh token; set refresh.path to renew.
          hint: authctl profile set \(api.profileName) refresh.path=/PATH
          Next: authctl get /PATH

          """)
      let shown = try await box.run("profile", "show", "--json", env: Self.home)
      let values = try JSON(parsing: shown.stdout)["values"]?.elements ?? []
      func of(_ key: String) -> JSON? { values.first { $0["key"] == .string(key) }?["value"] }
      #expect(of("url") == .string(api.url) && of("login.path") == "/login")
      #expect(of("account") == "ada@example.com")
      #expect(of("login.body") == ["username": "{username}", "password": "{password}"])
      let me = try await box.run("get", "/me", env: Self.home)
      #expect(me.status == 0)
      #expect(me.stdout == #"{"id":"1","email":"ada@example.com","name":"Ada Lovelace"}"#)
      // The second login uses that profile, whose account stays the first one.
      let other = try await box.run(
        "login", api.url + "/login", "-u", "grace@example.com", "--password-stdin",
        stdin: "s3cret|with|pipes\n", env: Self.home)
      #expect(other.status == 0, "\(other.stderr)")
      #expect(names(box) == ["\(api.profileName).toml"])
      let text = box.read(Self.folder + "\(api.profileName).toml") ?? ""
      #expect(text.contains("account = \"ada@example.com\"") && !text.contains("grace"))
      #expect(try await box.items().count == 2)
    }
  }

  @Test func baseAndSignInAddressesAreToldApart() async throws {
    try await Sandbox.with { box in
      let recorder = try box.recorder { _, _ in .http(200, #"{"token":"t0ken"}"#) }
      let last = [
        "login", "signin", "sign_in", "sign-in", "session", "sessions", "token", "auth",
        "authenticate",
      ]
      for (index, word) in last.enumerated() {
        let run = try await login(
          box, "\(recorder.url)/v1/\(word)", "-p", "n\(index)", "-u", "ada", "-q")
        #expect(run.status == 0, "\(run.stderr)")
        #expect(recorder.texts.last?.hasPrefix("POST /v1/\(word) HTTP/1.1\r\n") == true)
        let text = box.read(Self.folder + "n\(index).toml") ?? ""
        #expect(text.hasPrefix("url = \"\(recorder.url)\"\n"))
        #expect(text.contains("path = \"/v1/\(word)\"\n"))
      }
      for base in ["/v2", "/v2/"] {
        let name = "base\(base.utf8.count)"
        let run = try await login(
          box, recorder.url + base, "-p", name, "-u", "ada", "-q", "--preset", "json")
        #expect(run.status == 0, "\(run.stderr)")
        #expect(recorder.texts.last?.hasPrefix("POST /v2/login HTTP/1.1\r\n") == true)
        #expect(box.read(Self.folder + name + ".toml")?.contains("login") == false)
      }
    }
  }

  @Test func whatTheOptionsSayIsDoneAndKept() async throws {
    try await Sandbox.with { box in
      let recorder = try box.recorder { _, _ in
        .http(200, #"{"data":{"jot":"t0ken-A","token":"t0ken-B"}}"#)
      }
      let run = try await login(
        box, recorder.url + "/auth", "-p", "it", "-u", "a b&c", "--form", "--body",
        "name={username}&pw={password}&kind=x", "--token-at", "/data/jot", "--send",
        "Authorization: JWT {access_token}", "--set", "login.headers={ X-Kind = \"cli\" }",
        password: "p w+%")
      #expect(run.status == 0, "\(run.stderr)")
      let sent = recorder.texts.last ?? ""
      let forms = ["name=a%20b%26c&pw=p%20w%2B%25&kind=x", "name=a+b%26c&pw=p+w%2B%25&kind=x"]
      #expect(forms.contains { sent.hasSuffix("\r\n\r\n" + $0) }, "\(sent)")
      #expect(sent.contains("\r\nContent-Type: application/x-www-form-urlencoded\r\n"))
      #expect(sent.contains("\r\nX-Kind: cli\r\n"))
      #expect(try await box.run("get", "/x", env: Self.home).status == 0)
      #expect(recorder.texts.last?.contains("\r\nAuthorization: JWT t0ken-A\r\n") == true)
      let again = try await login(box, "-p", "it", password: "p w+%")
      #expect(again.status == 0)
      #expect(recorder.texts.last?.hasSuffix(sent.split(separator: "\r\n").last ?? "-") == true)
      let token = try await box.run("token", "--header", env: Self.home)
      #expect(token.stdout == "Authorization: JWT t0ken-A\n")
    }
  }

  @Test func theOnlyJWTIsTakenAndTold() async throws {
    try await Sandbox.with { box in
      let jwt = Self.jwt
      let api = try await box.api()
      func answer(_ body: JSON) async throws {
        try await api.misbehave(["path": "/v1/login", "body": .string(body.text)])
      }
      try await answer(["ok": 1, "inner": [["a~b/c": .string(jwt)]]])
      let run = try await login(box, api.url + "/v1/login", "-u", "ada", "--preset", "json")
      #expect(run.status == 0, "\(run.stderr)")
      let told = "Found the token at /inner/0/a~0b~1c, the only JWT in the answer.\n"
      #expect(run.stderr.hasPrefix(told))
      let told2 = try await box.run("token", env: Self.home)
      #expect(told2.stdout == jwt + "\n")

      let secret = box.canary.make("opaque")
      for body: JSON in [
        ["a": .string(jwt), "b": .string(jwt + "x")], ["opaque": .string(secret)], [:], ["x"],
      ] {
        try await answer(body)
        let run = try await login(
          box, api.url + "/v1/login", "-p", "two", "-u", "ada", "--preset", "json")
        #expect(run.status == 15 && run.stdout == "", "\(run.stderr)")
        #expect(run.stderr.hasPrefix("authctl: two: no token in the answer to POST "))
        // There is no profile yet in which to set it.
        let hint = "\nhint: repeat the command with --set session.access_token=/POINTER\n"
        #expect(run.stderr.hasSuffix(hint), "\(run.stderr)")
        #expect(!run.stderr.contains("eyJ"))
      }
      #expect(names(box) == ["\(api.profileName).toml"])
      // If a place is named, no other is tried.
      try await answer(["other": .string(jwt)])
      let named = try await login(
        box, api.url + "/v1/login", "-p", "two", "-u", "ada", "--token-at", "/data")
      #expect(named.status == 15)
      #expect(names(box) == ["\(api.profileName).toml"])
    }
  }

  @Test func noFailureKeepsTheProfile() async throws {
    try await Sandbox.with { box in
      let api = try await box.api()
      let json = ["--preset", "json", "-u", "ada@example.com"]
      func attempt(
        _ name: String, _ url: String, stdin: String? = "correct horse battery\n"
      ) async throws -> Run {
        try await box.run(
          ["login", url, "-p", name] + json + (stdin == nil ? [] : ["--password-stdin"]),
          stdin: stdin, env: Self.home)
      }
      let asked = try await attempt("asked", api.url, stdin: nil)
      #expect(asked.status == 10 && asked.stdout == "")
      #expect(
        asked.stderr == """
          authctl: a password is required, but authctl cannot ask here
          hint: use --password-stdin, --password-file F, --password-command C or AUTHCTL_PASSWORD

          """)
      #expect(try await attempt("wrong", api.url, stdin: "wrong\n").status == 14)
      #expect(names(box) == [])
      let page = try await attempt("page", api.url + "/x/login")
      #expect(page.status == 4)
      #expect(page.stderr.hasSuffix("\nserver: Not found\nhint: the path may be wrong\n"))
      try await api.misbehave(["path": "/login", "status": 503, "times": 2])
      #expect(try await attempt("down", api.url).status == 5)
      try await api.misbehave(["path": "/login", "body": "<html>welcome</html>"])
      try await api.reset()
      try await api.misbehave([
        "path": "/login", "body": "<html>welcome</html>", "content_type": "text/html",
      ])
      let html = try await attempt("html", api.url)
      #expect(html.status == 15 && !html.stderr.contains("<"))
      #expect(
        html.stderr.hasSuffix(
          "\nhint: the answer is a web page: this path may be for browsers only\n"))
      let gone = try await attempt("gone", "http://127.0.0.1:1")
      #expect(gone.status == 7)
      #expect(
        gone.stderr == """
          authctl: cannot reach http://127.0.0.1:1: connection refused
          hint: authctl login http://127.0.0.1:1 -p gone -u ada@example.com --preset json

          """)
      let clear = try await attempt("cleartext", "http://192.0.2.1")
      #expect(clear.status == 13)
      #expect(
        clear.stderr.hasSuffix("\nhint: use https, or add --set network.allow_http=true\n"))
      #expect(names(box) == [])
      try await box.lockKeyring()
      let before = try await api.counts()
      #expect(try await attempt("locked", api.url).status == 12)
      #expect(try await api.counts() == before)
      #expect(names(box) == [])
      // Existing profiles stay, whatever fails.
      try await box.unlockKeyring()
      #expect(try await attempt("there", api.url).status == 0)
      await api.stop()
      #expect(try await attempt("there", api.url).status != 0)
      #expect(names(box) == ["there.toml"])
    }
  }

  @Test func namedAfterTheHost() async throws {
    try await Sandbox.with { box in
      let hosts = [
        ("https://api.shop.example/v1", "shop"), ("https://www.school.example/login", "school"),
        ("https://shop.example", "shop.example"), ("https://intra.corp.example", "intra"),
        ("https://api.www.photos.example", "photos"),
      ]
      for (url, name) in hosts {
        // A token from elsewhere is stored without a request.
        let run = try await box.run(
          "login", url, "-u", "ada", "--preset", "json", "--token-stdin", stdin: "t0ken\n",
          env: Self.home)
        #expect(run.status == 0, "\(url): \(run.stderr)")
        #expect(names(box).contains(name + ".toml"), "\(url): \(names(box))")
      }
      #expect(names(box).count == hosts.count)
    }
  }

  @Test func whatIsNoAddress() async throws {
    try await Sandbox.with { box in
      for (url, said) in [
        ("shop.example", "shop.example is not a URL\nhint: write https://shop.example\n"),
        ("https://h.example/login?x=1", "the API's URL must not have a query\n"),
        ("https://u:pw@h.example", ""),
      ] {
        let run = try await login(box, url, "-u", "ada", "--preset", "json")
        #expect(run.status == 2 && run.stdout == "")
        #expect(run.stderr.hasPrefix("authctl: " + said), "\(run.stderr)")
      }
      let without = try await login(box, "--preset", "json")
      #expect(without.status == 2 && without.stdout == "")
      #expect(names(box) == [])
    }
  }
}
