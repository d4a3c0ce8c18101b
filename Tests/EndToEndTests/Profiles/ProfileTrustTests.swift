import Glibc
import Testing

/// Settings in a profile from someone else that require confirmation (rule A3), and profiles that
/// are used in place.
@Suite struct ProfileTrustTests {
  /// A file that requires trust, and the parts of the message about it.
  struct Doubtful: Sendable, CustomTestStringConvertible {
    var name: String
    var text: String
    var told: [String]
    /// The stored text, with absolute file names; `FOLDER` is the folder of the file.
    var stored: String?
    var testDescription: String { name }

    init(_ name: String, _ text: String, told: [String], stored: String? = nil) {
      self.name = name
      self.text = "url = \"https://api.shop.example\"   # home\n" + text + "\n# end\n"
      self.told = told
      self.stored = stored.map { "url = \"https://api.shop.example\"   # home\n\($0)\n# end\n" }
    }
  }

  private static let evil = "https://evil.example"

  static let doubtful = [
    Doubtful(
      "proxy", "[network]\nproxy = \"http://evil.example:3128\"",
      told: ["http://evil.example:3128", "all requests go through it"]),
    Doubtful(
      "ca_file", "[network]\nca_file = \"ca.pem\"   # ours", told: ["FOLDER/ca.pem"],
      stored: "[network]\nca_file = \"FOLDER/ca.pem\"   # ours"),
    Doubtful("ca_file, whole", "[network]\nca_file = \"/etc/ca.pem\"", told: ["/etc/ca.pem"]),
    Doubtful(
      "client_cert", "[network]\nclient_cert = \"c.pem\"\nclient_key = \"../k.pem\"",
      told: ["FOLDER/c.pem"],
      stored: "[network]\nclient_cert = \"FOLDER/c.pem\"\nclient_key = \"FOLDER/../k.pem\""),
    Doubtful(
      "client_key", "[network]\nclient_key = \"k.pem\"", told: ["FOLDER/k.pem"],
      stored: "[network]\nclient_key = \"FOLDER/k.pem\""),
    Doubtful(
      "allow_http", "[network]\nallow_http = true", told: ["allow_http", "over plain HTTP"]),
    Doubtful(
      "allow_origins", "[network]\nallow_origins = [\"\(evil)\"]",
      told: ["to \(evil): access token, cookies"]),
    Doubtful(
      "sign_in_origins",
      "[network]\nsign_in_origins = [\"\(evil)\", \"https://b\u{FC}cher.example\"]",
      told: [
        "to \(evil): password, codes, refresh token",
        "to https://xn--bcher-kva.example: password, codes, refresh token",
      ]),
    Doubtful(
      "login", "[login]\npath = \"\(evil)/in\"", told: ["to \(evil): ", "[login]"]),
    Doubtful(
      "login on another port", "[login]\npath = \"https://api.shop.example:8443/in\"",
      told: ["to https://api.shop.example:8443: ", "[login]"]),
    Doubtful(
      "login by http", "[login]\npath = \"http://api.shop.example/in\"",
      told: ["to http://api.shop.example: ", "[login]"]),
    Doubtful(
      "register", "[register]\npath = \"\(evil)/in\"", told: ["to \(evil): ", "[register]"]),
    Doubtful(
      "refresh", "[refresh]\npath = \"\(evil)/r\"", told: ["to \(evil): ", "[refresh]"]),
    Doubtful("logout", "[logout]\npath = \"\(evil)/o\"", told: ["to \(evil): ", "[logout]"]),
    Doubtful("whoami", "[whoami]\npath = \"\(evil)/me\"", told: ["to \(evil): ", "[whoami]"]),
    Doubtful(
      "otp", "[otp]\nstatus = [401]\npath = \"\(evil)/otp\"\nbody = { o = \"{otp}\" }",
      told: ["to \(evil): ", "[otp]"]),
    Doubtful(
      "prefetch", "[prefetch]\npath = \"\(evil)/csrf\"\ntake = { c = \"/c\" }",
      told: ["to \(evil): ", "[prefetch]"]),
    Doubtful(
      "request.query", "[request]\nquery = { k = \"{access_token}\" }",
      told: ["request.query: the URL contains secrets, which servers and proxies log"]),
    Doubtful(
      "oauth.token_endpoint", "[oauth]\ntoken_endpoint = \"\(evil)/token\"",
      told: ["to \(evil): browser, codes"]),
    Doubtful(
      "oauth.issuer", "[oauth]\nissuer = \"\(evil)\"", told: ["to \(evil): browser, codes"]),
  ]

