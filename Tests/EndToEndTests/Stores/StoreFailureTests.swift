import Glibc
import Testing

/// The secret store is locked, missing, stopped or replies unexpectedly: design 3, 4 and 7, rule
/// B12. A locked store is never reported as "not signed in".
@Suite struct StoreFailureTests {
  private static let locked =
    "authctl: the keyring is locked (gnome-keyring, collection \"Login\")\n"
    + "hint: authctl store unlock --password-stdin\n"
  private static let noService =
    "authctl: no Secret Service on this bus (org.freedesktop.secrets)\n"
    + "hint: apt install gnome-keyring, or use AUTHCTL_STORE=file (see authctl help ci)\n"
  private static let noBus =
    "authctl: no D-Bus session: DBUS_SESSION_BUS_ADDRESS is not set\n"
    + "hint: use AUTHCTL_TOKEN or AUTHCTL_STORE=file (see authctl help ci)\n"

  /// All commands that need the store and must report its failure.
  private static let commands = [
    "get -p shop --no-input /me", "token", "refresh", "whoami", "logout --all",
    "login -p shop --if-needed --password-stdin",
  ]
  private static let essential = [
    "get /me", "whoami --offline", "login -p shop --password-stdin", "logout",
    "register -p shop -u bob@example.com --password-stdin",
  ]

  private func withShop(
    _ kind: Sandbox.Kind = .keyring, _ body: @Sendable (Shop, APIServer) async throws -> Void
  ) async throws {
    try await Shop.with(kind: kind, signsIn: kind == .keyring) { shop, api in
      try await api.reset()
      try await body(shop, api)
    }
  }

  /// Runs `commands`, and expects that all exit with 12 and `stderr`, and nothing is sent.
  private func allEnd(
    _ shop: Shop, _ api: APIServer, _ stderr: String, env: [String: String?] = [:],
    options: [String] = [], _ commands: [String] = essential
  ) async throws {
    for command in commands {
      let run = try await shop.box.run(
        command.split(separator: " ").map(String.init) + options,
        stdin: command.contains("stdin") ? Shop.password + "\n" : nil, env: env)
      #expect(run.stderr == stderr, "\(command)")
      #expect(run.stdout == "", "\(command)")
      #expect(run.status == 12, "\(command)")
    }
    #expect(try await api.counts() == [:])
  }

  private func startLockedKeyring(_ box: Sandbox) async throws {
    try await box.killKeyring()
    var variables = box.environment()
    for name in ["HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"] {
      variables[name] = box.root + "/keyring"
    }
    _ = try box.spawn(
      Launch(
        command: [
          "/usr/bin/gnome-keyring-daemon", "--foreground", "--components=secrets",
          "--control-directory=\(box.root)/keyring/control",
        ], environment: variables, directory: box.root, limit: nil, isSampled: false),
      isDaemon: true)
    let wait = try await box.run(
      "wait", "--session", "--timeout", "20", "org.freedesktop.secrets", program: "/usr/bin/gdbus")
    try #require(wait.status == 0, "\(wait.stderr)")
  }

