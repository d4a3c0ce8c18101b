import Synchronization

@testable import AuthKit

/// Text → tree → text → tree; the reader in place against the tree; libjq against both.
@Sendable func fuzzJSON(_ bytes: [UInt8]) throws {
  let text: JSONText
  do throws(JSONError) { text = try JSONText(ByteBuffer(bytes)) } catch {
    try check(0...bytes.count ~= error.offset, "the offset of an error is in the text")
    try check((try? JSONValue.parse(bytes)) == nil, "both readers refuse the same texts")
    return
  }
  let value: JSONValue
  do throws(JSONError) { value = try JSONValue.parse(bytes) } catch {
    return try check(error.isTooLarge, "both readers take the same texts: \(error)")
  }
  let compact = value.serialized()
  try check(try text.tree() == value, "the reader in place finds the whole value")
  try check(try JSONValue.parse(compact) == value, "compact text has the same value")
  try check(written(text).isSame(as: compact), "both write the same compact text")
  for colour in [false, true] {
    var pretty: [UInt8] = []
    text.writePretty(colour: colour) { pretty += $0 }
    try check(
      value.prettyPrinted(colour: colour).utf8.elementsEqual(pretty), "both write the same")
    if colour { continue }
    try check(try JSONValue.parse(pretty) == value, "text for people has the same value")
    try check(
      !String(decoding: pretty, as: UTF8.self).unicodeScalars.contains {
        $0 != "\n" && DisplayText.isUnsafe($0)
      }, "text for people is safe for a terminal")
  }
  let shown = Array(compact.utf8).withUnsafeBytes { JSONValue.shown($0) }
  try check(try JSONValue.parse(shown) == value, "text that is shown has the same value")
  var short = SecretBuilder()
  bytes.withUnsafeBytes { JSONValue.writeCompact($0, into: &short) }
  let shortened = short.withBytes { Array($0) }
  try check(try JSONValue.parse(shortened) == value, "text without white space has the same value")
  try check(value.shape().isSame(as: text.shape()), "both have the same shape")
  if case .object(let members) = value {
    let keys = members.prefix(5).map(\.key).filter { $0.utf8.count < 40 }
    try check(
      text.keys(most: 5).filter { $0.utf8.count < 40 }.elementsEqual(keys) { $0.isSame(as: $1) },
      "the keys are those of the tree")
  }
  var pointers: [String] = []
  collect(value, "", into: &pointers)
  for pointer in pointers {
    try check(found(pointer, text) == found(pointer, value), "both find the same at \(pointer)")
  }
  try compareWithJQ(text, value)
}

private func written(_ text: JSONText) -> String {
  var out: [UInt8] = []
  text.write { out += $0 }
  return String(decoding: out, as: UTF8.self)
}

/// Adds the pointers of the first values.
private func collect(_ value: JSONValue, _ pointer: String, into pointers: inout [String]) {
  guard pointers.count < 30, pointer.utf8.count < 200 else { return }
  pointers.append(pointer)
  switch value {
  case .array(let items):
    for (index, item) in items.prefix(20).enumerated() {
      collect(item, "\(pointer)/\(index)", into: &pointers)
    }
  case .object(let members):
    for member in members.prefix(20) {
      collect(member.value, "\(pointer)/\(JWT.pointerStep(member.key))", into: &pointers)
    }
  default: break
  }
}

private func found(_ pointer: String, _ text: JSONText) -> Result<JSONValue?, JSONPointerError> {
  do throws(JSONPointerError) {
    let part = try text.at(pointer)
    return .success(part.flatMap { try? $0.tree() })
  } catch { return .failure(error) }
}

private func found(_ pointer: String, _ value: JSONValue) -> Result<JSONValue?, JSONPointerError> {
  do throws(JSONPointerError) { return .success(try value.at(pointer)) } catch {
    return .failure(error)
  }
}

// The compiler of libjq takes longer than a run.
nonisolated(unsafe) private let identity = try? JQFilter(".")

/// libjq takes every text that we take, and finds the same value in it; it rounds numbers and
/// merges equal keys.
private func compareWithJQ(_ text: JSONText, _ value: JSONValue) throws {
  guard let identity else { return }
  var results: [JSONValue] = []
  try sure("libjq takes it") {
    try identity.run(on: text) { (result) throws(Failure) in
      if let tree = try? result.tree() { results.append(tree) }
    }
  }
  if isExact(value) { try check(results == [value], "libjq finds the same") }
}

private func isExact(_ value: JSONValue) -> Bool {
  switch value {
  case .number: false
  case .array(let items): items.allSatisfy(isExact)
  case .object(let members):
    Set(members.map { Array($0.key.utf8) }).count == members.count
      && members.allSatisfy { isExact($0.value) }
  default: true
  }
}

/// Decoding against encoding, and what the claims of a token are read for.
@Sendable func fuzzJWT(_ bytes: [UInt8]) throws {
  try check(
    base64URLDecoded(base64URL(bytes).utf8) == bytes, "base64url is decoded to what was encoded")
  var input = FuzzInput(bytes)
  // Half of the inputs are a header and claims, which become a token here.
  guard input.byte() % 2 == 1 else { return try read(token: input.bytes()) }
  let (header, claims) = (input.line(), input.bytes())
  let token = Array("\(base64URL(header)).\(base64URL(claims)).c2ln".utf8)
  let parts = [header, claims].compactMap { try? JSONValue.parse($0) }
  let areObjects =
    parts.count == 2 && parts.allSatisfy { if case .object = $0 { true } else { false } }
  let decoded = JWT.decode(token)
  try check((decoded != nil) == areObjects, "two objects are a token, and nothing else is")
  if let decoded {
    try check(decoded.header == parts[0] && decoded.payload == parts[1], "they are found again")
  }
  try read(token: token)
}

private func read(token: [UInt8]) throws {
  let text = String(decoding: token, as: UTF8.self)
  guard let (header, payload) = JWT.decode(token) else {
    return try check(JWT.payload(of: text) == nil, "both read the same tokens")
  }
  try check(token.count { $0 == UInt8(ascii: ".") } == 2, "a token has three parts")
  try check(JWT.payload(of: text) == payload, "both read the same claims")
  for audience in JWT.audiences(payload) {
    try check(
      payload.serialized().utf8.count >= audience.utf8.count, "an audience comes from the claims")
  }
  guard case .object = header else { throw BrokenProperty(description: "a header is an object") }
  let body = Array(#"{"id_token":"\#(text)","access_token":"t"}"#.utf8)
  let answer = RecipeResponse(
    head: ResponseHead(), body: body, url: try Fixed.url, of: try Fixed.profiles[0])
  let now = Timestamp(seconds: 1_796_047_509)
  for nonce in [nil, "n"] {
    let problem = try? IDToken.problem(
      in: answer, issuer: "https://id.example", clientID: "c",
      asked: nonce.map { IDToken.Asked(nonce: $0, maxAge: nil) }, isRequired: true,
      now: now)
    if problem == .some(nil) {
      try check(
        payload["iss"] == "https://id.example" && JWT.audiences(payload).contains("c")
          && (payload["exp"]?.double ?? 0) > now.seconds - 61
          && (nonce == nil || payload["nonce"] == "n"), "a good ID token is for this client")
    }
  }
}
