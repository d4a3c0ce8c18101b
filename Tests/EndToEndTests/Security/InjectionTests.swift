import Testing

/// Bytes that would change a request, from any source: rules A4, A9, B2, C3, C4, C9 and T3.
@Suite struct InjectionTests {
  /// Values that no header may have; the last ones are invalid as a whole.
  static let hostile: [(name: String, text: String)] = [
    ("CRLF", "x\r\nX-Evil: 1"), ("LF", "x\nX-Evil: 1"), ("CR", "x\rX-Evil: 1"),
    ("NUL", "x\u{0}X-Evil"), ("TAB", "x\tX-Evil"), ("ESC", "x\u{1B}[2JX-Evil"),
    ("DEL", "x\u{7F}X-Evil"), ("U+0085", "x\u{85}X-Evil"), ("U+2028", "x\u{2028}X-Evil"),
    ("U+00E9", "x\u{E9}X-Evil"), ("leading space", " X-Evil"), ("trailing space", "X-Evil "),
    ("empty", ""),
  ]

  /// Places in the sign-in response from which the recipe fills a header.
  static let places = ["access_token", "kept"]

  @Test(arguments: places) func serversValueThatNoHeaderHolds(_ place: String) async throws {
    try await Sandbox.with { box in
      let latest = Mutable("")
      let api = try box.recorder { _, request in
        Scene.route(of: request) == "POST /login" ? .http(200, latest.value) : .http(200, "{}")
      }
      try box.profile(
        "shop",
        Scene.profile(
          api.url,
          request: #"headers = { uid = "{session.uid}", Authorization = "Bearer {access_token}" }"#,
          more: "[session.keep]\nuid = \"/kept\"\n"))
      for row in Self.hostile {
        var answer: [String: JSON] = ["access_token": "good", "kept": "good"]
        answer[place] = .string(row.text)
        latest.value = JSON.object(answer).text
        let login = try await box.run(
          "login", "-p", "shop", "-u", "ada", "--password-stdin", stdin: "a password")
        #expect(login.status == 15, "\(place) \(row.name): \(login.stderr)")
        #expect(!login.stderr.contains("X-Evil"), "\(login.stderr)")
        #expect(try await box.items().isEmpty, "\(place) \(row.name)")
      }
      #expect(api.texts.allSatisfy { $0.hasPrefix("POST /login ") })
      #expect(!api.texts.contains { $0.contains("X-Evil") })
    }
  }

  @Test func renewalWithSuchAValueKeepsTheSession() async throws {
    try await Sandbox.with { box in
      let latest = Mutable("")
      let api = try box.recorder { _, request in
        switch Scene.route(of: request) {
        case "POST /login": Scene.tokens("good-token", "good-refresh")
        case "POST /refresh": .http(200, latest.value)
        default: .http(200, "{}")
        }
      }
      try box.profile("shop", Scene.profile(api.url))
      try await box.signIn("shop")
      for row in Self.hostile {
        latest.value = JSON.object(["access_token": .string(row.text), "expires_in": 9]).text
        let run = try await box.run("refresh", "-p", "shop")
        #expect(run.status == 15, "\(row.name): \(run.stderr)")
        #expect(try await box.storedTokens() == ["good-token"], "\(row.name)")
      }
    }
  }

