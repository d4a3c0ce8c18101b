import Testing

/// The switches that make DemoAPI's OAuth server misbehave, each seen by curl.
@Suite struct DemoOAuthSwitchTests {
  private typealias Hand = OAuthByHand
  private typealias Reply = OAuthByHand.Reply

  @Test func switchesAreListedTurnedAndReset() async throws {
    try await Hand.with { hand in
      let all = try await hand.api.ask("GET", "/oauth-settings")
      #expect(all.keys.count > 50)
      #expect(all["rotate"]?["value"] == true)
      let unknown = try await hand.send("/oauth-settings", json: ["no_such_switch": 1])
      #expect(unknown.status == 400)
      #expect(unknown.json == ["message": "There is no switch no_such_switch."])
      try await hand.set(["rotate": false, "metadata": ["a": 1]])
      #expect(try await hand.api.ask("GET", "/oauth-settings")["rotate"]?["value"] == false)
      try await hand.api.reset()
      #expect(try await hand.api.ask("GET", "/oauth-settings") == all)
    }
  }

  @Test func metadata() async throws {
    try await Hand.with { hand in
      let (openid, oauth) = (
        "/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"
      )
      try await hand.set([
        "metadata": [
          "issuer": "{value}/", "token_endpoint": "file:///etc/passwd",
          "code_challenge_methods_supported": nil, "jwks_uri": "http://169.254.169.254/",
        ],
        "oauth_metadata": ["issuer": "{origin}/{tenantid}"],
      ])
      let first = try await hand.send(openid)
      #expect(first.string("issuer") == hand.api.url + "/")
      #expect(first.string("token_endpoint") == "file:///etc/passwd")
      #expect(first.json["code_challenge_methods_supported"] == nil)
      #expect(try await hand.send(oauth).string("issuer") == hand.api.url + "/{tenantid}")
      try await hand.api.reset()

      for (value, status) in [("not_found", 404), ("error", 503), ("html", 200), ("redirect", 302)]
      {
        try await hand.set(["openid_answer": .string(value)])
        let reply = try await hand.send(openid)
        #expect(reply.status == status && reply.json["issuer"] == nil)
        #expect(try await hand.send(oauth).string("issuer") == hand.api.url)
      }
      #expect(try await hand.send("/moved" + openid).string("issuer") == hand.api.url)
      try await hand.set(["oauth_answer": "huge", "issuer": "{origin}/"])
      let huge = try await hand.send(oauth)
      #expect(huge.body.utf8.count > 2 << 20 && huge.string("issuer") == hand.api.url + "/")
    }
  }

  @Test func authorization() async throws {
    try await Hand.with { hand in
      func answer(_ switches: JSON) async throws -> String {
        try await hand.set(switches)
        let reply = try await hand.approve(hand.address())
        try await hand.api.reset()
        let issuer = OAuthByHand.escaped(hand.api.url)
        let code = reply.location.replacing(/code=[A-Za-z]{32}/, with: "code=CODE")
        return code.replacing(issuer, with: "ISS")
      }
      let redirect = Hand.redirect
      for (switches, location) in [
        (["authorize": ["state": "x"]], redirect + "?code=CODE&state=x&iss=ISS"),
        (["authorize": ["state": nil, "iss": nil]], redirect + "?code=CODE"),
        (
          ["authorize": ["iss": "https://evil.example"]],
          redirect + "?code=CODE&state=the-state&iss=https%3A%2F%2Fevil.example"
        ),
        (
          ["authorize": ["code": nil, "error": "server_error"]],
          redirect + "?state=the-state&iss=ISS&error=server_error"
        ),
        (
          ["authorize": ["code": ["{value}", "two"]]],
          redirect + "?code=CODE&code=two&state=the-state&iss=ISS"
        ),
        (
          ["authorize_path": "/other", "iss_first": true],
          "http://127.0.0.1:4711/other?iss=ISS&code=CODE&state=the-state"
        ),
        (["authorize_mode": "fragment"], redirect + "#code=CODE&state=the-state&iss=ISS"),
        (["authorize_mode": "form_post"], ""),
        (["error_page": true, "scopes": ["read"]], ""),
      ] as [(JSON, String)] {
        #expect(try await answer(switches) == location)
      }
      try await hand.set(["auto_approve": "grace@example.com", "grant_scope": "openid"])
      let back = try await hand.send(hand.address(["prompt": "none"]))
      #expect(back.status == 302)
      let code = try #require(back.location.firstMatch(of: /code=([A-Za-z]+)/)).1
      #expect(try await hand.redeem(String(code)).string("scope") == "openid")

      try await hand.set(["redirect_exact": true])
      #expect(try await hand.send(hand.address()).status == 400)
      try await hand.set(["redirect_uris": [.string(Hand.redirect)]])
      #expect(try await hand.send(hand.address()).status == 302)
      for (switches, changes, error) in [
        (["nonce_required": true], ["nonce": nil], "invalid_request"),
        (["required_audience": "shop"], [:], "invalid_target"),
      ] as [(JSON, [String: String?], String)] {
        try await hand.set(switches)
        #expect(try await hand.send(hand.address(changes)).location.contains("error=\(error)"))
      }
    }
  }

