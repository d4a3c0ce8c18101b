import Testing

/// Proxy passwords in environment variables, in any spelling: rule B3.
@Suite struct ProxyPasswordTests {
  /// libcurl prints the whole URL in its messages, even if it refuses the URL.
  @Test(arguments: [
    "http://user:%@HOST", "http://user:%/x@HOST", "http://user:a/%@HOST", "user:%@HOST",
    "http://user:p@%@HOST", "http://user:%?x@HOST", "http://user:%#x@HOST", "http://%@HOST",
    "http://user:%%2Fx@HOST", "http://user:/%/@HOST", "nonsense://u:%@HOST", "http:///user:%@HOST",
  ])
  func areNeverShown(_ form: String) async throws {
    try await Sandbox.with(.none) { box in
      let proxy = try box.recorder(answering: { _, _ in .http(407, "") })
      try box.profile("shop", "url = \"https://api.invalid\"\n")
      // A short password is recognised only by its place.
      for password in [box.canary.make("proxy"), "q7z"] {
        let address = form.replacing("%%", with: password + "%").replacing(
          "%@", with: password + "@"
        )
        .replacing("%/", with: password + "/").replacing("%?", with: password + "?")
        .replacing("%#", with: password + "#").replacing("HOST", with: proxy.authority)
        for (name, more) in [("https_proxy", "text"), ("ALL_PROXY", "json")] {
          let run = try await box.run(
            "get", "/x", "-vv", "--trace", "-", "--errors", more,
            env: [name: address, "AUTHCTL_TOKEN": "a-token-of-ours"])
          #expect(run.status == 7, "\(run.stderr)")
          #expect(!(run.stdout + run.stderr).contains(password), "\(address): \(run.stderr)")
        }
        for words in [
          ["doctor", "-vv"], ["doctor", "--json"], ["get", "/x", "--dry-run", "-vv"],
          ["get", "/x", "--as-curl", "-vv"],
        ] {
          let run = try await box.run(
            words, env: ["HTTPS_PROXY": address, "AUTHCTL_TOKEN": "a-token-of-ours"])
          #expect(!(run.stdout + run.stderr).contains(password), "\(address): \(run.stderr)")
        }
      }
    }
  }
}
