internal import ArgumentParser
internal import AuthKit

/// The options for the output of an answer (design 2 and 8).
struct OutputOptions: ParsableArguments {
  @Flag(
    name: [.customShort("i"), .customLong("include")],
    help: "Print status line and headers before the body.")
  var include = false

  @Flag(
    name: [.customShort("I"), .customLong("head")],
    help: "Send HEAD instead of GET, and print only status line and headers.")
  var head = false

  @Option(
    name: [.customShort("D", allowingJoined: true), .customLong("dump-header")],
    parsing: .unconditional,
    help: ArgumentHelp(
      "Write status line and headers to FILE; - is standard output.", valueName: "file"))
  var dumpHeader: String?

  @Option(
    name: [.customShort("o", allowingJoined: true), .customLong("output")], parsing: .unconditional,
    help: ArgumentHelp(
      "Write the body to FILE; if the transfer fails, FILE is unchanged.", valueName: "file"))
  var file: String?

  @Flag(
    name: [.customShort("O"), .customLong("remote-name")],
    help: "Write the body to a new file, named as in the URL.")
  var remoteName = false

  @Flag(
    name: [.customShort("J"), .customLong("remote-header-name")],
    help: "With -O, use the name in Content-Disposition if there is one.")
  var serverName = false

  @Option(
    name: .customLong("output-dir"), parsing: .unconditional,
    help: ArgumentHelp("Write the files of -o and -O to this folder.", valueName: "dir"))
  var folder: String?

  @Option(
    parsing: .unconditionalSingleValue,
    help: ArgumentHelp(
      "Print one value of a JSON answer: /data/0/id; strings without quotes.",
      valueName: "pointer"))
  var pointer: [String] = []

  @Option(
    name: .customLong("jq"), parsing: .unconditional,
    help: ArgumentHelp(
      "Print the results of a jq filter on the JSON answer: '.data[].id'.", valueName: "filter"))
  var filter: String?

  @Flag(help: "Print the body as received, without decoding or escaping.")
  var raw = false

  @Flag(help: "Indent a JSON answer, also in a pipe.")
  var pretty = false

  @Option(
    name: [.customShort("w", allowingJoined: true), .customLong("write-out")],
    parsing: .unconditional,
    help: ArgumentHelp(
      "Print this at the end, with curl's variables: '%{http_code}\\n', or @FILE.",
      valueName: "format"))
  var writeOut: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Write what is sent and received to FILE (- is standard error), masked as with -v.",
      valueName: "file"))
  var trace: String?

  @Flag(
    name: .customLong("show-secrets"), help: "With -i, -D and -w: do not mask secrets in headers.")
  var showSecrets = false

  @Flag(
    name: .customLong("dry-run"), help: "Send nothing: print the request, masked.")
  var dryRun = false

  @Flag(
    name: .customLong("as-curl"),
    help: "Send nothing: print a curl command for the same request.")
  var asCurl = false

  /// Returns the method to send: `-I` turns GET into HEAD.
  ///
  /// - Throws: `usage` for `-I` with another method.
  func method(_ method: String) throws(Failure) -> String {
    guard head, method != "HEAD" else { return method }
    guard method == "GET" else {
      throw Failure(
        .usage, "-I cannot be used with \(method)", hint: "use -i to print the headers too")
    }
    return "HEAD"
  }

  /// Returns the checked options, with `-O` and `--output-dir` resolved into `file`.
  ///
  /// - Parameter target: the target as typed.
  /// - Throws: `usage` for a refused name, an existing file or an invalid pointer.
  func settled(for target: String) throws(Failure) -> OutputOptions {
    for pointer in pointer where !JSONValue.isPointer(pointer) {
      throw Failure(
        .usage, "--pointer \(DisplayText.oneLine(pointer, limit: 60)) is not a JSON Pointer",
        hint: "write /data/0/id (RFC 6901)")
    }
    guard !dryRun || !asCurl else {
      throw Failure(.usage, "--dry-run and --as-curl cannot be used together")
    }
    guard filter == nil || pointer.isEmpty else {
      throw Failure(.usage, "--jq and --pointer cannot be used together")
    }
    guard !pretty || !raw else {
      throw Failure(.usage, "--pretty and --raw cannot be used together")
    }
    guard !pretty || !remoteName && file.map({ $0 == "-" }) ?? true else {
      throw Failure(
        .usage, "--pretty cannot be used with -o or -O",
        hint: "to save indented JSON, redirect it: > FILE")
    }
    guard remoteName || !serverName else { throw Failure(.usage, "-J requires -O") }
    var settled = self
    if remoteName {
      guard file == nil else { throw Failure(.usage, "-o and -O cannot be used together") }
      // The server's name comes later, and may be valid where the URL has none.
      let name = DownloadName.last(of: target)
      if !serverName { try DownloadName.check(name, "-O") }
      settled.file = try place(of: name == "-" ? "./-" : name)
    } else if let file, file != "-" {
      settled.file = place(file)
    }
    return settled
  }

  /// Returns the file to save an answer in; nil for standard output.
  ///
  /// - Throws: `usage` for a refused name.
  func path(for head: ResponseHead) throws(Failure) -> String? {
    guard let file, file != "-" else { return nil }
    guard serverName else { return file }
    let given = head.first("Content-Disposition").flatMap { DownloadName.given(by: $0) }
    let own = file.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).last
    try DownloadName.check(given ?? own.map { String(decoding: $0, as: UTF8.self) } ?? "", "-J")
    return given.map { place($0) } ?? file
  }

  /// Opens the file at `path`; with `-O`, it must be new.
  ///
  /// - Throws: `failed` when it cannot be written, `usage` when it exists already.
  func open(_ path: String) throws(Failure) -> OutputFile {
    try OutputFile(path, isNew: remoteName)
  }

  /// - Throws: `usage` when the file exists already.
  private func place(of name: String) throws(Failure) -> String {
    let path = place(name)
    // The kernel checks again when the file gets its name; this check is before sending.
    if !serverName, File.exists(path) { throw OutputFile.isThere(path) }
    return path
  }

  private func place(_ name: String) -> String {
    guard let folder, !folder.isEmpty else { return name }
    return folder + (folder.utf8.last == UInt8(ascii: "/") ? "" : "/") + name
  }
}
