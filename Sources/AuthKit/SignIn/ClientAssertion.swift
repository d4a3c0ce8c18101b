/// The assertions that a client makes: by which it proves who it is (RFC 7523, section 2.2), and
/// which it exchanges for a token (section 2.1). Each is a JSON Web Token for one request.
enum ClientAssertion {
  /// How long it is valid, in seconds.
  private static let life: Double = 120

  /// The parameter `client_assertion_type`.
  private static let type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

  /// Adds to `values` the assertions that `names` ask for, if the session or the sign-in that they
  /// are of says so.
  ///
  /// - Throws: `failed` when the key of the profile cannot be used.
  static func add(
    to values: inout TemplateValues, for names: [Template.Name], settings: OAuthSettings?,
    now: Timestamp
  ) throws(Failure) {
    guard let settings, let id = values[OAuthSettings.clientID]?.text,
      let audience = values[OAuthSettings.Endpoint.token.name]?.text
    else { return }
    func claims(about subject: String) -> JSONValue {
      .object([
        ("iss", .string(id)), ("sub", .string(subject)), ("aud", .string(audience)),
        ("jti", .string(base64URL(randomBytes(16)))), ("iat", .number(Int(now.seconds))),
        ("exp", .number(Int(now.seconds + life))),
      ])
    }
    let algorithm = values[OAuthSettings.clientAlgorithm]?.text ?? ""
    if names.contains(OAuthSettings.bearerAssertion), values[OAuthSettings.bearerAssertion] == nil,
      let subject = values[OAuthSettings.assertionSubject]?.text
    {
      values[OAuthSettings.bearerAssertion] = SharedSecret(
        try signedByKey(claims(about: subject), settings, algorithm))
    }
    guard names.contains(OAuthSettings.assertion) else { return }
    let token: String
    switch values[OAuthSettings.clientMethod].flatMap({
      OAuthSettings.ClientAuthentication(rawValue: $0.text)
    }) {
    case .secretJWT:
      guard let secret = values[OAuthSettings.assertionSecret] else {
        throw Failure(
          .inputNeeded, "the session does not have the client secret", hint: "sign in again")
      }
      let signed = signingInput(claims(about: id), "HS256")
      token = signed + "." + base64URL(try Crypto.hmac(Array(signed.utf8), key: secret))
    case .privateKeyJWT: token = try signedByKey(claims(about: id), settings, algorithm)
    default: return
    }
    values[OAuthSettings.assertionType] = SharedSecret(type)
    values[OAuthSettings.assertion] = SharedSecret(token)
  }

  private static func signedByKey(
    _ claims: JSONValue, _ settings: OAuthSettings, _ name: String
  ) throws(Failure) -> String {
    let key = try key(of: settings)
    guard let algorithm = key.algorithms.first(where: { $0.rawValue == name }) else {
      throw Failure(
        .failed, "oauth.client_key does not have the same type as at sign-in (\(name))")
    }
    let signed = signingInput(claims, algorithm.rawValue)
    return signed + "." + base64URL(try key.sign(Array(signed.utf8), by: algorithm))
  }

  /// Returns the algorithm that the key of the profile and the server have in common.
  ///
  /// - Parameter known: those of the server; nil if it does not say.
  /// - Throws: `usage` when there is none; `failed` when the key cannot be used.
  static func algorithm(of settings: OAuthSettings, among known: [String]?) throws(Failure)
    -> String
  {
    let key = try key(of: settings)
    let own = key.algorithms.map(\.rawValue)
    guard let known else { return own[0] }
    if let common = own.first(where: known.contains) { return common }
    throw Failure(
      .usage,
      "the server supports no signature of oauth.client_key (\(own.joined(separator: ", ")))",
      hint: "it supports \(DisplayText.oneLine(known.joined(separator: ", "), limit: 120))")
  }

  private static func key(of settings: OAuthSettings) throws(Failure) -> SigningKey {
    guard let file = settings.clientKey else {
      throw Failure(
        .usage, "a signed assertion requires a key", hint: "set oauth.client_key to its file")
    }
    return try SigningKey(pem: try NamedFile.secret(file, key: "oauth.client_key"), name: file)
  }

  /// RFC 7515, section 5.1.
  private static func signingInput(_ claims: JSONValue, _ algorithm: String) -> String {
    let header = JSONValue.object([("alg", .string(algorithm)), ("typ", "JWT")])
    return base64URL(Array(header.serialized().utf8)) + "."
      + base64URL(Array(claims.serialized().utf8))
  }
}
