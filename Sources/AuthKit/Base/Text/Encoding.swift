// The byte encodings that recipes need. All write into a SecretBuilder, so that a password gets
// from its source to libcurl without a copy that is not wiped.

extension SecretBuilder {
  /// Adds bytes percent-encoded, except RFC 3986's unreserved characters.
  package mutating func appendPercentEncoded(_ bytes: UnsafeRawBufferPointer) {
    for byte in bytes { appendPercentEncoded(byte) }
  }

  /// Adds `byte` unchanged if it is an ASCII letter, a digit or one of `kept`, otherwise as `%XX`.
  mutating func appendPercentEncoded(
    _ byte: UInt8, keeping kept: String = "-._~", hex: [UInt8] = upperHexDigits
  ) {
    if byte.isLetterOrDigit || kept.utf8.contains(byte) {
      append(byte)
    } else {
      append(UInt8(ascii: "%"))
      append(hex[Int(byte >> 4)])
      append(hex[Int(byte & 15)])
    }
  }

  /// Adds bytes as application/x-www-form-urlencoded (URL standard): a space is `+`.
  package mutating func appendFormEncoded(_ bytes: UnsafeRawBufferPointer) {
    for byte in bytes {
      if byte == 0x20 { append(UInt8(ascii: "+")) } else { appendPercentEncoded(byte) }
    }
  }

  /// Adds base64 with padding (RFC 4648, section 4).
  package mutating func appendBase64(_ bytes: UnsafeRawBufferPointer) {
    var index = 0
    while index < bytes.count {
      let left = bytes.count - index
      let one = bytes[index]
      let two = left > 1 ? bytes[index + 1] : 0
      let three = left > 2 ? bytes[index + 2] : 0
      append(Self.base64[Int(one >> 2)])
      append(Self.base64[Int((one & 3) << 4 | two >> 4)])
      append(left > 1 ? Self.base64[Int((two & 15) << 2 | three >> 6)] : UInt8(ascii: "="))
      append(left > 2 ? Self.base64[Int(three & 63)] : UInt8(ascii: "="))
      index += 3
    }
  }

  private static let base64 = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
}

/// Returns base64url without padding (RFC 4648, section 5; RFC 7515, appendix C).
package func base64URL(_ bytes: [UInt8]) -> String {
  var builder = SecretBuilder()
  bytes.withUnsafeBytes { builder.appendBase64($0) }
  return builder.secret().withBytes { encoded in
    String(
      decoding: encoded.filter { $0 != UInt8(ascii: "=") }.map {
        switch $0 {
        case UInt8(ascii: "+"): UInt8(ascii: "-")
        case UInt8(ascii: "/"): UInt8(ascii: "_")
        default: $0
        }
      }, as: UTF8.self)
  }
}

/// Decodes base64url (RFC 4648, section 5), as in JWTs; also takes `+`, `/` and padding. Returns
/// nil for anything else.
func base64URLDecoded(_ text: some Sequence<UInt8>) -> [UInt8]? {
  var decoded: [UInt8] = []
  var bits: UInt32 = 0
  var count = 0
  for byte in text {
    let value: UInt8
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = byte - UInt8(ascii: "A")
    case UInt8(ascii: "a")...UInt8(ascii: "z"): value = byte - UInt8(ascii: "a") + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): value = byte - UInt8(ascii: "0") + 52
    case UInt8(ascii: "-"), UInt8(ascii: "+"): value = 62
    case UInt8(ascii: "_"), UInt8(ascii: "/"): value = 63
    case UInt8(ascii: "="): continue
    default: return nil
    }
    bits = bits << 6 | UInt32(value)
    count += 6
    if count >= 8 {
      count -= 8
      decoded.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
    }
  }
  return decoded
}

/// Returns the names and values of application/x-www-form-urlencoded, decoded; a value is nil
/// without `=`.
func formFields(_ text: some Collection<UInt8>) -> [(name: String, value: String?)] {
  func decoded(_ part: some Sequence<UInt8>) -> String {
    String(decoding: percentDecoded(part, plusIsSpace: true), as: UTF8.self)
  }
  return text.split(separator: UInt8(ascii: "&")).map { pair in
    let mark = pair.firstIndex(of: UInt8(ascii: "="))
    return (
      decoded(pair[..<(mark ?? pair.endIndex)]), mark.map { decoded(pair[$0...].dropFirst()) }
    )
  }
}

/// Decodes percent-encoding (RFC 3986, section 2.1). A `%` that begins no escape stays.
///
/// - Parameter plusIsSpace: decode as application/x-www-form-urlencoded of the URL standard.
package func percentDecoded(
  _ text: some Sequence<UInt8>, plusIsSpace: Bool = false
) -> [UInt8] {
  var decoded: [UInt8] = []
  var rest = Array(text)[...]
  while let byte = rest.popFirst() {
    if byte == UInt8(ascii: "%"), let high = rest.first, let low = rest.dropFirst().first,
      let high = hexValue(high), let low = hexValue(low)
    {
      decoded.append(high << 4 | low)
      rest = rest.dropFirst(2)
    } else {
      decoded.append(plusIsSpace && byte == UInt8(ascii: "+") ? 0x20 : byte)
    }
  }
  return decoded
}
