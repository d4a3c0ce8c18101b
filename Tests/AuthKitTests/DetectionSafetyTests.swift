import Testing

@testable import AuthKit

/// Hostile documents, large ones, security schemes, and the marks of products.
@Suite struct DetectionSafetyTests {
  // MARK: Paths

  /// A path with characters that are special to a shell is accepted: it is quoted.
  @Test(arguments: [
    "/a'b/login", "/`id`/login", "/$(id)/login", "/x;y|z&w/login", "/(x)<y>/login", "/*~!/login",
    "/a%20b/login", "/-x/login", "/a\\\"b/login", "/a@b:c/login",
  ])
  func pathsThatAreKept(path: String) throws {
    let document = try openAPI(openAPI3(post(path, credentials)))
    #expect(signIns(document) == ["json \(path.replacing("\\", with: "")) username password"])
  }

  /// Paths that no recipe can have, as written in JSON.
  @Test(arguments: [
    "login", "", "/a b/login", #"/a\tb/login"#, #"/a\nb/login"#, #"/a\r\nb/login"#,
    #"/a\u0000b/login"#, #"/a\u001b[2Jb/login"#, #"/a\u007fb/login"#, #"/a\u0085b/login"#,
    #"/a\u202eb/login"#, "/é/login", #"/a\\b/login"#, "/a?b/login", "/a#b/login",
    "//evil.example/login", "///login", "https://evil.example/login", "//@evil.example/login",
  ])
  func pathsThatAreNot(path: String) throws {
    let document = try #require(try openAPI(openAPI3(post(path, credentials))))
    #expect(document.bodies(of: "POST") { _ in true }.isEmpty)
    #expect(document.operations.isEmpty)
  }

  // MARK: Sizes

  @Test func tenThousandPaths() throws {
    var paths = [post("/first/login", credentials)]
    for number in 0..<10_000 {
      paths.append(##""/items/\##(number)":{"get":{"$ref":"#/components/x/\##(number)"}}"##)
      if number == 3000 { paths.append(post("/middle/login", credentials)) }
    }
    let document = try openAPI(openAPI3(paths.joined(separator: ",")))
    #expect(
      signIns(document) == [
        "json /first/login username password", "json /middle/login username password",
      ])
    let operations = document?.operations ?? []
    #expect(operations.first?.path == "/first/login")
    #expect((3000...10_002).contains(operations.count))
  }

  /// The deepest nesting that JSON may have here, around the inspected part and inside it.
  @Test func deepSchemas() throws {
    func nested(_ levels: Int) -> String {
      String(repeating: #"{"properties":{"x":"#, count: levels) + "{}"
        + String(repeating: "}}", count: levels)
    }
    let body = #"{"properties":{"username":\#(nested(50)),"password":{}}}"#
    #expect(
      signIns(try openAPI(openAPI3(post("/login", body)))) == ["json /login username password"])
    let all =
      String(repeating: #"{"allOf":["#, count: 50) + credentials
      + String(repeating: "]}", count: 50)
    #expect(
      signIns(try openAPI(openAPI3(post("/login", all)))) == ["json /login username password"])
    #expect(throws: JSONError.self) { try openAPI(openAPI3(post("/login", nested(70)))) }
  }

