import Foundation
import Testing

@testable import AuthKit

/// A private gnome-keyring on a private bus, with all its folders in a temporary one.
private final class PrivateKeyring {
  let folder: String
  var address: String { "unix:path=\(folder)/bus" }
  private(set) var bus: pid_t = 0
  private(set) var daemon: pid_t = 0

  init(withDaemon: Bool = true) throws {
    var template = Array("/tmp/authctl-keyring-XXXXXX".utf8CString)
    folder = try #require(mkdtemp(&template).map { String(cString: $0) })
    // No service folders: the bus must not start a daemon by itself.
    let config = """
      <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
        "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
      <busconfig><type>session</type><listen>\(address)</listen><auth>EXTERNAL</auth>
      <policy context="default"><allow send_destination="*"/><allow receive_sender="*"/>
      <allow own="*"/></policy></busconfig>
      """
    try config.write(toFile: folder + "/bus.conf", atomically: true, encoding: .utf8)
    for name in ["run", "data", "config", "cache"] {
      try #require(mkdir("\(folder)/\(name)", 0o700) == 0)
    }
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    bus = try spawn(
      ["dbus-daemon", "--nofork", "--print-address", "--config-file=\(folder)/bus.conf"],
      output: ends[1])
    close(ends[1])
    // dbus-daemon prints its address when it is ready.
    var byte: UInt8 = 0
    try #require(read(ends[0], &byte, 1) == 1)
    close(ends[0])
    if withDaemon { try start(password: "correct horse") }
  }

  deinit {
    end(&daemon)
    end(&bus)
    try? FileManager.default.removeItem(atPath: folder)
  }

  func start(password: String?) throws {
    let unlock = password == nil ? [] : ["--unlock"]
    daemon = try spawn(
      ["gnome-keyring-daemon", "--foreground", "--components=secrets"] + unlock,
      input: password ?? "")
    try run("gdbus", "wait", "--session", "--timeout", "20", "org.freedesktop.secrets")
  }

  func stopDaemon() { end(&daemon) }
  func stopBus() { end(&bus) }

  /// Stops a process and waits until it is stopped.
  func freeze(_ process: pid_t) {
    kill(process, SIGSTOP)
    var status: Int32 = 0
    waitpid(process, &status, WUNTRACED)
  }

  func lock() throws {
    try run(
      "gdbus", "call", "--session", "-d", "org.freedesktop.secrets", "-o",
      "/org/freedesktop/secrets", "-m", "org.freedesktop.Secret.Service.Lock",
      "['/org/freedesktop/secrets/collection/login']")
  }

  /// Runs `secret-tool store` with authctl's schema and these attributes.
  func plant(_ secret: String, _ attributes: String...) throws {
    try run(
      ["secret-tool", "store", "--label=planted", "xdg:schema", "io.github.authctl.Session"]
        + attributes, input: secret)
  }

  func store(timeout: Double = 20, mayPrompt: Bool = false) -> SecretServiceStore {
    SecretServiceStore(timeout: timeout, mayPrompt: mayPrompt, busAddress: address)
  }

  private func run(_ arguments: String...) throws { try run(arguments, input: "") }

  private func run(_ arguments: [String], input: String) throws {
    let process = try spawn(arguments, input: input)
    var status: Int32 = 0
    waitpid(process, &status, 0)
    try #require(status == 0, "\(arguments.joined(separator: " "))")
  }

  private func spawn(
    _ arguments: [String], input: String = "", output: Int32? = nil
  ) throws -> pid_t {
    // A file, not a pipe: children that start at the same time would keep a pipe open.
    try input.write(toFile: folder + "/input", atomically: true, encoding: .utf8)
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, folder + "/input", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
    if let output { posix_spawn_file_actions_adddup2(&actions, output, 1) }
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    let environment = [
      "PATH=/usr/local/bin:/usr/bin:/bin", "HOME=\(folder)", "XDG_RUNTIME_DIR=\(folder)/run",
      "XDG_DATA_HOME=\(folder)/data", "XDG_CONFIG_HOME=\(folder)/config",
      "XDG_CACHE_HOME=\(folder)/cache", "DBUS_SESSION_BUS_ADDRESS=\(address)",
    ]
    var process: pid_t = 0
    let argv = arguments.map { strdup($0) } + [nil]
    let envp = environment.map { strdup($0) } + [nil]
    defer { for pointer in argv + envp { free(pointer) } }
    try #require(
      posix_spawnp(&process, arguments[0], &actions, &attributes, argv, envp) == 0,
      "\(arguments[0])")
    return process
  }

  private func end(_ process: inout pid_t) {
    guard process > 0 else { return }
    kill(process, SIGKILL)
    var status: Int32 = 0
    waitpid(process, &status, 0)
    process = 0
  }
}

