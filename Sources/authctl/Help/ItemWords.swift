internal import AuthKit

/// The words of HTTPie after a target: `name=value`, `name:=json`, `name@file`, `Header:value`.
enum ItemWords {
  /// Returns the failure for words that the parser refused; nil if one is none of these.
  ///
  /// Values are not repeated: they may be secrets.
  static func failure(_ words: [String], inMessage message: String) -> Failure? {
    let items = words.filter { message.contains(bytesOf: "'\($0)'") }.compactMap(Item.init)
    guard !items.isEmpty else { return nil }
    var hints: [String] = []
    for item in items where !hints.contains(item.hint) { hints.append(item.hint) }
    let shown = items.map { "'\($0.name)\($0.mark)...'" }.joined(separator: ", ")
    let word = items.count == 1 ? "argument" : "arguments"
    return Failure(
      .usage, "unexpected \(word) after the target: \(shown)",
      hint: "use " + hints.joined(separator: " "))
  }

  private struct Item {
    let name: String
    let mark: String
    let hint: String

    init?(_ word: String) {
      let bytes = Array(word.utf8)
      let name = bytes.prefix { $0.isLetterOrDigit || "-_.[]".utf8.contains($0) }
      guard name.first.map({ $0 != UInt8(ascii: "-") }) ?? false else { return nil }
      let rest = bytes.dropFirst(name.count)
      let marks = [":=", "==", "=", "@", ":"]
      guard let mark = marks.first(where: { rest.starts(with: $0.utf8) }),
        !rest.starts(with: "://".utf8),
        // `user:secret@host` is no header.
        mark != ":" || !rest.contains(UInt8(ascii: "@"))
      else { return nil }
      self.name = DisplayText.oneLine(String(decoding: name, as: UTF8.self), limit: 40)
      self.mark = mark
      let option =
        switch mark {
        case ":": ["-H", self.name + ": VALUE"]
        case "@": ["-F", self.name + "=@FILE"]
        case "==": ["-G", "-d", self.name + "=VALUE"]
        default: ["--field", self.name + "=VALUE"]
        }
      hint = DisplayText.shellCommand(option) ?? option[0]
    }
  }
}
