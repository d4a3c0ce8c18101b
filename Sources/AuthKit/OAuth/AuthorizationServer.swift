/// What is known of an authorization server: from its metadata (OpenID Connect Discovery 1.0;
/// RFC 8414) and from the profile, whose endpoints take precedence.
package struct AuthorizationServer {
  package typealias Endpoint = OAuthSettings.Endpoint

  /// The issuer; nil if the profile names only endpoints.
  package private(set) var issuer: String?
  /// Its URLs.
  package private(set) var endpoints: [Endpoint: String]
  /// How clients may prove who they are at the token endpoint; nil if the metadata does not say.
  package private(set) var authenticationMethods: [String]?
  /// Whether a public client has to send an empty client secret to end a token (RFC 6749, section
  /// 2.3.1), since revocation knows no other clients.
  package private(set) var revocationWantsSecret = false
  /// Whether authorization requests have to be pushed (RFC 9126, section 5).
  package private(set) var requiresPush = false
  /// The algorithms of clients' assertions; nil if the metadata does not say.
  package private(set) var signingAlgorithms: [String]?
  /// Whether answers to authorization requests name the issuer (RFC 9207, section 3).
  package private(set) var namesItselfInAnswers = false

  /// The most bytes of a metadata document (rule A15).
  static let largestMetadata = 1 << 20

  /// Learns the endpoints that `settings` names and, with an issuer, those of its metadata.
  ///
  /// - Throws: `answer_not_understood` for metadata of another issuer or with an endpoint that is
  ///   not encrypted, and when there is none; what sending throws.
  init(of settings: OAuthSettings, http: HTTPClient) throws(Failure) {
    let metadata = try settings.issuer.flatMap { (issuer) throws(Failure) in
      try Self.metadata(of: issuer, http)
    }
    try self.init(of: settings, metadata: metadata)
  }

  /// - Parameter metadata: the document of the issuer; nil if there is none.
  init(of settings: OAuthSettings, metadata: JSONValue?) throws(Failure) {
    issuer = settings.issuer
    endpoints = settings.endpoints
    if let issuer, let metadata {
      try check(metadata, issuer)
      // Where a certificate is shown, other hosts may serve (RFC 8705, section 5).
      let showsCertificate = settings.clientAuthentication?.showsCertificate ?? false
      if showsCertificate, let aliases = metadata["mtls_endpoint_aliases"] {
        read(endpoints: aliases)
      }
      read(metadata)
    } else if let issuer, endpoints[.token] == nil {
      throw Failure(
        .answerNotUnderstood,
        "\(issuer) has no authorization server metadata (RFC 8414)",
        hint: "check the path of the issuer, or set oauth.token_endpoint and the other endpoints")
    }
    try checkEndpoints()
  }

  /// The URL of an endpoint.
  ///
  /// - Throws: `usage` if neither metadata nor profile names it.
  package func url(of endpoint: Endpoint, for what: String) throws(Failure) -> String {
    if let url = endpoints[endpoint] { return url }
    throw Failure(
      .usage, "\(issuer ?? "the authorization server") has no \(endpoint.rawValue) for \(what)",
      hint: "choose another --grant, or set oauth.\(endpoint.rawValue)")
  }

  // MARK: - Metadata

  /// Returns the first metadata document that the issuer has, with the endpoints that only a later
  /// one names; nil if it has none.
  ///
  /// A document of OpenID Connect may leave out what OpenID Connect does not know, and one of OAuth
  /// may be where the issuer's own documents are (django-oauth-toolkit does both).
  private static func metadata(
    of issuer: String, _ http: HTTPClient
  ) throws(Failure) -> JSONValue? {
    let url = try WebURL(issuer, from: .person)
    let path = url.path.withoutTrailingSlashes
    let origin = url.origin.description
    let oauth = "/.well-known/oauth-authorization-server"
    var places = ["\(origin)\(path)/.well-known/openid-configuration", origin + oauth + path]
    if !path.isEmpty { places.append(origin + path + oauth) }
    var found: [(String, JSONValue)]?
    for place in places {
      guard let known = found else {
        found = try document(at: place, http)
        continue
      }
      let missing = wanted.filter { name in !known.contains { $0.0 == name } }
      if missing.isEmpty { break }
      // The sign-in may do without it.
      guard let more = try? document(at: place, http),
        let named = JSONValue.object(more)["issuer"]?.text,
        named.utf8.elementsEqual(issuer.utf8)
      else { continue }
      found = known + more.filter { missing.contains($0.0) }
    }
    return found.map { .object($0) }
  }

  /// The endpoints that OpenID Connect Discovery 1.0 does not know, registration included, which
  /// it does not require.
  private static let wanted = [
    Endpoint.deviceAuthorization, .revocation, .introspection, .registration,
  ]
  .map(\.rawValue)

  /// Returns the members of a metadata document; nil if there is none at `place`.
  private static func document(
    at place: String, _ http: HTTPClient
  ) throws(Failure) -> [(String, JSONValue)]? {
    let (head, body): (ResponseHead, [UInt8])
    do throws(Failure) {
      (head, body) = try http.look(
        at: try WebURL(place, from: .person), seconds: 10, most: largestMetadata)
    } catch {
      var failure = error
      if failure.kind == .answerNotUnderstood { failure.message = "\(place): \(error.message)" }
      throw failure
    }
    if head.status == 200, case .object(let members)? = try? JSONValue.parse(body) {
      return members
    }
    guard head.status < 500 else {
      throw Failure(.serverError, "HTTP \(head.status) at \(place)", hint: "try again later")
    }
    return nil
  }

  private func check(_ metadata: JSONValue, _ issuer: String) throws(Failure) {
    guard let named = metadata["issuer"]?.text, named.utf8.elementsEqual(issuer.utf8) else {
      let named = metadata["issuer"]?.text.map { DisplayText.oneLine($0, limit: 120) }
      throw Failure(
        .answerNotUnderstood,
        "the metadata of \(issuer) is for \(named ?? "no issuer")",
        hint: named.map {
          "issuers are compared byte by byte: if it is right, use --issuer \($0)"
        })
    }
  }

  private mutating func read(endpoints: JSONValue) {
    for endpoint in Endpoint.allCases where self.endpoints[endpoint] == nil {
      self.endpoints[endpoint] = endpoints[endpoint.rawValue]?.text
    }
  }

  private mutating func read(_ metadata: JSONValue) {
    read(endpoints: metadata)
    authenticationMethods = Self.texts(metadata["token_endpoint_auth_methods_supported"])
    let revocation = Self.texts(metadata["revocation_endpoint_auth_methods_supported"]) ?? ["none"]
    revocationWantsSecret =
      revocation.contains("client_secret_post") && !revocation.contains("none")
    signingAlgorithms = Self.texts(
      metadata["token_endpoint_auth_signing_alg_values_supported"])
    namesItselfInAnswers =
      metadata["authorization_response_iss_parameter_supported"] == .bool(true)
    requiresPush = metadata["require_pushed_authorization_requests"] == .bool(true)
  }

  /// How a new client is to prove who it is: not at all where that is allowed. Metadata that do not
  /// say allow only HTTP Basic (RFC 8414, section 2).
  var methodOfNewClients: OAuthSettings.ClientAuthentication {
    let allowed = authenticationMethods ?? [OAuthSettings.ClientAuthentication.basic.rawValue]
    return [.none, .basic, .post].first { allowed.contains($0.rawValue) } ?? .none
  }

  private static func texts(_ value: JSONValue?) -> [String]? {
    guard case .array(let items)? = value else { return nil }
    return items.compactMap(\.text)
  }

  /// Refuses endpoints that others can read along: plain HTTP is for this machine, if the issuer is
  /// on it too (rule A15).
  private func checkEndpoints() throws(Failure) {
    for (endpoint, text) in endpoints.sorted(by: { $0.key.rawValue < $1.key.rawValue })
    where !mayNameEndpoint(text) {
      throw Failure(
        .answerNotUnderstood,
        "\(endpoint.rawValue) is not an https URL: \(DisplayText.oneLine(text, limit: 120))")
    }
  }

  /// Whether the server may name the URL `text` as an endpoint of its own.
  func mayNameEndpoint(_ text: String) -> Bool {
    guard Self.isPlain(text), let origin = (try? WebURL(text, from: .server))?.origin else {
      return false
    }
    let isLocal = issuer.map { (try? WebURL($0, from: .person))?.origin.isLoopback ?? false }
    return origin.isSecure || origin.isLoopback && isLocal ?? true
  }

  /// Whether `text` holds only characters of a URL without a fragment (RFC 3986, section 2; RFC 6749,
  /// section 3.1): the browser gets it as an argument (rule A11).
  private static func isPlain(_ text: String) -> Bool {
    text.utf8.allSatisfy { $0.isLetterOrDigit || "-._~:/?[]@!$&'()*+,;=%".utf8.contains($0) }
  }
}

extension RecipeClient {
  /// Learns what the authorization server of the profile offers.
  ///
  /// - Throws: as `AuthorizationServer.init`; the client's `refusal`.
  package func authorizationServer(
    _ settings: OAuthSettings
  ) throws(Failure) -> AuthorizationServer {
    if let refusal { throw refusal }
    return try AuthorizationServer(of: settings, http: http)
  }
}
