import Testing

@testable import AuthKit

private let issuer = OAuthTable.issuer

/// Authorization requests and the answers that a browser brings: rules A14 and A15.
@Suite struct OAuthAnswerTests {
  private static let redirect = "http://127.0.0.1:4711/callback"

  private func request(
    _ oauth: String = "", metadata: String = OAuthTable.metadata(),
    wishes: AuthorizationRequest.Wishes = AuthorizationRequest.Wishes()
  ) throws -> AuthorizationRequest {
    try AuthorizationRequest(
      OAuthTable.client(oauth, metadata: metadata), redirectURI: Self.redirect, wishes: wishes)
  }

  /// The parameters of the URL, still encoded.
  private func parameters(_ request: AuthorizationRequest) -> [(name: String, value: String)] {
    request.url.split(separator: "?").last?.split(separator: "&").map {
      let parts = $0.split(separator: "=", omittingEmptySubsequences: false)
      return (String(parts[0]), parts.count > 1 ? String(parts[1]) : "")
    } ?? []
  }

  private func state(_ request: AuthorizationRequest) -> String {
    parameters(request).first { $0.name == "state" }?.value ?? ""
  }

  @Test func url() throws {
    var wishes = AuthorizationRequest.Wishes()
    wishes.prompt = "login"
    wishes.acrValues = "a b"
    wishes.maxAge = 60
    wishes.parameters = [("display", "popup&x=y"), ("hd", "é")]
    let request = try request(
      """
      scope = "openid read"
      audience = "shop"
      resource = ["https://api.shop.example", "https://b.shop.example"]
      parameters = { prompt = "consent", access_type = "offline", display = "page" }
      """, wishes: wishes)
    #expect(request.url.hasPrefix("\(issuer)/authorization?response_type=code&client_id=shop-cli&"))
    let found = parameters(request)
    let random = ["state", "nonce", "code_challenge"]
    #expect(
      found.filter { !random.contains($0.name) }.map { "\($0.name)=\($0.value)" } == [
        "response_type=code", "client_id=shop-cli",
        "redirect_uri=http%3A%2F%2F127.0.0.1%3A4711%2Fcallback", "code_challenge_method=S256",
        "scope=openid%20read", "audience=shop", "resource=https%3A%2F%2Fapi.shop.example",
        "resource=https%3A%2F%2Fb.shop.example", "prompt=login", "acr_values=a%20b", "max_age=60",
        "display=popup%26x%3Dy", "hd=%C3%A9", "access_type=offline",
      ])
    // 256 bits each (rule A14), and new ones each time.
    let values = try (1...20).flatMap { _ in
      try parameters(self.request()).filter { random.contains($0.name) }.map(\.value)
    }
    #expect(values.allSatisfy { $0.utf8.count == 43 } && Set(values).count == 60)
    let verifier = request.values(for: SharedSecret("the-code"))
    #expect(verifier[.taken("code")]?.text == "the-code")
    #expect(verifier[.taken("redirect_uri")]?.text == Self.redirect)
    let challenge = found.first { $0.name == "code_challenge" }?.value
    let own = try #require(verifier[.taken("code_verifier")])
    #expect(challenge == base64URL(try Crypto.sha256(Array(own.text.utf8))))
    #expect(request.asked.nonce == found.first { $0.name == "nonce" }?.value)
  }

  @Test func endpointWithAQuery() throws {
    let metadata = OAuthTable.metadata().replacing("/authorization\"", with: "/a?tenant=7\"")
    let url = try request(metadata: metadata).url
    #expect(url.hasPrefix("\(issuer)/a?tenant=7&response_type=code&"))
  }

  @Test func codeIsTakenOnlyWithTheState() throws {
    let request = try request()
    let state = state(request)
    func code(_ query: String) throws -> String? {
      if case .code(let code) = try request.answer(query: query) { return code.text }
      return nil
    }
    #expect(try code("code=abc&state=\(state)") == "abc")
    #expect(try code("state=\(state)&iss=https%3A%2F%2Fid.shop.example&code=a%2Bb+c") == "a+b c")
    for query in [
      "", "code=abc", "code=abc&state=", "code=abc&state=\(state)x", "code=abc&state=x\(state)",
      "code=abc&state=\(state)&state=\(state)", "code=abc&state=x&state=\(state)",
      "code=abc&STATE=\(state)", "code=abc&state=\(state.lowercased().uppercased())",
      "error=access_denied&state=x", "error=access_denied", "&&=&state", "%", "state=%ZZ&code=x",
    ] {
      #expect(try code(query) == nil, "\(query)")
    }
  }

  @Test(arguments: [
    (
      "state=STATE", Failure.Kind.answerNotUnderstood,
      "shop: the response in the browser has no code"
    ),
    ("state=STATE&code=", .answerNotUnderstood, "shop: the response in the browser has no code"),
    (
      "state=STATE&code=a&code=b", .answerNotUnderstood,
      "shop: the response in the browser has no code"
    ),
    (
      "state=STATE&code=a&iss=https://evil.example", .answerNotUnderstood,
      "shop: the response in the browser is from another server"
    ),
    (
      "state=STATE&code=a&iss=https://id.shop.example/", .answerNotUnderstood,
      "shop: the response in the browser is from another server"
    ),
    (
      "state=STATE&code=a&iss=https://id.shop.example&iss=https://evil.example",
      .answerNotUnderstood, "shop: the response in the browser is from another server"
    ),
    (
      "state=STATE&error=access_denied&iss=https://evil.example", .answerNotUnderstood,
      "shop: the response in the browser is from another server"
    ),
    (
      "state=STATE&error=access_denied&error_description=No", .credentialsRefused,
      "shop: the sign-in was denied in the browser"
    ),
    (
      "state=STATE&error=server_error", .serverError,
      "shop: the server refused the sign-in in the browser (server_error)"
    ),
    (
      "state=STATE&error=temporarily_unavailable", .serverError,
      "shop: the server refused the sign-in in the browser (temporarily_unavailable)"
    ),
    (
      "state=STATE&error=unauthorized_client", .credentialsRefused,
      "shop refused this client (unauthorized_client)"
    ),
    (
      "state=STATE&error=invalid_scope", .clientError,
      "shop: the server refused the sign-in in the browser (invalid_scope)"
    ),
    (
      "state=STATE&code=a&error=x%0Ahint:+y", .clientError,
      "shop: the server refused the sign-in in the browser (x ⏎ hint: y)"
    ),
  ])
  func answersThatAreNone(query: String, kind: Failure.Kind, message: String) throws {
    let request = try request()
    let failure = OAuthTable.failure {
      try request.answer(query: query.replacing("STATE", with: state(request)))
    }
    #expect(failure?.kind == kind && failure?.message == message, "\(failure.debugDescription)")
  }

  @Test func issuerThatWasPromised() throws {
    let metadata = OAuthTable.metadata(
      #""authorization_response_iss_parameter_supported":true"#)
    let request = try request(metadata: metadata)
    let failure = OAuthTable.failure {
      try request.answer(query: "code=a&state=\(state(request))")
    }
    #expect(failure?.kind == .answerNotUnderstood)
    #expect(
      failure?.message == "shop: the response in the browser does not name its server (iss)")
  }

  // MARK: - ID tokens

  private static let claims =
    #""iss":"https://id.shop.example","aud":"shop-cli","exp":1796048000,"iat":1796047500,"#
    + #""nonce":"n","sub":"7""#

  private func problem(
    _ token: String?, nonce: String? = "n", maxAge: Int? = nil, isRequired: Bool = false,
    issuer: String? = issuer
  ) throws -> String? {
    let profile = try OAuthTable.profile("issuer = \"\(OAuthTable.issuer)\"")
    let body = token.map { #"{"access_token":"a","id_token":"\#($0)"}"# } ?? "{}"
    return try IDToken.problem(
      in: OAuthTable.answer(body, of: profile), issuer: issuer, clientID: "shop-cli",
      asked: nonce.map { IDToken.Asked(nonce: $0, maxAge: maxAge) }, isRequired: isRequired,
      now: OAuthTable.now)
  }

  /// The claims with one replaced: `nil` removes it.
  private static func claims(_ name: String, _ value: String?) -> String {
    let members = claims.split(separator: ",").filter { !$0.hasPrefix("\"\(name)\":") }
      .map(String.init)
    return "{" + (members + (value.map { ["\"\(name)\":\($0)"] } ?? [])).joined(separator: ",")
      + "}"
  }

  @Test(
    arguments: [
      ("sub", #""7""#, nil), ("iss", nil, "the ID token is from another issuer"),
      ("iss", #""https://id.shop.example/""#, "the ID token is from another issuer"),
      ("iss", #"["https://id.shop.example"]"#, "the ID token is from another issuer"),
      ("aud", nil, "the ID token is for another client"),
      ("aud", #""other""#, "the ID token is for another client"),
      ("aud", "7", "the ID token is for another client"),
      ("aud", #"["other"]"#, "the ID token is for another client"),
      ("aud", #"["shop-cli"]"#, nil),
      ("aud", #"["shop-cli","other"]"#, "the ID token was issued to another client"),
      ("aud", #"["shop-cli","other"],"azp":"shop-cli""#, nil),
      (
        "aud", #"["shop-cli","other"],"azp":"other""#, "the ID token was issued to another client"
      ),
      ("azp", #""other""#, "the ID token was issued to another client"),
      ("azp", #""shop-cli""#, nil),
      ("exp", nil, "the ID token has no exp"), ("exp", #""soon""#, "the ID token has no exp"),
      ("exp", "1796047448", "the ID token has expired; check the clocks"),
      ("exp", "1796047460.5", nil), ("exp", "1e308", nil),
      ("exp", "-1e308", "the ID token has expired; check the clocks"),
      ("iat", "1796200000", "the ID token was issued in the future; check the clocks"),
      ("iat", nil, nil), ("iat", "1796047560", nil),
      ("nonce", #""m""#, "the ID token is for another sign-in (nonce)"), ("nonce", nil, nil),
      ("at_hash", #""ypeBEsobvcr6wjGzmiPcTQ""#, nil),
      ("at_hash", #""x""#, "the ID token is for another access token (at_hash)"),
      ("sub", nil, "the ID token has no sub"), ("sub", "7", "the ID token has no sub"),
    ] as [(String, String?, String?)])
  func idTokenClaims(name: String, value: String?, says: String?) throws {
    #expect(try problem(OAuthTable.jwt(Self.claims(name, value))) == says)
  }

  @Test func idTokenForms() throws {
    let good = Self.claims("x", nil)
    #expect(try problem(OAuthTable.jwt(good)) == nil)
    #expect(try problem(nil) == nil)
    #expect(try problem(nil, isRequired: true) == "no ID token in the answer")
    for text in ["x", "a.b", "a.b.c", "..", OAuthTable.jwt("[]"), OAuthTable.jwt(good) + ".x"] {
      #expect(try problem(text) == "the ID token is not a JWT", "\(text)")
    }
    for header in [#"{"alg":"none"}"#, "{}", #"{"alg":null}"#, #"{"alg":7}"#, #"{"alg":"None"}"#] {
      #expect(
        try problem(OAuthTable.jwt(good, header: header)) == "the ID token is not signed",
        "\(header)")
    }
    let without = OAuthTable.jwt(Self.claims("nonce", nil))
    #expect(try problem(without, isRequired: true) == "the ID token has no nonce")
    // Without an issuer in the profile, and without a nonce in the request.
    #expect(try problem(OAuthTable.jwt(Self.claims("iss", nil)), issuer: nil) == nil)
    #expect(try problem(OAuthTable.jwt(Self.claims("nonce", #""m""#)), nonce: nil) == nil)
  }

  // MARK: - Token answers

  private func api() throws -> RecipeClient {
    try OAuthTable.api(try OAuthTable.profile("issuer = \"\(issuer)\""))
  }

  /// A body of a form is read as one, whatever its type is.
  @Test(
    arguments: [
      ("access_token=a%20b&scope=x+y&expires_in=60", "text/plain", "a b"),
      ("scope=x&access_token=t", "application/x-www-form-urlencoded", "t"),
      ("scope=x&access_token=t", "text/plain", nil),
      ("access_token=t&junk", "text/html", nil),
      ("<html>access_token=t</html>", "text/html", nil),
    ] as [(String, String, String?)])
  func formAnswers(body: String, type: String, token: String?) throws {
    let api = try api()
    let answer = try OAuthTable.answer(body, type: type, of: api.profile)
    #expect(try answer.accessToken() == token)
    let many = "access_token=t" + (0..<100).map { "&a\($0)=b" }.joined()
    #expect(try OAuthTable.answer(many, type: type, of: api.profile).accessToken() == nil)
  }

  @Test(
    arguments: [
      ("invalid_grant", 400, Failure.Kind.credentialsRefused, nil),
      ("access_denied", 400, .credentialsRefused, nil),
      ("invalid_client", 401, .credentialsRefused, "oauth.client_id and oauth.client_auth"),
      ("unauthorized_client", 400, .credentialsRefused, "oauth.client_id and oauth.client_auth"),
      ("invalid_scope", 400, .clientError, "oauth.scope"),
      ("invalid_target", 400, .clientError, "oauth.resource and oauth.audience"),
      ("unsupported_grant_type", 400, .clientError, "oauth.grant"),
      ("unsupported_response_type", 400, .clientError, "oauth.grant"),
      ("invalid_request", 400, .clientError, nil),
      ("temporarily_unavailable", 503, .serverError, "try again later"),
      ("server_error", 500, .serverError, "try again later"),
      ("expired_token", 400, .timeout, nil),
    ] as [(String, Int, Failure.Kind, String?)])
  func errorCodesByMeaning(code: String, status: Int, kind: Failure.Kind, hint: String?) throws {
    let api = try api()
    let call = try #require(api.profile.recipe.oauth).deviceRequest
    for body in [
      (#"{"error":"\#(code)","error_description":"Because."}"#, "application/json"),
      ("error=\(code)&error_description=Because.", "text/plain"),
    ] {
      // The code decides, whatever the status.
      for status in [status, 200, 400] {
        let answer = try OAuthTable.answer(body.0, status: status, type: body.1, of: api.profile)
        let failure = OAuthTable.failure {
          try api.refuse(answer, of: call, what: "the sign-in", refused: [])
        }
        #expect(failure?.kind == kind, "\(failure.debugDescription)")
        #expect(failure?.message.contains(code) == true && failure?.server == ["Because."])
        if let hint { #expect(failure?.hint?.contains(hint) == true) }
      }
    }
  }

  @Test func unknownErrorCodes() throws {
    let api = try api()
    let call = try #require(api.profile.recipe.oauth).deviceRequest
    for (status, kind) in [
      (200, Failure.Kind.clientError), (400, .clientError), (500, .serverError),
    ] {
      let answer = try OAuthTable.answer(
        #"{"error":"ate_it"}"#, status: status, of: api.profile)
      let failure = OAuthTable.failure {
        try api.refuse(answer, of: call, what: "the sign-in", refused: [])
      }
      #expect(failure?.kind == kind, "\(status)")
    }
  }

  // MARK: - Device codes

  private func device(_ more: String) throws -> DeviceAuthorization {
    let api = try api()
    return try DeviceAuthorization(
      OAuthTable.answer(#"{"device_code":"d"\#(more)}"#, of: api.profile), api)
  }

  private static let good =
    #","user_code":"WDJB-MJHT","verification_uri":"https://id.shop.example/device""#

  /// Rule B16: the pause is 1 to 60 s, 5 s by default; the codes live half an hour at most.
  @Test(
    arguments: [
      ("", 5, 1800), (#","interval":0,"expires_in":0"#, 1, 1),
      (#","interval":7,"expires_in":60"#, 7, 60), (#","interval":1e9,"expires_in":1e9"#, 60, 1800),
      (#","interval":-1,"expires_in":-1e308"#, 1, 1), (#","interval":1e308"#, 60, 1800),
      (#","interval":"9","expires_in":"90.5""#, 9, 90.5),
      (#","interval":"nan","expires_in":"inf""#, 5, 1800),
      (#","interval":null,"expires_in":[]"#, 5, 1800),
    ] as [(String, Double, Double)])
  func deviceTimes(more: String, interval: Double, life: Double) throws {
    let device = try device(Self.good + more)
    #expect(device.interval == interval)
    #expect(device.expiresAt.seconds == OAuthTable.now.seconds + life)
    #expect(device.userCode == "WDJB-MJHT")
    #expect(device.page.text == "https://id.shop.example/device")
  }

  @Test func olderNameOfThePage() throws {
    let device = try device(
      #","user_code":"a","verification_url":"https://id.shop.example/d","#
        + #""verification_uri_complete":"file:///x""#)
    #expect(device.page.text == "https://id.shop.example/d" && device.completePage == nil)
  }

  /// Nothing of the server's own is shown but a URL and a short code.
  @Test(arguments: [
    #","user_code":"A""#, #","verification_uri":"https://id.shop.example/device""#,
    #","user_code":"","verification_uri":"https://id.shop.example/device""#,
    #","user_code":"A B","verification_uri":"https://id.shop.example/device""#,
    #","user_code":"A\nB","verification_uri":"https://id.shop.example/device""#,
    #","user_code":"\u001b[2J","verification_uri":"https://id.shop.example/device""#,
    #","user_code":"visit-evil.example","verification_uri":"https://id.shop.example/device""#,
    #","user_code":"ABCDEFGHIJKLMNOPQRSTUVWXYZ1234567","verification_uri":"https://h/d""#,
    #","user_code":"é","verification_uri":"https://id.shop.example/device""#,
    #","user_code":"A","verification_uri":"http://id.shop.example/device""#,
    #","user_code":"A","verification_uri":"file:///etc/passwd""#,
    #","user_code":"A","verification_uri":"javascript:alert(1)""#,
    #","user_code":"A","verification_uri":"https://a:b@id.shop.example/""#,
    #","user_code":"A","verification_uri":"https://h/ and enter your PIN""#,
    #","user_code":"A","verification_uri":"https://h/\nhint: x""#,
    #","user_code":"A","verification_uri":"https://h/\u202Ex""#,
    #","user_code":"A","verification_uri":["https://h/"]"#,
  ])
  func hostileDeviceAnswers(_ more: String) {
    let failure = OAuthTable.failure { try device(more) }
    #expect(failure?.kind == .answerNotUnderstood, "\(more): \(failure.debugDescription)")
  }
}
