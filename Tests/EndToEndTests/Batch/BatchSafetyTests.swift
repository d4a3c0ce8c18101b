import Testing

/// Untrusted lines: rules A4, A6, A7, A8, A12 and B2.
@Suite struct BatchSafetyTests {
  /// Three profiles with a session each; lines that try to send a credential or a file elsewhere.
  @Test func hostileLinesReachNobodyElse() async throws {
    try await Sandbox.with { box in
      let secrets = (0..<3).map { box.canary.make("access-\($0)") }
      var recorders: [Recorder] = []
      for (name, secret) in zip(["shop", "billing", "admin"], secrets) {
        let recorder = try box.recorder(at: name == "admin" ? "127.0.0.2" : "127.0.0.1") {
          _, request in
          Scene.route(of: request) == "POST /login" ? Scene.tokens(secret) : .http(200)
        }
        try box.profile(name, Scene.profile(recorder.url, network: "allow_http = true"))
        try await box.signIn(name)
        recorders.append(recorder)
      }
      let (shop, billing, admin) = (recorders[0], recorders[1], recorders[2])
      let evil = try box.recorder()
      let before = recorders.map(\.connections.count)
      let x = #""url":"/x""#
      let lines: [(line: String, exit: Int)] = [
        (#""url":"\#(billing.url)/x""#, 13), (#""url":"\#(admin.url)/x""#, 13),
        (#""url":"\#(evil.url)/x""#, 13), (#""url":"HTTP://\#(billing.authority)/x""#, 13),
        (#""url":"http://localhost:\#(shop.port)/x""#, 13),
        (#""url":"http://[::1]:\#(shop.port)/x""#, 13),
        (#""url":"//\#(billing.authority)/x""#, 2), (#""url":"/\\\#(billing.authority)/x""#, 0),
        (#""url":"http:/\#(billing.authority)/x""#, 2),
        (#""url":"http:///\#(billing.authority)/x""#, 2),
        (#""url":"http://a:b@\#(shop.authority)/x""#, 2),
        (#""url":"http://\#(shop.authority)\\@\#(evil.authority)/""#, 2),
        (#""url":"http://\#(shop.authority).:80/""#, 2), (#""url":"file:///etc/passwd""#, 2),
        (#""url":"@\#(evil.url)""#, 2), (#""url":"/x\u0000y""#, 2),
        (#""url":"/x\r\nHost: evil""#, 2),
        (#""url":"-o/etc/passwd""#, 2), (#""url":["/x"]"#, 2), (#"\#(x),"profile":"billing""#, 2),
        (#"\#(x),"proxy":"\#(evil.url)""#, 2), (#"\#(x),"output":"/tmp/x""#, 2),
        (#"\#(x),"headers":{"Authorization":"Bearer mine"}"#, 2),
        (#"\#(x),"headers":{"authorization":null}"#, 2),
        (#"\#(x),"headers":{"Authorization ":"Bearer mine"}"#, 2),
        (#"\#(x),"headers":{"X-A":"1\r\nAuthorization: Bearer mine"}"#, 2),
        (#"\#(x),"headers":{"X-A\r\nX-B":"1"}"#, 2), (#"\#(x),"headers":{"X-A":"a\u0000b"}"#, 2),
        (#"\#(x),"headers":{"Authorization: Bearer mine":null}"#, 2),
        (#"\#(x),"headers":{"Host: evil":null}"#, 2),
        (#"\#(x),"headers":{"X-A: 1\r\nAuthorization: Bearer mine\r\nX-B":null}"#, 2),
        (#"\#(x),"headers":{"Host":"evil"}"#, 2), (#"\#(x),"headers":{"Content-Length":"9"}"#, 2),
        (#"\#(x),"headers":{"Proxy-Authorization":"Basic x"}"#, 2),
        (#"\#(x),"headers":"@/etc/passwd""#, 2), (#"\#(x),"method":"GET /y HTTP/1.1\r\nX:""#, 2),
        (#"\#(x),"method":"PUT","body":"@/etc/passwd""#, 0),
        (#"\#(x),"method":"PUT","json":"@/etc/passwd""#, 0), (#"\#(x),\#(x)"#, 2),
      ]
      let run = try await box.run(
        ["batch", "-p", "shop"],
        stdin: Batch.lines(lines.enumerated().map { #"{"id":\#($0),\#($1.line)}"# }))
      let answers = try run.answers()
      #expect(answers.count == lines.count)
      for (index, (answer, row)) in zip(answers, lines).enumerated() {
        #expect(answer["id"]?.int == index, "\(row.line)")
        #expect((answer["error"]?["exit"]?.int ?? 0) == row.exit, "\(row.line): \(answer.text)")
      }
      #expect(run.status == 13)
      #expect(billing.connections.count == before[1])
      #expect(admin.connections.count == before[2])
      #expect(evil.connections.isEmpty)
      let sent = shop.texts.dropFirst(before[0])
      #expect(sent.count == 3)
      #expect(sent.allSatisfy { $0.contains("\r\nAuthorization: Bearer \(secrets[0])\r\n") })
      #expect(sent.contains { $0.hasSuffix("\r\n\r\n@/etc/passwd") })
      #expect(sent.contains { $0.hasSuffix("\r\n\r\n\"@/etc/passwd\"") })
      #expect(!sent.contains { $0.contains("root:") || $0.contains("evil") })
    }
  }

  /// A line's URL never chooses the profile: with several profiles and none named, the batch fails
  /// before its first line.
  @Test func urlOfALineChoosesNoProfile() async throws {
    try await Sandbox.with(.none) { box in
      let api = try box.recorder()
      for name in ["shop", "billing"] { try box.profile(name, "url = \"\(api.url)\"\n") }
      let run = try await box.run(
        ["batch"], stdin: "{\"url\":\"\(api.url)/x\"}\n", env: Batch.token)
      #expect(run.status == 2)
      #expect(run.stdout == "")
      #expect(
        run.stderr == """
          authctl: several profiles and no default: billing, shop
          hint: use -p NAME, or to set the default, run: authctl use NAME

          """)
      #expect(api.connections.isEmpty)
    }
  }

  @Test func credentialStaysBehindWhenARedirectLeaves() async throws {
    try await Sandbox.with(.none) { box in
      let token = box.canary.make("access")
      let b = try box.recorder { _, request in
        Scene.route(of: request) == "GET /back" ? .http(401) : .http(200, #"{"b":1}"#)
      }
      let a = try box.recorder { _, request in
        switch Scene.route(of: request) {
        case "GET /out": .redirect(to: b.url + "/b")
        case "GET /refused": .redirect(to: b.url + "/back")
        case "GET /within": .redirect(308, to: "end?x=1")
        case "POST /out": .redirect(307, to: b.url + "/b")
        case "GET /file": .redirect(to: "file:///etc/passwd")
        default: .http(200, #"{"a":1}"#)
        }
      }
      try box.profile("shop", "url = \"\(a.url)\"\n")
      let run = try await box.run(
        ["batch", "--parallel", "1"],
        stdin: Batch.lines([
          #"{"url":"/out","headers":{"X-Own":"mine"}}"#, #"{"url":"/refused"}"#,
          #"{"url":"/within"}"#, #"{"method":"POST","url":"/out","body":"secret=1"}"#,
          #"{"url":"/file"}"#,
        ]), env: ["AUTHCTL_TOKEN": token])
      let answers = try run.answers()
      #expect(answers.map { $0["status"]?.int } == [200, 401, 200, 307, nil])
      #expect(answers[0]["json"] == ["b": 1])
      #expect(answers[2]["json"] == ["a": 1])
      #expect(answers[4]["error"]?["code"] == "origin_refused")
      // A 401 from another origin does not concern the session.
      #expect(answers[1]["error"] == nil)
      #expect(run.status == 13)
      #expect(b.connections.count == 2)
      #expect(Scene.holds(b, [token, "mine", "secret=1"]) == [])
      #expect(a.texts.filter { $0.hasPrefix("GET /end?x=1 ") && $0.contains(token) }.count == 1)
    }
  }

  @Test func anonymousLinesBringTheirOwnAndStayWithTheProfile() async throws {
    try await Sandbox.with(.none) { box in
      let b = try box.recorder()
      let a = try box.recorder { _, request in
        Scene.route(of: request) == "GET /out" ? .redirect(to: b.url + "/") : .http(401)
      }
      try box.profile("shop", "url = \"\(a.url)\"\n")
      let run = try await box.run(
        ["batch", "--anonymous", "--parallel", "1"],
        stdin: Batch.lines([
          #"{"url":"/me","headers":{"Authorization":"Bearer of-the-line"}}"#,
          #"{"url":"/out","headers":{"Authorization":"Bearer of-the-line"}}"#,
          #"{"url":"\#(b.url)/x"}"#, #"{"url":"/x","headers":{"Host":"evil"}}"#,
        ]), env: Batch.token)
      let answers = try run.answers()
      #expect(answers.map { $0["status"]?.int } == [401, 200, nil, nil])
      #expect(answers.map { $0["error"]?["exit"]?.int } == [nil, nil, 13, 2])
      #expect(run.status == 13)
      #expect(a.texts.allSatisfy { $0.contains("\r\nAuthorization: Bearer of-the-line\r\n") })
      #expect(b.connections.count == 1)
      #expect(Scene.holds(b, ["of-the-line", "t0ken-of-the-variable"]) == [])
    }
  }
}
