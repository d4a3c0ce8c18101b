import Testing

/// The part of a URL before the `@` may be a password: no message repeats it (rule B7).
@Suite struct UserInformationTests {
  private static let addresses = [
    "http://USER:SECRET@127.0.0.1:9/", "HTTP://USER:SECRET@127.0.0.1:9/x?y#z",
    "https://SECRET@127.0.0.1:9/", "http:/USER:SECRET@h/", "//USER:SECRET@h/x",
    "ftp://USER:SECRET@h/", "http://USER:SECRET@h\\x", "USER:SECRET@h", "USER:SECRET@h:80/x",
    "http://USER:SECRET@@h/", "http://USER:a/SECRET@h/", "http://USER:a b SECRET@h/",
    "http://\(String(repeating: "USER", count: 60)):SECRET@h/",
  ]
  private static let commands: [[String]] = [
    ["profile", "add", "a", "URL"], ["login", "URL"], ["login", "-p", "shop", "URL"],
    ["profile", "detect", "URL"], ["profile", "set", "shop", "url=URL"],
    ["profile", "set", "shop", "login.path=URL"], ["profile", "set", "shop", "network.proxy=URL"],
    ["profile", "set", "shop", "network.allow_origins=URL"],
    ["profile", "set", "shop", "network.sign_in_origins=URL"],
    ["profile", "set", "shop", "URL"], ["profile", "set", "URL", "url=x"],
    ["profile", "add", "b", "http://127.0.0.1:9", "--set", "url=URL"],
    ["profile", "add", "b", "http://127.0.0.1:9", "--send", "URL"],
    ["profile", "import", "URL"], ["profile", "check", "URL"], ["profile", "show", "URL"],
    ["get", "URL"], ["get", "-p", "shop", "URL"], ["get", "-p", "URL", "/x"],
    ["get", "-p", "shop", "/x", "URL"], ["get", "-p", "shop", "/x", "--bogus", "URL"],
    ["get", "-p", "shop", "/x", "--bogus=URL"], ["get", "-p", "shop", "/x", "-x", "URL"],
    ["get", "-p", "shop", "/x", "--proxy=URL"], ["get", "-p", "shop", "/x", "--preproxy", "URL"],
    ["get", "-p", "shop", "/x", "--resolve", "URL"],
    ["get", "-p", "shop", "/x", "--connect-to", "URL"],
    ["get", "-p", "shop", "/x", "--max-time", "URL"], ["get", "-p", "shop", "/x", "-m=URL"],
    ["helper", "curl-config", "-p", "shop", "URL"], ["jwt", "decode", "URL"],
    ["login", "--from-curl", "URL"], ["status", "URL"], ["URL"], ["help", "URL"],
    ["doctor", "URL"], ["batch", "-p", "shop", "URL"],
  ]
  private static let variables: [([String: String], [String])] = [
    (["AUTHCTL_URL": "URL"], ["get", "/x"]), (["AUTHCTL_URL": "URL"], ["token"]),
    (["AUTHCTL_URL": "URL"], ["get", "-p", "shop", "/x"]),
    (["AUTHCTL_PROFILE": "URL"], ["get", "/x"]),
    (["https_proxy": "URL", "AUTHCTL_URL": "https://127.0.0.1:9"], ["get", "/x"]),
    (["ALL_PROXY": "URL", "AUTHCTL_URL": "https://127.0.0.1:9"], ["get", "-v", "/x"]),
    (["HTTPS_PROXY": "URL"], ["doctor"]), (["HTTPS_PROXY": "URL"], ["doctor", "--json"]),
    (["CURL_CA_BUNDLE": "URL", "AUTHCTL_URL": "https://127.0.0.1:9"], ["get", "/x"]),
    (["AUTHCTL_STORE": "URL"], ["status"]),
    (
      ["KUBERNETES_EXEC_INFO": #"{"spec":{"cluster":{"server":"URL"}}}"#],
      ["helper", "kubectl", "-p", "shop"]
    ),
  ]

  @Test(arguments: addresses) func isNotRepeated(_ address: String) async throws {
    try await Sandbox.with(.none) { box in
      let (user, secret) = ("us3r", "hunter2-hunter2")
      let address = address.replacing("USER", with: user).replacing("SECRET", with: secret)
      try box.profile("shop", Scene.profile("http://127.0.0.1:9"))
      for (env, words) in Self.variables + Self.commands.map({ ([:], $0) }) {
        let words = words.map { $0.replacing("URL", with: address) }
        // Only the values: the names contain URL too.
        var variables: [String: String?] = ["AUTHCTL_TOKEN": "a-token"]
        for (name, value) in env { variables[name] = value.replacing("URL", with: address) }
        for errors in ["text", "json"] {
          variables["AUTHCTL_ERRORS"] = errors
          let run = try await box.run(words, env: variables)
          let shown = run.stdout + run.stderr
          #expect(!shown.contains("hunter2"), "\(words) \(env.keys): \(shown)")
          #expect(!shown.contains(user + ":"), "\(words) \(env.keys): \(shown)")
        }
      }
    }
  }

  @Test func messagesSayTheRest() async throws {
    try await Sandbox.with(.none) { box in
      let add = try await box.run("profile", "add", "a", "http://u:p@127.0.0.1:9/x")
      #expect(add.status == 2)
      #expect(add.stdout == "")
      #expect(add.stderr.hasPrefix("authctl: http://127.0.0.1:9/x: "), "\(add.stderr)")
      let extra = try await box.run("status", "http://u:p@127.0.0.1:9/x")
      #expect(extra.status == 2)
      #expect(
        extra.stderr == """
          authctl: http://127.0.0.1:9/x is a URL, not a profile
          hint: authctl profile list

          """)
      // An e-mail address is not user information.
      let account = try await box.run("get", "-p", "ada@shop.example", "/x")
      #expect(account.stderr.contains("\"ada@shop.example\""), "\(account.stderr)")
    }
  }

  /// A command printed for pasting is complete and on one line: an account may contain a colon.
  @Test func printedCommandsAreNotMasked() async throws {
    try await Sandbox.with { box in
      let script = Script()
      script["POST /register"] = .http(201, "{}")
      let shop = try Shop(box, try box.recorder(answering: script.answering).url)
      let account = "acct:" + String(repeating: "ada.", count: 20) + "@shop.example"
      let command = "authctl login -p shop -u \(account)"
      // `-u` takes it only for an account with a session: it could be a name and a password.
      let env = ["AUTHCTL_USERNAME": account]
      let get = try await box.run(["get", "/x"], env: env)
      #expect(get.stdout == "" && get.status == 10)
      #expect(get.stderr == "authctl: not signed in to shop (\(shop.url))\nhint: \(command)\n")
      let json = try await box.run(["get", "/x", "--errors", "json"], env: env)
      #expect(json.stdout == "" && json.status == 10)
      let error = try JSON(parsing: json.stderr)["error"]
      #expect(error?["hint"]?.string == command && error?["account"]?.string == account)
      let register = try await box.run(
        "register", "-u", account, "--password-stdin", stdin: "a password\n")
      #expect(register.stdout == "" && register.status == 0)
      #expect(register.stderr.hasSuffix("\nNext: \(command)\n"), "\(register.stderr)")
    }
  }
}
