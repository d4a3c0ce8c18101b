import Glibc
import Testing

/// Client authentication and proof of possession at DemoAPI's OAuth server, with real signatures.
@Suite(.enabled(if: access("/usr/bin/openssl", X_OK) == 0, "needs the package openssl"))
struct DemoOAuthProofTests {
  private typealias Hand = OAuthByHand
  private typealias Reply = OAuthByHand.Reply

  @Test func clientsProveThemselves() async throws {
    try await Hand.with { hand in
      let secret = "s3cr:t &+%"
      func basic(_ id: String, _ secret: String) -> [String] {
        ["Authorization: Basic " + Padded.base64(id + ":" + secret)]
      }
      func ask(_ form: [String: String], headers: [String] = []) async throws -> Reply {
        let all = form.merging(["grant_type": "client_credentials"]) { $1 }
        return try await hand.send("/token", all, headers: headers)
      }
      let encoded = basic("demo-confidential", "s3cr%3At+%26%2B%25")
      let body = ["client_id": "demo-confidential", "client_secret": secret]
      #expect(try await ask([:], headers: encoded).status == 200)
      #expect(try await ask(body).status == 200)
      let plain = try await ask([:], headers: basic("demo-confidential", secret))
      #expect(plain.status == 401 && plain.error == "invalid_client")
      #expect(try await ask(body, headers: encoded).error == "invalid_request")
      #expect(try await ask(["client_id": "demo-public"]).error == "unauthorized_client")
      #expect(try await ask(["client_id": "demo-confidential"]).error == "invalid_client")

      try await hand.set(["client_auth": ["client_secret_post"], "client_id_in_body": true])
      #expect(try await ask([:], headers: encoded).error == "invalid_client")
      #expect(try await ask(body).status == 200)
      try await hand.set(["client_auth": [], "basic_raw": true])
      let named = ["client_id": "demo-confidential"]
      #expect(try await ask([:], headers: basic("demo-confidential", secret)).status == 400)
      #expect(try await ask(named, headers: basic("demo-confidential", secret)).status == 200)
    }
  }

