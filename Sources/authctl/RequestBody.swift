internal import ArgumentParser
internal import AuthKit
internal import Glibc

/// The options that give a request its body; the letters are curl's (contract section 8).
struct BodyOptions: ParsableArguments {
  @Option(
    name: [.customShort("d", allowingJoined: true), .customLong("data")],
    parsing: .unconditionalSingleValue,
    help: ArgumentHelp("A form's data, or @FILE without its line ends.", valueName: "data"))
  var data: [String] = []

  @Option(
    name: .customLong("data-raw"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp("The same; @ has no meaning.", valueName: "data"))
  var dataRaw: [String] = []

  @Option(
    name: .customLong("data-binary"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp("The same; @FILE byte for byte.", valueName: "data"))
  var dataBinary: [String] = []

  @Option(
    name: .customLong("data-urlencode"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp("Encoded for a form: NAME=TEXT, NAME@FILE, TEXT.", valueName: "data"))
  var dataURLEncode: [String] = []

  @Option(
    name: .customLong("json"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp("A JSON body, or @FILE; it is checked first.", valueName: "data"))
  var json: [String] = []

  @Option(
    name: .customLong("input"), parsing: .unconditional,
    help: ArgumentHelp("The body is this file; - is standard input.", valueName: "file"))
  var input: String?

  @Flag(
    name: [.customShort("G"), .customLong("get")], help: "The data becomes the URL's query.")
  var inQuery = false

  @Option(
    name: .customLong("url-query"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp("More for the query, as --data-urlencode.", valueName: "data"))
  var urlQuery: [String] = []

  /// Whether there is a body, and none for the query.
  var isBody: Bool { !isEmpty && !inQuery }

  private var isEmpty: Bool {
    data.isEmpty && dataRaw.isEmpty && dataBinary.isEmpty && dataURLEncode.isEmpty && json.isEmpty
      && input == nil
  }

  /// What the options stand for.
  ///
  /// - Throws: `usage` for options that exclude each other and JSON that is none, `failed` for a
  ///   file that cannot be read.
  func body() throws(Failure) -> RequestBody {
    var body = RequestBody()
    var pieces = SecretBuilder()
    func join(_ bytes: borrowing Secret, by mark: UInt8? = UInt8(ascii: "&")) {
      if pieces.count > 0, let mark { pieces.append(mark) }
      pieces.append(bytes)
    }
    for text in data { join(try DataFile.value(text, option: "-d", keepsLineEnds: false)) }
    for text in dataRaw { join(Secret(text)) }
    for text in dataBinary {
      join(try DataFile.value(text, option: "--data-binary", keepsLineEnds: true))
    }
    for text in dataURLEncode { join(try DataFile.encoded(text, option: "--data-urlencode")) }
    let isForm = pieces.count > 0 || !(data + dataRaw + dataBinary + dataURLEncode).isEmpty
    guard [isForm, !json.isEmpty, input != nil].count(where: { $0 }) < 2 else {
      throw Failure(.usage, "--data, --json and --input exclude each other")
    }
    for text in json {
      join(try DataFile.value(text, option: "--json", keepsLineEnds: true), by: nil)
    }
    let content = pieces.secret()
    var query = SecretBuilder()
    for text in urlQuery {
      if query.count > 0 { query.append("&") }
      query.append(try DataFile.encoded(text, option: "--url-query"))
    }
    if inQuery {
      guard json.isEmpty, input == nil else {
        throw Failure(.usage, "-G goes with --data, not with --json or --input")
      }
      if query.count > 0, !content.isEmpty { query.append("&") }
      query.append(content)
    }
    body.query = query.secret().withBytes { String(decoding: $0, as: UTF8.self) }
    if inQuery || isEmpty { return body }
    if let input {
      body.content = SharedSecret(try DataFile.contents(input, option: "--input"))
      body.type = "application/json"
      return body
    }
    body.type = isForm ? "application/x-www-form-urlencoded" : "application/json"
    body.wantsJSON = !isForm
    if !isForm {
      guard content.withBytes({ (try? JSONValue.parse($0)) != nil }) else {
        throw Failure(
          .usage, "--json is not JSON", hint: "--data-binary sends it as it is; -H names its type")
      }
    }
    body.content = SharedSecret(content)
    return body
  }
}

/// What a request carries beside its headers.
struct RequestBody {
  /// None: no body. Empty: a body of no bytes.
  var content: SharedSecret?
  /// Its Content-Type, where the options say it.
  var type: String?
  /// Whether JSON is asked for as well (`--json`).
  var wantsJSON = false
  /// What joins the URL's query; empty for nothing.
  var query = ""
}

/// Data on the command line, or in files that it names.
enum DataFile {
  /// A body is held in memory; this is the most of it.
  private static let largest = 64 << 20

  /// `text` as it is, or what stands in the file of `@FILE`.
  static func value(
    _ text: String, option: String, keepsLineEnds: Bool
  ) throws(Failure) -> Secret {
    guard text.utf8.first == UInt8(ascii: "@") else { return Secret(text) }
    let contents = try contents(String(text.dropFirst()), option: option)
    if keepsLineEnds { return contents }
    // As curl does it: a form's data in a file may stand on several lines.
    var builder = SecretBuilder()
    contents.withBytes { bytes in
      for byte in bytes where byte != 0x0A && byte != 0x0D && byte != 0 { builder.append(byte) }
    }
    return builder.secret()
  }

  /// curl's five forms of --data-urlencode: `TEXT`, `=TEXT`, `NAME=TEXT`, `@FILE`, `NAME@FILE`.
  static func encoded(_ text: String, option: String) throws(Failure) -> Secret {
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
      text.utf8[mark] == UInt8(ascii: "@") ? try contents(rest, option: option) : Secret(rest)
    value.withBytes { builder.appendFormEncoded($0) }
    return builder.secret()
  }

  /// All bytes of a file; `-` is standard input.
  ///
  /// - Throws: `failed` when it cannot be read, `usage` when it is larger than 64 MiB.
  static func contents(_ path: String, option: String) throws(Failure) -> Secret {
    let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw Failure(
        .failed, "\(option): cannot read \(DisplayText.oneLine(path)): \(File.reason())")
    }
    defer { if path != "-" { close(descriptor) } }
    var builder = SecretBuilder(capacity: 65_536)
    var failure: Failure?
    withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 1) { chunk in
      while failure == nil {
        let count = read(descriptor, chunk.baseAddress, chunk.count)
        if count < 0, errno == EINTR { continue }
        if count == 0 { break }
        if count < 0 {
          failure = Failure(
            .failed, "\(option): cannot read \(DisplayText.oneLine(path)): \(File.reason())")
        } else if builder.count + count > largest {
          failure = Failure(.usage, "\(option): \(DisplayText.oneLine(path)) is larger than 64 MiB")
        } else {
          builder.append(UnsafeRawBufferPointer(rebasing: chunk[..<count]))
        }
      }
      if let base = chunk.baseAddress { explicit_bzero(base, chunk.count) }
    }
    if let failure { throw failure }
    return builder.secret()
  }
}
