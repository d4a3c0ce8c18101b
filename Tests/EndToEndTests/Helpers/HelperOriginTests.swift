import Testing

/// For which origins a helper that nobody gave a profile has an answer: rule A16.
@Suite struct HelperOriginTests {
  /// A question for the credential of a URL, and the answer "nothing".
  struct Question: Sendable {
    var words: [String]
    var stdin: @Sendable (_ scheme: String, _ authority: String) -> String
    var nothing: String
    var status: Int32 = 0
  }

  static let questions = [
    Question(words: ["git", "get"], stdin: { "protocol=\($0)\nhost=\($1)\n\n" }, nothing: ""),
    Question(
      words: ["docker", "get"], stdin: { "\($0)://\($1)\n" },
      nothing: "credentials not found in native keychain\n", status: 1),
    Question(
      words: ["bazel", "get"], stdin: { #"{"uri":"\#($0)://\#($1)/x"}"# },
      nothing: "{\"headers\":{}}\n"),
    Question(
      words: ["cargo", "--cargo-plugin"],
      stdin: {
        #"{"v":1,"registry":{"index-url":"sparse+\#($0)://\#($1)/"},"kind":"get"}"# + "\n"
      },
      nothing: "{\"v\":[1]}\n{\"Err\":{\"kind\":\"not-found\"}}\n"),
  ]

  private func ask(
    _ box: Sandbox, _ question: Question, _ scheme: String, _ authority: String,
    mayPrint: [String] = []
  ) async throws -> Run {
    try await box.run(
      ["helper"] + question.words, stdin: question.stdin(scheme, authority), mayPrint: mayPrint)
  }

  private func expectNothing(_ run: Run, _ question: Question) {
    #expect(run.stdout == question.nothing, "\(question.words)")
    #expect(run.stderr == "" && run.status == question.status, "\(question.words): \(run.stderr)")
  }

  /// Not with the first, nor with the default profile: the program cannot say which it means.
  @Test func noAnswerForSeveralProfilesOfAnOrigin() async throws {
    try await Sandbox.with { box in
      let api = try box.recorder(
        answering: Scene.routes([
          "POST /login": Scene.tokens(box.canary.make("access")), "POST /logout": .http(200),
        ]))
      for name in ["one", "two"] {
        try box.profile(name, Scene.profile(api.url))
        try await box.signIn(name)
      }
      let tokens = try await box.storedTokens()
      try box.write("config/authctl/config.toml", "default_profile = \"one\"\n")
      for question in Self.questions {
        expectNothing(try await ask(box, question, "http", api.authority), question)
      }
      // It is the second profile that stands in the way.
      #expect(try await box.run("logout", "-p", "two").status == 0)
      for question in Self.questions {
        let run = try await ask(box, question, "http", api.authority, mayPrint: tokens)
        #expect(run.stdout.contains(tokens[0]) && run.status == 0, "\(question.words)")
      }
    }
  }

  /// Even where the profile lets its own requests go over plain HTTP.
  @Test func noAnswerForPlainHTTPElsewhere() async throws {
    try await Sandbox.with { box in
      let token = box.canary.make("access")
      let authority = "registry.internal.example:5000"
      try box.profile("far", "url = \"http://\(authority)\"\n[network]\nallow_http = true\n")
      let login = try await box.run(
        "login", "-p", "far", "-u", "ada", "--token-stdin", stdin: token + "\n")
      try #require(login.status == 0, "\(login.stderr)")
      for question in Self.questions {
        expectNothing(try await ask(box, question, "http", authority), question)
      }
      let run = try await box.run("token", "-p", "far", mayPrint: [token])
      #expect(run.stdout == token + "\n" && run.status == 0)
    }
  }
}
