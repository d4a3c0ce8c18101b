import Foundation

/// The API, and the endpoints about tokens: RFC 6750, 7009, 7662, 9449, 9470 and 9728.
extension OAuth {
  func api(_ request: Request, _ place: Place) throws -> Answer {
    try withToken(request, place) { token in
      let grant = token.grant
      let me: JSON = [
        "id": .string(grant.subject), "email": .string(grant.user?.email ?? ""),
        "name": .string(grant.user?.name ?? grant.subject), "client": .string(grant.client),
        "scope": .string(grant.scope.joined(separator: " ")),
        "resource": .array(grant.resource.map { .string($0) }),
        "audience": grant.audience.map { .string($0) } ?? .null,
      ]
      switch place.route {
      case "GET /oauth-api/me": return json(200, me)
      case "GET /oauth-api/admin":
        guard grant.scope.contains("admin") else { throw Self.needs(scope: "admin") }
        return json(200, me)
      case "GET /oauth-api/strong":
        guard grant.acr == "urn:demo:strong" else { throw Self.needsStrength }
        return json(200, me)
      case "GET /oauth-api/pages":
        let page = request.query("page").flatMap { Int($0) } ?? 1
        let link = ("Link", "</oauth-api/pages?page=\(page + 1)>; rel=\"next\"")
        return json(200, [["id": .int(page)]], headers: page < 3 ? [link] : [])
      case "POST /oauth-api/mcp":
        // The Model Context Protocol wants a client that takes both kinds of answer.
        guard request.header("accept") == "application/json, text/event-stream" else {
          return json(406, ["message": "Not acceptable"])
        }
        return json(200, ["jsonrpc": "2.0", "id": 1, "result": ["tools": []]])
      case _ where request.path == "/oauth-api/echo":
        return json(200, request.description(bodyLimit: 1 << 20))
      default: return json(404, ["message": "Not found"])
      }
    }
  }

  private static func needs(scope: String) -> OAuthError {
    OAuthError(
      "insufficient_scope", "More scope is needed.", status: 403, headers: [("scope", scope)])
  }
  private static let needsStrength = OAuthError(
    "insufficient_user_authentication", "A stronger sign-in is needed.", status: 401,
    headers: [("acr_values", "urn:demo:strong"), ("max_age", "300")])

  /// The `headers` of an error thrown by `answer` become parameters of the challenge.
  private func withToken(
    _ request: Request, _ place: Place, _ answer: (Token) throws -> Answer
  ) throws -> Answer {
    let words = (request.authorization ?? "").split(separator: " ", maxSplits: 1).map(String.init)
    let isDPoP = words.first == "DPoP"
    do {
      guard words.count == 2, isDPoP || words[0] == "Bearer" else {
        throw OAuthError(request.authorization == nil ? "" : "invalid_token", "A token is missing.")
      }
      guard let token = live(words[1]), !token.isRefresh else {
        throw OAuthError("invalid_token", "Token is unknown, revoked or expired.")
      }
      if isDPoP || token.grant.jkt != nil {
        let key = try proof(request, place, nonce: "dpop_nonce_api", token: words[1])
        guard isDPoP, key != nil, token.grant.jkt == key else {
          throw OAuthError("invalid_token", "The token is bound to another key.")
        }
      }
      if settings.flag("resource_required"),
        !token.grant.resource.contains(where: { request.resourceBegins(with: $0, place) })
      {
        throw OAuthError("invalid_token", "The token is for another resource.")
      }
      switch settings.text("api_error") {
      case "insufficient_scope": throw Self.needs(scope: "admin")
      case "insufficient_user_authentication": throw Self.needsStrength
      case let error?: throw OAuthError(error)
      case nil:
        var answer = try answer(token)
        if isDPoP { answer.headers += newNonce("dpop_nonce_api") }
        return answer
      }
    } catch let error as OAuthError {
      return challenge(error, isDPoP ? "DPoP" : "Bearer", place)
    }
  }

  private func challenge(_ error: OAuthError, _ scheme: String, _ place: Place) -> Answer {
    let isNonce = { (header: (String, String)) in header.0 == "DPoP-Nonce" }
    var members: [(String, JSON)] = [
      (
        "resource_metadata",
        .string(place.origin + "/.well-known/oauth-protected-resource/oauth-api")
      )
    ]
    if !error.code.isEmpty {
      members += [
        ("error", .string(error.code)),
        ("error_description", .string(settings.text("error_description") ?? error.description)),
      ]
    }
    if scheme == "DPoP" { members.append(("algs", "ES256 RS256")) }
    members += error.headers.filter { !isNonce($0) }.map { ($0, .string($1)) }
    let parameters = settings.overlaid(members, by: ["api_challenge"], at: place)
      .map { "\($0)=\"\($1.string ?? $1.text())\"" }
    return json(
      error.status == 403 ? 403 : 401, ["message": .string(error.description)],
      headers: [("WWW-Authenticate", scheme + " " + parameters.joined(separator: ", "))]
        + error.headers.filter(isNonce))
  }

  // MARK: Endpoints about tokens

