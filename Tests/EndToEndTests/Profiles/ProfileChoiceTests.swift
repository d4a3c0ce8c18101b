import Testing

/// How a command chooses its profile (design 5).
@Suite struct ProfileChoiceTests {
  /// Writes profiles called `names` for `url`, as a user would by hand.
  private func profiles(_ box: Sandbox, _ names: String..., at url: String) throws {
    for name in names {
      try box.write(
        "config/authctl/profiles/\(name).toml", "url = \"\(url)\"\npreset = \"json\"\n")
    }
  }

  /// Returns the chosen profile, which the message names because no one is signed in.
  private func chosen(
    _ box: Sandbox, _ words: String..., env: [String: String?] = [:]
  ) async throws -> String {
    let run = try await box.run(["get"] + words, env: env)
    #expect(run.stdout == "")
    let line = run.stderr.split(separator: "\n").first ?? ""
    let start = "authctl: not signed in to "
    guard run.status == 10, line.hasPrefix(start) else { return "\(run.status): \(line)" }
    return String(line.dropFirst(start.count))
  }

  @Test func inThisOrder() async throws {
    try await Sandbox.with { box in
      #expect(try await chosen(box, "/x") == "any API")
      #expect(try await chosen(box, "https://a.example/x") == "https://a.example")
      try profiles(box, "only", at: "https://a.example")
      #expect(try await chosen(box, "/x") == "only (https://a.example)")
      try profiles(box, "b", at: "https://b.example")
      try profiles(box, "c", at: "https://c.example")
      let several = try await box.run("get", "/x")
      #expect(several.status == 2 && several.stdout == "")
      #expect(
        several.stderr == """
          authctl: several profiles and no default: b, c, only
          hint: use -p NAME, or to set the default, run: authctl use NAME

          """)
      try box.write("config/authctl/config.toml", "default_profile = \"c\"\n")
      #expect(try await chosen(box, "/x") == "c (https://c.example)")
      let url: [String: String?] = ["AUTHCTL_URL": "https://u.example"]
      #expect(try await chosen(box, "/x", env: url).hasSuffix("https://u.example"))
      let named = url.merging(["AUTHCTL_PROFILE": "b"]) { $1 }
      #expect(try await chosen(box, "/x", env: named) == "b (https://b.example)")
      #expect(
        try await chosen(box, "https://c.example/x", env: named) == "c (https://c.example)")
      #expect(
        try await chosen(box, "/x", "-p", "only", env: named) == "only (https://a.example)")
      let elsewhere = try await box.run("get", "https://c.example/x", "-p", "b")
      #expect(elsewhere.status == 10 || elsewhere.status == 13)
      #expect(elsewhere.stdout == "")
      let empty: [String: String?] = ["AUTHCTL_PROFILE": "", "AUTHCTL_URL": ""]
      #expect(try await chosen(box, "/x", env: empty) == "c (https://c.example)")
    }
  }

  @Test func severalProfilesOfOneOrigin() async throws {
    try await Sandbox.with { box in
      try profiles(box, "one", "two", at: "https://h.example")
      try profiles(box, "v2", at: "https://h.example/v2")
      try profiles(box, "other", at: "https://other.example")
      let target = "https://h.example/v1/x"
      let unclear = try await box.run("get", target)
      #expect(unclear.status == 2)
      #expect(unclear.stderr.hasPrefix("authctl: https://h.example is the origin of several "))
      #expect(
        try await chosen(box, "https://h.example/v2/x") == "v2 (https://h.example)",
        "the longest url that matches")
      try box.write("config/authctl/config.toml", "default_profile = \"two\"\n")
      #expect(try await chosen(box, target) == "two (https://h.example)")
      let env: [String: String?] = ["AUTHCTL_PROFILE": "one"]
      #expect(try await chosen(box, target, env: env) == "one (https://h.example)")
      // A default profile for another origin does not apply here.
      try box.write("config/authctl/config.toml", "default_profile = \"other\"\n")
      #expect(try await chosen(box, target).hasPrefix("2: "))
    }
  }

  /// A profile without a session does not stand in the way of one that has one.
  @Test func signedInProfilesComeFirst() async throws {
    try await Sandbox.with { box in
      let api = try await box.api("--token-ttl", "3600")
      try profiles(box, "one", "two", "three", at: api.url)
      let target = api.url + "/items/1"
      func signIn(_ name: String) async throws {
        let run = try await box.run(
          "login", name, "-u", "ada@example.com", "--password-stdin",
          stdin: "correct horse battery\n")
        try #require(run.status == 0, "\(run.stderr)")
      }
      let asked = "protocol=http\nhost=\(api.url.dropFirst("http://".count))\n\n"
      func helper() async throws -> Run {
        try await box.run("helper", "git", "get", "-v", stdin: asked)
      }
      let nobody = try await helper()
      #expect(nobody.stdout == "" && nobody.status == 0)
      #expect(
        nobody.stderr == "* no answer: several profiles are for \(api.url): one, three, two\n")
      try await signIn("two")
      // Whatever the default is, if it is signed out.
      try box.write("config/authctl/config.toml", "default_profile = \"one\"\n")
      let monitor = try await BusMonitor(box, calls: "OpenSession")
      #expect(try await box.run("get", target).status == 0)
      // The choice and the request negotiate keys with the keyring only once.
      try await monitor.settle()
      #expect(monitor.messages().filter { $0.member == "OpenSession" }.count == 1)
      let git = try await helper()
      #expect(git.stdout.hasPrefix("username=ada@example.com\npassword="), "\(git.stderr)")
      // Who is named is asked for, with a session or without.
      #expect(
        try await chosen(box, target, env: ["AUTHCTL_PROFILE": "three"]) == "three (\(api.url))")
      try await signIn("three")
      let both = try await box.run("get", target)
      #expect(
        both.stderr == """
          authctl: \(api.url) is the origin of several profiles with a session: three, two
          hint: choose one with -p NAME

          """)
      #expect(both.stdout == "" && both.status == 2)
      let neither = try await helper()
      #expect(
        neither.stderr == "* no answer: several profiles are for \(api.url): three, two\n")
      #expect(neither.stdout == "" && neither.status == 0)
      #expect(try await box.run("helper", "git", "get", stdin: asked).stderr == "")
      #expect(try await box.run("get", target, "-p", "two").status == 0)
    }
  }

  @Test func verboseBeginsWithTheChoice() async throws {
    try await Sandbox.with { box in
      let api = try await box.api()
      try profiles(box, "shop", at: api.url)
      let login = try await box.run(
        "login", "-u", "ada@example.com", "--password-stdin", stdin: "correct horse battery\n")
      #expect(login.status == 0)
      let lines: [(env: [String: String?], words: [String], line: String)] = [
        ([:], ["-p", "shop"], "* shop (from -p), ada@example.com (profile's account)"),
        (
          ["AUTHCTL_PROFILE": "shop"], [],
          "* shop (from AUTHCTL_PROFILE), ada@example.com (profile's account)"
        ),
        ([:], [], "* shop (default), ada@example.com (profile's account)"),
        ([:], ["-u", "ada@example.com"], "* shop (default), ada@example.com (from -u)"),
      ]
      for (env, words, line) in lines {
        let run = try await box.run(["get", "/items/1", "-v"] + words, env: env)
        #expect(run.status == 0 && run.stdout.hasPrefix("{\"id\":1"))
        #expect(run.stderr.split(separator: "\n").first.map(String.init) == line)
      }
    }
  }

  @Test func aProfileInAFileIsReadInPlace() async throws {
    try await Sandbox.with { box in
      let api = try await box.api()
      let text = "# ours\nurl = \"\(api.url)\"\npreset = \"json\"\n"
      let path = try box.write("home/work/api.toml", text)
      let login = try await box.run(
        "login", "-p", "./work/api.toml", "-u", "ada@example.com", "--password-stdin",
        stdin: "correct horse battery\n")
      #expect(login.status == 0 && login.stdout == "", "\(login.stderr)")
      #expect(box.read("home/work/api.toml") == text)
      #expect(box.files().filter { $0.hasPrefix("config/") } == [])
      // The session is stored under the real path, so that any path to the file finds it.
      #expect(try await box.items().first?.attributes["profile"] == path)
      let row = try JSON(parsing: try await box.run("status", "--json").stdout)[0]
      #expect(row?["profile"] == .string(path))
      try await box.run("-s", "api.toml", "work/link.toml", program: "/bin/ln")
      for name in ["./work/api.toml", path, "work/../work/link.toml"] {
        let run = try await box.run("get", "-p", name, "/items/1")
        #expect(run.status == 0, "\(name): \(run.stderr)")
        let env: [String: String?] = ["AUTHCTL_PROFILE": name]
        #expect(try await box.run("get", "/items/1", env: env).status == 0)
      }
      let wrong = try await box.run("get", "-p", "./work/none.toml", "/x")
      #expect(wrong.status == 2 && wrong.stderr == "authctl: no such file: ./work/none.toml\n")
      let name = try await box.run("get", "-p", "api.toml", "/x", directory: box.home + "/work")
      #expect(name.status == 2 && name.stdout == "")
      #expect(try await box.run("logout", "-p", "./work/api.toml").status == 0)
      #expect(try await box.items().isEmpty)
    }
  }

  @Test func theFoldersMoveWithTheirVariable() async throws {
    try await Sandbox.with(.none) { box in
      let env: [String: String?] = ["AUTHCTL_CONFIG_DIR": box.home + "/mine"]
      let add = try await box.run("profile", "add", "x", "https://x.example", "-q", env: env)
      #expect(add.status == 0)
      #expect(try await box.run("profile", "default", "x", env: env).status == 0)
      #expect(box.files() == ["home/mine/config.toml", "home/mine/profiles/x.toml"])
      #expect(try await box.run("profile", "default", env: env).stdout == "x\n")
      #expect(try await box.run("profile", "default").status == 1)
    }
  }

  @Test func aURLAloneSendsTheTokenAsBearer() async throws {
    try await Sandbox.with { box in
      let recorder = try box.recorder()
      let token = box.canary.make("token")
      let env: [String: String?] = ["AUTHCTL_URL": recorder.url + "/v2", "AUTHCTL_TOKEN": token]
      let run = try await box.run("get", "/x", env: env)
      #expect(run.status == 0 && run.stdout == "{}" && run.stderr == "")
      let sent = recorder.texts.first ?? ""
      #expect(sent.hasPrefix("GET /v2/x HTTP/1.1\r\n"))
      #expect(sent.contains("\r\nAuthorization: Bearer \(token)\r\n"))
      #expect(try await box.items().isEmpty)
    }
  }

  // MARK: Mistakes

  @Test func mistakesNameFileLineKeyAndNearest() async throws {
    try await Sandbox.with(.none) { box in
      let url = "url = \"https://h.example\"\n"
      let files: [(text: String, said: String)] = [
        (url + "\nacount = \"x\"\n", ":3:1: unknown key acount\nhint: did you mean account?\n"),
        (
          url + "[login]\nmehtod = \"PUT\"\n",
          ":3:1: unknown key login.mehtod\nhint: did you mean method?\n"
        ),
        (
          url + "[sesion]\nrefused = [1]\n",
          ":2:1: unknown key sesion\nhint: did you mean session?\n"
        ),
        (
          url + "[session]\nrefused = \"x\"\n", ":3:1: session.refused: must be a list of numbers\n"
        ),
        (url + "account = 7\n", ":2:1: account: must be a string\n"),
        (
          url + "preset = \"jsn\"\n", ":2:1: preset: unknown preset jsn\nhint: did you mean json?\n"
        ),
        (url + "[request]\ncookies = \"yes\"\n", ":3:1: request.cookies: must be true or false\n"),
        ("url = \"https://h\n", ":1:7: invalid TOML: this string is not closed on its line\n"),
        ("preset = \"json\"\n", ": url is missing\nhint: "),
      ]
      let path = box.configHome + "/authctl/profiles/p.toml"
      for (text, said) in files {
        try box.write("config/authctl/profiles/p.toml", text)
        for line in [["profile", "show"], ["get", "/x"], ["login", "-p", "p"]] {
          let run = try await box.run(line)
          #expect(run.status == 2 && run.stdout == "", "\(line)")
          #expect(run.stderr.hasPrefix("authctl: " + path + said), "\(run.stderr)")
        }
      }
      try box.write("config/authctl/profiles/p.toml", url)
      try box.write(
        "config/authctl/config.toml", "store = \"secret-service\"\ndefault_profle = 1\n")
      let run = try await box.run("profile", "show")
      #expect(run.status == 2 && run.stdout == "")
      #expect(
        run.stderr == """
          authctl: \(box.configHome)/authctl/config.toml:2:1: unknown key default_profle
          hint: did you mean default_profile?

          """)
    }
  }
}
