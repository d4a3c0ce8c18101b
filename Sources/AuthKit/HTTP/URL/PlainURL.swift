internal import Glibc

/// A URL that every parser reads alike: lower-case scheme and host, the host a name or an IPv4
/// address, a path of unreserved characters without dot segments, and nothing else.
struct PlainURL {
  let origin: Origin
  /// The path, at least `/`.
  let path: String

  /// Returns nil if `text` may be read in more than one way; it may still be a valid URL.
  init?(_ text: String) {
    let bytes = Array(text.utf8)
    guard
      let start = ["http://", "https://"].first(where: { bytes.starts(with: $0.utf8) })?.utf8.count
    else { return nil }
    let slash = UInt8(ascii: "/")
    let end = bytes[start...].firstIndex(of: slash) ?? bytes.count
    let path = bytes[end...]
    // RFC 3986, section 2.3
    let isUnreserved = { (byte: UInt8) in byte.isLetterOrDigit || "-._~".utf8.contains(byte) }
    guard path.allSatisfy({ $0 == slash || isUnreserved($0) }), !Self.hasDotSegment(path),
      let (host, port) = Self.authority(bytes[start..<end])
    else { return nil }
    let isSecure = start == 8
    guard port != (isSecure ? 443 : 80) else { return nil }
    origin = Origin(
      scheme: isSecure ? "https" : "http", host: host, port: port ?? (isSecure ? 443 : 80))
    self.path = path.isEmpty ? "/" : String(decoding: path, as: UTF8.self)
  }

  private static func hasDotSegment(_ path: ArraySlice<UInt8>) -> Bool {
    path.split(separator: UInt8(ascii: "/")).contains { $0.first == UInt8(ascii: ".") }
  }

  private static func authority(_ bytes: ArraySlice<UInt8>) -> (host: String, port: UInt16?)? {
    let parts = bytes.split(
      separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
    let host = String(decoding: parts[0], as: UTF8.self)
    guard isName(parts[0]) || isIPv4(host) else { return nil }
    guard parts.count == 2 else { return (host, nil) }
    guard parts[1].allSatisfy(\.isDigit),
      let first = parts[1].first, first != UInt8(ascii: "0"),
      let port = UInt16(String(decoding: parts[1], as: UTF8.self))
    else { return nil }
    return (host, port)
  }

  /// Whether `host` has only letters, digits and hyphens between dots. The last label begins with a
  /// letter, so that it is not a number in any notation.
  private static func isName(_ host: ArraySlice<UInt8>) -> Bool {
    let labels = host.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard host.count < 254, let last = labels.last?.first, (0x61...0x7A).contains(last) else {
      return false
    }
    return labels.allSatisfy { label in
      !label.isEmpty
        && label.allSatisfy {
          (0x61...0x7A).contains($0) || $0.isDigit || $0 == UInt8(ascii: "-")
        }
    }
  }

  /// Whether `host` is four decimal numbers; inet_pton(3) accepts no other form.
  private static func isIPv4(_ host: String) -> Bool {
    var address = in_addr()
    return inet_pton(AF_INET, host, &address) == 1
  }
}
