/// Proves that the sender of a request has the key that its tokens are bound to (RFC 9449, DPoP): signs
/// a proof for each request.
///
/// The newest nonce of each server is kept for this process only: to store it would take longer than
/// the request that brings another (rule B19).
package final class ProofOfPossession {
  /// The private key, as a session keeps it.
  let secret: SharedSecret
  /// The thumbprint of the public key (RFC 7638), which binds an authorization code to it.
  package let thumbprint: String
  private let key: SigningKey
  /// The JOSE header of every proof, encoded.
  private let header: String
  private let clock: () -> Timestamp
  private var nonces: [String: String] = [:]

  /// Makes a new private key.
  static func newKey() throws(Failure) -> SharedSecret { try SigningKey.newP256().exported() }

  /// - Parameter secret: what `newKey` returned.
  /// - Throws: `failed` for anything else.
  init(_ secret: SharedSecret, clock: @escaping () -> Timestamp) throws(Failure) {
    self.secret = secret
    self.clock = clock
    key = try SigningKey(exported: secret, name: "the key of the session")
    let (x, y) = try key.publicPoint()
    let jwk = Self.jwk(x: base64URL(x), y: base64URL(y))
    thumbprint = base64URL(try Crypto.sha256(Array(jwk.serialized().utf8)))
    header = Self.encoded(.object([("typ", "dpop+jwt"), ("alg", "ES256"), ("jwk", jwk)]))
  }

  /// A public key of P-256 (RFC 7518, section 6.2.1), its members in the order that a thumbprint needs
  /// (RFC 7638, section 3.2).
  static func jwk(x: String, y: String) -> JSONValue {
    .object([("crv", "P-256"), ("kty", "EC"), ("x", .string(x)), ("y", .string(y))])
  }

  private static func encoded(_ value: JSONValue) -> String {
    base64URL(Array(value.serialized().utf8))
  }

  /// Returns the header `DPoP` of one request, which is good for no other (RFC 9449, section 4.2).
  ///
  /// - Parameters:
  ///   - token: the access token of a request to an API; nil for one to an authorization server.
  ///   - nonce: the nonce of the answer for which the request is repeated; nil for the newest one of
  ///     its server.
  func header(
    of method: String, _ url: WebURL, token: SharedSecret?, nonce: String? = nil
  ) throws(Failure) -> WireHeader {
    var claims: [(key: String, value: JSONValue)] = [
      ("jti", .string(base64URL(randomBytes(16)))), ("htm", .string(method)),
      ("htu", .string(url.origin.description + url.path)),
      ("iat", .number(Int(clock().seconds))),
    ]
    if let token {
      let hash = try Crypto.sha256(token.withBytes { Array($0) })
      claims.append(("ath", .string(base64URL(hash))))
    }
    if let nonce = nonce ?? nonces[Self.server(of: url, token)] {
      claims.append(("nonce", .string(nonce)))
    }
    let signed = header + "." + Self.encoded(.object(claims))
    let signature = try key.sign(Array(signed.utf8), by: .es256)
    return try WireHeader(name: "DPoP", value: signed + "." + base64URL(signature))
  }

  /// Returns the nonce of an answer; nil without one (RFC 9449, section 8.1).
  static func nonce(in head: ResponseHead) -> String? {
    let given = head.all("DPoP-Nonce")
    guard given.count == 1, (1...1024).contains(given[0].utf8.count),
      given[0].utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C })
    else { return nil }
    return given[0]
  }

  /// Reads the head of an answer that accepts a proof: keeps its nonce for the next request to the
  /// server (RFC 9449, section 8.2).
  ///
  /// - Parameters:
  ///   - token: as in the request.
  ///   - used: the nonce for which the request was repeated: it serves again if the answer has none.
  ///     It is not kept earlier, as a server may accept it only once.
  func keepNonce(
    of head: ResponseHead, from url: WebURL, token: SharedSecret?, used: String? = nil
  ) {
    guard let nonce = Self.nonce(in: head) ?? used else { return }
    nonces[Self.server(of: url, token)] = nonce
  }

  /// Returns the failure for a server that accepts none of the nonces that it gives out.
  static func refusal(at url: WebURL) -> Failure {
    var failure = Failure(
      .clientError,
      "HTTP 401: \(url.origin) requires another nonce for each proof of possession (use_dpop_nonce)",
      hint: "the server is at fault; try again later")
    failure.status = 401
    failure.url = Redactor.withoutQuery(url.text)
    return failure
  }

  /// Returns the failure for an API that refuses the proof itself (RFC 9449, section 7.1): the token
  /// may be good, so it is not renewed. nil for other answers.
  static func invalidProof(_ head: ResponseHead, at url: WebURL) -> Failure? {
    guard head.status == 401, head.tokenChallenge?["error"] == "invalid_dpop_proof" else {
      return nil
    }
    var failure = Failure(
      .clientError,
      "HTTP 401: \(url.origin) refused the proof of possession (invalid_dpop_proof)",
      hint: "compare the clocks here and on the server")
    failure.status = 401
    failure.url = Redactor.withoutQuery(url.text)
    return failure
  }

  /// An authorization server and an API may share an origin; their nonces differ (section 9).
  private static func server(of url: WebURL, _ token: SharedSecret?) -> String {
    url.origin.description + (token == nil ? "" : " API")
  }
}
