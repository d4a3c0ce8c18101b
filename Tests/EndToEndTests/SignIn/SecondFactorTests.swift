import Glibc
import Testing

/// How a real product asks for a one-time code and accepts it.
struct FactorShape: Sendable, CustomTestStringConvertible {
  var preset: String
  var path: String
  /// Where the second request has the code: a member of the JSON body, or a header.
  var member: String?
  var header: String?
  /// Status and body of the responses. `CODE` in the second is replaced by the code that was sent.
  var question: (status: Int, body: String)
  var wrong: (status: Int, body: String)
  /// `TOKEN` is replaced by the access token.
  var success: (status: Int, body: String)

  var testDescription: String { preset }

  /// The code in a raw request; nil if there is none.
  func code(in request: [UInt8]) -> String? {
    let text = String(decoding: request, as: UTF8.self)
    guard let end = text.firstRange(of: "\r\n\r\n") else { return nil }
    if let member {
      return (try? JSON(parsing: String(text[end.upperBound...])))?[member]?.string
    }
    for line in text[..<end.lowerBound].split(separator: "\r\n") {
      let parts = line.split(separator: ": ", maxSplits: 1)
      if parts.count == 2, parts[0].lowercased() == header?.lowercased() { return String(parts[1]) }
    }
    return nil
  }

  /// The product's responses: without a code the question, with one the token or a refusal.
  func answering(code right: String, token: String) -> Recorder.Answering {
    { _, request in
      guard Scene.route(of: request) == "POST " + path else { return .http(404, "{}") }
      guard let given = code(in: request) else { return .http(question.status, question.body) }
      return given == right
        ? .http(success.status, success.body.replacing("TOKEN", with: token))
        : .http(wrong.status, wrong.body.replacing("CODE", with: given))
    }
  }

  /// The product's response for an account without a second factor.
  func answeringAtOnce(token: String) -> Recorder.Answering {
    { _, _ in .http(success.status, success.body.replacing("TOKEN", with: token)) }
  }