  @Test func cookieOfTheServerIsSentAsItWasOrNotAtAll() async throws {
    let values = [
      ("plain", true), ("with space", true), ("\"quoted\"", true), ("tab\there", false),
      ("esc\u{1B}x", false), ("del\u{7F}", false), ("cr\rX-Evil: 1", false),
    ]
    try await Sandbox.with { box in
      let latest = Mutable("")
      let api = try box.recorder { _, request in
        Scene.route(of: request) == "POST /login"
          ? .http(200, #"{"access_token":"good"}"#, headers: [("Set-Cookie", latest.value)])
          : .http(200, "{}")
      }
      try box.profile(
        "shop",
        Scene.profile(
          api.url, request: "cookies = true\nheaders = { A = \"Bearer {access_token}\" }"))
      for (value, isSent) in values {
        latest.value = "sid=\(value); Path=/"
        _ = try await box.run(
          "login", "-p", "shop", "-u", Scene.account, "--password-stdin", stdin: "a password")
        let run = try await box.run("get", "-p", "shop", "-u", Scene.account, "/x")
        let sent = api.texts.last ?? ""
        #expect(sent.contains("X-Evil") == false)
        if isSent {
          #expect(run.status == 0, "\(run.stderr)")
          #expect(sent.contains("\r\nCookie: sid=\(value)\r\n"), "\(sent)")
        } else {
          #expect(!sent.contains("sid="), "\(sent.debugDescription)")
        }
      }
    }
  }

  /// The user's own values are refused with 2 before anything is sent.
  @Test func usersValueThatNoHeaderHolds() async throws {
    try await Sandbox.with { box in
      let api = try box.recorder(answering: Scene.routes(["POST /login": Scene.tokens("good")]))
      try box.profile(
        "shop",
        Scene.profile(
          api.url,
          login: """
            path = "/login"
            headers = { X-Field = "{field.tenant}", X-User = "{username}" }
            """))
      for row in Self.hostile where !row.text.utf8.contains(0) {
        var lines: [[String]] = [
          ["login", "-p", "shop", "-u", row.text, "--password-stdin", "--field", "tenant=t"]
        ]
        if row.name != "empty" {
          lines.append([
            "login", "-p", "shop", "-u", "ada", "--password-stdin", "--field",
            "tenant=" + row.text,
          ])
        }
        // A user's own header may contain a TAB and non-ASCII characters; surrounding blanks are
        // removed.
        let isFree = [
          "TAB", "U+0085", "U+2028", "U+00E9", "leading space", "trailing space", "empty",
        ]
        if !isFree.contains(row.name) {
          lines.append(["get", "--anonymous", api.url + "/", "-H", "X-Own: " + row.text])
          lines.append(["get", "--anonymous", api.url + "/", "-H", row.text + ": x"])
        }
        for words in lines {
          let run = try await box.run(words, stdin: "a password")
          #expect(run.status == 2, "\(words.debugDescription) (\(row.name)): \(run.stderr)")
        }
        let token = try await box.run(
          "get", "-p", "shop", "/", env: ["AUTHCTL_TOKEN": row.text])
        if row.name != "empty" {
          #expect(token.status == 2, "AUTHCTL_TOKEN (\(row.name)): \(token.stderr)")
        }
      }
      #expect(api.texts == [])
    }
  }

  @Test func emptyTokenNeverMakesAnAnonymousRequest() async throws {
    try await Sandbox.with(.none) { box in
      let api = try box.recorder()
      try box.profile("shop", "url = \"\(api.url)\"\n")
      let run = try await box.run(
        "get", "/", env: ["AUTHCTL_TOKEN": "", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nowhere"])
      #expect([10, 12].contains(run.status), "\(run.stderr)")
      let file = try box.write("empty", "\n")
      let fromFile = try await box.run("get", "/", env: ["AUTHCTL_TOKEN_FILE": file])
      #expect(fromFile.status != 0, "\(fromFile.stderr)")
      #expect(api.texts == [])
    }
  }

  @Test func profileWithSuchAHeaderIsRefused() async throws {
    try await Sandbox.with(.none) { box in
      let api = try box.recorder()
      for row in Self.hostile where row.name != "empty" {
        let headers = "headers = { User-Agent = \(JSON.string(row.text).text) }"
        try box.profile("shop", "url = \"\(api.url)\"\n[request]\n\(headers)\n")
        let run = try await box.run("get", "/", env: ["AUTHCTL_TOKEN": "good"])
        #expect(run.status == 2, "\(row.name): \(run.stderr)")
      }
      for name in [
        "Host", "content-length", "Transfer-Encoding", "Connection", "TE", "Trailer", "Upgrade",
        "Expect", "Proxy-Authorization", "A B", "A:B", "", "X\r\nY", "\u{E9}",
      ] {
        let headers = "[request.headers]\n\(JSON.string(name).text) = \"x\"\n"
        try box.profile("shop", "url = \"\(api.url)\"\n\(headers)")
        let run = try await box.run("get", "/", env: ["AUTHCTL_TOKEN": "good"])
        #expect(run.status == 2, "\(name): \(run.stderr)")
      }
      #expect(api.texts == [])
    }
  }

  // MARK: Rule B2

  @Test func headerOfTheRecipesCredentialIsNotTheUsers() async throws {
    try await Sandbox.with(.none) { box in
      let token = box.canary.make("access")
      let api = try box.recorder()
      try box.profile(
        "shop",
        """
        url = "\(api.url)"
        [request]
        headers = { Authorization = "JWT {access_token}", User-Agent = "shop-cli", X-Plain = "p" }

        """)
      let file = try box.write("headers", "X-A: 1\r\nauthorization: mine\r\n")
      for text in [
        "Authorization: mine", "authorization: mine", "AUTHORIZATION:", "Authorization;",
        "Authorization:mine", "Host: evil", "Content-Length: 5", "Transfer-Encoding: chunked",
        "Proxy-Authorization: x", "Authorization : mine", " Authorization: mine", "NoColon",
        "X-Fold: a\r\n b", "@" + file, "X-Y; value", ": x",
      ] {
        let run = try await box.run("get", "/", "-H", text, env: ["AUTHCTL_TOKEN": token])
        #expect(run.status == 2, "\(text.debugDescription): \(run.stderr)")
        if text.lowercased().hasPrefix("authorization"), !text.contains(" :") {
          #expect(
            run.stderr.hasSuffix("hint: use --anonymous to send your own\n"), "\(run.stderr)")
        }
      }
      #expect(api.texts == [])

      let run = try await box.run(
        "get", "/", "-H", "user-agent: mine", "-H", "x-plain;", "-H", "Accept:", "-H",
        "X-Tab: a\tb\u{E9}", env: ["AUTHCTL_TOKEN": token])
      #expect(run.status == 0, "\(run.stderr)")
      let lines = Self.head(try #require(api.texts.first))
      #expect(
        lines == [
          "authorization: jwt \(token)".lowercased(), "get / http/1.1",
          "host: \(api.authority)", "user-agent: mine", "x-plain:", "x-tab: a\tb\u{E9}",
        ])
    }
  }

  @Test func wireHoldsOneCredentialAndNothingUnknown() async throws {
    try await Sandbox.with(.none) { box in
      let token = box.canary.make("access")
      let api = try box.recorder()
      try box.profile("shop", "url = \"\(api.url)\"\n")
      #expect(try await box.run("get", "/a?b=c", env: ["AUTHCTL_TOKEN": token]).status == 0)
      let lines = Self.head(try #require(api.texts.first)).filter { !$0.hasPrefix("user-agent: ") }
      #expect(
        lines == [
          "accept: application/json, */*;q=0.5", "authorization: bearer \(token)".lowercased(),
          "get /a?b=c http/1.1", "host: \(api.authority)",
        ])
    }
  }

  // MARK: Rule A9

  @Test func placeholdersAreFilledOnceAndEncoded() async throws {
    let accounts: [(account: String, path: String?)] = [
      ("{password}", "/users/%7Bpassword%7D"), ("a/../b", "/users/a%2F..%2Fb"),
      ("%2e%2e", "/users/%252e%252e"), ("x?y#z", "/users/x%3Fy%23z"), ("a&b=c", "/users/a%26b%3Dc"),
      ("\"},{\"", "/users/%22%7D%2C%7B%22"), ("\u{E9}", "/users/%C3%A9"), ("a b", "/users/a%20b"),
      ("..", nil), (".", nil), ("\\..\\x", "/users/%5C..%5Cx"),
      ("{refresh_token}", "/users/%7Brefresh_token%7D"),
    ]
    try await Sandbox.with { box in
      let password = box.canary.make("password")
      let (access, refresh) = (box.canary.make("access"), box.canary.make("refresh"))
      let api = try box.recorder { _, request in
        Scene.route(of: request).hasPrefix("POST /login/")
          ? Scene.tokens(access, refresh) : .http(200, "{}")
      }
      for (account, path) in accounts {
        try box.profile(
          "shop",
          Scene.profile(
            api.url, login: "path = \"/login/users/{username}\"\nquery = { name = \"{username}\" }")
        )
        let before = api.connections.count
        let run = try await box.run(
          "login", "-p", "shop", "-u", account, "--password-stdin", stdin: password)
        guard let path else {
          #expect(run.status == 2, "\(account): \(run.stderr)")
          #expect(api.connections.count == before)
          continue
        }
        #expect(run.status == 0, "\(account): \(run.stderr)")
        let request = try #require(api.texts.last)
        let encoded = path.dropFirst("/users/".count)
        #expect(
          request.hasPrefix("POST /login\(path)?name=\(encoded) HTTP/1.1\r\n"), "\(request)")
        let body = String(request.split(separator: "\r\n\r\n", maxSplits: 1).last ?? "")
        #expect(
          try JSON(parsing: body) == ["email": .string(account), "password": .string(password)])
      }
      #expect(try await box.items().count == accounts.filter { $0.path != nil }.count)
    }
  }

