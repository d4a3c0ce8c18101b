import Glibc
import Testing

/// Processes that use one session at the same time: design 6, rules B1 and B8.
@Suite struct RenewalRaceTests {
  /// A shop with an expired token, while a `get` waits for its refresh.
  private func withSlowRefresh(
    _ trick: JSON = ["path": "/refresh", "delay_ms": 1500],
    _ body: @Sendable (Shop, APIServer, Child) async throws -> Void
  ) async throws {
    try await Shop.with { shop, api in
      try await shop.age(ended: 10)
      try await api.misbehave(trick)
      let get = try shop.box.start(["get", "/me"])
      try await api.waitFor("POST /refresh")
      try await body(shop, api, get)
    }
  }

  @Test func anotherTakesOverWhenTheHolderIsKilled() async throws {
    // 503 replaces the real response: the refresh token is not used up.
    try await withSlowRefresh(["path": "/refresh", "delay_ms": 60_000, "status": 503]) {
      shop, api, get in
      let next = try shop.box.start(["get", "/me"])
      get.signal(SIGKILL)
      #expect(try await get.finish().status == 137)
      let run = try await next.finish()
      #expect(run.stdout == Shop.me)
      #expect(run.stderr == "")
      #expect(run.status == 0)
      #expect(try await api.count("POST /refresh") == 2)
    }
  }

