import Glibc
import Testing

@testable import AuthKit

/// A document of `Tests/Fixtures`: what FastAPI and fastapi-users themselves wrote, and one of
/// Swagger 2.
func fixture(_ name: String) throws -> String {
  let folder = #filePath.split(separator: "/").dropLast(2).joined(separator: "/")
  let file = try #require(fopen("/\(folder)/Fixtures/\(name).json", "r"))
  defer { fclose(file) }
  var bytes = [UInt8](repeating: 0, count: 1 << 20)
  return String(decoding: bytes[..<fread(&bytes, 1, bytes.count, file)], as: UTF8.self)
}

/// The document `text` as it came from `place`.
func openAPI(
  _ text: String, from place: String = "https://api.shop.example/openapi.json"
) throws -> OpenAPI? {
  OpenAPI(try JSONValue.parse(text), url: try WebURL(place, from: .person))
}

/// An OpenAPI 3.1 document of these members of `paths`; `more` are further members of the whole.
func openAPI3(_ paths: String, _ more: String = "") -> String {
  #"{"openapi":"3.1.0","info":{"title":"t","version":"1"},"paths":{"# + paths + "}"
    + (more.isEmpty ? "}" : "," + more + "}")
}

/// A member of `paths`: POST with this schema for its body.
func post(_ path: String, _ schema: String, type: String = "application/json") -> String {
  #""\#(path)":{"post":{"requestBody":{"content":{"\#(type)":{"schema":\#(schema)}}}}}"#
}

let credentials = #"{"properties":{"username":{},"password":{}}}"#

/// Each sign-in of a document: `json /v1 /login username password`, the base path in front.
func signIns(_ document: OpenAPI?) -> [String] {
  (document?.bodies(of: "POST", where: SignInOperation.isSignIn) ?? []).compactMap(
    SignInOperation.init
  ).map { found in
    let operation = found.operation
    return [
      operation.encoding.rawValue, document?.basePath ?? "", operation.path, found.userField,
      found.passwordField,
    ].filter { !$0.isEmpty }.joined(separator: " ")
  }
}

/// Documents as they are read: bodies, references, servers, hostile ones.
@Suite struct DetectionTests {
  @Test(arguments: [
    ("fastapi", ["form /token username password"]),
    ("fastapi-users", ["form /auth/jwt/login username password"]),
    ("swagger-2", ["json /api/v1 /users/sign_in email password"]),
  ])
  func documentsOfFrameworks(name: String, found: [String]) throws {
    let document = try #require(try openAPI(try fixture(name)))
    #expect(signIns(document) == found)
    #expect(document.foreign == [])
  }

  static let notDocuments = [
    "{}", "[]", "null", #""openapi""#, #"{"openapi":"3.1.0"}"#, #"{"paths":{}}"#,
    #"{"openapi":3.1,"paths":{}}"#, #"{"openapi":"3.1.0","paths":[]}"#,
    #"{"swagger":2.0,"paths":{}}"#, #"{"OpenAPI":"3.1.0","Paths":{}}"#,
  ]

  @Test(arguments: notDocuments) func whatIsNotADocument(text: String) throws {
    #expect(try openAPI(text) == nil)
  }

  // MARK: Bodies

  private static let fields = #""properties":{"username":{},"password":{}}"#
  private static let form = "application/x-www-form-urlencoded"

  /// A Swagger 2 document with `parameters` at POST /login.
  private static func swagger2(_ parameters: String, _ more: String = "") -> String {
    #"{"swagger":"2.0","paths":{"/login":{"post":{"parameters":["# + parameters + "]}}}\(more)}"
  }

