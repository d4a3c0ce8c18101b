/// The output of `--trace`: lines and bodies with every learned secret masked, even one that
/// arrives in pieces (rule B3).
package struct TraceSink {
  fileprivate let redactor: Redactor
  fileprivate let write: ([UInt8]) -> Void

  /// - Parameter write: receives whole lines, or pieces of the lines of a body.
  package init(_ redactor: Redactor, write: @escaping ([UInt8]) -> Void) {
    self.redactor = redactor
    self.write = write
  }

  /// Writes `text` as one line; the limit is far above any real line.
  func line(_ text: String) {
    write(Array(DisplayText.oneLine(redactor.mask(text), limit: 1 << 20).utf8) + [0x0A])
  }
}

/// Logs what one transfer sends and receives: heads for `-v`, heads and bodies for `--trace`. The
/// marks are curl's: `>` and `<` for heads, `}` and `{` for bodies, `*` for remarks.
///
/// Secrets are masked by place here, and by value where the lines are written (rule B3). Lines are
/// not shortened here, because masking by value does not find half of a secret.
final class WireLog {
  /// Whether the recipe makes the request: its bodies are summarized, and their lengths not shown.
  var isPrivate = false

  private let secretHeaders: Set<String>
  private let secretParameters: Set<String>
  private let log: (String) -> Void
  private let trace: TraceSink?
  /// The unfinished line of the head being sent, and whether it is the first.
  private var line: [UInt8] = []
  private var isFirstLine = true
  private var sentType: String?
  private var sumsUpSent = true
  private var body: TracedBody?
  private var chunks: Chunks?

  /// - Parameters:
  ///   - secretHeaders: lower-case names of the headers whose values are never shown.
  ///   - secretParameters: names of the URL parameters whose values are never shown.
  init(
    secretHeaders: Set<String>, secretParameters: Set<String> = [],
    log: @escaping (String) -> Void, trace: TraceSink?
  ) {
    self.secretHeaders = secretHeaders
    self.secretParameters = secretParameters
    self.log = log
    self.trace = trace
  }

  /// Logs a piece of the head that is sent.
  func sent(head bytes: UnsafeRawBufferPointer) {
    for byte in bytes where byte != UInt8(ascii: "\r") {
      guard byte == UInt8(ascii: "\n") else {
        line.append(byte)
        continue
      }
      if !line.isEmpty { log("> " + (isFirstLine ? requestLine(line) : header(line))) }
      isFirstLine = line.isEmpty
      line.removeAll(keepingCapacity: true)
    }
  }

  /// Logs a piece of the body that is sent.
  func sent(body bytes: UnsafeRawBufferPointer) {
    guard let trace, !bytes.isEmpty else { return }
    guard isPrivate else {
      guard let data = chunks?.data(in: bytes) else {
        return show(bytes, mark: UInt8(ascii: "}"), trace)
      }
      return data.withUnsafeBytes { show($0, mark: UInt8(ascii: "}"), trace) }
    }
    if sumsUpSent {
      trace.line("} " + Redactor.bodySummary(contentType: sentType, bytes: bytes, tellsSize: false))
    }
    sumsUpSent = false
  }

  /// Logs the head of an answer.
  func received(_ head: ResponseHead) {
    end()
    log("< \(head.version) \(head.status) \(head.reason)")
    for field in head.fields { log("< \(field.name): \(shown(field.name, field.value))") }
  }

  /// Logs a piece of the answer's body, decoded.
  func received(_ bytes: UnsafeRawBufferPointer) {
    if let trace, !isPrivate { show(bytes, mark: UInt8(ascii: "{"), trace) }
  }

  /// Logs only the key names of the answer to a request of the recipe.
  func sumUp(_ head: ResponseHead, _ body: [UInt8]) {
    var keys: [String]?
    if let json = try? JSONText(ByteBuffer(body)), json.kind == .object {
      keys = json.keys(most: 21)
    }
    let summary = body.withUnsafeBytes {
      Redactor.bodySummary(contentType: head.mediaType, bytes: $0, keys: keys)
    }
    log("< " + DisplayText.oneLine(summary, limit: 2000))
  }

