import Testing

/// Peculiarities of each of the five back ends.
@Suite struct FiveBackEndsTrapsTests {
  // MARK: Names and passwords

  static let hardPasswords = [
    ":a:b: ", " \"quotes\" 'apostrophes' back\\slash \\n \\u0041",
    "\u{E9}\u{F1} e\u{301} \u{65E5}\u{672C}\u{8A9E} \u{1F5DD}\u{FE0F}", "%41&=+;#?<b>|~`^",
    "{username} {password} {{ $(id) $HOME",
  ]

  /// The five back ends share their accounts.
  @Test(arguments: BackEnd.all) func passwordsArriveIntact(_ it: BackEnd) async throws {
    try await Sandbox.with { box in
      let api = try await box.api()
      try await it.add(to: box, api)
      for (index, password) in Self.hardPasswords.enumerated() {
        let name = "n\(index)@example.com"
        try await api.ask(
          "POST", "/api/register",
          ["email": .string(name), "password": .string(password), "roleId": 1])
        let login = try await it.login(box, name, password)
        #expect(login.status == 0, "\(password): \(login.stderr)")
        let request = try await api.requests().last
        let body = request?["body"]?.string ?? ""
        switch it.preset {
        case "vapor-basic":
          let sent = try await box.run(
            "-d", stdin: String(request?["headers"]?["authorization"]?.string?.dropFirst(6) ?? ""),
            program: "/usr/bin/base64")
          #expect(sent.stdoutBytes == Array("\(name):\(password)".utf8))
        case "rails-jwt": #expect(body.hasPrefix("email=n\(index)%40example.com&password="))
        default:
          let sent = try JSON(parsing: body)
          #expect(bytes(sent["password"]?.string) == Array(password.utf8))
          #expect(sent.keys == ["email", "password"])
        }
      }
      #expect(try await api.count(it.signIn) == Self.hardPasswords.count)
    }
  }

  private func bytes(_ text: String?) -> [UInt8]? { text.map { Array($0.utf8) } }

