/// The request of a `curl` command line (curl(1)), parsed and never run.
///
/// It keeps the pasted text, including passwords, in plain memory that is never wiped.
package struct CurlLine: Sendable {
  /// The method (RFC 9110, section 9): that of `-X`, else what the other options imply.
  package private(set) var method = "GET"
  /// The URL as written, followed by the data of `-G` and `--url-query`.
  package private(set) var url = ""
  /// The headers of `-H` in their order, and those of `-A`, `-e` and `--oauth2-bearer`.
  package private(set) var headers: [(name: String, value: String)] = []
  /// The body: all data options joined as curl joins them; nil without any.
  package private(set) var data: String?
  /// The fields of `-F` and `--form-string`.
  package private(set) var parts: [(name: String, value: String)] = []
  /// Whether `--json` is given, which sets the type of the body.
  package private(set) var isJSON = false
  /// `NAME:PASSWORD` or `NAME` of `-u`.
  package private(set) var user: String?
  /// An option for another way to sign in: `--digest` and so on.
  package private(set) var otherSignIn: String?
  /// Recognized options that are not kept, as spelled: `-b`, `-k`.
  package private(set) var dropped: [String] = []
  /// Text beside or after the command that was not read, in words.
  package private(set) var leftOut: [String] = []
  /// Options that cannot be expressed, as spelled, without their values.
  package private(set) var unknown: [String] = []

  private var explicitMethod: String?
  private var isGet = false
  private var isHead = false
  private var globs = true
  private var query: [String] = []

  /// Parses one command line: a browser's "Copy as cURL (bash)", or one from a manual.
  ///
  /// - Throws: `Failure` of kind `usage` if the text is not one curl command, needs a file or would
  ///   have to be run; it quotes nothing from the line except the spelling of options.
  package init(_ text: String) throws(Failure) {
    let line = try ShellWords(text)
    leftOut = line.leftOut
    var words = line.words[...]
    // The shell prompt, copied with the line.
    if let first = words.first, ["$", "%"].contains(first) { words.removeFirst() }
    guard let program = words.popFirst() else { throw Failure(.usage, "there is no curl command") }
    guard Self.isCurl(program) else {
      throw Failure(
        .usage, "the command does not begin with curl", hint: ShellWords.copyHint)
    }
    var urls: [String] = []
    var optionsEnded = false
    while let word = words.popFirst() {
      let bytes = Array(word.utf8)
      if optionsEnded || bytes.first != UInt8(ascii: "-") || bytes.count == 1 {
        urls.append(word)
      } else if bytes.elementsEqual("--".utf8) {
        optionsEnded = true
      } else if bytes[1] == UInt8(ascii: "-") {
        if try !readLong(bytes, &words, &urls) { break }
      } else if try !readShort(bytes, &words, &urls) {
        break
      }
    }
    try finish(urls)
  }

  private static func isCurl(_ word: String) -> Bool {
    let last = word.utf8.split(separator: UInt8(ascii: "/")).last ?? word.utf8[...]
    let name = String(decoding: last, as: UTF8.self).asciiLowercased
    return name == "curl" || name == "curl.exe"
  }

  // MARK: - Options

  /// Reads `--name`, `--name value` or `--name=value`, which curl does not know but people write.
  ///
  /// - Returns: false at the end of the first request.
  private mutating func readLong(
    _ bytes: [UInt8], _ words: inout ArraySlice<String>, _ urls: inout [String]
  ) throws(Failure) -> Bool {
    let equals = bytes.firstIndex(of: UInt8(ascii: "="))
    let spelled = String(decoding: bytes[..<(equals ?? bytes.count)], as: UTF8.self)
    let name = String(decoding: spelled.utf8.dropFirst(2), as: UTF8.self)
    let option = CurlOption(long: name)
    if option == .next { return endAtNext(words) }
    var value: String?
    if option.takesValue {
      value = equals.map { String(decoding: bytes[($0 + 1)...], as: UTF8.self) }
      if value == nil { value = words.popFirst() }
      guard value != nil else { throw Self.noValue(spelled) }
    }
    try apply(option, value ?? "", spelled, &urls)
    return true
  }

  /// Reads `-s`, `-sS`, `-XPOST`, `-X POST`: the first letter with a value takes the rest for it.
  private mutating func readShort(
    _ bytes: [UInt8], _ words: inout ArraySlice<String>, _ urls: inout [String]
  ) throws(Failure) -> Bool {
    var index = 1
    while index < bytes.count {
      let option = CurlOption(short: bytes[index])
      let spelled = "-" + String(decoding: [bytes[index]], as: UTF8.self)
      index += 1
      if option == .next { return endAtNext(words) }
      guard option.takesValue else {
        try apply(option, "", spelled, &urls)
        continue
      }
      if index < bytes.count {
        try apply(option, String(decoding: bytes[index...], as: UTF8.self), spelled, &urls)
      } else if let value = words.popFirst() {
        try apply(option, value, spelled, &urls)
      } else {
        throw Self.noValue(spelled)
      }
      return true
    }
    return true
  }

  private mutating func endAtNext(_ words: ArraySlice<String>) -> Bool {
    if !words.isEmpty { leftOut.append("the text after --next") }
    return false
  }

  private static func noValue(_ spelled: String) -> Failure {
    Failure(.usage, "the curl command ends after \(shown(spelled)), which needs a value")
  }

  private mutating func apply(
    _ option: CurlOption, _ value: String, _ spelled: String, _ urls: inout [String]
  ) throws(Failure) {
    switch option {
    case .method: explicitMethod = value
    case .url: urls.append(value)
    case .header: try addHeader(value)
    case .userAgent: headers.append(("User-Agent", value))
    case .referer: headers.append(("Referer", value))
    case .bearer: headers.append(("Authorization", "Bearer " + value))
    case .data: try addData(value, spelled, readsFiles: true)
    case .rawData: try addData(value, spelled, readsFiles: false)
    case .encodedData: try addData(try encoded(value, spelled), spelled, readsFiles: false)
    case .json:
      isJSON = true
      try addData(value, spelled, readsFiles: true, separator: "")
    case .form: try addPart(value, spelled, isLiteral: false)
    case .literalForm: try addPart(value, spelled, isLiteral: true)
    case .urlQuery:
      let isLiteral = value.utf8.first == UInt8(ascii: "+")
      query.append(
        isLiteral
          ? String(decoding: value.utf8.dropFirst(), as: UTF8.self) : try encoded(value, spelled))
    case .user: user = value
    case .upload: throw Self.file(spelled)
    case .get: isGet = true
    case .head: isHead = true
    case .globOff: globs = false
    case .signIn, .signInValue: otherSignIn = spelled
    case .dropped, .droppedValue: if !dropped.contains(spelled) { dropped.append(spelled) }
    case .silent, .silentValue, .next: break
    case .other, .otherValue:
      let name = Self.shown(spelled)
      if !unknown.contains(name) { unknown.append(name) }
    }
  }

  /// The spelling of an option. Anything else may be a misplaced password.
  private static func shown(_ spelled: String) -> String {
    let isName = spelled.utf8.count <= 40 && spelled.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    return isName ? spelled : "an option"
  }

  private static func file(_ spelled: String) -> Failure {
    Failure(
      .usage, "\(spelled): authctl does not read the files of a pasted command",
      hint: "put the text of the file into the command: --data-raw 'TEXT'")
  }

  // MARK: - Headers and bodies

  /// Reads `Name: value`; `Name;` has no value, and `Name:` removes one of curl's own.
  private mutating func addHeader(_ text: String) throws(Failure) {
    if text.utf8.first == UInt8(ascii: "@") {
      throw Failure(.usage, "-H: authctl does not read the files of a pasted command")
    }
    // HTTP/2 names of old copies: `:authority: shop.example`.
    let start = text.utf8.first == UInt8(ascii: ":") ? text.utf8.dropFirst() : text.utf8[...]
    if let colon = start.firstIndex(of: UInt8(ascii: ":")) {
      let name = String(decoding: start[..<colon], as: UTF8.self)
      let value = String(decoding: start[start.index(after: colon)...], as: UTF8.self)
      headers.append((name.trimmingSpaces, value.trimmingLineEnd.trimmingSpaces))
    } else if start.last == UInt8(ascii: ";") {
      headers.append((String(decoding: start.dropLast(), as: UTF8.self).trimmingSpaces, ""))
    }
  }

  private mutating func addData(
    _ text: String, _ spelled: String, readsFiles: Bool, separator: String = "&"
  ) throws(Failure) {
    if readsFiles, text.utf8.first == UInt8(ascii: "@") { throw Self.file(spelled) }
    data = data.map { $0 + separator + text } ?? text
  }

  /// Reads `content`, `=content` or `name=content` and encodes the content.
  private func encoded(_ text: String, _ spelled: String) throws(Failure) -> String {
    let bytes = text.utf8
    var builder = SecretBuilder()
    func append(_ content: Substring.UTF8View) {
      Array(content).withUnsafeBytes { builder.appendFormEncoded($0) }
    }
    if let equals = bytes.firstIndex(of: UInt8(ascii: "=")) {
      if equals > bytes.startIndex { builder.append(String(text[..<equals]) + "=") }
      append(bytes[bytes.index(after: equals)...])
    } else if bytes.contains(UInt8(ascii: "@")) {
      throw Self.file(spelled)
    } else {
      append(bytes[...])
    }
    return builder.secret().withBytes { String(decoding: $0, as: UTF8.self) }
  }

  /// Reads `name=content`: the content is quoted or ends at a semicolon, before the type and so on.
  /// `--form-string` takes it as is.
  private mutating func addPart(
    _ text: String, _ spelled: String, isLiteral: Bool
  ) throws(Failure) {
    let bytes = Array(text.utf8)
    guard let equals = bytes.firstIndex(of: UInt8(ascii: "=")) else {
      throw Failure(.usage, "\(spelled) needs NAME=VALUE")
    }
    let name = String(decoding: bytes[..<equals], as: UTF8.self)
    var rest = bytes[(equals + 1)...]
    guard !isLiteral else {
      parts.append((name, String(decoding: rest, as: UTF8.self)))
      return
    }
    switch rest.first {
    case UInt8(ascii: "@"), UInt8(ascii: "<"): throw Self.file(spelled)
    case UInt8(ascii: "("): throw Failure(.usage, "\(spelled): nested forms are not supported")
    default: break
    }
    rest = rest.drop { $0 == 0x20 || $0 == 0x09 }
    var value: [UInt8] = []
    if rest.first == UInt8(ascii: "\""), let quoted = Self.unquoted(rest) {
      value = quoted
    } else {
      value = Array(rest.prefix { $0 != UInt8(ascii: ";") })
      while let last = value.last, last == 0x20 || last == 0x09 { value.removeLast() }
    }
    parts.append((name, String(decoding: value, as: UTF8.self)))
  }

  /// The text between quotation marks, with escapes `\"` and `\\`; nil if they do not close.
  private static func unquoted(_ bytes: ArraySlice<UInt8>) -> [UInt8]? {
    var value: [UInt8] = []
    var iterator = bytes.dropFirst().makeIterator()
    while let byte = iterator.next() {
      switch byte {
      case UInt8(ascii: "\""): return value
      case UInt8(ascii: "\\"):
        guard let next = iterator.next() else { return nil }
        if next != UInt8(ascii: "\""), next != UInt8(ascii: "\\") { value.append(byte) }
        value.append(next)
      default: value.append(byte)
      }
    }
    return nil
  }

  // MARK: - The whole

  private mutating func finish(_ urls: [String]) throws(Failure) {
    guard let first = urls.first, !first.isEmpty else {
      throw Failure(.usage, "the curl command has no URL")
    }
    guard urls.count == 1 else {
      throw Failure(
        .usage, "the curl command has \(urls.count) URLs, or a value without its option",
        hint: "put values with spaces in quotes")
    }
    guard data == nil || parts.isEmpty else {
      throw Failure(.usage, "the curl command has both -d and -F, which cannot be used together")
    }
    url = try globs ? Self.withoutGlobs(first) : first
    if isGet, let data {
      query.append(data)
      self.data = nil
    }
    addQuery()
    let hasBody = data != nil || !parts.isEmpty
    method = explicitMethod ?? (isHead ? "HEAD" : isGet || !hasBody ? "GET" : "POST")
    guard HeaderSyntax.isToken(method) else {
      throw Failure(.usage, "the value of -X is not an HTTP method (RFC 9110)")
    }
  }

  /// Adds the query before the fragment, which curl does not send.
  private mutating func addQuery() {
    let added = query.filter { !$0.isEmpty }.joined(separator: "&")
    guard !added.isEmpty else { return }
    let base = String(decoding: url.utf8.prefix { $0 != UInt8(ascii: "#") }, as: UTF8.self)
    if let mark = base.utf8.firstIndex(of: UInt8(ascii: "?")) {
      let isBare = base.utf8.index(after: mark) == base.utf8.endIndex
      url = base + (isBare ? "" : "&") + added
    } else {
      url = base + "?" + added
    }
  }

  /// Refuses `{a,b}`, which curl reads as several URLs, and removes the backslashes that Safari and
  /// Chrome write before a bracket or brace.
  private static func withoutGlobs(_ text: String) throws(Failure) -> String {
    var out: [UInt8] = []
    let bytes = Array(text.utf8)
    var index = 0
    while index < bytes.count {
      if bytes[index] == UInt8(ascii: "\\"), index + 1 < bytes.count,
        "[]{}".utf8.contains(bytes[index + 1])
      {
        index += 1
      } else if bytes[index] == UInt8(ascii: "{") || bytes[index] == UInt8(ascii: "}") {
        throw Failure(
          .usage, "the URL of the curl command contains a brace",
          hint: "replace a {placeholder} with its value; %7B is a literal brace")
      }
      out.append(bytes[index])
      index += 1
    }
    return String(decoding: out, as: UTF8.self)
  }
}
