import Glibc
import Testing

/// DemoAPI's OAuth 2.0 server follows the standards; curl is the client.
@Suite(.enabled(if: access("/usr/bin/openssl", X_OK) == 0, "needs the package openssl"))
struct DemoOAuthTests {
  private typealias Hand = OAuthByHand
  private typealias Reply = OAuthByHand.Reply

  @Test func metadataNamesTheIssuerThatWasAsked() async throws {
    try await Hand.with { hand in
      let url = hand.api.url
      for (path, issuer) in [
        ("/.well-known/openid-configuration", url),
        ("/.well-known/oauth-authorization-server", url),
        ("/tenant/.well-known/openid-configuration", url + "/tenant"),
        ("/.well-known/oauth-authorization-server/tenant", url + "/tenant"),
      ] {
        let reply = try await hand.send(path)
        #expect(reply.string("issuer") == issuer)
        #expect(reply.string("token_endpoint") == issuer + "/token")
        #expect(reply.json["code_challenge_methods_supported"] == ["S256"])
      }
      let host = ["Host: localhost:\(hand.api.port)"]
      let local = try await hand.send("/.well-known/openid-configuration", headers: host)
      #expect(local.string("issuer") == "http://localhost:\(hand.api.port)")
      for (path, resource) in [("", url), ("/oauth-api/me", url + "/oauth-api")] {
        let reply = try await hand.send("/.well-known/oauth-protected-resource" + path)
        #expect(reply.string("resource") == resource)
        #expect(reply.json["authorization_servers"] == [.string(url)])
      }
      for path in ["/tenant/.well-known/oauth-authorization-server", "/.well-known/other"] {
        #expect(try await hand.send(path).status == 404)
      }
    }
  }

