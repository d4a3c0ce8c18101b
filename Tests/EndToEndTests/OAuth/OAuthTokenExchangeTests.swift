import Testing

/// Sign-ins with a token from elsewhere: the grants token-exchange (RFC 8693) and jwt-bearer
/// (RFC 7523, section 2.1).
@Suite struct OAuthTokenExchangeTests {
  private static let client = "client_id = \"demo-public\"\nscope = \"read\"\n"
  private static let exchange = client + "grant = \"token-exchange\"\n"
  private static let bearer = client + "grant = \"jwt-bearer\"\n"
  static let type = "urn:ietf:params:oauth:token-type:"

  /// Runs `body` with a token that the server accepts, and a file that holds it.
  static func with(
    oauth: String, _ body: (OAuthShop, _ token: String, _ file: String) async throws -> Void
  ) async throws {
    try await OAuthShop.with(oauth: oauth, settings: [:]) { shop in
      let token = shop.box.canary.make("subject")
      try await shop.set(["subject_tokens": [.string(token)]])
      let file = try shop.box.write("subject", token + "\n")
      try await body(shop, token, file)
    }
  }

  private static let noRenewal = "Valid for 15 min; cannot be renewed."

  @Test(arguments: [exchange, bearer], ["stdin", "file", "fd", "command", "variable"])
  func everyWayToGiveIt(oauth: String, way: String) async throws {
    try await Self.with(oauth: oauth) { shop, token, file in
      let (words, stdin): ([String], String?) =
        switch way {
        case "stdin": (["--subject-token-stdin"], token + "\n")
        case "file": (["--subject-token-file", file], nil)
        case "fd": (["--subject-token-fd", "0"], token + "\n")
        case "command": (["--subject-token-command", "cat '\(file)'"], nil)
        default: ([], nil)
        }
      let run = try await shop.run(
        ["login", "-u", "robot", "-vv", "--no-input"] + words, stdin: stdin,
        env: ["AUTHCTL_SUBJECT_TOKEN": way == "variable" ? token : nil])
      #expect(run.status == 0 && run.stdout == "", "\(run.stderr)")
      let told = shop.shown(run).split(separator: "\n", omittingEmptySubsequences: false)
        .filter { !$0.hasPrefix("*") && !$0.hasPrefix(">") && !$0.hasPrefix("<") }
      #expect(told.joined(separator: "\n") == OAuthShop.signedIn("robot", Self.noRenewal))
      let isExchange = oauth == Self.exchange
      var form = ["client_id": "demo-public", "scope": "read"]
      form[isExchange ? "subject_token" : "assertion"] = token
      form["subject_token_type"] =
        isExchange ? (Self.type + "access_token").replacing(":", with: "%3A") : nil
      form["grant_type"] =
        "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3A"
        + (isExchange ? "token-exchange" : "jwt-bearer")
      #expect(try await shop.forms("/token") == [form])
      #expect(try await shop.run("get", "/me").status == 0)
      // Nothing can renew it, and that is said.
      try await shop.api.expire()
      let get = try await shop.run("get", "/me")
      #expect(get.status == 11 && get.stdout == "")
      #expect(
        get.stderr == """
          authctl: shop: session of robot was refused by the server; it cannot be renewed
          server: Token is unknown, revoked or expired.
          hint: authctl login -p shop -u robot

          """)
      try await shop.watchSent()
    }
  }

  @Test func whatIsSentBesides() async throws {
    try await Self.with(
      oauth: Self.exchange + "audience = \"shop\"\n"
        + "token_parameters = { tenant = \"7\" }"
    ) { shop, token, _ in
      let run = try await shop.run(
        "login", "-u", "robot", "--subject-token-stdin", "--subject-token-type", "saml2",
        "--resource", shop.api.url, "--scope", "read write", stdin: token + "\n")
      #expect(run.status == 0, "\(run.stderr)")
      let form = try #require(try await shop.forms("/token").first)
      #expect(form["subject_token_type"]?.hasSuffix("token-type%3Asaml2") == true)
      #expect(form["audience"] == "shop" && form["scope"] == "read+write")
      #expect(form["resource"] != nil && form["tenant"] == "7")
      #expect(form["assertion"] == nil && form["refresh_token"] == nil)
    }
  }

  /// The account is whom a JSON Web Token is about, where neither person nor server names another.
  @Test func nameInTheToken() async throws {
    try await OAuthShop.with(oauth: Self.exchange, settings: [:]) { shop in
      let claims = OAuthByHand.base64URL(Array(#"{"sub":"system:serviceaccount:ns:robot"}"#.utf8))
      let token = OAuthByHand.base64URL(Array(#"{"alg":"RS256"}"#.utf8)) + "." + claims + ".c2ln"
      try await shop.set(["subject_tokens": [.string(token)]])
      let run = try await shop.run("login", "--subject-token-stdin", stdin: token + "\n")
      #expect(run.status == 0, "\(run.stderr)")
      #expect(
        shop.shown(run).hasPrefix("Signed in to shop as system:serviceaccount:ns:robot. "),
        "\(run.stderr)")
      try await shop.watchSent()
    }
  }

  @Test func withoutATokenOrAName() async throws {
    try await Self.with(oauth: Self.exchange) { shop, token, _ in
      let none = try await shop.run("login", "-u", "robot")
      #expect(none.status == 10 && none.stdout == "")
      #expect(
        none.stderr == """
          authctl: a token to sign in with is required, but authctl cannot ask here
          hint: --subject-token-stdin, --subject-token-file F, --subject-token-command C, --ci, or \
          AUTHCTL_SUBJECT_TOKEN

          """)
      #expect(try await shop.forms("/token").isEmpty)
      let nameless = try await shop.run("login", "--subject-token-stdin", stdin: token + "\n")
      #expect(nameless.status == 0 && nameless.stdout == "")
      #expect(shop.shown(nameless) == OAuthShop.signedIn("default", Self.noRenewal))
    }
  }

  @Test(
    arguments: [
      (["--ci", "gitlab", "--subject-token-stdin"], "both give the subject token"),
      (["--ci-host", "x"], "--ci-host is for --ci github"),
      (["--ci", "gitlab", "--ci-audience", "x"], "--ci-audience is for --ci github"),
      (["--ci", "github", "--ci-variable", "x"], "--ci-variable is for --ci gitlab"),
      (["--ci", "travis"], "travis"),
      (["--keep-command"], "--keep-command requires --password-command or"),
      (["--subject-token-stdin", "--subject-token-type", "x"], "--subject-token-type x is not"),
      (
        ["--grant", "device-code", "--subject-token-stdin"],
        "--subject-token-stdin is for the grants token-exchange and jwt-bearer, not device-code"
      ),
      (
        ["--grant", "jwt-bearer", "--subject-token-stdin", "--subject-token-type", "jwt"],
        "--subject-token-type is for the grant token-exchange"
      ),
      (
        ["-p", "plain", "--subject-token-stdin"],
        "plain: --subject-token-stdin is for a sign-in at an authorization server"
      ),
    ] as [([String], String)])
  func optionsThatDoNotFit(words: [String], says: String) async throws {
    try await Self.with(oauth: Self.exchange) { shop, token, _ in
      try shop.box.profile("plain", "url = \"\(shop.api.url)\"\npreset = \"json\"\n")
      let run = try await shop.run(
        ["login", "-u", "robot"] + (words.contains("-p") ? [] : ["-p", "shop"]) + words,
        stdin: token + "\n")
      #expect(run.status == 2 && run.stdout == "" && run.hasErrorForm, "\(run.stderr)")
      #expect(
        run.stderr.replacing(/\n +/, with: " ").contains(says), "\(run.stderr)")
      #expect(try await shop.forms("/token").isEmpty)
    }
  }

  /// RFC 8693, section 2.2.1: what is issued may be no access token.
  @Test func answers() async throws {
    try await Self.with(oauth: Self.exchange) { shop, token, _ in
      func login() async throws -> Run {
        try await shop.run(
          "login", "-u", "robot", "--subject-token-stdin", stdin: token + "\n")
      }
      try await shop.set(["token": ["token_type": "N_A"]])
      let refused = try await login()
      #expect(refused.status == 15 && refused.stdout == "")
      #expect(refused.stderr.contains("a token of the type N_A is not supported"))
      try await shop.set(["token": ["issued_token_type": "urn:x:y"]])
      #expect(try await login().status == 0)
      try await shop.set(["token": ["refresh_token": "a-refresh-token"]])
      let run = try await login()
      #expect(shop.shown(run) == OAuthShop.signedIn("robot"))
      try await shop.set(["token": [:], "subject_tokens": []])
      let other = try await login()
      #expect(other.status == 14 && other.stdout == "")
      #expect(
        other.stderr == """
          authctl: shop refused the sign-in (invalid_grant)
          server: The subject_token is not valid.

          """)
    }
  }

  // MARK: - Renewal

  @Test(arguments: [exchange + "audience = \"shop\"\n", bearer])
  func keptCommandRenews(oauth: String) async throws {
    try await Self.with(oauth: oauth) { shop, token, file in
      let run = try await shop.run(
        "login", "-u", "robot", "--subject-token-command", "cat '\(file)'", "--keep-command",
        "--scope", "read write")
      #expect(run.status == 0, "\(run.stderr)")
      #expect(
        shop.shown(run)
          == OAuthShop.signedIn(
            "robot", "Valid for 15 min, then the stored command signs in again."))
      // Each time with the token that the command prints then.
      let next = shop.box.canary.make("next")
      try shop.box.write("subject", next + "\n")
      try await shop.set(["subject_tokens": [.string(next)]])
      for words in [["get", "/me"], ["token"], ["refresh"]] {
        try await shop.api.expire()
        let run = try await shop.run(words[0] == "token" ? words + ["--force-refresh"] : words)
        #expect(run.status == 0, "\(words): \(run.stderr)")
      }
      let forms = try await shop.forms("/token")
      #expect(forms.count == 4)
      let name = oauth == Self.bearer ? "assertion" : "subject_token"
      #expect(forms.map { $0[name] } == [token, next, next, next])
      for form in forms.dropFirst() {
        // All as at the sign-in, whatever the profile says of it.
        #expect(form.filter { $0.key != name } == forms[0].filter { $0.key != name })
      }
      // A server that refuses it: the session has ended, and the command stays.
      try await shop.set(["subject_tokens": []])
      let refused = try await shop.run("refresh")
      #expect(refused.status == 11 && refused.stdout == "", "\(refused.stderr)")
      #expect(refused.stderr.contains("the server refused to renew it"), "\(refused.stderr)")
      try await shop.set(["subject_tokens": [.string(next)]])
      #expect(try await shop.run("refresh").status == 0)
      try shop.box.write("subject", "")
      #expect(try await shop.run("refresh").status == 2)
      // A logout runs no command.
      try shop.box.write("subject", next + "\n")
      let count = try await shop.forms("/token").count
      try await shop.api.expire()
      #expect(try await shop.run("logout").status == 0)
      #expect(try await shop.forms("/token").count == count)
      try await shop.watchSent()
    }
  }

  /// The new token is bound to a key of this session, at a renewal too (RFC 9449).
  @Test func boundToAKey() async throws {
    try await Self.with(oauth: Self.exchange + "dpop = true\n") { shop, token, file in
      try await shop.set(["dpop_required": true, "dpop_nonce_token": "once"])
      let run = try await shop.run(
        "login", "-u", "robot", "--subject-token-command", "cat '\(file)'", "--keep-command")
      #expect(run.status == 0, "\(run.stderr)")
      try await shop.api.expire()
      let get = try await shop.run("get", "/me")
      #expect(get.status == 0 && get.stderr == "", "\(get)")
      let proofs = try await shop.proofs()
      #expect(Set(proofs.map(\.key)).count == 1)
      #expect(proofs.filter { $0.request["path"] == "/token" }.count == 4)
      #expect(proofs.filter { $0.claims["ath"] != nil }.count == 2)
      #expect(try await shop.run("token").status == 2, "no other program can use it")
      try await shop.watchSent()
    }
  }

  /// The client signs its assertions: nothing else is needed in cron.
  @Test(arguments: ["RS256", "ES256", "EdDSA"])
  func signedAssertions(algorithm: String) async throws {
    try await OAuthShop.with(settings: [:]) { shop in
      let hand = OAuthByHand(box: shop.box, api: shop.api)
      let key = try await hand.makeKey(algorithm)
      let pem = try await hand.openssl("pkey", "-in", key, "-pubout")
      try await shop.set(["client_key_pem": .string(String(decoding: pem, as: UTF8.self))])
      try shop.profile(
        "grant = \"jwt-bearer\"\nclient_id = \"demo-key\"\nscope = \"read\"\n"
          + "client_key = \"\(key)\"")
      let run = try await shop.run("login", "--no-input")
      #expect(run.status == 0 && run.stdout == "", "\(run.stderr)")
      #expect(shop.shown(run) == OAuthShop.signedIn("demo-key"))
      try await shop.api.expire()
      #expect(try await shop.run("get", "/me", "--no-input").status == 0)
      #expect(try await shop.run("login", "-u", OAuthShop.ada).status == 0)
      try await shop.api.expire()
      let me = try await shop.run("get", "/me", "-u", OAuthShop.ada)
      #expect(me.stdout.contains(#""email":"ada@example.com""#), "\(me)")
      let forms = try await shop.forms("/token")
      #expect(forms.count == 4)
      var seen: Set<String> = []
      for (form, subject) in zip(forms, ["demo-key", "demo-key", OAuthShop.ada, OAuthShop.ada]) {
        #expect(form["grant_type"]?.hasSuffix("jwt-bearer") == true)
        #expect(form["scope"] == "read" && form["refresh_token"] == nil)
        let claims = try OAuthByHand.claims(try #require(form["assertion"]))
        #expect(claims["iss"]?.string == "demo-key" && claims["sub"]?.string == subject)
        #expect(claims["aud"]?.string == shop.api.url + "/token")
        let client = try OAuthByHand.claims(try #require(form["client_assertion"]))
        #expect(client["sub"]?.string == "demo-key")
        for claims in [claims, client] { seen.insert(claims["jti"]?.string ?? "") }
      }
      #expect(seen.count == 8, "each jti is used once")
      try await shop.watchSent()
    }
  }

  @Test func keyFileThatIsGone() async throws {
    try await OAuthShop.with(settings: [:]) { shop in
      try shop.profile(
        "grant = \"jwt-bearer\"\nclient_id = \"demo-key\"\nclient_key = \"/nowhere/key.pem\"")
      let run = try await shop.run("login")
      #expect(run.status == 1 && run.stdout == "" && run.hasErrorForm, "\(run.stderr)")
      #expect(run.stderr.contains("/nowhere/key.pem"))
      #expect(try await shop.forms("/token").isEmpty)
    }
  }
}
