import Testing

/// An API that says itself which authorization server signs in to it (RFC 9728, RFC 8414).
@Suite struct OAuthDiscoveryTests {
  /// The keys of `[oauth]` in a profile that a sign-in has made, without those of a registration.
  private func keys(_ shop: OAuthShop, _ profile: String = "new") -> [String] {
    (shop.box.read("config/authctl/profiles/\(profile).toml") ?? "").split(separator: "\n")
      .map { String($0).replacing(shop.api.url, with: "API") }
      .filter { line in
        ["url", "preset", "issuer", "resource", "scope"].contains(where: line.hasPrefix)
      }
  }

  private static let found = [
    "url = \"API/oauth-api\"", "issuer = \"API\"", "resource = [\"API/oauth-api\"]",
    "scope = \"read write\"",
  ]

  @Test func byTheAddressAlone() async throws {
    try await OAuthShop.with { shop in
      let url = shop.api.url + "/oauth-api"
      let unasked = try await shop.run("login", url, "-p", "new")
      #expect(unasked.status == 10 && unasked.stdout == "", "\(unasked.stderr)")
      #expect(try await shop.api.count("POST /connect/register") == 0)
      let run = try await shop.run("login", url, "-p", "new", "--yes")
      #expect(run.status == 0 && run.stdout == "")
      #expect(
        shop.shown(run).hasPrefix(
          """
          API signs in with OAuth 2.0 at API.
          Registering authctl at API as a new client.

          """ + OAuthShop.opening + "Signed in to new as default."), "\(run.stderr)")
      #expect(keys(shop) == Self.found, "\(keys(shop))")
      let me = try await shop.run("get", "-p", "new", "/me")
      let said = try JSON(parsing: me.stdout)
      #expect(me.status == 0 && said["resource"] == [.string(url)] && said["scope"] == "read write")
    }
  }

  /// What the challenge asks for comes before all scopes that the API has.
  @Test func theChallengeNamesTheScope() async throws {
    try await OAuthShop.with { shop in
      try await shop.set(["api_challenge": ["scope": "read"]])
      try await shop.signIn(shop.api.url + "/oauth-api", "-p", "new", "--yes")
      #expect(keys(shop).last == "scope = \"read\"", "\(keys(shop))")
    }
  }

  @Test(arguments: ["null", "\"{origin}/nowhere\""])
  func withoutAUsefulChallenge(metadata: String) async throws {
    try await OAuthShop.with { shop in
      try await shop.set(JSON(parsing: #"{"api_challenge":{"resource_metadata":\#(metadata)}}"#))
      let run = try await shop.run("profile", "detect", shop.api.url + "/oauth-api")
      let place = "/.well-known/oauth-protected-resource/oauth-api"
      #expect(run.status == 0 && run.stderr == "")
      #expect(
        run.stdout.hasPrefix("certain: \(place): signs in with OAuth 2.0 at \(shop.api.url)\n"),
        "\(run.stdout)")
    }
  }

  /// A document for another API is not used, nor one that is no document.
  @Test(arguments: [
    #"{"resource_metadata":{"resource":"https://other.example"}}"#,
    #"{"resource_metadata":{"resource":"{origin}/oauth-api/v2"}}"#,
    #"{"resource_metadata":{"resource":"{origin}/oauth"}}"#,
    #"{"resource_metadata":{"resource":"{origin}/oauth-api#x"}}"#,
    #"{"resource_metadata":{"authorization_servers":[]}}"#,
    #"{"resource_metadata":{"authorization_servers":["file:///etc/passwd"]}}"#,
    #"{"resource_answer":"not_found"}"#, #"{"resource_answer":"html"}"#,
    #"{"resource_answer":"error"}"#, #"{"resource_answer":"redirect"}"#,
    #"{"resource_answer":"huge"}"#,
  ])
  func documentsThatAreNotUsed(settings: String) async throws {
    try await OAuthShop.with { shop in
      try await shop.set(JSON(parsing: settings))
      let run = try await shop.run(
        "login", shop.api.url + "/oauth-api", "-p", "new", "--client-id", "demo-public",
        "--scope", "read")
      #expect(run.status == 0, "\(run.stderr)")
      // The API's origin has an authorization server.
      #expect(
        keys(shop) == ["url = \"API/oauth-api\"", "scope = [\"read\"]", "issuer = \"API\""],
        "\(keys(shop))")
      #expect(
        try await shop.api.requests().allSatisfy { $0["path"]?.string?.contains("moved") == false })
    }
  }

  /// An authorization server elsewhere is named and agreed to; metadata elsewhere is not requested.
  @Test func elsewhere() async throws {
    try await OAuthShop.with { shop in
      let box = shop.box
      let id = shop.api.url.replacing("127.0.0.1", with: "localhost")
      try await shop.set(["issuer": .string(id)])
      let api = try box.recorder { _, request in
        guard Scene.route(of: request) == "GET /.well-known/oauth-protected-resource" else {
          return .http(401, "{}", headers: [("WWW-Authenticate", "Bearer")])
        }
        let lines = String(decoding: request, as: UTF8.self).split(separator: "\r\n")
        let host = lines.first { $0.hasPrefix("Host: ") }?.dropFirst(6) ?? ""
        return .http(
          200, #"{"resource":"http://\#(host)","authorization_servers":["\#(id)"]}"#)
      }
      let words = ["login", api.url, "--client-id", "demo-public", "--resource", id]
      let unasked = try await shop.run(words)
      #expect(unasked.status == 10 && unasked.stdout == "")
      #expect(
        unasked.stderr.replacing(api.url, with: "API").replacing(id, with: "ID") == """
          API signs in with OAuth 2.0 at ID.
          authctl: your consent to sign in at ID is required, but authctl cannot ask here
          hint: use --yes to agree

          """)
      #expect(try await shop.api.requests().isEmpty)
      let no = try await box.terminal(
        words, answers: [("Sign in there? [Y/n]", "n\n")], columns: 200, env: shop.environment())
      #expect(no.status == 10, "\(no.screen)")
      #expect(try await shop.api.requests().isEmpty)
      let yes = try await box.terminal(
        words, answers: [("Sign in there? [Y/n]", "\n")], columns: 200, env: shop.environment())
      #expect(yes.status == 0, "\(yes.screen)")
    }
  }

  @Test func metadataElsewhereIsNotRequested() async throws {
    try await Sandbox.with(.none) { box in
      let other = try box.recorder(at: "127.0.0.2")
      let challenge = "Bearer resource_metadata=\"\(other.url)/.well-known/x\""
      let api = try box.recorder { _, _ in
        .http(401, "{}", headers: [("WWW-Authenticate", challenge)])
      }
      let run = try await box.run("profile", "detect", api.url)
      #expect(
        run.stdout.hasPrefix(
          """
          possible: /: names metadata that authctl does not request
            resource_metadata (RFC 9728) is not on this origin: \(other.url)/.well-known/x

          """), "\(run.stdout)")
      #expect(run.status == 0 && other.connections.isEmpty)
    }
  }

  @Test func nothingNamed() async throws {
    try await Sandbox.with(.none) { box in
      let key = try box.write("key", String(repeating: "0f", count: 32) + "\n")
      let api = try box.recorder { _, _ in .http(404, "{}") }
      for words in [["--client-id", "x"], ["--preset", "mcp"], ["--grant", "device-code"]] {
        let run = try await box.run(
          ["login", api.url] + words,
          env: ["AUTHCTL_STORE": "file", "AUTHCTL_STORE_KEY_FILE": key])
        #expect(run.status == 2 && run.stdout == "")
        #expect(
          run.stderr == """
            authctl: \(api.url) does not say which authorization server signs in to it
            hint: name it with --issuer URL

            """)
      }
    }
  }

  /// An MCP server is one endpoint: the profile is for what is above it.
  @Test func modelContextProtocol() async throws {
    try await OAuthShop.with { shop in
      let url = shop.api.url + "/oauth-api/mcp"
      let login = try await shop.run("login", url, "--yes")
      #expect(login.status == 0, "\(login.stderr)")
      let name = shop.api.profileName
      #expect(
        keys(shop, name) == [
          "url = \"API/oauth-api\"", "preset = \"mcp\"", "issuer = \"API\"",
          "resource = [\"API/oauth-api\"]", "scope = \"read write\"",
        ], "\(keys(shop, name))")
      let tools = try await shop.run(
        "post", "-p", name, "/mcp", "--json", #"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#)
      #expect(tools.status == 0 && tools.stderr == "")
      #expect(tools.stdout == #"{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}"#)
      // The suggestion works as printed.
      let next = try #require(login.stderr.split(separator: "\n").last?.dropFirst("Next: ".count))
      #expect(next.hasPrefix("authctl post /mcp --json '{"), "\(next)")
      let words = try #require(Hints.words(of: String(next)))
      #expect(try await shop.run(Array(words.dropFirst())).status == 0)
    }
  }

  /// Some servers end the tokens of a public client only with an empty secret.
  @Test(arguments: [(["client_secret_post"], true), (["client_secret_post", "none"], false)])
  func emptySecretAtRevocation(methods: [String], isSent: Bool) async throws {
    try await OAuthShop.with { shop in
      try await shop.set([
        "metadata": [
          "revocation_endpoint_auth_methods_supported": .array(methods.map { .string($0) })
        ]
      ])
      try await shop.signIn()
      #expect(try await shop.run("logout").status == 0)
      let forms = try await shop.forms("/revoke")
      #expect(!forms.isEmpty && forms.allSatisfy { ($0["client_secret"] == "") == isSent })
    }
  }
}
