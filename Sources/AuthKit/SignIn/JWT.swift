/// JSON Web Tokens (RFC 7519), decoded but never verified: the server does that.
package enum JWT {
  /// Returns the payload of `token`; nil if it does not have the form of a JWT.
  static func payload(of token: String) -> JSONValue? { decode(token.utf8)?.payload }

  /// Whom claims are for: one or several (RFC 7519, section 4.1.3).
  static func audiences(_ claims: JSONValue) -> [String] {
    switch claims["aud"] {
    case .string(let one)?: [one]
    case .array(let several)?: several.compactMap(\.text)
    default: []
    }
  }

  /// Returns header and payload of `token`; nil if it does not have the form of a JWT (RFC 7519,
  /// section 3).
  package static func decode(
    _ token: some Collection<UInt8>
  ) -> (header: JSONValue, payload: JSONValue)? {
    let parts = token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3, let head = base64URLDecoded(parts[0]),
      let header = try? JSONValue.parse(head), case .object = header,
      let bytes = base64URLDecoded(parts[1]), let payload = try? JSONValue.parse(bytes),
      case .object = payload
    else { return nil }
    return (header, payload)
  }

  /// Returns `key` escaped as one step of a JSON Pointer (RFC 6901, section 3).
  static func pointerStep(_ key: String) -> String {
    String(
      decoding: key.utf8.flatMap { byte -> [UInt8] in
        switch byte {
        case UInt8(ascii: "~"): Array("~0".utf8)
        case UInt8(ascii: "/"): Array("~1".utf8)
        default: [byte]
        }
      }, as: UTF8.self)
  }
}
