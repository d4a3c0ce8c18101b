/// An OpenAPI 3 or Swagger 2 document, as far as it describes how to sign in.
///
/// Nothing that it names is fetched; other origins in it are reported and never used (rule A13).
///
/// https://spec.openapis.org/oas/v3.1.0, https://spec.openapis.org/oas/v2.0
struct OpenAPI {
  /// An operation that takes a body.
  struct Operation {
    var method: String
    /// The path below `basePath`.
    var path: String
    var encoding: RecipeRequest.Encoding
    /// The names of the body's properties with their schemas.
    var fields: [(key: String, value: JSONValue)]
    /// The names of the required properties.
    var required: [String]
    /// The schema of the response, with references resolved.
    var answer: JSONValue?

    /// The encoding, for people.
    var spokenEncoding: String {
      switch encoding {
      case .form: "a form"
      case .multipart: "multipart"
      case .json, .none: "JSON"
      }
    }
  }

  /// A cache of lookups: a document may name one thing from everywhere.
  private final class Found {
    var paths: [(path: String, item: JSONValue)]?
    var references: [String: JSONValue] = [:]
    /// How many parts of composed schemas may still be read: a few bytes of references in a circle
    /// name the same parts from everywhere.
    var parts = 10_000
  }

  /// The maximum number of references followed: each may lead through the whole document.
  private static let mostReferences = 1000
  /// The maximum number of members of what a reference names; a schema has few, and each is compared
  /// wherever it is named.
  private static let mostMembers = 100

  private let root: JSONValue
  private let found = Found()
  /// Where the paths begin, without a trailing slash; empty for the root of the origin.
  let basePath: String
  /// Whether it describes only an API of other origins.
  let isElsewhere: Bool
  /// The URLs in it whose origin is not the requested one.
  private(set) var foreign: [String] = []
  /// The path of the password grant of RFC 6749, section 4.3, below `basePath`.
  private(set) var passwordGrant: String?

  /// Returns nil when `json`, fetched from `url`, is not such a document.
  init?(_ json: JSONValue, url: WebURL) {
    guard json["openapi"]?.text != nil || json["swagger"]?.text != nil,
      case .object? = json["paths"]
    else { return nil }
    root = json
    // Swagger 2 has host and basePath, OpenAPI 3 URLs that are relative to the document.
    var server = json["basePath"]?.text ?? "/"
    if let host = json["host"]?.text { server = "\(url.origin.scheme)://\(host)\(server)" }
    var servers = [server]
    if case .array(let all)? = json["servers"], !all.isEmpty {
      servers = all.prefix(20).compactMap { $0["url"]?.text }
    }
    // The first of this origin: descriptions also name test servers.
    var base: String?
    for server in servers {
      // A path that begins with // names another host in a reference (RFC 3986, section 4.2).
      if let resolved = try? url.resolving(server, from: .server), resolved.origin == url.origin,
        URLText.problemOfPathStart(resolved.path, isWhole: true) == nil
      {
        base = base ?? resolved.path
      } else {
        foreign.append(server)
      }
    }
    isElsewhere = base == nil
    let path = (base ?? "").withoutTrailingSlashes
    basePath = path
    let home = try? url.resolving(path + "/", from: .server)
    for flow in schemes.flatMap(\.flows) {
      guard let text = flow.value["tokenUrl"]?.text else { continue }
      guard let target = try? home?.resolving(text, from: .server), target.origin == url.origin
      else {
        foreign.append(text)
        continue
      }
      if flow.isPassword, target.query == nil, !text.utf8.contains(UInt8(ascii: "{")),
        target.path.utf8.starts(with: (path + "/").utf8)
      {
        let rest = String(decoding: target.path.utf8.dropFirst(path.utf8.count), as: UTF8.self)
        if URLText.problemOfPathStart(rest, isWhole: true) == nil { passwordGrant = rest }
      }
    }
  }

  // MARK: - Security schemes

  /// A way to carry a credential.
  struct Scheme {
    var name: String
    var value: JSONValue

