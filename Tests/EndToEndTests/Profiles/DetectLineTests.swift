import Glibc
import Testing

/// The command that `profile detect` prints: a shell splits it as intended, whatever the API says
/// (rule A13), and the resulting profile signs in at the right place.
@Suite struct DetectLineTests {
  /// Runs the printed line with `/bin/sh`, where `authctl` is a stub that records its arguments.
  /// The line must have no other effect.
  private func arguments(_ line: String, _ box: Sandbox) async throws -> [String] {
    try box.write(
      "stub/authctl", "#!/bin/sh\nprintf '%s\\0' \"$@\" >\"$ARGUMENTS\"\n", mode: 0o755)
    mkdir(box.root + "/empty", 0o700)
    let before = box.files()
    let run = try await box.run(
      "-c", line,
      env: ["PATH": box.root + "/stub:/usr/bin:/bin", "ARGUMENTS": box.root + "/arguments"],
      program: "/bin/sh", directory: box.root + "/empty")
    #expect(run.status == 0 && run.stdout == "" && run.stderr == "", "\(line): \(run.stderr)")
    #expect(box.files() == (before + ["arguments"]).sorted())
    let bytes = try #require(readFile(box.root + "/arguments"))
    unlink(box.root + "/arguments")
    return bytes.split(separator: 0, omittingEmptySubsequences: false).dropLast()
      .map { String(decoding: $0, as: UTF8.self) }
  }

  private func next(_ run: Run) -> String? {
    run.stdout.split(separator: "\n").first { $0.hasPrefix("Next: ") }
      .map { String($0.dropFirst(6)) }
  }

  static let hostilePaths = [
    "/a'b/login", "/'/login", "/''/login", "/`touch`/login", "/$(touch)/login", "/$HOME/login",
    "/x;touch/login", "/x&touch/login", "/x|touch/login", "/x>made/login", "/x<in/login",
    "/(x)/login", "/*/login", "/[a-z]/login", "/!x/login", "/~/login", "/-n/login", "/x%27y/login",
    "/a=b/login", "/^x/login", "/x,y/login", "/a'$(touch)'b/login",
  ]

