internal import AuthKit
internal import Glibc

/// Standard output or standard error: all of authctl's output to either passes here.
///
/// On a terminal it replaces every character that could act on it or hide in the text: control
/// characters (C1 and DEL too), bidirectional and zero-width ones, U+2028 and U+2029, a lone CR
/// (rule B4). A pipe or a file gets the bytes unchanged.
final class StandardStream {
  /// The kind of content, which decides how it is made safe for a terminal.
  enum Content {
    /// A whole text, in the form of `Caret`.
    case text
    /// A part of a text that may end within a character; `endText` ends the last one.
    case piece
    /// JSON: characters are replaced by `\u` escapes, so that it stays the same JSON.
    case json
    /// Nothing is replaced: authctl's own colours and cursor movements, and output with `--raw`.
    case asIs
  }

  /// Whether it is a terminal.
  let isTerminal: Bool

  private let descriptor: Int32
  private var caret = Caret()
  private var lastByte = UInt8(ascii: "\n")

  /// Creates standard error if `isError` is true, otherwise standard output.
  init(isError: Bool = false) {
    descriptor = isError ? STDERR_FILENO : STDOUT_FILENO
    isTerminal = isatty(descriptor) == 1
  }

  /// The width in columns; nil if it is not a terminal or the width is unknown.
  var columns: Int? {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
    return Int(size.ws_col)
  }

  /// Writes everything, in one write(2) if the system accepts it.
  ///
  /// - Returns: 0, or the error number of write(2).
  func write(_ bytes: UnsafeRawBufferPointer, as content: Content = .text) -> Int32 {
    // Most output is plain and needs no copy, which would not be wiped for a secret.
    guard isTerminal, caret.holdsBack || !bytes.allSatisfy(Self.isPlain) else { return put(bytes) }
    switch content {
    case .text, .piece:
      var shown = caret.feed(bytes)
      if content == .text { shown += caret.finish() }
      return put(shown)
    case .json: return put(caret.finish() + JSONValue.shown(bytes))
    case .asIs:
      let code = put(caret.finish())
      return code == 0 ? put(bytes) : code
    }
  }

  /// Writes what the last `piece` held back and, on a terminal, a missing line end.
  ///
  /// - Returns: 0, or the error number of write(2).
  func endText() -> Int32 {
    guard isTerminal else { return 0 }
    let rest = caret.finish()
    return put((rest.last ?? lastByte) == UInt8(ascii: "\n") ? rest : rest + [UInt8(ascii: "\n")])
  }

  /// Returns a whole text in the form in which a terminal gets it.
  static func safe(_ text: [UInt8]) -> [UInt8] {
    var caret = Caret()
    let shown = text.withUnsafeBytes { caret.feed($0) }
    return shown + caret.finish()
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    0x20..<0x7F ~= byte || byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\t")
  }

  private func put(_ bytes: [UInt8]) -> Int32 { bytes.withUnsafeBytes { put($0) } }

  private func put(_ bytes: UnsafeRawBufferPointer) -> Int32 {
    lastByte = bytes.last ?? lastByte
    do throws(SystemError) { try Descriptor.write(bytes, to: descriptor) } catch {
      return error.number
    }
    return 0
  }
}
