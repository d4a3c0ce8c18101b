import Foundation

/// rails-jwt: a Rails API. The sign-in is a form and its response the user's whole database row,
/// with the password hash; its token has no expiry and is the same each time.
struct RailsJWT: Sendable {
  let accounts: Accounts
  let signer: Signer
  let tokenTTL: Double?

  func answer(_ request: Request) async -> Answer? {
    switch request.route {
    case "POST /api/user_sessions":
      guard let fields = request.fields else {
        return Answer(400, type: "text/html; charset=UTF-8")
      }
      guard
        let user = await accounts.user(
          named: fields["email"]?.string, password: fields["password"]?.string)
      else { return .json(422, ["error": "Error description"]) }
      let token = signer.jwt(["user_id": .int(user.id)])
      await accounts.add(
        access: token, .railsJWT, to: user, family: token,
        expires: tokenTTL.map { Date(timeIntervalSinceNow: $0) })
      return .json(200, ["user": row(user), "token": .string(token)])
    case "GET /api/user":
      guard case .valid(let user, _) = await accounts.holder(of: request.lastWord, .railsJWT)
      else { return .json(401, ["errors": "Unauthorized"]) }
      return .json(
        200,
        ["id": .int(user.id), "name": .string(user.name), "email": .string(user.email)])
    default: return nil
    }
  }

  /// The hash and salt are fakes; clients must neither keep nor print them.
  private func row(_ user: Accounts.User) -> JSON {
    let time = JSON.string(
      Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        .format(user.created))
    return [
      "id": .int(user.id), "name": .string(user.name), "created_at": time, "updated_at": time,
      "email": .string(user.email),
      "crypted_password": .string("$2a$12$" + String(repeating: "NotARealHash.", count: 4) + "u"),
      "salt": "NotARealSaltEither00",
    ]
  }
}
