import Testing

@testable import AuthKit

private func profile(_ text: String) throws -> Profile {
  try ProfileReader.read(text: text, name: "shop", file: "/etc/x/shop.toml", label: "shop.toml")
}

private func failure(_ text: String) -> Failure? {
  do {
    _ = try profile(text)
    return nil
  } catch {
    return error as? Failure
  }
}

private let base = "url = \"https://api.shop.example\"\n"

@Suite struct ProfileReaderTests {
  @Test func everyKey() throws {
    let profile = try profile(
      """
      url = "https://api.shop.example/v2"
      account = "ada@shop.example"
      public = ["apikey"]
      [login]
      method = "PUT"
      path = "/api/login"
      authorization = "app"
      encoding = "form"
      query = { grant_type = "password", apikey = "public-one" }
      headers = { Accept = "application/json" }
      body = { zulu = "{username}", alpha = "{password}", otp = "{otp}", remember = true, n = 1 }
      secrets_in_url = false
      [register]
      path = "https://id.shop.example/users"
      body = { user = { name = "{username}", tags = ["{field.tag}", 2] } }
      [refresh]
      path = "/refresh"
      authorization = "refresh"
      [logout]
      method = "DELETE"
      path = "/sessions/{session.client}"
      secrets_in_url = true
      [whoami]
      path = "/me"
      [session]
      access_token = ["/token", "header:Authorization"]
      refresh_token = "/refreshToken"
      expires_in = ["/expires_in", "ms:/expires_in_ms"]
      expires_at = ["/exp", "jwt:/exp"]
      account = ["/user/email"]
      message = ["/message", "body"]
      success = "/ok"
      refused = [400, 401]
      expired = [401, 403]
      keep = { client = "header:client", uid = "cookie:uid" }
      renew_on_every_response = true
      keep_password = false
      [request]
      headers = { Authorization = "Bearer {access_token}", uid = "{session.uid}" }
      cookies = true
      [network]
      allow_origins = ["https://cdn.shop.example"]
      sign_in_origins = ["https://id.shop.example:8443"]
      allow_http = true
      ca_file = "ca.pem"
      client_cert = "/abs/cert.pem"
      client_key = "keys/key.pem"
      proxy = "http://127.0.0.1:3128"
      connect_timeout = 2.5
      idle_timeout = 30
      """)
    let recipe = profile.recipe
    let oauth = try AuthKitTests.profile(
      """
      url = "https://api.shop.example"
      [oauth]
      issuer = "https://id.shop.example"
      token_endpoint = "https://id.shop.example/token"
      grant = "authorization-code"
      client_id = "shop-cli"
      client_auth = "none"
      scope = "openid offline_access"
      redirect_path = "/callback"
      parameters = { audience = "https://api.shop.example" }
      """)
    #expect(oauth.recipe.usesOAuth)
    #expect(profile.url == "https://api.shop.example/v2" && profile.account == "ada@shop.example")
    let login = try #require(recipe.login)
    #expect(login.method == "PUT" && login.authorization == .app && login.encoding == .form)
    #expect(login.query.map(\.name) == ["grant_type", "apikey"])
    #expect(login.headers.map(\.name) == ["Accept"])
    guard case .object(let fields)? = login.body else {
      Issue.record("no body")
      return
    }
    #expect(fields.map(\.name) == ["zulu", "alpha", "otp", "remember", "n"])
    #expect(recipe.register?.path.pieces.count == 1)
    #expect(recipe.refresh?.authorization == .refresh)
    #expect(recipe.logout?.method == "DELETE" && recipe.logout?.authorization == .access)
    #expect(recipe.whoami?.method == "GET" && recipe.whoami?.authorization == .access)
    let session = recipe.session
    #expect(session.accessToken.count == 2 && session.refreshToken.count == 1)
    #expect(session.expiresIn.map(\.form) == [.plain, .milliseconds])
    #expect(session.expiresAt.map(\.form) == [.plain, .tokenPayload])
    #expect(session.refused == [400, 401] && session.expired == [401, 403])
    #expect(session.keep.map(\.name) == ["client", "uid"])
    #expect(session.account.count == 1 && session.message.count == 2 && session.success != nil)
    #expect(session.renewOnEveryResponse && !session.keepPassword)
    #expect(recipe.request.cookies && recipe.request.headers.count == 2)
    #expect(!recipe.usesOAuth)
    let network = recipe.network
    #expect(network.allowOrigins == ["https://cdn.shop.example"] && network.allowHTTP)
    #expect(network.signInOrigins == ["https://id.shop.example:8443"])
    #expect(network.caFile == "/etc/x/ca.pem" && network.clientKey == "/etc/x/keys/key.pem")
    #expect(network.clientCertificate == "/abs/cert.pem")
    #expect(network.proxy == "http://127.0.0.1:3128")
    #expect(network.connectTimeout == 2.5 && network.idleTimeout == 30)
  }

