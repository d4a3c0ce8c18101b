import Glibc
import Testing

/// Environments that try to expose secrets: rules B5, B8, B12, C6, C14, T6 and T7.
@Suite struct HostileEnvironmentTests {
  static let isRoot = geteuid() == 0
  private static let nobody: uid_t = 65534

  // MARK: Variables

  @Test func variablesOfLibrariesAreNotObeyed() async throws {
    try await Sandbox.with { box in
      let (access, refresh) = (box.canary.make("access"), box.canary.make("refresh"))
      let api = try box.recorder(
        answering: Scene.routes([
          "POST /login": Scene.tokens(access, refresh), "GET /x": .http(200, "{}"),
        ]))
      try box.profile("shop", Scene.profile(api.url))
      let trap = try box.write("trap", "#!/bin/sh\necho trapped >\"$HOME/trapped\"\n", mode: 0o755)
      let env: [String: String?] = [
        "SECRET_BACKEND": "file", "SECRET_FILE_TEST_PATH": box.root + "/secrets.keyring",
        "SECRET_FILE_TEST_PASSWORD": "x", "SNAP_NAME": "x", "G_DBUS_DEBUG": "all",
        "G_MESSAGES_DEBUG": "all", "SSLKEYLOGFILE": box.root + "/keys", "BROWSER": trap,
        "PAGER": trap, "EDITOR": trap, "SSH_ASKPASS": trap, "NETRC": "x", "LIBSECRET_DEBUG": "all",
        "CURL_HOME": box.home, "CURLOPT_VERBOSE": "1",
      ]
      try box.write("home/.netrc", "machine 127.0.0.1 login u password netrc-password\n")
      try box.write("home/.curlrc", "verbose\n")
      let login = try await box.run(
        "login", "-p", "shop", "-u", "ada", "--password-stdin", stdin: "a password", env: env)
      #expect(login.status == 0, "\(login.stderr)")
      #expect(login.stdout == "")
      let token = try await box.run("token", "-p", "shop", env: env, mayPrint: [access])
      #expect(token.stdout == access + "\n")
      #expect(token.stderr == "")
      let get = try await box.run("get", "-p", "shop", "/x", env: env)
      #expect(get.stdout == "{}")
      #expect(get.stderr == "")
      #expect(try await box.run("help", env: env).status == 0)
      #expect(try await box.items().count == 1)
      #expect(!api.texts.contains { $0.contains("netrc") || $0.contains("Basic") })
      let made = box.files().filter {
        !$0.hasPrefix("config/") && !$0.hasPrefix("state/authctl/locks/")
      }
      #expect(made == ["home/.curlrc", "home/.netrc", "trap"])
    }
  }

  @Test func busThatIsNoSocketOfThisMachineIsRefused() async throws {
    try await Sandbox.with(.none) { box in
      let far = try box.recorder()
      try box.profile("shop", Scene.profile(far.url))
      for address in [
        "tcp:host=127.0.0.1,port=\(far.port)", "nonce-tcp:host=127.0.0.1,port=\(far.port)",
        "autolaunch:", "unixexec:path=/bin/sh,argv1=-c,argv2=id", "launchd:env=X", "x",
        "tcp:host=127.0.0.1,port=\(far.port);unix:path=/nowhere",
        "unix:path=/nowhere;tcp:host=127.0.0.1,port=\(far.port)",
      ] {
        let run = try await box.run(
          "login", "-p", "shop", "-u", "ada", "--password-stdin", stdin: "a password",
          env: ["DBUS_SESSION_BUS_ADDRESS": address])
        #expect(run.status == 12, "\(address): \(run.stderr)")
      }
      #expect(far.connections.count == 0)
    }
  }

