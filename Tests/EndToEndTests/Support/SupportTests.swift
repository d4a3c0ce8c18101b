import Glibc
import Testing

/// Tests of the harness itself: none needs authctl.
@Suite struct SupportTests {
  private let sh = "/bin/sh"

  @Test func childGetsOnlyTheEnvironmentOfTheSandbox() async throws {
    try await Sandbox.with(.none) { box in
      let run = try await box.run(env: ["PLANTED": "1", "LANG": nil], program: "/usr/bin/env")
      let names = run.stdout.split(separator: "\n").map { $0.prefix { $0 != "=" } }.sorted()
      #expect(
        names == [
          "HOME", "PATH", "PLANTED", "TZ", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
          "XDG_RUNTIME_DIR", "XDG_STATE_HOME",
        ])
      #expect(run.status == 0)
    }
  }

  @Test func runReportsStatusStreamsAndInput() async throws {
    try await Sandbox.with(.none) { box in
      let run = try await box.run(
        "-c", "cat; pwd; echo err >&2; exit 7", stdin: "in\r\n", program: sh)
      #expect(run.stdout == "in\r\n\(box.home)\n")
      #expect(run.stderr == "err\n")
      #expect(run.status == 7)
      #expect(try await box.run("-c", "kill -TERM $$", program: sh).status == 143)
      #expect(try await box.run("-c", "cat", program: sh).stdout == "")
      let big = String(repeating: "x", count: 3_000_000)
      #expect(
        try await box.run("-c", "cat", stdin: big, program: sh).stdout.utf8.count == 3_000_000)
      let unread = try await box.run("-c", "exit 3", stdin: big, program: sh)
      #expect(unread.status == 3)
      let closed = try await box.run("-c", "[ -e /dev/fd/1 ] || exit 9", program: sh, closed: [1])
      #expect(closed.status == 9)
      let inherited = try await box.run("-c", "ls /proc/self/fd", program: sh)
      #expect(inherited.stdout == "0\n1\n2\n3\n")
      let left = try await box.run("-c", "sleep 20 & echo done", program: sh)
      #expect(left.stdout == "done\n")
      #expect(left.leftOutputOpen)
    }
  }

  @Test func runIsKilledAtItsLimit() async throws {
    try await Sandbox.with(.none) { box in
      await #expect(throws: HarnessError.self) {
        try await box.run("-c", "sleep 30", program: sh, limit: 1)
      }
    }
  }

  @Test func signalsReachAStartedChild() async throws {
    try await Sandbox.with(.none) { box in
      let child = try box.start(
        ["-c", "trap 'echo got; exit 5' INT; echo ready; while :; do sleep 0.01; done"], program: sh
      )
      try await child.waitFor("ready")
      child.signal(SIGINT)
      let run = try await child.finish()
      #expect(run.stdout == "ready\ngot\n")
      #expect(run.status == 5)
    }
  }

  @Test(arguments: 0..<16) func keyringRoundTrip(_ number: Int) async throws {
    try await Sandbox.with { box in
      let secret = "s€cret \"\(number)\" \\ line"
      let stored = try await box.run(
        "store", "--label=one", "profile", "shop", "n", "\(number)", stdin: secret,
        program: "/usr/bin/secret-tool")
      #expect(stored.status == 0, "\(stored.stderr)")
      let items = try await box.items()
      #expect(items.count == 1)
      #expect(items.first?.attributes["profile"] == "shop")
      #expect(items.first?.attributes["n"] == "\(number)")
      #expect(items.first?.secret == secret)
      #expect(items.first?.label == "one")
      try await box.store(attributes: ["profile": "other"], secret: "two\nlines\n")
      let looked = try await box.run("lookup", "profile", "other", program: "/usr/bin/secret-tool")
      #expect(looked.stdout == "two\nlines\n")
      #expect(try await box.items().count == 2)
    }
  }

  @Test func lockedKeyringGivesAttributesWithoutSecrets() async throws {
    try await Sandbox.with { box in
      try await box.store(attributes: ["profile": "shop"], secret: "pw")
      try await box.lockKeyring()
      let item = try await box.items().first
      #expect(item?.attributes["profile"] == "shop")
      #expect(item?.secret == nil)
      let looked = try await box.run("lookup", "profile", "shop", program: "/usr/bin/secret-tool")
      #expect(looked.stdout == "")
    }
  }

  @Test func keyringStopsDiesAndComesBack() async throws {
    try await Sandbox.with { box in
      try await box.store(attributes: ["profile": "shop"], secret: "pw")
      box.stopKeyring()
      let waiting = try box.start(["lookup", "profile", "shop"], program: "/usr/bin/secret-tool")
      // The bus answers, so a call that reaches it has already passed the one to the stopped
      // daemon.
      let other = try await box.run(
        "call", "--session", "--dest", "org.freedesktop.DBus", "--object-path",
        "/org/freedesktop/DBus", "--method", "org.freedesktop.DBus.NameHasOwner",
        "org.freedesktop.secrets", program: "/usr/bin/gdbus")
      #expect(other.stdout == "(true,)\n")
      #expect(waiting.view.status == nil)
      box.continueKeyring()
      #expect(try await waiting.finish().stdout == "pw")
      try await box.killKeyring()
      let gone = try await box.run("lookup", "profile", "shop", program: "/usr/bin/secret-tool")
      #expect(gone.status != 0)
      try await box.startKeyring()
      #expect(try await box.items().first?.secret == "pw")
    }
  }

  @Test func busWithoutKeyringAndNoBus() async throws {
    try await Sandbox.with(.busOnly) { box in
      let run = try await box.run("lookup", "a", "b", program: "/usr/bin/secret-tool")
      #expect(run.status != 0)
      #expect(run.stderr.utf8.count > 0)
    }
  }

  @Test func terminalEchoesAndHidesWhatIsTyped() async throws {
    try await Sandbox.with(.none) { box in
      let echo = try await box.terminal(
        ["-c", "stty size; read -r line; echo got $line; tty; exec 3</dev/tty; exit 4"],
        answers: [("100", "hello\n")], columns: 100, program: sh)
      #expect(echo.screen.hasPrefix("24 100\nhello\ngot hello\n/dev/pts/"))
      #expect(echo.status == 4)

      let terminal = try box.openTerminal(
        ["-c", "stty -echo; read -r line; stty echo; echo \"<$line>\"; read -r line"], program: sh)
      try await terminal.waitForEcho(false)
      terminal.type("hidden\n")
      try await terminal.waitFor("<hidden>")
      try await terminal.waitForEcho(true)
      terminal.interrupt()
      let run = try await terminal.finish()
      #expect(run.screen.hasPrefix("<hidden>\n"))
      #expect(run.status == 130)
    }
  }

  @Test func suspendedProgramContinuesUnderAShell() async throws {
    try await Sandbox.with(.none) { box in
      let terminal = try box.openTerminal(
        ["-c", "echo start; read -r line; echo \"line $line\""], program: sh, jobControl: true)
      var at = try await terminal.waitFor("start")
      terminal.suspend()
      at = try await terminal.waitFor("[stopped]", from: at)
      terminal.type("\n")
      terminal.type("x\n")
      try await terminal.waitFor("line", from: at)
      #expect(try await terminal.finish().status == 0)
    }
  }

  @Test(arguments: ["127.0.0.1", "127.0.0.2", "::1"])
  func recorderKeepsWhatCameAndAnswers(_ address: String) async throws {
    try await Sandbox.with(.none) { box in
      let recorder = try box.recorder(
        at: address, answering: Recorder.list(.redirect(to: "/next"), .http(200, "body")))
      let run = try await box.run(
        "-sSL", "-g", "-d", "planted=1", recorder.url + "/first", program: "/usr/bin/curl")
      #expect(run.stdout == "body")
      #expect(run.stderr == "")
      #expect(recorder.connections.count == 2)
      #expect(recorder.texts.first?.hasPrefix("POST /first HTTP/1.1\r\n") == true)
      #expect(recorder.texts.first?.hasSuffix("\r\n\r\nplanted=1") == true)
      #expect(recorder.texts.last?.hasPrefix("GET /next HTTP/1.1\r\n") == true)
    }
  }

  @Test func recorderHangsClosesAndResets() async throws {
    try await Sandbox.with(.none) { box in
      let recorder = try box.recorder(
        answering: Recorder.list(.close, .reset([]), .bytesThenHang(Array("HTTP/1.1 200 ".utf8))))
      for (limit, status) in [("30", 52), ("30", 56), ("0.3", 28)] {
        let run = try await box.run("-s", "-m", limit, recorder.url, program: "/usr/bin/curl")
        #expect(run.status == Int32(status))
      }
      #expect(recorder.connections.count == 3)
    }
  }

  @Test func canaryFindsFilesOutputAndCommandLines() async throws {
    try await Sandbox.with(.none) { box in
      let secret = box.canary.make("password", suffix: ":é\"")
      let clean = box.canary.make("clean")
      let nested = box.canary.make("nested")
      try box.write("given.txt", clean)
      try await box.run("-c", "cat", stdin: clean, program: sh, mayPrint: [clean])
      #expect(box.canary.findings(box, [secret, clean]) == [])

      try await box.run("-c", "cat >$XDG_STATE_HOME/log", stdin: "a\(secret)b", program: sh)
      try await box.run("-c", "printf x; base64 -w0", stdin: "u:\(secret)", program: sh)
      // A grandchild's command line, built so that the shell's own does not contain it.
      let child = try box.start(
        ["-c", "read -r s; sh -c 'read -r x; exit 0' $s"], stdin: nested + "\n",
        keepInputOpen: true, program: sh)
      await child.until { $0.commandLines.contains { find(Array(nested.utf8), in: $0) != nil } }
      child.closeInput()
      #expect(try await child.finish().status == 0)
      let found = box.canary.findings(box, [secret, clean, nested])
      #expect(found.contains("\(secret) in file state/log"))
      #expect(found.contains { $0.hasPrefix("\(secret) in stdout of /bin/sh -c printf x") })
      #expect(found.contains { $0.hasPrefix("\(nested) in command line [\"sh\", \"-c\", \"read") })
      #expect(!found.contains { $0.hasPrefix(clean) })
      for planted in [secret, nested] { box.canary.forget(planted) }
    }
  }

  @Test func sandboxLeavesNothingBehind() async throws {
    var root = ""
    var pid: pid_t = 0
    try await Sandbox.with { box in
      root = box.root
      let child = try box.start(
        ["-c", "setsid sh -c 'echo $$; exec >/dev/null 2>&1; sleep 100'"], program: sh)
      let view = await child.until { $0.out.last == 10 }
      pid = try #require(
        pid_t(String(decoding: view.out.dropLast(), as: UTF8.self)))
      #expect(kill(pid, 0) == 0)
    }
    #expect(list(root).isEmpty)
    #expect(access(root, F_OK) != 0)
    // Empty or absent after the process has released its memory, even as a zombie.
    #expect((readFile("/proc/\(pid)/environ") ?? []).isEmpty)
  }
}