  @Test func basicNameWithAColonIsRefusedBeforeAnyRequest() async throws {
    try await Sandbox.with { box in
      let api = try await box.api()
      let it = BackEnd.named("vapor-basic")
      try await it.add(to: box, api)
      let run = try await it.login(box, "ada:example.com")
      #expect(run.status == 2 && run.stdout == "")
      #expect(
        run.stderr
          == "authctl: a user name for HTTP Basic cannot contain a colon (RFC 7617, section 2)\n")
      #expect(try await api.counts() == [:])
      // If the name is sent in JSON, next to the application's Basic credential, it may contain a
      // colon.
      let selfie = BackEnd.named("rails-selfie")
      try await box.run("profile", "remove", "it")
      try await selfie.add(to: box, api)
      #expect(try await selfie.login(box, "ada:example.com").status == 14)
      #expect(try await api.count(selfie.signIn) == 1)
    }
  }

  @Test(arguments: BackEnd.all)
  func emptyNameOrPasswordIsRefusedBeforeAnyRequest(_ it: BackEnd) async throws {
    try await Sandbox.with { box in
      let api = try await box.api()
      try await it.add(to: box, api)
      for (name, password) in [("", "secret1"), (BackEnd.ada, "")] {
        let run = try await it.login(box, name, password)
        #expect(run.status == 2 && run.stdout == "", "\(run.stderr)")
        #expect(run.stderr.hasPrefix("authctl: "))
      }
      #expect(try await api.counts() == [:])
      #expect(try await box.items().isEmpty)
    }
  }

  // MARK: express-jwt

  @Test func expressSaysAMissingFieldTwiceInOneMessage() async throws {
    try await Sandbox.with { box in
      let api = try await box.api()
      try await BackEnd.named("express-jwt").add(to: box, api)
      try await box.run("profile", "set", "it", #"register.body={ password = "{password}" }"#)
      let run = try await box.run(
        "register", "-u", "x", "--password-stdin", "--field", "roleId=1", stdin: "secret1\n")
      #expect(run.status == 14 && run.stdout == "")
      #expect(
        run.stderr == """
          authctl: it refused this registration (HTTP 400)
          server: Email cannot be empty. Email cannot be empty.

          """)
    }
  }

  /// A body that Express cannot parse gives an HTML page with the stack trace.
  @Test(arguments: ["login", "register"])
  func expressPagesOfHTMLAreNeverShown(_ command: String) async throws {
    try await Sandbox.with { box in
      let api = try await box.api()
      try await BackEnd.named("express-jwt").add(to: box, api)
      let set = try await box.run(
        "profile", "set", "it", "\(command).encoding=form",
        #"\#(command).headers={ Content-Type = "application/json" }"#)
      #expect(set.status == 0, "\(set.stderr)")
      let run = try await box.run(
        command, "-u", BackEnd.ada, "--password-stdin", stdin: "secret1\n")
      #expect(try await api.requests().last?["body"] == "email=ada%40example.com&password=secret1")
      #expect(run.status == 14 && run.stdout == "")
      let what = command == "login" ? "this name and password" : "this registration"
      let hint =
        command == "login" ? "hint: authctl login -p it -u \(BackEnd.ada) --password-stdin\n" : ""
      #expect(run.stderr == "authctl: it refused \(what) (HTTP 400)\n" + hint)
    }
  }

  @Test func expressPageForAWrongPathIsNoRefusal() async throws {
    try await Sandbox.with { box in
      let api = try await box.api()
      let it = BackEnd.named("express-jwt")
      try await it.add(to: box, api)
      try await box.run("profile", "set", "it", "login.path=/api/signup-here")
      let run = try await it.login(box)
      #expect(run.status == 4 && run.stdout == "")
      #expect(
        run.stderr == """
          authctl: it: HTTP 404 Not Found: POST \(api.url)/api/signup-here
          hint: the path may be wrong: authctl profile show it --all

          """)
    }
  }

  @Test func whatIsNoSignInAndWhatIsNoRefusal() async throws {
    try await Sandbox.with { box in
      let api = try await box.api()
      let it = BackEnd.named("express-jwt")
      try await it.add(to: box, api)
      let no = #"{"success":false,"message":["Not <b>today</b>\u001b[2J","two"]}"#
      let answers: [(trick: JSON, exit: Int32, said: String)] = [
        (["status": 200, "body": .string(no)], 14, "it refused this name and password (HTTP 200)"),
        (["status": 200, "body": #"{"success":true}"#], 15, "it: no token in the answer to POST "),
        (["status": 200, "body": ""], 15, "it: no token in the answer to POST "),
        (["status": 204], 15, "it: no token in the answer to POST "),
        (
          ["status": 200, "body": "<html>hello</html>", "content_type": "text/html"], 15,
          "it: no token in the answer to POST "
        ),
        (["status": 200, "body": #"{"token":["x"]}"#], 15, "it: no token in the answer to POST "),
        (
          ["status": 500, "body": #"{"message":"down"}"#], 5, "it: HTTP 500 Internal Server Error: "
        ),
        (
          ["status": 429, "headers": [["Retry-After", "7"]]], 4, "it: HTTP 429 Too Many Requests: "
        ),
      ]
      for (trick, exit, said) in answers {
        guard case .object(var order) = trick else { continue }
        order["path"] = "/api/login"
        try await api.misbehave(.object(order))
        let run = try await it.login(box)
        #expect(run.status == exit && run.stdout == "", "\(trick.text): \(run.stderr)")
        #expect(run.stderr.hasPrefix("authctl: " + said), "\(run.stderr)")
        #expect(!run.stderr.contains("\u{1B}") && !run.stderr.contains("<html"))
      }
      #expect(try await api.count(it.signIn) == answers.count)
      await api.stop()
      let down = try await it.login(box)
      #expect(down.status == 7 && down.stdout == "")
      #expect(
        down.stderr.hasPrefix("authctl: cannot reach \(api.url): connection refused\n"))
      #expect(try await box.items().isEmpty)
    }
  }

  // MARK: vapor-basic

  @Test func vaporExpiryIsAFractionAndSlashesAreEscaped() async throws {
    try await Sandbox.with { box in
      let api = try await box.api()
      let it = BackEnd.named("vapor-basic")
      try await it.add(to: box, api)
      try await it.signedIn(box)
      let run = try await box.run("token", "--json")
      #expect(run.status == 0 && run.stderr == "")
      let value = try JSON(parsing: run.stdout)
      #expect(value.keys == ["access_token", "expires_at", "header"])
      let token = value["access_token"]?.string ?? ""
      #expect(value["header"] == ["name": "Authorization", "value": .string("Bearer " + token)])
      let payload = String(token.split(separator: ".").dropFirst().first ?? "")
      let claims = try await box.run(
        "-c", "tr _- /+ | sed 's/$/===/' | base64 -di", stdin: payload, program: "/bin/sh")
      let end = try JSON(parsing: claims.stdout)["exp"]?.number ?? 0
      #expect(end != end.rounded())
      let shown = try await box.run(
        "-u", "-d", "@\(Int(end))", "+%Y-%m-%dT%H:%M:%SZ", program: "/bin/date")
      #expect(value["expires_at"]?.string.map { $0 + "\n" } == shown.stdout)

      let whoami = try await box.run("whoami", "--json")
      let user = try JSON(parsing: whoami.stdout)
      #expect(user.keys == ["account", "origin", "profile", "source", "user"])
      #expect(user["source"] == "server" && user["user"]?["picture"] == "/pictures/1.png")
      let get = try await box.run("get", it.resource)
      #expect(get.stdout.contains(#""picture":"\/pictures\/1.png""#))

      let sent = try await api.requests().first { $0["path"] == "/api/v1/signin" }
      #expect(sent?["body_length"] == 0)
      #expect(sent?["headers"]?["content-length"] == "0")
      #expect(sent?["headers"]?["content-type"] == nil)
    }
  }

  // MARK: rails-jwt

  @Test func railsJWTKeepsAndPrintsNothingOfTheUserRow() async throws {
    try await Sandbox.with { box in
      let api = try await box.api()
      let it = BackEnd.named("rails-jwt")
      for planted in ["NotARealHash.", "NotARealSaltEither00", "crypted_password"] {
        box.canary.watch(planted)
      }
      try await it.add(to: box, api)
      for options in [[], ["-vv"], ["--json"]] {
        let login = try await box.run(
          ["login", "-u", BackEnd.ada, "--password-stdin"] + options,
          stdin: BackEnd.password + "\n")
        #expect(login.status == 0)
      }
      try await api.misbehave([
        "path": "/api/user", "times": 2,
        "body": #"{"id":1,"email":"ada@example.com","crypted_password":"NotARealHash."}"#,
      ])
      #expect(try await box.run("whoami", "-v").stdout == "ada@example.com\n")
      let whoami = try JSON(parsing: try await box.run("whoami", "--json").stdout)
      #expect(whoami["user"] == ["id": 1, "email": "ada@example.com"])
      let items = try await box.items()
      #expect(items.count == 1)
      for item in items {
        let text = "\(item.label) \(item.attributes) \(item.secret ?? "")"
        #expect(!text.contains("NotAReal") && !text.contains("crypted"))
        #expect(!text.contains("Lovelace") && !text.contains(BackEnd.password))
      }
      let body = try await api.requests().first?["body"]?.string
      let start = "email=ada%40example.com&password="
      #expect(
        [start + "correct+horse+battery", start + "correct%20horse%20battery"].contains(body))
    }
  }

  // MARK: rails-turbo

  @Test func turboTokenOpensTheAPIAndCookiesThePages() async throws {
    try await Sandbox.with { box in
      let api = try await box.api()
      let it = BackEnd.named("rails-turbo")
      try await it.add(to: box, api)
      try await it.signedIn(box)
      let page = try await box.run("get", "/me")
      #expect(page.status == 0 && page.stderr == "")
      #expect(page.stdout.contains("<h1>Signed in as ada@example.com</h1>"))
      let me = try await box.run("get", "/api/me")
      #expect(me.stdout == #"{"id":1,"email":"ada@example.com"}"#)
      let sent = try await api.requests().last { $0["path"] == "/me" }
      let cookies = sent?["headers"]?["cookie"]?.string ?? ""
      let names = cookies.split(separator: ";").map {
        $0.drop { $0 == " " }.prefix { $0 != "=" }
      }
      #expect(names.sorted() == ["_turbo_auth_session", "remember_user_token"])
      #expect(sent?["headers"]?["user-agent"]?.string?.contains("Turbo Native") == true)
      let token = try await box.run("token").stdout.dropLast()
      #expect(token.count == 20)

      // The cookies would still open the page: authctl deletes them with the session.
      let logout = try await box.run("logout", "--json")
      #expect(logout.status == 0)
      #expect(
        try JSON(parsing: logout.stdout) == [
          ["profile": "it", "account": "ada@example.com", "revoked": true, "deleted": true]
        ])
      let ended = try await api.requests().last
      #expect(ended?["method"] == "DELETE")
      #expect(ended?["headers"]?["authorization"] == .string("Bearer " + token))
      #expect(try await box.items().isEmpty)
      #expect(try await box.run("get", "/me").status == 10)
      let stranger = try await box.run("get", "/me", "--anonymous", "--max-redirs", "0")
      #expect(stranger.status == 3)
      #expect(try await api.requests().last?["headers"]?["cookie"] == nil)
      for cookie in cookies.split(separator: ";") {
        box.canary.watch(String(cookie.drop { $0 != "=" }.dropFirst()))
      }
    }
  }

  @Test func turboSignInPageIsNoSuccess() async throws {
    try await Sandbox.with { box in
      let api = try await box.api()
      let it = BackEnd.named("rails-turbo")
      try await it.add(to: box, api)
      // Without "Turbo Native" and without cookies, like a client that has only the token.
      let set = try await box.run(
        "profile", "set", "it", "request.cookies=false",
        #"request.headers={ Authorization = "Bearer {access_token}" }"#)
      #expect(set.status == 0)
      try await it.signedIn(box)
      let run = try await box.run("get", "/me")
      #expect(run.status == 11 && run.stdout == "")
      #expect(
        run.stderr
          == "authctl: it: session of ada@example.com was refused by the server; "
          + "it redirected to its sign-in page (HTTP 302 to /users/sign_in)\n"
          + "hint: authctl login -p it -u ada@example.com\n")
    }
  }

  /// DemoAPI's own page that requires cookies behaves in the same way.
  @Test func aFormOfAnotherNameIsNoSuccessEither() async throws {
    try await Sandbox.with { box in
      let api = try await box.api()
      try await box.run("profile", "add", "it", api.url, "--preset", "json")
      try await BackEnd(
        preset: "json", validity: [], next: "", signIn: "", wrong: (0, nil), unknown: (0, nil),
        resource: "", answer: ""
      ).signedIn(box)
      let run = try await box.run("get", "/page")
      #expect(run.status == 11 && run.stdout == "")
      #expect(run.stderr.contains("it redirected to its sign-in page (HTTP 302 to /sign-in-form)"))
    }
  }

  @Test func aSignInThatRedirectsIsNotUnderstood() async throws {
    try await Sandbox.with { box in
      let api = try await box.api()
      let it = BackEnd.named("rails-turbo")
      try await it.add(to: box, api)
      try await api.misbehave([
        "path": "/api/auth", "status": 302, "content_type": "text/html",
        "body": "<html><body>You are being redirected.</body></html>",
        "headers": [["Location", "/users/sign_in"]],
      ])
      let run = try await it.login(box)
      #expect(run.status == 15 && run.stdout == "")
      let start = "authctl: it: POST \(api.url)/api/auth answered with a redirect"
      #expect(run.stderr.hasPrefix(start))
      #expect(!run.stderr.contains("<"))
      #expect(try await api.counts() == ["POST /api/auth": 1])
      #expect(try await box.items().isEmpty)
    }
  }

  // MARK: rails-selfie

  @Test func selfieRenewsByItsKeyBeforeTheISODate() async throws {
    try await Sandbox.with { box in
      let api = try await box.api("--token-ttl", "1")
      let it = BackEnd.named("rails-selfie")
      box.canary.watch("demo-secret")
      try await it.add(to: box, api)
      try await it.signedIn(box)
      #expect(try await api.requests().last?["headers"]?["authorization"] == Self.key)
      try await Task.sleep(for: .seconds(1.1))
      let run = try await box.run("get", it.resource)
      #expect(run.status == 0 && run.stderr == "" && run.stdout == "[]")
      #expect(try await api.count(it.signIn) == 1)
      #expect(try await api.count("GET /api/get_token") == 1)
      #expect(try await api.count("GET \(it.resource)") == 1)
      let renewal = try await api.requests().first { $0["path"] == "/api/get_token" }
      #expect(renewal?["headers"]?["authorization"] == Self.key)
      #expect(renewal?["query"] == ["email": "ada@example.com"])
      let logout = try await box.run("logout")
      #expect(
        logout.stderr == "Signed out of it as ada@example.com, at the server and on this machine.\n"
      )
      let last = try await api.requests().last
      #expect(last?["target"] == "/api/clear_token" && last?["method"] == "GET")
      #expect(last?["headers"]?["authorization"]?.string?.hasPrefix("Token token=") == true)
    }
  }
  private static let key: JSON = "Basic ZGVtby1rZXk6ZGVtby1zZWNyZXQ="

  @Test func selfieRefusalInPlainTextIsShown() async throws {
    try await Sandbox.with { box in
      let api = try await box.api()
      let it = BackEnd.named("rails-selfie")
      try await it.add(to: box, api)
      let forged = try box.write("home/TOKEN", box.canary.make("forged") + "\n")
      let adopted = try await box.run("login", "-u", "eve", "--token-file", forged)
      #expect(adopted.status == 0, "\(adopted.stderr)")
      let run = try await box.run("get", it.resource)
      #expect(run.status == 11 && run.stdout == "")
      #expect(
        run.stderr == """
          authctl: it: session of eve was refused by the server; it cannot be renewed
          server: HTTP Token: Access denied.
          hint: authctl login -p it -u eve

          """)
      // For a wrong application key, the response has the type HTML but plain text as content.
      try box.write("home/KEY", "demo-key:wrong\n")
      let wrong = try await it.login(box)
      #expect(wrong.status == 14 && wrong.stdout == "")
      #expect(!wrong.stderr.contains("demo-key") && !wrong.stderr.contains("<"))
    }
  }
}
