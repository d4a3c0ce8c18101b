import Testing

@testable import AuthKit

private func recipe(_ text: String) throws -> Recipe {
  try ProfileReader.read(text: base + text, name: "shop", file: "/etc/x/shop.toml").recipe
}

private let base = "url = \"https://api.shop.example/v2\"\n"

private func shown(_ template: Template?) -> String {
  (template?.pieces ?? []).map { piece in
    switch piece {
    case .text(let text): text
    case .value(let name): "<\(name)>"
    case .basic(let user, let secret): "<\(user):\(secret)>"
    }
  }.joined()
}

private func shown(_ pairs: [RecipeRequest.Pair]) -> [String] {
  pairs.map { "\($0.name)=\(shown($0.value))" }
}

/// Members of a body, `a.b=TEXT`.
private func shown(_ body: RecipeRequest.Body?, _ name: String = "") -> [String] {
  switch body {
  case .template(let template): ["\(name)=\(shown(template))"]
  case .literal(let value): ["\(name)=\(value.serialized())"]
  case .words(let source): ["\(name)=<\(source)...>"]
  case .array(let items): items.flatMap { shown($0, name + "[]") }
  case .object(let fields):
    fields.flatMap { shown($0.value, name.isEmpty ? $0.name : "\(name).\($0.name)") }
  case nil: []
  }
}

private func shown(_ place: ValueSource) -> String {
  switch place {
  case .pointer(let pointer): pointer
  case .header(let name): "header:\(name)"
  case .cookie(let name): "cookie:\(name)"
  case .body: "body"
  case .claim(let pointer, let claim): "claim:\(pointer) \(claim)"
  }
}

private func shown(_ conditions: [Condition]) -> [String] {
  conditions.map { shown($0.place) + ($0.text.map { "=" + $0 } ?? "") }
}

private func shown(_ kept: [Extraction]) -> [String] {
  kept.map { "\($0.name)=\(shown($0.place))" }
}

/// A server's response, as libcurl returns it.
private func answer(
  _ status: Int, _ body: String = "", headers: [String] = [], recipe text: String = ""
) throws -> RecipeResponse {
  func bytes(_ text: String, _ use: (UnsafeRawBufferPointer) -> Void) {
    Array(text.utf8).withUnsafeBytes { use($0) }
  }
  var head = ResponseHead()
  bytes("HTTP/1.1 \(status) Told") { head = ResponseHead(statusLine: $0) }
  for line in headers { bytes(line) { head.add(line: $0) } }
  let profile = try ProfileReader.read(text: base + text, name: "shop", file: nil)
  return RecipeResponse(
    head: head, body: Array(body.utf8), url: try WebURL("https://h.example/", from: .person),
    of: profile)
}

/// The recipe language beyond names and places: constants, optional headers, codes, prefetch
/// requests, expiry reported in a body.
@Suite struct RecipeLanguageTests {
  // MARK: [vars] and {url}

