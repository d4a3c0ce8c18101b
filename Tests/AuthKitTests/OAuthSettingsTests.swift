import Testing

@testable import AuthKit

private let issuer = "issuer = \"https://id.shop.example\"\n"

/// The table `[oauth]`, and its translation into the calls of a recipe.
@Suite struct OAuthSettingsTests {
  @Test func everyKey() throws {
    let oauth = try OAuthTable.settings(
      """
      issuer = "https://id.shop.example/tenant"
      token_endpoint = "https://id.shop.example/t"
      grant = "device-code"
      client_id = "https://shop.example/client.json"
      client_auth = "client_secret_post"
      scope = ["openid", "offline_access"]
      audience = "shop"
      resource = ["https://api.shop.example", "https://b.shop.example"]
      parameters = { prompt = "consent", access_type = "offline" }
      token_parameters = { tenant = "7" }
      redirect_host = "[::1]"
      redirect_port = 8400
      redirect_path = "/done"
      id_token = "required"
      """)
    #expect(oauth.issuer == "https://id.shop.example/tenant")
    #expect(oauth.endpoints == [.token: "https://id.shop.example/t"])
    #expect(oauth.grant == .deviceCode && oauth.clientAuthentication == .post)
    #expect(oauth.clientID == "https://shop.example/client.json" && !oauth.isRegistered)
    #expect(oauth.scope == "openid offline_access" && oauth.audience == "shop")
    #expect(oauth.resources == ["https://api.shop.example", "https://b.shop.example"])
    #expect(oauth.parameters.map(\.name) == ["prompt", "access_type"])
    #expect(oauth.tokenParameters.map(\.name) == ["tenant"])
    #expect(oauth.redirectHost == "[::1]" && oauth.redirectPort == 8400)
    #expect(oauth.redirectPath == "/done" && oauth.requiresIDToken)
    let plain = try OAuthTable.settings(issuer)
    #expect(plain.redirectHost == "127.0.0.1" && plain.redirectPort == 0)
    #expect(plain.redirectPath == "/callback" && plain.grant == nil && plain.scope == nil)
    #expect(!plain.requiresIDToken && plain.resources == [] && plain.clientID == nil)
    #expect(try OAuthTable.settings(issuer + "scope = \"a b\"").scope == "a b")
  }

  /// Each with its place; the table begins on line 3.
  static let mistakes: [(text: String, place: String, says: String)] = [
    ("grant = \"password\"", "2:1: oauth", "has no issuer and no token_endpoint"),
    (issuer + "grant = \"implicit\"", "4:1: oauth.grant", "authorization-code"),
    (issuer + "client_auth = \"basic\"", "4:1: oauth.client_auth", "client_secret_basic"),
    (issuer + "redirect_host = \"0.0.0.0\"", "4:1: oauth.redirect_host", "127.0.0.1"),
    (issuer + "redirect_host = \"localhost.\"", "4:1: oauth.redirect_host", "127.0.0.1"),
    (issuer + "redirect_port = 65536", "4:1: oauth.redirect_port", "65535"),
    (issuer + "redirect_port = -1", "4:1: oauth.redirect_port", "65535"),
    (issuer + "redirect_path = \"callback\"", "4:1: oauth.redirect_path", "must begin with /"),
    (issuer + "redirect_path = \"/a b\"", "4:1: oauth.redirect_path", ""),
    (issuer + "redirect_path = \"/a\\r\\nX: y\"", "4:1: oauth.redirect_path", ""),
    (issuer + "id_token = \"maybe\"", "4:1: oauth.id_token", "required"),
    (issuer + "pkce = false", "4:1: unknown key oauth.pkce", ""),
    ("issuer = \"file:///etc/passwd\"", "3:1: oauth.issuer", "must begin with http"),
    ("issuer = \"https://id.shop.example?a=b\"", "3:1: oauth.issuer", "must not have a query"),
    ("issuer = \"https://a:b@id.shop.example\"", "3:1: oauth.issuer", ""),
    ("token_endpoint = \"-x\"", "3:1: oauth.token_endpoint", "must begin with http"),
    (
      issuer + "authorization_endpoint = \"javascript:1\"", "4:1: oauth.authorization_endpoint",
      "must begin with http"
    ),
    (
      issuer + "parameters = { a = \"{username}\" }", "4:16: oauth.parameters.a",
      "must have no placeholders"
    ),
    (
      issuer + "parameters = { api_token = \"x\" }", "4:16: oauth.parameters.api_token", ""
    ),
  ]

  @Test(arguments: mistakes)
  func mistakesHaveTheirPlace(text: String, place: String, says: String) {
    let failure = OAuthTable.failure { try OAuthTable.profile(text) }
    #expect(failure?.kind == .usage, "\(text)")
    let message = failure?.message ?? "accepted"
    #expect(message.utf8.starts(with: "shop.toml:\(place)".utf8), "\(message)")
    #expect(message.contains(says), "\(message)")
  }

