import Foundation

/// The API's own, clean dialect: JSON in and out, short-lived JSON Web Tokens, refresh tokens that
/// work once, and a web session with cookies.
struct DemoDialect: Sendable {
  let accounts: Accounts
  let signer: Signer
  let options: Options

  func answer(_ request: Request) async -> Answer? {
    switch request.route {
    case "GET /": .text(200, Self.overview)
    case "POST /register": await register(request)
    case "POST /login": await login(request)
    case "POST /refresh": await refresh(request)
    case "POST /logout":
      await signedIn(request) { _, token in
        await accounts.signOut(token)
        return Answer(204, type: nil)
      }
    case "GET /me": await signedIn(request) { user, _ in reply(200, profile(user)) }
    case "GET /admin": await signedIn(request) { _, _ in refuse(403, "Forbidden") }
    case "GET /items": await signedIn(request) { _, _ in items(request) }
    case let route where route.hasPrefix("GET /items/"):
      await signedIn(request) { _, _ in item(String(route.dropFirst("GET /items/".count))) }
    case "POST /web-login": await webLogin(request)
    case "GET /page": await page(request)
    case "GET /sign-in-form": .html(200, Self.form)
    default: nil
    }
  }

  // MARK: Accounts and tokens

  private func register(_ request: Request) async -> Answer {
    guard let email = request.fields?["email"]?.string, email.contains("@"),
      let password = request.fields?["password"]?.string, !password.isEmpty
    else { return refuse(400, "An email and a password are needed.") }
    let name = request.fields?["name"]?.string ?? ""
    guard let user = await accounts.register(email: email, password: password, name: name) else {
      return refuse(409, "This e-mail address is already registered.")
    }
    return reply(201, profile(user))
  }

  private func login(_ request: Request) async -> Answer {
    guard let (name, password) = credentials(request) else {
      return refuse(400, "An email (or username) and a password are needed.")
    }
    guard let user = await accounts.user(named: name, password: password) else {
      return refuse(401, "Wrong e-mail address or password.")
    }
    let family = UUID().uuidString
    return await tokens(for: user, family: family, refresh: newRefreshToken(user, family))
  }

  private func refresh(_ request: Request) async -> Answer {
    guard let token = request.fields?["refresh_token"]?.string else {
      return refuse(400, "A refresh_token is needed.")
    }
    switch await accounts.spend(
      refresh: token, .demo, reusable: !options.rotate, killOnReuse: true)
    {
    case .unknown: return refuse(401, "Refresh token is not known.")
    case .used: return refuse(401, "Refresh token was already used.")
    case .revoked: return refuse(401, "Refresh token was revoked.")
    case .expired: return refuse(401, "Refresh token has expired.")
    case .good(let user, let old):
      let new = options.rotate ? await newRefreshToken(user, old.family) : nil
      return await tokens(for: user, family: old.family, refresh: new)
    }
  }

  private func newRefreshToken(_ user: Accounts.User, _ family: String) async -> String {
    let token = randomText(40, of: .asciiLetters)
    await accounts.add(
      refresh: token, .demo, to: user, family: family, lifetime: options.refreshTTL)
    return token
  }

  private func tokens(
    for user: Accounts.User, family: String, refresh: String?
  ) async -> Answer {
    let (now, lifetime) = (Date(), options.tokenTTL ?? 900)
    let claims: JSON = [
      "sub": .string(String(user.id)),
      "email": .string(user.email),
      "jti": .string(randomText(16, of: .hexDigits)),
      "iat": .int(Int(now.timeIntervalSince1970)),
      "exp": .int(Int(now.timeIntervalSince1970 + lifetime)),
    ]
    let token = signer.jwt(claims)
    await accounts.add(
      access: token, .demo, to: user, family: family, expires: now + lifetime)
    var members: [(String, JSON)] = [
      ("access_token", .string(token)), ("token_type", "bearer"),
      ("expires_in", .int(Int(lifetime))),
    ]
    if let refresh { members.insert(("refresh_token", .string(refresh)), at: 1) }
    return reply(200, .object(members), headers: [("Cache-Control", "no-store")])
  }

  /// From JSON, from a form or, without a body, from HTTP Basic.
  private func credentials(_ request: Request) -> (String, String)? {
    if request.bodyLength == 0 { return request.basic }
    guard let fields = request.fields,
      let name = (fields["email"] ?? fields["username"])?.string,
      let password = fields["password"]?.string
    else { return nil }
    return (name, password)
  }

