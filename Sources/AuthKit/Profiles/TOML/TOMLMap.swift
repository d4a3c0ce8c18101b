/// Where the keys of a TOML text stand: places for messages, byte ranges for edits.
///
/// toml++ tells places for syntax errors only, and keeps neither order nor comments. This scanner
/// reads keys and skips values; what they mean is for TOMLKit to say.
///
/// It is also the guard before TOMLKit: toml++ 3.4 ends the process by an assertion on some wrong
/// texts (found by mutating good ones), so it is given only what this scanner could follow.
struct TOMLMap {
  /// A key with its value.
  struct Entry {
    /// All names from the root, those of the header too; elements of arrays by their index.
    var path: [String]
    /// From the first byte of the key on.
    var start: Int
    var value: Range<Int>
    /// The names of the header that it stands under.
    var header: [String]
    /// Whether it is a line of its own, not a member of an inline table.
    var isStatement: Bool
  }

  /// `[a.b]` or `[[a.b]]`.
  struct Header {
    var path: [String]
    /// From the bracket to behind the closing one.
    var range: Range<Int>
  }

  private(set) var entries: [Entry] = []
  private(set) var headers: [Header] = []
  /// Where reading stopped because this is not TOML, and why.
  private(set) var broken: (place: String, why: String)?
  /// Where nesting went beyond `maximumDepth`.
  private(set) var tooDeep: String?

  /// Brackets in brackets, and names in a dotted key (security rule B5).
  static let maximumDepth = 64

  private let bytes: [UInt8]
  private var at = 0
  private var header: [String] = []

