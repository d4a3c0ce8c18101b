import Glibc
import Testing

/// `authctl jwt decode`: rules B4, B5, B7 and C10.
@Suite struct JWTDecodeTests {
  private static let warning =
    "authctl: warning: the signature was not verified\n"
  private static let notOne = """
    authctl: this token is not a JSON Web Token: only the server can decode it
    hint: a JWT has three parts, separated by dots (RFC 7519)

    """

  private static func base64URL(_ text: String) -> String {
    let bytes = Array(text.utf8)
    let padding = (3 - bytes.count % 3) % 3
    let whole = Canary.base64(bytes + [UInt8](repeating: 0, count: padding)).dropLast(padding)
    return String(decoding: whole, as: UTF8.self)
      .replacing("+", with: "-").replacing("/", with: "_")
  }

  private static func jwt(_ payload: String, header: String = #"{"alg":"none"}"#) -> String {
    base64URL(header) + "." + base64URL(payload) + ".c2lnbmF0dXJl"
  }

  private func decode(
    _ box: Sandbox, _ token: String, _ options: String..., env: [String: String?] = [:]
  ) async throws -> Run {
    try await box.run(["jwt", "decode", "-"] + options, stdin: token, env: env)
  }

  // MARK: Sources of the token

  @Test func fromStandardInputFileVariableAndSession() async throws {
    try await Sandbox.with { box in
      let access = Self.jwt(#"{"sub":"1"}"#, header: #"{"alg":"HS256","typ":"JWT"}"#)
      box.canary.watch(access)
      let api = try box.recorder(
        answering: Scene.routes(["POST /login": Scene.tokens(access, "r")]))
      try box.profile("shop", Scene.profile(api.url))
      try await box.signIn("shop")
      let shown = """
        {
          "alg": "HS256",
          "typ": "JWT"
        }
        {
          "sub": "1"
        }

        """
      let file = try box.write("t.jwt", access + "\n")
      let long = try box.write("a.folder/a-file-with-a-name-of-more-than-forty-letters.jwt", access)
      let none: [String: String?] = [:]
      let runs: [([String], String?, [String: String?])] = [
        (["-"], access, none), (["-"], access + "\n", none), (["-"], access + "\r\nmore", none),
        ([file], nil, none), ([long], nil, none), (["-p", "shop"], nil, none), ([], nil, none),
        ([], nil, ["AUTHCTL_TOKEN": access, "AUTHCTL_URL": api.url]),
        (["-q"], nil, none), (["-q", "-"], access, none),
      ]
      for (words, input, env) in runs {
        let run = try await box.run(["jwt", "decode"] + words, stdin: input, env: env)
        #expect(run.stdout == shown, "\(words)")
        #expect(run.stderr == Self.warning, "\(words)")
        #expect(run.status == 0, "\(words)")
      }
      // An expired session is not renewed either.
      #expect(api.connections.count == 1)
    }
  }

  @Test func endedSessionIsShownAsItIs() async throws {
    try await Shop.with("--token-ttl", "1") { shop, api in
      try await shop.age(ended: 100)
      let run = try await shop.box.run("jwt", "decode", "--json")
      #expect(run.status == 0)
      #expect(run.stderr == Self.warning)
      #expect(try JSON(parsing: run.stdout)["payload"]?["email"]?.string == Shop.ada)
      #expect(try await api.counts() == ["POST /login": 1])
    }
  }

  @Test func tokenInTheArgumentsIsRefusedUnseen() async throws {
    try await Sandbox.with(.none) { box in
      let jwt = Self.jwt(#"{"sub":"0123456789"}"#)
      let jwe = "eyJhbGciOiJkaXIiLCJlbmMiOiJBMTI4R0NNIn0..aW5pdGlhbHZlYw.Y2lwaGVydGV4dA.dGFn"
      for token in [jwt, jwt + "=", jwe, jwt.replacing(".c2lnbmF0dXJl", with: ".")] {
        for options in [[], ["--json"], ["--errors", "json"], ["-vv"]] {
          let run = try await box.run(["jwt", "decode", token] + options)
          #expect(run.status == 2)
          #expect(run.stdout == "")
          #expect(run.stderr.contains("do not put a token on the command line"))
          #expect(!run.stderr.contains(token))
        }
      }
    }
  }

  @Test func whatIsNoTokenIsToldPlainly() async throws {
    try await Sandbox.with(.none) { box in
      let good = Self.base64URL("{}")
      for token in [
        "opaque", "a.b", "a.b.c", "..", "\(good).\(good)", "\(good).\(good).x.y",
        "\(good).\(Self.base64URL("[]")).x", "\(Self.base64URL("1")).\(good).x",
        "\(good).\(Self.base64URL("{")).x", "\(good).!!!!.x", "\(good)..x", "Bearer x",
        Self.jwt("{\"a\":\(String(repeating: "[", count: 5000))}"),
      ] {
        let run = try await decode(box, token)
        #expect(run.status == 1, "\(token)")
        #expect(run.stdout == "")
        #expect(run.stderr == Self.notOne, "\(token)")
      }
      for token in ["", "\n"] {
        let run = try await decode(box, token)
        #expect(run.status == (token.isEmpty ? 10 : 2))
        #expect(run.stdout == "")
        // The hint names no option that jwt decode does not have.
        #expect(run.hasErrorForm && !run.stderr.contains("--token"), "\(run.stderr)")
      }
      let huge = try await decode(box, String(repeating: "a", count: 70_000))
      #expect(huge.status == 2)
      #expect(huge.stdout == "")
      #expect(huge.hasErrorForm && !huge.stderr.contains("aaaa"))
      let none = try await box.run("jwt", "decode", "/nowhere/token")
      #expect(none.status == 2)
      #expect(none.hasErrorForm)
      let loose = try box.write("loose.jwt", Self.jwt("{}"), mode: 0o644)
      let open = try await box.run("jwt", "decode", loose)
      #expect(open.status == 2)
      #expect(open.stderr.hasSuffix("\nhint: chmod 600 \(loose)\n"), "\(open.stderr)")
    }
  }

  // MARK: Output

  /// Numbers are shown as written, and as times if they can be.
  @Test func timesAndNumbers() async throws {
    try await Sandbox.with(.none) { box in
      for (number, time) in [
        ("1700000000", "2023-11-14T22:13:20Z"), ("1700000000.5", "2023-11-14T22:13:20Z"),
        ("1.7e9", "2023-11-14T22:13:20Z"), ("1700000000000", "2023-11-14T22:13:20Z"),
        ("0", "1970-01-01T00:00:00Z"), ("4102444800", "2100-01-01T00:00:00Z"), ("1e308", nil),
        ("-1e308", nil), ("1e400", nil), ("-1", nil), ("9223372036854775808", nil), ("true", nil),
        ("null", nil), ("{}", nil), ("\"x\"", nil),
      ] as [(String, String?)] {
        let claims = "{\"exp\":\(number),\"nbf\":\(number),\"iat\":\(number)}"
        let json = try await decode(box, Self.jwt(claims), "--json")
        #expect(json.status == 0, "\(number)")
        #expect(json.stderr == Self.warning)
        // Numbers are copied unchanged.
        let end = time.map { "\"\($0)\"" } ?? "null"
        let head = "{\"header\":{\"alg\":\"none\"},\"payload\":\(claims),\"expires_at\":\(end),"
        #expect(json.stdout.hasPrefix(head), "\(json.stdout)")
        let value = try JSON(parsing: json.stdout)
        #expect(value.keys == ["expires_at", "header", "payload", "seconds_left", "verified"])
        #expect(value["verified"] == false)
        #expect((value["seconds_left"]?.int != nil) == (time != nil), "\(json.stdout)")
        let text = try await decode(box, Self.jwt(claims))
        let names = text.stdout.split(separator: "\n").map { $0.prefix(4) }
          .filter { ["iat:", "nbf:", "exp:"].contains($0) }
        #expect(names == (time == nil ? [] : ["iat:", "nbf:", "exp:"]))
        #expect(text.stderr == Self.warning)
        #expect(text.status == 0)
      }
      let past = try await decode(box, Self.jwt(#"{"iat":1,"exp":1700000000}"#))
      #expect(past.stdout.contains("\niat: 1970-01-01 00:00, "), "\(past.stdout)")
      #expect(past.stdout.contains("\nexp: 2023-11-14 22:13, "), "\(past.stdout)")
      #expect(past.stdout.hasSuffix(" days ago\n"))
      let future = try await decode(box, Self.jwt(#"{"exp":4102444800}"#))
      #expect(future.stdout.contains("\nexp: 2100-01-01 00:00, in "), "\(future.stdout)")
    }
  }

  private static let hostile =
    "{\"a\\u001b[31m\":\"\\u0000\\u001b]0;x\\u0007\\u202e\\u009b\\u200b\\ud83d\\ude00\",\"a\":1,\"a\":2}"

  @Test func textThatWantsToActDoesNot() async throws {
    try await Sandbox.with(.none) { box in
      let run = try await decode(box, Self.jwt(Self.hostile))
      #expect(
        run.stdout == """
          {
            "alg": "none"
          }
          {
            "a\\u001b[31m": "\\u0000\\u001b]0;x\\u0007\\u202e\\u009b\\u200b\u{1F600}",
            "a": 1,
            "a": 2
          }

          """)
      #expect(run.status == 0)
      let token = try box.write("t.jwt", Self.jwt(Self.hostile))
      for options in [[], ["--json"]] {
        let screen = try await box.terminal(["jwt", "decode", token] + options)
        #expect(screen.status == 0)
        let bad = screen.screen.unicodeScalars.filter {
          $0 != "\n" && [.control, .format].contains($0.properties.generalCategory)
        }
        #expect(bad.isEmpty, "\(options): \(screen.screen.debugDescription)")
      }
    }
  }

  @Test func largeTokenIsShownWhole() async throws {
    try await Sandbox.with(.none) { box in
      let groups = (0..<3000).map { "\"group-\($0)\"" }.joined(separator: ",")
      let run = try await decode(box, Self.jwt("{\"groups\":[\(groups)]}"), "--json")
      #expect(run.status == 0)
      #expect(try JSON(parsing: run.stdout)["payload"]?["groups"]?.elements.count == 3000)
    }
  }

  // MARK: The store

  @Test func lockedKeyringRaisesNoDialog() async throws {
    try await Shop.with { shop, api in
      let box = shop.box
      try await box.lockKeyring()
      let words = """
        authctl: the keyring is locked (gnome-keyring, collection "Login")
        hint: authctl store unlock

        """
      let terminal = try await box.terminal(["jwt", "decode"])
      #expect(terminal.screen == words)
      #expect(terminal.status == 12)
      let run = try await box.run("jwt", "decode")
      #expect(run.stderr.hasPrefix("authctl: the keyring is locked"), "\(run.stderr)")
      #expect(run.stdout == "")
      #expect(run.status == 12)
      #expect(try await api.counts() == ["POST /login": 1])
    }
  }

  @Test func notSignedIn() async throws {
    try await Shop.with(signsIn: false) { shop, api in
      let run = try await shop.box.run("jwt", "decode")
      #expect(
        run.stderr == "authctl: not signed in to shop (\(api.url))\nhint: authctl login -p shop\n"
      )
      #expect(run.stdout == "")
      #expect(run.status == 10)
    }
  }
}
