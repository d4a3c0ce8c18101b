import Glibc
import Testing

/// Tokens that are bound to a key (RFC 9449). DemoAPI checks each proof: key, method, URL, token, time,
/// nonce, and that it is new.
@Suite struct ProofTests {
  @Test func signInRequestsAndRenewal() async throws {
    try await OAuthShop.with(oauth: OAuthShop.bound) { shop in
      let login = try await shop.run("login")
      #expect(login.status == 0 && login.stdout == "")
      #expect(shop.shown(login) == OAuthShop.opening + OAuthShop.signedIn())
      for words in [
        ["get", "/me?a=b"], ["post", "/echo", "-d", "x=y", "--pointer", "/body"],
        ["delete", "/echo", "--pointer", "/method"], ["head", "/echo"],
        ["patch", "/echo", "-d", "z", "--pointer", "/body"], ["refresh"], ["get", "/me"],
        ["whoami"],
        ["token", "--introspect"],
      ] {
        let run = try await shop.run(words)
        #expect(run.status == 0 && run.stderr == "" || words == ["refresh"], "\(words) \(run)")
      }
      let proofs = try await shop.proofs()
      #expect(Set(proofs.map(\.key)).count == 1)
      #expect(Set(proofs.compactMap { $0.claims["jti"]?.string }).count == proofs.count)
      for proof in proofs {
        #expect(proof.claims["htm"] == proof.request["method"])
        let path = proof.request["path"]?.string ?? ""
        #expect(proof.claims["htu"]?.string == shop.api.url + path)
        let token = proof.request["headers"]?["authorization"]?.string
        if path == "/token" {
          #expect(token == nil && proof.claims["ath"] == nil)
        } else {
          #expect(token?.hasPrefix("DPoP access-") == true && proof.claims["ath"] != nil)
        }
      }
      let paths = proofs.compactMap { $0.request["path"]?.string }
      #expect(paths.filter { $0 == "/token" }.count == 2 && paths.contains("/userinfo"))
      #expect(paths.count == 9, "\(paths)")
      // The same key again only for this session.
      try await shop.signIn()
      #expect(Set(try await shop.proofs().map(\.key)).count == 2)
      #expect(try await shop.run("logout").status == 0)
      #expect(try await shop.headers("dpop", of: "/revoke") == [nil, nil])
      try await shop.watchSent()
    }
  }

