import Testing

/// `authctl profile detect URL`: its findings, its output, and that the printed command works.
@Suite struct DetectTests {
  // MARK: Descriptions

  @Test(arguments: [("fastapi", "/token"), ("fastapi-users", "/auth/jwt/login")])
  func whatFastAPIWrites(preset: String, path: String) async throws {
    let document = try Look.fixture(preset)
    try await Sandbox.with(.none) { box in
      let api = try box.recorder(answering: Look.serving(document))
      let run = try await box.run("profile", "detect", api.url)
      #expect(run.status == 0 && run.stderr == "", "\(run.stderr)")
      #expect(
        run.stdout == """
          certain: /openapi.json: signs in with a form at \(path), like \(preset)
            POST \(path) takes username and password; the token is at /access_token
          Next: authctl profile add \(api.profileName) \(api.url) --preset \(preset)

          """)
      #expect(Look.asked(api) == ["GET /", "GET /openapi.json"])
      // What completion will offer; nothing else.
      let made = box.files()
      #expect(made.count == 2 && made.allSatisfy { $0.hasPrefix("cache/authctl/paths/") })
    }
  }

  @Test func swagger2() async throws {
    let document = try Look.fixture("swagger-2")
    try await Sandbox.with(.none) { box in
      let api = try box.recorder(
        answering: Scene.routes(["GET /swagger.json": .http(200, document)]))
      let run = try await box.run("profile", "detect", api.url)
      #expect(run.status == 0 && run.stderr == "", "\(run.stderr)")
      #expect(
        run.stdout == """
          certain: /swagger.json: signs in with JSON at /api/v1/users/sign_in
            POST /users/sign_in takes email and password; the token is at /token
          Next: authctl profile add \(api.profileName) \(api.url)/api/v1 --preset json \
          --set login.path=/users/sign_in \
          --body '{"email":"{username}","password":"{password}"}' --token-at /token

          """)
    }
  }

  @Test(arguments: [
    "/openapi.json", "/swagger.json", "/v3/api-docs", "/swagger/v1/swagger.json",
    "/api/schema/?format=json",
  ])
  func placesOfDescriptions(place: String) async throws {
    try await Sandbox.with(.none) { box in
      let api = try box.recorder { _, request in
        String(decoding: request, as: UTF8.self).hasPrefix("GET \(place) ")
          ? .http(200, Look.document(Look.post("/login"))) : .http(404)
      }
      let run = try await box.run("profile", "detect", api.url)
      #expect(run.status == 0 && run.stderr == "", "\(run.stderr)")
      let shown = place.prefix { $0 != "?" }
      #expect(run.stdout.hasPrefix("certain: \(shown): signs in with JSON at /login\n"))
    }
  }

  @Test func severalSignInsAndFurtherFields() async throws {
    let body = #"""
      {"properties":{"email":{},"password":{},"kind":{"enum":["web"]},"tenant":{}},
      "required":["kind","tenant"]}
      """#
    let document = Look.document(
      Look.post("/admin/session", body) + "," + Look.post("/login") + ","
        + Look.post("/register") + "," + Look.post("/{tenant}/login"))
    try await Sandbox.with(.none) { box in
      let api = try box.recorder(answering: Look.serving(document))
      let run = try await box.run("profile", "detect", api.url)
      #expect(run.status == 0 && run.stderr == "", "\(run.stderr)")
      #expect(
        run.stdout == """
          certain: /openapi.json: signs in with JSON at /login
            POST /login takes username and password
          likely: /openapi.json: signs in with JSON at /admin/session
            POST /admin/session takes email and password; requires --field tenant=VALUE
          Next: authctl profile add \(api.profileName) \(api.url) --preset json \
          --set login.path=/login --body '{"username":"{username}","password":"{password}"}'

          """)
    }
  }

  @Test func keyInAHeader() async throws {
    let document = Look.document(
      #""/x":{"get":{}}"#,
      #""components":{"securitySchemes":{"k":{"type":"apiKey","in":"header","name":"X-Key"}}}"#)
    try await Sandbox.with(.none) { box in
      let api = try box.recorder(answering: Look.serving(document))
      let run = try await box.run("profile", "detect", api.url)
      #expect(run.status == 0 && run.stderr == "", "\(run.stderr)")
      #expect(
        run.stdout == """
          possible: /openapi.json: describes no sign-in; requests carry a key in the header X-Key
            its security schemes
          Next: authctl profile add \(api.profileName) \(api.url) --preset api-key \
          --send 'X-Key: {access_token}'

          """)
    }
  }

  // MARK: Other evidence

  @Test func challenges() async throws {
    try await Sandbox.with(.none) { box in
      for (challenge, told, line) in [
        (#"Basic realm="x", charset="UTF-8""#, "likely: /: requires Basic authentication", true),
        ("bAsIc", "likely: /: requires bAsIc authentication", true),
        (#"Bearer realm="api""#, "possible: /: requires Bearer authentication", false),
        ("Digest qop=auth", "possible: /: requires Digest authentication", false),
      ] {
        let api = try box.recorder { _, _ in
          .http(401, "{}", headers: [("WWW-Authenticate", challenge)])
        }
        let run = try await box.run("profile", "detect", api.url)
        #expect(run.status == 0 && run.stderr == "", "\(run.stderr)")
        let why = "  it answers 401 with WWW-Authenticate (RFC 9110, section 11.6.1)\n"
        let next = "Next: authctl profile add \(api.profileName) \(api.url) --preset http-basic\n"
        #expect(run.stdout == "\(told)\n\(why)" + (line ? next : ""))
        Look.expectBare(api)
      }
    }
  }

  @Test(arguments: [
    "/.well-known/openid-configuration", "/.well-known/oauth-authorization-server",
  ])
  func metadataOfOAuth(place: String) async throws {
    try await Sandbox.with(.none) { box in
      let elsewhere = try box.recorder(at: "127.0.0.2")
      let metadata = #"{"issuer":"https://id.example","token_endpoint":"\#(elsewhere.url)/t"}"#
      let api = try box.recorder(
        answering: Scene.routes(["GET \(place)": .http(200, metadata)]))
      let run = try await box.run("profile", "detect", api.url)
      #expect(run.status == 0 && run.stderr == "", "\(run.stderr)")
      #expect(
        run.stdout == """
          possible: \(place): names the issuer https://id.example
            not on this origin (RFC 8414, section 3.3); if it signs in: --issuer

          """)
      #expect(elsewhere.connections.isEmpty)
      Look.expectBare(api)
    }
  }

  /// Each product's own response without a session; every other path gives 404.
  static let products: [(preset: String, route: String, answer: Recorder.Answer)] = [
    (
      "matrix", "GET /_matrix/client/versions",
      .http(200, #"{"versions":["r0.6.1","v1.11"],"unstable_features":{"org.matrix.e2e":true}}"#)
    ),
    (
      "pocketbase", "GET /api/health",
      .http(200, #"{"message":"API is healthy.","code":200,"data":{}}"#)
    ),
    (
      "gitea", "GET /api/v1/version", .http(200, #"{"version":"1.22.6"}"#)
    ),
    (
      "strapi", "GET /",
      .http(
        302, "Redirecting", type: "text/plain",
        headers: [("Location", "/admin"), ("X-Powered-By", "Strapi <strapi.io>")])
    ),
    (
      "directus", "GET /",
      .http(302, headers: [("Location", "./admin"), ("X-Powered-By", "Directus")])
    ),
    (
      "wordpress-jwt", "GET /wp-json/",
      .http(200, #"{"name":"Blog","namespaces":["oembed/1.0","jwt-auth/v1","wp/v2"]}"#)
    ),
    (
      "mattermost", "GET /",
      .http(200, "<html></html>", type: "text/html", headers: [("X-Version-Id", "10.5.1")])
    ),
    (
      "rocket-chat", "GET /",
      .http(200, "<html></html>", type: "text/html", headers: [("X-Instance-ID", "Ah7c")])
    ),
    (
      "metabase", "GET /", .http(200, "<html><title>Metabase</title></html>", type: "text/html")
    ),
    (
      "portainer", "GET /",
      .http(200, #"<html lang="en" ng-app="portainer" data-edition="CE">"#, type: "text/html")
    ),
    ("argo-cd", "GET /", .http(200, "<head><title>Argo CD</title>", type: "text/html")),
    (
      "atproto", "GET /",
      .http(200, "\nThis is an AT Protocol Personal Data Server (aka, an atproto PDS)\n")
    ),
    (
      "supabase", "GET /",
      .http(
        404, #"{"error":"requested path is invalid"}"#, headers: [("sb-project-ref", "abcdefgh")])
    ),
    ("superset", "GET /", .redirect(302, to: "/superset/welcome/")),
    (
      "devpi", "GET /",
      .http(
        200, #"{"type":"list:userconfig","result":{}}"#, headers: [("X-Devpi-Api-Version", "2")])
    ),
    (
      "simplejwt", "OPTIONS /api/token/",
      .http(
        200, #"{"name":"Token Obtain Pair","description":"Takes a set of user credentials"}"#,
        headers: [("Allow", "POST, OPTIONS")])
    ),
    ("json", "OPTIONS /login", .http(200, "POST", type: "text/html", headers: [("Allow", "POST")])),
    (
      "rails-turbo", "GET /api/me",
      .http(401, "", type: "text/html", headers: [("X-Runtime", "0.0016")])
    ),
    ("airflow", "GET /", .http(200, "<title>Airflow</title>", type: "text/html")),
    ("open-webui", "GET /", .http(200, "<title>Open WebUI</title>", type: "text/html")),
    (
      "keystone", "GET /",
      .http(
        300,
        #"{"versions":{"values":[{"id":"v3.14","status":"stable","media-types":[{"base":"#
          + #""application/json","type":"application/vnd.openstack.identity-v3+json"}]}]}}"#)
    ),
  ]

  private static let likely = ["json", "rails-turbo"]

  /// Answers to GET / that lead to the mark.
  private static let roots: [String: Recorder.Answer] = [
    "matrix": .redirect(302, to: "/_matrix/static/"),
    "gitea": .http(200, "<footer>Powered by Gitea</footer>", type: "text/html"),
    "wordpress-jwt": .http(
      200, headers: [("Link", #"<http://127.0.0.1/wp-json/>; rel="https://api.w.org/""#)]),
    "rails-turbo": .http(302, headers: [("Location", "/users/sign_in"), ("X-Runtime", "0.0035")]),
  ]

  @Test(arguments: products.indices) func marksOfProducts(index: Int) async throws {
    let (preset, route, answer) = Self.products[index]
    try await Sandbox.with(.none) { box in
      let root = Self.roots[preset].map { ["GET /": $0] } ?? [:]
      let api = try box.recorder(answering: Scene.routes(root.merging([route: answer]) { $1 }))
      let run = try await box.run("profile", "detect", api.url)
      #expect(run.status == 0 && run.stderr == "", "\(preset): \(run.stderr)")
      let path = route.hasPrefix("GET ") ? String(route.dropFirst(4)) : route
      let certainty = Self.likely.contains(preset) ? "likely" : "certain"
      let summary = try await box.run("profile", "presets", preset).stdout
        .split(separator: "\n").first?.dropFirst(2)
      #expect(
        run.stdout == """
          \(certainty): \(path): matches the preset \(preset)
            \(try #require(summary))
          Next: authctl profile add \(api.profileName) \(api.url) --preset \(preset)

          """)
      Look.expectBare(api)
    }
  }

  @Test func answersThatAreNoMarks() async throws {
    try await Sandbox.with(.none) { box in
      let routes: [[String: Recorder.Answer]] = [
        // A page for browsers, the answer of CORS, and of what is not there.
        ["OPTIONS /login": .http(200, headers: [("Allow", "GET, HEAD, POST, OPTIONS")])],
        ["OPTIONS /login": .http(204, headers: [("Access-Control-Allow-Methods", "POST")])],
        ["OPTIONS /login": .http(404, headers: [("Allow", "POST")])],
        ["OPTIONS /api/token/": .http(200, #"{"name":"Obtain Auth Token"}"#)],
        // Not asked for: nothing at / suggests them.
        ["GET /api/me": .http(401, headers: [("X-Runtime", "0.0016")])],
        ["GET /api/v1/version": .http(200, #"{"version":"1"}"#)],
        ["GET /wp-json/": .http(200, #"["jwt-auth/v1"]"#)],
      ]
      for route in routes {
        let api = try box.recorder(answering: Scene.routes(route))
        let run = try await box.run("profile", "detect", api.url)
        #expect(run.status == 1 && run.stdout == "", "\(route.keys): \(run.stdout)")
        Look.expectBare(api)
      }
    }
  }

  /// What a mark names is at the root of the origin, whatever base was given.
  @Test func marksBelowAnotherBase() async throws {
    try await Sandbox.with(.none) { box in
      let api = try box.recorder(
        answering: Scene.routes(["OPTIONS /login": .http(405, headers: [("Allow", "POST")])]))
      let run = try await box.run("profile", "detect", api.url + "/v1")
      #expect(run.status == 0 && run.stderr == "")
      #expect(
        run.stdout.hasSuffix(
          "\nNext: authctl profile add \(api.profileName) \(api.url) --preset json\n"))
    }
  }

  @Test func theTableOfProductsIsWhole() async throws {
    try await Sandbox.with(.none) { box in
      let names = try JSON(parsing: try await box.run("profile", "presets", "--json").stdout)
        .elements.compactMap { $0["name"]?.string }
      var marked: [String] = []
      for name in names
      where try await box.run("profile", "presets", name).stdout.contains("\n[detect]\n") {
        marked.append(name)
      }
      // mcp is known by its endpoint: OAuthDiscoveryTests/modelContextProtocol.
      #expect(marked.sorted() == (Self.products.map(\.preset) + ["mcp"]).sorted())
    }
  }

  // MARK: Nothing detected

  @Test func nothingFoundSaysWhatWasTried() async throws {
    try await Sandbox.with(.none) { box in
      let api = try box.recorder { _, _ in .http(404) }
      let run = try await box.run("profile", "detect", api.url)
      #expect(run.status == 1 && run.stdout == "")
      let tried = Look.asked(api).map { "\($0): 404" }
      #expect(tried.count == 12)
      #expect(
        run.stderr == tried.map { "Tried: \($0)\n" }.joined() + """
          authctl: the API at \(api.url) was not recognized (12 requests sent)
          hint: choose a preset (authctl profile presets), copy its sign-in from the browser \
          as a curl command (authctl login --from-curl FILE), or describe it: \
          authctl profile add NAME URL --set login.path=/login --body \
          '{"username":"{username}","password":"{password}"}' --token-at /token

          """)
      for place in [
        "/", "/openapi.json", "/swagger.json", "/.well-known/openid-configuration",
        "/.well-known/oauth-authorization-server", "/.well-known/oauth-protected-resource",
        "/api/health",
      ] {
        #expect(Look.asked(api).contains("GET \(place)"))
      }
      for place in ["/api/token/", "/login"] {
        #expect(Look.asked(api).contains("OPTIONS \(place)"))
      }
      Look.expectBare(api)
      let json = try await box.run("profile", "detect", api.url, "--json")
      #expect(json.status == 1)
      #expect(
        try JSON(parsing: json.stdout) == [
          "url": .string(api.url), "findings": [], "command": nil,
          "tried": .array(tried.map { .string($0) }),
        ])
    }
  }

  @Test func jsonHasTheSame() async throws {
    let document = try Look.fixture("fastapi")
    try await Sandbox.with(.none) { box in
      let api = try box.recorder(answering: Look.serving(document))
      let run = try await box.run("profile", "detect", api.url, "--json")
      #expect(run.status == 0 && run.stderr == "")
      #expect(
        try JSON(parsing: run.stdout) == [
          "url": .string(api.url),
          "findings": [
            [
              "certainty": "certain", "place": "/openapi.json",
              "what": "signs in with a form at /token, like fastapi",
              "why": "POST /token takes username and password; the token is at /access_token",
              "preset": "fastapi", "settings": ["preset": "fastapi"],
            ]
          ],
          "tried": ["GET /: 404", "GET /openapi.json: 200"],
          "command": .string("authctl profile add \(api.profileName) \(api.url) --preset fastapi"),
        ])
    }
  }

  @Test func nobodyThere() async throws {
    try await Sandbox.with(.none) { box in
      let run = try await box.run("profile", "detect", "http://127.0.0.1:1")
      #expect(run.status == 7 && run.stdout == "")
      #expect(
        run.stderr.hasPrefix("authctl: cannot reach http://127.0.0.1:1: connection refused\n"))
      for answer in [Recorder.Answer.close, .reset([]), .bytes(Array("nonsense\r\n\r\n".utf8))] {
        let api = try box.recorder { _, _ in answer }
        let run = try await box.run("profile", "detect", api.url)
        #expect(run.status == 7 && run.stdout == "", "\(run.stderr)")
      }
    }
  }

  @Test(arguments: [
    [], ["shop.example"], ["/path"], ["ftp://127.0.0.1/"], ["http://"], ["http://u:p@127.0.0.1/"],
    ["http://127.0.0.1/?a=b"], ["http://127.0.0.1/#x"], ["http://127.0.0.1:1", "more"],
  ])
  func whatCannotBeLookedAt(words: [String]) async throws {
    try await Sandbox.with(.none) { box in
      let run = try await box.run(["profile", "detect"] + words)
      #expect(run.status == 2 && run.stdout == "", "\(run.stderr)")
      #expect(run.stderr.hasPrefix("authctl: "))
      if words == ["shop.example"] {
        #expect(
          run.stderr == "authctl: shop.example is not a URL\nhint: write https://shop.example\n")
      }
    }
  }
}
