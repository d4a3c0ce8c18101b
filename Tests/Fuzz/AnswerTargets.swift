@testable import AuthKit

/// An answer to a sign-in: status, headers, an empty line, body; read by one of many profiles.
@Sendable func fuzzAnswer(_ bytes: [UInt8]) throws {
  var input = FuzzInput(bytes)
  let profile = input.choose(try Fixed.profiles)
  let url = try Fixed.url
  let status = input.choose([200, 201, 400, 401, 403, 422, 500])
  var lines: [String] = []
  while case let line = input.line(), !line.isEmpty {
    lines.append(String(decoding: line, as: UTF8.self))
  }
  let body = input.bytes()
  let now = Fixed.now
  let answer = RecipeResponse(
    head: response(status, lines), body: body, url: url, of: profile)
  if let token = try? answer.accessToken() {
    try check(token.utf8.count <= 65_536, "a token has at most 64 KiB")
    _ = try? answer.expiry(token: token, now: now)
  }
  if let end = (try? answer.expiry(token: nil, now: now)) ?? nil {
    let most = now.seconds + 3653 * 86400
    try check(
      end.seconds.isFinite && end.seconds <= most + abs(answer.skew(now: now)), "an end is bounded")
  }
  if let only = answer.onlyJWT() {
    try check(JWT.payload(of: only.token) != nil, "the only token is one")
    switch Result(catching: { () throws(JSONPointerError) in try answer.json?.at(only.pointer) }) {
    case .success(let found):
      try check(found == .string(only.token), "its pointer leads to it: \(only.pointer)")
    case .failure(let error): try check(error != .malformed, "its pointer is one")
    }
  }
  for words in DisplayText.server(answer.words) {
    try check(!words.unicodeScalars.contains(where: DisplayText.isUnsafe), "words are safe")
  }
  try checkShape(answer)
  _ = try? answer.errorCode()
  _ = try? answer.saysNo()
  _ = answer.asksForNonce
  if let factor = profile.recipe.secondFactor { _ = try? answer.asksForCode(factor) }
  for place in answer.recipe.keep { _ = try? answer.keptText(at: [place.place]) }
  if let jar = try? answer.cookies(now: now) {
    try check(
      jar.cookies.allSatisfy { $0.originText == url.origin.description },
      "cookies belong to the origin")
  }
  _ = try? OAuthTarget.problem(answer)
}

private enum OAuthTarget {
  static func problem(_ answer: RecipeResponse) throws(Failure) -> String? {
    try IDToken.problem(
      in: answer, issuer: "https://id.example", clientID: "c", asked: nil, isRequired: false,
      now: Fixed.now)
  }
}

/// A shape shows names and types, never a value.
private func checkShape(_ answer: RecipeResponse) throws {
  let shape = answer.shape
  try check(shape.utf8.count < 300, "a shape is short")
  try check(!shape.unicodeScalars.contains(where: DisplayText.isUnsafe), "a shape is safe")
  guard let json = answer.json else { return }
  if !hasMarkedName(json) {
    try check(!shape.contains(bytesOf: marker), "a shape has no value: \(shape)")
  }
}

/// Whether the name of a member has the marker: names are shown, values are not.
func hasMarkedName(_ value: JSONValue) -> Bool {
  switch value {
  case .object(let members):
    members.contains { $0.key.contains(bytesOf: marker) || hasMarkedName($0.value) }
  case .array(let items): items.contains(where: hasMarkedName)
  default: false
  }
}

/// A description of an API: nothing of another origin is used, and what is found is a profile.
@Sendable func fuzzOpenAPI(_ bytes: [UInt8]) throws {
  let url = try Fixed.url
  guard let json = try? JSONValue.parse(bytes),
    let document = OpenAPI(json, url: url)
  else { return }
  for scheme in document.schemes { _ = (scheme.told, scheme.flows.count) }
  if let header = document.keyHeader {
    try check(
      HeaderSyntax.isToken(header) && !HeaderSyntax.isForbiddenInRecipe(header),
      "a key has a header")
  }
  try check(
    document.basePath.isEmpty || document.basePath.utf8.first == UInt8(ascii: "/"),
    "a base path is a path: \(document.basePath)")
  let grant = document.passwordGrant.map { document.basePath + $0 }
  for path in [document.protectedPath, grant].compactMap({ $0 }) {
    try check(path.utf8.first == UInt8(ascii: "/"), "a path is a path: \(path)")
    let target = try? url.resolving(path, from: .server)
    try check(target.map { $0.origin == url.origin } ?? true, "a path stays at the origin")
  }
  let paths = APIPaths(base: "https://api.example", document.described)
  try check(
    APIPaths(base: paths.base, text: Secret(paths.text)) == paths, "a list of paths is kept")
  for typed in ["", "/", "/a", "/a/b?", "/a?x=1&y"] {
    for found in APIPaths.continuations(of: typed, paths.operations) {
      try check(
        found.utf8.allSatisfy { (0x21...0x7E).contains($0) }, "a word can be typed: \(found)")
    }
  }
  let operations = document.operations
  let store = ProfileStore(configDirectory: "/nonexistent/authctl", home: "/nonexistent")
  for method in ["POST", "GET", "PUT"] {
    for operation in document.bodies(of: method, where: { _ in true }) {
      guard let found = SignInOperation(operation) else { continue }
      _ = (found.furtherFields, found.preset(among: operations), operation.spokenEncoding)
      let settings = [("url", "https://api.example")] + found.settings
      let draft = try sure(
        "what is found is a profile: \(JSONValue.object(found.settings).serialized())"
      ) {
        try store.draft("shop", settings: settings).profile
      }
      try check(draft.recipe.login?.path.plainText == operation.path, "its path is the operation's")
    }
  }
}