  @Test func recipesThatPutValuesWhereTheyMustNotStand() async throws {
    let login = { (text: String) in "[login]\n\(text)\n" }
    let profiles = [
      login("path = \"https://{session.host}/\""), login("path = \"{field.x}/login\""),
      login("path = \"/l/{password}\""), login("path = \"/l\"\nquery = { p = \"{password}\" }"),
      login("path = \"/l\"\nmethod = \"{field.m}\""), login("path = \"/l/{access_token}\""),
      login("path = \"/l/{unknown}\""), login("path = \"//evil/x\""), login("path = \"http:/x\""),
      login("path = \"/l\"\nbody = { a = \"{basic:password}\" }"),
      "[request]\nheaders = { A = \"{refresh_token}\" }\n",
      "[request]\nheaders = { A = \"{password}\" }\n",
      "[refresh]\npath = \"/r\"\nbody = { p = \"{password}\" }\n",
      "[session]\nexpired = [200]\n", "[session]\nexpired = [401, 500]\n",
      "[session]\nrefused = [429]\n", "[session]\nrefused = [302]\n",
      "[session]\nexpired = [407]\n",
      "[login]\npath = \"/l\"\npassword_command = \"id\"\n", "command = \"id\"\n",
      // Rule C9: a profile contains no secret.
      "[request]\nheaders = { Authorization = \"Bearer abc\" }\n",
      "[request]\nheaders = { X-Api-Key = \"abc\" }\n",
      "[request]\nheaders = { Cookie = \"a=b\" }\n",
      login("path = \"/l\"\nheaders = { X-Auth-Token = \"abc\" }"),
      login("path = \"/l\"\nquery = { api_key = \"abc\" }"),
      login("path = \"/l\"\nbody = { client_secret = \"abc\", u = \"{username}\" }"),
    ]
    try await Sandbox.with(.none) { box in
      let api = try box.recorder()
      for text in profiles {
        try box.profile("shop", "url = \"\(api.url)\"\n\(text)")
        let run = try await box.run("get", "/", env: ["AUTHCTL_TOKEN": "good"])
        #expect(run.status == 2, "\(text): \(run.stdout)")
        #expect(run.stderr.contains("shop.toml:"), "\(text): \(run.stderr)")
      }
      #expect(api.texts == [])
      try box.profile(
        "shop",
        "url = \"\(api.url)\"\npublic = [\"apikey\"]\n[request]\nheaders = { apikey = \"abc\" }\n")
      let named = try await box.run("get", "/", env: ["AUTHCTL_TOKEN": "good"])
      #expect(named.status == 0, "\(named.stderr)")
      let add = try await box.run(
        "profile", "add", "new", "https://h", "--set", "request.headers={\"X-Key\":\"abc\"}")
      #expect(add.status == 2, "\(add.stderr)")
    }
  }

