import Testing

/// The parameters of the authorization request go to the server first (RFC 9126).
@Suite struct OAuthPushedTests {
  @Test(arguments: ["", "\npushed = true"])
  func onlyAReferenceGoesThroughTheBrowser(key: String) async throws {
    let oauth =
      "client_id = \"demo-confidential\"\ngrant = \"authorization-code\"\n"
      + "scope = \"openid read\"" + key
    try await OAuthShop.with(oauth: oauth) { shop in
      if key.isEmpty { try await shop.set(["par_required": true]) }
      try await shop.signIn("--client-secret-stdin", "--prompt", "consent", stdin: OAuthShop.secret)
      let visited = try #require(shop.visited)
      #expect(
        visited.hasPrefix(
          "\(shop.api.url)/authorize?client_id=demo-confidential&request_uri=urn%3Aietf%3Aparams%3A"
        ), "\(visited)")
      let form = try #require(try await shop.forms("/par").first)
      #expect(
        Set(form.keys) == [
          "response_type", "redirect_uri", "state", "code_challenge", "code_challenge_method",
          "nonce", "scope", "prompt", "client_id",
        ], "\(form.keys)")
      #expect(
        try await shop.headers("authorization", of: "/par").first??.hasPrefix("Basic ") == true)
      #expect(try await shop.run("get", "/me").status == 0)
    }
  }

  @Test func refused() async throws {
    let oauth = "client_id = \"demo-public\"\nscope = \"nonsense\"\npushed = true"
    try await OAuthShop.with(oauth: oauth) { shop in
      let run = try await shop.run("login")
      #expect(run.status == 4 && run.stdout == "" && shop.visited == nil, "\(run.stderr)")
      #expect(
        shop.shown(run).hasPrefix(
          "authctl: shop: invalid_scope: POST API/par\n"), "\(run.stderr)")
      try await shop.set(["metadata": ["pushed_authorization_request_endpoint": nil]])
      let none = try await shop.run("login", "--scope", "read")
      #expect(none.status == 2 && shop.visited == nil)
      #expect(
        shop.shown(none).hasPrefix(
          "authctl: API has no pushed_authorization_request_endpoint for pushed requests\n"),
        "\(none.stderr)")
    }
  }
}
