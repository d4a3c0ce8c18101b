/// `[oauth]` in the words of a recipe: requests that are sent, renewed, stored and reported like
/// those of any other API.
///
/// The URLs of the authorization server and what the client is known by are values of the session,
/// `{session.token_endpoint}` and so on: a sign-in learns them and fixes them.
extension OAuthSettings {
  /// The placeholder of the client ID, which a session keeps.
  package static let clientID = Template.Name.session("client_id")
  /// The placeholder of id and secret in base64, for `client_secret_basic`; else without a value.
  package static let clientBasic = Template.Name.session("client_basic")
  /// The placeholders of the client's assertion and its type, which are made for each request
  /// (RFC 7523, section 2.2).
  static let assertion = Template.Name.session("client_assertion")
  static let assertionType = Template.Name.session("client_assertion_type")
  /// What the session keeps for them: the method, the algorithm of the key, the client secret.
  static let clientMethod = Template.Name.session("client_auth")
  static let clientAlgorithm = Template.Name.session("client_alg")
  static let assertionSecret = Template.Name.session("assertion_secret")
  /// The placeholder of the `grant_type` that renews the session; without a value none does.
  package static let renewalGrant = Template.Name.session("renewal_grant")
  /// Its value for a renewal by the refresh token (RFC 6749, section 6).
  static let refreshGrant = "refresh_token"
  /// The placeholders of scope and audience of a new token request, for a session that renews
  /// itself by one.
  package static let renewalScope = Template.Name.session("renewal_scope")
  package static let renewalAudience = Template.Name.session("renewal_audience")
  /// The placeholder of the APIs that every new token is for, separated by spaces (RFC 8707, section
  /// 2): those of the sign-in.
  static let renewalResource = Template.Name.session("renewal_resource")
  /// The placeholders of a token from elsewhere: to exchange, or as an assertion. What a session
  /// keeps to have its own assertion signed for each request: the subject.
  static let subjectToken = Template.Name.taken("subject_token")
  static let bearerAssertion = Template.Name.taken("assertion")
  static let assertionSubject = Template.Name.session("assertion_sub")
  /// What a session keeps to sign in again with what its kept command prints.
  static let againGrant = Template.Name.session("again_grant")
  static let againUser = Template.Name.session("again_user")
  static let againTokenType = Template.Name.session("again_token_type")
  static let againScope = Template.Name.session("again_scope")
  static let againAudience = Template.Name.session("again_audience")
  /// The placeholder of the granted scope.
  package static let grantedScope = Template.Name.session("scope")
  /// The placeholder of the ID token (OpenID Connect Core 1.0, section 2).
  package static let idToken = Template.Name.session("id_token")

  /// The placeholders of the URL and the token that end the client's registration (RFC 7592).
  static let registrationURL = Template.Name.session("registration_client_uri")
  static let registrationToken = Template.Name.session("registration_access_token")

  /// Has a value if a public client has to end its tokens with an empty client secret.
  static let noSecret = Template.Name.session("no_secret")

  /// What the session keeps by these names, for templates of the profile.
  static let keptNames = ["id_token", "scope", "client_id"]

  /// Puts the requests of the authorization server into `recipe` and says where its answers keep
  /// values, except where the profile does.
  func translate(into recipe: inout Recipe, isSet: (_ key: String) -> Bool) {
    recipe.oauth = self
    recipe.login = grant.map(tokenRequest)
    recipe.refresh = renewal
    recipe.again = again
    recipe.logout = revocation(of: .refreshToken)
    recipe.secondLogout = revocation(of: .accessToken)
    recipe.introspection = clientRequest(
      to: .introspection, [("token", [.value(.accessToken)])])
    recipe.unregister = RecipeRequest(endpoint: Self.registrationURL)
    recipe.unregister?.method = "DELETE"
    recipe.unregister?.encoding = .none
    recipe.unregister?.headers = [
      RecipeRequest.Pair(
        name: "Authorization",
        value: Template(
          pieces: [.text("Bearer "), .value(Self.registrationToken)], optionalNames: []))
    ]
    if !isSet("whoami.path") {
      recipe.whoami = Self.userinfoRequest
    }
    recipe.session.useOAuth(isSet: isSet)
  }

