import Testing

@testable import AuthKit

/// Proofs of possession (RFC 9449). That their signatures are right is tested with the real openssl in
/// `ProofTests/signatures`.
@Suite struct ProofOfPossessionTests {
  private static let now = Timestamp(seconds: 1_796_047_509)
  /// RFC 9449, section 7.1.
  private let token = SharedSecret("Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU")

  private func maker(_ key: SharedSecret? = nil) throws -> ProofOfPossession {
    try ProofOfPossession(key ?? ProofOfPossession.newKey(), clock: { Self.now })
  }

  private func url(_ text: String) throws -> WebURL { try WebURL(text, from: .person) }

  private func parts(_ header: WireHeader) throws -> (header: JSONValue, payload: JSONValue) {
    #expect(header.name == "DPoP")
    let value = try #require(header.shownValue)
    return try #require(JWT.decode(value.utf8))
  }

  private func head(_ lines: String..., status: Int = 401) -> ResponseHead {
    func bytes<T>(_ text: String, _ body: (UnsafeRawBufferPointer) -> T) -> T {
      Array(text.utf8).withUnsafeBytes(body)
    }
    var head = bytes("HTTP/1.1 \(status) X") { ResponseHead(statusLine: $0) }
    for line in lines { bytes(line) { head.add(line: $0) } }
    return head
  }

  /// RFC 9449, section 4.2.
  @Test func parts() throws {
    let maker = try maker()
    let api = try url("https://resource.example.org/protectedresource?a=b")
    let (header, claims) = try parts(maker.header(of: "GET", api, token: token))
    #expect(header["typ"] == "dpop+jwt" && header["alg"] == "ES256")
    let jwk = try #require(header["jwk"])
    #expect(jwk["kty"] == "EC" && jwk["crv"] == "P-256" && jwk["d"] == nil)
    for name in ["x", "y"] {
      let text = try #require(jwk[name]?.text)
      #expect(base64URLDecoded(text.utf8)?.count == 32)
    }
    guard case .object(let members) = claims else {
      Issue.record("no object")
      return
    }
    #expect(members.map(\.key) == ["jti", "htm", "htu", "iat", "ath"])
    #expect(claims["htm"] == "GET")
    #expect(claims["htu"] == "https://resource.example.org/protectedresource")
    #expect(claims["iat"]?.double == Self.now.seconds)
    // The example of section 7.1.
    #expect(claims["ath"] == "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo")
    let id = try #require(claims["jti"]?.text)
    #expect(base64URLDecoded(id.utf8)?.count == 16)
    // To an authorization server there is no token yet.
    #expect(try parts(maker.header(of: "POST", api, token: nil)).payload["ath"] == nil)
  }

