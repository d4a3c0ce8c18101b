import Testing

/// Each preset with the requests and responses of its product, from `Conversations`. To run only
/// one file: `AUTHCTL_CONVERSATION=vapor-basic swift test --filter PresetConversationTests`.
@Suite struct PresetConversationTests {
  /// These have no product of their own, or DemoAPI implements it (`FiveBackEndsTests`).
  private static let withoutFile: Set = [
    "json", "form", "basic-token", "http-basic", "api-key",
    "express-jwt", "vapor-basic", "rails-jwt", "rails-turbo", "rails-selfie",
    // By a browser: `OAuthPresetTests`.
    "oidc", "keycloak", "auth0", "okta", "google", "microsoft", "github", "gitlab", "mastodon",
    "doorkeeper", "django-oauth-toolkit", "mcp",
  ]

  @Test(arguments: ConversationFile.chosen)
  func everythingIsSaidAsItIsWritten(_ file: ConversationFile) async throws {
    try await file.check()
  }

  @Test func everyPresetHasAConversation() async throws {
    try await Sandbox.with(.none) { box in
      let run = try await box.run("profile", "presets", "--json")
      let presets = try JSON(parsing: run.stdout).elements.compactMap { $0["name"]?.string }
      let there = ConversationFile.all.map(\.preset)
      #expect(presets.filter { !Self.withoutFile.contains($0) && !there.contains($0) } == [])
      #expect(there.filter { !presets.contains($0) } == [], "files without a preset")
    }
  }
}
