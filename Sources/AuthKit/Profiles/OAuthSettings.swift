/// The table `[oauth]`: an authorization server that signs in to the API (RFC 6749).
///
/// `OAuthCalls` translates it into the calls of a recipe.
package struct OAuthSettings: Sendable {
  /// How the access token is obtained.
  package enum Grant: String, Sendable, CaseIterable {
    /// By a browser (RFC 6749, section 4.1), always with PKCE (RFC 7636).
    case authorizationCode = "authorization-code"
    /// By a browser on another device (RFC 8628).
    case deviceCode = "device-code"
    /// As the client itself (RFC 6749, section 4.4).
    case clientCredentials = "client-credentials"
    /// By name and password (RFC 6749, section 4.3).
    case password
    /// By an assertion: a token from elsewhere, or one that the client's key signs (RFC 7523,
    /// section 2.1).
    case jwtBearer = "jwt-bearer"
    /// By a token from elsewhere, which is exchanged (RFC 8693).
    case tokenExchange = "token-exchange"

    /// The parameter `grant_type`.
    package var type: String {
      switch self {
      case .authorizationCode: "authorization_code"
      case .deviceCode: "urn:ietf:params:oauth:grant-type:device_code"
      case .clientCredentials: "client_credentials"
      case .password: "password"
      case .jwtBearer: "urn:ietf:params:oauth:grant-type:jwt-bearer"
      case .tokenExchange: "urn:ietf:params:oauth:grant-type:token-exchange"
      }
    }
  }

  /// How the client proves who it is (OpenID Connect Core 1.0, section 9).
  package enum ClientAuthentication: String, Sendable, CaseIterable {
    /// Not at all: a public client.
    case none
    /// By HTTP Basic, id and secret form-encoded (RFC 6749, section 2.3.1).
    case basic = "client_secret_basic"
    /// By the parameter `client_secret`.
    case post = "client_secret_post"
    /// By an assertion under a MAC of the client secret (OpenID Connect Core 1.0, section 9).
    case secretJWT = "client_secret_jwt"
    /// By an assertion that the client's key signs (RFC 7523).
    case privateKeyJWT = "private_key_jwt"
    /// By the client certificate of `[network]`, from an authority (RFC 8705, section 2.1).
    case tls = "tls_client_auth"
    /// By the client certificate of `[network]`, whose key is registered (RFC 8705, section 2.2).
    case selfSignedTLS = "self_signed_tls_client_auth"

    /// Whether the client has a secret.
    package var usesSecret: Bool { self == .basic || self == .post || self == .secretJWT }

    /// Whether the client shows a certificate to the authorization server.
    package var showsCertificate: Bool { self == .tls || self == .selfSignedTLS }
  }

  /// A URL of the authorization server, by its name in the metadata (RFC 8414, section 2; RFC 8628,
  /// section 4; RFC 9126, section 5; OpenID Connect Discovery 1.0, section 3).
  package enum Endpoint: String, Sendable, CaseIterable {
    case authorization = "authorization_endpoint"
    case token = "token_endpoint"
    case deviceAuthorization = "device_authorization_endpoint"
    case revocation = "revocation_endpoint"
    case introspection = "introspection_endpoint"
    case userinfo = "userinfo_endpoint"
    case registration = "registration_endpoint"
    case pushedAuthorization = "pushed_authorization_request_endpoint"
    case endSession = "end_session_endpoint"
    case keys = "jwks_uri"

    /// The placeholder of its URL, which a session keeps.
    var name: Template.Name { .session(rawValue) }
  }

  /// The issuer, whose metadata has the endpoints; compared as bytes.
  package var issuer: String?
  /// Endpoints that the profile names; they take precedence over the metadata.
  package var endpoints: [Endpoint: String] = [:]
  /// The grant; nil if the sign-in chooses.
  package var grant: Grant?
  package var clientID: String?
  /// Whether authctl has registered the client itself, and may do so again.
  package var isRegistered = false
  /// nil if the metadata decides.
  package var clientAuthentication: ClientAuthentication?
  /// The file with the client's private key, in PEM.
  package var clientKey: String?
  /// The scopes to ask for, separated by spaces (RFC 6749, section 3.3).
  package var scope: String?
  /// The parameter `audience`.
  package var audience: String?
  /// The APIs that the token is for (RFC 8707).
  package var resources: [String] = []
  /// Further parameters of the authorization request.
  package var parameters: [RecipeRequest.Pair] = []
  /// Further parameters of token requests.
  var tokenParameters: [RecipeRequest.Pair] = []
  /// The host of the redirect URI: `127.0.0.1`, `[::1]` or `localhost` (rule A14).
  package var redirectHost = "127.0.0.1"
  /// The port of the redirect URI; 0 for any free one (RFC 8252, section 7.3).
  package var redirectPort: UInt16 = 0
  /// The path of the redirect URI.
  package var redirectPath = "/callback"
  /// Whether the parameters of the authorization request go to the server first, and only a
  /// reference to them through the browser (RFC 9126).
  package var isPushed = false
  /// Whether tokens are bound to a key, which each request proves to have (RFC 9449).
  package var bindsTokens = false
  /// The type of the token that is exchanged (RFC 8693, section 3). A sign-in says it; no key does.
  package var subjectTokenType = "urn:ietf:params:oauth:token-type:access_token"
  /// Whether the sign-in fails without an ID token.
  package var requiresIDToken = false

  init() {}

  /// Whether the client has a key or a certificate, and so needs no secret.
  package var hasKey: Bool { clientKey != nil || clientAuthentication?.showsCertificate ?? false }

  /// The parameters that authctl sets itself (rule A15).
  package static let ownParameters = [
    "client_id", "client_secret", "redirect_uri", "request_uri", "response_type", "response_mode",
    "state", "nonce", "scope", "code", "code_challenge", "code_challenge_method", "code_verifier",
    "grant_type", "refresh_token", "client_assertion", "client_assertion_type", "device_code",
    "dpop_jkt", "assertion", "subject_token", "subject_token_type",
  ]

  /// Whether `settings` of a profile are for an authorization server that neither they nor their
  /// preset name.
  package static func lackServer(in settings: [(key: String, value: JSONValue)]) -> Bool {
    let preset = settings.first { $0.key == "preset" }?.value.text.flatMap(Presets.text)
    let document = preset.flatMap { try? TOMLDocument($0, label: "preset") }
    func isSet(_ name: String) -> Bool {
      settings.contains { $0.key == "oauth.\(name)" }
        || document?.value(at: ["oauth", name]) != nil
    }
    let isOAuth =
      settings.contains { $0.key.utf8.starts(with: "oauth.".utf8) }
      || document?.value(at: ["oauth"]) != nil
    return isOAuth && !isSet("issuer") && !isSet("token_endpoint")
  }
}

