internal import AuthKit

/// The destination of an answer's body: a pipe (byte for byte), a terminal (in displayable form) or
/// a file.
final class BodySink {
  private enum Target {
    case pipe
    /// Shown on a terminal, or a pipe with `--pretty`.
    case shown(collected: [UInt8], isJSON: Bool)
    case stream
    /// JSON values, one per line, or the results of a filter.
    case lines
    /// A whole JSON answer, collected for `--pointer` and `--jq`.
    case values(ByteBuffer, OutputFile?)
    case file(OutputFile)
    /// An error body with `-o`, `--slurp` or `--each`: its first 2 KiB go to standard error.
    case excerpt([UInt8])
    case withheld
  }

  /// A JSON answer larger than this is not indented: it would have to be held in memory.
  private static let largestPretty = 4 << 20
  private static let excerptSize = 2048
  /// `--pointer` and `--jq` refuse a JSON answer larger than this.
  private static let largestParsed = 64 << 20

  private let console: Console
  private let isRaw: Bool
  private let isPretty: Bool
  private let pointers: [String]
  private let filter: JQFilter?
  /// The file that is written.
  private(set) var path: String?
  /// The size of the file that was saved.
  private(set) var savedSize: Int?
  /// Whether output has left this process, or may have.
  private var hasWritten = false
  private var target: Target
  private var hasEndedPage = false

  /// - Parameter isLines: whether the output is made from the body, line by line.
  init(
    _ console: Console, head: ResponseHead, _ options: OutputOptions, _ filter: JQFilter?,
    isWanted: Bool, shownHead: String?, isLines: Bool = false
  ) throws(Failure) {
    self.console = console
    isRaw = options.raw
    isPretty = options.pretty
    pointers = options.pointer
    self.filter = filter
    let path =
      isWanted ? try options.path(for: head) : options.file.flatMap { $0 == "-" ? nil : $0 }
    let file = isWanted ? try path.map { (path) throws(Failure) in try options.open(path) } : nil
    self.path = file == nil ? nil : path
    if isWanted, !pointers.isEmpty || filter != nil, !isLines {
      target = .values(ByteBuffer(), file)
    } else if let file {
      target = .file(file)
    } else if path != nil || isLines && !isWanted {
      target = .excerpt([])
    } else if isLines, !options.raw {
      target = .lines
    } else if console.isOutTerminal || isPretty, !options.raw {
      let type = head.mediaType ?? ""
      let isJSON = type.ends(withBytesOf: "json")
      target = .shown(
        collected: [], isJSON: (isJSON || isPretty) && !Self.isStream(head))
    } else {
      target = .pipe
    }
    guard let bytes = shownHead.map({ Array($0.utf8) }) else { return }
    if let file {
      try Self.write(bytes, to: file)
    } else if path == nil {
      hasWritten = true
      try console.write(bytes, as: isRaw ? .asIs : .text)
    }
  }

  /// Whether the request may be repeated: no part of the answer has been shown.
  var mayStartAnew: Bool {
    switch target {
    case .file(let file), .values(_, let file?): file.isTemporary
    case .values(_, nil): true
    default: !hasWritten
    }
  }

  /// Returns whether the answer is a stream, whose pieces are passed on as they arrive.
  static func isStream(_ head: ResponseHead) -> Bool {
    [
      "text/event-stream", "application/x-ndjson", "application/ndjson", "application/jsonl",
      "application/x-jsonlines", "application/json-seq", "application/stream+json",
    ].contains(head.mediaType ?? "")
  }

  func receiveBody(_ bytes: UnsafeRawBufferPointer) throws(Failure) {
    hasWritten = true
    switch target {
    case .pipe: try console.write(bytes, as: isRaw ? .asIs : .piece)
    case .stream: try console.write(bytes, as: .piece)
    case .lines: try console.write(bytes, as: filter == nil ? .json : .piece)
    case .file(let file): try file.write(bytes)
    case .withheld: break
    case .values(let collected, _):
      guard collected.count + bytes.count <= Self.largestParsed else {
        throw Failure(
          .failed, "\(option): the answer is larger than \(Self.largestParsed >> 20) MiB",
          hint: "without \(option), the length is not limited")
      }
      collected.append(bytes)
    case .excerpt(let held):
      target = .excerpt(held + bytes.prefix(Self.excerptSize * 5 - held.count))
    case .shown(var collected, let isJSON):
      target = .withheld
      collected.append(contentsOf: bytes)
      if !isJSON || collected.count > (isPretty ? Self.largestParsed : Self.largestPretty) {
        try show(collected)
      } else {
        target = .shown(collected: collected, isJSON: true)
      }
    }
  }

