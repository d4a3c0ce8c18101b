internal import AuthKit

/// What came of one line of a batch, as the line that tells it.
struct BatchAnswer {
  let id: JSONValue
  /// Status and headers of the server's answer; the values of `masked`, named in lower case, are not shown.
  var head: ResponseHead?
  var masked: Set<String> = []
  var body: [UInt8] = []
  /// A failure in the form of contract section 2.
  var error: JSONValue?

  init(id: JSONValue) { self.id = id }

  /// The line, with its line end.
  func line() -> SharedSecret {
    var out = SecretBuilder(capacity: body.count + 1024)
    out.append("{\"id\":")
    id.write(into: &out)
    if let head {
      out.append(",\"status\":\(head.status)")
      write(head, into: &out)
    }
    writeBody(into: &out)
    if let error {
      out.append(",\"error\":")
      error.write(into: &out)
    }
    out.append("}\n")
    return SharedSecret(out.secret())
  }

  /// Names in lower case, as HTTP/2 has them; a header that came more than once is a list.
  private func write(_ head: ResponseHead, into out: inout SecretBuilder) {
    let names = head.fields.map(\.name.asciiLowercased)
    out.append(",\"headers\":{")
    for (index, name) in names.enumerated() where names.firstIndex(of: name) == index {
      if index > 0 { out.append(",") }
      JSONValue.string(name).write(into: &out)
      out.append(":")
      let isMasked = masked.contains(name)
      func value(_ place: Int) -> JSONValue {
        .string(isMasked ? "***" : head.fields[place].value)
      }
      let others = names.indices.dropFirst(index + 1).filter { names[$0] == name }
      if others.isEmpty {
        value(index).write(into: &out)
      } else {
        JSONValue.array(([index] + others).map(value)).write(into: &out)
      }
    }
    out.append("}")
  }

  /// JSON as it was written, but for the white space around its tokens; text; else base64.
  private func writeBody(into out: inout SecretBuilder) {
    guard !body.isEmpty else { return }
    if let json = isJSON ? JSONValue.compacted(body) : nil {
      out.append(",\"json\":")
      json.withUnsafeBytes { out.append($0) }
    } else if String(validating: body, as: UTF8.self) != nil {
      out.append(",\"body\":")
      body.withUnsafeBytes { JSONValue.escape($0, into: &out) }
    } else {
      out.append(",\"body_base64\":\"")
      body.withUnsafeBytes { out.appendBase64($0) }
      out.append("\"")
    }
  }

  /// Whether it may be JSON: a number or a word alone is, only where the answer says so.
  private var isJSON: Bool {
    let type = head?.mediaType ?? ""
    if type.ends(withBytesOf: "json") { return true }
    let first = body.first { $0 > 0x20 }
    return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
  }
}
