/// A key of a table with its value.
typealias TOMLMember = (key: String, value: JSONValue)

/// The TOML text of a configuration file: its values and their places.
///
/// The values of `TOMLParser` become `JSONValue`s here, and its errors become failures.
struct TOMLDocument {
  /// Its name in messages: a path, or `preset json`.
  let label: String
  let text: String
  /// The values, tables as objects; members in the order of the text.
  private(set) var root: [TOMLMember] = []
  private let tree: TOMLTree

  /// The maximum size of a configuration file, in bytes.
  static let maximumSize = 1 << 20

  /// Parses `text`.
  ///
  /// - Throws: `Failure` of kind `usage` with `label`, line and column.
  init(_ text: String, label: String) throws(Failure) {
    guard text.utf8.count <= Self.maximumSize else {
      throw Failure(.usage, "\(label) is larger than 1 MiB")
    }
    do throws(TOMLError) { tree = try TOMLParser.parse(Array(text.utf8)) } catch {
      let message = DisplayText.oneLine(error.message, limit: 200)
      throw Failure(
        .usage, "\(label):\(error.place.line):\(error.place.column): invalid TOML: \(message)")
    }
    self.label = label
    self.text = text
    root = try members(of: 0)
  }

  /// The place of the key at `path`, or of the innermost table around it: file, line and column,
  /// `shop.toml:7:3`.
  func place(of path: [String]) -> String {
    start(of: path).map(place(at:)) ?? label
  }

  /// The first byte of the key at `path`, or of the innermost table around it.
  func start(of path: [String]) -> Int? {
    let node = tree.nearest(path).node
    return node > 0 ? tree.nodes[node].start : nil
  }

  private func place(at offset: Int) -> String {
    let place = tree.place(at: offset)
    return "\(label):\(place.line):\(place.column)"
  }

  /// The value at `path`.
  func value(at path: [String]) -> JSONValue? {
    path.reduce(.object(root)) { $0?[$1] }
  }

  // MARK: - Editing

  /// Returns the text with `value` at `path`, of one or two names; order and comments stay.
  ///
  /// - Throws: `Failure` of kind `usage` for a value that TOML cannot express, `failed` when the
  ///   change cannot be made.
  func setting(_ value: JSONValue, at path: [String]) throws(Failure) -> String {
    let text = try Self.toml(value)
    do throws(TOMLError) {
      if let bytes = try TOMLEdit.setting(text, at: path, in: tree) {
        return String(decoding: bytes, as: UTF8.self)
      }
    } catch {
      let name = DisplayText.oneLine(TOMLWriter.key(path), limit: 120)
      throw Failure(.usage, "\(name): \(DisplayText.oneLine(error.message, limit: 200))")
    }
    throw uneditable
  }

  /// Returns the text without the key at `path`; order and comments stay.
  ///
  /// - Throws: `Failure` of kind `failed` when the change cannot be made.
  func removing(at path: [String]) throws(Failure) -> String {
    guard let bytes = TOMLEdit.removing(at: path, in: tree) else { throw uneditable }
    return String(decoding: bytes, as: UTF8.self)
  }

  private var uneditable: Failure {
    Failure(.failed, "\(label): cannot make this change", hint: "edit the file by hand")
  }

  /// Returns `value` on one line, tables inline.
  private static func toml(_ value: JSONValue) throws(Failure) -> String {
    switch value {
    case .null: throw Failure(.usage, "TOML has no null", hint: "leave the key out")
    case .bool(let flag): return flag ? "true" : "false"
    case .number(let text): return text
    case .string(let text): return TOMLWriter.string(text)
    case .array(let values):
      var parts: [String] = []
      for value in values { parts.append(try toml(value)) }
      return "[" + parts.joined(separator: ", ") + "]"
    case .object(let members):
      var parts: [String] = []
      for member in members {
        parts.append("\(TOMLWriter.key([member.key])) = \(try toml(member.value))")
      }
      return parts.isEmpty ? "{}" : "{ " + parts.joined(separator: ", ") + " }"
    }
  }

  // MARK: - Reading

  private func members(of table: Int) throws(Failure) -> [TOMLMember] {
    var members: [TOMLMember] = []
    for child in tree.nodes[table].children {
      let key = tree.nodes[child].key
      guard !key.utf8.contains(0) else { throw nul(child) }
      members.append((key, try value(of: child)))
    }
    return members
  }

  private func value(of node: Int) throws(Failure) -> JSONValue {
    switch tree.nodes[node].value {
    case .table: return .object(try members(of: node))
    case .array:
      var values: [JSONValue] = []
      for child in tree.nodes[node].children { values.append(try value(of: child)) }
      return .array(values)
    case .string(let text):
      guard !text.utf8.contains(0) else { throw nul(node) }
      return .string(text)
    case .boolean(let flag): return .bool(flag)
    case .integer(let number): return .number(String(number))
    case .float(let number) where number.isFinite: return .number(String(number))
    case .float, .offsetDateTime, .localDateTime, .localDate, .localTime:
      throw useless(node, "dates, times, inf and nan are not allowed")
    }
  }

  /// C strings, which libcurl and libsecret take, end at the first NUL.
  private func nul(_ node: Int) -> Failure { useless(node, "must not contain a NUL character") }

  private func useless(_ node: Int, _ why: String) -> Failure {
    let name = DisplayText.oneLine(TOMLWriter.key(tree.path(of: node)), limit: 120)
    return Failure(.usage, "\(place(at: tree.nodes[node].start)): \(name): \(why)")
  }
}
