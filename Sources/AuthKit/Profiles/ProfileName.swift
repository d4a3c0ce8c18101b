extension ProfileStore {
  /// Whether `text` is a valid profile name: a letter or digit, then up to 63 letters, digits,
  /// dots, `_` and `-`, not ending in `.toml` (rule B18).
  package static func isName(_ text: String) -> Bool {
    guard let first = text.utf8.first, first.isLetterOrDigit, text.utf8.count <= 64 else {
      return false
    }
    return text.utf8.allSatisfy(isNameByte) && !text.ends(withBytesOf: ".toml")
  }

  /// - Throws: `Failure` of kind `usage` for an invalid name.
  static func check(name: String) throws(Failure) {
    guard isName(name) else {
      throw Failure(
        .usage, "\"\(DisplayText.oneLine(name, limit: 80))\" is not a profile name",
        hint: "use at most 64 letters, digits, dots, _ and -; for a file write ./NAME.toml")
    }
  }

  /// Returns a name for a profile: of a host name the first label other than `api` and `www`, or all
  /// of it if that is taken; of an address all of it and the port, `127-0-0-1-8080`; then with a
  /// number.
  package static func name(for origin: Origin, taken: [String]) -> String {
    let bytes = Array(origin.host.asciiLowercased.utf8)
    let labels = bytes.split(separator: UInt8(ascii: "."))
    let label = labels.first { !$0.elementsEqual("api".utf8) && !$0.elementsEqual("www".utf8) }
    if !origin.isAddress, let label {
      let short = fitted(label)
      if !taken.contains(short) { return short }
    }
    let whole = origin.isAddress ? name(ofAddress: origin) : fitted(bytes[...])
    if !taken.contains(whole) { return whole }
    var number = 2
    while true {
      let suffix = "-\(number)"
      let numbered = String(whole.prefix(64 - suffix.utf8.count)) + suffix
      if !taken.contains(numbered) { return numbered }
      number += 1
    }
  }

  /// A port that is the scheme's default is left out, as in a URL.
  private static func name(ofAddress origin: Origin) -> String {
    let address = origin.description.utf8.drop { $0 != UInt8(ascii: "/") }.dropFirst(2)
    let words = address.split { !$0.isLetterOrDigit }.map { String(decoding: $0, as: UTF8.self) }
    return words.joined(separator: "-")
  }

  /// Makes a valid name from any bytes.
  private static func fitted(_ bytes: ArraySlice<UInt8>) -> String {
    let replaced = bytes.map { isNameByte($0) ? $0 : UInt8(ascii: "-") }
    let kept = replaced.drop { !$0.isLetterOrDigit }.prefix(64)
    let name = String(decoding: kept, as: UTF8.self)
    if name.ends(withBytesOf: ".toml") { return String(name.dropLast(5)) + "-toml" }
    return name.isEmpty ? "api" : name
  }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    byte.isLetterOrDigit || "._-".utf8.contains(byte)
  }
}
