import Synchronization
import Testing

/// `authctl store unlock` with a password: design 4, rule C11.
@Suite struct StoreUnlockTests {
  private static let unlocked = "The Secret Service (gnome-keyring) is unlocked.\n"
  private static let wrong =
    "authctl: the keyring stayed locked: wrong password (gnome-keyring, collection"
    + " \"Login\")\n"
  private static let locked = """
    authctl: the keyring is locked (gnome-keyring, collection "Login")
    hint: authctl store unlock --password-stdin

    """
  private static let question = "Password of the keyring \"Login\" (gnome-keyring): "

  private func withLocked(
    _ body: @Sendable (Shop, APIServer) async throws -> Void
  ) async throws {
    try await Shop.with { shop, api in
      let box = shop.box
      try await box.lockKeyring()
      try await api.reset()
      box.canary.watch(box.keyringPassword)
      try await body(shop, api)
    }
  }

  @Test(arguments: ["stdin", "file", "fd", "command"])
  func passwordFromEverySource(_ source: String) async throws {
    try await withLocked { shop, _ in
      let (box, password) = (shop.box, shop.box.keyringPassword)
      let file = try box.write("password", password + "\nmore\n")
      let words: [String] =
        switch source {
        case "stdin": ["--password-stdin"]
        case "file": ["--password-file", file]
        case "fd": ["--password-fd", "0"]
        default: ["--password-command", "cat \(file)"]
        }
      let stdin = ["stdin", "fd"].contains(source) ? password + "\n" : nil
      let run = try await box.run(["store", "unlock"] + words, stdin: stdin)
      #expect(run.stderr == Self.unlocked)
      #expect(run.stdout == "" && run.status == 0)
      #expect(try await box.run("get", "/me").stdout == Shop.me)
      // If it is unlocked already, no password is needed.
      let again = try await box.run("store", "unlock", "--password-stdin", "--json", stdin: "")
      #expect(again.stdout == "{\"store\":\"secret-service\",\"unlocked\":true}\n")
      #expect(again.stderr == Self.unlocked && again.status == 0)
    }
  }

  @Test func wrongPassword() async throws {
    try await withLocked { shop, api in
      let run = try await shop.box.run("store", "unlock", "--password-stdin", stdin: "wrong\n")
      #expect(run.stderr == Self.wrong)
      #expect(run.stdout == "" && run.status == 12)
      let json = try await shop.box.run(
        "store", "unlock", "--password-stdin", "--json", stdin: "wrong\n")
      #expect(try JSON(parsing: json.stderr)["error"]?["code"] == "store_locked")
      #expect(json.stdout == "" && json.status == 12)
      try await shop.box.expect(12, Self.locked, "get", "/me")
      #expect(try await api.counts() == [:])
    }
  }

  /// AUTHCTL_PASSWORD is the password of an API.
  @Test func passwordOfAnAPIIsNotSent() async throws {
    try await withLocked { shop, _ in
      let env: [String: String?] = ["AUTHCTL_PASSWORD": shop.box.keyringPassword]
      try await shop.box.expect(12, Self.locked, ["store", "unlock"], env: env)
    }
  }