  @Test(arguments: ["RS256", "PS256", "ES256", "ES384", "EdDSA"])
  func assertionsAreVerified(_ algorithm: String) async throws {
    try await Hand.with { hand in
      let key = try await hand.makeKey(algorithm)
      let pem = try await hand.openssl("pkey", "-in", key, "-pubout")
      try await hand.set(["client_key_pem": .string(String(decoding: pem, as: UTF8.self))])
      func assertion(_ issuer: String, _ subject: String, for audience: String, _ id: String)
        async throws -> String
      {
        try await hand.jwt(
          algorithm, key,
          [
            "iss": .string(issuer), "sub": .string(subject), "aud": .string(audience),
            "exp": .number(Double(Hand.now + 60)), "jti": .string(id),
          ])
      }
      func credentials(_ assertion: String) async throws -> Reply {
        try await hand.send(
          "/token",
          [
            "grant_type": "client_credentials", "client_assertion": assertion,
            "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
          ])
      }
      let endpoint = hand.api.url + "/token"
      let good = try await assertion("demo-key", "demo-key", for: endpoint, "1")
      #expect(try await credentials(good).status == 200)
      #expect(try await credentials(good).error == "invalid_client")
      let other = try await assertion("demo-key", "demo-key", for: "https://x", "2")
      #expect(try await credentials(other).error == "invalid_client")
      let third = try await assertion("demo-key", "demo-key", for: endpoint, "3")
      let end = try #require(third.lastIndex(of: "."))
      let forged = String(third[...end]) + "AAAA" + third[end...].dropFirst(5)
      #expect(try await credentials(forged).error == "invalid_client")
      let bearer = try await assertion("demo-service", "grace@example.com", for: hand.api.url, "4")
      let reply = try await hand.send(
        "/token",
        ["grant_type": Hand.grant + "jwt-bearer", "assertion": bearer, "client_id": "demo-public"])
      #expect(
        try await hand.me(reply.string("access_token")).string("email") == "grace@example.com")
    }
  }

  @Test func proofOfPossession() async throws {
    try await Hand.with { hand in
      let key = try await hand.makeKey("ES256")
      let jwk = try await hand.jwk(key)
      func proof(
        _ method: String, _ path: String, _ more: [String: JSON] = [:], id: String? = nil
      ) async throws -> String {
        var claims: [String: JSON] = [
          "htm": .string(method), "htu": .string(hand.api.url + path),
          "iat": .number(Double(Hand.now)),
          "jti": .string(id ?? String(UInt64.random(in: 0 ... .max))),
        ]
        claims.merge(more) { $1 }
        return "DPoP: "
          + (try await hand.jwt(
            "ES256", key, .object(claims), header: ["typ": "dpop+jwt", "jwk": jwk]))
      }
      let code = try await hand.code()
      let tokens = try await hand.redeem(code, headers: [try await proof("POST", "/token")])
      #expect(tokens.string("token_type") == "DPoP")
      let token = tokens.string("access_token")
      let hash = JSON.string(Hand.base64URL(try await hand.sha256(token)))
      let path = "/oauth-api/me"
      func me(_ proof: String?, _ scheme: String = "DPoP") async throws -> Reply {
        let headers = ["Authorization: \(scheme) \(token)"] + (proof.map { [$0] } ?? [])
        return try await hand.send(path, headers: headers)
      }
      let good = try await proof("GET", path, ["ath": hash], id: "one")
      #expect(try await me(good).status == 200)
      for (proof, scheme) in [
        (good, "DPoP"), (nil, "DPoP"), (nil, "Bearer"), (try await proof("GET", path), "DPoP"),
        (try await proof("POST", path, ["ath": hash]), "DPoP"),
        (try await proof("GET", "/oauth-api/echo", ["ath": hash]), "DPoP"),
        (try await proof("GET", path, ["ath": hash, "iat": 1]), "DPoP"),
        (try await proof("GET", path, ["ath": hash]) + "AAAA", "DPoP"),
      ] {
        let reply = try await me(proof, scheme)
        #expect(reply.status == 401 && reply.challenge.hasPrefix(scheme + " "), "\(reply)")
      }
      let refresh = tokens.string("refresh_token")
      #expect(try await hand.refresh(refresh).error == "invalid_dpop_proof")

      try await hand.set(["dpop_nonce_token": "fixed", "dpop_nonce_api": "once"])
      let asked = try await hand.refresh(refresh, headers: [try await proof("POST", "/token")])
      #expect(asked.status == 400 && asked.error == "use_dpop_nonce")
      let nonce = JSON.string(try #require(asked.headers["dpop-nonce"]))
      let again = try await proof("POST", "/token", ["nonce": nonce])
      #expect(try await hand.refresh(refresh, headers: [again]).status == 200)

      let first = try await me(try await proof("GET", path, ["ath": hash]))
      #expect(first.status == 401 && first.challenge.contains("error=\"use_dpop_nonce\""))
      let given = JSON.string(try #require(first.headers["dpop-nonce"]))
      let second = try await me(try await proof("GET", path, ["ath": hash, "nonce": given]))
      #expect(second.status == 200)
      let spent = try await me(try await proof("GET", path, ["ath": hash, "nonce": given]))
      #expect(spent.status == 401)
      let next = JSON.string(try #require(second.headers["dpop-nonce"]))
      #expect(
        try await me(try await proof("GET", path, ["ath": hash, "nonce": next])).status == 200)
      try await hand.set(["dpop_nonce_api": "always", "dpop_required": true])
      #expect(
        try await me(try await proof("GET", path, ["ath": hash, "nonce": next])).status == 401)
      #expect(try await hand.tokens().error == "invalid_dpop_proof")
    }
  }
}

/// Base64 (RFC 4648) with padding, for HTTP Basic.
private enum Padded {
  static func base64(_ text: String) -> String {
    let short = OAuthByHand.base64URL(Array(text.utf8))
    let digits = short.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 }
    return String(digits) + String(repeating: "=", count: (4 - short.utf8.count % 4) % 4)
  }
}
