import Glibc
import Testing

/// What scripts rely on: the status of a refused request, data beside a fragment, files without a
/// length, codes and messages that fit what happened.
@Suite struct ScriptHabitTests {
  private static let env = ["AUTHCTL_TOKEN": "t0ken-of-the-variable"]

  private func withShop(
    _ answers: [String: Recorder.Answer], _ body: (Sandbox, Recorder) async throws -> Void
  ) async throws {
    try await Sandbox.with(.none) { box in
      let api = try box.recorder(answering: Scene.routes(answers))
      try box.profile("shop", "url = \"\(api.url)\"\n")
      try await body(box, api)
    }
  }

  /// The answer came: -w and -D say so, although nothing of its body is passed on.
  @Test func headOfARefusedRequest() async throws {
    let answer = Recorder.Answer.http(401, "{}", headers: [("X-Reason", "too old")])
    try await withShop(["GET /x": answer]) { box, _ in
      let run = try await box.run(
        "get", "/x", "-D", "head", "-o", "body", "-w", "%{http_code} %header{x-reason}\\n",
        env: Self.env)
      #expect(run.status == 11 && run.stdout == "401 too old\n", "\(run)")
      #expect(run.stderr.hasPrefix("authctl: shop: the token in AUTHCTL_TOKEN was refused"))
      #expect(box.read("home/head")?.hasPrefix("HTTP/1.1 401 ") == true)
      #expect(box.read("home/body") == nil)
    }
  }

  /// Nothing of a fragment is sent; what the options add is.
  @Test(arguments: [
    (["/x?z=1#part", "-G", "-d", "a=b"], "/x?z=1&a=b"), (["/x#part", "--field", "a=b"], "/x?a=b"),
    (["/x#?a", "--url-query", "a=b"], "/x?a=b"), (["/x#part"], "/x"),
  ])
  func dataBesideAFragment(words: [String], sent: String) async throws {
    try await withShop(["GET /x": .http(200, "{}")]) { box, api in
      let run = try await box.run(["get"] + words, env: Self.env)
      #expect(run.status == 0 && run.stderr == "", "\(run.stderr)")
      #expect(api.texts.last?.hasPrefix("GET \(sent) HTTP/1.1\r\n") == true, "\(api.texts)")
    }
  }

  /// The kernel tells no length for its files.
  @Test func bodyOfAFileWithoutALength() async throws {
    try await withShop(["POST /x": .http(200, "{}")]) { box, api in
      let run = try await box.run(
        "post", "/x", "--data-binary", "@/proc/version", env: Self.env)
      #expect(run.status == 0 && run.stderr == "", "\(run.stderr)")
      #expect(api.texts.last?.contains("Linux version") == true, "\(api.texts)")
    }
  }

  @Test func answerThatIsNotHTTP() async throws {
    try await withShop(["GET /x": .bytes(Array("220 mail.example ESMTP\r\n".utf8))]) { box, api in
      let run = try await box.run("get", "/x", env: Self.env)
      #expect(run.status == 7 && run.stdout == "")
      #expect(run.stderr == "authctl: the answer from \(api.url) is not HTTP\n")
    }
  }

  /// A combining mark at the start of a value belongs to the value.
  @Test func variableThatBeginsWithAMark() async throws {
    try await Sandbox.with(.none) { box in
      let run = try await box.run(
        "exec", "--", "/bin/sh", "-c", "printf %s \"$MARK\"",
        env: ["AUTHCTL_TOKEN": "a", "AUTHCTL_URL": "https://h.example", "MARK": "\u{301}x"])
      #expect(run.status == 0 && run.stdoutBytes == Array("\u{301}x".utf8), "\(run)")
    }
  }

  /// The code in a JSON error is that of the process.
  @Test(
    arguments: [
      (["-p", "none", "--", "true"], 125), (["--", "no-such-program"], 127),
      (["--", "/etc/passwd"], 126),
    ] as [([String], Int32)])
  func codeOfExec(words: [String], code: Int32) async throws {
    try await Sandbox.with(.none) { box in
      let run = try await box.run(
        ["exec", "--errors", "json"] + words,
        env: ["AUTHCTL_TOKEN": "a", "AUTHCTL_URL": "https://h.example"])
      #expect(run.status == code)
      let error = try JSON(parsing: run.stderr)["error"]
      #expect(error?["exit"] == .number(Double(code)), "\(run.stderr)")
    }
  }

  @Test func unknownOperationOfDocker() async throws {
    try await Sandbox.with(.none) { box in
      let run = try await box.run("helper", "docker", "version")
      #expect(run.status == 2 && run.stdout == "")
      #expect(
        run.stderr == """
          authctl: helper docker has no operation version
          hint: the operations are get, store, erase and list

          """)
    }
  }

  /// As other commands: two accounts are not none.
  @Test(arguments: ["netrc", "headers", "curl-config", "kubectl"])
  func helpersWithTwoAccounts(helper: String) async throws {
    try await Shop.with { shop, _ in
      try await shop.signIn(Shop.grace, password: Shop.gracePassword)
      #expect(try await shop.box.run("profile", "set", "shop", "--unset", "account").status == 0)
      let run = try await shop.box.run("helper", helper, "-p", "shop")
      #expect(run.status == 10 && run.stdout == "")
      #expect(
        run.stderr == """
          authctl: shop: several accounts are signed in: \(Shop.ada), \(Shop.grace)
          hint: choose one with -u NAME

          """, "\(run.stderr)")
    }
  }

  // MARK: status --check

  /// It answers for the session that a request would use, or says why there is none.
  @Test func statusCheckChoosesLikeARequest() async throws {
    try await Shop.with { shop, _ in
      let box = shop.box
      try await shop.signIn(Shop.grace, password: Shop.gracePassword)
      for (words, variables, code) in [
        ([], [:], 0), (["-u", "nobody"], [:], 10), ([], ["AUTHCTL_USERNAME": "nobody"], 10),
        ([], ["AUTHCTL_PROFILE": "none"], 2), ([], ["AUTHCTL_PROFILE": "./none.toml"], 2),
      ] as [([String], [String: String], Int32)] {
        let check = try await box.run(["status", "--check"] + words, env: variables)
        let get = try await box.run(["get", "/me"] + words, env: variables)
        #expect(check.status == code && get.status == code, "\(words) \(variables)")
        #expect(check.stdout == "" && check.stderr.isEmpty == (code != 2), "\(check.stderr)")
      }
      // No request sends the token to another API than that of the sign-in.
      let url = "url=http://127.0.0.1:9"
      #expect(try await box.run("profile", "set", "shop", url).status == 0)
      #expect(try await box.run("get", "/me").status == 13)
      #expect(try await box.run("status", "--check").status == 13)
      #expect(try await box.run("profile", "set", "shop", "url=\(shop.url)").status == 0)
      // Nor on another way than that of the sign-in.
      let proxy = "network.proxy=http://127.0.0.1:9"
      #expect(try await box.run("profile", "set", "shop", proxy).status == 0)
      #expect(try await box.run("get", "/me").status == 13)
      #expect(try await box.run("status", "--check").status == 13)
      #expect(try await box.run("profile", "set", "shop", "--unset", "network.proxy").status == 0)
      // The account of the profile counts, not the one that has ended.
      try await shop.age(Shop.grace, ended: 10)
      #expect(try await box.run("status", "--check").status == 0)
      #expect(try await box.run("profile", "set", "shop", "--unset", "account").status == 0)
      #expect(try await box.run("status", "--check").status == 10)
    }
  }
}
