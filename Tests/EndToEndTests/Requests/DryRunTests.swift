import Glibc
import Testing

/// `--dry-run` and `--as-curl` (rule C7).
@Suite struct DryRunTests {
  private static let token = "a-token-of-ours"
  private static let env: [String: String?] = ["AUTHCTL_TOKEN": token]

  private func with(
    _ profile: String = "", _ body: (Sandbox, Recorder) async throws -> Void
  ) async throws {
    try await Sandbox.with(.none) { box in
      let api = try box.recorder()
      try box.profile("shop", "url = \"\(api.url)\"\n" + profile)
      box.canary.watch(Self.token)
      try await body(box, api)
    }
  }

  @Test func dryRun() async throws {
    try await with { box, api in
      let secret = box.canary.make("header")
      let headers = try box.write("home/headers", "X-Api-Key: \(secret)\nX-Request-Id: 7\n")
      let run = try await box.run(
        "post", "/orders?code=abc&n=1", "--dry-run", "--json", "@-", "-H", "@" + headers,
        stdin: #"{"t":"a-token-of-ours"}"#, env: Self.env)
      #expect(run.status == 0)
      #expect(
        run.stdout == """
          POST \(api.url)/orders?code=***&n=1
          X-Api-Key: ***
          X-Request-Id: 7
          Content-Type: application/json
          Accept: application/json
          Authorization: ***
          User-Agent: authctl/0.1.0

          {"t":"***"}

          """)
      #expect(
        run.stderr
          == "Masked here, not in the request: the URL, X-Api-Key, the body.\n")
      let plain = try await box.run("get", "/x", "--dry-run", env: Self.env)
      #expect(
        plain.stdout == """
          GET \(api.url)/x
          Authorization: ***
          User-Agent: authctl/0.1.0
          Accept: application/json, */*;q=0.5


          """)
      #expect(plain.status == 0 && plain.stderr == "")
      let away = try await box.run("get", "-p", "shop", "https://h.example/", "--dry-run")
      #expect(away.status == 13 && away.stdout == "")
      let both = try await box.run("get", "/x", "--dry-run", "--as-curl")
      #expect(both.status == 2 && both.stdout == "")
      #expect(both.stderr.hasPrefix("authctl: --dry-run and --as-curl cannot be used together\n"))
      // No session is needed, and the options for output files write nothing.
      let none = try await box.run(
        "get", "/x", "--dry-run", "-D", box.home + "/head", "-o", box.home + "/body", "--trace",
        box.home + "/trace")
      #expect(none.status == 0 && none.stdout == plain.stdout, "\(none.stderr)")
      #expect(!list(box.home).contains { ["head", "body", "trace"].contains($0) })
      #expect(api.connections.isEmpty)
    }
  }

  @Test func dryRunOnATerminal() async throws {
    try await with { box, api in
      let run = try await box.terminal(
        ["post", "/x", "--dry-run", "--data-raw", "a\u{1B}[2Jb"], env: Self.env)
      #expect(run.status == 0 && run.screen.hasSuffix("\n\na^[[2Jb\n"), "\(run.screen)")
      try box.write("home/binary", "a\0b")
      let binary = try await box.terminal(
        ["post", "/x", "--dry-run", "--data-binary", "@" + box.home + "/binary"], env: Self.env)
      #expect(
        binary.screen.contains("The body is binary and is not shown. Use --raw to show it.\n"))
      #expect(!binary.bytes.contains(0) && api.connections.isEmpty)
    }
  }

  /// A due session is not renewed, and a stored token in a body is masked.
  @Test func storedSessionIsReadAndNothingElse() async throws {
    try await Sandbox.with { box in
      let (access, refresh) = (box.canary.make("access"), box.canary.make("refresh"))
      let api = try box.recorder(
        answering: Scene.routes(["POST /login": Scene.tokens(access, refresh, seconds: 0)]))
      try box.profile("shop", Scene.profile(api.url))
      try await box.signIn("shop")
      let before = try await box.items().map { $0.secret ?? "" }.sorted()
      for option in ["--dry-run", "--as-curl"] {
        let run = try await box.run(
          "post", "/x", option, "-d", "@-", stdin: "a=\(access)&b=\(refresh)")
        #expect(run.status == 0 && run.stdout.contains("a=***&b=***"), "\(run.stderr)")
        #expect(run.stderr.contains("the body"), "\(run.stderr)")
      }
      #expect(api.connections.count == 1)
      #expect(try await box.items().map { $0.secret ?? "" }.sorted() == before)
    }
  }

  /// It opens no socket, except to the bus if there is one.
  @Test(.enabled(if: access("/usr/bin/strace", X_OK) == 0, "strace is not here"))
  func nothingIsConnectedTo() async throws {
    try await with { box, _ in
      for option in ["--dry-run", "--as-curl"] {
        let trace = box.home + "/calls"
        let run = try await box.run(
          "-f", "-e", "trace=connect,sendto,bind", "-o", trace, try Built.authctl(), "get", "/x",
          option, env: Self.env, program: "/usr/bin/strace")
        #expect(run.status == 0, "\(run.stderr)")
        let calls = (box.read("home/calls") ?? "").split(separator: "\n")
          .filter { $0.contains("connect(") || $0.contains("sendto(") || $0.contains("bind(") }
        #expect(calls.allSatisfy { $0.contains("AF_UNIX") }, "\(calls)")
      }
    }
  }

  // MARK: - --as-curl

  @Test func asCurl() async throws {
    try await with { box, api in
      let defaults =
        "-H 'User-Agent: authctl/0.1.0' -H 'Accept: application/json, */*;q=0.5'"
      func line(_ url: String, _ rest: String) -> String {
        "authctl helper curl-config -p shop \(url) | curl -K - --globoff --noproxy '*' \(rest)\n"
      }
      let calls: [([String], String)] = [
        (["get", "/x"], line(api.url + "/x", defaults)),
        (["head", "/x"], line(api.url + "/x", "--head " + defaults)),
        (["get", "/%2e%2e/b"], line(api.url + "/%2e%2e/b", "--path-as-is " + defaults)),
        (
          ["put", "/x?a=1&b=[1-3]", "-d", "it's"],
          line(
            "'\(api.url)/x?a=1&b=[1-3]'",
            "-X PUT -H 'Content-Type: application/x-www-form-urlencoded' \(defaults) "
              + #"--data-raw 'it'\''s'"#)
        ),
        (
          ["get", "/x", "--anonymous"],
          "curl --globoff -L --max-redirs 10 --noproxy '*' \(defaults) \(api.url)/x\n"
        ),
        (
          ["-u", "ada b", "get", "/x", "-i", "-o", "f", "-m", "5s", "--compressed"],
          "authctl helper curl-config -p shop -u 'ada b' \(api.url)/x | curl -K - --globoff -m 5 "
            + "--compressed --noproxy '*' -i -o f \(defaults)\n"
        ),
      ]
      for (words, text) in calls {
        let run = try await box.run(words + ["--as-curl"])
        #expect(run.status == 0 && run.stdout == text, "\(run.stdout)")
        #expect(run.stderr == "", "\(run.stderr)")
      }
      let secret = box.canary.make("header")
      let masked = try await box.run(
        "get", "/x", "--as-curl", "-H", "@-", stdin: "X-Api-Key: \(secret)\n")
      #expect(masked.status == 0 && masked.stdout.contains(" -H 'X-Api-Key: ***' "))
      #expect(
        masked.stderr == "Masked in this command; replace *** before you run it: X-Api-Key.\n")
      #expect(api.connections.isEmpty)
    }
  }

  /// A shell that runs the printed line with the real curl sends the same bytes as authctl.
  @Test func lineSendsTheSameBytes() async throws {
    try await with { box, api in
      try box.write(
        "home/bin/authctl", "#!/bin/sh\nexec '\(try Built.authctl())' \"$@\"\n", mode: 0o700)
      try box.write("home/all", String(decoding: 1...0x7F, as: UTF8.self) + "é\u{202E}7")
      let env = Self.env.merging(["PATH": box.home + "/bin:/usr/bin:/bin"]) { $1 }
      let calls: [(String, [String])] = [
        ("sh", ["get", "/x?a=b%20c&d[]={1,2}"]), ("sh", ["head", "/x"]), ("sh", ["post", "/x"]),
        ("sh", ["delete", "/x", "--json", #"{"a":"it's $HOME `id` \" \\ é"}"#]),
        ("sh", ["put", "/x", "-d", "@not", "-H", "X-Request-Id: a b", "-H", "Accept;"]),
        ("sh", ["patch", "/../%2e%2e/x", "--data-raw", "@x", "-A", ""]),
        ("sh", ["get", "/x", "-H", "Accept:", "--compressed"]),
        ("bash", ["post", "/x", "--data-binary", "@" + box.home + "/all"]),
        ("bash", ["post", "/x", "--json", "{\n\t\"a\": [\r\n1]}"]),
        ("sh", ["request", "PROPFIND", "/x", "--anonymous"]),
      ]
      for (shell, words) in calls {
        let words = words.map { $0 == "@not" ? "@\(box.home)/bin/authctl" : $0 }
        let line = try await box.run(words + ["--as-curl"], env: env)
        #expect(line.status == 0 && line.stderr == "", "\(words): \(line.stderr)")
        let seen = api.texts.count
        #expect(try await box.run(words, env: env).status == 0)
        let run = try await box.run(
          "-c", line.stdout, env: env, program: "/bin/" + shell)
        #expect(run.status == 0, "\(line.stdout): \(run.stderr)")
        let texts = api.texts[seen...].map(Self.sorted)
        #expect(
          texts.count == 2 && texts[texts.startIndex] == texts[texts.endIndex - 1], "\(texts)")
      }
    }
  }

  /// Sorts the headers, whose order is curl's own; nothing else may differ.
  private static func sorted(_ request: String) -> [String] {
    let parts = request.split(separator: "\r\n\r\n", omittingEmptySubsequences: false).map(
      String.init)
    let lines = parts[0].split(separator: "\r\n", omittingEmptySubsequences: false).map(String.init)
    return [lines[0]] + lines.dropFirst().sorted() + parts.dropFirst()
  }

  @Test func whatNoLineCanStandFor() async throws {
    let many = """
      [session]
      keep = { uid = "header:uid" }
      [request]
      headers = { Authorization = "Bearer {access_token}", uid = "{session.uid}" }
      """
    try await with { box, api in
      try box.profile("many", "url = \"\(api.url)\"\n" + many)
      try box.profile("jar", "url = \"\(api.url)\"\n[request]\ncookies = true\n")
      try box.profile("basic", "url = \"\(api.url)\"\npreset = \"http-basic\"\n")
      try box.write("home/nul", "a\0b")
      try box.write("home/long", String(repeating: "x", count: 140_000))
      let calls: [([String], String)] = [
        (["get", "-p", "many", "/x"], "needs more than one header\n"),
        (["get", "-p", "jar", "/x"], "needs more than one header\n"),
        (["get", "-p", "basic", "/x"], "a password\n"),
        (["post", "-p", "shop", "/x", "--data-binary", "@nul", "-d", "b"], "a NUL byte"),
        (["post", "-p", "shop", "/x", "--data-binary", "@long", "-d", "b"], "larger than 128 KiB"),
      ]
      for (words, said) in calls {
        let run = try await box.run(words + ["--as-curl"])
        #expect(run.status == 2 && run.stdout == "", "\(words): \(run.stdout)")
        #expect(
          run.stderr.hasPrefix("authctl: --as-curl") && run.stderr.contains(said), "\(run.stderr)")
      }
      let transient = try await box.run(
        "get", "/x", "--as-curl", env: ["AUTHCTL_URL": api.url, "AUTHCTL_TOKEN": "x"])
      #expect(transient.status == 2, "\(transient.stdout)")
      #expect(api.connections.isEmpty)
    }
  }
}
