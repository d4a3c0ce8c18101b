/// The presets: `Presets/*.toml`, embedded in the binary.
package enum Presets {
  private static let defaultsName = "defaults"

  /// The names, in alphabetical order.
  package static var names: [String] {
    EmbeddedPresets.texts.map(\.name).filter { $0 != defaultsName }.sorted()
  }

  /// The names, in indented lines of at most 77 columns.
  package static var list: String { EmbeddedPresets.list }

  /// The text of the preset called `name`, including comments; nil if there is none.
  package static func text(_ name: String) -> String? {
    guard name != defaultsName else { return nil }
    return EmbeddedPresets.texts.first { $0.name.utf8.elementsEqual(name.utf8) }?.text
  }

  /// The text of the preset called `name`, from user input.
  ///
  /// - Throws: `usage` when there is none, naming the nearest.
  package static func text(called name: String) throws(Failure) -> String {
    if let text = text(name) { return text }
    throw Failure(
      .usage, "unknown preset \(DisplayText.oneLine(name, limit: 60))",
      hint: nearest(name, in: names).map { "did you mean \($0)?" } ?? "authctl profile presets")
  }

  /// The preset's description in one line: its first comment.
  package static func summary(_ name: String) -> String {
    guard let text = text(name), text.utf8.starts(with: "# ".utf8) else { return "" }
    let line = text.utf8.dropFirst(2).prefix { $0 != 0x0A }
    return String(decoding: line, as: UTF8.self)
  }

  /// The kind of API that the preset is for, in its second comment: `Python`.
  package static func group(_ name: String) -> String {
    let mark = "# Group: "
    let line = text(name)?.utf8.split(separator: 0x0A, maxSplits: 2).dropFirst().first
    guard let line, line.starts(with: mark.utf8) else { return products }
    return String(decoding: line.dropFirst(mark.utf8.count), as: UTF8.self)
  }

  private static let products = "Products"

  /// The presets whose name, summary or group contains `filter`, by group: the general ones first,
  /// those of single products last.
  package static func groups(matching filter: String) -> [(name: String, presets: [String])] {
    let wanted = filter.asciiLowercased
    let found = names.filter { name in
      [name, summary(name), group(name)].contains {
        $0.asciiLowercased.contains(bytesOf: wanted)
      }
    }
    func rank(_ group: String) -> Int { group == "General" ? 0 : group == products ? 2 : 1 }
    return Dictionary(grouping: found, by: group).sorted {
      (rank($0.key), $0.key) < (rank($1.key), $1.key)
    }.map { (name: $0.key, presets: $0.value) }
  }

  /// The values that apply when neither preset nor profile sets them.
  static var defaults: String {
    EmbeddedPresets.texts.first { $0.name == defaultsName }?.text ?? ""
  }
}
