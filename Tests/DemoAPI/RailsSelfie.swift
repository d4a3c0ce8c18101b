import Foundation

/// rails-selfie: a Rails API that requires the application's own key, by HTTP Basic, for sign-up,
/// sign-in and token renewal, and `Token token=T` or `Bearer T` everywhere else.
struct RailsSelfie: Sendable {
  let accounts: Accounts
  let tokenTTL: Double?
  private let photos = Photos()

  init(accounts: Accounts, tokenTTL: Double?) {
    (self.accounts, self.tokenTTL) = (accounts, tokenTTL)
  }

  func answer(_ request: Request) async -> Answer? {
    switch request.route {
    case "POST /api/signup": await withKey(request) { await signUp($0) }
    case "POST /api/signin": await withKey(request) { await signIn($0) }
    case "GET /api/get_token": await withKey(request) { _ in await renew(request) }
    case "GET /api/clear_token":
      await signedIn(request) { _, token in
        await accounts.signOut(token)
        return status(200, "Token cleared")
      }
    case "GET /api/get_photos":
      await signedIn(request) { user, _ in
        .json(200, .array(await photos.list(of: user.email)))
      }
    case "POST /api/upload_photo":
      await signedIn(request) { user, _ in
        guard let title = part("title", of: request), let image = part("image", of: request),
          !image.isEmpty
        else { return Self.missing }
        return .json(
          200,
          await photos.add(
            to: user, title: String(decoding: title, as: UTF8.self), size: image.count))
      }
    case "DELETE /api/delete_photo":
      await signedIn(request) { user, _ in
        guard let id = request.fields?["photo_id"]?.string else { return Self.missing }
        return await photos.remove(id, of: user.email)
          ? status(200, "Image deleted") : status(401, "No photo found by this ID")
      }
    default: nil
    }
  }

  // MARK: Accounts

  private func signUp(_ fields: JSON) async -> Answer {
    guard let name = text("full_name", fields), let email = text("email", fields),
      let password = text("password", fields)
    else { return Self.missing }
    guard password.utf16.count >= 6 else {
      return status(400, "Password is too short (minimum is 6 characters)")
    }
    guard let user = await accounts.register(email: email, password: password, name: name) else {
      return status(400, "Email has already been taken")
    }
    return .json(200, row(user, nil))
  }

  private func signIn(_ fields: JSON) async -> Answer {
    guard let email = text("email", fields), let password = text("password", fields) else {
      return Self.missing
    }
    guard let user = await accounts.user(named: email) else {
      return status(400, "No USER found by this email ID")
    }
    guard await accounts.user(named: email, password: password) != nil else {
      return status(401, "Wrong Password")
    }
    return .json(200, row(user, await token(user)))
  }

  private func renew(_ request: Request) async -> Answer {
    guard let email = request.query("email"), !email.isEmpty else { return Self.missing }
    guard let user = await accounts.user(named: email) else {
      return status(400, "No USER found by this email ID")
    }
    return .json(200, row(user, await token(user)))
  }

  private func token(_ user: Accounts.User) async -> (text: String, expires: Date?) {
    await accounts.standing(.railsSelfie, for: user, lifetime: tokenTTL ?? 86400) {
      randomText(21, of: .asciiLetters)
    }
  }

  private func row(_ user: Accounts.User, _ token: (text: String, expires: Date?)?) -> JSON {
    let names = user.name.split(separator: " ", maxSplits: 1).map(String.init)
    let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
    return [
      "first_name": names.first.map { .string($0) } ?? .null,
      "last_name": names.count > 1 ? .string(names[1]) : .null,
      "email": .string(user.email),
      "api_authtoken": token.map { .string($0.text) } ?? .null,
      "authtoken_expiry": token?.expires.map { .string(style.format($0)) } ?? .null,
    ]
  }

  // MARK: Authorization

  /// Checks the application's key first; unreadable JSON gives 400 without a body, as in all of
  /// Rails.
  private func withKey(_ request: Request, _ answer: (JSON) async -> Answer) async -> Answer {
    guard let (user, password) = request.basic, user == "demo-key", password == "demo-secret" else {
      return .text(
        401, "HTTP Basic: Access denied.\n", type: "text/html; charset=utf-8",
        headers: [("WWW-Authenticate", #"Basic realm="Application""#)])
    }
    guard let fields = request.fields else { return Answer(400, type: "text/html; charset=UTF-8") }
    return await answer(fields)
  }

  private func signedIn(
    _ request: Request, _ answer: (Accounts.User, Accounts.Token) async -> Answer
  ) async -> Answer {
    switch await accounts.holder(of: userToken(request), .railsSelfie) {
    case .valid(let user, let token): return await answer(user, token)
    case .expired:
      return status(401, "Authtoken has expired. Please get a new token and try again!")
    case .unknown:
      return .text(
        401, "HTTP Token: Access denied.\n",
        headers: [("WWW-Authenticate", #"Token realm="Application""#)])
    }
  }

  /// Accepts `Token token=T`, `Token token="T"`, `Token T` and `Bearer T`.
  private func userToken(_ request: Request) -> String? {
    guard let words = request.authorization?.split(separator: " ", maxSplits: 1), words.count == 2,
      words[0] == "Token" || words[0] == "Bearer"
    else { return nil }
    let value = words[1].hasPrefix("token=") ? words[1].dropFirst(6) : words[1]
    return value.trimmingCharacters(in: CharacterSet(charactersIn: "\" "))
  }

  // MARK: Helpers

  private static let missing = Answer.json(
    400, ["status": 400, "message": "required parameters are missing"])

  private func status(_ code: Int, _ message: String) -> Answer {
    .json(code, ["status": .int(code), "message": .string(message)])
  }

  private func text(_ name: String, _ fields: JSON) -> String? {
    fields[name]?.string.flatMap { $0.isEmpty ? nil : $0 }
  }

  /// The content of one part of a multipart body (RFC 7578).
  private func part(_ name: String, of request: Request) -> Data? {
    guard request.mediaType == "multipart/form-data",
      let boundary = request.header("content-type")?.components(separatedBy: "boundary=").last,
      let field = request.body.range(of: Data("name=\"\(name)\"".utf8)),
      let start = request.body[field.upperBound...].range(of: Data("\r\n\r\n".utf8))
    else { return nil }
    let rest = request.body[start.upperBound...]
    let mark = "\r\n--" + boundary.trimmingCharacters(in: CharacterSet(charactersIn: "\""))
    return rest.range(of: Data(mark.utf8)).map { rest[..<$0.lowerBound] }
  }
}

/// Keeps only what a client can see of a photo.
private actor Photos {
  private var rows: [(owner: String, id: String, row: JSON)] = []

  func list(of owner: String) -> [JSON] { rows.filter { $0.owner == owner }.map(\.row) }

  func add(to user: Accounts.User, title: String, size: Int) -> JSON {
    let id = randomText(21, of: .asciiLetters)
    let row: JSON = [
      "id": .int(rows.count + 1), "title": .string(title), "user_id": .int(user.id),
      "random_id": .string(id), "image_url": .string("/uploads/\(id).png"), "bytes": .int(size),
    ]
    rows.append((user.email, id, row))
    return row
  }

  func remove(_ id: String, of owner: String) -> Bool {
    let before = rows.count
    rows.removeAll { $0.owner == owner && $0.id == id }
    return rows.count < before
  }
}
