/// The table `[detect]` of a preset: by what a product shows itself to a GET without credentials.
struct Mark {
  /// The preset's name.
  var preset: String
  var path: String
  var statuses: [Int]
  /// Any one of them holds.
  var conditions: [Condition]
  /// Any one of them stands in the body.
  var texts: [String]

  /// Of all presets that have one.
  static func all() -> [Mark] {
    Presets.names.compactMap { name in
      guard let text = Presets.text(name),
        let document = try? TOMLDocument(text, label: "preset \(name)"),
        let mark = try? read(document, name)
      else { return nil }
      return mark
    }
  }

  /// The mark of the preset `document`; nil when it has none.
  ///
  /// - Throws: `Failure` of kind `usage` for a table that says too little.
  static func read(_ document: TOMLDocument, _ preset: String) throws(Failure) -> Mark? {
    var values = ProfileValues()
    try values.add(document, source: .preset(preset))
    guard values.firstKey(of: "detect") != nil else { return nil }
    let mark = Mark(
      preset: preset, path: try values.text("detect.path") ?? "/",
      statuses: try values.statuses("detect.status") ?? [200],
      conditions: try values.conditions("detect.when") ?? [],
      texts: try values.texts("detect.text") ?? [])
    guard !mark.conditions.isEmpty || !mark.texts.isEmpty else {
      throw values.failure(table: "detect", "names nothing to look for", hint: "when, or text")
    }
    return mark
  }

  /// Whether `answer` shows it.
  func isShown(by answer: Answer) -> Bool {
    guard statuses.contains(answer.head.status) else { return false }
    if (try? answer.holdsAny(conditions)) ?? false { return true }
    let body = answer.body
    return texts.contains { text in
      let wanted = Array(text.utf8)
      return body.indices.contains { body[$0...].starts(with: wanted) }
    }
  }
}
