import Testing

/// HTTP Basic at a path that is forbidden: 403 where strangers get 401 accepts the password.
@Suite struct BasicLoginTests {
  private static let home: [String: String?] = ["XDG_CONFIG_HOME": nil]

  /// `status` with the right credential, `stranger` without, 401 with another one.
  private func api(
    _ box: Sandbox, _ status: Int, stranger: Int = 401
  ) throws -> Recorder {
    try box.recorder { _, request in
      let text = String(decoding: request, as: UTF8.self)
      if text.contains("\r\nAuthorization: Basic YW5uOnB3LW9mLWFubg==\r\n") {
        return .http(text.hasPrefix("GET /open ") ? 200 : status, "{}")
      }
      return .http(text.contains("\r\nAuthorization:") ? 401 : stranger, "{}")
    }
  }

  private func login(_ box: Sandbox, _ words: [String], password: String = "pw-of-ann") async throws
    -> Run
  {
    try await box.run(
      ["login"] + words + ["-u", "ann", "--password-stdin"], stdin: password + "\n", env: Self.home)
  }

  @Test(arguments: [403, 404, 405]) func forbiddenPathIsASignIn(_ status: Int) async throws {
    try await Sandbox.with { box in
      let api = try api(box, status)
      let run = try await login(box, [api.url, "-p", "files", "--preset", "http-basic"])
      #expect(run.status == 0 && run.stdout == "", "\(run.stderr)")
      #expect(
        run.stderr.replacing("\n", with: " ").hasPrefix(
          "The server accepted the password but refused the path (GET \(api.url)/: HTTP \(status)); "
            + "set login.path to a path that you can read. Signed in to files as ann."),
        "\(run.stderr)")
      #expect(api.connections.count == 2)
      #expect(api.texts.last?.contains("Authorization") == false)
      #expect(try await box.run("get", "/open", env: Self.home).status == 0)
      let wrong = try await login(box, ["-p", "files"], password: "wrong")
      #expect(wrong.status == 14, "\(wrong.stderr)")
    }
  }

  @Test func pathCanBeNamed() async throws {
    try await Sandbox.with { box in
      let api = try api(box, 403)
      let run = try await login(
        box, [api.url, "-p", "files", "--preset", "http-basic", "--set", "login.path=/open"])
      #expect(run.status == 0, "\(run.stderr)")
      #expect(run.stderr.hasPrefix("Signed in to files as ann."), "\(run.stderr)")
      #expect(Look.asked(api) == ["GET /open"])
    }
  }

  /// Where strangers get the same answer, it says nothing about the password.
  @Test func forbiddenToAllIsNoSignIn() async throws {
    try await Sandbox.with { box in
      let api = try api(box, 403, stranger: 403)
      let run = try await login(box, [api.url, "-p", "files", "--preset", "http-basic"])
      #expect(run.status == 14 && run.stdout == "")
      #expect(
        run.stderr == """
          authctl: files refused this name and password (HTTP 403)
          hint: repeat the command with --set login.path=/PATH

          """)
      #expect(try await box.items().isEmpty)
    }
  }
}
