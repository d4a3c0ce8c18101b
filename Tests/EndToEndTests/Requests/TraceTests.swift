import Glibc
import Testing

/// `-v` and `--trace`: sent and received data, masked by place and by value (rule B3).
@Suite struct TraceTests {
  @Test func traceHasBodiesAndNoSecrets() async throws {
    try await Sandbox.with(.none) { box in
      let token = box.canary.make("access", suffix: "/+ é")
        .filter { $0.isASCII && $0 != " " }
      box.canary.watch(token)
      let api = try box.recorder { _, request in
        // libcurl may deliver it in two pieces.
        .http(200, "line one\nechoed: \(token)\n\u{1B}[2Jend", type: "text/plain")
      }
      try box.profile("shop", "url = \"\(api.url)\"\n")
      let file = box.home + "/trace"
      let run = try await box.run(
        "post", "/x?key=abc", "-d", "@-", "--trace", file, "-o", "/dev/null",
        stdin: "a=\(token)&b=2", env: ["AUTHCTL_TOKEN": token])
      #expect(run.status == 0 && run.stdout == "" && run.stderr == "", "\(run.stderr)")
      var info = stat()
      #expect(stat(file, &info) == 0 && info.st_mode & 0o777 == 0o600)
      let lines = (box.read("home/trace") ?? "").split(separator: "\n").map(String.init)
      #expect(
        lines.filter { !$0.hasPrefix("* ") } == [
          "> POST /x?key=*** HTTP/1.1", "> Host: \(api.authority)",
          "> Content-Type: application/x-www-form-urlencoded", "> Authorization: ***",
          "> User-Agent: authctl/0.1.0", "> Accept: application/json, */*;q=0.5",
          "> Content-Length: \(token.utf8.count + 6)", "} a=***&b=2",
          "< HTTP/1.1 200 Recorded", "< Content-Type: text/plain",
          "< Content-Length: \(token.utf8.count + 25)", "< Connection: close",
          "{ line one", "{ echoed: ***", "{ ^[[2Jend",
        ], "\(lines)")
      let err = try await box.run(
        "get", "/x", "--trace", "-", "-o", "/dev/null", env: ["AUTHCTL_TOKEN": token])
      #expect(err.status == 0 && err.stdout == "")
      #expect(err.stderr.contains("> GET /x HTTP/1.1\n"), "\(err.stderr)")
      #expect(err.stderr.contains("\n{ echoed: ***\n{ ^[[2Jend\n"), "\(err.stderr)")
      let known = ["* ", "> ", "< ", "{ ", "} "]
      #expect(
        err.stderr.split(separator: "\n").allSatisfy { line in
          known.contains { line.hasPrefix($0) }
        })
    }
  }

  /// A renewal during the request is reported without its content.
  @Test func renewalIsSummedUp() async throws {
    try await Sandbox.with { box in
      let (old, new) = (box.canary.make("old"), box.canary.make("new"))
      let (first, second) = (box.canary.make("refresh"), box.canary.make("refresh"))
      let api = try box.recorder { _, request in
        switch Scene.route(of: request) {
        case "POST /login": Scene.tokens(old, first)
        case "POST /refresh": Scene.tokens(new, second)
        default:
          find(Array(old.utf8), in: request) == nil ? .http(200, #"{"a":1}"#) : .http(401, "{}")
        }
      }
      try box.profile("shop", Scene.profile(api.url))
      try await box.signIn("shop")
      let run = try await box.run("get", "/x", "-v", "--trace", box.home + "/trace")
      #expect(run.status == 0 && run.stdout == #"{"a":1}"#, "\(run.stderr)")
      let trace = box.read("home/trace") ?? ""
      #expect(trace.contains("> POST /refresh HTTP/1.1\n"))
      #expect(trace.contains("> Content-Length: ***\n"))
      #expect(trace.contains("\n} [json]\n"))
      #expect(trace.contains(" bytes: access_token, expires_in, refresh_token]\n"), "\(trace)")
      #expect(trace.contains("\n{ {\"a\":1}\n"))
      #expect(!run.stderr.contains("\n{ "))
      #expect(run.stderr.contains("\n> POST /refresh HTTP/1.1\n"))
      #expect(run.stderr.hasPrefix("* shop (default), "))
    }
  }

  @Test func diskThatIsFullEndsTheTraceAlone() async throws {
    try await Sandbox.with(.none) { box in
      let api = try box.recorder()
      try box.profile("shop", "url = \"\(api.url)\"\n")
      let run = try await box.run(
        "get", "/x", "--trace", "/dev/full", env: ["AUTHCTL_TOKEN": "a-token"])
      #expect(run.status == 0 && run.stdout == "{}")
      #expect(
        run.stderr == """
          authctl: warning: the trace is incomplete: --trace /dev/full: cannot write: no space left on device

          """)
    }
  }
}
