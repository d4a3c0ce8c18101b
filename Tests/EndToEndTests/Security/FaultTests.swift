import Glibc
import Testing

/// System calls that fail: what `make test-faults` and `make test-chaos` try at length, for a few
/// seconds, and each mistake that they have found (rule T8). Tests/faults and Tests/chaos say what
/// is checked.
@Suite struct FaultTests {
  /// A full disk, a server that hangs up, SIGKILL: a few dozen faults.
  @Test func systemCallsFail() async throws {
    let run = try await Self.python("faults/run.py", "--quick", "--jobs", "2")
    #expect(run.status == 0 && run.stdout.contains(" runs in "), "\(run.stdout)\n\(run.stderr)")
  }

  /// The keyring is killed, stopped and locked, then processes are killed.
  @Test(arguments: ["secret-service", "file"])
  func storesComeAndGo(_ store: String) async throws {
    let run = try await Self.python(
      "chaos/run.py", "--store", store, "--time", "3", "--processes", "8")
    #expect(run.status == 0 && run.stdout.contains(" 0 findings"), "\(run.stdout)\n\(run.stderr)")
  }

  @Test func wavesSendOneRenewalEach() async throws {
    let run = try await Self.python(
      "chaos/waves.py", "--store", "file", "--number", "40", "--size", "10")
    #expect(run.status == 0 && run.stdout.contains(" 0 findings"), "\(run.stdout)\n\(run.stderr)")
  }

