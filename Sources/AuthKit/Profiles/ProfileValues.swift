/// The values in force of all layers, each with its place, read as the type of its key.
///
/// Every failure names file, line and key.
struct ProfileValues {
  private struct Item {
    var value: JSONValue
    var source: EffectiveValue.Source
    var document: TOMLDocument?
  }

  private var items: [String: Item] = [:]
  /// Keys treated as absent because a mistake in them is already reported.
  private var ignored: [[String]] = []
  /// The layer added last: the profile's own file.
  private var file: TOMLDocument?

  /// Adds the entries of `document`, which replace existing ones key by key.
  ///
  /// - Parameter ignoring: keys, by their names from the root, to treat as absent.
  mutating func add(
    _ document: TOMLDocument, source: EffectiveValue.Source, ignoring: [[String]] = []
  ) throws(Failure) {
    ignored = ignoring
    file = document
    for entry in try ProfileSchema.entries(of: document, ignoring: ignoring) {
      items[entry.key.name] = Item(value: entry.value, source: source, document: document)
    }
  }

  /// Sets a built-in value if no layer has one.
  mutating func setDefault(_ key: String, _ value: JSONValue) {
    if items[key] == nil { items[key] = Item(value: value, source: .builtIn, document: nil) }
  }

  /// Every value, in the order of the schema.
  var effective: [EffectiveValue] {
    (ProfileSchema.keys.map(\.name) + constants.map { "vars.\($0)" }).compactMap { key in
      // `[detect]` recognizes the API; it is not a setting for requests.
      guard let item = items[key], !key.utf8.starts(with: "detect.".utf8) else { return nil }
      return EffectiveValue(key: key, value: item.value, source: item.source)
    }
  }

