internal import TOMLKit

/// A key of a table with its value.
typealias TOMLMember = (key: String, value: JSONValue)

/// A TOML text that was read: its values in the order of the text, and where they stand.
struct TOMLDocument {
  /// What messages call it: a path, or `preset json`.
  let label: String
  let text: String
  let map: TOMLMap
  /// The values, tables as objects; members in the order of the text.
  let root: [TOMLMember]

  /// Bytes that a configuration file may have.
  static let maximumSize = 1 << 20

  /// Reads `text`.
  ///
  /// - Throws: `Failure` of kind `usage` with `label` and the line.
  init(_ text: String, label: String) throws(Failure) {
    let bytes = Array(text.utf8)
    guard bytes.count <= Self.maximumSize else {
      throw Failure(.usage, "\(label): larger than 1 MiB")
    }
    if let line = Self.lineOfNul(in: bytes) {
      throw Failure(.usage, "\(label):\(line): a NUL byte or its escape")
    }
    let map = TOMLMap(bytes)
    if let place = map.tooDeep {
      throw Failure(
        .usage, "\(label):\(place): nested deeper than \(TOMLMap.maximumDepth) levels")
    }
    self.label = label
    self.text = text
    self.map = map
    if let broken = map.broken {
      throw Failure(.usage, "\(label):\(broken.place): not TOML: \(broken.why)")
    }
    let table = try Self.parse(text, label: label)
    var order: [[String]: Int] = [:]
    for (position, path) in Self.pathsInOrder(map).enumerated() where order[path] == nil {
      order[path] = position
    }
    root = try Self.members(table, path: [], order: order, label: label, map: map)
  }

  /// Where the key at `path` stands: file, line and column, `shop.toml:7:3`.
  func place(of path: [String]) -> String {
    map.place(of: path).map { "\(label):\($0)" } ?? label
  }

  /// The value at `path`.
  func value(at path: [String]) -> JSONValue? {
    var value = JSONValue.object(root)
    for name in path {
      guard case .object(let members) = value,
        let member = members.first(where: { $0.key == name })
      else { return nil }
      value = member.value
    }
    return value
  }

  // MARK: - Reading

  private static func parse(_ text: String, label: String) throws(Failure) -> TOMLTable {
    do {
      return try TOMLTable(string: text)
    } catch let error as TOMLParseError {
      throw Failure(
        .usage,
        "\(label):\(error.source.begin.line):\(error.source.begin.column): not TOML: "
          + DisplayText.oneLine(error.description, limit: 200))
    } catch {
      throw Failure(.usage, "\(label): not TOML")
    }
  }

  private static func lineOfNul(in bytes: [UInt8]) -> Int? {
    // TOMLKit passes text through C strings, which end at the first NUL.
    var line = 1
    for (index, byte) in bytes.enumerated() {
      if byte == 0x0A { line += 1 }
      if byte == 0 { return line }
      guard byte == UInt8(ascii: "\\") else { continue }
      let rest = bytes[(index + 1)...]
      if rest.starts(with: "u0000".utf8) || rest.starts(with: "U00000000".utf8) { return line }
    }
    return nil
  }

  /// Every path with all the paths above it, as they come in the text.
  private static func pathsInOrder(_ map: TOMLMap) -> [[String]] {
    let all =
      map.entries.map { ($0.start, $0.path) } + map.headers.map { ($0.range.lowerBound, $0.path) }
    return all.sorted { $0.0 < $1.0 }.flatMap { item in
      item.1.indices.map { Array(item.1[...$0]) }
    }
  }

  private static func members(
    _ table: TOMLTable, path: [String], order: [[String]: Int], label: String, map: TOMLMap
  ) throws(Failure) -> [TOMLMember] {
    var members: [(position: Int, member: TOMLMember)] = []
    for key in table.keys {
      guard let node = table[key] else { continue }
      let below = path + [key]
      let value = try value(node, path: below, order: order, label: label, map: map)
      members.append((order[below] ?? .max, (key: key, value: value)))
    }
    return members.sorted { $0.position < $1.position }.map(\.member)
  }

  private static func value(
    _ node: any TOMLValueConvertible, path: [String], order: [[String]: Int], label: String,
    map: TOMLMap
  ) throws(Failure) -> JSONValue {
    if let table = node.table {
      return .object(try members(table, path: path, order: order, label: label, map: map))
    }
    if let array = node.array {
      var values: [JSONValue] = []
      for index in 0..<array.count {
        values.append(
          try value(array[index], path: path + ["\(index)"], order: order, label: label, map: map))
      }
      return .array(values)
    }
    if let text = node.string { return .string(text) }
    if let flag = node.bool { return .bool(flag) }
    if let number = node.int { return .number(String(number)) }
    if let number = node.double, number.isFinite { return .number(String(number)) }
    let place = map.place(of: path).map { "\(label):\($0)" } ?? label
    throw Failure(
      .usage,
      "\(place): \(TOMLWriter.key(path)): dates, times, inf and nan have no use here")
  }
}
