/// Changes one key of a TOML text and leaves the rest as is: order, comments, blanks.
///
/// Every result is parsed again: it must have the requested value, and every other value must be
/// the same as before. An empty table counts as none.
struct TOMLEdit {
  private var tree: TOMLTree

  /// Returns the text of `tree` with a value at `path`, which has one name or two.
  ///
  /// - Parameter value: TOML on one line.
  /// - Returns: nil if the change is not possible.
  /// - Throws: `TOMLError` if `value` is not TOML; its place is in the line `KEY = VALUE`.
  static func setting(
    _ value: String, at path: [String], in tree: TOMLTree
  ) throws(TOMLError) -> [UInt8]? {
    let wanted = try TOMLParser.parse(Array("\(TOMLWriter.key(path)) = \(value)".utf8))
    var edit = TOMLEdit(tree: tree)
    guard (try? edit.set(value, at: path)) != nil, let alone = wanted.find(path),
      wanted.nodes[alone].range.upperBound == wanted.bytes.count,
      let node = edit.tree.find(path),
      meaning(of: node, in: edit.tree) == meaning(of: alone, in: wanted),
      edit.isUnchanged(since: tree, but: path)
    else { return nil }
    return edit.tree.bytes
  }

  /// Returns the text of `tree` without the key at `path`.
  ///
  /// - Returns: nil if the change is not possible.
  static func removing(at path: [String], in tree: TOMLTree) -> [UInt8]? {
    var edit = TOMLEdit(tree: tree)
    guard (try? edit.remove(at: path)) != nil, edit.tree.find(path) == nil,
      edit.isUnchanged(since: tree, but: path)
    else { return nil }
    return edit.tree.bytes
  }

  // MARK: - Checking

  private func isUnchanged(since old: TOMLTree, but path: [String]) -> Bool {
    Self.meaning(of: 0, in: tree, without: path[...])
      == Self.meaning(of: 0, in: old, without: path[...])
  }

  /// The meaning of a node: words by their bytes, tables by their members without empty tables.
  private indirect enum Meaning: Equatable {
    case word(ArraySlice<UInt8>)
    case array([Meaning?])
    case table([[UInt8]: Meaning])
  }

  /// The meaning of a node except what is at `path`; nil if there is none.
  private static func meaning(
    of number: Int, in tree: TOMLTree, without path: ArraySlice<String> = []
  ) -> Meaning? {
    let node = tree.nodes[number]
    if node.value == .table {
      var members: [[UInt8]: Meaning] = [:]
      for child in node.children {
        let key = Array(tree.nodes[child].key.utf8)
        let isOnPath = path.first.map { key.elementsEqual($0.utf8) } ?? false
        if isOnPath, path.count == 1 { continue }
        members[key] = meaning(of: child, in: tree, without: isOnPath ? path.dropFirst() : [])
      }
      return members.isEmpty ? nil : .table(members)
    }
    // On the way to `path`, a value other than a table is replaced by a table.
    guard path.isEmpty else { return nil }
    if node.value == .array { return .array(node.children.map { meaning(of: $0, in: tree) }) }
    return .word(tree.bytes[node.range])
  }

  // MARK: - Setting

  private mutating func set(_ value: String, at path: [String]) throws(TOMLError) {
    if let node = tree.find(path), !tree.nodes[node].range.isEmpty {
      return try replace(tree.nodes[node].range, by: value)
    }
    // The value may span several lines: [login.body], login.body.email = …
    try remove(at: path)
    var (table, depth) = tree.nearest(path)
    if tree.nodes[table].value != .table {
      try remove(at: Array(path[..<depth]))
      (table, depth) = tree.nearest(path)
    }
    if !tree.nodes[table].range.isEmpty {
      return try insertMember("\(TOMLWriter.key(Array(path[depth...]))) = \(value)", into: table)
    }
    try insertLine(value, at: path, below: table)
  }

  /// Adds a member at the end of an inline table.
  private mutating func insertMember(_ text: String, into table: Int) throws(TOMLError) {
    let node = tree.nodes[table]
    let close = node.range.upperBound - 1
    var end = close
    while Self.isBlank(tree.bytes[end - 1]) { end -= 1 }
    try replace(end..<close, by: (node.children.isEmpty ? " " : ", ") + text + " ")
  }

