import Testing

/// A server that repeats the token in headers that no profile names: output with response headers
/// masks every known secret by its value (rule B3).
@Suite struct EchoedTokenTests {
  private static func answer(_ token: String) -> Recorder.Answer {
    let base64 = String(decoding: Canary.base64(Array("user:\(token)".utf8)), as: UTF8.self)
    return .bytes(
      Array(
        """
        HTTP/1.1 300 for \(token)\r\nX-Debug: got \(token)!\r\nx-debug: \(base64)\r\n\
        Location: /next?t=\(token)\r\nX-Plain: p\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}
        """.utf8))
  }

  private static let masked = """
    HTTP/1.1 300 for ***\r\nX-Debug: got ***!\r\nx-debug: dXNlcjp***\r\n\
    Location: /next?t=***\r\nX-Plain: p\r\nContent-Length: 2\r\nConnection: close\r\n\r\n
    """

  @Test func isMaskedWhereverAHeadIsShown() async throws {
    try await Sandbox.with(.none) { box in
      let token = box.canary.make("access")
      let api = try box.recorder { _, _ in Self.answer(token) }
      try box.profile("shop", Scene.profile(api.url))
      let runs: [(words: [String], stdout: String)] = [
        (["get", "/a", "-i", "--ok", "300"], Self.masked + "{}"),
        (["get", "/a", "-D", "-", "--ok", "300"], Self.masked + "{}"),
        (["get", "/a", "-D", "head", "--ok", "300"], "{}"),
        (["request", "GET", "/a", "-i", "--paginate", "--ok", "300"], Self.masked + "{}"),
        (
          ["get", "/a", "-o", "file", "--ok", "300", "-w", "%{header_json}"],
          #"{"x-debug":["got ***!","dXNlcjp***"],"location":["/next?t=***"],"#
            + #""x-plain":["p"],"content-length":["2"],"connection":["close"]}"#
        ),
      ]
      for (words, stdout) in runs {
        let run = try await box.run(words, env: ["AUTHCTL_TOKEN": token])
        #expect(run.stdout == stdout, "\(words)")
        #expect(run.status == 0 && run.stderr == "", "\(words): \(run.stderr)")
      }
      #expect(box.read("home/head") == Self.masked)
      let batch = try await box.run(
        "batch", "--ok", "300", stdin: #"{"url":"/a"}"# + "\n", env: ["AUTHCTL_TOKEN": token])
      #expect(
        batch.stdout
          == #"{"id":null,"status":300,"headers":{"x-debug":["got ***!","dXNlcjp***"],"#
          + #""location":"/next?t=***","x-plain":"p","content-length":"2","#
          + #""connection":"close"},"json":{}}"# + "\n")
      #expect(batch.status == 0 && batch.stderr == "", "\(batch.stderr)")
    }
  }

  /// Neither token was known before: the process gets them from the renewal that it sends.
  @Test(arguments: [["get", "/a", "-i"], ["batch"]])
  func tokensOfARenewalAreMaskedAtOnce(_ words: [String]) async throws {
    try await Sandbox.with { box in
      let (access, refresh) = (box.canary.make("access"), box.canary.make("refresh"))
      let api = try box.recorder { _, request in
        switch Scene.route(of: request) {
        case "POST /login": return Scene.tokens("first-access-token", "first-refresh-token")
        case "POST /refresh": return Scene.tokens(access, refresh)
        default:
          guard find(Array("Bearer first-".utf8), in: request) == nil else { return .http(401) }
          return .http(200, "{}", headers: [("X-Debug", "\(access), \(refresh)")])
        }
      }
      try box.profile("shop", Scene.profile(api.url))
      try await box.signIn("shop")
      let run = try await box.run(words + ["-v"], stdin: #"{"url":"/a"}"# + "\n")
      #expect(run.status == 0, "\(run.stderr)")
      #expect(run.stdout.contains("***, ***"), "\(run.stdout)")
      #expect(run.stderr.contains("***, ***"), "\(run.stderr)")
      #expect(api.texts.last?.contains("Bearer \(access)") == true)
    }
  }

  @Test func showSecretsLiftsIt() async throws {
    try await Sandbox.with(.none) { box in
      let token = box.canary.make("access")
      let api = try box.recorder { _, _ in Self.answer(token) }
      try box.profile("shop", Scene.profile(api.url))
      guard case .bytes(let sent) = Self.answer(token) else { return }
      let shown = try await box.run(
        ["get", "/a", "-i", "--show-secrets", "--ok", "300", "-w", "%header{x-debug}"],
        env: ["AUTHCTL_TOKEN": token], mayPrint: [token])
      #expect(shown.stdout == String(decoding: sent, as: UTF8.self) + "got \(token)!")
      #expect(shown.status == 0 && shown.stderr == "", "\(shown.stderr)")
      let batch = try await box.run(
        ["batch", "--show-secrets", "--ok", "300"], stdin: #"{"url":"/a"}"# + "\n",
        env: ["AUTHCTL_TOKEN": token], mayPrint: [token])
      #expect(batch.status == 0 && batch.stdout.contains("got \(token)!"), "\(batch.stdout)")
    }
  }
}
