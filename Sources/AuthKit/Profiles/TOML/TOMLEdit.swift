/// Changes one key of a TOML text and leaves all else as it stands: order, comments, spaces.
///
/// Every result is read again and compared. Where the careful edit did not mean what was asked,
/// the text is written anew; comments are lost then, the meaning never.
struct TOMLEdit {
  private let document: TOMLDocument
  private var bytes: [UInt8]
  private var map: TOMLMap

  /// `document`'s text with `value` at `path`, which has one name or two.
  ///
  /// - Throws: `Failure` of kind `usage` for a value that TOML cannot hold.
  static func setting(
    _ value: JSONValue, at path: [String], in document: TOMLDocument
  ) throws(Failure) -> String {
    var edit = TOMLEdit(document)
    try edit.set(value, at: path)
    return try edit.checked(wanted: Self.replacing(document.root, path, value))
  }

  /// `document`'s text without the key at `path`.
  ///
  /// - Throws: `Failure` of kind `failed` when it cannot be done.
  static func removing(at path: [String], in document: TOMLDocument) throws(Failure) -> String {
    var edit = TOMLEdit(document)
    edit.remove(at: path)
    return try edit.checked(wanted: Self.replacing(document.root, path, nil))
  }

  private init(_ document: TOMLDocument) {
    self.document = document
    bytes = Array(document.text.utf8)
    map = document.map
  }

  // MARK: - Checking

  private func checked(wanted: [TOMLMember]) throws(Failure) -> String {
    let text = String(decoding: bytes, as: UTF8.self)
    if let result = try? TOMLDocument(text, label: document.label),
      Self.same(.object(result.root), .object(wanted))
    {
      return text
    }
    let written = try TOMLWriter.document(wanted)
    let result = try TOMLDocument(written, label: document.label)
    guard Self.same(.object(result.root), .object(wanted)) else {
      throw Failure(
        .failed, "\(document.label): cannot make this change", hint: "edit the file by hand")
    }
    return written
  }

  private static func replacing(
    _ root: [TOMLMember], _ path: [String], _ value: JSONValue?
  ) -> [TOMLMember] {
    guard let name = path.first else { return root }
    var root = root
    let index = root.firstIndex { $0.key.utf8.elementsEqual(name.utf8) }
    guard path.count > 1 else {
      if let value {
        if let index { root[index].value = value } else { root.append((name, value)) }
      } else if let index {
        root.remove(at: index)
      }
      return root
    }
    var inner: [TOMLMember] = []
    if let index, case .object(let members) = root[index].value { inner = members }
    inner = replacing(inner, Array(path.dropFirst()), value)
    if let index {
      root[index].value = .object(inner)
    } else if value != nil {
      root.append((name, .object(inner)))
    }
    return root
  }

  /// Equal but for the order of members; an empty table is no table, and numbers are compared by
  /// their values, for `1e2` comes back as `100.0`.
  private static func same(_ left: JSONValue, _ right: JSONValue) -> Bool {
    switch (left, right) {
    case (.object(let a), .object(let b)):
      let a = a.filter { !isEmptyTable($0.value) }
      let b = b.filter { !isEmptyTable($0.value) }
      return a.count == b.count
        && a.allSatisfy { member in
          let others = b.filter { $0.key.utf8.elementsEqual(member.key.utf8) }
          return others.count == 1 && same(member.value, others[0].value)
        }
    case (.array(let a), .array(let b)):
      return a.count == b.count && zip(a, b).allSatisfy { same($0, $1) }
    case (.number(let a), .number(let b)):
      return a == b || Double(a) != nil && Double(a) == Double(b)
    default: return left == right
    }
  }

  private static func isEmptyTable(_ value: JSONValue) -> Bool {
    if case .object(let members) = value { members.isEmpty } else { false }
  }

  // MARK: - Setting

  private mutating func set(_ value: JSONValue, at path: [String]) throws(Failure) {
    let text = try TOMLWriter.inline(value)
    if let entry = map.entries.first(where: { $0.path == path }) {
      replace(entry.value, by: text)
      return
    }
    // The value may be spread over lines: [login.body], login.body.email = …
    remove(at: path)
    if path.count == 1 {
      insertAtRoot("\(TOMLWriter.key(path)) = \(text)\n")
      return
    }
    let table = [path[0]]
    let direct = map.entries.last {
      $0.isStatement && $0.path.count == 2 && $0.path[0] == path[0] && $0.header.count < 2
    }
    if let direct {
      let key = TOMLWriter.key(Array(path.dropFirst(direct.header.count)))
      insert("\(key) = \(text)\n", at: lineEnd(direct.value.upperBound))
    } else if let header = map.headers.first(where: { $0.path == table }) {
      insert("\(TOMLWriter.key([path[1]])) = \(text)\n", at: lineEnd(header.range.upperBound))
    } else if let inline = map.entries.first(where: { $0.path == table }) {
      insertMember("\(TOMLWriter.key([path[1]])) = \(text)", into: inline)
    } else {
      endWithNewline()
      let gap = bytes.isEmpty ? "" : "\n"
      insert(
        "\(gap)[\(TOMLWriter.key(table))]\n\(TOMLWriter.key([path[1]])) = \(text)\n",
        at: bytes.count)
    }
  }

