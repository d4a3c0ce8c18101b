/// A request that is ready to send, with all placeholders filled in.
package struct WireRequest {
  /// The method (RFC 9110, section 9).
  package var method: String
  /// The URL to send it to.
  package var url: WebURL
  /// The header lines, in order.
  package var headers: [WireHeader]
  /// nil: no body. Empty: a body of zero bytes.
  package var body: SharedSecret?
  /// A body that is read while it is sent, in place of `body`.
  package var upload: StreamedBody?
  /// Parts of a multipart/form-data body (RFC 7578), in place of `body`.
  package var parts: [WirePart] = []

  /// Creates a request without parts.
  package init(
    method: String, url: WebURL, headers: [WireHeader] = [], body: SharedSecret? = nil
  ) {
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
  }
}

/// One header line, checked (rule A4) and ready for libcurl.
package final class WireHeader {
  /// The name as it is sent.
  package let name: String
  /// `Name: value` and a closing NUL.
  let line: Secret

  /// Creates a line from `name`, a token (RFC 9110, section 5.6.2), and `value`.
  ///
  /// - Throws: `Failure` of kind `usage` when name or value hold bytes that no header has.
  package init(name: String, value: borrowing Secret) throws(Failure) {
    try Self.check(name)
    guard value.withBytes({ HeaderSyntax.isUserValue($0) }) else {
      throw Failure(.usage, "the value of the header \(name) contains a control character")
    }
    self.name = name
    var builder = SecretBuilder(capacity: name.utf8.count + value.count + 3)
    builder.append(name)
    // To libcurl, `Name:` means "remove the header" and `Name;` means "send it empty".
    builder.append(value.isEmpty ? ";" : ": ")
    builder.append(value)
    builder.append(0)
    line = builder.secret()
  }

  /// Creates a line that stops libcurl from adding the header `name` itself.
  ///
  /// - Throws: `Failure` of kind `usage` when `name` is not a token: libcurl would send the rest.
  package init(removing name: String) throws(Failure) {
    try Self.check(name)
    self.name = name
    line = Secret("\(name):\0")
  }

  private static func check(_ name: String) throws(Failure) {
    guard HeaderSyntax.isToken(name) else {
      throw Failure(.usage, "\(DisplayText.oneLine(name, limit: 60)) is not a header name")
    }
  }

  /// Whether the header may hold a credential: true for all except a few known names.
  package var mayBeCredential: Bool { !Self.plainNames.contains(name.asciiLowercased) }

  private static let plainNames: Set<String> = [
    "accept", "accept-charset", "accept-encoding", "accept-language", "cache-control",
    "content-language", "content-type", "idempotency-key", "if-match", "if-modified-since",
    "if-none-match", "if-range", "if-unmodified-since", "last-event-id", "origin", "prefer",
    "range", "referer", "user-agent", "x-correlation-id", "x-request-id", "x-requested-with",
  ]

  /// The value, for `-v`; nil for a header that is not sent. The caller masks it.
  var shownValue: String? {
    line.withBytes { bytes in
      let value = bytes.dropFirst(name.utf8.count + 1).dropLast()
      if value.isEmpty { return bytes[name.utf8.count] == UInt8(ascii: ";") ? "" : nil }
      return DisplayText.repaired(UnsafeRawBufferPointer(rebasing: value.dropFirst()))
    }
  }

  /// Creates a line that holds no secret.
  ///
  /// - Throws: `Failure` of kind `usage` when name or value hold bytes that no header has.
  package convenience init(name: String, value: String) throws(Failure) {
    try self.init(name: name, value: Secret(value))
  }
}

/// One part of a multipart/form-data body.
package struct WirePart {
  var name: String
  var value: SharedSecret
  /// A value that is read while it is sent, in place of `value`.
  var upload: StreamedBody?
  /// The file name that is sent with a file part.
  var fileName: String?
  /// Its Content-Type; nil: libcurl sends none.
  var type: String?

  /// Creates a field.
  package init(name: String, value: SharedSecret, type: String? = nil) {
    self.name = name
    self.value = value
    self.type = type
  }

  /// Creates a field or, with `fileName`, a file part; both are read while they are sent.
  package init(name: String, file: BodyFile, fileName: String? = nil, type: String? = nil) {
    self.init(name: name, value: SharedSecret(""), type: type)
    upload = StreamedBody([.file(file)])
    self.fileName = fileName
  }

  /// The curl option for the part, and its argument.
  package var curlWords: [String] {
    var word = name + "="
    if let upload, case .file(let file)? = upload.sources.first {
      word += (fileName == nil ? "<" : "@") + Self.quoted(file.path)
    } else if type == nil {
      return ["--form-string", word + value.text]
    } else {
      word += Self.quoted(value.text)
    }
    if let type { word += ";type=" + type }
    if let fileName { word += ";filename=" + Self.quoted(fileName) }
    return ["-F", word]
  }

  /// https://curl.se/docs/manpage.html#-F
  private static func quoted(_ text: String) -> String {
    var quoted: [UInt8] = [UInt8(ascii: "\"")]
    for byte in text.utf8 {
      if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
        quoted.append(UInt8(ascii: "\\"))
      }
      quoted.append(byte)
    }
    return String(decoding: quoted + [UInt8(ascii: "\"")], as: UTF8.self)
  }
}
