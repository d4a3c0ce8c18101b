/// The body of a pasted curl command: fields and values in any encoding.
struct CurlBody {
  /// The encoding in the recipe.
  private(set) var encoding = RecipeRequest.Encoding.none
  /// The fields; those of a form are texts.
  private(set) var members: [(key: String, value: JSONValue)] = []
  /// The Content-Type, if it differs from the encoding's own.
  private(set) var contentType: String?
  /// Notes for the user.
  private(set) var notes: [String] = []

  /// Parses the body of `line`.
  ///
  /// - Throws: `Failure` of kind `usage`, without quoting it, if no recipe can express the body.
  init(_ line: CurlLine) throws(Failure) {
    let header = line.headers.first { $0.name.asciiLowercased == "content-type" }?.value ?? ""
    let type = Self.mediaType(header)
    guard line.parts.isEmpty else {
      encoding = .multipart
      members = line.parts.map { ($0.name, .string($0.value)) }
      return
    }
    guard let data = line.data, !data.isEmpty else { return }
    if type == "multipart/form-data" {
      encoding = .multipart
      members = try Self.multipart(Array(data.utf8), boundary: Self.boundary(header))
      return
    }
    let first = data.utf8.first { $0 > 0x20 }
    let isBraced = first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
    if line.isJSON || isBraced || Self.isJSON(type) {
      try readJSON(data)
      if type.isEmpty, !line.isJSON {
        notes.append("the body is JSON: it is sent as application/json")
      }
    } else {
      let isXML = first == UInt8(ascii: "<")
      guard data.utf8.contains(UInt8(ascii: "=")), !isXML else {
        throw Failure(
          .usage, "the body of the curl command is neither JSON nor a form",
          hint: "a profile can send only these two")
      }
      encoding = .form
      for pair in try FormText.pairs(data) { members.append((pair.name, .string(pair.value))) }
    }
    let implied = encoding == .json ? "application/json" : "application/x-www-form-urlencoded"
    if !type.isEmpty, type != implied { contentType = header }
  }

  private mutating func readJSON(_ text: String) throws(Failure) {
    let value: JSONValue
    do { value = try JSONValue.parse(text) } catch {
      throw Failure(
        .usage, "the body of the curl command is not JSON: \(error)",
        hint: "put the body in single quotes, as in -d '{\"name\":\"value\"}'")
    }
    guard case .object(let members) = value else {
      throw Failure(.usage, "the JSON body of the curl command must be an object")
    }
    encoding = .json
    self.members = members
  }

  // MARK: - Types

  /// `application/json` of `Application/JSON; charset=utf-8`.
  private static func mediaType(_ header: String) -> String {
    String(decoding: header.utf8.prefix { $0 != UInt8(ascii: ";") }, as: UTF8.self)
      .trimmingSpaces.asciiLowercased
  }

  private static func isJSON(_ type: String) -> Bool {
    type == "application/json" || type.ends(withBytesOf: "+json")
  }

  private static func boundary(_ header: String) -> [UInt8] {
    for parameter in header.utf8.split(separator: UInt8(ascii: ";")).dropFirst() {
      let text = String(decoding: parameter, as: UTF8.self).trimmingSpaces
      guard text.asciiLowercased.utf8.starts(with: "boundary=".utf8) else { continue }
      let value = text.utf8.dropFirst(9)
      return value.filter { $0 != UInt8(ascii: "\"") }
    }
    return []
  }

  // MARK: - Multipart, as browsers show it (RFC 7578)

  private static func multipart(
    _ bytes: [UInt8], boundary: [UInt8]
  ) throws(Failure) -> [(key: String, value: JSONValue)] {
    guard (1...70).contains(boundary.count) else { throw unreadable }
    let mark = Array("--".utf8) + boundary
    var members: [(key: String, value: JSONValue)] = []
    var starts = offsets(of: mark, in: bytes).makeIterator()
    guard var start = starts.next() else { throw unreadable }
    while let end = starts.next() {
      let part = bytes[(start + mark.count)..<end]
      members.append(try field(part))
      start = end
    }
    return members
  }

  private static let unreadable = Failure(
    .usage, "the multipart body of the curl command cannot be read",
    hint: "write it with -F NAME=VALUE")

  /// The offsets at which `mark` begins a line.
  private static func offsets(of mark: [UInt8], in bytes: [UInt8]) -> [Int] {
    var found: [Int] = []
    var isLineStart = true
    for index in bytes.indices {
      if isLineStart, bytes[index...].starts(with: mark) { found.append(index) }
      isLineStart = bytes[index] == UInt8(ascii: "\n")
    }
    return found
  }

  /// Reads a part: header lines up to an empty line, then the value, without the line end before
  /// the boundary.
  private static func field(
    _ part: ArraySlice<UInt8>
  ) throws(Failure) -> (key: String, value: JSONValue) {
    var rest = part
    var name: String?
    _ = takeLine(&rest)
    while true {
      guard let line = takeLine(&rest) else { throw unreadable }
      if line.isEmpty { break }
      let text = line.asciiLowercased
      guard text.utf8.starts(with: "content-disposition:".utf8) else { continue }
      for parameter in line.utf8.split(separator: UInt8(ascii: ";")).dropFirst() {
        let parameter = String(decoding: parameter, as: UTF8.self).trimmingSpaces
        let lower = parameter.asciiLowercased.utf8
        if lower.starts(with: "filename".utf8) {
          throw Failure(
            .usage, "the form of the curl command uploads a file, which a profile cannot do")
        }
        guard lower.starts(with: "name=".utf8) else { continue }
        let value = parameter.utf8.dropFirst(5).filter { $0 != UInt8(ascii: "\"") }
        name = String(decoding: value, as: UTF8.self)
      }
    }
    guard let name, rest.last == UInt8(ascii: "\n") else { throw unreadable }
    rest.removeLast()
    if rest.last == UInt8(ascii: "\r") { rest.removeLast() }
    return (name, .string(String(decoding: rest, as: UTF8.self)))
  }

  private static func takeLine(_ rest: inout ArraySlice<UInt8>) -> String? {
    guard let end = rest.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
    let line = String(decoding: rest[..<end], as: UTF8.self).trimmingLineEnd
    rest = rest[(end + 1)...]
    return line
  }
}

/// Names and values of application/x-www-form-urlencoded, in bodies and queries (URL standard).
enum FormText {
  /// `a=1&b` as pairs, decoded.
  ///
  /// - Throws: `Failure` of kind `usage` for text that is not UTF-8.
  static func pairs(_ text: String) throws(Failure) -> [(name: String, value: String)] {
    var pairs: [(name: String, value: String)] = []
    for pair in text.utf8.split(separator: UInt8(ascii: "&")) {
      let equals = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
      let value = pair[equals...].dropFirst()
      guard let name = decoded(pair[..<equals], plusIsSpace: true),
        let value = decoded(value, plusIsSpace: true)
      else {
        throw Failure(.usage, "a field of the curl command is not UTF-8")
      }
      pairs.append((name, value))
    }
    return pairs
  }

  /// Percent-decodes `text`; a `%` outside an escape stays. Nil if the result is not UTF-8.
  static func decoded(_ text: some Collection<UInt8>, plusIsSpace: Bool = false) -> String? {
    String(validating: percentDecoded(text, plusIsSpace: plusIsSpace), as: UTF8.self)
  }
}
