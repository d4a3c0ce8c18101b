import Glibc
import Testing

/// A hundred processes and one session: design 6, rules B1, B6, B8 and T10. DemoAPI's refresh
/// tokens work once; a second use ends the whole family, so any duplicate refresh makes the
/// requests fail. One crowd at a time: where four share a processor, the one that renews may need
/// more than the seconds that a renewal has.
@Suite(.serialized) struct ManyProcessesTests {
  private static let crowd = 100

  private func startCrowd(_ shop: Shop) throws -> [Child] {
    try shop.box.allowCrowd()
    return try (0..<Self.crowd).map { _ in try shop.box.startUnsampled(["get", "/me"]) }
  }

  /// Starts them all and waits until each has read the expired token: the only refresh is held
  /// back.
  private func startHeldCrowd(_ shop: Shop) async throws -> [Child] {
    let monitor = try await BusMonitor(shop.box, calls: "GetSecret")
    try await shop.age(ended: 10)
    try await monitor.settle()
    let start = monitor.position
    let children = try startCrowd(shop)
    try await monitor.waitForCallers(Self.crowd, of: "GetSecret", from: start)
    return children
  }

  private func expectSuccess(_ children: [Child]) async throws {
    for child in children {
      let run = try await child.finish()
      #expect(run.stdout == Shop.me)
      #expect(run.stderr == "")
      #expect(run.status == 0)
    }
  }

  /// Expects one item, whose token all `requests` carried and which the server can renew.
  private func expectOneLiveSession(_ shop: Shop, _ api: APIServer, requests: Int) async throws {
    let sent = try await api.requests().filter { $0["path"] == "/me" }
      .compactMap { $0["headers"]?["authorization"]?.string }
    #expect(sent.count == requests)
    #expect(Set(sent) == ["Bearer " + (try await shop.accessToken())])
    #expect(try await shop.box.items().count == 1)
    #expect(try await shop.box.run("refresh").status == 0)
    #expect(try await shop.box.run("get", "/me").stdout == Shop.me)
  }

  /// gnome-keyring takes note of a client beside its first call, and aborts if that is OpenSession and
  /// comes first: one of a thousand did. So another call is answered before.
  @Test func keyringKnowsAClientBeforeItNegotiates() async throws {
    try await Shop.with { shop, _ in
      try await shop.signIn()
      for words in [["status"], ["get", "/me"], ["logout"]] {
        let monitor = try await BusMonitor(shop.box, calls: "Get", "OpenSession", answers: true)
        #expect(try await shop.box.run(words).status == 0)
        try await monitor.settle()
        let seen = monitor.messages()
        let session = try #require(seen.firstIndex { $0.isCall && $0.member == "OpenSession" })
        let first = try #require(seen.first { $0.isCall && $0.sender == seen[session].sender })
        #expect(first.member == "Get", "\(words)")
        let isAnswered = seen[..<session].contains {
          !$0.isCall && $0.destination == first.sender && $0.replySerial == first.serial
        }
        #expect(isAnswered, "\(words)")
      }
    }
  }

