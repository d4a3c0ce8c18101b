import Foundation

/// The token endpoint: RFC 6749, 7523, 8628 and 8693, and OpenID Connect Core 1.0.
extension OAuth {
  static let grantTypes = [
    "authorization_code", "refresh_token", "client_credentials", "password",
    "urn:ietf:params:oauth:grant-type:device_code",
    "urn:ietf:params:oauth:grant-type:jwt-bearer",
    "urn:ietf:params:oauth:grant-type:token-exchange",
  ]

  /// The response in the format of the switch token_format.
  func tokenAnswer(_ request: Request, _ place: Place) async -> Answer {
    var answer: Answer
    do {
      answer = try await token(request, place)
    } catch {
      answer = refusal(error, to: request)
      answer.status = settings["token_error_status"].int ?? answer.status
    }
    guard case .bytes(let bytes) = answer.body, case .object(let members)? = JSON(bytes) else {
      return answer
    }
    switch settings.text("token_format") {
    case "form":
      let pairs = members.map { $0.formEncoded + "=" + ($1.string ?? $1.text()).formEncoded }
      answer.body = .bytes(Data(pairs.joined(separator: "&").utf8))
      answer.setHeader("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
      return answer
    case "html": return page(answer.status, "Something happened")
    default: return answer
    }
  }

  private func token(_ request: Request, _ place: Place) async throws -> Answer {
    let form = try Form(body: request)
    let type = try form.needed("grant_type")
    let errors = settings["token_error"]
    if let error = errors.string ?? errors[type]?.string { throw OAuthError(error) }
    let client = try authenticate(request, form, place)
    guard client.grants?.contains(type) != false else {
      throw OAuthError("unauthorized_client", "\(type) is not registered.")
    }
    let key = try proof(request, place, nonce: "dpop_nonce_token")
    if key == nil, client.bindsTokens || settings.flag("dpop_required") {
      throw OAuthError("invalid_dpop_proof", "A DPoP proof is missing.")
    }
    if !["authorization_code", "refresh_token"].contains(type) { try checkTarget(form, place) }

    var grant: Grant
    switch type {
    case "authorization_code": grant = try redeem(form, client, key)
    case "refresh_token": return try refresh(form, client, key, place)
    case "client_credentials":
      guard !client.isPublic else {
        throw OAuthError("unauthorized_client", "A public client has no credentials.")
      }
      grant = Grant(client: client.id, subject: client.id, scope: try scope(form, client))
    case "password":
      let (name, password) = (try form.needed("username"), try form.needed("password"))
      guard let user = await accounts.user(named: name, password: password) else {
        throw OAuthError("invalid_grant", "Wrong user name or password.")
      }
      grant = Grant(
        client: client.id, user: user, subject: String(user.id), scope: try scope(form, client))
    case Self.grantTypes[4]: grant = try await poll(form, client)
    case Self.grantTypes[5]: grant = try await trust(form, "assertion", client, place)
    case Self.grantTypes[6]:
      _ = try form.needed("subject_token_type")
      grant = try await trust(form, "subject_token", client, place)
    default: throw OAuthError("unsupported_grant_type", "\(type) is not known.")
    }
    grant.jkt = key
    if grant.resource.isEmpty, type != "authorization_code" {
      grant.resource = form.all("resource")
    }
    grant.audience = form["audience"] ?? grant.audience
    let mayRefresh =
      Self.grantTypes.prefix(5).contains(type) && grant.user != nil
      && client.grants?.contains("refresh_token") != false
      && (!settings.flag("offline_access_required") || grant.scope.contains("offline_access"))
    let further: [(String, JSON)] =
      type == Self.grantTypes[6]
      ? [("issued_token_type", "urn:ietf:params:oauth:token-type:access_token")] : []
    return answer(grant, grant.scope, place, refresh: mayRefresh ? newRefresh(grant) : nil, further)
  }

  // MARK: Grants

  private func redeem(_ form: Form, _ client: OAuthClient, _ key: String?) throws -> Grant {
    let text = try form.needed("code")
    guard let code = codes[text], code.grant.client == client.id else {
      throw OAuthError("invalid_grant", "This code is unknown.")
    }
    codes[text]?.used = Date()
    if let used = code.used {
      ended.insert(code.grant.family, of: code.grant.account, .reuse, spent: used)
      throw OAuthError("invalid_grant", "This code was used; its tokens are revoked.")
    }
    guard code.expires > Date() else { throw OAuthError("invalid_grant", "The code has expired.") }
    guard form["redirect_uri"] == code.redirect else {
      throw OAuthError("invalid_grant", "redirect_uri differs from the authorization request.")
    }
    if let challenge = code.challenge {
      let verifier = form["code_verifier"] ?? ""
      guard (43...128).contains(verifier.utf8.count),
        Signer.base64url(Data(Digest.sha256(Data(verifier.utf8)))) == challenge
      else { throw OAuthError("invalid_grant", "code_verifier is wrong.") }
    } else if form["code_verifier"] != nil {
      throw OAuthError("invalid_grant", "There was no code_challenge.")
    }
    if let bound = code.grant.jkt, bound != key {
      throw OAuthError("invalid_dpop_proof", "The code is bound to another key.")
    }
    guard code.grant.covers(form) else {
      throw OAuthError("invalid_target", "The authorization request did not name this resource.")
    }
    return code.grant
  }

  private func refresh(
    _ form: Form, _ client: OAuthClient, _ key: String?, _ place: Place
  ) throws -> Answer {
    let text = try form.needed("refresh_token")
    guard let token = tokens[text], token.isRefresh, token.grant.client == client.id else {
      throw OAuthError("invalid_grant", "This refresh token is unknown.")
    }
    let grant = token.grant
    if let used = token.used {
      if settings.flag("reuse_kills") {
        ended.insert(grant.family, of: grant.account, .reuse, spent: used)
      }
      throw OAuthError("invalid_grant", "This refresh token was already used.")
    }
    guard !ended.contains(grant.family), token.expires > Date() else {
      throw OAuthError("invalid_grant", "This refresh token is revoked or expired.")
    }
    guard grant.jkt == nil || grant.jkt == key else {
      throw OAuthError("invalid_dpop_proof", "The refresh token is bound to another key.")
    }
    let scope = form["scope"]?.words ?? grant.scope
    guard scope.allSatisfy(grant.scope.contains) else {
      throw OAuthError("invalid_scope", "The scope is wider than granted.")
    }
    guard grant.covers(form) else {
      throw OAuthError("invalid_target", "The authorization request did not name this resource.")
    }
    let rotate = settings.flag("rotate")
    if rotate { tokens[text]?.used = Date() }
    return answer(grant, scope, place, refresh: rotate ? newRefresh(grant) : nil, isRefresh: true)
  }

  /// RFC 7523, section 2.1, and RFC 8693: an assertion, or a token of this server.
  private func trust(
    _ form: Form, _ name: String, _ client: OAuthClient, _ place: Place
  ) async throws -> Grant {
    let text = try form.needed(name)
    let jwt = JWT(text)
    var subject: String?
    if settings.texts("subject_tokens").contains(text) {
      subject = "repo:demo/shop:ref:refs/heads/main"
    } else if let token = live(text), !token.isRefresh {
      subject = token.grant.user?.email ?? token.grant.subject
    } else if let jwt, let key = key.publicKey, jwt.isSigned(by: key),
      jwt.claims["exp"]?.double ?? 0 > Date().timeIntervalSince1970
    {
      subject = jwt.claims["email"]?.string ?? jwt.claims["sub"]?.string
    } else if let jwt, let issuer = clients[jwt.claims["iss"]?.string ?? ""],
      isBelieved(jwt, issuer, place)
    {
      subject = jwt.claims["sub"]?.string ?? issuer.id
    }
    guard let subject else {
      throw OAuthError("invalid_grant", "The \(name) is not valid.")
    }
    let user = await accounts.user(named: subject)
    return Grant(
      client: client.id, user: user, subject: user.map { String($0.id) } ?? subject,
      scope: try scope(form, client))
  }

  // MARK: Tokens

  /// A token that is valid now.
  func live(_ text: String?) -> Token? {
    guard let text, let token = tokens[text], token.expires > Date(), token.used == nil,
      !ended.contains(token.grant.family)
    else { return nil }
    return token
  }

  private func newRefresh(_ grant: Grant) -> String {
    let text = "refresh-" + randomText(40, of: .asciiLetters)
    let lifetime = settings["refresh_ttl"].double ?? options.refreshTTL
    tokens[text] = Token(
      grant: grant, isRefresh: true, expires: Date(timeIntervalSinceNow: lifetime))
    return text
  }

  private func answer(
    _ grant: Grant, _ scope: [String], _ place: Place, refresh: String?,
    _ further: [(String, JSON)] = [], isRefresh: Bool = false
  ) -> Answer {
    var given = grant
    given.scope = scope
    let lifetime = settings["token_ttl"].double ?? options.tokenTTL ?? 900
    let now = Date()
    let end = Int(now.timeIntervalSince1970 + lifetime)
    var text = "access-" + randomText(40, of: .asciiLetters)
    if settings.flag("access_token_jwt") {
      text = signer.jwt([
        "iss": .string(place.issuer), "sub": .string(grant.subject), "exp": .int(end),
        "client_id": .string(grant.client), "jti": .string(text),
      ])
    }
    tokens[text] = Token(grant: given, isRefresh: false, expires: now + lifetime)
    var members: [(String, JSON)] = [
      ("access_token", .string(text)), ("token_type", grant.jkt == nil ? "Bearer" : "DPoP"),
      ("expires_in", .int(Int(lifetime))),
    ]
    if let refresh { members.append(("refresh_token", .string(refresh))) }
    members.append(("scope", .string(scope.joined(separator: " "))))
    if scope.contains("openid"), grant.user != nil {
      let token = idToken(grant, text, end, place, isRefresh)
      members.append(("id_token", .string(token)))
    }
    let overlays = isRefresh ? ["token", "refresh"] : ["token"]
    let all = settings.overlaid(members + further, by: overlays, at: place)
    return json(200, .object(all), headers: [("Pragma", "no-cache")] + newNonce("dpop_nonce_token"))
  }

  /// OpenID Connect Core 1.0, section 2.
  private func idToken(
    _ grant: Grant, _ access: String, _ end: Int, _ place: Place, _ isRefresh: Bool
  ) -> String {
    let hash = Data(Digest.sha256(Data(access.utf8)).prefix(16))
    var claims: [(String, JSON)] = [
      ("iss", .string(place.issuer)), ("sub", .string(grant.subject)),
      ("aud", .string(grant.client)), ("azp", .string(grant.client)), ("exp", .int(end)),
      ("iat", .int(Int(Date().timeIntervalSince1970))), ("auth_time", .int(grant.since)),
      ("at_hash", .string(Signer.base64url(hash))),
      ("email", .string(grant.user?.email ?? "")), ("name", .string(grant.user?.name ?? "")),
    ]
    if let nonce = grant.nonce, !isRefresh { claims.append(("nonce", .string(nonce))) }
    if let acr = grant.acr { claims.append(("acr", .string(acr))) }
    let all = JSON.object(
      settings.overlaid(
        claims, by: isRefresh ? ["id_token", "refresh_id_token"] : ["id_token"], at: place))
    switch settings.text("id_token_alg") {
    case "none":
      return Signer.base64url(#"{"alg":"none"}"#) + "." + Signer.base64url(all.text()) + "."
    case "HS256": return signer.jwt(all)
    default: return key.jwt(all)
    }
  }
}