  @Test func pathsAreQuoted() async throws {
    try await Sandbox.with(.none) { box in
      let document = Mutable("")
      let api = try box.recorder { _, request in
        Scene.route(of: request) == "GET /openapi.json"
          ? .http(200, document.value) : .http(404)
      }
      for hostile in Self.hostilePaths + ["/\"/login", "/a\"`x`\"/login"] {
        let path = hostile.replacing("\"", with: "\\\"")
        document.value = Look.document(Look.post(path, answer: #"{"properties":{"token":{}}}"#))
        let run = try await box.run("profile", "detect", api.url)
        #expect(run.status == 0, "\(hostile): \(run.stderr)")
        let line = try #require(next(run), "\(hostile)")
        let words = try await arguments(line, box)
        #expect(
          words == [
            "profile", "add", api.profileName, api.url, "--preset", "json", "--set",
            "login.path=" + hostile, "--body",
            #"{"username":"{username}","password":"{password}"}"#, "--token-at", "/token",
          ])
      }
      let last = try await box.run("profile", "detect", api.url)
      let json = try await box.run("profile", "detect", api.url, "--json")
      #expect(try JSON(parsing: json.stdout)["command"]?.string == next(last))
    }
  }

  /// A document that puts its text into other parts of the line, and the words after the preset;
  /// nil if no line may be printed.
  static let documents: [(document: String, words: [String]?)] = {
    let login = { (more: String) in
      Look.document(
        Look.post(
          "/login", #"{"properties":{"user":{},"password":{},\#(more)},"required":["kind"]}"#))
    }
    let words = { (kind: String) in
      [
        "--set", "login.path=/login", "--body",
        #"{"user":"{username}","password":"{password}","kind":\#(kind)}"#,
      ]
    }
    let key = { (name: String) in
      Look.document(
        "",
        #""components":{"securitySchemes":{"k":{"type":"apiKey","in":"header","#
          + #""name":"\#(name)"}}}"#)
    }
    return [
      (
        login(#""kind":{"const":"it's $(touch) `x` \"y\" ;&|<>"}"#),
        words(#""it's $(touch) `x` \"y\" ;&|<>""#)
      ),
      (login(#""kind":{"const":"a\nb\u001b"}"#), words(#""a\nb\u001b""#)),
      (login(#""kind":{"const":"\u202egro.live"}"#), nil),
      (login(#""kind":{}"#), words(#""{field.kind}""#)),
      (key("X'$(x)"), nil), (key("X`x`'y"), ["--send", "X`x`'y: {access_token}"]),
      (key("$X"), ["--send", "$X: {access_token}"]), (key(#"X\nY"#), nil), (key("X Y"), nil),
    ]
  }()

  @Test(arguments: documents.indices) func restOfTheLineIsQuoted(index: Int) async throws {
    let (document, expected) = Self.documents[index]
    try await Sandbox.with(.none) { box in
      let api = try box.recorder(answering: Look.serving(document))
      let run = try await box.run("profile", "detect", api.url)
      #expect(run.status == 0, "\(run.stderr)")
      let words = try await next(run).asyncMap { try await arguments($0, box) }
      let preset = expected?.first == "--send" ? "api-key" : "json"
      #expect(
        words
          == expected.map {
            ["profile", "add", api.profileName, api.url, "--preset", preset] + $0
          })
    }
  }

  @Test func nameOfTheProfileIsFree() async throws {
    try await Sandbox.with(.none) { box in
      let api = try box.recorder(answering: Look.serving(Look.document(Look.post("/login"))))
      for name in [api.profileName, "\(api.profileName)-2"] {
        try box.profile(name, "url = \"\(api.url)\"\n")
      }
      let run = try await box.run("profile", "detect", api.url)
      #expect(next(run)?.hasPrefix("authctl profile add \(api.profileName)-3 \(api.url) ") == true)
    }
  }

  // MARK: The resulting profile

  /// The URL given, the document's base path, and where the sign-in must be sent.
  static let places: [(base: String, document: String, sent: String)] = [
    ("", Look.document(Look.post("/login")), "/login"),
    ("/", Look.document(Look.post("/login")), "/login"),
    ("", Look.document(Look.post("/login"), #""servers":[{"url":"/v1"}]"#), "/v1/login"),
    ("", Look.document(Look.post("/login"), #""servers":[{"url":"v1/"}]"#), "/v1/login"),
    // From a mounted FastAPI; in the standard, paths without servers start at the root.
    ("/api", Look.document(Look.post("/login"), #""servers":[{"url":"/api"}]"#), "/api/login"),
    ("/api/", Look.document(Look.post("/login"), #""servers":[{"url":"/api/"}]"#), "/api/login"),
    ("/api", Look.document(Look.post("/login"), #""servers":[{"url":"."}]"#), "/api/login"),
    ("/api", Look.document(Look.post("/api/login")), "/api/login"),
    ("/api", Look.document(Look.post("/login"), #""servers":[{"url":"/v2"}]"#), "/v2/login"),
    (
      "/api", Look.document(Look.post("/v1/login"), #""swagger":"2.0","basePath":"/api""#),
      "/api/v1/login"
    ),
    ("", Look.document(Look.post("/a'b/$(x)/login")), "/a'b/$(x)/login"),
    ("", Look.simpleJWT, "/api/token/"),
    (
      "",
      Look.document(
        "",
        #""components":{"securitySchemes":{"s":{"type":"oauth2","flows":{"password":"#
          + #"{"tokenUrl":"oauth/token"}}}}}"#), "/oauth/token"
    ),
  ]

  @Test(arguments: places.indices) func signsInWhereTheDocumentSays(index: Int) async throws {
    let (base, document, sent) = Self.places[index]
    let token = #"{"access_token":"t0ken-1","access":"t0ken-1","token":"t0ken-1"}"#
    try await Sandbox.with { box in
      let api = try box.recorder { _, request in
        switch Scene.route(of: request) {
        case let route where route.hasSuffix("/openapi.json"): .http(200, document)
        case let route where route.hasPrefix("POST "): .http(200, token)
        default: .http(404)
        }
      }
      let run = try await box.run("profile", "detect", api.url + base)
      let line = try #require(next(run), "\(run.stdout)\(run.stderr)")
      try box.write("bin/authctl", "#!/bin/sh\nexec '\(try Built.authctl())' \"$@\"\n", mode: 0o755)
      let added = try await box.run(
        "-c", line, env: ["PATH": box.root + "/bin:/usr/bin:/bin"], program: "/bin/sh")
      #expect(added.status == 0, "\(line): \(added.stderr)")
      let login = try await box.run(
        "login", "-p", api.profileName, "-u", "ada", "--password-stdin", stdin: "a password\n")
      #expect(login.status == 0, "\(login.stderr)")
      #expect(Look.posts(api) == ["POST " + sent])
      // `login URL` sends the same.
      let there = api.url + base
      let direct = try await box.run(
        "login", there, "-p", "direct", "-u", "ada", "--password-stdin", "--yes",
        stdin: "a password\n")
      #expect(direct.status == 0, "\(direct.stderr)")
      #expect(Look.posts(api) == ["POST " + sent, "POST " + sent])
    }
  }

  /// Whatever the document says, `profile add` accepts a printed line.
  @Test(arguments: [
    Look.document(Look.post("//evil.example/login")), Look.document(Look.post("/v{version}/login")),
    Look.document(Look.post("/{{x/login")), Look.document(Look.post("/x}/login")),
    Look.document(Look.post("/login"), #""servers":[{"url":"//evil.example/v1"}]"#),
    Look.document(Look.post("/login"), #""servers":[{"url":"/{stage}"}]"#),
    Look.document(Look.post("/login"), #""servers":[{"url":"{url}/v1"}]"#),
    Look.document(Look.post("/login"), #""servers":[{"url":"/v1?x=1"}]"#),
    Look.document(
      Look.post(
        "/login",
        #"{"properties":{"user":{},"password":{},"token_type":{"enum":["jwt"]}},"#
          + #""required":["token_type"]}"#)),
    Look.document(
      Look.post(
        "/login",
        #"{"properties":{"user":{},"password":{},"x y":{"const":1},"n":{"const":1e400}},"#
          + #""required":["x y","n"]}"#)),
    Look.document(
      "",
      #""components":{"securitySchemes":{"k":{"type":"apiKey","in":"header","name":"Host"}}}"#),
    Look.document(
      "",
      #""components":{"securitySchemes":{"k":{"type":"apiKey","in":"header","name":"Cookie"}}}"#),
    Look.document(
      "",
      #""components":{"securitySchemes":{"s":{"type":"oauth2","flows":{"password":"#
        + #"{"tokenUrl":"/{x}/token?y=1#z"}}}}}"#),
    Look.document(
      "",
      #""components":{"securitySchemes":{"s":{"type":"oauth2","flows":{"password":"#
        + #"{"tokenUrl":"/.//token"}}}}}"#),
  ])
  func linesThatArePrintedAreTaken(document: String) async throws {
    try await Sandbox.with(.none) { box in
      let api = try box.recorder(answering: Look.serving(document))
      let run = try await box.run("profile", "detect", api.url)
      #expect(run.status <= 1, "\(run.stderr)")
      guard let line = next(run) else { return }
      let added = try await box.run(Array(try await arguments(line, box)))
      #expect(added.status == 0, "\(line): \(added.stderr)")
    }
  }
}

extension Optional {
  fileprivate func asyncMap<T>(_ body: (Wrapped) async throws -> T) async rethrows -> T? {
    if let self { try await body(self) } else { nil }
  }
}
