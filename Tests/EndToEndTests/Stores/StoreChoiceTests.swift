import Glibc
import Testing

/// Which store is used, and sessions left in the others: design 7, rule C1.
@Suite struct StoreChoiceTests {
  // MARK: The name

  @Test func optionThenVariableThenFile() async throws {
    try await FileShop.with { files in
      try files.box.write("config/authctl/config.toml", "store = \"plaintext\"\n")
      func store(_ words: [String], _ variable: String?) async throws -> JSON? {
        let run = try await files.box.run(
          words + ["login", "-p", "shop", "--password-stdin", "--json"],
          stdin: Shop.password + "\n", env: files.env.merging(["AUTHCTL_STORE": variable]) { $1 })
        #expect(run.status == 0, "\(run.stderr)")
        return try JSON(parsing: run.stdout)["store"]
      }
      #expect(try await store([], nil) == "plaintext")
      #expect(try await store([], "") == "plaintext")
      #expect(try await store([], "file") == "file")
      #expect(try await store(["--store", "plaintext"], "file") == "plaintext")
      #expect(try await store(["--store=file"], nil) == "file")
      #expect(files.files.count == 2)
    }
  }

  @Test(arguments: [
    ("flie", "did you mean file?"), ("FILE", "did you mean file?"),
    ("plain-text", "did you mean plaintext?"), ("secretservice", "did you mean secret-service?"),
    ("keychain", "the stores are secret-service, file, plaintext"),
    ("file\n", "did you mean file?"),
  ])
  func unknownStoreNamesTheNearest(_ name: String, _ hint: String) async throws {
    try await FileShop.with { files in
      let shown = name.replacing("\n", with: " \u{23CE} ")
      for (words, variable) in [(["--store", name, "status"], nil), (["status"], name)] {
        let run = try await files.box.run(words, env: ["AUTHCTL_STORE": variable])
        #expect(run.stderr == "authctl: unknown store \(shown)\nhint: \(hint)\n")
        #expect(run.stdout == "" && run.status == 2)
      }
      try files.box.write("config/authctl/config.toml", "store = \(JSON.string(name).text)\n")
      let run = try await files.box.run("status")
      #expect(
        run.stderr.hasPrefix("authctl: \(files.box.configHome)/authctl/config.toml:1:1: store: "),
        "\(run.stderr)")
      #expect(run.stderr.hasSuffix("unknown store \(shown)\nhint: \(hint)\n"), "\(run.stderr)")
      #expect(run.status == 2)
    }
  }

  @Test(arguments: ["file", "plaintext"])
  func unlockSaysThatItIsOpen(_ store: String) async throws {
    try await FileShop.with(store) { files in
      let run = try await files.run("store", "unlock")
      #expect(
        run.stderr.replacing("\n", with: " ")
          == (store == "file"
            ? "T\(files.title.dropFirst()) is unlocked. "
            : "Nothing to unlock: \(files.title) has no lock. "))
      #expect(run.stdout == "" && run.status == 0)
    }
  }

  // MARK: The key

  @Test func withoutTheKeyNothingIsSentAndLittleIsKnown() async throws {
    try await FileShop.with { files in
      try await files.signIn()
      try await files.api.reset()
      let none: [String: String?] = ["AUTHCTL_STORE_KEY_FILE": nil]
      for words in [
        ["get", "/me"], ["token"], ["refresh"], ["whoami", "--offline"], ["store", "unlock"],
        ["login", "-p", "shop", "--password-stdin"],
        ["register", "-p", "shop", "-u", "bob", "--password-stdin"],
      ] {
        let run = try await files.box.run(
          words, stdin: Shop.password + "\n", env: files.env.merging(none) { $1 })
        #expect(run.stderr == FileShop.noKey, "\(words)")
        #expect(run.stdout == "" && run.status == 12, "\(words)")
      }
      let json = try await files.run("get", "/me", "--errors", "json", env: none)
      #expect(try JSON(parsing: json.stderr)["error"]?["code"] == "store_locked")
      let status = try await files.run("status", env: none)
      #expect(
        status.stdout == """
            PROFILE  ACCOUNT          STATE   LEFT  ORIGIN
          * shop     ada@example.com  locked  -     \(files.api.url)

          """)
      #expect(status.stderr == "" && status.status == 0)
      #expect(try await files.run("status", "--check", env: none).status == 12)
      #expect(try await files.api.counts() == [:])
      // Deleting needs no key.
      let logout = try await files.run("logout", env: none)
      #expect(logout.status == 0, "\(logout.stderr)")
      #expect(files.files == [])
    }
  }

  @Test func anotherKeyOpensNothing() async throws {
    try await FileShop.with { files in
      try await files.signIn()
      try await files.api.reset()
      let other = try files.box.write("other", String(repeating: "5c", count: 32))
      let env: [String: String?] = ["AUTHCTL_STORE_KEY_FILE": other]
      let get = try await files.run("get", "/me", env: env)
      #expect(
        get.stderr == """
          authctl: shop: the stored session of ada@example.com was sealed with another key
          hint: to replace it, run: authctl login -p shop -u ada@example.com

          """)
      #expect(get.stdout == "" && get.status == 12)
      let row = try JSON(parsing: try await files.run("status", "--json", env: env).stdout)[0]
      #expect(row?["state"] == "locked")
      #expect(try await files.api.counts() == [:])
      #expect(try await files.run("get", "/me").stdout == Shop.me)
    }
  }

  @Test func shortPassphraseIsWarnedAboutAtLogin() async throws {
    try await FileShop.with { files in
      for (phrase, isShort) in [("elevenbytes", true), ("twelve bytes", false)] {
        let env: [String: String?] = [
          "AUTHCTL_STORE_KEY_FILE": nil, "AUTHCTL_STORE_PASSPHRASE": phrase,
        ]
        let login = try await files.login(env: env)
        #expect(login.status == 0)
        #expect(
          login.stderr.contains(
            "authctl: warning: AUTHCTL_STORE_PASSPHRASE has fewer than 12 bytes") == isShort)
        let get = try await files.run("get", "/me", env: env)
        #expect(get.stdout == Shop.me && get.stderr == "")
      }
    }
  }

  @Test func twoSourcesOfTheKeyAreAMistake() async throws {
    try await FileShop.with { files in
      try await files.signIn()
      let both: [String: String?] = ["AUTHCTL_STORE_PASSPHRASE": "correct horse battery"]
      for words in [["get", "/me"], ["status"], ["store", "unlock"]] {
        let run = try await files.box.run(words, env: files.env.merging(both) { $1 })
        #expect(
          run.stderr == """
            authctl: AUTHCTL_STORE_KEY_FILE and AUTHCTL_STORE_PASSPHRASE cannot be used together
            hint: unset the one that did not seal the files

            """)
        #expect(run.stdout == "" && run.status == 2)
      }
    }
  }

  // MARK: Sessions in other stores

  /// Runs `body` with a session of ada in the keyring and another in a file.
  private func inBoth(_ body: @Sendable (FileShop) async throws -> Void) async throws {
    try await FileShop.with("file", .keyring) { files in
      try await files.signIn(env: ["AUTHCTL_STORE": nil])
      try await files.signIn()
      #expect(try await files.box.items().count == 1)
      #expect(files.files.count == 1)
      try await files.api.reset()
      try await body(files)
    }
  }

  private static func held(_ store: String, _ options: String) -> String {
    """
    The store \(store) still has a session of ada@example.com.
    hint: authctl logout \(options) --store \(store)

    """
  }

  /// A sign-in on the desktop must not end the session of a cron job.
  @Test(arguments: ["secret-service", "file"])
  func loginLeavesOtherStoresAlone(_ store: String) async throws {
    try await inBoth { files in
      let path = try files.onlyFile()
      let before = try await (files.box.items()[0].secret, readFile(path))
      let login = try await files.login("--store", store)
      #expect(login.status == 0 && login.stdout == "")
      #expect(login.stderr.hasPrefix("Signed in to shop as ada@example.com. "), "\(login.stderr)")
      #expect(!login.stderr.contains("store of") || store == "file", "\(login.stderr)")
      let after = try await (files.box.items()[0].secret, readFile(path))
      #expect((before.0 == after.0) == (store == "file"))
      #expect((before.1 == after.1) == (store == "secret-service"))
      #expect(try await files.api.counts() == ["POST /login": 1])
    }
  }

  /// Each command that `logout` prints ends the remaining session.
  @Test(arguments: ["secret-service", "file"], [false, true])
  func logoutSaysWhatAnotherStoreStillHolds(_ store: String, _ all: Bool) async throws {
    let other = store == "file" ? "secret-service" : "file"
    try await inBoth { files in
      let words = ["logout", "--store", store] + (all ? ["--all"] : [])
      let run = try await files.box.run(words, env: files.env)
      #expect(run.status == 0 && run.stdout == "")
      let which = all ? "--all" : "-p shop -u ada@example.com"
      let out = "Signed out of shop as ada@example.com, at the server and on this machine.\n"
      #expect(run.stderr == out + Self.held(other, which))
      #expect(try await files.box.items().count == (other == "file" ? 0 : 1))
      #expect(files.files.count == (other == "file" ? 1 : 0))
      #expect(try await files.api.counts() == ["POST /logout": 1])
      let hint = which.split(separator: " ").map(String.init)
      let rest = try await files.box.run(["logout"] + hint + ["--store", other], env: files.env)
      #expect(rest.status == 0 && rest.stdout == "" && rest.stderr == out)
      #expect(try await files.box.items().isEmpty)
      #expect(files.files == [])
    }
  }

  @Test(arguments: ["secret-service", "file", "plaintext"], [false, true])
  func logoutOfAllStores(_ store: String, _ all: Bool) async throws {
    try await inBoth { files in
      let run = try await files.box.run(
        ["logout", "--all-stores", "--json", "--store", store] + (all ? ["--all"] : []),
        env: files.env)
      #expect(run.status == 0)
      #expect(
        run.stderr == "Signed out of shop as ada@example.com, at the server and on this machine.\n")
      let rows = try JSON(parsing: run.stdout).elements
      #expect(rows.count == 1)
      #expect(rows.first?["revoked"] == true && rows.first?["deleted"] == true)
      #expect(try await files.box.items().isEmpty)
      #expect(files.files == [])
      // Two sign-ins are two sessions at the server.
      #expect(try await files.api.count("POST /logout") == 2)
    }
  }

  @Test func aStoreThatCannotBeReadIsNamedOnlyWhereItWasAskedFor() async throws {
    try await inBoth { files in
      try await files.box.lockKeyring()
      let out = "Signed out of shop as ada@example.com, at the server and on this machine.\n"
      let login = try await files.login()
      #expect(login.status == 0 && login.stderr.hasPrefix("Signed in to shop"), "\(login.stderr)")
      let logout = try await files.run("logout", "--all-stores")
      #expect(
        logout.stderr == """
          The store secret-service was not checked: the keyring is locked (gnome-keyring,
          collection "Login").

          """ + out)
      #expect(logout.stdout == "" && logout.status == 0)
      #expect(files.files == [])
      try await files.signIn()
      try await files.box.killKeyring()
      let plain = try await files.run("logout")
      #expect(plain.stderr == out && plain.stdout == "" && plain.status == 0)
    }
  }

  /// Sessions of other accounts are independent.
  @Test func accountsOfOtherStoresAreLeftAlone() async throws {
    try await FileShop.with("file", .keyring) { files in
      try await files.signIn(Shop.grace, password: Shop.gracePassword, env: ["AUTHCTL_STORE": nil])
      try await files.signIn()
      let logout = try await files.run("logout", "-u", Shop.ada)
      #expect(logout.status == 0)
      #expect(
        logout.stderr
          == "Signed out of shop as ada@example.com, at the server and on this machine.\n")
      #expect(files.files == [])
      #expect(try await files.box.items().count == 1)
      try await files.signIn()
      let all = try await files.run("logout", "--all", "--all-stores", "--json")
      #expect(try JSON(parsing: all.stdout).elements.count == 2)
      #expect(all.status == 0)
      #expect(files.files == [])
      #expect(try await files.box.items().isEmpty)
    }
  }
}
