import Testing

/// Items that another program may have written to the keyring, and variables that redirect
/// libraries: design 6 and 7, rule B12. Only what is certainly the session is ever sent.
@Suite struct StoreContentTests {
  private func withShop(_ body: @Sendable (Shop, APIServer) async throws -> Void) async throws {
    try await Shop.with { shop, api in
      try await api.reset()
      try await body(shop, api)
    }
  }

  /// Expects that `get`, `token` and `refresh` exit with 12 and send nothing.
  private func isRefused(
    _ shop: Shop, _ api: APIServer, _ name: String, _ account: String = Shop.ada,
    saying words: String = "", by commands: [[String]] = [["get", "/me"], ["token"], ["refresh"]]
  ) async throws {
    for arguments in commands {
      let run = try await shop.box.run(arguments + ["-u", account])
      #expect(run.status == 12, "\(name): \(run.stderr)")
      #expect(run.stdout == "", "\(name)")
      #expect(run.hasErrorForm, "\(name): \(run.stderr)")
      #expect(run.stderr.contains(words), "\(name): \(run.stderr)")
      #expect(!run.stderr.contains("not signed in"), "\(name)")
    }
    #expect(try await api.counts() == [:], "\(name)")
  }

  @Test func sessionIsOneItemWithTheAttributesOfTheContract() async throws {
    try await withShop { shop, api in
      let items = try await shop.box.items()
      #expect(items.count == 1)
      #expect(items.first?.label == "authctl: shop (\(Shop.ada))")
      #expect(
        items.first?.attributes == [
          "xdg:schema": "io.github.authctl.Session", "profile": "shop", "account": Shop.ada,
          "origin": api.url,
        ])
      try await shop.signIn()
      #expect(try await shop.box.items().count == 1)
    }
  }

  @Test func twoItemsAreRefusedAndALoginMendsIt() async throws {
    try await withShop { shop, api in
      let item = try await shop.item()
      var planted = item.attributes
      planted["origin"] = "https://evil.example"
      try await shop.box.store(attributes: planted, secret: item.secret ?? "", label: item.label)
      #expect(try await shop.box.items().count == 2)
      try await isRefused(shop, api, "two items", saying: "two items for shop (\(Shop.ada))")
      #expect(try await shop.login().status == 0)
      #expect(try await shop.box.items().count == 1)
      #expect(try await shop.box.run("get", "/me").stdout == Shop.me)

      try await shop.box.store(attributes: planted, secret: item.secret ?? "", label: item.label)
      #expect(try await shop.box.run("logout").status == 0)
      #expect(try await shop.box.items().isEmpty)
    }
  }

  /// The attributes only find the item: a copy under another name is not that account's session.
  @Test func itemCopiedUnderAnotherNameIsNotThatSession() async throws {
    try await withShop { shop, api in
      let item = try await shop.item()
      var copied = item.attributes
      copied["account"] = Shop.grace
      try await shop.box.store(attributes: copied, secret: item.secret ?? "", label: item.label)
      try await isRefused(shop, api, "another account", Shop.grace)
      #expect(try await shop.box.run("get", "/me").stdout == Shop.me)
      try await api.reset()

      try shop.box.write("config/authctl/profiles/other.toml", "url = \"\(api.url)\"\n")
      copied = item.attributes
      copied["profile"] = "other"
      try await shop.box.store(attributes: copied, secret: item.secret ?? "", label: item.label)
      for arguments in [["get", "-p", "other", "/me"], ["token", "-p", "other"]] {
        let run = try await shop.box.run(arguments + ["-u", Shop.ada])
        #expect(run.status == 12, "\(run.stderr)")
        #expect(run.stdout == "")
      }
      #expect(try await api.counts() == [:])
    }
  }

  /// The origin in the item's attributes does not decide where requests go.
  @Test func alteredOriginAttributeSendsNothingElsewhere() async throws {
    try await withShop { shop, api in
      let evil = try shop.box.recorder()
      let item = try await shop.item()
      var altered = item.attributes
      altered["origin"] = evil.url
      try await shop.clear()
      try await shop.box.store(attributes: altered, secret: item.secret ?? "", label: item.label)
      let here = try await shop.box.run("get", "/me")
      #expect([0, 12].contains(here.status), "\(here.stderr)")
      let there = try await shop.box.run("get", "-p", "shop", evil.url + "/me")
      #expect([12, 13].contains(there.status), "\(there.stderr)")
      #expect(evil.connections.isEmpty)
    }
  }

  @Test func originsInTheSecretDecide() async throws {
    try await withShop { shop, api in
      for name in ["request_origins", "sign_in_origins"] {
        let own = try await shop.payload()[name] ?? .null
        try await shop.edit([name: ["https://other.example"]])
        let run =
          name == "request_origins"
          ? try await shop.box.run("get", "/me") : try await shop.box.run("refresh")
        #expect(run.status == 13, "\(run.stderr)")
        #expect(run.stderr.hasSuffix("\nhint: authctl login -p shop\n"), "\(run.stderr)")
        try await shop.edit([name: own])
      }
      #expect(try await api.counts() == [:])
    }
  }

  @Test func damagedSecretIsToldAndNeverSent() async throws {
    try await withShop { shop, api in
      let whole = try await shop.item().secret ?? ""
      let cases: [(String, String)] = [
        ("empty", ""), ("text", "hello"), ("half", String(whole.prefix(whole.count / 2))),
        ("array", "[]"), ("null", "null"), ("object", "{}"),
        ("version", whole.replacing("\"version\":1", with: "\"version\":2")),
        ("account", whole.replacing(Shop.ada, with: Shop.grace)),
        ("profile", whole.replacing("\"profile\":\"shop\"", with: "\"profile\":\"other\"")),
        ("generation", whole.replacing("\"generation\"", with: "\"generations\"")),
        ("origins", whole.replacing("\"request_origins\"", with: "\"origins\"")),
        ("origin", whole.replacing(api.url, with: "http://user@127.0.0.1:1/")),
        ("values", whole.replacing("\"values\"", with: "\"value\"")),
        ("tail", whole + "{}"), ("NUL", whole + "\0"),
        ("deep", String(repeating: "[", count: 50_000)),
      ]
      for (name, secret) in cases {
        try await shop.rewrite { _ in secret }
        try await isRefused(shop, api, name, by: [["get", "/me"]])
        let run = try await shop.box.run("status")
        #expect([0, 12].contains(run.status), "\(name): \(run.status) \(run.stderr)")
      }
      #expect(try await shop.login().status == 0)
      #expect(try await shop.box.run("get", "/me").stdout == Shop.me)
      try await shop.rewrite { _ in "damaged" }
      #expect(try await shop.box.run("logout").status == 0)
      #expect(try await shop.box.items().isEmpty)
    }
  }

  @Test func busElsewhereIsRefused() async throws {
    try await withShop { shop, api in
      let recorder = try shop.box.recorder()
      let tcp = "tcp:host=127.0.0.1,port=\(recorder.port)"
      for address in [
        tcp, "nonce-\(tcp),noncefile=/etc/hostname", "autolaunch:", "unixexec:path=/bin/sh",
        "launchd:env=X", "unix:path=/none;\(tcp)",
      ] {
        let run = try await shop.box.run("get", "/me", env: ["DBUS_SESSION_BUS_ADDRESS": address])
        #expect(run.status == 12, "\(run.stderr)")
        #expect(run.stdout == "")
        #expect(run.hasErrorForm)
        #expect(run.stderr.contains("D-Bus session"), "\(run.stderr)")
      }
      #expect(recorder.connections.isEmpty)
      #expect(try await api.counts() == [:])
    }
  }

  /// libsecret and GLib have such variables of their own; authctl ignores them all.
  @Test func variablesOfTheLibrariesChangeNothing() async throws {
    try await withShop { shop, api in
      let file = shop.box.root + "/swapped.keyring"
      let variables: [[String: String?]] = [
        ["SECRET_BACKEND": "file"], ["SECRET_BACKEND": "nonsense"],
        [
          "SECRET_BACKEND": "file", "SECRET_FILE_TEST_PATH": file,
          "SECRET_FILE_TEST_PASSWORD": "x", "SNAP_NAME": "x", "container": "flatpak",
        ],
        ["G_DBUS_DEBUG": "all"], ["G_MESSAGES_DEBUG": "all", "G_DEBUG": "fatal-warnings"],
        ["GIO_MODULE_DIR": shop.box.root, "GIO_EXTRA_MODULES": shop.box.root],
        ["GIO_USE_VFS": "local", "G_SLICE": "debug-blocks", "DBUS_VERBOSE": "1"],
      ]
      for env in variables {
        let name = env.keys.sorted().joined(separator: " ")
        let get = try await shop.box.run("get", "/me", env: env)
        #expect(get.stdout == Shop.me, "\(name)")
        #expect(get.stderr == "", "\(name)")
        #expect(get.status == 0, "\(name)")
        let login = try await shop.box.run(
          "login", "-q", "-p", "shop", "--password-stdin", stdin: Shop.password + "\n", env: env)
        #expect(login.stdout + login.stderr == "", "\(name)")
        #expect(login.status == 0, "\(name)")
        #expect(try await shop.box.items().count == 1, "\(name)")
      }
      #expect(!shop.box.files().contains { $0.hasSuffix(".keyring") })
    }
  }
}