  static let all = [
    FactorShape(
      preset: "aspnet-identity", path: "/login", member: "twoFactorCode",
      question: (
        401, #"{"title":"Unauthorized","status":401,"detail":"RequiresTwoFactor"}"#
      ),
      wrong: (401, #"{"title":"Unauthorized","status":401,"detail":"Failed: CODE"}"#),
      success: (
        200, #"{"tokenType":"Bearer","accessToken":"TOKEN","expiresIn":3600,"refreshToken":"r1"}"#
      )),
    FactorShape(
      preset: "directus", path: "/auth/login", member: "otp",
      question: (
        401,
        #"{"errors":[{"message":"Invalid user OTP.","extensions":{"code":"INVALID_OTP"}}]}"#
      ),
      wrong: (
        401,
        #"{"errors":[{"message":"Invalid OTP CODE.","extensions":{"code":"INVALID_OTP"}}]}"#
      ),
      success: (200, #"{"data":{"expires":900000,"refresh_token":"r1","access_token":"TOKEN"}}"#)),
    FactorShape(
      preset: "atproto", path: "/xrpc/com.atproto.server.createSession", member: "authFactorToken",
      question: (401, #"{"error":"AuthFactorTokenRequired","message":"A code has been sent"}"#),
      wrong: (400, #"{"error":"InvalidToken","message":"Token is invalid: CODE"}"#),
      success: (200, #"{"did":"did:plc:a","handle":"ada","accessJwt":"TOKEN","refreshJwt":"r1"}"#)),
    FactorShape(
      preset: "gitea", path: "/api/v1/users/ada/tokens", header: "X-Gitea-OTP",
      question: (401, #"{"message":"invalid provided OTP"}"#),
      wrong: (401, #"{"message":"invalid provided OTP","url":"CODE"}"#),
      success: (201, #"{"id":7,"name":"n","sha1":"TOKEN","token_last_eight":"x"}"#)),
  ]
}

/// Second factors: the code is sent only when and where the server asks for it.
@Suite struct SecondFactorTests {
  struct World: Sendable {
    var box: Sandbox
    var api: Recorder
    var shape: FactorShape
    var password: String
    var code: String
    var token: String

    static func with(
      _ shape: FactorShape, asks: Bool = true, _ body: (World) async throws -> Void
    ) async throws {
      try await Sandbox.with { box in
        let (password, code) = (box.canary.make("password"), box.canary.make("otp"))
        let token = box.canary.make("access")
        let api = try box.recorder(
          answering: asks
            ? shape.answering(code: code, token: token) : shape.answeringAtOnce(token: token))
        try box.profile("shop", "url = \"\(api.url)\"\npreset = \"\(shape.preset)\"\n")
        try await body(
          World(box: box, api: api, shape: shape, password: password, code: code, token: token))
      }
    }

    /// Runs `login` with the password on stdin, followed by `more`.
    func login(
      _ options: [String] = [], lines more: String = "", env: [String: String?] = [:]
    ) async throws -> Run {
      try await box.run(
        ["login", "-p", "shop", "-u", "ada", "--password-stdin"] + options,
        stdin: password + "\n" + more, env: env)
    }

    /// The codes of the requests so far, in order.
    var codes: [String?] { api.connections.map { shape.code(in: $0) } }

    /// Expects a sign-in with two requests: the first without the code, the second with it.
    func expectSignedIn(
      _ run: Run, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
      #expect(run.status == 0 && run.stdout == "", "\(run.stderr)", sourceLocation: sourceLocation)
      #expect(
        run.stderr.hasPrefix("Signed in to shop as ada. "), "\(run.stderr)",
        sourceLocation: sourceLocation)
      #expect(codes == [nil, code], sourceLocation: sourceLocation)
      let first = api.connections.first ?? []
      #expect(
        !Canary.forms(of: code).contains { find($0, in: first) != nil },
        sourceLocation: sourceLocation)
      #expect(Scene.holds(api, [password]) == [password], sourceLocation: sourceLocation)
      #expect(try await box.storedTokens() == [token], sourceLocation: sourceLocation)
      try await expectNothingKept(sourceLocation: sourceLocation)
    }

    /// Expects that neither the code nor the password is in the keyring.
    func expectNothingKept(sourceLocation: SourceLocation = #_sourceLocation) async throws {
      for item in try await box.items() {
        let text = (item.secret ?? "") + item.label + item.attributes.values.joined(separator: " ")
        for secret in [code, password] {
          let forms = Canary.forms(of: secret)
          #expect(
            !forms.contains { find($0, in: Array(text.utf8)) != nil },
            sourceLocation: sourceLocation)
        }
      }
    }
  }

  private static let shapes = FactorShape.all

  // MARK: Sources

  @Test(arguments: shapes) func codeOfStandardInput(_ shape: FactorShape) async throws {
    try await World.with(shape) { world in
      // The password's line comes first, in any order of the options.
      let run = try await world.login(["--otp-stdin"], lines: world.code + "\n")
      try await world.expectSignedIn(run)
    }
    try await World.with(shape) { world in
      let run = try await world.box.run(
        "login", "--otp-stdin", "-p", "shop", "--password-stdin", "-u", "ada",
        stdin: world.password + "\r\n" + world.code)
      try await world.expectSignedIn(run)
    }
  }

  @Test(arguments: shapes) func codeOfStandardInputAlone(_ shape: FactorShape) async throws {
    try await World.with(shape) { world in
      let run = try await world.box.run(
        "login", "-p", "shop", "-u", "ada", "--otp-stdin", stdin: world.code + "\n",
        env: ["AUTHCTL_PASSWORD": world.password])
      try await world.expectSignedIn(run)
    }
  }

  @Test(arguments: shapes) func codeOfAFile(_ shape: FactorShape) async throws {
    try await World.with(shape) { world in
      let file = try world.box.write("code", world.code + "\nsecond line\n")
      try await world.expectSignedIn(try await world.login(["--otp-file", file]))
    }
  }

  @Test(arguments: shapes) func codeOfADescriptor(_ shape: FactorShape) async throws {
    try await World.with(shape) { world in
      let file = try world.box.write("code", world.code + "\n")
      let run = try await world.box.run(
        "-c", #"exec 7<"$1"; shift; exec "$@""#, "sh", file, try Built.authctl(), "login", "-p",
        "shop", "-u", "ada", "--password-stdin", "--otp-fd", "7", stdin: world.password + "\n",
        program: "/bin/sh")
      try await world.expectSignedIn(run)
    }
  }

  @Test(arguments: shapes) func codeOfACommand(_ shape: FactorShape) async throws {
    try await World.with(shape) { world in
      let file = try world.box.write("code", world.code + "\n")
      let run = try await world.login([
        "--otp-command", "echo ran >>\"$HOME/mark\"; env >\"$HOME/environment\"; cat \(file)",
      ])
      try await world.expectSignedIn(run)
      #expect(world.box.read("home/mark") == "ran\n", "once")
      #expect(world.box.read("home/environment")?.contains("AUTHCTL_") == false)
    }
  }

  @Test(arguments: shapes) func codeOfTheEnvironment(_ shape: FactorShape) async throws {
    try await World.with(shape) { world in
      try await world.expectSignedIn(try await world.login(env: ["AUTHCTL_OTP": world.code]))
    }
    // An option takes precedence over the variable.
    try await World.with(shape) { world in
      let run = try await world.login(
        ["--otp-stdin"], lines: world.code + "\n", env: ["AUTHCTL_OTP": "not-this-one"])
      try await world.expectSignedIn(run)
      #expect(Scene.holds(world.api, ["not-this-one"]).isEmpty)
    }
  }

  @Test(arguments: shapes) func codeOfAPerson(_ shape: FactorShape) async throws {
    try await World.with(shape) { world in
      let terminal = try world.box.openTerminal(["login", "-p", "shop", "-u", "ada"])
      // The prompt names the URL that receives the code, not only the profile.
      var at = try await terminal.waitFor("Password for ada at \(world.api.url): ")
      try await terminal.waitForEcho(false)
      terminal.type(world.password + "\n")
      at = try await terminal.waitFor("One-time code at \(world.api.url): ", from: at)
      try await terminal.waitForEcho(false)
      #expect(world.codes == [nil], "it is asked for when the server asks")
      terminal.type(world.code + "\n")
      try await terminal.waitFor("Signed in to shop as ada.", from: at)
      let run = try await terminal.finish()
      #expect(run.status == 0 && world.codes == [nil, world.code])
      #expect(terminal.isEchoOn)
      #expect(try await world.box.storedTokens() == [world.token])
    }
  }

  // MARK: Without a code, or with a wrong one

  @Test(arguments: shapes) func nobodyToAsk(_ shape: FactorShape) async throws {
    try await World.with(shape) { world in
      let run = try await world.login()
      #expect(run.status == 10 && run.stdout == "" && run.hasErrorForm)
      #expect(run.stderr.hasPrefix("authctl: a one-time code is required"), "\(run.stderr)")
      for way in ["--otp-stdin", "--otp-file", "--otp-command", "AUTHCTL_OTP"] {
        #expect(run.stderr.contains(way), "\(run.stderr)")
      }
      #expect(world.codes == [nil], "the question came, and nothing more went")
      #expect(try await world.box.items().isEmpty)
      let terminal = try await world.box.terminal(
        ["login", "-p", "shop", "-u", "ada", "--no-input"],
        env: ["AUTHCTL_PASSWORD": world.password])
      #expect(terminal.status == 10 && !terminal.screen.contains("One-time code at"))
      let ended = try await world.box.terminal(
        ["login", "-p", "shop", "-u", "ada"], answers: [("One-time code at", "\u{4}")],
        env: ["AUTHCTL_PASSWORD": world.password])
      #expect(ended.status == 10, "\(ended.screen)")
      #expect(world.codes == [nil, nil, nil])
      #expect(try await world.box.items().isEmpty)
    }
  }

  @Test(arguments: shapes) func wrongCodeIsRefused(_ shape: FactorShape) async throws {
    try await World.with(shape) { world in
      // The existing session does not change.
      try await world.expectSignedIn(try await world.login(env: ["AUTHCTL_OTP": world.code]))
      let before = try await world.box.items()
      let wrong = world.box.canary.make("wrong")
      let run = try await world.login(["--otp-stdin"], lines: wrong + "\n")
      #expect(run.status == 14 && run.stdout == "" && run.hasErrorForm)
      #expect(run.stderr.hasPrefix("authctl: shop refused this one-time code (HTTP 40"))
      // The server's message is shown with the code masked: the canary checks that.
      #expect(run.stderr.contains("\nserver: "), "\(run.stderr)")
      #expect(world.codes == [nil, world.code, nil, wrong])
      #expect(try await world.box.items() == before)
    }
  }

  @Test(arguments: shapes) func unfitCodesAreNotSent(_ shape: FactorShape) async throws {
    try await World.with(shape) { world in
      let inputs: [(lines: String, status: Int32)] = [
        ("\n", 2), ("", 10), ("1\u{1B}2\n", 2), ("1\r2\n", 2),
      ]
      for (lines, status) in inputs {
        let before = world.api.connections.count
        let run = try await world.login(["--otp-stdin"], lines: lines)
        #expect(run.status == status, "\(lines.debugDescription): \(run.stderr)")
        #expect(run.stderr.contains("one-time code"), "\(run.stderr)")
        #expect(world.api.connections.count <= before + 1)
      }
      #expect(world.codes.allSatisfy { $0 == nil })
      let two = try await world.login(["--otp-stdin", "--otp-file", "x"], lines: "1\n")
      #expect(two.status == 2 && two.stderr.contains("use one of them"), "\(two.stderr)")
      let failing = try await world.login(["--otp-command", "echo no token >&2; exit 3"])
      #expect(failing.status == 10 && failing.stderr.contains("no token"), "\(failing.stderr)")
      #expect(world.codes.allSatisfy { $0 == nil })
      #expect(try await world.box.items().isEmpty)
    }
  }

  // MARK: If the server does not ask

  @Test(arguments: shapes) func codeStaysHereWhenNobodyAsks(_ shape: FactorShape) async throws {
    try await World.with(shape, asks: false) { world in
      let file = try world.box.write("code", world.code + "\n")
      let mark = "echo ran >\"$HOME/mark\"; cat \(file)"
      let runs = [
        try await world.login(env: ["AUTHCTL_OTP": world.code]),
        try await world.login(["--otp-stdin"], lines: world.code + "\n"),
        try await world.login(["--otp-file", file]),
        try await world.login(["--otp-command", mark]),
      ]
      for run in runs { #expect(run.status == 0 && run.stdout == "", "\(run.stderr)") }
      #expect(world.codes == [nil, nil, nil, nil])
      #expect(Scene.holds(world.api, [world.code]).isEmpty)
      #expect(world.box.read("home/mark") == nil, "the command did not run")
      try await world.expectNothingKept()
      // The user is not asked on a terminal either.
      let shown = try await world.box.terminal(
        ["login", "-p", "shop", "-u", "ada"], answers: [("Password for", world.password + "\n")])
      #expect(shown.status == 0 && !shown.screen.contains("One-time code"), "\(shown.screen)")
    }
  }

  @Test(arguments: shapes) func wrongPasswordAsksForNoCode(_ shape: FactorShape) async throws {
    try await World.with(shape) { world in
      let refusing = try world.box.recorder { _, _ in .http(401, #"{"message":"wrong password"}"#) }
      try world.box.profile("shop", "url = \"\(refusing.url)\"\npreset = \"\(shape.preset)\"\n")
      let run = try await world.login(["--otp-command", "echo ran >\"$HOME/mark\"; echo 1"])
      #expect(run.status == 14, "\(run.stderr)")
      #expect(run.stderr.hasPrefix("authctl: shop refused this name and password"))
      #expect(refusing.connections.count == 1 && world.box.read("home/mark") == nil)
    }
  }
}
