/// Makes a `Profile` from TOML text (design 5).
package enum ProfileReader {
  /// Reads the text of a profile. The file's values take precedence over the preset's, and these
  /// over the built-in ones; a list or a table is replaced as a whole.
  ///
  /// - Parameters:
  ///   - name: the profile's name, or the real path of a profile used in place.
  ///   - file: the profile's file; relative file names refer to its folder.
  ///   - label: the name of the file in messages; nil for `file` itself.
  /// - Throws: `Failure` of kind `usage` that names file, line and key.
  package static func read(
    text: String, name: String, file: String?, label: String? = nil
  ) throws(Failure) -> Profile {
    let document = try TOMLDocument(text, label: label ?? file ?? name)
    return try read(document, name: name, file: file, ignoring: [])
  }

  /// The mistakes in the text, in its order, at most a hundred; empty if the profile is valid.
  ///
  /// - Parameters: as of `read`.
  package static func mistakes(
    text: String, name: String, file: String?, label: String? = nil
  ) -> [Failure] {
    let document: TOMLDocument
    do throws(Failure) { document = try TOMLDocument(text, label: label ?? file ?? name) } catch {
      return [error]
    }
    // A mistake hides those after it: ignore its key and read the rest again.
    var found: [Failure] = []
    var ignoring: [[String]] = []
    while found.count < mostMistakes {
      do throws(Failure) {
        _ = try read(document, name: name, file: file, ignoring: ignoring)
        break
      } catch {
        found.append(error)
        guard let key = error.key, !ignoring.contains(key) else { break }
        ignoring.append(key)
      }
    }
    let order = { (failure: Failure) in
      failure.key.flatMap { document.start(of: $0) } ?? .max
    }
    return found.sorted { order($0) < order($1) }
  }

  /// The maximum to report; a file with more is not a profile.
  private static let mostMistakes = 100

  private static func read(
    _ document: TOMLDocument, name: String, file: String?, ignoring: [[String]]
  ) throws(Failure) -> Profile {
    var own = ProfileValues()
    try own.add(document, source: .file, ignoring: ignoring)
    let preset = try own.text("preset")
    var values = ProfileValues()
    try values.add(
      try TOMLDocument(Presets.defaults, label: "built-in defaults"), source: .builtIn)
    if let preset {
      guard let text = Presets.text(preset) else {
        let shown = DisplayText.oneLine(preset, limit: 60)
        throw own.failure(
          "preset", nil, "unknown preset \(shown)",
          hint: nearest(preset, in: Presets.names).map { "did you mean \($0)?" }
            ?? "authctl profile presets")
      }
      let layer = try TOMLDocument(text, label: "preset \(preset)")
      for member in layer.root where ["url", "preset", "account"].contains(member.key) {
        throw Failure(
          .usage, "\(layer.place(of: [member.key])): \(member.key): not allowed in a preset")
      }
      try values.add(layer, source: .preset(preset), ignoring: ignoring)
    }
    try values.add(document, source: .file, ignoring: ignoring)
    setImpliedValues(&values)
    guard let url = try values.text("url") ?? (ignoring.contains(["url"]) ? exampleURL : nil) else {
      var failure = Failure(
        .usage, "\(document.label): url is missing", hint: "add url = \"\(exampleURL)\"")
      failure.key = ["url"]
      throw failure
    }
    if let problem = URLText.problemOfBase(url) { throw values.failure("url", nil, problem) }
    var reader = RecipeReader(values, folder: file.map(parentFolder(of:)) ?? ".")
    return Profile(
      name: name, file: file, url: url, preset: preset, account: try account(values),
      recipe: try reader.read(), values: values.effective)
  }

  private static let exampleURL = "https://api.example.com"

  /// Sets the implied values of calls, for `profile show`.
  private static func setImpliedValues(_ values: inout ProfileValues) {
    // A refresh that says nothing but its path could not say whose session it renews.
    let others = ["method", "authorization", "encoding", "query", "headers", "body"]
    if values.has("refresh.path"), !others.contains(where: { values.has("refresh.\($0)") }),
      (try? values.flag("request.cookies")) != true
    {
      values.setDefault("refresh.body", .object([("refresh_token", "{refresh_token}")]))
    }
    for table in ProfileSchema.callTables where values.has("\(table).path") {
      values.setDefault("\(table).method", .string(RecipeReader.method(of: table)))
      values.setDefault(
        "\(table).authorization", .string(RecipeReader.authorization(of: table).rawValue))
      let encoding = values.has("\(table).body") ? RecipeRequest.Encoding.json : .none
      // A body can also come from --field only; it is then JSON.
      let takesFields = table == "login" || table == "register"
      values.setDefault(
        "\(table).encoding", .string((takesFields ? .json : encoding).rawValue))
      values.setDefault("\(table).secrets_in_url", .bool(false))
    }
  }

  /// The account (rule B18).
  private static func account(_ values: ProfileValues) throws(Failure) -> String? {
    guard let account = try values.text("account") else { return nil }
    guard account.utf8.count <= 256 else {
      throw values.failure("account", nil, "must be at most 256 bytes")
    }
    let isControl = { (scalar: Unicode.Scalar) in
      scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
    }
    guard !account.unicodeScalars.contains(where: isControl) else {
      throw values.failure("account", nil, "must not contain control characters")
    }
    return account
  }
}
