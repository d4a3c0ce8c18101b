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
  /// The path of a product that has only one: a URL that ends in it is of this product, and nothing
  /// is requested. `url` of a profile is what is above it.
  var endpoint: String?
  /// A body that every such endpoint answers to a POST.
  var body: String?

  /// The fingerprints of all presets that have one.
  static func all() -> [Fingerprint] { Presets.names.compactMap { of(preset: $0) } }

  /// The fingerprint of a preset; nil if it has none.
  static func of(preset name: String) -> Fingerprint? {
    var values = ProfileValues()
    guard let text = Presets.text(name),
      let document = try? TOMLDocument(text, label: "preset \(name)"),
      (try? values.add(document, source: .preset(name))) != nil
    else { return nil }
    return (try? read(values, name)) ?? nil
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
      texts: try values.texts("detect.text") ?? [],
      endpoint: try values.text("detect.endpoint"), body: try values.text("detect.body"))
    guard !mark.conditions.isEmpty || !mark.texts.isEmpty || mark.endpoint != nil else {
      throw values.failure(table: "detect", "has nothing to look for", hint: "add when or text")
    }
    return mark
  }
}

extension Profile {
  /// The path of the product's only endpoint, with a body that it answers to a POST; nil for an API.
  package var onlyEndpoint: (path: String, body: String)? {
    guard let mark = preset.flatMap(Fingerprint.of), let endpoint = mark.endpoint,
      let body = mark.body
    else { return nil }
    return (endpoint, body)
  }
}
