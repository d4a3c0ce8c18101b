/// Where an answer names its next page.
package enum NextPage: Sendable, Equatable {
  /// `Link: rel="next"` (RFC 8288), and keys of the body that have no other known meaning.
  case usual
  /// A JSON Pointer to the next page's URL.
  case pointer(String)
  /// A JSON Pointer to a value, and the query parameter that takes it.
  case cursor(String, parameter: String)

  /// - Returns: nil when `text` is not a JSON Pointer.
  package init?(pointer text: String) {
    guard text.utf8.first == UInt8(ascii: "/"), JSONValue.isPointer(text) else { return nil }
    self = .pointer(text)
  }

  /// Reads `/POINTER=PARAMETER`; the last `=` separates them.
  ///
  /// - Returns: nil when `text` has another form.
  package init?(cursor text: String) {
    guard let mark = text.utf8.lastIndex(of: UInt8(ascii: "=")),
      case .pointer(let pointer) = NextPage(pointer: String(text[..<mark]))
    else { return nil }
    let parameter = String(text[text.utf8.index(after: mark)...])
    guard !parameter.isEmpty else { return nil }
    self = .cursor(pointer, parameter: parameter)
  }

  /// Returns the URL of the page after the one at `url`; nil after the last page.
  ///
  /// - Parameter body: returns the page, nil if it is not JSON; called only when needed.
  /// - Throws: `failed` when the value is not a URL or cursor, `origin_refused` for a URL that
  ///   authctl does not follow (rule A8), or the error of `body`.
  package func url(
    after head: ResponseHead, at url: WebURL, body: () throws(Failure) -> JSONText?
  ) throws(Failure) -> WebURL? {
    switch self {
    case .usual:
      if let target = LinkHeader.next(in: head.all("Link")) {
        return try Self.resolved(target, at: url)
      }
      guard head.mediaType?.ends(withBytesOf: "json") ?? false else {
        return nil
      }
      for (pointer, mediaType) in Self.sureKeys {
        guard mediaType == nil || mediaType == head.mediaType,
          case .string(let target)? = try? body()?.at(pointer)?.scalar, !target.isEmpty
        else { continue }
        return try Self.resolved(target, at: url)
      }
      return nil
    case .pointer(let pointer):
      guard let value = try Self.value(at: pointer, in: try body()) else { return nil }
      guard case .string(let target)? = value.scalar else {
        throw Failure(
          .failed, "the next page at \(pointer) is not a URL: \(value.shape(depth: 0))",
          hint: value.scalar?.scalarText == nil
            ? nil
            : DisplayText.shellCommand(["--next-cursor", "\(pointer)=PARAMETER"])
              .map { "to send it back, use \($0)" })
      }
      return try Self.resolved(target, at: url)
    case .cursor(let pointer, let parameter):
      guard let value = try Self.value(at: pointer, in: try body()) else { return nil }
      guard let scalar = value.scalar, let text = scalar.scalarText, scalar != .bool(true) else {
        throw Failure(
          .failed, "the cursor at \(pointer) is not text: \(value.shape(depth: 0))")
      }
      let query = Self.query(url.query ?? "", setting: parameter, to: text)
      return try url.resolving("?" + query, from: .server)
    }
  }

  /// Returns a key of the body that may name the next page, for when `usual` found none.
  package static func hint(in body: JSONText?) -> String? {
    guard let body else { return nil }
    let pointers = ["/next", "/links/next", "/next_page", "/next_page_url", "/paging/next"]
    return pointers.first { pointer in
      if case .string(let text)? = try? body.at(pointer)?.scalar { !text.isEmpty } else { false }
    }
  }

  /// OData 4.01 JSON, section 4.5.5; HAL (draft-kelly-json-hal), section 5; JSON:API 1.1,
  /// Pagination.
  private static let sureKeys: [(pointer: String, mediaType: String?)] = [
    ("/@odata.nextLink", nil), ("/_links/next/href", nil),
    ("/links/next", "application/vnd.api+json"), ("/links/next/href", "application/vnd.api+json"),
  ]

  /// Resolves `target` against the page's own URL.
  private static func resolved(_ target: String, at url: WebURL) throws(Failure) -> WebURL {
    // This is the page itself (RFC 3986, section 4.4); libcurl would resolve it to /.
    guard !target.isEmpty, target.utf8.first != UInt8(ascii: "#") else { return url }
    return try url.resolving(target, from: .server)
  }

  /// Returns the value; nil for null, false and the empty text, which mean that no page follows.
  private static func value(
    at pointer: String, in body: JSONText?
  ) throws(Failure) -> JSONText? {
    do throws(JSONPointerError) {
      let value = try body?.at(pointer)
      switch value?.scalar {
      case .null, .bool(false), .string(""): return nil
      default: return value
      }
    } catch {
      throw Failure(.failed, "a key of \(pointer) appears twice in the answer")
    }
  }

  /// Returns `query` with exactly one `name`, in place of the first if there is one.
  static func query(_ query: String, setting name: String, to value: String) -> String {
    var pairs = query.utf8.split(separator: UInt8(ascii: "&")).map {
      String(decoding: $0, as: UTF8.self)
    }
    let own = pairs.indices.filter { index in
      let own = pairs[index].utf8.prefix { $0 != UInt8(ascii: "=") }
      return percentDecoded(own, plusIsSpace: true).elementsEqual(name.utf8)
    }
    let pair = escaped(name) + "=" + escaped(value)
    for index in own.dropFirst().reversed() { pairs.remove(at: index) }
    if let first = own.first { pairs[first] = pair } else { pairs.append(pair) }
    return pairs.joined(separator: "&")
  }

  private static func escaped(_ text: String) -> String {
    var builder = SecretBuilder()
    Array(text.utf8).withUnsafeBytes { builder.appendPercentEncoded($0) }
    return builder.secret().withBytes { String(decoding: $0, as: UTF8.self) }
  }
}
