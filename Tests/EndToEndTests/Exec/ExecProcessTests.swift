import Glibc
import Testing

/// The process state of `exec`'s program, and the signals that reach it: rule B11.
@Suite struct ExecProcessTests {
  private static let token: [String: String?] = [
    "AUTHCTL_TOKEN": "a-token", "AUTHCTL_URL": "https://h.example",
  ]

  // MARK: Process

  @Test func processIsReplacedWhereNothingMustBeKeptUp() async throws {
    try await Sandbox.with(.none) { box in
      let script = ["/bin/sh", "-c", "echo $$ $PPID"]
      let child = try box.start(["exec", "--"] + script, env: Self.token)
      let run = try await child.finish()
      #expect(run.stdout.split(separator: " ").first == "\(child.pid)")
      #expect(run.status == 0, "\(run.stderr)")
      let beside = try box.start(["exec", "--file", "--"] + script, env: Self.token)
      let kept = try await beside.finish()
      #expect(kept.stdout.split(separator: " ").last == "\(beside.pid)\n")
      #expect(kept.stdout.split(separator: " ").first != "\(beside.pid)")
    }
  }

  /// Only 0, 1, 2 and the caller's descriptors, although authctl used network, lock and bus.
  @Test(arguments: ExecScene.ways) func descriptors(_ way: [String]) async throws {
    try await Shop.with { shop, api in
      for (first, wanted) in [
        ("", "0\n1\n2\n"), ("exec 5</dev/null 9>/dev/null;", "0\n1\n2\n5\n9\n"),
      ] {
        try await shop.age(ended: 5)
        let words = [try Built.authctl(), "exec"] + way + ["--"] + ExecScene.descriptors
        let run = try await shop.box.run(ExecScene.shell(first, words), program: "/bin/sh")
        #expect(run.stdout == wanted)
        #expect(run.stderr == "")
        #expect(run.status == 0)
      }
      #expect(try await api.count("POST /refresh") == 2)
    }
  }

  @Test(arguments: [[], ["--file"]]) func descriptorOfThePasswordIsKept(
    _ way: [String]
  ) async throws {
    try await Shop.with(kind: .none, signsIn: false) { shop, _ in
      let box = shop.box
      try box.write("pw", Shop.password + "\n")
      let words =
        [try Built.authctl(), "exec", "--login", "--password-fd", "7"] + way + ["--"]
        + ExecScene.descriptors
      let run = try await box.run(
        ExecScene.shell("exec 5</dev/null 7<\(box.root)/pw;", words), program: "/bin/sh")
      #expect(run.stdout == "0\n1\n2\n5\n")
      #expect(run.stderr == "")
      #expect(run.status == 0)
    }
  }

