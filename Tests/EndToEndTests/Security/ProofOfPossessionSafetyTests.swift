import Testing

/// Rule B19: tokens that are bound to a key, hostile servers, and who does not get the key.
@Suite struct ProofOfPossessionSafetyTests {
  /// Two requests, and an error that says what is wrong.
  @Test func endlessNoncesOfTheAPI() async throws {
    try await OAuthShop.with(oauth: OAuthShop.bound) { shop in
      try await shop.signIn()
      try await shop.set(["dpop_nonce_api": "always"])
      let run = try await shop.run("get", "/me", "--retry", "3")
      #expect(run.status == 4 && run.stdout == "")
      #expect(
        shop.shown(run) == """
          authctl: HTTP 401: API requires another nonce for each proof of possession (use_dpop_nonce)
          hint: the server is at fault; try again later

          """)
      #expect(try await shop.proofs("/oauth-api/me").count == 2)
      let lines = (1...5).map { "{\"id\":\($0),\"url\":\"/echo\"}\n" }.joined()
      let batch = try await shop.run(["batch", "--parallel", "2"], stdin: lines)
      #expect(batch.status == 4)
      #expect(batch.stdout.split(separator: "\n").count == 5)
      #expect(try await shop.proofs("/oauth-api/echo").count == 10)
      let whoami = try await shop.run("whoami")
      #expect(whoami.status == 4 && whoami.stderr == run.stderr, "\(whoami.stderr)")
      #expect(try await shop.proofs("/userinfo").count == 2)
      // No refresh token was used up.
      #expect(try await shop.forms("/token").count == 1)
      try await shop.set(["dpop_nonce_api": nil])
      #expect(try await shop.run("get", "/me").status == 0)
      try await shop.watchSent()
    }
  }

  @Test func endlessNoncesOfTheTokenEndpoint() async throws {
    try await OAuthShop.with(oauth: OAuthShop.bound) { shop in
      try await shop.signIn()
      try await shop.set(["dpop_nonce_token": "always"])
      let login = try await shop.run("login")
      #expect(login.status == 4 && login.stdout == "")
      #expect(
        shop.shown(login) == OAuthShop.opening + """
          authctl: shop: use_dpop_nonce: POST API/token
          server: Use this nonce.
          hint: the server is at fault; try again later

          """)
      #expect(try await shop.proofs("/token").count == 3)
      let refresh = try await shop.run("refresh")
      #expect(refresh.status == 4 && refresh.stdout == "", "\(refresh.stderr)")
      #expect(try await shop.proofs("/token").count == 5)
      // The refresh token is kept.
      try await shop.set(["dpop_nonce_token": nil])
      #expect(try await shop.run("refresh").status == 0)
    }
  }

  /// Hostile nonces: too long, with bytes that none has, or two of them.
  @Test func nonceThatIsNone() async throws {
    try await OAuthShop.with(oauth: OAuthShop.bound) { shop in
      try await shop.signIn()
      let challenge: JSON = ["WWW-Authenticate", "DPoP error=\"use_dpop_nonce\""]
      for headers in [
        [challenge], [challenge, ["DPoP-Nonce", .string(String(repeating: "n", count: 4000))]],
        [challenge, ["DPoP-Nonce", "a\"b"]],
        [challenge, ["DPoP-Nonce", "a"], ["DPoP-Nonce", "b"]],
      ] as [[JSON]] {
        let before = try await shop.proofs("/oauth-api/me").count
        try await shop.api.misbehave([
          "path": "/oauth-api/me", "status": 401, "times": 5, "headers": .array(headers),
        ])
        let run = try await shop.run("get", "/me")
        #expect(run.status == 4 && run.hasErrorForm, "\(run.stderr)")
        #expect(try await shop.proofs("/oauth-api/me").count == before + 1)
        try await shop.api.reset()
      }
    }
  }

  /// Who asked for bound tokens gets no other without a word; what was not asked for is not used.
  @Test func downgrade() async throws {
    try await OAuthShop.with(oauth: OAuthShop.bound) { shop in
      try await shop.signIn()
      try await shop.set(["token": ["token_type": "Bearer"]])
      for words in [["login"], ["refresh"]] {
        let run = try await shop.run(words)
        #expect(run.status == 15 && run.stdout == "", "\(run.stderr)")
        #expect(
          run.stderr.contains(
            "authctl: shop: the server gave a Bearer token, which is not bound to the key of this "
              + "sign-in"), "\(run.stderr)")
        #expect(
          run.stderr.contains(
            "hint: to accept such tokens: authctl profile set shop oauth.dpop=false\n"))
      }
      // The hint works.
      #expect(try await shop.run("profile", "set", "shop", "oauth.dpop=false").status == 0)
      try await shop.set(["token": [:]])
      try await shop.signIn()
      #expect(try await shop.headers("dpop", of: "/token").last == .some(nil))
      #expect(try await shop.run("get", "/me").status == 0)
      try await shop.set(["token": ["token_type": "dpop"]])
      let unasked = try await shop.run("login")
      #expect(unasked.status == 15)
      #expect(
        unasked.stderr.contains("authctl: shop: a token of the type dpop is not supported"),
        "\(unasked.stderr)")
      #expect(
        unasked.stderr.contains(
          "hint: to use such tokens: authctl profile set shop oauth.dpop=true\n"))
      try await shop.watchSent()
    }
  }

  @Test(arguments: ["dpop", nil] as [String?])
  func typeInAnyCaseOrNone(_ type: String?) async throws {
    try await OAuthShop.with(oauth: OAuthShop.bound) { shop in
      try await shop.set(["token": ["token_type": type.map { .string($0) } ?? .null]])
      try await shop.signIn()
      #expect(try await shop.run("get", "/me").status == 0)
      #expect(try await shop.run("refresh").status == 0)
    }
  }

  /// A proof that is refused says so, and the refresh token is kept: the clock may be wrong.
  @Test func refusedProof() async throws {
    try await OAuthShop.with(oauth: OAuthShop.bound) { shop in
      try await shop.signIn()
      try await shop.set(["token_error": "invalid_dpop_proof"])
      for words in [["login"], ["refresh"]] {
        let run = try await shop.run(words)
        #expect(run.status == 4 && run.stdout == "")
        #expect(
          run.stderr.contains(
            "authctl: shop: invalid_dpop_proof: POST \(shop.api.url)/token\n"), "\(run.stderr)")
        #expect(run.stderr.contains("hint: compare the clocks here and on the server\n"))
      }
      try await shop.set(["token_error": nil])
      #expect(try await shop.run("refresh").status == 0)
    }
  }

  /// An API that refuses the proof, not the token: nothing is renewed, as the clock may be wrong.
  @Test func proofThatTheAPIRefuses() async throws {
    try await OAuthShop.with(oauth: OAuthShop.bound) { shop in
      try await shop.signIn()
      try await shop.set(["api_error": "invalid_dpop_proof"])
      let run = try await shop.run("get", "/me")
      #expect(run.status == 4 && run.stdout == "")
      #expect(
        shop.shown(run) == """
          authctl: HTTP 401: API refused the proof of possession (invalid_dpop_proof)
          hint: compare the clocks here and on the server

          """)
      let batch = try await shop.run("batch", stdin: "{\"url\":\"/me\"}\n")
      #expect(batch.status == 4, "\(batch.stderr)")
      #expect(try await shop.proofs("/oauth-api/me").count == 2)
      #expect(try await shop.forms("/token").count == 1)
      try await shop.set(["api_error": nil])
      #expect(try await shop.run("get", "/me").status == 0)
    }
  }

  /// No other program can use the token, so none gets it; nothing is sent.
  @Test func isNotHandedOut() async throws {
    try await OAuthShop.with(oauth: OAuthShop.bound) { shop in
      try await shop.signIn()
      try await shop.api.expire()
      let sent = try await shop.api.requests().count
      let hint = """
        authctl: shop: the token is bound to a key that only authctl has (DPoP), so no other program \
        can use it
        hint: to send a request, run: authctl get -p shop /PATH

        """
      for words in [
        ["token"], ["token", "--header"], ["token", "--force-refresh"],
        ["helper", "headers", "-p", "shop"], ["helper", "curl-config", "-p", "shop"],
        ["helper", "netrc", "-p", "shop"], ["get", "/me", "--as-curl"],
        ["post", "/me", "-d", "x", "--as-curl"],
      ] {
        let run = try await shop.run(words)
        #expect(run.status == 2 && run.stdout == "", "\(words) \(run)")
        #expect(run.stderr == hint, "\(words)")
      }
      let json = try await shop.run("token", "--json")
      #expect(json.status == 2 && json.stdout == "")
      #expect(try JSON(parsing: json.stderr)["error"]?["code"] == "usage")
      let host = String(shop.api.url.dropFirst("http://".utf8.count))
      let git = try await shop.run(
        "helper", "git", "get", stdin: "protocol=http\nhost=\(host)\n\n")
      #expect(git.status == 2 && git.stdout == "" && git.stderr == hint, "\(git)")
      // The status of exec says that the program did not run.
      for words in [["exec"], ["exec", "--file"], ["exec", "--env", "X={access_token}"]] {
        let run = try await shop.run(words + ["--", "/bin/echo", "ran"])
        #expect(run.status == 125 && run.stdout == "" && run.stderr == hint, "\(words) \(run)")
      }
      #expect(try await shop.api.requests().count == sent)
      // An ID token is bound to no key.
      let id = try await shop.run("token", "--id-token")
      #expect(id.status == 0 && id.stderr == "" && id.stdout.hasPrefix("ey"))
      // A token of the environment is none of the session.
      let own = shop.box.canary.make("own")
      let exec = try await shop.run(
        "exec", "--", "/bin/echo", "ran", env: ["AUTHCTL_TOKEN_FOR_SHOP": own])
      #expect(exec.status == 0 && exec.stdout == "ran\n", "\(exec.stderr)")
      try await shop.watchSent()
    }
  }

  /// Another origin gets neither token nor proof; each hop within has a proof of its own.
  @Test func redirects() async throws {
    try await OAuthShop.with(oauth: OAuthShop.bound) { shop in
      try await shop.signIn()
      let other = try shop.box.recorder()
      for status in ["302", "307"] {
        let away = shop.api.url + "/redirect?status=\(status)&to=\(other.url)/x"
        let run = try await shop.run("get", away)
        #expect(run.status == 0 && run.stdout == "{}", "\(run.stderr)")
      }
      #expect(other.texts.count == 2)
      for text in other.texts {
        #expect(!text.lowercased().contains("\r\ndpop:"))
        #expect(!text.lowercased().contains("\r\nauthorization:"))
      }
      try await shop.set(["dpop_nonce_api": "once"])
      let target = shop.api.url + "/oauth-api/echo"
      let home = try await shop.run(
        "post", shop.api.url + "/redirect?status=307&to=\(target)", "-L", "-d", "body",
        "--pointer", "/body")
      #expect(home.status == 0 && home.stdout == "body\n", "\(home)")
      let hops = try await shop.proofs().suffix(3)
      #expect(
        hops.map { $0.claims["htu"]?.string } == [shop.api.url + "/redirect", target, target])
      #expect(Set(hops.compactMap { $0.claims["jti"]?.string }).count == 3)
      // There and back: no token and no proof any more (rule A6).
      let back = try shop.box.recorder(answering: { _, _ in .redirect(302, to: target) })
      let lost = try await shop.run("get", shop.api.url + "/redirect?to=\(back.url)/y")
      #expect(lost.status == 4)
      #expect(try await shop.headers("dpop", of: "/oauth-api/echo").last == .some(nil))
      try await shop.watchSent()
    }
  }

  @Test func bodyThatCannotBeSentAgain() async throws {
    try await OAuthShop.with(oauth: OAuthShop.bound) { shop in
      try await shop.signIn()
      try await shop.set(["dpop_nonce_api": "fixed"])
      let run = try await shop.run(
        ["post", "/echo", "-T", "-", "-H", "Expect:"],
        stdin: String(repeating: "long text ", count: 300_000), env: ["XDG_RUNTIME_DIR": nil])
      #expect(run.status == 4 && run.stdout == "")
      #expect(
        shop.shown(run) == """
          authctl: HTTP 401: API requires a nonce in the proof of possession, but the body came from a \
          pipe and cannot be sent again
          hint: send the body from a file

          """)
      #expect(try await shop.proofs("/oauth-api/echo").count == 1)
      #expect(try await shop.forms("/token").count == 1)
    }
  }

  /// Rule B2.
  @Test func ownHeader() async throws {
    try await OAuthShop.with(oauth: OAuthShop.bound) { shop in
      try await shop.signIn()
      for header in ["DPoP: x", "dpop:", "DPOP;"] {
        let run = try await shop.run("get", "/me", "-H", header)
        #expect(run.status == 2 && run.stdout == "")
        #expect(
          run.stderr == """
            authctl: -H DPoP: the session sends its own proof of possession in that header
            hint: --anonymous sends your own instead

            """)
      }
      #expect(try await shop.headers("dpop", of: "/oauth-api/me").isEmpty)
      let own = try await shop.run("get", "/me", "--anonymous", "-H", "DPoP: mine")
      #expect(own.status == 4)
      #expect(try await shop.headers("dpop", of: "/oauth-api/me") == ["mine"])
    }
  }

  /// The private key is in the store and nowhere else.
  @Test func keyIsNowhere() async throws {
    try await OAuthShop.with(oauth: OAuthShop.bound) { shop in
      let trace = shop.box.home + "/trace"
      let words = [
        ["login", "-vv"], ["get", "/me", "-vv"], ["post", "/me", "-d", "x", "--trace", trace],
        ["refresh", "-vv"], ["whoami", "-vv", "--json"], ["status", "-v", "--json"],
        ["get", "/me", "--dry-run", "-v"], ["token"], ["exec", "--", "/bin/echo"],
        ["doctor", "-v"],
        ["get", "/me", "-i", "-w", "%{json}"], ["profile", "show", "shop", "--all"],
      ]
      for words in words { _ = try await shop.run(words) }
      let key = try await shop.privateKey()
      #expect(key.utf8.count > 150)
      shop.box.canary.watch(key)
      let seen = try await shop.run("get", "/me", "-vv")
      #expect(seen.stderr.contains("> DPoP: ***") || seen.stderr.contains("> dpop: ***"))
      for request in try await shop.api.requests() {
        #expect(!request.text.contains(key.prefix(100)))
      }
      try await shop.watchSent()
    }
  }

  /// A server that sends back all that it was sent.
  @Test func serverThatRepeatsTheRequest() async throws {
    try await OAuthShop.with(oauth: OAuthShop.bound) { shop in
      try await shop.signIn()
      shop.box.canary.watch(try await shop.privateKey())
      try await shop.set(["error_echo": true, "dpop_nonce_token": "always"])
      for words in [["refresh"], ["login"]] {
        #expect(try await shop.run(words + ["-v"]).status == 4)
      }
      try await shop.watchSent()
    }
  }
}