  @Test func certificatesThatAreNotThereAreNoLicence() async throws {
    try await Sandbox.with(.none) { box in
      let empty = try box.write("empty.pem", "")
      let text = try box.write("text.pem", "no certificate\n")
      let far = try box.recorder { _, _ in .close }
      for (name, value) in [
        ("CURL_CA_BUNDLE", "/nowhere"), ("SSL_CERT_FILE", "/nowhere"), ("SSL_CERT_DIR", "/nowhere"),
        ("CURL_CA_BUNDLE", empty), ("SSL_CERT_FILE", empty), ("CURL_CA_BUNDLE", text),
      ] {
        let run = try await box.run(
          "get", "--anonymous", "https://127.0.0.1:\(far.port)/", env: [name: value])
        #expect(run.status == 8, "\(name)=\(value): \(run.stderr)")
        #expect(run.stdout == "")
      }
    }
  }

  @Test func filesAreOursAloneWhateverTheMask() async throws {
    try await Sandbox.with { box in
      let api = try box.recorder(
        answering: Scene.routes(["POST /login": Scene.tokens("a-token", "r")]))
      let script = #"umask 000; exec "$@""#
      let authctl = try Built.authctl()
      for words in [
        ["login", api.url + "/login", "-u", "ada", "--password-stdin"],
        ["profile", "default", "127"],
        ["profile", "add", "other", "https://h"], ["refresh"],
      ] {
        let words = words.map { $0 == "127" ? "other" : $0 }
        _ = try await box.run(
          ["-c", script, "sh", authctl] + words, stdin: "a password", program: "/bin/sh")
      }
      let files = box.files()
      #expect(files.contains { $0.hasSuffix(".toml") } && files.contains { $0.hasSuffix(".lock") })
      var folders: Set<String> = []
      for file in files {
        var info = stat()
        #expect(lstat(box.root + "/" + file, &info) == 0)
        #expect(info.st_mode & 0o077 == 0, "\(file) \(String(info.st_mode, radix: 8))")
        let parts = file.split(separator: "/").dropLast()
        for count in 2..<max(2, parts.count + 1) {
          folders.insert(parts.prefix(count).joined(separator: "/"))
        }
      }
      #expect(folders.count >= 4)
      for folder in folders {
        var info = stat()
        #expect(lstat(box.root + "/" + folder, &info) == 0)
        #expect(info.st_mode & 0o7777 == 0o700, "\(folder) \(String(info.st_mode, radix: 8))")
      }
    }
  }

  @Test func closedDescriptorsTakeNothingInTheirPlace() async throws {
    try await Sandbox.with { box in
      let access = box.canary.make("access")
      let api = try box.recorder(
        answering: Scene.routes(["POST /login": Scene.tokens(access), "GET /x": .http(200, "body")])
      )
      try box.profile("shop", Scene.profile(api.url))
      try await box.signIn("shop")
      for closed in [[0], [2], [0, 2], [1], [0, 1], [1, 2], [0, 1, 2]] as [Set<Int32>] {
        let run = try await box.run(
          "get", "-p", "shop", "/x", closed: closed, mayPrint: [access])
        #expect(run.status == (closed.contains(1) ? 1 : 0), "\(closed): \(run.stderr)")
        #expect(run.stdout == (closed.contains(1) ? "" : "body"))
        let token = try await box.run(
          "token", "-p", "shop", closed: closed, mayPrint: [access])
        #expect(token.status == (closed.contains(1) ? 1 : 0))
        #expect(!token.stderr.contains(access))
      }
      let verbose = try await box.run("get", "-vv", "-p", "shop", "/x", closed: [2])
      #expect(verbose.stdout == "body")
    }
  }

  @Test func homeIsNotNeeded() async throws {
    try await Sandbox.with { box in
      let api = try box.recorder(answering: Scene.routes(["POST /login": Scene.tokens("a-token")]))
      try box.write("c/profiles/shop.toml", Scene.profile(api.url))
      var env: [String: String?] = [
        "AUTHCTL_CONFIG_DIR": box.root + "/c", "AUTHCTL_STATE_DIR": box.root + "/s",
      ]
      for name in ["HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"] {
        env[name] = .some(nil)
      }
      let run = try await box.run(
        "login", "-p", "shop", "-u", "ada", "--password-stdin", stdin: "a password", env: env)
      #expect(run.status == 0, "\(run.stderr)")
      #expect(box.files().contains { $0.hasPrefix("s/locks/") })
      // Relative XDG folders are ignored: https://specifications.freedesktop.org/basedir-spec/
      let relative = try await box.run(
        "profile", "add", "n", "https://h", env: ["XDG_CONFIG_HOME": "relative"])
      #expect(relative.status == 0, "\(relative.stderr)")
      #expect(box.files().contains("home/.config/authctl/profiles/n.toml"))
    }
  }

