internal import AuthKit

/// Names of files that a URL or a server chooses (rule B14).
enum DownloadName {
  /// Returns the last segment of a URL's path, as it was typed.
  static func last(of target: String) -> String {
    let path = target.utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
    guard let slash = path.lastIndex(of: UInt8(ascii: "/")) else { return "" }
    // `https://host` has no path.
    if path[..<slash].last == UInt8(ascii: "/"), target.utf8.first != UInt8(ascii: "/") {
      return ""
    }
    return String(decoding: path[path.index(after: slash)...], as: UTF8.self)
  }

  /// Returns whether a file may have this name: not empty, not hidden, not a path, and only
  /// characters that a terminal shows unchanged.
  static func isFit(_ name: String) -> Bool {
    let bytes = name.utf8
    return !bytes.isEmpty && bytes.count <= 200 && bytes.first != UInt8(ascii: ".")
      && !bytes.contains(UInt8(ascii: "/")) && !bytes.contains(UInt8(ascii: "\\"))
      && DisplayText.oneLine(name).utf8.elementsEqual(bytes)
  }

  /// - Throws: `usage` for a name that `isFit` refuses.
  static func check(_ name: String, _ option: String) throws(Failure) {
    guard !isFit(name) else { return }
    let shown = DisplayText.oneLine(name, limit: 60)
    throw Failure(
      .usage,
      name.isEmpty
        ? "\(option): no file name" : "\(option): \(shown) is not allowed as a file name",
      hint: "use -o FILE to choose the name")
  }

  /// The name in a Content-Disposition (RFC 6266): `filename*=UTF-8''…` before `filename=…`.
  static func given(by field: String) -> String? {
    var plain: String?
    var rest = Array(field.utf8)[...]
    while let mark = rest.firstIndex(of: UInt8(ascii: ";")) {
      rest = rest[(mark + 1)...].drop { $0 == 0x20 || $0 == 0x09 }
      let key = rest.prefix { $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: ";") }
      guard key.endIndex < rest.endIndex, rest[key.endIndex] == UInt8(ascii: "=") else { continue }
      let value = value(of: &rest, from: key.endIndex + 1)
      switch String(decoding: key, as: UTF8.self).lowercased().trimmingSpaces {
      case "filename*": if let name = extended(value) { return name }
      case "filename": plain = plain ?? value
      default: break
      }
    }
    return plain
  }

  /// Takes a token or a quoted string (RFC 9110, section 5.6.4) out of `rest`.
  private static func value(of rest: inout ArraySlice<UInt8>, from start: Int) -> String {
    rest = rest[start...].drop { $0 == 0x20 || $0 == 0x09 }
    guard rest.first != UInt8(ascii: "\"") else {
      rest = rest.dropFirst()
      return rest.popQuoted()
    }
    let value = rest.prefix { $0 != UInt8(ascii: ";") }
    rest = rest.dropFirst(value.count)
    return String(decoding: value, as: UTF8.self).trimmingSpaces
  }

  /// Decodes `UTF-8'language'percent-encoded` (RFC 8187); nil for anything but valid UTF-8.
  private static func extended(_ text: String) -> String? {
    let parts = text.utf8.split(
      separator: UInt8(ascii: "'"), maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, String(decoding: parts[0], as: UTF8.self).lowercased() == "utf-8"
    else { return nil }
    return String(validating: percentDecoded(parts[2]), as: UTF8.self)
  }
}
