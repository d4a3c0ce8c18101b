internal import AuthKit

/// Where the body of an answer goes: into a pipe byte for byte, to a terminal made fit to be
/// looked at, or into a file.
final class BodySink {
  private enum Target {
    case pipe
    case terminal(collected: [UInt8], isJSON: Bool)
    case stream(Caret)
    case file(OutputFile)
    /// An unwanted body beside `-o`: its first 2 KiB go to standard error.
    case excerpt([UInt8])
    case withheld
  }

  /// A JSON answer larger than this is not indented: it would have to be held in memory.
  private static let largestPretty = 4 << 20
  private static let excerptSize = 2048

  private let console: Console
  private let isRaw: Bool
  /// Something has left this process, or could have.
  private var hasWritten = false
  private var target: Target

  /// - Parameter isLines: what is wanted is made of the body: a line after the other, as they come.
  init(
    _ console: Console, head: ResponseHead, _ options: OutputOptions, isWanted: Bool,
    shownHead: String?, isLines: Bool = false
  ) throws(Failure) {
    self.console = console
    isRaw = options.raw
    let path = options.file.flatMap { $0 == "-" ? nil : $0 }
    if let path, isWanted {
      target = .file(try OutputFile(path))
    } else if path != nil || isLines && !isWanted {
      target = .excerpt([])
    } else if console.isOutTerminal, !options.raw {
      let type = head.mediaType ?? ""
      target = .terminal(
        collected: [], isJSON: !isLines && type.utf8.reversed().starts(with: "json".utf8.reversed())
      )
    } else {
      target = .pipe
    }
    if let shownHead, case .file(let file) = target {
      try Secret(shownHead).withBytes { (bytes) throws(Failure) in try file.write(bytes) }
    } else if let shownHead, path == nil {
      hasWritten = true
      let text = console.isOutTerminal && !isRaw ? Self.caret(shownHead) : Array(shownHead.utf8)
      try put(text)
    }
  }

  /// Whether the answer may be asked for again: nobody has seen any of it.
  var mayStartAnew: Bool {
    if case .file(let file) = target { return file.isTemporary }
    return !hasWritten
  }

  func take(_ bytes: UnsafeRawBufferPointer) throws(Failure) {
    hasWritten = true
    switch target {
    case .pipe: try console.write(bytes)
    case .file(let file): try file.write(bytes)
    case .withheld: break
    case .excerpt(let held):
      target = .excerpt(held + bytes.prefix(Self.excerptSize - held.count))
    case .stream(var caret):
      try put(caret.feed(bytes))
      target = .stream(caret)
    case .terminal(var collected, let isJSON):
      target = .withheld
      collected.append(contentsOf: bytes)
      if !isJSON || collected.count > Self.largestPretty {
        try show(collected)
      } else {
        target = .terminal(collected: collected, isJSON: true)
      }
    }
  }

  /// The body is there, whole.
  func finish() throws(Failure) {
    switch target {
    case .pipe, .withheld: break
    case .file(let file): try file.commit()
    case .excerpt(let bytes): excerpt(bytes)
    case .stream(var caret): try put(caret.finish() + [UInt8(ascii: "\n")])
    case .terminal(let collected, _):
      if let json = try? JSONValue.parse(collected) {
        try console.out(json.prettyPrinted(colour: console.usesColourOut))
      } else if !collected.isEmpty {
        try show(collected)
        try finish()
      }
    }
  }

  /// The body broke off: a file is not made of half of it.
  func abandon() {
    if case .file(let file) = target { file.abandon() }
  }

  private func show(_ bytes: [UInt8]) throws(Failure) {
    if bytes.withUnsafeBytes({ DisplayText.looksBinary($0) }) {
      target = .withheld
      console.notice("The body is binary and not shown: -o FILE saves it, --raw shows it anyway.")
      return
    }
    var caret = Caret()
    try put(bytes.withUnsafeBytes { caret.feed($0) })
    target = .stream(caret)
  }

  private func excerpt(_ bytes: [UInt8]) {
    guard !bytes.isEmpty else { return }
    let text = bytes.withUnsafeBytes { DisplayText.repaired($0) }
    for line in text.utf8.split(separator: UInt8(ascii: "\n")).prefix(40) {
      console.remark(
        "  server: "
          + DisplayText.oneLine(String(decoding: line, as: UTF8.self), limit: Self.excerptSize))
    }
  }

  private static func caret(_ text: String) -> [UInt8] {
    var caret = Caret()
    let bytes = Array(text.utf8)
    return bytes.withUnsafeBytes { caret.feed($0) } + caret.finish()
  }

  private func put(_ bytes: [UInt8]) throws(Failure) {
    try bytes.withUnsafeBufferPointer { (buffer) throws(Failure) in
      try console.write(UnsafeRawBufferPointer(buffer))
    }
  }
}