  // MARK: Memory

  /// A run with a token in memory that waits for a response.
  private func waiting(_ box: Sandbox, _ launch: [String] = []) async throws -> Child {
    let api = try box.recorder { _, _ in .hang }
    let words = [try Built.authctl(), "get", "--", "/"]
    let command = launch + words
    let child = try box.start(
      Array(command.dropFirst()),
      env: [
        "AUTHCTL_TOKEN": box.canary.make("access"), "AUTHCTL_URL": api.url,
        "AUTHCTL_CONFIG_DIR": box.root + "/none",
        "SWIFT_BACKTRACE": "enable=yes,color=no,output-to=stderr,interactive=no",
      ], program: command[0])
    try await api.waitForConnections(1)
    return child
  }

  @Test(arguments: [SIGABRT, SIGSEGV, SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGQUIT])
  func deathLeavesNoCoreAndNoBacktrace(_ signal: Int32) async throws {
    try await Sandbox.with(.none) { box in
      let child = try await waiting(
        box, ["/bin/sh", "-c", #"ulimit -c unlimited; exec "$@""#, "sh"])
      let limits = readFile("/proc/\(child.pid)/limits").map { String(decoding: $0, as: UTF8.self) }
      let core = try #require(limits?.split(separator: "\n").first { $0.hasPrefix("Max core") })
      #expect(core.split(separator: " ").dropFirst(4).first == "0", "\(core)")
      child.signal(signal)
      let run = try await child.finish()
      #expect(run.status == 128 + signal)
      // The runtime of a statically linked program prints this at start.
      let runtime = "swift runtime: unable to locate swift-backtrace; disabling backtracing.\n"
      #expect(run.stdout == "" && ["", runtime].contains(run.stderr), "\(run.stderr)")
      #expect(box.files() == [])
    }
  }

  @Test(.enabled(if: isRoot, "needs root to be somebody else"))
  func memoryIsClosedToTheSameUser() async throws {
    try await Sandbox.with(.none) { box in
      chmod(box.root, 0o711)
      let drop = [
        "/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--",
      ]
      // The other user may have no access to the folder of the binary.
      let copy = box.root + "/authctl"
      let made = try await box.run(try Built.authctl(), copy, program: "/bin/cp")
      #expect(made.status == 0)
      chmod(copy, 0o755)
      let api = try box.recorder { _, _ in .hang }
      let child = try box.start(
        Array(drop.dropFirst()) + [copy, "get", "--", "/"],
        env: [
          "AUTHCTL_TOKEN": box.canary.make("access"), "AUTHCTL_URL": api.url,
          "AUTHCTL_CONFIG_DIR": box.root + "/none",
        ], program: drop[0], directory: "/")
      try await api.waitForConnections(1)
      let read =
        #"for f in environ mem maps fd/0; do cat "/proc/$1/$f" >/dev/null && echo "$f"; done"#
      let other = try await box.run(
        Array(drop.dropFirst()) + ["/bin/sh", "-c", read, "sh", "\(child.pid)"], program: drop[0],
        directory: "/")
      #expect(other.stdout == "", "\(other.stderr)")
      #expect(other.stderr.split(separator: "\n").count >= 3)
      // For comparison: the same files of an unprotected process are readable.
      let plain = try box.start(
        Array(drop.dropFirst()) + ["/bin/sleep", "60"], program: drop[0], directory: "/")
      await plain.until { $0.commandLines.contains { $0.starts(with: "/bin/sleep".utf8) } }
      let open = try await box.run(
        Array(drop.dropFirst()) + ["/bin/sh", "-c", read, "sh", "\(plain.pid)"], program: drop[0],
        directory: "/")
      #expect(open.stdout.hasPrefix("environ\n"), "\(open.stderr)")
      plain.signal(SIGKILL)
      unlink(copy)
    }
  }

  @Test(.enabled(if: isRoot, "chown needs root"), arguments: [0o4755, 0o2755] as [mode_t])
  func setUserIDCopyRefuses(_ mode: mode_t) async throws {
    try await Sandbox.with(.none) { box in
      let copy = box.root + "/authctl"
      #expect(try await box.run(try Built.authctl(), copy, program: "/bin/cp").status == 0)
      #expect(chown(copy, Self.nobody, Self.nobody) == 0 && chmod(copy, mode) == 0)
      let run = try await box.run("--version", program: copy)
      #expect(run.status == 1)
      #expect(run.stdout == "")
      #expect(run.stderr.hasPrefix("authctl: authctl must not run set-user-ID"), "\(run.stderr)")
      unlink(copy)
    }
  }

  // MARK: Folders

  @Test(.enabled(if: isRoot, "chown needs root")) func rootUsesNoFolderOfAnotherUser() async throws
  {
    for folder in ["state", "state/authctl", "state/authctl/locks"] {
      try await Sandbox.with { box in
        let access = box.canary.make("access")
        let api = try box.recorder(
          answering: Scene.routes(["POST /login": Scene.tokens(access, "r")]))
        try box.profile("shop", Scene.profile(api.url))
        try box.write("state/authctl/locks/x", "")
        #expect(chown(box.root + "/" + folder, Self.nobody, Self.nobody) == 0)
        let run = try await box.run(
          "login", "-p", "shop", "-u", "ada", "--password-stdin", stdin: "a password")
        #expect(run.status == 12, "\(folder): \(run.stderr)")
        #expect(run.stderr.contains("sudo -H"), "\(run.stderr)")
        #expect(try await box.items().isEmpty)
      }
    }
  }

  @Test func looseOrLinkedLockFolderIsRefused() async throws {
    for kind in ["loose", "link", "linked file"] {
      try await Sandbox.with { box in
        let api = try box.recorder(
          answering: Scene.routes([
            "POST /login": Scene.tokens("a-token", "r"), "POST /refresh": Scene.tokens("new", "s"),
          ]))
        try box.profile("shop", Scene.profile(api.url))
        try await box.signIn("shop")
        let locks = box.stateHome + "/authctl/locks"
        let name = try #require(list(locks).first)
        let target = try box.write("elsewhere/file", "content")
        switch kind {
        case "loose": chmod(locks, 0o777)
        case "link":
          unlink(locks + "/" + name)
          rmdir(locks)
          symlink(box.root + "/elsewhere", locks)
        default:
          unlink(locks + "/" + name)
          symlink(target, locks + "/" + name)
        }
        let run = try await box.run("refresh", "-p", "shop")
        #expect(run.status == 12, "\(kind): \(run.stderr)")
        #expect(!api.texts.contains { $0.hasPrefix("POST /refresh") })
        #expect(box.read("elsewhere/file") == "content")
      }
    }
  }

  @Test(arguments: (isRoot ? [0o775] : []) + [0o777, 0o707] as [mode_t])
  func looseConfigurationIsRefused(_ mode: mode_t) async throws {
    try await Sandbox.with(.none) { box in
      let api = try box.recorder()
      try box.write("config/authctl/config.toml", "default_profile = \"shop\"\n")
      try box.profile("shop", "url = \"\(api.url)\"\n")
      let folder = box.configHome + "/authctl"
      for path in [
        folder, folder + "/profiles", folder + "/profiles/shop.toml", folder + "/config.toml",
      ] {
        var info = stat()
        #expect(stat(path, &info) == 0)
        // A group with members other than the owner.
        if Self.isRoot { #expect(chown(path, 0, 65534) == 0) }
        chmod(path, mode)
        let run = try await box.run("get", "/", env: ["AUTHCTL_TOKEN": "a-token"])
        #expect(run.status == 2, "\(path): \(run.stderr)")
        #expect(run.stderr.contains("hint: chmod "), "\(run.stderr)")
        chmod(path, info.st_mode & 0o7777)
      }
      #expect(api.connections.count == 0)
      #expect(try await box.run("get", "/", env: ["AUTHCTL_TOKEN": "a-token"]).status == 0)
    }
  }
}
