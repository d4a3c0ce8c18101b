import Testing

/// Output to a terminal when a server, a profile or an account name tries to control it (rule B4):
/// no control characters except authctl's own colours, and JSON with unchanged values.
@Suite struct TerminalTests {
  /// Clears the screen with C1, sets the clipboard, reverses the text direction, hides text, moves
  /// back.
  private static let evil =
    "a\u{9B}2J\u{7F}\u{1B}]52;c;eA==\u{7}\u{202E}b\u{2028}\u{200B}\u{E0041}\rc"
  /// The part of `evil` that may be unescaped in a header or in TOML.
  private static let quiet = "a\u{9B}2J\u{202E}b\u{2028}\u{200B}\u{E0041}c"
  /// The JSON of `evil` with escapes only where RFC 8259 requires them.
  private static let json =
    "\"a\u{9B}2J\u{7F}\\u001b]52;c;eA==\\u0007\u{202E}b\u{2028}\u{200B}\u{E0041}\\rc\""

  private static let script: Recorder.Answering = { _, request in
    let header = [("X-Evil", quiet)]
    return switch Scene.route(of: request) {
    case "POST /login": Scene.tokens("access-of-terminal", "refresh-of-terminal")
    case "GET /me": .http(200, #"{"email":\#(json),"about":\#(json)}"#, headers: header)
    case "GET /json":
      .http(200, #"{"one":\#(json),\#(json):1,"list":[\#(json),{"x":\#(json)}]}"#, headers: header)
    case "GET /lines":
      .http(200, json + "\n", type: "application/x-ndjson", headers: header)
    case "GET /cut": .http(200, "{\"one\":" + json, headers: header)
    case "GET /text": .http(200, evil + "\u{E9}\n", type: "text/plain", headers: header)
    case "GET /refused":
      .http(403, #"{"message":\#(json)}"#, headers: header + [("Location", "/\(quiet)")])
    default: .http(404, evil, type: "text/plain", headers: header)
    }
  }

  /// A name that an account may have: it has no control characters.
  private static let account = "ada\u{202E}b\u{2028}\u{200B}\u{E0041}c"

  /// Writes the profile `shop` and stores a session of `account`.
  private static func prepare(_ box: Sandbox) async throws -> Recorder {
    let api = try box.recorder(answering: script)
    try box.profile(
      "shop",
      "# \(quiet)\n" + Scene.profile(api.url, top: "account = \"\(account)\"")
        + "[register]\npath = \"/register\"\nbody = { note = \"\(quiet)\" }\n")
    let login = try await box.run(
      "login", "-p", "shop", "--password-stdin", stdin: "a password")
    try #require(login.status == 0, "\(login.stderr)")
    try box.write(
      "home/lines", #"{"id":\#(json),"url":"/json"}"# + "\n" + #"{"url":"/text"}"# + "\n")
    return api
  }

  /// Characters sent to the terminal that could control it.
  private static func acting(_ bytes: [UInt8]) -> [String] {
    guard let text = String(validating: bytes, as: UTF8.self) else { return ["invalid UTF-8"] }
    let scalars = Array(text.replacing(#/\u{1B}\[[0-9;]*m/#, with: "").unicodeScalars)
    return scalars.indices.compactMap { index in
      let scalar = scalars[index]
      // The terminal driver puts a CR before each LF, even if a header line already has one.
      let next = scalars[(index + 1)...].first { $0 != "\r" }
      let isLineEnd = scalar == "\n" || scalar == "\r" && next == "\n"
      let isActing =
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
      return isActing && !isLineEnd ? "U+" + String(scalar.value, radix: 16) : nil
    }
  }

  private static let commands = [
    "whoami", "whoami --json", "whoami --offline --json", "status", "status --json", "",
    "profile show shop", "profile show shop --json", "profile export shop", "profile list",
    "profile list --json", "profile check shop", "token --json", "get /json", "get /json -i",
    "get /lines", "get /cut", "get /text", "get /text -i", "get /text -D -", "get /text --trace -",
    "get /text -v", "head /text", "get /json --pointer /one --pointer /list",
    "get /json --each /list", "get /json --slurp", "get /refused", "get /refused --errors json",
    "get /missing", "get /missing -o file", "get /text -w '%{json}%header{x-evil}%{header_json}'",
    "get /text -w '%{stderr}%header{x-evil}'", "batch <lines",
    "post /text --dry-run -d \"$EVIL\" -H \"X-A: $QUIET\"", "post /text --as-curl -d \"$EVIL\"",
    "get /text -u \"$EVIL\"", "get \"/$EVIL\"", "get -p \"$EVIL\" /", "\"$EVIL\"", "--\"$EVIL\"",
    "get /text -o \"/nowhere/$EVIL\"", "exec -- \"/nowhere/$EVIL\"", "jwt decode \"$EVIL\"",
    "profile set shop \"$EVIL=1\"", "profile import \"$EVIL\"", "help \"$EVIL\"",
    "logout -u \"$EVIL\"", "doctor --offline", "__complete -- get -u ''",
    "login -p shop -u \"$EVIL\" --no-input", "logout --json",
  ]

  @Test func noCommandLetsForeignCharactersActOnATerminal() async throws {
    try await Sandbox.with { box in
      _ = try await Self.prepare(box)
      for command in Self.commands {
        let shown = try await box.terminal(
          ["-c", "\"$0\" \(command)", try Built.authctl()],
          env: ["EVIL": Self.evil, "QUIET": Self.quiet], program: "/bin/sh")
        #expect(Self.acting(shown.bytes) == [], "\(command): \(shown.screen.debugDescription)")
        #expect(shown.status < 128, "\(command)")
      }
    }
  }

  @Test func promptShowsAHostileAccountWithoutItsControls() async throws {
    try await Sandbox.with { box in
      _ = try await Self.prepare(box)
      let shown = try await box.terminal(
        ["login", "-p", "shop"], answers: [("Password for", "a password\n")])
      #expect(shown.status == 0)
      #expect(Self.acting(shown.bytes) == [], "\(shown.screen.debugDescription)")
    }
  }

  /// Escapes replace other characters, so that JSON copied from a terminal has the same value.
  @Test func jsonOnATerminalIsTheJSONOfAPipe() async throws {
    try await Sandbox.with { box in
      _ = try await Self.prepare(box)
      for command in [
        "whoami --json", "profile show shop --json", "batch <lines", "get /json --each /list",
        "get /json -o /dev/null -w '%{header_json}'",
      ] {
        let words = ["-c", "\"$0\" \(command)", try Built.authctl()]
        let piped = try await box.run(words, program: "/bin/sh", directory: box.home)
        let shown = try await box.terminal(words + ["2>/dev/null"], program: "/bin/sh")
        let lines = { (text: String) throws in
          try text.utf8.split(separator: 10).map { try JSON(parsing: String($0) ?? "") }
        }
        #expect(piped.status == 0 && shown.status == 0, "\(command): \(piped.stderr)")
        #expect(try lines(shown.screen) == lines(piped.stdout), "\(command)")
        // A pipe receives the characters themselves.
        #expect(piped.stdout.unicodeScalars.contains("\u{2028}"), "\(command)")
      }
    }
  }

  @Test func rawGivesATerminalTheBytes() async throws {
    try await Sandbox.with { box in
      _ = try await Self.prepare(box)
      let shown = try await box.terminal(["get", "/text", "--raw"])
      #expect(shown.screen == Self.evil + "\u{E9}\n")
    }
  }
}