private func key(_ profile: String, _ account: String, _ origin: String) -> SessionKey {
  SessionKey(profile: profile, account: account, origin: origin)
}

/// The payload as text; nil if there is none.
private func text(_ store: SecretServiceStore, _ profile: String, _ account: String) throws
  -> String?
{
  guard let secret = try store.read(profile: profile, account: account) else { return nil }
  return secret.withBytes { String(decoding: $0, as: UTF8.self) }
}

/// The failure of `body`, which must fail.
private func failure(_ body: () throws -> Void) throws -> Failure {
  do { try body() } catch let error as Failure { return error }
  throw Failure(.failed, "nothing was thrown")
}

struct SecretServiceStoreTests {
  static let names = [
    ("shop", "ada@shop.example"), ("shop", "ada"), ("shop2", "ada"), ("p", ""),
    ("p", "o'brien \"x\" \\ $HOME `id`"), ("p", "\u{e9}"), ("p", "e\u{301}"),
    ("p", "a\r\nb\tc"), ("p", "\u{1F469}\u{200D}\u{1F4BB} \u{5d0}\u{202e}"),
  ]

  @Test func roundTrip() throws {
    let keyring = try PrivateKeyring()
    let store = keyring.store()
    try store.open()
    #expect(store.serviceName == "gnome-keyring")
    #expect(try store.list().isEmpty)
    for (index, (profile, account)) in Self.names.enumerated() {
      #expect(try text(store, profile, account) == nil)
      let value = Secret("value \(index) \u{20ac}\n\u{0}.")
      try store.write(value, key: key(profile, account, "https://h\(index).example"))
    }
    // A new connection reads them back when all are stored.
    let other = keyring.store()
    for (index, (profile, account)) in Self.names.enumerated() {
      #expect(try text(other, profile, account) == "value \(index) \u{20ac}\n\u{0}.")
    }
    // Compare bytes, since Swift treats "e\u{301}" and "\u{e9}" as equal.
    let listed = try other.list().map {
      [$0.profile ?? "", $0.account ?? "", $0.origin ?? ""].map { Array($0.utf8) }
    }
    for (index, (profile, account)) in Self.names.enumerated() {
      let wanted = [profile, account, "https://h\(index).example"].map { Array($0.utf8) }
      #expect(listed.filter { $0 == wanted }.count == 1)
    }
    #expect(listed.count == Self.names.count)
    for (profile, account) in Self.names {
      #expect(try other.delete(profile: profile, account: account))
      #expect(try other.delete(profile: profile, account: account) == false)
      #expect(try text(store, profile, account) == nil)
    }
    #expect(try store.list().isEmpty)
  }

  @Test(arguments: [0, 1, 15, 16, 17, 200 * 1024, 256 * 1024])
  func sizes(_ count: Int) throws {
    let keyring = try PrivateKeyring()
    let store = keyring.store()
    let value = String(repeating: "\u{20ac}aZ~", count: count / 6 + 1).utf8.prefix(count)
    let payload = String(decoding: value, as: UTF8.self)
    try store.write(Secret(payload), key: key("p", "a", "https://h.example"))
    #expect(try text(store, "p", "a")?.utf8.elementsEqual(payload.utf8) == true)
  }

  @Test func replacingLeavesOneItem() throws {
    let keyring = try PrivateKeyring()
    let store = keyring.store()
    for (value, origin) in [
      ("1", "https://a.example"), ("2", "https://a.example"), ("3", "https://b.example"),
    ] {
      try store.write(Secret(value), key: key("shop", "ada", origin))
      #expect(try text(store, "shop", "ada") == value)
      #expect(try store.list().map(\.origin) == [origin])
    }
  }

