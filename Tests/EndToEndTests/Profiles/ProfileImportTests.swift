import Glibc
import Testing

/// `authctl profile import` and `-p ./FILE`: what a file from someone else may do, and what
/// requires confirmation (rules A3, B18, C9).
@Suite struct ProfileImportTests {
  private static let plain = """
    # our shop
    url = "https://api.shop.example/v2"   # everybody's
    preset = "simplejwt"

    [session]   # places
    refused = [401]

    """

  @Test func tellsWhereSecretsWillGo() async throws {
    try await ProfileDesk.with { desk in
      let file = try desk.box.write("team/shop.toml", Self.plain)
      let run = try await desk.run("profile", "import", "shop", file)
      #expect(run.status == 0 && run.stdout == "")
      #expect(
        run.stderr.split(separator: "\n") == [
          "shop sends to https://api.shop.example: password, tokens",
          "Created the profile shop: \(ProfileDesk.shown("shop"))",
        ])
      #expect(desk.read("shop") == Self.plain)
      var info = stat()
      let made = desk.box.root + "/" + ProfileDesk.folder
      #expect(stat(made + "profiles/shop.toml", &info) == 0 && info.st_mode & 0o7777 == 0o600)
      #expect(stat(made + "profiles", &info) == 0 && info.st_mode & 0o7777 == 0o700)
      let quiet = try await desk.run(
        "profile", "import", "b", "-", "-q", "--json", stdin: Self.plain)
      #expect(quiet.status == 0 && quiet.stderr == "")
      #expect(try JSON(parsing: quiet.stdout)["name"] == "b")
      #expect(desk.read("b") == Self.plain)
    }
  }

  @Test(arguments: [
    ("https://b\u{FC}cher.example", "https://xn--bcher-kva.example"),
    // The first letter is Cyrillic.
    ("https://\u{430}pi.shop.example", "https://xn--pi-6kc.shop.example"),
    ("https://API.Shop.Example:443", "https://api.shop.example"),
    ("https://api.shop.example:8443", "https://api.shop.example:8443"),
  ])
  func hostsAreToldInPunycode(url: String, origin: String) async throws {
    try await ProfileDesk.with { desk in
      let text = "url = \"\(url)\"\n"
      let run = try await desk.run("profile", "import", "shop", "-", stdin: text)
      #expect(run.status == 0, "\(run.stderr)")
      #expect(run.stderr.contains("to \(origin): password, tokens\n"), "\(run.stderr)")
      #expect(run.stderr.utf8.allSatisfy { $0 < 0x7F })
    }
  }

  @Test func neverOverwrites() async throws {
    try await ProfileDesk.with { desk in
      try desk.write("shop", "url = \"https://mine.example\"\n")
      let file = try desk.box.write("shop.toml", Self.plain)
      for more in [[], ["--trust"]] {
        for source in [file, "-"] {
          try await desk.expectRefusal(
            ["profile", "import", "shop", source] + more, "the profile shop already exists",
            mend: "another name", stdin: Self.plain)
        }
      }
      // A broken profile occupies its name too.
      try desk.write("shop", "not TOML")
      try await desk.expectRefusal(
        ["profile", "import", "shop", file], "the profile shop already exists")
    }
  }

  @Test func nameComesFromTheCommandLine() async throws {
    let names = [
      "../x", "..", ".", "", "a/b", "/etc/x", ".hidden", "-dash", "_x", "a b", "a\nb",
      "a\u{1B}[2Jb",
      "x.toml", "\u{E9}", "e\u{301}", "a\\b", "a:b", "~", "*", "$(id)", "%2e%2e", "a;b", "a'b",
      "a\u{202E}b", String(repeating: "n", count: 65),
    ]
    try await ProfileDesk.with { desk in
      let file = try desk.box.write("name = evil.toml", Self.plain)
      for (index, name) in names.enumerated() {
        let source = index % 2 == 0 ? file : "-"
        try await desk.expectRefusal(
          ["profile", "import", "--trust", "--", name, source], "is not a profile name",
          mend: "letters", stdin: Self.plain)
      }
      #expect(desk.everything.isEmpty)
      try await desk.expectRefusal(["profile", "import", file], "")
    }
  }

  // MARK: Malicious files

  /// A file that is refused even with confirmation.
  struct Evil: Sendable, CustomTestStringConvertible {
    var name: String
    var text: String
    var says: String
    var mend: String?
    var testDescription: String { name }
  }

  private static let url = "url = \"https://api.shop.example\"\n"

  static let refused = [
    Evil(
      name: "user name in url", text: "url = \"https://api.shop.example@evil.example\"",
      says: ":1:1: url: must not contain a user name or password"),
    Evil(
      name: "another host behind a backslash",
      text: "url = \"https://api.shop.example\\\\@evil.example\"", says: ":1:1: url: "),
    Evil(name: "escaped host", text: "url = \"https://%65vil.example\"", says: ":1:1: url: "),
    Evil(
      name: "password of a proxy", text: url + "[network]\nproxy = \"http://u:p@evil.example\"",
      says: ":3:1: network.proxy: must not contain a user name or password", mend: "HTTPS_PROXY"),
    Evil(
      name: "Host header", text: url + "[request]\nheaders = { host = \"evil.example\" }",
      says: ":3:13: request.headers.host: a profile cannot set"),
    Evil(
      name: "Host header of writes",
      text: url + "[request]\nwrite_headers = { Host = \"evil.example\" }",
      says: ":3:19: request.write_headers.Host: a profile cannot set"),
    Evil(
      name: "proxy's header", text: url + "[login]\npath = \"/x\"\nheaders = { Proxy-X = \"a\" }",
      says: ":4:13: login.headers.Proxy-X: a profile cannot set"),
    Evil(
      name: "command at the top", text: url + "password_command = \"touch /tmp/x\"",
      says: ":2:1: unknown key password_command"),
    Evil(
      name: "command in a table", text: url + "[login]\npath = \"/x\"\npassword_command = \"id\"",
      says: ":4:1: unknown key login.password_command"),
    Evil(
      name: "secret header", text: url + "[request]\nheaders = { X-API-Key = \"sk_live_1\" }",
      says: ":3:13: request.headers.X-API-Key: a fixed value for X-API-Key looks like a secret",
      mend: "{app_key}"),
    Evil(
      name: "secret constant", text: url + "[vars]\nclient_secret = \"s\"",
      says: ":3:1: vars.client_secret: ", mend: "public"),
    Evil(
      name: "refresh token to everybody",
      text: url + "[request]\nheaders = { X = \"{refresh_token}\" }",
      says: ":3:13: request.headers.X: {refresh_token} cannot be used in [request]"),
    Evil(
      name: "password in the URL", text: url + "[login]\npath = \"/x/{password}\"",
      says: ":3:1: login.path: {password} would be in URLs", mend: "secrets_in_url"),
    Evil(
      name: "host of the server's choice", text: url + "[login]\npath = \"https://{session.h}/\"",
      says: ":3:1: login.path: a placeholder cannot come before the path"),
    Evil(
      name: "origins by a pattern", text: url + "[network]\nallow_origins = [\"https://*\"]",
      says: ":3:1: network.allow_origins: "),
    Evil(
      name: "other scheme", text: url + "[login]\npath = \"file:///etc/passwd\"",
      says: ":3:1: login.path: "),
    Evil(
      name: "redirect of OAuth",
      text: url + "[oauth]\nparameters = { redirect_uri = \"https://evil.example\" }",
      says: "oauth.parameters.redirect_uri: authctl sets this"),
    Evil(
      name: "no TOML", text: url + "[login\npath = \"/x\"", says: ":2:7: invalid TOML: expected ]"),
    Evil(name: "no TOML at all", text: "<html>404</html>", says: ":1:1: invalid TOML: "),
    Evil(name: "empty", text: "", says: "url is missing", mend: "url = "),
    Evil(
      name: "deep", text: url + "a = " + String(repeating: "[", count: 30_000),
      says: "nested deeper"),
    Evil(
      name: "NUL", text: url + "account = \"a\\u0000\"",
      says: ":2:1: account: must not contain a NUL"),
    Evil(
      name: "too large", text: url + "# " + String(repeating: "x", count: 1 << 20),
      says: "larger than"),
  ]

  @Test(arguments: refused) func maliciousFileIsRefused(_ evil: Evil) async throws {
    try await ProfileDesk.with { desk in
      let file = try desk.box.write("team/shop.toml", evil.text)
      for words in [[file], ["-"], [file, "--trust"], ["-", "--trust"]] {
        try await desk.expectRefusal(
          ["profile", "import", "shop"] + words, evil.says, mend: evil.mend, stdin: evil.text)
      }
      let shown = try await desk.box.terminal(
        ["profile", "import", "shop", file], env: ProfileDesk.home)
      #expect(shown.status == 2 && !shown.screen.contains("[y/N]"), "\(shown.screen)")
      #expect(desk.everything.isEmpty)
    }
  }

  /// Messages name the given file: the other one does not exist.
  @Test func mistakesAreToldOfTheFileGiven() async throws {
    try await ProfileDesk.with { desk in
      try desk.box.write("home/team/shop.toml", Self.url + "acount = \"x\"\n")
      try await desk.expectRefusal(
        ["profile", "import", "shop", "./team/shop.toml"],
        "authctl: ./team/shop.toml:2:1: unknown key acount\n", mend: "account?")
      let piped = try await desk.run(
        "profile", "import", "shop", "-", stdin: Self.url + "acount = \"x\"\n")
      #expect(piped.status == 2 && piped.stderr.contains(":2:1: unknown key acount"))
      #expect(!piped.stderr.contains(ProfileDesk.shown("shop")), "\(piped.stderr)")
    }
  }

  @Test func fileThatOthersMayWriteIsRefused() async throws {
    try await ProfileDesk.with { desk in
      let file = try desk.box.write("team/shop.toml", Self.plain)
      // A group with members other than the owner.
      let isRoot = HostileEnvironmentTests.isRoot
      func share(_ path: String) { if isRoot { #expect(chown(path, 0, 65534) == 0) } }
      share(file)
      for mode in [0o602, 0o666] + (isRoot ? [0o620] : []) as [mode_t] {
        chmod(file, mode)
        for more in [[], ["--trust"]] {
          try await desk.expectRefusal(
            ["profile", "import", "m\(mode)-\(more.count)", file] + more,
            "is writable by other users", mend: "chmod go-w \(file)")
        }
      }
      chmod(file, 0o640)
      share(desk.box.root + "/team")
      chmod(desk.box.root + "/team", isRoot ? 0o770 : 0o707)
      try await desk.expectRefusal(
        ["profile", "import", "folder", file], "is writable by other users",
        mend: "chmod go-w \(desk.box.root)/team")
      chmod(desk.box.root + "/team", 0o750)
      #expect(try await desk.run("profile", "import", "shop", file).status == 0)
      // The destination folder is checked too.
      for folder in ["home/.config/authctl", "home/.config/authctl/profiles"] {
        share(desk.box.root + "/" + folder)
        chmod(desk.box.root + "/" + folder, isRoot ? 0o775 : 0o707)
        try await desk.expectRefusal(
          ["profile", "import", "b", file], "is writable by other users", mend: "chmod go-w")
        chmod(desk.box.root + "/" + folder, 0o700)
      }
    }
  }

  @Test func fileThatIsNoText() async throws {
    try await ProfileDesk.with { desk in
      let file = desk.box.root + "/bytes.toml"
      let made = try await desk.box.run(
        "-c", #"printf 'url = "https://h.example"\n# \377\n' >"$1"; chmod 600 "$1""#, "sh", file,
        program: "/bin/sh")
      #expect(made.status == 0)
      try await desk.expectRefusal(
        ["profile", "import", "shop", file, "--trust"], "\(file) is not UTF-8")
      for path in [desk.box.root, desk.box.root + "/none.toml"] {
        let run = try await desk.run("profile", "import", "shop", path)
        #expect(run.status == 2 && run.stdout == "" && run.hasErrorForm, "\(run.stderr)")
      }
      #expect(desk.everything.isEmpty)
    }
  }
}
