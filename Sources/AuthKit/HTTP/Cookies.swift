/// A cookie as the server set it (RFC 6265), bound to the exact origin that set it (rule A10).
package struct Cookie: Sendable, Equatable {
  /// The name, compared by bytes.
  package var name: String
  /// The value, including any quotes that the server wrote. A secret.
  package var value: String
  /// Requests to this path and below it carry the cookie.
  package var path: String
  /// Whether it is sent over https only.
  package var secure: Bool
  /// When it expires; `nil`: the server did not say, or more than ten years from now.
  package var expires: Timestamp?
  /// The exact origin that set it, canonical: `https://api.shop.example:443`.
  package var originText: String

  /// Compares every text by its bytes.
  package static func == (left: Cookie, right: Cookie) -> Bool {
    left.isSame(as: right) && left.value.utf8.elementsEqual(right.value.utf8)
      && left.secure == right.secure && left.expires == right.expires
  }

  /// Whether one replaces the other: same name, path and origin.
  fileprivate func isSame(as other: Cookie) -> Bool {
    name.utf8.elementsEqual(other.name.utf8) && path.utf8.elementsEqual(other.path.utf8)
      && originText.utf8.elementsEqual(other.originText.utf8)
  }

  fileprivate func isOver(_ now: Timestamp) -> Bool { expires.map { $0 <= now } ?? false }

  fileprivate var size: Int {
    name.utf8.count + value.utf8.count + path.utf8.count + originText.utf8.count
  }
}

// MARK: - Reading Set-Cookie

extension Cookie {
  /// Why a Set-Cookie header is refused; the raw value is the text for messages.
  package enum Refusal: String, Error, Sendable {
    case noName = "it has no name"
    case badBytes = "it contains bytes that are not allowed in a cookie"
    case tooLong = "it is longer than 4 KiB"
    case secureOverHTTP = "it is Secure but came over plain HTTP"
    case prefix = "it breaks the rules of its name prefix"
  }

  /// The limit for name and value together, in bytes.
  static let maximumSize = 4096

  /// Reads the value of one Set-Cookie header by RFC 6265, section 5.2, with the name prefixes of
  /// RFC 6265bis, section 4.1.3. The attribute Domain is ignored.
  ///
  /// - Parameters:
  ///   - origin: the canonical origin of the answer, `https://h:443`.
  ///   - requestPath: the path of the request, with or without its query.
  /// - Throws: `Refusal`.
  package init(
    setCookie: String, origin: String, requestPath: String, now: Timestamp
  ) throws(Refusal) {
    let parts = setCookie.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
      .map { Self.pair($0) }
    guard let (first, value) = parts.first, let value, !first.isEmpty else { throw .noName }
    // TAB is whitespace around a value, never part of one.
    guard first.allSatisfy({ (0x21...0x7E) ~= $0 }), value.allSatisfy({ (0x20...0x7E) ~= $0 })
    else { throw .badBytes }
    guard first.count + value.count <= Self.maximumSize else { throw .tooLong }

    let isHTTPS = origin.utf8.starts(with: "https://".utf8)
    let attributes = Attributes(parts.dropFirst())
    guard isHTTPS || !attributes.secure else { throw .secureOverHTTP }
    let lowerName = String(decoding: first, as: UTF8.self).asciiLowercased.utf8
    if lowerName.starts(with: "__secure-".utf8), !attributes.secure { throw .prefix }
    if lowerName.starts(with: "__host-".utf8) {
      guard attributes.secure, !attributes.hasDomain, attributes.path == "/" else { throw .prefix }
    }
    name = String(decoding: first, as: UTF8.self)
    self.value = String(decoding: value, as: UTF8.self)
    path = attributes.path ?? Self.defaultPath(requestPath)
    secure = attributes.secure
    expires = attributes.end(now: now)
    originText = origin
  }

  /// Returns the text before and after the first `=`, without surrounding spaces and tabs.
  private static func pair(
    _ bytes: Substring.UTF8View
  ) -> (name: [UInt8], value: [UInt8]?) {
    guard let equals = bytes.firstIndex(of: UInt8(ascii: "=")) else { return (trimmed(bytes), nil) }
    return (trimmed(bytes[..<equals]), trimmed(bytes[bytes.index(after: equals)...]))
  }

  private static func trimmed(_ bytes: Substring.UTF8View) -> [UInt8] {
    let isSpace = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
    let start = bytes.drop(while: isSpace)
    return Array(start.reversed().drop(while: isSpace).reversed())
  }

