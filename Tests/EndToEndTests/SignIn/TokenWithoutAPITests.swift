import Testing

/// `AUTHCTL_TOKEN` without an API, the first mistake in CI.
@Suite struct TokenWithoutAPITests {
  private static func said(_ variable: String, _ url: String) -> String {
    """
    authctl: \(variable) is set, but no API is named for it
    hint: set AUTHCTL_URL=\(url)

    """
  }

  private static let rows: [(words: [String], status: Int32)] = [
    (["get", "/me"], 2), (["status"], 2), (["token"], 2), (["whoami"], 2), (["refresh"], 2),
    (["batch"], 2), (["exec", "--", "/bin/true"], 125), (["get", "/me", "--dry-run"], 2),
  ]

  @Test(arguments: ["AUTHCTL_TOKEN", "AUTHCTL_TOKEN_FILE"])
  func nothingSaysWhichAPI(_ variable: String) async throws {
    try await Sandbox.with(.none) { box in
      let token = box.canary.make("token")
      let env: [String: String?] = [
        variable: variable == "AUTHCTL_TOKEN" ? token : "/run/secrets/token"
      ]
      for (words, status) in Self.rows {
        let run = try await box.run(words, env: env)
        #expect(run.status == status && run.stdout == "", "\(words)")
        #expect(run.stderr == Self.said(variable, "https://HOST"), "\(words)")
      }
      let url = try await box.run("get", "https://api.shop.example/me?x=1", env: env)
      #expect(url.status == 13 && url.stdout == "")
      #expect(url.stderr == Self.said(variable, "https://api.shop.example"))
      // Nothing to end is no failure, as without the variable.
      #expect(try await box.run("logout", env: env).status == 0)
    }
  }

  @Test func theHintIsEnough() async throws {
    try await Sandbox.with(.none) { box in
      let api = try box.recorder(answering: Recorder.ok)
      let token = box.canary.make("token")
      let run = try await box.run(
        "get", "/me", env: ["AUTHCTL_TOKEN": token, "AUTHCTL_URL": api.url])
      #expect(run.status == 0 && run.stdout == "{}", "\(run.stderr)")
      #expect(Scene.holds(api, [token]) == [token])
    }
  }
}
