// The byte encodings that recipes need; all of them write into a SecretBuilder, so that a password
// passes from its source to libcurl without a copy that is not wiped.

extension SecretBuilder {
  /// Percent-encoding of everything but RFC 3986's unreserved characters.
  package mutating func appendPercentEncoded(_ bytes: UnsafeRawBufferPointer) {
    for byte in bytes {
      if Self.isUnreserved(byte) {
        append(byte)
      } else {
        append(UInt8(ascii: "%"))
        append(Self.upperHex[Int(byte >> 4)])
        append(Self.upperHex[Int(byte & 15)])
      }
    }
  }

  /// application/x-www-form-urlencoded of the URL standard: a space is `+`.
  package mutating func appendFormEncoded(_ bytes: UnsafeRawBufferPointer) {
    for byte in bytes {
      if byte == 0x20 {
        append(UInt8(ascii: "+"))
      } else {
        withUnsafeBytes(of: byte) { appendPercentEncoded($0) }
      }
    }
  }

  /// Base64 with padding (RFC 4648, section 4).
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

  static func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
      UInt8(ascii: "_"), UInt8(ascii: "~"):
      true
    default: false
    }
  }

  private static let upperHex = Array("0123456789ABCDEF".utf8)
  private static let base64 = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
}

/// Base64url without padding (RFC 4648, section 5), as JWTs use it; nil for anything else.
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
