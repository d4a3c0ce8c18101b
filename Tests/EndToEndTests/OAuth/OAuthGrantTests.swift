import Testing

/// Every grant: what is shown, and what is sent (RFC 6749, RFC 8628).
@Suite struct OAuthGrantTests {
  @Test func browser() async throws {
    try await OAuthShop.with { shop in
      let run = try await shop.run("login")
      #expect(run.status == 0 && run.stdout == "")
      #expect(shop.shown(run) == OAuthShop.opening + OAuthShop.signedIn())
      _ = try await shop.wait(for: "browser.done")
      #expect(shop.statuses == [200])
      #expect(
        shop.box.read("browser.page")
          == "<!DOCTYPE html><title>authctl</title><p>You can close this page and return to the "
          + "terminal.</p>\n")
      // The browser got one argument, and none of authctl's secrets.
      #expect(shop.box.read("browser.words")?.hasPrefix("1\n\(shop.api.url)/authorize?") == true)
      let form = try #require(try await shop.forms("/token").first)
      #expect(
        form.keys.sorted() == ["client_id", "code", "code_verifier", "grant_type", "redirect_uri"])
      #expect(form["grant_type"] == "authorization_code" && form["client_id"] == "demo-public")
      #expect(try await shop.headers("authorization", of: "/token") == [nil])
      let get = try await shop.run("get", "/me")
      #expect(get.status == 0 && get.stderr == "")
      #expect(
        get.stdout
          == #"{"id":"1","email":"ada@example.com","name":"Ada Lovelace","client":"demo-public","#
          + #""scope":"openid read","resource":[],"audience":null}"#)
      try await shop.watchSent()
    }
  }

  @Test func urlAndOptionsMakeAProfile() async throws {
    try await OAuthShop.with { shop in
      let run = try await shop.run(
        "login", shop.api.url + "/oauth-api", "--issuer", shop.api.url, "--client-id",
        "demo-public", "--scope", "openid", "--scope", "read", "-p", "new", "--grant",
        "authorization-code", "--resource", shop.api.url)
      #expect(run.status == 0 && run.stdout == "", "\(run.stderr)")
      #expect(
        shop.shown(run).hasPrefix(OAuthShop.opening + "Signed in to new as \(OAuthShop.ada)."))
      let text = try #require(shop.box.read("config/authctl/profiles/new.toml"))
      for line in [
        "issuer = \"\(shop.api.url)\"", "client_id = \"demo-public\"",
        "grant = \"authorization-code\"", "account = \"ada@example.com\"",
      ] {
        #expect(text.contains(line), "\(text)")
      }
      #expect(try await shop.forms("/token").first?["resource"] != nil)
      #expect(shop.visited?.contains("resource=") == true)
      #expect(try await shop.run("get", "-p", "new", "/me").stdout.contains("openid read"))
    }
  }

  @Test func device() async throws {
    try await OAuthShop.with(
      settings: [
        "device_auto_approve": .string(OAuthShop.ada), "device": ["interval": 1],
        "device_polls": ["authorization_pending"],
      ]
    ) { shop in
      let run = try await shop.run("login", "--no-browser")
      #expect(run.status == 0 && run.stdout == "")
      let shown = shop.shown(run).replacing(/[A-Z]{4}-[A-Z]{4}/, with: "CODE")
      #expect(
        shown == """
          On any device, visit
            API/device
          and enter   CODE   (10 min left)
          Enter the code only if you started this sign-in yourself.

          """ + OAuthShop.signedIn())
      #expect(shop.visited == nil)
      #expect(
        try await shop.forms("/device_authorization")
          == [["scope": "openid+read", "client_id": "demo-public"]])
      let polls = try await shop.forms("/token")
      #expect(polls.count == 2)
      #expect(
        polls.allSatisfy { $0.keys.sorted() == ["client_id", "device_code", "grant_type"] })
      #expect(try await shop.run("get", "/me").status == 0)
      try await shop.watchSent()
    }
  }

  private static let service = "grant = \"client-credentials\"\nscope = \"read\"\n"

  /// The secret is form-encoded before it is put into Basic (RFC 6749, section 2.3.1).
  @Test func clientCredentialsByBasic() async throws {
    try await OAuthShop.with(oauth: Self.service + "client_id = \"demo-confidential\"") { shop in
      shop.box.canary.watch(OAuthShop.secret)
      let run = try await shop.run(
        "login", "--client-secret-stdin", "--no-input", stdin: OAuthShop.secret + "\n")
      #expect(run.status == 0 && run.stdout == "")
      #expect(shop.shown(run) == OAuthShop.signedIn("demo-confidential"))
      // base64 of demo-confidential:s3cr%3At+%26%2B%25
      #expect(
        try await shop.headers("authorization", of: "/token")
          == ["Basic ZGVtby1jb25maWRlbnRpYWw6czNjciUzQXQrJTI2JTJCJTI1"])
      #expect(
        try await shop.forms("/token") == [
          ["grant_type": "client_credentials", "scope": "read", "client_id": "demo-confidential"]
        ])
      // It renews itself with the secret that it keeps.
      try await shop.api.expire()
      let get = try await shop.run("get", "/me", "--no-input")
      #expect(get.status == 0 && get.stderr == "")
      #expect(try await shop.forms("/token").count == 2)
      try await shop.watchSent()
    }
  }

  @Test(arguments: [true, false])
  func clientCredentialsByPost(isNamed: Bool) async throws {
    let method = isNamed ? "client_auth = \"client_secret_post\"\n" : ""
    try await OAuthShop.with(
      oauth: Self.service + method + "client_id = \"demo-service\"",
      settings: isNamed ? [:] : ["client_auth": ["client_secret_post"]]
    ) { shop in
      let run = try await shop.run("login", env: ["AUTHCTL_CLIENT_SECRET": "service-secret"])
      #expect(run.status == 0 && shop.shown(run) == OAuthShop.signedIn("demo-service"))
      #expect(try await shop.headers("authorization", of: "/token") == [nil])
      #expect(
        try await shop.forms("/token") == [
          [
            "grant_type": "client_credentials", "scope": "read", "client_id": "demo-service",
            "client_secret": "service-secret",
          ]
        ])
      let refresh = try await shop.run("refresh")
      #expect(refresh.status == 0, "\(refresh.stderr)")
      #expect(try await shop.forms("/token").last?["client_secret"] == "service-secret")
    }
  }

  @Test func clientCredentialsWithoutASecret() async throws {
    try await OAuthShop.with(oauth: Self.service + "client_id = \"demo-service\"") { shop in
      let run = try await shop.run("login")
      #expect(run.status == 10 && run.stdout == "" && run.hasErrorForm, "\(run.stderr)")
      #expect(try await shop.forms("/token").isEmpty)
    }
  }

  @Test(
    arguments: [
      ("demo-public", nil), ("demo-confidential", OAuthShop.secret),
    ] as [(String, String?)])
  func password(client: String, secret: String?) async throws {
    try await OAuthShop.with(
      oauth: "grant = \"password\"\nclient_id = \"\(client)\"\nscope = \"openid read\""
    ) { shop in
      let run = try await shop.run(
        "login", "-u", OAuthShop.ada, "--password-stdin", stdin: Shop.password + "\n",
        env: ["AUTHCTL_CLIENT_SECRET": secret])
      #expect(run.status == 0 && run.stdout == "")
      #expect(shop.shown(run) == OAuthShop.signedIn())
      let form = try #require(try await shop.forms("/token").first)
      #expect(form["client_secret"] == nil && form["username"] == "ada%40example.com")
      #expect(
        form.keys.sorted() == ["client_id", "grant_type", "password", "scope", "username"])
      let header = try await shop.headers("authorization", of: "/token")[0]
      #expect((header == nil) == (secret == nil))
      #expect(try await shop.run("get", "/me").status == 0)
      #expect(try await shop.run("refresh").status == 0)
      try await shop.watchSent()
    }
  }

  /// A prompt names the origin that gets the password (rule A3): not that of the API.
  @Test func passwordPromptNamesTheAuthorizationServer() async throws {
    try await OAuthShop.with { shop in
      try shop.profile(
        "issuer = \"\(shop.api.url)\"\ngrant = \"password\"\nclient_id = \"demo-public\"",
        url: shop.api.url.replacing("127.0.0.1", with: "localhost") + "/oauth-api")
      let run = try await shop.box.terminal(
        ["login", "-u", OAuthShop.ada],
        answers: [("Password for ada@example.com at \(shop.api.url): ", Shop.password + "\n")],
        env: shop.environment())
      #expect(run.status == 0, "\(run.screen)")
    }
  }

  @Test func wrongPassword() async throws {
    try await OAuthShop.with(oauth: "grant = \"password\"\nclient_id = \"demo-public\"") { shop in
      let run = try await shop.run(
        "login", "-u", OAuthShop.ada, "--password-stdin", stdin: "wrong password\n")
      #expect(run.status == 14 && run.stdout == "")
      #expect(
        shop.shown(run) == """
          authctl: shop refused this name and password (invalid_grant)
          server: Wrong user name or password.

          """)
    }
  }

  /// Authlib's answer to a wrong password, as canaille sends it.
  @Test func wrongPasswordAsAnInvalidRequest() async throws {
    try await OAuthShop.with(
      oauth: "grant = \"password\"\nclient_id = \"demo-public\"",
      settings: ["token_error": "invalid_request"]
    ) { shop in
      let run = try await shop.run(
        "login", "-u", OAuthShop.ada, "--password-stdin", stdin: "wrong password\n")
      #expect(run.status == 14 && run.stdout == "")
      #expect(
        shop.shown(run).hasPrefix(
          "authctl: shop refused this name and password (invalid_request)\n"), "\(run.stderr)")
    }
  }

  /// Which grant, when the profile and the command line name none; a choice that nobody expects is
  /// told without `-v` too.
  @Test func grantByItsSurroundings() async throws {
    let nowhere: [String: String?] = ["BROWSER": nil]
    try await OAuthShop.with(
      settings: [
        "auto_approve": .string(OAuthShop.ada), "device_auto_approve": .string(OAuthShop.ada),
        "device": ["interval": 1],
      ]
    ) { shop in
      for (words, env, says) in [
        ([], [:], "* authorization-code (a browser is available)\n"),
        (["--no-browser"], [:], "* device-code (no browser)\n"),
        ([], nowhere, "Signing in by device-code (no browser).\n"),
        ([], ["BROWSER": ""], "Signing in by device-code (no browser).\n"),
      ] as [([String], [String: String?], String)] {
        let run = try await shop.run(["login", "-v"] + words, env: env)
        #expect(run.status == 0, "\(run.stderr)")
        #expect(run.stderr.contains(says), "\(run.stderr)")
      }
      let told = try await shop.run("login", env: nowhere)
      #expect(told.stderr.hasPrefix("Signing in by device-code (no browser).\nOn any device"))
      // Nobody is there, and nothing of the client's own.
      for env in [[:], nowhere] as [[String: String?]] {
        let run = try await shop.run("login", "--no-input", env: env)
        #expect(run.status == 10 && run.stdout == "")
        #expect(
          run.stderr == """
            authctl: shop: this sign-in requires a person with a browser
            hint: to sign in without a browser, use --grant client-credentials

            """)
      }
      try shop.profile("client_id = \"demo-service\"\nscope = \"read\"")
      let run = try await shop.run(
        "login", "-v", "-u", "robot", "--no-input",
        env: ["AUTHCTL_CLIENT_SECRET": "service-secret"])
      #expect(run.status == 0, "\(run.stderr)")
      #expect(
        run.stderr.contains(
          "Signing in by client-credentials (a client secret or key, and no terminal).\n"))
      // No device codes: the address is pasted, for which there must be a terminal.
      try shop.profile("client_id = \"demo-public\"")
      try await shop.set(["metadata": ["device_authorization_endpoint": nil]])
      let pasted = try await shop.run("login", "-u", "x", "-v", "--no-browser")
      #expect(pasted.status == 10, "\(pasted.stderr)")
      #expect(
        pasted.stderr.contains(
          "* authorization-code (no browser, and the server has no device codes)\n"))
    }
  }

  @Test func pastedAddress() async throws {
    try await OAuthShop.with(
      settings: [
        "auto_approve": .string(OAuthShop.ada),
        "metadata": ["device_authorization_endpoint": nil],
      ]
    ) { shop in
      for (isRight, change) in [(true, ""), (true, "#_=_"), (false, "x"), (false, "/other")] {
        let terminal = try shop.box.openTerminal(
          ["login", "--no-browser"], columns: 400, env: shop.environment())
        try await terminal.waitFor("even if the page fails to load")
        let url = try #require(terminal.screen.firstMatch(of: /http:\S+\/authorize\S+/)).0
        let curl = try await shop.box.run(
          "-s", "-o", "/dev/null", "-w", "%{redirect_url}", String(url), program: "/usr/bin/curl")
        var address = curl.stdout
        // The port is held, but a browser here is told at once that it cannot connect.
        let connection = try await shop.box.run(
          "-s", "-m", "5", address, program: "/usr/bin/curl")
        #expect(connection.status == 7)
        if change == "x" { address = address.replacing("state=", with: "state=x") }
        if change == "#_=_" { address += change }
        if change == "/other" { address = address.replacing("/callback", with: "/other") }
        terminal.type(address + "\n")
        let run = try await terminal.finish()
        #expect(run.status == (isRight ? 0 : 15), "\(run.screen)")
        #expect(
          run.screen.contains(
            isRight
              ? "Signed in to shop as \(OAuthShop.ada)."
              : "authctl: shop: this is not the address of this sign-in"), "\(run.screen)")
      }
    }
  }
}
