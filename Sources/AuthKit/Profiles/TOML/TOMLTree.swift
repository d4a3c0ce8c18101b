/// A TOML 1.0 document (https://toml.io/en/v1.0.0): its values in the order of the text, each with
/// the place where it is written. `TOMLParser` makes it, `TOMLEdit` changes its text.
///
/// Nothing in this folder knows the rest of the program.
struct TOMLTree: Sendable {
  /// The text.
  let bytes: [UInt8]
  /// All tables, arrays and values; the first is the document's root table.
  var nodes = [TOMLNode(key: "", parent: 0, level: 0, start: 0, value: .table, origin: .header)]
  /// The lines that are not empty, in the order of the text.
  var statements: [TOMLStatement] = []
  private var members: [TOMLMemberName: Int] = [:]

  /// How deep values may lie in one another: names of a dotted key and brackets in brackets.
  static let maximumDepth = 64

  init(of bytes: [UInt8]) { self.bytes = bytes }

  /// The document's root table.
  var root: TOMLNode { nodes[0] }

  /// The number of the node called `key` in a table, which is given by its number.
  func member(_ key: String, of table: Int) -> Int? {
    members[TOMLMemberName(table: table, key: key)]
  }

  /// The number of the node at `path`, names from the root; elements of arrays by their index.
  func find(_ path: [String]) -> Int? {
    let found = nearest(path)
    return found.depth == path.count ? found.node : nil
  }

  /// The node at `path`, or the innermost one around it, and how many of the names led there.
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

  /// The names from `ancestor` down to `node`; elements of arrays have none.
  func path(of node: Int, from ancestor: Int = 0) -> [String] {
    var path: [String] = []
    var node = node
    while node > 0, node != ancestor {
      if nodes[nodes[node].parent].value == .table { path.append(nodes[node].key) }
      node = nodes[node].parent
    }
    return path.reversed()
  }

  /// Whether `node` is `ancestor` or lies in it.
  func isInside(_ node: Int, _ ancestor: Int) -> Bool {
    var node = node
    // A node comes after those that it lies in.
    while node > ancestor { node = nodes[node].parent }
    return node == ancestor
  }

  /// The line and the column of a byte.
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
  /// Its name in the table that it is a member of; empty in arrays.
  var key: String
  /// The number of the table or array that it lies in.
  var parent: Int
  /// How many tables and arrays it lies in.
  var level: Int
  /// The first byte of what names it: its key, its header's bracket; in an array its own.
  var start: Int
  var value: TOMLValue
  /// What made it; this decides who may add to it.
  var origin: Origin
  /// The bytes of the value; none for tables of headers and dotted keys.
  var range = 0..<0
  /// The numbers of its members or elements, in the order of the text.
  var children: [Int] = []

  /// What made a node.
  enum Origin: Equatable, Sendable {
    /// It is written as a value, `[ ]` and `{ }` too: nothing can be added.
    case value
    /// `[a.b]` has made `a`; a header of its own may follow.
    case implied
    /// `[a]` or `[[a]]`.
    case header
    /// `a.b = 1` has made `a` below the table of that number; dotted keys there may add to it.
    case dotted(in: Int)
  }
}

/// What a node is.
enum TOMLValue: Equatable, Sendable {
  case string(String)
  case integer(Int)
  case float(Double)
  case boolean(Bool)
  // Dates and times as they are written.
  case offsetDateTime(String)
  case localDateTime(String)
  case localDate(String)
  case localTime(String)
  case array
  case table
}

/// A header, or a key with its value.
struct TOMLStatement: Sendable {
  /// From the first byte of the bracket or the key to behind the last.
  var range: Range<Int>
  /// The number of the node that it makes.
  var node: Int
  /// The number of the table that the header before it opened; a header's own.
  var table: Int

  var isHeader: Bool { node == table }
}

/// A place in a text; line and column begin at 1, a column is a Unicode scalar.
struct TOMLPlace: Equatable, Sendable {
  /// In bytes from the start.
  var offset: Int
  var line: Int
  var column: Int
}

/// Why a text is not TOML.
struct TOMLError: Error, Equatable, Sendable {
  var place: TOMLPlace
  /// What is wrong or was expected. It may name a key of the text.
  var message: String
}

/// Names are compared by bytes; equality of Swift strings is canonical equivalence.
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
