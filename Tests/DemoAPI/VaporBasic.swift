import Foundation

/// vapor-basic: a Vapor server. HTTP Basic with an empty body returns a pair of tokens; its JSON
/// writes `/` as `\/`, and the times in its JSON Web Tokens are fractions.
struct VaporBasic: Sendable {
  let accounts: Accounts
  let signer: Signer
  let options: Options

  func answer(_ request: Request) async -> Answer? {
    switch request.route {
    case "POST /api/v1/signin":
      guard let (name, password) = request.basic,
        let user = await accounts.user(named: name, password: password)
      else { return refuse(401, "User not authenticated.") }
      return await pair(for: user, family: UUID().uuidString)
    case "POST /api/v1/refresh":
      guard let token = request.fields?["refreshToken"]?.string else {
        return refuse(400, "Value required for key 'refreshToken'.")
      }
      // A refused refresh token does not end the sign-in: the pair that replaced it stays valid.
      guard case .good(let user, let old) = await accounts.spend(refresh: token, .vaporBasic)
      else { return refuse(401, "Unauthorized") }
      return await pair(for: user, family: old.family)
    case "GET /api/v1/me":
      guard case .valid(let user, _) = await accounts.holder(of: request.bearer, .vaporBasic)
      else { return refuse(401, "Unauthorized") }
      return reply(
        200,
        [
          "id": .string(user.uuid), "email": .string(user.email), "name": .string(user.name),
          "picture": .string("/pictures/\(user.id).png"),
        ])
    case _ where request.path.hasPrefix("/api/v1/"): return refuse(404, "Not Found")
    default: return nil
    }
  }

  private func pair(for user: Accounts.User, family: String) async -> Answer {
    let (now, lifetime) = (Date(), options.tokenTTL ?? 900)
    let access = signer.jwt([
      "iat": .double(now.timeIntervalSince1970), "sub": .string(user.uuid),
      "exp": .double(now.timeIntervalSince1970 + lifetime),
    ])
    let refresh = randomBase64(bytes: 32)
    await accounts.add(
      access: access, .vaporBasic, to: user, family: family, expires: now + lifetime)
    await accounts.add(
      refresh: refresh, .vaporBasic, to: user, family: family, lifetime: options.refreshTTL)
    return reply(200, ["refreshToken": .string(refresh), "accessToken": .string(access)])
  }

  private func refuse(_ status: Int, _ reason: String) -> Answer {
    reply(status, ["reason": .string(reason), "error": true])
  }

  private func reply(_ status: Int, _ value: JSON) -> Answer {
    .json(status, value, slash: "\\/")
  }
}