  @Test func tokens() async throws {
    try await Hand.with { hand in
      let cases: [(name: String, value: JSON)] = [
        ("expires_in", "3600"), ("expires_in", 3600.5), ("expires_in", 0), ("expires_in", nil),
        ("scope", "read"), ("scope", nil), ("token_type", "bEaReR"), ("token_type", "mac"),
        ("token_type", "N_A"), ("token_type", nil), ("refresh_token", nil), ("id_token", nil),
      ]
      for (name, value) in cases {
        try await hand.set(["token": [name: value]])
        let reply = try await hand.tokens()
        #expect((reply.json[name] ?? .null) == value && reply.status == 200, "\(name)")
      }
      try await hand.api.reset()
      for (error, status) in [
        ("invalid_client", 401), ("invalid_grant", 400), ("invalid_scope", 400),
        ("invalid_target", 400), ("temporarily_unavailable", 503), ("server_error", 500),
      ] {
        try await hand.set(["token_error": ["refresh_token": .string(error)]])
        let reply = try await hand.refresh("x")
        #expect(reply.status == status && reply.error == error)
        #expect(try await hand.tokens().status == 200)
      }
      try await hand.set([
        "token_error": "invalid_grant", "token_error_status": 200, "token_format": "form",
        "error_echo": true, "error_uri": "https://x",
      ])
      let form = try await hand.refresh("planted")
      #expect(form.status == 200)
      #expect(form.body.hasPrefix("error=invalid_grant&error_description=client_id%3D"))
      #expect(form.body.hasSuffix("%26refresh_token%3Dplanted&error_uri=https%3A%2F%2Fx"))
      try await hand.set(["token_format": "html"])
      #expect(try await hand.refresh("x").body.hasPrefix("<!DOCTYPE html>"))
      try await hand.api.reset()

      try await hand.set(["error_description": "\u{1B}[2J", "access_token_jwt": true])
      #expect(try await hand.refresh("x").string("error_description") == "\u{1B}[2J")
      let jwt = try await hand.tokens().string("access_token")
      #expect(try Hand.claims(jwt)["sub"] == "1")
      try await hand.set(["token_ttl": 0, "refresh_ttl": 0])
      let short = try await hand.tokens()
      #expect(try await hand.me(short.string("access_token")).status == 401)
      #expect(try await hand.refresh(short.string("refresh_token")).error == "invalid_grant")
      try await hand.set(["offline_access_required": true])
      #expect(try await hand.tokens().json["refresh_token"] == nil)
      #expect(try await hand.tokens(["scope": "offline_access"]).json["refresh_token"] != nil)
    }
  }

  @Test func refreshes() async throws {
    try await Hand.with { hand in
      let token = try await hand.tokens().string("refresh_token")
      try await hand.set([
        "rotate": false, "refresh": ["scope": "read"], "refresh_id_token": ["sub": "2"],
      ])
      let other = try await hand.refresh(token)
      #expect(other.string("scope") == "read" && other.json["refresh_token"] == nil)
      #expect(try Hand.claims(other.string("id_token"))["sub"] == "2")
      try await hand.set(["refresh": ["id_token": nil], "rotate": true, "reuse_kills": false])
      let next = try await hand.refresh(token)
      #expect(next.json["id_token"] == nil)
      #expect(try await hand.refresh(token).error == "invalid_grant")
      #expect(try await hand.refresh(next.string("refresh_token")).status == 200)
      try await hand.set(["forget_tokens": true])
      #expect(try await hand.me(next.string("access_token")).status == 401)
    }
  }

  @Test func idTokens() async throws {
    try await Hand.with { hand in
      for (name, value) in [
        ("aud", "other"), ("aud", ["demo-public", "other"]), ("azp", "other"), ("nonce", "other"),
        ("nonce", nil), ("exp", 1), ("iss", "https://evil.example"), ("at_hash", "AAAA"),
      ] as [(String, JSON)] {
        try await hand.set(["id_token": [name: value]])
        let claims = try Hand.claims(try await hand.tokens().string("id_token"))
        #expect((claims[name] ?? .null) == value && claims["sub"] == "1", "\(name)")
      }
      for (algorithm, head) in [("none", "eyJhbGciOiJub25lIn0."), ("HS256", "eyJhbGciOiJIUzI1NiI")]
      {
        try await hand.set(["id_token_alg": .string(algorithm)])
        #expect(try await hand.tokens().string("id_token").hasPrefix(head))
      }
    }
  }

