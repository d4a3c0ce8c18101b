import Glibc
import Testing

/// `authctl profile …`, and how a command chooses its profile (design 5).
@Suite struct ProfileCommandTests {
  private func mode(_ path: String) -> String {
    var info = stat()
    guard lstat(path, &info) == 0 else { return "none" }
    return String(info.st_mode & 0o7777, radix: 8)
  }

  // MARK: add

  @Test func addMakesAPrivateFile() async throws {
    try await Sandbox.with(.none) { box in
      let home: [String: String?] = ["XDG_CONFIG_HOME": nil]
      let run = try await box.run(
        "profile", "add", "school", "http://127.0.0.1:8101", "--preset", "express-jwt", env: home)
      #expect(run.status == 0 && run.stdout == "")
      #expect(
        run.stderr == """
          Created the profile school: ~/.config/authctl/profiles/school.toml
          Next: authctl login -p school

          """)
      let folder = box.home + "/.config/authctl"
      #expect(mode(folder) == "700" && mode(folder + "/profiles") == "700")
      #expect(mode(folder + "/profiles/school.toml") == "600")
      #expect(
        box.read("home/.config/authctl/profiles/school.toml") == """
          url = "http://127.0.0.1:8101"
          preset = "express-jwt"

          """)
      let again = try await box.run("profile", "add", "school", "https://other.example", env: home)
      #expect(again.status == 2 && again.stdout == "")
      #expect(
        again.stderr.hasPrefix(
          "authctl: ~/.config/authctl/profiles/school.toml already exists\n"))
      let kept = box.read("home/.config/authctl/profiles/school.toml")
      #expect(kept?.hasPrefix("url = \"http://127.0.0.1:8101\"\n") == true)
    }
  }

  @Test func addKeepsEveryOption() async throws {
    try await Sandbox.with(.none) { box in
      let run = try await box.run(
        "profile", "add", "shop", "https://api.shop.example/v2", "--form", "--body",
        "name={username}&pw={password}&kind=1", "--token-at", "/data/jwt", "--token-at",
        "header:X-Token", "--send", "Authorization: JWT {access_token}", "--send",
        "X-Client: shop-cli", "--set", "login.path=/sign-in", "--set", "session.refused=401",
        "--set", #"session.keep={"client":"header:client"}"#, "--set", "request.cookies=true",
        "--set", "network.connect_timeout=2.5", "--set", #"login.query={ grant = "password" }"#,
        "-q")
      #expect(run.status == 0, "\(run.stderr)")
      let shown = try await box.run("profile", "show", "shop", "--json")
      #expect(shown.status == 0 && shown.stderr == "")
      let value = try JSON(parsing: shown.stdout)
      #expect(value["file"] == .string(box.configHome + "/authctl/profiles/shop.toml"))
      func of(_ key: String) -> JSON? {
        value["values"]?.elements.first { $0["key"] == .string(key) && $0["source"] == "profile" }?[
          "value"]
      }
      #expect(of("url") == "https://api.shop.example/v2")
      #expect(of("login.encoding") == "form")
      #expect(of("login.body") == ["name": "{username}", "pw": "{password}", "kind": "1"])
      #expect(of("login.path") == "/sign-in" && of("login.query") == ["grant": "password"])
      #expect(of("session.access_token") == ["/data/jwt", "header:X-Token"])
      #expect(of("session.refused") == [401] && of("session.keep") == ["client": "header:client"])
      #expect(
        of("request.headers") == [
          "Authorization": "JWT {access_token}", "X-Client": "shop-cli",
        ])
      #expect(of("request.cookies") == true && of("network.connect_timeout") == 2.5)
    }
  }

  @Test func addRefusesWhatIsNoProfile() async throws {
    try await Sandbox.with(.none) { box in
      let url = "https://api.shop.example"
      let lines: [(line: [String], said: String)] = [
        ([".hidden", url], "\".hidden\" is not a profile name"),
        (["a/b", url], "\"a/b\" is not a profile name"),
        (["x", "ftp://h"], "ftp://h: "),
        (["x", "shop.example"], "shop.example: "),
        (["x", "https://u:p@h"], ""),
        (["x", url, "--set", "login.pth=/x"], "unknown key login.pth\nhint: did you mean login."),
        (["x", url, "--set", "session.refused=many"], "session.refused: must be "),
        (["x", url, "--set", "nothing"], "--set nothing: write KEY=VALUE"),
        (["x", url, "--body", "[1]"], "--body is not a JSON object"),
        (["x", url, "--send", "no colon"], "--send no colon: write 'NAME: VALUE'"),
        (["x", url, "--preset", "jsom"], "unknown preset jsom\nhint: did you mean json?\n"),
        (["x", url, "--set", "login.path=/{password}"], ""),
      ]
      for (line, said) in lines {
        let run = try await box.run(["profile", "add"] + line)
        #expect(run.status == 2 && run.stdout == "", "\(line)")
        #expect(run.stderr.hasPrefix("authctl: " + said), "\(line): \(run.stderr)")
      }
      #expect(box.files() == [])
    }
  }

  // MARK: list, show, set, remove, default, presets

  @Test func listShowsStatesAndMistakes() async throws {
    try await Sandbox.with { box in
      let empty = try await box.run("profile", "list")
      #expect(empty.status == 0 && empty.stdout == "")
      #expect(empty.stderr == "No profiles.\nhint: authctl login URL\n")
      let api = try await box.api()
      try box.write("config/authctl/profiles/shop.toml", "url = \"\(api.url)\"\npreset = \"json\"")
      try box.write("config/authctl/profiles/bare.toml", "url = \"https://h.example\"\n")
      try box.write("config/authctl/config.toml", "default_profile = \"shop\"\n")
      let login = try await box.run(
        "login", "-u", "ada@example.com", "--password-stdin", stdin: "correct horse battery\n")
      #expect(login.status == 0, "\(login.stderr)")
      let list = try await box.run("profile", "list")
      #expect(list.status == 0 && list.stderr == "")
      #expect(
        list.stdout == """
            NAME  PRESET  ACCOUNTS  STATE       URL
            bare  -       0         signed out  https://h.example
          * shop  json    1         valid       \(api.url)

          """)
      try box.write("config/authctl/profiles/wrong.toml", "url = \"https://h\"\nacount = \"x\"\n")
      let wrong = try await box.run("profile", "list")
      #expect(wrong.status == 0 && wrong.stdout == list.stdout)
      #expect(
        wrong.stderr == """
          authctl: warning: \(box.configHome)/authctl/profiles/wrong.toml:2:1: unknown key acount
          hint: did you mean account?

          """)
      // A profile with a session is not removed without being asked.
      let remove = try await box.run("profile", "remove", "shop")
      #expect(remove.status == 1 && remove.stdout == "")
      #expect(
        remove.stderr == """
          authctl: shop has a session
          hint: authctl profile remove shop --logout

          """)
      #expect(try await box.run("profile", "remove", "shop", "--force").status == 0)
      #expect(try await box.items().isEmpty)
      #expect(box.read("config/authctl/config.toml") == "")
    }
  }

  @Test func setKeepsCommentsOrderAndMode() async throws {
    try await Sandbox.with(.none) { box in
      let before = """
        # the school's
        url = "https://school.example"   # its address
        preset = "express-jwt"

        [session]   # places
        refused = [400]  # three
        # the end

        """
      let path = try box.write("config/authctl/profiles/school.toml", before, mode: 0o640)
      let run = try await box.run(
        "profile", "set", "school", "session.refused=[400, 401]", "account=bob",
        "request.cookies=true")
      #expect(run.status == 0 && run.stdout == "" && run.stderr == "")
      let after = box.read("config/authctl/profiles/school.toml")
      #expect(
        after == """
          # the school's
          url = "https://school.example"   # its address
          preset = "express-jwt"
          account = "bob"

          [session]   # places
          refused = [400, 401]  # three
          # the end

          [request]
          cookies = true

          """)
      #expect(mode(path) == "640")
      let unset = try await box.run("profile", "set", "school", "--unset", "account")
      #expect(unset.status == 0)
      #expect(box.read("config/authctl/profiles/school.toml")?.contains("account") == false)
      let kept = box.read("config/authctl/profiles/school.toml")
      for line in ["sesion.refused=1", "session.refused=x", "url=ftp://h", "preset=nope", "foo"] {
        let run = try await box.run("profile", "set", "school", line)
        #expect(run.status == 2 && run.stderr.hasPrefix("authctl: "), "\(line)")
      }
      #expect(try await box.run("profile", "set", "school").status == 2)
      #expect(try await box.run("profile", "set", "nobody", "account=x").status == 2)
      #expect(box.read("config/authctl/profiles/school.toml") == kept)
      #expect(list(box.configHome + "/authctl/profiles") == ["school.toml"])
    }
  }

  @Test func showTellsWhereEachValueComesFrom() async throws {
    try await Sandbox.with(.none) { box in
      try box.write(
        "config/authctl/profiles/school.toml",
        "url = \"https://school.example\"\npreset = \"express-jwt\"\naccount = \"ada\"\n")
      let run = try await box.run("profile", "show", "--all")
      #expect(run.status == 0 && run.stderr == "")
      let lines = run.stdout.split(separator: "\n").map(String.init)
      #expect(lines.first == "# \(box.configHome)/authctl/profiles/school.toml")
      func source(_ start: String) -> String? {
        lines.first { $0.hasPrefix(start) }?.split(separator: "#").last.map(String.init)
      }
      #expect(source(#"account = "ada""#) == " profile")
      #expect(source(#"login.path = "/api/login""#) == " preset express-jwt")
      #expect(source("session.expired = [401]") == " built in")
      #expect(source(#"session.access_token = ["/token"]"#) == " preset express-jwt")
      #expect(try await box.run("profile", "show", "school", "--all").stdout == run.stdout)
      // Without --all, what the profile itself sets.
      let own = """
        # \(box.configHome)/authctl/profiles/school.toml
        url = "https://school.example"
        preset = "express-jwt"
        account = "ada"

        """
      let short = try await box.run("profile", "show")
      #expect(short.status == 0 && short.stderr == "" && short.stdout == own)
      #expect(
        try await box.terminal(["profile", "show"]).screen
          == own
          + "hint: use --all to include preset express-jwt and the defaults\n")
    }
  }

  @Test func showIsNotWidenedByOneLongValue() async throws {
    try await Sandbox.with(.none) { box in
      let none = try await box.run("profile", "show")
      #expect(none.stderr == "authctl: no profiles\nhint: authctl login URL\n")
      #expect(none.stdout == "" && none.status == 2)
      let long = String(repeating: "x", count: 400)
      try box.write(
        "config/authctl/profiles/school.toml",
        "url = \"https://school.example\"\npreset = \"json\"\nlogin.path = \"/\(long)\"\n")
      let run = try await box.run("profile", "show", "--all")
      let lines = run.stdout.split(separator: "\n").dropFirst()
      #expect(lines.contains("login.path = \"/\(long)\"  # profile"))
      // All shorter lines are aligned.
      let places = lines.compactMap { line -> Int? in
        guard let match = line.firstMatch(of: /^(.*[^ ]) +(# [a-z ]+)$/) else { return nil }
        if match.1.count > 44 { #expect(line == "\(match.1)  \(match.2)") }
        return match.1.count > 44 ? nil : line.count - match.2.count
      }
      #expect(places.count > 10 && Set(places).count == 1 && places[0] <= 46, "\(run.stdout)")
      #expect(run.stderr == "" && run.status == 0)
    }
  }

  /// A name with characters that a shell would interpret, in a line meant to be copied (rule A13).
  @Test func hintsQuoteTheName() async throws {
    try await Sandbox.with(.none) { box in
      for (name, quoted) in [("x;id", "'x;id'"), ("$(id)", "'$(id)'"), ("shop", "shop")] {
        let set = try await box.run("profile", "set", name)
        #expect(set.stdout == "" && set.status == 2)
        #expect(
          set.stderr
            == "authctl: nothing to set\nhint: authctl profile set \(quoted) KEY=VALUE\n")
        let add = try await box.run("profile", "add", name)
        #expect(add.stdout == "" && add.status == 2)
        #expect(
          add.stderr == "authctl: missing expected argument <url>\n"
            + "hint: authctl profile add \(quoted) https://...\n")
      }
      let control = try await box.run("profile", "set", "a\u{1B}b")
      #expect(control.stderr == "authctl: nothing to set\n" && control.status == 2)
    }
  }

  @Test func defaultAndPresets() async throws {
    try await Sandbox.with(.none) { box in
      for name in ["a", "b"] {
        try box.write("config/authctl/profiles/\(name).toml", "url = \"https://\(name).example\"\n")
      }
      try box.write("config/authctl/config.toml", "# mine\nlock_timeout = 5\n")
      let none = try await box.run("profile", "default")
      #expect(none.status == 1 && none.stdout == "")
      #expect(
        none.stderr == "authctl: no default profile is set\nhint: authctl use NAME\n")
      let set = try await box.run("profile", "default", "b")
      #expect(set.status == 0 && set.stdout == "" && set.stderr == "")
      #expect(try await box.run("profile", "default").stdout == "b\n")
      let text = box.read("config/authctl/config.toml")
      #expect(text?.hasPrefix("# mine\nlock_timeout = 5\n") == true)
      #expect(text?.hasSuffix("default_profile = \"b\"\n") == true)
      #expect(try await box.run("profile", "default", "nope").status == 2)
      #expect(try await box.run("profile", "default", "--unset").status == 0)
      #expect(try await box.run("profile", "default").status == 1)

      let presets = try await box.run("profile", "presets")
      let lines = presets.stdout.split(separator: "\n")
      #expect(
        lines.filter { !$0.hasPrefix(" ") } == [
          "General:", "Java and .NET:", "JavaScript:", "OAuth 2.0:", "PHP:", "Python:", "Ruby:",
          "Swift:", "Products:",
        ])
      let names = lines.filter { $0.hasPrefix("  ") }.map {
        String($0.dropFirst(2).prefix { $0 != " " })
      }.sorted()
      #expect(names.count > 40)
      let values = try JSON(parsing: try await box.run("profile", "presets", "--json").stdout)
      #expect(values.elements.compactMap { $0["name"]?.string } == names)
      let django = try await box.run("profile", "presets", "Django")
      #expect(django.status == 0 && django.stderr == "")
      #expect(django.stdout.hasPrefix("OAuth 2.0:\n  django-oauth-toolkit "))
      #expect(django.stdout.contains("\n\nPython:\n  dj-rest-auth "))
      #expect(django.stdout.contains("\n  simplejwt "), "\(django.stdout)")
      #expect(!django.stdout.contains("fastapi") && !django.stdout.contains("General"))
      let one = try await box.run("profile", "presets", "simplejwt", "--json")
      #expect(
        try JSON(parsing: one.stdout).elements.map { [$0["name"], $0["group"]] } == [
          ["simplejwt", "Python"]
        ])
      let help = try await box.run("login", "--help").stdout
      #expect(names.allSatisfy { help.contains($0) })
      for name in names {
        let preset = try await box.run("profile", "presets", name)
        #expect(preset.status == 0 && preset.stdout.hasPrefix("# "))
        // A preset has the format of a profile: with a url in front, and the issuer that a user
        // names, it is one.
        let needsIssuer = ["oidc", "keycloak", "auth0", "okta", "mcp"].contains(name)
        try box.write(
          "config/authctl/profiles/b.toml",
          "url = \"https://b.example\"\n"
            + (name == "parse" ? "vars.app_id = \"shop\"\n" : "")
            + preset.stdout.replacing(
              "[oauth]\n",
              with: needsIssuer ? "[oauth]\nissuer = \"https://i.example\"\n" : "[oauth]\n"
            ))
        #expect(try await box.run("profile", "show", "b").status == 0)
      }
    }
  }
}
