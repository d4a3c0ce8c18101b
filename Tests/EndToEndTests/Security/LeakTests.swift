import Testing

/// No secret in files outside of the keyring, in output, or in a command line, for any command:
/// rules B3, B7, B12, B15 and T1. The sandbox's canary searches everywhere at the end.
@Suite struct LeakTests {
  private static let recipe = """
    [login]
    path = "/login"
    authorization = "app"
    [login.body]
    email = "{username}"
    password = "{password}"
    secret = "{client_secret}"
    otp = "{otp}"
    [register]
    path = "/register"
    authorization = "app"
    body = { email = "{username}", password = "{password}" }
    [refresh]
    path = "/refresh"
    authorization = "app"
    body = { refresh_token = "{refresh_token}" }
    [logout]
    path = "/logout"
    authorization = "access"
    [whoami]
    path = "/me"
    [session.keep]
    uid = "header:uid"
    [request]
    headers = { Authorization = "Bearer {access_token}", uid = "{session.uid}" }
    cookies = true

    """

  @Test func nothingLeaksFromAnyCommand() async throws {
    try await Sandbox.with { box in
      let names = [
        "password", "otp", "app", "client", "access", "refresh", "cookie", "kept", "own", "query",
      ]
      var secret: [String: String] = [:]
      for name in names {
        // Characters that need escaping; headers and cookies allow fewer.
        let isFree = name == "password" || name == "client"
        secret[name] = box.canary.make(name, suffix: isFree ? #""&+\#u{E9}/\"# : "")
      }
      let planted = secret
      func of(_ name: String) -> String { planted[name] ?? "" }
      let headers = [
        ("uid", of("kept")), ("Set-Cookie", "sid=\(of("cookie")); Path=/"),
        ("Location", "/next?access_token=\(of("query"))"),
      ]
      let tokens = JSON.object([
        "access_token": .string(of("access")), "refresh_token": .string(of("refresh")),
        "expires_in": 900,
      ]).text
      let refuses = Mutable(false)
      let api = try box.recorder { _, request in
        switch Scene.route(of: request) {
        case _ where refuses.value: Self.echo(Array(planted.values), in: request, headers)
        case "POST /login", "POST /refresh": .http(200, tokens, headers: headers)
        case "POST /register": .http(201, "{}", headers: headers)
        case "GET /me": .http(200, #"{"email":"ada@shop.example"}"#, headers: headers)
        case "GET /go": .http(302, "", headers: headers)
        case "GET /forbidden": .http(403, "{}", headers: headers)
        case "GET /broken": .bytes(Array("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n".utf8))
        default: .http(200, "{}", headers: headers)
        }
      }
      try box.profile("shop", "url = \"\(api.url)\"\naccount = \"ada\"\n\(Self.recipe)")
      let own = try box.write("headers", "X-Own: \(of("own"))\nCookie2: \(of("own"))\n")
      let env = [
        "AUTHCTL_PASSWORD": of("password"), "AUTHCTL_OTP": of("otp"),
        "AUTHCTL_CLIENT_SECRET": of("client"), "AUTHCTL_APP_KEY": "app:" + of("app"),
      ]
      let commands: [(words: [String], status: Int32)] = [
        (["register"], 0), (["login"], 0), (["whoami"], 0), (["whoami", "--json"], 0),
        (["status"], 0), (["status", "--json"], 0), (["get", "/x", "-H", "@" + own], 0),
        (["get", "/go"], 0), (["get", "/forbidden"], 4),
        (["get", "/forbidden", "-o", "body"], 4), (["get", "/broken"], 7), (["refresh"], 0),
        (["refresh", "--json"], 0), (["profile", "list"], 0), (["profile", "show", "shop"], 0),
        (["get", "https://elsewhere.invalid/"], 13), (["get", "nonsense"], 2), ([], 0),
      ]
      for more in [[], ["-vv"]] {
        for (words, status) in commands where more.isEmpty || !words.isEmpty {
          let run = try await box.run(words + more, env: env)
          #expect(run.status == status, "\(words + more): \(run.stderr)")
        }
      }
      for (words, status) in [
        (["login"], 14), (["register"], 14), (["whoami"], 4), (["get", "/x"], 4), (["refresh"], 11),
      ] as [([String], Int32)] {
        for more in [["-vv"], ["--errors", "json"]] {
          refuses.value = true
          // The body of a `get` is data.
          let mayPrint = words[0] == "get" ? names.map(of) : []
          let run = try await box.run(words + more, env: env, mayPrint: mayPrint)
          #expect(run.status == status, "\(words + more): \(run.stderr)")
          #expect(names.filter { run.stderr.contains(of($0)) } == [], "\(words + more)")
          if words[0] != "get" { #expect(run.stderr.contains("***"), "\(run.stderr)") }
          refuses.value = false
          if words == ["refresh"] { #expect(try await box.run("login", env: env).status == 0) }
        }
      }
      // `-i` masks headers that the recipe names; everything else is data.
      let head = try await box.run("get", "/x", "-i", env: env, mayPrint: [of("query")])
      #expect(head.stdout.contains("\r\nuid: ***\r\nSet-Cookie: ***\r\nLocation: /next?"))
      // Only `token` prints it, and prints nothing else.
      let token = try await box.run("token", env: env, mayPrint: [of("access")])
      #expect(token.stdout == of("access") + "\n")
      #expect(token.stderr == "")
      let json = try await box.run("token", "--json", "-vv", env: env, mayPrint: [of("access")])
      #expect(json.stdout.contains(of("access")))
      #expect(!json.stderr.contains(of("access")))
      #expect(try await box.run("logout", "-vv", env: env).status == 0)

      // The test is effective: all secrets were sent (in JSON, except for escaped characters).
      let sent = names.filter {
        find(Array(of($0).utf8.prefix($0.utf8.count + 25)), in: api.bytes) != nil
      }
      #expect(sent == names.filter { $0 != "app" }, "\(sent)")
      #expect(Scene.holds(api, [of("app")]) != [])
      #expect(box.runs.count > 45)
    }
  }

  /// Repeats the secrets of the request in places that a user may see.
  private static func echo(
    _ secrets: [String], in request: [UInt8], _ headers: [(String, String)]
  ) -> Recorder.Answer {
    let told = secrets.filter { secret in
      let stem = secret.prefix { $0 != "\"" }
      return Canary.forms(of: String(stem)).contains { find($0, in: request) != nil }
    }
    let message = JSON.object(["message": .string("no: " + told.joined(separator: " "))])
    return .http(422, message.text, headers: headers)
  }

  @Test func itemOfTheKeyringShowsNoSecretInItsAttributes() async throws {
    try await Sandbox.with { box in
      let (access, refresh) = (box.canary.make("access"), box.canary.make("refresh"))
      let api = try box.recorder(
        answering: Scene.routes(["POST /login": Scene.tokens(access, refresh)]))
      try box.profile("shop", Scene.profile(api.url))
      try await box.signIn("shop", password: box.canary.make("password"))
      let items = try await box.items()
      #expect(items.count == 1)
      #expect(
        items.first?.attributes == [
          "xdg:schema": "io.github.authctl.Session", "profile": "shop", "account": Scene.account,
          "origin": api.url,
        ])
      #expect(items.first?.label.contains("shop") == true)
      #expect(items.first?.label.contains(access) == false)
    }
  }

  @Test func verboseShowsWhatIsSentWithoutWhatIsSecret() async throws {
    try await Sandbox.with(.none) { box in
      let token = box.canary.make("access")
      let api = try box.recorder { _, _ in
        .http(200, "{}", headers: [("Set-Cookie", "sid=\(token)"), ("X-Plain", "shown")])
      }
      try box.profile("shop", "url = \"\(api.url)\"\n")
      let run = try await box.run(
        "get", "-v", "-p", "shop", "/x?access_token=abcdefghij&sig=qrstuvwxyz&y=1&code=1234567890",
        env: ["AUTHCTL_TOKEN": token])
      #expect(run.stdout == "{}")
      #expect(
        run.stderr == """
          * shop (from -p), AUTHCTL_TOKEN
          > GET /x?access_token=***&sig=***&y=1&code=*** HTTP/1.1
          > Host: \(api.authority)
          > Authorization: ***
          > User-Agent: authctl/0.1.0
          > Accept: application/json, */*;q=0.5
          < HTTP/1.1 200 Recorded
          < Content-Type: application/json
          < Set-Cookie: ***
          < X-Plain: shown
          < Content-Length: 2
          < Connection: close

          """)
    }
  }

  /// Masking a short secret throughout the text would reveal it.
  @Test func outputDoesNotTellShortPasswordsApart() async throws {
    try await Sandbox.with { box in
      let api = try box.recorder(
        answering: Scene.routes([
          "POST /login/me": Scene.tokens("an-access-token", "a-refresh-token"),
          "POST /login": .http(401, #"{"message":"the me of this account is not me"}"#),
        ]))
      // Otherwise the first sign-in alone says that the profile is now the default.
      try box.write("config/authctl/config.toml", "default_profile = \"shop\"\n")
      for path in ["/login/me", "/login"] {
        try box.profile("shop", Scene.profile(api.url, login: "path = \"\(path)\""))
        var outputs: Set<String> = []
        for password in ["me", "xq"] {
          for form in ["text", "json"] {
            let run = try await box.run(
              "login", "-p", "shop", "-u", "me", "--password-stdin", "-v", "--errors", form,
              stdin: password)
            #expect(run.status == (path == "/login" ? 14 : 0))
            outputs.insert("\(path == "/login" ? form : "") \(run.stdout) \(run.stderr)")
          }
        }
        #expect(outputs.count == (path == "/login" ? 2 : 1), "\(outputs)")
      }
    }
  }

  @Test func secretsHaveNoPlaceInTheCommandLine() async throws {
    try await Sandbox.with(.none) { box in
      let lines = [
        ["login", "https://h", "--password", "x"], ["login", "https://h", "--otp", "x"],
        ["login", "https://h", "--client-secret", "x"], ["login", "https://h", "--app-key", "x"],
        ["login", "https://h", "--token", "x"], ["get", "https://u:p@h/"],
        ["login", "https://u:p@h/"], ["profile", "add", "n", "https://u:p@h"],
        ["profile", "add", "n", "https://h", "--set", "network.proxy=http://u:p@h"],
      ]
      for line in lines {
        let run = try await box.run(line)
        #expect(run.status == 2, "\(line): \(run.stderr)")
      }
      #expect(box.files() == [])
    }
  }

  // MARK: Rule B15

  @Test func storedPasswordIsNotHandedOut() async throws {
    try await Sandbox.with { box in
      let password = box.canary.make("password")
      let api = try box.recorder()
      try box.profile("files", "url = \"\(api.url)\"\npreset = \"http-basic\"\n")
      try await box.signIn("files", as: "ada", password: password)
      for words in [["token"], ["token", "--header"], ["token", "--json"]] {
        let run = try await box.run(words + ["-p", "files"])
        #expect(run.status == 2, "\(words)")
        #expect(run.stdout == "")
        #expect(run.stderr.contains("--allow-password"))
      }
      let status = try await box.run("status", "--json")
      #expect(try JSON(parsing: status.stdout)[0]?["kind"] == "password")
      let allowed = try await box.run(
        "token", "-p", "files", "--allow-password", mayPrint: [password])
      #expect(allowed.stdout.hasPrefix("Authorization: Basic "))
      #expect(try await box.run("get", "-v", "-p", "files", "/x").status == 0)
    }
  }
}
