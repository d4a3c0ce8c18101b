/// A request as it goes to the wire: nothing in it is a placeholder any more.
public struct WireRequest {
  /// The method (RFC 9110, section 9).
  public var method: String
  /// Where it goes.
  public var url: WebURL
  /// The header lines, in order.
  public var headers: [WireHeader]
  /// None: no body at all. Empty: a body of no bytes.
  public var body: SharedSecret?
  /// A body that is read while it is sent, in place of `body`.
  public var upload: Upload?
  /// Parts of a multipart/form-data body (RFC 7578), in place of `body`.
  public var parts: [WirePart] = []

  /// A request without parts.
  public init(
    method: String, url: WebURL, headers: [WireHeader] = [], body: SharedSecret? = nil
  ) {
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
  }
}

/// One header line, checked (rule A4) and ready for libcurl.
public final class WireHeader {
  /// The name as it is sent.
  public let name: String
  /// `Name: value` and a closing NUL.
  let line: Secret

  /// A line of `name` and `value`; the name is a token (RFC 9110, section 5.6.2).
  ///
  /// - Throws: `Failure` of kind `usage` when name or value hold bytes that no header has.
  public init(name: String, value: borrowing Secret) throws(Failure) {
    guard HeaderSyntax.isToken(Array(name.utf8)) else {
      throw Failure(.usage, "\(DisplayText.oneLine(name, limit: 60)) is not a header name")
    }
    guard value.withBytes({ HeaderSyntax.isUserValue($0) }) else {
      throw Failure(.usage, "the value of the header \(name) holds a control character")
    }
    self.name = name
    var builder = SecretBuilder(capacity: name.utf8.count + value.count + 3)
    builder.append(name)
    // libcurl takes `Name:` for "remove it"; `Name;` is its way to send an empty value.
    builder.append(value.isEmpty ? ";" : ": ")
    builder.append(value)
    builder.append(0)
    line = builder.secret()
  }

  /// Tells libcurl not to send the header `name` that it would add itself.
  public init(removing name: String) throws(Failure) {
    self.name = name
    line = Secret("\(name):\0")
  }

  /// Whether it can hold a credential: a few surely hold none.
  public var mayBeCredential: Bool { !Self.plainNames.contains(name.asciiLowercased) }

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

  /// A line that holds no secret.
  ///
  /// - Throws: `Failure` of kind `usage` when name or value hold bytes that no header has.
  public convenience init(name: String, value: String) throws(Failure) {
    try self.init(name: name, value: Secret(value))
  }
}

/// One part of a multipart/form-data body.
public struct WirePart {
  var name: String
  var value: SharedSecret
  /// What is read while it is sent, in place of `value`.
  var upload: Upload?
  /// The name that a part with a file in it tells.
  var fileName: String?
  /// Its Content-Type; none: libcurl says none.
  var type: String?

  /// A field.
  public init(name: String, value: SharedSecret, type: String? = nil) {
    self.name = name
    self.value = value
    self.type = type
  }

  /// A field, or with a name of its own a file, that is read while it is sent.
  public init(name: String, file: BodyFile, fileName: String? = nil, type: String? = nil) {
    self.init(name: name, value: SharedSecret(""), type: type)
    upload = Upload([.file(file)])
    self.fileName = fileName
  }

  /// The option and the word of curl that stand for it.
  public var curlWords: [String] {
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

/// Status line and headers of an answer.
public struct ResponseHead: Sendable {
  /// A header as it came.
  public struct Field: Sendable {
    /// The name as it came.
    public let name: String
    /// The value without spaces around it.
    public let value: String
  }

  /// `HTTP/1.1`, `HTTP/2`.
  public private(set) var version = ""
  /// The status code; 0 when the status line could not be read.
  public private(set) var status = 0
  /// The reason phrase, the server's or, where it sent none, the registered one.
  public private(set) var reason = ""
  /// The headers, in order.
  public private(set) var fields: [Field] = []

  init() {}

  init(statusLine bytes: UnsafeRawBufferPointer) {
    let words = DisplayText.repaired(bytes).trimmingLineEnd
      .utf8.split(separator: UInt8(ascii: " "), maxSplits: 2, omittingEmptySubsequences: false)
      .map { String(decoding: $0, as: UTF8.self) }
    version = words.first ?? ""
    status = words.count > 1 ? Int(words[1]) ?? 0 : 0
    reason = words.count > 2 ? words[2] : ""
    if reason.isEmpty { reason = Self.reasons[status] ?? "" }
  }

  mutating func add(line bytes: UnsafeRawBufferPointer) {
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { return }
    let isSpace = { (byte: UInt8) in byte == 0x20 || (byte >= 0x09 && byte <= 0x0D) }
    var value = bytes[(colon + 1)...]
    while let byte = value.first, isSpace(byte) { value = value.dropFirst() }
    while let byte = value.last, isSpace(byte) { value = value.dropLast() }
    fields.append(
      Field(
        name: DisplayText.repaired(UnsafeRawBufferPointer(rebasing: bytes[..<colon])),
        value: DisplayText.repaired(UnsafeRawBufferPointer(rebasing: value))))
  }

  /// Every value of the header `name`, ASCII case ignored.
  public func all(_ name: String) -> [String] {
    fields.filter { $0.name.equalsIgnoringCase(name) }.map(\.value)
  }

  /// The first value of the header `name`.
  public func first(_ name: String) -> String? {
    fields.first { $0.name.equalsIgnoringCase(name) }?.value
  }

  /// The media type without parameters, in lower case (RFC 9110, section 8.3).
  public var mediaType: String? {
    first("Content-Type").map {
      String(decoding: $0.utf8.prefix { $0 != UInt8(ascii: ";") && $0 != 0x20 }, as: UTF8.self)
        .asciiLowercased
    }
  }

  /// Whether the answer is made for a browser.
  var isPage: Bool { mediaType == "text/html" }

  /// Where a redirect points, as the server wrote it; nil when the status is not a redirect that
  /// is followed or there is no Location (RFC 9110, sections 10.2.2 and 15.4).
  public var redirect: String? {
    [301, 302, 303, 307, 308].contains(status) ? first("Location") : nil
  }

  private static let reasons = [
    200: "OK", 201: "Created", 202: "Accepted", 204: "No Content", 206: "Partial Content",
    301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified",
    307: "Temporary Redirect", 308: "Permanent Redirect", 400: "Bad Request", 401: "Unauthorized",
    402: "Payment Required", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
    406: "Not Acceptable", 408: "Request Timeout", 409: "Conflict", 410: "Gone",
    412: "Precondition Failed", 413: "Content Too Large", 415: "Unsupported Media Type",
    418: "I'm a teapot", 422: "Unprocessable Content", 423: "Locked", 428: "Precondition Required",
    429: "Too Many Requests", 500: "Internal Server Error", 501: "Not Implemented",
    502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout",
  ]
}
