import Foundation

/// express-jwt: an Express server with jsonwebtoken. A wrong password gives 400; 401 is only for
/// tokens.
struct ExpressJWT: Sendable {
  let accounts: Accounts
  let signer: Signer
  let tokenTTL: Double?

  func answer(_ request: Request) async -> Answer? {
    guard request.path.hasPrefix("/api/") else { return nil }
    let fields = request.fields
    if fields == nil { return unreadable }
    switch request.route {
    case "POST /api/register": return await register(fields ?? [:])
    case "POST /api/login": return await login(fields ?? [:], isJSON: request.isJSON)
    case "GET /api/faculty/courses": return await courses(request)
    default:
      return page(404, "Cannot \(request.method) \(request.path.htmlEscaped)")
    }
  }

  /// Each failed check of a field adds that field's message, so some are repeated.
  private func register(_ fields: JSON) async -> Answer {
    let (email, password) = (fields["email"]?.string, fields["password"]?.string)
    var problems: [String] = []
    if fields["email"] == nil { problems.append("Email cannot be empty.") }
    if !isAddress(email ?? "") { problems.append("Email cannot be empty.") }
    let short = "Password must be at least 6 characters long"
    if fields["password"] == nil { problems.append(short) }
    if (password ?? "").utf16.count < 6 { problems.append(short) }
    if fields["roleId"] == nil { problems.append("Role must be provided.") }
    guard problems.isEmpty, let email, let password else {
      return refuse(400, problems.joined(separator: " "))
    }
    let role = fields["roleId"].flatMap { $0.int ?? $0.string.flatMap { Int($0) } }
    guard await accounts.register(email: email, password: password, name: "", roleId: role) != nil
    else { return refuse(409, "Email is already registered.") }
    return .json(201, ["success": true])
  }

  private func login(_ fields: JSON, isJSON: Bool) async -> Answer {
    let name = isJSON ? fields["email"]?.string : nil  // forms are not parsed
    guard let user = await accounts.user(named: name) else { return refuse(400, "User not found") }
    guard await accounts.user(named: name, password: fields["password"]?.string) != nil else {
      return refuse(400, "Incorrect password")
    }
    let (now, lifetime) = (Date(), tokenTTL ?? 60 * 86400)
    let end = Int(now.timeIntervalSince1970 + lifetime)
    let token = signer.jwt([
      "userId": .int(user.id), "exp": .int(end), "iat": .int(Int(now.timeIntervalSince1970)),
    ])
    await accounts.add(
      access: token, .expressJWT, to: user, family: token, expires: now + lifetime)
    return .json(
      200,
      [
        "success": true, "token": .string(token), "exp": .int(end),
        "roleId": user.roleId.map { .int($0) } ?? .null,
      ])
  }

  private func courses(_ request: Request) async -> Answer {
    guard let header = request.authorization, !header.isEmpty else {
      return refuse(401, "Required headers are missing")
    }
    let words = header.components(separatedBy: " ")
    guard words.count > 1, !words[1].isEmpty else { return refuse(401, "Bearer token is missing") }
    // A forged or malformed token is also reported as expired.
    guard case .valid = await accounts.holder(of: words[1], .expressJWT) else {
      return refuse(401, "Token expired")
    }
    return .json(
      200,
      [
        ["id": 1, "title": "Compilers", "description": "Lexing to code generation"],
        ["id": 2, "title": "Operating Systems", "description": "Processes, memory, files"],
        ["id": 3, "title": "Estad\u{ED}stica", "description": "Probabilidad e inferencia"],
      ])
  }

  private func isAddress(_ text: String) -> Bool {
    text.wholeMatch(of: /[^\s@]{1,64}@[^\s@]+\.[^\s@]{2,}/) != nil
  }

  private func refuse(_ status: Int, _ message: String) -> Answer {
    .json(status, ["success": false, "message": .string(message)])
  }

  /// Express's own error page; for a body that is not JSON it shows the stack trace.
  private func page(_ status: Int, _ text: String) -> Answer {
    .html(
      status,
      """
      <!DOCTYPE html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <title>Error</title>
      </head>
      <body>
      <pre>\(text)</pre>
      </body>
      </html>

      """)
  }

  private var unreadable: Answer {
    page(
      400,
      [
        "SyntaxError: Unexpected end of JSON input",
        "at JSON.parse (&lt;anonymous&gt;)",
        "at parse (/usr/share/nodejs/body-parser/lib/types/json.js:89:19)",
        "at /usr/share/nodejs/body-parser/lib/read.js:128:18",
        "at AsyncResource.runInAsyncScope (node:async_hooks:206:9)",
        "at invokeCallback (/usr/share/nodejs/raw-body/index.js:231:16)",
        "at done (/usr/share/nodejs/raw-body/index.js:220:7)",
        "at IncomingMessage.onEnd (/usr/share/nodejs/raw-body/index.js:280:7)",
        "at IncomingMessage.emit (node:events:513:28)",
      ].joined(separator: "<br> &nbsp; &nbsp;"))
  }
}