  /// Logs a remark of libcurl's.
  func remark(_ text: String) {
    if let trace {
      end()
      trace.line(
        "* "
          + (secretParameters.isEmpty
            ? text : Redactor.maskedQuery(text, names: secretParameters)))
    }
  }

  /// Ends the body that is being shown.
  func end() {
    body?.end()
    body = nil
  }

  private func show(_ bytes: UnsafeRawBufferPointer, mark: UInt8, _ trace: TraceSink) {
    if body?.mark != mark { end() }
    var current = body ?? TracedBody(mark, trace)
    body = nil
    current.show(bytes)
    body = current
  }

  // MARK: - By place

  private func requestLine(_ bytes: [UInt8]) -> String {
    var words = bytes.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
      .map { String(decoding: $0, as: UTF8.self) }
    if words.count > 1 { words[1] = Redactor.maskedQuery(words[1], names: secretParameters) }
    return words.joined(separator: " ")
  }

  private func header(_ bytes: [UInt8]) -> String {
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { return "***" }
    let name = String(decoding: bytes[..<colon], as: UTF8.self)
    let value = String(decoding: bytes[(colon + 1)...], as: UTF8.self).trimmingSpaces
    let lower = name.asciiLowercased
    if lower == "content-type" { sentType = value }
    if lower == "transfer-encoding" { chunks = Chunks() }
    // The length of a body with a password in it reveals the length of the password.
    if isPrivate, lower == "content-length" { return name + ": ***" }
    return name + ": " + shown(name, value)
  }

  /// Headers that hold URLs are masked as URLs are.
  private func shown(_ name: String, _ value: String) -> String {
    if Redactor.isSensitive(header: name, recipe: secretHeaders) { return "***" }
    return Redactor.holdsURL(header: name)
      ? Redactor.maskedQuery(value, names: secretParameters) : value
  }
}

/// Removes the framing of a chunked body (RFC 9112, section 7.1), which could split a secret.
private struct Chunks {
  /// The bytes left of the chunk, and of the CR LF after it.
  private var data = 0
  private var end = 0
  private var size = 0

  mutating func data(in bytes: UnsafeRawBufferPointer) -> [UInt8] {
    var found: [UInt8] = []
    for byte in bytes {
      if data > 0 {
        found.append(byte)
        data -= 1
      } else if end > 0 {
        end -= 1
      } else if byte == UInt8(ascii: "\n") {
        (data, end, size) = (size, 2, 0)
      } else if let digit = hexValue(byte) {
        size = size &* 16 &+ Int(digit)
      }
    }
    return found
  }
}

/// Writes a body as lines that begin with its mark.
private struct TracedBody {
  let mark: UInt8
  private let trace: TraceSink
  private var stream: Redactor.Stream
  private var caret = Caret()
  private var isInLine = false

  init(_ mark: UInt8, _ trace: TraceSink) {
    self.mark = mark
    self.trace = trace
    stream = Redactor.Stream(trace.redactor)
  }

  mutating func show(_ bytes: UnsafeRawBufferPointer) {
    write(stream.feed(bytes).withUnsafeBytes { caret.feed($0) })
  }

  mutating func end() {
    write(stream.finish().withUnsafeBytes { caret.feed($0) } + caret.finish())
    if isInLine { trace.write([UInt8(ascii: "\n")]) }
    isInLine = false
  }

  private mutating func write(_ bytes: [UInt8]) {
    var output: [UInt8] = []
    output.reserveCapacity(bytes.count + 64)
    for byte in bytes {
      if !isInLine { output += [mark, UInt8(ascii: " ")] }
      output.append(byte)
      isInLine = byte != UInt8(ascii: "\n")
    }
    if !output.isEmpty { trace.write(output) }
  }
}
