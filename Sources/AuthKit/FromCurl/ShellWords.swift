/// One command line, split as Bash does it (bash(1), QUOTING): quotes, backslashes, comments.
///
/// Nothing is expanded or run: text that Bash would fill in is refused. Messages name the line of
/// the text and never quote it, because it holds passwords.
struct ShellWords {
  /// The words of the first command.
  private(set) var words: [String] = []
  /// Text beside or after the command that was not read: `|`, `>`.
  private(set) var leftOut: [String] = []

  /// The maximum size of the text, in bytes.
  static let maximumSize = 1 << 20

  private let bytes: [UInt8]
  private var at = 0
  private var word: [UInt8] = []
  private var isInWord = false
  /// Whether the word so far is unquoted digits, like the 2 of `2>`.
  private var isNumber = true
  /// The positions of non-ASCII bytes that come from `\xHH` or `\NNN`.
  private var escaped: [Int] = []

  /// Reads the first command of `text`.
  ///
  /// - Throws: `Failure` of kind `usage`, which quotes nothing from the text.
  init(_ text: String) throws(Failure) {
    bytes = Array(text.utf8)
    guard bytes.count <= Self.maximumSize else {
      throw Failure(.usage, "the curl command is longer than 1 MiB")
    }
    if let zero = bytes.firstIndex(of: 0) { throw problem("a NUL byte", at: zero) }
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { at = 3 }
    try read()
  }

  // MARK: - Outside of quotes

  private mutating func read() throws(Failure) {
    while let byte = peek() {
      switch byte {
      case UInt8(ascii: " "), UInt8(ascii: "\t"):
        endWord()
        at += 1
      case UInt8(ascii: "\n"), UInt8(ascii: "\r"):
        endWord()
        at += 1
        if !words.isEmpty { return try endLine() }
      case UInt8(ascii: "#") where !isInWord: skipComment()
      case UInt8(ascii: "'"): try singleQuoted()
      case UInt8(ascii: "\""): try doubleQuoted()
      case UInt8(ascii: "\\"): backslash()
      case UInt8(ascii: "$"): try dollar()
      case UInt8(ascii: "`"): throw backquote()
      case UInt8(ascii: "^"): try caret()
      case UInt8(ascii: ";"), UInt8(ascii: "|"):
        endWord()
        return leaveOutRest(behind: byte == UInt8(ascii: ";") ? ";" : "|")
      case UInt8(ascii: "&") where peek(1) != UInt8(ascii: ">"): return try ampersand()
      case UInt8(ascii: ">"), UInt8(ascii: "&"): try output()
      case UInt8(ascii: "<"):
        throw problem(
          "< outside quotes, which reads a file",
          hint: "replace a <placeholder> with its value, or put the text in quotes")
      case UInt8(ascii: "("), UInt8(ascii: ")"):
        throw problem("a parenthesis outside quotes", hint: "put the text in single quotes")
      case 0..<0x20, 0x7F: throw problem("a control character outside quotes")
      case 0xC2 where peek(1) == 0xA0:  // NO-BREAK SPACE, as web pages have it.
        endWord()
        at += 2
      case 0xE2: try generalPunctuation()
      default: consume(byte, isPlain: true)
      }
    }
    endWord()
  }

  private func peek(_ ahead: Int = 0) -> UInt8? {
    at + ahead < bytes.count ? bytes[at + ahead] : nil
  }

  private mutating func consume(_ byte: UInt8, isPlain: Bool = false) {
    word.append(byte)
    isInWord = true
    if !isPlain || !byte.isDigit { isNumber = false }
    at += 1
  }

  private mutating func endWord() {
    if isInWord { words.append(text()) }
    dropWord()
  }

  private mutating func dropWord() {
    word = []
    isInWord = false
    isNumber = true
    escaped = []
  }

  /// The word. Firefox and Safari write U+00E9 as `\xe9`, a single byte in Bash: if the bytes are
  /// not UTF-8, the escapes have the browsers' meaning.
  private func text() -> String {
    if escaped.isEmpty { return String(decoding: word, as: UTF8.self) }
    if let text = String(validating: word, as: UTF8.self) { return text }
    var out: [UInt8] = []
    var next = escaped[...]
    for (index, byte) in word.enumerated() {
      if next.first == index {
        next.removeFirst()
        out += Unicode.Scalar(byte).utf8
      } else {
        out.append(byte)
      }
    }
    return String(decoding: out, as: UTF8.self)
  }

  private mutating func skipComment() {
    while let byte = peek(), byte != UInt8(ascii: "\n") { at += 1 }
  }

  /// The length of a line end here, CR LF or LF, in bytes; nil if there is none.
  private func lineEnd(_ ahead: Int) -> Int? {
    if peek(ahead) == UInt8(ascii: "\n") { return 1 }
    return peek(ahead) == UInt8(ascii: "\r") && peek(ahead + 1) == UInt8(ascii: "\n") ? 2 : nil
  }