  @Test func waiterGivesUpAfterItsLockTimeout() async throws {
    try await withSlowRefresh(["path": "/refresh", "delay_ms": 60_000, "status": 503]) {
      shop, api, get in
      let before = try await shop.box.items()
      let run = try await shop.box.run("get", "/me", "--lock-timeout", "1")
      #expect(run.status == 9)
      #expect(run.stdout == "")
      #expect(
        run.stderr == """
          authctl: shop: timed out waiting for another authctl that is using this session
          hint: use --lock-timeout SECONDS to wait longer; is a job stopped (Ctrl-Z)?

          """)
      #expect(try await api.count("POST /refresh") == 1)
      #expect(try await shop.box.items() == before)
      get.signal(SIGKILL)
    }
  }

  @Test func waiterUsesWhatTheHolderGot() async throws {
    try await withSlowRefresh { shop, api, get in
      let others = try (0..<3).map { _ in try shop.box.start(["get", "/me"]) }
      for child in [get] + others {
        let run = try await child.finish()
        #expect(run.stdout == Shop.me)
        #expect(run.status == 0)
      }
      #expect(try await api.count("POST /refresh") == 1)
    }
  }

  @Test func logoutDuringARefreshIsNotUndone() async throws {
    try await withSlowRefresh { shop, api, get in
      let logout = try await shop.box.run("logout")
      #expect(logout.status == 0, "\(logout.stderr)")
      let first = try await get.finish()
      // Its request arrived before or after the revocation.
      #expect([0, 10, 11].contains(first.status), "\(first.stderr)")
      #expect(try await shop.box.items().isEmpty)
      let after = try await shop.box.run("get", "/me")
      #expect(after.status == 10)
      // No token of that session works at the server any more.
      let sent = try await api.requests().compactMap { $0["headers"]?["authorization"]?.string }
      #expect(!sent.isEmpty)
      for token in Set(sent) {
        let run = try await shop.box.run(
          "get", "--ignore-status", "/me",
          env: ["AUTHCTL_TOKEN": token.dropFirst("Bearer ".count).description])
        #expect(!run.stdout.contains("Ada"), "\(run.stderr)")
      }
    }
  }

  @Test func loginDuringARefreshStays() async throws {
    try await withSlowRefresh { shop, api, get in
      let old = try await shop.payload()["generation"]?.string
      let login = try await shop.login()
      #expect(login.status == 0, "\(login.stderr)")
      let first = try await get.finish()
      #expect(first.stdout == Shop.me)
      #expect(first.status == 0)
      #expect(try await shop.payload()["generation"]?.string != old)
      #expect(try await shop.box.items().count == 1)
      let renewed = try await api.requests().last { $0["path"] == "/me" }?["headers"]?[
        "authorization"]
      let stored = try await shop.accessToken()
      #expect(renewed?.string != "Bearer \(stored)")
      #expect(try await shop.box.run("get", "/me").stdout == Shop.me)
      #expect(try await shop.box.run("refresh").status == 0)
    }
  }

  @Test func loginOfAnotherDuringARefreshStays() async throws {
    try await withSlowRefresh { shop, api, get in
      try await shop.signIn(Shop.grace, password: Shop.gracePassword)
      let grace = try await shop.item(Shop.grace)
      #expect(try await get.finish().stdout == Shop.me)
      #expect(try await shop.item(Shop.grace) == grace)
      #expect(try await shop.box.items().count == 2)
      #expect(try await shop.box.run("whoami", "-u", Shop.grace).stdout == Shop.grace + "\n")
      #expect(try await shop.box.run("whoami").stdout == Shop.ada + "\n")
      #expect(try await api.count("POST /refresh") == 1)
    }
  }

  /// The keyring stands still from before the server's answer until after the signal (rule T8).
  @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
  func signalWaitsUntilTheNewPairIsStored(_ signal: Int32) async throws {
    try await Relay.withShop { shop, api, relay in
      let old = try await shop.refreshToken()
      try await shop.age(ended: 10)
      let monitor = try await BusMonitor(shop.box, calls: "SearchItems")
      let get = try shop.box.start(["get", "/me"])
      try await relay.waitForPassages(1)
      try await monitor.settle()
      let position = monitor.position
      shop.box.stopKeyring()
      relay.release()
      // It has the answer, and looks for the item to replace.
      try await monitor.waitForCallers(1, of: "SearchItems", from: position)
      get.signal(signal)
      shop.box.continueKeyring()
      #expect(try await get.finish().status == 128 + signal)
      #expect(try await shop.refreshToken() != old)
      let next = try await shop.box.run("get", "/me")
      #expect(next.stdout == Shop.me && next.stderr == "" && next.status == 0)
      #expect(try await api.count("POST /refresh") == 1)
    }
  }

  /// Where each response replaces the token, the old one is dead (rule T8).
  @Test func signalWaitsUntilTheTokenOfAResponseIsStored() async throws {
    try await Sandbox.with { box in
      let latch = try Latch()
      let api = try box.recorder { _, request in
        guard Scene.route(of: request) == "GET /a" else { return Scene.tokens("first-token") }
        latch.wait()
        return .http(200, "{}", headers: [("X-Token", "second-token")])
      }
      let session = """
        renew_on_every_response = true
        access_token = ["header:X-Token", "/access_token"]
        """
      try box.profile("shop", Scene.profile(api.url, session: session))
      try await box.signIn("shop")
      let monitor = try await BusMonitor(box, calls: "SearchItems")
      let get = try box.start(["get", "-p", "shop", "/a"])
      try await api.waitForConnections(2)
      try await monitor.settle()
      let position = monitor.position
      box.stopKeyring()
      latch.open()
      try await monitor.waitForCallers(1, of: "SearchItems", from: position)
      get.signal(SIGINT)
      box.continueKeyring()
      #expect(try await get.finish().status == 128 + SIGINT)
      #expect(try await box.storedTokens() == ["second-token"])
    }
  }

  /// A cron job has fewer variables than a terminal; both use the same lock.
  @Test func environmentDoesNotChangeTheLock() async throws {
    try await withSlowRefresh { shop, api, get in
      let bus = "unix:path=\(shop.box.root)/none;unix:path=\(shop.box.busSocket)"
      let elsewhere = shop.box.root + "/elsewhere"
      mkdir(elsewhere, 0o700)
      let environments: [[String: String?]] = [
        ["XDG_RUNTIME_DIR": nil], ["XDG_RUNTIME_DIR": elsewhere],
        ["DBUS_SESSION_BUS_ADDRESS": bus],
        ["LANG": nil, "TZ": nil, "XDG_CACHE_HOME": nil, "XDG_DATA_HOME": nil, "TMPDIR": elsewhere],
      ]
      let others = try environments.map { try shop.box.start(["get", "/me"], env: $0) }
      for child in [get] + others {
        let run = try await child.finish()
        #expect(run.stdout == Shop.me, "\(run.stderr)")
        #expect(run.status == 0)
      }
      #expect(try await api.count("POST /refresh") == 1)
      #expect(!shop.box.files().contains { $0.hasPrefix("run/") || $0.hasPrefix("elsewhere/") })
    }
  }

  /// Only if the state folder is read-only is the lock elsewhere, and cron finds it there too.
  @Test(.enabled(if: geteuid() == 0, "mount namespaces need root"))
  func lockIsInTheRuntimeFolderWhereTheStateFolderIsReadOnly() async throws {
    try await Sandbox.with { box in
      let api = try box.recorder(
        answering: Scene.routes([
          "POST /login": Scene.tokens("old-token", "r1"),
          "POST /refresh": Scene.tokens("new-token", "r2"),
        ]))
      try box.profile("shop", Scene.profile(api.url))
      try await box.signIn("shop")
      let run = try await box.run(
        "-m", "/bin/sh", "-ec",
        #"""
        mount -t tmpfs none /run
        mkdir -p -m 700 /run/user/0
        mount --bind "$1" "$1"
        mount -o remount,bind,ro "$1"
        shift
        "$@"
        stat -c '%a %n' /run/user/0/authctl /run/user/0/authctl/* |
          sed 's/[0-9a-f]\{64\}/HASH/'
        """#,
        "sh", box.stateHome, try Built.authctl(), "refresh", "-p", "shop", "-q",
        program: "/usr/bin/unshare")
      #expect(
        run.stdout == "700 /run/user/0/authctl\n600 /run/user/0/authctl/HASH.lock\n",
        "\(run.stderr)")
      #expect(run.stderr == "" && run.status == 0)
      #expect(try await box.storedTokens() == ["new-token"])
    }
  }
}