  @Test func constantsStandEverywhere() throws {
    let recipe = try recipe(
      """
      [vars]
      tenant = "a/b c?d#e%é"
      plain = "x y"
      [login]
      path = "/{vars.tenant}/login/{username}"
      query = { t = "{vars.plain}", both = "{vars.plain}-{username}" }
      headers = { X-Tenant = "t {vars.plain}" }
      body = { tenant = "{vars.tenant}", at = ["{url}", "{{vars.plain}"], in = { p = "{password}" } }
      [request]
      headers = { Authorization = "Bearer {access_token}", X-Tenant = "{vars.plain}" }
      """)
    let login = try #require(recipe.login)
    // In the path it is always one segment; elsewhere each position has its own encoding.
    #expect(shown(login.path) == "/a%2Fb%20c%3Fd%23e%25%C3%A9/login/<username>")
    #expect(shown(login.query) == ["t=x y", "both=x y-<username>"])
    #expect(shown(login.headers) == ["X-Tenant=t x y"])
    #expect(
      shown(login.body) == [
        "tenant=a/b c?d#e%é", "at[]=https://api.shop.example/v2", "at[]={vars.plain}",
        "in.p=<password>",
      ])
    #expect(shown(recipe.request.headers).last == "X-Tenant=x y")
  }

  @Test(arguments: [
    ("", "/api/collections/users/auth-with-password", "preset pocketbase"),
    ("[vars]\ncollection = \"staff\"", "/api/collections/staff/auth-with-password", "file"),
    ("[vars]\nother = \"x\"", "/api/collections/users/auth-with-password", "preset pocketbase"),
  ])
  func profileOverridesOneConstantAlone(text: String, path: String, source: String) throws {
    let profile = try ProfileReader.read(
      text: base + "preset = \"pocketbase\"\n" + text, name: "shop", file: nil)
    #expect(shown(profile.recipe.login?.path) == path)
    let value = try #require(profile.values.first { $0.key == "vars.collection" })
    switch value.source {
    case .file: #expect(source == "file")
    case .preset(let name): #expect(source == "preset \(name)")
    case .builtIn: Issue.record("a constant of nobody")
    }
  }

  /// A field whose constant is empty is omitted, so that a profile can switch it off.
  @Test func emptyConstantIsNoValue() throws {
    let filled = try recipe(
      """
      [vars]
      scope = ""
      [login]
      path = "/in"
      headers = { X-Scope = "{vars.scope?}" }
      body = { scope = "{vars.scope}", in = { deep = "{vars.scope}" }, name = "{username}" }
      """)
    let login = try #require(filled.login)
    var values = TemplateValues()
    values[.username] = SharedSecret("ada")
    let expansion = TemplateFiller(values: values, profile: "shop")
    #expect(try expansion.json(login)?.text == #"{"name":"ada"}"#)
    #expect(expansion.isLeftOut(login.headers[0].value))
    // If it is required, an empty one is reported before anything is sent.
    for text in ["headers = { X-Must = \"{vars.scope}\" }", "query = { s = \"{vars.scope}\" }"] {
      #expect { try recipe("[vars]\nscope = \"\"\n[login]\npath = \"/in\"\n" + text) } throws: {
        ($0 as? Failure)?.message.contains("{vars.scope} has no value") ?? false
      }
    }
  }

  @Test func constantsAreSetLikeOtherKeys() throws {
    #expect(try ProfileStore.value(of: "vars.tenant", from: "true") == .string("true"))
    #expect(try ProfileStore.value(of: "vars.a-b_c", from: " x ") == .string(" x "))
    for name in ["vars", "vars.", "vars.a.b", "vars.a b", "vars.é", "var.x"] {
      #expect(throws: Failure.self, "\(name)") { try ProfileStore.value(of: name, from: "x") }
    }
  }

  // MARK: {NAME?}

  @Test func optionalHeadersAndParametersAreLeftOut() throws {
    let recipe = try recipe(
      """
      [login]
      path = "/in"
      query = { a = "{field.a?}", b = "{field.a?}-{field.b}", c = "1" }
      headers = { X-OTP = "{otp?}", X-Both = "{field.a?} {otp?}", X-Fixed = "1" }
      """)
    let login = try #require(recipe.login)
    let template = try #require(login.headers.first?.value)
    #expect(template.names == [.otp] && template.optionalNames == [.otp])
    #expect(template.requiredNames.isEmpty)
    let names = login.requiredNames(request: RequestRecipe())
    #expect(names == [Template.Name.field("b")], "{otp?} and {field.a?} are required by nothing")

    func sent(_ values: TemplateValues) throws -> [String] {
      let expansion = TemplateFiller(values: values, profile: "shop")
      return try expansion.headers(login.headers).map { "\($0.name): \($0.shownValue ?? "-")" }
    }
    var values = TemplateValues()
    #expect(try sent(values) == ["X-Fixed: 1"])
    values[.otp] = SharedSecret("123456")
    #expect(try sent(values) == ["X-OTP: 123456", "X-Fixed: 1"])
    values.fields = [("a", 7)]
    #expect(try sent(values) == ["X-OTP: 123456", "X-Both: 7 123456", "X-Fixed: 1"])
  }

  @Test func requiredHeaderWithoutValueStops() throws {
    let recipe = try recipe("[login]\npath = \"/in\"\nheaders = { X-A = \"{field.a}\" }\n")
    let headers = try #require(recipe.login?.headers)
    do {
      _ = try TemplateFiller(values: TemplateValues(), profile: "shop").headers(headers)
      Issue.record("an empty header")
    } catch {
      #expect(error.kind == .inputNeeded && error.message.contains("{field.a}"))
      #expect(error.hint == "use --field a=VALUE")
    }
  }

  // MARK: {unique}

  @Test func uniqueIsNewEachTime() throws {
    let recipe = try recipe("[login]\npath = \"/in\"\nbody = { name = \"me-{unique}\" }\n")
    let call = try #require(recipe.login)
    var seen: Set<String> = []
    for _ in 0..<100 {
      let body = try TemplateFiller(values: TemplateValues(), profile: "shop").json(call)
      let name = try #require(try JSONValue.parse(body?.text ?? "")["name"]?.text)
      #expect(name.wholeMatch(of: /me-[0-9a-f]{16}/) != nil, "\(name)")
      seen.insert(name)
    }
    #expect(seen.count == 100)
    #expect(!Template.Name.unique.isSecret, "it may stand in paths and queries")
  }

  // MARK: [otp]

  @Test func otpWithARequestOfItsOwn() throws {
    let recipe = try recipe(
      """
      [login]
      path = "/in"
      body = { name = "{username}", password = "{password}" }
      [otp]
      status = [200, 401]
      when = ["/mfa", "/code=A=B", "header:X-OTP=required", "cookie:mfa"]
      take = { ticket = "/mfa/ticket", id = "header:X-Id", c = "cookie:c", whole = "body" }
      path = "/in/{taken.id}"
      secrets_in_url = true
      headers = { X-Ticket = "{taken.ticket}" }
      body = { ticket = "{taken.ticket}", otp = "{otp}" }
      """)
    let factor = try #require(recipe.secondFactor)
    #expect(factor.statuses == [200, 401])
    #expect(
      shown(factor.conditions) == ["/mfa", "/code=A=B", "header:X-OTP=required", "cookie:mfa"])
    #expect(
      shown(factor.take) == ["ticket=/mfa/ticket", "id=header:X-Id", "c=cookie:c", "whole=body"])
    let call = try #require(factor.call)
    #expect(call.method == "POST" && call.authorization == .none && call.encoding == .json)
    #expect(shown(call.path) == "/in/<taken.id>")
    #expect(shown(call.body) == ["ticket=<taken.ticket>", "otp=<otp>"])
  }

  @Test func otpThatSendsTheSignInAgain() throws {
    let recipe = try recipe(
      """
      [login]
      path = "/in"
      body = { name = "{username}", password = "{password}", code = "{otp}" }
      [otp]
      status = [401]
      """)
    let factor = try #require(recipe.secondFactor)
    #expect(factor.call == nil && factor.conditions.isEmpty && factor.take.isEmpty)
    let call = try #require(recipe.login)
    var values = TemplateValues()
    values[.username] = SharedSecret("ada")
    values[.password] = SharedSecret("pw")
    func body() throws -> String? {
      try TemplateFiller(values: values, profile: "shop").json(call)?.text
    }
    #expect(try body() == #"{"name":"ada","password":"pw"}"#)
    values[.otp] = SharedSecret("1")
    #expect(try body() == #"{"name":"ada","password":"pw","code":"1"}"#)
  }

  struct Question: Sendable {
    var when: String
    var status = 401
    var headers: [String] = []
    var body = ""
    var asks: Bool
  }

  static let questions = [
    Question(when: #"["/mfa"]"#, body: #"{"mfa":{"t":1}}"#, asks: true),
    Question(when: #"["/mfa"]"#, body: #"{"mfa":true}"#, asks: true),
    Question(when: #"["/mfa"]"#, body: #"{"mfa":0}"#, asks: true),
    Question(when: #"["/mfa"]"#, body: #"{"mfa":false}"#, asks: false),
    Question(when: #"["/mfa"]"#, body: #"{"mfa":null}"#, asks: false),
    Question(when: #"["/mfa"]"#, body: #"{"mfa":""}"#, asks: false),
    Question(when: #"["/mfa"]"#, body: #"{"a":1}"#, asks: false),
    Question(when: #"["/mfa"]"#, body: "<html>/mfa</html>", asks: false),
    Question(when: #"["/mfa"]"#, status: 403, body: #"{"mfa":true}"#, asks: false),
    Question(when: #"["/mfa"]"#, status: 200, body: #"{"mfa":true}"#, asks: true),
    Question(when: #"["/d=Two"]"#, body: #"{"d":"Two"}"#, asks: true),
    Question(when: #"["/d=Two"]"#, body: #"{"d":"two"}"#, asks: false),
    Question(when: #"["/d=Two"]"#, body: #"{"d":"TwoMore"}"#, asks: false),
    Question(when: #"["/d=Two"]"#, body: #"{"d":["Two"]}"#, asks: false),
    Question(when: #"["/d=a=b"]"#, body: #"{"d":"a=b"}"#, asks: true),
    Question(when: #"["/d=false"]"#, body: #"{"d":false}"#, asks: true),
    Question(when: #"["/d=7"]"#, body: #"{"d":7}"#, asks: true),
    Question(when: #"["/e/0/c=X"]"#, body: #"{"e":[{"c":"X"}]}"#, asks: true),
    Question(when: #"["/a", "/b"]"#, body: #"{"b":1}"#, asks: true),
    Question(when: #"["header:X-OTP"]"#, headers: ["x-otp: required"], asks: true),
    Question(when: #"["header:X-OTP=required"]"#, headers: ["X-OTP: no"], asks: false),
    Question(when: #"["cookie:mfa"]"#, headers: ["Set-Cookie: mfa=1; Path=/"], asks: true),
    Question(when: #"["cookie:mfa=2"]"#, headers: ["Set-Cookie: mfa=1"], asks: false),
    Question(when: #"["body=OTP"]"#, body: "OTP\n", asks: true),
    Question(when: "[]", asks: true),
    Question(when: "[]", status: 400, asks: false),
  ]

  @Test(arguments: questions)
  func answersThatAskForACode(_ question: Question) throws {
    let text = """
      [login]
      path = "/in"
      body = { code = "{otp}" }
      [otp]
      status = [200, 401]
      when = \(question.when)
      """
    let factor = try #require(try recipe(text).secondFactor)
    let answer = try answer(question.status, question.body, headers: question.headers)
    #expect(try answer.asksForCode(factor) == question.asks)
  }

  // MARK: [prefetch] and write_headers

  @Test func prefetchIsAGetOfNobody() throws {
    let recipe = try recipe(
      """
      [prefetch]
      path = "/csrf"
      take = { csrf = "/result", name = "header:X-CSRF-Name" }
      [login]
      path = "/in"
      headers = { X-CSRFToken = "{taken.csrf}" }
      [whoami]
      path = "/me"
      [request]
      write_headers = { X-CSRFToken = "{taken.csrf}", Referer = "{url}" }
      """)
    let prefetch = try #require(recipe.prefetch)
    #expect(prefetch.call.method == "GET" && prefetch.call.authorization == .none)
    #expect(prefetch.call.body == nil && shown(prefetch.call.path) == "/csrf")
    #expect(shown(prefetch.take) == ["csrf=/result", "name=header:X-CSRF-Name"])
    #expect(
      shown(recipe.request.writeHeaders) == [
        "X-CSRFToken=<taken.csrf>", "Referer=https://api.shop.example/v2",
      ])
    #expect(shown(recipe.request.headers) == ["Authorization=Bearer <access_token>"])
    func needs(_ call: RecipeRequest?) throws -> Bool {
      prefetch.isNeeded(for: try #require(call).names(request: recipe.request))
    }
    #expect(try needs(recipe.login))
    #expect(try !needs(recipe.whoami), "write_headers are not of the recipe's reading requests")
    #expect(!prefetch.isNeeded(for: [.accessToken, .taken("other")]))
    #expect(prefetch.isNeeded(for: recipe.request.writeHeaders.flatMap(\.value.names)))
  }

  @Test func prefetchMayCarryTheSessionForWrites() throws {
    let recipe = try recipe(
      """
      [prefetch]
      path = "/csrf"
      authorization = "access"
      method = "POST"
      take = { csrf = "/result" }
      [refresh]
      path = "/refresh"
      body = { r = "{refresh_token}", csrf = "{taken.csrf}" }
      [logout]
      path = "/out"
      headers = { X-CSRFToken = "{taken.csrf}" }
      [whoami]
      path = "/me"
      method = "POST"
      body = { csrf = "{taken.csrf}" }
      [request]
      write_headers = { X-CSRFToken = "{taken.csrf}" }
      """)
    #expect(recipe.prefetch?.call.authorization == .access)
    #expect(recipe.prefetch?.call.method == "POST")
    #expect(shown(recipe.whoami?.body) == ["csrf=<taken.csrf>"])
  }

  /// A value taken from an earlier response is as secret as a token and never allowed in a URL by
  /// default.
  @Test func takenValuesAreSecrets() throws {
    let name = Template.Name.taken("csrf")
    #expect(name.isSecret && name.isTaken && name.member == "csrf")
    #expect(!name.isSession && !name.isField && !name.isConstant)
  }

  // MARK: session.expired_when, places

  @Test(arguments: [
    (#"{"error":"ExpiredToken"}"#, true), (#"{"error":"InvalidToken"}"#, true),
    (#"{"error":"Other"}"#, false), (#"{"expired":true}"#, true), (#"{"expired":false}"#, false),
    ("", false), ("ExpiredToken", false),
  ])
  func expiryThatTheBodyTells(body: String, holds: Bool) throws {
    let text = """
      [session]
      expired = [400, 401]
      expired_when = ["/error=ExpiredToken", "/error=InvalidToken", "/expired"]
      """
    let session = try recipe(text).session
    #expect(session.expired == [400, 401])
    #expect(
      shown(session.expiredWhen) == ["/error=ExpiredToken", "/error=InvalidToken", "/expired"])
    #expect(try answer(400, body).holdsAny(session.expiredWhen) == holds)
    #expect(try recipe("").session.expiredWhen.isEmpty, "nothing is expected by itself")
  }

  @Test(
    arguments: [
      ("7|Qw3rTy", "text/plain", "7|Qw3rTy"),
      ("7|Qw3rTy\n", "text/html; charset=UTF-8", "7|Qw3rTy"),
      ("7|Qw3rTy\r\n", "", "7|Qw3rTy"), (#""abc""#, "application/json", "abc"),
      (#""a b""#, "application/json", "a b"), (#" "abc" "#, "application/json", "abc"),
      ("two words", "text/plain", nil), ("two\nlines", "text/plain", nil), ("", "text/plain", nil),
      ("\n", "text/plain", nil), (#""""#, "application/json", nil), ("<html>", "text/html", nil),
      (#"{"a":"b"}"#, "application/json", nil), (#"["a"]"#, "application/json", nil),
      ("true", "application/json", nil), ("t\u{E9}", "text/plain", nil),
      ("a\u{0}b", "text/plain", nil), ("a\tb", "text/plain", nil),
    ] as [(String, String, String?)])
  func wholeBody(body: String, type: String, text: String?) throws {
    let headers = type.isEmpty ? [] : ["Content-Type: \(type)"]
    let answer = try answer(
      200, body, headers: headers, recipe: "[session]\naccess_token = [\"body\"]\n")
    #expect(try answer.accessToken() == text)
  }

  /// If a place is absent or empty, the next place counts.
  @Test(
    arguments: [
      (#"{"a":"","b":"tok"}"#, "tok"), (#"{"a":null,"b":"tok"}"#, "tok"), (#"{"b":"tok"}"#, "tok"),
      (#"{"a":"one","b":"tok"}"#, "one"), (#"{"a":7,"b":"tok"}"#, "7"), (#"{"a":"","b":""}"#, nil),
      (#"{"a":"","b":null}"#, nil), ("{}", nil),
    ] as [(String, String?)])
  func firstPlaceThatIsPresent(body: String, token: String?) throws {
    let recipe = "[session]\naccess_token = [\"/a\", \"/b\"]\naccount = [\"/a\", \"/b\"]\n"
    let answer = try answer(200, body, recipe: recipe)
    #expect(try answer.accessToken() == token)
    #expect(try answer.value(at: answer.recipe.account)?.scalarText == token)
  }

  @Test func placesAreOfFourKinds() throws {
    let session = try recipe(
      """
      [session]
      access_token = ["/a~1b/0", "header:X-Token", "cookie:sid", "body", "/"]
      keep = { one = "/x", two = "header:uid", three = "cookie:c", four = "body" }
      """
    ).session
    #expect(
      session.accessToken.map(shown) == ["/a~1b/0", "header:X-Token", "cookie:sid", "body", "/"])
    #expect(shown(session.keep) == ["one=/x", "two=header:uid", "three=cookie:c", "four=body"])
  }
}
