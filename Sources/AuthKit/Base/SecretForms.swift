/// The forms in which a secret may be shown (rule B3). Each form is lent to a closure from a buffer
/// that is wiped afterwards.
enum SecretForms {
  /// Lends the secret as it is, in JSON, percent-encoded, in base64, and the parts of a JWT.
  static func each(of secret: UnsafeRawBufferPointer, _ use: (UnsafeRawBufferPointer) -> Void) {
    use(secret)
    if !secret.allSatisfy(isPlain) {
      json(of: secret, use)
      percentEncoded(of: secret, use)
    }
    base64(of: secret, use)
    tokenParts(of: secret, use)
  }

  /// Whether every encoding of this character except base64 leaves it as it is.
  private static func isPlain(_ byte: UInt8) -> Bool {
    byte.isLetterOrDigit || "-._".utf8.contains(byte)
  }

  /// The inside of a JSON string (RFC 8259, section 7), as encoders write it: with `/` or `\/`;
  /// raw or as `\uXXXX` what is not ASCII, and some of ``<>&'+"` ``.
  private static func json(
    of secret: UnsafeRawBufferPointer, _ use: (UnsafeRawBufferPointer) -> Void
  ) {
    // Minimal escaping; Go and Rails; PHP with JSON_HEX_*; System.Text.Json of .NET.
    for escaped in ["", "<>&", "<>&'", "<>&'+`\""].map(\.unicodeScalars) {
      for slash in ["/", "\\/"] {
        for hex in [upperHexDigits, lowerHexDigits] {
          for escapesNonASCII in [false, true] {
            var form = SecretBuilder(capacity: secret.count * 2)
            var decoder = UTF8()
            var rest = secret.makeIterator()
            while case .scalarValue(let scalar) = decoder.decode(&rest) {
              let isEscaped = scalar.isASCII ? escaped.contains(scalar) : escapesNonASCII
              if scalar == "/" {
                form.append(slash)
              } else if !isEscaped, let text = shortJSON(scalar) {
                form.append(text)
              } else {
                for unit in scalar.utf16 {
                  form.append("\\u")
                  for shift in [12, 8, 4, 0] { form.append(hex[Int(unit >> shift & 15)]) }
                }
              }
            }
            form.withBytes(use)
          }
        }
      }
    }
  }

  // nil: the only form is \uXXXX.
  private static func shortJSON(_ scalar: Unicode.Scalar) -> String? {
    switch scalar {
    case "\"": "\\\""
    case "\\": "\\\\"
    case "\u{8}": "\\b"
    case "\t": "\\t"
    case "\n": "\\n"
    case "\u{C}": "\\f"
    case "\r": "\\r"
    case ..<" ": nil
    default: String(scalar)
    }
  }

  /// Lends the secret as in a URL or a form body. Encoders keep different characters: RFC 3986's
  /// unreserved ones; these and `/` (Python); those of WHATWG's form encoding; those of
  /// encodeURIComponent; all that RFC 3986 allows in a query.
  private static func percentEncoded(
    of secret: UnsafeRawBufferPointer, _ use: (UnsafeRawBufferPointer) -> Void
  ) {
    for kept in ["-._~", "-._~/", "*-._", "-._~!'()*", "-._~!$'()*,;:@/?"] {
      for hex in [upperHexDigits, lowerHexDigits] {
        for space in ["%20", "+"] {
          var form = SecretBuilder(capacity: secret.count * 3)
          for byte in secret {
            if byte == 0x20 {
              form.append(space)
            } else {
              form.appendPercentEncoded(byte, keeping: kept, hex: hex)
            }
          }
          form.withBytes(use)
        }
      }
    }
  }

  /// Lends base64 and base64url (RFC 4648, sections 4 and 5) of a text that contains the secret: at
  /// each of the three alignments the characters that only the secret decides, and those to the end
  /// where the secret ends the text.
  static func base64(
    of secret: UnsafeRawBufferPointer, _ use: (UnsafeRawBufferPointer) -> Void
  ) {
    for before in 0..<3 {
      var text = SecretBuilder(capacity: before + secret.count)
      for _ in 0..<before { text.append(0) }
      text.append(secret)
      var plain = SecretBuilder(capacity: secret.count * 4 / 3 + 8)
      text.withBytes { plain.appendBase64($0) }
      var urlSafe = SecretBuilder(capacity: plain.count)
      plain.withBytes { bytes in
        for byte in bytes {
          urlSafe.append(
            byte == UInt8(ascii: "+")
              ? UInt8(ascii: "-") : byte == UInt8(ascii: "/") ? UInt8(ascii: "_") : byte)
        }
      }
      let bits = text.count * 8
      // The first character without a bit of the bytes before; three ends, the last padded.
      let start = (before * 8 + 5) / 6
      for end in [bits / 6, (bits + 5) / 6, plain.count] where end > start {
        plain.withBytes { use(UnsafeRawBufferPointer(rebasing: $0[start..<end])) }
        urlSafe.withBytes { use(UnsafeRawBufferPointer(rebasing: $0[start..<end])) }
      }
    }
  }

  /// Lends each part of 16 bytes or more of a possible JWT (RFC 7515, section 3.1; RFC 7516,
  /// section 3.1): a trace may show only the signature.
  private static func tokenParts(
    of secret: UnsafeRawBufferPointer, _ use: (UnsafeRawBufferPointer) -> Void
  ) {
    let dot = UInt8(ascii: ".")
    guard (2...4).contains(secret.count { $0 == dot }), secret.allSatisfy(isPlain) else { return }
    for part in secret.split(separator: dot) where part.count >= 16 {
      use(UnsafeRawBufferPointer(rebasing: part))
    }
  }
}