  static let bodies: [(document: String, found: String?)] = [
    (openAPI3(post("/login", credentials)), "json"),
    (openAPI3(post("/login", credentials)).replacing("3.1.0", with: "3.0.3"), "json"),
    (openAPI3(post("/login", credentials, type: form)), "form"),
    (openAPI3(post("/login", credentials, type: "multipart/form-data")), "multipart"),
    (openAPI3(post("/login", credentials, type: "application/xml")), nil),
    // Where there is a choice.
    (
      openAPI3(
        #""/login":{"post":{"requestBody":{"content":{"multipart/form-data":{"schema":{}},"#
          + #""application/x-www-form-urlencoded":{"schema":{}},"#
          + #""application/json":{"schema":\#(credentials)}}}}}"#), "json"
    ),
    (openAPI3(#""/login":{"post":{"requestBody":{"content":{}}}}"#), nil),
    (openAPI3(#""/login":{"post":{}}"#), nil), (openAPI3(#""/login":{"get":{}}"#), nil),
    (openAPI3(#""/login":null,"/token":[],"/auth":"x","/session":{"post":7}"#), nil),
    // References, to every kind of thing.
    (
      openAPI3(
        post("/login", ##"{"$ref":"#/components/schemas/Login"}"##),
        #""components":{"schemas":{"Login":\#(credentials)}}"#), "json"
    ),
    (
      openAPI3(
        ##""/login":{"post":{"requestBody":{"$ref":"#/components/requestBodies/Login"}}}"##,
        #""components":{"requestBodies":{"Login":{"content":{"application/json":{"schema":"#
          + credentials + "}}}}}"), "json"
    ),
    (
      openAPI3(
        ##""/login":{"$ref":"#/components/pathItems/Login"}"##,
        #""components":{"pathItems":{"Login":{"post":{"requestBody":{"content":{"\#(form)":"#
          + #"{"schema":\#(credentials)}}}}}}}"#), "form"
    ),
    (
      openAPI3(
        post("/login", credentials) + ","
          + post(
            "/token",
            ##"{"$ref":"#/paths/~1login/post/requestBody/content/application~1json/schema"}"##)),
      "json+json"
    ),
    // Schemas put together of several.
    (
      openAPI3(
        post(
          "/login", #"{"allOf":[{"properties":{"username":{}}},{"properties":{"password":{}}}]}"#)
      ), "json"
    ),
    (
      openAPI3(
        post(
          "/login",
          #"{"allOf":[{"properties":{"username":{}}}],"properties":{"password":{}}}"#)), "json"
    ),
    (
      openAPI3(
        post("/login", ##"{"allOf":[{"$ref":"#/components/schemas/A"}]}"##),
        #""components":{"schemas":{"A":{"allOf":[{"properties":{"username":{}}},{"allOf":["#
          + #"{"properties":{"password":{}}}]}]}}}"#), "json"
    ),
    // One of them says more of the same property.
    (
      openAPI3(
        post("/login", #"{"allOf":[\#(credentials),{"properties":{"password":{"minLength":8}}}]}"#)),
      "json"
    ),
    // Swagger 2.
    (
      swagger2(#"{"in":"query","name":"x"},{"in":"body","name":"b","schema":{\#(fields)}}"#),
      "json"
    ),
    (
      swagger2(
        ##"{"in":"body","schema":{"$ref":"#/definitions/L"}}"##,
        #","definitions":{"L":{\#(fields)}}"#), "json"
    ),
    (
      swagger2(
        ##"{"$ref":"#/parameters/L"}"##,
        #","parameters":{"L":{"in":"body","schema":{\#(fields)}}}"#), "json"
    ),
    (
      swagger2(
        #"{"in":"formData","name":"username","type":"string"},"#
          + #"{"in":"formData","name":"password","type":"string","required":true}"#), "form"
    ),
    (swagger2(#"{"in":"query","name":"username"},{"in":"query","name":"password"}"#), nil),
    (swagger2(#"{"in":"body"},{"in":"formData"},null,7,"x""#), nil),
  ]

  @Test(arguments: bodies) func bodiesOfEachVersion(document: String, found: String?) throws {
    let expected =
      switch found {
      case "json+json": ["json /login username password", "json /token username password"]
      case let found?: ["\(found) /login username password"]
      case nil: [String]()
      }
    #expect(signIns(try openAPI(document)) == expected, "\(document)")
  }

  // MARK: References that lead nowhere

  static let lostReferences = [
    "#/components/schemas/None", "#/components/schemas/None/properties", "#", "#x",
    "#/components/schemas/A", "#/components/schemas/B", "#/components/schemas/C~2",
    "#/components/schemas/Twice", "common.json#/Login", "https://evil.example/login.json",
    "//evil.example/x", "file:///etc/passwd", "",
  ]

  @Test(arguments: lostReferences) func referencesThatLeadNowhere(reference: String) throws {
    let schemas = ##"""
      "components":{"schemas":{"A":{"$ref":"#/components/schemas/B"},
      "B":{"$ref":"#/components/schemas/A"},"Twice":\##(credentials),"Twice":\##(credentials)}}
      """##
    let lost = #"{"$ref":"\#(reference)"}"#
    for schema in [lost, #"{"allOf":[\#(lost)]}"#, #"{"properties":{"username":\#(lost)}}"#] {
      #expect(signIns(try openAPI(openAPI3(post("/login", schema), schemas))) == [])
    }
    // What is beside them stays.
    let beside = #"{"allOf":[\#(lost),\#(credentials)]}"#
    let found = signIns(try openAPI(openAPI3(post("/login", beside), schemas)))
    #expect(found == ["json /login username password"])
  }

  /// Each of them would take longer than the sun has, or the whole stack, if it were followed.
  @Test func circlesAndTrees() throws {
    func all(_ parts: [String]) -> String {
      #"{"allOf":["#
        + parts.map { ##"{"$ref":"#/components/schemas/\##($0)"}"## }.joined(separator: ",") + "]}"
    }
    var schemas = [
      "Self": all(["Self"]), "A": all(["B"]), "B": all(["A", "B"]), "Leaf": credentials,
    ]
    for level in 0..<40 {
      schemas["Tree\(level)"] = all(Array(repeating: "Tree\(level + 1)", count: 20))
    }
    schemas["Tree40"] = credentials
    let members = schemas.map { #""\#($0.key)":\#($0.value)"# }.joined(separator: ",")
    let components = #""components":{"schemas":{\#(members)}}"#
    for root in ["Self", "A", "Tree0"] {
      // The tree's leaves are credentials; they need not be reached.
      let alone = signIns(try openAPI(openAPI3(post("/login", all([root])), components)))
      #expect(alone == [] || root == "Tree0", "\(root)")
      let beside = openAPI3(post("/login", all(["Leaf", root])), components)
      #expect(signIns(try openAPI(beside)) == ["json /login username password"], "\(root)")
    }
  }

  // MARK: Where paths begin

  /// `servers` or `basePath` and `host`; the base path, and what is foreign.
  static let servers: [(text: String, base: String, foreign: [String])] = [
    (#""servers":[]"#, "", []), (#""servers":[{"url":"/"}]"#, "", []),
    (#""servers":[{}]"#, "", []), (#""servers":{"url":"/v1"}"#, "", []),
    (#""servers":[{"url":"/v1"}]"#, "/v1", []), (#""servers":[{"url":"/v1/"}]"#, "/v1", []),
    // Relative to the document (OpenAPI 3.1.0, section 4.8.5).
    (#""servers":[{"url":"v1"}]"#, "/v1", []), (#""servers":[{"url":"./v1"}]"#, "/v1", []),
    (#""servers":[{"url":"https://api.shop.example/v1"}]"#, "/v1", []),
    (#""servers":[{"url":"https://API.SHOP.example:443/v1/"}]"#, "/v1", []),
    (#""servers":[{"url":"//api.shop.example/v1"}]"#, "/v1", []),
    (#""servers":[{"url":"https://evil.example/v1"}]"#, "", ["https://evil.example/v1"]),
    (#""servers":[{"url":"http://api.shop.example/v1"}]"#, "", ["http://api.shop.example/v1"]),
    (
      #""servers":[{"url":"https://api.shop.example:8443"}]"#, "", ["https://api.shop.example:8443"]
    ),
    (#""servers":[{"url":"//evil.example/v1"}]"#, "", ["//evil.example/v1"]),
    (
      #""servers":[{"url":"https://api.shop.example.evil.example"}]"#, "",
      ["https://api.shop.example.evil.example"]
    ),
    (
      #""servers":[{"url":"https://api.shop.example@evil.example/"}]"#, "",
      ["https://api.shop.example@evil.example/"]
    ),
    (
      #""servers":[{"url":"https://evil.example\\@api.shop.example/"}]"#, "",
      [#"https://evil.example\@api.shop.example/"#]
    ),
    (#""swagger":"2.0","basePath":"/""#, "", []),
    (#""swagger":"2.0","basePath":"/v2""#, "/v2", []),
    (#""swagger":"2.0","basePath":"/v2/""#, "/v2", []),
    (#""swagger":"2.0","host":"api.shop.example","basePath":"/v2""#, "/v2", []),
    (#""swagger":"2.0","host":"evil.example""#, "", ["https://evil.example/"]),
    (#""swagger":"2.0","host":"evil.example","basePath":"/v2""#, "", ["https://evil.example/v2"]),
    (#""swagger":"2.0","host":"api.shop.example:8443""#, "", ["https://api.shop.example:8443/"]),
  ]

  @Test(arguments: servers)
  func pathsBeginWhereServersSay(text: String, base: String, foreign: [String]) throws {
    let document = try #require(try openAPI(openAPI3(post("/login", credentials), text)))
    #expect(document.basePath == base)
    #expect(document.foreign == foreign)
    #expect(document.bodies(of: "POST") { _ in true }.map(\.path) == ["/login"])
  }

  @Test func theFirstServerOfThisOriginCounts() throws {
    let servers = #""servers":[{"url":"https://stage.example/v1"},{"url":"/v2"}]"#
    let document = try #require(try openAPI(openAPI3(post("/login", credentials), servers)))
    #expect(document.basePath == "/v2")
    #expect(document.foreign == ["https://stage.example/v1"])
  }

  /// The base path is the document's, wherever it stood.
  @Test func theDocumentsPlaceIsNotTheBase() throws {
    for (text, base) in [("", ""), (#""servers":[{"url":"v1"}]"#, "/deep/v1")] {
      let document = try openAPI(
        openAPI3(post("/login", credentials), text),
        from: "https://api.shop.example/deep/openapi.json")
      #expect(document?.basePath == base)
    }
  }
}
