import Glibc
import Testing

/// `make test-keyrings`: the real KWallet and KeePassXC as Secret Services, on a virtual screen
/// (Xvfb), operated by xdotool as a user would. The README ("Keyrings") describes the differences
/// from gnome-keyring.
@Suite(.serialized) struct KeyringProgramsTests {
  private static let isOn = getenv("AUTHCTL_KEYRINGS") != nil

  @Test(.enabled(if: isOn, "make test-keyrings"), arguments: KeyringProgram.Kind.allCases)
  func wholeLifeOfASession(_ kind: KeyringProgram.Kind) async throws {
    try await KeyringProgram.with(kind) { program in
      let shop = program.shop
      try await shop.box.expect(12, locked(kind), "get", "/me")
      try await program.unlock()
      try await signIn(program)
      try await use(program)
      try await locked(program)
      try await program.unlock()
      #expect(try await shop.box.run("get", "-u", Shop.ada, "/me").stdout == Shop.me)
      let logout = try await shop.box.run("logout", "-u", Shop.ada)
      #expect(
        logout.stderr == "Signed out of shop as \(Shop.ada), at the server and on this machine.\n")
      #expect(logout.status == 0)
      let status = try await shop.box.run("status")
      #expect(status.stdout + status.stderr == "No sessions.\nhint: authctl login URL\n")
      try await program.kill()
      let gone = try await shop.box.run("get", "/me")
      #expect(gone.stderr.hasPrefix("authctl: no Secret Service on this bus"), "\(gone.stderr)")
      #expect(gone.status == 12)
    }
  }

  private func locked(_ kind: KeyringProgram.Kind) -> String {
    """
    authctl: the keyring is locked (\(kind.rawValue), collection "\(kind.lockedCollection)")
    hint: unlock it in the desktop session, or use AUTHCTL_STORE=file

    """
  }

  /// Signs in two accounts, and one of them a second time.
  private func signIn(_ program: KeyringProgram) async throws {
    var first = "Default profile: shop. To change it, run: authctl use NAME\n"
    for (account, password) in [
      (Shop.ada, Shop.password), (Shop.grace, Shop.gracePassword),
      (Shop.grace, Shop.gracePassword),
    ] {
      let login = try await program.shop.login("-u", account, password: password)
      #expect(
        login.stderr == """
          Signed in to shop as \(account). Valid for 15 min; renewed automatically.
          Saved: session in the Secret Service (\(program.kind.rawValue)).
          \(first)Next: authctl get /me

          """)
      first = ""
      #expect(login.status == 0)
    }
  }

  private func use(_ program: KeyringProgram) async throws {
    let (box, api) = (program.shop.box, program.api)
    let rows = try JSON(parsing: try await box.run("status", "--json").stdout).elements
    #expect(rows.map { $0["account"] } == [.string(Shop.ada), .string(Shop.grace)])
    #expect(rows.allSatisfy { $0["state"] == "valid" && $0["store"] == "secret-service" })
    let token = try await box.run("token", "-u", Shop.ada)
    #expect(token.status == 0 && token.stdout.utf8.count > 100)
    #expect(try await box.run("get", "-u", Shop.ada, "/me").stdout == Shop.me)
    #expect(try await box.run("whoami", "-u", Shop.grace).stdout == Shop.grace + "\n")
    // Refresh tokens work once: each of these commands must have stored its new pair.
    for _ in 0..<2 { try await box.expect(0, nil, "refresh", "-u", Shop.ada) }
    try await api.expire()
    #expect(try await box.run("get", "-u", Shop.ada, "/me").stdout == Shop.me)
    #expect(try await api.count("POST /refresh") == 3)
    try await box.expect(0, nil, "logout", "-u", Shop.grace)
    let left = try JSON(parsing: try await box.run("status", "--json").stdout).elements
    #expect(left.map { $0["account"] } == [.string(Shop.ada)])
    let move = ["store", "migrate", "--json", "--from"]
    for (from, to) in [("secret-service", "plaintext"), ("plaintext", "secret-service")] {
      let run = try await box.run(move + [from, "--to", to])
      #expect(try JSON(parsing: run.stdout)[0]?["moved"] == true, "\(run.stderr)")
      #expect(run.status == 0)
    }
  }

  private func locked(_ program: KeyringProgram) async throws {
    let (box, kind) = (program.shop.box, program.kind)
    try await program.lock()
    try await program.api.reset()
    let words = locked(kind)
    for command in ["get /me", "token", "refresh", "whoami --offline", "logout", "store unlock"] {
      try await box.expect(12, words, command.split(separator: " ").map(String.init))
    }
    let login = try await program.shop.login()
    #expect(login.stderr == words)
    #expect(login.status == 12)
    let status = try await box.run("status", "--json")
    #expect(try JSON(parsing: status.stdout).elements.map { $0["state"] } == ["locked"])
    #expect(try await box.run("status", "--check").status == 12)
    let list = try await box.run("profile", "list", "--json")
    #expect(try JSON(parsing: list.stdout)[0]?["state"] == "locked")
    let password = try await box.run("store", "unlock", "--password-stdin", stdin: "secret\n")
    #expect(
      password.stderr == """
        authctl: \(kind.rawValue) accepts no password from other programs
        hint: to use its own dialog, run on its desktop: authctl store unlock

        """)
    #expect(password.status == 12)
    // On a terminal the user gets the dialog, and closes it.
    let get = try box.openTerminal(["get", "/me"])
    try await program.screen.press("Escape", in: kind.dialog)
    let dismissed = try await get.finish()
    #expect(
      dismissed.screen == "authctl: the keyring stayed locked: its dialog was dismissed\n")
    #expect(dismissed.status == 12)
    #expect(try await program.api.counts() == [:])
  }
}

