import Testing

/// `authctl profile remove`: removes a profile without leaving invisible sessions behind.
@Suite struct ProfileRemoveTests {
  private static let file = "config/authctl/profiles/shop.toml"

  @Test func refusesWhileThereIsASession() async throws {
    try await Shop.with { shop, api in
      let text = shop.box.read(Self.file)
      let one = try await shop.box.run("profile", "remove", "shop")
      #expect(one.status == 1 && one.stdout == "")
      #expect(
        one.stderr == """
          authctl: shop has a session
          hint: authctl profile remove shop --logout

          """)
      try await shop.signIn(Shop.grace, password: Shop.gracePassword)
      let two = try await shop.box.run("profile", "remove", "shop")
      #expect(two.status == 1 && two.stdout == "")
      #expect(two.stderr.hasPrefix("authctl: shop has 2 sessions\nhint: "))
      let both = try await shop.box.run("profile", "remove", "shop", "--logout", "--force")
      #expect(both.status == 2 && both.stdout == "")
      #expect(both.stderr == "authctl: --logout and --force cannot be used together\n")
      #expect(shop.box.read(Self.file) == text)
      #expect(try await shop.box.items().count == 2)
      #expect(try await api.counts() == ["POST /login": 2])
    }
  }

  @Test func logoutEndsEverySessionAtTheServer() async throws {
    try await Shop.with { shop, api in
      try await shop.signIn(Shop.grace, password: Shop.gracePassword)
      let tokens = try await [shop.accessToken(), shop.accessToken(Shop.grace)]
      let default_ = try await shop.box.run("profile", "default", "shop")
      #expect(default_.status == 0)
      let run = try await shop.box.run("profile", "remove", "shop", "--logout")
      #expect(run.status == 0 && run.stdout == "")
      #expect(
        run.stderr == """
          Signed out of shop as \(Shop.ada), at the server and on this machine.
          Signed out of shop as \(Shop.grace), at the server and on this machine.
          Removed the profile shop.

          """)
      #expect(try await api.count("POST /logout") == 2)
      let sent = try await api.requests().compactMap { $0["headers"]?["authorization"]?.string }
      #expect(sent == tokens.map { "Bearer \($0)" })
      #expect(try await shop.box.items().isEmpty)
      #expect(list(shop.box.configHome + "/authctl/profiles").isEmpty)
      #expect(try await shop.box.run("profile", "default").status == 1)
    }
  }

  @Test func logoutDoesNotNeedTheServer() async throws {
    try await Shop.with { shop, api in
      await api.stop()
      let run = try await shop.box.run("profile", "remove", "shop", "--logout")
      #expect(run.status == 0 && run.stdout == "")
      #expect(run.stderr.hasPrefix("authctl: warning: the server did not end the session: "))
      #expect(
        run.stderr.hasSuffix(
          "Signed out of shop as \(Shop.ada), on this machine only.\nRemoved the profile shop.\n"))
      #expect(try await shop.box.items().isEmpty)
      #expect(shop.box.read(Self.file) == nil)
    }
  }

  @Test func forceForgetsWithoutAsking() async throws {
    try await Shop.with { shop, api in
      let run = try await shop.box.run("profile", "remove", "shop", "--force")
      #expect(run.status == 0 && run.stdout == "" && run.stderr == "Removed the profile shop.\n")
      #expect(try await api.counts() == ["POST /login": 1])
      #expect(try await shop.box.items().isEmpty)
      #expect(shop.box.read(Self.file) == nil)
    }
  }

  @Test func brokenProfileCanStillGo() async throws {
    try await Shop.with { shop, _ in
      try shop.box.write(Self.file, "url = \"https://h.example\"\nacount = \"x\"\n")
      // The sign-out request is defined in the file that cannot be read.
      let logout = try await shop.box.run("profile", "remove", "shop", "--logout")
      #expect(logout.status == 2 && logout.stderr.contains("shop.toml:2:1: unknown key acount"))
      #expect(try await shop.box.items().count == 1 && shop.box.read(Self.file) != nil)
      let force = try await shop.box.run("profile", "remove", "shop", "--force")
      #expect(force.status == 0, "\(force.stderr)")
      #expect(try await shop.box.items().isEmpty && shop.box.read(Self.file) == nil)
    }
  }

  @Test func lockedKeyringMayHoldSessions() async throws {
    try await Shop.with { shop, api in
      try await shop.box.lockKeyring()
      for option in [[], ["--force"], ["--logout"]] {
        let run = try await shop.box.run(["profile", "remove", "shop"] + option)
        #expect(run.status == 12 || option.isEmpty && run.status == 1, "\(option): \(run.stderr)")
        #expect(run.hasErrorForm, "\(run.stderr)")
        #expect(shop.box.read(Self.file) != nil)
      }
      #expect(try await api.counts() == ["POST /login": 1])
      #expect(try await shop.box.items().count == 1)
    }
  }

  /// Sessions in other stores are not touched (rule C1), and the profile stays with them: without
  /// it they could no longer be ended at the server.
  @Test func sessionsOfOtherStoresKeepTheProfile() async throws {
    try await FileShop.with("file", .keyring) { files in
      try await files.signIn(env: ["AUTHCTL_STORE": nil])
      try await files.signIn()
      try await files.api.reset()
      let refused = try await files.run("profile", "remove", "shop", "--logout")
      #expect(
        refused.stderr == """
          authctl: the store secret-service has sessions of shop
          hint: authctl logout -p shop --all --store secret-service

          """)
      #expect(refused.stdout == "" && refused.status == 1)
      #expect(files.files.count == 1 && files.box.read(Self.file) != nil)
      let run = try await files.run("profile", "remove", "shop", "--force")
      #expect(run.stderr == "Removed the profile shop.\n")
      #expect(run.stdout == "" && run.status == 0)
      #expect(files.files == [])
      #expect(try await files.box.items().count == 1)
      #expect(try await files.api.counts() == [:])
    }
  }

  @Test func otherStoresThatCannotBeReadDoNotMatter() async throws {
    try await FileShop.with("file", .keyring) { files in
      try await files.signIn()
      try await files.box.killKeyring()
      let run = try await files.run("profile", "remove", "shop", "--logout")
      #expect(
        run.stderr == """
          Signed out of shop as ada@example.com, at the server and on this machine.
          Removed the profile shop.

          """)
      #expect(run.status == 0 && files.box.read(Self.file) == nil)
      #expect(files.files == [])
    }
  }

  @Test func withoutAStoreThereIsNoSession() async throws {
    try await ProfileDesk.with { desk in
      try desk.write("shop", "url = \"https://h.example\"\n")
      try desk.write("other", "url = \"https://h.example\"\n")
      try await desk.expectRefusal(
        ["profile", "remove", "shpo"], "no profile called shpo; did you mean shop?", mend: "list")
      let run = try await desk.run("profile", "remove", "shop")
      #expect(run.status == 0 && run.stderr == "Removed the profile shop.\n")
      #expect(desk.names == ["other.toml"])
    }
  }

  /// Invalid names, with every command that takes one (rule B18).
  @Test(arguments: [
    ["show"], ["export"], ["set", "account=x"], ["remove"], ["remove", "--force"], ["default"],
    ["check"], ["add", "https://h.example"], ["add", "https://h.example", "--replace"],
    ["add-like"],
  ])
  func namesThatAreNone(_ command: [String]) async throws {
    let names = [
      "..", ".hidden", "-dash", "_x", "a b", "a\nb", "a\u{1B}[2Jb", "shop.toml", "\u{E9}",
      "e\u{301}",
      "a\\b", "a:b", "~", "*", "$(id)", "%2e%2e", "a;b", "a'b", "a\u{202E}b", "",
      String(repeating: "n", count: 65),
    ]
    try await ProfileDesk.with { desk in
      try desk.write("shop", "url = \"https://h.example\"\n")
      try desk.box.write("home/.config/authctl/config.toml", "default_profile = \"shop\"\n")
      for name in names {
        let words =
          command == ["add-like"]
          ? ["profile", "add", "x", "--like", name]
          : ["profile", command[0]] + command.dropFirst().filter { $0.hasPrefix("--") }
            + ["--", name] + command.dropFirst().filter { !$0.hasPrefix("--") }
        try await desk.expectRefusal(words, "is not a profile name", mend: "letters")
      }
    }
  }
}