  @Test(arguments: doubtful) func takesAYes(_ file: Doubtful) async throws {
    try await ProfileDesk.with { desk in
      let path = try desk.box.write("team/shop.toml", file.text)
      let folder = desk.box.root + "/team"
      let stored = (file.stored ?? file.text).replacing("FOLDER", with: folder)
      let told = file.told.map { $0.replacing("FOLDER", with: folder) }
      // Without a terminal to ask on.
      for words in [[path], [path, "-q"], [path, "--no-input"]] {
        let run = try await desk.run(["profile", "import", "shop"] + words)
        #expect(run.status == 10 && run.stdout == "", "\(run.stderr)")
        #expect(run.stderr.contains("hint: ") && run.stderr.contains("--trust"), "\(run.stderr)")
        if words.count == 1 {
          for text in told { #expect(run.stderr.contains(text), "\(text): \(run.stderr)") }
        }
      }
      // The user declines.
      for answer in ["n\n", "\n", "no\n", "what?\nn\n", "\u{4}"] {
        let run = try await desk.box.terminal(
          ["profile", "import", "shop", path], answers: [("[y/N] ", answer)], columns: 300,
          env: ProfileDesk.home)
        #expect(run.status == 10, "\(answer.debugDescription): \(run.screen)")
        // The question comes after everything there is to know.
        let before = run.screen.split(separator: "[y/N]").first ?? ""
        for text in told { #expect(before.contains(text), "\(text): \(run.screen)") }
      }
      #expect(desk.everything.isEmpty)
      let yes = try await desk.box.terminal(
        ["profile", "import", "a", path], answers: [("[y/N] ", "y\n")], env: ProfileDesk.home)
      #expect(yes.status == 0, "\(yes.screen)")
      #expect(desk.read("a") == stored)
      let trust = try await desk.run("profile", "import", "b", path, "--trust")
      #expect(trust.status == 0 && trust.stdout == "", "\(trust.stderr)")
      for text in told { #expect(trust.stderr.contains(text), "\(text): \(trust.stderr)") }
      #expect(desk.read("b") == stored)
      #expect(desk.names == ["a.toml", "b.toml"])
    }
  }

  /// The API's own origin in another notation is not a foreign one.
  @Test func itsOwnOriginTakesNoTrust() async throws {
    try await ProfileDesk.with { desk in
      let text = """
        url = "https://api.shop.example/v2"
        [login]
        path = "https://API.shop.example:443/in"
        [logout]
        path = "/out"
        [network]
        sign_in_origins = []
        connect_timeout = 5

        """
      let run = try await desk.run("profile", "import", "shop", "-", stdin: text)
      #expect(run.status == 0, "\(run.stderr)")
      #expect(desk.read("shop") == text)
    }
  }

  /// Relative file names are relative to the profile's folder, wherever the command runs.
  @Test func relativeFileNamesAreWrittenWhole() async throws {
    try await ProfileDesk.with { desk in
      let text = "url = \"https://h.example\"\n[network]\nca_file = \"certs/ca.pem\" # ours\n"
      try desk.box.write("home/team/shop.toml", text)
      let root = desk.box.root
      #expect(symlink("\(root)/home/team", "\(root)/home/link") == 0)
      #expect(mkdir("\(root)/home/team/deep", 0o700) == 0)
      let sources: [(path: String, from: String)] = [
        ("./team/shop.toml", "home"), ("team/shop.toml", "home"), ("shop.toml", "home/team"),
        ("../shop.toml", "home/team/deep"), ("link/shop.toml", "home"),
        ("\(root)/home/team/shop.toml", ""),
      ]
      for (index, (path, from)) in sources.enumerated() {
        let run = try await desk.run(
          "profile", "import", "p\(index)", path, "--trust", directory: "\(root)/\(from)")
        #expect(run.status == 0, "\(path): \(run.stderr)")
        let whole = text.replacing("certs/ca.pem", with: "\(root)/home/team/certs/ca.pem")
        #expect(desk.read("p\(index)") == whole, "\(path)")
      }
    }
  }

  // MARK: In place

  @Test func teamFileIsUsedWhereItLies() async throws {
    try await ProfileDesk.with(.keyring) { desk in
      let (box, access) = (desk.box, desk.box.canary.make("access"))
      let api = try box.recorder(
        answering: Scene.routes([
          "POST /login": Scene.tokens(access), "GET /me": .http(200, #"{"email":"ada"}"#),
          "GET /x": .http(200, "[1]"), "POST /logout": .http(204),
        ]))
      let text = "# ours\n" + Scene.profile(api.url)
      let file = try box.write("home/team/shop.toml", text)
      let login = try await desk.run(
        "login", "-p", "./team/shop.toml", "-u", "ada", "--password-stdin", stdin: "a password\n")
      #expect(login.status == 0, "\(login.stderr)")
      let item = try #require(try await box.items().first)
      #expect(item.attributes["profile"] == file && item.attributes["account"] == "ada")
      // The session is the same, however the file is named.
      #expect(symlink(file, box.root + "/mine.toml") == 0)
      let uses: [(words: [String], env: [String: String?], from: String)] = [
        (["-p", "../team/shop.toml"], [:], "home/team"), (["-p", file], [:], ""),
        (["-p", "./mine.toml"], [:], ""), ([], ["AUTHCTL_PROFILE": "./shop.toml"], "home/team"),
      ]
      for (words, env, from) in uses {
        let get = try await desk.run(
          ["get", "/x"] + words, env: env, directory: box.root + "/" + from)
        #expect(get.status == 0 && get.stdout == "[1]" && get.stderr == "", "\(get.stderr)")
      }
      let name = try await desk.run("get", "/x", "-p", "shop.toml", directory: box.home + "/team")
      #expect(name.status == 2 && name.stderr.contains("./"), "\(name.stderr)")
      #expect(try await desk.run("whoami", "-p", "./team/shop.toml").stdout == "ada\n")
      let show = try await desk.run("profile", "show", "./team/shop.toml", "--json")
      #expect(try JSON(parsing: show.stdout)["file"] == .string(file))
      // Nothing personal is written to the file, and no profile is created.
      #expect(box.read("home/team/shop.toml") == text)
      #expect(desk.everything.isEmpty)
      let logout = try await desk.run("logout", "-p", "./team/shop.toml")
      #expect(logout.status == 0, "\(logout.stderr)")
      #expect(try await box.items().isEmpty)
      #expect(Scene.route(of: api.connections.last ?? []) == "POST /logout")
    }
  }

  @Test func teamFileThatOthersMayWriteIsRefused() async throws {
    try await ProfileDesk.with { desk in
      let api = try desk.box.recorder()
      let file = try desk.box.write("home/team/shop.toml", Scene.profile(api.url))
      let token: [String: String?] = ["AUTHCTL_TOKEN": "tok"]
      let team = desk.box.home + "/team"
      var rows: [(String, mode_t, mode_t)] = [(file, 0o606, 0o600), (team, 0o707, 0o755)]
      // A group with members other than the owner.
      if HostileEnvironmentTests.isRoot {
        #expect(chown(file, 0, 65534) == 0 && chown(team, 0, 65534) == 0)
        rows += [(file, 0o660, 0o640), (file, 0o620, 0o600), (team, 0o770, 0o755)]
      }
      for (path, mode, good) in rows {
        chmod(path, mode)
        let run = try await desk.run("get", "/x", "-p", "./team/shop.toml", env: token)
        #expect(run.status == 2 && run.stdout == "")
        #expect(run.stderr.contains("is writable by other users\nhint: chmod go-w \(path)\n"))
        chmod(path, good)
        #expect(try await desk.run("get", "/x", "-p", "./team/shop.toml", env: token).status == 0)
      }
      #expect(api.connections.count == rows.count)
    }
  }

  /// Where each user has a group of their own, the umask is 002: only the owner can write such
  /// files.
  @Test(.enabled(if: HostileEnvironmentTests.isRoot, "the group of root is root's own"))
  func groupOfTheOwnerAloneMayWrite() async throws {
    try await ProfileDesk.with { desk in
      let api = try desk.box.recorder()
      let file = try desk.box.write("home/team/shop.toml", Scene.profile(api.url), mode: 0o664)
      chmod(desk.box.home + "/team", 0o775)
      let get = try await desk.run(
        "get", "/x", "-p", "./team/shop.toml", env: ["AUTHCTL_TOKEN": "tok"])
      #expect(get.status == 0 && get.stderr == "", "\(get.stderr)")
      let made = try await desk.run("profile", "import", "shop", file)
      #expect(made.status == 0, "\(made.stderr)")
      for path in ["", "/profiles", "/profiles/shop.toml"] {
        chmod(desk.box.root + "/home/.config/authctl" + path, 0o775)
      }
      let own = try await desk.run("get", "/x", env: ["AUTHCTL_TOKEN": "tok"])
      #expect(own.status == 0 && own.stderr == "", "\(own.stderr)")
      #expect(api.connections.count == 2)
    }
  }
}
