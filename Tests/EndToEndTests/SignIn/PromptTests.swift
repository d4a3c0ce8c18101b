import Glibc
import Testing

/// The password prompt on a terminal, and the bytes of a password: rules A3, A11 and C8.
@Suite struct PromptTests {
  private func with(_ body: (Sandbox, Recorder, _ prompt: String) async throws -> Void) async throws
  {
    try await Sandbox.with { box in
      let api = try box.recorder(
        answering: Scene.routes(["POST /login": Scene.tokens(box.canary.make("access"))]))
      // The prompt must show the URL that receives the password, not only the profile's name.
      try box.profile("github", Scene.profile(api.url))
      try await body(box, api, "Password for ada at \(api.url): ")
    }
  }

  private static let login = ["login", "-p", "github", "-u", "ada"]

  @Test func namesTheOriginAndShowsNothing() async throws {
    try await with { box, api, prompt in
      let password = box.canary.make("password")
      let terminal = try box.openTerminal(Self.login)
      let end = try await terminal.waitFor(prompt)
      try await terminal.waitForEcho(false)
      terminal.type(password + "\n")
      try await terminal.waitFor("Signed in to github as ada.", from: end)
      let run = try await terminal.finish()
      #expect(run.status == 0)
      #expect(run.screen.hasPrefix(prompt + "\nSigned in to github as ada."), "\(run.screen)")
      #expect(Scene.holds(api, [password]) == [password])
    }
  }

  @Test func namesTheOriginThatSignsIn() async throws {
    try await Sandbox.with { box in
      let b = try box.recorder(answering: Scene.routes(["POST /login": Scene.tokens("a-token")]))
      try box.profile(
        "shop",
        Scene.profile(
          "https://api.shop.example", login: "path = \"\(b.url)/login\"",
          network: "sign_in_origins = [\"\(b.url)\"]"))
      let run = try await box.terminal(
        ["login", "-p", "shop"],
        answers: [("Account: ", "ada\n"), ("Password for ada at \(b.url): ", "a password\n")])
      #expect(run.status == 0, "\(run.screen)")
    }
  }

  @Test func controlCEndsWithEchoOn() async throws {
    try await with { box, api, prompt in
      let half = box.canary.make("password")
      let terminal = try box.openTerminal(Self.login)
      try await terminal.waitFor(prompt)
      try await terminal.waitForEcho(false)
      terminal.type(half)
      terminal.interrupt()
      let run = try await terminal.finish()
      #expect(run.status == 130)
      #expect(terminal.isEchoOn)
      #expect(api.connections.count == 0)
      #expect(try await box.items().isEmpty)
    }
  }

  @Test(arguments: [SIGTERM, SIGHUP, SIGQUIT])
  func signalEndsWithEchoOn(_ signal: Int32) async throws {
    try await with { box, api, prompt in
      let terminal = try box.openTerminal(Self.login)
      try await terminal.waitFor(prompt)
      try await terminal.waitForEcho(false)
      terminal.child.signal(signal)
      #expect(try await terminal.finish().status == 128 + signal)
      #expect(terminal.isEchoOn)
      #expect(api.connections.count == 0)
    }
  }

  @Test func controlDIsNoPassword() async throws {
    try await with { box, api, prompt in
      let terminal = try box.openTerminal(Self.login)
      try await terminal.waitFor(prompt)
      try await terminal.waitForEcho(false)
      terminal.endOfFile()
      let run = try await terminal.finish()
      #expect(run.status == 10)
      #expect(run.screen.contains("authctl: no password was given\n"), "\(run.screen)")
      #expect(terminal.isEchoOn)
      #expect(api.connections.count == 0)
    }
  }

  @Test func controlZStopsWithEchoOnAndAsksAnew() async throws {
    try await with { box, api, prompt in
      let (half, password) = (box.canary.make("half"), box.canary.make("password"))
      let terminal = try box.openTerminal(Self.login, jobControl: true)
      var at = try await terminal.waitFor(prompt)
      try await terminal.waitForEcho(false)
      terminal.type(half)
      terminal.suspend()
      at = try await terminal.waitFor("[stopped]", from: at)
      #expect(terminal.isEchoOn)
      terminal.type("\n")
      try await terminal.waitFor(prompt, from: at)
      try await terminal.waitForEcho(false)
      terminal.type(password + "\n")
      let run = try await terminal.finish()
      #expect(run.status == 0, "\(run.screen)")
      #expect(Scene.holds(api, [half, password]) == [password])
      #expect(terminal.isEchoOn)
    }
  }

  @Test func emptyPasswordIsRefused() async throws {
    try await with { box, api, prompt in
      let run = try await box.terminal(Self.login, answers: [(prompt, "\n")])
      #expect(run.status == 2)
      #expect(run.screen.contains("authctl: the password is empty"), "\(run.screen)")
      #expect(api.connections.count == 0)
    }
  }

