import Glibc
import Testing

/// `authctl store migrate`: design 7, rule C1. A session is always in one of the stores, and the
/// newer of two is never lost.
@Suite struct StoreMigrateTests {
  private static let stores = ["secret-service", "file", "plaintext"]
  private static let pairs = stores.flatMap { from in
    stores.filter { $0 != from }.map { (from, $0) }
  }

  private func title(_ files: FileShop, _ store: String) -> String {
    switch store {
    case "secret-service": "the Secret Service (gnome-keyring)"
    case "file": "the store of sealed files (\(files.sessions))"
    default: "the store of plain files (\(files.sessions))"
    }
  }

  /// stderr as one line.
  private func words(_ run: Run) -> String { run.stderr.replacing("\n", with: " ") }

  private func migrate(
    _ files: FileShop, _ from: String, _ to: String, _ more: String...,
    env: [String: String?] = [:]
  ) async throws -> Run {
    try await files.box.run(
      ["store", "migrate", "--from", from, "--to", to] + more,
      env: files.env.merging(["AUTHCTL_STORE": nil]) { $1 }.merging(env) { $1 })
  }

  private func withKeyring(
    _ store: String = "file", _ body: @Sendable (FileShop) async throws -> Void
  ) async throws {
    try await FileShop.with(store, .keyring, body)
  }

  private func result(_ run: Run, _ index: Int = 0) throws -> JSON? {
    try JSON(parsing: run.stdout)[index]?["result"]
  }

  private func accounts(_ files: FileShop, _ store: String) async throws -> [String?] {
    let run = try await files.run("status", "--json", "--store", store)
    return try JSON(parsing: run.stdout).elements.map { $0["account"]?.string }
  }

  // MARK: Moving sessions