  /// The names of `[vars]`, sorted by bytes.
  var constants: [String] {
    items.keys.filter { $0.utf8.starts(with: "vars.".utf8) }
      .map { String(decoding: $0.utf8.dropFirst(5), as: UTF8.self) }
      .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  func has(_ key: String) -> Bool { items[key] != nil }

  /// Whether a table, a key or a part of one is ignored: a value missing for that reason is not a
  /// mistake of its own.
  func isIgnored(_ path: String...) -> Bool {
    ignored.contains { $0.starts(with: path) } || ignored.contains(["preset"])
  }

  /// Whether the table exists, at least in part.
  func hasTable(_ table: String) -> Bool {
    firstKey(of: table) != nil
      || !ignored.contains([table]) && ignored.contains { $0.count > 1 && $0[0] == table }
  }

  /// Whether the profile's own file has it.
  func isInFile(_ key: String) -> Bool { items[key]?.source == .file }

  /// Whether a later layer sets `key` than `other`: the profile's file after the preset, and that
  /// after the built-in values.
  func isNearer(_ key: String, than other: String) -> Bool {
    switch (items[key]?.source, items[other]?.source) {
    case (.file?, .file?), (.preset?, .file?), (.preset?, .preset?), (nil, _), (.builtIn?, _): false
    default: true
    }
  }

  /// The first key of a table that has a value.
  func firstKey(of table: String) -> String? {
    let prefix = table + "."
    // Most tables have none, and a profile far fewer keys than the schema.
    guard items.keys.contains(where: { $0.utf8.starts(with: prefix.utf8) }) else { return nil }
    return ProfileSchema.keys.map(\.name).first {
      $0.utf8.starts(with: prefix.utf8) && items[$0] != nil
    }
  }

  /// A failure at `key`, or at `member` of its table.
  func failure(
    _ key: String, _ member: String? = nil, _ message: String, hint: String? = nil
  ) -> Failure {
    var path = key.utf8.split(separator: UInt8(ascii: ".")).map {
      String(decoding: $0, as: UTF8.self)
    }
    if let member { path.append(member) }
    let name = DisplayText.oneLine(TOMLWriter.key(path), limit: 120)
    let place = items[key]?.document.map { $0.place(of: path) + ": " } ?? ""
    var failure = Failure(.usage, "\(place)\(name): \(message)", hint: hint)
    failure.key = path
    return failure
  }

  /// A failure at a whole table.
  func failure(table: String, _ message: String, hint: String) -> Failure {
    // The place is that of a key in a file, not of an implied one.
    let written = ProfileSchema.keys.map(\.name).filter {
      $0.utf8.starts(with: (table + ".").utf8) && items[$0]?.document != nil
    }
    let place = written.first { isInFile($0) } ?? written.first
    let document = place.flatMap { items[$0]?.document } ?? file
    let start = document.map { $0.place(of: [table]) + ": " } ?? ""
    var failure = Failure(.usage, "\(start)\(table): [\(table)] \(message)", hint: hint)
    failure.key = [table]
    return failure
  }

  /// Adds the place to a failure that a nested parser threw.
  func failure(_ key: String, _ member: String? = nil, _ cause: Failure) -> Failure {
    failure(key, member, cause.message, hint: cause.hint)
  }

  // MARK: - Typed reading

  func text(_ key: String) throws(Failure) -> String? {
    guard let text = try anyText(key) else { return nil }
    guard !text.isEmpty else { throw failure(key, nil, "must not be empty") }
    return text
  }

  /// A text, possibly empty.
  func anyText(_ key: String) throws(Failure) -> String? {
    guard let value = items[key]?.value else { return nil }
    guard case .string(let text) = value else { throw failure(key, nil, "must be a string") }
    return text
  }

  func flag(_ key: String) throws(Failure) -> Bool? {
    guard let value = items[key]?.value else { return nil }
    guard case .bool(let flag) = value else { throw failure(key, nil, "must be true or false") }
    return flag
  }

  /// Seconds: more than 0, at most a day.
  func seconds(_ key: String) throws(Failure) -> Double? {
    guard let value = items[key]?.value else { return nil }
    guard case .number(let text) = value, let seconds = Double(text), seconds.isFinite else {
      throw failure(key, nil, "must be a number of seconds")
    }
    guard seconds > 0, seconds <= 86400 else {
      throw failure(key, nil, "must be more than 0 and at most 86400 seconds")
    }
    return seconds
  }

  /// A whole number within `range`.
  func wholeNumber(_ key: String, _ range: ClosedRange<Int>) throws(Failure) -> Int? {
    guard let value = items[key]?.value else { return nil }
    guard case .number(let text) = value, let number = Int(text), range.contains(number) else {
      throw failure(
        key, nil, "must be a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  func choice<Word: RawRepresentable & CaseIterable>(
    _ key: String, of type: Word.Type
  ) throws(Failure) -> Word? where Word.RawValue == String {
    guard let text = try word(key, of: type.allCases.map(\.rawValue)) else { return nil }
    return Word(rawValue: text)
  }

  func word(_ key: String, of words: [String]) throws(Failure) -> String? {
    guard let text = try text(key) else { return nil }
    guard words.contains(where: { $0.utf8.elementsEqual(text.utf8) }) else {
      throw failure(
        key, nil, "must be one of " + words.joined(separator: ", "),
        hint: nearest(text, in: words).map { "did you mean \($0)?" })
    }
    return text
  }

  /// A list of texts; one text is a list of one.
  func texts(_ key: String) throws(Failure) -> [String]? {
    guard let value = items[key]?.value else { return nil }
    var texts: [String] = []
    switch value {
    case .string(let text): texts = [text]
    case .array(let values):
      for value in values {
        guard case .string(let text) = value else {
          throw failure(key, nil, "must be a list of strings")
        }
        texts.append(text)
      }
    default: throw failure(key, nil, "must be a list of strings")
    }
    guard texts.allSatisfy({ !$0.isEmpty }) else {
      throw failure(key, nil, "must not contain an empty string")
    }
    return texts
  }

  /// HTTP statuses: 400 to 499 except those that do not concern credentials (rule C3).
  func refusals(_ key: String) throws(Failure) -> [Int]? {
    guard let statuses = try statuses(key) else { return nil }
    for status in statuses
    where !(400...499).contains(status) || [407, 408, 429].contains(status) {
      throw failure(key, nil, "\(status) is not allowed; use 400 to 499 except 407, 408 and 429")
    }
    return statuses
  }

  /// HTTP statuses (RFC 9110, section 15).
  func statuses(_ key: String) throws(Failure) -> [Int]? {
    guard let value = items[key]?.value else { return nil }
    guard case .array(let values) = value else {
      throw failure(key, nil, "must be a list of numbers")
    }
    var statuses: [Int] = []
    for value in values {
      guard case .number(let text) = value, let status = Int(text), (200...599).contains(status)
      else { throw failure(key, nil, "must be a list of HTTP statuses, 200 to 599") }
      statuses.append(status)
    }
    return statuses
  }

  func members(_ key: String) throws(Failure) -> [TOMLMember]? {
    guard let value = items[key]?.value else { return nil }
    guard case .object(let members) = value else { throw failure(key, nil, "must be a table") }
    return members
  }

  /// A table of texts. Numbers and flags become text as written.
  func textMembers(_ key: String) throws(Failure) -> [(name: String, text: String)]? {
    guard let members = try members(key) else { return nil }
    var texts: [(name: String, text: String)] = []
    for member in members {
      switch member.value {
      case .string(let text): texts.append((member.key, text))
      case .number(let text): texts.append((member.key, text))
      case .bool(let flag): texts.append((member.key, flag ? "true" : "false"))
      default: throw failure(key, member.key, "must be a string")
      }
    }
    return texts
  }

  // MARK: - Places

  func places(_ key: String) throws(Failure) -> [ValueSource]? {
    guard let texts = try texts(key) else { return nil }
    var places: [ValueSource] = []
    for text in texts { places.append(try place(text, key: key)) }
    return places
  }

  func timePlaces(_ key: String) throws(Failure) -> [TimeSource]? {
    guard let texts = try texts(key) else { return nil }
    var places: [TimeSource] = []
    for text in texts {
      if text.utf8.starts(with: "ms:".utf8) {
        let place = try place(String(decoding: text.utf8.dropFirst(3), as: UTF8.self), key: key)
        places.append(TimeSource(form: .milliseconds, place: place))
      } else if text.utf8.starts(with: "jwt:".utf8) {
        let place = try place(String(decoding: text.utf8.dropFirst(4), as: UTF8.self), key: key)
        guard case .pointer = place else {
          throw failure(key, nil, "jwt: needs a JSON Pointer, as in jwt:/exp")
        }
        places.append(TimeSource(form: .tokenPayload, place: place))
      } else {
        places.append(TimeSource(form: .plain, place: try place(text, key: key)))
      }
    }
    return places
  }

  /// `PLACE` or `PLACE=TEXT`: what an answer must contain.
  func conditions(_ key: String) throws(Failure) -> [Condition]? {
    guard let texts = try texts(key) else { return nil }
    var conditions: [Condition] = []
    for text in texts {
      let parts = text.utf8.split(
        separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false
      ).map { String(decoding: $0, as: UTF8.self) }
      conditions.append(
        Condition(
          place: try place(parts[0], key: key), text: parts.count > 1 ? parts[1] : nil))
    }
    return conditions
  }

  /// Names, and the places of their values in an answer.
  func kept(_ key: String) throws(Failure) -> [Extraction] {
    var kept: [Extraction] = []
    for (name, text) in try textMembers(key) ?? [] {
      guard Template.isPlainName(name.utf8) else {
        throw failure(
          key, name, "is not a valid name", hint: "use letters, digits, dots, _ and -")
      }
      kept.append(Extraction(name: name, place: try place(text, key: key, member: name)))
    }
    return kept
  }

  func place(_ text: String, key: String, member: String? = nil) throws(Failure) -> ValueSource {
    if let place = ValueSource(text) { return place }
    var hint = "use a JSON Pointer (/token), header:NAME, cookie:NAME or body"
    if text.utf8.starts(with: "ms:".utf8) || text.utf8.starts(with: "jwt:".utf8) {
      hint = "ms: and jwt: work only in expires_in and expires_at"
    }
    let shown = DisplayText.oneLine(text, limit: 60)
    throw failure(key, member, "\"\(shown)\" is not a place in an answer", hint: hint)
  }
}

extension ValueSource {
  /// Reads `/pointer` (RFC 6901), `header:NAME`, `cookie:NAME` or `body`; nil for anything else.
  package init?(_ text: String) {
    let bytes = Array(text.utf8)
    if bytes.first == UInt8(ascii: "/") {
      guard JSONValue.isPointer(text) else { return nil }
      self = .pointer(text)
    } else if bytes.starts(with: "header:".utf8) {
      let name = String(decoding: bytes.dropFirst(7), as: UTF8.self)
      guard HeaderSyntax.isToken(name) else { return nil }
      self = .header(name)
    } else if bytes.starts(with: "cookie:".utf8) {
      let name = String(decoding: bytes.dropFirst(7), as: UTF8.self)
      guard HeaderSyntax.isToken(name) else { return nil }
      self = .cookie(name)
    } else if bytes.elementsEqual("body".utf8) {
      self = .body
    } else {
      return nil
    }
  }
}
