/// A client that authctl has registered itself (RFC 7591).
package struct RegisteredClient {
  /// The client ID.
  package let id: String
  /// The client secret; nil for a public client.
  package let secret: SharedSecret?
  /// How the server wants the client to prove who it is; nil if it does not say.
  package let authentication: OAuthSettings.ClientAuthentication?
  /// Whether the server issues only tokens that are bound to a key (RFC 9449, section 5.2).
  package let bindsTokens: Bool
  /// Where the registration can be ended, and the token for it (RFC 7592, section 3).
  package let management: (url: String, token: SharedSecret)?

  /// Registers authctl as a native client (RFC 8252) of the authorization server.
  ///
  /// - Parameter redirectURI: where the browser comes back to; nil for a sign-in without one.
  /// - Throws: `client_error` when the server refuses, `answer_not_understood` for an answer about
  ///   another client; what sending throws.
  package init(
    _ api: RecipeClient, _ settings: OAuthSettings, _ server: AuthorizationServer,
    redirectURI: String?
  ) throws(Failure) {
    var values = TemplateValues()
    let endpoint = OAuthSettings.Endpoint.registration
    values[endpoint.name] = SharedSecret(try server.url(of: endpoint, for: "a new client"))
    var call = RecipeRequest(endpoint: endpoint.name)
    call.body = .object(
      Self.metadata(settings, server, redirectURI).map {
        RecipeRequest.Field(name: $0, value: .literal($1))
      })
    let answer = try api.send(call, values: values)
    try api.refuse(answer, of: call, what: "the registration", refused: [])
    func text(_ name: String) throws(Failure) -> String? {
      try answer.keptText(at: [.pointer("/\(name)")])
    }
    guard let id = try text("client_id") else {
      throw api.notUnderstood(answer, "no client_id in the answer to the registration")
    }
    if let redirectURI, case .array(let uris)? = answer.json?["redirect_uris"],
      !uris.contains(where: { $0.text?.utf8.elementsEqual(redirectURI.utf8) ?? false })
    {
      throw api.notUnderstood(answer, "the registration is for another redirect URI")
    }
    self.id = id
    secret = try text("client_secret").map { SharedSecret($0) }
    authentication = try text("token_endpoint_auth_method")
      .flatMap(OAuthSettings.ClientAuthentication.init(rawValue:))
    bindsTokens = answer.json?["dpop_bound_access_tokens"] == .bool(true)
    if let url = try text("registration_client_uri"), server.mayNameEndpoint(url),
      let token = try text("registration_access_token")
    {
      management = (url, SharedSecret(token))
    } else {
      management = nil
    }
  }

  /// RFC 7591, section 2; OpenID Connect Dynamic Client Registration 1.0, section 2; RFC 9449,
  /// section 5.2.
  private static func metadata(
    _ settings: OAuthSettings, _ server: AuthorizationServer, _ redirectURI: String?
  ) -> [(String, JSONValue)] {
    // A sign-in on another device needs no redirect URI: the same client may do that too.
    let hasDeviceCode = redirectURI == nil || server.endpoints[.deviceAuthorization] != nil
    let grants: [OAuthSettings.Grant] =
      (redirectURI == nil ? [] : [.authorizationCode]) + (hasDeviceCode ? [.deviceCode] : [])
    var metadata: [(String, JSONValue)] = [
      ("client_name", "authctl"), ("application_type", "native"),
      ("token_endpoint_auth_method", .string(server.methodOfNewClients.rawValue)),
      ("grant_types", .array(grants.map { .string($0.type) } + ["refresh_token"])),
      ("response_types", .array(redirectURI == nil ? [] : ["code"])),
    ]
    if let redirectURI { metadata.append(("redirect_uris", .array([.string(redirectURI)]))) }
    if settings.bindsTokens { metadata.append(("dpop_bound_access_tokens", true)) }
    if let scope = settings.scope { metadata.append(("scope", .string(scope))) }
    return metadata
  }
}