  /// Paths that all refer to one part, which is composed of itself, or very large: a few bytes each
  /// would take minutes, or all memory.
  @Test func partsThatEveryPathRefersTo() throws {
    let paths = (0..<5000).map { ##""/a\##($0)":{"$ref":"#/x"}"## }.joined(separator: ",")
    let properties = (0..<200).map { #""p\#($0)":{}"# }.joined(separator: ",")
    let circle = ##""x":{"allOf":[{"$ref":"#/x"},{"$ref":"#/x"}],"properties":{\##(properties)}}"##
    let composed = try #require(try openAPI(openAPI3(paths, circle)))
    #expect(composed.operations.count <= 10_000)
    let members = (0..<50_000).map { #""m\#($0)":0"# }.joined(separator: ",")
    let large = try #require(try openAPI(openAPI3(paths, "\"x\":{\(members)}")))
    #expect(large.operations.isEmpty && large.described.isEmpty)
  }

  @Test func longChainsOfReferences() throws {
    for (length, expected) in [(3, ["json /login username password"]), (1000, [])] {
      let schemas = (0..<length).map {
        ##""S\##($0)":{"$ref":"#/components/schemas/S\##($0 + 1)"}"##
      }
      let components =
        #""components":{"schemas":{\#(schemas.joined(separator: ",")),"S\#(length)":\#(credentials)}}"#
      let text = openAPI3(post("/login", ##"{"$ref":"#/components/schemas/S0"}"##), components)
      #expect(signIns(try openAPI(text)) == expected)
    }
  }

  // MARK: Security schemes

  /// A scheme, its description, the header of a key, and the origin that is not used.
  static let schemes: [(scheme: String, told: String?, header: String?, foreign: String?)] = [
    (#"{"type":"http","scheme":"bearer"}"#, "HTTP bearer", nil, nil),
    (#"{"type":"http","scheme":"basic"}"#, "HTTP basic", nil, nil),
    (#"{"type":"basic"}"#, "HTTP basic", nil, nil),
    (#"{"type":"apiKey","in":"header","name":"X-Key"}"#, "a key in the header X-Key", "X-Key", nil),
    (#"{"type":"apiKey","in":"query","name":"key"}"#, nil, nil, nil),
    (#"{"type":"apiKey","in":"cookie","name":"sid"}"#, nil, nil, nil),
    (
      #"{"type":"apiKey","in":"header","name":"X Key"}"#, "a key in the header X Key", nil, nil
    ),
    (
      #"{"type":"apiKey","in":"header","name":"X\r\nHost"}"#,
      "a key in the header X \u{23CE} Host", nil, nil
    ),
    (#"{"type":"openIdConnect","openIdConnectUrl":"/x"}"#, "OpenID Connect", nil, nil),
    (#"{"type":"oauth2","flows":{"password":{"tokenUrl":"token"}}}"#, "OAuth 2.0", nil, nil),
    (
      #"{"type":"oauth2","flows":{"clientCredentials":{"tokenUrl":"https://evil.example/t"}}}"#,
      "OAuth 2.0", nil, "https://evil.example/t"
    ),
    (
      #"{"type":"oauth2","flow":"password","tokenUrl":"//evil.example/t"}"#, "OAuth 2.0", nil,
      "//evil.example/t"
    ),
    (
      #"{"type":"oauth2","flow":"password","tokenUrl":"http://api.shop.example/t"}"#, "OAuth 2.0",
      nil, "http://api.shop.example/t"
    ),
    (#"{"type":"mutualTLS"}"#, nil, nil, nil), (#"{"type":"http"}"#, nil, nil, nil),
    ("{}", nil, nil, nil), ("null", nil, nil, nil), ("[1]", nil, nil, nil),
  ]

  @Test(arguments: schemes)
  func securitySchemes(
    scheme: String, told: String?, header: String?, foreign: String?
  ) throws {
    for place in [
      #""components":{"securitySchemes":{"s":\#(scheme)}}"#,
      #""securityDefinitions":{"s":\#(scheme)}"#,
    ] {
      let document = try #require(try openAPI(openAPI3("", place)))
      #expect(document.schemes.compactMap(\.told) == (told.map { [$0] } ?? []))
      #expect(document.keyHeader == header)
      #expect(document.foreign == (foreign.map { [$0] } ?? []))
    }
  }

  /// The token endpoint of a password flow (RFC 6749, section 4.3), below the base path.
  @Test(arguments: [
    (#"{"password":{"tokenUrl":"/token"}}"#, "", "/token"),
    (#"{"password":{"tokenUrl":"token"}}"#, "", "/token"),
    (#"{"password":{"tokenUrl":"https://api.shop.example/o/token/"}}"#, "", "/o/token/"),
    (#"{"password":{"tokenUrl":"https://api.shop.example//token"}}"#, "", nil),
    (#"{"password":{"tokenUrl":"token"}}"#, "/v1", "/token"),
    (#"{"password":{"tokenUrl":"/v1/token"}}"#, "/v1", "/token"),
    (#"{"implicit":{"authorizationUrl":"/a"}}"#, "", nil),
    (#"{"clientCredentials":{"tokenUrl":"/token"}}"#, "", nil),
    (#"{"authorizationCode":{"tokenUrl":"/token"}}"#, "", nil),
    (#"{"password":{"tokenUrl":"https://evil.example/token"}}"#, "", nil),
    (#"{"password":{"tokenUrl":"//evil.example/token"}}"#, "", nil),
    (#"{"password":{"tokenUrl":"https://api.shop.example@evil.example/token"}}"#, "", nil),
    (#"{"password":{"tokenUrl":7}}"#, "", nil), (#"{"password":{}}"#, "", nil),
  ])
  func tokenURLOfAPasswordFlow(flows: String, base: String, grant: String?) throws {
    let text = openAPI3(
      "",
      #""servers":[{"url":"\#(base)/"}],"components":{"securitySchemes":{"s":"#
        + #"{"type":"oauth2","flows":\#(flows)}}}"#)
    #expect(try openAPI(text)?.passwordGrant == grant)
  }

  // MARK: Marks of products

  private func answer(_ status: Int, _ headers: [String] = [], _ body: String = "") throws
    -> RecipeResponse
  {
    var head = Array("HTTP/1.1 \(status) OK".utf8).withUnsafeBytes { ResponseHead(statusLine: $0) }
    for line in headers { Array(line.utf8).withUnsafeBytes { head.add(line: $0) } }
    return RecipeResponse(
      head: head, body: Array(body.utf8),
      url: try WebURL("https://api.shop.example/", from: .person),
      of: try ProfileReader.read(text: "url = \"https://api.shop.example\"", name: "p", file: nil))
  }

  private func read(_ text: String, of preset: String = "x") throws -> Fingerprint? {
    var values = ProfileValues()
    try values.add(try TOMLDocument(text, label: preset), source: .preset(preset))
    return try Fingerprint.read(values, preset)
  }

  private func mark(_ text: String) throws -> Fingerprint? { try read("[detect]\n" + text) }

  @Test func marksAreReadWhole() throws {
    let mark = try #require(
      try mark(
        "path = \"/p\"\nstatus = [404, 200]\nwhen = [\"/a=b\", \"header:X\"]\ntext = [\"t\"]"))
    #expect(mark.path == "/p" && mark.statuses == [404, 200] && mark.texts == ["t"])
    #expect(mark.conditions.count == 2 && mark.preset == "x")
    let short = try #require(try self.mark("text = [\"t\"]"))
    #expect(short.path == "/" && short.statuses == [200])
    #expect(try read("[login]\npath = \"/x\"\n") == nil)
    for text in ["path = \"/p\"", "when = []", "texts = [\"t\"]", "when = [7]"] {
      #expect(throws: Failure.self, "\(text)") { try self.mark(text) }
    }
  }

  /// A path that only some servers are asked for.
  @Test func marksThatWaitForASign() throws {
    let waiting = try #require(
      try mark(
        "path = \"/p\"\nafter = [\"X-Runtime\", \"/sign_in\"]\ntext = [\"t\"]\nlikely = true"))
    #expect(waiting.request == "GET /p" && waiting.isLikely)
    for root in [
      try answer(404, ["x-runtime: 1"]), try answer(302, ["Location: /users/sign_in"]),
      try answer(200, [], "<a href=/sign_in>"),
    ] {
      #expect(waiting.isWorthAsking(after: root))
    }
    #expect(!waiting.isWorthAsking(after: try answer(200, ["X-One: 1"], "t")))
    #expect(!waiting.isWorthAsking(after: nil))
    let always = try #require(try mark("method = \"OPTIONS\"\ntext = [\"t\"]"))
    #expect(always.request == "OPTIONS /" && always.isWorthAsking(after: nil))
    #expect(throws: Failure.self) { try mark("method = \"POST\"\ntext = [\"t\"]") }
  }

  @Test func marksAreShown() throws {
    let mark = try #require(
      try mark(
        "status = [200, 401]\nwhen = [\"/a=b\", \"header:X-One\", \"cookie:c\"]\ntext = [\"<t>\"]"))
    let shown = [
      try answer(200, [], #"{"a":"b"}"#), try answer(401, ["x-one: 1"]),
      try answer(200, [], "x<t>"),
      try answer(200, ["Set-Cookie: c=1; Path=/"]), try answer(200, [], "<t>"),
    ]
    let hidden = [
      try answer(404, [], #"{"a":"b"}"#), try answer(200, [], #"{"a":"c"}"#), try answer(200),
      try answer(200, ["X-Two: 1"]), try answer(200, [], "<T>"), try answer(200, [], "<t"),
      try answer(200, ["Set-Cookie: cc=1"]), try answer(200, [], #"{"a":"b","a":"b"}"#),
    ]
    #expect(shown.allSatisfy { mark.isShown(by: $0) })
    #expect(!hidden.contains { mark.isShown(by: $0) })
  }

  /// A mistake in a preset's `[detect]` would go unnoticed otherwise: detection would only miss it.
  @Test func everyMarkOfAPresetReads() throws {
    var names: [String] = []
    for name in Presets.names {
      let text = try #require(Presets.text(name))
      let mark = try read(text, of: name)
      #expect((mark != nil) == text.contains("\n[detect]\n"), "\(name)")
      if mark != nil { names.append(name) }
    }
    #expect(Fingerprint.all().map(\.preset) == names)
    #expect(!names.isEmpty)
  }
}
