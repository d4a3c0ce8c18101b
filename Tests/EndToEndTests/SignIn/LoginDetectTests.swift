import Glibc
import Testing

/// `authctl login` for an unknown API: the questions, the detected settings, and their
/// confirmation.
@Suite struct LoginDetectTests {
  /// So that messages show the usual paths.
  private static let home: [String: String?] = ["XDG_CONFIG_HOME": nil]
  private static let folder = "home/.config/authctl/profiles/"

  /// The only profile.
  private func profile(_ box: Sandbox) -> String? { names(box).first.flatMap { box.read($0) } }

  /// The files of the profiles.
  private func names(_ box: Sandbox) -> [String] {
    box.files().filter { $0.hasPrefix(Self.folder) }
  }

  /// An API of SimpleJWT and djoser. Its tokens are made with the response.
  private func simpleJWT(_ box: Sandbox) throws -> Recorder {
    try box.recorder { index, request in
      guard Scene.route(of: request) == "POST /api/token/" else {
        return Look.serving(Look.simpleJWT)(index, request)
      }
      let (refresh, access) = (Look.token(86_400), Look.token(900))
      return .http(200, #"{"refresh":"\#(refresh)","access":"\#(access)"}"#)
    }
  }

  private static let found =
    "Found /openapi.json: signs in with JSON at /api/token/, like simplejwt.\n"
  private static func saved(_ api: Recorder) -> String {
    """
    Saved: session in the Secret Service (gnome-keyring), profile in
    ~/.config/authctl/profiles/\(api.profileName).toml
    Default profile: \(api.profileName). To change it, run: authctl use NAME

    """
  }

  // MARK: On a terminal

  @Test func knownAPI() async throws {
    try await Sandbox.with { box in
      let (api, password) = (try simpleJWT(box), box.canary.make("password"))
      let run = try await box.terminal(
        ["-c", "\"$0\" login >\"$HOME/out\"", try Built.authctl()],
        answers: [
          ("sign-in URL):\n> ".crlf, api.url + "\n"), ("[Y/n] ", "\n"),
          ("Account: ", "ada@shop.example\n"), ("Password for ", password + "\n"),
        ], env: Self.home, program: "/bin/sh")
      #expect(run.status == 0)
      #expect(
        run.screen == """
          API URL (its base URL or its sign-in URL):
          > \(api.url)
          \(Self.found)Use preset simplejwt? [Y/n]\u{20}
          Account: ada@shop.example
          Password for ada@shop.example at \(api.url):\u{20}
          Signed in to \(api.profileName) as ada@shop.example. Valid for 15 min; renewed
          automatically.
          \(Self.saved(api))Next: authctl get /auth/users/me/

          """)
      #expect(box.read("home/out") == "")
      #expect(Look.asked(api) == ["GET /", "GET /openapi.json", "POST /api/token/"])
      #expect(
        Look.body(api.texts.last)
          == #"{"username":"ada@shop.example","password":"\#(password)"}"#)
      #expect(
        profile(box) == """
          url = "\(api.url)"
          preset = "simplejwt"
          account = "ada@shop.example"

          """)
      #expect(try await box.items().count == 1)
    }
  }

  @Test func unknownAPI() async throws {
    try await Sandbox.with { box in
      let password = box.canary.make("password")
      let api = try box.recorder { _, request in
        Scene.route(of: request) == "POST /api/auth/login"
          ? .http(200, #"{"data":{"jwt":"\#(Look.token(3600))","id":7}}"#) : .http(404)
      }
      let body = #"{"user":"{username}","pass":"{password}"}"#
      let run = try await box.terminal(
        ["login", api.url],
        answers: [
          ("Sign-in path [/login]: ", "/api/auth/login\n"), ("]:\n> ".crlf, body + "\n"),
          ("Account: ", "ada\n"), ("Password for ", password + "\n"),
        ], env: Self.home)
      #expect(run.status == 0)
      let looks = Look.asked(api).dropLast()
      #expect(
        run.screen == """
          The API at \(api.url) was not recognized (\(looks.count) requests sent).
          Sign-in path [/login]: /api/auth/login
          Body, as JSON [{"username":"{username}","password":"{password}"}]:
          > \(body)
          Account: ada
          Password for ada at \(api.url):\u{20}
          Found the token at /data/jwt, the only JWT in the answer.
          Signed in to \(api.profileName) as ada. Valid for 60 min; cannot be renewed.
          \(Self.saved(api))Next: authctl get /PATH

          """)
      #expect(looks.count <= 12 && Look.posts(api) == ["POST /api/auth/login"])
      #expect(Look.body(api.texts.last) == #"{"user":"ada","pass":"\#(password)"}"#)
      #expect(
        profile(box) == """
          url = "\(api.url)"
          preset = "json"
          account = "ada"

          [login]
          path = "/api/auth/login"
          body = { user = "{username}", pass = "{password}" }

          """)
    }
  }

  @Test func noIsAskedFurther() async throws {
    try await Sandbox.with { box in
      let api = try box.recorder(
        answering: Look.serving(
          Look.simpleJWT, ["POST /login": .http(200, #"{"token":"opaque-1"}"#)]))
      let run = try await box.terminal(
        ["login", api.url],
        answers: [
          ("[Y/n] ", "what\n"), ("[Y/n] ", "n\n"), ("Sign-in path [/login]: ", "\n"),
          ("]:\n> ".crlf, "\n"), ("Account: ", "ada\n"), ("Password for ", "a password\n"),
        ], env: Self.home)
      #expect(run.status == 0)
      #expect(
        run.screen == """
          \(Self.found)Use preset simplejwt? [Y/n] what
          Use preset simplejwt? [Y/n] n
          Sign-in path [/login]:\u{20}
          Body, as JSON [{"username":"{username}","password":"{password}"}]:
          >\u{20}
          Account: ada
          Password for ada at \(api.url):\u{20}
          Signed in to \(api.profileName) as ada. The server did not say when it expires.
          \(Self.saved(api))Next: authctl get /PATH

          """)
      #expect(Look.posts(api) == ["POST /login"])
      #expect(profile(box)?.contains("simplejwt") == false)
    }
  }

  @Test func signsInByBasicWhereThatIsWanted() async throws {
    try await Sandbox.with { box in
      let password = box.canary.make("password")
      let api = try box.recorder { _, request in
        String(decoding: request, as: UTF8.self).contains("\r\nAuthorization: Basic ")
          ? .http(200, "{}")
          : .http(401, "{}", headers: [("WWW-Authenticate", "Basic realm=\"x\"")])
      }
      let run = try await box.terminal(
        ["login", api.url, "-u", "ada"],
        answers: [("[Y/n] ", "y\n"), ("Password for ada at \(api.url): ", password + "\n")],
        env: Self.home)
      #expect(run.status == 0, "\(run.screen)")
      #expect(
        run.screen.hasPrefix(
          "Found /: requires Basic authentication.\nUse preset http-basic? [Y/n] y\n"),
        "\(run.screen)")
      #expect(profile(box)?.contains("preset = \"http-basic\"\n") == true)
      #expect(api.texts.last?.hasPrefix("GET / HTTP/1.1\r\n") == true)
    }
  }

  /// An answer that ends the command without sign-in and without writing a file.
  @Test func endOfInputAtEachQuestion() async throws {
    try await Sandbox.with { box in
      let (known, unknown) = (try simpleJWT(box), try box.recorder { _, _ in .http(404) })
      let address = ("sign-in URL):\n> ".crlf, known.url + "\n")
      let path = ("Sign-in path [/login]: ", "/x\n")
      let ways: [(words: [String], answers: [(waitFor: String, type: String)])] = [
        (["login"], [("sign-in URL):\n> ".crlf, "\u{4}")]),
        (["login"], [address, ("[Y/n] ", "\u{4}")]),
        (["login", unknown.url], [("Sign-in path [/login]: ", "\u{4}")]),
        (["login", unknown.url], [path, ("]:\n> ".crlf, "\u{4}")]),
      ]
      for (words, answers) in ways {
        let run = try await box.terminal(words, answers: answers, env: Self.home)
        #expect(run.status == 10, "\(run.screen)")
        #expect(run.screen.contains("authctl: no answer was given\n"), "\(run.screen)")
        var interrupted = answers
        interrupted[interrupted.count - 1].type = "\u{3}"
        let other = try await box.terminal(words, answers: interrupted, env: Self.home)
        #expect(other.status == 130, "\(other.screen)")
      }
      let wrong = [path, ("]:\n> ".crlf, "[1]\n")]
      let run = try await box.terminal(["login", unknown.url], answers: wrong, env: Self.home)
      #expect(run.status == 2)
      #expect(run.screen.contains("authctl: --body is not a JSON object\n"), "\(run.screen)")
      #expect(Look.posts(known).isEmpty && Look.posts(unknown).isEmpty)
      #expect(names(box) == [])
    }
  }

  @Test func anotherOriginIsToldAndNeverUsed() async throws {
    try await Sandbox.with { box in
      let (evil, password) = (try box.recorder(at: "127.0.0.2"), box.canary.make("password"))
      let document = Look.document(
        Look.post("/login"),
        #""servers":[{"url":"\#(evil.url)"}],"components":{"securitySchemes":{"s":"#
          + #"{"type":"oauth2","flows":{"password":{"tokenUrl":"\#(evil.url)/login"}}}}}"#)
      let api = try box.recorder(
        answering: Look.serving(document, ["POST /login": .http(200, #"{"token":"opaque-1"}"#)]))
      let run = try await box.terminal(
        ["login", api.url, "-u", "ada"],
        answers: [
          // A description of another origin is not reliable for this one.
          ("Sign-in path [/login]: ", "\n"), ("]:\n> ".crlf, "\n"),
          ("Password for ada at \(api.url): ", password + "\n"),
        ], env: Self.home)
      #expect(run.status == 0, "\(run.screen)")
      #expect(evil.connections.isEmpty)
      #expect(Scene.holds(api, [password]) == [password])
      #expect(profile(box)?.contains(evil.authority) == false)
    }
  }

  // MARK: Without a terminal

  @Test func nobodyToSayYes() async throws {
    try await Sandbox.with { box in
      let api = try simpleJWT(box)
      let words = ["login", api.url, "-u", "ada", "--password-stdin"]
      let said = """
        \(Self.found)authctl: authctl found a sign-in, but cannot ask here whether to use it
        hint: authctl login \(api.url) --preset simplejwt

        """
      let pipe = try await box.run(words, stdin: "a password\n", env: Self.home)
      #expect(pipe.status == 10 && pipe.stdout == "")
      #expect(pipe.stderr == said)
      let screen = try await box.terminal(
        ["login", api.url, "-u", "ada", "--no-input"],
        env: Self.home.merging(["AUTHCTL_PASSWORD": "a password"]) { $1 })
      #expect(screen.status == 10)
      #expect(screen.screen == said)
      let variable = try await box.terminal(
        ["login", api.url], env: Self.home.merging(["AUTHCTL_NO_INPUT": "1"]) { $1 })
      #expect(variable.status == 10)
      #expect(variable.screen == said)
      #expect(Look.posts(api).isEmpty)
      #expect(names(box) == [])
      #expect(try await box.items().isEmpty)
      // The command in the hint works.
      let mended = try await box.run(
        ["login", api.url, "--preset", "simplejwt", "-u", "ada", "--password-stdin"],
        stdin: "a password\n", env: Self.home)
      #expect(mended.status == 0, "\(mended.stderr)")
      #expect(Look.posts(api) == ["POST /api/token/"])
    }
  }

  /// If no preset fits, the recipe comes from the document.
  @Test func whatNoPresetHas() async throws {
    let document = Look.document(
      Look.post(
        "/v1/sessions", #"{"properties":{"email":{},"password":{}}}"#,
        answer: #"{"properties":{"data":{"properties":{"token":{}}}}}"#))
    try await Sandbox.with { box in
      let more = ["POST /v1/sessions": Recorder.Answer.http(200, #"{"data":{"token":"opaque"}}"#)]
      let api = try box.recorder(answering: Look.serving(document, more))
      let found = "Found /openapi.json: signs in with JSON at /v1/sessions.\n"
      let words = ["login", api.url, "-u", "ada", "--password-stdin"]
      let pipe = try await box.run(words, stdin: "a password\n", env: Self.home)
      #expect(pipe.status == 10 && pipe.stdout == "")
      #expect(
        pipe.stderr == """
          \(found)authctl: authctl found a sign-in, but cannot ask here whether to use it
          hint: use --yes to accept the detected settings

          """)
      #expect(Look.posts(api).isEmpty && names(box) == [])
      let yes = try await box.run(
        words + ["-p", "one", "--yes"], stdin: "a password\n", env: Self.home)
      #expect(yes.status == 0, "\(yes.stderr)")
      let screen = try await box.terminal(
        ["login", api.url, "-u", "ada", "-p", "two"],
        answers: [("? [Y/n] ", "\n"), ("Password for ", "a password\n")], env: Self.home)
      #expect(screen.status == 0 && screen.screen.hasPrefix(found))
      #expect(Look.posts(api) == ["POST /v1/sessions", "POST /v1/sessions"])
      #expect(Look.body(api.texts.last) == #"{"email":"ada","password":"a password"}"#)
      #expect(names(box).count == 2)
    }
  }

  @Test func yesIsSaidBeforehand() async throws {
    try await Sandbox.with { box in
      let (api, password) = (try simpleJWT(box), box.canary.make("password"))
      let run = try await box.run(
        ["login", api.url, "-u", "ada", "--password-stdin", "--yes"], stdin: password + "\n",
        env: Self.home)
      #expect(run.status == 0 && run.stdout == "")
      #expect(
        run.stderr == """
          \(Self.found)Signed in to \(api.profileName) as ada. Valid for 15 min; renewed automatically.
          \(Self.saved(api))Next: authctl get /auth/users/me/

          """)
      #expect(Look.asked(api) == ["GET /", "GET /openapi.json", "POST /api/token/"])
      // The API is known now: no detection, no question.
      let again = try await box.run(
        ["login", api.url, "--password-stdin"], stdin: password + "\n", env: Self.home)
      #expect(again.status == 0, "\(again.stderr)")
      #expect(Look.asked(api).count == 4)
    }
  }

  /// Settings that are the default without detection need no confirmation with it.
  @Test func usualSignInNeedsNobody() async throws {
    try await Sandbox.with { box in
      let usual = Look.document(Look.post("/login"))
      let page = Recorder.Answer.http(200, "<html></html>", type: "text/html")
      let looks: [[String: Recorder.Answer]] = [
        [:], ["GET /openapi.json": .http(200, usual)], ["GET /": page, "GET /openapi.json": page],
        ["GET /openapi.json": .http(500, "{")],
      ]
      for (index, answers) in looks.enumerated() {
        let more = ["POST /login": Recorder.Answer.http(200, #"{"token":"opaque-1"}"#)]
        let api = try box.recorder(answering: Scene.routes(answers.merging(more) { $1 }))
        let run = try await box.run(
          ["login", api.url, "-p", "n\(index)", "-u", "ada", "--password-stdin"],
          stdin: "a password\n", env: Self.home)
        #expect(run.status == 0 && run.stdout == "", "\(index): \(run.stderr)")
        #expect(!run.stderr.contains("not recognized"))
        #expect(Look.posts(api) == ["POST /login"])
        #expect(
          Look.body(api.texts.last) == #"{"username":"ada","password":"a password"}"#)
      }
    }
  }

  // MARK: Without detection

  /// Settings given by options make detection unnecessary.
  @Test func whatIsSaidIsNotLookedFor() async throws {
    try await Sandbox.with { box in
      let api = try box.recorder(
        answering: Look.serving(
          Look.simpleJWT,
          [
            "POST /api/login": .http(200, #"{"token":"opaque-1"}"#),
            "POST /login": .http(200, #"{"token":"opaque-1"}"#),
          ]))
      let ways: [(url: String, words: [String], env: [String: String?])] = [
        ("/api/login", [], [:]), ("/api/login/", [], [:]), ("", ["--preset", "json"], [:]),
        ("", ["--body", #"{"u":"{username}","p":"{password}"}"#], [:]), ("", ["--form"], [:]),
        ("", ["--token-at", "/token"], [:]), ("", ["--set", "login.path=/api/login"], [:]),
        ("", ["--send", "X-Token: {access_token}"], [:]),
        ("", [], ["AUTHCTL_TOKEN": "given"]),
      ]
      for (index, way) in ways.enumerated() {
        let run = try await box.run(
          ["login", api.url + way.url, "-p", "n\(index)", "-u", "ada", "--password-stdin"]
            + way.words, stdin: "a password\n", env: Self.home.merging(way.env) { $1 })
        #expect(way.url.hasSuffix("/") || run.status == 0, "\(way): \(run.stderr)")
      }
      #expect(!api.connections.isEmpty)
      #expect(Look.asked(api).filter { !$0.hasPrefix("POST ") } == [])
    }
  }

  /// Without a store for the session, login must not ask for a password.
  @Test func withoutAStoreNothingIsAskedOrSent() async throws {
    for kind in [Sandbox.Kind.busOnly, .none, .keyring] {
      try await Sandbox.with(kind) { box in
        if case .keyring = kind { try await box.lockKeyring() }
        let api = try simpleJWT(box)
        // A locked keyring could be unlocked on the terminal.
        let run = try await box.terminal(["login", api.url, "--no-input"], env: Self.home)
        #expect(run.status == 12, "\(run.screen)")
        #expect(run.screen.hasPrefix("authctl: "), "\(run.screen)")
        let pipe = try await box.run(
          ["login", api.url, "-u", "ada", "--password-stdin"], stdin: "a password\n",
          env: Self.home)
        #expect(pipe.status == 12 && pipe.stdout == "", "\(pipe.stderr)")
        #expect(api.connections.isEmpty)
      }
    }
  }

  @Test func nobodyAnswers() async throws {
    try await Sandbox.with { box in
      let words = ["login", "http://127.0.0.1:1"]
      let options: [([String], String)] = [([], ""), (["--yes", "-u", "ada"], " -u ada --yes")]
      for (more, repeated) in options {
        let run = try await box.run(words + more, env: Self.home)
        #expect(run.status == 7 && run.stdout == "")
        #expect(
          run.stderr == """
            authctl: cannot reach http://127.0.0.1:1: connection refused
            hint: authctl login http://127.0.0.1:1\(repeated)

            """)
      }
      #expect(names(box) == [])
    }
  }
}

extension String {
  /// The text with a terminal's line endings.
  fileprivate var crlf: String { replacing("\n", with: "\r\n") }
}