  @Test(arguments: pairs)
  func everySessionIsMoved(_ from: String, _ to: String) async throws {
    try await withKeyring(from) { files in
      try await files.signIn()
      try await files.signIn(Shop.grace, password: Shop.gracePassword)
      let before = try await files.run("token", "-u", Shop.ada).stdout
      let run = try await migrate(files, from, to)
      for account in [Shop.ada, Shop.grace] {
        #expect(words(run).contains("shop (\(account)): moved to \(title(files, to)). "))
      }
      #expect(
        words(run).contains("the store plaintext does not encrypt") == (to == "plaintext"))
      #expect(
        words(run).contains("Next: set store = \"\(to)\" in config.toml") == (to != Self.stores[0]))
      #expect(run.stdout == "" && run.status == 0)
      #expect(try await accounts(files, from) == [])
      #expect(try await accounts(files, to) == [Shop.ada, Shop.grace])
      let there = files.env.merging(["AUTHCTL_STORE": to]) { $1 }
      #expect(try await files.box.run(["token", "-u", Shop.ada], env: there).stdout == before)
      #expect(try await files.box.run(["refresh", "-u", Shop.ada], env: there).status == 0)
      #expect(try await files.box.run(["get", "/me"], env: there).stdout == Shop.me)
      let again = try await migrate(files, from, to, "--json")
      #expect(again.stdout == "[]\n")
      #expect(
        words(again) == "No sessions in \(title(files, from)). ")
      #expect(again.status == 0)
      // No session was signed out.
      #expect(try await files.api.count("POST /logout") == 0)
    }
  }

  @Test func profileAndAccountNarrowIt() async throws {
    try await withKeyring { files in
      let text = files.box.read("config/authctl/profiles/shop.toml") ?? ""
      try files.box.write("config/authctl/profiles/other.toml", text)
      try await files.signIn()
      try await files.signIn(Shop.grace, password: Shop.gracePassword)
      let other = try await files.box.run(
        ["login", "-p", "other", "--password-stdin"], stdin: Shop.password + "\n", env: files.env)
      #expect(other.status == 0, "\(other.stderr)")
      let one = try await migrate(
        files, "file", "plaintext", "-p", "shop", "-u", Shop.ada, "--json")
      #expect(
        one.stdout == "[{\"profile\":\"shop\",\"account\":\"ada@example.com\",\"moved\":true,"
          + "\"result\":\"moved\"}]\n")
      #expect(one.status == 0)
      let mine = try await migrate(files, "file", "plaintext", "-p", "shop", "--json")
      #expect(
        try JSON(parsing: mine.stdout).elements.map { $0["account"] } == [.string(Shop.grace)])
      #expect(try await accounts(files, "file") == [Shop.ada])
      let none = try await migrate(files, "file", "plaintext", "-p", "shpo")
      #expect(none.stderr.hasPrefix("authctl: no profile called shpo"), "\(none.stderr)")
      #expect(none.status == 2)
    }
  }

  @Test func mistakesOfTheCommandLine() async throws {
    try await FileShop.with { files in
      try await files.signIn()
      for (words, message) in [
        (["--from", "file", "--to", "file"], "authctl: --from and --to are the same store\n"),
        (
          ["--from", "file", "--to", "flie"],
          "authctl: unknown store flie\nhint: did you mean file?\n"
        ),
        (
          ["--from", "file", "--to", "plaintext", "--store", "file"],
          "authctl: --store cannot be used here: --from and --to name the stores\n"
        ),
        (
          ["--from", "file"],
          "authctl: missing expected argument '--to <name>'\nhint: authctl help store migrate\n"
        ),
      ] {
        let run = try await files.box.run(["store", "migrate"] + words, env: files.env)
        #expect(run.stderr == message)
        #expect(run.stdout == "" && run.status == 2)
      }
      #expect(files.files.count == 1)
    }
  }

  // MARK: Interrupted runs

  private func bytes(_ path: String) throws -> [UInt8] { try #require(readFile(path)) }

  /// Restores a file that authctl has deleted.
  private func putBack(_ path: String, _ bytes: [UInt8]) throws {
    let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    try #require(file >= 0)
    defer { close(file) }
    try #require(write(file, bytes, bytes.count) == bytes.count)
  }

  @Test(arguments: ["secret-service", "plaintext"])
  func whatIsThereAlreadyIsOnlyDeleted(_ to: String) async throws {
    try await withKeyring { files in
      try await files.signIn()
      let path = try files.onlyFile()
      let sealed = try bytes(path)
      #expect(try await migrate(files, "file", to).status == 0)
      try putBack(path, sealed)
      let run = try await migrate(files, "file", to, "--json")
      #expect(try result(run) == "completed")
      #expect(try JSON(parsing: run.stdout)[0]?["moved"] == true)
      #expect(run.status == 0)
      #expect(try await accounts(files, "file") == [])
      #expect(try await accounts(files, to) == [Shop.ada])
    }
  }

  @Test(arguments: [false, true])
  func newerOneStays(_ isNewLogin: Bool) async throws {
    try await withKeyring { files in
      try await files.signIn()
      let path = try files.onlyFile()
      let old = try bytes(path)
      // The destination has the newer session: the old file has come back.
      #expect(try await migrate(files, "file", "plaintext").status == 0)
      let plain = files.env.merging(["AUTHCTL_STORE": "plaintext"]) { $1 }
      if isNewLogin {
        try await files.signIn(env: plain)
      } else {
        #expect(try await files.box.run(["refresh"], env: plain).status == 0)
      }
      try putBack(path, old)
      let kept = try await migrate(files, "file", "plaintext", "--json")
      #expect(try result(kept) == "outdated")
      #expect(try JSON(parsing: kept.stdout)[0]?["moved"] == false)
      #expect(
        words(kept).contains(
          "shop (ada@example.com): \(title(files, "plaintext")) has a newer session; the older "
            + "one was deleted. "), "\(kept.stderr)")
      #expect(kept.status == 0)
      #expect(try await files.box.run(["refresh"], env: plain).status == 0)
      // The source has the newer session.
      try putBack(path, old)
      let run = try await migrate(files, "plaintext", "file", "--json")
      #expect(try result(run) == "replaced")
      #expect(run.status == 0)
      #expect(files.files.count == 1)
      #expect(try await files.run("refresh").status == 0)
    }
  }

  /// If neither is newer, it is unclear which one is meant.
  @Test func differentSessionsOfTheSameTimeBothStay() async throws {
    try await withKeyring("plaintext") { files in
      try await files.signIn()
      let path = try files.onlyFile()
      let plain = try bytes(path)
      #expect(try await migrate(files, "plaintext", "secret-service").status == 0)
      let text = String(decoding: plain, as: UTF8.self)
      let changed = text.replacing("\"lifetime\":900", with: "\"lifetime\":901")
      try #require(changed != text)
      try putBack(path, Array(changed.utf8))
      let items = try await files.box.items()
      let run = try await migrate(
        files, "plaintext", "secret-service", "--json", "--errors", "text")
      #expect(
        run.stderr == """
          authctl: shop: the stores plaintext and secret-service hold different sessions of \
          ada@example.com, and neither is newer, so both are kept
          hint: to replace both, run: authctl login -p shop -u ada@example.com

          """)
      #expect(try result(run) == "failed")
      #expect(run.status == 1)
      #expect(try await files.box.items() == items)
      #expect(try bytes(path) == Array(changed.utf8))
    }
  }

  /// Kills the command at any moment, and repeats it.
  @Test(arguments: [("secret-service", "file"), ("file", "secret-service")])
  func killedMoveGoesOn(_ from: String, _ to: String) async throws {
    try await withKeyring(from) { files in
      try await files.signIn()
      let variables = files.env.merging(["AUTHCTL_STORE": nil]) { $1 }
      var words = ["store", "migrate", "--from", from, "--to", to]
      // Moves the session there and back to measure the duration.
      let start = monotonicMilliseconds()
      for _ in 0..<2 {
        #expect(try await files.box.startUnsampled(words, env: variables).finish().status == 0)
        words.swapAt(3, 5)
      }
      let longest = UInt32(monotonicMilliseconds() - start) * 500
      for _ in 0..<10 {
        let child = try files.box.startUnsampled(words, env: variables)
        try await onThread {
          usleep(.random(in: 0..<longest))
          child.signal(SIGKILL)
        }
        #expect([0, 128 + SIGKILL].contains(try await child.finish().status))
        let again = try await files.box.run(words, env: variables)
        #expect(again.status == 0, "\(again.stderr)")
        let there = variables.merging(["AUTHCTL_STORE": words[5]]) { $1 }
        #expect(try await files.box.run(["get", "/me"], env: there).stdout == Shop.me)
        #expect(try await accounts(files, words[3]) == [])
        words.swapAt(3, 5)
      }
    }
  }

  // MARK: Concurrent commands

  @Test func renewalThatRunsIsNotLost() async throws {
    try await Relay.withShop { shop, api, relay in
      try await shop.age(ended: 10)
      let key = try shop.box.write("key", String(repeating: "4b", count: 32))
      let env: [String: String?] = ["AUTHCTL_STORE_KEY_FILE": key]
      let get = try shop.box.start(["get", "/me"])
      try await relay.waitForPassages(1)
      let words = ["store", "migrate", "--from", "secret-service", "--to", "file"]
      let move = try shop.box.start(words, env: env)
      _ = try await openedLock(of: move)
      relay.releaseAll()
      #expect(try await get.finish().stdout == Shop.me)
      let run = try await move.finish()
      #expect(run.status == 0, "\(run.stderr)")
      #expect(try await shop.box.items().isEmpty)
      let file = env.merging(["AUTHCTL_STORE": "file"]) { $1 }
      // It has the new pair: the old refresh token would end the whole family.
      #expect(try await shop.box.run("refresh", env: file).status == 0)
      #expect(try await shop.box.run("get", "/me", env: file).stdout == Shop.me)
      #expect(try await api.count("POST /refresh") == 2)
    }
  }

  @Test func lockThatIsNotFreeInTime() async throws {
    try await Relay.withShop { shop, api, relay in
      try await shop.age(ended: 10)
      let before = try await shop.box.items()
      let get = try shop.box.start(["get", "/me"])
      try await relay.waitForPassages(1)
      let words = ["store", "migrate", "--from", "secret-service", "--to", "plaintext"]
      let run = try await shop.box.run(words + ["--lock-timeout", "0", "--json"])
      #expect(try result(run) == "timeout")
      #expect(run.status == 9)
      #expect(try await shop.box.items() == before)
      relay.releaseAll()
      #expect(try await get.finish().status == 0)
    }
  }

  // MARK: Failures

  @Test func oneThatFailsDoesNotStopTheOthers() async throws {
    try await withKeyring { files in
      try await files.signIn()
      let path = try files.onlyFile()
      try await files.signIn(Shop.grace, password: Shop.gracePassword)
      var damaged = try bytes(path)
      damaged[damaged.count - 1] ^= 1
      try files.overwrite(path, damaged)
      let run = try await migrate(files, "file", "secret-service", "--json", "--errors", "text")
      let rows = try JSON(parsing: run.stdout).elements
      #expect(
        Set(rows.map { "\($0["account"]?.string ?? "") \($0["result"]?.string ?? "")" })
          == ["ada@example.com store_missing", "grace@example.com moved"])
      #expect(
        run.stderr.contains(
          "authctl: shop: the stored session of ada@example.com was changed or damaged after it "
            + "was sealed\n"), "\(run.stderr)")
      #expect(run.status == 12)
      #expect(try bytes(path) == damaged)
      #expect(try await files.box.items().map { $0.attributes["account"] } == [Shop.grace])
      // A session with an unreadable name is reported too, and stays.
      try files.overwrite(path, Array("AUTHCTL1".utf8))
      let cut = try await migrate(files, "file", "secret-service")
      #expect(
        words(cut)
          == "authctl: one session in \(title(files, "file")) cannot be read, so it was not moved ")
      #expect(cut.status == 12 && files.files.count == 1)
    }
  }

  /// If either store is locked or unreadable, nothing is moved.
  @Test func lockedStores() async throws {
    try await withKeyring { files in
      try await files.signIn()
      let path = try files.onlyFile()
      let sealed = try bytes(path)
      let noKey: [String: String?] = ["AUTHCTL_STORE_KEY_FILE": nil]
      let source = try await migrate(files, "file", "secret-service", env: noKey)
      #expect(source.stderr == FileShop.noKey)
      #expect(source.stdout == "" && source.status == 12)
      let other = try files.box.write("other", String(repeating: "5c", count: 32))
      let wrong = try await migrate(
        files, "file", "secret-service", env: ["AUTHCTL_STORE_KEY_FILE": other])
      #expect(wrong.stderr.contains("was sealed with another key"), "\(wrong.stderr)")
      #expect(wrong.status == 12)
      try await files.box.lockKeyring()
      let locked = "authctl: the keyring is locked (gnome-keyring, collection \"Login\")\n"
      let target = try await migrate(files, "file", "secret-service")
      #expect(target.stderr.hasPrefix(locked), "\(target.stderr)")
      #expect(target.status == 12)
      let both = try await migrate(files, "secret-service", "file")
      #expect(both.stderr.hasPrefix(locked), "\(both.stderr)")
      #expect(both.status == 12)
      #expect(try bytes(path) == sealed)
      try await files.box.killKeyring()
      let gone = try await migrate(files, "file", "secret-service")
      #expect(gone.stderr.hasPrefix("authctl: no Secret Service on this bus"))
      #expect(gone.status == 12)
      #expect(try bytes(path) == sealed)
    }
  }
}
