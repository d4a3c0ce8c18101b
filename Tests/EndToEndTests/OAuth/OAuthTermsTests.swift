import Testing

/// What a sign-in has fixed stays so for the requests after it, and what it asked for is checked.
@Suite struct OAuthTermsTests {
  /// RFC 8707, section 2.2: a renewal asks for the APIs of the sign-in, not for those of the profile.
  @Test(arguments: ["authorization-code", "client-credentials"])
  func resourceOfTheSignIn(grant: String) async throws {
    try await OAuthShop.with { shop in
      let isClient = grant == "client-credentials"
      try shop.profile(
        """
        client_id = "\(isClient ? "demo-confidential" : "demo-public")"
        resource = ["https://profile.example"]
        """)
      try await shop.signIn(
        "--grant", grant, "--resource", "\(shop.api.url)/oauth-api", "--resource",
        "\(shop.api.url)/other", env: isClient ? ["AUTHCTL_CLIENT_SECRET": OAuthShop.secret] : [:])
      #expect(try await shop.run("refresh").status == 0)
      let forms = try await shop.forms("/token")
      let place = OAuthByHand.escaped(shop.api.url)
      #expect(forms.count == 2)
      #expect(
        forms.allSatisfy { $0["resource"] == "\(place)%2Foauth-api,\(place)%2Fother" }, "\(forms)")
    }
  }

  /// A client's own credential may be accepted the next time.
  @Test func refusedOnce() async throws {
    try await OAuthShop.with { shop in
      try shop.profile("client_id = \"demo-confidential\"\ngrant = \"client-credentials\"")
      try await shop.signIn(env: ["AUTHCTL_CLIENT_SECRET": OAuthShop.secret])
      try await shop.set(["token_error": "access_denied"])
      #expect(try await shop.run("refresh").status == 11)
      try await shop.set(["token_error": nil])
      #expect(try await shop.run("refresh").status == 0)
      try await shop.watchSent()
    }
  }

  /// RFC 6749, section 4.4.3: it has no use for a refresh token.
  @Test func refreshTokenOfAClient() async throws {
    try await OAuthShop.with { shop in
      try shop.profile("client_id = \"demo-confidential\"\ngrant = \"client-credentials\"")
      try await shop.set(["token": ["refresh_token": "refresh-of-a-client"]])
      try await shop.signIn(env: ["AUTHCTL_CLIENT_SECRET": OAuthShop.secret])
      for _ in 1...2 { #expect(try await shop.run("refresh").status == 0) }
      let forms = try await shop.forms("/token")
      #expect(forms.count == 3)
      #expect(
        forms.allSatisfy {
          $0["grant_type"] == "client_credentials" && $0["refresh_token"] == nil
        }, "\(forms)")
    }
  }

  /// OpenID Connect Core 1.0, section 12.2.
  @Test(arguments: [["iss": "https://evil.example"], ["aud": "another"], ["exp": 1000]] as [JSON])
  func idTokenOfARenewal(claims: JSON) async throws {
    try await OAuthShop.with { shop in
      try await shop.signIn()
      let before = try await shop.run("token", "--id-token").stdout
      try await shop.set(["refresh_id_token": claims])
      let run = try await shop.run("refresh")
      #expect(run.status == 0, "\(run.stderr)")
      #expect(run.stderr.contains("authctl: warning: shop: the ID token "), "\(run.stderr)")
      #expect(try await shop.run("token", "--id-token").stdout == before)
      try await shop.set(["refresh_id_token": [:]])
      #expect(try await shop.run("refresh").stderr.contains("warning") == false)
      #expect(try await shop.run("token", "--id-token").stdout != before)
    }
  }

  /// The tokens are there: nothing is asked for again for want of a name.
  @Test func userinfoOutOfReach() async throws {
    try await OAuthShop.with { shop in
      try await shop.set([
        "id_token": ["email": nil, "preferred_username": nil],
        "metadata": ["userinfo_endpoint": "http://127.0.0.1:1/userinfo"],
      ])
      let run = try await shop.run("login")
      #expect(run.status == 0)
      #expect(shop.shown(run) == OAuthShop.opening + OAuthShop.signedIn("1"))
    }
  }

  // MARK: - What a person asks for

  @Test(
    arguments: [
      (nil, "the ID token does not say when you signed in (auth_time)"),
      (1000, "the sign-in is older than --max-age allows"),
    ] as [(JSON, String)])
  func maxAge(time: JSON, message: String) async throws {
    try await OAuthShop.with { shop in
      try await shop.set(["id_token": ["auth_time": time]])
      let run = try await shop.run("login", "--max-age", "60")
      #expect(run.status == 15 && run.stdout == "")
      #expect(run.stderr.contains("authctl: shop: \(message) (HTTP 200, "), "\(run.stderr)")
      try await shop.set(["id_token": ["auth_time": .number(Double(OAuthByHand.now - 30))]])
      #expect(try await shop.run("login", "--max-age", "60").status == 0)
    }
  }

  @Test func otherAuthenticationContext() async throws {
    try await OAuthShop.with { shop in
      try await shop.set(["id_token": ["acr": "bronze"]])
      let run = try await shop.run("login", "--acr-values", "gold silver")
      #expect(run.status == 0)
      #expect(
        run.stderr.contains(
          "warning: the sign-in does not have the authentication context class gold silver\n"),
        "\(run.stderr)")
      let good = try await shop.run("login", "--acr-values", "gold bronze")
      #expect(good.status == 0 && !good.stderr.contains("warning"), "\(good.stderr)")
    }
  }

  /// RFC 6749, section 3.1: no parameter is sent twice.
  @Test func parametersReplaceOthers() async throws {
    try await OAuthShop.with { shop in
      try await shop.signIn("--prompt", "login", "--param", "prompt=consent")
      let query = try #require(shop.visited).split(separator: "&")
      #expect(query.filter { $0.hasPrefix("prompt=") } == ["prompt=consent"])
      try shop.profile(
        """
        client_id = "demo-public"
        audience = "first"
        token_parameters = { audience = "second" }
        """)
      try await shop.signIn()
      #expect(try await shop.forms("/token").last?["audience"] == "second")
    }
  }

  @Test func noTokenEndpoint() async throws {
    try await OAuthShop.with { shop in
      try await shop.set(["metadata": ["token_endpoint": nil]])
      let run = try await shop.run("login")
      #expect(run.status == 2 && run.stdout == "" && shop.visited == nil)
      #expect(
        run.stderr.contains("has no token_endpoint for authorization-code\n"), "\(run.stderr)")
    }
  }

  // MARK: - A kept command

  @Test func keptPasswordCommand() async throws {
    try await OAuthShop.with { shop in
      try shop.profile("client_id = \"demo-public\"\ngrant = \"password\"")
      let file = try shop.box.write("password", "correct horse battery\n")
      try await shop.set(["token": ["refresh_token": nil]])
      let words = ["-u", OAuthShop.ada, "--password-command", "cat '\(file)'", "--keep-command"]
      #expect(try await shop.run(["login"] + words).status == 0)
      try await shop.api.expire()
      #expect(try await shop.run("get", "/me").status == 0)
      #expect(try await shop.forms("/token").count == 2)
      // A refused password is not tried again.
      try shop.box.write("password", "wrong\n")
      #expect(try await shop.run("refresh").status == 11)
      #expect(try await shop.run("refresh").status == 11)
      #expect(try await shop.forms("/token").count == 3)
    }
  }

  @Test func keptCommandOfNoUse() async throws {
    try await OAuthShop.with { shop in
      let run = try await shop.run("login", "--password-command", "cat f", "--keep-command")
      #expect(run.status == 2 && run.stdout == "" && shop.visited == nil)
      #expect(
        run.stderr
          == "authctl: shop: --keep-command has no command for the grant authorization-code\n")
    }
  }

  /// RFC 9700, section 4.14.2: to send it again may end other tokens.
  @Test func refusedRefreshTokenIsNotSentAgain() async throws {
    try await OAuthShop.with { shop in
      try shop.profile("client_id = \"demo-public\"\ngrant = \"password\"")
      let file = try shop.box.write("password", "correct horse battery\n")
      try await shop.signIn(
        "-u", OAuthShop.ada, "--password-command", "cat '\(file)'", "--keep-command")
      try await shop.set([
        "token_error": ["refresh_token": "invalid_grant"], "token": ["refresh_token": nil],
      ])
      for _ in 1...2 { #expect(try await shop.run("refresh").status == 0) }
      let grants = try await shop.forms("/token").map { $0["grant_type"] }
      #expect(grants == ["password", "refresh_token", "password", "password"])
    }
  }

  // MARK: - The end

  /// RFC 7009, section 2.2: only 200 without an error has ended a token.
  @Test(arguments: [("/redirect?to=/", "answered with a redirect"), ("/oauth-api/me", "HTTP 4")])
  func revocationThatDidNotEnd(path: String, message: String) async throws {
    try await OAuthShop.with { shop in
      try await shop.set(["metadata": ["revocation_endpoint": .string("{origin}\(path)")]])
      try await shop.signIn()
      let required = try await shop.run("logout", "--require-revocation")
      #expect(required.status != 0 && required.stderr.contains(message), "\(required.stderr)")
      let run = try await shop.run("logout", "--json")
      #expect(run.status == 0 && run.stdout.contains("\"revoked\":false"), "\(run.stdout)")
    }
  }

  /// The token that ends the registration stays until it has done so.
  @Test func registrationThatCannotEnd() async throws {
    try await OAuthShop.with(oauth: "scope = \"openid read\"") { shop in
      try await shop.set([
        "registration": ["registration_client_uri": "{origin}/no-such-client"]
      ])
      try await shop.signIn("--yes")
      for _ in 1...2 {
        let run = try await shop.run("logout", "--unregister")
        #expect(run.status == 4 && run.stderr.contains("DELETE "), "\(run.stderr)")
      }
      #expect(try await shop.run("status", "--check").status == 11)
      #expect(try await shop.run("logout").status == 0)
    }
  }

  /// Nothing is ended for a client that somebody else registered.
  @Test func registrationOfOthers() async throws {
    try await OAuthShop.with { shop in
      try await shop.signIn()
      let run = try await shop.run("logout", "--unregister")
      #expect(run.status == 2)
      #expect(
        run.stderr == """
          authctl: shop: authctl did not register the client of this session
          hint: authctl logout -p shop -u ada@example.com

          """)
      #expect(try await shop.run("get", "/me").status == 0)
    }
  }

  /// A place where a token would be readable is not used.
  @Test func registrationInTheOpen() async throws {
    try await OAuthShop.with(oauth: "scope = \"openid read\"") { shop in
      try await shop.set([
        "registration": ["registration_client_uri": "http://192.0.2.1/client"]
      ])
      try await shop.signIn("--yes")
      let run = try await shop.run("logout", "--unregister")
      #expect(run.status == 2 && run.stderr.contains("no session has the token"), "\(run.stderr)")
    }
  }

  // MARK: - The client

  /// What is registered for a browser serves a device too; the reverse takes another registration.
  @Test(arguments: [true, false]) func browserAndDevice(browserFirst: Bool) async throws {
    try await OAuthShop.with(oauth: "scope = \"openid read\"") { shop in
      try await shop.set(["device_auto_approve": .string(OAuthShop.ada), "device": ["interval": 1]])
      let ways = [["--yes"], ["--yes", "--no-browser"]]
      for way in browserFirst ? ways : ways.reversed() {
        let run = try await shop.run(["login"] + way)
        #expect(run.status == 0, "\(run.stderr)")
      }
      #expect(
        try await shop.api.count("POST /connect/register") == (browserFirst ? 1 : 2))
    }
  }

  /// Only an unknown client is registered again.
  @Test func refusedSignIn() async throws {
    try await OAuthShop.with(oauth: "scope = \"openid read\"") { shop in
      try await shop.signIn("--yes")
      try await shop.set(["token_error": "invalid_grant", "token_error_status": 401])
      let run = try await shop.run("login")
      #expect(run.status == 14 && !run.stderr.contains("no longer knows"), "\(run.stderr)")
      try await shop.set(["token_error": "invalid_client", "token_error_status": 400])
      let lost = try await shop.run("login")
      #expect(lost.status == 14 && lost.stderr.contains("no longer knows"), "\(lost.stderr)")
      #expect(try await shop.api.count("POST /connect/register") == 2)
    }
  }

  /// The secret that signs the client's assertions serves the next sign-in too, and the metadata
  /// say which way it goes.
  @Test func assertionsBySecret() async throws {
    try await OAuthShop.with(oauth: "scope = \"openid read\"") { shop in
      try await shop.set(["registration_method": "client_secret_jwt"])
      try await shop.signIn("--yes")
      try await shop.signIn()
      #expect(try await shop.api.count("POST /connect/register") == 1)
      #expect(try await shop.forms("/token").allSatisfy { $0["client_assertion"] != nil })
    }
    try await OAuthShop.with { shop in
      try shop.profile("client_id = \"demo-confidential\"\ngrant = \"client-credentials\"")
      try await shop.set(["client_auth": ["client_secret_jwt"]])
      try await shop.signIn(env: ["AUTHCTL_CLIENT_SECRET": OAuthShop.secret])
      let form = try #require(try await shop.forms("/token").first)
      #expect(form["client_assertion"] != nil && form["client_secret"] == nil)
    }
  }

  /// RFC 6749, section 2.3: a client proves who it is in one way, at the end of its tokens too.
  @Test(arguments: ["client_secret_basic", "client_secret_post"])
  func oneCredentialForRevocation(method: String) async throws {
    try await OAuthShop.with(oauth: "scope = \"openid read\"") { shop in
      try await shop.set([
        "registration_method": .string(method),
        "metadata": ["revocation_endpoint_auth_methods_supported": ["client_secret_post"]],
      ])
      try await shop.signIn("--yes")
      try await shop.signIn()
      #expect(try await shop.run("logout").status == 0)
      let forms = try await shop.forms("/revoke")
      #expect(forms.count == 2)
      let isPost = method == "client_secret_post"
      #expect(
        forms.allSatisfy { form in
          isPost ? form["client_secret"]?.contains(",") == false : form["client_secret"] == nil
        }, "\(forms)")
      try await shop.watchSent()
    }
  }
}
