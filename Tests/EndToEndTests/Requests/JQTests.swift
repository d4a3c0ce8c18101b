import Glibc
import Testing

/// `--jq`: results of a filter (design 8).
@Suite struct JQTests {
  private static let json =
    #"{"data":[{"id":1,"n":"one\ntwo"},{"id":2,"n":"\u001b[2J"}],"null":null}"#

  private func with(
    _ body: (Sandbox, Recorder, (_ words: [String]) async throws -> Run) async throws -> Void
  ) async throws {
    try await Sandbox.with(.none) { box in
      let api = try box.recorder { _, request in
        switch Scene.route(of: request) {
        case "GET /json": .http(200, Self.json)
        case "GET /empty": .http(204, "")
        case "GET /html": .http(200, "<p>", type: "text/html")
        case "GET /1": .http(200, #"{"items":[{"a":"x"},{"a":2}],"next":"/2"}"#)
        case "GET /2": .http(200, #"{"items":[{"a":3},4],"next":null}"#)
        case "GET /large": .http(200, "[" + String(repeating: "[],", count: 900_000) + "[]]")
        default: .http(404, #"{"message":"no"}"#)
        }
      }
      try box.profile("shop", "url = \"\(api.url)\"\n")
      try box.write("home/.jq", "def own: 1;")
      let env = ["AUTHCTL_TOKEN": box.canary.make("token")]
      try await body(box, api) { words in try await box.run(words, env: env) }
    }
  }

  @Test func results() async throws {
    try await with { _, _, run in
      let calls: [(String, String)] = [
        (".data[].n", "one\ntwo\n\u{1B}[2J\n"), (".data[]|{id}", "{\"id\":1}\n{\"id\":2}\n"),
        (".null, .none", "null\nnull\n"), ("empty", ""), (". # all\n|.data|length", "2\n"),
        ("def f: .data; f|length", "2\n"), (".data|length|halt", ""),
      ]
      for (filter, text) in calls {
        let run = try await run(["get", "/json", "--jq", filter])
        #expect(run.status == 0 && run.stdout == text && run.stderr == "", "\(filter)")
      }
    }
  }

  @Test func pagesAndElements() async throws {
    try await with { box, _, run in
      let pages = ["get", "/1", "--paginate", "--next", "/next", "--jq"]
      let each = try await run(pages + [".items|length"])
      #expect(each.status == 0 && each.stdout == "2\n2\n" && each.stderr == "")
      let file = try await run(pages + [".items[0].a", "-o", "saved"])
      #expect(file.status == 0 && file.stdout == "" && file.stderr == "")
      #expect(box.read("home/saved") == "x\n3\n")
      let elements = try await run(pages + [".a", "--each", "/items"])
      #expect(elements.status == 1 && elements.stdout == "x\n2\n3\n")
      // Some versions of libjq say: with string "a".
      #expect(
        elements.stderr.replacing(" string", with: "")
          == "authctl: --jq: Cannot index number with \"a\"\n")
    }
  }

  @Test func failures() async throws {
    try await with { _, api, run in
      let failed: [(String, String, String, String)] = [
        ("/json", ".data[0].id, .data.x", "1\n", "Cannot index array with string \"x\""),
        ("/json", "error(\"a\\nhint: b\")", "", "a \u{23CE} hint: b"),
        ("/json", "\"no\"|halt_error", "", "no"), ("/json", "error({a: 1})", "", "{\"a\":1}"),
        ("/json", "[-1]|implode", "", "implode needs an array of code points"),
        ("/empty", ".", "", "the answer is empty"),
        ("/html", ".", "", "the answer is not JSON: expected a value at byte 0"),
      ]
      for (target, filter, out, text) in failed {
        let run = try await run(["get", target, "--jq", filter])
        #expect(run.status == 1 && run.stdout == out, "\(filter)")
        #expect(run.stderr == "authctl: --jq: \(text)\n", "\(filter)")
      }
      let none = try await run(["get", "/none", "--jq", ".message"])
      #expect(none.status == 4 && none.stdout == #"{"message":"no"}"#)
      let large = try await run(["get", "/large", "--jq", "length"])
      #expect(large.status == 1 && large.stdout == "")
      #expect(
        large.stderr == """
          authctl: --jq: the answer would take more than 256 MiB of memory
          hint: use --each /POINTER to filter one element at a time

          """)
      let seen = api.connections.count
      let wrong: [([String], String)] = [
        ([".data["], "--jq: syntax error, unexpected "),
        (["nope"], "--jq: nope/0 is not defined\n"),
        ([""], "--jq: syntax error, unexpected "),
        ([".", "--pointer", "/data"], "--jq and --pointer cannot be used together\n"),
        ([".", "--paginate", "--slurp"], "--slurp and --jq cannot be used together\n"),
      ]
      for (words, text) in wrong {
        let run = try await run(["get", "/json", "--jq"] + words)
        #expect(run.status == 2 && run.stdout == "", "\(words)")
        #expect(run.stderr.hasPrefix("authctl: " + text), "\(run.stderr)")
      }
      #expect(api.connections.count == seen)
    }
  }

  /// Neither variables nor files are part of the input (rule T11).
  @Test func readsNothingButTheAnswer() async throws {
    try await with { _, _, run in
      for (filter, text) in [
        ("env", "{}\n"), ("$ENV", "{}\n"), ("$ENV.AUTHCTL_TOKEN, env.HOME", "null\nnull\n"),
        (".) | $ENV | (.", "{}\n"), ("input_filename", "null\n"), ("{}|stderr|debug", "{}\n"),
      ] {
        let run = try await run(["get", "/json", "--jq", filter])
        #expect(run.status == 0 && run.stdout == text && run.stderr == "", "\(filter)")
      }
      for filter in [
        "own", "import \"a\" as a; .", "include \"a\"; .",
        "import \"a\" as $a {search: \"/etc\"}; $a",
      ] {
        let run = try await run(["get", "/json", "--jq", filter])
        #expect(run.status == 2 && run.stdout == "", "\(filter)")
      }
      let module = try await run(["get", "/json", "--jq", "\"a\"|modulemeta"])
      #expect(module.status == 1 && module.stderr == "authctl: --jq: modules cannot be read\n")
    }
  }

  @Test func withoutLibjq() async throws {
    try await Sandbox.with(.none) { box in
      let api = try box.recorder()
      try box.profile("shop", "url = \"\(api.url)\"\n")
      // The dynamic linker takes this one, and it is no library.
      try box.write("broken/libjq.so.1", "")
      let env = ["LD_LIBRARY_PATH": box.root + "/broken", "AUTHCTL_TOKEN": "a-token-of-ours"]
      let run = try await box.run("get", "/json", "--jq", ".", env: env)
      #expect(run.status == 1 && run.stdout == "" && api.connections.count == 0)
      #expect(
        run.stderr == """
          authctl: --jq: libjq cannot be loaded: \(box.root)/broken/libjq.so.1: file too short

          """)
      #expect(try await box.run("get", "/json", env: env).status == 0)
    }
  }
}
