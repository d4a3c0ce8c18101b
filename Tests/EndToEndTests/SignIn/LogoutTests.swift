import Glibc
import Testing

/// `authctl logout`: design 1, 4 and 6.
@Suite struct LogoutTests {
  private static let nothing = "Not signed in to shop.\n"
  private static func out(_ place: String, _ account: String = Shop.ada) -> String {
    "Signed out of shop as \(account), \(place).\n"
  }

  @Test func revokesAndForgets() async throws {
    try await Shop.with { shop, api in
      let tokens = try await (shop.accessToken(), shop.refreshToken())
      let run = try await shop.box.run("logout")
      #expect(run.stdout == "")
      #expect(run.stderr == Self.out("at the server and on this machine"))
      #expect(run.status == 0)
      #expect(try await shop.box.items().isEmpty)
      #expect(try await api.counts() == ["POST /login": 1, "POST /logout": 1])
      let sent = try await api.requests().last
      #expect(sent?["headers"]?["authorization"]?.string == "Bearer \(tokens.0)")
      // Neither token is valid any more.
      let access = try await shop.box.run("get", "/me", env: ["AUTHCTL_TOKEN": tokens.0])
      #expect(access.status == 11)
      try await api.reset()
      await #expect(throws: HarnessError.self) {
        try await api.ask("POST", "/refresh", ["refresh_token": .string(tokens.1)])
      }
      let get = try await shop.box.run("get", "/me")
      #expect(
        get.stderr == "authctl: not signed in to shop (\(api.url))\nhint: authctl login -p shop\n")
      #expect(get.status == 10)
      let again = try await shop.box.run("logout")
      #expect(again.stdout == "")
      #expect(again.stderr == Self.nothing)
      #expect(again.status == 0)
      #expect(try await api.count("POST /logout") == 0)
    }
  }

  @Test func tellsInJSONWhatCameOfIt() async throws {
    try await Shop.with { shop, api in
      func logout(_ more: String...) async throws -> JSON {
        let run = try await shop.box.run(["logout", "--json", "-q"] + more)
        #expect(run.stderr == "")
        #expect(run.status == 0)
        return try JSON(parsing: run.stdout)
      }
      func entry(_ revoked: JSON) -> JSON {
        [["profile": "shop", "account": .string(Shop.ada), "revoked": revoked, "deleted": true]]
      }
      #expect(try await logout() == entry(true))
      #expect(try await logout("--all") == [])
      try await shop.signIn()
      try await api.misbehave(["path": "/logout", "status": 500])
      #expect(try await logout() == entry(false))
      _ = try Shop(shop.box, api.url, without: ["logout"])
      try await shop.signIn()
      #expect(try await logout("--all") == entry(.null))
      #expect(try await shop.box.items().isEmpty)
    }
  }

  @Test func forgetsWhereTheRecipeKnowsNoRevocation() async throws {
    try await Shop.with(without: ["logout"]) { shop, api in
      let run = try await shop.box.run("logout")
      #expect(run.stderr == Self.out("on this machine only"))
      #expect(run.status == 0)
      #expect(try await shop.box.items().isEmpty)
      #expect(try await api.counts() == ["POST /login": 1])
    }
  }

  /// 2xx and 3xx mean that the session has ended. 401 means only that the access token is invalid:
  /// a renewed one ends the session. Any other status causes a warning, and the session is deleted
  /// here.
  @Test func forgetsWhateverTheServerSays() async throws {
    try await Shop.with { shop, api in
      for (status, isOver) in [
        (200, true), (204, true), (302, true), (401, true), (403, false), (500, false),
      ] {
        try await shop.signIn()
        let before = try await api.counts()
        try await api.misbehave([
          "path": "/logout", "status": .number(Double(status)), "headers": [["Location", "/page"]],
        ])
        let run = try await shop.box.run("logout")
        let end = Self.out(isOver ? "at the server and on this machine" : "on this machine only")
        #expect(run.stdout == "")
        if isOver {
          #expect(run.stderr == end, "\(status)")
        } else {
          #expect(
            run.stderr.hasPrefix("authctl: warning: the server did not end the session: shop: "),
            "\(run.stderr)")
          #expect(run.stderr.contains("\(status)"), "\(run.stderr)")
          #expect(run.stderr.hasSuffix("\n" + end), "\(run.stderr)")
        }
        #expect(run.status == 0, "\(status)")
        #expect(try await shop.box.items().isEmpty, "\(status)")
        let asked = status == 401 ? 2 : 1
        #expect(try await api.count("POST /logout") == (before["POST /logout"]?.int ?? 0) + asked)
        #expect(try await api.count("GET /page") == 0)
      }
    }
  }

  @Test func worksWithTheServerDown() async throws {
    try await Shop.with { shop, api in
      await api.stop()
      let run = try await shop.box.run("logout")
      #expect(run.stdout == "")
      #expect(
        run.stderr
          == "authctl: warning: the server did not end the session: "
          + "cannot reach \(api.url): connection refused\n" + Self.out("on this machine only"))
      #expect(run.status == 0)
      #expect(try await shop.box.items().isEmpty)
    }
  }

  @Test func requiredRevocationKeepsTheSessionAndFails() async throws {
    try await Shop.with { shop, api in
      let before = try await shop.box.items()
      for (status, exit) in [(403, Int32(4)), (404, 4), (500, 5), (503, 5)] {
        try await api.misbehave(["path": "/logout", "status": .number(Double(status))])
        let run = try await shop.box.run("logout", "--require-revocation")
        #expect(run.stdout == "")
        #expect(run.status == exit, "\(status): \(run.stderr)")
        #expect(run.hasErrorForm)
        #expect(try await shop.box.items() == before)
      }
      try await api.misbehave(["path": "/logout", "delay_ms": 0])
      let good = try await shop.box.run("logout", "--require-revocation")
      #expect(good.stderr == Self.out("at the server and on this machine"))
      #expect(good.status == 0)
      #expect(try await shop.box.items().isEmpty)

      try await shop.signIn()
      let again = try await shop.box.items()
      await api.stop()
      let down = try await shop.box.run("logout", "--require-revocation")
      #expect(down.stdout == "")
      #expect(
        down.stderr.hasPrefix("authctl: cannot reach \(api.url): connection refused\n"),
        "\(down.stderr)")
      #expect(down.status == 7)
      #expect(try await shop.box.items() == again)
    }
  }

  @Test func severalAccountsMustBeNamed() async throws {
    try await Shop.with { shop, api in
      try await shop.signIn(Shop.grace, password: Shop.gracePassword)
      // Without `account` in the profile, the choice is ambiguous.
      let profile = try #require(shop.box.read("config/authctl/profiles/shop.toml"))
      try shop.box.write(
        "config/authctl/profiles/shop.toml",
        profile.replacing("account = \"\(Shop.ada)\"\n", with: ""))
      for arguments in [["logout"], ["get", "/me"], ["whoami"], ["token"], ["refresh"]] {
        let run = try await shop.box.run(arguments)
        #expect(run.stdout == "")
        #expect(
          run.stderr
            == "authctl: shop: several accounts are signed in: \(Shop.ada), \(Shop.grace)\n"
            + "hint: choose one with -u NAME\n", "\(arguments)")
        #expect(run.status == 10)
      }
      #expect(try await shop.box.items().count == 2)
      let one = try await shop.box.run("logout", "-u", Shop.grace)
      #expect(one.stderr == Self.out("at the server and on this machine", Shop.grace))
      #expect(one.status == 0)
      #expect(try await shop.box.items().map(\.attributes["account"]) == [Shop.ada])
      // The only remaining account needs no name.
      #expect(
        try await shop.box.run("logout").stderr == Self.out("at the server and on this machine"))
      #expect(try await shop.box.items().isEmpty)
    }
  }

  @Test func allIsEveryoneOfTheProfileOrOfAll() async throws {
    try await Shop.with { shop, api in
      func fill() async throws {
        try await shop.signIn()
        try await shop.signIn(Shop.grace, password: Shop.gracePassword)
        let run = try await shop.box.run(
          "login", "-p", "desk", "-u", "key", "--token-stdin", stdin: "a key of the desk\n")
        #expect(run.status == 0, "\(run.stderr)")
      }
      try shop.box.write(
        "config/authctl/profiles/desk.toml",
        "url = \"https://desk.example\"\npreset = \"api-key\"\n")
      try await fill()
      let some = try await shop.box.run("logout", "--all", "-p", "shop")
      #expect(some.stdout == "")
      #expect(
        some.stderr == Self.out("at the server and on this machine")
          + Self.out("at the server and on this machine", Shop.grace))
      #expect(some.status == 0)
      #expect(try await shop.box.items().map(\.attributes["profile"]) == ["desk"])
      #expect(try await api.count("POST /logout") == 2)

      try await fill()
      let monitor = try await BusMonitor(shop.box, calls: "Get", "GetSecrets", "GetSecret")
      let all = try await shop.box.run("logout", "--all")
      // The first call of every command is "Get". Who is signed in is read in one call, then each
      // session under its lock.
      try await monitor.settle()
      let calls = monitor.messages().map(\.member)
      #expect(calls.starts(with: ["Get", "GetSecrets"]), "\(calls)")
      #expect(calls.count { $0 == "Get" } == 1, "\(calls)")
      #expect(calls.count { $0 == "GetSecrets" } == 1, "\(calls)")
      #expect(
        Set(all.stderr.split(separator: "\n")) == [
          "Signed out of shop as \(Shop.ada), at the server and on this machine.",
          "Signed out of shop as \(Shop.grace), at the server and on this machine.",
          "Signed out of desk as key, on this machine only.",
        ])
      #expect(all.status == 0)
      #expect(try await shop.box.items().isEmpty)
      #expect(try await api.count("POST /logout") == 4)

      let none = try await shop.box.run("logout", "--all")
      #expect(none.stdout == "")
      #expect(none.stderr == "No sessions.\n")
      #expect(none.status == 0)
    }
  }

  /// A session without a profile can still be deleted.
  @Test func allForgetsSessionsWithoutAProfile() async throws {
    try await Shop.with { shop, api in
      unlink(shop.box.configHome + "/authctl/profiles/shop.toml")
      #expect(!shop.box.files().contains { $0.hasSuffix("shop.toml") })
      let before = try await shop.box.items()
      #expect(before.count == 1)
      #expect(try await shop.box.run("logout", "--all").status == 0)
      #expect(try await shop.box.items().isEmpty)
    }
  }

  /// Without a home folder, no profiles are known.
  @Test func nobodyIsSignedInWithoutProfiles() async throws {
    try await Sandbox.with(.none) { box in
      for (words, out, err) in [
        ([], "", "No profiles.\n"),
        (["-u", Shop.ada, "-q"], "", ""),
        (["--json"], "[]\n", "No profiles.\n"),
      ] {
        let run = try await box.run(["logout"] + words)
        #expect(run.stdout == out && run.stderr == err, "\(words)")
        #expect(run.status == 0)
      }
      let named = try await box.run("logout", "-p", "shop")
      #expect(
        named.stderr == "authctl: no profile called shop\nhint: authctl profile list\n")
      #expect(named.stdout == "" && named.status == 2)
    }
  }

  @Test func variableThatIsStillSetIsTold() async throws {
    try await Shop.with { shop, api in
      for name in ["AUTHCTL_TOKEN", "AUTHCTL_TOKEN_FOR_SHOP"] {
        for isSignedIn in [true, false] {
          if isSignedIn { try await shop.signIn() }
          let token = shop.box.canary.make("variable")
          let run = try await shop.box.run("logout", env: [name: token])
          #expect(run.stdout == "")
          #expect(run.stderr.contains("\(name) is still set"), "\(run.stderr)")
          #expect(run.status == 0)
          #expect(try await shop.box.items().isEmpty)
          // The stored token was revoked, not the one in the variable.
          let sent = try await api.requests().filter { $0["path"] == "/logout" }
          #expect(!sent.contains { $0["headers"]?["authorization"]?.string == "Bearer \(token)" })
        }
      }
    }
  }

  @Test func expiredSessionIsForgottenToo() async throws {
    try await Shop.with { shop, api in
      try await shop.age(ended: 7300)
      try await api.expire()
      let run = try await shop.box.run("logout")
      #expect(run.status == 0, "\(run.stderr)")
      #expect(try await shop.box.items().isEmpty)
    }
  }
}
