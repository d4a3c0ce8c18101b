import Glibc
import Testing

/// Where pagination stops: limits, loops, other origins (rule A12), failures, memory (rule T10).
@Suite struct PagesLimitsTests {
  @Test func bounds() async throws {
    let endless: Recorder.Answering = { index, _ in
      PagesScene.page("[1,2]", next: "/?page=\(index)")
    }
    try await PagesScene.with(endless) { box, api in
      var asked = 0
      for (options, stdout, requests) in [
        (["--max-pages", "2"], "[1,2][1,2]", 2), (["--max-pages", "1", "--slurp"], "[[1,2]]\n", 1),
        (["--each", "", "--max-items", "3"], "1\n2\n1\n", 2),
        (["--each", "", "--max-items", "2"], "1\n2\n", 1),
        (["--each", "", "--max-items", "9", "--max-pages", "2"], "1\n2\n1\n2\n", 2),
      ] {
        let run = try await box.run(["get", "/", "--paginate"] + options, env: PagesScene.env)
        asked += requests
        #expect(run.status == 0 && run.stdout == stdout && run.stderr == "", "\(options): \(run)")
        #expect(api.connections.count == asked, "\(options)")
      }
    }
  }

  /// The next page and the message: authctl exits with 13 after the pages it has, and contacts no
  /// other server.
  @Test func pagesElsewhereAndLoops() async throws {
    try await Sandbox.with(.none) { box in
      let other = try box.recorder(at: "127.0.0.2")
      let next = Mutable("")
      let api = try box.recorder { _, request in
        String(decoding: request, as: UTF8.self).hasPrefix("GET /leave")
          ? .redirect(to: other.url + "/x") : PagesScene.page(#"{"id":1}"#, next: next.value)
      }
      try box.profile("shop", "url = \"\(api.url)\"\n")
      box.canary.watch("a-token-of-ours")
      let back = "was already fetched"
      let cases = [
        (other.url + "/b", "\(other.url) is another origin"),
        ("//\(other.authority)/b", "\(other.url) is another origin"),
        ("https" + api.url.dropFirst(4), "is another origin"),
        ("http://ada@\(api.authority)/", "it must not contain a user name"),
        ("file:///etc/passwd", "its scheme"),
        ("/a?page=1", "\(api.url)/a \(back)"), ("", "\(api.url)/a \(back)"),
        ("?page=1#top", "\(api.url)/a \(back)"), ("#top", "\(api.url)/a \(back)"),
      ]
      for anonymous in [[], ["--anonymous"]] {
        for (target, words) in cases {
          next.value = target
          let run = try await box.run(
            ["get", api.url + "/a?page=1", "--paginate"] + anonymous, env: PagesScene.env)
          #expect(run.status == 13 && run.stdout == #"{"id":1}"#, "\(target): \(run)")
          let start = "authctl: refused to continue after page 1: "
          #expect(run.stderr.hasPrefix(start) && run.stderr.contains(words), "\(run.stderr)")
          #expect(run.hasErrorForm, "\(run.stderr)")
        }
      }
      next.value = "/leave"
      let run = try await box.run(
        "get", "/a", "--paginate", "--slurp", "--errors", "json", env: PagesScene.env)
      #expect(run.status == 13 && run.stdout == "", "\(run)")
      #expect(try JSON(parsing: run.stderr)["error"]?["code"]?.string == "origin_refused")
      #expect(run.stderr.contains("refused to follow a redirect to \(other.url)"))
      #expect(other.connections.isEmpty)
    }
  }

  @Test func longerLoopsAndCursorsThatRepeat() async throws {
    try await PagesScene.with({ index, _ in
      PagesScene.page("\(index)\n", next: "/?p=\((index + 1) % 5)")
    }) {
      box, api in
      let run = try await box.run("get", "/?p=0", "--paginate", env: PagesScene.env)
      #expect(run.status == 13 && run.stdout == "0\n1\n2\n3\n4\n", "\(run)")
      #expect(
        run.stderr
          == "authctl: refused to continue after page 5: \(api.url)/ was already fetched\n")
    }
    try await PagesScene.with({ _, _ in .http(200, #"{"c":"same"}"#) }) { box, api in
      let run = try await box.run(
        "get", "/", "--paginate", "--next-cursor", "/c=c", "-o", box.root + "/out",
        env: PagesScene.env)
      #expect(run.status == 13 && run.stdout == "", "\(run)")
      #expect(PagesScene.lines(api) == ["GET /", "GET /?c=same"])
      // A file is written completely or not at all.
      #expect(box.read("out") == nil)
    }
  }

  /// A failed page exits with its own code, after the pages before it.
  @Test func pageThatFails() async throws {
    let answers = Recorder.list(
      PagesScene.page("[1]", next: "/2"), .http(404, #"{"message":"gone"}"#),
      PagesScene.page("[1]", next: "/2"), .http(404, #"{"message":"gone"}"#),
      PagesScene.page("[1]", next: "/2"), .http(404, #"{"message":"gone"}"#),
      PagesScene.page("[1]", next: "/2"), .http(404, #"{"message":"gone"}"#),
      PagesScene.page("[1]", next: "/2"), .http(404, #"{"message":"gone"}"#),
      PagesScene.page("[1]", next: "/2"), .http(404, #"{"message":"gone"}"#))
    try await PagesScene.with(answers) { box, api in
      let status = "authctl: HTTP 404 Recorded: GET \(api.url)/2 (shop, AUTHCTL_TOKEN)\n"
      let excerpt = "  server: {\"message\":\"gone\"}\n"
      let file = box.root + "/out"
      for (options, code, stdout, stderr) in [
        ([], 4, #"[1]{"message":"gone"}"#, status), (["--slurp"], 4, "", excerpt + status),
        (["--each", ""], 4, "1\n", excerpt + status), (["-o", file], 4, "", excerpt + status),
        (["--ok", "404"], 0, #"[1]{"message":"gone"}"#, ""),
        (["--ok", "404", "--each", ""], 0, "1\n", ""),
      ] as [([String], Int32, String, String)] {
        let run = try await box.run(["get", "/1", "--paginate"] + options, env: PagesScene.env)
        #expect(run.status == code && run.stdout == stdout, "\(options): \(run)")
        #expect(run.stderr == stderr, "\(options)")
      }
      #expect(box.read("out") == nil)
    }
  }

  @Test func pagesThatAreNotUnderstood() async throws {
    for (body, options, message) in [
      (#"{"a":1}"#, ["--each", "/items"], "the answer has no array at /items: object: a number"),
      ("<p>", ["--each", "/items"], "the answer is not JSON: expected a value at byte 0"),
      (#"{"a":[],"a":[]}"#, ["--each", "/a"], "the answer has a duplicate key in /a"),
      ("{", ["--paginate", "--slurp"], "page 1 is not JSON: the text is incomplete at byte 1"),
      (#"{"n":2}"#, ["--paginate", "--next", "/n"], "the next page at /n is not a URL: number"),
      (
        "{", ["--paginate", "--next", "/n"], "page 1 is not JSON: the text is incomplete at byte 1"
      ),
      (
        #"{"n":[2]}"#, ["--paginate", "--next-cursor", "/n=c"],
        "the cursor at /n is not text: array"
      ),
    ] {
      try await PagesScene.with({ _, _ in .http(200, body) }) { box, _ in
        let run = try await box.run(["get", "/"] + options, env: PagesScene.env)
        #expect(run.status == 1, "\(options): \(run)")
        #expect(run.stderr.hasPrefix("authctl: \(message)\n"), "\(run.stderr)")
        #expect(run.hasErrorForm)
      }
    }
    // An empty result is not an error.
    for body in ["", #"{"items":null}"#, #"{"items":[]}"#] {
      try await PagesScene.with({ _, _ in .http(200, body) }) { box, _ in
        let run = try await box.run("get", "/", "--each", "/items", env: PagesScene.env)
        #expect(run.status == 0 && run.stdout == "" && run.stderr == "", "\(run)")
      }
    }
    try await PagesScene.with({ _, _ in .http(204) }) { box, _ in
      let run = try await box.run("get", "/", "--paginate", "--slurp", env: PagesScene.env)
      #expect(run.status == 0 && run.stdout == "[]\n" && run.stderr == "", "\(run)")
    }
  }

  /// A renewal in the middle serves all later pages.
  @Test func renewalInTheMiddle() async throws {
    try await Sandbox.with { box in
      let (old, new) = (box.canary.make("old"), box.canary.make("new"))
      let (first, second) = (box.canary.make("first"), box.canary.make("second"))
      let api = try box.recorder { _, request in
        let text = String(decoding: request, as: UTF8.self)
        switch Scene.route(of: request) {
        case "POST /login": return Scene.tokens(old, first)
        case "POST /refresh": return Scene.tokens(new, second)
        default: break
        }
        let page = text.dropFirst("GET /p".count).first?.wholeNumberValue ?? 0
        guard page < 3 || text.contains(new) else { return .http(401, "{}") }
        return PagesScene.page("[\(page)]", next: page < 6 ? "/p\(page + 1)" : nil)
      }
      try box.profile("shop", Scene.profile(api.url))
      try await box.signIn("shop")
      let run = try await box.run("get", "/p1", "--paginate", "--retry", "2")
      #expect(run.status == 0 && run.stdout == "[1][2][3][4][5][6]" && run.stderr == "", "\(run)")
      #expect(
        PagesScene.lines(api) == [
          "POST /login", "GET /p1", "GET /p2", "GET /p3", "POST /refresh", "GET /p3", "GET /p4",
          "GET /p5", "GET /p6",
        ])
    }
  }

  @Test(arguments: ["link", "body", "cursor"]) func demo(by: String) async throws {
    try await Sandbox.with(.none) { box in
      let api = try await box.api()
      let options: [String: [String]] = [
        "body": ["--next", "/next"], "cursor": ["--next-cursor", "/meta/cursor=cursor"],
      ]
      let run = try await box.run(
        ["get", "--anonymous", "\(api.url)/pages?n=20&by=\(by)", "--paginate", "--each", "/items"]
          + (options[by] ?? []))
      #expect(run.status == 0 && run.stderr == "", "\(run.stderr)")
      #expect(run.stdout == (1...40).map { "{\"id\":\($0)}\n" }.joined())
    }
  }

  /// Memory use at page 1000 is the same as at page 100.
  @Test(arguments: [["--each", "/items", "--next-cursor", "/next=page"], []])
  func memoryIsFlat(options: [String]) async throws {
    try await Sandbox.with(.none) { box in
      let (pid, sizes) = (Mutable(pid_t(0)), Mutable([Int]()))
      let text = String(repeating: "x", count: options.isEmpty ? 50_000 : 3000)
      let api = try box.recorder { index, _ in
        if index == 100 || index == 999 { sizes.value += [Self.residentKilobytes(pid.value)] }
        let next = index < 999 ? "\(index + 1)" : "null"
        return PagesScene.page(
          #"{"items":["\#(text)"],"next":\#(next)}"#,
          next: options.isEmpty && index < 999 ? "/?page=\(index + 1)" : nil)
      }
      let child = try box.start(["get", "--anonymous", api.url, "--paginate"] + options)
      pid.value = child.pid
      let run = try await child.finish()
      #expect(run.status == 0 && run.stderr == "", "\(run.stderr)")
      #expect(api.connections.count == 1000 && run.stdout.utf8.count > 3_000_000)
      let grown = (sizes.value.last ?? 0) - (sizes.value.first ?? 0)
      #expect(sizes.value.count == 2 && grown < 2048, "\(sizes.value) KiB")
    }
  }

  private static func residentKilobytes(_ pid: pid_t) -> Int {
    let text = readFile("/proc/\(pid)/status").map { String(decoding: $0, as: UTF8.self) } ?? ""
    let line = text.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
    return line?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
  }
}