  /// The key of the examples and its thumbprint: RFC 9449, sections 4.1 and 6.1.
  @Test func thumbprint() throws {
    let jwk = ProofOfPossession.jwk(
      x: "l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs",
      y: "9VE4jf_Ok_o64zbTTlcuNJajHmt6v9TDVrU0CdvGRDA")
    #expect(
      base64URL(try Crypto.sha256(Array(jwk.serialized().utf8)))
        == "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I")
  }

  @Test(arguments: [
    ("https://a.example", "https://a.example/"), ("https://A.example:443/x", "https://a.example/x"),
    ("https://a.example/x?y=z#f", "https://a.example/x"),
    ("https://a.example:8443/a%20b/?q", "https://a.example:8443/a%20b/"),
    ("http://[::1]:80/", "http://[::1]/"),
  ])
  func targetWithoutQueryAndFragment(_ text: String, _ target: String) throws {
    let claims = try parts(maker().header(of: "PUT", try url(text), token: nil)).payload
    #expect(claims["htu"] == .string(target) && claims["htm"] == "PUT")
  }

  @Test func keysAndIdentifiersAreNew() throws {
    let maker = try maker()
    let place = try url("https://a.example/")
    let ids = try (0..<500).map { _ in
      try parts(maker.header(of: "GET", place, token: nil)).payload["jti"]?.text
    }
    #expect(Set(ids).count == 500)
    #expect(try maker.thumbprint != self.maker().thumbprint)
    // A key that was stored is the same key.
    let stored = SharedSecret(maker.secret.text)
    #expect(try self.maker(stored).thumbprint == maker.thumbprint)
  }

  @Test(arguments: ["", "AAAA", "no base64", "MHcCAQEE"]) func damagedKey(_ text: String) {
    let failure = OAuthTable.failure { try maker(SharedSecret(text)) }
    #expect(failure?.kind == .failed)
    #expect(failure?.message.hasPrefix("the key of the session: ") == true)
  }

  /// Each server has its own nonce, also an API at the origin of its authorization server.
  @Test func nonces() throws {
    let maker = try maker()
    let (api, other) = (try url("https://a.example/x"), try url("https://b.example/x"))
    func sent(_ url: WebURL, _ token: SharedSecret?, _ nonce: String? = nil) throws -> JSONValue? {
      try parts(maker.header(of: "GET", url, token: token, nonce: nonce)).payload["nonce"]
    }
    maker.keepNonce(of: head("DPoP-Nonce: first"), from: api, token: token)
    #expect(try sent(api, token) == "first")
    #expect(try sent(try url("https://a.example/other"), token) == "first")
    #expect(try sent(api, nil) == nil && sent(other, token) == nil)
    maker.keepNonce(of: head("DPoP-Nonce: own"), from: api, token: nil)
    #expect(try sent(api, nil) == "own" && sent(api, token) == "first")
    // That of the answer for which a request is repeated.
    #expect(try sent(api, token, "mine") == "mine" && sent(api, token) == "first")
    // The newest one, with any status.
    let answer = head("dpop-nonce: second", status: 200)
    maker.keepNonce(of: answer, from: api, token: token, used: "mine")
    #expect(try sent(api, token) == "second")
    maker.keepNonce(of: head(status: 200), from: api, token: token)
    #expect(try sent(api, token) == "second")
    // One that was accepted serves again.
    maker.keepNonce(of: head(status: 200), from: api, token: token, used: "mine")
    #expect(try sent(api, token) == "mine")
  }

  @Test func noncesThatAreNone() {
    for bad in ["a\"b", "a\\b", "a b", "é", String(repeating: "n", count: 1025), ""] {
      #expect(ProofOfPossession.nonce(in: head("DPoP-Nonce: " + bad)) == nil)
    }
    #expect(ProofOfPossession.nonce(in: head("DPoP-Nonce: a", "DPoP-Nonce: b")) == nil)
    #expect(ProofOfPossession.nonce(in: head("DPoP-Nonce: a")) == "a")
  }

  @Test(arguments: [
    (#"DPoP error="use_dpop_nonce", error_description="x""#, 401, true),
    (#"Bearer realm="a", dpop algs="ES256", error="use_dpop_nonce""#, 401, true),
    (#"DPoP error="use_dpop_nonce""#, 403, false), (#"DPoP error="invalid_token""#, 401, false),
    (#"Bearer error="use_dpop_nonce""#, 401, false), ("DPoP", 401, false), ("", 401, false),
  ])
  func questionForANonce(_ challenge: String, _ status: Int, _ asks: Bool) {
    #expect(head("WWW-Authenticate: " + challenge, status: status).asksForNonce == asks)
  }

  @Test(
    arguments: [
      (#"Bearer realm="a", DPoP error="invalid_token""#, "dpop"),
      (#"DPoP algs="ES256", Bearer error="insufficient_scope""#, "bearer"),
      (#"Basic realm="a", DPoP algs="ES256""#, "dpop"), ("Basic", nil),
    ] as [(String, String?)])
  func challengeForAToken(_ challenge: String, _ scheme: String?) {
    #expect(head("WWW-Authenticate: " + challenge).tokenChallenge?.scheme == scheme)
  }

  /// A session that has a key sends its token by another scheme.
  @Test(arguments: [
    ("Bearer {access_token}", true, "DPoP T"), ("Bearer {access_token}", false, "Bearer T"),
    ("Token {access_token}", true, "Token T"), ("Bearer {session.x}", true, "Bearer X"),
  ])
  func scheme(_ template: String, _ isBound: Bool, _ value: String) throws {
    var values = TemplateValues()
    values[.accessToken] = SharedSecret("T")
    values[.session("x")] = SharedSecret("X")
    if isBound { values[.proofKey] = SharedSecret("KEY") }
    let headers = try TemplateFiller(values: values, profile: "shop").headers([
      RecipeRequest.Pair(name: "Authorization", value: try Template(template))
    ])
    #expect(headers.map(\.shownValue) == [value])
  }

  /// Rule B19: no profile and no `--env` can name the key.
  @Test func keyIsNoPlaceholder() throws {
    #expect(throws: Failure.self) { try Template("{proof_key}") }
    #expect(
      OAuthTable.failure {
        try OAuthTable.profile(
          "issuer = \"\(OAuthTable.issuer)\"",
          more: "[request]\nheaders = { X = \"{session.proof_key}\" }")
      }?.kind == .usage)
  }

  @Test func sessionKeepsTheKey() throws {
    var values = TemplateValues()
    values[.accessToken] = SharedSecret("T")
    var session = Session(
      profile: "shop", account: "ada", values: values, now: Self.now, requestOrigins: [],
      signInOrigins: [])
    #expect(!session.isBound)
    session.values[.proofKey] = try ProofOfPossession.newKey()
    let read = try Session(payload: session.payload(), profile: "shop", account: "ada")
    #expect(read.isBound)
    #expect(read.values[.proofKey]?.text == session.values[.proofKey]?.text)
  }

  @Test func authorizationRequestNamesTheKey() throws {
    let client = try OAuthTable.client("dpop = true")
    let request = try AuthorizationRequest(client, redirectURI: "http://127.0.0.1:1/callback")
    let proof = try client.proof()
    let thumbprint = try #require(proof).thumbprint
    #expect(request.url.contains("&dpop_jkt=\(thumbprint)"))
    #expect(try OAuthTable.client().proof() == nil)
    let plain = try AuthorizationRequest(
      OAuthTable.client(), redirectURI: "http://127.0.0.1:1/callback")
    #expect(!plain.url.contains("dpop_jkt"))
  }
}
