import Testing

/// What fits the width of a terminal: tables and errors. A pipe gets whole lines (design 2).
@Suite struct TerminalWidthTests {
  private static let account = "ada.lovelace.the.first.of.all@analytical-engines.shop.example"
  private static let name = "a-profile-with-a-rather-long-name"
  private static let base = "https://api.a-rather-long-host-name.shop.example/version/2/of/the/api"

  /// The profiles `shop`, with a session of an account with a long name, and `name`.
  private static func prepare(_ box: Sandbox) async throws -> Recorder {
    let api = try box.recorder(
      answering: Scene.routes(["POST /login": Scene.tokens("access-of-width")]))
    try box.profile("shop", Scene.profile(api.url))
    try box.profile(name, "url = \"\(base)\"\npreset = \"dj-rest-auth-jwt\"\n")
    try await box.signIn("shop", as: account)
    return api
  }

  private func lines(_ screen: String) -> [Substring] { screen.split(separator: "\n") }

  @Test func tablesFitTheTerminal() async throws {
    try await Sandbox.with { box in
      let api = try await Self.prepare(box)
      for words in [["status"], ["profile", "list"], []] {
        let piped = try await box.run(words)
        #expect(piped.status == 0)
        #expect(!piped.stdout.contains("\u{2026}") && !piped.stdout.contains("..."))
        for columns in [60, 80, 120] {
          let shown = try await box.terminal(words, columns: columns)
          #expect(shown.status == 0)
          let wide = lines(shown.screen).filter { $0.count > columns - 1 }
          #expect(wide == [], "\(words) at \(columns)")
          #expect(lines(shown.screen).count == lines(piped.stdout).count)
        }
        #expect(try await box.terminal(words, columns: 300).screen == piped.stdout)
      }
      let narrow = try await box.terminal(["status"])
      let row = #/\n\* shop {5}ada\.lovelace\.[a-z.]*\u{2026}  valid  1\d min  (http.*)\n/#
      let match = try #require(narrow.screen.firstMatch(of: row), "\(narrow.screen)")
      #expect(match.1 == api.url && match.0.count == 81)
      // authctl's own text is ASCII where the terminal may not know more.
      for locale in [["LANG": "C"], ["LC_ALL": "C"], ["LANG": nil]] {
        let ascii = try await box.terminal(["status"], env: locale)
        #expect(
          ascii.screen.contains(#/  ada\.lovelace\.the\.[a-z.]*\.\.\.  valid/#), "\(ascii.screen)")
        #expect(ascii.screen.utf8.allSatisfy { $0 < 0x7F })
      }
      // A command to paste is whole.
      let bare = try await box.terminal([], columns: 120)
      #expect(bare.screen.contains("  authctl login -p \(Self.name)\n"), "\(bare.screen)")
      let small = try await box.terminal([])
      #expect(!small.screen.contains("authctl login -p"), "\(small.screen)")
    }
  }

  @Test func longErrorsBreakAtWordsOnATerminal() async throws {
    try await Sandbox.with(.none) { box in
      try box.profile("shop", "url = \"https://h.example\"\nlogin.pth = \"/x\"\n")
      let words = ["get", "-p", "shop", "/x"]
      let piped = try await box.run(words)
      #expect(piped.stderr.split(separator: "\n").allSatisfy { !$0.hasPrefix(" ") })
      let shown = try await box.terminal(words, columns: 40)
      #expect(shown.status == piped.status)
      let parts = lines(shown.screen)
      #expect(parts.count > lines(piped.stderr).count)
      #expect(
        shown.screen.replacing("\n  ", with: " ") == piped.stderr, "\(shown.screen)")
      #expect(parts.first?.hasPrefix("authctl: ") == true)
      // A word that is wider than the terminal stays whole.
      #expect(parts.allSatisfy { $0.count < 40 || !$0.dropFirst(9).contains(" ") })
    }
  }

  @Test func aCommandOfAHintStaysWhole() async throws {
    try await Sandbox.with { box in
      try box.profile(Self.name, "url = \"\(Self.base)\"\n")
      let shown = try await box.terminal(
        ["get", "-p", Self.name, "-u", Self.account, "/me"], columns: 60)
      #expect(shown.status == 10)
      #expect(
        shown.screen.hasSuffix("\nhint: authctl login -p \(Self.name) -u \(Self.account)\n"),
        "\(shown.screen)")
    }
  }
}
