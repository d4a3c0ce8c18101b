/// The ID token in the answer to a token request (OpenID Connect Core 1.0, section 2).
///
/// It comes straight from the token endpoint over verified TLS, on which its signature may rest
/// (section 3.1.3.7, number 6); its claims are always checked (rule A15).
package enum IDToken {
  /// What an ID token must confirm of the authorization request.
  package struct Asked {
    let nonce: String
    /// The most seconds since the person signed in.
    let maxAge: Int?
  }

  /// How far the clocks may differ, in seconds.
  private static let leeway: Double = 60

  /// Returns what is wrong with the ID token in `answer`; nil if it is right, or if there is none
  /// and none is required.
  ///
  /// - Parameters:
  ///   - issuer: nil if the profile names only endpoints.
  ///   - asked: that of the authorization request; nil if there was none.
  static func problem(
    in answer: RecipeResponse, issuer: String?, clientID: String, asked: Asked?,
    isRequired: Bool, now: Timestamp
  ) throws(Failure) -> String? {
    guard let text = try answer.value(at: [.pointer("/id_token")])?.text else {
      return isRequired ? "no ID token in the answer" : nil
    }
    guard let (header, claims) = JWT.decode(text.utf8) else { return "the ID token is not a JWT" }
    guard let algorithm = header["alg"]?.text, !algorithm.equalsIgnoringCase("none") else {
      return "the ID token is not signed"
    }
    let hashProblem = try hashProblem(claims, algorithm, try answer.accessToken())
    return issuerProblem(claims, issuer) ?? audienceProblem(claims, clientID)
      ?? timeProblem(claims, now) ?? ageProblem(claims, asked?.maxAge, now)
      ?? nonceProblem(claims, asked?.nonce, isRequired) ?? hashProblem
      ?? (claims["sub"]?.text == nil ? "the ID token has no sub" : nil)
  }

  private static func issuerProblem(_ claims: JSONValue, _ issuer: String?) -> String? {
    guard let issuer else { return nil }
    guard let named = claims["iss"]?.text, named.utf8.elementsEqual(issuer.utf8) else {
      return "the ID token is from another issuer"
    }
    return nil
  }

  private static func audienceProblem(_ claims: JSONValue, _ clientID: String) -> String? {
    let audiences = JWT.audiences(claims)
    func isOwn(_ text: String) -> Bool { text.utf8.elementsEqual(clientID.utf8) }
    guard audiences.contains(where: isOwn) else { return "the ID token is for another client" }
    let party = claims["azp"]?.text
    guard party.map(isOwn) ?? (audiences.count == 1) else {
      return "the ID token was issued to another client"
    }
    return nil
  }

  private static func timeProblem(_ claims: JSONValue, _ now: Timestamp) -> String? {
    guard let end = claims["exp"]?.double else { return "the ID token has no exp" }
    guard end > now.seconds - leeway else { return "the ID token has expired; check the clocks" }
    guard claims["iat"]?.double ?? 0 < now.seconds + leeway + 86400 else {
      return "the ID token was issued in the future; check the clocks"
    }
    return nil
  }

  /// With `max_age`, the ID token must say when the person signed in (section 3.1.3.7, number 13).
  private static func ageProblem(
    _ claims: JSONValue, _ maxAge: Int?, _ now: Timestamp
  ) -> String? {
    guard let maxAge else { return nil }
    guard let signedIn = claims["auth_time"]?.double else {
      return "the ID token does not say when you signed in (auth_time)"
    }
    return signedIn + Double(maxAge) + leeway >= now.seconds
      ? nil : "the sign-in is older than --max-age allows"
  }

  /// The ID token may name the access token that it comes with, by half of its hash (section 3.1.3.6).
  private static func hashProblem(
    _ claims: JSONValue, _ algorithm: String, _ token: String?
  ) throws(Failure) -> String? {
    guard let named = claims["at_hash"]?.text, let token,
      algorithm.utf8.suffix(3).elementsEqual("256".utf8)
    else { return nil }
    let hash = base64URL(Array(try Crypto.sha256(Array(token.utf8)).prefix(16)))
    return hash.utf8.elementsEqual(named.utf8)
      ? nil : "the ID token is for another access token (at_hash)"
  }

  /// A server that loses the nonce is tolerated, as the answer came over TLS to the code that only
  /// this sign-in has; one that brings another is not.
  private static func nonceProblem(
    _ claims: JSONValue, _ nonce: String?, _ isRequired: Bool
  ) -> String? {
    guard let nonce else { return nil }
    guard let named = claims["nonce"]?.text else {
      return isRequired ? "the ID token has no nonce" : nil
    }
    return named.utf8.elementsEqual(nonce.utf8)
      ? nil : "the ID token is for another sign-in (nonce)"
  }
}
