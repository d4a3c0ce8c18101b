import Testing

/// Limits on the cost of a response, whatever it contains: rule T10.
@Suite struct BoundsTests {
  /// Kilobytes of writable memory: the need of a simple response, plus 64 MiB.
  private static let most = 170_000
  private static let env: [String: String?] = ["AUTHCTL_TOKEN": "a-token-of-ours"]

  /// Runs authctl with a limit on its data (RLIMIT_DATA), above which allocation fails.
  private func run(_ box: Sandbox, _ words: [String], stdin: String? = nil) async throws -> Run {
    try await box.run(
      ["-c", "ulimit -d \(Self.most); exec \"$@\"", "sh", try Built.authctl()] + words,
      stdin: stdin, env: Self.env, program: "/bin/sh")
  }

  /// 12 MiB of repeated `unit`.
  private func long(_ unit: String, _ start: String, _ end: String) -> String {
    start + String(repeating: unit, count: (12 << 20) / unit.utf8.count) + end
  }

  private static let row = "[" + String(repeating: "0,", count: 100) + "0],"

  /// The parsed tree of each takes 170 MiB or more.
  @Test(arguments: [
    (["--paginate"], "[],", "[", "0]"), (["--paginate"], #""a":0,"#, "{", #""b":0}"#),
    (["--each", "/x"], row, #"{"x":["#, "0]}"), (["--pointer", "/0"], "[],", "[", "0]"),
    (["--pointer", "/0"], "{\"\":[]},", "[", "0]"), (["--pointer", ""], "[],", "[", "0]"),
    (["--pointer", ""], "\\u0001", "\"", "\""),
  ])
  func valuesOfALongAnswer(options: [String], unit: String, start: String, end: String) async throws
  {
    let body = long(unit, start, end)
    try await PagesScene.with({ _, _ in .http(200, body) }) { box, _ in
      let run = try await run(box, ["get", "/", "-o", box.root + "/out"] + options)
      #expect(
        run.status == 0 && run.stdout == "" && run.stderr == "", "\(run.status) \(run.stderr)")
      #expect((box.read("out")?.utf8.count ?? 0) > 2)
    }
  }

  @Test func answersOfABatch() async throws {
    let body = String(repeating: "\u{1}", count: 12 << 20)
    try await PagesScene.with({ _, request in
      Scene.route(of: request) == "GET /long"
        ? .http(200, body + body) : .http(200, body, type: "text/plain")
    }) { box, _ in
      let lines = ["/a", "/b", "/c", "/long", "/d"].map { #"{"url":"\#($0)"}"# }
      let run = try await run(box, ["batch", "--parallel", "1"], stdin: Batch.lines(lines))
      let answers = try run.answers()
      try #require(answers.count == 5, "\(run.status) \(run.stderr)")
      for index in [0, 1, 2, 4] {
        // With JSON escapes it would be six times as long.
        #expect(answers[index]["body_base64"]?.string?.utf8.count == 16 << 20)
      }
      #expect(answers[3]["error"]?["message"] == "the answer is longer than 16 MiB")
      #expect(answers[3]["error"]?["code"] == "failed")
      #expect(run.stderr == "1 of 5 requests failed (other: 1)\n")
      #expect(run.status == 1)
    }
  }

  @Test func answersThatAreTooLong() async throws {
    try await PagesScene.with({ _, _ in .http(200, String(repeating: " ", count: 65 << 20)) }) {
      box, _ in
      for (options, message) in [
        (
          ["--pointer", "/a"],
          "--pointer: the answer is larger than 64 MiB\nhint: without --pointer"
        ),
        (
          ["--each", "/a"], "the answer is larger than 64 MiB\nhint: without --paginate and --each"
        ),
      ] {
        let run = try await box.run(["get", "/"] + options, env: Self.env)
        #expect(run.status == 1 && run.stdout == "", "\(options)")
        #expect(run.stderr == "authctl: \(message), the length is not limited\n")
      }
    }
  }

  /// 1 MiB of response at sign-in may need a tree of 30 MiB.
  @Test func valuesOfASignIn() async throws {
    try await Sandbox.with { box in
      let script = Script()
      let body = #"{"token":"a","x":["# + String(repeating: "[0],", count: 250_000) + "0]}"
      script["POST /login"] = .http(200, body)
      let shop = try Shop(box, try box.recorder(answering: script.answering).url)
      let run = try await shop.login()
      #expect(run.stdout == "")
      #expect(
        run.stderr.contains("\(body.utf8.count) bytes of JSON with too many values"),
        "\(run.stderr)")
      #expect(run.hasErrorForm)
      #expect(run.status == 15)
    }
  }

  // MARK: - Headers

  private static func headers(_ count: Int) -> [(String, String)] {
    (0..<count).map { ("X-\($0)", "\($0)") }
  }

  /// The limit includes the recorder's own three headers.
  @Test func manyHeaders() async throws {
    let more = Mutable(997)
    try await PagesScene.with({ _, _ in .http(200, "{}", headers: Self.headers(more.value)) }) {
      box, _ in
      let get = ["get", "/", "-w", "%{stderr}%{num_headers}"]
      let whole = try await box.run(get, env: Self.env)
      #expect(whole.status == 0 && whole.stdout == "{}" && whole.stderr == "-w: 1000\n", "\(whole)")
      more.value = 998
      let run = try await box.run(get, env: Self.env)
      #expect(run.status == 1 && run.stdout == "", "\(run)")
      #expect(run.stderr == "-w: 0\nauthctl: the answer has more than 1000 headers\n")
      let batch = try await box.run(["batch"], stdin: #"{"id":1,"url":"/"}"#, env: Self.env)
      #expect(
        batch.stdout
          == Batch.lines([
            Batch.error("1", "failed", 1, "the answer has more than 1000 headers")
          ]))
      #expect(batch.status == 1 && batch.stderr == "1 of 1 request failed (other: 1)\n")
    }
  }

  @Test func manyHeadersAtASignIn() async throws {
    try await Sandbox.with { box in
      let script = Script()
      script["POST /login"] = .http(200, "{}", headers: Self.headers(1000))
      let shop = try Shop(box, try box.recorder(answering: script.answering).url)
      let run = try await shop.login()
      #expect(run.stdout == "")
      #expect(run.stderr == "authctl: shop: the answer has more than 1000 headers\n")
      #expect(run.status == 15)
    }
  }

  /// Values are grouped by header name, in the order in which the names first appear.
  @Test func headersByName() async throws {
    let headers = [("B", "1"), ("a", "2"), ("b", "3"), ("A", "4"), ("B", "5")]
    try await PagesScene.with({ _, _ in .http(200, "{}", headers: headers) }) { box, _ in
      let run = try await box.run("get", "/", "-w", "%{header_json}", env: Self.env)
      #expect(run.status == 0 && run.stderr == "")
      #expect(run.stdout.contains(#""b":["1","3","5"],"a":["2","4"],"#), "\(run.stdout)")
      let batch = try await box.run(["batch"], stdin: #"{"id":1,"url":"/"}"#, env: Self.env)
      #expect(batch.stdout.contains(#""b":["1","3","5"],"a":["2","4"],"#), "\(batch.stdout)")
    }
  }

  /// One warning with their number.
  @Test func cookiesThatAreRefused() async throws {
    try await Sandbox.with { box in
      let cookies = (0..<550).map { ("Set-Cookie", "c\($0)=\($0); Path=/") }
      let api = try box.recorder(
        answering: Scene.routes([
          "POST /login": Scene.tokens("access-token-1", "refresh-token-1"),
          "GET /x": .http(200, "{}", headers: cookies),
        ]))
      try box.profile(
        "shop",
        Scene.profile(
          api.url,
          request: "cookies = true\nheaders = { Authorization = \"Bearer {access_token}\" }"))
      try await box.signIn("shop")
      let run = try await box.run("get", "/x")
      #expect(run.stdout == "{}")
      #expect(
        run.stderr
          == "authctl: warning: 500 cookies were not kept: a session can have at most 50 cookies of 4 KiB, 64 KiB in total\n"
      )
      #expect(run.status == 0)
      let batch = try await box.run(
        ["batch", "--parallel", "1"],
        stdin: Batch.lines((1...3).map { #"{"id":\#($0),"url":"/x"}"# }))
      #expect(batch.stderr.split(separator: "\n").count == 1, "\(batch.stderr)")
      #expect(batch.status == 0)
    }
  }
}
