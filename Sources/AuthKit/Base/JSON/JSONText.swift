/// A JSON text as received, checked once and then read in place.
///
/// It takes only its own length, because no tree is built. A tree of `[[],[],[],…]` takes thirty
/// times that.
package struct JSONText {
  /// The type of the value.
  package enum Kind: Sendable {
    case null, bool, number, string, array, object
  }

  private let source: ByteBuffer
  /// The value, without the white space around it.
  private let range: Range<Int>

  /// The text in `source`, which must not change afterwards.
  ///
  /// - Throws: `JSONError` if it is not one JSON text.
  package init(_ source: ByteBuffer) throws(JSONError) {
    self.source = source
    range = try source.withBytes { (bytes) throws(JSONError) in
      try JSONValue.check(bytes)
      var reader = JSONReader(bytes, at: bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0)
      reader.skipSpace()
      return reader.value()
    }
  }

  private init(_ source: ByteBuffer, _ range: Range<Int>) {
    self.source = source
    self.range = range
  }

  private func read<R, E: Error>(
    at place: Int, _ body: (inout JSONReader) throws(E) -> R
  ) throws(E) -> R {
    try source.withBytes { (bytes) throws(E) in
      var reader = JSONReader(bytes, at: place)
      return try body(&reader)
    }
  }

  /// The type of the value, by its first byte.
  package var kind: Kind {
    switch read(at: range.lowerBound, { $0.byte }) {
    case UInt8(ascii: "{"): .object
    case UInt8(ascii: "["): .array
    case UInt8(ascii: "\""): .string
    case UInt8(ascii: "t"), UInt8(ascii: "f"): .bool
    case UInt8(ascii: "n"): .null
    default: .number
    }
  }

  // MARK: - Parts

  /// Returns what `pointer` names (RFC 6901): `""` is the whole value; nil when there is nothing.
  ///
  /// - Throws: `JSONPointerError`, as `JSONValue.at` does.
  package func at(_ pointer: String) throws(JSONPointerError) -> JSONText? {
    guard let steps = JSONValue.steps(pointer) else { throw .malformed }
    var value = self
    for step in steps {
      guard let part = try value.part(step) else { return nil }
      value = part
    }
    return value
  }

  private func part(_ step: [UInt8]) throws(JSONPointerError) -> JSONText? {
    switch kind {
    case .object:
      return try read(at: range.lowerBound) { (reader) throws(JSONPointerError) in
        var found: Range<Int>?
        reader.enter()
        while let (key, value) = reader.member() {
          guard reader.string(key, is: step) else { continue }
          guard found == nil else { throw .doubledKey(String(decoding: step, as: UTF8.self)) }
          found = value
        }
        return found.map { JSONText(source, $0) }
      }
    case .array:
      guard let index = JSONValue.index(step) else { return nil }
      return read(at: range.lowerBound) { reader in
        reader.enter()
        for _ in 0..<index { guard reader.element() != nil else { return nil } }
        return reader.element().map { JSONText(source, $0) }
      }
    case .null, .bool, .number, .string: return nil
    }
  }

  /// Passes the elements of an array to `body` in order, until it returns false.
  package func forEachElement<E: Error>(_ body: (JSONText) throws(E) -> Bool) throws(E) {
    guard kind == .array else { return }
    try read(at: range.lowerBound) { (reader) throws(E) in
      reader.enter()
      while let element = reader.element() {
        guard try body(JSONText(source, element)) else { return }
      }
    }
  }

  /// Passes the members of an object to `body` in order, including duplicate keys.
  package func forEachMember<E: Error>(
    _ body: (_ key: String, JSONText) throws(E) -> Void
  ) throws(E) {
    guard kind == .object else { return }
    try read(at: range.lowerBound) { (reader) throws(E) in
      reader.enter()
      while let (key, value) = reader.member() {
        try body(reader.text(key), JSONText(source, value))
      }
    }
  }

  /// Returns the first keys of an object, each cut at 256 bytes.
  package func keys(most: Int) -> [String] {
    var keys: [String] = []
    guard kind == .object else { return keys }
    read(at: range.lowerBound) { reader in
      reader.enter()
      while keys.count < most, let (key, _) = reader.member() {
        keys.append(reader.text(key, most: 256))
      }
    }
    return keys
  }

  // MARK: - Values

  /// Returns the value as a tree.
  ///
  /// - Throws: `JSONError` when that would take more than `JSONValue.usualBudget` bytes of memory.
  package func tree() throws(JSONError) -> JSONValue {
    try source.withBytes { (bytes) throws(JSONError) in
      try JSONValue.parse(
        UnsafeRawBufferPointer(rebasing: bytes[range]), within: JSONValue.usualBudget)
    }
  }

  /// The value if it is short: no array or object, and at most 64 KiB.
  package var scalar: JSONValue? {
    if kind == .array || kind == .object || range.count > 65_536 { return nil }
    return try? tree()
  }

  /// Describes only names and types, like `JSONValue.shape`.
  package func shape(depth: Int = 2) -> String { sketch(depth).shape(depth: depth) }

  /// Builds only as much of the tree as `shape` shows.
  private func sketch(_ depth: Int) -> JSONValue {
    switch kind {
    case .null: return .null
    case .bool: return .bool(true)
    case .number: return .number("0")
    case .string: return .string("")
    case .array:
      var first: JSONValue?
      forEachElement { element in
        first = depth > 0 ? element.sketch(depth - 1) : .null
        return false
      }
      return .array(first.map { [$0] } ?? [])
    case .object:
      var members: [(key: String, value: JSONValue)] = []
      read(at: range.lowerBound) { reader in
        reader.enter()
        // Each takes at least two characters of a shape, which has 200.
        while members.count < 100, let (key, value) = reader.member() {
          let part = depth > 0 ? JSONText(source, value).sketch(depth - 1) : .null
          members.append((reader.text(key, most: 256), part))
        }
      }
      return .object(members)
    }
  }

  /// The text of a string.
  package var text: String? {
    guard kind == .string else { return nil }
    return read(at: range.lowerBound) { $0.text(inside) }
  }

  /// A string without its quotes.
  private var inside: Range<Int> { range.lowerBound + 1..<range.upperBound - 1 }

  // MARK: - Writing

  /// Lends the text as received for the duration of `body`.
  func withBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    try source.withBytes { (bytes) throws(E) in
      try body(UnsafeRawBufferPointer(rebasing: bytes[range]))
    }
  }

  /// The length of the text as written, in bytes.
  package var count: Int { range.count }

  /// Writes the compact text in pieces, as `JSONValue.serialized` returns it.
  package func write<E: Error>(to sink: (UnsafeRawBufferPointer) throws(E) -> Void) throws(E) {
    try write(JSONStyle(), to: sink)
  }

  /// Writes the text for people in pieces, as `JSONValue.prettyPrinted` returns it: white space
  /// makes a few bytes of nested arrays very long.
  package func writePretty<E: Error>(
    colour: Bool, to sink: (UnsafeRawBufferPointer) throws(E) -> Void
  ) throws(E) {
    try write(JSONStyle(isForPeople: true, colour: colour), to: sink)
  }

  /// Writes the text of a string in pieces, without quotes and escapes; nothing for any other type.
  package func writeText<E: Error>(to sink: (UnsafeRawBufferPointer) throws(E) -> Void) throws(E) {
    guard kind == .string else { return }
    try read(at: range.lowerBound) { (reader) throws(E) in
      try reader.forEachPiece(of: inside, sink)
    }
  }

  private func write<E: Error>(
    _ style: JSONStyle, to sink: (UnsafeRawBufferPointer) throws(E) -> Void
  ) throws(E) {
    try read(at: range.lowerBound) { (reader) throws(E) in
      try reader.write(upTo: range.upperBound, style, to: sink)
    }
  }
}