  /// RFC 6750: 401 with a challenge, unless the Bearer token is valid.
  private func signedIn(
    _ request: Request, _ answer: (Accounts.User, Accounts.Token) async -> Answer
  ) async -> Answer {
    switch await accounts.holder(of: request.bearer, .demo) {
    case .valid(let user, let token): return await answer(user, token)
    case .expired: return challenge("Token has expired.", #", error="invalid_token""#)
    case .unknown where request.authorization == nil: return challenge("Token is missing.", "")
    case .unknown: return challenge("Token is not valid.", #", error="invalid_token""#)
    }
  }

  private func challenge(_ message: String, _ error: String) -> Answer {
    let value = #"Bearer realm="demo""# + error
    return reply(401, ["message": .string(message)], headers: [("WWW-Authenticate", value)])
  }

  // MARK: Sample data

  private static let goods: [JSON] = [
    ["id": 1, "name": "Lamp", "price": 39.5], ["id": 2, "name": "Ca\u{F1}a", "price": 12],
    ["id": 3, "name": "Desk", "price": 240],
  ]

  /// All items; with `per_page`, one page and a link to the next (RFC 8288).
  private func items(_ request: Request) -> Answer {
    guard let size = request.query("per_page").flatMap({ Int($0) }), size > 0, size < 1000 else {
      return reply(200, .array(Self.goods))
    }
    let page = min(1000, max(1, request.query("page").flatMap { Int($0) } ?? 1))
    let shown = Self.goods.dropFirst((page - 1) * size).prefix(size)
    let next = "</items?per_page=\(size)&page=\(page + 1)>; rel=\"next\""
    return reply(
      200, .array(Array(shown)), headers: page * size < Self.goods.count ? [("Link", next)] : [])
  }

  private func item(_ id: String) -> Answer {
    guard let item = Self.goods.first(where: { $0["id"]?.int == Int(id) }) else {
      return refuse(404, "No such item")
    }
    return reply(200, item)
  }

  private func profile(_ user: Accounts.User) -> JSON {
    ["id": .string(String(user.id)), "email": .string(user.email), "name": .string(user.name)]
  }

  private func reply(
    _ status: Int, _ value: JSON, headers: [(String, String)] = []
  ) -> Answer {
    .json(status, value, type: "application/json", headers: headers)
  }

  private func refuse(_ status: Int, _ message: String) -> Answer {
    reply(status, ["message": .string(message)])
  }

  // MARK: Web page with cookies

  private func webLogin(_ request: Request) async -> Answer {
    guard let (name, password) = credentials(request),
      let user = await accounts.user(named: name, password: password)
    else { return refuse(401, "Wrong e-mail address or password.") }
    let end = Date(timeIntervalSinceNow: 14 * 86400).httpText
    return reply(
      200, ["email": .string(user.email)],
      headers: [
        ("Set-Cookie", "session=\(cookie(user)); Path=/; HttpOnly"),
        ("Set-Cookie", "remember=\(cookie(user)); Path=/; Expires=\(end); HttpOnly"),
      ])
  }

  private func cookie(_ user: Accounts.User) -> String {
    signer.seal("web \(randomText(12, of: .asciiLetters)) \(user.email)")
  }

  private func page(_ request: Request) async -> Answer {
    for name in ["session", "remember"] {
      let words = request.cookie(name).flatMap(signer.open)?.split(separator: " ", maxSplits: 2)
      if let words, words.count == 3, words[0] == "web",
        let user = await accounts.user(named: String(words[2]))
      {
        return .html(200, "<!DOCTYPE html>\n<h1>Signed in as \(user.email.htmlEscaped)</h1>\n")
      }
    }
    return .html(
      302, "<a href=\"/sign-in-form\">Sign in</a>\n", headers: [("Location", "/sign-in-form")])
  }

  private static let form = """
    <!DOCTYPE html>
    <form action="/web-login" method="post">
      <input name="email"><input name="password" type="password"><button>Sign in</button>
    </form>

    """

  private static let overview = """
    DemoAPI: a small API to play with. ada@example.com has the password
    "correct horse battery", grace@example.com "s3cret|with|pipes".

      POST /register   {"email","password","name"}
      POST /login      {"email","password"}, also as a form or by HTTP Basic
      POST /refresh    {"refresh_token"}
      POST /logout     GET /me   GET /items   GET /items/1   GET /admin   (Bearer)
      POST /web-login  GET /page                                         (cookies)
      ANY  /echo       GET /big?bytes=N   GET /gzip   GET /redirect?to=URL
      GET /pages?n=3&by=link|body|cursor

    The same accounts sign in by the manners of other back ends:

      express-jwt   POST /api/register      POST /api/login   GET /api/faculty/courses
      vapor-basic   POST /api/v1/signin     POST /api/v1/refresh   GET /api/v1/me
      rails-jwt     POST /api/user_sessions   GET /api/user
      rails-turbo   POST /api/auth   DELETE /api/auth   GET /api/me   GET /me
      rails-selfie  POST /api/signup   POST /api/signin   GET /api/get_token?email=E
                    GET /api/clear_token   GET /api/get_photos
                    POST /api/upload_photo   DELETE /api/delete_photo

    OAuth 2.0 and OpenID Connect, with metadata at /.well-known/openid-configuration (and a second
    issuer at /tenant):

      GET  /authorize   POST /token    POST /device_authorization   GET /device   POST /par
      POST /revoke      POST /introspect   GET /userinfo   GET /jwks   POST /connect/register
      GET  /oauth-api/me   /oauth-api/admin (scope admin)   /oauth-api/pages   /oauth-api/echo
      GET  /oauth-api/strong (acr_values urn:demo:strong)   GET /ci-token (demo-ci-request-token)

      demo-public         no secret; redirects to http://127.0.0.1:PORT/callback, any port
      demo-confidential   the secret "s3cr:t &+%"; the same redirects
      demo-service        the secret "service-secret", or a key; a service account
      demo-key            private_key_jwt, by the key of the switch client_key_pem

    To sign in without a browser, post email, password and action=approve|deny as a form to the
    URL of the sign-in page. GET /oauth-settings lists the switches that make the server misbehave;
    POST /oauth-settings {"NAME": VALUE} sets them, and POST /reset resets them.

    For tests: GET /count   GET /requests   GET /ended     POST /misbehave   POST /expire
               POST /reset  POST /raw       GET /raw/seen

    """
}
