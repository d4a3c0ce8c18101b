import Testing

@testable import AuthKit

/// Which operations of a document sign in, and the profile settings for them.
@Suite struct SignInOperationTests {
  private func only(_ text: String) throws -> SignInOperation? {
    let found = (try openAPI(text)?.bodies(of: "POST", where: SignInOperation.isSignIn) ?? [])
      .compactMap(
        SignInOperation.init)
    try #require(found.count < 2)
    return found.first
  }

  /// The settings as in the profile, as one line of JSON.
  private func settings(_ operation: SignInOperation) -> String {
    JSONValue.object(operation.settings).serialized()
  }

  // MARK: Detection

  @Test(arguments: [
    "/login", "/Login", "/LOGIN", "/login/", "/api/v1/login", "/signin", "/sign_in", "/sign-in",
    "/users/sign_in", "/session", "/sessions", "/api/sessions/", "/token", "/api/token/", "/auth",
    "/authenticate", "/auth/jwt/login", "/auth/token/login/", "/jwt/create/", "/auth/jwt/create/",
    "/token/create", "/api/collections/users/auth-with-password", "/auth/local",
  ])
  func pathsThatSignIn(path: String) throws {
    #expect(try only(openAPI3(post(path, credentials)))?.operation.path == path)
  }

  @Test(arguments: [
    "/", "/register", "/auth/register", "/users", "/users/", "/signup", "/sign_up", "/create",
    "/users/create", "/login/verify", "/logins", "/relogin", "/auth/token/refresh", "/auth/logout",
    "/password", "/password/reset", "/auth/reset-password", "/auth/jwt/refresh/", "/token/revoke",
    // A path parameter whose value is unknown.
    "/login/{provider}", "/{tenant}/login", "/v{version}/login", "/realms/{realm}/token",
    "/x;{a}/login",
  ])
  func pathsThatDoNot(path: String) throws {
    #expect(try only(openAPI3(post(path, credentials))) == nil)
  }

  @Test func otherMethodsDoNot() throws {
    let document = openAPI3(post("/login", credentials))
    for method in ["get", "put", "delete", "patch", "options"] {
      #expect(try only(document.replacing("\"post\"", with: "\"\(method)\"")) == nil, "\(method)")
    }
  }

  /// The properties of a body, and the fields for name and password; nil if it does not sign in.
  static let bodies: [(properties: [String], fields: [String]?)] = [
    (["username", "password"], ["username", "password"]),
    (["password", "username"], ["username", "password"]),
    (["email", "password"], ["email", "password"]),
    (["Email", "Password"], ["Email", "Password"]),
    (["userName", "passWord"], ["userName", "passWord"]),
    (["identifier", "password"], ["identifier", "password"]),
    (["identity", "password"], ["identity", "password"]),
    (["login", "pwd"], ["login", "pwd"]), (["user", "pass"], ["user", "pass"]),
    (["user", "passwd"], ["user", "passwd"]), (["name", "password"], ["name", "password"]),
    (["usernameOrEmail", "password"], ["usernameOrEmail", "password"]),
    (["username", "email", "password"], ["username", "password"]),
    (["email", "password", "remember_me", "otp"], ["email", "password"]),
    // A registration, a change, a reset.
    (["username", "password", "password2"], nil), (["email", "password", "rePassword"], nil),
    (["email", "password", "password_confirmation"], nil),
    (["username", "old_password", "new_password"], nil),
    (["username", "password", "newPassword"], nil), (["token", "password"], nil),
    (["username", "password", "pwd"], nil),
    // Other ways to sign in.
    (["username"], nil), (["password"], nil), (["email", "code"], nil), (["refresh"], nil),
    ([], nil),
    (["passwordless", "username"], nil), (["username", "password_hint"], nil),
  ]

  @Test(arguments: bodies) func bodiesThatSignIn(properties: [String], fields: [String]?) throws {
    let members = properties.map { "\"\($0)\":{}" }.joined(separator: ",")
    let found = try only(openAPI3(post("/login", "{\"properties\":{\(members)}}")))
    #expect(found.map { [$0.userField, $0.passwordField] } == fields)
  }

  // MARK: Profile settings