  /// Returns the path up to, but not including, the last slash (RFC 6265, section 5.1.4).
  private static func defaultPath(_ requestPath: String) -> String {
    let path = CookieJar.withoutQuery(requestPath)
    guard let last = path.lastIndex(of: UInt8(ascii: "/")), last > 0, path[0] == path[last] else {
      return "/"
    }
    return String(decoding: path[..<last], as: UTF8.self)
  }

  /// The attributes that authctl uses; the last one of a name counts.
  private struct Attributes {
    var path: String?
    var secure = false
    var hasDomain = false
    private var expires: Timestamp?
    private var maxAge: Double?

    init(_ pairs: some Sequence<(name: [UInt8], value: [UInt8]?)>) {
      for (name, value) in pairs {
        let value = value ?? []
        switch String(decoding: name, as: UTF8.self).asciiLowercased {
        case "secure": secure = true
        case "domain": hasDomain = hasDomain || !value.isEmpty
        case "path": path = Self.path(value)
        case "expires": expires = Timestamp.parse(cookieDate: value) ?? expires
        case "max-age": maxAge = Self.maxAge(value) ?? maxAge
        default: break
        }
      }
    }

    /// Returns `nil` for the default path, also when no request can have the given one.
    private static func path(_ value: [UInt8]) -> String? {
      guard value.first == UInt8(ascii: "/"), value.count <= 1024,
        value.allSatisfy({ (0x20...0x7E) ~= $0 })
      else { return nil }
      return String(decoding: value, as: UTF8.self)
    }

    /// Reads Max-Age (RFC 6265, section 5.2.2); zero or less ends the cookie now.
    private static func maxAge(_ value: [UInt8]) -> Double? {
      let digits = value.first == UInt8(ascii: "-") ? value[1...] : value[...]
      guard !digits.isEmpty, digits.allSatisfy(\.isDigit) else { return nil }
      guard digits.count == value.count else { return 0 }
      return digits.reduce(0) { $0 * 10 + Double($1 - UInt8(ascii: "0")) }
    }

    /// Returns the expiry; Max-Age overrides Expires. A date before 1970 becomes 1970; a date in
    /// more than ten years becomes `nil` (rule B5).
    func end(now: Timestamp) -> Timestamp? {
      if let maxAge {
        guard maxAge > 0 else { return Timestamp(seconds: 0) }
        return Timestamp.bounded(seconds: maxAge, now: now).map {
          Timestamp(seconds: now.seconds + $0)
        }
      }
      return expires.flatMap { Timestamp.bounded(max($0, Timestamp(seconds: 0)), now: now) }
    }
  }
}

// MARK: - The jar

