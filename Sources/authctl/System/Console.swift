internal import AuthKit
internal import Glibc

/// The output streams: data on standard output, everything else on standard error (design 2).
///
/// Text on standard error passes the redactor and is printed as one line each.
final class Console {
  /// How often `-v` was given.
  let verbosity: Int
  /// Whether to write ANSI colours to standard output.
  let usesColourOut: Bool
  private let usesColourErr: Bool
  private let usesUTF8: Bool

  /// The terminal that a table on standard output must fit; nil if it is not a terminal.
  let room: Table.Room?

  private let output = StandardStream()
  private let errors = StandardStream(isError: true)
  private let isQuiet: Bool
  /// Columns of the line that `passing` has drawn.
  private var drawn = 0
  private let errorsAsJSON: Bool
  private let redactor: Redactor

  /// - Parameters:
  ///   - quiet: no notices and no warnings (`-q`).
  ///   - verbosity: how often `-v` was given.
  ///   - errorsAsJSON: `--json`, `--errors json` or `AUTHCTL_ERRORS=json`.
  ///   - colour: `--color`.
  ///   - environment: for the variables that choose colours and the locale.
  init(
    quiet: Bool, verbosity: Int, errorsAsJSON: Bool, redactor: Redactor,
    colour: ColourChoice = .auto, environment: [String: String]
  ) {
    isQuiet = quiet
    self.verbosity = verbosity
    self.errorsAsJSON = errorsAsJSON
    self.redactor = redactor
    usesColourOut = colour.usesColour(onTerminal: output.isTerminal, environment)
    usesColourErr = colour.usesColour(onTerminal: errors.isTerminal, environment)
    usesUTF8 = Self.isUTF8(environment)
    let ellipsis = usesUTF8 ? "\u{2026}" : "..."
    room =
      output.isTerminal ? Table.Room(columns: output.columns ?? 80, ellipsis: ellipsis) : nil
  }

  /// Whether standard output is a terminal.
  var isOutTerminal: Bool { output.isTerminal }
  /// Whether standard error is one.
  var isErrTerminal: Bool { errors.isTerminal }

  /// The width of the terminal in columns; 80 when there is none.
  var columns: Int { output.columns ?? errors.columns ?? 80 }

  // MARK: Standard output

  /// Prints a line of data, unmasked: it is the result of the command.
  ///
  /// - Throws: `failed` when it cannot be written.
  func out(_ text: String) throws(Failure) { try write(Array((text + "\n").utf8)) }

  /// Prints a line of compact JSON.
  ///
  /// - Throws: `failed` when it cannot be written.
  func out(_ value: JSONValue) throws(Failure) {
    var line = SecretBuilder()
    value.write(into: &line)
    line.append(UInt8(ascii: "\n"))
    try line.secret().withBytes { bytes throws(Failure) in try write(bytes, as: .json) }
  }

  /// Prints indented JSON for people; `prettyPrinted` makes it safe for a terminal.
  ///
  /// - Parameter colour: whether to colour it, if colours are on.
  /// - Throws: `failed` when it cannot be written.
  func out(pretty value: JSONValue, colour: Bool = false) throws(Failure) {
    let text = value.prettyPrinted(colour: colour && usesColourOut) + "\n"
    try write(Array(text.utf8), as: .asIs)
  }

  /// Prints a secret and a newline, for the commands whose purpose is to print it.
  ///
  /// - Throws: `failed` when it cannot be written.
  func out(_ secret: borrowing Secret) throws(Failure) {
    var line = SecretBuilder(capacity: secret.count + 1)
    line.append(secret)
    line.append(UInt8(ascii: "\n"))
    try line.secret().withBytes { bytes throws(Failure) in try write(bytes) }
  }

  /// Prints the lines of `table`.
  ///
  /// - Throws: `failed` when they cannot be written.
  func out(_ table: Table) throws(Failure) {
    try out(lines: table.lines(in: room, colours: usesColourOut))
  }

  /// Prints lines that are safe for a terminal and may have colours.
  ///
  /// - Throws: `failed` when they cannot be written.
  func out(lines: [String]) throws(Failure) {
    try write(Array(lines.flatMap { Array($0.utf8) + [UInt8(ascii: "\n")] }), as: .asIs)
  }

  /// Returns `text`, which is safe for a terminal, in a colour if standard output has colours.
  func painted(_ text: String, _ colour: Colour?) -> String {
    guard usesColourOut, let colour else { return text }
    return colour.painting(text)
  }

  /// Writes all of `bytes`, on a terminal in a form that is safe for it.
  ///
  /// When the reader has gone, SIGPIPE ends the process, as with any filter.
  ///
  /// - Throws: `failed` when they cannot be written.
  func write(
    _ bytes: UnsafeRawBufferPointer, as content: StandardStream.Content = .text
  ) throws(Failure) {
    try check(output.write(bytes, as: content))
  }

