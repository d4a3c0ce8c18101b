import Glibc
import Testing

/// `--paginate`, `--each`, `--slurp` (contract section 8, rule A12).
@Suite struct PagesTests {
  private static let env: [String: String?] = ["AUTHCTL_TOKEN": "a-token-of-ours"]

  /// A sandbox whose only profile is at a recorder that answers so.
  private func with(
    _ answer: @escaping Recorder.Answering, profile: String = "",
    _ body: (Sandbox, Recorder) async throws -> Void
  ) async throws {
    try await Sandbox.with(.none) { box in
      let api = try box.recorder(answering: answer)
      try box.profile("shop", "url = \"\(api.url)\"\n\(profile)\n")
      box.canary.watch("a-token-of-ours")
      try await body(box, api)
    }
  }

  /// The request line of every connection, without the version.
  private func lines(_ recorder: Recorder) -> [String] {
    recorder.texts.map { $0.components(separatedBy: " HTTP/1.1")[0] }
  }

  private static func page(_ body: String, next: String? = nil) -> Recorder.Answer {
    .http(200, body, headers: next.map { [("Link", "<\($0)>; rel=\"next\"")] } ?? [])
  }

  /// Numbers that a parser would change, escapes, a space here and there.
  private static let items = [
    #"{"n": 1.0, "e":1e5, "big":123456789012345678901234567890}"#, #""\u00e9\n/""#, "[ -0.10 ]",
  ]