/// The cookies of a session. libcurl's own cookie engine is off: it ignores ports, and sends
/// `Secure` cookies over http on loopback (rule A10).
package struct CookieJar: Sendable, Equatable {
  /// The result of storing a Set-Cookie header.
  package enum Outcome: Sendable, Equatable {
    case stored
    /// The server ended the cookie; the jar no longer holds it.
    case removed
    case refused(Cookie.Refusal)
    /// The jar is full: at most 50 cookies of 4 KiB each, 64 KiB in all. A sign-in then exits with
    /// 15, a later request only warns; the stored cookies stay.
    case overflow
  }

  /// The cookies, oldest first.
  package private(set) var cookies: [Cookie] = []

  /// An empty jar.
  package init() {}

  /// Whether the jar holds no cookies.
  package var isEmpty: Bool { cookies.isEmpty }

  /// The limit on the number of cookies.
  static let maximumCount = 50
  /// The limit for the names, values, paths and origins of all cookies together, in bytes.
  static let maximumSize = 65_536

  /// Stores the cookie of one Set-Cookie header of an answer from `origin`.
  ///
  /// - Parameters:
  ///   - setCookie: the value of the header.
  ///   - origin: the canonical origin of the answer, `https://h:443`.
  ///   - requestPath: the path of the request, with or without its query.
  package mutating func store(
    setCookie: String, origin: String, requestPath: String, now: Timestamp
  ) -> Outcome {
    do {
      return store(
        try Cookie(setCookie: setCookie, origin: origin, requestPath: requestPath, now: now),
        now: now)
    } catch .tooLong {
      return .overflow
    } catch {
      return .refused(error)
    }
  }

  private mutating func store(_ cookie: Cookie, now: Timestamp) -> Outcome {
    cookies.removeAll { $0.isOver(now) }
    let old = cookies.firstIndex { $0.isSame(as: cookie) }
    if cookie.isOver(now) {
      if let old { cookies.remove(at: old) }
      return .removed
    }
    let size = cookies.reduce(cookie.size) { $0 + $1.size } - (old.map { cookies[$0].size } ?? 0)
    guard size <= Self.maximumSize, old != nil || cookies.count < Self.maximumCount else {
      return .overflow
    }
    // A cookie that is set again keeps its place (RFC 6265, section 5.3, step 11.3).
    if let old { cookies[old] = cookie } else { cookies.append(cookie) }
    return .stored
  }

  /// Returns when the cookie `name` expires; nil if the server did not say, or there is none.
  func end(ofCookie name: String) -> Timestamp? {
    cookies.last { $0.name.utf8.elementsEqual(name.utf8) }?.expires
  }

  /// Returns the value of the Cookie header for a request; `nil` when no cookie matches.
  ///
  /// - Parameters:
  ///   - origin: the canonical origin of the request; only its own cookies are sent.
  ///   - path: the path of the request, with or without its query.
  ///   - isSecure: whether the request goes over https.
  package func header(for origin: String, path: String, isSecure: Bool, now: Timestamp) -> String? {
    var requestPath = Self.withoutQuery(path)
    if requestPath.first != UInt8(ascii: "/") { requestPath = [UInt8(ascii: "/")] }
    let matching = cookies.enumerated().filter { _, cookie in
      cookie.originText.utf8.elementsEqual(origin.utf8) && (isSecure || !cookie.secure)
        && !cookie.isOver(now) && Self.matches(requestPath, cookie.path)
    }
    // Longest path first, then the oldest (RFC 6265, section 5.4, step 2).
    let sorted = matching.sorted {
      ($1.element.path.utf8.count, $0.offset) < ($0.element.path.utf8.count, $1.offset)
    }
    guard !sorted.isEmpty else { return nil }
    return sorted.map { "\($0.element.name)=\($0.element.value)" }.joined(separator: "; ")
  }

  /// Whether the path is the cookie's or below it at a slash (RFC 6265, section 5.1.4).
  private static func matches(_ requestPath: [UInt8], _ cookiePath: String) -> Bool {
    let path = cookiePath.utf8
    guard requestPath.starts(with: path) else { return false }
    return requestPath.count == path.count || path.last == UInt8(ascii: "/")
      || requestPath[path.count] == UInt8(ascii: "/")
  }

  fileprivate static func withoutQuery(_ path: String) -> [UInt8] {
    Array(path.utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") })
  }
}

// MARK: - Keeping

extension CookieJar {
  /// The jar as it is stored in the session.
  package var json: JSONValue {
    .array(
      cookies.map { cookie in
        var members: [(key: String, value: JSONValue)] = [
          ("name", .string(cookie.name)), ("value", .string(cookie.value)),
          ("path", .string(cookie.path)), ("secure", .bool(cookie.secure)),
          ("origin", .string(cookie.originText)),
        ]
        if let expires = cookie.expires { members.append(("expires", .number(expires.seconds))) }
        return .object(members)
      })
  }

  /// Reads a jar that `json` wrote; `nil` when it is not one. Checks the texts like a server's,
  /// because they go into a header.
  package init?(json: JSONValue) {
    guard case .array(let elements) = json, elements.count <= Self.maximumCount else { return nil }
    for element in elements {
      guard let name = element["name"]?.text, let value = element["value"]?.text,
        let path = element["path"]?.text, let origin = element["origin"]?.text,
        case .bool(let secure)? = element["secure"],
        !name.isEmpty, name.utf8.count + value.utf8.count <= Cookie.maximumSize,
        name.utf8.allSatisfy({ (0x21...0x7E) ~= $0 && $0 != 0x3B && $0 != 0x3D }),
        value.utf8.allSatisfy({ (0x20...0x7E) ~= $0 && $0 != 0x3B })
      else { return nil }
      var expires: Timestamp?
      if let stored = element["expires"] {
        guard let seconds = stored.double else { return nil }
        expires = Timestamp(seconds: seconds)
      }
      cookies.append(
        Cookie(
          name: name, value: value, path: path, secure: secure, expires: expires,
          originText: origin))
    }
    guard cookies.reduce(0, { $0 + $1.size }) <= Self.maximumSize else { return nil }
  }
}
