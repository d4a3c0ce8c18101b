/// A TOML 1.0 document (https://toml.io/en/v1.0.0): its values in the order of the text, with their
/// places. `TOMLParser` makes it; `TOMLEdit` changes its text.
///
/// The files in this folder do not depend on the rest of the program.
struct TOMLTree: Sendable {
  /// The text.
  let bytes: [UInt8]
  /// All tables, arrays and values; the first is the document's root table.
  var nodes = [TOMLNode(key: "", parent: 0, level: 0, start: 0, value: .table, origin: .header)]
  /// The statements, in the order of the text.
  var statements: [TOMLStatement] = []
  private var members: [TOMLMemberName: Int] = [:]

  /// The maximum nesting: names of a dotted key, and brackets in brackets.
  static let maximumDepth = 64

  init(of bytes: [UInt8]) { self.bytes = bytes }

  /// The document's root table.
  var root: TOMLNode { nodes[0] }

  /// The number of the node called `key` in the table with the number `table`.
  func member(_ key: String, of table: Int) -> Int? {
    members[TOMLMemberName(table: table, key: key)]
  }

  /// The number of the node at `path`, names from the root; array elements by their index.
  func find(_ path: [String]) -> Int? {
    let found = nearest(path)
    return found.depth == path.count ? found.node : nil
  }

  /// The node at `path`, or the innermost one around it, and how many names led there.
  func nearest(_ path: [String]) -> (node: Int, depth: Int) {
    var node = 0
    for (depth, key) in path.enumerated() {
      var next = member(key, of: node)
      if nodes[node].value == .array, let index = Int(key), index >= 0 {
        next = nodes[node].children.dropFirst(index).first
      }
      guard let next else { return (node, depth) }
      node = next
    }
    return (node, path.count)
  }

  /// The names from `ancestor` down to `node`; array elements have none.
  func path(of node: Int, from ancestor: Int = 0) -> [String] {
    var path: [String] = []
    var node = node
    while node > 0, node != ancestor {
      if nodes[nodes[node].parent].value == .table { path.append(nodes[node].key) }
      node = nodes[node].parent
    }
    return path.reversed()
  }

  /// Whether `node` is `ancestor` or is inside it.
  func isInside(_ node: Int, _ ancestor: Int) -> Bool {
    var node = node
    // A node comes after those that contain it.
    while node > ancestor { node = nodes[node].parent }
    return node == ancestor
  }

  /// The line and column of a byte.
  func place(at offset: Int) -> TOMLPlace {
    let before = bytes[..<min(offset, bytes.count)]
    let lineStart = before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
    return TOMLPlace(
      offset: offset, line: before.count { $0 == 0x0A } + 1,
      column: before[lineStart...].count { $0 & 0xC0 != 0x80 } + 1)
  }

  /// Adds a node to a table or an array and returns its number.
  mutating func add(_ node: TOMLNode) -> Int {
    let number = nodes.count
    if nodes[node.parent].value == .table {
      members[TOMLMemberName(table: node.parent, key: node.key)] = number
    }
    nodes[node.parent].children.append(number)
    nodes.append(node)
    return number
  }
}

/// A value with its place.
struct TOMLNode: Sendable {
  /// Its name in its table; empty in arrays.
  var key: String
  /// The number of the table or array that contains it.
  var parent: Int
  /// How many tables and arrays contain it.
  var level: Int
  /// The first byte of its key or of its header's bracket; in an array, of the value.
  var start: Int
  var value: TOMLValue
  /// How it was defined, which decides what may add to it.
  var origin: Origin
  /// The bytes of the value; none for tables of headers and dotted keys.
  var range = 0..<0
  /// The numbers of its members or elements, in the order of the text.
  var children: [Int] = []

  /// How a node was defined.
  enum Origin: Equatable, Sendable {
    /// Written as a value, including `[ ]` and `{ }`: nothing can be added.
    case value
    /// `a` in `[a.b]`; a header of its own may follow.
    case implied
    /// `[a]` or `[[a]]`.
    case header
    /// `a` in `a.b = 1`, in the table with that number; dotted keys there may add to it.
    case dotted(in: Int)
  }
}

/// The value of a node.
enum TOMLValue: Equatable, Sendable {
  case string(String)
  case integer(Int)
  case float(Double)
  case boolean(Bool)
  // Dates and times as written.
  case offsetDateTime(String)
  case localDateTime(String)
  case localDate(String)
  case localTime(String)
  case array
  case table
}

/// A header, or a key with its value.
struct TOMLStatement: Sendable {
  /// From the first byte of the bracket or the key to after the last.
  var range: Range<Int>
  /// The number of the node that it defines.
  var node: Int
  /// The number of the table that the last header opened; for a header, its own table.
  var table: Int

  var isHeader: Bool { node == table }
}

/// A place in a text; line and column begin at 1, a column is a Unicode scalar.
struct TOMLPlace: Equatable, Sendable {
  /// The offset in bytes.
  var offset: Int
  var line: Int
  var column: Int
}

/// The reason why a text is not TOML.
struct TOMLError: Error, Equatable, Sendable {
  var place: TOMLPlace
  /// What is wrong or was expected. It may name a key of the text.
  var message: String
}

/// Compares names by bytes; Swift strings compare by canonical equivalence.
private struct TOMLMemberName: Hashable, Sendable {
  var table: Int
  var key: String

  static func == (left: Self, right: Self) -> Bool {
    left.table == right.table && left.key.utf8.elementsEqual(right.key.utf8)
  }

  func hash(into hasher: inout Hasher) {
    hasher.combine(table)
    var key = key
    key.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
  }
}
