/// User information of URLs, `https://user:password@host`, which is never printed (rule B7).
extension Redactor {
  /// Returns a URL that a user entered without its user information; the scheme may be missing:
  /// `user:password@proxy:3128`.
  package static func withoutUserInformation(_ url: String) -> String {
    String(decoding: userInformationRemoved(from: Array(url.utf8)), as: UTF8.self)
  }

  /// Returns `text` without the user information of its URLs, which end at white space and quotes;
  /// a URL at the start of `text` may contain these.
  ///
  /// - Parameter isMessage: `text` is a sentence of authctl's: a URL at its start ends like the
  ///   others, and `user:password@host` is masked as well. In a list of accounts that would mask
  ///   `acct:ada@example.com`.
  package static func withoutUserInformation(in text: String, isMessage: Bool = false) -> String {
    guard text.utf8.contains(UInt8(ascii: "@")) else { return text }
    let text = isMessage || !beginsWithScheme(text) ? text : withoutUserInformation(text)
    var shown: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let word = rest.prefix { !isEndOfWord($0) }
      shown += removed(from: word, isMessage)
      rest = rest[word.endIndex...]
      if let end = rest.popFirst() { shown.append(end) }
    }
    return String(decoding: shown, as: UTF8.self)
  }

  private static func beginsWithScheme(_ text: String) -> Bool {
    let letters = text.utf8.prefix { (0x61...0x7A).contains($0 | 0x20) }
    return !letters.isEmpty && text.utf8.dropFirst(letters.count).starts(with: ":/".utf8)
  }

  private static func isEndOfWord(_ byte: UInt8) -> Bool {
    byte <= 0x20 || byte == 0x7F || byte == UInt8(ascii: "'") || byte == UInt8(ascii: "\"")
  }

  private static func removed(from word: ArraySlice<UInt8>, _ isMessage: Bool) -> [UInt8] {
    let bytes = Array(word)
    guard let at = bytes.lastIndex(of: UInt8(ascii: "@")) else { return bytes }
    // `--proxy=https://…`, `url=https://…`: keep what precedes the scheme.
    let head = bytes[..<at]
    if let colon = head.indices.dropLast().first(where: { head[$0...].starts(with: ":/".utf8) }) {
      let start = head[..<colon].lastIndex(of: UInt8(ascii: "=")).map { $0 + 1 } ?? 0
      return Array(bytes[..<start]) + userInformationRemoved(from: Array(bytes[start...]))
    }
    let value = bytes.firstIndex(of: UInt8(ascii: "=")).map { $0 + 1 } ?? 0
    for start in [0, value] where bytes[start...].starts(with: "//".utf8) {
      return Array(bytes[..<start]) + userInformationRemoved(from: Array(bytes[start...]))
    }
    guard isMessage, let colon = head.firstIndex(of: UInt8(ascii: ":")),
      !head[..<colon].contains(where: { "/?#".utf8.contains($0) })
    else { return bytes }
    let start = head[..<colon].lastIndex(of: UInt8(ascii: "=")).map { $0 + 1 } ?? 0
    return Array(bytes[..<start]) + Array("***".utf8) + Array(bytes[at...])
  }

  /// Removes user information as libcurl finds it: any number of slashes after the scheme, then up
  /// to the last `@` before the next slash.
  static func userInformationRemoved(from bytes: [UInt8]) -> [UInt8] {
    func isSlash(_ byte: UInt8?) -> Bool { byte.map("/\\".utf8.contains) ?? false }
    var start = 0
    let scheme = bytes.prefix { $0 != UInt8(ascii: ":") && !isSlash($0) && !isQueryMark($0) }
    if bytes.dropFirst(scheme.count).starts(with: ":/".utf8) {
      start = scheme.count + 1
    } else if isSlash(bytes.first), !isSlash(bytes.dropFirst().first) {
      return bytes
    }
    while start < bytes.count, isSlash(bytes[start]) { start += 1 }
    var authority = bytes[start...].prefix { $0 != UInt8(ascii: "/") && !isQueryMark($0) }
    // Not a port: a password with a `/`, `?` or `#` that should have been percent-encoded.
    let port = authority.drop { $0 != UInt8(ascii: ":") }.dropFirst()
    if authority.first != UInt8(ascii: "["), !authority.contains(UInt8(ascii: "@")),
      !port.allSatisfy({ (0x30...0x39).contains($0) })
    {
      authority = bytes[start...]
    }
    guard let at = authority.lastIndex(of: UInt8(ascii: "@")) else { return bytes }
    return Array(bytes[..<start] + bytes[(at + 1)...])
  }
}
