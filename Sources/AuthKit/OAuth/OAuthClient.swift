/// The client of an authorization server (RFC 6749): obtains the tokens of a new session.
///
/// It only signs in. Renewal, revocation and so on are calls of the profile's recipe, which take
/// what they need from the session.
package struct OAuthClient {
  package let api: RecipeClient
  package let settings: OAuthSettings
  package let server: AuthorizationServer
  /// The client ID.
  package let clientID: String
  /// What the session keeps of the client and the server.
  private var notes: [String: String] = [:]
  /// How the client proves who it is.
  private(set) var credential = TemplateValues()

  /// Creates the client that authctl has registered, whose registration the session keeps.
  package init(
    _ api: RecipeClient, _ settings: OAuthSettings, _ server: AuthorizationServer,
    registered client: RegisteredClient
  ) throws(Failure) {
    var settings = settings
    settings.clientAuthentication =
      client.secret == nil ? OAuthSettings.ClientAuthentication.none : client.authentication
    settings.bindsTokens = settings.bindsTokens || client.bindsTokens
    try self.init(api, settings, server, clientID: client.id, secret: client.secret)
    guard let management = client.management else { return }
    notes[OAuthSettings.registrationURL.member] = management.url
    credential[OAuthSettings.registrationToken] = management.token
  }

  /// Creates the client that authctl registered for an earlier sign-in: only its session keeps the
  /// secret and what ends the registration. Returns nil if the session is of another client.
  package init?(
    _ api: RecipeClient, _ settings: OAuthSettings, _ server: AuthorizationServer,
    clientID: String, registeredFor session: Session
  ) throws(Failure) {
    guard session.notes[OAuthSettings.clientID.member] == clientID else { return nil }
    var settings = settings
    settings.clientAuthentication = OAuthSettings.ClientAuthentication.none
    try self.init(api, settings, server, clientID: clientID, secret: nil)
    for name in [OAuthSettings.clientMethod, OAuthSettings.registrationURL] {
      if let note = session.notes[name.member] { notes[name.member] = note }
    }
    // Its own credential, where it has one, ends its tokens too.
    if method != OAuthSettings.ClientAuthentication.none.rawValue {
      notes[OAuthSettings.noSecret.member] = nil
    }
    for name in [
      .clientSecret, OAuthSettings.clientBasic, OAuthSettings.assertionSecret,
      OAuthSettings.registrationToken,
    ] {
      credential[name] = session.values[name]
    }
  }

  /// - Parameters:
  ///   - clientID: as registered at the server.
  ///   - secret: the client secret; nil for a public client.
  /// - Throws: `usage` when the profile requires a secret and there is none.
  package init(
    _ api: RecipeClient, _ settings: OAuthSettings, _ server: AuthorizationServer,
    clientID: String, secret: SharedSecret?
  ) throws(Failure) {
    self.api = api
    self.settings = settings
    self.server = server
    self.clientID = clientID
    for (endpoint, url) in server.endpoints where Self.kept.contains(endpoint) {
      notes[endpoint.rawValue] = url
    }
    notes[OAuthSettings.clientID.member] = clientID
    try authenticate(clientID, secret)
    if settings.bindsTokens { credential[.proofKey] = try ProofOfPossession.newKey() }
  }

  /// The method by which the client proves who it is, by its name in profiles.
  package var method: String? { notes[OAuthSettings.clientMethod.member] }

  /// What proves that this client has the key that its tokens will be bound to; nil without a key.
  func proof() throws(Failure) -> ProofOfPossession? { try api.proof(for: credential) }

  /// The endpoints that a session needs later.
  private static let kept: [OAuthSettings.Endpoint] = [
    .token, .revocation, .introspection, .userinfo,
  ]

  private mutating func authenticate(
    _ clientID: String, _ secret: SharedSecret?
  ) throws(Failure) {
    let method = settings.clientAuthentication ?? usualMethod(hasSecret: secret != nil)
    notes[OAuthSettings.clientMethod.member] = method.rawValue
    switch method {
    case .none:
      if server.revocationWantsSecret { notes[OAuthSettings.noSecret.member] = "true" }
      return
    case .privateKeyJWT:
      notes[OAuthSettings.clientAlgorithm.member] = try ClientAssertion.algorithm(
        of: settings, among: server.signingAlgorithms)
      return
    case .tls, .selfSignedTLS:
      guard api.http.hasCertificate else {
        throw Failure(
          .usage, "\(api.profile.name): \(method.rawValue) requires a client certificate",
          hint: "set network.client_cert and network.client_key")
      }
      return
    case .basic, .post, .secretJWT: break
    }
    guard let secret else {
      throw Failure(
        .inputNeeded, "\(api.profile.name): a client secret is required",
        hint: Template.Name.clientSecret.wayToGive)
    }
    switch method {
    case .basic: credential[OAuthSettings.clientBasic] = Self.basic(clientID, secret)
    case .secretJWT: credential[OAuthSettings.assertionSecret] = secret
    default: credential[.clientSecret] = secret
    }
  }

  /// Returns id and secret for HTTP Basic (RFC 6749, section 2.3.1).
  private static func basic(_ clientID: String, _ secret: SharedSecret) -> SharedSecret {
    // Form-encoded before they are joined: both may hold a colon.
    var joined = SecretBuilder()
    var id = clientID
    id.withUTF8 { joined.appendFormEncoded(UnsafeRawBufferPointer($0)) }
    joined.append(":")
    secret.withBytes { joined.appendFormEncoded($0) }
    var encoded = SecretBuilder()
    joined.secret().withBytes { encoded.appendBase64($0) }
    return SharedSecret(encoded.secret())
  }

  /// The method if the profile names none: what the metadata allows, HTTP Basic if it does not say
  /// (RFC 8414, section 2).
  private func usualMethod(hasSecret: Bool) -> OAuthSettings.ClientAuthentication {
    if settings.clientKey != nil { return .privateKeyJWT }
    guard hasSecret else { return .none }
    let methods = server.authenticationMethods ?? []
    return [.basic, .post, .secretJWT].first { methods.contains($0.rawValue) } ?? .basic
  }

  /// Makes the assertions of the grant `jwt-bearer` by itself, with the key of the profile.
  ///
  /// - Parameter subject: whom the tokens are for: an account, or the client itself.
  /// - Throws: `usage` when server and key have no algorithm in common, `failed` when the key cannot
  ///   be used.
  package mutating func signAssertions(about subject: String) throws(Failure) {
    notes[OAuthSettings.assertionSubject.member] = subject
    notes[OAuthSettings.clientAlgorithm.member] = try ClientAssertion.algorithm(
      of: settings, among: server.signingAlgorithms)
  }

  // MARK: - Token requests

  /// Sends the token request of `grant` and returns the new session, which is not stored.
  ///
  /// - Parameters:
  ///   - values: those that the grant needs.
  ///   - account: the name that the user gave; nil to take it from the answer.
  ///   - known: the name to use if the server tells none; without it, `default`.
  ///   - asked: what the ID token must confirm of the authorization request; nil without one.
  /// - Throws: `credentials_refused`, `client_error`, `server_error`, `timeout`,
  ///   `answer_not_understood` by the error codes of the server; what sending throws.
  package func signIn(
    _ grant: OAuthSettings.Grant, _ values: TemplateValues, account: String?,
    known: String? = nil, asked: IDToken.Asked? = nil
  ) throws(Failure) -> SignedIn {
    try signedIn(
      try send(settings.tokenRequest(grant), values), grant, account: account, known: known,
      asked: asked)
  }

  /// The token request of `grant`, with the URL that it goes to: a prompt names the origin.
  package func tokenRequest(_ grant: OAuthSettings.Grant) -> RecipeRequest {
    var call = settings.tokenRequest(grant)
    if let url = server.endpoints[.token] {
      call.path = Template(pieces: [.text(url)], optionalNames: [])
    }
    return call
  }

  /// Sends a request of the client and returns its answer.
  func send(
    _ call: RecipeRequest, _ values: TemplateValues = TemplateValues()
  ) throws(Failure) -> RecipeResponse {
    // A server may repeat what it was sent in a message.
    let isKnown = { (name: Template.Name) in [.username, .taken("redirect_uri")].contains(name) }
    for sent in credential.all + values.all where !isKnown(sent.name) {
      api.redactor.learn(sent.value.secret)
    }
    // The client proves who it is in one way only (RFC 6749, section 2.3).
    var all = values
    all[.clientSecret] = nil
    all.merge(credential)
    for note in notes { all[.session(note.key)] = SharedSecret(note.value) }
    for (endpoint, url) in server.endpoints { all[endpoint.name] = SharedSecret(url) }
    return try api.send(call, values: all)
  }

  /// Sends a request that comes before that for tokens, and returns the answer.
  ///
  /// - Throws: as `signIn`.
  func prepare(by call: RecipeRequest) throws(Failure) -> RecipeResponse {
    let answer = try send(call)
    try api.refuse(answer, of: call, what: "the sign-in", refused: answer.recipe.refused)
    return answer
  }

  /// Returns the session in the answer to a token request.
  func signedIn(
    _ answer: RecipeResponse, _ grant: OAuthSettings.Grant, account: String?, known: String?,
    asked: IDToken.Asked?
  ) throws(Failure) -> SignedIn {
    let call = settings.tokenRequest(grant)
    var answer = answer
    // Authlib, and thus canaille, answers so to a wrong password.
    if grant == .password { answer.recipe.errors?.meanings["invalid_request"] = .refused }
    try api.refuse(
      answer, of: call, what: grant == .password ? "this name and password" : "the sign-in",
      refused: answer.recipe.refused)
    if let problem = try IDToken.problem(
      in: answer, issuer: server.issuer, clientID: clientID,
      asked: asked, isRequired: settings.requiresIDToken, now: api.clock())
    {
      throw api.notUnderstood(answer, problem)
    }
    // A client that signs in as itself has no other name than its ID.
    let given = account ?? (grant == .clientCredentials ? clientID : nil)
    let found = try api.session(
      from: answer, values: credential, account: given
    ) { (tokens) throws(Failure) in
      try name(of: tokens) ?? known ?? Self.unnamedAccount
    }
    guard var signedIn = found else {
      throw api.notUnderstood(
        answer, "no token in the answer to \(api.named(call, answer))", hint: api.howToPlaceToken)
    }
    try complete(&signedIn.session, grant)
    return signedIn
  }

  /// Fixes in the session what its later requests need (rules A2 and A15).
  private func complete(
    _ session: inout Session, _ grant: OAuthSettings.Grant
  ) throws(Failure) {
    session.values.merge(credential)
    session.notes.merge(notes) { own, _ in own }
    session.notes["grant"] = grant.rawValue
    session.notes[OAuthSettings.renewalResource.member] = settings.keptResources
    // Userinfo is about people.
    if grant == .clientCredentials {
      session.notes[OAuthSettings.Endpoint.userinfo.rawValue] = nil
    }
    if session.notes[OAuthSettings.grantedScope.member] == nil {
      session.notes[OAuthSettings.grantedScope.member] = settings.scope
    }
    let signsAssertions = notes[OAuthSettings.assertionSubject.member] != nil
    if grant == .clientCredentials || signsAssertions {
      // Its own credential serves longer than any refresh token.
      session.values[.refreshToken] = nil
      session.notes[OAuthSettings.renewalGrant.member] = grant.type
      session.notes[OAuthSettings.renewalScope.member] = settings.scope
      session.notes[OAuthSettings.renewalAudience.member] = settings.audience
    } else if session.values[.refreshToken] != nil {
      session.notes[OAuthSettings.renewalGrant.member] = OAuthSettings.refreshGrant
    }
    let urls = Self.kept.compactMap { server.endpoints[$0] }
    for url in urls + [notes[OAuthSettings.registrationURL.member]].compactMap({ $0 }) {
      let origin = try WebURL(url, from: .server).origin
      if !session.signInOrigins.contains(origin) { session.signInOrigins.append(origin) }
    }
    session.refreshable = api.canRefresh(session)
  }

  /// Returns the scopes that were asked for and not granted (RFC 6749, section 5.1).
  ///
  /// Some servers grant `openid` and `offline_access` without saying so: their tokens are there.
  package func ungrantedScopes(of session: Session) -> [String] {
    (settings.scope ?? "").words.filter { scope in
      switch scope {
      case "openid" where session.idTokenClaims != nil: false
      case "offline_access" where session.refreshable: false
      default: !session.hasScope(scope)
      }
    }
  }

  /// The account of a server that tells no name: tokens are not asked for again for want of one.
  private static let unnamedAccount = "default"

  /// Returns the account that the answer with the tokens does not name: what userinfo says, or else
  /// the subject of the ID token.
  private func name(of tokens: RecipeClient.Tokens) throws(Failure) -> String? {
    guard server.endpoints[.userinfo] != nil,
      let answer = try? send(OAuthSettings.userinfoRequest, tokens.values)
    else { return tokens.subject }
    // Claims about another subject are not used (OpenID Connect Core 1.0, section 5.3.2).
    guard (200...299).contains(answer.head.status),
      tokens.subject.map({ answer.json?["sub"] == .string($0) }) ?? true
    else { return tokens.subject }
    return try answer.value(at: api.profile.recipe.session.account)?.scalarText ?? tokens.subject
  }
}