  private enum Stop: Error {
    case broken(String)
    case tooDeep
  }

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    do {
      try scan()
    } catch {
      switch error {
      case .broken(let why): broken = (place(at: at), why)
      case .tooDeep: tooDeep = place(at: at)
      }
    }
  }

  /// Line and column, `7:3`, of the key at `path`, or of the nearest table around it.
  func place(of path: [String]) -> String? { start(of: path).map(place) }

  /// The first byte of the key at `path`, or of the nearest table around it.
  func start(of path: [String]) -> Int? {
    var path = path
    while !path.isEmpty {
      let start =
        entries.first { $0.path == path }?.start
        ?? headers.first { $0.path == path }?.range.lowerBound
        ?? entries.first { $0.path.starts(with: path) }?.start
        ?? headers.first { $0.path.starts(with: path) }?.range.lowerBound
      if let start { return start }
      path.removeLast()
    }
    return nil
  }

  /// Line and column of a byte, both from 1; a column is a Unicode scalar.
  private func place(at offset: Int) -> String {
    let before = bytes[..<min(offset, bytes.count)]
    let line = before.count { $0 == 0x0A } + 1
    let start = before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
    return "\(line):\(before[start...].count { $0 & 0xC0 != 0x80 } + 1)"
  }

  // MARK: - Reading

  private var byte: UInt8? { at < bytes.count ? bytes[at] : nil }

  private func peek(_ text: StaticString) -> Bool {
    let wanted = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
    return bytes[min(at, bytes.count)...].starts(with: wanted)
  }

  private mutating func step() {
    at += 1
  }

  private mutating func skipBlanks() {
    while let byte, byte == 0x20 || byte == 0x09 { at += 1 }
  }

  private mutating func skipComment() {
    guard byte == UInt8(ascii: "#") else { return }
    while let byte, byte != UInt8(ascii: "\n") { at += 1 }
  }

  /// Blanks, line ends and comments, as between the elements of an array.
  private mutating func skipSpace() {
    while let byte {
      switch byte {
      case 0x20, 0x09, 0x0A: step()
      case 0x0D where at + 1 < bytes.count && bytes[at + 1] == 0x0A: at += 1
      case UInt8(ascii: "#"): skipComment()
      default: return
      }
    }
  }

  private mutating func expect(_ wanted: UInt8) throws(Stop) {
    guard byte == wanted else {
      throw .broken("expected \(Character(Unicode.Scalar(wanted)))")
    }
    at += 1
  }

  private mutating func scan() throws(Stop) {
    if peek("\u{FEFF}") { at += 3 }
    while true {
      skipSpace()
      guard let byte else { return }
      if byte == UInt8(ascii: "[") {
        try scanHeader()
      } else {
        try scanEntry(under: header, isStatement: true, depth: header.count)
      }
      skipBlanks()
      skipComment()
      if self.byte == 0x0D { at += 1 }
      guard self.byte == nil || self.byte == 0x0A else {
        throw .broken("more on the line than a key and its value")
      }
    }
  }

  private mutating func scanHeader() throws(Stop) {
    let start = at
    at += 1
    let isArray = byte == UInt8(ascii: "[")
    if isArray { at += 1 }
    skipBlanks()
    header = try scanKey()
    try expect(UInt8(ascii: "]"))
    if isArray { try expect(UInt8(ascii: "]")) }
    headers.append(Header(path: header, range: start..<at))
  }

  private mutating func scanEntry(
    under parent: [String], isStatement: Bool, depth: Int
  ) throws(Stop) {
    let start = at
    let path = parent + (try scanKey())
    guard path.count <= Self.maximumDepth else { throw .tooDeep }
    try expect(UInt8(ascii: "="))
    skipBlanks()
    let index = entries.count
    entries.append(
      Entry(
        path: path, start: start, value: at..<at, header: header,
        isStatement: isStatement))
    let valueStart = at
    try scanValue(path, depth: max(depth, path.count))
    entries[index].value = valueStart..<at
  }

  /// A dotted key and the blanks behind it.
  private mutating func scanKey() throws(Stop) -> [String] {
    var path: [String] = []
    while true {
      skipBlanks()
      guard let byte else { throw .broken("expected a key") }
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "'"): path.append(try scanQuotedKey())
      default:
        let start = at
        while let byte = self.byte, Self.isBareKeyByte(byte) { at += 1 }
        guard at > start else { throw .broken("expected a key") }
        path.append(String(decoding: bytes[start..<at], as: UTF8.self))
      }
      guard path.count <= Self.maximumDepth else { throw .tooDeep }
      skipBlanks()
      guard self.byte == UInt8(ascii: ".") else { return path }
      at += 1
    }
  }

  static func isBareKeyByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
      true
    default: false
    }
  }

  private mutating func scanQuotedKey() throws(Stop) -> String {
    let quote = bytes[at]
    at += 1
    var text: [UInt8] = []
    while let byte, byte != quote, byte != 0x0A {
      at += 1
      guard byte == UInt8(ascii: "\\"), quote == UInt8(ascii: "\"") else {
        text.append(byte)
        continue
      }
      guard let escape = self.byte else { throw .broken("a quotation is not closed") }
      at += 1
      switch escape {
      case UInt8(ascii: "b"): text.append(0x08)
      case UInt8(ascii: "t"): text.append(0x09)
      case UInt8(ascii: "n"): text.append(0x0A)
      case UInt8(ascii: "f"): text.append(0x0C)
      case UInt8(ascii: "r"): text.append(0x0D)
      case UInt8(ascii: "u"), UInt8(ascii: "U"):
        let count = escape == UInt8(ascii: "u") ? 4 : 8
        guard at + count <= bytes.count,
          let code = UInt32(String(decoding: bytes[at..<(at + count)], as: UTF8.self), radix: 16),
          let scalar = Unicode.Scalar(code)
        else { throw .broken("no such character in an escape") }
        text += Array(String(Character(scalar)).utf8)
        at += count
      default: text.append(escape)
      }
    }
    try expect(quote)
    return String(decoding: text, as: UTF8.self)
  }

  private mutating func scanValue(_ path: [String], depth: Int) throws(Stop) {
    guard depth <= Self.maximumDepth else { throw .tooDeep }
    if peek("\"\"\"") { return try skipString(UInt8(ascii: "\""), quotes: 3) }
    if peek("'''") { return try skipString(UInt8(ascii: "'"), quotes: 3) }
    switch byte {
    case UInt8(ascii: "\""): try skipString(UInt8(ascii: "\""), quotes: 1)
    case UInt8(ascii: "'"): try skipString(UInt8(ascii: "'"), quotes: 1)
    case UInt8(ascii: "["): try scanArray(path, depth: depth + 1)
    case UInt8(ascii: "{"): try scanInlineTable(path, depth: depth + 1)
    default:
      let start = at
      while let byte, Self.isScalarByte(byte) { at += 1 }
      while at > start, bytes[at - 1] == 0x20 || bytes[at - 1] == 0x09 { at -= 1 }
      guard at > start else { throw .broken("expected a value") }
    }
  }

  /// Numbers, true, false, inf, nan, dates; a date and its time may have a space between them.
  private static func isScalarByte(_ byte: UInt8) -> Bool {
    isBareKeyByte(byte) || byte == UInt8(ascii: "+") || byte == UInt8(ascii: ".")
      || byte == UInt8(ascii: ":") || byte == 0x20
  }

  private mutating func skipString(_ quote: UInt8, quotes: Int) throws(Stop) {
    at += quotes
    while let byte {
      if byte == UInt8(ascii: "\\"), quote == UInt8(ascii: "\"") {
        at += 1
        if at < bytes.count { step() }
        continue
      }
      guard byte == quote else {
        if quotes == 1, byte == 0x0A { throw .broken("a quotation is not closed") }
        step()
        continue
      }
      if quotes == 1 {
        at += 1
        return
      }
      var run = 0
      while self.byte == quote, run < 5 {
        at += 1
        run += 1
      }
      // Up to two quotation marks may stand right before the closing three.
      if run >= 3 { return }
    }
    throw .broken("a quotation is not closed")
  }

  private mutating func scanArray(_ path: [String], depth: Int) throws(Stop) {
    at += 1
    var index = 0
    while true {
      skipSpace()
      if byte == UInt8(ascii: "]") { break }
      try scanValue(path + ["\(index)"], depth: depth)
      index += 1
      skipSpace()
      if byte == UInt8(ascii: "]") { break }
      try expect(UInt8(ascii: ","))
    }
    at += 1
  }

  private mutating func scanInlineTable(_ path: [String], depth: Int) throws(Stop) {
    at += 1
    skipBlanks()
    // TOML 1.0: no line ends and no comma before the closing brace.
    if byte == UInt8(ascii: "}") {
      at += 1
      return
    }
    while true {
      try scanEntry(under: path, isStatement: false, depth: depth)
      skipBlanks()
      if byte == UInt8(ascii: "}") { break }
      try expect(UInt8(ascii: ","))
      skipBlanks()
    }
    at += 1
  }
}
