import Testing

/// A server that offers registration needs no client ID (RFC 7591).
@Suite struct OAuthRegistrationTests {
  private static let oauth = "scope = \"openid read\""

  private func keys(_ shop: OAuthShop) -> [String] {
    (shop.box.read("config/authctl/profiles/shop.toml") ?? "").split(separator: "\n")
      .map(String.init)
      .filter { line in
        ["client_id", "registered", "redirect_port"].contains(where: line.hasPrefix)
      }
  }

  @Test func onceAndKept() async throws {
    try await OAuthShop.with(oauth: Self.oauth + OAuthShop.ownPort()) { shop in
      let asked = try await shop.run("login")
      #expect(asked.status == 10 && asked.stdout == "", "\(asked.stderr)")
      // Nobody is there: no client is registered for a sign-in that cannot happen.
      let alone = try await shop.run("login", "--yes", "--no-input")
      #expect(alone.status == 10 && alone.stdout == "", "\(alone.stderr)")
      #expect(try await shop.forms("/connect/register").isEmpty)
      let run = try await shop.run("login", "--yes")
      #expect(run.status == 0 && run.stdout == "")
      #expect(
        shop.shown(run) == "Registering authctl at API as a new client.\n" + OAuthShop.opening
          + OAuthShop.signedIn())
      let requests = try await shop.api.requests().filter { $0["path"] == "/connect/register" }
      let body = try JSON(parsing: try #require(requests.first?["body"]?.string))
      #expect(body["application_type"] == "native" && body["client_name"] == "authctl")
      #expect(body["token_endpoint_auth_method"] == "none" && body["scope"] == "openid read")
      #expect(body["redirect_uris"]?[0]?.string?.hasPrefix("http://127.0.0.1:") == true)
      #expect(keys(shop).count == 3, "\(keys(shop))")
      let before = keys(shop)
      let again = try await shop.run("login")
      #expect(again.status == 0 && shop.shown(again) == OAuthShop.opening + OAuthShop.signedIn())
      #expect(keys(shop) == before && requests.count == 1)
      #expect(try await shop.api.count("POST /connect/register") == 1)
    }
  }

  /// A client with a secret, as the server has no others: a second sign-in is the same client, and
  /// can end the registration.
  @Test(arguments: [["client_secret_basic"], ["client_secret_post"]])
  func clientWithASecret(methods: [String]) async throws {
    try await OAuthShop.with(oauth: Self.oauth + OAuthShop.ownPort()) { shop in
      try await shop.set([
        "auto_approve": .string(OAuthShop.ada), "client_auth": .array(methods.map { .string($0) }),
      ])
      try await shop.signIn("--yes")
      try await shop.signIn()
      let requests = try await shop.api.requests().filter { $0["path"] == "/connect/register" }
      #expect(requests.count == 1)
      let body = try JSON(parsing: try #require(requests.first?["body"]?.string))
      #expect(body["token_endpoint_auth_method"]?.string == methods[0])
      #expect(try await shop.run("get", "/me").status == 0)
      let out = try await shop.run("logout", "--unregister")
      #expect(out.status == 0, "\(out.stderr)")
      #expect(keys(shop).isEmpty)
      try await shop.watchSent()
    }
  }

  /// Only sessions have the secret: without one, another client is registered before the browser
  /// is opened, as the sign-in could not succeed.
  @Test func theSecretIsGoneAfterALogout() async throws {
    try await OAuthShop.with(oauth: Self.oauth + OAuthShop.ownPort()) { shop in
      try await shop.set([
        "auto_approve": .string(OAuthShop.ada), "client_auth": ["client_secret_basic"],
      ])
      try await shop.signIn("--yes")
      // A second account is of the same client.
      try await shop.signIn("-u", "second")
      #expect(try await shop.api.count("POST /connect/register") == 1)
      #expect(try await shop.run("logout", "-u", "second").status == 0)
      try await shop.signIn()
      #expect(try await shop.api.count("POST /connect/register") == 1)
      #expect(try await shop.run("logout").status == 0)
      let run = try await shop.run("login")
      #expect(run.status == 0, "\(run.stderr)")
      #expect(
        shop.shown(run) == """
          shop: no session has the secret of the registered client.
          Registering authctl at API as a new client.

          """ + OAuthShop.opening + OAuthShop.signedIn())
      #expect(try await shop.api.count("POST /connect/register") == 2)
      try await shop.watchSent()
    }
  }

