import Testing

/// Rules for every command line: options, help, streams, JSON (design 1 to 3).
@Suite struct CommandLineTests {
  private static let password = "correct horse battery"

  /// Starts a server and writes the profiles `shop` (json) and `school` (express-jwt) for it.
  private func twoProfiles(_ box: Sandbox) async throws -> APIServer {
    let api = try await box.api()
    for (name, preset) in [("shop", "json"), ("school", "express-jwt")] {
      try box.write(
        "config/authctl/profiles/\(name).toml", "url = \"\(api.url)\"\npreset = \"\(preset)\"\n")
    }
    return api
  }

  private func login(_ box: Sandbox, _ profile: String, _ more: String...) async throws -> Run {
    try await box.run(
      ["login", "-p", profile, "-u", "ada@example.com", "--password-stdin"] + more,
      stdin: Self.password + "\n")
  }

  // MARK: Options

  @Test func globalOptionsStandBeforeAndAfterTheCommand() async throws {
    try await Sandbox.with { box in
      _ = try await twoProfiles(box)
      let shown = "# \(box.configHome)/authctl/profiles/school.toml\n"
      let lines = [
        ["-p", "school", "profile", "show"], ["-pschool", "profile", "show"],
        ["--profile", "school", "profile", "show"], ["--profile=school", "profile", "show"],
        ["profile", "show", "-p", "school"], ["profile", "show", "-pschool"],
        ["profile", "show", "--profile=school"],
        ["-q", "--no-input", "-v", "-pschool", "profile", "show", "-u", "x"],
        ["-qv", "-pschool", "profile", "show", "-vq"],
        ["--errors", "json", "--errors=text", "-pschool", "profile", "show"],
        ["--store", "secret-service", "-p", "school", "-uada", "profile", "show"],
      ]
      for line in lines {
        let run = try await box.run(line)
        #expect(run.status == 0 && run.stdout.hasPrefix(shown), "\(line): \(run.stderr)")
      }
      // The option after the command comes later and wins.
      let both = try await box.run("-p", "shop", "profile", "show", "-p", "school")
      #expect(both.stdout.hasPrefix(shown))
    }
  }

  @Test func anOptionWithoutItsValueIsAMistake() async throws {
    try await Sandbox.with(.none) { box in
      for line in [["-p"], ["--profile"], ["get", "/x", "-p"], ["-u"], ["get", "/x", "-o"]] {
        let run = try await box.run(line)
        #expect(run.status == 2 && run.stdout == "", "\(line): \(run.stdout)")
        #expect(run.stderr.hasPrefix("authctl: "))
      }
    }
  }

  @Test func valuesMayBeJoinedAndMayBeginWithADash() async throws {
    try await Sandbox.with { box in
      let api = try await twoProfiles(box)
      let out = try await box.run(
        "get", "--anonymous", "-pshop", "/items/1", "-oout.json", "-m5", "-HX-One: 1", "-H",
        "-X: 2",
        "--ok", "401")
      #expect(out.status == 0 && out.stdout == "" && out.stderr == "", "\(out.stderr)")
      #expect(box.read("home/out.json") == #"{"message":"Token is missing."}"#)
      let sent = try await api.requests().last
      #expect(sent?["headers"]?["x-one"] == "1" && sent?["headers"]?["-x"] == "2")
      let dash = try await box.run("get", "--anonymous", "-pshop", "/echo", "-o", "-dash")
      #expect(dash.status == 0)
      #expect(box.read("home/-dash")?.hasPrefix("{") == true)
      let stdout = try await box.run("get", "--anonymous", "-pshop", "/items/1", "-o-")
      #expect(stdout.status == 4 && stdout.stdout == #"{"message":"Token is missing."}"#)

      let name = try await box.run(
        "login", "-pschool", "-u", "-x@example.com", "--password-stdin", stdin: "secret1\n")
      #expect(name.status == 14)
      let body = try JSON(parsing: try await api.requests().last?["body"]?.string ?? "")
      #expect(body["email"] == "-x@example.com")
      let word = try await box.run("get", "-p", "-shop", "/x")
      #expect(word.status == 2)
      #expect(word.stderr.hasPrefix("authctl: \"-shop\" is not a profile name\n"))
    }
  }

