internal import AuthKit
internal import Glibc

/// Words of URLs that are looked at before they are parsed.
enum URLWords {
  /// Whether `text` begins with http:// or https://, in any case.
  static func hasScheme(_ text: String) -> Bool {
    let head = String(decoding: text.utf8.prefix(8), as: UTF8.self).lowercased()
    return head.utf8.starts(with: "http://".utf8) || head.utf8.starts(with: "https://".utf8)
  }
}
