internal import ArgumentParser
internal import AuthKit
internal import Synchronization

/// What a request carries beside its headers.
struct RequestBody {
  /// None: no body in memory. Empty: a body of no bytes.
  var content: SharedSecret?
  /// A body that is read while it is sent.
  var upload: StreamedBody?
  /// The parts of a multipart body.
  var parts: [WirePart] = []
  /// Its Content-Type, where the options say it.
  var type: String?
  /// Whether JSON is asked for as well (`--json`).
  var wantsJSON = false
  /// What joins the URL's query; empty for nothing.
  var query = ""
  /// What a target that ends in `/` gets: the name of the file of `-T`, percent-encoded.
  var fileName: String?

  /// Whether there is none.
  var isEmpty: Bool { content == nil && upload == nil && parts.isEmpty }

  /// The body is `sources`, one behind the other: in memory where all of them are there already.
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

  /// The request that carries it, with the headers that it needs where `headers` lacks them.
  ///
  /// - Throws: `usage`.
  func request(
    _ method: String, to url: WebURL, with headers: PersonalHeaders
  ) throws(Failure) -> WireRequest {
    var headers = headers
    var request = WireRequest(method: method, url: url, body: content)
    request.upload = upload
    request.parts = parts
    if let type { try headers.complete("Content-Type", type) }
    if isEmpty, ["POST", "PUT", "PATCH"].contains(method) {
      // A POST of no bytes says so, by `Content-Length: 0` (RFC 9110, section 8.6).
      request.body = SharedSecret("")
      try headers.complete("Content-Type", nil)
    }
    if wantsJSON { try headers.complete("Accept", "application/json") }
    request.headers = headers.lines
    return request
  }

  /// `target` with what the options add to its path and its query.
  func target(_ target: String) -> String {
    let mark = target.utf8.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }
    var path = String(target.utf8[..<(mark ?? target.utf8.endIndex)]) ?? target
    let rest = mark.flatMap { String(target.utf8[$0...]) } ?? ""
    if let fileName, path.utf8.last == UInt8(ascii: "/") { path += fileName }
    guard !query.isEmpty else { return path + rest }
    return path + rest + (rest.utf8.first == UInt8(ascii: "?") ? "&" : "?") + query
  }
}