  /// Writes what is left after the whole body has arrived.
  func finish() throws(Failure) {
    switch target {
    case .pipe, .withheld: break
    case .lines: if filter != nil { try console.endText() }
    case .stream: try console.endText()
    case .file(let file):
      try file.commit()
      if file.isTemporary { savedSize = file.count }
    case .excerpt(let bytes): excerpt(bytes)
    case .values(let collected, let file):
      if !hasEndedPage { try writeValues(of: collected, to: file) }
      try file?.commit()
      if let file, file.isTemporary { savedSize = file.count }
    case .shown(let collected, _):
      if let json = try? JSONText(ByteBuffer(collected)) {
        try show(json)
      } else if !collected.isEmpty {
        try show(collected)
        try finish()
      }
    }
  }

  /// Discards the file after the body broke off: half a body is never saved.
  func abandon() {
    switch target {
    case .file(let file), .values(_, let file?): file.abandon()
    default: break
    }
  }

  // MARK: - Values

  private var option: String { filter == nil ? "--pointer" : "--jq" }

  /// Writes the values of a page; the next page begins a new text.
  func endPage() throws(Failure) {
    guard case .values(let collected, let file) = target else { return }
    hasEndedPage = true
    target = .values(ByteBuffer(), file)
    if !collected.isEmpty { try writeValues(of: collected, to: file) }
  }

  /// Writes a line for each pointer that finds a value, or for each result of the filter.
  ///
  /// - Throws: `failed`, naming the pointers without a value, after the others are written; the
  ///   failure of the filter.
  private func writeValues(of body: ByteBuffer, to file: OutputFile?) throws(Failure) {
    if let filter {
      let json = try PointedValues.json(of: body, for: option)
      return try filter.run(on: json) { (value) throws(Failure) in try write(value, to: file) }
    }
    let found = try PointedValues(of: body, at: pointers)
    for value in found.values { try write(value, to: file) }
    if let failure = found.failure { throw failure }
  }

  private func write(_ value: JSONText, to file: OutputFile?) throws(Failure) {
    if let file {
      try Self.write(value) { (bytes) throws(Failure) in try file.write(bytes) }
      try Self.write([UInt8(ascii: "\n")], to: file)
    } else if console.isOutTerminal || isPretty, !isRaw {
      try show(value)
    } else {
      try Self.write(value) { (bytes) throws(Failure) in try console.write(bytes, as: .asIs) }
      try console.write([UInt8(ascii: "\n")], as: .asIs)
    }
  }

  /// Writes a text as it is, anything else as compact JSON.
  static func write(
    _ value: JSONText, to sink: (UnsafeRawBufferPointer) throws(Failure) -> Void
  ) throws(Failure) {
    if value.kind == .string { try value.writeText(to: sink) } else { try value.write(to: sink) }
  }

  /// Shows a value on a terminal. Pretty JSON is safe there as it is; a text without quotes is not.
  private func show(_ value: JSONText) throws(Failure) {
    if value.kind == .string, !pointers.isEmpty || filter != nil {
      try value.writeText { (bytes) throws(Failure) in try console.write(bytes, as: .piece) }
      try console.endText()
    } else {
      try value.writePretty(colour: console.usesColourOut) { (bytes) throws(Failure) in
        try console.write(bytes, as: .asIs)
      }
      try console.write([UInt8(ascii: "\n")], as: .asIs)
    }
  }

  private func show(_ bytes: [UInt8]) throws(Failure) {
    if console.isOutTerminal, bytes.withUnsafeBytes({ DisplayText.looksBinary($0) }) {
      target = .withheld
      console.notice(
        "The body is binary and is not shown. Use -o FILE to save it, or --raw to show it.")
      return
    }
    try console.write(bytes, as: .piece)
    target = .stream
  }

  private func excerpt(_ bytes: [UInt8]) {
    guard !bytes.isEmpty else { return }
    // Mask before cutting: half of a secret would not be found.
    let text = String(decoding: console.masked(bytes).prefix(Self.excerptSize), as: UTF8.self)
    for line in text.utf8.split(separator: UInt8(ascii: "\n")).prefix(40) {
      console.remark(
        "  server: "
          + DisplayText.oneLine(String(decoding: line, as: UTF8.self), limit: Self.excerptSize))
    }
  }

  private static func write(_ bytes: [UInt8], to file: OutputFile) throws(Failure) {
    try bytes.withUnsafeBufferPointer { (buffer) throws(Failure) in
      try file.write(UnsafeRawBufferPointer(buffer))
    }
  }
}
