/// The table `[detect]` of a preset: by what a product shows itself to a GET without credentials.
struct Fingerprint {
  /// The preset's name.
  var preset: String
  var path: String
  var statuses: [Int]
  /// Any one of them holds.
  var conditions: [Condition]
  /// Any one of them stands in the body.
  var texts: [String]

  /// Of all presets that have one.
  static func all() -> [Fingerprint] {
    Presets.names.compactMap { name in
      var values = ProfileValues()
      guard let text = Presets.text(name),
        let document = try? TOMLDocument(text, label: "preset \(name)"),
        (try? values.add(document, source: .preset(name))) != nil
      else { return nil }
      return (try? read(values, name)) ?? nil
    }
  }

  /// What `values` say of it; nil when there is no such table.
  ///
  /// - Throws: `Failure` of kind `usage` for a table that says too little.
  static func read(_ values: ProfileValues, _ preset: String) throws(Failure) -> Fingerprint? {
    guard values.firstKey(of: "detect") != nil else { return nil }
    let mark = Fingerprint(
      preset: preset, path: try values.text("detect.path") ?? "/",
      statuses: try values.statuses("detect.status") ?? [200],
      conditions: try values.conditions("detect.when") ?? [],
      texts: try values.texts("detect.text") ?? [])
    guard !mark.conditions.isEmpty || !mark.texts.isEmpty else {
      throw values.failure(table: "detect", "names nothing to look for", hint: "when, or text")
    }
    return mark
  }
}
