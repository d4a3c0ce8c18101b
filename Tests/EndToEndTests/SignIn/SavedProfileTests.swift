import Testing

/// `login URL` saves the profile when the sign-in has succeeded, and only then; the first profile
/// that signs in becomes the default (design 5).
@Suite struct SavedProfileTests {
  private static let profiles = "config/authctl/profiles/"

  private func saved(_ box: Sandbox) -> [String] { box.files().filter { $0.hasPrefix("config/") } }

  @Test func aRefusedPasswordSavesNothingAndTheHintRepeatsAll() async throws {
    try await Sandbox.with { box in
      let api = try await box.api()
      let wrong = box.canary.make("password")
      let file = try box.write("wrong", wrong + "\n")
      let run = try await box.run(
        [
          "login", api.url + "/login", "-p", "shop", "-u", "ada@example.com", "--body",
          #"{"email":"{username}","password":"{password}"}"#, "--token-at", "/access_token",
          "--send", "Authorization: Bearer {access_token}", "--set", "whoami.path=/me",
          "--field", "kind=x y", "--revoke-old", "--store", "secret-service",
          "--store-timeout", "20s", "--password-file", file,
        ])
      #expect(run.stdout == "" && run.status == 14)
      let lines = run.stderr.split(separator: "\n").map(String.init)
      #expect(lines.first == "authctl: shop refused this name and password (HTTP 401)")
      let words: [String] = [
        "hint: authctl login \(api.url)/login -p shop -u ada@example.com --body",
        #"'{"email":"{username}","password":"{password}"}' --token-at /access_token"#,
        "--send 'Authorization: Bearer {access_token}' --set whoami.path=/me",
        "--field 'kind=x y' --revoke-old --store secret-service --store-timeout 20s",
        "--password-file \(file)",
      ]
      #expect(lines.last == words.joined(separator: " "))
      #expect(saved(box) == [])
    }
  }

