import Glibc
import Testing

/// Simultaneous sign-ins, sign-outs, renewals and requests of one account, and a store that refuses
/// a renewed token: design 6, rules B1 and T5.
@Suite struct MixedProcessesTests {
  /// How many of each to start at once.
  struct Mix: Sendable, CustomTestStringConvertible {
    var gets = 16
    var refreshes = 8
    var logins = 0
    var logouts = 0
    var testDescription: String {
      "\(gets) get, \(refreshes) refresh, \(logins) login, \(logouts) logout"
    }
  }
  private struct Started {
    var command: String
    var child: Child
  }

  private static let grace = #"{"id":"2","email":"grace@example.com","name":"Grace Hopper"}"#
  private static let signedOut =
    "Signed out of shop as \(Shop.ada), at the server and on this machine.\n"
  private static let nobody = "Not signed in to shop.\n"

  /// Starts the mix with its kinds evenly interleaved, and requests of another account.
  private func start(_ mix: Mix, _ shop: Shop) throws -> [Started] {
    var commands: [(place: Double, words: [String])] = []
    func add(_ count: Int, _ words: [String]) {
      for index in 0..<count { commands.append(((Double(index) + 0.5) / Double(count), words)) }
    }
    add(mix.gets, ["get", "-u", Shop.ada, "/me"])
    add(mix.refreshes, ["refresh", "-u", Shop.ada])
    add(mix.logins, ["login", "-p", "shop", "-u", Shop.ada, "--password-stdin"])
    add(mix.logouts, ["logout", "-u", Shop.ada])
    add(6, ["get", "-u", Shop.grace, "/me"])
    try shop.box.allowCrowd()
    return try commands.sorted { $0.place < $1.place }.map { _, words in
      Started(
        command: words.contains(Shop.grace) ? "grace" : words[0],
        child: try shop.box.startUnsampled(
          words, stdin: words[0] == "login" ? Shop.password + "\n" : nil))
    }
  }

