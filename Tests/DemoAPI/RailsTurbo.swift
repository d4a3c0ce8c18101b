import Foundation

/// rails-turbo: Rails and Devise for a Turbo Native app. The sign-in returns an opaque token for
/// /api and two cookies for the web pages; most errors have no body.
struct RailsTurbo: Sendable {
  let accounts: Accounts
  let signer: Signer
  let tokenTTL: Double?

  func answer(_ request: Request) async -> Answer? {
    switch request.route {
    case "POST /api/auth": return await signIn(request)
    case "DELETE /api/auth":
      guard case .valid(let user, let token) = await holder(request) else { return refused }
      await accounts.signOut(token)
      await accounts.forgetRememberCookies(of: user.email)
      return Answer(204, type: nil, headers: [sessionCookie(nil)])
    case "GET /api/me":
      guard case .valid(let user, _) = await holder(request) else { return refused }
      return .json(200, row(user))
    case "GET /me": return isForDemo(request) ? nil : await page(request)
    case "GET /users/sign_in":
      return .html(200, layout(form), headers: [sessionCookie(nil)])
    case _ where request.path.hasPrefix("/api/users") && request.route != "GET /api/user":
      return .html(404, Self.notFound, type: "text/html; charset=UTF-8")
    case "GET /api/whoami" where wantsJSON(request):
      return .json(
        404, ["status": 404, "error": "Not Found"], type: "application/json; charset=UTF-8")
    default: return nil
    }
  }

  private func signIn(_ request: Request) async -> Answer {
    guard let fields = request.fields else { return Answer(400, type: "text/html; charset=UTF-8") }
    guard
      let user = await accounts.user(
        named: fields["email"]?.string, password: fields["password"]?.string)
    else { return refused }
    let token = await accounts.standing(.railsTurbo, for: user, lifetime: tokenTTL) {
      randomText(20, of: .hexDigits)
    }
    return .json(
      200, ["token": .string(token.text)], headers: [rememberCookie(user), sessionCookie(user)])
  }

  private func holder(_ request: Request) async -> Accounts.Holder {
    await accounts.holder(of: request.lastWord, .railsTurbo)
  }

  private var refused: Answer { Answer(401, type: "text/html") }

  private func row(_ user: Accounts.User) -> JSON {
    ["id": .int(user.id), "email": .string(user.email)]
  }

  // MARK: Web page with the cookies

  /// The demo dialect also has a `GET /me` for Bearer tokens; this server's tokens are 20 hex
  /// digits.
  private func isForDemo(_ request: Request) -> Bool {
    guard let word = request.lastWord else { return false }
    return word.wholeMatch(of: /[0-9a-f]{20}/) == nil
  }

  private func page(_ request: Request) async -> Answer {
    let (session, remembered) = (sessionUser(request), request.cookie("remember_user_token"))
    var user = await accounts.user(named: session)
    if user == nil { user = await rememberedUser(remembered) }
    if let user {
      if wantsJSON(request) { return .json(200, row(user), headers: [sessionCookie(user)]) }
      let heading = "<h1>Signed in as \(user.email.htmlEscaped)</h1>\n"
      return .html(200, layout(heading), headers: [sessionCookie(user)])
    }
    let words = "You need to sign in or sign up before continuing."
    if wantsJSON(request) { return .json(401, ["error": .string(words)]) }
    if request.header("user-agent")?.contains("Turbo Native") == true {
      let accept = request.header("accept") ?? "*/*"
      return .text(401, words, type: accept + "; charset=utf-8")
    }
    let place = "http://\(request.header("host") ?? "127.0.0.1")/users/sign_in"
    let link = "<a href=\"\(place.htmlEscaped)\">redirected</a>"
    let gone = "remember_user_token=; path=/; max-age=0; expires=Thu, 01 Jan 1970 00:00:00 GMT;"
    return .html(
      302, "<html><body>You are being \(link).</body></html>",
      headers: [("Location", place), sessionCookie(nil)]
        + (remembered == nil ? [] : [("Set-Cookie", gone + " SameSite=Lax")]))
  }

  private func wantsJSON(_ request: Request) -> Bool {
    let accept = request.header("accept") ?? ""
    return accept.hasPrefix("application/json") && !accept.contains(",")
  }

  // MARK: Cookies

  /// The session exists only in the cookie: the server cannot end a session whose cookie was
  /// copied.
  private func sessionCookie(_ user: Accounts.User?) -> (String, String) {
    let value = signer.seal("session \(randomText(24, of: .asciiLetters)) \(user?.email ?? "")")
    return ("Set-Cookie", "_turbo_auth_session=\(value); path=/; HttpOnly; SameSite=Lax")
  }

  private func sessionUser(_ request: Request) -> String? {
    let words = request.cookie("_turbo_auth_session").flatMap(signer.open)?
      .split(separator: " ", maxSplits: 2)
    guard let words, words.count == 3, words[0] == "session" else { return nil }
    return String(words[2])
  }

  private func rememberCookie(_ user: Accounts.User) -> (String, String) {
    let end = Date(timeIntervalSinceNow: 14 * 86400).httpText
    let text: JSON = [
      "_rails": [
        "message": .string("\(user.rememberGeneration) \(user.email)"), "exp": .string(end),
      ]
    ]
    let value = signer.seal(text.text())
    return (
      "Set-Cookie",
      "remember_user_token=\(value); path=/; expires=\(end); HttpOnly; SameSite=Lax"
    )
  }

  private func rememberedUser(_ cookie: String?) async -> Accounts.User? {
    guard let text = cookie.flatMap(signer.open),
      let message = JSON(Data(text.utf8))?["_rails"]?["message"]?.string,
      let space = message.firstIndex(of: " "),
      let user = await accounts.user(named: String(message[space...].dropFirst())),
      message[..<space] == String(user.rememberGeneration)
    else { return nil }
    return user
  }

  // MARK: Pages

  private func layout(_ content: String) -> String {
    """
    <!DOCTYPE html>
    <html><head><title>Turbo auth</title><meta name="csrf-param" content="authenticity_token" />
    <meta name="csrf-token" content="\(randomText(43, of: .asciiLetters))" /></head>\
    <body>\(content)</body></html>

    """
  }

  private var form: String {
    """
    <h2>Log in</h2>

    <form class="new_user" id="new_user" action="/users/sign_in" accept-charset="UTF-8" \
    method="post"><input type="hidden" name="authenticity_token" \
    value="\(randomText(86, of: .asciiLetters))" autocomplete="off" />
      <div class="field">
        <label for="user_email">Email</label><br />
        <input autofocus="autofocus" autocomplete="email" type="email" value="" \
    name="user[email]" id="user_email" />
      </div>

      <div class="field">
        <label for="user_password">Password</label><br />
        <input autocomplete="current-password" type="password" name="user[password]" \
    id="user_password" />
      </div>

      <div class="actions"><input type="submit" name="commit" value="Log in" /></div>
    </form>

    """
  }

  private static let notFound = """
    <!DOCTYPE html>
    <html><head><title>The page you were looking for doesn't exist. (404)</title></head>\
    <body><h1>The page you were looking for doesn't exist.</h1></body></html>

    """
}
