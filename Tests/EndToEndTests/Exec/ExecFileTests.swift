import Glibc
import Testing

/// `exec --file`: a token file that authctl keeps up to date. Design 9, rule B11.
@Suite struct ExecFileTests {
  private static let token: [String: String?] = [
    "AUTHCTL_TOKEN": "a-token", "AUTHCTL_URL": "https://h.example",
  ]
  private static let isRoot = geteuid() == 0
  private static let hasRuntimeFolder = access("/run/user/\(geteuid())", F_OK) == 0

  private func shell(_ script: String) -> [String] { ["--", "/bin/sh", "-c", script] }

  // MARK: The file

  @Test func environmentAndModes() async throws {
    try await Sandbox.with { box in
      let access = box.canary.make("access")
      let api = try box.recorder(
        answering: Scene.routes(["POST /login": Scene.tokens(access, "r")]))
      try box.profile("shop", Scene.profile(api.url))
      try await box.signIn("shop")
      let look =
        #"stat -c '%a %F' "$AUTHCTL_TOKEN_DIR"; cd "$AUTHCTL_TOKEN_DIR"; "#
        + #"ls -A; stat -c '%a %F %h' token; cat token; echo; exec env -0"#
      let run = try await box.run(
        ["exec", "-p", "shop", "--file"] + shell("umask 0; " + look), mayPrint: [access])
      #expect(run.status == 0)
      #expect(run.stderr == "")
      let lines = run.stdout.split(separator: "\n", maxSplits: 4)
      #expect(lines.prefix(3) == ["700 directory", "token", "600 regular file 1"])
      #expect(lines[3] == access)
      var found = ExecScene.environment(Array(lines[4].utf8))
      let path = try #require(found["AUTHCTL_TOKEN_FILE"])
      #expect(path.hasPrefix(box.runtimeDirectory + "/authctl-exec/"))
      var wanted = box.environment([
        "AUTHCTL_TOKEN_FILE": path, "BEARER_TOKEN_FILE": path, "AUTHCTL_URL": api.url,
        "AUTHCTL_TOKEN_DIR": String(path.dropLast("/token".count)), "AUTHCTL_PROFILE": "shop",
      ])
      // The shell sets these itself.
      for name in ["PWD", "OLDPWD", "_", "SHLVL"] { (found[name], wanted[name]) = (nil, nil) }
      #expect(found == wanted)
      #expect(box.tokenFolders == [])
      // --env adds its variable.
      let both = try await box.run(
        "exec", "-p", "shop", "--file", "--env", "T", "--", "/usr/bin/env", "-0",
        mayPrint: [access])
      let names = ExecScene.environment(both.stdoutBytes).keys
      #expect(
        names.filter { box.environment()[$0] == nil }.sorted() == [
          "AUTHCTL_PROFILE", "AUTHCTL_TOKEN_DIR", "AUTHCTL_TOKEN_FILE", "AUTHCTL_URL",
          "BEARER_TOKEN_FILE", "T",
        ])
    }
  }

  /// A renewal can take long: the program need not wait for it.
  @Test func signalReachesTheProgramDuringARenewal() async throws {
    try await Sandbox.with { box in
      let latch = try Latch()
      let api = try box.recorder { _, request in
        guard Scene.route(of: request) == "POST /refresh" else {
          return Scene.tokens("first-token", "first-refresh", seconds: 4)
        }
        latch.wait()
        return Scene.tokens("second-token", "second-refresh")
      }
      try box.profile("shop", Scene.profile(api.url))
      try await box.signIn("shop")
      let program = ExecScene.waiting("trap 'kill $!; echo got; exit 3' TERM")
      let child = try box.start(["exec", "-p", "shop", "--file", "--"] + program)
      _ = try await child.readyProcess()
      try await api.waitForConnections(2)
      child.signal(SIGTERM)
      try await child.waitFor("got")
      latch.open()
      #expect(try await child.finish().status == 3)
      #expect(box.tokenFolders == [])
      #expect(try await box.storedTokens() == ["second-token"])
    }
  }

  /// It ends while authctl waits for another program: the kept command.
  @Test func programThatEndsDuringAKeptCommand() async throws {
    try await Sandbox.with { box in
      let api = try box.recorder { index, _ in
        Scene.tokens("token-\(index)", seconds: index == 0 ? 4 : 900)
      }
      try box.profile("shop", Scene.profile(api.url))
      try box.write("gate", "")
      let command = """
        [ ! -e '\(box.root)/begun' ] || { : >'\(box.root)/inside'
        while [ -e '\(box.root)/gate' ]; do sleep 0.05; done; }; echo pw-of-ada
        """
      let login = try await box.run(
        "login", "-p", "shop", "-u", Scene.account, "--password-command", command,
        "--keep-command")
      #expect(login.status == 0, "\(login.stderr)")
      let program = """
        : >'\(box.root)/begun'; while [ ! -e '\(box.root)/inside' ]; do sleep 0.05; done
        (sleep 0.3; rm '\(box.root)/gate') >/dev/null 2>&1 & exit 3
        """
      let run = try await box.run(["exec", "-p", "shop", "--file"] + shell(program))
      #expect(run.status == 3 && run.stdout == "" && run.stderr == "", "\(run)")
      #expect(box.tokenFolders == [])
      #expect(try await box.storedTokens() == ["token-1"])
    }
  }

  /// The inner authctl reads the file each time; the token stays valid while the program runs.
  @Test func tokenIsKeptFresh() async throws {
    try await Shop.with("--token-ttl", "4") { shop, api in
      let box = shop.box
      let script = #"""
        n=0; seen=
        while [ $n -lt 3 ]; do
          t=$(cat "$AUTHCTL_TOKEN_FILE") || exit 9
          if [ "$t" != "$seen" ]; then
            seen=$t; n=$((n+1)); echo "$t"
            "$1" get /me >/dev/null || exit 8
          fi
        done
        """#
      let run = try await box.run(
        ["exec", "--file"] + shell(script) + ["sh", try Built.authctl()],
        mayPrint: [try await shop.accessToken()])
      #expect(run.status == 0)
      #expect(run.stderr == "")
      let tokens = run.stdout.split(separator: "\n").map(String.init)
      #expect(tokens.count == 3 && Set(tokens).count == 3)
      for token in tokens { #expect(token.split(separator: ".").count == 3, "\(token)") }
      // On a slow machine, the last token may have been renewed before the program ended.
      #expect(try await api.count("POST /refresh") >= 2)
      #expect(try await shop.box.run("get", "/me").stdout == Shop.me)
      #expect(try await api.count("GET /me") == 4)
      #expect(box.tokenFolders == [])
    }
  }

  /// Reads large tokens as fast as possible while they change: the file is never partial or
  /// missing.
  @Test func fileIsWholeAtEveryMoment() async throws {
    try await Sandbox.with { box in
      let answers = Mutable(0)
      let padding = String(repeating: "x", count: 30_000)
      let api = try box.recorder { _, request in
        let number = answers.increase()
        return Scene.route(of: request) == "POST /logout"
          ? .http(204) : Scene.tokens("token-\(number)-\(padding)-end", "r", seconds: 1)
      }
      try box.profile("shop", Scene.profile(api.url))
      try await box.signIn("shop")
      let script = #"""
        cd "$AUTHCTL_TOKEN_DIR" || exit 7
        first=$(head -c 10 token); n=0
        while [ $n -lt 3 ]; do
          t=$(cat token) || exit 9
          case $t in token-*-xxx*x-end) ;; *) echo "part: ${#t}"; exit 8 ;; esac
          [ ${#t} -gt 30000 ] || { echo "short: ${#t}"; exit 8; }
          case $t in "$first"*) ;; *) first=${t%%-xxx*}-; n=$((n+1)) ;; esac
          for name in *; do
            case $name in token|token.new) ;; *) echo "$name"; exit 6 ;; esac
          done
        done
        """#
      let run = try await box.run(["exec", "-p", "shop", "--file"] + shell(script))
      #expect(run.stdout == "")
      #expect(run.stderr == "")
      #expect(run.status == 0)
      #expect(answers.value >= 4)
    }
  }

  /// A failed renewal is reported and retried; the program does not notice it.
  @Test func renewalThatFailsOnce() async throws {
    try await Shop.with("--token-ttl", "4") { shop, api in
      try await api.misbehave(["path": "/refresh", "times": 1, "status": 500])
      let script = #"""
        t=$(cat "$AUTHCTL_TOKEN_FILE")
        while [ "$(cat "$AUTHCTL_TOKEN_FILE")" = "$t" ]; do sleep 0.1; done
        exit 3
        """#
      let run = try await shop.box.run(["exec", "--file"] + shell(script))
      #expect(run.status == 3)
      #expect(run.stdout == "")
      #expect(run.stderr.hasPrefix("authctl: warning: the token in "), "\(run.stderr)")
      #expect(run.stderr.split(separator: "\n").count == 1, "\(run.stderr)")
      #expect(try await api.count("POST /refresh") == 2)
    }
  }

  // MARK: Exit

  @Test func fileIsGoneWhateverTheEnd() async throws {
    try await Sandbox.with(.none) { box in
      for (words, status) in [
        (shell("exit 0"), 0), (shell("exit 5"), 5), (shell("kill -KILL $$"), 128 + SIGKILL),
        (["--", "/nowhere"], 127), (["--", "/"], 126),
        (shell(#"rm "$AUTHCTL_TOKEN_FILE""#), 0), (shell(#"rm -r "$AUTHCTL_TOKEN_DIR""#), 0),
      ] {
        let run = try await box.run(["exec", "--file"] + words, env: Self.token)
        #expect(run.status == status, "\(words)")
        #expect(run.stdout == "")
        #expect(run.stderr.isEmpty == ![126, 127].contains(status), "\(run.stderr)")
        #expect(box.tokenFolders == [], "\(words)")
      }
    }
  }

  /// The next run removes the folder of a killed one and keeps those in use.
  @Test func nextRunTakesAwayWhatAKilledOneLeft() async throws {
    try await Sandbox.with(.none) { box in
      let access = box.canary.make("access")
      let env = Self.token.merging(["AUTHCTL_TOKEN": access]) { $1 }
      let wait = ["exec", "--file"] + shell(#"echo ready; read -r x; cat "$AUTHCTL_TOKEN_FILE""#)
      let killed = try box.start(wait, keepInputOpen: true, env: env, mayPrint: [access])
      let living = try box.start(wait, keepInputOpen: true, env: env, mayPrint: [access])
      try await killed.waitFor("ready\n")
      try await living.waitFor("ready\n")
      #expect(box.tokenFolders.count == 2)
      killed.signal(SIGKILL)
      _ = try await killed.finish()
      #expect(box.tokenFolders.count == 2)
      let next = try await box.run(["exec", "--file"] + shell("exit 0"), env: env)
      #expect(next.status == 0, "\(next.stderr)")
      #expect(box.tokenFolders.count == 1)
      living.write("\n".utf8)
      let run = try await living.finish()
      #expect(run.stdout == "ready\n\(access)")
      #expect(run.status == 0, "\(run.stderr)")
      #expect(box.tokenFolders == [])
    }
  }

  /// Runs that start and end at the same time do not remove each other's folders.
  @Test func manyAtOnce() async throws {
    try await Sandbox.with(.none) { box in
      let script = #"test "$(cat "$AUTHCTL_TOKEN_FILE")" = a-token"#
      for _ in 0..<4 {
        let children = try (0..<16).map { _ in
          try box.start(["exec", "--file"] + shell(script), env: Self.token)
        }
        for child in children {
          let run = try await child.finish()
          #expect(run.status == 0)
          #expect(run.stderr == "")
        }
      }
      #expect(box.tokenFolders == [])
    }
  }

  // MARK: The folder

  @Test func folderOfTheOption() async throws {
    try await Sandbox.with(.none) { box in
      mkdir(box.root + "/mine", 0o700)
      // The path stays valid when the program changes its directory.
      for (option, directory) in [
        (box.root + "/mine", "/"), ("mine", box.root), (".", box.root + "/mine"),
      ] {
        let run = try await box.run(
          ["exec", "--file", "--token-dir", option]
            + shell(#"cd /; cat "$AUTHCTL_TOKEN_FILE"; echo " $AUTHCTL_TOKEN_DIR""#),
          env: Self.token, directory: directory)
        #expect(run.stdout.hasPrefix("a-token \(box.root)/mine/authctl-exec/"), "\(option)")
        #expect(run.stderr == "")
        #expect(run.status == 0)
      }
      #expect(list(box.root + "/mine/authctl-exec") == [])
      #expect(list(box.runtimeDirectory) == [])
      let none = try await box.run(
        ["exec", "--file", "--token-dir", box.root + "/none"] + shell("echo ran"), env: Self.token)
      #expect(none.status == 125)
      #expect(none.stdout == "")
      #expect(none.stderr.hasSuffix("\nhint: use --token-dir DIR with another folder\n"))
    }
  }

  /// Without a folder that only the user can access, no file is written.
  @Test(.enabled(if: !hasRuntimeFolder, "this machine has a runtime folder"))
  func noRuntimeFolder() async throws {
    try await Sandbox.with(.none) { box in
      mkdir(box.root + "/loose", 0o755)
      chmod(box.root + "/loose", 0o755)
      symlink(box.runtimeDirectory, box.root + "/link")
      let (none, loose, link) = (box.root + "/none", box.root + "/loose", box.root + "/link")
      for folder in [nil, "", "relative", none, loose, link] as [String?] {
        let run = try await box.run(
          ["exec", "--file"] + shell("echo ran"),
          env: Self.token.merging(["XDG_RUNTIME_DIR": folder]) { $1 }, directory: box.root)
        #expect(run.status == 125, "\(folder ?? "nil")")
        #expect(run.stdout == "")
        #expect(
          run.stderr == """
            authctl: no runtime directory for the token file (XDG_RUNTIME_DIR)
            hint: use --token-dir DIR with a private folder, preferably in memory (below /dev/shm)

            """)
      }
      #expect(box.files() == ["link"])
    }
  }

  @Test(arguments: ["loose", "foreign", "link", "file"])
  func folderThatIsNotOursAloneIsRefused(_ kind: String) async throws {
    guard kind != "foreign" || Self.isRoot else { return }
    try await Sandbox.with(.none) { box in
      let folder = box.runtimeDirectory + "/authctl-exec"
      switch kind {
      case "loose":
        mkdir(folder, 0o700)
        chmod(folder, 0o750)
      case "foreign":
        mkdir(folder, 0o700)
        #expect(chown(folder, 65534, 65534) == 0)
      case "link":
        mkdir(box.root + "/elsewhere", 0o700)
        symlink(box.root + "/elsewhere", folder)
      default: try box.write("run/authctl-exec", "")
      }
      let run = try await box.run(["exec", "--file"] + shell("echo ran"), env: Self.token)
      #expect(run.status == 125)
      #expect(run.stdout == "")
      #expect(
        run.stderr == """
          authctl: \(folder) is not a folder that only you can use
          hint: use --token-dir DIR with another folder

          """)
      #expect(list(box.root + "/elsewhere") == [])
    }
  }
}
