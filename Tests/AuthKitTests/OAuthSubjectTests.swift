import Testing

@testable import AuthKit

/// Sign-ins with a token from elsewhere: RFC 8693, RFC 7523, and the jobs of GitHub Actions.
@Suite struct OAuthSubjectTests {
  private static let issuer = "issuer = \"https://id.shop.example\"\n"

  private func names(_ call: RecipeRequest?) -> [String] {
    guard case .object(let fields)? = call?.body else { return [] }
    return fields.map(\.name)
  }

  @Test func tokenRequests() throws {
    let client = ["client_id", "client_secret", "client_assertion_type", "client_assertion"]
    let wishes = ["scope", "audience", "resource"]
    let more = "scope = \"read\"\naudience = \"shop\"\nresource = \"https://api.shop.example\"\n"
    let exchange = try OAuthTable.profile(Self.issuer + more + "grant = \"token-exchange\"")
    #expect(
      names(exchange.recipe.login)
        == ["grant_type", "subject_token", "subject_token_type"] + wishes + client)
    let bearer = try OAuthTable.profile(Self.issuer + more + "grant = \"jwt-bearer\"")
    #expect(names(bearer.recipe.login) == ["grant_type", "assertion"] + wishes + client)
    #expect(
      names(bearer.recipe.again)
        == [
          "grant_type", "username", "password", "assertion", "subject_token", "subject_token_type",
          "scope", "audience",
        ] + client + ["resource"])
    #expect(bearer.recipe.again?.isEndpoint == true && bearer.recipe.again?.encoding == .form)
    let oauth = try #require(exchange.recipe.oauth)
    #expect(oauth.grant == .tokenExchange)
    #expect(oauth.subjectTokenType == "urn:ietf:params:oauth:token-type:access_token")
    #expect(
      OAuthSettings.Grant.jwtBearer.type == "urn:ietf:params:oauth:grant-type:jwt-bearer"
        && OAuthSettings.Grant.tokenExchange.type
          == "urn:ietf:params:oauth:grant-type:token-exchange"
    )
  }

  /// RFC 8693, section 3.
  @Test func tokenTypes() throws {
    for name in ["access_token", "refresh_token", "id_token", "jwt", "saml1", "saml2"] {
      let type = "urn:ietf:params:oauth:token-type:" + name
      #expect(try OAuthSettings.tokenType(name) == type)
      #expect(try OAuthSettings.tokenType(type) == type)
    }
    #expect(try OAuthSettings.tokenType("https://shop.example/t") == "https://shop.example/t")
    for text in ["", "JWT", "token", "urn: x", "a:\u{E9}", "a:\r\nb"] {
      #expect(OAuthTable.failure { try OAuthSettings.tokenType(text) }?.kind == .usage, "\(text)")
    }
  }

  // MARK: - The job's token (rule B17)

  private static let path = "/x/00000000/_apis/idtoken?api-version=2.0"

  @Test(
    arguments: [
      ("https://pipelines.actions.githubusercontent.com", nil),
      ("https://run-actions-1-azure-eastus.actions.githubusercontent.com", nil),
      ("https://PIPELINES.Actions.GitHubUserContent.com", nil),
      ("https://pipelines.actions.githubusercontent.com", "github.example.com"),
      ("https://github.example.com", "github.example.com"),
      ("https://github.example.com:8443", "GitHub.example.com"),
      ("http://127.0.0.1:8080", "127.0.0.1"), ("http://[::1]:8080", "[::1]"),
      ("http://localhost:8080", "localhost"),
    ] as [(String, String?)])
  func jobMayAsk(origin: String, host: String?) throws {
    let job = try JobToken(origin + Self.path, host: host, audience: "a b&c=d")
    #expect(job.url.query == "api-version=2.0&audience=a%20b%26c%3Dd")
    #expect(job.url.path == "/x/00000000/_apis/idtoken")
    let plain = try JobToken(origin + "/token", host: host, audience: "shop")
    #expect(plain.url.query == "audience=shop")
  }

  @Test(
    arguments: [
      ("http://pipelines.actions.githubusercontent.com", nil),
      ("https://github.com", nil), ("https://actions.githubusercontent.com", nil),
      ("https://.actions.githubusercontent.com", nil),
      ("https://evilactions.githubusercontent.com", nil),
      ("https://x.actions.githubusercontent.com.evil.example", nil),
      ("https://x.actions.githubusercontent.com.", nil),
      ("https://evil.example/.actions.githubusercontent.com", nil),
      ("https://evil.example#.actions.githubusercontent.com", nil),
      ("https://evil.example?.actions.githubusercontent.com", nil),
      ("https://evil.example\\@x.actions.githubusercontent.com", nil),
      ("https://x.actions.githubusercontent.com@evil.example", nil),
      ("https://a:b@x.actions.githubusercontent.com", nil),
      ("https://x.actions.githubusercontent.com\r\n", nil),
      ("https://x.acti\u{43E}ns.githubusercontent.com", nil),
      ("file:///etc/passwd", nil), ("//x.actions.githubusercontent.com", nil), ("x", nil),
      ("http://127.0.0.1:8080", nil), ("https://127.0.0.1:8080", nil),
      ("http://github.example.com", "github.example.com"),
      ("https://github.example.com.evil.example", "github.example.com"),
      ("https://evil.github.example.com", "github.example.com"),
      ("https://127.0.0.1", "localhost"),
    ] as [(String, String?)])
  func hostileJobVariable(origin: String, host: String?) {
    let failure = OAuthTable.failure {
      try JobToken(origin + Self.path, host: host, audience: "shop")
    }
    #expect(failure?.kind == .originRefused, "\(origin): \(failure?.message ?? "accepted")")
    #expect(failure?.message.contains("ACTIONS_ID_TOKEN_REQUEST_URL") == true)
  }

  /// Whoever sets the variable does not choose the audience either.
  @Test func audienceInTheVariable() {
    for query in ["?audience=sts.example", "?x=1&audience=a", "?%61udience=a", "?audience"] {
      let failure = OAuthTable.failure {
        try JobToken(
          "https://x.actions.githubusercontent.com/t" + query, host: nil, audience: "shop")
      }
      #expect(failure?.kind == .originRefused, "\(query)")
    }
  }

  @Test(arguments: ["", "https://x", "a/b", "a?b", "a:80", "a@b", "a b", "a.", ":", "a\r\nb"])
  func hostsThatAreNone(host: String) {
    let failure = OAuthTable.failure {
      try JobToken(
        "https://x.actions.githubusercontent.com/t", host: host, audience: "shop")
    }
    #expect(failure?.kind == .usage, "\(host): \(failure?.message ?? "accepted")")
  }

  // MARK: - The kept command

  @Test func keptCommandIsStoredWithWhatItPrints() throws {
    let home = try Origin("https://api.shop.example")
    for name in [Template.Name.password, OAuthSettings.subjectToken] {
      var session = Session(
        profile: "shop", account: "ada", values: TemplateValues(), now: OAuthTable.now,
        requestOrigins: [home], signInOrigins: [home])
      session.reauthentication = Session.Reauthentication(
        command: SharedSecret("cat token"), name: name)
      let payload = try session.payload()
      let read = try Session(payload: payload, profile: "shop", account: "ada").reauthentication
      #expect(read?.name == name && read?.command.text == "cat token")
      #expect(read?.isPassword == (name == .password))
    }
  }
}
