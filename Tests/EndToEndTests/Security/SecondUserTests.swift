import Glibc
import Testing

/// Two users of one machine, neither of them root: neither accepts the other's files as their own,
/// nor can read the other's. Skipped unless the test can become both users.
@Suite(.enabled(if: HostileEnvironmentTests.isRoot, "needs root to be two other users"))
struct SecondUserTests {
  private static let ada: uid_t = 54_321
  private static let eve: uid_t = 54_322

  /// A sandbox of Ada's that every user may traverse, with a copy of authctl.
  private struct Home: Sendable {
    let box: Sandbox
    let api: Recorder
    var authctl: String { box.root + "/authctl" }
    var variables: [String: String?] {
      ["AUTHCTL_STORE": "file", "AUTHCTL_STORE_KEY_FILE": box.root + "/key"]
    }

    func give(_ path: String, to user: uid_t) {
      #expect(lchown(box.root + "/" + path, user, user) == 0, "\(path)")
    }

    func run(
      _ user: uid_t, _ command: [String], stdin: String? = nil, env: [String: String?] = [:]
    ) async throws -> Run {
      try await box.run(
        ["--reuid=\(user)", "--regid=\(user)", "--clear-groups", "--"] + command, stdin: stdin,
        env: variables.merging(env) { $1 }, program: "/usr/bin/setpriv", directory: "/")
    }

    /// Runs authctl as Ada.
    func ada(
      _ words: String..., stdin: String? = nil, env: [String: String?] = [:]
    ) async throws -> Run {
      try await run(SecondUserTests.ada, [authctl] + words, stdin: stdin, env: env)
    }
  }