  @Test func layers() throws {
    let profile = try profile(
      base + "preset = \"express-jwt\"\n[login]\npath = \"/other\"\n[session]\nexpired = [403]\n")
    #expect(profile.recipe.session.expired == [403])
    #expect(profile.recipe.session.refused == [400, 401])
    #expect(profile.recipe.login?.body != nil, "keys of one table are merged key by key")
    let sources = Dictionary(uniqueKeysWithValues: profile.values.map { ($0.key, $0.source) })
    #expect(sources["login.path"] == .file)
    #expect(sources["login.body"] == .preset("express-jwt"))
    #expect(sources["login.method"] == .builtIn)
    #expect(sources["request.headers"] == .builtIn)
    let keys = profile.values.map(\.key)
    let order = ProfileSchema.keys.map(\.name).filter(keys.contains)
    #expect(keys == order)
  }

  /// A value of the wrong type is reported with its key and line, for every key of the schema.
  @Test(arguments: ProfileSchema.keys.map(\.name))
  func wrongTypes(key: String) throws {
    let kind = try ProfileSchema.key(key).kind
    let parts = key.split(separator: ".").map(String.init)
    for (wrong, fits) in [
      ("1979-05-27", false), ("[[1]]", false), ("[true]", false), ("inf", false),
      ("true", kind == .flag), ("{ a = [1] }", kind == .table), ("-1", false),
    ] where !fits {
      var text = key == "url" ? "" : base
      if parts.count == 2 { text += "[\(parts[0])]\n" }
      let isCall = ProfileSchema.callTables.contains(parts[0])
      if isCall, parts[1] != "path" { text += "path = \"/x\"\n" }
      let line = text.utf8.count { $0 == 0x0A } + 1
      text += "\(parts.last ?? "") = \(wrong)\n"
      let failure = failure(text)
      #expect(failure?.kind == .usage, "\(key) = \(wrong)")
      let message = failure?.message ?? "accepted"
      #expect(message.utf8.starts(with: "shop.toml:\(line):".utf8), "\(key) = \(wrong): \(message)")
      #expect(message.contains(": \(key)"), "\(key) = \(wrong): \(message)")
    }
  }

  @Test(arguments: [
    ("[login]\npth = \"/x\"", 3, "login.pth", "did you mean path?"),
    ("[login]\npath = \"/x\"\nlogin.metod = \"GET\"", 4, "login.login", nil),
    ("acount = \"ada\"", 2, "acount", "did you mean account?"),
    ("[logn]\npath = \"/x\"", 2, "logn", "did you mean login?"),
    ("path = \"/x\"", 2, "path", "did you mean login.path?"),
    ("login.pth = \"/x\"", 2, "login.pth", "did you mean path?"),
    ("login = { path = \"/x\", bdy = {} }", 2, "login.bdy", "did you mean body?"),
    (
      "\n# comment\n[ \"session\" ]\n\"acces_token\" = [\n]", 5, "session.acces_token",
      "did you mean access_token?"
    ),
    (
      "[session]\nmessage = \"\"\"\n[login]\npth\"\"\"\nrefusd = [400]", 6, "session.refusd",
      "did you mean refused?"
    ),
    ("password_command = \"pass\"", 2, "password_command", nil),
    ("[network]\nallow_orgins = []", 3, "network.allow_orgins", "did you mean allow_origins?"),
    (
      "[request]\naccess_token = \"/x\"", 3, "request.access_token",
      "did you mean session.access_token?"
    ),
  ])
  func unknownKeys(text: String, line: Int, key: String, hint: String?) {
    let failure = failure(base + text)
    let message = failure?.message ?? ""
    #expect(message.utf8.starts(with: "shop.toml:\(line):".utf8), "\(message)")
    #expect(message.hasSuffix(": unknown key \(key)"), "\(message)")
    #expect(failure?.hint == hint)
    #expect(failure?.kind.exitCode == 2)
  }