  @Test func twoItemsAreNotTrusted() throws {
    let keyring = try PrivateKeyring()
    let store = keyring.store()
    try store.write(Secret("ours"), key: key("shop", "ada l", "https://a.example"))
    try keyring.plant("theirs", "profile", "shop", "account", "ada l", "origin", "https://evil")
    let two = try failure { _ = try text(store, "shop", "ada l") }
    #expect(two.kind == .storeMissing && two.kind.exitCode == 12)
    #expect(two.message.utf8.starts(with: "two items for shop (ada l) in the keyring: ".utf8))
    #expect(two.message.contains("https://a.example") && two.message.contains("https://evil"))
    #expect(two.hint?.hasSuffix(" profile shop account 'ada l'") == true)
    #expect(try store.list().count == 2)
    // A new sign-in replaces them with its own item.
    try store.write(Secret("new"), key: key("shop", "ada l", "https://c.example"))
    #expect(try text(store, "shop", "ada l") == "new")
    #expect(try store.list().map(\.origin) == ["https://c.example"])
    // Signing out deletes them too.
    try keyring.plant("theirs", "profile", "shop", "account", "ada l", "origin", "x", "y", "z")
    #expect(try failure { _ = try text(store, "shop", "ada l") }.kind == .storeMissing)
    #expect(try store.delete(profile: "shop", account: "ada l"))
    #expect(try store.list().isEmpty)
  }

  @Test func attributesOnlyFind() throws {
    let keyring = try PrivateKeyring()
    let store = keyring.store()
    try keyring.plant("copied", "profile", "shop", "account", "eve", "origin", "https://evil")
    #expect(try text(store, "shop", "ada") == nil)
    // Its content is returned unchanged: the caller compares.
    #expect(try text(store, "shop", "eve") == "copied")
    try keyring.plant("no account", "profile", "half")
    #expect(try store.list().contains { $0.profile == "half" && $0.account == nil })
  }

  @Test func aLockedKeyringIsNotAnEmptyOne() throws {
    let keyring = try PrivateKeyring()
    let store = keyring.store()
    try store.write(Secret("v"), key: key("shop", "ada", "https://a.example"))
    try keyring.lock()
    for body: () throws -> Void in [
      { _ = try text(store, "shop", "ada") },
      { _ = try store.delete(profile: "shop", account: "ada") },
      { try store.open() },
      { try store.write(Secret("w"), key: key("shop", "ada", "https://a.example")) },
      { try store.write(Secret("w"), key: key("new", "ada", "https://a.example")) },
    ] {
      let locked = try failure(body)
      #expect(locked.kind == .storeLocked)
      #expect(locked.message == #"the keyring is locked (gnome-keyring, collection "Login")"#)
      #expect(locked.hint == "authctl store unlock --password-stdin")
    }
    #expect(try text(store, "shop", "nobody") == nil)
    let items = try store.list()
    #expect(items.map(\.account) == ["ada"] && items.map(\.isLocked) == [true])
    // No program here can show the prompt, which gnome-keyring reports as dismissed.
    let dismissed = try failure { _ = try text(keyring.store(mayPrompt: true), "shop", "ada") }
    #expect(dismissed.kind == .storeLocked)
    #expect(dismissed.message == "the keyring stayed locked: its dialog was dismissed")
  }