  @Test func devices() async throws {
    try await Hand.with { hand in
      let long = String(repeating: "A", count: 10_000)
      for (name, value) in [
        ("interval", nil), ("interval", 0), ("interval", 1_000_000_000),
        ("verification_uri", "javascript:alert(1)"),
        ("verification_uri", "https://ada:pw@evil.example/"),
        ("verification_uri", "https://a\u{1B}]0;x\u{7}b/"),
        ("verification_uri_complete", nil), ("user_code", .string(long)),
        ("user_code", "\u{1B}[31mABCD"), ("expires_in", 1_000_000_000),
        ("verification_url", "https://www.google.com/device"),
      ] as [(String, JSON)] {
        try await hand.set(["device": [name: value]])
        let reply = try await hand.send("/device_authorization", ["client_id": "demo-public"])
        #expect((reply.json[name] ?? .null) == value && reply.status == 200, "\(name)")
      }
    }
  }

  @Test func registrations() async throws {
    try await Hand.with { hand in
      let asked: JSON = [
        "redirect_uris": [.string(Hand.redirect)], "token_endpoint_auth_method": "none",
      ]
      func register(_ switches: JSON, _ headers: [String] = []) async throws -> Reply {
        try await hand.set(switches)
        return try await hand.send("/connect/register", json: asked, headers: headers)
      }
      let changed = try await register([
        "registration": ["client_id": nil, "redirect_uris": ["http://127.0.0.1:1/x"]]
      ])
      #expect(changed.status == 201 && changed.json["client_id"] == nil)
      #expect(changed.json["redirect_uris"] == ["http://127.0.0.1:1/x"])
      try await hand.api.reset()
      let secret = try await register(["registration_method": "client_secret_post"])
      #expect(secret.json["client_secret"] != nil)
      let client = secret.string("client_id")
      #expect(try await hand.tokens(["client_id": client]).error == "invalid_client")
      try await hand.set(["forget_clients": true])
      #expect(try await hand.approve(hand.address(["client_id": client])).status == 400)
      #expect(try await register(["registration_token": "initial"]).status == 401)
      let bearer = ["Authorization: Bearer initial"]
      #expect(try await register([:], bearer).status == 201)
      let error = try await register(["registration_error": "invalid_redirect_uri"], bearer)
      #expect(error.status == 400 && error.error == "invalid_redirect_uri")
    }
  }

  @Test func api() async throws {
    try await Hand.with { hand in
      let token = try await hand.tokens().string("access_token")
      for (error, status) in [
        ("invalid_token", 401), ("insufficient_scope", 403),
        ("insufficient_user_authentication", 401),
      ] {
        try await hand.set([
          "api_error": .string(error), "api_challenge": ["scope": "a;rm -rf ~", "x": "{origin}"],
        ])
        let reply = try await hand.me(token)
        #expect(reply.status == status && reply.challenge.contains("error=\"\(error)\""))
        #expect(reply.challenge.contains("scope=\"a;rm -rf ~\""))
        #expect(reply.challenge.contains("x=\"\(hand.api.url)\""))
      }
      try await hand.api.reset()
      try await hand.set(["resource_required": true, "userinfo": ["sub": "2"]])
      #expect(try await hand.me(token).challenge.contains("another resource"))
      let code = try await hand.code()
      let late = try await hand.redeem(code, ["resource": hand.api.url])
      #expect(try await hand.me(late.string("access_token")).status == 401)
      for resource in [hand.api.url, hand.api.url + "/oauth-api"] {
        let meant = try await hand.tokens(["resource": resource]).string("access_token")
        #expect(try await hand.me(meant).status == 200)
      }
      try await hand.api.reset()
      try await hand.set(["userinfo": ["sub": "2"], "introspection": ["active": "yes"]])
      #expect(try await hand.me(token, at: "/userinfo").string("sub") == "2")
      let form = ["token": token, "client_id": "demo-public"]
      #expect(try await hand.send("/introspect", form).string("active") == "yes")
      try await hand.set(["assertion_aud": "issuer", "subject_tokens": ["mine"]])
      let bearer = [
        "grant_type": Hand.grant + "jwt-bearer", "assertion": "mine", "client_id": "demo-public",
      ]
      #expect(try await hand.send("/token", bearer).status == 200)
    }
  }
}