  private func blanks(_ start: Int) -> Int {
    var ahead = start
    while let byte = peek(ahead), byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") {
      ahead += 1
    }
    return ahead
  }

  /// A backslash continues the line, even if a copy left spaces after it.
  private mutating func backslash() {
    let end = blanks(1)
    if let length = lineEnd(end) {
      at += end + length
    } else if peek(end) == nil {
      at += end
    } else if let next = peek(1) {
      at += 1
      consume(next)
    }
  }

  // MARK: - Where the command ends

  private mutating func endLine() throws(Failure) {
    skipBlank()
    guard let byte = peek() else { return }
    if byte == UInt8(ascii: "-"), let next = peek(1), next > 0x20 {
      throw problem(
        "an option, but the line above does not end with a \\",
        hint: "add a \\ to the end of the line above")
    }
    leftOut.append("the lines below the command")
  }

  private mutating func leaveOutRest(behind mark: String) {
    while let byte = peek(), byte == UInt8(ascii: ";") || byte == UInt8(ascii: "&") { at += 1 }
    if peek() == UInt8(ascii: "|") { at += 1 }
    skipBlank()
    if peek() != nil { leftOut.append("the text after \(mark)") }
  }

  private mutating func skipBlank() {
    while let byte = peek() {
      if byte == UInt8(ascii: "#") { skipComment() } else if byte > 0x20 { return } else { at += 1 }
    }
  }

  private mutating func ampersand() throws(Failure) {
    let next = peek(1)
    guard next == nil || next == UInt8(ascii: "&") || next.map({ $0 <= 0x20 }) == true else {
      throw problem(
        "& outside quotes, which ends the command", hint: "put the URL in single quotes")
    }
    endWord()
    leaveOutRest(behind: "&")
  }

  /// Skips `> file`, `2>&1`, `&>> file`: the output is not part of the request.
  private mutating func output() throws(Failure) {
    if isNumber { dropWord() }
    endWord()
    while let byte = peek(), ">&|".utf8.contains(byte) { at += 1 }
    at += blanks(0)
    let start = at
    while let byte = peek(), byte > 0x20, !";|&<>".utf8.contains(byte) {
      switch byte {
      case UInt8(ascii: "'"): try singleQuoted()
      case UInt8(ascii: "\""): try doubleQuoted()
      case UInt8(ascii: "\\"): backslash()
      case UInt8(ascii: "$"): try dollar()
      case UInt8(ascii: "`"): throw backquote()
      case UInt8(ascii: "("), UInt8(ascii: ")"): throw problem("a parenthesis outside quotes")
      default: consume(byte)
      }
    }
    dropWord()
    guard at > start else { throw problem("> without a file name") }
    if !leftOut.contains(">") { leftOut.append(">") }
  }

  // MARK: - Quotes

  private mutating func singleQuoted() throws(Failure) {
    guard let end = bytes[(at + 1)...].firstIndex(of: UInt8(ascii: "'")) else {
      throw problem("a ' that is not closed")
    }
    word += bytes[(at + 1)..<end]
    isInWord = true
    isNumber = false
    at = end + 1
  }

  private mutating func doubleQuoted() throws(Failure) {
    let start = at
    isInWord = true
    isNumber = false
    at += 1
    while let byte = peek() {
      switch byte {
      case UInt8(ascii: "\""):
        at += 1
        return
      case UInt8(ascii: "\\"):
        if let length = lineEnd(1) {
          at += 1 + length
        } else {
          if let next = peek(1), "$`\"\\".utf8.contains(next) { at += 1 }
          consume(bytes[at])
        }
      case UInt8(ascii: "$"): try dollar(isQuoted: true)
      case UInt8(ascii: "`"): throw backquote()
      default: consume(byte)
      }
    }
    throw problem("a \" that is not closed", at: start)
  }

  /// `$'...'` and `$"..."` are quotes; a `$` that Bash expands is refused; others are literal.
  private mutating func dollar(isQuoted: Bool = false) throws(Failure) {
    switch peek(1) ?? 0 {
    case UInt8(ascii: "'") where !isQuoted: try ansiQuoted()
    case UInt8(ascii: "\"") where !isQuoted:
      at += 1
      try doubleQuoted()
    case UInt8(ascii: "("), UInt8(ascii: "["):
      throw problem("$( ), which Bash would run", hint: "replace it with its output")
    case let byte where byte.isLetterOrDigit || "{_*@#?-!$".utf8.contains(byte):
      throw problem(
        "a variable, which Bash would expand",
        hint: "replace it with its value; for a literal $ write \\$ or use single quotes")
    default: consume(UInt8(ascii: "$"))
    }
  }

  /// `$'...'` (bash(1), QUOTING).
  private mutating func ansiQuoted() throws(Failure) {
    let start = at
    isInWord = true
    isNumber = false
    at += 2
    while let byte = peek() {
      switch byte {
      case UInt8(ascii: "'"):
        at += 1
        return
      case UInt8(ascii: "\\"): try escape()
      default: consume(byte)
      }
    }
    throw problem("a $' that is not closed", at: start)
  }

  private mutating func escape() throws(Failure) {
    guard let letter = peek(1) else { throw problem("a $' that is not closed") }
    at += 2
    switch letter {
    case UInt8(ascii: "n"): word.append(0x0A)
    case UInt8(ascii: "t"): word.append(0x09)
    case UInt8(ascii: "r"): word.append(0x0D)
    case UInt8(ascii: "a"): word.append(0x07)
    case UInt8(ascii: "b"): word.append(0x08)
    case UInt8(ascii: "e"), UInt8(ascii: "E"): word.append(0x1B)
    case UInt8(ascii: "f"): word.append(0x0C)
    case UInt8(ascii: "v"): word.append(0x0B)
    case UInt8(ascii: "\\"), UInt8(ascii: "'"), UInt8(ascii: "\""), UInt8(ascii: "?"):
      word.append(letter)
    case UInt8(ascii: "0")...UInt8(ascii: "7"):
      at -= 1
      // Bash keeps the low eight bits of \777.
      try appendByte((digits(atMost: 3, radix: 8) ?? 0) & 0xFF)
    case UInt8(ascii: "x"):
      if let value = digits(atMost: 2, radix: 16) { try appendByte(value) } else { keep(letter) }
    case UInt8(ascii: "u"), UInt8(ascii: "U"):
      let most = letter == UInt8(ascii: "u") ? 4 : 8
      if let code = digits(atMost: most, radix: 16) { try append(code) } else { keep(letter) }
    case UInt8(ascii: "c"):
      guard let control = peek() else { throw problem("a $' that is not closed") }
      at += 1
      try appendByte(UInt32(control & 0x1F))
    default: keep(letter)
    }
  }

  /// Keeps an unknown escape as is, including its backslash.
  private mutating func keep(_ letter: UInt8) {
    word.append(UInt8(ascii: "\\"))
    word.append(letter)
  }

  private mutating func digits(atMost count: Int, radix: UInt32) -> UInt32? {
    var value: UInt32?
    for _ in 0..<count {
      guard let digit = peek().flatMap(hexValue).map(UInt32.init), digit < radix else { break }
      value = (value ?? 0) &* radix &+ digit  // Eight hexadecimal digits fit.
      at += 1
    }
    return value
  }

  private mutating func appendByte(_ value: UInt32) throws(Failure) {
    guard value != 0 else { throw problem("a NUL byte in $'...'") }
    if value >= 0x80 { escaped.append(word.count) }
    word.append(UInt8(truncatingIfNeeded: value))
  }

  /// Appends a code point. Browsers write one beyond U+FFFF as two UTF-16 surrogates.
  private mutating func append(_ code: UInt32) throws(Failure) {
    var code = code
    if (0xD800...0xDBFF).contains(code), peek() == UInt8(ascii: "\\"),
      peek(1) == UInt8(ascii: "u")
    {
      at += 2
      let low = digits(atMost: 4, radix: 16) ?? 0
      guard (0xDC00...0xDFFF).contains(low) else { throw problem("half a character in $'...'") }
      code = 0x10000 + ((code - 0xD800) << 10 | (low - 0xDC00))
    }
    guard code != 0 else { throw problem("a NUL byte in $'...'") }
    guard let scalar = Unicode.Scalar(code) else {
      throw problem("an invalid escape in $'...'")
    }
    word += scalar.utf8
  }

  // MARK: - Refusals

  /// `^` before a quote or at the end of a line is cmd.exe's backslash.
  private mutating func caret() throws(Failure) {
    if peek(1) == UInt8(ascii: "\"") || lineEnd(blanks(1)) != nil {
      throw problem("a ^, which is cmd.exe syntax", hint: Self.copyHint)
    }
    consume(UInt8(ascii: "^"), isPlain: true)
  }

  private func backquote() -> Failure {
    if lineEnd(1) != nil { return problem("a `, which is PowerShell syntax", hint: Self.copyHint) }
    return problem("a backquote, which Bash would run", hint: "replace it with its output")
  }

  /// U+2000 to U+2FFF: quotation marks and dashes from a word processor.
  private mutating func generalPunctuation() throws(Failure) {
    if peek(1) == 0x80, let third = peek(2) {
      let isDash = third == 0x93 || third == 0x94
      if isDash && !isInWord || [0x98, 0x99, 0x9C, 0x9D].contains(third) {
        throw problem(
          "a typographic quotation mark or dash", hint: "write ' or \" and - or -- instead")
      }
    }
    consume(0xE2, isPlain: true)
  }

  static let copyHint = "copy the request as cURL (bash)"

  /// A failure that names the line.
  private func problem(_ what: String, at offset: Int? = nil, hint: String? = nil) -> Failure {
    let end = min(offset ?? at, bytes.count)
    let line = 1 + bytes[..<end].reduce(0) { $0 + ($1 == UInt8(ascii: "\n") ? 1 : 0) }
    return Failure(.usage, "the curl command, line \(line): \(what)", hint: hint)
  }
}
