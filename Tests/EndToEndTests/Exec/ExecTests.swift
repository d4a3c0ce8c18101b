import Glibc
import Testing

/// `authctl exec`: the program's environment, and exit codes. Design 3 and 9, rules A1, B11, B15
/// and T4.
@Suite struct ExecTests {
  /// A shop with a session whose tokens the canary watches.
  private func withShop(
    _ body: (Sandbox, Recorder, _ access: String) async throws -> Void
  ) async throws {
    try await Sandbox.with { box in
      let (access, refresh) = (box.canary.make("access"), box.canary.make("refresh"))
      let api = try box.recorder(
        answering: Scene.routes([
          "POST /login": Scene.tokens(access, refresh), "GET /x": .http(200, "body"),
        ]))
      try box.profile("shop", Scene.profile(api.url))
      try await box.signIn("shop")
      try await body(box, api, access)
    }
  }

  /// The environment of a program run by `exec` with these options.
  private func environment(
    _ box: Sandbox, _ options: [String], env: [String: String?] = [:], mayPrint: [String],
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws -> [String: String] {
    let run = try await box.run(
      ["exec"] + options + ["--", "/usr/bin/env", "-0"], env: env, mayPrint: mayPrint)
    #expect(run.status == 0, sourceLocation: sourceLocation)
    #expect(run.stderr == "", sourceLocation: sourceLocation)
    return ExecScene.environment(run.stdoutBytes)
  }

  // MARK: Environment

  @Test func programGetsTokenOriginAndProfileTogether() async throws {
    try await withShop { box, api, access in
      let own: [String: String?] = ["EMPTY": "", "EQUALS": "a=b=", "LINES": "one\ntwo\n"]
      var wanted = box.environment(own)
      wanted["AUTHCTL_TOKEN"] = access
      wanted["AUTHCTL_URL"] = api.url
      wanted["AUTHCTL_PROFILE"] = "shop"
      let found = try await environment(box, ["-p", "shop"], env: own, mayPrint: [access])
      #expect(found == wanted)
      // Variables set by another exec or by the user are replaced.
      let stale: [String: String?] = ["AUTHCTL_URL": "https://other.example"]
      let again = try await environment(
        box, ["-p", "shop"], env: own.merging(stale) { $1 }, mayPrint: [access])
      #expect(again == wanted)
    }
  }

  /// --env also sets the URL and the profile of its token.
  @Test func envGivesWhatIsAskedForAndNothingElse() async throws {
    try await withShop { box, api, access in
      let whose: [String: String?] = ["AUTHCTL_URL": api.url, "AUTHCTL_PROFILE": "shop"]
      let cases: [(options: [String], wanted: [String: String])] = [
        (["--env", "TOKEN"], ["TOKEN": access]),
        (["--env", "AUTH=Bearer {access_token}"], ["AUTH": "Bearer \(access)"]),
        (
          ["--env", "A=x", "--env=B={access_token}", "--env", "_c1=={access_token}="],
          ["A": "x", "B": access, "_c1": "=\(access)="]
        ),
        (["--env", "EMPTY="], ["EMPTY": ""]),
        (["--env", "T", "--env", "T=last"], ["T": "last"]),
        (["--env", "HOME=elsewhere"], ["HOME": "elsewhere"]),
        (["--env", "AUTHCTL_TOKEN"], ["AUTHCTL_TOKEN": access]),
        (["--env", "U={username}"], ["U": Scene.account]),
        (
          ["--env", "B={basic:username:access_token}"],
          ["B": base64("\(Scene.account):\(access)")]
        ),
      ]
      for (options, wanted) in cases {
        let found = try await environment(box, ["-p", "shop"] + options, mayPrint: [access])
        #expect(found == box.environment(whose).merging(wanted) { $1 }, "\(options)")
      }
    }
  }

  private func base64(_ text: String) -> String {
    let bytes = Array(text.utf8)
    let padding = (3 - bytes.count % 3) % 3
    let whole = Canary.base64(bytes + [UInt8](repeating: 0, count: padding))
    return String(decoding: whole.dropLast(padding), as: UTF8.self)
      + String(repeating: "=", count: padding)
  }

  /// An --env that cannot be set is refused before anything is sent or run.
  @Test func badEnvIsRefused() async throws {
    try await withShop { box, api, access in
      let before = api.connections.count
      let names = [
        "PATH", "IFS", "ENV", "BASH_ENV", "LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "LD_", "",
        "1A", "A-B", "A B", "a.b", "\u{C9}", "A\n", "BASH_FUNC_x%%",
      ]
      for name in names {
        for item in [name, name + "=x"] {
          let run = try await box.run("exec", "-p", "shop", "--env", item, "--", "/bin/echo", "ran")
          #expect(run.status == 125, "\(item)")
          #expect(run.stdout == "", "\(item)")
          #expect(run.stderr.contains("authctl does not set this variable\n"), "\(run.stderr)")
          #expect(run.hasErrorForm, "\(run.stderr)")
        }
      }
      let templates = [
        "{refresh_token}", "{password}", "{otp}", "{client_secret}", "{app_key}",
        "x{refresh_token}y", "{basic:username:refresh_token}", "{access_token", "{nonsense}",
        "{session.none}",
      ]
      for template in templates {
        let run = try await box.run(
          "exec", "-p", "shop", "--env", "A=" + template, "--", "/bin/echo", "ran",
          env: ["AUTHCTL_PASSWORD": "a password"])
        #expect(run.status == 125, "\(template)")
        #expect(run.stdout == "", "\(template)")
        #expect(run.hasErrorForm && !run.stderr.contains(access), "\(run.stderr)")
      }
      #expect(api.connections.count == before)
    }
  }

  private static let secretVariables = [
    "AUTHCTL_PASSWORD", "AUTHCTL_OTP", "AUTHCTL_CLIENT_SECRET", "AUTHCTL_APP_KEY",
    "AUTHCTL_SUBJECT_TOKEN",
    "AUTHCTL_STORE_PASSPHRASE", "AUTHCTL_STORE_KEY_FILE", "AUTHCTL_PROXY_USER",
    "AUTHCTL_TOKEN_FOR_OTHER", "CREDENTIALS_DIRECTORY",
  ]

  @Test(arguments: ExecScene.ways) func secretsAreTakenOut(_ way: [String]) async throws {
    try await withShop { box, api, access in
      let secrets = Dictionary(
        uniqueKeysWithValues: Self.secretVariables.map { ($0, box.canary.make("secret")) })
      let env = secrets.mapValues { String?.some($0) }
      let options = way + ["-p", "shop"]
      let found = try await environment(box, options, env: env, mayPrint: [access])
      #expect(found["AUTHCTL_URL"] == api.url)
      #expect(found["HOME"] == box.home)
      #expect(Self.secretVariables.filter { found[$0] != nil } == [])
      for kept in Self.secretVariables {
        let secret = try #require(secrets[kept])
        let found = try await environment(
          box, options + ["--env-keep", kept, "--env-keep", "AUTHCTL_NOT_THERE"], env: env,
          mayPrint: [access, secret])
        #expect(Self.secretVariables.filter { found[$0] != nil } == [kept])
        #expect(found[kept] == secret)
        #expect(found["AUTHCTL_NOT_THERE"] == nil)
      }
    }
  }

  /// A token from the environment is passed on with its origin or not at all.
  @Test func tokenOfTheEnvironment() async throws {
    try await Sandbox.with(.none) { box in
      let access = box.canary.make("access")
      let api = try box.recorder(answering: Scene.routes(["GET /x": .http(200, "body")]))
      let env: [String: String?] = ["AUTHCTL_TOKEN": access, "AUTHCTL_URL": api.url]
      let authctl = try Built.authctl()
      let get = try await box.run("exec", "--", authctl, "get", "/x", env: env)
      #expect(get.stdout == "body")
      #expect(get.stderr == "")
      #expect(get.status == 0)
      #expect(api.texts.last?.contains("\r\nAuthorization: Bearer \(access)\r\n") == true)
      let found = try await environment(box, ["--env", "T"], env: env, mayPrint: [access])
      #expect(found == box.environment(["T": access, "AUTHCTL_URL": api.url]))
    }
  }

  /// Bytes that are not UTF-8 are unchanged, for example in file names.
  @Test(arguments: ExecScene.ways) func bytesGoThroughUnchanged(_ way: [String]) async throws {
    try await withShop { box, _, _ in
      let odd = #"export X="$(printf 'a\377b')";"#
      let words =
        [try Built.authctl(), "exec", "-p", "shop"] + way
        + ["--", "/bin/sh", "-c", #"printf '%s|%s' "$X" "$1""#, "sh"]
      let run = try await box.run(
        ["-c", odd + #" exec "$@" "$X""#, "sh"] + words, program: "/bin/sh")
      #expect(run.stdoutBytes == Array("a".utf8) + [0xFF] + Array("b|a".utf8) + [0xFF, 0x62])
      #expect(run.stderr == "")
      #expect(run.status == 0)
    }
  }

  @Test func argumentsAreTheProgramsOwn() async throws {
    try await withShop { box, _, _ in
      let words = ["--help", "-p", "x", "{access_token}", "{}", "--", "", "a\nb", "-V", "-q"]
      let run = try await box.run(["exec", "-p", "shop", "--", "/usr/bin/printf", "<%s>"] + words)
      #expect(run.stdout == words.map { "<\($0)>" }.joined())
      #expect(run.stderr == "")
      #expect(run.status == 0)
    }
  }

  // MARK: Another API's token

  @Test func innerCommandsOfAnotherProfileSendNothing() async throws {
    try await withShop { box, _, access in
      let other = box.canary.make("other")
      let billing = try box.recorder(
        answering: Scene.routes(["POST /login": Scene.tokens(other), "GET /x": .http(200, "b")]))
      try box.profile("billing", Scene.profile(billing.url))
      try await box.signIn("billing")
      let seen = billing.connections.count
      let authctl = try Built.authctl()
      for way in ExecScene.ways {
        let outer = ["exec", "-p", "shop"] + way + ["--", authctl]
        let get = try await box.run(outer + ["get", "-p", "billing", "/x"])
        #expect(get.status == 13)
        #expect(get.stdout == "")
        #expect(get.hasErrorForm && !get.stderr.contains(access), "\(get.stderr)")
        #expect(try await box.run(outer + ["get", billing.url + "/x"]).status == 13)
        let nested = try await box.run(outer + ["exec", "-p", "billing", "--", "/usr/bin/env"])
        #expect(nested.status == 13)
        #expect(nested.stdout == "")
        let own = try await box.run(outer + ["get", "/x"])
        #expect(own.stdout == "body")
        #expect(own.stderr == "")
        #expect(own.status == 0)
      }
      #expect(billing.connections.count == seen)
      // Without the variables nothing is fixed: the store serves each profile's own token.
      let env = try await box.run(
        "exec", "-p", "shop", "--env", "T", "--", authctl, "get", "-p", "billing", "/x")
      #expect(env.stdout == "b")
      #expect(env.status == 0, "\(env.stderr)")
      #expect(Scene.holds(billing, [access]) == [])
    }
  }

  // MARK: Exit codes

  @Test(arguments: ExecScene.ways) func statusIsThePrograms(_ way: [String]) async throws {
    try await withShop { box, _, _ in
      for (script, status) in [
        ("exit 0", 0), ("exit 7", 7), ("exit 125", 125), ("exit 255", 255),
        ("kill -TERM $$", 128 + SIGTERM), ("kill -KILL $$", 128 + SIGKILL),
        ("kill -INT $$", 128 + SIGINT),
      ] {
        let run = try await box.run(
          ["exec", "-p", "shop"] + way
            + ["--", "/bin/sh", "-c", "echo out; echo err >&2; " + script])
        #expect(run.status == status, "\(script)")
        #expect(run.stdout == "out\n")
        #expect(run.stderr == "err\n")
      }
      #expect(box.tokenFolders == [])
    }
  }

  @Test(arguments: ExecScene.ways) func programThatCannotBeRun(_ way: [String]) async throws {
    try await withShop { box, _, _ in
      try box.write("bin/plain", "#!/bin/sh\necho plain\n", mode: 0o600)
      try box.write("second/plain", "#!/bin/sh\necho second\n", mode: 0o700)
      try box.write("bin/lost", "#!/nowhere/sh\n", mode: 0o700)
      let bin = box.root + "/bin"
      let cases: [(program: String, path: String, status: Int32)] = [
        (bin + "/plain", "/bin", 126), (bin, "/bin", 126), (bin + "/plain/x", "/bin", 127),
        ("plain", bin, 126), ("plain", "\(bin):\(box.root)/second", 0),
        (bin + "/none", "/bin", 127), ("none", "/bin:/usr/bin", 127), (bin + "/lost", "/bin", 127),
        ("env", "", 127),
      ]
      for (program, path, status) in cases {
        let run = try await box.run(
          ["exec", "-p", "shop"] + way + ["--", program], env: ["PATH": path])
        #expect(run.status == status, "\(program) in \(path): \(run.stderr)")
        #expect(run.stdout == (status == 0 ? "second\n" : ""))
        let words = status == 126 ? " cannot be executed\n" : ": no such program\n"
        #expect(run.stderr == (status == 0 ? "" : "authctl: \(program)\(words)"))
      }
      #expect(box.tokenFolders == [])
    }
  }

  @Test func commandLineThatIsNoneIsTwo() async throws {
    try await withShop { box, api, _ in
      let before = api.connections.count
      for words in [
        [], ["--"], ["-p", "shop"], ["-p", "shop", "--"], ["/bin/echo", "ran"],
        ["-p", "shop", "/bin/echo", "ran"], ["--no-such-option", "--", "/bin/echo", "ran"],
      ] {
        let run = try await box.run(["exec"] + words)
        #expect(run.status == 2, "\(words)")
        #expect(run.stdout == "")
        #expect(run.hasErrorForm, "\(run.stderr)")
      }
      #expect(api.connections.count == before)
    }
  }

  /// Any failure before the program starts exits with 125, and the program does not run.
  @Test func failureBeforeTheProgram() async throws {
    try await withShop { box, api, _ in
      let dead = try box.recorder()
      dead.close()
      try box.profile("dead", Scene.profile(dead.url))
      let ran = ["--", "/bin/echo", "ran"]
      let none = try await box.run(["exec", "-p", "dead", "-u", "ada"] + ran)
      #expect(
        none.stderr == """
          authctl: not signed in to dead (\(dead.url))
          hint: authctl login -p dead -u ada

          """)
      #expect(none.status == 125)
      // Without the default that the first sign-in has set, one of the two must be named.
      try box.write("config/authctl/config.toml", "")
      for (words, env) in [
        (["-p", "nobody"], [:]), ([], [:]), (["-p", "shop", "-u", "grace"], [:]),
        (["-p", "shop", "--store", "nowhere"], [:]),
        (["-p", "shop"], ["DBUS_SESSION_BUS_ADDRESS": "unix:path=/nowhere"]),
        (["-p", "shop"], ["AUTHCTL_TOKEN": "a\u{1}b"]),
      ] as [([String], [String: String?])] {
        let run = try await box.run(["exec"] + words + ran, env: env)
        #expect(run.status == 125, "\(words) \(env): \(run.stderr)")
        #expect(run.stdout == "", "\(words)")
        #expect(run.hasErrorForm, "\(run.stderr)")
      }
      #expect(none.stdout == "")
      #expect(api.texts.count { $0.hasPrefix("POST /login") } == api.texts.count)
    }
  }

  @Test func tokenIsRenewedBeforeTheProgramOrItIsNotRun() async throws {
    try await Shop.with { shop, api in
      let box = shop.box
      try await shop.age(ended: 5)
      try await api.misbehave(["path": "/refresh", "times": 0, "status": 503])
      let program = ["exec", "--", "/bin/sh", "-c", #"printf %s "$AUTHCTL_TOKEN""#]
      let broken = try await box.run(program)
      #expect(broken.status == 125, "\(broken.stderr)")
      #expect(broken.stdout == "")
      #expect(broken.hasErrorForm)
      try await api.reset()
      let old = try await shop.accessToken()
      let run = try await box.run(program)
      let new = try await shop.accessToken()
      #expect(run.stdout == new && new != old)
      #expect(run.stderr == "")
      #expect(run.status == 0)
      #expect(try await api.count("POST /refresh") == 1)
      try await shop.age(ended: 5)
      await api.stop()
      let down = try await box.run(program)
      #expect(down.status == 125)
      #expect(down.stdout == "")
      #expect(down.hasErrorForm, "\(down.stderr)")
    }
  }

  // MARK: Passwords

  @Test func storedPasswordIsNotHandedOut() async throws {
    try await Sandbox.with { box in
      let password = box.canary.make("password")
      let api = try box.recorder(answering: Scene.routes(["GET /": .http(200, "{}")]))
      try box.profile("shop", "preset = \"http-basic\"\nurl = \"\(api.url)\"\n")
      try await box.signIn("shop", password: password)
      let seen = api.connections.count
      for options in [[], ["--file"], ["--login"], ["--env", "A={basic:username:password}"]] {
        let run = try await box.run(
          ["exec", "-p", "shop"] + options + ["--", "/usr/bin/env"],
          env: ["AUTHCTL_PASSWORD": password, "AUTHCTL_USERNAME": Scene.account])
        #expect(run.status == 125, "\(options)")
        #expect(run.stdout == "")
        #expect(
          run.stderr == """
            authctl: shop stores a password, not a token
            hint: the helpers git and docker can give it, and token with --allow-password

            """)
      }
      #expect(api.connections.count == seen)
      let basic = base64("\(Scene.account):\(password)")
      let found = try await environment(
        box,
        ["-p", "shop", "--allow-password", "--env", "AUTH=Basic {basic:username:password}"],
        mayPrint: [password])
      #expect(
        found
          == box.environment([
            "AUTH": "Basic \(basic)", "AUTHCTL_URL": api.url, "AUTHCTL_PROFILE": "shop",
          ]))
    }
  }
}