    /// The flows of an oauth2 scheme; in Swagger 2 the scheme is its own flow.
    var flows: [(isPassword: Bool, value: JSONValue)] {
      guard value["type"]?.text == "oauth2" else { return [] }
      guard case .object(let flows)? = value["flows"] else {
        return [(value["flow"]?.text == "password", value)]
      }
      return flows.map { ($0.key == "password", $0.value) }
    }

    /// The scheme for people: `OAuth 2.0`, `a key in the header X-Api-Key`; nil for other schemes.
    var told: String? {
      switch value["type"]?.text {
      case "http": value["scheme"]?.text.map { "HTTP \(DisplayText.oneLine($0, limit: 20))" }
      case "basic": "HTTP basic"
      case "apiKey" where value["in"]?.text == "header":
        value["name"]?.text.map { "a key in the header \(DisplayText.oneLine($0, limit: 40))" }
      case "oauth2": "OAuth 2.0"
      case "openIdConnect": "OpenID Connect"
      default: nil
      }
    }
  }

  /// The first 50 schemes, in order.
  var schemes: [Scheme] {
    guard
      case .object(let members)? = root["components"]?["securitySchemes"]
        ?? root["securityDefinitions"]
    else { return [] }
    return members.prefix(50).map { Scheme(name: $0.key, value: resolved($0.value)) }
  }

  /// The header that an apiKey scheme names.
  var keyHeader: String? {
    schemes.lazy.filter { $0.value["type"]?.text == "apiKey" && $0.value["in"]?.text == "header" }
      .compactMap { $0.value["name"]?.text }.first {
        HeaderSyntax.isToken($0) && !HeaderSyntax.isForbiddenInRecipe($0)
      }
  }

  // MARK: - Operations

  /// The methods and paths of all operations, for comparison: `post`, `/api/token/`.
  var operations: [(method: String, path: String)] {
    paths.flatMap { path, item -> [(method: String, path: String)] in
      guard case .object(let members) = item else { return [] }
      return members.prefix(20).map { ($0.key.asciiLowercased, path) }
    }
  }

  /// All operations with the parameters of their queries, for completion.
  var described: [APIPaths.Operation] {
    func parameters(_ value: JSONValue?) -> [String] {
      guard case .array(let parameters)? = value?["parameters"] else { return [] }
      return parameters.prefix(100).map(resolved).filter { $0["in"]?.text == "query" }
        .compactMap { $0["name"]?.text }
    }
    return paths.flatMap { path, item -> [APIPaths.Operation] in
      guard case .object(let members) = item else { return [] }
      let common = parameters(item)
      return members.prefix(20).map { name, operation in
        APIPaths.Operation(
          method: name.asciiLowercased, path: path, parameters: common + parameters(operation))
      }
    }
  }

  /// The path of a GET that requires a credential and no parameters, below the origin.
  var protectedPath: String? {
    let isSecured = root["security"] != nil
    return paths.first { path, item in
      guard let get = item["get"], !path.utf8.contains(UInt8(ascii: "{")) else { return false }
      return get["security"].map { $0 != .array([]) } ?? isSecured
    }.map { basePath + $0.path }
  }

  /// Returns the operations of `method` that take a body, in the order of the document.
  func bodies(of method: String, where isWanted: (String) -> Bool) -> [Operation] {
    paths.filter { isWanted($0.path) }.prefix(20).compactMap { path, item in
      item[method.asciiLowercased].flatMap { operation(method, path, resolved($0)) }
    }
  }

  private var paths: [(path: String, item: JSONValue)] {
    if let paths = found.paths { return paths }
    guard case .object(let members)? = root["paths"] else { return [] }
    let paths = members.prefix(5000).compactMap { member -> (String, JSONValue)? in
      let isFit =
        member.key.utf8.first == UInt8(ascii: "/")
        && URLText.problemOfPathStart(member.key, isWhole: true) == nil
      return isFit ? (member.key, resolved(member.value)) : nil
    }
    found.paths = paths
    return paths
  }