  /// The token request of a grant (RFC 6749, section 4), with the values that the grant needs.
  package func tokenRequest(_ grant: Grant) -> RecipeRequest {
    var fields: [(String, [Template.Piece])] = [("grant_type", [.text(grant.type)])]
    switch grant {
    case .authorizationCode:
      for name in ["code", "redirect_uri", "code_verifier"] {
        fields.append((name, [.value(.taken(name))]))
      }
    case .deviceCode: fields.append(("device_code", [.value(.taken("device_code"))]))
    case .password:
      fields += [("username", [.value(.username)]), ("password", [.value(.password)])]
    case .clientCredentials: break
    case .jwtBearer: fields.append(("assertion", [.value(Self.bearerAssertion)]))
    case .tokenExchange:
      fields += [
        ("subject_token", [.value(Self.subjectToken)]),
        ("subject_token_type", [.text(subjectTokenType)]),
      ]
    }
    // The other two have them in the request before.
    if grant != .authorizationCode, grant != .deviceCode { fields += wishes }
    return clientRequest(to: .token, adjusted(fields + recipients))
  }

  /// The request for the claims about the user (OpenID Connect Core 1.0, section 5.3).
  static var userinfoRequest: RecipeRequest {
    var call = RecipeRequest(endpoint: Endpoint.userinfo.name)
    call.method = "GET"
    call.authorization = .access
    call.encoding = .none
    return call
  }

  /// The request that starts a sign-in on another device (RFC 8628, section 3.1).
  package var deviceRequest: RecipeRequest {
    clientRequest(to: .deviceAuthorization, adjusted(wishes + recipients))
  }

  /// The renewal: by the refresh token (RFC 6749, section 6) or, for a client that signs in as
  /// itself or signs its assertions, by a new token request.
  private var renewal: RecipeRequest {
    let fields: [(String, Template.Name)] = [
      ("grant_type", Self.renewalGrant), ("refresh_token", .refreshToken),
      ("assertion", Self.bearerAssertion), ("scope", Self.renewalScope),
      ("audience", Self.renewalAudience),
    ]
    return clientRequest(
      to: .token, adjusted(fields.map { ($0.0, [.value($0.1)]) }),
      optional: [
        .refreshToken, Self.bearerAssertion, Self.renewalScope, Self.renewalAudience,
      ], more: [Self.sameRecipients])
  }

  /// A new token request with the password or the token that a kept command prints.
  private var again: RecipeRequest {
    let fields: [(String, Template.Name)] = [
      ("grant_type", Self.againGrant), ("username", Self.againUser), ("password", .password),
      ("assertion", Self.bearerAssertion),
      ("subject_token", Self.subjectToken), ("subject_token_type", Self.againTokenType),
      ("scope", Self.againScope), ("audience", Self.againAudience),
    ]
    return clientRequest(
      to: .token, adjusted(fields.map { ($0.0, [.value($0.1)]) }),
      optional: fields.dropFirst().map(\.1), more: [Self.sameRecipients])
  }

  /// A request that ends a token (RFC 7009, section 2.1).
  private func revocation(of token: Template.Name) -> RecipeRequest {
    clientRequest(
      to: .revocation,
      [("token", [.value(token)]), ("token_type_hint", [.text(token.description)])],
      more: [.init(name: "client_secret", value: .literal(""), if: Self.noSecret)])
  }

  /// Which token is wanted: its scope and its audience.
  private var wishes: [(String, [Template.Piece])] {
    (scope.map { [("scope", [.text($0)])] } ?? [])
      + (audience.map { [("audience", [.text($0)])] } ?? [])
  }

  /// The APIs that the token is for.
  private var recipients: [(String, [Template.Piece])] {
    resources.map { ("resource", [.text($0)]) }
  }

  /// The APIs that the token is for, as at the sign-in.
  private static let sameRecipients = RecipeRequest.Field(
    name: "resource", value: .words(of: renewalResource))

