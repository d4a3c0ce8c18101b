import Testing

/// Renewal by the refresh token, and what the answers of the token endpoint may look like.
@Suite struct OAuthRenewalTests {
  /// The server's refresh tokens work once: a second use ends the session.
  @Test func rotation() async throws {
    try await OAuthShop.with("--token-ttl", "4") { shop in
      try await shop.signIn()
      for round in 1...3 {
        try await shop.api.expire()
        let get = try await shop.run("get", "/me")
        #expect(get.status == 0 && get.stderr == "", "\(round)")
      }
      let forms = try await shop.forms("/token").dropFirst()
      #expect(forms.count == 3)
      #expect(
        forms.allSatisfy {
          $0.keys.sorted() == ["client_id", "grant_type", "refresh_token"]
            && $0["grant_type"] == "refresh_token"
        })
      #expect(Set(forms.compactMap { $0["refresh_token"] }).count == 3)
      let status = try JSON(parsing: try await shop.run("status", "--json").stdout)
      #expect(status[0]?["grant"] == "authorization-code")
      #expect(status[0]?["scope"] == "openid read")
      try await shop.watchSent()
    }
  }

  /// Twenty processes find the token expired, and send one refresh.
  @Test func oneRefreshForManyProcesses() async throws {
    try await OAuthShop.with { shop in
      try await shop.set(["token_ttl": 5])
      try await shop.signIn()
      try await shop.api.expire()
      try await shop.set(["token_ttl": 900])
      let children = try (0..<20).map { _ in
        try shop.box.start(["get", "/me"], env: shop.environment())
      }
      for child in children {
        let run = try await child.finish()
        #expect(run.status == 0 && run.stderr == "" && run.stdout.contains("openid read"))
      }
      #expect(try await shop.forms("/token").count == 2)
    }
  }

  /// Without rotation the old refresh token stays.
  @Test func withoutRotation() async throws {
    try await OAuthShop.with("--no-rotate") { shop in
      try await shop.signIn()
      for _ in 1...2 { #expect(try await shop.run("refresh").status == 0) }
      let forms = try await shop.forms("/token").dropFirst()
      #expect(forms.count == 2 && Set(forms.compactMap { $0["refresh_token"] }).count == 1)
    }
  }

  @Test func resourceAndScopeAtARenewal() async throws {
    try await OAuthShop.with { shop in
      try shop.profile(
        "client_id = \"demo-public\"\nscope = \"read write\"\nresource = \"\(shop.api.url)\"")
      try await shop.signIn("-u", OAuthShop.ada)
      #expect(try await shop.run("refresh").status == 0)
      let form = try #require(try await shop.forms("/token").last)
      #expect(form["resource"] != nil && form["scope"] == nil, "a refresh asks for no wider scope")
    }
  }

  @Test(
    arguments: [
      (["expires_in": "3600"], "Valid for 60 min; renewed automatically."),
      (["expires_in": 3600.5], "Valid for 60 min; renewed automatically."),
      (
        ["expires_in": nil], "The server did not say when it expires; it is renewed automatically."
      ),
      (["expires_in": 0], "Valid for 0 s; renewed automatically."),
      (
        ["expires_in": 1e308],
        "The server did not say when it expires; it is renewed automatically."
      ),
      (
        ["expires_in": "soon"],
        "The server did not say when it expires; it is renewed automatically."
      ),
      (["token_type": "bEaReR"], "Valid for 15 min; renewed automatically."),
      (["token_type": nil], "Valid for 15 min; renewed automatically."),
      (["refresh_token": nil], "Valid for 15 min; cannot be renewed."),
      (["scope": nil], "Valid for 15 min; renewed automatically."),
      (["id_token": nil], "Valid for 15 min; renewed automatically."),
    ] as [(JSON, String)])
  func answersInOtherForms(token: JSON, validity: String) async throws {
    try await OAuthShop.with { shop in
      try await shop.set(["token": token])
      let run = try await shop.run("login")
      #expect(run.status == 0 && run.stdout == "")
      #expect(
        shop.shown(run) == OAuthShop.opening + OAuthShop.signedIn(OAuthShop.ada, validity))
      #expect(try await shop.run("get", "/me").status == 0)
    }
  }

  @Test func formAnswers() async throws {
    try await OAuthShop.with(settings: [
      "auto_approve": .string(OAuthShop.ada), "token_format": "form",
    ]) { shop in
      let run = try await shop.run("login")
      #expect(run.status == 0 && shop.shown(run) == OAuthShop.opening + OAuthShop.signedIn())
      #expect(try await shop.run("refresh").status == 0)
      #expect(try await shop.run("get", "/me").status == 0)
    }
  }

  @Test(arguments: ["mac", "N_A", "DPoP"])
  func otherTokenTypes(type: String) async throws {
    try await OAuthShop.with { shop in
      try await shop.signIn()
      try await shop.set(["token": ["token_type": .string(type)]])
      for words in [["login"], ["refresh"]] {
        let run = try await shop.run(words)
        #expect(run.status == 15 && run.stdout == "", "\(run.stderr)")
        #expect(
          run.stderr.contains("authctl: shop: a token of the type \(type) is not supported"),
          "\(run.stderr)")
        let isUsedUp = run.stderr.contains("; the refresh token is used up, so sign in again\n")
        #expect(isUsedUp == (words == ["refresh"]), "\(run.stderr)")
      }
      try await shop.watchSent()
    }
  }

  /// A server that replaces no refresh token: the next renewal may work.
  @Test func badAnswerWithoutRotation() async throws {
    try await OAuthShop.with("--no-rotate") { shop in
      try await shop.signIn()
      for refresh in [["token_type": "mac"], ["access_token": nil]] as [JSON] {
        try await shop.set(["refresh": refresh])
        let run = try await shop.run("refresh")
        #expect(run.status == 15 && !run.stderr.contains("used up"), "\(run.stderr)")
      }
      try await shop.set(["refresh": [:]])
      #expect(try await shop.run("refresh").status == 0)
    }
  }

  /// RFC 6749, section 5.1: the scope in the answer may be smaller, and that is said.
  @Test func grantedScopeIsKept() async throws {
    try await OAuthShop.with { shop in
      try await shop.set(["grant_scope": "openid"])
      let run = try await shop.run("login")
      #expect(run.status == 0)
      #expect(
        shop.shown(run) == OAuthShop.opening
          + "authctl: warning: the server did not grant the scope read\n" + OAuthShop.signedIn())
      try await shop.set(["token": ["refresh_token": nil]])
      let offline = try await shop.run("login", "--scope", "openid offline_access")
      #expect(
        offline.stderr.contains(
          """
          authctl: warning: the server did not grant the scope offline_access
          hint: some servers grant offline_access only with --prompt consent

          """), "\(offline.stderr)")
      let status = try JSON(parsing: try await shop.run("status", "--json").stdout)
      #expect(status[0]?["scope"] == "openid")
    }
  }
}
