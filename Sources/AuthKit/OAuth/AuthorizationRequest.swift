/// A request to sign in by a browser (RFC 6749, section 4.1), with PKCE (RFC 7636).
///
/// State, nonce and verifier are used once, and only in memory (rule A14).
package struct AuthorizationRequest {
  /// The URL for the browser. It holds no secret, only what is compared later.
  package let url: String
  /// Where the server sends the browser afterwards.
  package let redirectURI: String
  /// What the ID token must confirm.
  package let asked: IDToken.Asked
  private let state: String
  private let verifier: SharedSecret
  private let server: AuthorizationServer
  private let profile: String

  /// What a person asks of the server for this sign-in only (OpenID Connect Core 1.0,
  /// section 3.1.2.1).
  package struct Wishes {
    /// `prompt`: `login`, `consent`, `select_account`.
    package var prompt: String?
    /// `acr_values`, separated by spaces.
    package var acrValues: String?
    /// `max_age`, in seconds.
    package var maxAge: Int?
    /// Further parameters.
    package var parameters: [(name: String, value: String)] = []

    package init() {}
  }

  /// The answer in the redirect URI is not for this request: the wait goes on.
  package enum Answer {
    /// The authorization code.
    case code(SharedSecret)
    /// Another state, or none: somebody else's answer.
    case foreign
    /// An error without any state. Some servers lose it, but any web page could have sent it.
    case error(Failure)
  }

  /// - Parameter redirectURI: where the browser comes back to.
  /// - Throws: `usage` if the server has no authorization endpoint.
  package init(
    _ client: OAuthClient, redirectURI: String, wishes: Wishes = Wishes()
  ) throws(Failure) {
    let settings = client.settings
    server = client.server
    profile = client.api.profile.name
    self.redirectURI = redirectURI
    state = Self.random()
    asked = IDToken.Asked(nonce: Self.random(), maxAge: wishes.maxAge)
    let secret = Self.random()
    verifier = SharedSecret(secret)
    let endpoint = try WebURL(
      server.url(of: .authorization, for: "a sign-in with a browser"), from: .server
    ).text
    var query: [(String, String)] = [
      ("response_type", "code"), ("client_id", client.clientID), ("redirect_uri", redirectURI),
      ("state", state), ("code_challenge", base64URL(try Crypto.sha256(Array(secret.utf8)))),
      ("code_challenge_method", "S256"), ("nonce", asked.nonce),
    ]
    query += try client.proof().map { [("dpop_jkt", $0.thumbprint)] } ?? []
    query += settings.scope.map { [("scope", $0)] } ?? []
    query += settings.audience.map { [("audience", $0)] } ?? []
    query += settings.resources.map { ("resource", $0) }
    query += wishes.prompt.map { [("prompt", $0)] } ?? []
    query += wishes.acrValues.map { [("acr_values", $0)] } ?? []
    query += wishes.maxAge.map { [("max_age", "\($0)")] } ?? []
    // What a person asks for now comes before what the profile asks for each time; no parameter is
    // sent twice (RFC 6749, section 3.1), except `resource` (RFC 8707, section 2).
    for wish in wishes.parameters {
      query.removeAll { $0.0 == wish.name && wish.name != "resource" }
      query.append((wish.name, wish.value))
    }
    let own = query.map(\.0)
    for pair in settings.parameters where !own.contains(pair.name) {
      query.append((pair.name, pair.value.plainText ?? ""))
    }
    if settings.isPushed || server.requiresPush { query = try Self.push(query, by: client) }
    url = Self.url(endpoint, query)
  }

  /// Sends the parameters to the server and returns those that refer to them (RFC 9126).
  private static func push(
    _ query: [(String, String)], by client: OAuthClient
  ) throws(Failure) -> [(String, String)] {
    let endpoint = OAuthSettings.Endpoint.pushedAuthorization
    _ = try client.server.url(of: endpoint, for: "pushed requests")
    // The client's own request names the client.
    let call = client.settings.clientRequest(
      to: endpoint, query.filter { $0.0 != "client_id" }.map { ($0.0, [.text($0.1)]) })
    let answer = try client.prepare(by: call)
    guard let reference = try answer.value(at: [.pointer("/request_uri")])?.text else {
      throw client.api.notUnderstood(answer, "no request_uri in the answer to the pushed request")
    }
    return [("client_id", client.clientID), ("request_uri", reference)]
  }

  /// 256 random bits, as 43 letters.
  private static func random() -> String { base64URL(randomBytes(32)) }

  private static func url(_ endpoint: String, _ query: [(String, String)]) -> String {
    var builder = SecretBuilder()
    builder.append(endpoint)
    var separator = endpoint.utf8.contains(UInt8(ascii: "?")) ? "&" : "?"
    for (name, value) in query {
      builder.append(separator)
      separator = "&"
      for (index, text) in [name, value].enumerated() {
        if index == 1 { builder.append("=") }
        var text = text
        text.withUTF8 { builder.appendPercentEncoded(UnsafeRawBufferPointer($0)) }
      }
    }
    return builder.secret().withBytes { String(decoding: $0, as: UTF8.self) }
  }

  // MARK: - The answer

  /// Reads the query of the redirect URI as the browser brings it.
  ///
  /// - Throws: `credentials_refused` when the sign-in was denied, `answer_not_understood` for the
  ///   answer of another server (RFC 9207) or one without a code; by the server's error code
  ///   otherwise.
  package func answer(query: String) throws(Failure) -> Answer {
    var fields: [String: [String]] = [:]
    for field in formFields(query.utf8) {
      fields[field.name, default: []].append(field.value ?? "")
    }
    let error = fields["error"]?.first.map { refusal($0, fields["error_description"]?.first) }
    if let error, fields["state"] == nil { return .error(error) }
    guard let named = fields["state"], named.count == 1, named[0].utf8.elementsEqual(state.utf8)
    else { return .foreign }
    // django-oauth-toolkit names itself only beside a code. An error gets nobody anything.
    if let error, fields["iss"] == nil { throw error }
    try checkIssuer(fields["iss"])
    if let error { throw error }
    guard let codes = fields["code"], codes.count == 1, let code = codes.first, !code.isEmpty else {
      throw Failure(.answerNotUnderstood, "\(profile): the response in the browser has no code")
    }
    return .code(SharedSecret(code))
  }

  private func checkIssuer(_ named: [String]?) throws(Failure) {
    guard let issuer = server.issuer else { return }
    if let named {
      guard named.count == 1, named[0].utf8.elementsEqual(issuer.utf8) else {
        throw Failure(
          .answerNotUnderstood, "\(profile): the response in the browser is from another server",
          hint: "sign in again, and check the address before you enter a password")
      }
    } else if server.namesItselfInAnswers {
      throw Failure(
        .answerNotUnderstood,
        "\(profile): the response in the browser does not name its server (iss)")
    }
  }

  private func refusal(_ code: String, _ description: String?) -> Failure {
    let shown = DisplayText.oneLine(code, limit: 80)
    var failure: Failure
    switch code {
    case "access_denied":
      failure = Failure(.credentialsRefused, "\(profile): the sign-in was denied in the browser")
    case "server_error", "temporarily_unavailable":
      failure = Failure(
        .serverError, "\(profile): the server refused the sign-in in the browser (\(shown))")
    case "unauthorized_client":
      failure = Failure(.credentialsRefused, "\(profile) refused this client (\(shown))")
    default:
      failure = Failure(
        .clientError, "\(profile): the server refused the sign-in in the browser (\(shown))")
      if code == "invalid_scope" { failure.hint = "check the scopes in --scope" }
    }
    failure.server = [description].compactMap { $0 }
    failure.profile = profile
    return failure
  }

  /// The values of the token request for `code`.
  package func values(for code: SharedSecret) -> TemplateValues {
    var values = TemplateValues()
    values[.taken("code")] = code
    values[.taken("redirect_uri")] = SharedSecret(redirectURI)
    values[.taken("code_verifier")] = verifier
    return values
  }
}
