internal import AuthKit

/// One line of a batch: the request that it asks for, word for word.
struct BatchLine {
  private(set) var method = "GET"
  private(set) var target = ""
  /// nil: a header that authctl would add is left out.
  private(set) var headers: [(name: String, value: String?)] = []
  private(set) var body: SharedSecret?
  private(set) var isJSON = false

  private static let keys = ["id", "method", "url", "headers", "json", "body"]

  /// The line's `id`, as far as it can be read, and what it asks for.
  static func read(_ bytes: [UInt8], number: Int) -> (id: JSONValue, Result<BatchLine, Failure>) {
    let value: JSONValue
    do throws(JSONError) { value = try JSONValue.parse(bytes) } catch {
      return (.null, .failure(Failure(.usage, "line \(number) is not JSON: \(error)")))
    }
    guard case .object(let members) = value else {
      return (.null, .failure(Failure(.usage, "line \(number) is not a JSON object")))
    }
    do throws(Failure) {
      return (value["id"] ?? .null, .success(try BatchLine(members, number)))
    } catch {
      return (value["id"] ?? .null, .failure(error))
    }
  }

  /// - Throws: `usage`.
  private init(_ members: [(key: String, value: JSONValue)], _ number: Int) throws(Failure) {
    func wrong(_ what: String) -> Failure { Failure(.usage, "line \(number): \(what)") }
    func text(_ member: (key: String, value: JSONValue)) throws(Failure) -> String {
      guard let text = member.value.text else { throw wrong("\(member.key) is not a text") }
      return text
    }
    var seen: Set<String> = []
    for member in members {
      let shown = DisplayText.oneLine(member.key, limit: 40)
      guard Self.keys.contains(member.key) else {
        var failure = wrong("\(shown) is not a key of a request")
        failure.hint = "the keys are " + Self.keys.joined(separator: ", ")
        throw failure
      }
      // Programs differ in which of two they take (rule C4).
      guard seen.insert(member.key).inserted else { throw wrong("\(shown) stands twice") }
      switch (member.key, member.value) {
      case ("method", .null), ("headers", .null), ("body", .null): break
      case ("method", _):
        do throws(Failure) { method = try HTTPMethod.checked(try text(member)) } catch {
          throw wrong(error.message)
        }
      case ("url", _): target = try text(member)
      case ("headers", .object(let pairs)):
        for (name, value) in pairs {
          guard value.text != nil || value == .null else {
            throw wrong("headers: \(DisplayText.oneLine(name, limit: 40)) is not a text")
          }
          headers.append((name, value.text))
        }
      case ("headers", _): throw wrong("headers is not an object")
      case ("body", _): body = SharedSecret(try text(member))
      case ("json", let value):
        var builder = SecretBuilder()
        value.write(into: &builder)
        body = SharedSecret(builder.secret())
        isJSON = true
      default: break
      }
    }
    guard seen.contains("url") else { throw wrong("there is no url") }
    guard !isJSON || !seen.contains("body") else { throw wrong("json and body exclude each other") }
    guard body == nil || method != "GET" && method != "HEAD" else {
      throw wrong("a \(method) has no body")
    }
  }
}

extension BatchLine {
  /// The request, with everything checked that can be before it is sent.
  ///
  /// - Parameter isAnonymous: it may bring a credential of its own.
  /// - Throws: `usage`.
  func request(
    _ app: App, _ keeper: SessionKeeper, isAnonymous: Bool
  ) throws(Failure) -> WireRequest {
    try app.checkTarget(target)
    var request = WireRequest(method: method, url: try keeper.api.url(for: target), body: body)
    for (name, value) in headers {
      let shown = DisplayText.oneLine(name, limit: 40)
      guard isAnonymous || !keeper.api.profile.carriesCredential(in: name) else {
        throw Failure(
          .usage,
          "headers: \(keeper.api.profile.name) sends its credential in \(shown)",
          hint: "batch --anonymous sends your own instead")
      }
      // Connections are shared: a length that is not true would let one line answer another.
      guard !HeaderSyntax.isForbiddenBesideCredential(name) else {
        throw Failure(.usage, "headers: \(shown) is not sent")
      }
      guard let value = value?.trimmingSpaces else {
        request.headers.append(try WireHeader(removing: name))
        continue
      }
      request.headers.append(try WireHeader(name: name, value: value))
      if Self.namesSecret(name) { app.redactor.learn(value) }
    }
    try addType(to: &request)
    return request
  }

  private func addType(to request: inout WireRequest) throws(Failure) {
    let own = Set(headers.map(\.name.asciiLowercased))
    if body == nil {
      // A POST of no bytes says so, by `Content-Length: 0` (RFC 9110, section 8.6).
      guard ["POST", "PUT", "PATCH"].contains(method) else { return }
      request.body = SharedSecret("")
      if !own.contains("content-type") {
        request.headers.append(try WireHeader(removing: "Content-Type"))
      }
      return
    }
    if !own.contains("content-type") {
      request.headers.append(
        try WireHeader(
          name: "Content-Type",
          value: isJSON ? "application/json" : "application/x-www-form-urlencoded"))
    }
    if isJSON, !own.contains("accept") {
      request.headers.append(try WireHeader(name: "Accept", value: "application/json"))
    }
  }

  /// Not every header that could be one: each would be remembered to the end.
  private static func namesSecret(_ name: String) -> Bool {
    let name = name.asciiLowercased
    return ["auth", "cookie", "token", "secret", "password", "api-key", "apikey"]
      .contains { name.contains(bytesOf: $0) }
  }
}
