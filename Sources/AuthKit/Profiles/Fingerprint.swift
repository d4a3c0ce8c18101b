/// The table `[detect]` of a preset: how a product answers a request without credentials.
struct Fingerprint {
  /// The preset's name.
  var preset: String
  /// GET or OPTIONS.
  var method: String
  var path: String
  /// The path is requested only if the answer to `GET /` has one of these, in a header or in its
  /// body.
  var after: [String]
  /// Whether other products may answer so, too.
  var isLikely: Bool
  var statuses: [Int]
  /// One of them must hold.
  var conditions: [Condition]
  /// One of them must be in the body.
  var texts: [String]

  /// The fingerprints of all presets that have one.
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

  /// Reads the table from `values`; nil if it is absent.
  ///
  /// - Throws: `Failure` of kind `usage` for an incomplete table.
  static func read(_ values: ProfileValues, _ preset: String) throws(Failure) -> Fingerprint? {
    guard values.firstKey(of: "detect") != nil else { return nil }
    let mark = Fingerprint(
      preset: preset,
      method: try values.word("detect.method", of: ["GET", "OPTIONS"]) ?? "GET",
      path: try values.text("detect.path") ?? "/",
      after: try values.texts("detect.after") ?? [],
      isLikely: try values.flag("detect.likely") ?? false,
      statuses: try values.statuses("detect.status") ?? [200],
      conditions: try values.conditions("detect.when") ?? [],
      texts: try values.texts("detect.text") ?? [])
    guard !mark.conditions.isEmpty || !mark.texts.isEmpty else {
      throw values.failure(table: "detect", "has nothing to look for", hint: "add when or text")
    }
    return mark
  }
}
