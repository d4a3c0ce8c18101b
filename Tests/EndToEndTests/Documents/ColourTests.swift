import Testing

/// `--color`, its variables, and what has colours (design 2).
@Suite struct ColourTests {
  private static let red = "\u{1B}[31m"
  private static let yellow = "\u{1B}[33m"
  private static let end = "\u{1B}[m"
  private static let body = #"{"a":[1,"x"]}"#
  private static let pretty = "{\n  \"a\": [\n    1,\n    \"x\"\n  ]\n}\n"

  private func plain(_ text: String) -> String {
    text.replacing(/\u{1B}\[[0-9;]*m/, with: "")
  }

  private func withAPI(
    _ body: @Sendable (Sandbox, Recorder) async throws -> Void
  ) async throws {
    try await Sandbox.with(.none) { box in
      let routes = Scene.routes([
        "GET /json": .http(200, Self.body), "GET /text": .http(200, Self.body, type: "text/plain"),
        "GET /bytes": .bytes(
          Array("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\n".utf8)
            + [0, 0xFF, 1]),
      ])
      try await body(box, try box.recorder(answering: routes))
    }
  }

  /// An option beats every variable; NO_COLOR beats CLICOLOR_FORCE, and that the terminal.
  @Test func optionAndVariablesDecide() async throws {
    try await Sandbox.with(.none) { box in
      let piped: [(words: [String], env: [String: String], isColoured: Bool)] = [
        ([], [:], false), (["--color", "always"], [:], true), (["--color=always"], [:], true),
        (["--color", "auto"], [:], false), (["--color=never"], ["CLICOLOR_FORCE": "1"], false),
        ([], ["CLICOLOR_FORCE": "1"], true), ([], ["CLICOLOR_FORCE": "0"], false),
        ([], ["CLICOLOR_FORCE": "1", "NO_COLOR": "1"], false),
        (["--color", "always"], ["NO_COLOR": "1"], true),
      ]
      for row in piped {
        for words in [["profile", "default", "x"], ["no-such-command"]] {
          let run = try await box.run(row.words + words, env: row.env.mapValues { $0 })
          #expect(run.status == 2 && run.stdout == "")
          #expect(run.stderr.hasPrefix("\(Self.red)authctl:\(Self.end) ") == row.isColoured)
          #expect(
            plain(run.stderr).hasPrefix("authctl: ") && plain(run.stderr).contains("\nhint: "))
          let count = run.stderr.split(separator: "\u{1B}[m").count
          #expect(count == (row.isColoured ? 2 : 1), "the prefix alone")
        }
      }
      let shown = try await box.terminal(["no-such-command"], env: ["NO_COLOR": nil])
      #expect(shown.screen.hasPrefix("\(Self.red)authctl:\(Self.end) unknown command"))
      for (words, env) in [
        (["--color", "never"], ["NO_COLOR": nil]), ([], ["NO_COLOR": "1"]),
        ([], ["NO_COLOR": nil, "CLICOLOR": "0"]), ([], ["NO_COLOR": nil, "TERM": "dumb"]),
      ] as [([String], [String: String?])] {
        let shown = try await box.terminal(words + ["no-such-command"], env: env)
        #expect(shown.screen.hasPrefix("authctl: unknown"), "\(words) \(env)")
      }
      let wrong = try await box.run("status", "--color", "sometimes")
      #expect(wrong.status == 2 && wrong.stdout == "" && wrong.stderr.contains("sometimes"))
    }
  }

  @Test func statesAndChecksThatNeedAttention() async throws {
    try await Shop.with { shop, _ in
      // Days ago: the outputs of two runs are compared.
      try await shop.edit(["expires_at": .number(Shop.now() - 300_000), "refreshable": false])
      for words in [["status"], ["profile", "list"], []] {
        let run = try await shop.box.run(
          words + ["--color", "always"].prefix(words.isEmpty ? 0 : 2),
          env: words.isEmpty ? ["CLICOLOR_FORCE": "1"] : [:])
        #expect(run.status == 0 && run.stdout.contains("\(Self.red)expired"), "\(words)")
        let bare = try await shop.box.run(words)
        #expect(!bare.stdout.contains("\u{1B}"))
        #expect(
          plain(run.stdout).split(separator: "\n").count == bare.stdout.split(separator: "\n").count
        )
        #expect(
          plain(run.stdout).split(separator: "\n").first == bare.stdout.split(separator: "\n").first
        )
      }
      // An account's name is no state.
      let sessions = try await shop.box.run("status", "--color", "always")
      #expect(sessions.stdout.contains("  \(Shop.ada)  \(Self.red)expired\(Self.end)"))
      try shop.box.profile("bad", "url = \"https://h.example\"\nnope = 1\n")
      let doctor = try await shop.box.run("doctor", "--all", "--color", "always")
      #expect(doctor.stdout.contains("\n\(Self.red)FAIL  \(Self.end)"), "\(doctor.stdout)")
      let warned = try await shop.box.run(
        "get", "-p", "shop", "--anonymous", "-k", "/items", "--color", "always")
      #expect(warned.stderr.hasPrefix("\(Self.yellow)authctl: warning:\(Self.end) -k"))
    }
  }

  /// A body in a pipe changes only with --pretty, whatever the variables say.
  @Test func prettyJSONInAPipe() async throws {
    try await withAPI { box, api in
      func get(_ path: String, _ words: String..., env: [String: String?] = [:]) async throws
        -> String
      {
        let run = try await box.run(["get", "--anonymous", api.url + path] + words, env: env)
        #expect(run.status == 0 && run.stderr == "", "\(run.stderr)")
        return run.stdout
      }
      #expect(try await get("/json") == Self.body)
      #expect(try await get("/json", "--color", "always") == Self.body)
      #expect(try await get("/json", env: ["CLICOLOR_FORCE": "1"]) == Self.body)
      #expect(try await get("/json", "--pretty") == Self.pretty)
      #expect(try await get("/text", "--pretty") == Self.pretty)
      let coloured = try await get("/json", "--pretty", "--color", "always")
      #expect(coloured != Self.pretty && plain(coloured) == Self.pretty)
      #expect(try await get("/json", "--pretty", "--pointer", "/a") == "[\n  1,\n  \"x\"\n]\n")
      let bytes = try await box.run(
        [
          "-c", "\"$0\" get --anonymous \(api.url)/bytes --pretty | od -An -tx1",
          try Built.authctl(),
        ],
        program: "/bin/sh")
      #expect(bytes.stdout == " 00 ff 01\n" && bytes.stderr == "")
      #expect(
        try await box.terminal([
          "get", "--anonymous", api.url + "/json", "--pretty", "--color", "never",
        ])
        .screen == Self.pretty)
      let asked = api.connections.count
      for (words, said) in [
        (["--raw"], "--pretty and --raw cannot be used together"),
        (
          ["-o", "x"],
          "--pretty cannot be used with -o or -O\nhint: to save indented JSON, redirect it: > FILE"
        ),
      ] {
        let run = try await box.run(["get", "--anonymous", api.url + "/json", "--pretty"] + words)
        #expect(run.status == 2 && run.stdout == "" && run.stderr == "authctl: \(said)\n")
      }
      #expect(api.connections.count == asked)
    }
  }
}
