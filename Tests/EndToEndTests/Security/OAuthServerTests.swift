import Testing

/// A malicious or changed authorization server: rules A15, A2 and B3.
@Suite struct OAuthServerTests {
  /// Metadata that is not the issuer's, too large, elsewhere, or no metadata at all.
  @Test(
    arguments: [
      (["metadata": ["issuer": "{value}/"]], 15),
      (["metadata": ["issuer": "https://evil.example"]], 15),
      (["metadata": ["issuer": "{origin}/{tenantid}"]], 15),
      (["openid_answer": "huge"], 15), (["openid_answer": "error"], 5),
      (["openid_answer": "redirect", "oauth_answer": "redirect"], 15),
      (["openid_answer": "html", "oauth_answer": "html"], 15),
      (["openid_answer": "not_found", "oauth_answer": "not_found"], 15),
      (["metadata": ["token_endpoint": "http://127.0.0.1.evil.example/token"]], 15),
      (["metadata": ["token_endpoint": "http://169.254.169.254/"]], 15),
      (["metadata": ["jwks_uri": "http://169.254.169.254/"]], 15),
      (["metadata": ["revocation_endpoint": "file:///etc/passwd"]], 15),
    ] as [(JSON, Int32)])
  func metadata(switches: JSON, status: Int32) async throws {
    try await OAuthShop.with { shop in
      try await shop.set(switches)
      let run = try await shop.run("login")
      #expect(run.status == status && run.stdout == "" && run.hasErrorForm, "\(run.stderr)")
      #expect(shop.visited == nil)
      #expect(try await shop.forms("/token").isEmpty)
      let moved = try await shop.api.requests().filter {
        $0["path"]?.string?.hasPrefix("/moved") == true
      }
      #expect(moved.isEmpty, "metadata is not redirected")
    }
  }