  @Test(arguments: [["--no-input"], []])
  func nothingIsAskedWhenNobodyMayBe(_ more: [String]) async throws {
    try await with { box, api, _ in
      let env: [String: String?] = more.isEmpty ? ["AUTHCTL_NO_INPUT": "1"] : [:]
      let terminal = try box.openTerminal(Self.login + more, env: env)
      let run = try await terminal.finish()
      #expect(run.status == 10)
      #expect(run.screen.contains("--password-stdin"), "\(run.screen)")
      #expect(!run.screen.contains("Password for"))
      let pipe = try await box.run(Self.login)
      #expect(pipe.status == 10)
      #expect(api.connections.count == 0)
    }
  }

  /// Input for `--password-stdin`, and the password that is sent; nil: refused.
  static let inputs: [(given: String, sent: String?)] = [
    ("plain\n", "plain"), ("plain\r\n", "plain"), ("plain", "plain"), ("two\nlines\n", "two"),
    (" blanks \n", " blanks "), ("p\u{E4}ss\u{1F511}\n", "p\u{E4}ss\u{1F511}"),
    ("\"\\{password}\n", "\"\\{password}"), ("\n", nil), ("", nil), ("lone\rcr\n", nil),
    ("end\r\r\n", nil), ("nul\u{0}x\n", nil), ("tab\tx\n", nil), ("esc\u{1B}x\n", nil),
    ("del\u{7F}\n", nil), (String(repeating: "x", count: 4097) + "\n", nil),
    (String(repeating: "x", count: 4096) + "\n", String(repeating: "x", count: 4096)),
  ]

  @Test func bytesOfAPassword() async throws {
    try await with { box, api, _ in
      for (given, sent) in Self.inputs {
        let before = api.connections.count
        let run = try await box.run(Self.login + ["--password-stdin"], stdin: given)
        let note: Comment = "\(given.prefix(20).debugDescription): \(run.stderr)"
        guard let sent else {
          #expect(run.status == (given.isEmpty ? 10 : 2), note)
          #expect(api.connections.count == before, note)
          continue
        }
        #expect(run.status == 0, note)
        let body = (api.texts.last ?? "").split(separator: "\r\n\r\n", maxSplits: 1).last ?? ""
        #expect(try JSON(parsing: String(body))["password"] == .string(sent), note)
      }
      // Not UTF-8.
      let file = box.root + "/bytes"
      let made = try await box.run(
        "-c", #"printf 'a\377b\n' >"$1""#, "sh", file, program: "/bin/sh")
      #expect(made.status == 0)
      #expect(chmod(file, 0o600) == 0)
      let run = try await box.run(Self.login + ["--password-file", file])
      #expect(run.status == 2)
      #expect(run.stderr == "authctl: the password is not valid UTF-8 (--password-file)\n")
    }
  }

  @Test func sourceIsOneAndItsCommandIsKeptApart() async throws {
    try await with { box, api, _ in
      let (password, otp) = (box.canary.make("password"), box.canary.make("otp"))
      let file = try box.write("password", password + "\nsecond line\n")
      let two = try await box.run(
        Self.login + ["--password-stdin", "--password-file", file], stdin: "x")
      #expect(two.status == 2)
      // Its environment contains no secret of authctl; the canary would find one in the file.
      let command = "env >\"$HOME/environment\"; cat \(file)"
      let run = try await box.run(
        Self.login + ["--password-command", command],
        env: ["AUTHCTL_PASSWORD": "not-this-one", "AUTHCTL_OTP": otp, "AUTHCTL_APP_KEY": otp])
      #expect(run.status == 0, "\(run.stderr)")
      #expect(Scene.holds(api, [password]) == [password])
      #expect(box.read("home/environment")?.contains("not-this-one") == false)
      let fails = try await box.run(
        Self.login + ["--password-command", "echo no such entry >&2; exit 3"])
      #expect(fails.status == 10)
      #expect(fails.stderr.contains("no such entry"))
      let long = try await box.run(
        Self.login + ["--password-command", "head -c 70000 /dev/zero; sleep 60"])
      #expect(long.status == 10 && long.stdout == "")
      #expect(
        long.stderr == "authctl: --password-command: the command printed more than 64 KiB\n")
      for mode in [0o644, 0o620, 0o666] as [mode_t] {
        chmod(file, mode)
        let loose = try await box.run(Self.login + ["--password-file", file])
        #expect(loose.status == 2, "\(loose.stderr)")
        #expect(loose.stderr.contains("chmod"), "\(loose.stderr)")
      }
    }
  }
}