  func userinfo(_ request: Request, _ place: Place) throws -> Answer {
    try withToken(request, place) { token in
      guard let user = token.grant.user, token.grant.scope.contains("openid") else {
        throw Self.needs(scope: "openid")
      }
      return json(
        200,
        .object(
          settings.overlaid(
            [
              ("sub", .string(token.grant.subject)), ("email", .string(user.email)),
              ("email_verified", true), ("name", .string(user.name)),
            ], by: ["userinfo"], at: place)))
    }
  }

  /// Revoking a refresh token revokes its whole family.
  func revoke(_ request: Request, _ place: Place) throws -> Answer {
    let form = try Form(body: request)
    let client = try authenticate(request, form, place)
    if settings.flag("revoke_confidential_only"), client.isPublic {
      throw OAuthError("unauthorized_client", "Public clients may not revoke.", status: 403)
    }
    let text = try form.needed("token")
    if let token = tokens[text], token.grant.client == client.id {
      if token.isRefresh { ended.insert(token.grant.family, of: token.grant.account, .signOut) }
      tokens[text] = nil
    }
    return Answer(200, type: nil)
  }

  func introspect(_ request: Request, _ place: Place) throws -> Answer {
    let form = try Form(body: request)
    _ = try authenticate(request, form, place)
    guard let token = live(try form.needed("token")) else { return json(200, ["active": false]) }
    let grant = token.grant
    var members: [(String, JSON)] = [
      ("active", true), ("client_id", .string(grant.client)), ("sub", .string(grant.subject)),
      ("scope", .string(grant.scope.joined(separator: " "))), ("iss", .string(place.issuer)),
      ("exp", .int(Int(token.expires.timeIntervalSince1970))),
    ]
    if let user = grant.user { members.append(("username", .string(user.email))) }
    if let jkt = grant.jkt { members.append(("cnf", ["jkt": .string(jkt)])) }
    return json(200, .object(settings.overlaid(members, by: ["introspection"], at: place)))
  }

  /// An ID token for a CI job, in the format of GitHub Actions.
  func ciToken(_ request: Request, _ place: Place) -> Answer {
    guard request.bearer == "demo-ci-request-token" else {
      return json(401, ["message": "The request token is not valid."])
    }
    let claims: JSON = [
      "iss": .string(place.issuer), "sub": "repo:demo/shop:ref:refs/heads/main",
      "aud": .string(request.query("audience") ?? place.origin),
      "exp": .int(Int(Date().timeIntervalSince1970) + 300),
    ]
    return json(200, ["count": 1, "value": .string(key.jwt(claims))])
  }

  // MARK: Proof of possession (RFC 9449)

  /// The thumbprint of the key that signed the proof; nil without a proof.
  func proof(
    _ request: Request, _ place: Place, nonce mode: String, token: String? = nil
  ) throws -> String? {
    guard let text = request.header("dpop") else { return nil }
    func refuse(_ why: String) -> OAuthError { OAuthError("invalid_dpop_proof", why) }
    guard let jwt = JWT(text), jwt.header["typ"]?.string == "dpop+jwt",
      let jwk = jwt.header["jwk"], jwk["d"] == nil, let key = PublicKey(jwk: jwk),
      jwt.isSigned(by: key)
    else { throw refuse("The proof is not signed by its key.") }
    let claims = jwt.claims
    guard claims["htm"]?.string == request.method,
      claims["htu"]?.string == place.origin + request.path
    else { throw refuse("The proof is for another request.") }
    guard abs((claims["iat"]?.double ?? 0) - Date().timeIntervalSince1970) < 300 else {
      throw refuse("The proof is too old.")
    }
    if let token {
      let hash = Signer.base64url(Data(Digest.sha256(Data(token.utf8))))
      guard claims["ath"]?.string == hash else { throw refuse("ath is wrong.") }
    }
    if let value = settings.text(mode) {
      let nonce = mode + " " + (claims["nonce"]?.string ?? "")
      guard value != "always", nonces.contains(nonce) else {
        throw OAuthError(
          "use_dpop_nonce", "Use this nonce.", headers: [("DPoP-Nonce", freshNonce(mode))])
      }
      if value == "once" { nonces.remove(nonce) }
    }
    guard let id = claims["jti"]?.string, seen.insert("proof " + id).inserted else {
      throw refuse("The proof was used before.")
    }
    return PublicKey.thumbprint(jwk)
  }

  /// The next nonce, if each works once.
  func newNonce(_ mode: String) -> [(String, String)] {
    settings.text(mode) == "once" ? [("DPoP-Nonce", freshNonce(mode))] : []
  }

  /// A nonce of the token endpoint is none of the API, and the other way round.
  private func freshNonce(_ mode: String) -> String {
    let nonce = randomText(24, of: .asciiLetters)
    nonces.insert(mode + " " + nonce)
    return nonce
  }
}

extension Request {
  /// Whether a resource (RFC 8707) is this URL or its parent.
  func resourceBegins(with resource: String, _ place: OAuth.Place) -> Bool {
    let url = place.origin + path
    return url == resource || url.hasPrefix(resource + "/")
  }
}
