internal import AuthKit

/// The result of one line of a batch, printed as one line.
struct BatchAnswer {
  let id: JSONValue
  /// The status and headers of the server's answer, and the mask for them.
  var head: ResponseHead?
  var mask: HeaderMask?
  var body = ByteBuffer()
  /// A failure in the form of design 2.
  var error: JSONValue?

  init(id: JSONValue) { self.id = id }

  /// The line, with its line end.
  func line() -> SharedSecret {
    let form = bodyForm
    // Reserve the final size: a buffer that grows holds the line twice.
    var out = SecretBuilder(capacity: size(form) + 1024)
    out.append("{\"id\":")
    id.write(into: &out)
    if let head {
      out.append(",\"status\":\(head.status)")
      write(head, into: &out)
    }
    body.withBytes { write($0, form, into: &out) }
    if let error {
      out.append(",\"error\":")
      error.write(into: &out)
    }
    out.append("}\n")
    return SharedSecret(out.finish())
  }

  /// Writes header names in lower case, as in HTTP/2; a repeated header becomes a list.
  private func write(_ head: ResponseHead, into out: inout SecretBuilder) {
    out.append(",\"headers\":{")
    for (index, header) in head.grouped.enumerated() {
      if index > 0 { out.append(",") }
      JSONValue.string(header.name).write(into: &out)
      out.append(":")
      let values = header.values.map { JSONValue.string(mask?.shown($0, of: header.name) ?? $0) }
      (values.count == 1 ? values[0] : .array(values)).write(into: &out)
    }
    out.append("}")
  }

  // MARK: - The body

  /// A text that would be longer than this with its escapes is written as base64.
  private static let longestText = 24 << 20

  private enum BodyForm {
    case none, json, text, base64
  }

  /// The body's form: JSON (without white space around its tokens), else text, else base64.
  private var bodyForm: BodyForm {
    guard !body.isEmpty else { return .none }
    return body.withBytes { bytes in
      if mayBeJSON(bytes), (try? JSONValue.check(bytes)) != nil { return .json }
      let isText = bytes.isUTF8 && JSONValue.escapedCount(bytes) <= Self.longestText
      return isText ? .text : .base64
    }
  }

  private func size(_ form: BodyForm) -> Int {
    switch form {
    case .none, .json: body.count
    case .text: body.withBytes(JSONValue.escapedCount)
    case .base64: body.count / 3 * 4 + 4
    }
  }

  private func write(
    _ bytes: UnsafeRawBufferPointer, _ form: BodyForm, into out: inout SecretBuilder
  ) {
    switch form {
    case .none: break
    case .json:
      out.append(",\"json\":")
      JSONValue.writeCompact(bytes, into: &out)
    case .text:
      out.append(",\"body\":")
      JSONValue.escape(bytes, into: &out)
    case .base64:
      out.append(",\"body_base64\":\"")
      out.appendBase64(bytes)
      out.append("\"")
    }
  }

  /// Returns whether the body may be JSON; a bare number or word needs a JSON media type.
  private func mayBeJSON(_ bytes: UnsafeRawBufferPointer) -> Bool {
    let type = head?.mediaType ?? ""
    if type.ends(withBytesOf: "json") { return true }
    let first = bytes.first { $0 > 0x20 }
    return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
  }
}