  private func operation(_ method: String, _ path: String, _ value: JSONValue) -> Operation? {
    guard let (encoding, schema) = body(of: value) else { return nil }
    var fields: [(key: String, value: JSONValue)] = []
    // A description may name a field twice, a table of a profile may not.
    var names: Set<[UInt8]> = []
    if case .object(let members)? = schema["properties"] {
      fields = members.filter { names.insert(Array($0.key.utf8)).inserted }
    }
    var required: [String] = []
    if case .array(let names)? = schema["required"] { required = names.compactMap(\.text) }
    return Operation(
      method: method, path: path, encoding: encoding, fields: fields, required: required,
      answer: answer(of: value))
  }

  /// Returns the body's encoding and schema: JSON before a form before multipart.
  private func body(of operation: JSONValue) -> (RecipeRequest.Encoding, JSONValue)? {
    let types: [(String, RecipeRequest.Encoding)] = [
      ("application/json", .json), ("application/x-www-form-urlencoded", .form),
      ("multipart/form-data", .multipart),
    ]
    if let content = operation["requestBody"].map(resolved)?["content"] {
      for (type, encoding) in types {
        if let schema = content[type]?["schema"] { return (encoding, resolved(schema)) }
      }
    }
    guard case .array(let parameters)? = operation["parameters"] else { return nil }
    let all = parameters.map(resolved)
    if let body = all.first(where: { $0["in"]?.text == "body" }), let schema = body["schema"] {
      return (.json, resolved(schema))
    }
    let form = all.filter { $0["in"]?.text == "formData" }
    guard !form.isEmpty else { return nil }
    let members = form.compactMap { field in field["name"]?.text.map { ($0, field) } }
    let required = form.filter { $0["required"] == .bool(true) }.compactMap { $0["name"] }
    return (.form, .object([("properties", .object(members)), ("required", .array(required))]))
  }

  private func answer(of operation: JSONValue) -> JSONValue? {
    guard case .object(let answers)? = operation["responses"] else { return nil }
    let success = answers.first { $0.key.utf8.first == UInt8(ascii: "2") }.map {
      resolved($0.value)
    }
    let schema = success?["content"]?["application/json"]?["schema"] ?? success?["schema"]
    guard let schema = schema.map(resolved), case .object(let members)? = schema["properties"]
    else {
      return nil
    }
    return .object([("properties", .object(members.map { ($0.key, resolved($0.value)) }))])
  }

  /// Resolves a `$ref` into this document and merges `allOf`; never reads another document.
  private func resolved(_ value: JSONValue) -> JSONValue {
    let value = target(of: value)
    guard value["allOf"] != nil else { return value }
    // A schema composed of several has the properties of all.
    var members: [(key: String, value: JSONValue)] = []
    var names: Set<[UInt8]> = []
    var required: [JSONValue] = []
    var waiting = [value]
    // Bounded, because schemas may refer to each other in a circle.
    for _ in 0..<200 {
      guard found.parts > 0, members.count <= 200, let part = waiting.popLast().map(target) else {
        break
      }
      found.parts -= 1
      if case .object(let own)? = part["properties"] {
        for property in own.prefix(200) where names.insert(Array(property.key.utf8)).inserted {
          members.append(property)
        }
      }
      if case .array(let own)? = part["required"] { required += own.prefix(200) }
      if case .array(let further)? = part["allOf"] { waiting += further.prefix(50).reversed() }
    }
    return .object([("properties", .object(members)), ("required", .array(required))])
  }

  private func target(of value: JSONValue) -> JSONValue {
    var value = value
    for _ in 0..<8 {
      guard let reference = value["$ref"]?.text else { return value }
      value = named(by: reference)
    }
    return .null
  }

  private func named(by reference: String) -> JSONValue {
    if let known = found.references[reference] { return known }
    guard reference.utf8.first == UInt8(ascii: "#"),
      found.references.count < Self.mostReferences
    else { return .null }
    let pointer = String(decoding: reference.utf8.dropFirst(), as: UTF8.self)
    var value = (try? root.at(pointer)) ?? .null
    if case .object(let members) = value, members.count > Self.mostMembers { value = .null }
    found.references[reference] = value
    return value
  }
}