  @Test(arguments: [
    "preset = \"raills-jwt\"", "[login]\nmethod = \"GET\"", "[login", "a = ", "x = 1\nx = 2",
    "[session]\nexpired = [200]", "[session]\nrefused = [407]", "[session]\nexpired = [429]",
    "[session]\nexpired = [408]", "[session]\nrefused = [500]", "[session]\nexpired = [401.5]",
    "[session]\naccess_token = [\"token\"]", "[session]\naccess_token = [\"jwt:/x\"]",
    "[session]\naccess_token = [\"/a~2\"]", "[session]\nkeep = { \"a b\" = \"/x\" }",
    "[session]\nexpires_at = [\"jwt:header:X\"]", "[network]\nconnect_timeout = 0",
    "[network]\nidle_timeout = 1e300", "[network]\nca_file = \"~/ca.pem\"",
    "[network]\nallow_origins = [\"https://*.shop.example\"]",
    "[network]\nallow_origins = [\"https://shop.example/\"]",
    "[network]\nsign_in_origins = [\"shop.example\"]", "account = \"a\\u001Bb\"",
    "[oauth]\ngrant = \"implicit\"", "[oauth]\nparameters = { state = \"x\" }",
    "[oauth]\nparameters = { code_challenge_method = \"plain\" }",
    "[login]\npath = \"/x\"\nencoding = \"form\"\nbody = { a = { b = 1 } }",
    "[request]\nheaders = { A = \"1\", a = \"2\" }", "[request]\nheaders = { A = \"{session.x}\" }",
    "[request]\nheaders = { \"a b\" = \"1\" }", "[request]\nheaders = { A = \" x\" }",
    "[request]\nheaders = { A = \"\" }", "[request]\nheaders = { A = \"{nothing}\" }",
    "[login]\npath = \"/x\"\nmethod = \"G T\"",
    "[whoami]\npath = \"/x\"\nauthorization = \"basic\"",
    "[login]\npath = \"/x\"\nauthorization = \"refresh\"", "[login]\npath = \"/x?a=b\"",
    "[login]\npath = \"x\"", "[login]\npath = \"//evil.example/x\"",
    "[login]\npath = \"/\\\\evil\"",
  ])
  func refused(text: String) {
    let failure = failure(base + text)
    #expect(failure?.kind == .usage)
    #expect(failure?.message.utf8.starts(with: "shop.toml:".utf8) == true)
  }

  @Test(arguments: [
    "ftp://h", "h", "https://", "https:/h", "https:///h", "https://u@h", "https://u:p@h",
    "https://good\\\\@evil", "https://h?q", "https://h#f", "https://h:0", "https://h:65536",
    "https://h:", "https://h.", "https://h%2e", "https://[::1", "https://h h", "https://h/\\u0000",
    "https://h/a b", "https://[fe80::1%25eth0]/",
  ])
  func wrongURLs(url: String) {
    #expect(failure("url = \"\(url)\"")?.kind == .usage)
  }

  @Test(arguments: [
    "http://127.0.0.1:8101", "https://[::1]:8443/v1", "HTTPS://API.shop.example", "https://h/v2/",
  ])
  func rightURLs(url: String) throws {
    #expect(try profile("url = \"\(url)\"").url == url)
  }

  /// Files that an attacker could pass to someone (rules A2, A3, A9, A15, B5, C9).
  @Test(arguments: [
    ("[request]\nheaders = { Host = \"evil.example\" }", "may not set"),
    ("[login]\npath = \"/x\"\nheaders = { Content-Length = \"0\" }", "may not set"),
    ("[request]\nheaders = { PROXY-Authorization = \"{access_token}\" }", "may not set"),
    ("[request]\nheaders = { X = \"{refresh_token}\" }", "may not stand"),
    ("[request]\nheaders = { X = \"{password}\" }", "[login] and [register] only"),
    ("[whoami]\npath = \"/x\"\nbody = { a = \"{otp}\" }", "[login] and [register] only"),
    ("[whoami]\npath = \"/x\"\nheaders = { A = \"{client_secret}\" }", "may not stand"),
    ("[login]\npath = \"https://{session.host}/\"", "nothing may be filled in"),
    ("[login]\npath = \"{username}/x\"", "nothing may be filled in"),
    ("[login]\npath = \"https://evil.example:{username}/\"", "nothing may be filled in"),
    ("[login]\npath = \"/x/{password}\"", "URLs"),
    ("[login]\npath = \"/x\"\nquery = { p = \"{basic:username:password}\" }", "URLs"),
    ("[login]\npath = \"https://good\\\\@evil.example/\"", "user name"),
    ("[network]\nproxy = \"http://u:p@evil.example\"", "user name"),
    ("[request]\nheaders = { X-Api-Key = \"sk_live_1\" }", "looks like a secret"),
    ("[login]\npath = \"/x\"\nbody = { a = { client_secret = \"s\" } }", "looks like a secret"),
    ("[login]\npath = \"/x\"\nquery = { ApiKey = \"s\" }", "looks like a secret"),
    ("[request]\nheaders = { A = \"x\\r\\nX-Evil: 1\" }", "printable ASCII"),
    ("[oauth]\nparameters = { redirect_uri = \"https://evil.example\" }", "itself"),
    ("a = " + String(repeating: "[", count: 100_000), "nested deeper"),
    ("a = " + String(repeating: "{a=", count: 100_000), "nested deeper"),
    (String(repeating: "a.", count: 100_000) + "a = 1", "nested deeper"),
    ("[" + String(repeating: "a.", count: 100_000) + "a]", "nested deeper"),
    ("a = \"\\u0000\"", "NUL"),
    ("a = \"" + String(repeating: "x", count: 1 << 20) + "\"", "1 MiB"),
  ])
  func maliciousFiles(text: String, word: String) {
    let failure = failure(base + text)
    #expect(failure?.kind == .usage)
    #expect(failure?.message.contains(word) == true, "\(failure?.message ?? "accepted")")
  }