  /// Adds a line after those of the innermost existing table, which comes from a header or from
  /// dotted keys.
  private mutating func insertLine(
    _ value: String, at path: [String], below table: Int
  ) throws(TOMLError) {
    let line = "\(TOMLWriter.key([path[path.count - 1]])) = \(value)\n"
    let isRoot = path.count == 1
    let last = tree.statements.last {
      !$0.isHeader && tree.isInside($0.node, table) && tree.isInside(table, $0.table)
    }
    if let last, isRoot || table > 0 {
      let key = tree.path(of: table, from: last.table) + path.suffix(1)
      let line = "\(TOMLWriter.key(key)) = \(value)\n"
      try insert(line, at: lineEnd(last.range.upperBound))
    } else if let header = tree.statements.first(where: { $0.isHeader && $0.node == table }) {
      try insert(line, at: lineEnd(header.range.upperBound))
    } else if isRoot, let first = tree.statements.first {
      try insert(line + "\n", at: commentStart(before: lineStart(first.range.lowerBound)))
    } else {
      let gap = isRoot || tree.bytes.isEmpty ? "" : "\n"
      let header = isRoot ? "" : "[\(TOMLWriter.key(path.dropLast()))]\n"
      try insert(gap + header + line, at: tree.bytes.count)
    }
  }

  // MARK: - Removing

  private mutating func remove(at path: [String]) throws(TOMLError) {
    guard let node = tree.find(path) else { return }
    var ranges: [Range<Int>] = []
    for statement in tree.statements where tree.isInside(statement.node, node) {
      let lines = lineStart(statement.range.lowerBound)..<lineEnd(statement.range.upperBound)
      if !statement.isHeader, tree.isInside(statement.table, node), let section = ranges.popLast() {
        // Include the text between the lines of a section.
        ranges.append(section.lowerBound..<lines.upperBound)
      } else {
        ranges.append(lines)
      }
    }
    if ranges.isEmpty { return try removeMember(node) }
    var bytes: [UInt8] = []
    var end = 0
    for range in ranges {
      bytes += tree.bytes[end..<range.lowerBound]
      end = range.upperBound
    }
    tree = try TOMLParser.parse(bytes + tree.bytes[end...])
  }

  /// Removes a member of an inline table, even one made by dotted keys.
  private mutating func removeMember(_ node: Int) throws(TOMLError) {
    var table = tree.nodes[node].parent
    while table > 0, tree.nodes[table].range.isEmpty { table = tree.nodes[table].parent }
    guard tree.nodes[table].value == .table else { return }
    let kept = entries(of: table).filter { !tree.isInside($0, node) }.map {
      let bytes = tree.bytes[tree.nodes[$0].start..<tree.nodes[$0].range.upperBound]
      return String(decoding: bytes, as: UTF8.self)
    }
    let text = kept.isEmpty ? "{}" : "{ " + kept.joined(separator: ", ") + " }"
    try replace(tree.nodes[table].range, by: text)
  }

  /// The nodes in a table that have a value, including deeper ones made by dotted keys.
  private func entries(of table: Int) -> [Int] {
    tree.nodes[table].children.flatMap {
      tree.nodes[$0].range.isEmpty ? entries(of: $0) : [$0]
    }.sorted()
  }

  // MARK: - Bytes

  private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

  private mutating func replace(_ range: Range<Int>, by text: String) throws(TOMLError) {
    var bytes = tree.bytes
    bytes.replaceSubrange(range, with: text.utf8)
    tree = try TOMLParser.parse(bytes)
  }

  /// Inserts lines, with a line end before them if the text has none there.
  private mutating func insert(_ text: String, at offset: Int) throws(TOMLError) {
    let isLineStart = offset == 0 || tree.bytes[offset - 1] == 0x0A
    try replace(offset..<offset, by: (isLineStart ? "" : "\n") + text)
  }

  private func lineStart(_ offset: Int) -> Int {
    (tree.bytes[..<offset].lastIndex(of: 0x0A) ?? -1) + 1
  }

  /// The start of the line after `offset`.
  private func lineEnd(_ offset: Int) -> Int {
    tree.bytes[offset...].firstIndex(of: 0x0A).map { $0 + 1 } ?? tree.bytes.count
  }

  /// The start of the comment lines directly above a line, which belong to it.
  private func commentStart(before offset: Int) -> Int {
    var start = offset
    while start > 0 {
      let above = lineStart(start - 1)
      guard tree.bytes[above..<start].first(where: { !Self.isBlank($0) }) == UInt8(ascii: "#")
      else {
        break
      }
      start = above
    }
    return start
  }
}