  // MARK: Rule C4

  @Test func doubledValuesAreNotUnderstood() async throws {
    let answers = [
      #"{"access_token":"one","access_token":"two"}"#,
      #"{"access_token":"two","access_token":"one"}"#,
      #"{"access_token":"one","expires_in":1,"expires_in":900}"#,
    ]
    try await Sandbox.with { box in
      let latest = Mutable("")
      let api = try box.recorder { _, request in
        Scene.route(of: request) == "POST /header"
          ? .http(200, "{}", headers: [("X-T", "one"), ("x-t", "two")]) : .http(200, latest.value)
      }
      try box.profile("shop", Scene.profile(api.url))
      for answer in answers {
        latest.value = answer
        let run = try await box.run(
          "login", "-p", "shop", "-u", "ada", "--password-stdin", stdin: "a password")
        #expect(run.status == 15, "\(answer): \(run.stderr)")
      }
      try box.profile(
        "shop",
        Scene.profile(
          api.url, login: "path = \"/header\"", session: "access_token = [\"header:X-T\"]"))
      let run = try await box.run(
        "login", "-p", "shop", "-u", "ada", "--password-stdin", stdin: "a password")
      #expect(run.status == 15, "\(run.stderr)")
      #expect(try await box.items().isEmpty)
    }
  }

  /// The lines of a request's head in lower case, sorted.
  private static func head(_ request: String) -> [String] {
    let head = request.components(before: "\r\n\r\n")
    return head.lowercased().split(separator: "\r\n").map(String.init).sorted()
  }
}

extension String {
  fileprivate func components(before mark: String) -> String {
    guard let end = find(Array(mark.utf8), in: Array(utf8)) else { return self }
    return String(decoding: utf8.prefix(end), as: UTF8.self)
  }
}