  /// Returns how many sign-outs ended a session.
  private func expectDocumentedEnds(_ started: [Started], _ mix: Mix) async throws -> Int {
    var ended = 0
    for one in started {
      let run = try await one.child.finish()
      let note: Comment = "\(one.command): \(run.status) \(run.stderr)"
      if run.status != 0 { #expect(run.hasErrorForm, note) }
      switch one.command {
      case "grace":
        #expect(run.stdout == Self.grace, note)
        #expect(run.status == 0, note)
      case "get":
        // 11: signed out at the server between the request's start and its response.
        #expect((mix.logouts == 0 ? [0] : [0, 10, 11]).contains(run.status), note)
        #expect(run.stdout == (run.status == 0 ? Shop.me : ""), note)
      case "refresh":
        #expect((mix.logouts == 0 ? [0] : [0, 10]).contains(run.status), note)
      case "logout":
        #expect([Self.signedOut, Self.nobody].contains(run.stderr), note)
        #expect(run.status == 0, note)
        if run.stderr == Self.signedOut { ended += 1 }
      default:
        #expect(run.stderr.hasPrefix("Signed in to shop as \(Shop.ada). "), note)
        #expect(run.status == 0, note)
      }
    }
    return ended
  }

  @Test(arguments: [
    Mix(logins: 8), Mix(logouts: 6), Mix(logins: 8, logouts: 8),
    Mix(gets: 4, logins: 12, logouts: 12),
  ])
  func storeEndsAsSomeOrderExplains(_ mix: Mix) async throws {
    try await Shop.with { shop, api in
      let box = shop.box
      try await shop.signIn(Shop.grace, password: Shop.gracePassword)
      let first = try await shop.payload()["generation"]
      let graces = try await shop.payload(Shop.grace)["generation"]
      try await shop.age(ended: 10)
      try await shop.age(Shop.grace, ended: 10)
      let ended = try await expectDocumentedEnds(try start(mix, shop), mix)

      // No refresh token was sent twice, and no session was ended twice.
      let requests = try await api.requests()
      let renewals = requests.filter { $0["path"] == "/refresh" }.compactMap { $0["body"]?.string }
      #expect(Set(renewals).count == renewals.count)
      #expect(try await api.count("POST /logout") == ended)
      // Each sign-out ended a different session: the first one, or one from a sign-in.
      #expect(ended <= 1 + mix.logins)
      if mix.logouts > 0 { #expect(ended > 0) }

      #expect(try await shop.payload(Shop.grace)["generation"] == graces)
      let mine = try await box.items().filter { $0.attributes["account"] == Shop.ada }
      #expect(mine.count <= 1)
      if mix.logouts == 0 { #expect(mine.count == 1) }
      if mix.logins == 0 { #expect(mine.isEmpty) }
      if ended == 1 + mix.logins { #expect(mine.isEmpty) }
      if mine.isEmpty {
        #expect(try await box.run("get", "-u", Shop.ada, "/me").status == 10)
      } else {
        #expect(try await shop.payload()["generation"] != first)
        #expect(try await box.run("get", "-u", Shop.ada, "/me").stdout == Shop.me)
        #expect(try await box.run("refresh", "-u", Shop.ada).status == 0)
        #expect(try await box.run("get", "-u", Shop.ada, "/me").stdout == Shop.me)
      }
      #expect(try await box.run("refresh", "-u", Shop.grace).status == 0)
      #expect(try await box.run("get", "-u", Shop.grace, "/me").stdout == Self.grace)
    }
  }

  // MARK: A store that refuses

  private static let unstored =
    "the keyring is locked (gnome-keyring, collection \"Login\")"

  /// Locks the keyring permanently between the server's response and the write of the new pair.
  @Test(arguments: zip(["get /me", "get /nothing", "token", "refresh"], [0, 4, 0, 12] as [Int32]))
  func storeThatRefusesCostsTheCommandNothing(_ command: String, _ status: Int32) async throws {
    let words = command.split(separator: " ").map(String.init)
    try await Relay.withShop(holds: false) { shop, api, relay in
      try await shop.age(ended: 10)
      let before = try await shop.box.items()
      let monitor = try await BusMonitor(shop.box, calls: "Lock", "SearchItems")
      let socket = shop.box.busSocket
      relay.afterAnswer {
        let service = try SecretService(socket: socket)
        try service.lock(try service.defaultCollection())
      }
      let run = try await shop.box.run(words)
      let warning =
        "authctl: warning: shop: the renewed session could not be stored (\(Self.unstored)); "
        + "it works for this command only, so sign in again\n"
      switch words[0] {
      case "refresh":
        #expect(run.stderr.hasPrefix("authctl: \(Self.unstored)\nhint: "), "\(run.stderr)")
        #expect(run.stdout == "")
      case "token":
        #expect(run.stderr == warning)
        #expect(run.stdout.utf8.count > 100)
      default:
        #expect(run.stderr.hasPrefix(warning), "\(run.stderr)")
        let isFound = status == 0
        #expect(
          isFound
            ? run.stderr == warning && run.stdout == Shop.me
            : run.stderr.hasPrefix(warning + "authctl: HTTP 404 "), "\(run.stderr)")
      }
      #expect(run.status == status)
      #expect(try await api.count("POST /refresh") == 1)
      // The write was retried more than once.
      try await monitor.settle()
      let calls = monitor.messages().filter(\.isCall).map(\.member)
      let tries = calls.drop { $0 != "Lock" }.filter { $0 == "SearchItems" }
      #expect(tries.count >= 4, "\(calls)")
      try await shop.box.unlockKeyring()
      #expect(try await shop.box.items() == before)
    }
  }

  /// The keyring is available again after the first failed write.
  @Test func storeThatComesBackInTimeHasTheNewPair() async throws {
    try await Relay.withShop(holds: false) { shop, api, relay in
      try await shop.age(ended: 10)
      let old = try await shop.refreshToken()
      let monitor = try await BusMonitor(shop.box, calls: "Lock", "SearchItems")
      let socket = shop.box.busSocket
      relay.afterAnswer {
        let service = try SecretService(socket: socket)
        try service.lock(try service.defaultCollection())
      }
      let get = try shop.box.start(["get", "/me"])
      try await monitor.wait(from: 0) { seen in
        seen.map(\.member).drop { $0 != "Lock" }.contains("SearchItems")
      }
      try await shop.box.unlockKeyring()
      let run = try await get.finish()
      #expect(run.stdout == Shop.me)
      #expect(run.stderr == "")
      #expect(run.status == 0)
      #expect(try await shop.refreshToken() != old)
      relay.afterAnswer {}
      #expect(try await shop.box.run("refresh").status == 0)
      #expect(try await api.count("POST /refresh") == 2)
    }
  }

  /// Signing out with an expired token renews it first; if the server then refuses the sign-out,
  /// the new pair must be stored, not the used-up one.
  @Test func signOutThatFailsKeepsALiveSession() async throws {
    try await Relay.withShop(holds: false) { shop, api, relay in
      try await shop.age(ended: 10)
      try await api.misbehave(["path": "/logout", "status": 503])
      let run = try await shop.box.run("logout", "--require-revocation")
      #expect(run.stdout == "")
      #expect(run.stderr.hasPrefix("authctl: shop: HTTP 503 "), "\(run.stderr)")
      #expect(run.hasErrorForm)
      #expect(run.status == 5)
      #expect(try await api.count("POST /refresh") == 1)
      let get = try await shop.box.run("get", "/me")
      #expect(get.stdout == Shop.me, "\(get.stderr)")
      let refresh = try await shop.box.run("refresh")
      #expect(refresh.status == 0, "\(refresh.stderr)")
    }
  }
}
