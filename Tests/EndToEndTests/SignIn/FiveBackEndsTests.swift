import Testing

/// One of the five back ends that authctl was made for, as DemoAPI implements it.
struct BackEnd: Sendable, CustomTestStringConvertible {
  var preset: String
  /// Options of `login` besides name and password.
  var options: [String] = []
  /// The possible texts after "Signed in to NAME as ACCOUNT."; the last whole second may have
  /// begun.
  var validity: [String]
  var next: String
  var signIn: String
  /// Status and the server's message for a wrong password and for an unknown user.
  var wrong: (status: Int, words: String?)
  var unknown: (status: Int, words: String?)
  /// A path that requires the session, and the start of its response.
  var resource: String
  var answer: String
  var header = "Authorization: Bearer "
  var hasExpiry = true
  var isRefreshable = false
  /// Whether logout also ends the session at the server.
  var revokes: Bool?
  var whoami: String?

  var testDescription: String { preset }

  static let all = [
    BackEnd(
      preset: "express-jwt",
      validity: ["Valid for 60 days; cannot be renewed.", "Valid for 59 days; cannot be renewed."],
      next: "/PATH", signIn: "POST /api/login", wrong: (400, "Incorrect password"),
      unknown: (400, "User not found"), resource: "/api/faculty/courses",
      answer: #"[{"id":1,"title":"Compilers""#),
    BackEnd(
      preset: "vapor-basic",
      validity: [
        "Valid for 15 min; renewed automatically.", "Valid for 14 min; renewed automatically.",
      ],
      next: "/api/v1/me", signIn: "POST /api/v1/signin", wrong: (401, "User not authenticated."),
      unknown: (401, "User not authenticated."), resource: "/api/v1/me", answer: #"{"id":""#,
      isRefreshable: true, whoami: "GET /api/v1/me"),
    BackEnd(
      preset: "rails-jwt", validity: ["The server did not say when it expires."], next: "/api/user",
      signIn: "POST /api/user_sessions", wrong: (422, "Error description"),
      unknown: (422, "Error description"), resource: "/api/user",
      answer: #"{"id":1,"name":"Ada Lovelace","email":"ada@example.com"}"#, hasExpiry: false,
      whoami: "GET /api/user"),
    BackEnd(
      preset: "rails-turbo", validity: ["The server did not say when it expires."], next: "/api/me",
      signIn: "POST /api/auth", wrong: (401, nil), unknown: (401, nil), resource: "/api/me",
      answer: #"{"id":1,"email":"ada@example.com"}"#, hasExpiry: false, revokes: true,
      whoami: "GET /api/me"),
    BackEnd(
      preset: "rails-selfie", options: ["--app-key-file", "KEY"],
      validity: [
        "Valid for 24 h; renewed automatically.", "Valid for 23 h; renewed automatically.",
      ],
      next: "/PATH", signIn: "POST /api/signin", wrong: (401, "Wrong Password"),
      unknown: (400, "No USER found by this email ID"), resource: "/api/get_photos", answer: "[]",
      header: "Authorization: Token token=", isRefreshable: true, revokes: true),
  ]
  static func named(_ preset: String) -> BackEnd {
    all.first { $0.preset == preset } ?? all[0]
  }

  static let ada = "ada@example.com"
  static let password = "correct horse battery"

  /// Adds the profile `it` and writes the application's key to a file.
  func add(to box: Sandbox, _ api: APIServer) async throws {
    try box.write("home/KEY", "demo-key:demo-secret\n")
    let run = try await box.run("profile", "add", "it", api.url, "--preset", preset, "-q")
    #expect(run.status == 0 && run.stdout == "" && run.stderr == "", "\(run.stderr)")
  }

  func login(
    _ box: Sandbox, _ name: String = ada, _ password: String = password, _ more: String...
  ) async throws -> Run {
    try await box.run(
      ["login", "-p", "it", "-u", name, "--password-stdin"] + options + more,
      stdin: password + "\n")
  }

  func signedIn(_ box: Sandbox) async throws {
    let run = try await login(box)
    #expect(run.status == 0, "\(run.stderr)")
  }
}

/// Each of the five back ends, from sign-in to sign-out.
@Suite struct FiveBackEndsTests {
  @Test(arguments: BackEnd.all) func aWholeSession(_ it: BackEnd) async throws {
    try await Sandbox.with { box in
      let api = try await box.api()
      try await it.add(to: box, api)
      let login = try await it.login(box)
      #expect(login.status == 0)
      #expect(login.stdout == "")
      #expect(
        it.validity.map {
          """
          Signed in to it as ada@example.com. \($0)
          Saved: session in the Secret Service (gnome-keyring).
          Default profile: it. To change it, run: authctl use NAME
          Next: authctl get \(it.next)

          """
        }.contains(login.stderr), "\(login.stderr)")
      #expect(try await api.count(it.signIn) == 1)
      #expect(
        box.read("config/authctl/profiles/it.toml") == """
          url = "\(api.url)"
          preset = "\(it.preset)"
          account = "ada@example.com"

          """)