  @Test func codeBecomesTokensAndTheyOpenTheAPI() async throws {
    try await Hand.with { hand in
      let form = try await hand.send(hand.address())
      #expect(form.status == 200)
      #expect(form.body.contains("demo-public asks for: openid read"))
      let back = try await hand.approve(hand.address())
      #expect(back.status == 303)
      let code = try #require(back.location.firstMatch(of: /code=([A-Za-z]+)/)).1
      let issuer = OAuthByHand.escaped(hand.api.url)
      #expect(back.location == "\(Hand.redirect)?code=\(code)&state=the-state&iss=\(issuer)")

      let reply = try await hand.redeem(String(code))
      #expect(reply.status == 200)
      #expect(reply.string("token_type") == "Bearer")
      #expect(reply.json["expires_in"] == 900)
      #expect(reply.string("scope") == "openid read")
      let token = reply.string("access_token")
      let claims = try Hand.claims(reply.string("id_token"))
      let hash = Hand.base64URL(Array(try await hand.sha256(token).prefix(16)))
      let expected: [String: JSON] = [
        "iss": .string(hand.api.url), "aud": "demo-public", "azp": "demo-public", "sub": "1",
        "nonce": "the-nonce", "email": "ada@example.com", "at_hash": .string(hash),
      ]
      for (name, value) in expected { #expect(claims[name] == value, "\(name)") }
      #expect(try await hand.me(token).string("email") == "ada@example.com")
      #expect(try await hand.me(token, at: "/userinfo").string("sub") == "1")
      #expect(try await hand.send("/jwks").json["keys"]?[0]?["kty"] == "RSA")

      let renewed = try await hand.refresh(reply.string("refresh_token"))
      #expect(renewed.string("refresh_token") != reply.string("refresh_token"))
      #expect(try await hand.me(renewed.string("access_token")).status == 200)
      #expect(try await hand.api.count("POST /token") == 2)
      try await hand.api.expire()
      #expect(try await hand.me(renewed.string("access_token")).challenge.contains("invalid_token"))
    }
  }

  @Test func whatComesTwiceEndsTheFamily() async throws {
    try await Hand.with { hand in
      let code = try await hand.code()
      let first = try await hand.redeem(code)
      #expect(try await hand.redeem(code).error == "invalid_grant")
      #expect(try await hand.me(first.string("access_token")).status == 401)

      let second = try await hand.tokens()
      let renewed = try await hand.refresh(second.string("refresh_token"))
      #expect(try await hand.refresh(second.string("refresh_token")).error == "invalid_grant")
      #expect(try await hand.me(renewed.string("access_token")).status == 401)
      #expect(try await hand.refresh(renewed.string("refresh_token")).error == "invalid_grant")
    }
    try await Hand.with("--no-rotate") { hand in
      let token = try await hand.tokens().string("refresh_token")
      for _ in 1...2 {
        let renewed = try await hand.refresh(token)
        #expect(renewed.status == 200 && renewed.json["refresh_token"] == nil)
      }
    }
  }

  @Test func authorizationRefuses() async throws {
    try await Hand.with { hand in
      let cases: [(changes: [String: String?], error: String)] = [
        (["response_type": "token"], "unsupported_response_type"),
        (["code_challenge": nil], "invalid_request"),
        (["code_challenge_method": "plain"], "invalid_request"),
        (["scope": "nonsense"], "invalid_scope"),
        (["resource": "https://api.shop.example"], "invalid_target"),
        (["prompt": "none"], "login_required"),
      ]
      for (changes, error) in cases {
        let reply = try await hand.send(hand.address(changes))
        #expect(reply.location.hasPrefix("\(Hand.redirect)?error=\(error)&"), "\(changes)")
        #expect(reply.location.contains("&state=the-state&iss="))
      }
      for changes in [
        ["client_id": "nobody"], ["redirect_uri": "http://127.0.0.1:4711/elsewhere"],
        ["redirect_uri": "https://evil.example/callback"],
      ] {
        let reply = try await hand.approve(hand.address(changes))
        #expect(reply.status == 400 && reply.location == "", "\(changes)")
      }
      let wrong = try await hand.send(
        hand.address(), ["email": "ada@example.com", "password": "x"])
      #expect(wrong.status == 403 && wrong.body.contains("Wrong e-mail address"))
      let denied = try await hand.send(hand.address(), ["action": "deny"])
      #expect(denied.location.contains("?error=access_denied&"))

      let code = try await hand.code(["redirect_uri": "http://[::1]:9/callback"])
      for changes in [[:], ["redirect_uri": "http://[::1]:9/callback", "code_verifier": "x"]] {
        #expect(try await hand.redeem(code, changes).error == "invalid_grant")
      }
      let other = try await hand.code(["resource": hand.api.url])
      #expect(try await hand.redeem(other, ["resource": "http://x"]).error == "invalid_target")
    }
  }

  @Test func deviceFlow() async throws {
    try await Hand.with { hand in
      func start() async throws -> Reply {
        try await hand.send("/device_authorization", ["client_id": "demo-public", "scope": "read"])
      }
      func poll(_ device: Reply) async throws -> Reply {
        try await hand.send(
          "/token",
          [
            "grant_type": Hand.grant + "device_code", "client_id": "demo-public",
            "device_code": device.string("device_code"),
          ])
      }
      func decide(_ device: Reply, _ action: String) async throws -> Reply {
        let form = ["user_code": device.string("user_code").lowercased(), "action": action]
        return try await hand.send("/device", form.merging(Hand.ada) { $1 })
      }
      let slow = try await start()
      #expect(slow.json["interval"] == 5 && slow.json["expires_in"] == 600)
      #expect(slow.string("verification_uri") == hand.api.url + "/device")
      let page = try await hand.send("/device?user_code=" + slow.string("user_code"))
      #expect(page.body.contains("value=\"\(slow.string("user_code"))\""))
      #expect(try await poll(slow).error == "authorization_pending")
      #expect(try await poll(slow).error == "slow_down")

      try await hand.set(["device": ["interval": 0], "device_polls": ["temporarily_unavailable"]])
      let device = try await start()
      #expect(try await poll(device).status == 503)
      #expect(try await poll(device).error == "authorization_pending")
      #expect(try await decide(device, "approve").status == 200)
      #expect(try await hand.me(try await poll(device).string("access_token")).status == 200)
      #expect(try await poll(device).error == "invalid_grant")

      try await hand.set(["device_polls": []])
      let refused = try await start()
      #expect(try await decide(refused, "deny").status == 200)
      #expect(try await poll(refused).error == "access_denied")
      try await hand.set(["device_deny_silent": true])
      let silent = try await start()
      #expect(try await decide(silent, "deny").status == 200)
      #expect(try await poll(silent).error == "authorization_pending")
      try await hand.set(["device_auto_approve": "grace@example.com"])
      #expect(try await poll(silent).status == 200)
      try await hand.set(["device": ["expires_in": 0]])
      #expect(try await poll(try await start()).error == "expired_token")
    }
  }

  @Test func otherGrants() async throws {
    try await Hand.with { hand in
      func ask(_ grant: String, _ form: [String: String]) async throws -> Reply {
        let all = form.merging(["grant_type": grant, "client_id": "demo-public"]) { $1 }
        return try await hand.send("/token", all)
      }
      let ada = ["username": "ada@example.com", "password": "correct horse battery"]
      #expect(try await ask("password", ada).json["refresh_token"] != nil)
      #expect(
        try await ask("password", ["username": "ada", "password": "x"]).error == "invalid_grant")
      #expect(try await ask("magic", [:]).error == "unsupported_grant_type")

      let exchange = Hand.grant + "token-exchange"
      let header = ["Authorization: Bearer demo-ci-request-token"]
      let job = try await hand.send("/ci-token?audience=shop", headers: header).string("value")
      #expect(try Hand.claims(job)["aud"] == "shop")
      let own = try await hand.tokens().string("access_token")
      for token in ["demo-subject-token", job, own] {
        let type = "urn:ietf:params:oauth:token-type:jwt"
        let form = ["subject_token": token, "subject_token_type": type, "audience": "shop"]
        let reply = try await ask(exchange, form)
        #expect(reply.string("issued_token_type").hasSuffix(":access_token"), "\(reply)")
        let me = try await hand.me(reply.string("access_token"))
        #expect(me.string("audience") == "shop")
        let subject = token == own ? "1" : "repo:demo/shop:ref:refs/heads/main"
        #expect(me.string("id") == subject)
      }
      let form = ["subject_token": "x", "subject_token_type": "y"]
      #expect(try await ask(exchange, form).error == "invalid_grant")
      #expect(try await ask(exchange, ["subject_token": "x"]).error == "invalid_request")
    }
  }

