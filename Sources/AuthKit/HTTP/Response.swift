/// The status line and headers of an answer.
package struct ResponseHead: Sendable {
  /// A header as received.
  package struct Field: Sendable {
    /// The name as received.
    package let name: String
    /// The value without spaces around it.
    package let value: String
  }

  /// `HTTP/1.1`, `HTTP/2`.
  package private(set) var version = ""
  /// The status code; 0 when the status line could not be read.
  package private(set) var status = 0
  /// The server's reason phrase or, if it sent none, the registered one.
  package private(set) var reason = ""
  /// The headers, in order.
  package private(set) var fields: [Field] = []

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
  package func all(_ name: String) -> [String] {
    fields.filter { $0.name.equalsIgnoringCase(name) }.map(\.value)
  }

  /// The first value of the header `name`.
  package func first(_ name: String) -> String? {
    fields.first { $0.name.equalsIgnoringCase(name) }?.value
  }

  /// All headers grouped by lower-case name, in the order in which each name first appears; the
  /// values of one name keep their order.
  package var grouped: [(name: String, values: [String])] {
    var groups: [(name: String, values: [String])] = []
    groups.reserveCapacity(fields.count)
    var places = [TextKey: Int](minimumCapacity: fields.count)
    for field in fields {
      let name = field.name.asciiLowercased
      if let place = places[TextKey(text: name)] {
        groups[place].values.append(field.value)
      } else {
        places[TextKey(text: name)] = groups.count
        groups.append((name, [field.value]))
      }
    }
    return groups
  }

  /// The media type without parameters, in lower case (RFC 9110, section 8.3).
  package var mediaType: String? {
    first("Content-Type").map {
      String(decoding: $0.utf8.prefix { $0 != UInt8(ascii: ";") && $0 != 0x20 }, as: UTF8.self)
        .asciiLowercased
    }
  }

  /// Whether its body can be decoded with the encodings `known`; no for an archive, which some
  /// servers send with the encoding of its own bytes.
  func isDecodable(by known: [String]) -> Bool {
    let archives = ["application/gzip", "application/x-gzip", "application/x-tgz"]
    if let type = mediaType, archives.contains(type) { return false }
    return all("Content-Encoding").allSatisfy { value in
      value.utf8.split(separator: UInt8(ascii: ",")).allSatisfy {
        known.contains(String(decoding: $0, as: UTF8.self).trimmingSpaces.asciiLowercased)
      }
    }
  }

  /// Whether the answer is an HTML page, meant for a browser.
  var isPage: Bool { mediaType == "text/html" }

  /// The target of a redirect, as the server wrote it; nil when the status is not a redirect that
  /// authctl follows or there is no Location (RFC 9110, sections 10.2.2 and 15.4).
  package var redirect: String? {
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