  @Test func settingsOfEachEncoding() throws {
    let usual = ##""login.body":{"username":"{username}","password":"{password}"}"##
    for (type, expected) in [
      ("application/json", #"{"preset":"json","login.path":"/token",\#(usual)}"#),
      (
        "application/x-www-form-urlencoded", #"{"preset":"form","login.path":"/token",\#(usual)}"#
      ),
      (
        "multipart/form-data",
        #"{"preset":"json","login.path":"/token","login.encoding":"multipart",\#(usual)}"#
      ),
    ] {
      let found = try #require(try only(openAPI3(post("/token", credentials, type: type))))
      #expect(settings(found) == expected)
    }
  }

  /// The schema of the required property `more` and its value in the body; nil: it needs --field.
  static let further: [(schema: String, value: String?)] = [
    (#"{"type":"string"}"#, nil), ("{}", nil), ("null", nil), ("true", nil),
    (#"{"enum":["password"]}"#, #""password""#), (#"{"const":"password"}"#, #""password""#),
    (#"{"default":"web"}"#, #""web""#), (#"{"enum":["web","app"],"default":"app"}"#, #""app""#),
    (#"{"enum":["web","app"]}"#, nil), (#"{"enum":[]}"#, nil), (#"{"enum":"x"}"#, nil),
    (#"{"const":3}"#, "3"), (#"{"default":true}"#, "true"), (#"{"default":2.50}"#, "2.50"),
    (#"{"default":null}"#, nil), (#"{"default":{"a":1}}"#, nil), (#"{"default":["a"]}"#, nil),
    (#"{"default":""}"#, #""""#), (#"{"const":"it's \"so\""}"#, #""it's \"so\"""#),
    // A value is never read as a placeholder.
    (#"{"const":"{password}"}"#, nil), (#"{"default":"{field.x}"}"#, nil),
    (#"{"enum":["{{"]}"#, nil),
  ]

  @Test(arguments: further) func whatElseMustBeThere(schema: String, value: String?) throws {
    let body = """
      {"properties":{"more":\(schema),"username":{},"spare":{"const":"x"},"password":{}},
      "required":["username","password","more"]}
      """
    let found = try #require(try only(openAPI3(post("/login", body))))
    let told = value ?? #""{field.more}""#
    #expect(
      settings(found) == """
        {"preset":"json","login.path":"/login","login.body":{"username":"{username}",\
        "password":"{password}","more":\(told)}}
        """)
    #expect(found.furtherFields == (value == nil ? ["more"] : []))
  }

  /// No profile stores a fixed value under such a name (rule C9).
  @Test(arguments: ["api_key", "clientSecret", "token_type", "Authorization"])
  func constantsUnderSecretNamesAreAskedFor(name: String) throws {
    let body = """
      {"properties":{"username":{},"password":{},"\(name)":{"const":"x"}},"required":["\(name)"]}
      """
    let found = try #require(try only(openAPI3(post("/login", body))))
    #expect(found.furtherFields == [name])
    #expect(settings(found).contains(#""\#(name)":"{field.\#(name)}""#))
  }

  @Test(arguments: [#"a b"#, #"a\"b"#, "a'b", "a{b}", #"a\u001bb"#, "é", ""])
  func namesThatNoFieldCanHave(name: String) throws {
    for schema in [#"{"const":"x"}"#, "{}"] {
      let body = """
        {"properties":{"username":{},"password":{},"\(name)":\(schema)},"required":["\(name)"]}
        """
      // A recipe that omits a required field would be wrong.
      let found = try #require(try only(openAPI3(post("/login", body))))
      let isConstant = schema != "{}"
      #expect(settings(found).contains(#":"x"}"#) == isConstant)
      #expect(found.furtherFields.count == (isConstant ? 0 : 1))
      #expect(!settings(found).contains("{field."))
    }
  }

  // MARK: The token

  static let answers: [(schema: String, place: String?)] = [
    (#"{"properties":{"access_token":{},"refresh_token":{}}}"#, "/access_token"),
    (#"{"properties":{"refresh":{},"access":{}}}"#, "/access"),
    (#"{"properties":{"token":{}}}"#, "/token"), (#"{"properties":{"key":{}}}"#, "/key"),
    (#"{"properties":{"accessToken":{},"token":{}}}"#, "/accessToken"),
    (#"{"properties":{"data":{"properties":{"token":{}}}}}"#, "/data/token"),
    (#"{"properties":{"result":{"properties":{"jwt":{}}}}}"#, "/result/jwt"),
    (##"{"$ref":"#/components/schemas/T"}"##, "/auth_token"),
    (##"{"properties":{"data":{"$ref":"#/components/schemas/T"}}}"##, "/data/auth_token"),
    (##"{"allOf":[{"$ref":"#/components/schemas/T"}]}"##, "/auth_token"),
    (#"{"properties":{"ok":{}}}"#, nil), (#"{"type":"string"}"#, nil), ("{}", nil), ("7", nil),
    (#"{"properties":["token"]}"#, nil), (#"{"items":{"properties":{"token":{}}}}"#, nil),
  ]

  @Test(arguments: answers) func whereTheAnswerHasIt(schema: String, place: String?) throws {
    let components = #""components":{"schemas":{"T":{"properties":{"auth_token":{}}}}}"#
    let three = """
      "/login":{"post":{"requestBody":{"content":{"application/json":{"schema":\(credentials)}}},
      "responses":{"401":{"content":{"application/json":{"schema":{"properties":{"jwt":{}}}}}},
      "200":{"content":{"application/json":{"schema":\(schema)}}}}}}
      """
    let found = try #require(try only(openAPI3(three, components)))
    #expect(found.tokenPlace == place)
    #expect(
      settings(found).contains("session.access_token") == (place != nil)
        && settings(found).contains("[\"\(place ?? "")\"]") == (place != nil))
    let two = """
      {"swagger":"2.0","paths":{"/login":{"post":{"parameters":[{"in":"body","schema":\
      \(credentials)}],"responses":{"default":{"schema":{"properties":{"jwt":{}}}},
      "201":{"schema":\(schema)}}}}},\(components)}
      """
    #expect(try only(two)?.tokenPlace == place)
  }

  // MARK: Presets

  private func preset(_ text: String) throws -> String? {
    let document = try #require(try openAPI(text))
    let found = try #require(
      document.bodies(of: "POST", where: SignInOperation.isSignIn).compactMap(SignInOperation.init)
        .first)
    return found.preset(among: document.operations)
  }

  @Test(arguments: [("fastapi", "fastapi"), ("fastapi-users", "fastapi-users"), ("swagger-2", nil)])
  func presetsOfFrameworks(name: String, preset: String?) throws {
    #expect(try self.preset(try fixture(name)) == preset)
  }

  private static let form = "application/x-www-form-urlencoded"
  private static let email = #"{"properties":{"email":{},"password":{}}}"#
  private static let jwtPaths =
    #","/api/token/refresh/":{"post":{}},"/auth/users/":{"post":{}},"/auth/users/me/":{"get":{}}"#

  static let presets: [(paths: String, preset: String?)] = [
    (post("/login", credentials), "json"), (post("/login", credentials, type: form), "form"),
    (post("/login", credentials, type: "multipart/form-data"), nil),
    (post("/api/token/", credentials) + jwtPaths, "simplejwt"),
    (post("/api/token/", credentials), "simplejwt"),
    // Another field, encoding or path, or one more required field.
    (post("/api/token/", email) + jwtPaths, nil), (post("/api/token", credentials) + jwtPaths, nil),
    (post("/api/token/", credentials, type: form) + jwtPaths, nil),
    (post("/v2/api/token/", credentials) + jwtPaths, nil),
    (
      post("/api/token/", #"{"properties":{"username":{},"password":{},"a":{}},"required":["a"]}"#)
        + jwtPaths, nil
    ),
    // Two presets have this sign-in: the one with more of the other requests wins.
    (post("/api/login", email) + #","/api/register":{"post":{}}"#, "express-jwt"),
  ]

  @Test(arguments: presets) func presetWithTheMostRequests(paths: String, preset: String?) throws {
    #expect(try self.preset(openAPI3(paths)) == preset, "\(paths)")
  }

  /// A document of each preset's own requests matches it, or a preset with the same sign-in.
  @Test(arguments: Presets.names) func everyPresetKnowsItself(name: String) throws {
    func recipe(_ name: String) throws -> Recipe {
      try ProfileReader.read(
        text: "url = \"https://h.example\"\npreset = \"\(name)\"", name: "p", file: nil
      ).recipe
    }
    // A preset that requires a constant cannot be used without it.
    guard let own = try? recipe(name), let login = own.login, login.method == "POST",
      login.authorization == .none,
      let path = login.path.plainText, case .object(let fields)? = login.body,
      let type = [
        RecipeRequest.Encoding.json: "application/json", .form: Self.form,
        .multipart: "multipart/form-data",
      ][login.encoding]
    else { return }
    let members = fields.map { "\"\($0.name)\":{}" }.joined(separator: ",")
    var paths = [post(path, "{\"properties\":{\(members)}}", type: type)]
    for call in [own.register, own.refresh, own.logout, own.whoami] {
      guard let call, let other = call.path.plainText, other != path else { continue }
      paths.append("\"\(other)\":{\"\(call.method.asciiLowercased)\":{}}")
    }
    guard let found = try only(openAPI3(paths.joined(separator: ","))) else { return }
    let operations = try openAPI(openAPI3(paths.joined(separator: ",")))?.operations ?? []
    let preset = try #require(found.preset(among: operations))
    let other = try recipe(preset)
    #expect(other.login?.path.plainText == path && other.login?.encoding == login.encoding)
    let calls = [other.register, other.refresh, other.logout, other.whoami]
    #expect(
      preset == name || calls.count { $0?.path.plainText != nil } >= paths.count - 1,
      "\(name): \(preset)")
  }

  /// A profile takes no NUL: neither as a name nor as a value.
  @Test func fieldsWithANUL() throws {
    let further = #""a\u0000":{"default":"b"},"c":{"default":"d\u0000"},"e":{"default":"f"}"#
    let schema =
      #"{"required":["a\u0000","c","e"],"properties":{"username":{},"password":{},\#(further)}}"#
    let found = try #require(try only(openAPI3(post("/login", schema))))
    let body = JSONValue.object(found.settings)["login.body"]
    #expect(
      body?.serialized()
        == #"{"username":"{username}","password":"{password}","c":"{field.c}","e":"f"}"#)
  }
}
