internal import AuthKit

/// The body of a request, and what its options add to the URL.
struct RequestBody {
  /// nil: no body in memory; empty: a body of no bytes.
  var content: SharedSecret?
  /// A body that is read while it is sent.
  var upload: StreamedBody?
  /// The parts of a multipart body.
  var parts: [WirePart] = []
  /// The Content-Type, if the options determine it.
  var type: String?
  /// Whether to ask for a JSON answer too (`--json`).
  var wantsJSON = false
  /// The text to add to the URL's query; may be empty.
  var query = ""
  /// The percent-encoded name of the `-T` file, added to a target that ends in `/`.
  var fileName: String?

  /// Whether there is no body.
  var isEmpty: Bool { content == nil && upload == nil && parts.isEmpty }

  /// Sets the body to `sources` in order; in memory if all of them are.
  mutating func take(_ sources: [StreamedBody.Source]) {
    var text = SecretBuilder()
    for source in sources {
      guard case .bytes(let bytes) = source else {
        upload = StreamedBody(sources)
        return
      }
      text.append(bytes.secret)
    }
    content = SharedSecret(text.secret())
  }

  /// Returns the request with this body and the headers that it needs but `headers` lacks.
  ///
  /// - Throws: `usage`.
  func request(
    _ method: String, to url: WebURL, with headers: consuming PersonalHeaders
  ) throws(Failure) -> WireRequest {
    var request = WireRequest(method: method, url: url, body: content)
    request.upload = upload
    request.parts = parts
    if let type { try headers.complete("Content-Type", type) }
    if isEmpty, ["POST", "PUT", "PATCH"].contains(method) {
      // An empty POST sends `Content-Length: 0` (RFC 9110, section 8.6).
      request.body = SharedSecret("")
      try headers.complete("Content-Type", nil)
    }
    if wantsJSON { try headers.acceptJSON() }
    request.headers = headers.lines
    return request
  }

  /// Returns `target` with what the options add to its path and its query.
  func target(_ target: String) -> String {
    // A fragment is never sent (RFC 9110, section 4.2.5), and what follows it would not be either.
    let whole = target.utf8.prefix { $0 != UInt8(ascii: "#") }
    let mark = whole.firstIndex(of: UInt8(ascii: "?")) ?? whole.endIndex
    var path = String(decoding: whole[..<mark], as: UTF8.self)
    let rest = String(decoding: whole[mark...], as: UTF8.self)
    if let fileName, path.utf8.last == UInt8(ascii: "/") { path += fileName }
    guard !query.isEmpty else { return path + rest }
    return path + rest + (rest.utf8.first == UInt8(ascii: "?") ? "&" : "?") + query
  }
}