  private func with(_ body: (Home) async throws -> Void) async throws {
    try await Sandbox.with(.none) { box in
      let api = try box.recorder(
        answering: Scene.routes([
          "POST /login": Scene.tokens(box.canary.make("access"), box.canary.make("refresh")),
          "GET /x": .http(200, "[]"), "POST /logout": .http(204),
        ]))
      let home = Home(box: box, api: api)
      chmod(box.root, 0o711)
      #expect(
        try await box.run(try Built.authctl(), home.authctl, program: "/bin/cp").status == 0)
      chmod(home.authctl, 0o755)
      try box.profile("shop", Scene.profile(api.url))
      try box.write("key", String(repeating: "0f", count: 32) + "\n")
      for path in [
        "key", "home", "config", "config/authctl", "config/authctl/profiles",
        "config/authctl/profiles/shop.toml", "state", "cache", "data", "run",
      ] {
        home.give(path, to: Self.ada)
      }
      try await body(home)
      unlink(home.authctl)
    }
  }

  private func signIn(_ home: Home, sourceLocation: SourceLocation = #_sourceLocation) async throws
  {
    let login = try await home.ada(
      "login", "-p", "shop", "-u", "ada", "--password-stdin",
      stdin: home.box.canary.make("password"))
    try #require(login.status == 0, "\(login.stderr)", sourceLocation: sourceLocation)
  }

  /// Covers session, lock, trust, profile, token file and the process itself.
  @Test func nothingOfTheFirstCanBeRead() async throws {
    try await with { home in
      try await signIn(home)
      let trusting = try home.box.write(
        "home/team.toml", Scene.profile(home.api.url, network: "allow_http = true"))
      home.give("home/team.toml", to: Self.ada)
      let get = try await home.ada(
        "get", "/x", "-p", trusting, "--trust", env: ["AUTHCTL_TOKEN": "a-token-of-ada"])
      #expect(get.status == 0, "\(get.stderr)")
      // Ada's files, and the token of a program that she runs.
      let child = try home.box.start(
        ["--reuid=\(Self.ada)", "--regid=\(Self.ada)", "--clear-groups", "--", home.authctl]
          + ["exec", "-p", "shop", "--file", "--", "/bin/sh", "-c", "echo up; exec sleep 60"],
        env: home.variables, program: "/usr/bin/setpriv", directory: "/")
      try await child.waitFor("up")
      let files = home.box.files().filter {
        $0.hasPrefix("state/") || $0.hasPrefix("run/") || $0.hasPrefix("config/")
      }
      for word in ["sessions/", "locks/", "trust/", "profiles/", "token"] {
        #expect(files.contains { $0.contains(word) }, "\(word): \(files)")
      }
      let script = #"cat "$@"; for f; do case $f in /tmp/*) ls "${f%/*}" ;; esac; done"#
      let read = try await home.run(
        Self.eve,
        ["/bin/sh", "-c", script, "sh"]
          + files.map { home.box.root + "/" + $0 }
          + ["environ", "fd/0", "mem"].map { "/proc/\(child.pid)/\($0)" })
      #expect(read.stdout == "", "\(read.stdout)")
      child.signal(SIGTERM)
      #expect(try await child.finish().status != 0)
      #expect(!home.box.files().contains { $0.hasPrefix("run/") })
    }
  }

  /// If any of these belongs to Eve, nothing is sent and nothing is written there.
  @Test(
    arguments: [
      ("config/authctl", 2), ("config/authctl/profiles", 2),
      ("config/authctl/profiles/shop.toml", 2),
      ("config/authctl/config.toml", 2), ("state", 12), ("state/authctl", 12),
      ("state/authctl/locks", 12), ("state/authctl/sessions", 12),
    ] as [(String, Int32)])
  func whatIsTheSecondsIsRefused(path: String, status: Int32) async throws {
    try await with { home in
      try await signIn(home)
      try home.box.write("config/authctl/config.toml", "default_profile = \"shop\"\n")
      home.give("config/authctl/config.toml", to: Self.ada)
      let count = home.api.connections.count
      home.give(path, to: Self.eve)
      // Eve makes it readable, and a folder writable, for everyone.
      chmod(home.box.root + "/" + path, path.contains(".toml") ? 0o644 : 0o777)
      // Without locks, login signs in but cannot store the session.
      let login = path.hasSuffix("locks") ? [] : [["login", "-u", "ada", "--password-stdin"]]
      for words in [["refresh"]] + login {
        let run = try await home.run(
          Self.ada, [home.authctl] + words, stdin: home.box.canary.make("password"))
        #expect(run.status == status && run.stdout == "", "\(path) \(words): \(run.stderr)")
      }
      #expect(home.api.connections.count == count)
      home.give(path, to: Self.ada)
    }
  }

  /// Covers a file used in place, its folder, and the record of trust.
  @Test func filesInPlaceOfTheSecond() async throws {
    try await with { home in
      let file = try home.box.write(
        "home/team/shop.toml", Scene.profile(home.api.url, network: "allow_http = true"),
        mode: 0o644)
      let token: [String: String?] = ["AUTHCTL_TOKEN": "a-token-of-ada"]
      for path in ["home/team", "home/team/shop.toml"] { home.give(path, to: Self.ada) }
      chmod(home.box.home + "/team", 0o755)
      #expect(try await home.ada("get", "/x", "-p", file, "--trust", env: token).status == 0)
      #expect(try await home.ada("get", "/x", "-p", file, env: token).status == 0)
      for path in ["home/team", "home/team/shop.toml"] {
        home.give(path, to: Self.eve)
        let run = try await home.ada("get", "/x", "-p", file, "--trust", env: token)
        #expect(run.status == 2 && run.stderr.contains("belongs to user \(Self.eve)"), "\(run)")
        home.give(path, to: Self.ada)
      }
      let record = try #require(list(home.box.stateHome + "/authctl/trust").first { $0 != "lock" })
      for path in ["state/authctl/trust", "state/authctl/trust/" + record] {
        home.give(path, to: Self.eve)
        #expect(try await home.ada("get", "/x", "-p", file, env: token).status == 10, "\(path)")
        home.give(path, to: Self.ada)
      }
      #expect(home.api.connections.count == 2)
    }
  }

  /// Neither the runtime directory nor the folder of `--token-dir` receives the token file.
  @Test func tokenFileIsNotPutIntoAFolderOfTheSecond() async throws {
    try await with { home in
      try await signIn(home)
      for mode in [0o700, 0o755, 0o777, 0o1777] as [mode_t] {
        home.give("run", to: Self.eve)
        chmod(home.box.runtimeDirectory, mode)
        let run = try await home.ada("exec", "-p", "shop", "--file", "--", "/bin/true")
        #expect(run.status == 125, "\(run.stderr)")
        #expect(run.stderr.contains("no runtime directory"), "\(run.stderr)")
      }
      // A folder like /dev/shm, in which everyone may write and Eve was first.
      try #require(mkdir(home.box.root + "/shared", 0o777) == 0)
      chmod(home.box.root + "/shared", 0o1777)
      try #require(mkdir(home.box.root + "/shared/authctl-exec", 0o777) == 0)
      home.give("shared/authctl-exec", to: Self.eve)
      let shared = home.box.root + "/shared"
      let run = try await home.ada(
        "exec", "-p", "shop", "--file", "--token-dir", shared, "--", "/bin/true")
      #expect(
        run.status == 125 && run.stderr.contains("is not a folder that only you can use"), "\(run)")
      rmdir(shared + "/authctl-exec")
      try #require(symlink(home.box.home, shared + "/authctl-exec") == 0)
      home.give("shared/authctl-exec", to: Self.eve)
      let linked = try await home.ada(
        "exec", "-p", "shop", "--file", "--token-dir", shared, "--", "/bin/true")
      #expect(linked.status == 125, "\(linked.stderr)")
      #expect(list(home.box.home).isEmpty)
    }
  }

  /// Covers files that a variable or an option names.
  @Test func secretsOfTheSecondAreNotRead() async throws {
    try await with { home in
      let file = try home.box.write("eve", String(repeating: "ab", count: 32) + "\n", mode: 0o644)
      home.give("eve", to: Self.eve)
      let rows: [(words: [String], env: [String: String?], status: Int32)] = [
        (["login", "-u", "ada", "--password-file", file], [:], 2),
        (["login", "-u", "ada", "--token-file", file], [:], 2),
        (["get", "/x"], ["AUTHCTL_TOKEN_FILE": file], 2),
        (["get", "/x", "--proxy-user-file", file], ["AUTHCTL_TOKEN": "a-token-of-ada"], 2),
        (["get", "/x", "--key", file], ["AUTHCTL_TOKEN": "a-token-of-ada"], 2),
        (["store", "unlock"], ["AUTHCTL_STORE": "file", "AUTHCTL_STORE_KEY_FILE": file], 12),
      ]
      for row in rows {
        let run = try await home.run(Self.ada, [home.authctl] + row.words, env: row.env)
        #expect(run.status == row.status && run.stdout == "", "\(row.words): \(run.stderr)")
        #expect(run.stderr.contains("belongs to another user (uid \(Self.eve))"), "\(run.stderr)")
      }
      for words in [["-D", file], ["--trace", file]] {
        chmod(file, 0o666)
        let run = try await home.run(
          Self.ada, [home.authctl, "get", "/x"] + words, env: ["AUTHCTL_TOKEN": "a-token-of-ada"])
        #expect(run.status == 1 && run.stderr.contains("it belongs to another user"), "\(run)")
      }
      #expect(home.box.read("eve")?.hasPrefix("abab") == true)
      #expect(home.api.connections.count == 0)
    }
  }

  /// `sudo -E`: root with another user's folders neither writes to them nor follows their settings.
  @Test func rootWithTheFoldersOfAUser() async throws {
    try await with { home in
      try await signIn(home)
      let (files, count) = (home.box.files(), home.api.connections.count)
      let own: [String: String?] = [
        "XDG_CONFIG_HOME": nil, "XDG_STATE_HOME": nil, "XDG_RUNTIME_DIR": nil,
        "AUTHCTL_STORE": "plaintext",
      ]
      let names = list(home.box.home)
      for env in [home.variables, own] {
        for words in [["refresh", "-p", "shop"], ["profile", "add", "b", "https://h.example"]] {
          let run = try await home.box.run(words, env: env, program: home.authctl)
          #expect(run.status == 2 || run.status == 12, "\(words): \(run.stderr)")
          #expect(run.stdout == "" && run.stderr.contains("\nhint: "), "\(run.stderr)")
        }
      }
      #expect(list(home.box.home) == names)
      #expect(home.box.files() == files && home.api.connections.count == count)
    }
  }
}