/// A template: each value is encoded for its place, whatever bytes it has, and nothing else changes.
///
/// The first two lines are the name and the password, the rest is the template.
@Sendable func fuzzTemplate(_ bytes: [UInt8]) throws {
  var input = FuzzInput(bytes)
  var values = TemplateValues()
  let (user, password) = (input.line(), input.line())
  let template: Template
  let text = input.text()
  do throws(Failure) { template = try Template(text) } catch { return }
  if template.names.contains(.unique) { return }
  try check(text.utf8.contains(UInt8(ascii: "{")) || template.names.isEmpty, "a name is in braces")
  for (name, value) in [(Template.Name.username, user), (.password, password)] where !value.isEmpty
  {
    values[name] = SharedSecret(secret(value))
  }
  let filler = TemplateFiller(values: values, profile: "shop")
  let pieces = template.pieces
  func expected(_ encode: (String) -> String, literal: (String) -> String) -> [UInt8]? {
    var out: [UInt8] = []
    for piece in pieces {
      switch piece {
      case .text(let text): out += literal(text).utf8
      case .value(.username) where !user.isEmpty: out += encoded(user, encode)
      case .value(.password) where !password.isEmpty: out += encoded(password, encode)
      default: return nil
      }
    }
    return out
  }
  func encoded(_ value: [UInt8], _ encode: (String) -> String) -> [UInt8] {
    // One character for each byte, so that the encoders below need not know UTF-8.
    Array(encode(String(value.map { Character(Unicode.Scalar($0)) })).utf8)
  }
  func percent(_ text: String) -> String {
    text.unicodeScalars.map { scalar in
      let byte = UInt8(truncatingIfNeeded: scalar.value)
      let isPlain = byte.isLetterOrDigit || "-._~".utf8.contains(byte)
      return isPlain && scalar.value < 0x80
        ? String(scalar) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
    }.joined()
  }
  func bytewise(_ text: String) -> String {
    percent(String(text.utf8.map { Character(Unicode.Scalar($0)) }))
  }
  if let path = try? filler.filled(template, for: .path).withBytes({ Array($0) }),
    let wanted = expected(percent, literal: { $0 })
  {
    try check(path == wanted, "values in a path are encoded")
  }
  if let query = try? filler.filled(template, for: .query).withBytes({ Array($0) }),
    let wanted = expected(percent, literal: bytewise)
  {
    try check(query == wanted, "all of a query is encoded")
  }
  let whole = try? filler.filled(template, for: .plain).withBytes { Array($0) }
  if let whole, let form = try? filler.filled(template, for: .form).withBytes({ Array($0) }) {
    try check(percentDecoded(form, plusIsSpace: true) == whole, "a form is decoded to the value")
    try check(!form.contains { "&=\n ".utf8.contains($0) }, "a form has no further field")
  }
  switch Result(catching: { () throws(Failure) in try filler.header("X-Test", template) }) {
  case .success(let header):
    let line = header.line.withBytes { Array($0) }
    try check(
      line.dropLast().allSatisfy { (0x20...0x7E).contains($0) } && line.last == 0,
      "a header is one line")
  case .failure(let error):
    // A message may name what the template itself says.
    let isNamed = text.contains(bytesOf: marker)
    try check(isNamed || !error.message.contains(bytesOf: marker), "no message has a value")
  }
  try checkBody(filler, template, whole)
}

/// A body of JSON has the value as a text, and no further member.
private func checkBody(
  _ filler: TemplateFiller, _ template: Template, _ whole: [UInt8]?
) throws {
  var call = RecipeRequest(path: try Template("/"))
  call.body = .object([
    RecipeRequest.Field(name: "a", value: .template(template)),
    RecipeRequest.Field(name: "b", value: .literal(true)),
  ])
  guard let whole, let body = try? filler.json(call) else { return }
  let json = try sure("a body is JSON") { try JSONValue.parse(body.withBytes { Array($0) }) }
  guard case .object(let members) = json else {
    throw BrokenProperty(description: "a body is an object")
  }
  let isLeftOut = !template.names.isEmpty && !filler.canFill(template)
  try check(members.map(\.key) == (isLeftOut ? ["b"] : ["a", "b"]), "no member is added")
  if !isLeftOut {
    try check(
      json["a"]?.text?.isSame(as: String(decoding: whole, as: UTF8.self)) ?? false,
      "a member has the value")
  }
  if let parts = try? filler.flat(call) {
    let fields = TemplateFiller.form(parts).withBytes { formFields(Array($0)) }
    try check(
      fields.map(\.name) == (isLeftOut ? ["b"] : ["a", "b"]), "a form has no further field")
  }
}