  @Test func unknownWordsNameTheNearest() async throws {
    try await Sandbox.with { box in
      let api = try await twoProfiles(box)
      let lines: [(line: [String], said: String)] = [
        (["stauts"], "unknown command stauts\nhint: did you mean status?"),
        (["-q", "logni"], "unknown command logni\nhint: did you mean login?"),
        (["profile", "lst"], "unknown command lst\nhint: did you mean list?"),
        (["help", "tokn"], "unknown command tokn\nhint: did you mean token?"),
        (["xyzzy"], "unknown command xyzzy\nhint: authctl help"),
        (["--verson"], "unknown option '--verson'\nhint: did you mean '--version'?"),
        (["-q", "--xyzzy=1", "get", "/x"], "unknown option '--xyzzy'\nhint: authctl help"),
        (["profile", "--bogus"], "unknown option '--bogus'\nhint: authctl help profile"),
        (["store", "-q", "--xyzzy=1"], "unknown option '--xyzzy'\nhint: authctl help store"),
        (["-q", "helper", "--all"], "unknown option '--all'\nhint: authctl help helper"),
        (["jwt", "--hlp"], "unknown option '--hlp'\nhint: did you mean '--help'?"),
        (["profile", "-q", "lst"], "unknown command lst\nhint: did you mean list?"),
        (
          ["get", "/x", "--anonymos"],
          "unknown option '--anonymos'\nhint: did you mean '--anonymous'?"
        ),
        (
          ["get", "/x", "--experimental-dump-help"],
          "unknown option '--experimental-dump-help'\nhint: authctl help get"
        ),
        (["status", "--jsn"], "unknown option '--jsn'\nhint: did you mean '--json'?"),
        (
          ["get", "-p", "shp", "/x"],
          "no profile called shp; did you mean shop?\nhint: authctl profile list"
        ),
        (
          ["status", "-p", "shp"],
          "no profile called shp; did you mean shop?\nhint: authctl profile list"
        ),
        (["profile", "presets", "jsn"], "unknown preset jsn\nhint: did you mean json?"),
        (
          ["profile", "add", "x", api.url, "--preset", "rails-trubo"],
          "unknown preset rails-trubo\nhint: did you mean rails-turbo?"
        ),
        (
          ["login", api.url, "-p", "x", "--preset", "jsno"],
          "unknown preset jsno\nhint: did you mean json?"
        ),
        (
          ["profile", "set", "shop", "login.pth=/x"],
          "unknown key login.pth\nhint: did you mean login.path?"
        ),
        (["get", "orders"], "orders is neither a path nor a URL\nhint: authctl get /orders"),
        (["get", "/a", "/b"], "unexpected argument '/b'\nhint: authctl help get"),
        (["exec", "ls"], "unexpected argument 'ls'\nhint: authctl exec -- CMD"),
        (["exec", "--xyzzy", "--", "ls"], "unknown option '--xyzzy'\nhint: authctl help exec"),
      ]
      for (line, said) in lines {
        let run = try await box.run(line)
        #expect(run.status == 2 && run.stdout == "", "\(line)")
        #expect(run.stderr == "authctl: \(said)\n")
      }
      #expect(try await api.counts() == [:])
      #expect(box.files().filter { $0.hasPrefix("config/") }.count == 2)
    }
  }

  // MARK: Help

  static let commands = [
    "register", "login", "logout", "whoami", "status", "token", "refresh", "get", "profile add",
    "profile list", "profile show", "profile set", "profile remove", "profile default",
    "profile presets", "profile rename", "profile edit", "use", "store unlock",
  ]

  @Test func helpOfEveryCommandShowsExamples() async throws {
    try await Sandbox.with(.none) { box in
      for command in Self.commands {
        let run = try await box.run(command.split(separator: " ").map(String.init) + ["--help"])
        #expect(run.status == 0 && run.stderr == "")
        let lines = run.stdout.split(separator: "\n", omittingEmptySubsequences: false)
        guard let start = lines.firstIndex(where: { $0.hasPrefix("Examples:") }) else {
          Issue.record("no examples: \(command)")
          continue
        }
        let examples = lines[(start + 1)...].prefix { !$0.isEmpty }.filter {
          $0.hasPrefix("  ") && !$0.hasPrefix("   ")
        }
        #expect((2...3).contains(examples.count), "\(command): \(examples)")
        #expect(examples.allSatisfy { $0.contains("authctl \(command)") }, "\(examples)")
        expectOwnText(run.stdout)
      }
      let help = try await box.run("profile", "show", "--help").stdout
      #expect(try await box.run("help", "profile", "show").stdout == help)
      #expect(try await box.run("-pnone", "-q", "profile", "show", "--help").stdout == help)
      #expect(try await box.run("profile", "-q", "-pnone", "show", "--help").stdout == help)
    }
  }