  private mutating func insertAtRoot(_ line: String) {
    if let last = map.entries.last(where: { $0.isStatement && $0.header.isEmpty }) {
      insert(line, at: lineEnd(last.value.upperBound))
    } else if let first = map.headers.first {
      insert(line + "\n", at: commentStart(before: lineStart(first.range.lowerBound)))
    } else {
      endWithNewline()
      insert(line, at: bytes.count)
    }
  }

  /// Adds a member at the end of an inline table.
  private mutating func insertMember(_ text: String, into entry: TOMLMap.Entry) {
    let hasMembers = map.entries.contains {
      $0.path.count > entry.path.count && $0.path.starts(with: entry.path)
    }
    var end = entry.value.upperBound - 1
    while end > entry.value.lowerBound, Self.isBlank(bytes[end - 1]) { end -= 1 }
    let close = entry.value.upperBound - 1
    bytes.replaceSubrange(end..<close, with: Array(((hasMembers ? ", " : " ") + text + " ").utf8))
    refresh()
  }

  // MARK: - Removing

  private mutating func remove(at path: [String]) {
    // From the end, so that what stands before keeps its place.
    while let header = map.headers.last(where: { $0.path.starts(with: path) }) {
      let next = map.headers.first { $0.range.lowerBound > header.range.lowerBound }
      let last = map.entries.last {
        $0.isStatement && $0.start > header.range.lowerBound
          && $0.start < next?.range.lowerBound ?? .max
      }
      let end = lineEnd(last?.value.upperBound ?? header.range.upperBound)
      removeBytes(lineStart(header.range.lowerBound)..<end)
    }
    while let entry = map.entries.last(where: { $0.isStatement && $0.path.starts(with: path) }) {
      removeBytes(lineStart(entry.start)..<lineEnd(entry.value.upperBound))
    }
    if let entry = map.entries.first(where: { $0.path == path }) { removeMember(entry) }
  }

  /// Removes a member of an inline table with one of the commas around it.
  private mutating func removeMember(_ entry: TOMLMap.Entry) {
    var range = entry.start..<entry.value.upperBound
    var next = range.upperBound
    while next < bytes.count, Self.isBlank(bytes[next]) { next += 1 }
    if next < bytes.count, bytes[next] == UInt8(ascii: ",") {
      next += 1
      while next < bytes.count, Self.isBlank(bytes[next]) { next += 1 }
      range = range.lowerBound..<next
    } else {
      var start = range.lowerBound
      while start > 0, Self.isBlank(bytes[start - 1]) { start -= 1 }
      if start > 0, bytes[start - 1] == UInt8(ascii: ",") { range = (start - 1)..<range.upperBound }
    }
    removeBytes(range)
  }

  // MARK: - Bytes

  private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

  private mutating func refresh() { map = TOMLMap(bytes) }

  private mutating func replace(_ range: Range<Int>, by text: String) {
    bytes.replaceSubrange(range, with: Array(text.utf8))
    refresh()
  }

  private mutating func insert(_ text: String, at offset: Int) {
    var text = Array(text.utf8)
    if offset > 0, bytes[offset - 1] != 0x0A { text.insert(0x0A, at: 0) }
    bytes.insert(contentsOf: text, at: offset)
    refresh()
  }

  private mutating func removeBytes(_ range: Range<Int>) {
    bytes.removeSubrange(range)
    refresh()
  }

  private mutating func endWithNewline() {
    if let last = bytes.last, last != 0x0A { bytes.append(0x0A) }
  }

  private func lineStart(_ offset: Int) -> Int {
    (bytes[..<offset].lastIndex(of: 0x0A) ?? -1) + 1
  }

  /// The start of the line after that of `offset`.
  private func lineEnd(_ offset: Int) -> Int {
    bytes[offset...].firstIndex(of: 0x0A).map { $0 + 1 } ?? bytes.count
  }

  /// The start of the comment lines right above a line: they belong to what is below them.
  private func commentStart(before offset: Int) -> Int {
    var start = offset
    while start > 0 {
      let above = lineStart(start - 1)
      guard bytes[above..<start].first(where: { !Self.isBlank($0) }) == UInt8(ascii: "#") else {
        break
      }
      start = above
    }
    return start
  }
}
