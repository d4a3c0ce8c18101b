/// Parses TOML 1.0: exactly what its grammar and its text allow.
///
/// Each byte is read a bounded number of times and nesting is bounded, so that time and stack
/// depend only on the length of the text. Where TOML leaves a choice: a line end in a string is
/// always a line feed, and second 60 is refused.
struct TOMLParser {
  private var tree: TOMLTree
  private let bytes: [UInt8]
  private var at = 0
  /// The number of the table that the last header opened.
  private var section = 0

  /// Parses `bytes`.
  ///
  /// - Throws: the first `TOMLError` in the text.
  static func parse(_ bytes: [UInt8]) throws(TOMLError) -> TOMLTree {
    var parser = TOMLParser(bytes)
    do throws(UTF8.ValidationError) { _ = try UTF8Span(validating: bytes.span) } catch {
      throw parser.error("not UTF-8", at: error.byteOffsets.lowerBound)
    }
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) {
      throw parser.error("a byte order mark, which TOML does not allow")
    }
    try parser.document()
    return parser.tree
  }

  private init(_ bytes: [UInt8]) {
    self.bytes = bytes
    tree = TOMLTree(of: bytes)
  }

  private func error(_ message: String, at offset: Int? = nil) -> TOMLError {
    TOMLError(place: tree.place(at: offset ?? at), message: message)
  }

  // MARK: - Bytes

  /// The next byte as a character; at the end, NUL, which no TOML text contains. A byte beyond
  /// ASCII is a character that TOML does not use.
  private var next: Unicode.Scalar { at < bytes.count ? Unicode.Scalar(bytes[at]) : "\0" }

  /// Skips `character`, which is not NUL, if it is next.
  private mutating func skip(_ character: Unicode.Scalar) -> Bool {
    guard next == character else { return false }
    at += 1
    return true
  }

  private mutating func skipBlanks() {
    while next == " " || next == "\t" { at += 1 }
  }

  private mutating func skipLineEnd() -> Bool {
    if skip("\n") { return true }
    guard next == "\r", at + 1 < bytes.count, bytes[at + 1] == 0x0A else { return false }
    at += 2
    return true
  }

  /// Skips what may follow a value: blanks and a comment.
  private mutating func skipComment() throws(TOMLError) {
    skipBlanks()
    guard skip("#") else { return }
    while isText { at += 1 }
    guard at == bytes.count || next == "\n" || next == "\r" else {
      throw error("a control character in a comment")
    }
  }

  /// Skips blanks, line ends and comments, as between the elements of an array.
  private mutating func skipSpace() throws(TOMLError) {
    repeat { try skipComment() } while skipLineEnd()
  }

  /// Whether the next byte may be in a comment or, unescaped, in a string.
  private var isText: Bool {
    switch next {
    case "\0"..."\u{8}", "\n"..."\u{1F}", "\u{7F}": false
    default: true
    }
  }

  // MARK: - Statements

  private mutating func document() throws(TOMLError) {
    while true {
      try skipSpace()
      if at == bytes.count { return }
      if next == "[" { try header() } else { try entry(in: section, isStatement: true) }
      try skipComment()
      guard at == bytes.count || skipLineEnd() else { throw error("expected the end of the line") }
    }
  }

  /// Reads `[a.b]` or `[[a.b]]`.
  private mutating func header() throws(TOMLError) {
    let start = at
    at += 1
    let isArray = skip("[")
    var names = try key()
    let last = names.removeLast()
    guard skip("]") else { throw error("expected ]") }
    guard !isArray || skip("]") else { throw error("expected ]]") }
    var table = 0
    for name in names { table = try step(into: name, of: table, by: .implied, start: start) }
    let found = tree.member(last, of: table)
    if isArray {
      if let found, tree.nodes[found].value != .array || tree.nodes[found].origin != .header {
        throw taken(found, at: start)
      }
      let array =
        if let found { found } else {
          try add(last, to: table, .array, by: .header, start: start)
        }
      section = try add("", to: array, .table, by: .header, start: start)
    } else if let found {
      guard tree.nodes[found].value == .table, tree.nodes[found].origin == .implied else {
        throw taken(found, at: start)
      }
      tree.nodes[found].origin = .header
      tree.nodes[found].start = start
      section = found
    } else {
      section = try add(last, to: table, .table, by: .header, start: start)
    }
    tree.statements.append(TOMLStatement(range: start..<at, node: section, table: section))
  }

  /// Reads a key and its value, in the table of a header or in an inline table.
  private mutating func entry(in table: Int, isStatement: Bool) throws(TOMLError) {
    let start = at
    var names = try key()
    let last = names.removeLast()
    guard skip("=") else { throw error("expected =") }
    skipBlanks()
    var parent = table
    for name in names {
      parent = try step(into: name, of: parent, by: .dotted(in: table), start: start)
    }
    if let found = tree.member(last, of: parent) { throw taken(found, at: start) }
    let node = try add(last, to: parent, .table, by: .value, start: start)
    try value(of: node)
    if isStatement {
      tree.statements.append(TOMLStatement(range: start..<at, node: node, table: table))
    }
  }

  /// The table `name` in `table` for a header (`.implied`) or a dotted key, created if it is
  /// missing.
  private mutating func step(
    into name: String, of table: Int, by origin: TOMLNode.Origin, start: Int
  ) throws(TOMLError) -> Int {
    guard let found = tree.member(name, of: table) else {
      return try add(name, to: table, .table, by: origin, start: start)
    }
    let node = tree.nodes[found]
    switch (node.value, node.origin) {
    case (.table, .implied):
      tree.nodes[found].origin = origin
      return found
    case (.table, .header) where origin == .implied: return found
    case (.table, .dotted) where origin == .implied || origin == node.origin: return found
    case (.array, .header) where origin == .implied: return node.children.last ?? found
    default: throw taken(found, at: start)
    }
  }

  private mutating func add(
    _ key: String, to parent: Int, _ value: TOMLValue, by origin: TOMLNode.Origin, start: Int
  ) throws(TOMLError) -> Int {
    let level = tree.nodes[parent].level + 1
    guard level <= TOMLTree.maximumDepth else { throw tooDeep(at: start) }
    return tree.add(
      TOMLNode(
        key: key, parent: parent, level: level, start: start, value: value, origin: origin))
  }

  private func tooDeep(at offset: Int? = nil) -> TOMLError {
    error("nested deeper than \(TOMLTree.maximumDepth) levels", at: offset)
  }

  /// The error if `node` cannot be defined, or added to, at `offset`.
  private func taken(_ node: Int, at offset: Int) -> TOMLError {
    let line = tree.place(at: tree.nodes[node].start).line
    let name = TOMLWriter.key(tree.path(of: node))
    return error("\(name) is already defined on line \(line)", at: offset)
  }

  // MARK: - Keys

  /// Reads a dotted key and the blanks around it.
  private mutating func key() throws(TOMLError) -> [String] {
    var names: [String] = []
    repeat {
      skipBlanks()
      guard names.count < TOMLTree.maximumDepth else { throw tooDeep() }
      let start = at
      if next == "\"" || next == "'" {
        names.append(try string(isKey: true))
      } else {
        while at < bytes.count, TOMLWriter.isBare(bytes[at]) { at += 1 }
        guard at > start else { throw error("expected a key") }
        names.append(String(decoding: bytes[start..<at], as: UTF8.self))
      }
      skipBlanks()
    } while skip(".")
    return names
  }

  // MARK: - Values

  private mutating func value(of node: Int) throws(TOMLError) {
    let start = at
    switch next {
    case "[":
      tree.nodes[node].value = .array
      try array(node)
    case "{": try inlineTable(node)
    case "\"", "'": tree.nodes[node].value = .string(try string(isKey: false))
    default: tree.nodes[node].value = try scalar()
    }
    tree.nodes[node].range = start..<at
  }

  private mutating func array(_ node: Int) throws(TOMLError) {
    at += 1
    while true {
      try skipSpace()
      if skip("]") { return }
      try value(of: try add("", to: node, .table, by: .value, start: at))
      try skipSpace()
      if skip("]") { return }
      guard skip(",") else { throw error("expected , or ]") }
    }
  }

  private mutating func inlineTable(_ node: Int) throws(TOMLError) {
    at += 1
    skipBlanks()
    if skip("}") { return }
    repeat {
      skipBlanks()
      try entry(in: node, isStatement: false)
      skipBlanks()
    } while skip(",")
    guard skip("}") else { throw error("expected , or }") }
  }

  private mutating func scalar() throws(TOMLError) -> TOMLValue {
    let start = at
    skipWord()
    guard at > start else { throw error("expected a value") }
    // A date and its time may be separated by a blank.
    if at - start == 10, bytes[start + 4] == UInt8(ascii: "-"), next == " ", at + 1 < bytes.count,
      "0"..."9" ~= Unicode.Scalar(bytes[at + 1])
    {
      at += 1
      skipWord()
    }
    do throws(TOMLScalar.Mistake) { return try TOMLScalar.value(bytes[start..<at]) } catch {
      throw self.error(error.rawValue, at: start)
    }
  }

  private mutating func skipWord() {
    while at < bytes.count,
      TOMLWriter.isBare(bytes[at]) || next == "+" || next == "." || next == ":"
    {
      at += 1
    }
  }

  // MARK: - Strings

  /// Reads a string of any of the four kinds; a key has one line.
  private mutating func string(isKey: Bool) throws(TOMLError) -> String {
    let start = at
    let quote = next
    at += 1
    var isMultiline = false
    if skip(quote) {
      guard !isKey, skip(quote) else { return "" }
      isMultiline = true
      _ = skipLineEnd()
    }
    var text: [UInt8] = []
    while true {
      let run = at
      while isText, next != quote, next != "\\" || quote == "'" { at += 1 }
      text += bytes[run..<at]
      switch next {
      case quote:
        let quotes = skipQuotes(quote, atMost: isMultiline ? 5 : 1)
        // Up to two quotation marks may come right before the closing three.
        let closing = isMultiline ? 3 : 1
        text += [UInt8](repeating: UInt8(quote.value), count: quotes % closing)
        if quotes >= closing { return String(decoding: text, as: UTF8.self) }
      case "\\": try escape(into: &text, isMultiline: isMultiline)
      case "\n", "\r":
        guard isMultiline else { throw error("this string is not closed on its line", at: start) }
        guard skipLineEnd() else { throw error("a carriage return without a line feed") }
        text.append(0x0A)
      default:
        if at == bytes.count { throw error("this string is not closed", at: start) }
        throw error("a control character in a string")
      }
    }
  }

  private mutating func skipQuotes(_ quote: Unicode.Scalar, atMost limit: Int) -> Int {
    var count = 0
    while count < limit, skip(quote) { count += 1 }
    return count
  }

  private mutating func escape(into text: inout [UInt8], isMultiline: Bool) throws(TOMLError) {
    let start = at
    at += 1
    switch next {
    case "b": text.append(0x08)
    case "t": text.append(0x09)
    case "n": text.append(0x0A)
    case "f": text.append(0x0C)
    case "r": text.append(0x0D)
    case "\"", "\\": text.append(bytes[at])
    case "u", "U":
      let count = next == "u" ? 4 : 8
      let digits = bytes[(at + 1)...].prefix(count)
      guard digits.count == count,
        digits.allSatisfy({ Unicode.Scalar($0).properties.isASCIIHexDigit }),
        let code = UInt32(String(decoding: digits, as: UTF8.self), radix: 16),
        let scalar = Unicode.Scalar(code)
      else { throw error("expected the \(count) hexadecimal digits of a character", at: start) }
      text += UTF8.encode(scalar).map(Array.init) ?? []
      at += count
    case " ", "\t", "\r", "\n":
      // A line end and all white space up to the next character are not in the string.
      skipBlanks()
      guard isMultiline, skipLineEnd() else { throw error("unknown escape", at: start) }
      repeat { skipBlanks() } while skipLineEnd()
      return
    default: throw error("unknown escape", at: start)
    }
    at += 1
  }
}
