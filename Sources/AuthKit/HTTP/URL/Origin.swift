internal import Glibc

/// A scheme, host and port: the unit that a credential belongs to (RFC 6454, section 4).
///
/// It comes from the same parsed URL that makes the request, and is compared as bytes. `127.0.0.1`,
/// `localhost` and `[::1]` are three origins.
package struct Origin: Hashable, Sendable, CustomStringConvertible {
  /// `http` or `https`.
  package let scheme: String
  /// ASCII lower case, punycode; an IPv6 address in brackets, as inet_ntop(3) writes it.
  package let host: String
  /// The port; if the URL has none, the scheme's default, 80 or 443 (RFC 9110, section 4.2).
  package let port: UInt16

  /// `https://api.shop.example`, with the port only if it is not the scheme's default.
  package var description: String {
    port == (scheme == "https" ? 443 : 80) ? "\(scheme)://\(host)" : "\(scheme)://\(host):\(port)"
  }

  /// Whether requests are encrypted.
  package var isSecure: Bool { scheme == "https" }

  /// Whether the host is literally this machine: `localhost`, 127.0.0.0/8 or `[::1]` (rule A7).
  package var isLoopback: Bool {
    if host == "localhost" || host == "[::1]" { return true }
    var address = in_addr()
    return inet_pton(AF_INET, host, &address) == 1 && UInt32(bigEndian: address.s_addr) >> 24 == 127
  }

  /// Whether the host is an address, not a name: no top-level domain ends in a digit (RFC 3696).
  package var isAddress: Bool {
    host.utf8.last.map { $0 == UInt8(ascii: "]") || $0.isDigit } ?? false
  }

  /// Whether `text`, an address that libcurl connected to, is this machine.
  static func isLoopbackAddress(_ text: String) -> Bool {
    text == "::1" || Origin(scheme: "http", host: text, port: 80).isLoopback && text != "localhost"
  }

  init(scheme: String, host: String, port: UInt16) {
    self.scheme = scheme
    self.host = host
    self.port = port
  }

  /// Reads `text`, which must be only an origin: `https://api.shop.example`.
  ///
  /// - Throws: `Failure` of kind `usage` when `text` is not an http or https URL, or has a path or
  ///   a query; `failed` without libcurl.
  package init(_ text: String) throws(Failure) {
    let url = try WebURL(text, from: .person)
    guard url.path == "/", url.query == nil else {
      throw Failure(
        .usage, "\(DisplayText.oneLine(text)) is not an origin: it has a path",
        hint: "write scheme://host or scheme://host:port")
    }
    self = url.origin
  }

  /// Reads an origin exactly as `description` writes it; nil for every other spelling.
  ///
  /// Does not need libcurl.
  package init?(canonical text: String) {
    guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !"?#@\\%".utf8.contains($0) }) else {
      return nil
    }
    let isSecure = text.utf8.starts(with: "https://".utf8)
    guard isSecure || text.utf8.starts(with: "http://".utf8) else { return nil }
    var host = text.utf8.dropFirst(isSecure ? 8 : 7)
    var port: UInt16? = isSecure ? 443 : 80
    if let colon = host.lastIndex(of: UInt8(ascii: ":")), host.last != UInt8(ascii: "]") {
      port = UInt16(String(decoding: host[host.index(after: colon)...], as: UTF8.self))
      host = host[..<colon]
    }
    guard let port, !host.isEmpty, !host.contains(UInt8(ascii: "/")) else { return nil }
    self.init(
      scheme: isSecure ? "https" : "http", host: String(decoding: host, as: UTF8.self), port: port)
    // Refuse default ports and leading zeros.
    guard description.utf8.elementsEqual(text.utf8) else { return nil }
  }

  /// Reads the origin at the beginning of `url`; nil unless it is canonical and followed by a path
  /// or nothing.
  package init?(canonicalStartOf url: String) {
    guard let mark = url.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
    let authority = url.utf8[mark...].dropFirst("://".utf8.count)
    let end = authority.firstIndex(of: UInt8(ascii: "/")) ?? url.utf8.endIndex
    self.init(canonical: String(decoding: url.utf8[..<end], as: UTF8.self))
  }

  /// Returns the canonical text of an address in brackets (RFC 4291), so that all spellings of one
  /// address are one origin.
  static func canonicalIPv6(_ host: String) -> String? {
    var address = in6_addr()
    guard inet_pton(AF_INET6, String(host.dropFirst().dropLast()), &address) == 1 else {
      return nil
    }
    var buffer = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    guard inet_ntop(AF_INET6, &address, &buffer, socklen_t(buffer.count)) != nil else { return nil }
    let text = buffer.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
    return "[\(text)]"
  }
}

/// The source of a URL, which decides the kind of failure when it is refused.
package enum URLSource: Sendable {
  /// The command line, the environment or a profile.
  case person
  /// An answer: the Location header or a link.
  case server

  var refusal: Failure.Kind { self == .person ? .usage : .originRefused }
}

extension URLText {
  /// Whether it begins with `http://` or `https://`, in any case.
  package static func isAbsolute(_ text: String) -> Bool {
    authorityStart(Array(text.utf8.prefix(8))) != nil
  }

  /// Returns why `text` is refused as an absolute URL before libcurl reads it. A text that two
  /// parsers could read differently never reaches libcurl (rule A8).
  static func rejectionReason(of text: String) -> String? {
    let bytes = Array(text.utf8)
    guard let start = authorityStart(bytes) else {
      return "it does not begin with http:// or https://"
    }
    if bytes.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
      return "it contains a control character"
    }
    let end = bytes[start...].firstIndex { "/?#".utf8.contains($0) } ?? bytes.count
    return problemOfAuthority(bytes[start..<end]).map { "it \($0)" }
  }

  /// Whether `text` begins with a scheme other than http and https: `file:`, `javascript:`.
  static func hasForeignScheme(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    guard let colon = bytes.firstIndex(where: { ":/?#".utf8.contains($0) }), colon > 0,
      bytes[colon] == UInt8(ascii: ":"), !isAbsolute(text)
    else { return false }
    return bytes[0].isLetter
      && bytes[..<colon].allSatisfy { $0.isLetterOrDigit || "+-.".utf8.contains($0) }
  }
}
