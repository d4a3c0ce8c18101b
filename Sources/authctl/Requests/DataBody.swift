internal import AuthKit
internal import Glibc

/// The files that the options of one body name.
final class BodyFiles {
  private let spoolFolder: String?
  /// The option that reads standard input.
  private var reader: String?

  init(_ environment: [String: String]) {
    spoolFolder = environment["XDG_RUNTIME_DIR"].flatMap { TokenFile.isPrivate($0) ? $0 : nil }
  }

  /// Opens a file for reading; `-` is standard input, which only one option can read.
  ///
  /// - Throws: `failed` when it cannot be read, `usage` when another option reads standard input.
  func open(
    _ path: String, option: String, withoutLineEnds: Bool = false, waits: Bool = true
  ) throws(Failure) -> BodyFile {
    if path.utf8.elementsEqual("-".utf8) {
      guard reader == nil else {
        throw Failure(.usage, "\(option): standard input can be read only once")
      }
      reader = option
    }
    return try BodyFile(
      path, option: option, withoutLineEnds: withoutLineEnds, waits: waits,
      spoolFolder: spoolFolder)
  }

  /// Returns all bytes of a file, for data that is needed before it is sent.
  func contents(_ path: String, option: String) throws(Failure) -> Secret {
    try DataBody.text(of: [.file(try open(path, option: option, waits: false))])
  }
}

/// The data of `-d`, `--data-raw`, `--data-binary`, `--data-urlencode` and `--json`, as curl reads
/// them (https://curl.se/docs/manpage.html).
enum DataBody {
  enum Kind {
    case plain, raw, binary, encoded
  }
  typealias Word = (kind: Kind, text: String)

  /// Returns the data, with `&` between the pieces.
  static func sources(_ words: [Word], _ files: BodyFiles) throws(Failure) -> [StreamedBody.Source]
  {
    var sources: [StreamedBody.Source] = []
    for (index, word) in words.enumerated() {
      if index > 0, !isEmpty(sources) { sources.append(.bytes(SharedSecret("&"))) }
      switch word.kind {
      case .plain:
        sources.append(try source(word.text, option: "-d", withoutLineEnds: true, files))
      case .raw: sources.append(.bytes(SharedSecret(word.text)))
      case .binary: sources.append(try source(word.text, option: "--data-binary", files))
      case .encoded:
        let text = try encoded(word.text, option: "--data-urlencode", files)
        sources.append(.bytes(SharedSecret(text)))
      }
    }
    return sources
  }

  private static func isEmpty(_ sources: [StreamedBody.Source]) -> Bool {
    StreamedBody(sources).length == 0
  }

  /// Returns `text` as it is, or the file of `@FILE`.
  private static func source(
    _ text: String, option: String, withoutLineEnds: Bool = false, _ files: BodyFiles
  ) throws(Failure) -> StreamedBody.Source {
    guard text.utf8.first == UInt8(ascii: "@") else { return .bytes(SharedSecret(text)) }
    return .file(
      try files.open(
        String(text.dropFirst()), option: option, withoutLineEnds: withoutLineEnds))
  }

  /// Returns all bytes of `sources`.
  static func text(of sources: [StreamedBody.Source]) throws(Failure) -> Secret {
    var builder = SecretBuilder(capacity: 65_536)
    try StreamedBody(sources).readAll { builder.append($0) }
    return builder.secret()
  }

  /// Encodes a form of --data-urlencode: `TEXT`, `=TEXT`, `NAME=TEXT`, `@FILE`, `NAME@FILE`.
  static func encoded(
    _ text: String, option: String, _ files: BodyFiles
  ) throws(Failure) -> Secret {
    var builder = SecretBuilder()
    let mark = text.utf8.firstIndex { $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: "@") }
    guard let mark else {
      Secret(text).withBytes { builder.appendFormEncoded($0) }
      return builder.secret()
    }
    let name = String(decoding: text.utf8[..<mark], as: UTF8.self)
    let rest = String(decoding: text.utf8[text.utf8.index(after: mark)...], as: UTF8.self)
    if !name.isEmpty {
      builder.append(name)
      builder.append("=")
    }
    let value =
      text.utf8[mark] == UInt8(ascii: "@")
      ? try files.contents(rest, option: option) : Secret(rest)
    value.withBytes { builder.appendFormEncoded($0) }
    return builder.secret()
  }

  /// Returns the JSON of `--json`: all pieces joined into one document.
  ///
  /// - Throws: `usage` when it is not JSON.
  static func json(_ pieces: [String], _ files: BodyFiles) throws(Failure) -> SharedSecret {
    var sources: [StreamedBody.Source] = []
    for piece in pieces { sources.append(try source(piece, option: "--json", files)) }
    let text = try text(of: sources)
    guard text.withBytes({ (try? JSONValue.check($0)) != nil }) else {
      throw Failure(
        .usage, "the value of --json is not JSON",
        hint: "to send it unchanged, use --data-raw and -H 'Content-Type: TYPE'")
    }
    return SharedSecret(text)
  }

  /// Returns the percent-encoded name of the file at `path`; nil for standard input.
  static func name(_ path: String) -> String? {
    guard let name = path.utf8.split(separator: UInt8(ascii: "/")).last,
      !path.utf8.elementsEqual("-".utf8)
    else { return nil }
    var text = SecretBuilder()
    Secret(String(decoding: name, as: UTF8.self)).withBytes { text.appendPercentEncoded($0) }
    return text.secret().withBytes { String(decoding: $0, as: UTF8.self) }
  }
}
