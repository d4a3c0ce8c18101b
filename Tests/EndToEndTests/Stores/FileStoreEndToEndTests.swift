import Glibc
import Testing

/// Sessions without a keyring: the stores `file` and `plaintext` of design 7, rules B8, B9 and C1.
@Suite struct FileStoreEndToEndTests {
  private static let isRoot = geteuid() == 0

  // MARK: From sign-in to sign-out

  @Test(arguments: ["file", "plaintext"], [Sandbox.Kind.none, .busOnly])
  func sessionComesRenewsAndGoes(_ store: String, _ kind: Sandbox.Kind) async throws {
    try await FileShop.with(store, kind) { files in
      let warning =
        store == "file"
        ? ""
        : "authctl: warning: the store plaintext does not encrypt: anyone who can read "
          + "\(files.sessions) can use the session\n"
      let login = try await files.login()
      #expect(
        login.stderr == """
          \(warning)Signed in to shop as ada@example.com. Valid for 15 min; renewed automatically.
          Saved: session in the store of \(store == "file" ? "sealed" : "plain") files
          (\(files.sessions)).
          Default profile: shop. To change it, run: authctl use NAME
          Next: authctl get /me

          """)
      #expect(login.stdout == "" && login.status == 0)

      let get = try await files.run("get", "/me")
      #expect(get.stdout == Shop.me && get.stderr == "" && get.status == 0)

      let refresh = try await files.run("refresh", "--json")
      #expect(try JSON(parsing: refresh.stdout)["store"] == .string(store))
      #expect(
        refresh.stderr
          == "Renewed shop as ada@example.com. Valid for 15 min; renewed automatically.\n")
      #expect(refresh.status == 0)

      let row = try JSON(parsing: try await files.run("status", "--json").stdout)[0]
      #expect(row?["store"] == .string(store) && row?["state"] == "valid")
      #expect(row?["profile"] == "shop" && row?["account"] == "ada@example.com")
      #expect(row?["origin"] == .string(files.api.url) && row?["refreshable"] == true)
      #expect(try await files.run("status", "--check").status == 0)

      let whoami = try await files.run("whoami")
      #expect(whoami.stdout == "ada@example.com\n" && whoami.stderr == "" && whoami.status == 0)
      let offline = try await files.run("whoami", "--offline")
      #expect(offline.stdout == "ada@example.com\n" && offline.status == 0)