  @Test(.enabled(if: access("/usr/bin/openssl", X_OK) == 0, "needs the package openssl"))
  func signatures() async throws {
    try await OAuthShop.with(oauth: OAuthShop.bound) { shop in
      try await shop.signIn()
      for _ in 1...3 { #expect(try await shop.run("get", "/me").status == 0) }
      let proofs = try await shop.proofs()
      #expect(proofs.count == 4)
      let hand = OAuthByHand(box: shop.box, api: shop.api)
      for (number, proof) in proofs.enumerated() {
        for (name, bytes) in [
          ("key", proof.publicKey), ("signature", proof.signature),
          ("text", Array(proof.signed.utf8)),
        ] {
          // A text cannot hold these bytes; printf writes them from octal digits.
          let octal = bytes.map { "\\" + String(UInt16($0) + 512, radix: 8).dropFirst() }.joined()
          let made = try await shop.box.run(
            "-c", "printf '\(octal)' >'\(shop.box.home)/\(name)'", program: "/bin/sh")
          try #require(made.status == 0, "\(made.stderr)")
        }
        let file = { (name: String) in shop.box.home + "/" + name }
        let said = try await hand.openssl(
          "dgst", "-sha256", "-verify", file("key"), "-keyform", "DER", "-signature",
          file("signature"), file("text"))
        #expect(said == Array("Verified OK\n".utf8), "\(number)")
      }
      // The code is bound to the key too: dpop_jkt is its thumbprint (RFC 7638).
      let jwk = try #require(proofs[0].head["jwk"])
      let text =
        #"{"crv":"P-256","kty":"EC","x":"\#(jwk["x"]?.string ?? "")","y":"\#(jwk["y"]?.string ?? "")"}"#
      let thumbprint = OAuthByHand.base64URL(try await hand.sha256(text))
      #expect(shop.visited?.contains("&dpop_jkt=\(thumbprint)") == true)
      let token = try #require(
        proofs[1].request["headers"]?["authorization"]?.string?.dropFirst("DPoP ".count))
      #expect(
        proofs[1].claims["ath"]?.string
          == OAuthByHand.base64URL(try await hand.sha256(String(token))))
      try await shop.watchSent()
    }
  }

  enum Way: String, CaseIterable { case device, credentials, password, registered }

  @Test(arguments: Way.allCases) func everyGrant(_ way: Way) async throws {
    let oauth =
      switch way {
      case .device: OAuthShop.bound
      case .credentials:
        "dpop = true\ngrant = \"client-credentials\"\nscope = \"read\"\nclient_id = \"demo-service\""
      case .password: OAuthShop.bound + "\ngrant = \"password\""
      case .registered: "scope = \"openid read\"\ndpop = true"
      }
    try await OAuthShop.with(
      oauth: oauth,
      settings: [
        "auto_approve": .string(OAuthShop.ada), "dpop_nonce_token": "once",
        "device_auto_approve": .string(OAuthShop.ada), "device": ["interval": 1],
        "device_polls": ["authorization_pending"], "dpop_required": true,
      ]
    ) { shop in
      switch way {
      case .device: try await shop.signIn("--no-browser")
      case .credentials:
        try await shop.signIn("--no-input", env: ["AUTHCTL_CLIENT_SECRET": "service-secret"])
      case .password:
        try await shop.signIn("-u", OAuthShop.ada, "--password-stdin", stdin: Shop.password + "\n")
      case .registered:
        try await shop.signIn("--yes")
        let request = try await shop.api.requests().first { $0["path"] == "/connect/register" }
        let body = try JSON(parsing: request?["body"]?.string ?? "")
        #expect(body["dpop_bound_access_tokens"] == true)
      }
      try await shop.api.expire()
      let get = try await shop.run("get", "/me")
      #expect(get.status == 0 && get.stderr == "", "\(get)")
      #expect(Set(try await shop.proofs().map(\.key)).count == 1)
      try await shop.watchSent()
    }
  }

  /// An assertion is good for one request too: the repeated one has another.
  @Test func assertionsAndProofs() async throws {
    try await OAuthShop.with(
      oauth: """
        grant = "client-credentials"
        client_id = "demo-service"
        client_auth = "client_secret_jwt"
        dpop = true
        """, settings: ["dpop_nonce_token": "fixed", "client_auth": ["client_secret_jwt"]]
    ) { shop in
      let run = try await shop.run("login", env: ["AUTHCTL_CLIENT_SECRET": "service-secret"])
      let forms = try await shop.forms("/token")
      #expect(forms.count == 2 && Set(forms.compactMap { $0["client_assertion"] }).count == 2)
      #expect(run.status == 0, "\(run.stderr)")
    }
  }

  /// The server registers only clients with such tokens: the profile says so from then on.
  @Test func registrationThatBinds() async throws {
    try await OAuthShop.with(
      oauth: "scope = \"openid read\"" + OAuthShop.ownPort(),
      settings: [
        "auto_approve": .string(OAuthShop.ada), "dpop_required": true,
        "registration": ["dpop_bound_access_tokens": true],
      ]
    ) { shop in
      try await shop.signIn("--yes")
      let profile = shop.box.read("config/authctl/profiles/shop.toml")
      #expect(profile?.contains("dpop = true\n") == true, "\(profile ?? "")")
      try await shop.signIn()
      #expect(try await shop.api.count("POST /connect/register") == 1)
      #expect(try await shop.run("get", "/me").status == 0)
    }
  }

  /// The API says that it takes no other tokens (RFC 9728, section 2).
  @Test func apiThatBinds() async throws {
    try await OAuthShop.with(
      settings: [
        "auto_approve": .string(OAuthShop.ada), "dpop_required": true,
        "resource_metadata": ["dpop_bound_access_tokens_required": true],
      ]
    ) { shop in
      try await shop.signIn(shop.api.url + "/oauth-api", "-p", "new", "--yes")
      let profile = shop.box.read("config/authctl/profiles/new.toml")
      #expect(profile?.contains("dpop = true\n") == true, "\(profile ?? "")")
      let get = try await shop.run("get", "-p", "new", "/me")
      #expect(get.status == 0 && get.stderr == "")
      #expect(try await shop.proofs("/oauth-api/me").count == 1)
    }
  }

  // MARK: Nonces

  @Test(arguments: ["fixed", "once"]) func nonces(_ mode: String) async throws {
    try await OAuthShop.with(
      oauth: OAuthShop.bound,
      settings: [
        "auto_approve": .string(OAuthShop.ada), "dpop_nonce_token": .string(mode),
        "dpop_nonce_api": .string(mode),
      ]
    ) { shop in
      let login = try await shop.run("login")
      #expect(login.status == 0)
      #expect(shop.shown(login) == OAuthShop.opening + OAuthShop.signedIn())
      #expect(try await shop.forms("/token").count == 2)
      let get = try await shop.run("get", "/me")
      #expect(get.status == 0 && get.stderr == "")
      let proofs = try await shop.proofs("/oauth-api/me")
      #expect(proofs.map { $0.nonce == nil } == [true, false])
      // 401 asked for a nonce, and was no refusal of the token.
      #expect(try await shop.forms("/token").count == 2)
      let post = try await shop.run(
        "post", "/echo", "-d", "@-", "--pointer", "/body", stdin: "piped")
      #expect(post.status == 0 && post.stdout == "piped\n", "\(post)")
      // Token refused, renewal with a nonce, request with a nonce.
      try await shop.api.expire()
      let renewed = try await shop.run("get", "/me")
      #expect(renewed.status == 0 && renewed.stderr == "")
      #expect(try await shop.forms("/token").count == 4)
      let whoami = try await shop.run("whoami")
      #expect(whoami.status == 0 && whoami.stdout == "ada@example.com\n")
      #expect(try await shop.proofs("/userinfo").count == 2)
      try await shop.watchSent()
    }
  }

  /// A server that brings a new nonce with each answer is asked once more only at the beginning.
  @Test func pages() async throws {
    try await OAuthShop.with(oauth: OAuthShop.bound) { shop in
      try await shop.signIn()
      try await shop.set(["dpop_nonce_api": "once"])
      let run = try await shop.run("get", "/pages", "--paginate")
      #expect(run.status == 0 && run.stderr == "")
      #expect(run.stdout.contains(#""id":3"#))
      let proofs = try await shop.proofs("/oauth-api/pages")
      #expect(proofs.count == 4 && Set(proofs.map(\.nonce)).count == 4)
    }
  }

  @Test(arguments: ["fixed", "once"]) func batch(_ mode: String) async throws {
    try await OAuthShop.with(oauth: OAuthShop.bound) { shop in
      try await shop.signIn()
      try await shop.set(["dpop_nonce_api": .string(mode)])
      let lines = (1...40).map { "{\"id\":\($0),\"url\":\"/me?n=\($0)\"}\n" }.joined()
      let run = try await shop.run(["batch", "--parallel", "5"], stdin: lines)
      #expect(run.status == 0 && run.stderr == "", "\(run.stderr)")
      let answers = try run.stdout.split(separator: "\n").map { try JSON(parsing: String($0)) }
      #expect(answers.map { $0["id"]?.int } == Array(1...40))
      #expect(answers.allSatisfy { $0["status"] == 200 })
      let proofs = try await shop.proofs("/oauth-api/me")
      #expect(proofs.count <= 80)
      if mode == "fixed" { #expect(proofs.count <= 45, "\(proofs.count)") }
      #expect(try await shop.forms("/token").count == 1)
      try await shop.watchSent()
    }
  }

  @Test func batchRenews() async throws {
    try await OAuthShop.with(oauth: OAuthShop.bound) { shop in
      try await shop.signIn()
      try await shop.set(["dpop_nonce_api": "once", "dpop_nonce_token": "once"])
      try await shop.api.expire()
      let lines = (1...20).map { "{\"id\":\($0),\"url\":\"/me\"}\n" }.joined()
      let run = try await shop.run(["batch", "--parallel", "5"], stdin: lines)
      #expect(run.status == 0 && run.stderr == "", "\(run.stderr)")
      #expect(try await shop.forms("/token").count == 3)
      #expect(Set(try await shop.proofs().map(\.key)).count == 1)
    }
  }

  @Test func retries() async throws {
    try await OAuthShop.with(oauth: OAuthShop.bound) { shop in
      try await shop.signIn()
      try await shop.set(["dpop_nonce_api": "fixed"])
      try await shop.api.misbehave(["path": "/oauth-api/me", "status": 503, "times": 2])
      let run = try await shop.run("get", "/me", "--retry", "2")
      #expect(run.status == 0, "\(run)")
      // Two failures, one question for a nonce, which is no retry, and the answer.
      let proofs = try await shop.proofs("/oauth-api/me")
      #expect(proofs.count == 4)
      #expect(Set(proofs.compactMap { $0.claims["jti"]?.string }).count == 4)
    }
  }

  /// Fifty processes find the token expired, and send one refresh.
  @Test func oneRefreshForManyProcesses() async throws {
    try await OAuthShop.with(oauth: OAuthShop.bound) { shop in
      try await shop.set(["token_ttl": 5])
      try await shop.signIn()
      try await shop.api.expire()
      try await shop.set(["token_ttl": 900])
      let children = try (0..<50).map { _ in
        try shop.box.start(["get", "/me"], env: shop.environment())
      }
      for child in children {
        let run = try await child.finish()
        #expect(run.status == 0 && run.stderr == "" && run.stdout.contains("openid read"))
      }
      #expect(try await shop.forms("/token").count == 2)
      #expect(Set(try await shop.proofs().map(\.key)).count == 1)
    }
  }

  @Test func shownAndNotSent() async throws {
    try await OAuthShop.with(oauth: OAuthShop.bound) { shop in
      for isSignedIn in [false, true] {
        if isSignedIn { try await shop.signIn() }
        let run = try await shop.run("get", "/me", "--dry-run")
        #expect(run.status == 0 && run.stdout.contains("Authorization: ***\n"))
        #expect(run.stdout.contains("DPoP: ***\n"), "\(run.stdout)")
      }
      #expect(try await shop.proofs("/oauth-api/me").isEmpty)
      let status = try JSON(parsing: try await shop.run("status", "--json").stdout)
      #expect(status[0]?["state"] == "valid")
    }
  }
}
