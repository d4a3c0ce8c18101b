import Synchronization
import Testing

/// The owner of org.freedesktop.secrets can reply with anything: authctl exits with 12, prints a
/// one-line message of its own, and sends nothing. StoreContentTests covers what a keyring may
/// *contain*.
@Suite struct HostileServiceTests {
  private static let name = FakeKeyring.name
  private static let hint = "\nhint: authctl doctor\n"
  /// Colour, text direction, a C1 control, a line separator, and a line that imitates authctl's.
  private static let evil = "\u{1B}[31mred\u{202E}\u{9B}\u{2028}\r\nauthctl: fine"
  private static let evilShown = "?[31mred?????authctl: fine"

  /// Signs ada in with an honest keyring; after that, exactly `requests` reach the API.
  private func withShop(
    sending requests: JSON = [:],
    _ body: @Sendable (Shop, FakeKeyring) async throws -> Void
  ) async throws {
    try await Shop.with(kind: .busOnly, signsIn: false) { shop, api in
      let keyring = try await FakeKeyring.start(shop.box)
      let login = try await shop.login()
      try #require(login.status == 0, "\(login.stderr)")
      try await api.reset()
      try await body(shop, keyring)
      #expect(try await api.counts() == requests)
    }
  }

  private func fails(
    _ shop: Shop, saying words: String, _ name: String = "", _ command: [String] = ["get", "/me"]
  ) async throws {
    let run = try await shop.box.run(command)
    #expect(run.stderr == words, "\(name)")
    #expect(run.stdout == "", "\(name)")
    #expect(run.status == 12, "\(name)")
  }

  /// Some keyrings support no encryption. A secret wiped before it was sent would be stored as
  /// zeros.
  @Test func honestKeyringWithoutEncryptionKeepsTheSession() async throws {
    try await withShop(sending: ["GET /me": 2, "POST /refresh": 1]) { shop, keyring in
      for (command, stdout) in [("get /me", Shop.me), ("refresh", ""), ("get /me", Shop.me)] {
        let run = try await shop.box.run(command.split(separator: " ").map(String.init))
        let renewed = "Renewed shop as \(Shop.ada). Valid for 15 min; renewed automatically.\n"
        #expect(run.stderr == (command == "refresh" ? renewed : ""))
        #expect(run.stdout == stdout)
        #expect(run.status == 0)
      }
    }
  }

  /// gnome-keyring finds items by other attributes until it is unlocked: one that is unlocked between
  /// two searches had no session, for each process that was just looking.
  @Test(arguments: ["get /me", "status", "whoami --offline", "refresh", "logout"])
  func keyringThatIsUnlockedMeanwhileHasItsSession(_ command: String) async throws {
    let sent: JSON =
      switch command {
      case "get /me": ["GET /me": 1]
      case "refresh": ["POST /refresh": 1]
      case "logout": ["POST /logout": 1]
      default: [:]
      }
    try await withShop(sending: sent) { shop, keyring in
      let searches = Mutex(0)
      keyring.turn { call, keyring in
        guard call.member == "SearchItems" else { return nil }
        let isHashed = "\(call.arguments)".contains("gkr:compat:hashed:xdg:schema")
        let isFirst = searches.withLock { count in
          count += 1
          return count == 1
        }
        let none = FakeKeyring.paths([])
        if isFirst { return .values([none, isHashed ? FakeKeyring.paths([keyring.item]) : none]) }
        return isHashed ? .values([none, none]) : nil
      }
      let run = try await shop.box.run(command.split(separator: " ").map(String.init))
      let words: [String: String] = [
        "get /me": Shop.me, "status": "valid", "whoami --offline": Shop.ada,
        "refresh": "Renewed shop as \(Shop.ada).",
        "logout": "Signed out of shop as \(Shop.ada), at the server and on this machine.\n",
      ]
      let output = run.stdout + run.stderr
      #expect(output.contains(words[command] ?? "-"), "\(output)")
      #expect(run.status == 0)
    }
  }

