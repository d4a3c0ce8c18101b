import Testing

/// What fingers type that know curl: `-f`, `-fsSL`, `request -X POST`; and the form of a value that
/// was mistyped.
@Suite struct CurlHabitTests {
  private static let env = ["AUTHCTL_TOKEN": "t0ken-of-the-variable"]

  @Test func failIsAcceptedAndChangesNothing() async throws {
    try await Sandbox.with(.none) { box in
      let api = try box.recorder(
        answering: Scene.routes([
          "GET /x": .http(200, "{}"), "GET /away": .redirect(to: "/x"),
          "GET /gone": .http(404, "no", type: "text/plain"),
        ]))
      try box.profile("shop", "url = \"\(api.url)\"\n")
      for words in [["-f"], ["--fail"], ["-fsSL"], ["-fsS", "-L"]] {
        let run = try await box.run(["get", "/away"] + words, env: Self.env)
        #expect(run.status == 0 && run.stdout == "{}" && run.stderr == "", "\(words)")
        let gone = try await box.run(["get", "/gone"] + words, env: Self.env)
        #expect(gone.status == 4 && gone.stdout == "no", "\(words)")
        #expect(gone.stderr.hasPrefix("authctl: HTTP 404 Recorded: GET \(api.url)/gone"))
      }
    }
  }

  @Test func requestTakesTheMethodByX() async throws {
    try await Sandbox.with(.none) { box in
      let api = try box.recorder()
      try box.profile("shop", "url = \"\(api.url)\"\n")
      for words in [
        ["-X", "POST", "/x"], ["-XPOST", "/x"], ["/x", "-X", "post"], ["POST", "/x"],
      ] {
        let run = try await box.run(["request"] + words + ["-d", "a=1"], env: Self.env)
        #expect(run.status == 0 && run.stderr == "", "\(run.stderr)")
        #expect(api.texts.last?.hasPrefix("POST /x HTTP/1.1\r\n") == true, "\(words)")
      }
      let asked = api.connections.count
      for (words, said) in [
        (["/x"], "missing expected argument '<target>'"),
        (["-X", "POST", "PUT", "/x"], "-X and a method cannot be used together"),
      ] {
        let run = try await box.run(["request"] + words, env: Self.env)
        #expect(run.status == 2 && run.stdout == "")
        #expect(run.stderr == "authctl: \(said)\nhint: authctl request METHOD /PATH\n")
      }
      #expect(api.connections.count == asked)
    }
  }

  @Test func errorsShowTheFormOfAValue() async throws {
    try await Sandbox.with(.none) { box in
      let duration = "a duration is 30, 30s, 5m, 24h or 7d"
      for (words, said) in [
        (
          ["get", "/", "-m", "5x"],
          "the value '5x' is invalid for '-m <duration>'\nhint: \(duration)"
        ),
        (
          ["status", "--min-ttl", "soon"],
          "the value 'soon' is invalid for '--min-ttl <duration>'\nhint: \(duration)"
        ),
        (
          ["get", "/", "--rate", "5"],
          "the value '5' is invalid for '--rate <rate>'\nhint: a rate is 20/s, 100/m or 5000/h"
        ),
        (
          ["get", "/", "--max-redirs", "x"],
          "the value 'x' is invalid for '--max-redirs <n>'\nhint: authctl help get"
        ),
      ] {
        let run = try await box.run(words)
        #expect(run.status == 2 && run.stdout == "" && run.stderr == "authctl: \(said)\n")
      }
    }
  }
}
