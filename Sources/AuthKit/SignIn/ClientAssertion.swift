/// The assertion by which a client proves who it is (RFC 7523, section 2.2): a JSON Web Token that is
/// made for each request and good for one.
enum ClientAssertion {
  /// How long it is valid, in seconds.
  private static let life: Double = 120

  /// The parameter `client_assertion_type`.
  private static let type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

  /// Adds an assertion to `values` if the session or the sign-in that they are of says so.
  ///
  /// - Throws: `failed` when the key of the profile cannot be used.
  static func add(
    to values: inout TemplateValues, settings: OAuthSettings?, now: Timestamp
  ) throws(Failure) {
    guard let settings,
      let method = values[OAuthSettings.clientMethod].flatMap({
        OAuthSettings.ClientAuthentication(rawValue: $0.text)
      }), method == .privateKeyJWT || method == .secretJWT,
      let id = values[OAuthSettings.clientID]?.text,
      let audience = values[OAuthSettings.Endpoint.token.name]?.text
    else { return }
    let claims = JSONValue.object([
      ("iss", .string(id)), ("sub", .string(id)), ("aud", .string(audience)),
      ("jti", .string(base64URL(randomBytes(16)))), ("iat", .number(Int(now.seconds))),
      ("exp", .number(Int(now.seconds + life))),
    ])
    let token: String
    if method == .secretJWT {
      guard let secret = values[OAuthSettings.assertionSecret] else { return }
      let signed = signingInput(claims, "HS256")
      token = signed + "." + base64URL(try Crypto.hmac(Array(signed.utf8), key: secret))
    } else {
      token = try signedByKey(
        claims, settings, values[OAuthSettings.clientAlgorithm]?.text ?? "")
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
        .usage, "private_key_jwt requires a key", hint: "set oauth.client_key to its file")
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