  @Test func theHintWorksAsPrinted() async throws {
    try await Sandbox.with { box in
      let api = try await box.api()
      let asked = try await box.terminal(
        ["login", api.url + "/login", "--set", "whoami.path=/me"],
        answers: [("Account: ", "ada@example.com\n"), ("Password for ", "wrong\n")])
      #expect(asked.status == 14, "\(asked.screen)")
      let hint = asked.screen.split(separator: "\n").last ?? ""
      // The account that was typed need not be typed again.
      #expect(
        hint == "hint: authctl login \(api.url)/login -u ada@example.com --set whoami.path=/me")
      #expect(saved(box) == [])
      let words = hint.dropFirst("hint: authctl ".count).split(separator: " ").map(String.init)
      let again = try await box.terminal(
        words, answers: [("Password for ", "correct horse battery\n")])
      #expect(again.status == 0, "\(again.screen)")
      #expect(
        saved(box) == ["config/authctl/config.toml", Self.profiles + "\(api.profileName).toml"])
    }
  }

  @Test func noFailureSavesAnything() async throws {
    try await Sandbox.with { box in
      let api = try await box.api()
      let url = api.url + "/login"
      let unheard = "http://127.0.0.1:1/login"
      let cases: [(words: [String], status: Int32, hint: String)] = [
        ([url, "-u", "ada"], 10, "use --password-stdin, --password-file F"),
        ([api.url + "/v1/login", "-u", "ada", "--password-stdin"], 4, "the path may be wrong"),
        (
          [unheard, "-u", "ada", "--password-stdin"], 7,
          "authctl login \(unheard) -u ada"
        ),
        (
          [url, "-u", "ada", "--password-stdin", "--store", "file"], 12,
          "to create a key file, run: (umask 077; head -c 32"
        ),
      ]
      for (words, status, hint) in cases {
        let run = try await box.run(["login"] + words, stdin: "wrong\n")
        #expect(run.status == status && run.stdout == "", "\(words): \(run.stderr)")
        #expect(run.stderr.contains("\nhint: " + hint), "\(words): \(run.stderr)")
        #expect(saved(box) == [], "\(words)")
      }
      try await box.lockKeyring()
      let locked = try await box.run("login", url, "-u", "ada", "--password-stdin", stdin: "x\n")
      #expect(locked.status == 12 && saved(box) == [], "\(locked.stderr)")
    }
  }

  @Test func theFirstProfileBecomesTheDefault() async throws {
    try await Sandbox.with { box in
      let api = try await box.api()
      func signIn(_ name: String, _ more: String...) async throws -> Run {
        try await box.run(
          ["login", api.url + "/login", "-p", name, "-u", "ada@example.com", "--password-stdin"]
            + more, stdin: "correct horse battery\n")
      }
      let line = "Default profile: one. To change it, run: authctl use NAME\n"
      let one = try await signIn("one")
      #expect(one.status == 0)
      #expect(
        one.stderr.contains("\n" + line + "The answer has a refresh token; "), "\(one.stderr)")
      #expect(box.read("config/authctl/config.toml") == "default_profile = \"one\"\n")
      let two = try await signIn("two")
      #expect(two.status == 0 && !two.stderr.contains("Default profile"), "\(two.stderr)")
      #expect(two.stderr.hasSuffix("Next: authctl get -p two /PATH\n"), "\(two.stderr)")
      // The script that names no profile goes on with the first.
      let get = try await box.run("get", "/me", "-v")
      #expect(get.status == 0 && get.stderr.hasPrefix("* one (default), "), "\(get.stderr)")
      // Whoever has unset it is not told again while others are signed in.
      #expect(try await box.run("profile", "default", "--unset").status == 0)
      #expect(try await box.run("login", "two", "-u", "ada@example.com", "--if-needed").status == 0)
      let again = try await signIn("two", "-q")
      #expect(again.status == 0 && again.stderr == "")
      #expect(try await box.run("profile", "default").status == 1)
    }
  }

  /// A profile in place and a folder that cannot be written stay as they are, without a word.
  @Test func whereNothingIsWrittenThereIsNoDefault() async throws {
    try await Sandbox.with { box in
      let api = try await box.api()
      let path = try box.write("home/shop.toml", "url = \"\(api.url)\"\npreset = \"json\"\n")
      let run = try await box.run(
        "login", "-p", path, "-u", "ada@example.com", "--password-stdin",
        stdin: "correct horse battery\n")
      #expect(run.status == 0 && !run.stderr.contains("Default"), "\(run.stderr)")
      #expect(saved(box) == [])
    }
  }

  // MARK: Before anything is asked

  /// The whole screen is the error: no question was asked.
  private func refuses(
    _ box: Sandbox, _ words: [String], _ status: Int32, _ error: String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let run = try await box.terminal(words)
    #expect(
      run.screen.hasPrefix("authctl: " + error), "\(words): \(run.screen)",
      sourceLocation: sourceLocation)
    #expect(run.status == status, "\(words): \(run.screen)", sourceLocation: sourceLocation)
  }

  @Test func plainHTTPIsRefusedBeforeAnythingIsAsked() async throws {
    try await Sandbox.with { box in
      let url = "http://192.0.2.1"
      try box.write(
        "config/authctl/profiles/shop.toml",
        """
        url = "\(url)"
        preset = "json"
        [register]
        path = "/register"
        body = { email = "{username}", password = "{password}" }

        """)
      let line = try box.write(
        "line", "curl \(url)1/login -d '{\"name\":\"ada\",\"word\":\"planted\"}'")
      // Not even the keyring's password.
      try await box.lockKeyring()
      let error = "refused to send a credential over plain HTTP to \(url)"
      for words in [
        ["login", "shop"], ["register", "-p", "shop"],
        ["exec", "--login", "-p", "shop", "--", "true"],
      ] {
        try await refuses(box, words, 13, error)
      }
      for words in [
        ["login", url + "2"], ["login", url + "2/login"], ["login", "--from-curl", line],
      ] {
        try await refuses(box, words, 13, error)
      }
      try await refuses(box, ["login", "ftp://h.example"], 2, "ftp://h.example is not a URL\n")
      try await refuses(box, ["login", "h.example:80"], 2, "h.example:80 is not a URL\n")
    }
  }

  @Test func aStoreThatCannotBeOpenedIsToldBeforeAnythingIsAsked() async throws {
    try await Sandbox.with(.busOnly) { box in
      let api = try await box.api()
      let error = "no Secret Service on this bus (org.freedesktop.secrets)\n"
      let line = try box.write(
        "line", "curl \(api.url)/login -d '{\"name\":\"ada\",\"word\":\"planted\"}'")
      for words in [
        ["login"], ["login", api.url], ["login", api.url + "/login"],
        ["login", "--from-curl", line],
      ] {
        try await refuses(box, words, 12, error)
      }
      try box.write(
        "config/authctl/profiles/shop.toml", "url = \"\(api.url)\"\npreset = \"json\"\n")
      try await refuses(box, ["login", "shop"], 12, error)
      try await refuses(box, ["register", "-p", "shop"], 12, error)
      #expect(try await api.counts() == [:])
    }
  }
}
