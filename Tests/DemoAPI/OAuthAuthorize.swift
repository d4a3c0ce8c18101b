import Foundation

/// The authorization endpoint: RFC 6749, 7636, 8707, 9126 and 9207.
extension OAuth {
  var scopes: [String] {
    let own = settings.texts("scopes")
    return own.isEmpty
      ? ["openid", "profile", "email", "offline_access", "read", "write", "admin"] : own
  }

  func authorize(_ request: Request, _ place: Place) async throws -> Answer {
    let body =
      request.method == "POST" ? Request.pairs(String(decoding: request.body, as: UTF8.self)) : []
    let asked = Form(request.query + body)
    var form = asked
    if let uri = asked["request_uri"] {
      guard let (kept, expires) = pushed[uri], expires > Date(),
        kept["client_id"] == asked["client_id"]
      else { return page(400, "This request_uri is unknown, used, or expired.") }
      form = kept
    }
    guard let client = client(form["client_id"]) else {
      return page(400, "This client is unknown.")
    }
    guard let redirect = form["redirect_uri"], permits(redirect, client) else {
      return page(400, "This redirect_uri is not registered.")
    }
    do {
      if settings.flag("par_required"), asked["request_uri"] == nil {
        throw OAuthError("invalid_request", "Only pushed requests are accepted.")
      }
      let scope = try check(form, client, place)
      let user: Accounts.User
      if let email = settings.text("auto_approve") {
        guard let known = await accounts.user(named: email) else {
          throw OAuthError("access_denied", "There is no account \(email).")
        }
        user = known
      } else if form["prompt"]?.words.contains("none") == true {
        throw OAuthError("login_required", "Nobody is signed in.")
      } else if request.method != "POST" {
        return signInForm(client, scope)
      } else if asked["action"] == "deny" {
        throw OAuthError("access_denied", "The person denied it.")
      } else if let known = await accounts.user(named: asked["email"], password: asked["password"])
      {
        user = known
      } else {
        return signInForm(client, scope, refused: true)
      }
      if let uri = asked["request_uri"] { pushed[uri] = nil }
      let code = randomText(32, of: .asciiLetters)
      codes[code] = Code(
        grant: Grant(
          client: client.id, user: user, subject: String(user.id), scope: scope,
          resource: form.all("resource"), audience: form["audience"], nonce: form["nonce"],
          acr: form["acr_values"]?.words.first, jkt: form["dpop_jkt"]),
        redirect: redirect, challenge: form["code_challenge"])
      return sendBack([("code", .string(code))], form, redirect, request, place)
    } catch let error as OAuthError {
      if settings.flag("error_page") { return page(400, error.description) }
      return sendBack(members(of: error, request), form, redirect, request, place)
    }
  }

  /// Returns the scope to grant.
  private func check(_ form: Form, _ client: OAuthClient, _ place: Place) throws -> [String] {
    guard form["response_type"] == "code" else {
      throw OAuthError("unsupported_response_type", "response_type must be code.")
    }
    for name in Set(form.pairs.map(\.name)).subtracting(["resource"])
    where form.all(name).count > 1 {
      throw OAuthError("invalid_request", "\(name) came twice.")
    }
    if let challenge = form["code_challenge"] {
      guard form["code_challenge_method"] == "S256", challenge.utf8.count == 43 else {
        throw OAuthError("invalid_request", "code_challenge_method must be S256.")
      }
    } else if client.isPublic {
      throw OAuthError("invalid_request", "code_challenge is missing.")
    }
    let scope = try self.scope(form, client)
    if settings.flag("nonce_required"), scope.contains("openid"), form["nonce"] == nil {
      throw OAuthError("invalid_request", "nonce is missing.")
    }
    try checkTarget(form, place)
    return scope
  }

  func scope(_ form: Form, _ client: OAuthClient) throws -> [String] {
    let asked = form["scope"]?.words ?? ["read"]
    for scope in asked where !scopes.contains(scope) || client.scope?.contains(scope) == false {
      throw OAuthError("invalid_scope", "The scope \(scope) is not known, or not registered.")
    }
    return settings.text("grant_scope")?.words ?? asked
  }

  /// RFC 8707: the only resources are on this server.
  func checkTarget(_ form: Form, _ place: Place) throws {
    for resource in form.all("resource")
    where resource != place.origin && !resource.hasPrefix(place.origin + "/") {
      throw OAuthError("invalid_target", "\(resource) is not known here.")
    }
    if let audience = settings.text("required_audience"), form["audience"] != audience {
      throw OAuthError("invalid_target", "The audience must be \(audience).")
    }
  }

  /// RFC 9126.
  func push(_ request: Request, _ place: Place) throws -> Answer {
    var form = try Form(body: request)
    let client = try authenticate(request, form, place)
    guard form["request_uri"] == nil, let redirect = form["redirect_uri"],
      permits(redirect, client)
    else { throw OAuthError("invalid_request", "This redirect_uri is not registered.") }
    form.pairs.removeAll { ["client_id", "client_secret", "client_assertion"].contains($0.name) }
    form.pairs.append(("client_id", client.id))
    _ = try check(form, client, place)
    let uri = "urn:ietf:params:oauth:request_uri:" + randomText(24, of: .hexDigits)
    pushed[uri] = (form, Date(timeIntervalSinceNow: 90))
    return json(201, ["request_uri": .string(uri), "expires_in": 90])
  }

  // MARK: Redirect

  private func sendBack(
    _ result: [(String, JSON)], _ form: Form, _ redirect: String, _ request: Request,
    _ place: Place
  ) -> Answer {
    var members = result
    if let state = form["state"] { members.append(("state", .string(state))) }
    let issuer = ("iss", JSON.string(place.issuer))
    members = settings.flag("iss_first") ? [issuer] + members : members + [issuer]
    let pairs = settings.overlaid(members, by: ["authorize"], at: place).flatMap { name, value in
      (value.array ?? [value]).map { (name, $0.string ?? $0.text()) }
    }
    var target = redirect
    if let path = settings.text("authorize_path") {
      target = redirect.split(separator: "/").prefix(2).joined(separator: "//") + path
    }
    let query = pairs.map { $0.formEncoded + "=" + $1.formEncoded }.joined(separator: "&")
    if settings.text("authorize_mode") == "form_post" {
      let fields = pairs.map {
        "<input type=\"hidden\" name=\"\($0.htmlEscaped)\" value=\"\($1.htmlEscaped)\">"
      }
      let form = "<form method=\"post\" action=\"\(target.htmlEscaped)\">"
      return page(
        200, "Almost there", form + fields.joined() + "<button>Continue</button></form>\n")
    }
    let mark =
      settings.text("authorize_mode") == "fragment" ? "#" : target.contains("?") ? "&" : "?"
    return Answer(
      request.method == "POST" ? 303 : 302, type: nil,
      headers: [("Location", target + mark + query), ("Cache-Control", "no-store")])
  }

  /// The form posts to its own URL, which has the parameters of the request.
  private func signInForm(
    _ client: OAuthClient, _ scope: [String], refused: Bool = false
  ) -> Answer {
    page(
      refused ? 403 : 200, "Sign in",
      """
      \(refused ? "<p>Wrong e-mail address or password.</p>" : "")
      <p>\(client.id.htmlEscaped) asks for: \(scope.joined(separator: " ").htmlEscaped)</p>
      <form method="post">
        <input name="email" placeholder="E-mail"><input name="password" type="password">
        <button name="action" value="approve">Approve</button>
        <button name="action" value="deny">Deny</button>
      </form>

      """)
  }
}
