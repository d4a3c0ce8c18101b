import Testing

/// The other commands with a session of an authorization server.
@Suite struct OAuthCommandTests {
  @Test func whoami() async throws {
    try await OAuthShop.with { shop in
      try await shop.signIn()
      let online = try await shop.run("whoami", "--json")
      #expect(online.status == 0 && online.stderr == "")
      let user = try JSON(parsing: online.stdout)
      #expect(user["account"] == "ada@example.com" && user["source"] == "server")
      #expect(user["user"]?["sub"] == "1" && user["user"]?["name"] == "Ada Lovelace")
      #expect(try await shop.api.count("GET /userinfo") == 1)
      let offline = try await shop.run("whoami", "--offline", "--json")
      #expect(offline.status == 0 && offline.stderr == "")
      let claims = try JSON(parsing: offline.stdout)
      #expect(claims["user"]?["sub"] == "1" && claims["user"]?["aud"] == "demo-public")
      #expect(claims["source"] == "store")
      #expect(try await shop.api.count("GET /userinfo") == 1)
      let plain = try await shop.run("whoami")
      #expect(plain.stdout == "ada@example.com\n" && plain.stderr == "")
    }
  }

  /// Claims about another user are not used (OpenID Connect Core 1.0, section 5.3.2).
  @Test func userinfoOfAnotherUser() async throws {
    try await OAuthShop.with { shop in
      try await shop.signIn()
      try await shop.set(["userinfo": ["sub": "2", "email": "eve@example.com"]])
      let run = try await shop.run("whoami")
      #expect(run.status == 15 && run.stdout == "", "\(run.stderr)")
      #expect(
        run.stderr.hasPrefix("authctl: shop: userinfo is about another user (HTTP 200, "),
        "\(run.stderr)")
    }
  }

  /// Many ID tokens of the code flow have no name (section 5.4): userinfo has it.
  @Test(arguments: [nil, "2"] as [String?]) func accountOfUserinfo(subject: String?) async throws {
    try await OAuthShop.with { shop in
      try await shop.set([
        "id_token": ["email": nil, "preferred_username": nil],
        "userinfo": subject.map { ["sub": .string($0)] } ?? [:],
      ])
      let run = try await shop.run("login")
      #expect(run.status == 0)
      let account = subject == nil ? OAuthShop.ada : "1"
      #expect(shop.shown(run) == OAuthShop.opening + OAuthShop.signedIn(account))
    }
  }

  @Test func statusShowsGrantAndScope() async throws {
    try await OAuthShop.with { shop in
      try await shop.signIn()
      let brief = try await shop.run("status")
      #expect(brief.status == 0 && !brief.stdout.contains("SCOPE"))
      let run = try await shop.run("status", "-v")
      #expect(run.status == 0)
      let lines = run.stdout.split(separator: "\n")
      #expect(lines.count == 2 && lines[0].hasSuffix("GRANT               SCOPE"), "\(run.stdout)")
      #expect(lines[1].hasSuffix("  authorization-code  openid read"), "\(run.stdout)")
    }
  }

  /// Userinfo is for sign-ins of OpenID Connect: other tokens get 403 there, or 401.
  @Test(arguments: [403, 401]) func whoamiWithoutOpenID(status: Int) async throws {
    try await OAuthShop.with(oauth: "client_id = \"demo-public\"\nscope = \"read write\"") { shop in
      try await shop.signIn()
      if status == 401 {
        try await shop.api.misbehave(["path": "/userinfo", "times": 2, "status": 401])
      }
      let run = try await shop.run("whoami")
      #expect(run.status == (status == 403 ? 4 : 11) && run.stdout == "", "\(run.stderr)")
      let lines = run.stderr.split(separator: "\n").filter { !$0.hasPrefix("server: ") }
      #expect(
        lines == [
          "authctl: shop: HTTP \(status): userinfo requires the scope openid, which the session lacks",
          "hint: authctl login -p shop -u default --scope 'openid read write'",
        ], "\(run.stderr)")
      // The hint works as printed.
      try await shop.signIn("-p", "shop", "-u", "default", "--scope", "openid read write")
      #expect(try await shop.run("whoami").stdout == OAuthShop.ada + "\n")
    }
  }

  /// Parameters for one sign-in come before those of the profile; those of the protocol are
  /// authctl's own (rule A15).
  @Test func parametersOfOneSignIn() async throws {
    let oauth = "client_id = \"demo-public\"\nparameters = { tenant = \"7\", hd = \"a.example\" }"
    try await OAuthShop.with(oauth: oauth) { shop in
      for name in ["state", "Scope", "redirect_uri", "code_challenge_method", "nonce"] {
        let run = try await shop.run("login", "--param", name + "=x")
        #expect(run.status == 2 && shop.visited == nil)
        #expect(
          run.stderr == "authctl: --param \(name): authctl sets this parameter itself\n",
          "\(run.stderr)")
      }
      #expect(try await shop.run("login", "--param", "alone").status == 2)
      try await shop.signIn("--param", "tenant=8", "--param", "x=a b", "-u", "ada")
      let url = try #require(shop.visited)
      #expect(url.contains("&tenant=8&x=a%20b&hd=a.example"), "\(url)")
      #expect(!url.contains("tenant=7"))
      let file = shop.box.read("config/authctl/profiles/shop.toml")
      #expect(file?.contains("tenant = \"7\"") == true, "kept for no other sign-in")
    }
  }

  /// Without an ID token the account comes from userinfo or `-u`, else it is `default`.
  @Test func accountWithoutAnIDToken() async throws {
    try await OAuthShop.with { shop in
      try await shop.set(["token": ["id_token": nil]])
      let run = try await shop.run("login")
      #expect(run.status == 0 && shop.shown(run) == OAuthShop.opening + OAuthShop.signedIn())
      #expect(try await shop.run("logout").status == 0)
      try shop.profile("client_id = \"demo-public\"\nscope = \"read\"")
      let unknown = try await shop.run("login")
      #expect(unknown.status == 0)
      #expect(shop.shown(unknown) == OAuthShop.opening + OAuthShop.signedIn("default"))
      let named = try await shop.run("login", "-u", "ada")
      #expect(named.status == 0)
      #expect(shop.shown(named) == OAuthShop.opening + OAuthShop.signedIn("ada"))
    }
  }

  /// `exec --login` signs in for one command, by any grant, and ends the session afterwards.
  @Test func execSignsInForOneCommand() async throws {
    let oauth = "grant = \"client-credentials\"\nclient_id = \"demo-service\"\nscope = \"read\""
    try await OAuthShop.with(oauth: oauth) { shop in
      let secret = "service-secret"
      shop.box.canary.watch(secret)
      let script =
        "curl -s -H \"Authorization: Bearer $AUTHCTL_TOKEN\" \(shop.api.url)/oauth-api/me"
      let run = try await shop.run(
        "exec", "--login", "--client-secret-stdin", "--", "sh", "-c", script, stdin: secret)
      #expect(run.status == 0 && run.stderr == "", "\(run.stderr)")
      #expect(try JSON(parsing: run.stdout)["client"] == "demo-service")
      #expect(try await shop.api.count("POST /revoke") == 1)
      let status = try await shop.run("status", "--check")
      #expect(status.status == 10)
      let none = try await shop.run("exec", "--login", "--", "true")
      #expect(none.status == 10 && none.stdout == "", "\(none.stderr)")
    }
  }

  @Test func tokenAndIntrospection() async throws {
    try await OAuthShop.with { shop in
      try await shop.signIn()
      let token = try await shop.run("token")
      #expect(token.status == 0 && token.stdout.hasPrefix("access-") && token.stderr == "")
      let id = try await shop.run("token", "--id-token")
      #expect(id.status == 0 && id.stderr == "")
      let claims = try OAuthByHand.claims(String(id.stdout.dropLast()))
      #expect(claims["iss"]?.string == shop.api.url && claims["sub"] == "1")
      let about = try await shop.run("token", "--introspect")
      #expect(about.status == 0 && about.stderr == "")
      let said = try JSON(parsing: about.stdout)
      #expect(said["active"] == true && said["client_id"] == "demo-public")
      #expect(
        try await shop.forms("/introspect")
          == [["token": String(token.stdout.dropLast()), "client_id": "demo-public"]])
      for words in [["--id-token", "--introspect"], ["--header", "--id-token"]] {
        let run = try await shop.run(["token"] + words)
        #expect(run.status == 2 && run.stdout == "", "\(run.stderr)")
      }
      try shop.profile("client_id = \"demo-public\"\nscope = \"read\"")
      try await shop.signIn("-u", OAuthShop.ada)
      let none = try await shop.run("token", "--id-token")
      #expect(none.status == 2 && none.stdout == "")
      #expect(
        none.stderr == """
          authctl: shop: the session has no ID token
          hint: to get one, sign in with --scope openid

          """)
    }
  }

  @Test func logoutRevokesBothTokens() async throws {
    try await OAuthShop.with { shop in
      try await shop.signIn()
      let run = try await shop.run("logout")
      #expect(run.status == 0 && run.stdout == "")
      #expect(
        run.stderr == "Signed out of shop as ada@example.com, at the server and on this machine.\n")
      let forms = try await shop.forms("/revoke")
      #expect(forms.map { $0["token_type_hint"] } == ["refresh_token", "access_token"])
      #expect(forms.allSatisfy { $0["client_id"] == "demo-public" })
      #expect(try await shop.run("get", "/me").status == 10)
      try await shop.watchSent()
    }
  }

  /// A public client may not be allowed to revoke: the session is forgotten, and that is said.
  @Test func logoutOfAClientThatMayNotRevoke() async throws {
    try await OAuthShop.with { shop in
      try await shop.signIn()
      try await shop.set(["revoke_confidential_only": true])
      let run = try await shop.run("logout")
      #expect(run.status == 0 && run.stdout == "")
      #expect(
        run.stderr.hasPrefix("authctl: warning: the server did not end the session: "),
        "\(run.stderr)")
      #expect(
        run.stderr.hasSuffix("Signed out of shop as ada@example.com, on this machine only.\n"),
        "\(run.stderr)")
      #expect(try await shop.run("get", "/me").status == 10)
    }
  }

  @Test func execHelperAndBatch() async throws {
    try await OAuthShop.with { shop in
      try await shop.signIn()
      try await shop.api.expire()
      let exec = try await shop.run("exec", "--", "/bin/sh", "-c", "echo ${#AUTHCTL_TOKEN}")
      #expect(exec.status == 0 && exec.stdout == "47\n" && exec.stderr == "", "\(exec)")
      let curl = try await shop.run("helper", "curl-config", "-p", "shop")
      #expect(curl.status == 0 && curl.stdout.contains("Authorization: Bearer access-"))
      try await shop.api.expire()
      let lines = (1...3).map { "{\"url\":\"/me\",\"id\":\($0)}\n" }.joined()
      let batch = try await shop.run("batch", stdin: lines)
      #expect(batch.status == 0 && batch.stderr == "", "\(batch.stderr)")
      #expect(batch.stdout.split(separator: "\n").count == 3)
      let pages = try await shop.run("get", "/pages", "--paginate")
      #expect(pages.status == 0, "\(pages.stderr)")
      #expect(try await shop.forms("/token").count == 2, "the requests renewed it once")
    }
  }

  /// A job without home, bus and terminal: the profile is a file, the session in sealed files.
  @Test func inACIJob() async throws {
    try await OAuthShop.with(
      oauth: "grant = \"client-credentials\"\nclient_id = \"demo-service\"\nscope = \"read\""
    ) { shop in
      let env: [String: String?] = [
        "HOME": nil, "XDG_RUNTIME_DIR": nil, "BROWSER": nil, "AUTHCTL_NO_INPUT": "1", "CI": "true",
        "AUTHCTL_CLIENT_SECRET": "service-secret",
      ]
      let login = try await shop.run("login", env: env)
      #expect(login.status == 0 && login.stdout == "")
      #expect(shop.shown(login) == OAuthShop.signedIn("demo-service"))
      let get = try await shop.run("get", "/me", env: env)
      #expect(get.status == 0 && get.stderr == "")
      try shop.profile("client_id = \"demo-public\"")
      let browser = try await shop.run(
        "login", "-u", "x", env: env.merging(["AUTHCTL_CLIENT_SECRET": nil]) { $1 })
      #expect(browser.status == 10, "\(browser.stderr)")
    }
  }
}
