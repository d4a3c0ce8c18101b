import Testing

/// `batch --retry`, `--rate`, and a server that limits requests.
@Suite struct BatchPaceTests {
  /// Runs a batch of `count` GETs with a token from the environment.
  private func batch(
    _ count: Int, _ options: [String], answering: @escaping Recorder.Answering
  ) async throws -> (run: Run, answers: [JSON], requests: Int) {
    try await Sandbox.with(.none) { box in
      let api = try box.recorder(answering: answering)
      let run = try await box.run(
        ["batch", "--parallel", "1"] + options,
        stdin: (1...count).map { "{\"id\":\($0),\"url\":\"/\($0)\"}\n" }.joined(),
        env: ["AUTHCTL_URL": api.url, "AUTHCTL_TOKEN": box.canary.make("token")])
      let answers = try run.stdout.split(separator: "\n").map { try JSON(parsing: String($0)) }
      return (run, answers, api.connections.count)
    }
  }

  /// Answers the first request with this status; all others with 200.
  private func once(_ status: Int, _ headers: [(String, String)]) -> Recorder.Answering {
    { index, _ in index == 0 ? .http(status, "{}", headers: headers) : .http(200, "{}") }
  }

  @Test func anAnswerThatPassesIsAskedForAgain() async throws {
    for status in [429, 503] {
      let (run, answers, requests) = try await batch(
        3, ["--retry", "2"], answering: once(status, [("Retry-After", "0")]))
      #expect(answers.map { $0["status"]?.int } == [200, 200, 200])
      #expect(answers.map { $0["id"]?.int } == [1, 2, 3])
      #expect(run.stderr == "authctl: line 1: HTTP \(status); retrying in 0 s (1 of 2)\n")
      #expect(run.status == 0)
      #expect(requests == 4)
    }
  }

  @Test func aConnectionThatBreaksIsMadeAgain() async throws {
    let (run, answers, requests) = try await batch(2, ["--retry", "1", "-q"]) { index, _ in
      index == 0 ? .close : .http(200, "{}")
    }
    #expect(answers.map { $0["status"]?.int } == [200, 200])
    #expect(run.stderr == "")
    #expect(run.status == 0)
    #expect(requests == 3)
  }

  /// A truncated response counts as none, as for a single request.
  @Test func anAnswerThatBreaksOffIsAskedForAgain() async throws {
    let half = Recorder.Answer.bytes(
      Array("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}".utf8))
    let (run, answers, requests) = try await batch(1, ["--retry", "1", "-q"]) { index, _ in
      index == 0 ? half : .http(200, "{}")
    }
    #expect(answers.map { $0["status"]?.int } == [200])
    #expect(answers.first?["error"] == nil)
    #expect(run.stderr == "")
    #expect(run.status == 0)
    #expect(requests == 2)
  }

  /// --retry covers the requests themselves, not a failed renewal.
  @Test func aRenewalThatFailsIsNotAskedForAgain() async throws {
    try await Sandbox.with { box in
      let script = Script()
      script["POST /login"] = Script.tokens()
      script["POST /refresh"] = .close
      let shop = try Shop(box, try box.recorder(answering: script.answering).url)
      try await shop.signIn()
      try await shop.age(ended: 10)
      for command in [["get", "/me"], ["batch"]] {
        let run = try await box.run(
          command + ["--retry", "2"], stdin: #"{"id":1,"url":"/me"}"# + "\n")
        #expect(!run.stderr.contains("retrying in"), "\(run.stderr)")
        #expect(run.status == 7)
      }
    }
  }

  @Test func withoutRetryTheAnswerStandsAndTheOthersWait() async throws {
    let (run, answers, requests) = try await batch(
      2, [], answering: once(429, [("Retry-After", "1")]))
    #expect(answers.map { $0["status"]?.int } == [429, 200])
    #expect(
      run.stderr == "authctl: HTTP 429; waiting 1 s\n1 of 2 requests failed (HTTP 429: 1)\n")
    #expect(run.status == 4)
    #expect(requests == 2)
  }

  @Test func aServerThatWantsAnHourEndsTheBatch() async throws {
    let (run, answers, requests) = try await batch(
      4, ["--retry", "3"], answering: once(429, [("Retry-After", "3600")]))
    #expect(answers.count == 4)
    #expect(answers[0]["status"]?.int == 429)
    for answer in answers.dropFirst() {
      #expect(
        answer["error"]?["message"]?.string == "not sent: the server asks to wait 60 min")
    }
    #expect(
      run.stderr.hasPrefix(
        "1 of 1 request failed (HTTP 429: 1)\n"
          + "authctl: stopped: the server asks to wait 60 min: "))
    #expect(run.status == 4)
    #expect(requests == 1)
  }

  @Test func postIsSentOnce() async throws {
    try await Sandbox.with(.none) { box in
      let api = try box.recorder { _, _ in .http(503, "{}") }
      let run = try await box.run(
        ["batch", "--retry", "2"], stdin: "{\"method\":\"POST\",\"url\":\"/\",\"json\":1}\n",
        env: ["AUTHCTL_URL": api.url, "AUTHCTL_TOKEN": box.canary.make("token")])
      #expect(run.status == 5)
      #expect(run.stderr == "1 of 1 request failed (HTTP 503: 1)\n")
      #expect(api.connections.count == 1)
    }
  }

  @Test func aPaceIsKept() async throws {
    let (run, answers, requests) = try await batch(5, ["--rate", "100/s"]) { _, _ in
      .http(200, "{}")
    }
    #expect(answers.count == 5)
    #expect(run.stderr == "")
    #expect(run.status == 0)
    #expect(requests == 5)
    let wrong = try await batch(1, ["--rate", "fast"]) { _, _ in .http(200, "{}") }
    #expect(wrong.run.status == 2)
    #expect(wrong.requests == 0)
  }
}
