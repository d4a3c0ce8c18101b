import Testing

/// Texts that are almost TOML: using the broken profile exits with 2 and names the place; a broken
/// profile that is not used stops no command.
@Suite struct BrokenTOMLTests {
  private static let broken = [
    ("d=1979-05-27T:\n", "1:3: invalid TOML: not a valid date or time"),
    ("url = \"https://h\"\nq = 2024-01-01 5\n", "2:5: invalid TOML: not a valid date or time"),
    ("a = \"\\u0000\"\n", "1:1: a: must not contain a NUL character"),
    (
      "a = " + String(repeating: "[", count: 10_000),
      "1:69: invalid TOML: nested deeper than 64 levels"
    ),
  ]

  /// The output without its numbers, some of which are seconds.
  private func text(_ run: Run) -> String { run.stdout.replacing(/\d+/, with: "N") }

  @Test(arguments: broken)
  func aProfileThatWasNotAskedForStopsNothing(_ content: String, _ says: String) async throws {
    try await Shop.with("--token-ttl", "3600") { shop, api in
      let box = shop.box
      try box.write("config/authctl/config.toml", "default_profile = \"shop\"\n")
      let token = try #require(try await shop.payload()["values"]?["access_token"]?.string)
      let host = api.url.dropFirst("http://".count)
      let lines: [(words: [String], stdin: String?)] = [
        (["status"], nil), (["get", "\(api.url)/me"], nil), (["get", "/me"], nil),
        (["get", "-p", "shop", "/me"], nil), (["whoami"], nil), (["profile", "show"], nil),
        (["helper", "git", "get"], "protocol=http\nhost=\(host)\n\n"),
        (["__complete", "--", "get", "-u", ""], nil),
      ]
      func answers() async throws -> [String] {
        var texts: [String] = []
        for (words, stdin) in lines {
          let run = try await box.run(words, stdin: stdin, mayPrint: [token])
          #expect(
            run.status == 0 && run.stderr == "" && run.stdout != "", "\(words): \(run.stderr)")
          texts.append(text(run))
        }
        return texts
      }
      let before = try await answers()
      let list = try await box.run("profile", "list")
      let path = try box.write("config/authctl/profiles/bad.toml", content)
      #expect(try await answers() == before)

      let message = "\(path):\(says)\n"
      let longer = try await box.run("profile", "list")
      #expect(longer.status == 0 && longer.stdout == list.stdout)
      #expect(longer.stderr == "authctl: warning: " + message)
      let alone = try await box.run([])
      #expect(alone.status == 0 && alone.stderr == "")
      #expect(
        alone.stdout.contains("\n  bad   ") && alone.stdout.hasPrefix("* shop  "), "\(alone)")
      let offered = try await box.run("__complete", "--", "get", "-p", "")
      #expect(offered.status == 0 && offered.stdout == "bad\nshop\n" && offered.stderr == "")
      let doctor = try await box.run("doctor", "-p", "shop")
      #expect(doctor.status == 1 && doctor.stderr == "")
      #expect(doctor.stdout.contains("FAIL  config "), "\(doctor.stdout)")
      #expect(doctor.stdout.contains("ok    store "), "\(doctor.stdout)")

      for words in [
        ["get", "-p", "bad", "/me"], ["profile", "show", "bad"], ["get", "-p", path, "/"],
      ] {
        let run = try await box.run(words)
        #expect(run.status == 2 && run.stdout == "", "\(words)")
        #expect(run.stderr == "authctl: " + message, "\(words)")
      }
    }
  }

  @Test(arguments: broken)
  func configToml(_ content: String, _ says: String) async throws {
    try await Sandbox.with(.none) { box in
      try box.profile("shop", "url = \"https://h.example\"\n")
      let path = try box.write("config/authctl/config.toml", content)
      let lines: [(words: [String], before: String)] = [
        (["get", "/me"], ""), (["status"], ""), (["profile", "check"], "shop: no mistakes\n"),
        (["profile", "list"], "authctl: warning: cannot list the sessions: \(path):\(says)\n"),
      ]
      for (words, before) in lines {
        let run = try await box.run(words)
        #expect(run.status == 2 && run.stdout == "", "\(words)")
        #expect(run.stderr == before + "authctl: \(path):\(says)\n", "\(words)")
      }
      let version = try await box.run("--version")
      #expect(version.status == 0 && version.stderr == "")
      let offered = try await box.run("__complete", "--", "get", "-p", "")
      #expect(offered.status == 0 && offered.stdout == "shop\n" && offered.stderr == "")
    }
  }

  /// `--set` and `profile set` parse their values with the same reader.
  @Test(arguments: [
    "[1979-05-27T:]", "[2024-01-01 5]", "[1979-05-27T07:32]", "[99999999999999999999]",
  ])
  func rightSides(_ value: String) async throws {
    try await Sandbox.with(.none) { box in
      let text = "url = \"https://h.example\"\n"
      try box.profile("shop", text)
      for words in [
        ["profile", "set", "shop", "session.refused=\(value)"],
        ["profile", "add", "new", "https://n.example", "--set", "session.refused=\(value)"],
      ] {
        let run = try await box.run(words)
        #expect(run.status == 2 && run.stdout == "", "\(words): \(run.stderr)")
        #expect(run.stderr.hasPrefix("authctl: session.refused: "), "\(words): \(run.stderr)")
      }
      #expect(box.read("config/authctl/profiles/shop.toml") == text)
      #expect(box.read("config/authctl/profiles/new.toml") == nil)
    }
  }
}
