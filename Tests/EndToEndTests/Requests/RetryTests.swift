import Testing

/// `--retry` and `--rate` (design 8, rule B6).
@Suite struct RetryTests {
  private static let env: [String: String?] = ["AUTHCTL_TOKEN": "a-token-of-ours"]

  /// Runs `body` with a profile for a recorder that gives these answers in turn.
  private func with(
    _ answers: Recorder.Answer..., body: (Sandbox, Recorder) async throws -> Void
  ) async throws {
    try await Sandbox.with(.none) { box in
      let api = try box.recorder { index, _ in answers[min(index, answers.count - 1)] }
      try box.profile("shop", "url = \"\(api.url)\"\n")
      box.canary.watch("a-token-of-ours")
      try await body(box, api)
    }
  }

  private static func busy(_ status: Int = 503, _ after: String = "0") -> Recorder.Answer {
    .http(status, "busy", headers: [("Retry-After", after)])
  }

  private func status(_ status: Int, _ api: Recorder, _ method: String = "GET") -> String {
    "authctl: HTTP \(status) Recorded: \(method) \(api.url)/ (shop, AUTHCTL_TOKEN)\n"
  }

  @Test(arguments: [408, 429, 500, 502, 503, 504])
  func passingStatuses(code: Int) async throws {
    try await with(Self.busy(code), Self.busy(code), .http(200, "fine")) { box, api in
      let run = try await box.run("get", "/", "--retry", "3", env: Self.env)
      #expect(run.status == 0 && run.stdout == "fine", "\(run)")
      #expect(
        run.stderr == "authctl: HTTP \(code); retrying in 0 s (1 of 3)\n"
          + "authctl: HTTP \(code); retrying in 0 s (2 of 3)\n")
      #expect(api.texts.count == 3 && Set(api.texts).count == 1)
    }
  }

  @Test func whatIsNotAskedForAgain() async throws {
    for (words, code, exit) in [
      (["get", "/"], 503, 5), (["get", "/", "--retry", "0"], 503, 5),
      (["post", "/", "-d", "a", "--retry", "2"], 503, 5), (["get", "/", "--retry", "2"], 404, 4),
      (["get", "/", "--retry", "2"], 501, 5), (["delete", "/", "--retry", "2"], 429, 4),
    ] as [([String], Int, Int32)] {
      try await with(Self.busy(code)) { box, api in
        let run = try await box.run(words, env: Self.env)
        #expect(run.status == exit && run.stdout == "busy", "\(words): \(run)")
        #expect(run.stderr == status(code, api, words[0].uppercased()), "\(words)")
        #expect(api.connections.count == 1, "\(words)")
      }
    }
  }

  /// The last answer counts; `-q` waits silently; --retry-all-methods retries every method.
  @Test func theLastAnswerStands() async throws {
    try await with(Self.busy()) { box, api in
      let run = try await box.run("get", "/", "--retry", "1", env: Self.env)
      #expect(run.status == 5 && run.stdout == "busy")
      #expect(run.stderr == "authctl: HTTP 503; retrying in 0 s (1 of 1)\n" + status(503, api))
      let quiet = try await box.run("get", "/", "--retry", "2", "-q", env: Self.env)
      #expect(quiet.status == 5 && quiet.stdout == "busy" && quiet.stderr == "")
      let post = try await box.run(
        "post", "/", "-d", "a=1", "--retry", "1", "--retry-all-methods", "--ok", "503",
        env: Self.env)
      #expect(post.status == 0 && post.stdout == "busy", "\(post)")
      #expect(post.stderr == "authctl: HTTP 503; retrying in 0 s (1 of 1)\n")
      #expect(api.connections.count == 7)
      #expect(api.texts.suffix(2).allSatisfy { $0.hasSuffix("\r\n\r\na=1") })
    }
  }

  /// The server's Retry-After, and whether authctl waits for it. Long waits end the run at once;
  /// the test is limited by the child's timeout.
  @Test func retryAfter() async throws {
    let past = "Sun, 06 Nov 1994 08:49:37 GMT"
    let later = Shop.date(Shop.now() + 7200)
    for (after, options, stderr) in [
      (past, [], "authctl: HTTP 503; retrying in 0 s (1 of 1)\n"), ("0", [], nil),
      (
        "3600", [],
        "authctl: the server asks to wait 60 min; use --retry-max-time to allow more than 60 s\n"
      ),
      (later, [], "use --retry-max-time to allow more than 60 s\n"),
      ("31536000", ["--retry-max-time", "1h"], ""),
      ("99999999999999999999999999", [], "use --retry-max-time to allow more than 60 s\n"),
      ("60", ["-m", "20s"], ""), ("2", ["--retry-max-time", "1"], ""),
    ] as [(String, [String], String?)] {
      try await with(Self.busy(503, after)) { box, api in
        let run = try await box.run(["get", "/", "--retry", "1"] + options, env: Self.env)
        #expect(run.status == 5 && run.stdout == "busy", "\(after): \(run)")
        let told = stderr ?? "authctl: HTTP 503; retrying in 0 s (1 of 1)\n"
        #expect(run.stderr.hasSuffix(told + status(503, api)), "\(after): \(run.stderr)")
        let isWaited = told.hasSuffix("(1 of 1)\n")
        #expect(api.connections.count == (isWaited ? 2 : 1), "\(after)")
      }
    }
  }

  /// If the server names no delay, authctl waits about a second.
  @Test func lostConnections() async throws {
    let half = Recorder.Answer.reset(
      Array("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf".utf8))
    let cut = Recorder.Answer.bytes(
      Array("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf".utf8))
    try await with(.close, .http(200, "fine")) { box, api in
      let run = try await box.run("get", "/", "--retry", "1", env: Self.env)
      #expect(run.status == 0 && run.stdout == "fine", "\(run)")
      #expect(
        run.stderr == "authctl: \(api.url) closed the connection without an answer; retrying in 1 s"
          + " (1 of 1)\n")
    }
    // After a part of the body is written, authctl cannot retry.
    try await with(half, .http(200, "fine")) { box, api in
      let run = try await box.run("get", "/", "--retry", "1", env: Self.env)
      #expect(run.status == 7 && "half".hasPrefix(run.stdout), "\(run)")
      #expect(run.stdout.isEmpty == (api.connections.count == 2), "\(run)")
    }
    try await with(cut, .http(200, "fine")) { box, api in
      let run = try await box.run("get", "/", "--retry", "1", env: Self.env)
      #expect(run.status == 7 && run.stdout == "half" && api.connections.count == 1, "\(run)")
      #expect(run.stderr == "authctl: the answer from \(api.url) is incomplete\n")
    }
    // A file is restarted, and so is a page that is not written yet.
    for options in [["-o", "out"], ["--paginate"], ["--each", ""]] {
      try await with(cut, .http(200, "[1]")) { box, api in
        let run = try await box.run(["get", "/", "--retry", "1"] + options, env: Self.env)
        #expect(run.status == 0 && api.connections.count == 2, "\(options): \(run)")
        #expect(
          run.stderr == "authctl: the answer from \(api.url) is incomplete; retrying in 1 s"
            + " (1 of 1)\n")
        let written = (box.read("home/out") ?? run.stdout).filter { $0 != "\n" }
        #expect(written == (options == ["--each", ""] ? "1" : "[1]"), "\(options)")
      }
    }
    try await with(.http(200)) { box, api in
      api.close()
      let run = try await box.run("get", "/", "--retry", "1", env: Self.env)
      #expect(run.status == 7 && run.stdout == "", "\(run)")
      let failure = "authctl: cannot reach \(api.url): connection refused"
      #expect(run.stderr == "\(failure); retrying in 1 s (1 of 1)\n\(failure)\n")
    }
  }

  /// -m limits waits and tries together.
  @Test func timeLimit() async throws {
    try await with(.hang) { box, api in
      let run = try await box.run("get", "/", "--retry", "5", "-m", "1", env: Self.env)
      #expect(run.status == 9 && run.stdout == "" && api.connections.count == 1, "\(run)")
      #expect(run.stderr.hasPrefix("authctl: \(api.url) did not answer in time\nhint: "))
    }
    let page = Recorder.Answer.http(200, "[]", headers: [("Link", "</2>; rel=next")])
    try await with(page) { box, api in
      let run = try await box.run(
        "get", "/", "--paginate", "--rate", "1/h", "-m", "30", env: Self.env)
      #expect(run.status == 9 && run.stdout == "[]" && api.connections.count == 1, "\(run)")
      #expect(
        run.stderr == "authctl: the time limit (-m) ends before the next request can start\n"
          + "hint: raise the limit with -m SECONDS\n")
    }
  }

  /// A renewal does not count as a retry and is not retried; nor is a sign-in.
  @Test func signInsAndRenewals() async throws {
    try await Sandbox.with { box in
      let script = Script()
      let (old, new) = (box.canary.make("old"), box.canary.make("new"))
      let (first, second) = (box.canary.make("first"), box.canary.make("second"))
      let api = try box.recorder { index, request in
        let isOld = String(decoding: request, as: UTF8.self).contains(old)
        let isGet = Scene.route(of: request) == "GET /x"
        return isGet && isOld ? .http(401, "{}") : script.answering(index, request)
      }
      script["POST /login"] = Scene.tokens(old, first)
      script["GET /x"] = .http(200, "fine")
      try box.profile("shop", Scene.profile(api.url))
      try await box.signIn("shop")
      for answer in [Recorder.Answer.close, Self.busy()] {
        script["POST /refresh"] = answer
        let before = api.connections.count
        let run = try await box.run("get", "/x", "--retry", "3")
        #expect(run.status == 7 || run.status == 5, "\(run)")
        #expect(!run.stderr.contains("retrying in") && run.stdout == "", "\(run)")
        #expect(api.texts.dropFirst(before).map { $0.prefix(6) } == ["GET /x", "POST /"])
      }
      script["POST /refresh"] = Scene.tokens(new, second)
      let run = try await box.run("get", "/x", "--retry", "1")
      #expect(run.status == 0 && run.stdout == "fine" && run.stderr == "", "\(run)")
    }
  }

  @Test func pagesAreAskedForAgain() async throws {
    let first = Recorder.Answer.http(200, "[1]", headers: [("Link", "</2>; rel=next")])
    try await with(Self.busy(), first, Self.busy(429), .close, .http(200, "[2]")) { box, api in
      let run = try await box.run(
        "get", "/", "--paginate", "--slurp", "--retry", "2", "--rate", "1000/s", env: Self.env)
      #expect(run.status == 0 && run.stdout == "[[1],[2]]\n", "\(run)")
      #expect(
        run.stderr == "authctl: HTTP 503; retrying in 0 s (1 of 2)\n"
          + "authctl: HTTP 429; retrying in 0 s (1 of 2)\n"
          + "authctl: \(api.url) closed the connection without an answer; retrying in 2 s (2 of 2)\n"
      )
    }
  }

  @Test func wrongValues() async throws {
    try await with(.http(200)) { box, api in
      for (words, message) in [
        (["--retry", "-1"], "--retry must be 0 or more"),
        (["--retry", "x"], "the value 'x' is invalid for '--retry <n>'"),
        (["--rate", "20"], "the value '20' is invalid for '--rate <rate>'"),
        (["--rate", "0/s"], "the value '0/s' is invalid for '--rate <rate>'"),
        (["--retry-max-time", "x"], "the value 'x' is invalid for '--retry-max-time <duration>'"),
      ] {
        let run = try await box.run(["get", "/"] + words, env: Self.env)
        #expect(run.status == 2 && run.stdout == "", "\(words): \(run)")
        #expect(run.stderr.hasPrefix("authctl: \(message)\n"), "\(run.stderr)")
      }
      #expect(api.connections.isEmpty)
    }
  }
}