  @Test func versionHelpAndScreensForNobodyAreOwnText() async throws {
    try await Sandbox.with(.none) { box in
      let version = try await box.run("--version")
      #expect(version.status == 0 && version.stderr == "")
      #expect(
        version.stdout.wholeMatch(of: /authctl \d+\.\d+\.\d+( \([0-9a-f]{7,}\))?\n/) != nil,
        "\(version.stdout)")
      #expect(try await box.run("-V").stdout == version.stdout)
      #expect(try await box.run("-q", "--version").stdout == version.stdout)
      let json = try await box.run("--version", "--json")
      let parts = try JSON(parsing: json.stdout)
      #expect(version.stdout.hasPrefix("authctl \(parts["version"]?.string ?? "?")"))
      #expect(parts["commit"]?.string.map { version.stdout.contains("(\($0))") } ?? true)
      #expect(parts["libcurl"]?.string?.wholeMatch(of: /\d+\.\d+\.\d+/) != nil, "\(json.stdout)")
      #expect(parts["libsecret"]?.string?.contains("libsecret-1.so.0") == true, "\(json.stdout)")
      #expect(parts["tls"]?.string?.isEmpty == false && json.status == 0)
      for line in [["help"], ["--help"], ["-h"], ["profile", "--help"], ["profile", "presets"]] {
        let run = try await box.run(line)
        #expect(run.status == 0 && run.stderr == "", "\(line)")
        expectOwnText(run.stdout)
      }
      // The overview needs neither keyring nor configuration.
      let bare = try await box.run()
      #expect(bare.status == 0 && bare.stderr == "")
      #expect(
        bare.stdout == """
          authctl signs in to an HTTP API once, then sends requests with the session.

            authctl login https://api.example.com    sign in
            authctl get /me                          send a request
            authctl status                           list sessions

          All commands: authctl help        Manual: man authctl

          """)
      #expect(box.files() == [])
    }
  }

  /// authctl's own text is ASCII, at most 79 columns.
  private func expectOwnText(_ text: String) {
    #expect(text.utf8.allSatisfy { $0 < 0x7F }, "\(text.filter { !$0.isASCII })")
    let wide = text.split(separator: "\n").filter { $0.utf8.count > 79 }
    #expect(wide.isEmpty)
  }

  @Test func bareAuthctlShowsSessions() async throws {
    try await Sandbox.with { box in
      let api = try await twoProfiles(box)
      try box.write("config/authctl/config.toml", "default_profile = \"shop\"\n")
      try box.write("config/authctl/profiles/third.toml", "url = \"\(api.url)\"\n")
      let none = try await box.run("status")
      #expect(none.status == 0 && none.stdout == "")
      #expect(none.stderr == "No sessions.\nhint: authctl login URL\n")
      let nobody = try await box.run()
      #expect(nobody.status == 0 && nobody.stderr == "")
      #expect(
        nobody.stdout == """
            school  -  signed out  authctl login -p school
          * shop    -  signed out  authctl login -p shop
            third   -  signed out  authctl login -p third

            authctl login               sign in to shop (*)
            authctl login URL           sign in to another API (-u: another account)
            authctl help                list all commands

          """)
      for profile in ["shop", "school"] {
        let run = try await login(box, profile)
        #expect(run.status == 0, "\(run.stderr)")
      }
      // An expiry that only the server knows does not show: nothing is sent.
      try await api.expire()
      let before = try await api.counts()
      let rest = """

          authctl get /PATH           send a request to shop (*)
          authctl login URL           sign in to another API (-u: another account)
          authctl help                list all commands

        """
      let bare = try await box.run()
      #expect(bare.status == 0 && bare.stderr == "")
      let lines = bare.stdout.split(separator: "\n", omittingEmptySubsequences: false)
      #expect(lines.count == 8)
      let tops = [
        [
          "* shop    ada@example.com  valid, 15 min left",
          "* shop    ada@example.com  valid, 14 min left",
        ],
        [
          "  school  ada@example.com  valid, 60 days left",
          "  school  ada@example.com  valid, 59 days left",
        ],
        ["  third   -                signed out           authctl login -p third"],
      ]
      for (line, wanted) in zip(lines, tops) { #expect(wanted.contains(String(line))) }
      #expect(bare.stdout.hasSuffix(rest))
      #expect(try await api.counts() == before)

      try await box.lockKeyring()
      let locked = try await box.run()
      #expect(locked.status == 0 && locked.stderr == "")
      #expect(
        locked.stdout.hasPrefix(
          """
          * shop    ada@example.com  locked      authctl store unlock
            school  ada@example.com  locked      authctl store unlock
            third   -                signed out  authctl login -p third

          """))
    }
  }

  @Test func bareAuthctlAndStatusShowWhatHasExpired() async throws {
    try await Sandbox.with { box in
      let api = try await box.api("--token-ttl", "1")
      try box.write(
        "config/authctl/profiles/shop.toml", "url = \"\(api.url)\"\npreset = \"json\"\n")
      #expect(try await login(box, "shop").status == 0)
      try await Task.sleep(for: .seconds(1.1))
      let bare = try await box.run()
      #expect(bare.status == 0 && bare.stderr == "")
      let line = bare.stdout.split(separator: "\n").first ?? ""
      let wanted =
        /\* shop  ada@example\.com  expired \d+ s ago  authctl login -p shop -u ada@example\.com/
      #expect(line.wholeMatch(of: wanted) != nil, "\(line)")
      let status = try await box.run("status")
      #expect(status.status == 0 && status.stderr == "")
      let lines = status.stdout.split(separator: "\n")
      #expect(lines.count == 2)
      #expect(lines.first == "  PROFILE  ACCOUNT          STATE    LEFT  ORIGIN")
      let row =
        /\* shop     ada@example\.com  expired  -?\d+ s +http:\/\/127\.0\.0\.1:\d+/
      #expect(lines.last?.wholeMatch(of: row) != nil, "\(status.stdout)")
      // The hint is shown only on a terminal.
      let screen = try await box.terminal(["status"]).screen
      #expect(screen.hasSuffix("\nhint: authctl login -p shop -u ada@example.com\n"))
    }
  }

  // MARK: Streams

  @Test func quietLeavesErrorsOnly() async throws {
    try await Sandbox.with { box in
      let api = try await twoProfiles(box)
      let added = try await box.run("profile", "add", "new", api.url, "-q")
      #expect(added.status == 0 && added.stderr == "" && added.stdout == "")
      let signedIn = try await login(box, "shop", "-q")
      #expect(signedIn.status == 0 && signedIn.stderr == "" && signedIn.stdout == "")
      let missing = try await box.run("-q", "get", "-pshop", "/items/77")
      #expect(missing.status == 4 && missing.stderr == "")
      #expect(missing.stdout == #"{"message":"No such item"}"#)
      let loud = try await box.run("get", "-pshop", "/items/77")
      #expect(loud.status == 4 && loud.stdout == missing.stdout)
      #expect(
        loud.stderr
          == "authctl: HTTP 404 Not Found: GET \(api.url)/items/77 (shop, ada@example.com)\n")
      #expect(try await box.run("logout", "-pshop", "-q").stderr == "")
      let refused = try await box.run("-q", "get", "-pshop", "/me")
      #expect(refused.status == 10)
      #expect(refused.stderr.hasPrefix("authctl: not signed in to shop (\(api.url))\nhint: "))
    }
  }

  @Test func brokenPipesAndFullDisks() async throws {
    try await Sandbox.with(.none) { box in
      let api = try await box.api()
      let script =
        #""$0" get --anonymous "$1/big?bytes=50000000" | head -c 5; echo " ${PIPESTATUS[0]}""#
      let piped = try await box.run(
        "-c", script, try Built.authctl(), api.url, program: "/bin/bash")
      #expect(piped.stdout == "01234 141\n")
      #expect(piped.stderr == "")
      for words in [
        "--version", "help", "profile presets", "get --anonymous \(api.url)/items", "",
      ] {
        let run = try await box.run(
          "-c", "\"$0\" \(words) >/dev/full", try Built.authctl(), program: "/bin/sh")
        #expect(run.status == 1, "\(words)")
        #expect(
          run.stderr == "authctl: cannot write to standard output: no space left on device\n")
      }
    }
  }

  @Test func coloursAreForTerminals() async throws {
    try await Sandbox.with(.none) { box in
      let api = try await box.api()
      let line = ["get", "--anonymous", api.url + "/items", "--ok", "401"]
      let body = #"{"message":"Token is missing."}"#
      let plain = "{\n  \"message\": \"Token is missing.\"\n}\n"
      for environment in [[:], ["CLICOLOR_FORCE": "1"], ["NO_COLOR": "1"]] {
        #expect(try await box.run(line, env: environment).stdout == body)
      }
      let environments: [[String: String?]] = [
        ["NO_COLOR": "1"], ["NO_COLOR": nil, "CLICOLOR": "0"], ["NO_COLOR": nil, "TERM": "dumb"],
      ]
      for environment in environments {
        #expect(try await box.terminal(line, env: environment).screen == plain)
      }
      let coloured = try await box.terminal(line, env: ["NO_COLOR": nil])
      #expect(coloured.screen.contains("\u{1B}["))
      #expect(coloured.screen.replacing(/\u{1B}\[[0-9;]*m/, with: "") == plain)
    }
  }
}
