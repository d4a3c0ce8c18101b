internal import AuthKit

/// The fields of `--field` and `--raw-field` as one JSON object, by the rules of `gh api`: `a[b]=1`
/// is an object in an object, `a[]=1` an element of an array, `a[]` an empty array, and `a[][b]=1`
/// an object in an array, a new one where the last has a `b` already
/// (https://cli.github.com/manual/gh_api).
struct FieldBody {
  enum Kind {
    /// true, false, null and integers keep their JSON type; `@FILE` is read.
    case typed
    case text
  }
  typealias Word = (kind: Kind, text: String)
  private typealias Members = [(key: String, value: JSONValue)]

  private var members: Members = []

  /// - Throws: `usage` for a field that cannot be read or does not fit the others, `failed` for a
  ///   file that cannot be read.
  init(_ words: [Word], _ files: BodyFiles) throws(Failure) {
    for (kind, text) in words {
      let mark = text.utf8.firstIndex(of: UInt8(ascii: "="))
      let name = String(text.utf8[..<(mark ?? text.utf8.endIndex)]) ?? text
      guard let keys = Self.keys(name) else {
        throw Self.unfit(name, "write NAME=VALUE, NAME[KEY]=VALUE or NAME[]=VALUE")
      }
      guard let mark else {
        guard keys.last?.isEmpty == true else { throw Self.unfit(name, "=VALUE is missing") }
        try Self.insert(nil, at: keys[...], into: &members, name)
        continue
      }
      let value = String(text.utf8[text.utf8.index(after: mark)...]) ?? ""
      try Self.insert(
        kind == .text ? .string(value) : Self.typed(value, files), at: keys[...], into: &members,
        name)
    }
  }

  /// The fields as a JSON object.
  var json: SharedSecret {
    var text = SecretBuilder()
    JSONValue.object(members).write(into: &text)
    return SharedSecret(text.secret())
  }

  /// Writes the fields as a query: `a=1&b[]=2&c[d]=3`.
  func write(intoQuery query: inout SecretBuilder) {
    for (key, value) in members { Self.write(key, value, &query) }
  }

  private static func write(_ key: String, _ value: JSONValue, _ query: inout SecretBuilder) {
    switch value {
    case .array(let items): for item in items { write(key + "[]", item, &query) }
    case .object(let members):
      for (name, item) in members { write("\(key)[\(name)]", item, &query) }
    default:
      if query.count > 0 { query.append("&") }
      Secret(key).withBytes { query.appendFormEncoded($0) }
      query.append("=")
      Secret(value.scalarText ?? "").withBytes { query.appendFormEncoded($0) }
    }
  }

  // MARK: - Reading

  /// Splits `a[b][]` into `a`, `b` and an empty key for the array; nil for any other form.
  private static func keys(_ name: String) -> [String]? {
    var keys: [String] = []
    var rest = Array(name.utf8)[...]
    let first = rest.firstIndex(of: UInt8(ascii: "[")) ?? rest.endIndex
    keys.append(String(decoding: rest[..<first], as: UTF8.self))
    rest = rest[first...]
    while rest.first == UInt8(ascii: "[") {
      guard let end = rest.firstIndex(of: UInt8(ascii: "]")) else { return nil }
      let key = String(decoding: rest[(rest.startIndex + 1)..<end], as: UTF8.self)
      // There are no arrays in arrays.
      if !key.isEmpty || keys.last?.isEmpty == false { keys.append(key) }
      rest = rest[(end + 1)...]
    }
    return rest.isEmpty && keys[0].isEmpty == false ? keys : nil
  }

  private static func typed(_ text: String, _ files: BodyFiles) throws(Failure) -> JSONValue {
    switch text {
    case "true": return true
    case "false": return false
    case "null": return nil
    default: break
    }
    guard text.utf8.first == UInt8(ascii: "@") else {
      return Int(text).map { .number($0) } ?? .string(text)
    }
    let path = String(text.dropFirst())
    let contents = try files.contents(path, option: "--field")
    let string = contents.withBytes { String(validating: $0, as: UTF8.self) }
    guard let string else {
      throw Failure(.usage, "--field: \(DisplayText.oneLine(path)) is not UTF-8")
    }
    return .string(string)
  }

  // MARK: - Nesting

  /// Inserts `value`, or an empty array for nil, at `keys`.
  private static func insert(
    _ value: JSONValue?, at keys: ArraySlice<String>, into members: inout Members, _ name: String
  ) throws(Failure) {
    guard let key = keys.first else { return }
    let rest = keys.dropFirst()
    let index = members.firstIndex { $0.key.utf8.elementsEqual(key.utf8) }
    guard let next = rest.first else {
      guard index == nil, let value else { throw unfit(name, "the field is given twice") }
      members.append((key, value))
      return
    }
    let place = index ?? members.endIndex
    if next.isEmpty {
      if index == nil { members.append((key, .array([]))) }
      guard case .array(var items) = members[place].value else {
        throw unfit(
          name, "\(DisplayText.oneLine(key, limit: 40)) is already set and is not an array")
      }
      try append(value, at: rest.dropFirst(), to: &items, name)
      members[place].value = .array(items)
    } else {
      if index == nil { members.append((key, .object([]))) }
      guard case .object(var inner) = members[place].value else {
        throw unfit(
          name, "\(DisplayText.oneLine(key, limit: 40)) is already set and is not an object")
      }
      try insert(value, at: rest, into: &inner, name)
      members[place].value = .object(inner)
    }
  }

  private static func append(
    _ value: JSONValue?, at keys: ArraySlice<String>, to items: inout [JSONValue], _ name: String
  ) throws(Failure) {
    guard let key = keys.first else {
      if let value { items.append(value) } else { items = [] }
      return
    }
    var inner: Members = []
    if case .object(let last)? = items.last {
      let present = last.first { $0.key.utf8.elementsEqual(key.utf8) }
      let goesOn = if case .array? = present?.value { true } else { present == nil }
      if goesOn {
        inner = last
        items.removeLast()
      }
    }
    try insert(value, at: keys, into: &inner, name)
    items.append(.object(inner))
  }

  private static func unfit(_ name: String, _ why: String) -> Failure {
    Failure(.usage, "--field \(DisplayText.oneLine(name, limit: 60)): \(why)")
  }
}