  @Test func hostileWordsAreMadeHarmless() async throws {
    try await withShop { shop, keyring in
      for member in ["SearchItems", "GetSecret"] {
        keyring.turn { call, _ in
          call.member == member
            ? .error("org.evil.E" + String(repeating: "x", count: 200), Self.evil) : nil
        }
        try await fails(
          shop, saying: "authctl: the keyring (\(Self.name)) failed: \(Self.evilShown)" + Self.hint,
          member)
      }
    }
  }

  /// GLib and libsecret would print warnings about some of these; they must not appear.
  @Test(arguments: ["string", "number", "nothing"])
  func answersOfAnotherType(_ kind: String) async throws {
    try await withShop { shop, keyring in
      for (interface, member) in [
        ("Service", "OpenSession"), ("Service", "SearchItems"), ("Item", "GetSecret"),
      ] {
        keyring.turn { call, _ in
          guard call.member == member else { return nil }
          switch kind {
          case "string": return .values([.string(Self.evil)])
          case "number": return .values([.variant(.uint32(7)), .path("/s")])
          default: return .values([])
          }
        }
        let run = try await shop.box.run("get", "/me")
        let words =
          member == "OpenSession"
          ? "Couldn\u{2019}t communicate with the secret storage"
          : "Method \u{201C}org.freedesktop.Secret.\(interface).\(member)\u{201D} returned type "
        #expect(
          run.stderr.hasPrefix("authctl: the keyring (\(Self.name)) failed: \(words)"),
          "\(run.stderr)")
        #expect(run.hasErrorForm, "\(run.stderr)")
        #expect(run.stdout == "" && run.status == 12)
      }
    }
  }

  /// GDBus would read 128 MiB, and make an object of each value.
  @Test func largeAnswerEndsTheConnection() async throws {
    try await withShop { shop, keyring in
      for member in ["OpenSession", "SearchItems", "GetSecret"] {
        keyring.turn { call, _ in
          let large = [UInt8](repeating: 0x5B, count: 1 << 20)
          return call.member == member ? .values([FakeKeyring.secret(large)]) : nil
        }
        let run = try await shop.box.run("get", "/me")
        #expect(
          run.stderr.hasSuffix("failed: it sent more than 1 MiB in one message" + Self.hint),
          "\(member): \(run.stderr)")
        #expect(run.hasErrorForm, "\(run.stderr)")
        #expect(run.stdout == "" && run.status == 12)
      }
    }
  }

  @Test func sessionLargerThanAnyIsDamaged() async throws {
    try await withShop { shop, keyring in
      keyring.turn { call, keyring in
        guard call.member == "GetSecret" else { return nil }
        let own = keyring.items.withLock { $0[call.path]?.secret ?? [] }
        let blank = [UInt8](repeating: 0x20, count: 262_144)
        return .values([FakeKeyring.secret(own + blank)])
      }
      try await fails(
        shop,
        saying: "authctl: shop: the stored session of \(Shop.ada) is damaged\n"
          + "hint: authctl logout -p shop -u \(Shop.ada)\n")
    }
  }

  /// `store migrate` deletes the old item only if the new one can be read (rule C1).
  @Test(arguments: ["nothing", "a part", "another"])
  func moveIntoAKeyringThatForgets(_ kept: String) async throws {
    try await FileShop.with("file", .busOnly) { files in
      let keyring = try await FakeKeyring.start(files.box)
      try await files.signIn()
      let path = try files.onlyFile()
      let before = readFile(path)
      keyring.turn { call, keyring in
        guard call.member == "GetSecret" || call.member == "CreateItem" && kept == "nothing" else {
          return nil
        }
        let own = keyring.items.withLock { $0[call.path]?.secret ?? [] }
        return call.member == "CreateItem"
          ? .values([.path(FakeKeyring.collection + "/1"), .path("/")])
          : .values([FakeKeyring.secret(kept == "another" ? own.reversed() : own.dropLast())])
      }
      let run = try await files.box.run(
        ["store", "migrate", "--from", "file", "--to", "secret-service"],
        env: files.env.merging(["AUTHCTL_STORE": nil]) { $1 })
      #expect(
        run.stderr
          == "authctl: shop: the Secret Service (\(Self.name)) did not return what was written for "
          + "the session of \(Shop.ada), so it stays in \(files.title)\n")
      #expect(run.stdout == "" && run.status == 12)
      #expect(readFile(path) == before)
      #expect(try await files.run("get", "/me").stdout == Shop.me)
    }
  }

  @Test func tenThousandItemsAreToldByThree() async throws {
    try await withShop { shop, keyring in
      keyring.turn { call, _ in
        switch call.member {
        case "SearchItems":
          let many = (0..<10_000).map { FakeKeyring.collection + "/i\($0)" }
          return .values([FakeKeyring.paths(many), FakeKeyring.paths([])])
        case "Get" where call.arguments.last?.text == "Attributes":
          let origin = DBusValue.entry(.string("origin"), .string(Self.evil))
          return .values([.variant(.array(element: "{ss}", [origin]))])
        default: return nil
        }
      }
      let three = Array(repeating: Self.evilShown, count: 3).joined(separator: ", ")
      try await fails(
        shop,
        saying: "authctl: 10000 items for shop (\(Shop.ada)) in the keyring: \(three), ...\n"
          + "hint: remove one in seahorse, or run: secret-tool clear xdg:schema"
          + " io.github.authctl.Session profile shop account \(Shop.ada)\n")
    }
  }

  @Test func serviceThatGoesInTheMiddleOfACall() async throws {
    try await withShop { shop, keyring in
      keyring.turn { call, _ in call.member == "GetSecret" ? .end : nil }
      let run = try await shop.box.run("get", "/me")
      #expect(run.stderr.hasPrefix("authctl: the keyring ("), "\(run.stderr)")
      #expect(run.hasErrorForm, "\(run.stderr)")
      #expect(run.stdout == "" && run.status == 12)
    }
  }

  /// The ways in which a prompt may end: with values of another type, or without the promised
  /// unlock.
  @Test(arguments: ["dismissed", "nothing", "another type", "still locked", "an error"])
  func promptsThatEndOddly(_ end: String) async throws {
    try await withShop { shop, keyring in
      keyring.turn { call, keyring in
        switch call.member {
        case "SearchItems":
          return .values([FakeKeyring.paths([]), FakeKeyring.paths([keyring.item])])
        case "Unlock":
          return .values([FakeKeyring.paths([]), .path("/org/freedesktop/secrets/prompt/p1")])
        case "Get" where call.arguments.last?.text == "Locked":
          return .values([.variant(.bool(true))])
        case "Prompt":
          switch end {
          case "dismissed": return .completed([.bool(true), .variant(.string(Self.evil))])
          case "nothing": return .completed([])
          case "another type": return .completed([.string(Self.evil)])
          case "an error": return .error("org.evil.E", Self.evil)
          default: return .completed([.bool(false), .variant(FakeKeyring.paths(["/evil"]))])
          }
        default: return nil
        }
      }
      let run = try await shop.box.openTerminal(["get", "/me"]).finish()
      // Long errors wrap at words.
      let screen = String(run.screen.replacing("\n  ", with: " ").filter { !$0.isNewline })
      let words =
        switch end {
        case "dismissed": "the keyring stayed locked: its dialog was dismissed"
        case "still locked":
          "the keyring is locked (\(Self.name), collection \"Login\")hint: authctl store unlock"
        case "an error":
          "the keyring (\(Self.name)) failed: \(Self.evilShown)hint: authctl doctor"
        default:
          "the keyring (\(Self.name)) failed: it stopped while its dialog was open"
            + "hint: authctl doctor"
        }
      #expect(screen == "authctl: " + words)
      #expect(run.status == 12)
    }
  }
}
