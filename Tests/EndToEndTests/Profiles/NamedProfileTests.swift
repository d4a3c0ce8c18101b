import Testing

/// A profile's name as an argument, `authctl use`, and the hint for a path without its slash.
@Suite struct NamedProfileTests {
  @Test func theNameIsAnArgument() async throws {
    try await Shop.with { shop, api in
      let box = shop.box
      try box.write("config/authctl/profiles/other.toml", "url = \"https://other.example\"\n")
      #expect(try await box.run("use", "other").status == 0)
      #expect(try await box.run("whoami", "shop").stdout == Shop.ada + "\n")
      let token = try await shop.accessToken()
      #expect(try await box.run("token", "shop", mayPrint: [token]).stdout == token + "\n")
      let status = try await box.run("status", "shop", "--json")
      #expect(try JSON(parsing: status.stdout)[0]?["profile"] == "shop")
      #expect(try await box.run("status", "shop", "--check").status == 0)
      #expect(try await box.run("status", "other", "--check").status == 10)
      let refresh = try await box.run("refresh", "shop")
      #expect(refresh.stderr.hasPrefix("Renewed shop as "), "\(refresh.stderr)")
      let doctor = try await box.run("doctor", "shop")
      #expect(doctor.stdout.contains("\nok    shop      \(api.url): "), "\(doctor.stdout)")
      let login = try await box.run(
        "login", "shop", "--password-stdin", stdin: Shop.password + "\n")
      #expect(login.status == 0 && login.stderr.hasPrefix("Signed in to shop as \(Shop.ada)."))
      let path = box.configHome + "/authctl/profiles/shop.toml"
      let inPlace = try await box.run(
        "login", path, "--password-stdin", stdin: Shop.password + "\n")
      #expect(inPlace.status == 0, "\(inPlace.stderr)")
      #expect(try await box.run("logout", path).status == 0)
      let logout = try await box.run("logout", "shop")
      #expect(
        logout.stderr == "Signed out of shop as \(Shop.ada), at the server and on this machine.\n")
      #expect(try await box.items().isEmpty)
    }
  }

  @Test func twoNamesMustBeTheSame() async throws {
    try await Shop.with { shop, api in
      try await api.reset()
      for command in ["login", "logout", "status", "token", "whoami", "refresh", "doctor"] {
        let run = try await shop.box.run(command, "shop", "-p", "other")
        #expect(
          run.stderr
            == "authctl: two profiles are given: shop and -p other\nhint: give only one of them\n")
        #expect(run.stdout == "" && run.status == 2, "\(command)")
        // doctor reports it as a check that failed.
        if command == "doctor" { continue }
        let unknown = try await shop.box.run(command, "shpo")
        #expect(
          unknown.stderr.hasPrefix("authctl: no profile called shpo; did you mean shop?\n"))
        #expect(unknown.stdout == "" && unknown.status == 2, "\(command)")
      }
      #expect(try await api.counts() == [:])
      #expect(try await shop.box.run("whoami", "shop", "-p", "shop").stdout == Shop.ada + "\n")
      let url = try await shop.box.run("logout", "https://u:planted@h.example/x")
      #expect(
        url.stderr
          == "authctl: https://h.example/x is a URL, not a profile\nhint: authctl profile list\n")
      #expect(url.status == 2)
      let options = try await shop.box.run("login", "shop", "--preset", "json")
      #expect(options.status == 2, "\(options.stderr)")
    }
  }

  @Test func loginOfANameThatIsNone() async throws {
    try await Sandbox.with(.none) { box in
      let run = try await box.run("login", "shop")
      #expect(run.stderr == "authctl: no profile called shop\nhint: authctl login URL\n")
      #expect(run.stdout == "" && run.status == 2)
    }
  }

  @Test func useIsTheDefault() async throws {
    try await Sandbox.with(.none) { box in
      for name in ["one", "two"] {
        try box.write("config/authctl/profiles/\(name).toml", "url = \"https://h.example\"\n")
      }
      let use = try await box.run("use", "two")
      #expect(use.stdout + use.stderr == "" && use.status == 0)
      #expect(try await box.run("profile", "default").stdout == "two\n")
      let unknown = try await box.run("use", "twoo")
      #expect(
        unknown.stderr
          == "authctl: no profile called twoo; did you mean two?\nhint: authctl profile list\n")
      #expect(unknown.status == 2)
      #expect(try await box.run("profile", "default").stdout == "two\n")
    }
  }

  @Test func aPathWithoutItsSlash() async throws {
    try await Sandbox.with(.none) { box in
      for (words, hint) in [
        (["get", "users/me"], "authctl get /users/me"),
        (["get", "-p", "shop", "me?x=1&y"], "authctl get -p shop '/me?x=1&y'"),
        (["delete", "orders/1"], "authctl delete /orders/1"),
        (["request", "PROPFIND", "dav"], "authctl request PROPFIND /dav"),
        (["get", "api.example.com/me"], "authctl get https://api.example.com/me"),
        (["get", "localhost:8080/me"], "authctl get https://localhost:8080/me"),
        (["get", "u:planted@h"], "a target begins with /, http:// or https://"),
        (["get", "//h/me"], "a target begins with /, http:// or https://"),
      ] {
        let run = try await box.run(words)
        #expect(run.stderr.hasSuffix(" is neither a path nor a URL\nhint: \(hint)\n"))
        #expect(run.stdout == "" && run.status == 2, "\(run.stderr)")
      }
    }
  }

  @Test func completionKnowsTheNames() async throws {
    try await Sandbox.with(.none) { box in
      for (name, account) in [("shop", "ada"), ("school", "bob")] {
        try box.write(
          "config/authctl/profiles/\(name).toml",
          "url = \"https://h.example\"\naccount = \"\(account)\"\n")
      }
      for words in [
        ["login", "sh"], ["logout", "sh"], ["status", "sh"], ["token", "sh"], ["whoami", "sh"],
        ["refresh", "sh"], ["doctor", "sh"], ["use", "sh"], ["profile", "rename", "sh"],
        ["profile", "edit", "sh"], ["profile", "check", "school", "sh"],
      ] {
        let run = try await box.run(["__complete", "--"] + words)
        #expect(run.stdout == "shop\n", "\(words)")
      }
      for words in [["logout", "shop", "s"], ["profile", "rename", "shop", "s"]] {
        #expect(try await box.run(["__complete", "--"] + words).stdout == "", "\(words)")
      }
      let account = try await box.run("__complete", "--", "logout", "school", "-u", "")
      #expect(account.stdout == "bob\n")
    }
  }

  /// `*` marks the profile that a command without `-p` would work with.
  @Test func theMarkFollowsTheVariable() async throws {
    try await Shop.with { shop, _ in
      let box = shop.box
      try box.write("config/authctl/profiles/other.toml", "url = \"https://other.example\"\n")
      func marked(_ words: String..., env: [String: String?]) async throws -> [String] {
        try await box.run(words, env: env).stdout.split(separator: "\n")
          .filter { $0.hasPrefix("* ") }.map { String($0.split(separator: " ")[1]) }
      }
      let other: [String: String?] = ["AUTHCTL_PROFILE": "other"]
      let url: [String: String?] = ["AUTHCTL_URL": "https://u.example"]
      #expect(try await marked(env: [:]) == ["shop"])
      #expect(try await marked(env: other) == ["other"])
      #expect(try await marked("profile", "list", env: other) == ["other"])
      #expect(try await marked("status", env: other) == [])
      #expect(try await marked("status", env: [:]) == ["shop"])
      #expect(try await marked(env: url) == [])
    }
  }
}