  /// Writes all of `bytes`, on a terminal in a form that is safe for it.
  ///
  /// - Throws: `failed` when they cannot be written.
  func write(_ bytes: [UInt8], as content: StandardStream.Content = .text) throws(Failure) {
    try bytes.withUnsafeBufferPointer { buffer throws(Failure) in
      try write(UnsafeRawBufferPointer(buffer), as: content)
    }
  }

  /// Ends a text after its last `piece`: on a terminal the next line begins at the left edge.
  ///
  /// - Throws: `failed` when it cannot be written.
  func endText() throws(Failure) { try check(output.endText()) }

  private func check(_ code: Int32) throws(Failure) {
    guard code != 0 else { return }
    if code == EPIPE { Self.dieOfBrokenPipe() }
    throw Failure(
      .failed, "cannot write to standard output: \(SystemError(code).reason)")
  }

  // MARK: Standard error

  /// Prints a sentence for people, in lines of at most 79 columns; not with `-q`.
  func notice(_ text: String) {
    guard !isQuiet else { return }
    for line in Self.wrapped(shown(text)) { complain(line) }
  }

  /// Prints the notice `Next: COMMAND` in one line, however long: half a command is another one.
  func next(_ command: String) {
    if !isQuiet { complain("Next: " + exact(command)) }
  }

  /// Prints a notice with foreign text: one line, however long, that begins with `word`.
  func notice(_ word: String, foreign text: String) {
    if !isQuiet { complain("\(word): " + shown(DisplayText.oneLine(text))) }
  }

  /// Prints a notice in one line, however long; not with `-q`.
  func notice(line: String) {
    if !isQuiet { complain(shown(line)) }
  }

  /// Prints `authctl: warning: TEXT`; not with `-q`.
  func warn(_ text: String) {
    if !isQuiet { insist(text) }
  }

  /// Prints a warning that `-q` does not silence.
  func insist(_ text: String) {
    complain(laidOut("authctl: warning: " + shown(text)), marked: ("authctl: warning:", .yellow))
  }

  /// Prints a line of foreign text that the caller has marked as such.
  func remark(_ line: String) {
    complain(DisplayText.oneLine(redactor.mask(line), limit: 4096))
  }

  /// Draws a picture of blocks on a terminal, white on black if standard error has colours. Returns
  /// what prevents it; nil if it is drawn.
  func draw(_ picture: [String]) -> String? {
    guard isErrTerminal else { return "standard error is not a terminal" }
    guard usesUTF8 else { return "the characters of this terminal are not UTF-8" }
    let width = picture[0].unicodeScalars.count
    guard width <= errors.columns ?? 80 else {
      return "the picture needs a terminal of \(width) columns"
    }
    let (start, end) = usesColourErr ? ("\u{1B}[40;97m", "\u{1B}[m") : ("", "")
    let text = picture.map { start + $0 + end + "\n" }.joined()
    passing(nil)
    Array(text.utf8).withUnsafeBytes { _ = errors.write($0, as: .asIs) }
    return nil
  }

  /// Returns `bytes` with every secret masked.
  func masked(_ bytes: [UInt8]) -> [UInt8] { bytes.withUnsafeBytes { redactor.mask($0) } }

  /// Prints the HTTP status line of a request that failed; not with `-q`.
  func status(_ failure: Failure) {
    if !isQuiet { report(failure) }
  }

  /// Prints `hint: TEXT` without a failure before it; not with `-q`.
  func hint(_ text: String) {
    if !isQuiet { complain(laidOut(hint: shown(text))) }
  }

  /// Prints a line of `-v`, which begins with `*` for authctl's own remarks, `>` for data sent,
  /// `<` for data received.
  func verbose(_ line: @autoclosure () -> String) {
    if verbosity > 0 { complain(shown(line())) }
  }

  /// Prints a failure: authctl's sentence, the server's words, the hint; or one line of JSON. Also
  /// with `-q`.
  func report(_ failure: Failure) {
    let server = DisplayText.server(failure.server.map(redactor.mask))
    if errorsAsJSON {
      complain(JSONValue.object([(key: "error", value: json(failure))]).serialized())
      return
    }
    var lines = [laidOut("authctl: " + shown(failure.message))]
    lines += server.map { laidOut("server: " + $0) }
    if let hint = failure.hint { lines.append(laidOut(hint: exact(hint))) }
    complain(lines.joined(separator: "\n"), marked: ("authctl:", .red))
  }

  /// Returns the failure as an object (design 2), masked.
  func json(_ failure: Failure) -> JSONValue {
    func text(_ value: String?) -> JSONValue { value.map { .string(exact($0)) } ?? .null }
    let server = DisplayText.server(failure.server.map(redactor.mask))
    return .object([
      (key: "code", value: .string(failure.kind.rawValue)),
      (key: "exit", value: .number(Int(failure.exitCode))),
      (key: "message", value: .string(shown(failure.message))),
      (key: "server", value: server.isEmpty ? .null : .string(server.joined(separator: "; "))),
      (key: "status", value: failure.status.map { .number($0) } ?? .null),
      (key: "url", value: text(failure.url)),
      (key: "profile", value: text(failure.profile)),
      (key: "account", value: text(failure.account)),
      (key: "hint", value: text(failure.hint)),
    ])
  }