  @Test func aKeyringNeverUnlockedShowsHashes() throws {
    let keyring = try PrivateKeyring()
    try keyring.store().write(Secret("v"), key: key("shop", "ada", "https://a.example"))
    keyring.stopDaemon()
    try keyring.start(password: nil)
    let store = keyring.store()
    #expect(try failure { _ = try text(store, "shop", "ada") }.kind == .storeLocked)
    #expect(
      try failure { _ = try store.delete(profile: "shop", account: "ada") }.kind == .storeLocked)
    #expect(try text(store, "shop", "nobody") == nil)
    let items = try store.list(profiles: ["other", "shop"])
    #expect(items.map(\.profile) == ["shop"] && items.map(\.isLocked) == [true])
    #expect(items.map(\.account) == [nil])
    #expect(try store.list().map(\.profile) == [nil])
  }

  @Test func noDaemon() throws {
    let keyring = try PrivateKeyring(withDaemon: false)
    for body: () throws -> Void in [
      { try keyring.store().open() }, { _ = try keyring.store().list() },
      { _ = try text(keyring.store(), "shop", "ada") },
    ] {
      let missing = try failure(body)
      #expect(missing.kind == .storeMissing)
      #expect(missing.message == "no Secret Service on this bus (org.freedesktop.secrets)")
      #expect(
        missing.hint == "apt install gnome-keyring, or use AUTHCTL_STORE=file (see authctl help ci)"
      )
    }
    #expect(keyring.store().serviceName == "Secret Service")
  }

  @Test func aFrozenDaemonEndsInATimeout() throws {
    let keyring = try PrivateKeyring()
    let open = keyring.store(timeout: 0.2)
    #expect(try open.list().isEmpty)
    keyring.freeze(keyring.daemon)
    for store in [open, keyring.store(timeout: 0.2)] {
      let late = try failure { _ = try text(store, "shop", "ada") }
      #expect(late.kind == .storeTimeout && late.kind.exitCode == 12)
      #expect(late.message == "the keyring did not answer within 0.2 s")
      #expect(try failure { _ = try store.list() }.kind == .storeTimeout)
      #expect(try failure { try store.open() }.kind == .storeTimeout)
    }
    kill(keyring.daemon, SIGCONT)
    #expect(try text(keyring.store(), "shop", "ada") == nil)
  }

  @Test func aFrozenBusEndsInATimeout() throws {
    let keyring = try PrivateKeyring()
    keyring.freeze(keyring.bus)
    #expect(try failure { try keyring.store(timeout: 0.2).open() }.kind == .storeTimeout)
    kill(keyring.bus, SIGCONT)
  }

  @Test func aDaemonThatDiesIsFoundAgain() throws {
    let keyring = try PrivateKeyring()
    let store = keyring.store()
    try store.write(Secret("v"), key: key("shop", "ada", "https://a.example"))
    keyring.stopDaemon()
    #expect(try failure { _ = try text(store, "shop", "ada") }.kind == .storeMissing)
    #expect(try failure { _ = try text(store, "shop", "ada") }.kind == .storeMissing)
    try keyring.start(password: "correct horse")
    #expect(try text(store, "shop", "ada") == "v")
    // GLib's shared connection would exit the process here.
    keyring.stopBus()
    #expect(try failure { _ = try text(store, "shop", "ada") }.kind == .storeMissing)
    #expect(
      try failure { _ = try text(store, "shop", "ada") }.message
        .contains("no D-Bus session at unix:path="))
  }

  @Test(arguments: [
    "tcp:host=127.0.0.1,port=9,guid=00112233", "autolaunch:", "unixexec:path=/bin/false",
    "unix:path=/nowhere;tcp:host=127.0.0.1,port=9", "nonce-tcp:host=h", "UNIX:path=/x", "launchd:",
  ])
  func onlyUnixSockets(_ address: String) throws {
    let refused = try failure {
      try SecretServiceStore(mayPrompt: true, busAddress: address).open()
    }
    #expect(refused.kind == .storeMissing)
    #expect(refused.message.utf8.starts(with: "refused the D-Bus session at ".utf8))
    #expect(!refused.message.contains("guid"))
  }

  @Test func aBusThatIsNotThere() throws {
    let store = SecretServiceStore(
      mayPrompt: false, busAddress: "unix:path=/nowhere/bus,guid=00112233445566778899aabbccddeeff")
    let missing = try failure { try store.open() }
    #expect(missing.kind == .storeMissing)
    #expect(
      missing.message.utf8.starts(with: "no D-Bus session at unix:path=/nowhere/bus: ".utf8))
  }

  @Test func withoutAnAddressTheUsersSocket() throws {
    let keyring = try PrivateKeyring(withDaemon: false)
    let socket = keyring.folder + "/bus"
    #expect(try sessionBusAddress("", userBus: socket) == "unix:path=\(socket)")
    let link = keyring.folder + "/link"
    try #require(symlink(socket, link) == 0)
    for path in [link, keyring.folder + "/bus.conf", keyring.folder + "/none"] {
      let missing = try failure { _ = try sessionBusAddress("", userBus: path) }
      #expect(missing.kind == .storeMissing)
      #expect(missing.message == "no D-Bus session: DBUS_SESSION_BUS_ADDRESS is not set")
      #expect(missing.hint == "use AUTHCTL_TOKEN or AUTHCTL_STORE=file (see authctl help ci)")
    }
  }

  @Test func aNulByteIsNoEnd() throws {
    let keyring = try PrivateKeyring()
    let store = keyring.store()
    try store.write(Secret("v"), key: key("shop", "ada", "https://a.example"))
    #expect(try failure { _ = try text(store, "shop", "ada\u{0}x") }.kind == .failed)
    #expect(
      try failure { try store.write(Secret("w"), key: key("shop", "ada", "h\u{0}")) }.kind
        == .failed)
    #expect(try text(store, "shop", "ada") == "v")
  }

  @Test func foreignTextStaysOnOneLine() {
    #expect(keyringText("a\r\nb\u{1b}[31m\u{202e}c\u{2028}\u{e9}") == "a??b?[31m?c?\u{e9}")
    #expect(keyringText(String(repeating: "x", count: 400)).utf8.count == 300)
    #expect(
      Failure.keyringLocked(
        "KWallet", collection: "x\ny", isAttended: true, takesPassword: false
      ).message
        == #"the keyring is locked (KWallet, collection "x?y")"#)
  }
}