  @Test func lockedKeyringIsToldByEveryCommand() async throws {
    try await withShop { shop, api in
      try await shop.box.lockKeyring()
      try await allEnd(shop, api, Self.locked, Self.essential + Self.commands)
      let check = try await shop.box.run("status", "--check")
      #expect(check.stdout + check.stderr == "")
      #expect(check.status == 12)
      let json = try await shop.box.run("get", "/me", "--errors", "json")
      #expect(
        try JSON(parsing: json.stderr)["error"]?["code"] == "store_locked", "\(json.stderr)")
      #expect(try JSON(parsing: json.stderr)["error"]?["exit"] == 12)
    }
  }

  @Test func lockedSessionIsListedAsLocked() async throws {
    try await withShop { shop, api in
      try await shop.box.lockKeyring()
      let status = try await shop.box.run("status")
      #expect(
        status.stdout == """
            PROFILE  ACCOUNT          STATE   LEFT  ORIGIN
          * shop     ada@example.com  locked  -     \(api.url)

          """)
      #expect(status.stderr == "")
      #expect(status.status == 0)
      let json = try JSON(parsing: try await shop.box.run("status", "--json").stdout)[0]
      #expect(json?["state"] == "locked")
      for name in ["expires_at", "seconds_left", "refreshable"] {
        #expect(json?[name] == JSON.null)
      }
      let list = try await shop.box.run("profile", "list")
      #expect(
        list.stdout == """
            NAME  PRESET  ACCOUNTS  STATE   URL
          * shop  -       1         locked  \(api.url)

          """)
      #expect(list.stderr == "")
      #expect(list.status == 0)
      let bare = try await shop.box.run([])
      let first = bare.stdout.split(separator: "\n").first ?? ""
      #expect(first.hasPrefix("* shop  ada@example.com  locked"), "\(bare.stdout)")
      #expect(bare.stderr == "")
      #expect(bare.status == 0)
      #expect(try await api.counts() == [:])
    }
  }

  /// A keyring not unlocked since it started knows only hashes of the attributes.
  @Test func keyringThatWasNeverUnlockedIsLockedToo() async throws {
    try await withShop { shop, api in
      try await startLockedKeyring(shop.box)
      try await allEnd(shop, api, Self.locked)
      let status = try await shop.box.run("status")
      #expect(
        status.stdout == """
            PROFILE  ACCOUNT  STATE   LEFT  ORIGIN
          * shop     ?        locked  -     \(api.url)

          """)
      #expect(status.status == 0)
      #expect(try await shop.box.run("status", "--check").status == 12)
      let json = try JSON(parsing: try await shop.box.run("status", "--json").stdout)[0]
      #expect(json?["profile"] == "shop")
      #expect(json?["account"] == JSON.null)
      #expect(json?["state"] == "locked")
    }
  }

  /// On a terminal the hint of a command that never asks is the command that unlocks.
  /// `LockedKeyringTests` has those that ask.
  @Test func terminalGetsTheCommandWhereNothingIsAsked() async throws {
    try await withShop { shop, api in
      try await shop.box.lockKeyring()
      let offline = try await shop.box.terminal(["whoami", "--offline"], answers: [])
      #expect(
        offline.screen == """
          authctl: the keyring is locked (gnome-keyring, collection "Login")
          hint: authctl store unlock

          """)
      #expect(offline.status == 12)
      let status = try await shop.box.terminal(["status"], answers: [])
      #expect(status.screen.hasSuffix("\nhint: authctl store unlock\n"), "\(status.screen)")
      #expect(status.status == 0)
      #expect(try await api.counts() == [:])
    }
  }

  /// Only a command that uses the keyring makes the bus start it: the connection that is opened
  /// while options are read starts nothing.
  @Test func keyringThatTheBusStarts() async throws {
    try await withShop(.busOnly) { shop, _ in
      let mark = shop.box.root + "/started"
      try shop.box.write(
        "keyring/services/org.freedesktop.secrets.service",
        "[D-BUS Service]\nName=org.freedesktop.secrets\n"
          + "Exec=/bin/sh -c \"touch \(mark); exit 1\"\n")
      for words in [["get", "/me", "--nope"], ["token", "a", "b"], ["whoami", "--help"]] {
        let run = try await shop.box.run(words)
        #expect(run.status == (words.contains("--help") ? 0 : 2), "\(run.stderr)")
        #expect(access(mark, F_OK) != 0, "\(words)")
      }
      let run = try await shop.box.run("get", "/me")
      #expect(run.status == 12, "\(run.stderr)")
      #expect(access(mark, F_OK) == 0)
    }
  }

  @Test func busWithoutAService() async throws {
    try await withShop(.busOnly) { shop, api in
      try await allEnd(shop, api, Self.noService, Self.essential + ["status"])
      #expect(try await shop.box.run("status", "--check").status == 12)
    }
  }

  @Test func noBusAtAll() async throws {
    try await withShop(.none) { shop, api in
      // authctl would use the machine's own bus if there is one.
      try #require(access("/run/user/\(geteuid())/bus", F_OK) != 0)
      try await allEnd(shop, api, Self.noBus, Self.essential + ["status"])
      try await allEnd(
        shop, api, Self.noBus, env: ["DBUS_SESSION_BUS_ADDRESS": ""], ["get /me"])
      let bare = try await shop.box.run([])
      #expect(bare.stderr == Self.noBus)
      #expect(bare.status == 12)
    }
  }

  @Test func nothingConfiguredTouchesNoStore() async throws {
    try await Sandbox.with(.none) { box in
      let run = try await box.run([])
      #expect(
        run.stdout == """
          authctl signs in to an HTTP API once, then sends requests with the session.

            authctl login https://api.example.com    sign in
            authctl get /me                          send a request
            authctl status                           list sessions

          All commands: authctl help        Manual: man authctl

          """)
      #expect(run.stderr == "")
      #expect(run.status == 0)
    }
  }

  @Test func stoppedKeyringIsWaitedForNoLongerThanSaid() async throws {
    try await withShop { shop, api in
      shop.box.stopKeyring()
      for command in ["get /me", "status", "whoami --offline", "logout"] {
        let run = try await shop.box.run(
          command.split(separator: " ").map(String.init) + ["--store-timeout", "3s"])
        #expect(
          run.stderr.hasPrefix("authctl: the keyring did not answer within 3 s\n"),
          "\(command): \(run.stderr)")
        #expect(run.hasErrorForm)
        #expect(run.stdout == "")
        #expect(run.status == 12)
      }
      let login = try await shop.login("--store-timeout", "3s")
      #expect(login.status == 12)
      // The connection starts before options are read; a command that fails before it uses the
      // store does not wait for it.
      let whoami = "whoami --nope"
      for command in ["get /me --nope", "get /me -p other", whoami, whoami, whoami] {
        let words = command.split(separator: " ").map(String.init)
        let start = ContinuousClock.now
        #expect(try await shop.box.run(words).status == 2)
        #expect(ContinuousClock.now - start < .seconds(20), "\(command)")
      }
      #expect(try await api.counts() == [:])
      shop.box.continueKeyring()
      #expect(try await shop.box.run("get", "/me").stdout == Shop.me)
    }
  }

  @Test func killedKeyringIsNoService() async throws {
    try await withShop { shop, api in
      try await shop.box.killKeyring()
      try await allEnd(shop, api, Self.noService, ["get /me", "login -p shop --password-stdin"])
      try await shop.box.startKeyring()
      #expect(try await shop.box.run("get", "/me").stdout == Shop.me)
    }
  }

  /// The keyring is gone between the sign-in request and its response: without a stored session,
  /// the login has failed.
  @Test func sessionThatCannotBeSavedIsAFailedLogin() async throws {
    try await withShop { shop, api in
      for isLocked in [true, false] {
        try await api.reset()
        let before = try await shop.box.items()
        try await api.misbehave(["path": "/login", "delay_ms": 1000])
        let login = try shop.box.start(
          ["login", "-p", "shop", "--password-stdin", "--store-timeout", "2s"],
          stdin: Shop.password + "\n")
        try await api.waitFor("POST /login")
        if isLocked { try await shop.box.lockKeyring() } else { try await shop.box.killKeyring() }
        let run = try await login.finish()
        #expect(run.status == 12, "\(run.stderr)")
        #expect(run.stdout == "")
        #expect(run.hasErrorForm)
        #expect(!run.stderr.contains("Signed in"))
        if isLocked { try await shop.box.killKeyring() }
        try await shop.box.startKeyring()
        #expect(try await shop.box.items() == before)
      }
    }
  }
}