  /// Masks before it cuts: the redactor would not find a secret that the limit cuts in two.
  private func shown(_ text: String, isMessage: Bool = true) -> String {
    DisplayText.oneLine(redactor.mask(text), limit: 2000, isMessage: isMessage)
  }

  /// Shows a command to paste, or a name, in which `acct:ada@host` is an account. URLs have no user
  /// information here either.
  private func exact(_ text: String) -> String { shown(text, isMessage: false) }

  /// Shows a line of ASCII on a terminal until the next one or nil; not with `-q`.
  func passing(_ text: String?) {
    guard isErrTerminal, !isQuiet, text != nil || drawn > 0 else { return }
    let line = String(decoding: (text ?? "").utf8.prefix(max(0, columns - 1)), as: UTF8.self)
    let rest = String(repeating: " ", count: max(0, drawn - line.utf8.count))
    drawn = line.utf8.count
    let back = text == nil ? "\r" : ""
    Array(("\r" + line + rest + back).utf8).withUnsafeBytes { _ = errors.write($0, as: .asIs) }
  }

  /// Prints a piece of `--trace`, which is masked already.
  func traced(_ bytes: [UInt8]) {
    passing(nil)
    bytes.withUnsafeBytes { _ = errors.write($0) }
  }

  // One write(2), so that processes which share the stream do not mix their lines. An error of
  // standard error cannot be reported anywhere.
  private func complain(_ text: String, marked: (prefix: String, colour: Colour)? = nil) {
    passing(nil)
    guard usesColourErr, let marked, text.utf8.starts(with: marked.prefix.utf8) else {
      Array((text + "\n").utf8).withUnsafeBytes { _ = errors.write($0) }
      return
    }
    let rest = text.utf8.dropFirst(marked.prefix.utf8.count) + [UInt8(ascii: "\n")]
    let shown = isErrTerminal ? StandardStream.safe(Array(rest)) : Array(rest)
    (Array(marked.colour.painting(marked.prefix).utf8) + shown)
      .withUnsafeBytes { _ = errors.write($0, as: .asIs) }
  }

  // MARK: Rules

  /// Returns `text` in lines of at most `columns`, less `indent`, broken at spaces; a longer word
  /// stays whole.
  ///
  /// A word that looks like a prefix of authctl's own (`hint:`) or a command to a CI runner (`::`)
  /// never begins a line (rule B4), except after an indent.
  static func wrapped(_ text: String, indent: Int = 0, columns: Int = 79) -> [String] {
    var lines: [String] = []
    var line = ""
    var width = 0
    for bytes in text.utf8.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false) {
      let word = Substring(bytes)
      let isHarmless = word.utf8.last != UInt8(ascii: ":") && !word.utf8.starts(with: "::".utf8)
      let isAfterPrefix =
        lines.isEmpty && ["authctl:", "authctl: warning:", "server:", "hint:"].contains(line)
      let mayBegin = !word.isEmpty && (isHarmless || indent > 0) && !isAfterPrefix
      let more = Table.width(of: word)
      let isFirst = lines.isEmpty && line.isEmpty
      if isFirst || mayBegin && width + 1 + more > columns - indent {
        if !isFirst { lines.append(line) }
        (line, width) = (String(word), more)
      } else {
        line += " " + word
        width += 1 + more
      }
    }
    return lines + [line]
  }

  /// Breaks a long message at spaces on a terminal; what follows is indented, so that it cannot look
  /// like another message. A pipe gets one line.
  private func laidOut(_ text: String) -> String {
    guard let columns = errors.columns, isErrTerminal else { return text }
    return Self.wrapped(text, indent: 2, columns: columns - 1).enumerated()
      .map { $0 == 0 ? $1 : "  " + $1 }.joined(separator: "\n")
  }

  /// A hint that may be a command stays whole, so that it can be copied.
  private func laidOut(hint: String) -> String {
    let mayBeCommand =
      hint.contains(bytesOf: "authctl ") || hint.utf8.contains { "'/=$|".utf8.contains($0) }
    return mayBeCommand ? "hint: " + hint : laidOut("hint: " + hint)
  }

  /// Whether the locale's characters are UTF-8 (locale(7): the first that is set decides).
  private static func isUTF8(_ environment: [String: String]) -> Bool {
    let values = ["LC_ALL", "LC_CTYPE", "LANG"].compactMap { environment[$0] }
    let name = (values.first { !$0.isEmpty } ?? "").asciiLowercased
    return name.contains(bytesOf: "utf-8") || name.contains(bytesOf: "utf8")
  }

  private static func dieOfBrokenPipe() {
    signal(SIGPIPE, SIG_DFL)
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGPIPE)
    pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    raise(SIGPIPE)
  }
}
