/// Which bytes a request's head may contain, and which headers only authctl itself may set
/// (rules A3, A4, B2). All checks compare bytes.
package enum HeaderSyntax {
  /// Whether `bytes` are a token, such as a method or a header name (RFC 9110, section 5.6.2).
  package static func isToken(_ bytes: some Collection<UInt8>) -> Bool {
    !bytes.isEmpty
      && bytes.allSatisfy { $0.isLetterOrDigit || "!#$%&'*+-.^_`|~".utf8.contains($0) }
  }

  /// Whether the UTF-8 of `text` is a token.
  package static func isToken(_ text: String) -> Bool { isToken(text.utf8) }

  /// Whether `bytes` may be the value of a header that a recipe sets: 0x20 to 0x7E, at least one,
  /// no space at either end.
  package static func isRecipeValue(_ bytes: some Collection<UInt8>) -> Bool {
    !bytes.isEmpty && isUserValue(bytes) && bytes.allSatisfy { $0 >= 0x20 && $0 < 0x7F }
  }

  /// Whether the UTF-8 of `text` may be the value of a header that a recipe sets.
  package static func isRecipeValue(_ text: String) -> Bool { isRecipeValue(text.utf8) }

  /// Whether `bytes` may be the value of a header that the user gave with `-H`: TAB and non-ASCII
  /// are allowed, or nothing at all; no space or TAB at either end (RFC 9110, section 5.5).
  package static func isUserValue(_ bytes: some Collection<UInt8>) -> Bool {
    func isBlank(_ byte: UInt8?) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
    var last: UInt8?
    for byte in bytes {
      guard isBlank(byte) || byte > 0x20 && byte != 0x7F else { return false }
      last = byte
    }
    return !isBlank(bytes.first) && !isBlank(last)
  }

  /// Whether the UTF-8 of `text` may be the value of a header that the user gave.
  package static func isUserValue(_ text: String) -> Bool { isUserValue(text.utf8) }

  /// Whether a recipe must not set the header `name`, because it changes where the request goes or
  /// where it ends.
  package static func isForbiddenInRecipe(_ name: String) -> Bool {
    let name = name.asciiLowercased
    return isForbiddenBesideCredential(name)
      || ["connection", "te", "trailer", "upgrade", "expect"].contains(name)
  }

  /// Whether `-H` must not set the header `name` in a request that carries a credential.
  package static func isForbiddenBesideCredential(_ name: String) -> Bool {
    let name = name.asciiLowercased
    return ["host", "content-length", "transfer-encoding"].contains(name)
      || name.utf8.starts(with: "proxy-".utf8)
  }
}

extension ArraySlice<UInt8> {
  /// Removes and returns the rest of a quoted string (RFC 9110, section 5.6.4) after its opening
  /// quote, and removes the closing quote; without one, takes everything.
  package mutating func popQuoted() -> String {
    var text: [UInt8] = []
    while var byte = popFirst(), byte != UInt8(ascii: "\"") {
      if byte == UInt8(ascii: "\\"), let next = popFirst() { byte = next }
      text.append(byte)
    }
    return String(decoding: text, as: UTF8.self)
  }
}