      let logout = try await files.run("logout", "--json")
      #expect(
        logout.stderr
          == "Signed out of shop as ada@example.com, at the server and on this machine.\n")
      let ended = try JSON(parsing: logout.stdout).elements
      #expect(ended.count == 1 && ended.first?["revoked"] == true)
      #expect(ended.first?["deleted"] == true)
      #expect(logout.status == 0)
      #expect(files.files == [])

      let after = try await files.run("get", "/me")
      #expect(after.stderr.hasPrefix("authctl: not signed in to shop (") && after.stdout == "")
      #expect(after.status == 10)
      #expect(try await files.api.count("POST /refresh") == 1)
      #expect(try await files.api.count("POST /logout") == 1)
    }
  }

  /// So a power cut leaves the old session or the new one: as strace(1) shows it (rule B9).
  @Test(arguments: ["file", "plaintext"])
  func bytesAreOnDiskBeforeTheName(_ store: String) async throws {
    try await FileShop.with(store) { files in
      try await files.signIn()
      let run = try await files.box.run(
        [
          "-ff", "-o", files.box.root + "/trace", "-e",
          "trace=openat,fsync,rename,renameat,renameat2", try Built.authctl(), "refresh",
        ], env: files.env, program: "/usr/bin/strace")
      #expect(run.status == 0, "\(run.stderr)")
      // One file for each thread.
      let traces = files.box.files().filter { $0.hasPrefix("trace.") }.compactMap(files.box.read)
      let made = #/openat\((\d+), "(\.\w+\.part)".*O_CREAT.* = (\d+)/#
      let thread = try #require(traces.first { $0.contains(made) }, "\(traces)")
      let (_, folder, part, file) = try #require(thread.firstMatch(of: made)).output
      let steps = thread.split(separator: "\n").compactMap { call -> String? in
        if call.hasPrefix("fsync(\(file))") { return "file" }
        if call.hasPrefix("fsync(\(folder))") { return "folder" }
        return call.hasPrefix("rename") && call.contains(part) ? "name" : nil
      }
      #expect(steps == ["file", "name", "folder"], "\(thread)")
    }
  }

  @Test(arguments: ["file", "plaintext"])
  func registerSaysWhereTheSessionIs(_ store: String) async throws {
    try await FileShop.with(store) { files in
      let run = try await files.box.run(
        "register", "-p", "shop", "-u", "new@example.com", "--password-stdin", "--json",
        stdin: "a new password\n", env: files.env)
      #expect(run.status == 0, "\(run.stderr)")
      #expect(run.stderr.contains("warning: the store plaintext") == (store == "plaintext"))
      let kept = try JSON(parsing: run.stdout)["store"]
      #expect(kept == .string(store) || kept == .null)
      #expect(files.files.count == (kept == .null ? 0 : 1))
    }
  }

  /// Without a home folder, the two variables are enough, and nothing is written elsewhere.
  @Test func withoutHome() async throws {
    try await Sandbox.with(.none) { box in
      let api = try await box.api()
      let text = try Shop(box, api.url).box.read("config/authctl/profiles/shop.toml") ?? ""
      try box.write("c/profiles/shop.toml", text)
      let key = try box.write("key", String(repeating: "k", count: 32))
      var env: [String: String?] = [
        "AUTHCTL_CONFIG_DIR": box.root + "/c", "AUTHCTL_STATE_DIR": box.root + "/s",
        "AUTHCTL_STORE": "file", "AUTHCTL_STORE_KEY_FILE": key,
      ]
      for name in ["HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"] {
        env[name] = .some(nil)
      }
      let login = try await box.run(
        "login", "-p", "shop", "--password-stdin", stdin: Shop.password + "\n", env: env)
      #expect(login.status == 0, "\(login.stderr)")
      #expect(login.stderr.contains(" files (\(box.root)/s/sessions).\n"), "\(login.stderr)")
      #expect(try await box.run("get", "/me", env: env).stdout == Shop.me)
      #expect(try await box.run("refresh", env: env).status == 0)
      let made = box.files().filter { !$0.hasPrefix("c") && $0 != "key" }
      #expect(made.allSatisfy { $0.hasPrefix("s/locks/") || $0.hasPrefix("s/sessions/") })
      #expect(made.count == 3, "\(made)")
      #expect(try await box.run("logout", env: env).status == 0)
      #expect(list(box.root + "/s/sessions") == ["lock"])
    }
  }

  // MARK: Access by others

  @Test(arguments: ["file", "plaintext"], ["000", "022", "027"])
  func filesAndFoldersAreTheUsersAloneWhateverTheMask(_ store: String, _ mask: String) async throws
  {
    try await FileShop.with(store) { files in
      let script = #"umask \#(mask); exec "$@""#
      let login = try await files.box.run(
        [
          "-c", script, "sh", try Built.authctl(), "login", "-p", "shop", "--password-stdin",
        ], stdin: Shop.password + "\n", env: files.env, program: "/bin/sh")
      #expect(login.status == 0, "\(login.stderr)")
      #expect(permissions(try files.onlyFile()) == 0o600)
      #expect(permissions(files.sessions + "/lock") == 0o600)
      for folder in [files.sessions, files.box.stateHome + "/authctl"] {
        #expect(permissions(folder) == 0o700)
      }
    }
  }

  /// The canary searches every file at the end; this test makes sure that there is a session file.
  @Test(arguments: [false, true])
  func sealedFileShowsNoSecret(_ byPassphrase: Bool) async throws {
    try await Sandbox.with(.none) { box in
      let (access, refresh) = (box.canary.make("access"), box.canary.make("refresh"))
      let (renewed, phrase) = (box.canary.make("renewed"), box.canary.make("passphrase"))
      let api = try box.recorder(
        answering: Scene.routes([
          "POST /login": Scene.tokens(access, refresh), "GET /x": .http(200, "{}"),
          "POST /refresh": Scene.tokens(renewed, refresh),
        ]))
      try box.profile("shop", Scene.profile(api.url))
      let key = String(box.canary.make("key-of-32-bytes").suffix(32))
      box.canary.watch(key)
      var env: [String: String?] = ["AUTHCTL_STORE": "file"]
      if byPassphrase {
        env["AUTHCTL_STORE_PASSPHRASE"] = phrase
      } else {
        env["AUTHCTL_STORE_KEY_FILE"] = try box.write("key", key)
      }
      let login = try await box.run(
        "login", "-p", "shop", "-u", "ada", "--password-stdin", "-vv",
        stdin: box.canary.make("password") + "\n", env: env)
      #expect(login.status == 0, "\(login.stderr)")
      let path = box.stateHome + "/authctl/sessions"
      let name = try #require(list(path).first { $0.hasSuffix(".sealed") })
      let bytes = try #require(readFile(path + "/" + name))
      let head = #"{"kdf":"\#(byPassphrase ? #"scrypt","log2N":17,"r":8,"p":1,"# : #"file","#)"#
      #expect(bytes.prefix(8).elementsEqual("AUTHCTL1".utf8))
      #expect(bytes.dropFirst(12).starts(with: head.utf8))
      for words in [["get", "/x"], ["refresh"], ["status"], ["get", "-vv", "/x"]] {
        let run = try await box.run(words, env: env)
        #expect(run.status == 0, "\(words): \(run.stderr)")
      }
      #expect(readFile(path + "/" + name) != bytes)
      // A program run by exec receives the token, but not the key of the store.
      let child = try await box.run(
        "exec", "--", "/usr/bin/env", env: env, mayPrint: [renewed])
      #expect(child.status == 0, "\(child.stderr)")
      #expect(child.stdout.contains("AUTHCTL_TOKEN=\(renewed)\n"))
      #expect(!child.stdout.contains("AUTHCTL_STORE_"))
    }
  }

  @Test func plainFileShowsThemAndGoesWithLogout() async throws {
    try await Sandbox.with(.none) { box in
      let (access, refresh) = (box.canary.make("access"), box.canary.make("refresh"))
      let api = try box.recorder(
        answering: Scene.routes(["POST /login": Scene.tokens(access, refresh)]))
      try box.profile("shop", Scene.profile(api.url))
      let env = ["AUTHCTL_STORE": "plaintext"]
      let login = try await box.run(
        "login", "-p", "shop", "-u", "ada", "--password-stdin",
        stdin: box.canary.make("password") + "\n", env: env)
      #expect(login.status == 0, "\(login.stderr)")
      let findings = box.canary.findings(box, [access, refresh])
      #expect(findings.count == 2)
      #expect(
        findings.allSatisfy {
          $0.contains(" in file state/authctl/sessions/") && $0.hasSuffix(".plaintext")
        })
      let logout = try await box.run("logout", "-p", "shop", "-u", "ada", env: env)
      #expect(logout.status == 0, "\(logout.stderr)")
    }
  }

  /// The plaintext store warns at each login, and only then.
  @Test func plaintextWarnsAtEachLogin() async throws {
    try await FileShop.with("plaintext") { files in
      for _ in 0..<2 {
        let login = try await files.login()
        #expect(login.stderr.contains("warning: the store plaintext does not encrypt"))
      }
      #expect(try await files.login("-q").stderr == "")
      #expect(try await files.run("get", "/me").stderr == "")
      let refresh = try await files.run("refresh")
      #expect(!refresh.stderr.contains("warning"))
    }
  }

  // MARK: Untrusted folders

  @Test(arguments: ["loose", "link", "foreign"], ["locks", "sessions"])
  func folderThatOthersCouldWriteIsRefused(_ kind: String, _ name: String) async throws {
    if kind == "foreign", !Self.isRoot { return }
    try await FileShop.with { files in
      try await files.signIn()
      try await files.api.reset()
      let folder = files.box.stateHome + "/authctl/" + name
      let away = files.box.root + "/away"
      switch kind {
      case "loose": chmod(folder, 0o777)
      case "foreign": try #require(chown(folder, 65534, 65534) == 0)
      default:
        try #require(rename(folder, away) == 0)
        symlink(away, folder)
      }
      for words in [["refresh"], ["login", "-p", "shop", "--password-stdin"], ["logout"]] {
        let run = try await files.box.run(words, stdin: Shop.password + "\n", env: files.env)
        #expect(run.status == 12, "\(words): \(run.stderr)")
        #expect(run.stdout == "")
        #expect(
          run.stderr.hasPrefix(
            "authctl: \(folder) \(kind == "loose" ? "is writable by other users" : "is not a folder")"
          ),
          "\(run.stderr)")
      }
      #expect(try await files.api.count("POST /refresh") == 0)
      #expect(try await files.api.count("POST /logout") == 0)
      // No sign-in is sent if the session could not be stored.
      #expect(try await files.api.count("POST /login") == (name == "locks" ? 1 : 0))
    }
  }

  // MARK: Concurrent commands

  @Test func anyNumberOfProcessesSendOneRefresh() async throws {
    try await FileShop.with { files in
      try await files.signIn()
      try await files.api.expire()
      try await files.api.reset()
      let runs = try (0..<12).map { _ in try files.box.start(["get", "/me"], env: files.env) }
      for child in runs {
        let run = try await child.finish()
        #expect(run.stdout == Shop.me)
        #expect(run.stderr == "" && run.status == 0)
      }
      #expect(try await files.api.count("POST /refresh") == 1)
      #expect(files.files.count == 1)
    }
  }

  /// One damaged file affects neither the list nor the other sessions; a login replaces it.
  @Test func damagedFileIsToldAndMendedByALogin() async throws {
    try await FileShop.with { files in
      try await files.signIn()
      let path = try files.onlyFile()
      try await files.signIn(Shop.grace, password: Shop.gracePassword)
      let whole = try #require(readFile(path))
      var flipped = whole
      flipped[whole.count - 3] ^= 1
      try files.overwrite(path, flipped)
      try await files.api.reset()
      for words in [["get", "/me"], ["refresh"], ["token"], ["whoami"]] {
        let run = try await files.box.run(words + ["-u", Shop.ada], env: files.env)
        #expect(
          run.stderr == """
            authctl: shop: the stored session of ada@example.com was changed or damaged after it \
            was sealed
            hint: to replace it, run: authctl login -p shop -u ada@example.com

            """)
        #expect(run.stdout == "" && run.status == 12)
      }
      #expect(try await files.api.counts() == [:])
      #expect(readFile(path) == flipped)
      let rows = try JSON(parsing: try await files.run("status", "--json").stdout).elements
      #expect(rows.map { $0["account"] } == [.string(Shop.ada), .string(Shop.grace)])
      #expect(rows.map { $0["state"] } == ["expired", "valid"])
      #expect(try await files.run("whoami", "-u", Shop.grace).stdout == Shop.grace + "\n")
      // An unreadable header does not affect the others either.
      try files.overwrite(path, Array(whole[..<100]))
      let table = try await files.run("status")
      #expect(
        table.stdout == """
            PROFILE  ACCOUNT            STATE    LEFT    ORIGIN
            ?        ?                  expired  -       ?
            shop     grace@example.com  valid    14 min  \(files.api.url)

          """)
      #expect(try await files.run("status", "--check", "-u", Shop.grace).status == 0)
      let all = try await files.run("logout", "--all", "-p", "shop", "--json")
      #expect(try JSON(parsing: all.stdout).elements.map { $0["account"] } == [.string(Shop.grace)])
      #expect(all.status == 0 && files.files.count == 1)
      try await files.signIn()
      #expect(try await files.run("get", "/me", "-u", Shop.ada).stdout == Shop.me)
    }
  }

  /// Without libcrypto there is no key and no file name: commands report that and delete nothing.
  @Test func withoutLibcrypto() async throws {
    try await FileShop.with { files in
      try await files.signIn()
      let before = files.files
      try await files.api.reset()
      // The dynamic linker finds this file first, and it is not a library.
      try files.box.write("broken/libcrypto.so.3", "")
      let env = ["LD_LIBRARY_PATH": files.box.root + "/broken"]
      for words in [["token"], ["status"], ["whoami", "--offline"], ["logout"]] {
        let run = try await files.box.run(words, env: files.env.merging(env) { $1 })
        #expect(
          run.stderr
            == "authctl: libcrypto 3 of OpenSSL cannot be loaded: "
            + "\(files.box.root)/broken/libcrypto.so.3: file too short\n", "\(words)")
        #expect(run.stdout == "" && run.status == 12, "\(words)")
      }
      #expect(try await files.api.counts() == [:])
      #expect(files.files == before)
      #expect(try await files.run("get", "/me").stdout == Shop.me)
    }
  }
}