  /// A public client stays registered, unless the logout says otherwise (RFC 7592, section 2.3).
  @Test func unregister() async throws {
    try await OAuthShop.with(oauth: Self.oauth + OAuthShop.ownPort()) { shop in
      try await shop.signIn("--yes")
      #expect(try await shop.run("logout").status == 0)
      let before = keys(shop)
      try await shop.signIn()
      #expect(keys(shop) == before && before.count == 3)
      #expect(try await shop.api.count("POST /connect/register") == 1)
      let both = try await shop.run("logout", "--unregister", "--all")
      #expect(both.status == 2)
      #expect(both.stderr == "authctl: --unregister and --all cannot be used together\n")
      // The first logout took the token along that ends the registration.
      let late = try await shop.run("logout", "--unregister")
      #expect(late.status == 2)
      #expect(
        late.stderr.hasPrefix(
          "authctl: shop: no session has the token that ends the registration of the client\n"),
        "\(late.stderr)")
      try shop.profile(Self.oauth)
      try await shop.signIn("--yes")
      let out = try await shop.run("logout", "--unregister")
      #expect(out.status == 0 && out.stdout == "")
      #expect(
        out.stderr == """
          Unregistered the client of shop.
          Signed out of shop as ada@example.com, at the server and on this machine.

          """)
      let deletes = try await shop.api.requests().filter { $0["method"] == "DELETE" }
      #expect(deletes.count == 1)
      #expect(deletes[0]["headers"]?["authorization"]?.string?.hasPrefix("Bearer ") == true)
      #expect(keys(shop).isEmpty)
      try await shop.watchSent()
    }
  }

  @Test func aPersonIsAsked() async throws {
    try await OAuthShop.with(oauth: Self.oauth) { shop in
      let question = "Register authctl at \(shop.api.url) as a new client? [Y/n]"
      let no = try await shop.box.terminal(
        ["login"], answers: [(question, "n\n")], columns: 200, env: shop.environment())
      #expect(no.status == 10, "\(no.screen)")
      #expect(try await shop.api.count("POST /connect/register") == 0)
      let yes = try await shop.box.terminal(
        ["login"], answers: [(question, "\n")], columns: 200, env: shop.environment())
      #expect(yes.status == 0, "\(yes.screen)")
      #expect(try await shop.api.count("POST /connect/register") == 1)
    }
  }

  /// The server has lost its clients between the browser and the token request.
  @Test func againWhenTheServerHasForgotten() async throws {
    try await OAuthShop.with(oauth: Self.oauth + OAuthShop.ownPort()) { shop in
      try await shop.signIn("--yes")
      let before = keys(shop)
      try shop.browser(
        """
        to=$(target "$1")
        if [ ! -e '\(shop.box.root)/once' ]; then
          : >'\(shop.box.root)/once'
          curl -s -H 'Content-Type: application/json' -d '{"forget_clients":true}' \
            \(shop.api.url)/oauth-settings >/dev/null
        fi
        get "$to"
        """)
      let run = try await shop.run("login")
      #expect(run.status == 0, "\(run.stderr)")
      #expect(
        shop.shown(run) == OAuthShop.opening + """
          shop: the server no longer knows this client.
          Registering authctl at API as a new client.

          """ + OAuthShop.opening + OAuthShop.signedIn())
      #expect(keys(shop).count == 3 && keys(shop) != before)
      #expect(try await shop.api.count("POST /connect/register") == 2)
    }
  }

  /// The redirect URI is compared as a whole: another port takes another registration.
  @Test func againWhenThePortIsTaken() async throws {
    try await OAuthShop.with(oauth: Self.oauth) { shop in
      try await shop.set(["redirect_exact": true])
      try await shop.signIn("--yes")
      let line = try #require(keys(shop).first { $0.hasPrefix("redirect_port") })
      let port = try #require(UInt16(line.filter(\.isNumber)))
      let squatter = try shop.box.recorder(port: port)
      let run = try await shop.run("login")
      #expect(run.status == 0, "\(run.stderr)")
      #expect(
        shop.shown(run).hasPrefix(
          """
          shop: port \(port), which the client is registered for, is not free.
          Registering authctl at API as a new client.

          """))
      #expect(squatter.connections.isEmpty)
      #expect(keys(shop).first { $0.hasPrefix("redirect_port") } != line)
    }
  }

  @Test func forADevice() async throws {
    try await OAuthShop.with(oauth: Self.oauth) { shop in
      try await shop.set(["device_auto_approve": .string(OAuthShop.ada), "device": ["interval": 1]])
      let run = try await shop.run("login", "--yes", "--no-browser")
      #expect(run.status == 0, "\(run.stderr)")
      #expect(keys(shop).count == 2)
      #expect(try await shop.run("refresh").status == 0)
    }
  }

  /// A confidential client, and an answer about another redirect URI.
  @Test func answers() async throws {
    try await OAuthShop.with(oauth: Self.oauth) { shop in
      try await shop.set(["registration": ["redirect_uris": ["http://127.0.0.1:1/callback"]]])
      let other = try await shop.run("login", "--yes")
      #expect(other.status == 15 && other.stdout == "", "\(other.stderr)")
      #expect(other.stderr.contains("the registration is for another redirect URI"))
      try await shop.set(["registration": [:], "registration_error": "invalid_client_metadata"])
      #expect(try await shop.run("login", "--yes").status == 4)
      #expect(shop.visited == nil && keys(shop).isEmpty)
      try await shop.set([
        "registration_error": nil, "registration_method": "client_secret_basic",
      ])
      let run = try await shop.run("login", "--yes")
      #expect(run.status == 0, "\(run.stderr)")
      #expect(try await shop.headers("authorization", of: "/token").allSatisfy { $0 != nil })
      #expect(try await shop.run("refresh").status == 0)
      try await shop.watchSent()
      let profile = shop.box.read("config/authctl/profiles/shop.toml")
      let method = "client_auth = \"client_secret_basic\"\n"
      #expect(profile?.replacing(method, with: "").contains("secret") == false, "\(profile ?? "")")
    }
  }
}