  private static let three = Recorder.list(
    .http(
      200, #"{"items": [\#(items[0])]}"#,
      headers: [
        ("Link", #"</items?page=0>; rel="prev"; title="a, <b>; rel=next""#),
        ("Link", #"</items?page=9>; rel=last, <?page=2>; rel="next""#),
      ]), page(#"{"items":[\#(items[1])]}"# + "\n", next: "/items?page=3"),
    page(#"{"items":[\#(items[2])]}"#))

  @Test func documentsAsTheyCome() async throws {
    try await with(Self.three) { box, api in
      let run = try await box.run("get", "/items?page=1", "--paginate", env: Self.env)
      #expect(run.status == 0 && run.stderr == "", "\(run.stderr)")
      #expect(
        run.stdout == #"{"items": [\#(Self.items[0])]}{"items":[\#(Self.items[1])]}"# + "\n"
          + #"{"items":[\#(Self.items[2])]}"#)
      #expect(lines(api) == ["GET /items?page=1", "GET /items?page=2", "GET /items?page=3"])
      for text in api.texts { #expect(text.contains("Authorization: Bearer a-token-of-ours\r\n")) }
    }
  }

  @Test func oneArrayOfPages() async throws {
    try await with(Self.three) { box, api in
      let run = try await box.run(
        "request", "GET", "/items?page=1", "--paginate", "--slurp", env: Self.env)
      #expect(run.status == 0 && run.stderr == "", "\(run.stderr)")
      #expect(
        run.stdout == #"[{"items": [\#(Self.items[0])]},{"items":[\#(Self.items[1])]},"#
          + #"{"items":[\#(Self.items[2])]}]"# + "\n")
      #expect(try JSON(parsing: run.stdout).elements.count == 3)
    }
  }

  @Test func elementsLineByLine() async throws {
    let lines = [
      #"{"n":1.0,"e":1e5,"big":123456789012345678901234567890}"#, #""é\n/""#, "[-0.10]",
    ]
    try await with(Self.three) { box, api in
      let run = try await box.run("get", "/items", "--paginate", "--each", "/items", env: Self.env)
      #expect(run.status == 0 && run.stderr == "", "\(run.stderr)")
      #expect(run.stdout == lines.map { $0 + "\n" }.joined())
    }
    try await with({ _, _ in .http(200, "[\(Self.items.joined(separator: ","))]") }) { box, api in
      for words in [["get", "/"], ["post", "/", "-d", "a=1"]] {
        let run = try await box.run(words + ["--each", ""], env: Self.env)
        #expect(run.status == 0 && run.stderr == "", "\(run.stderr)")
        #expect(run.stdout == lines.map { $0 + "\n" }.joined())
      }
      let file = box.root + "/lines"
      let run = try await box.run(
        "get", "/", "--each", "", "--max-items", "2", "-o", file, env: Self.env)
      #expect(run.status == 0 && run.stdout == "" && run.stderr == "", "\(run.stderr)")
      #expect(box.read("lines") == lines[0] + "\n" + lines[1] + "\n")
    }
  }

  /// By a URL in the body and by a cursor, from the command line and from the recipe.
  @Test func nextInTheBody() async throws {
    let cases: [(option: [String], recipe: String, answers: [String], asked: [String])] = [
      (
        ["--next", "/next"], "next = \"/next\"",
        [#"{"next":"/x?page=2"}"#, #"{"next":"?page=3"}"#, #"{"next":null}"#],
        ["GET /x?a=1&cursor=0", "GET /x?page=2", "GET /x?page=3"]
      ),
      (
        ["--next-cursor", "/meta/c=cursor"], "cursor = \"/meta/c=cursor\"",
        [#"{"meta":{"c":"b&/é"}}"#, #"{"meta":{"c":17}}"#, #"{"meta":{}}"#],
        ["GET /x?a=1&cursor=0", "GET /x?a=1&cursor=b%26%2F%C3%A9", "GET /x?a=1&cursor=17"]
      ),
    ]
    for (option, recipe, answers, asked) in cases {
      let answers = answers.map { Recorder.Answer.http(200, $0) }
      let answering: Recorder.Answering = { index, _ in answers[index % 3] }
      for profile in ["", "[pages]\n" + recipe] {
        try await with(answering, profile: profile) { box, api in
          let run = try await box.run(
            ["get", "/x?a=1&cursor=0", "--paginate"] + (profile.isEmpty ? option : []),
            env: Self.env)
          #expect(run.status == 0 && run.stderr == "", "\(run.stderr)")
          #expect(lines(api) == asked)
        }
      }
    }
  }

  /// What was said is all that is followed; without it the body is followed where it is beyond doubt.
  @Test func whatIsNotFollowed() async throws {
    try await with({ _, _ in Self.page(#"{"next":"/b"}"#) }) { box, api in
      let run = try await box.run("get", "/a", "--paginate", env: Self.env)
      #expect(run.status == 0 && run.stdout == #"{"next":"/b"}"#)
      #expect(run.stderr == "hint: this was one page; --next /next may lead to more\n")
      #expect(lines(api) == ["GET /a"])
    }
    try await with({ _, _ in Self.page("{}", next: "/b") }) { box, api in
      let run = try await box.run("get", "/a", "--paginate", "--next", "/next", env: Self.env)
      #expect(run.status == 0 && run.stdout == "{}" && run.stderr == "")
      #expect(lines(api) == ["GET /a"])
    }
    try await with(Recorder.list(.http(200, #"{"@odata.nextLink":"/b"}"#), .http(200, "{}"))) {
      box, api in
      let run = try await box.run("get", "/a", "--paginate", env: Self.env)
      #expect(run.status == 0 && run.stderr == "" && lines(api) == ["GET /a", "GET /b"])
    }
  }

  @Test func bounds() async throws {
    let endless: Recorder.Answering = { index, _ in Self.page("[1,2]", next: "/?page=\(index)") }
    try await with(endless) { box, api in
      var asked = 0
      for (options, stdout, requests) in [
        (["--max-pages", "2"], "[1,2][1,2]", 2), (["--max-pages", "1", "--slurp"], "[[1,2]]\n", 1),
        (["--each", "", "--max-items", "3"], "1\n2\n1\n", 2),
        (["--each", "", "--max-items", "2"], "1\n2\n", 1),
        (["--each", "", "--max-items", "9", "--max-pages", "2"], "1\n2\n1\n2\n", 2),
      ] {
        let run = try await box.run(["get", "/", "--paginate"] + options, env: Self.env)
        asked += requests
        #expect(run.status == 0 && run.stdout == stdout && run.stderr == "", "\(options): \(run)")
        #expect(api.connections.count == asked, "\(options)")
      }
    }
  }

  /// Where the next page is, and what is said: 13 after what was fetched, and nobody else is asked.
  @Test func pagesElsewhereAndLoops() async throws {
    try await Sandbox.with(.none) { box in
      let other = try box.recorder(at: "127.0.0.2")
      let next = Mutable("")
      let api = try box.recorder { _, request in
        String(decoding: request, as: UTF8.self).hasPrefix("GET /leave")
          ? .redirect(to: other.url + "/x") : Self.page(#"{"id":1}"#, next: next.value)
      }
      try box.profile("shop", "url = \"\(api.url)\"\n")
      box.canary.watch("a-token-of-ours")
      let back = "leads back to a page that was fetched"
      let cases = [
        (other.url + "/b", "\(other.url) is not where these pages come from"),
        ("//\(other.authority)/b", "\(other.url) is not where these pages come from"),
        (api.url.replacingOccurrences(of: "http", with: "https"), "is not where"),
        ("http://ada@\(api.authority)/", "it holds user"), ("file:///etc/passwd", "its scheme"),
        ("/a?page=1", "\(api.url)/a \(back)"), ("", "\(api.url)/a \(back)"),
        ("?page=1#top", "\(api.url)/a \(back)"),
      ]
      for anonymous in [[], ["--anonymous"]] {
        for (target, words) in cases {
          next.value = target
          let run = try await box.run(
            ["get", api.url + "/a?page=1", "--paginate"] + anonymous, env: Self.env)
          #expect(run.status == 13 && run.stdout == #"{"id":1}"#, "\(target): \(run)")
          let start = "authctl: refused to go on behind page 1: "
          #expect(run.stderr.hasPrefix(start) && run.stderr.contains(words), "\(run.stderr)")
          #expect(run.hasErrorForm, "\(run.stderr)")
        }
      }
      next.value = "/leave"
      let run = try await box.run(
        "get", "/a", "--paginate", "--slurp", "--errors", "json", env: Self.env)
      #expect(run.status == 13 && run.stdout == "", "\(run)")
      #expect(try JSON(parsing: run.stderr)["error"]?["code"]?.string == "origin_refused")
      #expect(run.stderr.contains("refused to follow a redirect to \(other.url)"))
      #expect(other.connections.isEmpty)
    }
  }

  @Test func longerLoopsAndCursorsThatRepeat() async throws {
    try await with({ index, _ in Self.page("\(index)\n", next: "/?p=\((index + 1) % 5)") }) {
      box, api in
      let run = try await box.run("get", "/?p=0", "--paginate", env: Self.env)
      #expect(run.status == 13 && run.stdout == "0\n1\n2\n3\n4\n", "\(run)")
      #expect(
        run.stderr == "authctl: refused to go on behind page 5: \(api.url)/ leads back to a page"
          + " that was fetched\n")
    }
    try await with({ _, _ in .http(200, #"{"c":"same"}"#) }) { box, api in
      let run = try await box.run(
        "get", "/", "--paginate", "--next-cursor", "/c=c", "-o", box.root + "/out", env: Self.env)
      #expect(run.status == 13 && run.stdout == "", "\(run)")
      #expect(lines(api) == ["GET /", "GET /?c=same"])
      // A file is written whole or not at all.
      #expect(box.read("out") == nil)
    }
  }

  /// The failed answer's own code, after the pages before it.
  @Test func pageThatFails() async throws {
    let answers = Recorder.list(
      Self.page("[1]", next: "/2"), .http(404, #"{"message":"gone"}"#),
      Self.page("[1]", next: "/2"), .http(404, #"{"message":"gone"}"#),
      Self.page("[1]", next: "/2"), .http(404, #"{"message":"gone"}"#),
      Self.page("[1]", next: "/2"), .http(404, #"{"message":"gone"}"#),
      Self.page("[1]", next: "/2"), .http(404, #"{"message":"gone"}"#),
      Self.page("[1]", next: "/2"), .http(404, #"{"message":"gone"}"#))
    try await with(answers) { box, api in
      let status = "authctl: HTTP 404 Recorded: GET \(api.url)/2 (shop, AUTHCTL_TOKEN)\n"
      let excerpt = "  server: {\"message\":\"gone\"}\n"
      let file = box.root + "/out"
      for (options, code, stdout, stderr) in [
        ([], 4, #"[1]{"message":"gone"}"#, status), (["--slurp"], 4, "", excerpt + status),
        (["--each", ""], 4, "1\n", excerpt + status), (["-o", file], 4, "", excerpt + status),
        (["--ok", "404"], 0, #"[1]{"message":"gone"}"#, ""),
        (["--ok", "404", "--each", ""], 0, "1\n", ""),
      ] as [([String], Int32, String, String)] {
        let run = try await box.run(["get", "/1", "--paginate"] + options, env: Self.env)
        #expect(run.status == code && run.stdout == stdout, "\(options): \(run)")
        #expect(run.stderr == stderr, "\(options)")
      }
      #expect(box.read("out") == nil)
    }
  }

  @Test func pagesThatAreNotUnderstood() async throws {
    for (body, options, message) in [
      (#"{"a":1}"#, ["--each", "/items"], "the answer has no array at /items: object: a number"),
      ("<p>", ["--each", "/items"], "the answer is not JSON: a value was expected at byte 0"),
      (#"{"a":[],"a":[]}"#, ["--each", "/a"], "the answer has a key of /a twice"),
      ("{", ["--paginate", "--slurp"], "page 1 is not JSON: the text ends early at byte 1"),
      (#"{"n":2}"#, ["--paginate", "--next", "/n"], "the next page, /n, is no URL: number"),
      ("{", ["--paginate", "--next", "/n"], "page 1 is not JSON: the text ends early at byte 1"),
      (
        #"{"n":[2]}"#, ["--paginate", "--next-cursor", "/n=c"],
        "the cursor, /n, is no text: array"
      ),
    ] {
      try await with({ _, _ in .http(200, body) }) { box, _ in
        let run = try await box.run(["get", "/"] + options, env: Self.env)
        #expect(run.status == 1, "\(options): \(run)")
        #expect(run.stderr.hasPrefix("authctl: \(message)\n"), "\(run.stderr)")
        #expect(run.hasErrorForm)
      }
    }
    // Nothing there is no failure.
    for body in ["", #"{"items":null}"#, #"{"items":[]}"#] {
      try await with({ _, _ in .http(200, body) }) { box, _ in
        let run = try await box.run("get", "/", "--each", "/items", env: Self.env)
        #expect(run.status == 0 && run.stdout == "" && run.stderr == "", "\(run)")
      }
    }
    try await with({ _, _ in .http(204) }) { box, _ in
      let run = try await box.run("get", "/", "--paginate", "--slurp", env: Self.env)
      #expect(run.status == 0 && run.stdout == "[]\n" && run.stderr == "", "\(run)")
    }
  }

  @Test func headsAndFiles() async throws {
    try await with({ index, _ in Self.page("[\(index)]", next: index % 2 == 0 ? "/2" : nil) }) {
      box, _ in
      let options = ["get", "/1", "--paginate", "-i"]
      let run = try await box.run(options, env: Self.env)
      #expect(run.status == 0 && run.stderr == "")
      let parts = run.stdout.components(separatedBy: "HTTP/1.1 200 Recorded\r\n")
      #expect(parts.count == 3 && parts[1].hasSuffix("\r\n\r\n[0]"), "\(run.stdout)")
      #expect(parts.last?.hasSuffix("\r\n\r\n[1]") == true, "\(run.stdout)")

      let file = box.root + "/out"
      let plain = try await box.run("get", "/1", "--paginate", "-o", file, env: Self.env)
      #expect(plain.status == 0 && plain.stdout == "" && plain.stderr == "")
      #expect(box.read("out") == "[2][3]")
      let heads = try await box.run(options + ["-o", file], env: Self.env)
      #expect(heads.status == 0 && heads.stdout == "" && heads.stderr == "")
      #expect(box.read("out")?.components(separatedBy: "HTTP/1.1 200 Recorded\r\n").count == 3)
      #expect(box.read("out")?.hasSuffix("\r\n\r\n[5]") == true)
      let slurp = try await box.run("get", "/1", "--paginate", "--slurp", "-o", file, env: Self.env)
      #expect(slurp.status == 0 && slurp.stdout == "" && box.read("out") == "[[6],[7]]\n")
    }
  }

  @Test func optionsThatDoNotGoTogether() async throws {
    try await with(Recorder.ok) { box, api in
      for (words, message) in [
        (["post", "/", "--paginate"], "--paginate goes with GET"),
        (["head", "/", "--paginate"], "--paginate goes with GET"),
        (["head", "/", "--each", "/a"], "the answer to HEAD has no body"),
        (["get", "/", "--slurp"], "--slurp goes with --paginate"),
        (["get", "/", "--next", "/n"], "--next goes with --paginate"),
        (["get", "/", "--next-cursor", "/n=c"], "--next-cursor goes with --paginate"),
        (["get", "/", "--max-pages", "2"], "--max-pages goes with --paginate"),
        (["get", "/", "--paginate", "--max-items", "2"], "--max-items goes with --each"),
        (["get", "/", "--paginate", "--max-pages", "0"], "--max-pages must be 1 or more"),
        (["get", "/", "--each", "", "--max-items", "-1"], "--max-items must be 1 or more"),
        (
          ["get", "/", "--paginate", "--slurp", "--each", ""],
          "--slurp and --each exclude each other"
        ),
        (["get", "/", "--paginate", "--slurp", "-i"], "--slurp and -i exclude each other"),
        (
          ["get", "/", "--paginate", "--next", "/a", "--next-cursor", "/b=c"],
          "--next and --next-cursor exclude each other"
        ),
        (["get", "/", "--each", "items"], "--each is not a JSON Pointer"),
        (["get", "/", "--paginate", "--next", "next"], "--next is not a JSON Pointer"),
        (
          ["get", "/", "--paginate", "--next-cursor", "/c"],
          "--next-cursor is not POINTER=NAME"
        ),
      ] {
        let run = try await box.run(words, env: Self.env)
        #expect(run.status == 2 && run.stdout == "", "\(words): \(run)")
        #expect(run.stderr.hasPrefix("authctl: \(message)\n") && run.hasErrorForm, "\(run.stderr)")
      }
      #expect(api.connections.isEmpty)
    }
  }

  @Test func mistakesInTheRecipe() async throws {
    for (text, message) in [
      ("next = \"next\"", ":3:1: pages.next: must be a JSON Pointer: /next"),
      ("cursor = \"/next\"", "pages.cursor: must be POINTER=PARAMETER: /meta/cursor=cursor"),
      ("next = \"/a\"\ncursor = \"/b=c\"", "pages.cursor: excludes pages.next"),
      ("nxt = \"/a\"", "unknown key pages.nxt"), ("next = 1", "pages.next: must be text"),
    ] {
      try await with(Recorder.ok, profile: "[pages]\n" + text) { box, _ in
        let run = try await box.run("profile", "check", "shop")
        #expect(run.status != 0)
        #expect((run.stdout + run.stderr).contains(message), "\(run)")
      }
    }
  }

  /// A renewal in the middle serves all pages behind it.
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
        return Self.page("[\(page)]", next: page < 6 ? "/p\(page + 1)" : nil)
      }
      try box.profile("shop", Scene.profile(api.url))
      try await box.signIn("shop")
      let run = try await box.run("get", "/p1", "--paginate", "--retry", "2")
      #expect(run.status == 0 && run.stdout == "[1][2][3][4][5][6]" && run.stderr == "", "\(run)")
      #expect(
        lines(api) == [
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

  /// What it takes at page 100 is what it takes at page 1000.
  @Test(arguments: [["--each", "/items", "--next-cursor", "/next=page"], []])
  func memoryIsFlat(options: [String]) async throws {
    try await Sandbox.with(.none) { box in
      let (pid, sizes) = (Mutable(pid_t(0)), Mutable([Int]()))
      let text = String(repeating: "x", count: options.isEmpty ? 50_000 : 3000)
      let api = try box.recorder { index, _ in
        if index == 100 || index == 999 { sizes.value += [Self.residentKilobytes(pid.value)] }
        let next = index < 999 ? "\(index + 1)" : "null"
        return Self.page(
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