/// KWallet or KeePassXC in a sandbox, with a shop and a locked store.
struct KeyringProgram: Sendable {
  enum Kind: String, CaseIterable, Sendable {
    case kwallet = "KWallet"
    case keepassxc = "KeePassXC"

    /// The title of the window that asks for the password.
    var dialog: String { self == .kwallet ? "KDE Wallet Service" : "Unlock Database" }
    /// KeePassXC knows the name of a database only when it is open; before that, the name of its
    /// file.
    var lockedCollection: String { self == .kwallet ? "kdewallet" : "file" }
  }

  let kind: Kind
  let shop: Shop
  let api: APIServer
  let screen: Screen
  private let daemon: Daemon

  /// The running program, which tests restart.
  private actor Daemon {
    var child: Child?
    func set(_ child: Child) { self.child = child }
  }

  static func with(
    _ kind: Kind, _ body: @Sendable (KeyringProgram) async throws -> Void
  ) async throws {
    try await Sandbox.with(.busOnly) { box in
      let api = try await box.api()
      let screen = try await Screen(box)
      let program = KeyringProgram(
        kind: kind, shop: try Shop(box, api.url), api: api, screen: screen, daemon: Daemon())
      switch kind {
      case .kwallet:
        try await program.start(["/usr/bin/kwalletd5"], hasCollection: false)
        // Creates the wallet as the login module does; the service shows it at the next start.
        try await program.openWallet()
        try await onThread {
          while access(box.root + "/keyring/kwalletd/kdewallet.kwl", F_OK) != 0 { usleep(10_000) }
        }
        try await program.kill()
        try await program.start(["/usr/bin/kwalletd5"])
      case .keepassxc:
        try await program.makeDatabase()
        try await program.start(["/usr/bin/keepassxc", box.root + "/keyring/file.kdbx"])
      }
      try await body(program)
    }
  }

  /// Its files are outside of the folders that authctl may write, like gnome-keyring's.
  private var variables: [String: String] {
    var variables = shop.box.environment(["DISPLAY": screen.name, "QT_QPA_PLATFORM": "xcb"])
    // KeePassXC uses its TMPDIR to find a running instance.
    for name in ["HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "TMPDIR"] {
      variables[name] = shop.box.root + "/keyring"
    }
    return variables
  }

  private func start(_ command: [String], hasCollection: Bool = true) async throws {
    let box = shop.box
    let child = try box.spawn(
      Launch(
        command: command, environment: variables, directory: box.root, limit: nil,
        isSampled: false), isDaemon: true)
    await daemon.set(child)
    let words = ["wait", "--session", "--timeout", "30", "org.freedesktop.secrets"]
    try await box.expect(0, "", words, program: "/usr/bin/gdbus")
    guard hasCollection else { return }
    // The bus name exists before the collection does.
    try await onThread {
      let service = try SecretService(socket: box.busSocket)
      while try service.defaultCollection() == "/", child.view.status == nil { usleep(10_000) }
    }
  }

  func kill() async throws {
    guard let child = await daemon.child else { return }
    child.signal(SIGKILL)
    await child.until { $0.finished }
    let socket = shop.box.busSocket
    try await onThread {
      let bus = try DBusConnection(path: socket)
      while try SecretService.isOwned(on: bus) { usleep(1000) }
    }
  }

  /// Locks the wallet or the database.
  func lock() async throws {
    let box = shop.box
    switch kind {
    case .kwallet: try await box.lockKeyring()
    case .keepassxc:
      let run = try await box.run(
        "--lock", env: variables.mapValues { $0 }, program: "/usr/bin/keepassxc")
      #expect(run.status == 0, "\(run.stderr)")
      // KeePassXC reports success before it has locked.
      for _ in 0..<200 where try await box.run("status", "--check").status == 12 { return }
    }
  }

