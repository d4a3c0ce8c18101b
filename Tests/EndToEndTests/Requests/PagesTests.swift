import Testing

/// `--paginate`, `--each`, `--slurp`: the pages requested and the output (design 8).
@Suite struct PagesTests {
  /// Numbers that a parser would change, escapes, and spaces in some places.
  private static let items = [
    #"{"n": 1.0, "e":1e5, "big":123456789012345678901234567890}"#, #""\u00e9\n/""#, "[ -0.10 ]",
  ]

  private static let three = Recorder.list(
    .http(
      200, #"{"items": [\#(items[0])]}"#,
      headers: [
        ("Link", #"</items?page=0>; rel="prev"; title="a, <b>; rel=next""#),
        ("Link", #"</items?page=9>; rel=last, <?page=2>; rel="next""#),
      ]), PagesScene.page(#"{"items":[\#(items[1])]}"# + "\n", next: "/items?page=3"),
    PagesScene.page(#"{"items":[\#(items[2])]}"#))

  @Test func documentsAsTheyCome() async throws {
    try await PagesScene.with(Self.three) { box, api in
      let run = try await box.run("get", "/items?page=1", "--paginate", env: PagesScene.env)
      #expect(run.status == 0 && run.stderr == "", "\(run.stderr)")
      #expect(
        run.stdout == #"{"items": [\#(Self.items[0])]}{"items":[\#(Self.items[1])]}"# + "\n"
          + #"{"items":[\#(Self.items[2])]}"#)
      #expect(
        PagesScene.lines(api) == ["GET /items?page=1", "GET /items?page=2", "GET /items?page=3"])
      for text in api.texts { #expect(text.contains("Authorization: Bearer a-token-of-ours\r\n")) }
    }
  }

  @Test func oneArrayOfPages() async throws {
    try await PagesScene.with(Self.three) { box, api in
      let run = try await box.run(
        "request", "GET", "/items?page=1", "--paginate", "--slurp", env: PagesScene.env)
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
    try await PagesScene.with(Self.three) { box, api in
      let run = try await box.run(
        "get", "/items", "--paginate", "--each", "/items", env: PagesScene.env)
      #expect(run.status == 0 && run.stderr == "", "\(run.stderr)")
      #expect(run.stdout == lines.map { $0 + "\n" }.joined())
    }
    try await PagesScene.with({ _, _ in .http(200, "[\(Self.items.joined(separator: ","))]") }) {
      box, api in
      for words in [["get", "/"], ["post", "/", "-d", "a=1"]] {
        let run = try await box.run(words + ["--each", ""], env: PagesScene.env)
        #expect(run.status == 0 && run.stderr == "", "\(run.stderr)")
        #expect(run.stdout == lines.map { $0 + "\n" }.joined())
      }
      let file = box.root + "/lines"
      let run = try await box.run(
        "get", "/", "--each", "", "--max-items", "2", "-o", file, env: PagesScene.env)
      #expect(run.status == 0 && run.stdout == "" && run.stderr == "", "\(run.stderr)")
      #expect(box.read("lines") == lines[0] + "\n" + lines[1] + "\n")
    }
  }

  /// The next page by a URL in the body and by a cursor, from the command line and from the recipe.
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
        try await PagesScene.with(answering, profile: profile) { box, api in
          let run = try await box.run(
            ["get", "/x?a=1&cursor=0", "--paginate"] + (profile.isEmpty ? option : []),
            env: PagesScene.env)
          #expect(run.status == 0 && run.stderr == "", "\(run.stderr)")
          #expect(PagesScene.lines(api) == asked)
        }
      }
    }
  }

  /// Only what an option names is followed; without an option, only an unambiguous body is.
  @Test func whatIsNotFollowed() async throws {
    try await PagesScene.with({ _, _ in PagesScene.page(#"{"next":"/b"}"#) }) { box, api in
      let run = try await box.run("get", "/a", "--paginate", env: PagesScene.env)
      #expect(run.status == 0 && run.stdout == #"{"next":"/b"}"#)
      #expect(run.stderr == "hint: this is one page; for more, try --next /next\n")
      #expect(PagesScene.lines(api) == ["GET /a"])
    }
    try await PagesScene.with({ _, _ in PagesScene.page("{}", next: "/b") }) { box, api in
      let run = try await box.run("get", "/a", "--paginate", "--next", "/next", env: PagesScene.env)
      #expect(run.status == 0 && run.stdout == "{}" && run.stderr == "")
      #expect(PagesScene.lines(api) == ["GET /a"])
    }
    try await PagesScene.with(
      Recorder.list(.http(200, #"{"@odata.nextLink":"/b"}"#), .http(200, "{}"))
    ) {
      box, api in
      let run = try await box.run("get", "/a", "--paginate", env: PagesScene.env)
      #expect(run.status == 0 && run.stderr == "" && PagesScene.lines(api) == ["GET /a", "GET /b"])
    }
  }

  /// The text before, between and after the status lines in `text`.
  private func split(_ text: String) -> [Substring] {
    text.split(separator: "HTTP/1.1 200 Recorded\r\n", omittingEmptySubsequences: false)
  }

  @Test func headsAndFiles() async throws {
    try await PagesScene.with({ index, _ in
      PagesScene.page("[\(index)]", next: index % 2 == 0 ? "/2" : nil)
    }) {
      box, _ in
      let options = ["get", "/1", "--paginate", "-i"]
      let run = try await box.run(options, env: PagesScene.env)
      #expect(run.status == 0 && run.stderr == "")
      let parts = split(run.stdout)
      #expect(parts.count == 3 && parts[1].hasSuffix("\r\n\r\n[0]"), "\(run.stdout)")
      #expect(parts.last?.hasSuffix("\r\n\r\n[1]") == true, "\(run.stdout)")

      let file = box.root + "/out"
      let plain = try await box.run("get", "/1", "--paginate", "-o", file, env: PagesScene.env)
      #expect(plain.status == 0 && plain.stdout == "" && plain.stderr == "")
      #expect(box.read("out") == "[2][3]")
      let heads = try await box.run(options + ["-o", file], env: PagesScene.env)
      #expect(heads.status == 0 && heads.stdout == "" && heads.stderr == "")
      #expect(split(box.read("out") ?? "").count == 3)
      #expect(box.read("out")?.hasSuffix("\r\n\r\n[5]") == true)
      let slurp = try await box.run(
        "get", "/1", "--paginate", "--slurp", "-o", file, env: PagesScene.env)
      #expect(slurp.status == 0 && slurp.stdout == "" && box.read("out") == "[[6],[7]]\n")
    }
  }

  @Test func optionsThatDoNotGoTogether() async throws {
    try await PagesScene.with(Recorder.ok) { box, api in
      for (words, message) in [
        (["post", "/", "--paginate"], "--paginate requires GET"),
        (["head", "/", "--paginate"], "--paginate requires GET"),
        (["head", "/", "--each", "/a"], "the answer to HEAD has no body"),
        (["get", "/", "--slurp"], "--slurp requires --paginate"),
        (["get", "/", "--next", "/n"], "--next requires --paginate"),
        (["get", "/", "--next-cursor", "/n=c"], "--next-cursor requires --paginate"),
        (["get", "/", "--max-pages", "2"], "--max-pages requires --paginate"),
        (["get", "/", "--paginate", "--max-items", "2"], "--max-items requires --each"),
        (["get", "/", "--paginate", "--max-pages", "0"], "--max-pages must be 1 or more"),
        (["get", "/", "--each", "", "--max-items", "-1"], "--max-items must be 1 or more"),
        (
          ["get", "/", "--paginate", "--slurp", "--each", ""],
          "--slurp and --each cannot be used together"
        ),
        (["get", "/", "--paginate", "--slurp", "-i"], "--slurp and -i cannot be used together"),
        (
          ["get", "/", "--paginate", "--next", "/a", "--next-cursor", "/b=c"],
          "--next and --next-cursor cannot be used together"
        ),
        (["get", "/", "--each", "items"], "--each is not a JSON Pointer"),
        (["get", "/", "--paginate", "--next", "next"], "--next is not a JSON Pointer"),
        (
          ["get", "/", "--paginate", "--next-cursor", "/c"],
          "--next-cursor is not POINTER=NAME"
        ),
      ] {
        let run = try await box.run(words, env: PagesScene.env)
        #expect(run.status == 2 && run.stdout == "", "\(words): \(run)")
        #expect(run.stderr.hasPrefix("authctl: \(message)\n") && run.hasErrorForm, "\(run.stderr)")
      }
      #expect(api.connections.isEmpty)
    }
  }

  @Test func mistakesInTheRecipe() async throws {
    for (text, message) in [
      ("next = \"next\"", ":3:1: pages.next: must be a JSON Pointer, as in /next"),
      ("cursor = \"/next\"", "pages.cursor: must be POINTER=PARAMETER, as in /meta/cursor=cursor"),
      ("next = \"/a\"\ncursor = \"/b=c\"", "pages.cursor: cannot be used together with pages.next"),
      ("nxt = \"/a\"", "unknown key pages.nxt"), ("next = 1", "pages.next: must be a string"),
    ] {
      try await PagesScene.with(Recorder.ok, profile: "[pages]\n" + text) { box, _ in
        let run = try await box.run("profile", "check", "shop")
        #expect(run.status != 0)
        #expect((run.stdout + run.stderr).contains(message), "\(run)")
      }
    }
  }
}
