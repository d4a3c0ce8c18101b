internal import AuthKit

/// The parts of `-F` and `--form-string`, as curl reads them
/// (https://curl.se/docs/manpage.html#-F).
enum MultipartBody {
  enum Kind {
    case full, text
  }
  typealias Word = (kind: Kind, text: String)

  static func parts(_ words: [Word], _ files: BodyFiles) throws(Failure) -> [WirePart] {
    var parts: [WirePart] = []
    for word in words {
      let option = word.kind == .text ? "--form-string" : "-F"
      let (name, value) = try split(word.text, at: "=", option: option, form: "NAME=VALUE")
      guard word.kind == .full else {
        parts.append(WirePart(name: name, value: SharedSecret(value)))
        continue
      }
      parts.append(try part(name, value, files))
    }
    return parts
  }

  private static func part(
    _ name: String, _ value: String, _ files: BodyFiles
  ) throws(Failure) -> WirePart {
    var words = PartWords(value)
    let mark = value.utf8.first
    let isFile = mark == UInt8(ascii: "@")
    let isRead = isFile || mark == UInt8(ascii: "<")
    if isRead { words.skip() }
    let content = words.word()
    var (type, fileName): (String?, String?)
    while let (key, text) = words.parameter() {
      switch key {
      case "type": type = text
      case "filename" where isFile: fileName = text
      default:
        throw Failure(
          .usage, "-F \(DisplayText.oneLine(name, limit: 40)): invalid text after ;",
          hint:
            "write ;type=TYPE or ;filename=NAME, or use --form-string to send the value unchanged")
      }
    }
    for text in [type, fileName] {
      if let text, text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
        throw Failure(
          .usage,
          "-F \(DisplayText.oneLine(name, limit: 40)): a control character after ;")
      }
    }
    guard isRead else { return WirePart(name: name, value: SharedSecret(content), type: type) }
    let file = try files.open(content, option: "-F")
    guard isFile else { return WirePart(name: name, file: file, type: type) }
    let isInput = content.utf8.elementsEqual("-".utf8)
    return WirePart(
      name: name, file: file,
      fileName: fileName
        ?? content.utf8.split(separator: UInt8(ascii: "/")).last.flatMap(String.init),
      type: type ?? (isInput ? nil : Self.type(of: content)))
  }

  /// Returns the type for a file name's extension, from libcurl's list (lib/mime.c).
  private static func type(of path: String) -> String {
    let types = [
      "gif": "image/gif", "jpg": "image/jpeg", "jpeg": "image/jpeg", "png": "image/png",
      "svg": "image/svg+xml", "txt": "text/plain", "htm": "text/html", "html": "text/html",
      "pdf": "application/pdf", "xml": "application/xml",
    ]
    let parts = path.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    let end = parts.count > 1 ? parts.last.flatMap { String($0)?.lowercased() } : nil
    return end.flatMap { types[$0] } ?? "application/octet-stream"
  }
}

/// The words of a part: `TEXT;type=TYPE;filename="a;b"`.
private struct PartWords {
  private var rest: ArraySlice<UInt8>

  init(_ text: String) { rest = Array(text.utf8)[...] }

  mutating func skip() { rest = rest.dropFirst() }

  /// Takes the text up to the next semicolon, or a quoted text with backslash escapes.
  mutating func word() -> String {
    if rest.first == UInt8(ascii: "\""), let word = quoted() { return word }
    let end = rest.firstIndex(of: UInt8(ascii: ";")) ?? rest.endIndex
    defer { rest = rest[end...] }
    return String(decoding: rest[..<end], as: UTF8.self)
  }

  /// Takes `;KEY=VALUE`; nil at the end, and an empty key for any other form.
  mutating func parameter() -> (key: String, value: String)? {
    guard rest.first == UInt8(ascii: ";") else { return rest.isEmpty ? nil : ("", "") }
    rest = rest.dropFirst()
    while rest.first == 0x20 || rest.first == 0x09 { rest = rest.dropFirst() }
    let end = rest.firstIndex { $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: ";") }
    guard let end, rest[end] == UInt8(ascii: "=") else { return ("", "") }
    let key = String(decoding: rest[..<end], as: UTF8.self)
    rest = rest[(end + 1)...]
    guard key == "type" else { return (key, word()) }
    // A type can have parameters: text/plain;charset=utf-8.
    var type = word()
    while rest.first == UInt8(ascii: ";") {
      var ahead = self
      guard let next = ahead.parameter(),
        !["type", "filename", "headers", "encoder", ""].contains(next.key)
      else { break }
      type += ";\(next.key)=\(next.value)"
      self = ahead
    }
    return (key, type)
  }

  private mutating func quoted() -> String? {
    var text: [UInt8] = []
    var index = rest.startIndex + 1
    while index < rest.endIndex, rest[index] != UInt8(ascii: "\"") {
      let isEscape = rest[index] == UInt8(ascii: "\\") && index + 1 < rest.endIndex
      if isEscape, rest[index + 1] == UInt8(ascii: "\\") || rest[index + 1] == UInt8(ascii: "\"") {
        index += 1
      }
      text.append(rest[index])
      index += 1
    }
    // Quotes in the middle of a text are part of it.
    guard index < rest.endIndex,
      index + 1 == rest.endIndex || rest[index + 1] == UInt8(ascii: ";")
    else { return nil }
    rest = rest[(index + 1)...]
    return String(decoding: text, as: UTF8.self)
  }
}