  /// Unlocks it with `store unlock`: KeePassXC by its dialog, KWallet opened as by a login.
  func unlock() async throws {
    if kind == .kwallet { try await openWallet() }
    let unlock = try shop.box.openTerminal(["store", "unlock"])
    if kind == .keepassxc { try await screen.type(Self.password, in: kind.dialog) }
    let run = try await unlock.finish()
    #expect(run.screen == "The Secret Service (\(kind.rawValue)) is unlocked.\n")
    #expect(run.status == 0)
  }

  // MARK: KWallet

  /// The call of pam_kwallet at a login, with the hash of a password.
  private func openWallet() async throws {
    let hash = "@ay [" + Array(repeating: "0x41", count: 56).joined(separator: ",") + "]"
    let words = [
      "call", "--session", "-d", "org.kde.kwalletd5", "-o", "/modules/kwalletd5", "-m",
      "org.kde.KWallet.pamOpen", "kdewallet", hash, "0",
    ]
    try await shop.box.expect(0, "", words, program: "/usr/bin/gdbus")
  }

  // MARK: KeePassXC

  private static let password = "kdbx secret"

  /// A database whose root group is exposed to the Secret Service, and settings that let programs
  /// read and delete without confirmation.
  private func makeDatabase() async throws {
    let box = shop.box
    let group = "{11111111-1111-1111-1111-111111111111}"
    try box.write(
      "keyring/file.xml",
      """
      <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
      <KeePassFile><Meta><Generator>test</Generator><DatabaseName>sessions</DatabaseName>
      <CustomData><Item><Key>FDO_SECRETS_EXPOSED_GROUP</Key><Value>\(group)</Value></Item>
      </CustomData></Meta><Root><Group><UUID>EREREREREREREREREREREQ==</UUID><Name>Root</Name>
      </Group></Root></KeePassFile>
      """)
    try box.write(
      "keyring/keepassxc/keepassxc.ini",
      """
      [General]
      ConfigVersion=2
      UpdateCheckMessageShown=true
      [GUI]
      CheckForUpdates=false
      [FdoSecrets]
      Enabled=true
      ConfirmAccessItem=false
      ConfirmDeleteItem=false
      ShowNotification=false
      """)
    let run = try await box.run(
      ["import", "-p", box.root + "/keyring/file.xml", box.root + "/keyring/file.kdbx"],
      stdin: Self.password + "\n" + Self.password + "\n", env: variables.mapValues { $0 },
      program: "/usr/bin/keepassxc-cli")
    try #require(run.status == 0, "\(run.stderr)")
  }
}

/// A virtual screen with a keyboard.
struct Screen: Sendable {
  /// The value of DISPLAY.
  let name: String
  private let box: Sandbox

  init(_ box: Sandbox) async throws {
    self.box = box
    let server = try box.spawn(
      Launch(
        command: [
          "/usr/bin/Xvfb", "-displayfd", "1", "-screen", "0", "1024x768x24", "-nolisten", "tcp",
        ], environment: box.environment(), directory: box.root, limit: nil, isSampled: false),
      isDaemon: true)
    try await server.waitFor("\n")
    let number = String(decoding: server.view.out, as: UTF8.self).split(separator: "\n").first
    name = ":\(number ?? "0")"
  }

  /// Waits for the window with this title and presses a key in it.
  func press(_ key: String, in window: String) async throws {
    try await act(window, ["key", key])
  }

  /// Waits for the window and types a line into it.
  func type(_ text: String, in window: String) async throws {
    try await act(window, ["type", text, "key", "Return"])
  }

  private func act(_ window: String, _ words: [String]) async throws {
    let id = try await find(window)
    for part in [["windowfocus", id] + words.prefix(2), Array(words.dropFirst(2))]
    where !part.isEmpty {
      try await box.expect(0, "", part, env: ["DISPLAY": name], program: "/usr/bin/xdotool")
    }
  }

  /// Waits for a window. xdotool fails if another window closes during its search; it is then run
  /// again.
  private func find(_ title: String) async throws -> String {
    let words = ["search", "--sync", "--onlyvisible", "--name", title]
    for _ in 0..<20 {
      let run = try await box.run(words, env: ["DISPLAY": name], program: "/usr/bin/xdotool")
      if run.status == 0, let id = run.stdout.split(separator: "\n").first { return String(id) }
    }
    throw HarnessError("there is no window \(title)")
  }
}

extension Sandbox {
  /// Runs authctl (or `program`), and expects this exit code and stderr (nil: any).
  func expect(
    _ status: Int32, _ stderr: String?, _ words: [String], env: [String: String?] = [:],
    program: String? = nil, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let run = try await run(words, env: env, program: program)
    #expect(run.status == status, "\(words): \(run.stderr)", sourceLocation: sourceLocation)
    if let stderr { #expect(run.stderr == stderr, "\(words)", sourceLocation: sourceLocation) }
  }

  func expect(
    _ status: Int32, _ stderr: String?, _ words: String...,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    try await expect(status, stderr, words, sourceLocation: sourceLocation)
  }
}
