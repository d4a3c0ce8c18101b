import Glibc
import Testing

/// `authctl token`: design 2, 3 and 6.
@Suite struct TokenTests {
  @Test func forceRefreshRenewsOnceEachTime() async throws {
    try await Shop.with { shop, api in
      var old = try await shop.accessToken()
      for count in 1...2 {
        let run = try await shop.box.run("token", "--force-refresh")
        let new = try await shop.accessToken()
        #expect(new != old)
        #expect(run.stdout == new + "\n")
        #expect(run.stderr == "")
        #expect(run.status == 0)
        #expect(try await api.count("POST /refresh") == count)
        old = new
      }
      let plain = try await shop.box.run("token")
      #expect(plain.stdout == old + "\n")
      #expect(try await api.count("POST /refresh") == 2)
    }
  }

  @Test func forceRefreshThatFailsKeepsTheSession() async throws {
    try await Shop.with { shop, api in
      let before = try await shop.payload()
      try await api.misbehave(["path": "/refresh", "times": 1, "status": 500])
      let broken = try await shop.box.run("token", "--force-refresh")
      #expect(broken.status == 5)
      #expect(broken.stdout == "")
      #expect(broken.hasErrorForm, "\(broken.stderr)")
      #expect(try await shop.payload() == before)
      await api.stop()
      let down = try await shop.box.run("token", "--force-refresh")
      #expect(down.status == 7)
      #expect(down.stdout == "")
      #expect(try await shop.payload() == before)
      // Without --force-refresh, nothing is sent to the server.
      let token = try await shop.accessToken()
      let plain = try await shop.box.run("token", mayPrint: [token])
      #expect(plain.stdout == before["values"]?["access_token"]?.string.map { $0 + "\n" })
      #expect(plain.status == 0)
    }
  }

  @Test func sessionThatCannotBeRenewed() async throws {
    try await Shop.with(without: ["refresh"]) { shop, _ in
      for options in [["--force-refresh"], ["--min-ttl", "1h"]] {
        let run = try await shop.box.run(["token"] + options)
        #expect(run.status == 11, "\(options)")
        #expect(run.stdout == "")
        #expect(run.hasErrorForm && run.stderr.hasSuffix(Shop.loginHint), "\(run.stderr)")
      }
      let token = try await shop.accessToken()
      let enough = try await shop.box.run("token", "--min-ttl", "5m", mayPrint: [token])
      #expect(enough.stdout == (try await shop.accessToken()) + "\n")
      #expect(enough.status == 0)
    }
  }

  /// The token is renewed if less time is left; if the new one is too short-lived, token fails.
  @Test func minimumTimeToLive() async throws {
    try await Shop.with { shop, api in
      let first = try await shop.accessToken()
      var renewals = 0
      for (left, minimum, renews) in [
        (600.0, "5m", false), (200, "5m", true), (200, "200", true), (600, "1", false),
        (600, "60.5", false), (-5, "0", true), (25, "0", false),
      ] {
        try await shop.age(ended: -left)
        let run = try await shop.box.run("token", "--min-ttl", minimum, mayPrint: [first])
        #expect(run.stdout == (try await shop.accessToken()) + "\n", "\(left) \(minimum)")
        #expect(run.stderr == "")
        #expect(run.status == 0)
        if renews { renewals += 1 }
        #expect(try await api.count("POST /refresh") == renewals, "\(left) \(minimum)")
      }
      let long = try await shop.box.run("token", "--min-ttl", "1h")
      #expect(long.status == 11)
      #expect(long.stdout == "")
      #expect(long.hasErrorForm, "\(long.stderr)")
      for wrong in ["-1", "x", "", "1e3", "5 m"] {
        let run = try await shop.box.run("token", "--min-ttl", wrong)
        #expect(run.status == 2, "\(wrong)")
        #expect(run.stdout == "")
        #expect(run.hasErrorForm, "\(run.stderr)")
      }
    }
  }

  @Test func shapes() async throws {
    try await Shop.with { shop, api in
      let token = try await shop.accessToken()
      let end = try #require(try await shop.payload()["expires_at"]?.number)
      let json = try await shop.box.run("token", "--json", mayPrint: [token])
      #expect(
        try JSON(parsing: json.stdout)
          == [
            "access_token": .string(token),
            "expires_at": .string(Shop.date(end, "%Y-%m-%dT%H:%M:%SZ")),
            "header": ["name": "Authorization", "value": .string("Bearer " + token)],
          ])
      #expect(json.stderr == "")
      #expect(json.status == 0)
      let header = try await shop.box.run("token", "--header", mayPrint: [token])
      #expect(header.stdout == "Authorization: Bearer \(token)\n")
      #expect(header.stderr == "")
      #expect(header.status == 0)
      let forced = try await shop.box.run("token", "--json", "--force-refresh")
      let new = try await shop.accessToken()
      #expect(try JSON(parsing: forced.stdout)["access_token"]?.string == new && new != token)
      #expect(try await api.count("POST /refresh") == 1)
    }
  }
}
