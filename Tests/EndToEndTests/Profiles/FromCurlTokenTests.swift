import Glibc
import Testing

/// `--from-curl` with a line that needs no sign-in: HTTP Basic, a token, a key.
@Suite struct FromCurlTokenTests {
  private static let home: [String: String?] = ["XDG_CONFIG_HOME": nil]
  private static func file(_ api: Recorder) -> String {
    "home/.config/authctl/profiles/\(api.profileName).toml"
  }

  private func login(_ box: Sandbox, _ line: String, _ more: String...) async throws -> Run {
    let file = try box.write("copied.txt", line + "\n")
    let run = try await box.run(["login", "--from-curl", file] + more, env: Self.home)
    unlink(file)
    return run
  }

  @Test func basicIsThePreset() async throws {
    try await Sandbox.with { box in
      let password = box.canary.make("password")
      let api = try box.recorder(answering: Recorder.ok)
      let run = try await login(box, "curl -u ann:\(password) '\(api.url)/v1/items?page=2'")
      #expect(run.status == 0 && run.stdout == "", "\(run.stderr)")
      #expect(
        run.stderr.hasPrefix(
          """
          Signs in with GET \(api.url)/v1/items
          Preset: http-basic
          Query: {"page":"2"}
          Account: ann
          Signed in to \(api.profileName) as ann.
          """), "\(run.stderr)")
      #expect(Look.asked(api) == ["GET /v1/items?page=2"])
      #expect(
        box.read(Self.file(api)) == """
          url = "\(api.url)"
          preset = "http-basic"
          account = "ann"

          [login]
          path = "/v1/items"
          query = { page = "2" }

          """)
      #expect(try await box.run("get", "/other", env: Self.home).status == 0)
      #expect(api.texts.last?.contains("\r\nAuthorization: Basic ") == true)
      let asked = try await box.run("login", "-p", api.profileName, env: Self.home)
      #expect(asked.status == 10)
    }
  }

  /// A key with an empty password must not become the account.
  @Test func nameWithoutAPasswordIsRefused() async throws {
    try await Sandbox.with { box in
      let key = box.canary.make("key")
      let run = try await login(box, "curl -u \(key): https://api.shop.example/v1/charges")
      #expect(run.status == 2 && run.stdout == "")
      #expect(
        run.stderr == """
          authctl: -u of the curl command has no password
          hint: to sign in by HTTP Basic, give a name and a password

          """)
    }
  }

  struct Line: Sendable {
    var curl: String
    var file: String
    var sent: String
  }

  static let lines = [
    Line(
      curl: "-H 'Authorization: Bearer KEY' URL/v1/x",
      file: #"headers = { Authorization = "Bearer {access_token}" }"#,
      sent: "GET /a HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer KEY\r\n"),
    Line(
      curl: "-H 'authorization: token KEY' URL/v1/x -d '{\"a\":1}'",
      file: #"headers = { Authorization = "token {access_token}" }"#,
      sent: "GET /a HTTP/1.1\r\nHost: HOST\r\nAuthorization: token KEY\r\n"),
    Line(
      curl: "-H 'X-Api-Key: KEY' -H 'Accept: text/plain' URL/v1/x",
      file: #"headers = { X-Api-Key = "{access_token}" }"#,
      sent: "GET /a HTTP/1.1\r\nHost: HOST\r\nX-Api-Key: KEY\r\n"),
    Line(
      curl: "'URL/v1/x?api_key=KEY&units=metric'",
      file: #"query = { api_key = "{access_token}" }"#,
      sent: "GET /a?api_key=KEY HTTP/1.1\r\nHost: HOST\r\n"),
  ]

  @Test(arguments: lines) func tokenIsStored(_ line: Line) async throws {
    try await Sandbox.with { box in
      let key = box.canary.make("key")
      let api = try box.recorder(answering: Recorder.ok)
      let curl = line.curl.replacing("KEY", with: key).replacing("URL", with: api.url)
      let run = try await login(box, "curl " + curl)
      #expect(run.status == 0 && run.stdout == "", "\(run.stderr)")
      #expect(run.stderr.hasPrefix("The command has a token for \(api.url).\n"), "\(run.stderr)")
      // Nothing is sent to store it.
      #expect(api.connections.isEmpty)
      #expect(
        box.read(Self.file(api))
          == "url = \"\(api.url)\"\naccount = \"default\"\n\n[request]\n\(line.file)\n")
      #expect(try await box.storedTokens() == [key])
      #expect(try await box.run("get", "/a", env: Self.home).status == 0)
      let host = api.url.replacing("http://", with: "")
      let sent = line.sent.replacing("KEY", with: key).replacing("HOST", with: host)
      #expect(api.texts.last?.hasPrefix(sent) == true, "\(api.texts)")
    }
  }

  @Test func isAskedAboutOnATerminal() async throws {
    try await Sandbox.with { box in
      let key = box.canary.make("key")
      let line = "curl -H 'Authorization: Bearer \(key)' https://api.shop.example/v1/x\n"
      let file = try box.write("copied.txt", line)
      let words = ["login", "--from-curl", file, "-p", "shop"]
      let no = try await box.terminal(
        words, answers: [("Use this token? [Y/n] ", "n\n")], env: Self.home)
      #expect(no.status == 10 && no.screen.contains("\nauthctl: the curl command was not used\n"))
      #expect(try await box.items().isEmpty)
      let yes = try await box.terminal(words + ["--yes"], env: Self.home)
      #expect(yes.status == 0 && !yes.screen.contains("?"), "\(yes.screen)")
      #expect(try await box.storedTokens() == [key])
      // A profile alone takes no token.
      let add = try await box.run("profile", "add", "two", "--from-curl", file, env: Self.home)
      #expect(add.status == 0, "\(add.stderr)")
      #expect(try await box.items().count == 1)
      unlink(file)
    }
  }

  @Test func saysThatItWaitsForAPaste() async throws {
    try await Sandbox.with { box in
      let api = try box.recorder(answering: Recorder.ok)
      let terminal = try box.openTerminal(["login", "--from-curl", "-"], env: Self.home)
      var end = try await terminal.waitFor("Paste the curl command, then press Enter and Ctrl-D.")
      terminal.type("curl -u ann:pw-of-ann \(api.url)/v1\n")
      end = try await terminal.waitFor("/v1\r\n", from: end)
      terminal.endOfFile()
      try await terminal.waitFor("Use it? [Y/n] ", from: end)
      terminal.type("y\n")
      let run = try await terminal.finish()
      #expect(run.status == 0, "\(run.screen)")
    }
  }
}
