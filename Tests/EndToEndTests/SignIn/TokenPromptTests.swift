import Testing

/// Tokens, keys and codes at a terminal: asked for by name, and never echoed (rules A3, C8).
@Suite struct TokenPromptTests {
  private static let home: [String: String?] = ["XDG_CONFIG_HOME": nil]

  /// Runs `words` on a terminal and answers `prompt` with `secret`, once echo is off.
  private func type(
    _ secret: String, at prompt: String, _ box: Sandbox, _ words: [String]
  ) async throws -> TerminalRun {
    let terminal = try box.openTerminal(words, env: Self.home)
    try await terminal.waitFor(prompt)
    try await terminal.waitForEcho(false)
    terminal.type(secret + "\n")
    let run = try await terminal.finish()
    #expect(terminal.isEchoOn)
    #expect(run.screen.hasPrefix(prompt + "\n"), "\(run.screen)")
    return run
  }

  @Test func tokenIsAskedForWithoutEcho() async throws {
    try await Sandbox.with { box in
      let token = box.canary.make("token")
      let api = try box.recorder(answering: Recorder.ok)
      for option in [["--token-stdin"], ["--token-file", "-"], ["--token-fd", "0"]] {
        let run = try await type(
          token, at: "Token for \(api.url): ", box, ["login", api.url, "-p", "shop"] + option)
        #expect(run.status == 0, "\(run.screen)")
        #expect(try await box.storedTokens() == [token])
      }
    }
  }

  @Test func eachSecretIsAskedForByItsName() async throws {
    try await Sandbox.with { box in
      let secrets = ["password", "otp", "client", "app"].map { box.canary.make($0) }
      let api = try box.recorder(
        answering: Scene.routes(["POST /login": Scene.tokens("a-token")]))
      try box.profile(
        "shop",
        Scene.profile(
          api.url,
          login: "path = \"/login\"\n"
            + "headers = { X-Code = \"{otp}\", X-C = \"{client_secret}\", X-A = \"{app_key}\" }"))
      let words = ["password", "otp", "client-secret", "app-key"].map { "--\($0)-stdin" }
      let run = try await box.terminal(
        ["login", "-p", "shop", "-u", "ada"] + words,
        answers: [
          ("Password for ada at \(api.url): ", secrets[0] + "\n"),
          ("One-time code at \(api.url): ", secrets[1] + "\n"),
          ("Client secret for \(api.url): ", secrets[2] + "\n"),
          ("App key for \(api.url): ", secrets[3] + "\n"),
        ])
      #expect(run.status == 0, "\(run.screen)")
      #expect(Scene.holds(api, secrets) == secrets)
    }
  }

  /// An API without a sign-in takes a key: `login` asks for it.
  @Test func keyIsAskedForWhereThereIsNoSignIn() async throws {
    try await Sandbox.with { box in
      let key = box.canary.make("key")
      let api = try box.recorder(answering: Recorder.ok)
      let words = ["login", api.url, "-p", "shop", "--preset", "api-key"]
      let script = try await box.run(words, env: Self.home)
      #expect(script.status == 10 && script.stdout == "")
      #expect(
        script.stderr.hasSuffix("\nhint: use --token-stdin, --token-file F or --token-command C\n"),
        "\(script.stderr)")
      let run = try await type(key, at: "API key for \(api.url): ", box, words)
      #expect(run.status == 0, "\(run.screen)")
      #expect(try await box.run("get", "/x", env: Self.home).status == 0)
      #expect(api.texts.last?.contains("\r\nX-API-Key: \(key)\r\n") == true)
      let again = try await type(key, at: "API key for \(api.url): ", box, ["login", "-p", "shop"])
      #expect(again.status == 0, "\(again.screen)")
      let password = try await box.run(
        "login", "-p", "shop", "--password-stdin", stdin: "x\n", env: Self.home)
      #expect(password.status == 2, "\(password.stderr)")
    }
  }

  @Test func nothingIsAskedWhereNobodyMayBe() async throws {
    try await Sandbox.with { box in
      let run = try await box.terminal(
        ["login", "https://api.shop.example", "--token-stdin", "--no-input"], env: Self.home)
      #expect(run.status == 10, "\(run.screen)")
      #expect(!run.screen.contains("Token for"))
    }
  }
}
