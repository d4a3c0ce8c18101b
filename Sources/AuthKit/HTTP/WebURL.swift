internal import CCurl

/// A URL as libcurl reads it; the same handle makes the request.
/// https://curl.se/libcurl/c/libcurl-url.html
public final class WebURL {
  /// For `CURLOPT_CURLU`.
  let handle: OpaquePointer
  private let curl: authctl_curl
  /// Scheme, host and port.
  public let origin: Origin
  /// The whole URL, host in punycode.
  public let text: String
  /// At least `/`.
  public let path: String
  /// Without the question mark.
  public let query: String?

  /// Reads an absolute URL by the rules of A8.
  ///
  /// - Throws: `usage` for a person's URL, `origin_refused` for a server's.
  public convenience init(_ text: String, from source: URLSource) throws(Failure) {
    if let objection = URLText.objection(to: text) {
      throw Self.refusal(text, objection, source)
    }
    let curl = try openedLibcurl()
    guard let handle = curl.curl_url() else { throw Failure(.failed, "out of memory") }
    try self.init(taking: handle, setting: text, curl: curl, source: source)
  }

  /// This URL with `reference` resolved against it (RFC 3986, section 5), as Location asks.
  public func resolving(_ reference: String, from source: URLSource) throws(Failure) -> WebURL {
    var objection: String?
    if URLText.isAbsolute(reference) {
      objection = URLText.objection(to: reference)
    } else if URLText.hasForeignScheme(reference) {
      objection = "its scheme is neither http nor https"
    } else if reference.utf8.starts(with: "//".utf8) {
      objection = URLText.objection(to: origin.scheme + ":" + reference)
    } else if reference.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
      objection = "it holds a control character"
    }
    if let objection { throw Self.refusal(reference, objection, source) }
    guard let copy = curl.curl_url_dup(handle) else { throw Failure(.failed, "out of memory") }
    return try WebURL(taking: copy, setting: reference, curl: curl, source: source)
  }

  private init(
    taking handle: OpaquePointer, setting text: String, curl: authctl_curl, source: URLSource
  ) throws(Failure) {
    func part(_ part: CURLUPart, _ flags: Int32 = 0) -> String? {
      var value: UnsafeMutablePointer<CChar>?
      guard curl.curl_url_get(handle, part, &value, UInt32(flags)) == CURLUE_OK, let value else {
        return nil
      }
      defer { curl.curl_free(value) }
      return String(cString: value)
    }
    func read() -> (Origin, String, String)? {
      guard curl.curl_url_set(handle, CURLUPART_URL, text, UInt32(CURLU_URLENCODE)) == CURLUE_OK,
        curl.curl_url_set(handle, CURLUPART_FRAGMENT, nil, 0) == CURLUE_OK,
        let scheme = part(CURLUPART_SCHEME), scheme == "http" || scheme == "https",
        part(CURLUPART_USER) == nil, part(CURLUPART_PASSWORD) == nil,
        part(CURLUPART_ZONEID) == nil,
        var host = part(CURLUPART_HOST, CURLU_PUNYCODE)?.asciiLowercased, !host.isEmpty,
        !host.utf8.contains(UInt8(ascii: "%")), host.utf8.last != UInt8(ascii: "."),
        host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }),
        let port = part(CURLUPART_PORT, CURLU_DEFAULT_PORT).flatMap({ UInt16($0) }), port > 0
      else { return nil }
      if host.utf8.first == UInt8(ascii: "[") {
        guard let canonical = Origin.canonicalIPv6(host) else { return nil }
        host = canonical
      }
      guard curl.curl_url_set(handle, CURLUPART_HOST, host, 0) == CURLUE_OK,
        let whole = part(CURLUPART_URL)
      else { return nil }
      return (Origin(scheme: scheme, host: host, port: port), whole, part(CURLUPART_PATH) ?? "/")
    }
    guard let (origin, whole, path) = read() else {
      curl.curl_url_cleanup(handle)
      throw Self.refusal(text, "libcurl cannot read it as a URL", source)
    }
    self.curl = curl
    self.handle = handle
    self.origin = origin
    self.text = whole
    self.path = path
    query = part(CURLUPART_QUERY)
  }

  private static func refusal(_ text: String, _ why: String, _ source: URLSource) -> Failure {
    // Letters of other scripts can look like those of a known host: they are spelled out.
    let shown = DisplayText.oneLine(Redactor.withoutQuery(text), limit: 120).unicodeScalars
      .map { $0.isASCII ? String($0) : $0.escaped(asASCII: true) }.joined()
    return switch source {
    case .person: Failure(.usage, "\(shown): \(why)", hint: "write https://HOST/PATH")
    case .server: Failure(.originRefused, "the server named the URL \(shown): \(why)")
    }
  }

  deinit { curl.curl_url_cleanup(handle) }
}
