import Glibc
import Testing

/// Renewal: design 6. With one process or thirty, the server receives one refresh.
@Suite struct RefreshTests {
  @Test func expiredTokenIsRenewedOnceAndTheNewOneUsed() async throws {
    try await Shop.with { shop, api in
      let old = try await (shop.accessToken(), shop.refreshToken(), shop.payload()["generation"])
      try await shop.age(ended: 7300)
      let run = try await shop.box.run("get", "/me")
      #expect(run.stdout == Shop.me)
      #expect(run.stderr == "")
      #expect(run.status == 0)
      #expect(
        try await api.counts() == ["POST /login": 1, "POST /refresh": 1, "GET /me": 1])
      let new = try await (shop.accessToken(), shop.refreshToken(), shop.payload()["generation"])
      #expect(new.0 != old.0)
      #expect(new.1 != old.1)
      #expect(new.2 == old.2)
      #expect(
        try await api.requests().last?["headers"]?["authorization"]?.string == "Bearer \(new.0)")
      #expect(try await shop.box.items().count == 1)
      #expect(try await shop.box.run("get", "/me").status == 0)
      #expect(try await api.count("POST /refresh") == 1)
    }
  }

  /// The response of `GET /me` is held back: the new pair must be stored by then.
  @Test func newPairIsStoredBeforeItIsUsed() async throws {
    try await Shop.with { shop, api in
      let old = try await shop.refreshToken()
      try await shop.age(ended: 10)
      try await api.misbehave(["path": "/me", "delay_ms": 60_000])
      let get = try shop.box.start(["get", "/me"])
      try await api.waitFor("GET /me")
      #expect(try await shop.refreshToken() != old)
      let sent = try await api.requests().last?["headers"]?["authorization"]?.string
      #expect(try await shop.accessToken() == sent?.dropFirst("Bearer ".count).description)
      get.signal(SIGKILL)
      #expect(try await get.finish().status == 137)
      #expect(try await shop.box.run("get", "/me").stdout == Shop.me)
      #expect(try await api.count("POST /refresh") == 1)
    }
  }

  @Test func answerWithoutRefreshTokenKeepsTheOldOne() async throws {
    try await Shop.with("--no-rotate") { shop, api in
      let old = try await (shop.accessToken(), shop.refreshToken())
      for renewals in 1...2 {
        try await shop.age(ended: 10)
        #expect(try await shop.box.run("get", "/me").stdout == Shop.me)
        #expect(try await api.count("POST /refresh") == renewals)
        #expect(try await shop.refreshToken() == old.1)
        #expect(try await shop.accessToken() != old.0)
      }
    }
  }

  @Test func refusedTokenIsRenewedOnceAndTheRequestRepeatedOnce() async throws {
    try await Shop.with { shop, api in
      try await api.expire()
      let run = try await shop.box.run("get", "/me")
      #expect(run.stdout == Shop.me)
      #expect(run.stderr == "")
      #expect(run.status == 0)
      #expect(try await api.counts() == ["POST /login": 1, "POST /refresh": 1, "GET /me": 2])
    }
  }

  @Test func serverThatRefusesForEverIsAskedTwice() async throws {
    try await Shop.with { shop, api in
      try await api.misbehave([
        "path": "/me", "times": 0, "status": 401, "body": #"{"message":"No."}"#,
      ])
      let run = try await shop.box.run("get", "/me")
      #expect(run.stdout == "")
      #expect(run.stderr.hasPrefix("authctl: shop: session of \(Shop.ada) "), "\(run.stderr)")
      #expect(run.stderr.hasSuffix("\nserver: No.\n" + Shop.loginHint), "\(run.stderr)")
      #expect(run.status == 11)
      #expect(try await api.counts() == ["POST /login": 1, "POST /refresh": 1, "GET /me": 2])
      #expect(try await shop.box.items().count == 1)
    }
  }

  /// A session that was renewed before the request is not renewed again after it.
  @Test func oneRefreshPerRun() async throws {
    try await Shop.with { shop, api in
      try await api.misbehave(["path": "/me", "times": 0, "status": 401])
      try await shop.age(ended: 10)
      #expect(try await shop.box.run("get", "/me").status == 11)
      #expect(try await api.counts() == ["POST /login": 1, "POST /refresh": 1, "GET /me": 1])
    }
  }

  /// A refused refresh token is sent once, whatever is called afterwards: a server may take another
  /// use for theft, and lock the account.
  @Test func refusedRenewalEndsTheSession() async throws {
    try await Shop.with { shop, api in
      let ended = "authctl: shop: session of \(Shop.ada) expired 2 h ago; "
      let commands = [["get", "/me"], ["token"], ["whoami"], ["refresh"], ["get", "/me"]]
      // Statuses with which a server refuses a refresh; 401 is DemoAPI's own, for a used token.
      for (status, words) in [
        (401, ": Refresh token was already used."), (400, ""), (403, ""), (422, ""),
      ] {
        if status == 401 {
          try await api.ask(
            "POST", "/refresh", ["refresh_token": .string(try await shop.refreshToken())])
        } else {
          try await shop.signIn()
          try await api.misbehave(["path": "/refresh", "status": .number(Double(status))])
        }
        try await shop.age(ended: 7300)
        let sent = try await api.count("POST /refresh")
        for (index, command) in commands.enumerated() {
          let run = try await shop.box.run(command)
          #expect(run.stdout == "")
          let cause =
            index == 0
            ? "the server refused to renew it\nserver: HTTP \(status)\(words)"
            : "it cannot be renewed"
          #expect(run.stderr == ended + cause + "\n" + Shop.loginHint, "\(status): \(command)")
          #expect(run.status == 11)
          #expect(try await api.count("POST /refresh") == sent + 1, "\(status): \(command)")
          #expect(try await shop.box.items().count == 1)
        }
        #expect(try await shop.payload()["values"]?["refresh_token"] == nil)
      }
      #expect(try await api.count("GET /me") == 0)
    }
  }

  /// After 5xx, 429 or no response, the refresh token may still be valid, so it is kept.
  @Test func failedRenewalKeepsTheSession() async throws {
    try await Shop.with(more: "[network]\nidle_timeout = 1") { shop, api in
      try await shop.age(ended: 7300)
      let before = try await shop.box.items()
      let cases: [(trick: JSON, status: Int32)] = [
        (["path": "/refresh", "times": 3, "status": 503, "body": #"{"message":"Later."}"#], 5),
        (["path": "/refresh", "status": 500, "content_type": "text/html", "body": "<p>x"], 5),
        (["path": "/refresh", "status": 429], 4), (["path": "/refresh", "status": 404], 4),
        (["path": "/refresh", "status": 302, "headers": [["Location", "/sign-in-form"]]], 15),
        (["path": "/refresh", "status": 200, "body": "{}"], 15),
        (["path": "/refresh", "status": 200, "body": "<html>", "content_type": "text/html"], 15),
        (["path": "/refresh", "status": 503, "delay_ms": 30_000], 9),
      ]
      for (trick, status) in cases {
        try await api.misbehave(trick)
        let run = try await shop.box.run("get", "/me")
        #expect(run.status == status, "\(trick.text): \(run.stderr)")
        #expect(run.stdout == "")
        #expect(run.hasErrorForm, "\(run.stderr)")
        #expect(try await shop.box.items() == before, "\(trick.text)")
      }
      #expect(try await api.count("GET /me") == 0)
      // 503 is retried twice.
      #expect(try await api.count("POST /refresh") == cases.count + 2)
      await api.stop()
      for arguments in [["get", "/me"], ["token"], ["refresh"]] {
        let run = try await shop.box.run(arguments)
        #expect(run.stdout == "")
        #expect(
          run.stderr.hasPrefix("authctl: cannot reach \(api.url): connection refused\n"),
          "\(run.stderr)")
        #expect(run.hasErrorForm)
        #expect(run.status == 7)
        #expect(try await shop.box.items() == before)
      }
    }
  }

  @Test func sessionThatCannotBeRenewedIsNotSent() async throws {
    try await Shop.with(without: ["refresh"]) { shop, api in
      for (ago, words) in [(7300.0, "2 h"), (47, "47 s"), (260_000, "3 days"), (900, "15 min")] {
        try await shop.age(ended: ago)
        let before = try await shop.box.items()
        let all = [["get", "/me"], ["token"], ["whoami"], ["refresh"]]
        for arguments in ago == 7300 ? all : Array(all.prefix(1)) {
          let run = try await shop.box.run(arguments)
          #expect(run.stdout == "")
          let unused = "; it has a refresh token, but refresh.path is not set\n"
          let set = "hint: " + UnusedRefreshTokenTests.command + "\n"
          let hint = arguments == ["refresh"] ? set : Shop.loginHint
          let expected =
            "authctl: shop: session of \(Shop.ada) expired \(words) ago" + unused + hint
          // The clock advances during the runs with 47 s.
          if ago == 47 {
            #expect(run.stderr.hasSuffix(" s ago" + unused + Shop.loginHint))
          } else {
            #expect(run.stderr == expected)
          }
          #expect(run.status == 11)
        }
        #expect(try await shop.box.items() == before)
      }
      #expect(try await api.counts() == ["POST /login": 1])
    }
  }

  @Test func refreshCommandRenewsNow() async throws {
    try await Shop.with { shop, api in
      let old = try await shop.refreshToken()
      let run = try await shop.box.run("refresh")
      #expect(run.stdout == "")
      #expect(
        run.stderr == "Renewed shop as \(Shop.ada). Valid for 15 min; renewed automatically.\n")
      #expect(run.status == 0)
      #expect(try await shop.refreshToken() != old)
      let json = try await shop.box.run("refresh", "--json", "-q")
      let end = try #require(try await shop.payload()["expires_at"]?.number)
      #expect(
        try JSON(parsing: json.stdout) == [
          "profile": "shop", "account": .string(Shop.ada), "origin": .string(api.url),
          "expires_at": .string(Shop.date(end, "%Y-%m-%dT%H:%M:%SZ")), "refreshable": true,
          "store": "secret-service",
        ])
      #expect(json.stderr == "")
      #expect(try await api.counts() == ["POST /login": 1, "POST /refresh": 2])

      let variable = try await shop.box.run("refresh", env: ["AUTHCTL_TOKEN": "of-the-environment"])
      #expect(variable.status == 2)
      let nobody = try await shop.box.run("refresh", "-u", "bob@example.com")
      #expect(
        nobody.stderr == "authctl: not signed in to shop (\(api.url))\n"
          + "hint: authctl login -p shop -u bob@example.com\n")
      #expect(nobody.status == 10)
      #expect(try await api.count("POST /refresh") == 2)

      try await api.misbehave(["path": "/refresh", "status": 401, "body": #"{"message":"No."}"#])
      let refused = try await shop.box.run("refresh")
      #expect(refused.stdout == "")
      #expect(refused.stderr.hasSuffix("\nserver: HTTP 401: No.\n" + Shop.loginHint))
      #expect(refused.status == 11)
    }
  }

  @Test(arguments: [true, false]) func manyProcessesSendOneRefresh(
    _ isKnownToHaveEnded: Bool
  ) async throws {
    try await Shop.with { shop, api in
      if isKnownToHaveEnded { try await shop.age(ended: 10) } else { try await api.expire() }
      let runs = try (0..<(isKnownToHaveEnded ? 30 : 12)).map { _ in
        try shop.box.start(["get", "/me"])
      }
      for run in runs {
        let end = try await run.finish()
        #expect(end.stdout == Shop.me)
        #expect(end.stderr == "")
        #expect(end.status == 0)
      }
      #expect(try await api.count("POST /refresh") == 1)
      #expect(try await shop.box.items().count == 1)
      #expect(try await shop.box.run("refresh").status == 0)
    }
  }
}
