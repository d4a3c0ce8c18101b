@testable import AuthKit
@testable import authctl

/// A line of `batch`, against the same line read as a tree.
@Sendable func fuzzBatch(_ bytes: [UInt8]) throws {
  let (id, result) = BatchLine.read(ByteBuffer(bytes), number: 1)
  let tree: JSONValue
  do throws(JSONError) { tree = try JSONValue.parse(bytes) } catch {
    if error.isTooLarge { return }
    return try check(id == .null && line(result) == nil, "what is not JSON is no line")
  }
  guard case .object(let members) = tree else {
    return try check(id == .null && line(result) == nil, "what is not an object is no line")
  }
  if case .failure(let failure) = result {
    try check(
      !failure.message.unicodeScalars.contains(where: DisplayText.isUnsafe), "a message is safe")
    if !failure.message.contains(bytesOf: "longer than 64 KiB") {
      try check(id == tree["id"] ?? .null, "an answer repeats the id")
    }
    return
  }
  guard let line = line(result) else { return }
  try check(id == tree["id"] ?? .null, "an answer repeats the id")
  let keys = members.map(\.key)
  try check(Set(keys).count == keys.count, "no key appears twice")
  try check(
    Set(keys).isSubset(of: ["id", "method", "url", "headers", "json", "body"]), "all keys are known"
  )
  try check(tree["url"]?.text.map { $0.isSame(as: line.target) } ?? false, "the url is the line's")
  try check(HeaderSyntax.isToken(line.method), "the method is a token")
  try check(
    (tree["method"]?.text ?? "GET").equalsIgnoringCase(line.method), "the method is the line's")
  var headers: [(key: String, value: JSONValue)] = []
  if case .object(let own)? = tree["headers"] { headers = own }
  try check(
    line.headers.elementsEqual(headers) { found, own in
      found.name.isSame(as: own.key)
        && (found.value.map { JSONValue.string($0) } ?? .null) == own.value
    }, "the headers are the line's")
  let content = line.body.content?.withBytes { Array($0) }
  if let json = tree["json"] {
    try check(try content.map { try JSONValue.parse($0) } == json, "the body is the line's JSON")
  } else if case .string(let text)? = tree["body"] {
    try check(content == Array(text.utf8), "the body is the line's text")
  } else {
    try check(content == nil, "there is no body")
  }
}

private func line(_ result: Result<BatchLine, Failure>) -> BatchLine? { try? result.get() }

/// The requests of git, docker, bazel, cargo and kubectl: a credential is looked up for an origin
/// that the request has as authctl writes it, and no other.
@Sendable func fuzzHelpers(_ bytes: [UInt8]) throws {
  var input = FuzzInput(bytes)
  let kind = input.byte() % 5
  let request = input.bytes()
  let text = String(decoding: request, as: UTF8.self)
  var origin: Origin?
  switch kind {
  case 0:
    guard let found = HelperGit.read(request) else { return }
    try check(
      found.values.allSatisfy { $0.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } },
      "no value has a control byte")
    let keys = ["protocol", "host", "username"]
    let again = keys.compactMap { key in found[key].map { "\(key)=\($0)\n" } }.joined()
    let known = found.filter { keys.contains($0.key) }
    try check(HelperGit.read(Array(again.utf8)) == known, "what is written is read alike")
    for (key, value) in known {
      try check(text.contains(bytesOf: "\(key)=\(value)"), "it is a line")
    }
    if let scheme = found["protocol"], let host = found["host"] {
      origin = Origin(canonical: "\(scheme)://\(host)")
    }
  case 1: origin = HelperCredential.origin(ofRegistry: text.trimmingLineEnd)
  case 2: origin = HelperBazel.origin(of: request)
  case 3: origin = (try? HelperCargo.origin(of: try? JSONValue.parse(request))) ?? nil
  default:
    do throws(Failure) {
      origin = try HelperKubectl.info(text).flatMap { (info) throws(Failure) in
        try HelperKubectl.server(of: info)
      }
    } catch {
      try check(error.kind == .originRefused, "what cannot be read is refused")
    }
  }
  if (try? HelperCredential.check(text)) != nil {
    try check(request.allSatisfy { (0x20...0x7E).contains($0) }, "a value is printable")
  }
  guard let origin else { return }
  let name = origin.description
  let host = origin.host
  try check(Origin(canonical: name) == origin, "an origin is written as it is read")
  try check(
    !host.isEmpty
      && host.utf8.allSatisfy { (0x21...0x7E).contains($0) && !"/?#@\\%".utf8.contains($0) },
    "a host is a host: \(host)")
  // 0x7f is a host that no session has: a session's is libcurl's.
  if let url = try? WebURL(name, from: .person), url.text == name + "/" {
    try check(url.origin == origin && url.path == "/", "libcurl reads the same origin")
  }
}
