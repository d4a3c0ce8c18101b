internal import CCurl
internal import Glibc

/// A URL as libcurl reads it; the same handle makes the request.
/// https://curl.se/libcurl/c/libcurl-url.html
///
/// A `PlainURL` is read without libcurl: loading it and its libraries costs 3 ms, and
/// `token`, `status` and so on need only an origin and send nothing. libcurl still decides
/// (rule A8): before a request it must read the URL the same way.
package final class WebURL {
  /// Scheme, host and port.
  package let origin: Origin
  /// The whole URL, with the host in punycode.
  package let text: String
  /// The path, at least `/`.
  package let path: String
  /// The query, without the question mark.
  package let query: String?
  /// libcurl's handle; nil for a plain URL that libcurl has not read yet.
  private var opened: OpaquePointer?

  /// Reads an absolute URL by rule A8.
  ///
  /// - Throws: `usage` for a user's URL, `origin_refused` for a server's.
  package convenience init(_ text: String, from source: URLSource) throws(Failure) {
    if let plain = PlainURL(text) {
      self.init(plain, text)
      return
    }
    if let reason = URLText.rejectionReason(of: text) {
      throw Self.refusal(text, reason, source)
    }
    try self.init(reading: text, source)
  }

  private init(_ plain: PlainURL, _ given: String) {
    origin = plain.origin
    text = plain.path.utf8.count == 1 ? plain.origin.description + plain.path : given
    path = plain.path
    query = nil
  }

  private convenience init(reading text: String, _ source: URLSource) throws(Failure) {
    let curl = try openedLibcurl()
    guard let handle = curl.curl_url() else { throw Failure(.failed, "out of memory") }
    try self.init(taking: handle, setting: text, curl: curl, source: source)
  }

  /// Returns the handle for `CURLOPT_CURLU`, valid as long as this object.
  ///
  /// - Throws: `failed` without libcurl, `usage` if libcurl reads the URL differently.
  func handle() throws(Failure) -> OpaquePointer {
    if let opened { return opened }
    let curl = try openedLibcurl()
    guard let handle = curl.curl_url() else { throw Failure(.failed, "out of memory") }
    func isPart(_ part: CURLUPart, _ expected: String, _ flags: Int32 = 0) -> Bool {
      var value: UnsafeMutablePointer<CChar>?
      guard curl.curl_url_get(handle, part, &value, UInt32(flags)) == CURLUE_OK, let value else {
        return false
      }
      defer { curl.curl_free(value) }
      return strcmp(value, expected) == 0
    }
    guard curl.curl_url_set(handle, CURLUPART_URL, text, UInt32(CURLU_URLENCODE)) == CURLUE_OK,
      isPart(CURLUPART_SCHEME, origin.scheme), isPart(CURLUPART_HOST, origin.host),
      isPart(CURLUPART_PORT, "\(origin.port)", CURLU_DEFAULT_PORT),
      isPart(CURLUPART_PATH, path), isPart(CURLUPART_URL, text)
    else {
      curl.curl_url_cleanup(handle)
      throw Self.refusal(text, "libcurl reads it differently", .person)
    }
    opened = handle
    return handle
  }

  /// Returns `reference`, such as a Location, resolved against this URL (RFC 3986, section 5).
  package func resolving(_ reference: String, from source: URLSource) throws(Failure) -> WebURL {
    var reason: String?
    if URLText.isAbsolute(reference) {
      reason = URLText.rejectionReason(of: reference)
    } else if URLText.hasForeignScheme(reference) {
      reason = "its scheme is neither http nor https"
    } else if reference.utf8.starts(with: "//".utf8) {
      reason = URLText.rejectionReason(of: origin.scheme + ":" + reference)
    } else if reference.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
      reason = "it contains a control character"
    }
    if let reason { throw Self.refusal(reference, reason, source) }
    let curl = try openedLibcurl()
    guard let copy = curl.curl_url_dup(try handle()) else {
      throw Failure(.failed, "out of memory")
    }
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
    // libidn2, which libcurl uses for punycode, decodes text by the locale.
    if !text.utf8.allSatisfy({ $0 < 0x80 }) { setlocale(LC_CTYPE, "C.UTF-8") }
    func read(_ text: String) -> (Origin, String, String)? {
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
    guard let (origin, whole, path) = read(text) else {
      curl.curl_url_cleanup(handle)
      throw Self.refusal(text, "libcurl cannot read it as a URL", source)
    }
    // IDNA maps some characters to nothing or to digits after libcurl has looked for an address:
    // the next parser to read the text would find another host in it.
    let isStable =
      whole.utf8.elementsEqual(text.utf8)
      || read(whole).map { $0 == (origin, whole, path) } ?? false
    guard isStable, !origin.isAddress || URLText.hasPlainAuthority(text) else {
      curl.curl_url_cleanup(handle)
      throw Self.refusal(text, "its host can be read in two ways", source)
    }
    opened = handle
    self.origin = origin
    self.text = whole
    self.path = path
    query = part(CURLUPART_QUERY)
  }

  private static func refusal(_ text: String, _ why: String, _ source: URLSource) -> Failure {
    // Escape non-ASCII letters, which can look like those of a known host.
    let shown = DisplayText.oneLine(Redactor.withoutQuery(text), limit: 120).unicodeScalars
      .map { $0.isASCII ? String($0) : $0.escaped(asASCII: true) }.joined()
    return switch source {
    case .person: Failure(.usage, "\(shown): \(why)", hint: "write https://HOST/PATH")
    case .server: Failure(.originRefused, "refused the server's URL \(shown): \(why)")
    }
  }

  deinit { if let opened { authctl_curl()?.pointee.curl_url_cleanup(opened) } }
}
