import Glibc
import Testing

/// `batch`: NDJSON in, NDJSON out, design 1.
@Suite struct BatchTests {
  private func withShop(
    answering: @escaping Recorder.Answering,
    _ body: @Sendable (Sandbox, Recorder) async throws -> Void
  ) async throws {
    try await Sandbox.with(.none) { box in
      let api = try box.recorder(answering: answering)
      try box.profile("shop", "url = \"\(api.url)/v1\"\n")
      try await body(box, api)
    }
  }

  @Test func eachLineIsARequestAndEachAnswerALine() async throws {
    let routes = Scene.routes([
      "GET /v1/json": .http(200, "\u{FEFF}{ \"a\" : 1.000,\n \"b\\\" \" : [1e5, \"x y\\\\\"] }\n"),
      "GET /v1/number": .http(200, " 12.50 "),
      "GET /v1/word": .http(200, "12.50", type: "text/plain"),
      "GET /v1/list": .http(200, "[ 1 ]", type: "text/plain"),
      "GET /v1/text": .http(200, "a \"b\"\n", type: "text/plain"),
      "GET /v1/broken": .http(200, "{\"a\":}"),
      "GET /v1/none": .http(204),
      "GET /v1/bytes": .bytes(
        Array("HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\n".utf8)
          + [0xFF, 0, 1, 0xFE]),
      "GET /v1/twice": .http(200, headers: [("X-A", "1"), ("x-a", "2"), ("X-A", "3")]),
      "POST /v1/orders": .http(201, "{}"), "PUT /v1/text": .http(200), "POST /v1/void": .http(200),
      "DELETE /v1/all": .http(200), "HEAD /v1/json": .http(200),
    ])
    try await withShop(answering: routes) { box, api in
      let run = try await box.run(
        ["batch", "--parallel", "1"],
        stdin: Batch.lines([
          #"{"id":1,"url":"/json"}"#, #"{"id":"two","url":"/number","method":"get"}"#,
          #"{"url":"/word"}"#, "", #"  {"id":[3,1.0],"url":"/list"}  "#, #"{"id":4,"url":"/text"}"#,
          #"{"id":5,"url":"/broken"}"#, #"{"id":6,"url":"/none"}"#, #"{"id":7,"url":"/bytes"}"#,
          #"{"id":8,"url":"/twice"}"#,
          #"{"id":9,"method":"POST","url":"/orders","json":{"b":1.50,"a":"é"}}"#,
          #"{"id":10,"method":"PUT","url":"/text","body":"@/etc/passwd","#
            + #""headers":{"Content-Type":"text/plain","X-Own":" é ","User-Agent":null}}"#,
          #"{"id":11,"method":"POST","url":"/void","body":null,"headers":null}"#,
          #"{"id":12,"method":"DELETE","url":"\#(api.url)/v1/all?x=1","json":null}"#,
        ]) + #"{"id":13,"method":"HEAD","url":"/json"}"#, env: Batch.token)
      let text = "text/plain"
      #expect(
        run.stdout
          == Batch.lines([
            Batch.answer("1", 45, body: #","json":{"a":1.000,"b\" ":[1e5,"x y\\"]}"#),
            Batch.answer(#""two""#, 7, body: #","json":12.50"#),
            Batch.answer("null", 5, type: text, body: #","body":"12.50""#),
            Batch.answer("[3,1.0]", 5, type: text, body: #","json":[1]"#),
            Batch.answer("4", 6, type: text, body: #","body":"a \"b\"\n""#),
            Batch.answer("5", 6, body: #","body":"{\"a\":}""#), Batch.answer("6", 0, status: 204),
            #"{"id":7,"status":200,"headers":{"content-length":"4","connection":"close"},"#
              + #""body_base64":"/wAB/g=="}"#,
            Batch.answer("8", 0, headers: #""x-a":["1","2","3"],"#),
            Batch.answer("9", 2, status: 201, body: #","json":{}"#), Batch.answer("10", 0),
            Batch.answer("11", 0), Batch.answer("12", 0), Batch.answer("13", 0),
          ]))
      #expect(run.stderr == "")
      #expect(run.status == 0)
      let sent = api.texts
      #expect(sent.count == 14)
      #expect(
        sent.allSatisfy { $0.contains("\r\nAuthorization: Bearer t0ken-of-the-variable\r\n") })
      #expect(sent[9].hasSuffix("\r\n\r\n{\"b\":1.50,\"a\":\"é\"}"))
      #expect(sent[9].contains("\r\nContent-Type: application/json\r\n"))
      #expect(sent[9].contains("\r\nAccept: application/json\r\n"))
      #expect(sent[10].hasSuffix("\r\n\r\n@/etc/passwd"))
      #expect(sent[10].contains("\r\nX-Own: é\r\n"))
      #expect(!sent[10].contains("User-Agent"))
      #expect(sent[11].contains("\r\nContent-Length: 0\r\n"))
      #expect(!sent[11].contains("Content-Type"))
      #expect(sent[12].hasPrefix("DELETE /v1/all?x=1 HTTP/1.1\r\n"))
      #expect(sent[12].hasSuffix("\r\n\r\nnull"))
    }
  }

  /// A mistake in a line is reported in its result, and the other lines are sent.
  @Test func wrongLinesHaveTheirErrors() async throws {
    let rows: [(line: String, id: String, message: String, hint: String?)] = [
      ("nonsense", "null", "line 1 is not JSON: expected a value at byte 0", nil),
      (
        #"{"id":1,"url":"/x""#, "null", "line 2 is not JSON: the text is incomplete at byte 18", nil
      ),
      (#"["/x"]"#, "null", "line 3 is not a JSON object", nil),
      (#"{"id":1}"#, "1", "line 4: url is missing", nil),
      (#"{"id":1,"url":7}"#, "1", "line 5: url is not a string", nil),
      (
        #"{"id":1,"url":"/x","path":"/y"}"#, "1", "line 6: unknown key path",
        "the keys are id, method, url, headers, json, body"
      ),
      (#"{"id":1,"url":"/x","url":"/y"}"#, "1", "line 7: url appears twice", nil),
      (
        #"{"id":1,"url":"/x","method":"G ET"}"#, "1", "line 8: G ET is not a method (RFC 9110)",
        nil
      ),
      (#"{"id":1,"url":"/x","headers":["A: b"]}"#, "1", "line 9: headers is not an object", nil),
      (#"{"id":1,"url":"/x","headers":{"A":1}}"#, "1", "line 10: headers: A is not a string", nil),
      (#"{"id":1,"url":"/x","headers":{"A b":""}}"#, "1", "headers: A b is not a header name", nil),
      (
        #"{"id":1,"method":"PUT","url":"/x","json":1,"body":""}"#, "1",
        "line 12: json and body cannot be used together", nil
      ),
      (#"{"id":1,"url":"/x","body":"a=1"}"#, "1", "line 13: a GET request cannot have a body", nil),
      (
        #"{"id":1,"url":"x"}"#, "1", "x is neither a path nor a URL",
        "a target begins with /, http:// or https://"
      ),
      (
        #"{"id":1,"url":"/x","headers":{"AUTHORIZATION":"Bearer mine"}}"#, "1",
        "headers: AUTHORIZATION: shop sends its credential in that header",
        "use --anonymous to send your own"
      ),
      (
        #"{"id":1,"url":"/x","headers":{"Transfer-Encoding":"chunked"}}"#, "1",
        "headers: Transfer-Encoding cannot be used with batch", nil
      ),
      (
        #"{"id":1,"url":"/x","headers":{"Authorization: Bearer mine":null}}"#, "1",
        "headers: Authorization: Bearer mine is not a header name", nil
      ),
    ]
    try await withShop(answering: Recorder.ok) { box, api in
      let run = try await box.run(
        ["batch"], stdin: Batch.lines(rows.map(\.line) + [#"{"id":2,"url":"/good"}"#]),
        env: Batch.token)
      #expect(
        run.stdout
          == Batch.lines(
            rows.map { Batch.error($0.id, "usage", 2, $0.message, hint: $0.hint) }
              + [Batch.answer("2", 2, body: #","json":{}"#)]))
      #expect(
        run.stderr
          == "\(rows.count) of \(rows.count + 1) requests failed (invalid line: \(rows.count))\n")
      #expect(run.status == 2)
      #expect(api.connections.count == 1)
    }
  }

  /// The server answers the second request first.
  @Test(arguments: [false, true]) func answersComeInOrderUnlessToldOtherwise(
    _ isUnordered: Bool
  ) async throws {
    let latch = try Latch()
    let answering: Recorder.Answering = { _, request in
      if Scene.route(of: request) == "GET /v1/2" { latch.open() } else { latch.wait() }
      return .http(200)
    }
    try await withShop(answering: answering) { box, _ in
      let child = try box.start(
        ["batch"] + (isUnordered ? ["--unordered"] : []), keepInputOpen: true, env: Batch.token)
      child.write(Batch.lines([#"{"id":1,"url":"/1"}"#]).utf8)
      child.write(Batch.lines([#"{"id":2,"url":"/2"}"#]).utf8)
      // With the input still open: results are printed as they arrive.
      try await child.waitFor(Batch.answer("1", 0) + "\n")
      try await child.waitFor(Batch.answer("2", 0) + "\n")
      child.closeInput()
      let run = try await child.finish()
      let ids = try run.answers().compactMap { $0["id"]?.int }
      #expect(ids == [1, 2] || isUnordered && ids == [2, 1])
      #expect(run.status == 0)
    }
  }

  /// With 4, no request is answered before all four have arrived. With 1, the next request is sent
  /// after the previous one is answered.
  @Test func parallelSaysHowManyAreUnderWay() async throws {
    let arrived = Mutable(0)
    let latch = try Latch()
    let answering: Recorder.Answering = { index, _ in
      if index >= 4 { return .http(200, "\(index)") }
      arrived.increase()
      if index == 3 { for _ in 0..<3 { latch.open() } } else { latch.wait() }
      return .http(200, "\(index)")
    }
    try await withShop(answering: answering) { box, api in
      let four = Batch.lines((1...4).map { #"{"id":\#($0),"url":"/\#($0)"}"# })
      let run = try await box.run(["batch", "--parallel", "4"], stdin: four, env: Batch.token)
      #expect(run.status == 0)
      #expect(api.connections.count == 4)
      let one = try await box.run(["batch", "--parallel", "1"], stdin: four, env: Batch.token)
      #expect(try one.answers().compactMap { $0["json"]?.int } == [4, 5, 6, 7])
      #expect(
        api.texts.dropFirst(4).map { $0.prefix { $0 != "\r\n" } }
          == (1...4).map { "GET /v1/\($0) HTTP/1.1" })
      for wrong in ["0", "-1", "501"] {
        let run = try await box.run(
          ["batch", "--parallel", wrong], stdin: four, env: Batch.token)
        #expect(run.status == 2)
        #expect(run.stderr == "authctl: --parallel \(wrong): must be from 1 to 500\n")
      }
      #expect(api.connections.count == 8)
    }
  }

  @Test func worstCodeIsTheLast() async throws {
    let answering: Recorder.Answering = { _, request in
      switch Scene.route(of: request) {
      case "GET /v1/404": .http(404, #"{"message":"no"}"#)
      case "GET /v1/503": .http(503)
      case "POST /v1/303": .redirect(303, to: "/v1/ok")
      case "GET /v1/loop": .redirect(to: "/v1/loop")
      case "GET /v1/cut": .close
      case "GET /v1/half": .bytes(Array("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf".utf8))
      default: .http(200)
      }
    }
    try await withShop(answering: answering) { box, _ in
      let rows: [(lines: [String], options: [String], status: Int32, failed: String?)] = [
        (["GET /ok"], [], 0, nil), (["GET /404", "GET /ok"], [], 4, "1 of 2 HTTP 404: 1"),
        (["GET /503", "GET /404"], [], 5, "2 of 2 HTTP 404: 1, HTTP 503: 1"),
        (["GET /404", "GET /503", "GET /503"], [], 5, "3 of 3 HTTP 503: 2, HTTP 404: 1"),
        (["POST /303"], [], 3, "1 of 1 HTTP 303: 1"),
        (["GET /loop", "GET /503"], [], 6, "2 of 2 HTTP 503: 1, too many redirects: 1"),
        (["GET /cut", "GET /ok"], [], 7, "1 of 2 no answer: 1"),
        (["GET /half"], [], 7, "1 of 1 incomplete: 1"),
        (["GET /404"], ["--ok", "404"], 0, nil),
        (["GET /404", "GET /503"], ["--ok", "4xx"], 5, "1 of 2 HTTP 503: 1"),
        (["GET /404", "GET /503", "POST /303"], ["--ignore-status"], 0, nil), ([], [], 0, nil),
        (["GET /404"], ["-q"], 4, nil),
      ]
      for row in rows {
        let lines = row.lines.map { line in
          let words = line.split(separator: " ")
          return #"{"method":"\#(words[0])","url":"\#(words[1])"}"#
        }
        let run = try await box.run(
          ["batch"] + row.options, stdin: Batch.lines(lines), env: Batch.token)
        #expect(run.status == row.status, "\(row.lines): \(run.stdout)")
        let said = row.failed.map { text in
          let words = text.split(separator: " ", maxSplits: 3)
          let noun = words[2] == "1" ? "request" : "requests"
          return words[0...2].joined(separator: " ") + " \(noun) failed (\(words[3]))\n"
        }
        #expect(run.stderr == said ?? "", "\(row.lines)")
        #expect(try run.answers().count == lines.count)
      }
    }
  }

  @Test func failFastStopsAtTheFirst() async throws {
    try await withShop(answering: Scene.routes(["GET /v1/ok": .http(200)])) { box, api in
      let run = try await box.run(
        ["batch", "--fail-fast", "--parallel", "1"],
        stdin: Batch.lines([
          #"{"id":1,"url":"/ok"}"#, #"{"id":2,"url":"/bad"}"#, #"{"id":3,"url":"/ok"}"#, "junk",
        ]), env: Batch.token)
      let why = "not sent: line 2 failed (--fail-fast)"
      #expect(
        run.stdout
          == Batch.lines([
            Batch.answer("1", 0),
            Batch.answer("2", 27, status: 404, body: #","json":{"message":"no such route"}"#),
            Batch.error("3", "failed", 1, why), Batch.error("null", "failed", 1, why),
          ]))
      #expect(
        run.stderr == """
          1 of 2 requests failed (HTTP 404: 1)
          authctl: stopped after line 2 (--fail-fast): 2 answered, 2 read and not sent
          hint: the input was not read from line 5 on

          """)
      #expect(run.status == 4)
      #expect(api.connections.count == 2)
    }
  }

  @Test(arguments: [SIGINT, SIGTERM]) func signalLetsFinishWhatIsUnderWay(
    _ signal: Int32
  ) async throws {
    let latch = try Latch()
    let answering: Recorder.Answering = { _, _ in
      latch.wait()
      return .http(200)
    }
    try await withShop(answering: answering) { box, api in
      let child = try box.start(
        ["batch", "--parallel", "1"], keepInputOpen: true, env: Batch.token)
      child.write(Batch.lines((1...3).map { #"{"id":\#($0),"url":"/\#($0)"}"# }).utf8)
      try await api.waitForConnections(1)
      child.signal(signal)
      latch.open()
      let run = try await child.finish()
      #expect(
        run.stdout
          == Batch.lines([
            Batch.answer("1", 0), Batch.error("2", "failed", 1, "not sent: interrupted"),
            Batch.error("3", "failed", 1, "not sent: interrupted"),
          ]))
      #expect(
        run.stderr == """
          authctl: interrupted: 1 answered, 2 read and not sent
          hint: the input was not read from line 4 on

          """)
      #expect(run.status == 128 + signal)
      #expect(api.connections.count == 1)
    }
  }

  /// A second ^C exits at once.
  @Test func secondSignalWaitsForNothing() async throws {
    try await withShop(answering: { _, _ in .hang }) { box, api in
      let child = try box.start(["batch"], keepInputOpen: true, env: Batch.token)
      child.write(Batch.lines([#"{"id":1,"url":"/1"}"#]).utf8)
      try await api.waitForConnections(1)
      child.signal(SIGINT)
      child.signal(SIGTERM)
      let run = try await child.finish()
      #expect(
        run.stdout
          == Batch.lines([Batch.error("1", "failed", 1, "interrupted before the answer came")]))
      #expect(run.status == 128 + SIGTERM || run.status == 128 + SIGINT)
    }
  }

  @Test func reasonsOfOneRequestAreNotThoseOfAll() async throws {
    try await withShop(answering: { index, _ in index == 0 ? .hang : .http(200) }) { box, _ in
      let run = try await box.run(
        ["batch", "-m", "1"],
        stdin: Batch.lines([#"{"id":1,"url":"/1"}"#, #"{"id":2,"url":"/2"}"#]), env: Batch.token)
      let answers = try run.answers()
      #expect(answers.map { $0["error"]?["code"]?.string }.filter { $0 == "timeout" }.count == 1)
      #expect(answers.compactMap { $0["status"]?.int } == [200])
      #expect(run.status == 9)
    }
  }

  /// authctl exits quietly when its reader closes the pipe, like any filter.
  @Test func closedOutputEndsQuietly() async throws {
    try await withShop(answering: Recorder.ok) { box, _ in
      let run = try await box.run(
        ["-c", "\(try Built.authctl()) batch | true; exit ${PIPESTATUS[0]}"],
        stdin: Batch.lines((1...300).map { #"{"id":\#($0),"url":"/\#($0)"}"# }), env: Batch.token,
        program: "/bin/bash")
      #expect(run.stderr == "")
      #expect(run.status == 128 + SIGPIPE)
    }
  }

  @Test func largeBodiesAndLongLinesPass() async throws {
    let large = #"{"x":""# + String(repeating: "a", count: 300_000) + #""}"#
    try await withShop(answering: { _, _ in .http(200, large) }) { box, api in
      let run = try await box.run(
        ["batch"],
        stdin: Batch.lines(
          (1...3).map { #"{"id":\#($0),"method":"PUT","url":"/\#($0)","json":\#(large)}"# }),
        env: Batch.token)
      #expect(
        run.stdout
          == Batch.lines(
            (1...3).map { Batch.answer("\($0)", large.utf8.count, body: #","json":\#(large)"#) }))
      #expect(run.status == 0)
      #expect(api.texts.allSatisfy { $0.hasSuffix("\r\n\r\n" + large) })
    }
  }
}