  /// Rule A15.
  @Test func whatTheProtocolSetsCannotBeSetByHand() {
    let names = [
      "client_id", "client_secret", "redirect_uri", "response_type", "response_mode", "state",
      "nonce", "scope", "code", "code_challenge", "code_challenge_method", "code_verifier",
      "grant_type", "refresh_token", "client_assertion", "client_assertion_type", "State",
      "assertion", "subject_token", "subject_token_type",
      "CODE_CHALLENGE_METHOD",
    ]
    for key in ["parameters", "token_parameters"] {
      for name in names {
        let failure = OAuthTable.failure {
          try OAuthTable.profile(issuer + "\(key) = { \(name) = \"plain\" }")
        }
        #expect(failure?.kind == .usage, "\(key) \(name)")
        #expect(
          failure?.message.hasSuffix(
            "oauth.\(key).\(name): authctl sets this parameter itself") == true,
          "\(failure?.message ?? "accepted")")
      }
    }
  }

  @Test func translation() throws {
    let profile = try OAuthTable.profile(
      issuer + """
        grant = "password"
        scope = "a b"
        audience = "shop"
        resource = ["https://api.shop.example"]
        token_parameters = { tenant = "7" }
        """)
    let recipe = profile.recipe
    func names(_ call: RecipeRequest?) -> [String] {
      guard case .object(let fields)? = call?.body else { return [] }
      return fields.map(\.name)
    }
    let client = ["client_id", "client_secret", "client_assertion_type", "client_assertion"]
    #expect(
      names(recipe.login)
        == ["grant_type", "username", "password", "scope", "audience", "resource", "tenant"]
        + client)
    #expect(
      names(recipe.refresh)
        == ["grant_type", "refresh_token", "assertion", "scope", "audience", "tenant"] + client
        + ["resource"])
    #expect(names(recipe.logout) == ["token", "token_type_hint"] + client + ["client_secret"])
    #expect(
      names(recipe.secondLogout) == ["token", "token_type_hint"] + client + ["client_secret"])
    #expect(names(recipe.introspection) == ["token"] + client)
    #expect(recipe.whoami?.method == "GET" && recipe.whoami?.isEndpoint == true)
    #expect(recipe.unregister?.method == "DELETE")
    for call in [recipe.login, recipe.refresh, recipe.logout, recipe.introspection] {
      #expect(call?.isEndpoint == true && call?.encoding == .form && call?.method == "POST")
    }
    let oauth = try #require(recipe.oauth)
    #expect(
      names(oauth.tokenRequest(.authorizationCode))
        == ["grant_type", "code", "redirect_uri", "code_verifier", "resource", "tenant"] + client)
    #expect(
      names(oauth.tokenRequest(.deviceCode))
        == ["grant_type", "device_code", "resource", "tenant"] + client)
    #expect(
      names(oauth.tokenRequest(.clientCredentials))
        == ["grant_type", "scope", "audience", "resource", "tenant"] + client)
    #expect(
      names(oauth.deviceRequest) == ["scope", "audience", "resource", "tenant"] + client)
  }

  /// `[session]` and `[whoami]` of the profile take precedence.
  @Test func ownPlacesWin() throws {
    let profile = try OAuthTable.profile(
      issuer, more: "[session]\naccess_token = \"/t\"\n[whoami]\npath = \"/me\"")
    guard case .pointer("/t")? = profile.recipe.session.accessToken.first else {
      Issue.record("\(profile.recipe.session.accessToken)")
      return
    }
    #expect(profile.recipe.whoami?.isEndpoint == false)
  }

  // MARK: - Metadata

  @Test func metadataAndEndpointsByHand() throws {
    let more =
      #""token_endpoint_auth_methods_supported":["client_secret_post"],"#
      + #""authorization_response_iss_parameter_supported":true"#
    let server = try OAuthTable.server(
      issuer + "userinfo_endpoint = \"https://api.shop.example/me\"", OAuthTable.metadata(more))
    #expect(server.endpoints[.token] == "https://id.shop.example/token")
    #expect(server.endpoints[.userinfo] == "https://api.shop.example/me")
    #expect(server.namesItselfInAnswers)
    #expect(server.authenticationMethods == ["client_secret_post"])
    let byHand = try OAuthTable.server("token_endpoint = \"https://id.shop.example/t\"", nil)
    #expect(byHand.issuer == nil && !byHand.namesItselfInAnswers)
    #expect(OAuthTable.failure { try byHand.url(of: .revocation, for: "x") }?.kind == .usage)
    #expect(
      try OAuthTable.server(issuer + "token_endpoint = \"https://id.shop.example/t\"", nil)
        .endpoints == [.token: "https://id.shop.example/t"])
  }

  /// Rule A15: the issuer byte by byte, and only URLs that nobody reads along. Rule A11: nothing
  /// that a browser could take for an option or a program.
  @Test(
    arguments: [
      #"{"issuer":"https://id.shop.example/"}"#, #"{"issuer":"https://ID.shop.example"}"#,
      #"{"issuer":"https://id.shop.example/{tenantid}"}"#, #"{"issuer":null}"#, "{}", "[]",
      #"{"issuer":["https://id.shop.example"]}"#,
    ]
      + ([
        "http://id.shop.example/token", "http://127.0.0.1:80/token", "file:///etc/passwd", "-x",
        "--config=/tmp/x", "javascript:alert(1)", "$(id)", "https://id.shop.example/$(id) x",
        "https://id.shop.example/a b", "https://id.shop.example/a\\nb",
        "https://id.shop.example/#x",
        "https://a:b@id.shop.example/", "//id.shop.example/token", "/token", "", "https://",
        "https://id.shop.example/\u{202E}", "https://id.shop.example/\\\"x",
        "ftp://id.shop.example/",
      ].map { OAuthTable.metadata(#""revocation_endpoint":"\#($0)""#) }))
  func hostileMetadata(_ text: String) {
    let failure = OAuthTable.failure { try OAuthTable.server(issuer, text) }
    #expect(failure?.kind == .answerNotUnderstood, "\(text): \(failure.debugDescription)")
  }

  /// Plain HTTP is for this machine, where the issuer is on it too.
  @Test func plainHTTPToThisMachine() throws {
    let local = "issuer = \"http://127.0.0.1:80\"\n"
    let server = try OAuthTable.server(
      local, #"{"issuer":"http://127.0.0.1:80","token_endpoint":"http://[::1]:81/t"}"#)
    #expect(server.endpoints[.token] == "http://[::1]:81/t")
    for text in ["http://id.shop.example/t", "http://localhost.evil.example/t"] {
      let failure = OAuthTable.failure {
        try OAuthTable.server(
          local, #"{"issuer":"http://127.0.0.1:80","token_endpoint":"\#(text)"}"#)
      }
      #expect(failure?.kind == .answerNotUnderstood)
      #expect(
        OAuthTable.failure { try OAuthTable.server("token_endpoint = \"\(text)\"", nil) }?.kind
          == .answerNotUnderstood)
      #expect(
        OAuthTable.failure {
          try OAuthTable.server(issuer + "token_endpoint = \"\(text)\"", nil)
        }?.kind == .answerNotUnderstood)
    }
  }

  @Test func withoutMetadata() {
    let failure = OAuthTable.failure { try OAuthTable.server(issuer, nil) }
    #expect(failure?.kind == .answerNotUnderstood)
    #expect(
      failure?.message
        == "https://id.shop.example has no authorization server metadata (RFC 8414)")
  }

  // MARK: - Client authentication

  @Test func howTheClientProvesWhoItIs() throws {
    let post = OAuthTable.metadata(
      #""token_endpoint_auth_methods_supported":["client_secret_post"]"#)
    let both = OAuthTable.metadata(
      #""token_endpoint_auth_methods_supported":["client_secret_post","client_secret_basic"]"#)
    let silent = OAuthTable.metadata()
    for (oauth, metadata, isBasic) in [
      ("", silent, true), ("", both, true), ("", post, false),
      ("client_auth = \"client_secret_post\"", silent, false),
      ("client_auth = \"client_secret_basic\"", post, true),
    ] {
      let client = try OAuthTable.client(oauth, secret: "s3cr:t &+%", metadata: metadata)
      let credential = client.credential
      // Form-encoded, then joined (RFC 6749, section 2.3.1).
      let expected = base64URL(Array("shop-cli:s3cr%3At+%26%2B%25".utf8))
      #expect(
        credential[OAuthSettings.clientBasic].map { base64Text($0.text) }
          == (isBasic ? expected : nil))
      #expect(credential[.clientSecret]?.text == (isBasic ? nil : "s3cr:t &+%"))
    }
    #expect(try OAuthTable.client().credential.all.isEmpty)
    #expect(
      try OAuthTable.client("client_auth = \"none\"", secret: "x").credential.all.isEmpty)
    let failure = OAuthTable.failure {
      try OAuthTable.client("client_auth = \"client_secret_post\"")
    }
    #expect(failure?.kind == .inputNeeded)
  }

  /// base64 in the alphabet of base64url, without padding.
  private func base64Text(_ text: String) -> String {
    String(
      decoding: text.utf8.filter { $0 != UInt8(ascii: "=") }.map {
        $0 == UInt8(ascii: "+")
          ? UInt8(ascii: "-") : $0 == UInt8(ascii: "/") ? UInt8(ascii: "_") : $0
      }, as: UTF8.self)
  }
}
