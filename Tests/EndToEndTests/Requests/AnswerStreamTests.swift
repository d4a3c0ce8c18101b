import Glibc
import Testing

/// Responses without an end (server-sent events and so on), and the progress line.
@Suite struct AnswerStreamTests {
  private static let env: [String: String?] = ["AUTHCTL_TOKEN": "a-token-of-ours"]

  private func with(
    _ answer: @escaping Recorder.Answering, _ body: (Sandbox, Recorder) async throws -> Void
  ) async throws {
    try await Sandbox.with(.none) { box in
      let api = try box.recorder(answering: answer)
      try box.profile("shop", "url = \"\(api.url)\"\n")
      try await body(box, api)
    }
  }

  private static func goingOn(_ type: String, _ body: String) -> Recorder.Answer {
    .bytesThenHang(
      Array("HTTP/1.1 200 OK\r\nContent-Type: \(type)\r\nConnection: close\r\n\r\n\(body)".utf8))
  }

  static let types = [
    "text/event-stream", "text/event-stream; charset=utf-8", "application/x-ndjson",
    "application/jsonl", "application/json-seq",
  ]

  /// Each piece is written at once, in a pipe and on a terminal, while the response continues.
  @Test(arguments: types) func piecesAreThereAtOnce(_ type: String) async throws {
    let body = "data: {\"a\":1}\u{1B}[2J\n\n{\"b\":2}\n"
    try await with({ _, _ in Self.goingOn(type, body) }) { box, _ in
      let pipe = try box.start(["get", "/events", "-N"], env: Self.env)
      await pipe.until { String(decoding: $0.out, as: UTF8.self) == body }
      pipe.signal(SIGINT)
      let run = try await pipe.finish()
      #expect(run.status == 130 && run.stdout == body && run.stderr == "", "\(run.stderr)")

      let terminal = try box.openTerminal(["get", "/events"], env: Self.env)
      try await terminal.waitFor("data: {\"a\":1}^[[2J\r\n\r\n{\"b\":2}\r\n")
      terminal.interrupt()
      #expect(try await terminal.finish().status == 130)
    }
  }

  /// A stream that ends is shown unchanged: no line is added, and no line is formatted as a
  /// document.
  @Test func streamOnATerminalIsNotRewritten() async throws {
    let body = "{\"a\":1}\n{\"b\":[1,2]}\n"
    try await with({ _, _ in .http(200, body, type: "application/x-ndjson") }) { box, _ in
      let run = try await box.terminal(["get", "/x"], env: Self.env)
      #expect(run.status == 0 && run.screen == body)
    }
  }

  @Test func silenceIsATimeLimit() async throws {
    try await Sandbox.with(.none) { box in
      let api = try box.recorder { _, _ in Self.goingOn("text/event-stream", ":\n\n") }
      try box.profile("shop", "url = \"\(api.url)\"\n[network]\nidle_timeout = 1\n")
      let run = try await box.run("get", "/events", env: Self.env)
      #expect(run.status == 9 && run.stdout == ":\n\n")
      #expect(
        run.stderr == """
          authctl: \(api.url) did not answer in time: no byte for 1 s
          hint: network.idle_timeout in the profile raises the limit

          """)
    }
  }

  // MARK: - Progress

  private static let part = Array(
    "HTTP/1.1 200 OK\r\nContent-Length: 4000000\r\n\r\n".utf8
      + [UInt8](repeating: 0x78, count: 1_000_000))

  /// Progress is drawn from the first second on, and erased at the end.
  @Test func progressOfADownload() async throws {
    try await with({ _, _ in .bytesThenHang(Self.part) }) { box, api in
      let run = try await box.terminal(
        ["get", "/big", "-o", box.home + "/big", "-m", "2"], env: Self.env)
      #expect(run.status == 9)
      let lines = run.screen.split(separator: "\r", omittingEmptySubsequences: false).map(
        String.init)
      #expect(lines.contains { $0.hasPrefix("received 1.0 MB of 4.0 MB (25%)") }, "\(lines)")
      #expect(run.bytes.allSatisfy { $0 == 10 || $0 == 13 || (0x20...0x7E).contains($0) })
      #expect(lines.allSatisfy { $0.utf8.count < 160 })
      // The line is erased: the error comes last, in the first column.
      let wiped = try #require(lines.firstIndex { $0.allSatisfy { $0 == " " } && !$0.isEmpty })
      #expect(
        lines[(wiped + 1)...].joined()
          == """
          authctl: \(api.url) did not answer in time
          hint: raise the limit by -m SECONDS or --connect-timeout SECONDS

          """, "\(lines)")
    }
  }

  @Test func progressOfAnUpload() async throws {
    try await with({ _, _ in .hang }) { box, _ in
      let body = try box.write("home/body", String(repeating: "x", count: 3_000_000))
      let run = try await box.terminal(
        ["post", "/big", "--data-binary", "@" + body, "-o", box.home + "/answer", "-m", "2"],
        env: Self.env)
      #expect(run.status == 9 && run.screen.contains("\rwaiting for the answer, 1 s"))
    }
  }

  /// No progress if the body goes to the terminal, if stderr is a file, or with -q or -s.
  @Test func noProgressWhereNobodyLooks() async throws {
    try await with({ _, _ in .bytesThenHang(Self.part) }) { box, _ in
      let file = box.home + "/big"
      for words in [["-q", "-o", file], ["-s", "-o", file]] {
        let run = try await box.terminal(["get", "/big", "-m", "2"] + words, env: Self.env)
        #expect(run.status == 9 && !run.screen.contains("received"), "\(run.screen)")
      }
      let shown = try await box.terminal(["get", "/big", "-m", "2"], env: Self.env)
      #expect(shown.status == 9 && !shown.screen.contains("received"))
      let piped = try await box.run("get", "/big", "-o", file, "-m", "2", env: Self.env)
      #expect(piped.status == 9 && !piped.stderr.contains("received"))
    }
  }
}
