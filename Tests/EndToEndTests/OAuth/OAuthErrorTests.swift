import Testing

/// The error codes of the token endpoint, at a sign-in and at a renewal: exit codes, and whether
/// the refresh token is kept.
@Suite struct OAuthErrorTests {
  struct Row: Sendable, CustomTestStringConvertible {
    var code: String
    var login: Int32
    var refresh: Int32
    var isKept = true
    var status: Int?
    var testDescription: String { code + (status.map { " \($0)" } ?? "") }
  }

  static let rows = [
    Row(code: "invalid_grant", login: 14, refresh: 11, isKept: false),
    Row(code: "invalid_grant", login: 14, refresh: 11, isKept: false, status: 200),
    Row(code: "access_denied", login: 14, refresh: 11, isKept: false),
    Row(code: "invalid_client", login: 14, refresh: 11),
    Row(code: "unauthorized_client", login: 14, refresh: 11),
    Row(code: "unauthorized_client", login: 14, refresh: 11, status: 200),
    Row(code: "invalid_scope", login: 4, refresh: 4),
    Row(code: "invalid_target", login: 4, refresh: 4),
    Row(code: "unsupported_grant_type", login: 4, refresh: 4),
    Row(code: "invalid_request", login: 4, refresh: 4),
    Row(code: "invalid_request", login: 4, refresh: 4, status: 200),
    Row(code: "temporarily_unavailable", login: 5, refresh: 5),
    Row(code: "temporarily_unavailable", login: 5, refresh: 5, status: 200),
    Row(code: "server_error", login: 5, refresh: 5),
    Row(code: "expired_token", login: 9, refresh: 11, isKept: false),
    Row(code: "made_up", login: 4, refresh: 4, status: 200),
  ]

  @Test(arguments: rows)
  func tokenEndpoint(_ row: Row) async throws {
    try await OAuthShop.with { shop in
      try await shop.signIn()
      let broken: JSON = [
        "token_error": .string(row.code),
        "token_error_status": row.status.map { .number(Double($0)) } ?? nil,
        "error_description": "Because\nhint: of \u{1B}[31mit.",
      ]
      try await shop.set(broken)
      let login = try await shop.run("login")
      #expect(login.status == row.login && login.stdout == "", "\(login.stderr)")
      #expect(login.stderr.contains(row.code), "\(login.stderr)")
      #expect(
        login.stderr.contains("\nserver: Because ⏎ hint: of \\u{1B}[31mit.\n"), "\(login.stderr)")
      let refresh = try await shop.run("refresh")
      #expect(refresh.status == row.refresh && refresh.hasErrorForm, "\(refresh.stderr)")
      #expect(refresh.stdout == "" && refresh.stderr.contains(row.code), "\(refresh.stderr)")
      // The session is untouched, or has lost the refresh token that was refused.
      try await shop.set(["token_error": nil, "token_error_status": nil])
      let count = try await shop.forms("/token").count
      let again = try await shop.run("refresh")
      #expect(again.status == (row.isKept ? 0 : 11), "\(again.stderr)")
      #expect(try await shop.forms("/token").count == count + (row.isKept ? 1 : 0))
      try await shop.watchSent()
    }
  }

  @Test(
    arguments: [
      ("access_denied", 14, "authctl: shop: the sign-in was denied in the browser\n"),
      (
        "invalid_scope", 4,
        "authctl: shop: the server refused the sign-in in the browser (invalid_scope)\n"
      ),
      ("unauthorized_client", 14, "authctl: shop refused this client (unauthorized_client)\n"),
      (
        "server_error", 5,
        "authctl: shop: the server refused the sign-in in the browser (server_error)\n"
      ),
      (
        "unsupported_response_type", 4,
        "authctl: shop: the server refused the sign-in in the browser (unsupported_response_type)\n"
      ),
    ] as [(String, Int32, String)])
  func authorizationEndpoint(code: String, status: Int32, says: String) async throws {
    try await OAuthShop.with { shop in
      try await shop.set(["authorize": ["code": nil, "error": .string(code)]])
      let run = try await shop.run("login")
      #expect(run.status == status && run.stdout == "")
      #expect(shop.shown(run).hasPrefix(OAuthShop.opening + says), "\(run.stderr)")
      _ = try await shop.wait(for: "browser.done")
      #expect(shop.statuses == [400])
      #expect(shop.box.read("browser.page")?.contains("See the terminal for the reason.") == true)
      #expect(try await shop.forms("/token").isEmpty)
    }
  }

  @Test func serverThatAnswersWithAPage() async throws {
    try await OAuthShop.with { shop in
      try await shop.signIn()
      try await shop.set(["token_format": "html"])
      for words in [["login"], ["refresh"]] {
        let run = try await shop.run(words)
        #expect(run.status == 15 && run.stdout == "", "\(run.stderr)")
      }
      try await shop.set(["token_format": "json"])
      #expect(try await shop.run("get", "/me").status == 0)
    }
  }

  @Test func statusWithoutAnErrorCode() async throws {
    try await OAuthShop.with { shop in
      try await shop.signIn()
      for (status, login, refresh) in [(401, 14, 11), (403, 14, 11), (502, 5, 5)]
        as [(Int, Int32, Int32)]
      {
        try await shop.signIn()
        try await shop.api.misbehave([
          "path": "/token", "times": 2, "status": .number(Double(status)),
        ])
        #expect(try await shop.run("login").status == login, "\(status)")
        #expect(try await shop.run("refresh").status == refresh, "\(status)")
      }
    }
  }

  /// 403 and 401 of the API say which sign-in helps (RFC 6750, section 3.1; RFC 9470).
  @Test func hintsOfTheAPI() async throws {
    try await OAuthShop.with { shop in
      try await shop.signIn()
      let scope = try await shop.run("get", "/admin")
      #expect(scope.status == 4)
      #expect(
        scope.stderr.hasSuffix("\nhint: authctl login -p shop --scope admin\n"), "\(scope.stderr)")
      let strong = try await shop.run("get", "/strong")
      #expect(strong.status == 11)
      #expect(
        strong.stderr.hasSuffix(
          "\nhint: authctl login -p shop --acr-values urn:demo:strong --max-age 300\n"),
        "\(strong.stderr)")
      // Both work as printed.
      try await shop.signIn("-p", "shop", "--acr-values", "urn:demo:strong", "--max-age", "300")
      #expect(try await shop.run("get", "/strong").status == 0)
      #expect(shop.visited?.contains("&acr_values=urn%3Ademo%3Astrong&max_age=300") == true)
      try await shop.signIn("-p", "shop", "--scope", "openid admin")
      #expect(try await shop.run("get", "/admin").status == 0)
      #expect(shop.box.read("config/authctl/profiles/shop.toml")?.contains("admin") == false)
    }
  }

  /// What a server puts into its challenge is an argument in the printed command (rule A13).
  @Test func hostileChallenge() async throws {
    try await OAuthShop.with { shop in
      try await shop.signIn()
      try await shop.set([
        "api_error": "insufficient_scope", "api_challenge": ["scope": "x'; touch $HOME/pwned; '"],
      ])
      let run = try await shop.run("get", "/me")
      #expect(run.status == 4)
      #expect(
        run.stderr.hasSuffix(
          "\nhint: authctl login -p shop --scope 'x'\\''; touch $HOME/pwned; '\\'''\n"),
        "\(run.stderr)")
    }
  }
}