  @Test func twoSourcesAndOtherStores() async throws {
    try await withLocked { shop, _ in
      let box = shop.box
      let both = try await box.run(
        "store", "unlock", "--password-stdin", "--password-file", "/dev/null", stdin: "x\n")
      #expect(
        both.stderr == "authctl: --password-stdin and --password-file both give the password; "
          + "use one of them\n")
      #expect(both.status == 2)
      for store in ["file", "plaintext"] {
        let run = try await box.run(
          "store", "unlock", "--store", store, "--password-stdin", stdin: "x\n")
        #expect(
          run.stderr.hasPrefix(
            "authctl: the store \(store) does not use a password\nhint: set AUTHCTL_"))
        #expect(run.stdout == "" && run.status == 2)
      }
    }
  }

  /// Without a display or a prompter, authctl asks on the terminal.
  @Test(arguments: [nil, ":7"])
  func terminalIsAskedWhereNoDialogCanBe(_ display: String?) async throws {
    try await withLocked { shop, _ in
      let env = ["DISPLAY": display]
      let wrong = try await shop.box.terminal(
        ["store", "unlock"], answers: [(Self.question, "wrong\n")], env: env)
      let wrapped = Self.wrong.replacing("collection ", with: "collection\n  ")
      #expect(wrong.screen == Self.question + "\n" + wrapped)
      #expect(wrong.status == 12)
      let right = try await shop.box.terminal(
        ["store", "unlock"], answers: [(Self.question, shop.box.keyringPassword + "\n")], env: env)
      #expect(right.screen == Self.question + "\n" + Self.unlocked)
      #expect(right.status == 0)
      // With --no-input it does not ask.
      try await shop.box.lockKeyring()
      let silent = try await shop.box.terminal(["store", "unlock", "--no-input"], env: env)
      #expect(silent.screen == Self.locked)
      #expect(silent.status == 12)
    }
  }

  /// A monitor of the bus sees the call but not the password.
  @Test func passwordCrossesTheBusEncrypted() async throws {
    try await withLocked { shop, _ in
      let box = shop.box
      let monitor = try box.spawn(
        Launch(
          command: ["/usr/bin/dbus-monitor", "--address", "unix:path=\(box.busSocket)"],
          environment: box.environment(), directory: box.root, limit: nil, isSampled: false),
        isDaemon: true)
      try await monitor.waitFor("NameLost")
      let password = Array(box.keyringPassword.utf8)
      let run = try await box.run(
        "store", "unlock", "--password-stdin", stdin: box.keyringPassword + "\n")
      #expect(run.status == 0, "\(run.stderr)")
      try await box.lockKeyring()
      try await monitor.waitFor("member=Lock")
      #expect(find(Array("member=UnlockWithMasterPassword".utf8), in: monitor.view.out) != nil)
      #expect(find(password, in: monitor.view.out) == nil)
      // The monitor would have seen it: it sees the password of a program without encryption.
      try await box.unlockKeyring()
      try await monitor.waitFor(box.keyringPassword)
    }
  }

  private final class Seen: Sendable {
    let members = Mutex<[String]>([])
  }

  /// A service without encryption does not get the password, even if it would accept it.
  @Test func passwordIsRefusedToAPlainSession() async throws {
    try await Sandbox.with(.busOnly) { box in
      let password = box.canary.make("password")
      let seen = Seen()
      let socket = box.busSocket
      startThread {
        // The thread ends with the bus.
        try? DBusConnection(path: socket).serve("org.freedesktop.secrets") { member, arguments in
          seen.members.withLock { $0.append(member) }
          switch member {
          case "OpenSession":
            return arguments.first?.text == "plain"
              ? [.variant(.string("")), .path("/org/freedesktop/secrets/session/1")] : nil
          case "Introspect":
            let name = "org.gnome.keyring.InternalUnsupportedGuiltRiddenInterface"
            return [.string("<node><interface name=\"\(name)\"/></node>")]
          case "ReadAlias": return [.path("/org/freedesktop/secrets/collection/c")]
          case "Get":
            return [.variant(arguments.last?.text == "Locked" ? .bool(true) : .string("C"))]
          default: return nil
          }
        }
      }
      let wait = ["wait", "--session", "--timeout", "20", "org.freedesktop.secrets"]
      try await box.expect(0, "", wait, program: "/usr/bin/gdbus")
      let run = try await box.run("store", "unlock", "--password-stdin", stdin: password + "\n")
      #expect(
        run.stderr.hasPrefix("authctl: refused to send the password: "), "\(run.stderr)")
      #expect(run.stderr.contains("does not support encryption on the bus\n"), "\(run.stderr)")
      #expect(run.stdout == "" && run.status == 12)
      let members = seen.members.withLock { $0 }
      #expect(members.contains("OpenSession"))
      #expect(!members.contains("UnlockWithMasterPassword"))
    }
  }

  /// For the store of files, the key must open every session.
  @Test func keyMustOpenEverySession() async throws {
    try await FileShop.with { files in
      try await files.signIn()
      let title = "The store of sealed files"
      let run = try await files.run("store", "unlock")
      #expect(run.stderr.hasPrefix(title) && run.status == 0, "\(run.stderr)")
      let other = try files.box.write("other", String(repeating: "5c", count: 32))
      let wrong = try await files.run(
        "store", "unlock", env: ["AUTHCTL_STORE_KEY_FILE": other])
      #expect(
        wrong.stderr == """
          authctl: shop: the stored session of ada@example.com was sealed with another key
          hint: to replace it, run: authctl login -p shop -u ada@example.com

          """)
      #expect(wrong.stdout == "" && wrong.status == 12)
    }
  }
}