  /// The APIs that a new session's tokens are for, as it keeps them.
  var keptResources: String { resources.joined(separator: " ") }

  /// Returns `fields` with the profile's own parameters, each in place of any other of its name (RFC
  /// 6749, section 3.2).
  private func adjusted(
    _ fields: [(String, [Template.Piece])]
  ) -> [(String, [Template.Piece])] {
    let own = tokenParameters.map { ($0.name, $0.value.pieces) }
    return fields.filter { field in !own.contains { $0.0 == field.0 } } + own
  }

  /// A request of the client to the authorization server, with the client's authentication. Some
  /// servers require `client_id` beside HTTP Basic too.
  package func clientRequest(
    to endpoint: Endpoint, _ fields: [(String, [Template.Piece])],
    optional: [Template.Name] = [], more: [RecipeRequest.Field] = []
  ) -> RecipeRequest {
    var call = RecipeRequest(endpoint: endpoint.name)
    call.asksForTokens = endpoint == .token
    call.encoding = .form
    call.showsCertificate = clientAuthentication?.showsCertificate ?? false
    call.headers = [
      RecipeRequest.Pair(
        name: "Authorization",
        value: Template(
          pieces: [.text("Basic "), .value(Self.clientBasic)], optionalNames: [Self.clientBasic]))
    ]
    let client: [(String, [Template.Piece])] = [
      ("client_id", [.value(Self.clientID)]), ("client_secret", [.value(.clientSecret)]),
      ("client_assertion_type", [.value(Self.assertionType)]),
      ("client_assertion", [.value(Self.assertion)]),
    ]
    let mayLack = optional + [.clientSecret, Self.assertionType, Self.assertion]
    call.body = .object(
      (fields + client).map { name, pieces in
        RecipeRequest.Field(
          name: name, value: .template(Template(pieces: pieces, optionalNames: mayLack)))
      } + more)
    return call
  }
}

extension SessionRecipe {
  /// The places of the values in the answers of an authorization server (RFC 6749, section 5).
  fileprivate mutating func useOAuth(isSet: (_ key: String) -> Bool) {
    if !isSet("session.access_token") { accessToken = [.pointer("/access_token")] }
    if !isSet("session.refresh_token") { refreshToken = [.pointer("/refresh_token")] }
    if !isSet("session.message") {
      message = [.pointer("/error_description"), .pointer("/message")]
    }
    if !isSet("session.account") {
      account =
        ["/email", "/preferred_username"].map { .claim(of: "/id_token", $0) }
        + ["/email", "/preferred_username", "/username", "/login", "/sub"].map { .pointer($0) }
    }
    keep.append(Extraction(name: OAuthSettings.idToken.member, place: .pointer("/id_token")))
    notes.append(Extraction(name: OAuthSettings.grantedScope.member, place: .pointer("/scope")))
    subject = .claim(of: "/id_token", "/sub")
    tokenType = .pointer("/token_type")
    errors = ErrorCodes(place: .pointer("/error"), meanings: Self.oauthErrors)
  }

  /// RFC 6749, sections 4.1.2.1 and 5.2; RFC 8628, section 3.5; RFC 8707, section 2;
  /// RFC 9449, sections 5 and 8.
  private static let oauthErrors: [String: ErrorCodes.Meaning] = [
    "invalid_grant": .refused, "access_denied": .refused,
    "invalid_client": .clientRefused, "unauthorized_client": .clientRefused,
    "invalid_scope": .mistake("check the scopes in oauth.scope"),
    "invalid_target": .mistake("check oauth.resource and oauth.audience"),
    "unsupported_grant_type": .mistake("set oauth.grant to another grant"),
    "unsupported_response_type": .mistake("set oauth.grant to another grant"),
    "invalid_request": .mistake(nil),
    "invalid_dpop_proof": .mistake("compare the clocks here and on the server"),
    "use_dpop_nonce": .mistake("the server is at fault; try again later"),
    "temporarily_unavailable": .temporary, "server_error": .temporary,
    "expired_token": .late,
  ]
}