  /// The second place is asked when the first has none (RFC 8414, section 3.1); a tenant's path
  /// stands at the end of the one and at the beginning of the other.
  @Test(arguments: ["not_found", "html", "redirect"])
  func secondPlace(answer: String) async throws {
    try await OAuthShop.with { shop in
      try shop.profile(
        "issuer = \"\(shop.api.url)/tenant\"\nclient_id = \"demo-public\"\nscope = \"openid read\"")
      try await shop.signIn()
      try await shop.set(["openid_answer": .string(answer)])
      let run = try await shop.run("login")
      #expect(run.status == 0, "\(run.stderr)")
      #expect(
        try await shop.api.count("GET /.well-known/oauth-authorization-server/tenant") == 1)
    }
  }

  /// What OpenID Connect does not know may stand only in the metadata of OAuth (RFC 8414), of the
  /// same issuer.
  @Test(arguments: [true, false])
  func endpointsOfTheSecondPlace(isSameIssuer: Bool) async throws {
    try await OAuthShop.with { shop in
      try await shop.set([
        "auto_approve": .string(OAuthShop.ada),
        "openid_metadata": ["revocation_endpoint": nil, "introspection_endpoint": nil],
        "oauth_metadata": ["issuer": .string(isSameIssuer ? shop.api.url : "http://127.0.0.1:9")],
      ])
      try await shop.signIn()
      #expect(try await shop.api.count("GET /.well-known/oauth-authorization-server") == 1)
      #expect(try await shop.run("token", "--introspect").status == (isSameIssuer ? 0 : 2))
      #expect(try await shop.run("logout").status == 0)
      #expect(try await shop.forms("/revoke").count == (isSameIssuer ? 2 : 0))
    }
  }

  @Test func issuerWithASlash() async throws {
    try await OAuthShop.with { shop in
      try shop.profile(
        "issuer = \"\(shop.api.url)/\"\nclient_id = \"demo-public\"\nscope = \"openid read\"")
      let run = try await shop.run("login")
      #expect(run.status == 15 && run.hasErrorForm, "\(run.stderr)")
      #expect(run.stderr.contains("hint: "), "\(run.stderr)")
      #expect(try await shop.api.count("GET //.well-known/openid-configuration") == 0)
      try await shop.set(["issuer": "{origin}/"])
      try await shop.signIn()
    }
  }

  @Test(
    arguments: [
      (["aud": "other"], "the ID token is for another client"),
      (
        ["aud": ["demo-public", "other"], "azp": nil], "the ID token was issued to another client"
      ),
      (["azp": "other"], "the ID token was issued to another client"),
      (["iss": "https://evil.example"], "the ID token is from another issuer"),
      (["nonce": "x"], "the ID token is for another sign-in (nonce)"),
      (["exp": 1], "the ID token has expired; check the clocks"),
      (["exp": nil], "the ID token has no exp"), (["sub": nil], "the ID token has no sub"),
      (["at_hash": "x"], "the ID token is for another access token (at_hash)"),
    ] as [(JSON, String)])
  func idToken(claims: JSON, says: String) async throws {
    try await OAuthShop.with { shop in
      try await shop.set(["id_token": claims])
      try await expectRefused(shop, says)
    }
  }

  private func expectRefused(_ shop: OAuthShop, _ says: String) async throws {
    let run = try await shop.run("login")
    #expect(run.status == 15 && run.stdout == "")
    #expect(run.stderr.contains("\nauthctl: shop: \(says) (HTTP 200, json: "), "\(run.stderr)")
    #expect(try await shop.run("get", "/me").status == 10)
    try await shop.watchSent()
  }

  @Test func idTokenThatIsNone() async throws {
    try await OAuthShop.with { shop in
      try await shop.set(["id_token_alg": "none"])
      try await expectRefused(shop, "the ID token is not signed")
      try await shop.set(["id_token_alg": "RS256", "token": ["id_token": "no-jwt"]])
      try await expectRefused(shop, "the ID token is not a JWT")
      try shop.profile(
        "client_id = \"demo-public\"\nid_token = \"required\"\nscope = \"openid read\"")
      try await shop.set(["token": ["id_token": nil]])
      try await expectRefused(shop, "no ID token in the answer")
      try await shop.set(["token": [:], "id_token": ["nonce": nil]])
      try await expectRefused(shop, "the ID token has no nonce")
    }
  }

  /// A renewal does not make the session another person's.
  @Test func anotherPersonAtARenewal() async throws {
    try await OAuthShop.with { shop in
      try await shop.signIn()
      try await shop.set(["refresh_id_token": ["sub": "2"]])
      let run = try await shop.run("refresh")
      #expect(run.status == 15 && run.stdout == "" && run.hasErrorForm, "\(run.stderr)")
      let message = "authctl: shop: the renewed session belongs to another user (HTTP 200, "
      #expect(run.stderr.hasPrefix(message), "\(run.stderr)")
      #expect(
        run.stderr.hasSuffix(
          """
          ; the refresh token is used up, so sign in again
          hint: authctl login -p shop -u ada@example.com

          """), "\(run.stderr)")
      // The server has replaced the refresh token: to send it again would look like a theft.
      let count = try await shop.forms("/token").count
      #expect(try await shop.run("refresh").status == 11)
      #expect(try await shop.forms("/token").count == count)
      #expect(try await shop.run("get", "/me").status == 0)
      try await shop.watchSent()
    }
  }

  /// The profile names other endpoints since the sign-in: nothing is sent there, and logout
  /// forgets.
  @Test(arguments: ["issuer", "token_endpoint", "revocation_endpoint", "userinfo_endpoint"])
  func changedProfile(key: String) async throws {
    try await OAuthShop.with { shop in
      try await shop.signIn()
      let evil = try shop.box.recorder(at: "127.0.0.2")
      let issuer = key == "issuer" ? "" : "issuer = \"\(shop.api.url)\"\n"
      try shop.profile(
        "\(issuer)\(key) = \"\(evil.url)/x\"\nclient_id = \"demo-public\"\nscope = \"openid read\"")
      let count = try await shop.api.requests().count
      for words in [["refresh"], ["get", "/me"], ["whoami"], ["token", "--introspect"]] {
        let run = try await shop.run(words)
        #expect(run.status == 13 && run.stdout == "", "\(words): \(run.stderr)")
        #expect(
          run.stderr.hasSuffix("hint: authctl login -p shop -u ada@example.com\n")
            || run.stderr.hasSuffix("hint: authctl login -p shop\n"), "\(run.stderr)")
      }
      let logout = try await shop.run("logout")
      #expect(logout.status == 0, "\(logout.stderr)")
      #expect(try await shop.run("status", "--check").status == 10)
      #expect(evil.connections.isEmpty)
      #expect(try await shop.api.requests().count == count)
    }
  }

  /// Metadata that changes after the sign-in changes nothing: the session has its endpoints.
  @Test func changedMetadata() async throws {
    try await OAuthShop.with { shop in
      try await shop.signIn()
      let evil = try shop.box.recorder(at: "127.0.0.2")
      try await shop.set([
        "metadata": [
          "token_endpoint": .string(evil.url), "revocation_endpoint": .string(evil.url),
          "userinfo_endpoint": .string(evil.url), "introspection_endpoint": .string(evil.url),
        ]
      ])
      for words in [["refresh"], ["whoami"], ["token", "--introspect"], ["logout"]] {
        #expect(try await shop.run(words).status == 0, "\(words)")
      }
      #expect(evil.connections.isEmpty)
    }
  }

  /// The server repeats the request in its message: every secret of it is masked.
  @Test(arguments: [
    ["--grant", "authorization-code"], ["--grant", "authorization-code", "-vv"],
    ["--grant", "device-code", "-v"],
    ["--grant", "password", "-u", OAuthShop.ada, "--password-stdin", "-v"],
  ])
  func serverThatRepeatsTheRequest(words: [String]) async throws {
    try await OAuthShop.with(
      oauth: "client_id = \"demo-confidential\"\nscope = \"openid read\"",
      settings: [
        "auto_approve": .string(OAuthShop.ada), "error_echo": true,
        "device": ["interval": 1],
        "token_error": [
          "authorization_code": "invalid_grant", "password": "invalid_grant",
          "urn:ietf:params:oauth:grant-type:device_code": "invalid_grant",
        ],
      ]
    ) { shop in
      for method in ["client_secret_basic", "client_secret_post"] {
        try shop.profile(
          "client_id = \"demo-confidential\"\nscope = \"openid read\"\nclient_auth = \"\(method)\"")
        let run = try await shop.run(
          ["login"] + words, stdin: "a password that is sent\n",
          env: ["AUTHCTL_CLIENT_SECRET": OAuthShop.secret])
        #expect(run.status == 14 && run.stdout == "", "\(run.stderr)")
        #expect(run.stderr.contains("grant_type="), "\(run.stderr)")
        #expect(run.stderr.contains("=***"), "\(run.stderr)")
      }
      try await shop.watchSent()
      shop.box.canary.watch(OAuthShop.secret)
    }
  }

  @Test func traceOfASignIn() async throws {
    try await OAuthShop.with { shop in
      let trace = shop.box.home + "/trace"
      for words in [
        ["login", "-vv"], ["refresh", "-vv"], ["whoami", "-v"],
        ["get", "/me", "-v", "--trace", trace], ["token", "--introspect", "-v"], ["logout", "-vv"],
      ] {
        let run = try await shop.run(words)
        #expect(run.status == 0, "\(words): \(run.stderr)")
      }
      #expect(shop.box.read("home/trace") != nil)
      try await shop.watchSent()
    }
  }
}
