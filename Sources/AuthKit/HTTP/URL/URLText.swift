/// Checks of a URL that need only its bytes. libcurl's parser decides when a request is made
/// (rule A8).
package enum URLText {
  /// Returns why `text` cannot be the base URL of an API; nil if it can.
  static func problemOfBase(_ text: String) -> String? {
    let bytes = Array(text.utf8)
    guard let start = authorityStart(bytes) else { return "must begin with http:// or https://" }
    let end = bytes[start...].firstIndex { $0 == slash } ?? bytes.count
    let hasMark = { (mark: UInt8) in bytes[start...].contains(mark) }
    if hasMark(UInt8(ascii: "?")) { return "must not have a query" }
    if hasMark(UInt8(ascii: "#")) { return "must not have a fragment" }
    return problemOfAuthority(bytes[start..<end]) ?? problemOfPath(bytes[end...])
  }

  /// Returns why `text` is not exactly scheme, host and port; nil if it is.
  static func problemOfOrigin(_ text: String) -> String? {
    let bytes = Array(text.utf8)
    guard let start = authorityStart(bytes) else { return "must begin with http:// or https://" }
    if bytes[start...].contains(UInt8(ascii: "*")) { return "no wildcard is allowed" }
    if bytes[start...].contains(where: { $0 == slash || $0 == 0x3F || $0 == 0x23 }) {
      return "must be only scheme://host or scheme://host:port"
    }
    return problemOfAuthority(bytes[start...])
  }

  /// Returns why `text` cannot be the part of a path before its first placeholder; nil if it can.
  ///
  /// - Parameter isWhole: whether `text` is the whole path, without a placeholder.
  static func problemOfPathStart(_ text: String, isWhole: Bool) -> String? {
    let bytes = Array(text.utf8)
    if let start = authorityStart(bytes) {
      let end = bytes[start...].firstIndex { $0 == slash } ?? bytes.count
      // Otherwise a value could become a part of the host (rule A9).
      if end == bytes.count, !isWhole { return "a placeholder cannot come before the path" }
      return problemOfAuthority(bytes[start..<end]) ?? problemOfPath(bytes[end...])
    }
    guard bytes.first == slash else {
      return "must begin with / or with http:// or https://"
    }
    if bytes.count > 1, bytes[1] == slash { return "must not begin with //" }
    if bytes.count == 1, !isWhole { return nil }
    return problemOfPath(bytes[...])
  }

  /// Returns why `bytes` cannot be part of a path; nil if they can.
  static func problemOfPath(_ bytes: ArraySlice<UInt8>) -> String? {
    for byte in bytes {
      switch byte {
      case UInt8(ascii: "?"): return "must not contain ?; write query = { name = \"value\" }"
      case UInt8(ascii: "#"): return "must not contain #"
      case UInt8(ascii: "\\"): return "must not contain a backslash"
      case 0x21...0x7E: continue
      default: return "must be printable ASCII; percent-encode everything else"
      }
    }
    return nil
  }

  private static let slash = UInt8(ascii: "/")

  /// Returns the offset after `http://` or `https://`, in any letter case.
  static func authorityStart(_ bytes: [UInt8]) -> Int? {
    for scheme in ["http://", "https://"] {
      let length = scheme.utf8.count
      let start = String(decoding: bytes.prefix(length), as: UTF8.self)
      if start.equalsIgnoringCase(scheme) { return length }
    }
    return nil
  }

  /// Whether the authority of `text`, a URL or a reference, is ASCII.
  static func hasPlainAuthority(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    guard let start = authorityStart(bytes) ?? (bytes.starts(with: [slash, slash]) ? 2 : nil) else {
      return true
    }
    return bytes[start...].prefix { !"/?#".utf8.contains($0) }.allSatisfy { $0 < 0x80 }
  }

  static func problemOfAuthority(_ bytes: ArraySlice<UInt8>) -> String? {
    if bytes.contains(UInt8(ascii: "@")) { return "must not contain a user name or password" }
    for byte in bytes {
      switch byte {
      case 0...0x20, 0x7F, UInt8(ascii: "\\"), UInt8(ascii: "%"), UInt8(ascii: "\""),
        UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "{"), UInt8(ascii: "}"),
        UInt8(ascii: "|"), UInt8(ascii: "^"), UInt8(ascii: "`"), UInt8(ascii: "*"):
        return "has an invalid character in its host"
      default: continue
      }
    }
    var host = bytes
    var port: ArraySlice<UInt8>?
    if bytes.first == UInt8(ascii: "[") {
      guard let close = bytes.firstIndex(of: UInt8(ascii: "]")) else { return "has no host" }
      host = bytes[...close]
      let rest = bytes[(close + 1)...]
      if rest.first == UInt8(ascii: ":") { port = rest.dropFirst() }
      if !rest.isEmpty, port == nil { return "has no host" }
    } else if let colon = bytes.firstIndex(of: UInt8(ascii: ":")) {
      host = bytes[..<colon]
      port = bytes[(colon + 1)...]
    }
    if host.isEmpty { return "has no host" }
    if host.last == UInt8(ascii: ".") { return "has a dot at the end of its host" }
    if let port {
      guard port.allSatisfy(\.isDigit),
        let number = Int(String(decoding: port, as: UTF8.self)), (1...65535).contains(number)
      else { return "has no port between 1 and 65535" }
    }
    return nil
  }
}
