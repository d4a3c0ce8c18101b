import Glibc
import Testing

/// Options for the response: `-I -D -O -J --output-dir --pointer -w -A -b` (design 8).
@Suite struct AnswerOptionTests {
  private static let token = "a-token-of-ours"
  private static let env: [String: String?] = ["AUTHCTL_TOKEN": token]
  private static let head =
    "HTTP/1.1 200 Recorded\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"
    + "Connection: close\r\n\r\n"

  /// Runs `body` with a profile whose server answers this way; commands run in `home/here`.
  private func with(
    _ answer: @escaping Recorder.Answering, profile: String = "",
    _ body: (Sandbox, Recorder, String) async throws -> Void
  ) async throws {
    try await Sandbox.with(.none) { box in
      let api = try box.recorder(answering: answer)
      try box.profile("shop", "url = \"\(api.url)\"\n" + profile)
      box.canary.watch(Self.token)
      mkdir(box.home + "/here", 0o755)
      try await body(box, api, box.home + "/here")
    }
  }

  // MARK: - Heads

  @Test func headAlone() async throws {
    try await with(Recorder.ok) { box, api, _ in
      for words in [["get", "-I", "/x"], ["head", "/x"], ["head", "-I", "/x"]] {
        let run = try await box.run(words, env: Self.env)
        #expect(run.status == 0 && run.stderr == "", "\(run.stderr)")
        #expect(run.stdout == Self.head, "\(words)")
      }
      #expect(api.texts.allSatisfy { $0.hasPrefix("HEAD /x HTTP/1.1\r\n") })
      let post = try await box.run("post", "-I", "/x", env: Self.env)
      #expect(post.status == 2 && post.stdout == "")
      #expect(
        post.stderr
          == "authctl: -I cannot be used with POST\nhint: use -i to print the headers too\n")
      #expect(api.connections.count == 3)
    }
  }

  @Test func headIntoAFile() async throws {
    try await with(Recorder.ok) { box, api, here in
      let run = try await box.run("get", "/x", "-Dhead", env: Self.env, directory: here)
      #expect(run.status == 0 && run.stdout == "{}" && run.stderr == "", "\(run.stderr)")
      #expect(box.read("home/here/head") == Self.head)
      // An existing file becomes readable only by this user, and is truncated.
      try box.write("home/here/old", String(repeating: "x", count: 999), mode: 0o644)
      #expect(
        try await box.run("get", "/x", "-D", "old", env: Self.env, directory: here).status == 0)
      #expect(box.read("home/here/old") == Self.head)
      for name in ["head", "old"] {
        var info = stat()
        #expect(stat(here + "/" + name, &info) == 0 && info.st_mode & 0o777 == 0o600)
      }
      let both = try await box.run("get", "/x", "-D-", env: Self.env)
      #expect(both.status == 0 && both.stdout == Self.head + "{}")
      let seen = api.connections.count
      symlink("head", here + "/link")
      for option in ["-D", "--trace"] {
        let link = try await box.run("get", "/x", option, "link", env: Self.env, directory: here)
        #expect(link.status == 1 && link.stdout == "")
        #expect(link.stderr == "authctl: \(option) link: it is a symbolic link\n")
      }
      #expect(api.connections.count == seen && box.read("home/here/head") == Self.head)
    }
  }

  @Test func secretHeadersAreMasked() async throws {
    let answer: Recorder.Answering = { _, _ in
      .http(200, "{}", headers: [("X-New", "n1"), ("Set-Cookie", "sid=s1"), ("X-Plain", "p1")])
    }
    let profile = """
      [session]
      keep = { new = "header:X-New" }
      [request]
      headers = { Authorization = "Bearer {access_token}" }
      cookies = true
      """
    try await with(answer, profile: profile) { box, _, here in
      for (more, isShown) in [([], false), (["--show-secrets"], true)] {
        let run = try await box.run(
          [
            "get", "/x", "-i", "-D", "head", "-w",
            "%header{x-new} %header{set-cookie}%{header_json}",
          ]
            + more, env: Self.env, directory: here)
        #expect(run.status == 0 && run.stderr == "", "\(run.stderr)")
        for text in [run.stdout, box.read("home/here/head") ?? ""] {
          #expect(text.contains("X-New: \(isShown ? "n1" : "***")\r\n"), "\(text)")
          #expect(text.contains("Set-Cookie: \(isShown ? "sid=s1" : "***")\r\n"), "\(text)")
          #expect(text.contains("X-Plain: p1\r\n"), "\(text)")
        }
        #expect(run.stdout.contains(isShown ? "{}n1 sid=s1{" : "{}*** ***{"), "\(run.stdout)")
        #expect(run.stdout.contains(#""x-new":["\#(isShown ? "n1" : "***")"]"#))
      }
    }
  }

  // MARK: - Files

  @Test func fileByTheURLsName() async throws {
    try await with({ _, _ in .http(200, "body") }) { box, api, here in
      mkdir(here + "/into", 0o755)
      let calls: [([String], String)] = [
        (["-O", "/a/report.pdf?x=/y#z"], "report.pdf"),
        (["-O", "/%2e%2e"], "%2e%2e"), (["-O", api.url + "/from-url"], "from-url"),
        (["-O", "/report.pdf", "--output-dir", "into"], "into/report.pdf"),
        (["/x", "-o", "named", "--output-dir", "into/"], "into/named"),
      ]
      for (words, name) in calls {
        let run = try await box.run(["get"] + words, env: Self.env, directory: here)
        #expect(run.status == 0 && run.stdout == "" && run.stderr == "", "\(words) \(run.stderr)")
        #expect(box.read("home/here/" + name) == "body", "\(words)")
      }
      // The name comes from the URL as typed, whatever a redirect says, and nothing is overwritten.
      let seen = api.connections.count
      try box.write("home/here/mine", "old")
      symlink("nowhere", here + "/dangling")
      for name in ["mine", "dangling", "into"] {
        let run = try await box.run("get", "-O", "/" + name, env: Self.env, directory: here)
        #expect(run.status == 2 && run.stdout == "")
        #expect(
          run.stderr == """
            authctl: -O: \(name) already exists
            hint: use -o FILE to overwrite it

            """)
      }
      #expect(api.connections.count == seen && box.read("home/here/mine") == "old")
      #expect(list(here) == ["%2e%2e", "dangling", "from-url", "into", "mine", "report.pdf"])
    }
  }

  @Test func unwantedBodyIsNotSavedUnderTheURLsName() async throws {
    try await with({ _, _ in .http(404, "no such thing", type: "text/plain") }) { box, _, here in
      let run = try await box.run("get", "-O", "/thing", env: Self.env, directory: here)
      #expect(run.status == 4 && run.stdout == "" && list(here) == [])
      #expect(run.stderr.contains("  server: no such thing\n"), "\(run.stderr)")
    }
  }

  /// A file created during the request is not overwritten either.
  @Test func fileThatCameMeanwhileStays() async throws {
    let place = Mutable("")
    let answer: Recorder.Answering = { _, _ in
      let file = open(place.value, O_WRONLY | O_CREAT | O_EXCL, 0o600)
      write(file, "old", 3)
      close(file)
      return .http(200, "new")
    }
    try await with(answer) { box, _, here in
      place.value = here + "/thing"
      let run = try await box.run("get", "-O", "/thing", env: Self.env, directory: here)
      #expect(run.status == 2 && run.stdout == "", "\(run.stderr)")
      #expect(run.stderr.contains("thing already exists"), "\(run.stderr)")
      #expect(box.read("home/here/thing") == "old" && list(here) == ["thing"])
    }
  }

  /// Names that are refused for a file, from the URL and from the server.
  static let badNames = [
    "", ".", "..", ".bashrc", "..\\x", "a\\b", String(repeating: "x", count: 201),
    "a\u{202E}b", "a\u{2066}b", "a\u{200B}b", "a\u{85}b",
  ]
  static let badServerNames =
    badNames + ["../x", "a/b", "/etc/passwd", "a\tb", "a\u{1B}[2Jb", "\u{E0041}", "./a"]

  @Test func refusedNames() async throws {
    let name = Mutable("")
    let answer: Recorder.Answering = { _, _ in
      .http(
        200, "body", type: "text/plain",
        headers: [("Content-Disposition", "attachment; filename=\"\(name.value)\"")])
    }
    try await with(answer) { box, api, here in
      for bad in Self.badNames {
        let run = try await box.run("get", "-O", "/x/" + bad, env: Self.env, directory: here)
        #expect(run.status == 2 && run.stdout == "", "\(bad.debugDescription): \(run.stderr)")
        #expect(run.stderr.hasPrefix("authctl: -O: "), "\(run.stderr)")
        #expect(run.stderr.hasSuffix("\nhint: use -o FILE to choose the name\n"), "\(run.stderr)")
      }
      #expect(api.connections.isEmpty)
      for bad in Self.badServerNames {
        name.value = bad.replacing("\\", with: "\\\\")
        let run = try await box.run("get", "-OJ", "/x", env: Self.env, directory: here)
        #expect(run.status == 2 && run.stdout == "", "\(bad.debugDescription): \(run.stderr)")
        #expect(run.stderr.hasPrefix("authctl: -J: "), "\(run.stderr)")
        #expect(run.stderrBytes.allSatisfy { $0 == 10 || $0 >= 0x20 && $0 != 0x7F })
      }
      #expect(list(here) == [] && api.connections.count == Self.badServerNames.count)
    }
  }

  @Test func serversName() async throws {
    let field = Mutable("")
    let answer: Recorder.Answering = { _, _ in
      .http(200, "body", headers: [("Content-Disposition", field.value)])
    }
    try await with(answer) { box, _, here in
      let fields: [(String, String)] = [
        ("attachment; filename=plain.txt", "plain.txt"),
        (#"attachment; filename="two words; and \"more\".txt""#, #"two words; and "more".txt"#),
        ("attachment; filename=old.txt; filename*=UTF-8'en'new%20%C3%A9.txt", "new é.txt"),
        ("attachment; filename*=ISO-8859-1''x; FileName=other.txt", "other.txt"),
        ("inline", "by-url"), ("attachment; filename*=UTF-8''%FF", "by-url-too"),
      ]
      for (value, name) in fields {
        field.value = value
        let target = name.hasPrefix("by-url") ? "/" + name : "/x"
        let run = try await box.run("get", "-O", "-J", target, env: Self.env, directory: here)
        #expect(run.status == 0 && run.stdout == "" && run.stderr == "", "\(run.stderr)")
        #expect(box.read("home/here/" + name) == "body", "\(value): \(list(here))")
      }
      field.value = "attachment; filename=plain.txt"
      let again = try await box.run("get", "-OJ", "/x", env: Self.env, directory: here)
      #expect(again.status == 2 && again.stderr.contains("plain.txt already exists"))
      let alone = try await box.run("get", "-J", "/x", env: Self.env, directory: here)
      #expect(alone.status == 2 && alone.stderr.hasPrefix("authctl: -J requires -O\n"))
      let both = try await box.run("get", "-O", "-o", "f", "/x", env: Self.env, directory: here)
      #expect(
        both.status == 2 && both.stderr.hasPrefix("authctl: -o and -O cannot be used together\n"))
    }
  }

  // MARK: - Request headers

  @Test func agentAndCookies() async throws {
    try await with(Recorder.ok) { box, api, _ in
      let calls: [([String], [String], [String])] = [
        (["-A", "mine/1"], ["User-Agent: mine/1"], []), (["-Amine/2"], ["User-Agent: mine/2"], []),
        (["-A", ""], [], ["User-Agent"]),
        (["-A", "a", "-H", "User-Agent: b"], ["User-Agent: b"], ["User-Agent: a"]),
        (["-b", "a=1", "-b", "b=2; c=3"], ["Cookie: a=1; b=2; c=3"], []),
        (["-ba=1"], ["Cookie: a=1"], []),
      ]
      for (index, (words, wanted, unwanted)) in calls.enumerated() {
        let run = try await box.run(["get", "/x"] + words, env: Self.env)
        #expect(run.status == 0 && run.stdout == "{}" && run.stderr == "", "\(run.stderr)")
        let lines = api.texts[index].split(separator: "\r\n", omittingEmptySubsequences: false).map(
          String.init)
        #expect(wanted.allSatisfy(lines.contains), "\(words): \(lines)")
        #expect(!unwanted.contains { name in lines.contains { $0.hasPrefix(name) } }, "\(lines)")
      }
      let file = try await box.run("get", "/x", "-b", "cookies.txt", env: Self.env)
      #expect(file.status == 2 && file.stderr.hasPrefix("authctl: -b cookies.txt: write NAME="))
      try box.profile("jar", "url = \"\(api.url)\"\n[request]\ncookies = true\n")
      let own = try await box.run("get", "-p", "jar", "/x", "-b", "a=1", env: Self.env)
      #expect(own.status == 2 && own.stdout == "")
      #expect(
        own.stderr == """
          authctl: -b: jar sends its credential in that header
          hint: use --anonymous to send your own

          """)
      #expect(api.connections.count == calls.count)
    }
  }
}