  /// `make test-valgrind` finds the leak that it plants.
  @Test func aLeakThatGrowsIsFound() async throws {
    try await Sandbox.with(.none) { box in
      let run = try await Self.python(
        "sanitizers/leaks.py", "--logs", box.root + "/logs", "--only", "none")
      #expect(run.status == 0 && run.stderr == "", "\(run.stdout)\n\(run.stderr)")
      #expect(
        run.stdout
          == "leaks: planted: lost 240 bytes with 10 and 2400 with 100; 0 other findings\n")
    }
  }

  private static func python(_ script: String, _ options: String...) async throws -> Run {
    let tests = #filePath.replacing("EndToEndTests/Security/FaultTests.swift", with: "")
    return try await Sandbox.with(.none) { box in
      try await box.run(
        [tests + script, "--authctl", try Built.authctl(), "--demo-api", try Built.demoAPI()]
          + options,
        // Its clang comes with Swift.
        env: ["PATH": getenv("PATH").map { String(cString: $0) }, "PYTHONDONTWRITEBYTECODE": "1"],
        program: "/usr/bin/python3", limit: 180)
    }
  }

  // MARK: - What they have found

  /// Runs authctl with a fault of strace, at all paths or at those of `paths`.
  private static func run(
    _ words: [String], fault: String, at paths: [String] = [], stdin: String? = nil,
    in box: Sandbox, env: [String: String?] = [:]
  ) async throws -> Run {
    let strace = ["-f", "--quiet=all", "-o", "/dev/null", "-e", "inject=\(fault)"]
    return try await box.run(
      strace + paths.flatMap { ["-P", $0] } + [try Built.authctl()] + words, stdin: stdin, env: env,
      program: "/usr/bin/strace")
  }

  /// Libraries for RTMP, LDAP and Kerberos are loaded only where the system has no files in memory to
  /// stand in for them (rule C6).
  @Test(arguments: [nil, "memfd_create:error=ENOSYS"])
  func librariesThatAreLeftOut(_ fault: String?) async throws {
    try await FileShop.with { files in
      try await files.signIn()
      let env = files.env.merging(["LD_DEBUG": "files"]) { $1 }
      let run =
        if let fault {
          try await Self.run(["get", "/me"], fault: fault, in: files.box, env: env)
        } else {
          try await files.box.run(["get", "/me"], env: env)
        }
      #expect(run.stdout == Shop.me && run.status == 0)
      #expect(run.stderr.contains("libcurl.so.4"))
      for name in ["librtmp", "libldap", "liblber", "libgssapi_krb5", "libgnutls", "libsasl2"] {
        let isLoaded = run.stderr.contains(try Regex("calling init: .*/\(name)[.-]"))
        #expect(isLoaded == (fault != nil), "\(name)")
      }
    }
  }

  /// GIO's, for mounts and for labels of files.
  @Test func librariesOfTheKeyringThatAreLeftOut() async throws {
    try await Sandbox.with { box in
      let run = try await box.run("status", env: ["LD_DEBUG": "files"])
      #expect(run.status == 0 && run.stderr.contains("/libgio-2.0.so.0"))
      for name in ["libmount", "libblkid", "libselinux"] {
        #expect(!run.stderr.contains(try Regex("calling init: .*/\(name)[.-]")), "\(name)")
      }
    }
  }

  /// Swift has no arguments then, and each command was the bare `authctl`.
  @Test func argumentsAreReadWithoutTheMapOfMemory() async throws {
    try await FileShop.with { files in
      try await files.signIn()
      let run = try await Self.run(
        ["get", "/me"], fault: "openat:error=EACCES", at: ["/proc/self/maps"], in: files.box,
        env: files.env)
      #expect(run.stdout == Shop.me && run.stderr == "" && run.status == 0)
    }
  }

  /// An error of readdir(3) ended a list: there was "nothing to move", and `profile rename` and
  /// `profile remove` lost the session.
  @Test func listingsDoNotEndSilently() async throws {
    try await FileShop.with { files in
      try await files.signIn()
      for words in [
        ["store", "migrate", "--from", "file", "--to", "plaintext"],
        ["profile", "rename", "shop", "moved"],
        ["profile", "remove", "shop"], ["status"], ["logout", "--all"],
      ] {
        let run = try await Self.run(
          words, fault: "getdents64:error=EIO", at: [files.sessions], in: files.box, env: files.env)
        #expect(
          run.stderr == """
            authctl: cannot read \(files.sessions): input/output error
            hint: set AUTHCTL_STATE_DIR to another folder

            """, "\(words)")
        #expect(run.stdout == "" && run.status == 12, "\(words)")
      }
      let profiles = files.box.configHome + "/authctl/profiles"
      let list = try await Self.run(
        ["profile", "list"], fault: "getdents64:error=EIO", at: [profiles], in: files.box,
        env: files.env)
      #expect(list.stderr == "authctl: cannot read \(profiles): input/output error\n")
      #expect(list.stdout == "" && list.status == 1)
      #expect(try await files.run("get", "/me").stdout == Shop.me)
    }
  }

  /// It waited for the keyring forever, whatever `--store-timeout` said.
  @Test func keyringWithoutThreadsFailsAtOnce() async throws {
    try await Shop.with { shop, _ in
      let run = try await Self.run(
        ["get", "/me"], fault: "clone3:error=EAGAIN:when=1+", in: shop.box)
      let bus = "unix:path=\(shop.box.busSocket)"
      #expect(
        run.stderr == """
          authctl: no D-Bus session at \(bus): no thread can be started
          hint: use AUTHCTL_TOKEN or AUTHCTL_STORE=file (see authctl help ci)

          """)
      #expect(run.stdout == "" && run.status == 12)
    }
  }

  /// It was called a mistake of the command line.
  @Test(arguments: [
    ("read:error=ENOMEM", "cannot allocate memory"), ("openat:error=EMFILE", "too many open files"),
  ])
  func passwordThatTheMachineCannotRead(_ fault: String, _ reason: String) async throws {
    try await FileShop.with { files in
      let password = try files.box.write("home/password", "secret\n")
      let run = try await Self.run(
        ["login", "shop", "--password-file", password], fault: fault, at: [password],
        in: files.box, env: files.env)
      #expect(run.stderr == "authctl: --password-file: \(password): \(reason)\n")
      #expect(run.stdout == "" && run.status == 1)
    }
  }

  /// "Not installed" was said of a process without descriptors.
  @Test func libraryWithoutADescriptorIsInstalled() async throws {
    try await FileShop.with { files in
      let folders = ["/lib", "/usr/lib"].flatMap { root in list(root).map { "\(root)/\($0)" } }
      let libraries = folders.map { $0 + "/libcurl.so.4" }.filter { access($0, F_OK) == 0 }
      let run = try await Self.run(
        ["get", files.api.url + "/me", "--anonymous"], fault: "openat:error=EMFILE", at: libraries,
        in: files.box, env: files.env)
      #expect(
        run.stderr == "authctl: libcurl 4 cannot be loaded: libcurl.so.4: "
          + "cannot open shared object file: Too many open files\n")
      #expect(run.stdout == "" && run.status == 1)
    }
  }

  /// "No such file" was said of one that could not be read.
  @Test func fileThatCannotBeReadIsThere() async throws {
    try await FileShop.with { files in
      let path = files.box.configHome + "/authctl/profiles/shop.toml"
      let run = try await Self.run(
        ["profile", "import", "new", path], fault: "readlink:error=EACCES",
        at: [files.box.configHome], in: files.box, env: files.env)
      #expect(run.stderr == "authctl: cannot read \(path): permission denied\n")
      #expect(run.stdout == "" && run.status == 1)
    }
  }

  @Test func signalDuringFsyncIsNoError() async throws {
    try await FileShop.with { files in
      let run = try await Self.run(
        ["profile", "set", "shop", "whoami.path=/you"], fault: "fsync:error=EINTR:when=1..3",
        in: files.box, env: files.env)
      #expect(run.stderr == "" && run.status == 0)
      let text = files.box.read("config/authctl/profiles/shop.toml") ?? ""
      #expect(text.contains("path = \"/you\""))
    }
  }

  /// The folder stayed when the token could not be written, and a hundred when it could not be
  /// locked.
  @Test(arguments: ["renameat:error=ENOSPC:when=1+", "flock:error=ENOLCK:when=1+"])
  func execLeavesNoFolder(_ fault: String) async throws {
    try await FileShop.with { files in
      try await files.signIn()
      let run = try await Self.run(
        ["exec", "--file", "--", "/bin/true"], fault: fault, in: files.box, env: files.env)
      #expect(run.stderr.hasPrefix("authctl: cannot write "), "\(run.stderr)")
      #expect(run.stderr.hasSuffix("\nhint: use --token-dir DIR with another folder\n"))
      #expect(run.stdout == "" && run.status == 125)
      #expect(files.box.tokenFolders == [])
    }
  }

  /// Nothing was said of a file with a token that stayed.
  @Test func execSaysThatTheTokenStays() async throws {
    try await FileShop.with { files in
      try await files.signIn()
      let run = try await Self.run(
        ["exec", "--file", "--", "/bin/true"], fault: "unlink:error=EACCES:when=1+", in: files.box,
        env: files.env)
      let folder = try #require(files.box.tokenFolders.first)
      let file = "\(files.box.runtimeDirectory)/authctl-exec/\(folder)/token"
      #expect(
        run.stderr == "authctl: warning: cannot remove \(file), which has the token\n")
      #expect(run.status == 0)
      // The next run removes it.
      #expect(try await files.run("exec", "--file", "--", "/bin/true").status == 0)
      #expect(files.box.tokenFolders == [])
    }
  }

  /// The last line counted it as "HTTP 401".
  @Test func batchNamesTheStore() async throws {
    try await FileShop.with { files in
      try await files.signIn()
      try await files.api.expire()
      let run = try await Self.run(
        ["batch"], fault: "flock:error=ENOLCK:when=1+", stdin: "{\"id\":1,\"url\":\"/me\"}\n",
        in: files.box, env: files.env)
      #expect(run.stderr == "1 of 1 request failed (store: 1)\n")
      let line = try JSON(parsing: run.stdout)
      #expect(line["status"] == 401 && line["error"]?["code"] == "store_missing")
      #expect(run.status == 12)
    }
  }
}
