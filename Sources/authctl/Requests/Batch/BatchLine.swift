internal import AuthKit

/// One line of a batch: the request exactly as written.
struct BatchLine {
  private(set) var method = "GET"
  private(set) var target = ""
  /// A nil value leaves out a header that authctl would add.
  private(set) var headers: [(name: String, value: String?)] = []
  private(set) var body = RequestBody()

  private static let keys = ["id", "method", "url", "headers", "json", "body"]

  /// Returns the line's `id`, as far as it can be read, and its request.
  static func read(_ bytes: ByteBuffer, number: Int) -> (id: JSONValue, Result<BatchLine, Failure>)
  {
    func wrong(_ what: String) -> Failure { Failure(.usage, "line \(number) \(what)") }
    let line: JSONText
    do throws(JSONError) { line = try JSONText(bytes) } catch {
      return (.null, .failure(wrong("is not JSON: \(error)")))
    }
    guard line.kind == .object else { return (.null, .failure(wrong("is not a JSON object"))) }
    var found: JSONText?
    line.forEachMember { key, value in if found == nil, key == "id" { found = value } }
    // Each answer repeats the id, so its length is limited.
    guard found.map({ $0.count <= 65_536 }) ?? true, let id = try? found?.tree() ?? .null else {
      return (.null, .failure(wrong("has an id that is longer than 64 KiB")))
    }
    do throws(Failure) {
      return (id, .success(try BatchLine(line, number)))
    } catch {
      return (id, .failure(error))
    }
  }

  /// - Throws: `usage`.
  private init(_ line: JSONText, _ number: Int) throws(Failure) {
    func wrong(_ what: String) -> Failure { Failure(.usage, "line \(number): \(what)") }
    func text(_ key: String, _ value: JSONText) throws(Failure) -> String {
      guard let text = value.text else { throw wrong("\(key) is not a string") }
      return text
    }
    func secret(_ size: Int, _ write: ((UnsafeRawBufferPointer) -> Void) -> Void) -> SharedSecret {
      var builder = SecretBuilder(capacity: size)
      write { builder.append($0) }
      return SharedSecret(builder.finish())
    }
    var seen: Set<String> = []
    try line.forEachMember { (key, value) throws(Failure) in
      let shown = DisplayText.oneLine(key, limit: 40)
      guard Self.keys.contains(key) else {
        var failure = wrong("unknown key \(shown)")
        failure.hint = "the keys are " + Self.keys.joined(separator: ", ")
        throw failure
      }
      // Programs differ in which of two equal keys they use (rule C4).
      guard seen.insert(key).inserted else { throw wrong("\(shown) appears twice") }
      switch (key, value.kind) {
      case ("method", .null), ("headers", .null), ("body", .null): break
      case ("method", _):
        do throws(Failure) { method = try HTTPMethod.checked(try text(key, value)) } catch {
          throw wrong(error.message)
        }
      case ("url", _): target = try text(key, value)
      case ("headers", .object):
        try value.forEachMember { (name, value) throws(Failure) in
          guard value.kind == .string || value.kind == .null else {
            throw wrong("headers: \(DisplayText.oneLine(name, limit: 40)) is not a string")
          }
          headers.append((name, value.text))
        }
      case ("headers", _): throw wrong("headers is not an object")
      case ("body", .string):
        body.content = secret(value.count) { value.writeText(to: $0) }
        body.type = "application/x-www-form-urlencoded"
      case ("body", _): throw wrong("body is not a string")
      case ("json", _):
        body.content = secret(value.count) { value.write(to: $0) }
        body.type = "application/json"
        body.wantsJSON = true
      default: break
      }
    }
    guard seen.contains("url") else { throw wrong("url is missing") }
    guard !seen.isSuperset(of: ["json", "body"]) else {
      throw wrong("json and body cannot be used together")
    }
    guard body.isEmpty || method != "GET" && method != "HEAD" else {
      throw wrong("a \(method) request cannot have a body")
    }
  }
}

extension BatchLine {
  /// Returns the request, after every check that is possible before sending.
  ///
  /// - Parameter isAnonymous: whether the line may carry its own credential.
  /// - Throws: `usage`.
  func request(
    _ app: App, _ profile: Profile, _ keeper: SessionKeeper, isAnonymous: Bool
  ) throws(Failure) -> WireRequest {
    try app.checkTarget(target)
    let url = try keeper.api.url(for: target)
    if !isAnonymous { try app.checkParameters(of: url, profile) }
    return try body.request(
      method, to: url,
      with: try PersonalHeaders(
        headers, profile, app.redactor, isAnonymous: isAnonymous))
  }
}
