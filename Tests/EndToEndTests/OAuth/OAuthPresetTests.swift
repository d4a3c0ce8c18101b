import Testing

/// The presets whose sign-in is by an authorization server.
@Suite struct OAuthPresetTests {
  static let issuer = "https://id.example/t"

  /// Each preset with what a user has to add, and the endpoints and scope that it leads to.
  static let presets: [(name: String, url: String, words: [String], keys: [String: JSON])] = [
    (
      "oidc", "https://api.example", ["--issuer", issuer],
      ["issuer": .string(issuer), "scope": "openid profile email offline_access"]
    ),
    ("keycloak", "https://api.example", ["--issuer", issuer], ["issuer": .string(issuer)]),
    ("okta", "https://api.example", ["--issuer", issuer], ["issuer": .string(issuer)]),
    (
      "auth0", "https://api.example", ["--issuer", issuer + "/", "--audience", "a"],
      ["issuer": .string(issuer + "/"), "audience": "a"]
    ),
    ("mcp", "https://api.example", ["--issuer", issuer], ["issuer": .string(issuer)]),
    (
      "google", "https://www.googleapis.com", [],
      [
        "issuer": "https://accounts.google.com",
        "parameters": ["access_type": "offline", "prompt": "consent"],
      ]
    ),
    (
      "microsoft", "https://graph.microsoft.com/v1.0", [],
      [
        "token_endpoint": "https://login.microsoftonline.com/common/oauth2/v2.0/token",
        "redirect_host": "localhost",
      ]
    ),
    (
      "github", "https://api.github.com", [],
      [
        "token_endpoint": "https://github.com/login/oauth/access_token",
        "device_authorization_endpoint": "https://github.com/login/device/code",
      ]
    ),
    ("gitlab", "https://gitlab.com/api/v4", [], ["issuer": "https://gitlab.com"]),
    ("mastodon", "https://m.example", [], ["token_endpoint": "/oauth/token", "scope": "read"]),
    ("doorkeeper", "https://d.example/api", [], ["revocation_endpoint": "/oauth/revoke"]),
    ("django-oauth-toolkit", "https://d.example", [], ["token_endpoint": "/o/token/"]),
  ]

  @Test func eachMakesAProfile() async throws {
    try await Sandbox.with(.none) { box in
      for preset in Self.presets {
        let added = try await box.run(
          ["profile", "add", preset.name, preset.url, "--preset", preset.name] + preset.words)
        #expect(added.status == 0, "\(preset.name): \(added.stderr)")
        let checked = try await box.run("profile", "check", preset.name)
        #expect(checked.status == 0, "\(preset.name): \(checked.stderr)")
        let shown = try await box.run("profile", "show", preset.name, "--json")
        let values = try JSON(parsing: shown.stdout)["values"]?.elements ?? []
        for (key, value) in preset.keys {
          let shown = values.first { $0["key"]?.string == "oauth.\(key)" }?["value"]
          #expect(shown == value, "\(preset.name)")
        }
      }
    }
  }

  /// Where a product is both API and authorization server, endpoints are paths at its origin.
  @Test(arguments: [
    ("django-oauth-toolkit", "/o/token/", "/o/revoke_token/"),
    ("doorkeeper", "/oauth/token", "/oauth/revoke"), ("mastodon", "/oauth/token", "/oauth/revoke"),
  ])
  func endpointsAtTheOriginOfTheAPI(preset: String, token: String, revocation: String) async throws
  {
    try await Sandbox.with(.none) { box in
      let key = try box.write("key", String(repeating: "0f", count: 32) + "\n")
      let environment = ["AUTHCTL_STORE": "file", "AUTHCTL_STORE_KEY_FILE": key]
      let secret = box.canary.make("secret")
      let answer = #"{"access_token":"a-1","token_type":"bearer","expires_in":900}"#
      let api = try box.recorder(
        answering: Scene.routes([
          "POST \(token)": .http(200, answer), "POST \(revocation)": .http(200, "{}"),
          "GET /api/x": .http(200, "{}"),
        ]))
      let login = try await box.run(
        "login", api.url + "/api", "--preset", preset, "--client-id", "c", "--grant",
        "client-credentials", "--client-secret-stdin", stdin: secret, env: environment)
      #expect(login.status == 0, "\(login.stderr)")
      #expect(try await box.run("get", "/x", env: environment).status == 0)
      #expect(try await box.run("logout", env: environment).status == 0)
      let asked = api.texts.map { Scene.route(of: Array($0.utf8)) }
      #expect(asked == ["POST \(token)", "GET /api/x", "POST \(revocation)"], "\(asked)")
    }
  }
}
