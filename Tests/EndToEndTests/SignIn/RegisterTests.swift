import Testing

/// `authctl register` with a URL, and the new password at a terminal.
@Suite struct RegisterTests {
  private static let home: [String: String?] = ["XDG_CONFIG_HOME": nil]
  private static func file(_ api: APIServer) -> String {
    "home/.config/authctl/profiles/\(api.profileName).toml"
  }
  private static let options = [
    "--preset", "json", "--set", "register.path=/register",
    "--set", #"register.body={"email":"{username}","password":"{password}"}"#,
  ]

  @Test func urlMakesTheProfile() async throws {
    try await Sandbox.with { box in
      let api = try await box.api()
      let run = try await box.run(
        ["register", api.url, "-u", "new@example.com", "--password-stdin"] + Self.options,
        stdin: "a new password\n", env: Self.home)
      #expect(run.status == 0 && run.stdout == "")
      #expect(
        run.stderr == """
          Registered new@example.com at \(api.profileName); no session was stored.
          Saved: profile in ~/.config/authctl/profiles/\(api.profileName).toml
          Next: authctl login -p \(api.profileName) -u new@example.com

          """)
      let text = try #require(box.read(Self.file(api)))
      #expect(text.hasPrefix("url = \"\(api.url)\"\npreset = \"json\"\n"), "\(text)")
      #expect(!text.contains("new@"))
      // The URL finds the profile.
      let again = try await box.run(
        "register", api.url, "-u", "other@example.com", "--password-stdin",
        stdin: "a new password\n", env: Self.home)
      #expect(again.status == 0, "\(again.stderr)")
      #expect(again.stderr.contains("at \(api.profileName); nothing was stored.\n"))
    }
  }

  @Test func failureKeepsNoProfile() async throws {
    try await Sandbox.with { box in
      let api = try await box.api()
      let taken = try await box.run(
        ["register", api.url, "-u", Shop.ada, "--password-stdin"] + Self.options,
        stdin: "a new password\n", env: Self.home)
      #expect(taken.status == 14, "\(taken.stderr)")
      let none = try await box.run(
        ["register", api.url, "--preset", "json", "-u", "x"], env: Self.home)
      #expect(none.status == 2)
      #expect(
        none.stderr == """
          authctl: \(api.profileName): this profile has no registration
          hint: if the API has one: repeat the command with --set register.path=/PATH

          """)
      let options = try await box.run("register", "--preset", "json", env: Self.home)
      #expect(options.status == 2, "\(options.stderr)")
      let pasted = try await box.run("register", "--from-curl", "x", env: Self.home)
      #expect(
        pasted.stderr == """
          authctl: --from-curl describes a sign-in, not a registration
          hint: authctl login --from-curl FILE

          """)
      #expect(box.read(Self.file(api)) == nil)
    }
  }

  @Test func newPasswordIsTypedTwice() async throws {
    try await Sandbox.with { box in
      let (password, other) = (box.canary.make("password"), box.canary.make("other"))
      let api = try await box.api()
      let question = "Password for new@example.com at \(api.url): "
      let words = ["register", api.url, "-u", "new@example.com"] + Self.options
      let run = try await box.terminal(
        words,
        answers: [
          (question, password + "\n"), ("Repeat the password: ", other + "\n"),
          ("The passwords do not match.", ""), (question, password + "\n"),
          ("Repeat the password: ", "\n"), ("The passwords do not match.", ""),
          (question, password + "\n"), ("Repeat the password: ", password + "\n"),
        ], env: Self.home)
      #expect(run.status == 0, "\(run.screen)")
      let login = try await box.terminal(
        ["login", "-p", api.profileName, "-u", "new@example.com", "--set", "login.path=/login"],
        env: Self.home)
      #expect(login.status == 2)
      #expect(try await api.counts() == ["POST /register": 1])
    }
  }

  @Test func differencesAreBounded() async throws {
    try await Sandbox.with { box in
      let api = try await box.api()
      let question = "Password for new@example.com at \(api.url): "
      let pair: [(waitFor: String, type: String)] = [
        (question, "one password\n"), ("Repeat the password: ", "another one\n"),
      ]
      let run = try await box.terminal(
        ["register", api.url, "-u", "new@example.com"] + Self.options, answers: pair + pair + pair,
        env: Self.home)
      #expect(run.status == 10, "\(run.screen)")
      #expect(run.screen.contains("authctl: the passwords did not match three times\n"))
      #expect(try await api.counts() == [:])
      #expect(box.read(Self.file(api)) == nil)
    }
  }
}