      let whoami = try await box.run("whoami", "-p", "it")
      #expect(whoami.status == 0)
      #expect(whoami.stdout == "ada@example.com\n")
      let remark = "it has no whoami request; this is the name you signed in with.\n"
      #expect(whoami.stderr == (it.whoami == nil ? remark : ""))
      if let route = it.whoami { #expect(try await api.count(route) == 1) }

      let status = try await box.run("status", "--json")
      #expect(status.status == 0 && status.stderr == "")
      let row = try JSON(parsing: status.stdout)[0]
      #expect(row?["profile"] == "it" && row?["account"] == "ada@example.com")
      #expect(row?["origin"] == .string(api.url) && row?["state"] == "valid")
      #expect(row?["refreshable"] == .bool(it.isRefreshable) && row?["default"] == true)
      #expect(row?["store"] == "secret-service")
      #expect((row?["expires_at"] != .null) == it.hasExpiry)
      #expect((row?["seconds_left"] != .null) == it.hasExpiry)

      let get = try await box.run("get", it.resource)
      #expect(get.status == 0 && get.stderr == "")
      #expect(get.stdout.hasPrefix(it.answer))

      let token = try await box.run("token", "-p", "it", "--header")
      #expect(token.status == 0 && token.stderr == "")
      #expect(token.stdout.hasPrefix(it.header))
      let value = token.stdout.dropFirst(it.header.count).dropLast()
      #expect(try await box.run("token").stdout == value + "\n")
      let sent = try await api.requests().last { $0["path"] == .string(it.resource) }
      let carried = sent?["headers"]?["authorization"]?.string ?? ""
      #expect("Authorization: \(carried)\n" == token.stdout)

      let logout = try await box.run("logout", "-p", "it")
      #expect(logout.status == 0 && logout.stdout == "")
      let place = it.revokes == true ? "at the server and on this machine" : "on this machine only"
      #expect(logout.stderr == "Signed out of it as ada@example.com, \(place).\n")
      #expect(try await box.items().isEmpty)

      let before = try await api.counts()
      let after = try await box.run("get", it.resource)
      #expect(after.status == 10 && after.stdout == "")
      #expect(
        after.stderr == """
          authctl: not signed in to it (\(api.url))
          hint: authctl login -p it

          """)
      let again = try await box.run("logout")
      #expect(again.status == 0)
      #expect(again.stderr == "Not signed in to it.\n")
      #expect(try await api.counts() == before)
    }
  }

  @Test(arguments: BackEnd.all)
  func wrongPasswordAndUnknownUserAreRefusals(_ it: BackEnd) async throws {
    try await Sandbox.with { box in
      let api = try await box.api()
      try await it.add(to: box, api)
      func text(_ refusal: (status: Int, words: String?), _ name: String) -> String {
        "authctl: it refused this name and password (HTTP \(refusal.status))\n"
          + (refusal.words.map { "server: \($0)\n" } ?? "")
          + "hint: authctl login -p it -u \(name) --password-stdin\n"
      }
      let tries = [
        (BackEnd.ada, "wrong password", it.wrong), ("nobody@example.com", "any", it.unknown),
      ]
      for (name, password, refusal) in tries {
        let run = try await it.login(box, name, password)
        #expect(run.status == 14 && run.stdout == "")
        #expect(run.stderr == text(refusal, name))
      }
      #expect(try await box.items().isEmpty)
      #expect(box.read("config/authctl/profiles/it.toml")?.utf8.contains(0x40) == false)

      // A failed sign-in does not change the existing session.
      try await it.signedIn(box)
      let stored = try await box.items()
      let run = try await it.login(box, BackEnd.ada, "wrong password", "--json")
      #expect(run.status == 14 && run.stdout == "")
      let error = try JSON(parsing: run.stderr)["error"]
      #expect(error?["code"] == "credentials_refused" && error?["exit"] == 14)
      #expect(error?["status"] == JSON.number(Double(it.wrong.status)))
      #expect(error?["server"] == it.wrong.words.map { .string($0) } ?? .null)
      #expect(error?["url"] == .string(api.url + it.signIn.dropFirst(5)))
      #expect(error?["profile"] == "it")
      #expect(try await box.items().map(\.secret) == stored.map(\.secret))
    }
  }

  /// An invalid token that looks valid is detected by the server's 401.
  @Test(arguments: BackEnd.all) func aTokenThatTheServerEnded(_ it: BackEnd) async throws {
    try await Sandbox.with { box in
      let api = try await box.api()
      try await it.add(to: box, api)
      try await it.signedIn(box)
      try await api.expire()
      let run = try await box.run("get", it.resource)
      let count = try await api.count("GET \(it.resource)")
      if it.isRefreshable {
        #expect(run.status == 0 && run.stderr == "", "\(run.stderr)")
        #expect(run.stdout.hasPrefix(it.answer))
        #expect(count == 2)
        return
      }
      let words = ["express-jwt": "Token expired", "rails-jwt": "Unauthorized"][it.preset]
      #expect(run.status == 11 && run.stdout == "")
      #expect(
        run.stderr
          == "authctl: it: session of ada@example.com was refused by the server; it cannot be renewed\n"
          + (words.map { "server: \($0)\n" } ?? "")
          + "hint: authctl login -p it -u ada@example.com\n")
      #expect(count == 1)
      let refresh = try await box.run("refresh")
      #expect(refresh.status == 11 && refresh.stdout == "")
      #expect(try await box.items().count == 1)
    }
  }

  @Test func expressJWTExpiresByTheAnswersExp() async throws {
    try await Sandbox.with { box in
      let api = try await box.api("--token-ttl", "1")
      let it = BackEnd.named("express-jwt")
      try await it.add(to: box, api)
      try await it.signedIn(box)
      try await Task.sleep(for: .seconds(1.1))
      let status = try await box.run("status", "--json")
      let row = try JSON(parsing: status.stdout)[0]
      #expect(row?["state"] == "expired" && row?["refreshable"] == false)
      #expect(row?["seconds_left"]?.number ?? 1 <= 0)
      let run = try await box.run("get", it.resource)
      #expect(run.status == 11 && run.stdout == "")
      let lines = run.stderr.split(separator: "\n")
      #expect(lines.count == 2)
      #expect(lines.first?.hasPrefix("authctl: it: session of ada@example.com expired ") == true)
      #expect(lines.first?.hasSuffix(" s ago; it cannot be renewed") == true)
      #expect(lines.last == "hint: authctl login -p it -u ada@example.com")
      #expect(try await api.count("GET \(it.resource)") == 0)
      #expect(try await box.run("token").status == 11)
      #expect(try await box.run("status", "--check").status == 11)
    }
  }

  @Test func vaporBasicRenewsBeforeItsFractionalExp() async throws {
    try await Sandbox.with { box in
      let api = try await box.api("--token-ttl", "1")
      let it = BackEnd.named("vapor-basic")
      try await it.add(to: box, api)
      try await it.signedIn(box)
      let first = try await box.items().first?.secret
      try await Task.sleep(for: .seconds(1.1))
      let row = try JSON(parsing: try await box.run("status", "--json").stdout)[0]
      #expect(row?["state"] == "refreshable" && row?["refreshable"] == true)
      #expect(try await box.run("status", "--check").status == 0)
      let run = try await box.run("get", it.resource)
      #expect(run.status == 0 && run.stderr == "")
      #expect(run.stdout.contains(#""picture":"\/pictures\/1.png""#))
      #expect(try await api.count("POST /api/v1/refresh") == 1)
      #expect(try await api.count("GET \(it.resource)") == 1)
      let second = try await box.items()
      #expect(second.count == 1 && second.first?.secret != first)

      let refresh = try await box.run("refresh", "--json")
      #expect(refresh.status == 0)
      #expect(refresh.stderr.hasPrefix("Renewed it as ada@example.com. Valid for "))
      let sent = try await api.requests().filter { $0["path"] == "/api/v1/refresh" }
      let tokens = try sent.map { try JSON(parsing: $0["body"]?.string ?? "")["refreshToken"] }
      #expect(tokens.count == 2 && tokens[0] != tokens[1])
      let bare = sent.allSatisfy { $0["headers"]?["authorization"] == nil }
      #expect(bare)
    }
  }

  /// A refresh token works once: if another program has used it, it is refused, and the session
  /// ends.
  @Test func vaporBasicRefusedRenewalEndsTheSession() async throws {
    try await Sandbox.with { box in
      let api = try await box.api()
      let it = BackEnd.named("vapor-basic")
      try await it.add(to: box, api)
      try await it.signedIn(box)
      try await api.misbehave([
        "path": "/api/v1/refresh", "status": 401,
        "body": #"{"reason":"Unauthorized","error":true}"#,
      ])
      try await api.expire()
      let run = try await box.run("get", it.resource)
      #expect(run.status == 11 && run.stdout == "")
      #expect(
        run.stderr == """
          authctl: it: session of ada@example.com was refused by the server; the server refused to renew it
          server: HTTP 401: Unauthorized
          hint: authctl login -p it -u ada@example.com

          """)
    }
  }

  @Test(arguments: ["vapor-basic", "rails-jwt", "rails-turbo"])
  func whereThereIsNoRegistration(_ preset: String) async throws {
    try await Sandbox.with { box in
      let api = try await box.api()
      try await BackEnd.named(preset).add(to: box, api)
      let run = try await box.run(
        "register", "-u", BackEnd.ada, "--password-stdin", stdin: "secret1\n")
      #expect(run.status == 2 && run.stdout == "")
      #expect(
        run.stderr == """
          authctl: it: this profile has no registration
          hint: if the API has one: authctl profile set it register.path=/PATH

          """)
      #expect(try await api.counts() == [:])
    }
  }

  @Test func expressJWTRegisters() async throws {
    try await Sandbox.with { box in
      let api = try await box.api()
      let it = BackEnd.named("express-jwt")
      try await it.add(to: box, api)
      let new = "new@example.com"
      func register(_ password: String, _ more: String...) async throws -> Run {
        try await box.run(
          ["register", "-p", "it", "-u", new, "--password-stdin"] + more, stdin: password + "\n")
      }
      func refused(_ run: Run, _ status: Int, _ words: String) {
        #expect(run.status == 14 && run.stdout == "")
        #expect(
          run.stderr
            == "authctl: it refused this registration (HTTP \(status))\nserver: \(words)\n")
      }
      let short = "Password must be at least 6 characters long"
      let password = box.canary.make("password", suffix: ":\"é'\\ ")
      refused(try await register(password), 400, "Role must be provided.")
      refused(try await register("short", "--field", "roleId=1"), 400, short)
      let done = try await register(password, "--field", "roleId=1")
      #expect(done.status == 0 && done.stdout == "")
      #expect(
        done.stderr == """
          Registered \(new) at it; nothing was stored.
          Next: authctl login -p it -u \(new)

          """)
      let body = try JSON(parsing: try await api.requests().last?["body"]?.string ?? "")
      #expect(body == ["email": .string(new), "password": .string(password), "roleId": 1])
      #expect(try await box.items().isEmpty)
      let again = try await register(password, "--field", "roleId=1")
      refused(again, 409, "Email is already registered.")
      #expect(try await it.login(box, new, password).status == 0)
    }
  }

  @Test func railsSelfieRegistersByTheApplicationsKey() async throws {
    try await Sandbox.with { box in
      let api = try await box.api()
      let it = BackEnd.named("rails-selfie")
      try await it.add(to: box, api)
      func register(_ more: String...) async throws -> Run {
        try await box.run(
          ["register", "-u", "new@example.com", "--password-stdin"] + more, stdin: "secret1\n")
      }
      let keyless = try await register("--field", "full_name=New Person")
      #expect(keyless.status == 10 && keyless.stdout == "")
      #expect(
        keyless.stderr.hasPrefix("authctl: it: the API requires the application's key\nhint: "))
      #expect(try await api.counts() == [:])
      let nameless = try await register("--app-key-file", "KEY")
      #expect(nameless.status == 14)
      #expect(
        nameless.stderr == """
          authctl: it refused this registration (HTTP 400)
          server: required parameters are missing

          """)
      let done = try await register("--app-key-file", "KEY", "--field", "full_name=New Person")
      #expect(done.status == 0, "\(done.stderr)")
      #expect(try await box.items().isEmpty)
      let sent = try await api.requests().last
      #expect(sent?["headers"]?["authorization"] == "Basic ZGVtby1rZXk6ZGVtby1zZWNyZXQ=")
      #expect(
        try JSON(parsing: sent?["body"]?.string ?? "") == [
          "full_name": "New Person", "email": "new@example.com", "password": "secret1",
        ])
      let again = try await register("--app-key-file", "KEY", "--field", "full_name=New Person")
      #expect(again.status == 14)
      #expect(again.stderr.contains("\nserver: Email has already been taken\n"))
      let login = try await it.login(box, "new@example.com", "secret1")
      #expect(login.status == 0)
    }
  }
}
