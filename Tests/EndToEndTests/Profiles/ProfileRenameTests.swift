import Testing

/// `authctl profile rename`: the file, the sessions in every store, the default (design 5).
@Suite struct ProfileRenameTests {
  private static let old = "config/authctl/profiles/shop.toml"
  private static let new = "config/authctl/profiles/store.toml"

  @Test func movesFileSessionsAndDefault() async throws {
    try await Shop.with { shop, api in
      let box = shop.box
      try await shop.signIn(Shop.grace, password: Shop.gracePassword)
      let before = try await shop.payload()
      let text = box.read(Self.old)
      let run = try await box.run("profile", "rename", "shop", "store")
      #expect(run.stderr == "Renamed the profile shop and its 2 sessions to store.\n")
      #expect(run.stdout == "" && run.status == 0)
      #expect(box.read(Self.new) == text && box.read(Self.old) == nil)
      #expect(box.read("config/authctl/config.toml") == "default_profile = \"store\"\n")
      let items = try await box.items()
      #expect(items.map { $0.attributes["profile"] } == ["store", "store"])
      #expect(items.allSatisfy { $0.attributes["origin"] == api.url })
      // Only the name has changed: the origins that were fixed, tokens, times, generation.
      let after = try JSON(
        parsing: items.first { $0.attributes["account"] == Shop.ada }?.secret ?? "")
      guard case .object(var members) = before else { return }
      members["profile"] = "store"
      #expect(after == .object(members))
      #expect(try await box.run("get", "/me").stdout == Shop.me)
      #expect(try await box.run("refresh", "store").status == 0)
      let gone = try await box.run("get", "-p", "shop", "/me")
      #expect(gone.status == 2)
    }
  }

  @Test func sessionsOfEveryStoreMove() async throws {
    try await FileShop.with("file", .keyring) { files in
      try await files.signIn()
      try await files.signIn(
        Shop.grace, password: Shop.gracePassword, env: ["AUTHCTL_STORE": nil])
      // Without the key nothing changes.
      let keyless = try await files.box.run("profile", "rename", "shop", "store")
      #expect(keyless.status == 12 && keyless.stdout == "", "\(keyless.stderr)")
      #expect(files.box.read(Self.new) == nil && files.box.read(Self.old) != nil)
      let run = try await files.run("profile", "rename", "shop", "store")
      #expect(run.stderr == "Renamed the profile shop and its 2 sessions to store.\n")
      #expect(run.status == 0)
      #expect(try await files.run("get", "-p", "store", "-u", Shop.ada, "/me").status == 0)
      let grace = try await files.run(
        "get", "-p", "store", "-u", Shop.grace, "/me", env: ["AUTHCTL_STORE": nil])
      #expect(grace.status == 0, "\(grace.stderr)")
    }
  }

  /// A session that cannot be read may be one of the profile, which would lose its name.
  @Test func unreadableSessionsKeepTheName() async throws {
    try await FileShop.with { files in
      try await files.signIn()
      try files.overwrite(try files.onlyFile(), Array("{".utf8))
      let run = try await files.run("profile", "rename", "shop", "store")
      #expect(
        run.stderr == """
          authctl: one session in \(files.title) cannot be read: it may be one of shop
          hint: authctl store test --store file

          """)
      #expect(run.status == 12 && run.stdout == "")
      #expect(files.box.read(Self.new) == nil && files.box.read(Self.old) != nil)
    }
  }

  /// Killed at any point, both names or the new one exist, and the same command ends it.
  @Test func anInterruptedRenameIsRepeated() async throws {
    try await Shop.with { shop, _ in
      let box = shop.box
      // After the new name, before the sessions.
      let folder = box.configHome + "/authctl/profiles/"
      try await box.run(folder + "shop.toml", folder + "store.toml", program: "/bin/ln")
      #expect(try await box.run("get", "/me").stdout == Shop.me)
      // After the write of the session, before the deletion of the old one; renewed since.
      let item = try await shop.item()
      let secret = (item.secret ?? "").replacing(
        "\"profile\":\"shop\"", with: "\"profile\":\"store\"")
      var attributes = item.attributes
      attributes["profile"] = "store"
      try await box.store(attributes: attributes, secret: secret)
      #expect(try await box.run("refresh", "store").status == 0)
      let run = try await box.run("profile", "rename", "shop", "store")
      #expect(run.status == 0, "\(run.stderr)")
      #expect(try await box.items().map { $0.attributes["profile"] } == ["store"])
      #expect(box.read(Self.old) == nil)
      #expect(try await box.run("profile", "default").stdout == "store\n")
      #expect(try await box.run("get", "/me").stdout == Shop.me)
    }
  }

  @Test func whatCannotBe() async throws {
    try await Shop.with { shop, api in
      let box = shop.box
      try await api.reset()
      let other = "url = \"https://other.example\"\n"
      try box.write("config/authctl/profiles/other.toml", other)
      let text = box.read(Self.old)
      for (words, error) in [
        (
          ["shop", "other"],
          "the profile other already exists\nhint: authctl profile show other\n"
        ),
        (
          ["shop", "shop"],
          "the profile shop already exists\nhint: authctl profile show shop\n"
        ),
        (
          ["shpo", "x"], "no profile called shpo; did you mean shop?\nhint: authctl profile list\n"
        ),
        (["shop", "a/b"], "\"a/b\" is not a profile name\n"),
      ] {
        let run = try await box.run(["profile", "rename"] + words)
        #expect(run.stderr.hasPrefix("authctl: " + error), "\(run.stderr)")
        #expect(run.stdout == "" && run.status == 2)
      }
      try await box.lockKeyring()
      let locked = try await box.run("profile", "rename", "shop", "store")
      #expect(locked.status == 12, "\(locked.stderr)")
      #expect(box.read(Self.old) == text && box.read(Self.new) == nil)
      #expect(box.read("config/authctl/profiles/other.toml") == other)
      #expect(try await box.items().map { $0.attributes["profile"] } == ["shop"])
      #expect(try await api.counts() == [:])
    }
  }

  /// A profile in a folder of dotfiles is a link, and stays one.
  @Test func aLinkStaysALink() async throws {
    try await Sandbox.with(.none) { box in
      let file = try box.write("home/dotfiles/shop.toml", "url = \"https://h.example\"\n")
      try box.write("config/authctl/profiles/keep", "")
      try await box.run(
        "-s", file, box.configHome + "/authctl/profiles/shop.toml", program: "/bin/ln")
      let run = try await box.run(
        "profile", "rename", "shop", "store", env: ["AUTHCTL_STORE": "plaintext"])
      #expect(run.stderr == "Renamed the profile shop to store.\n" && run.status == 0)
      let target = try await box.run(
        box.configHome + "/authctl/profiles/store.toml", program: "/usr/bin/readlink")
      #expect(target.stdout == file + "\n")
    }
  }
}
