import Glibc
import Testing

/// Options for scripts: `status --check`, `login --if-needed`, `login --revoke-old`.
@Suite struct SessionOptionTests {
  // MARK: status --check

  /// Only the exit code, for one account or all.
  @Test(arguments: [false, true]) func statusCheck(_ canRenew: Bool) async throws {
    try await Shop.with(without: canRenew ? [] : ["refresh"], signsIn: false) { shop, api in
      let box = shop.box
      func check(_ words: String..., expecting status: Int32) async throws {
        let run = try await box.run(["status", "--check"] + words)
        #expect(run.stdout == "" && run.stderr == "" && run.status == status, "\(words) \(run)")
      }
      try await check("--min-ttl", "300", expecting: 10)
      try await shop.signIn()
      let short: Int32 = canRenew ? 0 : 11
      for (ttl, status) in [("300", 0), ("14m", 0), ("16m", short), ("1h", short)] {
        try await check("--min-ttl", ttl, expecting: status)
      }
      try await shop.age(ended: 10)
      try await check(expecting: short)
      try await check("--min-ttl", "300", expecting: short)

      // Several accounts: the highest exit code.
      try await shop.signIn(Shop.grace, password: Shop.gracePassword)
      try await check("--min-ttl", "300", expecting: short)
      try await check("--min-ttl", "300", "-u", Shop.grace, expecting: 0)
      try await check("--min-ttl", "300", "-u", "nobody@example.com", expecting: 10)

      try await box.lockKeyring()
      try await check("--min-ttl", "300", expecting: 12)
      try await box.killKeyring()
      try await check("--min-ttl", "300", expecting: 12)
      #expect(try await api.counts() == ["POST /login": 2])
    }
  }

  // MARK: login --if-needed

  @Test func ifNeededAsksNobodyWhileTheSessionServes() async throws {
    try await FileShop.with { files in
      let words = ["login", "-p", "shop", "-u", Shop.ada, "--if-needed", "--min-ttl"]
      func login(_ ttl: String, password: String? = nil) async throws -> Run {
        try await files.box.run(
          words + [ttl], env: files.env.merging(["AUTHCTL_PASSWORD": password]) { $1 })
      }
      let none = try await login("10m")
      #expect(
        none.stderr.hasPrefix("authctl: a password is required, but authctl cannot ask here\n"))
      #expect(none.stdout == "" && none.status == 10)
      let first = try await login("10m", password: Shop.password)
      #expect(first.status == 0)
      #expect(first.stderr.contains("Signed in to shop as ada@example.com."))
      try await files.api.reset()
      // The session is valid for that long, or can be renewed.
      for ttl in ["10m", "1h"] {
        let run = try await login(ttl, password: ttl == "1h" ? "a wrong password" : nil)
        #expect(run.stdout == "" && run.stderr == "" && run.status == 0)
      }
      let json = try await files.box.run(words + ["10m", "--json"], env: files.env)
      #expect(try JSON(parsing: json.stdout)["account"] == .string(Shop.ada))
      #expect(json.stderr == "" && json.status == 0)
      #expect(try await files.api.counts() == [:])
    }
  }

  @Test func ifNeededSignsInWhereNothingRenews() async throws {
    try await Shop.with(without: ["refresh"]) { shop, api in
      try await api.reset()
      for (ttl, logins) in [("10m", 0), ("1h", 1), ("10m", 1)] {
        let run = try await shop.login("--if-needed", "--min-ttl", ttl)
        #expect(run.stdout == "" && run.status == 0, "\(run.stderr)")
        #expect(run.stderr.isEmpty == (ttl == "10m"))
        #expect(try await api.count("POST /login") == logins)
      }
      try await shop.age(ended: 10)
      #expect(try await shop.login("--if-needed").status == 0)
      #expect(try await api.count("POST /login") == 2)
      #expect(try await shop.box.run("get", "/me").stdout == Shop.me)
    }
  }

  // MARK: login --revoke-old

  @Test func revokeOldEndsTheSessionThatIsReplaced() async throws {
    try await FileShop.with { files in
      try await files.signIn()
      let old = try await files.run("token").stdout.dropLast()
      #expect(try await files.login().status == 0)
      #expect(try await files.api.count("POST /logout") == 0)
      let replaced = try await files.run("token").stdout.dropLast()
      let login = try await files.login("--revoke-old")
      #expect(login.status == 0 && !login.stderr.contains("warning"))
      let ended = try await files.api.requests().filter { $0["path"] == "/logout" }
        .map { request -> String? in
          guard case .object(let headers)? = request["headers"] else { return nil }
          return headers.first { $0.key.lowercased() == "authorization" }?.value.string
        }
      #expect(ended == ["Bearer \(replaced)"])
      #expect(old != replaced)
      #expect(try await files.run("get", "/me").stdout == Shop.me)

      // The old session could not be revoked: the new one is kept.
      try await files.api.misbehave(["path": "/logout", "times": 1, "status": 500])
      let warned = try await files.login("--revoke-old")
      #expect(warned.status == 0)
      #expect(
        warned.stderr.contains("authctl: warning: cannot end the earlier session: shop: "),
        "\(warned.stderr)")
      #expect(try await files.run("get", "/me").stdout == Shop.me)
    }
  }

  /// A server that returns the same token has not replaced a session.
  @Test func revokeOldLeavesTheSameToken() async throws {
    try await Sandbox.with { box in
      let script = Script()
      script["POST /login"] = Script.tokens()
      let api = try box.recorder(answering: script.answering)
      let shop = try Shop(box, api.url)
      try await shop.signIn()
      let login = try await shop.login("--revoke-old")
      #expect(login.status == 0 && !login.stderr.contains("warning"), "\(login.stderr)")
      #expect(!api.texts.contains { $0.hasPrefix("POST /logout") })
    }
  }
}