extension RecipeReader {
  /// Reads `[oauth]`; nil without it.
  func oauth() throws(Failure) -> OAuthSettings? {
    guard values.firstKey(of: "oauth") != nil else { return nil }
    var oauth = OAuthSettings()
    oauth.issuer = try oauthURL("issuer")
    for endpoint in OAuthSettings.Endpoint.allCases {
      oauth.endpoints[endpoint] = try oauthURL(endpoint.rawValue, isEndpoint: true)
    }
    oauth.grant = try values.choice("oauth.grant", of: OAuthSettings.Grant.self)
    oauth.clientAuthentication = try values.choice(
      "oauth.client_auth", of: OAuthSettings.ClientAuthentication.self)
    oauth.clientID = try values.text("oauth.client_id")
    oauth.isRegistered = try values.flag("oauth.registered") ?? false
    oauth.clientKey = try fileName("oauth.client_key")
    oauth.scope = try values.texts("oauth.scope")?.joined(separator: " ")
    oauth.audience = try values.text("oauth.audience")
    oauth.resources = try values.texts("oauth.resource") ?? []
    oauth.parameters = try oauthParameters("oauth.parameters")
    oauth.tokenParameters = try oauthParameters("oauth.token_parameters")
    oauth.bindsTokens = try values.flag("oauth.dpop") ?? false
    try readRedirect(into: &oauth)
    oauth.isPushed = try values.flag("oauth.pushed") ?? false
    oauth.requiresIDToken =
      try values.word("oauth.id_token", of: ["optional", "required"]) == "required"
    guard oauth.issuer != nil || oauth.endpoints[.token] != nil else {
      throw values.failure(
        table: "oauth", "has no issuer and no token_endpoint",
        hint: "add issuer = \"https://id.example.com\"")
    }
    return oauth
  }

  /// - Parameter isEndpoint: whether a path is at the origin of the API, as in presets of products
  ///   that are both API and authorization server.
  private func oauthURL(_ name: String, isEndpoint: Bool = false) throws(Failure) -> String? {
    guard var text = try values.text("oauth.\(name)") else { return nil }
    if isEndpoint, text.utf8.first == UInt8(ascii: "/") {
      guard let base = try values.text("url").flatMap({ try? WebURL($0, from: .person) }) else {
        return text
      }
      text = base.origin.description + text
    }
    if let problem = URLText.problemOfBase(text) {
      throw values.failure("oauth.\(name)", nil, problem)
    }
    return text
  }

  private func readRedirect(into oauth: inout OAuthSettings) throws(Failure) {
    let hosts = ["127.0.0.1", "[::1]", "localhost"]
    if let host = try values.word("oauth.redirect_host", of: hosts) { oauth.redirectHost = host }
    if let port = try values.wholeNumber("oauth.redirect_port", 0...65535) {
      oauth.redirectPort = UInt16(port)
    }
    if let path = try values.text("oauth.redirect_path") {
      let problem = URLText.problemOfPath(Array(path.utf8)[...])
      guard path.utf8.first == UInt8(ascii: "/"), problem == nil else {
        throw values.failure("oauth.redirect_path", nil, problem ?? "must begin with /")
      }
      oauth.redirectPath = path
    }
  }

  /// Reads further parameters of requests. Those that the protocol sets cannot be set by hand
  /// (rule A15).
  private func oauthParameters(_ key: String) throws(Failure) -> [RecipeRequest.Pair] {
    var pairs: [RecipeRequest.Pair] = []
    for (name, text) in try values.textMembers(key) ?? [] {
      guard !OAuthSettings.ownParameters.contains(name.asciiLowercased) else {
        throw values.failure(key, name, "authctl sets this parameter itself")
      }
      let value = try template(text, key, name)
      guard value.names.isEmpty else {
        throw values.failure(key, name, "must have no placeholders")
      }
      try refuseStaticSecret(value, key, name, name: name)
      pairs.append(RecipeRequest.Pair(name: name, value: value))
    }
    return pairs
  }
}