  /// Limits, umask and signal dispositions are the same as without authctl.
  @Test(arguments: ExecScene.ways) func stateIsAsTheCallerHadIt(_ way: [String]) async throws {
    try await Sandbox.with(.none) { box in
      let script = #"""
        ulimit -S -c; ulimit -H -c; umask
        exec grep -E '^Sig(Blk|Ign)|^CoreDumping|^NoNewPrivs' /proc/self/status
        """#
      let program = ["/bin/sh", "-c", script]
      for first in [
        "", "ulimit -S -c 0;", "ulimit -c 7;", "umask 027;", "trap '' PIPE;",
        "trap '' PIPE INT QUIT HUP TERM USR1 USR2 TSTP;",
      ] {
        let plain = try await box.run(ExecScene.shell(first, program), program: "/bin/sh")
        #expect(plain.stdout.contains("SigBlk:\t0000000000000000\n"))
        let words = [try Built.authctl(), "exec"] + way + ["--"] + program
        let run = try await box.run(
          ExecScene.shell(first, words), env: Self.token, program: "/bin/sh")
        #expect(run.stdout == plain.stdout, "\(first)")
        #expect(run.stderr == "")
        #expect(run.status == 0)
      }
    }
  }

  @Test(arguments: ExecScene.ways) func inputIsThePrograms(_ way: [String]) async throws {
    try await Sandbox.with(.none) { box in
      let run = try await box.run(
        ["exec"] + way + ["--", "/bin/cat"], stdin: "one\ntwo", env: Self.token)
      #expect(run.stdout == "one\ntwo")
      #expect(run.stderr == "")
      #expect(run.status == 0)
    }
  }

  // MARK: Signals

  @Test(arguments: ExecScene.ways, [SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2])
  func signalReachesTheProgram(_ way: [String], _ signal: Int32) async throws {
    try await Sandbox.with(.none) { box in
      let program = ExecScene.waiting("trap 'kill $!; echo got; exit 3' \(signal)")
      let child = try box.start(["exec"] + way + ["--"] + program, env: Self.token)
      _ = try await child.readyProcess()
      child.signal(signal)
      let run = try await child.finish()
      #expect(run.stdout.hasSuffix("\ngot\n"))
      #expect(run.stderr == "")
      #expect(run.status == 3)
      #expect(box.tokenFolders == [])
    }
  }

  @Test(arguments: [SIGTERM, SIGHUP, SIGINT, SIGUSR1])
  func programThatASignalEnds(_ signal: Int32) async throws {
    try await Sandbox.with(.none) { box in
      let child = try box.start(
        ["exec", "--file", "--", "/bin/sh", "-c", "echo ready $$; exec sleep 120"],
        env: Self.token)
      _ = try await child.readyProcess()
      #expect(box.tokenFolders.count == 1)
      child.signal(signal)
      let run = try await child.finish()
      #expect(run.status == 128 + signal)
      #expect(run.stderr == "")
      #expect(box.tokenFolders == [])
    }
  }

  /// A signal to both that arrives together with the program's exit changes nothing.
  @Test func signalThatComesWithTheEnd() async throws {
    try await Sandbox.with(.none) { box in
      let program = ExecScene.waiting("trap 'kill $!; exit 3' TERM")
      let child = try box.start(["exec", "--file", "--"] + program, env: Self.token)
      let pid = try await child.readyProcess()
      child.signal(SIGSTOP)
      child.signal(SIGTERM)
      kill(pid, SIGTERM)
      // The program is a zombie until authctl continues: its command line is empty then.
      try await onThread {
        while readFile("/proc/\(pid)/cmdline")?.isEmpty == false { usleep(500) }
      }
      child.signal(SIGCONT)
      let run = try await child.finish()
      #expect(run.status == 3)
      #expect(run.stderr == "")
      #expect(box.tokenFolders == [])
    }
  }

  // MARK: Terminal

  @Test(arguments: ExecScene.ways) func controlCReachesTheProgramOnce(_ way: [String]) async throws
  {
    try await Sandbox.with(.none) { box in
      // authctl forwards USR1 after any other pending signal, so the count is complete.
      let program = ExecScene.waiting(
        """
        n=0; trap 'n=$((n+1)); echo "got $n"' INT; trap 'kill $s; echo "count $n"; exit 3' USR1
        """
      ).map { $0.replacing("wait $!", with: "s=$!; while kill -0 $s; do wait $s; done") }
      let terminal = try box.openTerminal(["exec"] + way + ["--"] + program, env: Self.token)
      // It is in the terminal's process group: ^C would stop it.
      try await terminal.waitFor("ready ")
      terminal.interrupt()
      try await terminal.waitFor("got 1")
      terminal.child.signal(SIGUSR1)
      let run = try await terminal.finish()
      #expect(run.screen.hasSuffix("count 1\n"), "\(run.screen)")
      #expect(run.status == 3)
      #expect(box.tokenFolders == [])
    }
  }

  /// A signal that another process sends only to authctl is forwarded, also on a terminal.
  @Test(arguments: [SIGINT, SIGQUIT, SIGTERM])
  func signalOfAProcessIsPassedOnFromATerminalToo(_ signal: Int32) async throws {
    try await Sandbox.with(.none) { box in
      let program = ExecScene.waiting("trap 'kill $!; echo got; exit 3' \(signal)")
      let terminal = try box.openTerminal(["exec", "--file", "--"] + program, env: Self.token)
      try await terminal.waitFor("ready ")
      terminal.child.signal(signal)
      let run = try await terminal.finish()
      #expect(run.screen.hasSuffix("\ngot\n"), "\(run.screen)")
      #expect(run.status == 3)
      #expect(box.tokenFolders == [])
    }
  }

  @Test func controlCEndsProgramAndFile() async throws {
    try await Sandbox.with(.none) { box in
      let terminal = try box.openTerminal(
        ["exec", "--file", "--", "/bin/sh", "-c", "echo ready; exec sleep 120"], env: Self.token)
      try await terminal.waitFor("ready\r\n")
      #expect(box.tokenFolders.count == 1)
      terminal.interrupt()
      let run = try await terminal.finish()
      #expect(run.status == 128 + SIGINT)
      #expect(run.screen == "ready\n^C")
      #expect(box.tokenFolders == [])
    }
  }

  @Test(arguments: ExecScene.ways) func controlZStopsBothAndFgGoesOn(_ way: [String]) async throws {
    try await Sandbox.with(.none) { box in
      let script = "echo ready $$; read -r x; echo \"read $x\"; exit 3"
      let terminal = try box.openTerminal(
        ["exec"] + way + ["--", "/bin/sh", "-c", script], env: Self.token, jobControl: true)
      let pid = try await terminal.child.readyProcess()
      terminal.suspend()
      try await terminal.waitFor("[stopped]")
      // The shell reports only that authctl stopped; until the program stops too, it would read a
      // new line.
      try await onThread {
        while let line = readFile("/proc/\(pid)/stat"), find(Array(") T".utf8), in: line) == nil {
          usleep(500)
        }
      }
      terminal.type("\n")
      terminal.type("hello\n")
      let run = try await terminal.finish()
      #expect(run.screen.hasSuffix("\nread hello\n"), "\(run.screen)")
      #expect(run.status == 3)
      #expect(box.tokenFolders == [])
    }
  }
}