  @Test func hundredProcessesSendOneRefresh() async throws {
    try await Relay.withShop { shop, api, relay in
      let children = try await startHeldCrowd(shop)
      relay.releaseAll()
      try await expectSuccess(children)
      #expect(relay.passages.count == 1)
      #expect(
        try await api.counts()
          == ["POST /login": 1, "POST /refresh": 1, "GET /me": .number(Double(Self.crowd))])
      try await expectOneLiveSession(shop, api, requests: Self.crowd)
    }
  }

  /// Kills three holders of the lock in turn while their refresh is on its way; the server never
  /// sees it.
  @Test func othersTakeOverFromKilledHolders() async throws {
    try await Relay.withShop { shop, api, relay in
      var children = try await startHeldCrowd(shop)
      for victim in 0..<3 {
        try await relay.waitForPassages(victim + 1)
        let holder = try lockHolder(among: children)
        holder.signal(SIGKILL)
        let end = try await holder.finish()
        #expect(end.status == 128 + SIGKILL)
        #expect(end.stdout + end.stderr == "")
        children.removeAll { $0 === holder }
        relay.drop(victim)
      }
      relay.releaseAll()
      try await expectSuccess(children)
      #expect(relay.passages.count == 4)
      #expect(try await api.count("POST /refresh") == 1)
      try await expectOneLiveSession(shop, api, requests: Self.crowd - 3)
    }
  }

  /// Kills the holder before it reads the store again: at that moment the keyring does not answer,
  /// and nothing has been sent.
  @Test func othersTakeOverFromAHolderThatHasSentNothing() async throws {
    try await Sandbox.with { box in
      let latch = try Latch()
      let script = Script()
      let api = try box.recorder { index, request in
        // The first four carry the token that the server no longer accepts.
        if Scene.route(of: request) == "GET /me", index <= 4 {
          latch.wait()
          return .http(401, "{}")
        }
        return script.answering(index, request)
      }
      script["POST /login"] = Scene.tokens("access-1", "refresh-1")
      script["POST /refresh"] = Scene.tokens("access-2", "refresh-2")
      script["GET /me"] = .http(200, "{}")
      try box.profile("shop", Scene.profile(api.url))
      try await box.signIn("shop")
      let first = try box.start(["get", "-p", "shop", "/me"])
      try await api.waitForConnections(2)
      let others = try (0..<3).map { _ in try box.start(["get", "-p", "shop", "/me"]) }
      try await api.waitForConnections(5)
      box.stopKeyring()
      latch.open()
      let children = [first] + others
      let holder = try await onThread {
        let start = monotonicMilliseconds()
        while true {
          if let holder = try? lockHolder(among: children) { return holder }
          guard monotonicMilliseconds() - start < 20_000 else {
            throw HarnessError("nobody took the lock")
          }
          usleep(1000)
        }
      }
      for _ in others { latch.open() }
      holder.signal(SIGKILL)
      #expect(try await holder.finish().status == 128 + SIGKILL)
      #expect(api.connections.count == 5)
      box.continueKeyring()
      for child in children where child !== holder {
        let run = try await child.finish()
        #expect(run.stdout == "{}")
        #expect(run.stderr == "")
        #expect(run.status == 0)
      }
      let routes = api.connections.map(Scene.route)
      #expect(routes.filter { $0 == "POST /refresh" }.count == 1)
      #expect(try await box.storedTokens() == ["access-2"])
    }
  }

  @Test func slowRefreshIsWaitedFor() async throws {
    try await Shop.with { shop, api in
      // The old token is used up when the delay begins.
      try await api.misbehave(["path": "/refresh", "delay_ms": 5000])
      try await shop.age(ended: 10)
      try await expectSuccess(try startCrowd(shop))
      #expect(try await api.count("POST /refresh") == 1)
      try await expectOneLiveSession(shop, api, requests: Self.crowd)
    }
  }

  /// 503 says nothing about the refresh token: the lock's holder retries, and all others wait.
  @Test func twoFailuresOfTheServerCostTwoRequests() async throws {
    try await Shop.with { shop, api in
      try await api.misbehave([
        "path": "/refresh", "times": 2, "status": 503, "body": #"{"message":"Later."}"#,
      ])
      try await shop.age(ended: 10)
      try await expectSuccess(try startCrowd(shop))
      #expect(try await api.count("POST /refresh") == 3)
      try await expectOneLiveSession(shop, api, requests: Self.crowd)
    }
  }

  /// A cron job has neither XDG_RUNTIME_DIR nor the address of a bus: it finds the bus in
  /// /run/user, here in its own mount namespace, and the lock in the usual place.
  @Test(.enabled(if: geteuid() == 0, "mount namespaces want root"))
  func cronMeetsTheTerminal() async throws {
    try await Relay.withShop { shop, api, relay in
      let box = shop.box
      try await shop.age(ended: 10)
      let terminal = try box.start(["get", "/me"], env: ["XDG_STATE_HOME": nil])
      try await relay.waitForPassages(1)
      let cron = try box.start(
        [
          "-m", "/bin/sh", "-ec",
          #"""
          mount -t tmpfs none /run
          mkdir -p -m 700 /run/user/0
          : >/run/user/0/bus
          mount --bind "$1" /run/user/0/bus
          shift
          exec "$@"
          """#,
          "sh", box.busSocket, try Built.authctl(), "get", "/me",
        ],
        env: ["XDG_STATE_HOME": nil, "XDG_RUNTIME_DIR": nil, "DBUS_SESSION_BUS_ADDRESS": nil],
        program: "/usr/bin/unshare")
      // Both opened the same file, and the process that sent the refresh holds it.
      #expect(try await openedLock(of: cron) == (try await openedLock(of: terminal)))
      #expect(try lockHolder(among: [terminal, cron]) === terminal)
      relay.releaseAll()
      try await expectSuccess([terminal, cron])
      #expect(relay.passages.count == 1)
      #expect(try await api.count("POST /refresh") == 1)
      let locks = box.files().filter { $0.hasSuffix(".lock") }
      #expect(locks.count == 2, "\(locks)")
      #expect(locks.filter { $0.hasPrefix("home/.local/state/authctl/locks/") }.count == 1)
    }
  }
}
