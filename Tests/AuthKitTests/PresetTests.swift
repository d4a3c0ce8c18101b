import Testing

@testable import AuthKit

private func recipe(_ preset: String, issuer: String? = nil) throws -> Recipe {
  try ProfileReader.read(
    text: "url = \"https://h.example\"\npreset = \"\(preset)\"\nvars.app_id = \"shop\"\n"
      + (issuer.map { "oauth.issuer = \"\($0)\"\n" } ?? ""),
    name: "p", file: nil
  ).recipe
}

private func names(_ body: RecipeRequest.Body?) -> [String] {
  if case .object(let fields)? = body { fields.map(\.name) } else { [] }
}

private func text(_ template: Template?) -> String {
  (template?.pieces ?? []).map { piece in
    switch piece {
    case .text(let text): text
    case .value(let name): "{\(name)}"
    case .basic(let user, let secret): "{basic:\(user):\(secret)}"
    }
  }.joined()
}

private func header(_ recipe: Recipe, _ name: String) -> String {
  text(recipe.request.headers.first { $0.name == name }?.value)
}

@Suite struct PresetTests {
  @Test func presetNames() {
    for name in [
      "express-jwt", "vapor-basic", "rails-jwt", "rails-turbo", "rails-selfie", "json", "form",
      "basic-token", "http-basic", "api-key",
    ] {
      #expect(Presets.names.contains(name))
    }
    #expect(!Presets.names.contains("defaults") && Presets.text("defaults") == nil)
    #expect(Presets.text("../x") == nil)
  }

  @Test(arguments: Presets.names)
  func reads(name: String) throws {
    // A provider of OpenID Connect that anybody can run is named by the profile.
    let needsIssuer = ["oidc", "keycloak", "auth0", "okta"].contains(name)
    _ = try recipe(name, issuer: needsIssuer ? "https://i.example" : nil)
    let summary = Presets.summary(name)
    #expect(!summary.isEmpty && summary.utf8.count <= 79 && summary.utf8.allSatisfy { $0 < 0x7F })
    let start = "# \(summary)\n# Group: \(Presets.group(name))\n"
    #expect(Presets.text(name)?.utf8.starts(with: start.utf8) == true)
  }

  @Test func defaults() throws {
    let recipe = try ProfileReader.read(
      text: "url = \"https://h.example\"", name: "p", file: nil
    ).recipe
    #expect(recipe.session.refused == [400, 401, 403, 422] && recipe.session.expired == [401])
    #expect(header(recipe, "Authorization") == "Bearer {access_token}")
    #expect(recipe.login == nil && !recipe.request.cookies && recipe.oauth == nil)
    #expect(recipe.network.connectTimeout == 10 && recipe.network.idleTimeout == 60)
    #expect(!recipe.session.accessToken.isEmpty && !recipe.session.message.isEmpty)
  }

  @Test func expressJWT() throws {
    let recipe = try recipe("express-jwt")
    #expect(text(recipe.register?.path) == "/api/register")
    #expect(text(recipe.login?.path) == "/api/login" && recipe.login?.encoding == .json)
    #expect(names(recipe.login?.body) == ["email", "password"])
    #expect(recipe.session.refused == [400, 401])
    #expect(recipe.refresh == nil && recipe.logout == nil && recipe.whoami == nil)
  }

  @Test func vaporBasic() throws {
    let recipe = try recipe("vapor-basic")
    #expect(text(recipe.login?.path) == "/api/v1/signin")
    #expect(
      recipe.login?.authorization == .basic && recipe.login?.encoding == RecipeRequest.Encoding.none
    )
    #expect(names(recipe.refresh?.body) == ["refreshToken"] && recipe.refresh?.encoding == .json)
    #expect(recipe.whoami?.method == "GET" && recipe.whoami?.authorization == .access)
    #expect(recipe.session.expiresAt.map(\.form) == [.tokenPayload])
  }

  @Test func railsJWT() throws {
    let recipe = try recipe("rails-jwt")
    #expect(text(recipe.login?.path) == "/api/user_sessions" && recipe.login?.encoding == .form)
    #expect(recipe.session.refused.contains(422))
    #expect(text(recipe.whoami?.path) == "/api/user")
  }

  @Test func railsTurbo() throws {
    let recipe = try recipe("rails-turbo")
    #expect(text(recipe.login?.path) == "/api/auth" && recipe.login?.encoding == .json)
    #expect(recipe.request.cookies)
    #expect(recipe.logout?.method == "DELETE" && recipe.logout?.authorization == .access)
    #expect(header(recipe, "User-Agent").contains("Turbo Native"))
    #expect(header(recipe, "Authorization") == "Bearer {access_token}")
  }

  @Test func railsSelfie() throws {
    let recipe = try recipe("rails-selfie")
    #expect(recipe.login?.authorization == .app && recipe.register?.authorization == .app)
    #expect(recipe.refresh?.method == "GET" && recipe.refresh?.authorization == .app)
    #expect(recipe.refresh?.query.map { text($0.value) } == ["{username}"])
    #expect(recipe.logout?.method == "GET" && recipe.logout?.authorization == .access)
    #expect(header(recipe, "Authorization") == "Token token={access_token}")
  }

  @Test func general() throws {
    let json = try recipe("json")
    #expect(names(json.login?.body) == ["username", "password"] && json.login?.encoding == .json)
    let form = try recipe("form")
    #expect(names(form.login?.body) == ["username", "password"] && form.login?.encoding == .form)
    let token = try recipe("basic-token").login
    #expect(token?.authorization == .basic && token?.encoding == RecipeRequest.Encoding.none)
    #expect(token?.method == "POST" && token?.body == nil)
    let basic = try recipe("http-basic")
    #expect(basic.session.keepPassword && basic.login?.method == "GET")
    #expect(header(basic, "Authorization") == "Basic {basic:username:password}")
    let key = try recipe("api-key")
    #expect(key.login == nil && header(key, "X-API-Key") == "{access_token}")
    #expect(key.request.headers.count == 1)
  }
}
