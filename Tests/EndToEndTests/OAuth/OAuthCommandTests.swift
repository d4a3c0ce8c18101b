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
