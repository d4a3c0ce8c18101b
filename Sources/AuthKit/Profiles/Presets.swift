/// The presets: `Presets/*.toml`, embedded in the binary.
package enum Presets {
  private static let defaultsName = "defaults"

  /// The names, in alphabetical order.
  package static var names: [String] {
    EmbeddedPresets.texts.map(\.name).filter { $0 != defaultsName }.sorted()
  }

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

  /// The values that apply when neither preset nor profile sets them.
  static var defaults: String {
    EmbeddedPresets.texts.first { $0.name == defaultsName }?.text ?? ""
  }
}