  @Test func clientsRegisterAndLeave() async throws {
    try await Hand.with { hand in
      let reply = try await hand.send(
        "/connect/register",
        json: [
          "redirect_uris": [.string(Hand.redirect)], "token_endpoint_auth_method": "none",
          "grant_types": ["authorization_code"], "scope": "openid read",
        ])
      #expect(reply.status == 201 && reply.json["client_secret"] == nil)
      let client = reply.string("client_id")
      let tokens = try await hand.tokens(["client_id": client])
      #expect(tokens.status == 200 && tokens.json["refresh_token"] == nil)
      let wide = try await hand.approve(
        hand.address(["client_id": client, "scope": "offline_access"]))
      #expect(wide.location.contains("?error=invalid_scope&"))
      let renewal = ["grant_type": "refresh_token", "refresh_token": "x", "client_id": client]
      #expect(try await hand.send("/token", renewal).error == "unauthorized_client")

      #expect(
        reply.string("registration_client_uri") == hand.api.url + "/connect/register/" + client)
      let path = "/connect/register/" + client
      let bearer = ["Authorization: Bearer " + reply.string("registration_access_token")]
      #expect(try await hand.send(path, method: "DELETE").status == 401)
      #expect(try await hand.send(path, headers: bearer).string("client_id") == client)
      #expect(try await hand.send(path, method: "DELETE", headers: bearer).status == 204)
      #expect(try await hand.approve(hand.address(["client_id": client])).status == 400)

      let plain = try await hand.send("/connect/register", json: [:])
      #expect(plain.string("token_endpoint_auth_method") == "client_secret_basic")
      let evil = try await hand.send(
        "/connect/register", json: ["redirect_uris": ["javascript:alert(1)"]])
      #expect(evil.error == "invalid_redirect_uri")
    }
  }

  @Test func pushedRequestsAreUsedOnce() async throws {
    try await Hand.with { hand in
      let form = [
        "client_id": "demo-public", "response_type": "code", "redirect_uri": Hand.redirect,
        "code_challenge": Hand.challenge, "code_challenge_method": "S256", "state": "pushed",
      ]
      let pushed = try await hand.send("/par", form)
      #expect(pushed.status == 201)
      let uri = OAuthByHand.escaped(pushed.string("request_uri"))
      let address = "/authorize?client_id=demo-public&request_uri=" + uri
      #expect(try await hand.send(address).status == 200)
      let back = try await hand.approve(address)
      #expect(back.status == 303 && back.location.contains("&state=pushed&"))
      #expect(try await hand.approve(address).status == 400)
      let bad = form.merging(["redirect_uri": "https://evil.example/"]) { $1 }
      #expect(try await hand.send("/par", bad).error == "invalid_request")
      try await hand.set(["par_required": true])
      #expect(try await hand.approve(hand.address()).location.contains("?error=invalid_request&"))
    }
  }

  @Test func tokensAreAskedAboutAndRevoked() async throws {
    try await Hand.with { hand in
      let tokens = try await hand.tokens()
      let (access, refresh) = (tokens.string("access_token"), tokens.string("refresh_token"))
      func ask(_ path: String, _ token: String) async throws -> Reply {
        try await hand.send(path, ["token": token, "client_id": "demo-public"])
      }
      let about = try await ask("/introspect", access)
      #expect(about.json["active"] == true && about.string("username") == "ada@example.com")
      #expect(try await ask("/revoke", "unknown").status == 200)
      #expect(try await ask("/revoke", refresh).status == 200)
      #expect(try await ask("/introspect", access).json == ["active": false])
      try await hand.set(["revoke_confidential_only": true])
      #expect(try await ask("/revoke", access).error == "unauthorized_client")
    }
  }

  @Test func apiSaysWhatIsMissing() async throws {
    try await Hand.with { hand in
      let metadata = hand.api.url + "/.well-known/oauth-protected-resource/oauth-api"
      let none = try await hand.send("/oauth-api/me")
      #expect(none.challenge == "Bearer resource_metadata=\"\(metadata)\"")
      let wrong = try await hand.me("wrong")
      #expect(wrong.status == 401 && wrong.challenge.contains("error=\"invalid_token\""))
      let token = try await hand.tokens().string("access_token")
      let scope = try await hand.me(token, at: "/oauth-api/admin")
      #expect(scope.status == 403)
      #expect(scope.challenge.contains("error=\"insufficient_scope\""))
      #expect(scope.challenge.contains("scope=\"admin\""))
      let weak = try await hand.me(token, at: "/oauth-api/strong")
      #expect(weak.status == 401)
      #expect(weak.challenge.contains("error=\"insufficient_user_authentication\""))
      #expect(weak.challenge.contains("acr_values=\"urn:demo:strong\", max_age=\"300\""))
      let strong = try await hand.tokens(["scope": "admin", "acr_values": "urn:demo:strong"])
      for path in ["/oauth-api/admin", "/oauth-api/strong", "/oauth-api/echo"] {
        #expect(try await hand.me(strong.string("access_token"), at: path).status == 200)
      }
      let page = try await hand.me(token, at: "/oauth-api/pages")
      #expect(page.headers["link"] == "</oauth-api/pages?page=2>; rel=\"next\"")
    }
  }
}
