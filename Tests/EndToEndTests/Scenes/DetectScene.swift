import Glibc
import Testing

/// APIs that a look is taken at: what the suites about detection share.
enum Look {
  /// A document of `Tests/Fixtures`: what FastAPI and fastapi-users themselves wrote, and one of
  /// Swagger 2.
  static func fixture(_ name: String) throws -> String {
    let folder = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    let bytes = try #require(readFile("/\(folder)/Fixtures/\(name).json"))
    return String(decoding: bytes, as: UTF8.self)
  }

  /// An OpenAPI document of these members of `paths`; `more` are further members of the whole.
  static func document(_ paths: String, _ more: String = "") -> String {
    #"{"openapi":"3.1.0","info":{"title":"t","version":"1"},"paths":{"# + paths + "}"
      + (more.isEmpty ? "}" : "," + more + "}")
  }

  static let credentials = #"{"properties":{"username":{},"password":{}}}"#

  /// A member of `paths`: POST with this schema for its JSON; `answer` is the schema of its 200.
  static func post(
    _ path: String, _ schema: String = credentials, answer: String = "{}"
  ) -> String {
    #""\#(path)":{"post":{"requestBody":{"content":{"application/json":{"schema":\#(schema)}}},"#
      + #""responses":{"200":{"content":{"application/json":{"schema":\#(answer)}}}}}}"#
  }

  /// What SimpleJWT and djoser are described as.
  static let simpleJWT = document(
    post("/api/token/") + #","/api/token/refresh/":{"post":{}},"/auth/users/":{"post":{}},"#
      + #""/auth/users/me/":{"get":{}}"#)

  /// `document` at /openapi.json, and `more`; 404 for the rest.
  static func serving(
    _ document: String, _ more: [String: Recorder.Answer] = [:]
  ) -> Recorder.Answering {
    Scene.routes(more.merging(["GET /openapi.json": .http(200, document)]) { $1 })
  }

  /// Method and target of each request, in order.
  static func asked(_ recorder: Recorder) -> [String] {
    recorder.texts.map { text in
      text.split(separator: " ", maxSplits: 2).prefix(2).joined(separator: " ")
    }
  }

  /// The requests with a body.
  static func posts(_ recorder: Recorder) -> [String] {
    asked(recorder).filter { !$0.hasPrefix("GET ") && !$0.hasPrefix("HEAD ") }
  }

  /// What comes behind the head.
  static func body(_ request: String?) -> String {
    request?.split(separator: "\r\n\r\n", maxSplits: 1).dropFirst().first.map(String.init) ?? ""
  }

  /// At most a dozen requests, each a bare GET or HEAD (rule A13).
  static func expectBare(
    _ recorder: Recorder, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect((1...12).contains(recorder.connections.count), sourceLocation: sourceLocation)
    for text in recorder.texts {
      let isRead = text.hasPrefix("GET /") || text.hasPrefix("HEAD /")
      #expect(isRead && text.hasSuffix("\r\n\r\n"), "\(text)", sourceLocation: sourceLocation)
      let lines = text.split(separator: "\r\n").dropFirst()
      let names = Set(lines.map { $0.prefix { $0 != ":" }.lowercased() })
      #expect(
        names.isSubset(of: ["host", "user-agent", "accept", "accept-encoding"]), "\(text)",
        sourceLocation: sourceLocation)
    }
  }

  /// A JSON Web Token of `ada` that ends in `seconds`.
  static func token(_ seconds: Int) -> String {
    func part(_ text: String) -> String {
      // Whole groups of three bytes: base64 then needs no padding.
      let bytes = Array(text.utf8)
      let padded = bytes + [UInt8](repeating: 32, count: (3 - bytes.count % 3) % 3)
      return String(decoding: Canary.base64(padded), as: UTF8.self)
    }
    let claims = #"{"sub":"ada","exp":\#(time(nil) + seconds)}"#
    return [#"{"alg":"HS256"}"#, claims, "signed"].map(part).joined(separator: ".")
  }
}

extension Recorder {
  /// The name of a profile that authctl makes for it.
  var profileName: String { "\(address.replacing(".", with: "-"))-\(port)" }
}

extension APIServer {
  /// The name of a profile that authctl makes for it.
  var profileName: String { "127-0-0-1-\(port)" }
}