  @Test func publicKeysMayStand() throws {
    let text = "public = [\"apikey\"]\n[request]\nheaders = { apikey = \"anon\" }\n"
    #expect(try profile(base + text).recipe.request.headers.count == 1)
    #expect(failure(base + text.replacing("public", with: "#")) != nil)
  }

  @Test func keepPasswordLetsThePasswordStandInRequests() throws {
    let text = "[request]\nheaders = { A = \"{password}\" }\n"
    #expect(failure(base + text) != nil)
    let profile = try profile(base + text + "[session]\nkeep_password = true\n")
    #expect(profile.recipe.session.keepPassword)
  }

  @Test(arguments: [
    ("login.path", "/x", JSONValue.string("/x")),
    ("account", "true", .string("true")),
    ("network.allow_http", "true", .bool(true)),
    ("network.idle_timeout", "2.5", .number("2.5")),
    ("session.access_token", "/jwt", .array([.string("/jwt")])),
    ("session.access_token", "[\"/a\", '/b']", .array([.string("/a"), .string("/b")])),
    ("session.refused", "400", .array([.number("400")])),
    ("session.refused", "[400,401]", .array([.number("400"), .number("401")])),
    (
      "login.body", "{\"b\":\"{username}\",\"a\":1}",
      .object([("b", .string("{username}")), ("a", .number("1"))])
    ),
    ("request.headers", "{ A = \"x\" }", .object([("A", .string("x"))])),
  ])
  func settings(key: String, text: String, value: JSONValue) throws {
    #expect(try ProfileStore.value(of: key, from: text) == value)
  }

  @Test(arguments: [
    ("network.allow_http", "yes"), ("network.idle_timeout", "5s"), ("session.refused", "x"),
    ("login.body", "x"), ("session.access_token", "[\"/a\""), ("login.pth", "x"),
    ("login.body", "{a = 1}\nevil = 2"),
  ])
  func wrongSettings(key: String, text: String) {
    #expect(throws: Failure.self) { try ProfileStore.value(of: key, from: text) }
  }

  @Test(arguments: [
    ("pth", "path"), ("paht", "path"), ("PATH", "path"), ("xyzzy", nil), ("", nil),
    ("metod", "method"), ("p", nil), ("authorisation", "authorization"),
  ])
  func nearestWord(word: String, expected: String?) {
    #expect(nearest(word, in: ["method", "path", "authorization"]) == expected)
  }

  @Test func brokenTextsFailInOrder() {
    let alphabet = Array("[]{}=\"'\\\n\r#., \tau0_-+:\u{A0}é".utf8)
    var state: UInt64 = 1
    func random(_ count: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int((state >> 33) % UInt64(count))
    }
    var wrong = 0
    for round in 0..<1500 {
      let preset = Presets.names[round % Presets.names.count]
      var bytes = Array((base + (Presets.text(preset) ?? "")).utf8)
      for _ in 0...random(4) {
        let index = random(bytes.count)
        switch random(3) {
        case 0: bytes.remove(at: index)
        case 1: bytes.insert(alphabet[random(alphabet.count)], at: index)
        default: bytes[index] = alphabet[random(alphabet.count)]
        }
      }
      guard let failure = failure(String(decoding: bytes, as: UTF8.self)) else { continue }
      wrong += 1
      #expect(failure.kind == .usage)
    }
    #expect(wrong > 100)
  }

  @Test(arguments: [
    ("a =", "expected a value"), ("a = [1,,2]", "expected a value"), ("a 1", "expected ="),
    ("[login", "expected ]"), ("a = \"x", "this string is not closed"),
    ("a = { b = 1, }", "expected a key"), ("a = 1 b = 2", "expected the end of the line"),
    ("a = [1 2]", "expected , or ]"), ("= 1", "expected a key"),
    ("a = \u{A0}1", "expected a value"), ("a = 1\rb = 2", "expected the end of the line"),
    ("url = \"x\"", "url is already defined on line 1"), ("d=1979-05-27T:", "not a date or a time"),
    ("q = 2024-01-01 5", "not a date or a time"),
  ])
  func syntaxErrors(text: String, why: String) {
    let failure = failure(base + text)
    #expect(failure?.kind == .usage)
    let message = failure?.message ?? ""
    #expect(message.utf8.starts(with: "shop.toml:2:".utf8), "\(message)")
    #expect(message.contains(": invalid TOML: " + why), "\(message)")
  }
}
