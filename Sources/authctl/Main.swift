internal import ArgumentParser
internal import AuthKit
internal import Glibc

/// The entry point: argv → command → exit status. Contains the program's only `exit`.
@main
enum Main {
  static func main() {
    // Not exit(3): nothing is buffered here, and the exit handlers of libraries cost half a
    // millisecond, or crash when a library is still being loaded.
    _exit(status(of: called + Arguments.texts.dropFirst()))
  }

  /// `helper git`, and so on, when the program runs under the name that git or another tool calls.
  private static var called: [String] {
    guard let path = Arguments.texts.first else { return [] }
    let end = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path.utf8.index(after: $0) }
    return HelperGroup.name(ofLink: path[(end ?? path.startIndex)...]).map { ["helper", $0] } ?? []
  }

  private static func status(of arguments: [String]) -> Int32 {
    let environment: [String: String]
    let before: Hardening.Before
    do throws(Failure) {
      before = try Hardening.begin()
      environment = try readEnvironment()
    } catch {
      return fail(error, environment: [:])
    }
    // Answered first, because scripts and completions ask for it all the time.
    if arguments == ["--version"] || arguments == ["-V"] {
      return write(release + "\n")
    }
    // For the shells' completions.
    if arguments.first == Completion.word {
      return write(Completion.lines(arguments.dropFirst(2), environment))
    }
    do throws(Failure) {
      if arguments.first == "__parse" { return try check(Array(arguments.dropFirst(2))) }
      try checkWords(before: "--")
      if arguments.isEmpty { return try Overview.show(environment) }
      return try run(arguments, environment, before)
    } catch {
      return fail(error, environment: environment)
    }
  }

  private static func run(
    _ arguments: [String], _ environment: [String: String], _ before: Hardening.Before
  ) throws(Failure) -> Int32 {
    let type: any ParsableCommand.Type
    let parsed: any ParsableCommand
    let begun: Preload.Begun?
    switch try CommandFinder.resolve(arguments) {
    case .version(let asJSON):
      return write(
        (asJSON ? Libraries.json.serialized() : release) + "\n")
    case .help(let text): return write(text + "\n")
    case .manual(let page, let text):
      Manual(environment: environment, before: before).show(page: page, text: text)
      return write(text + "\n")
    case .run(let command, let words, let name):
      type = command
      // `exec` passes its program's words on unchanged.
      if command != Exec.self { try checkWords(before: nil) }
      begun = (command as? any Command.Type)?.preloads.begin(words, environment)
      do { parsed = try UsualRequest.parse(words, of: type) ?? type.parseAsRoot(words) } catch {
        throw CommandFinder.usage(type.message(for: error), of: name, words)
      }
    }
    guard let command = parsed as? any Command else {
      return write(HelpScreen.text(of: type) + "\n")
    }
    let app = App(
      globals: command.globals, json: command.wantsJSON, environment: environment, before: before,
      begun: begun)
    do throws(Failure) {
      try app.take(profile: command.profileArgument)
      return try command.run(in: app)
    } catch {
      return app.report(error)
    }
  }

  /// Parses words and does nothing else, for the test of the commands that hints name:
  /// `authctl __parse -- WORD…`.
  private static func check(_ words: [String]) throws(Failure) -> Int32 {
    guard case .run(let command, let words, let name) = try CommandFinder.resolve(words) else {
      return 0
    }
    do { _ = try UsualRequest.parse(words, of: command) ?? command.parseAsRoot(words) } catch {
      throw CommandFinder.usage(command.message(for: error), of: name, words)
    }
    return 0
  }

  /// Reports a failure before there is an `App`.
  private static func fail(_ failure: Failure, environment: [String: String]) -> Int32 {
    let asJSON =
      App.wantsJSONErrors(nil, false, environment)
      || Arguments.texts.contains { $0 == "--errors=json" }
      || Arguments.texts.contains("--json") && !CommandFinder.isRequest(Arguments.texts)
      || hasPair("--errors", "json")
    Console(
      quiet: false, verbosity: 0, errorsAsJSON: asJSON, redactor: Redactor(),
      colour: .given(in: Arguments.texts) ?? .auto, environment: environment
    ).report(failure)
    return failure.kind.exitCode
  }

  private static func hasPair(_ first: String, _ second: String) -> Bool {
    zip(Arguments.texts, Arguments.texts.dropFirst()).contains { $0 == (first, second) }
  }

  private static func write(_ text: String) -> Int32 {
    let console = Console(
      quiet: false, verbosity: 0, errorsAsJSON: false, redactor: Redactor(), environment: [:])
    do throws(Failure) {
      try Secret(text).withBytes { (bytes) throws(Failure) in try console.write(bytes) }
      return 0
    } catch {
      console.report(error)
      return error.kind.exitCode
    }
  }

  /// Rejects arguments that are not valid UTF-8: `Arguments.texts` has repaired them, and
  /// authctl must not use a path or file name other than the one given.
  ///
  /// - Parameter end: the word at which the check stops; nil: it checks all words.
  /// - Throws: `usage`.
  private static func checkWords(before end: String?) throws(Failure) {
    for (number, text) in Arguments.raw.enumerated().dropFirst() {
      guard let word = String(validatingCString: text) else {
        throw Failure(
          .usage, "argument \(number) is not valid UTF-8",
          hint: "percent-encode it in a URL; for a file name, redirect with < or >")
      }
      if word == end { return }
    }
  }

  /// The variables that name files, folders and servers for authctl itself.
  private static let names: Set<String> = [
    "HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR",
    "CURL_CA_BUNDLE",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "DBUS_SESSION_BUS_ADDRESS", "PAGER", "KUBERNETES_EXEC_INFO",
    Variable.credentialsFolder.rawValue,
  ]

  /// Reads the environment, once per run.
  private static func readEnvironment() throws(Failure) -> [String: String] {
    var values: [String: String] = [:]
    var entry = environ
    while let text = entry.pointee {
      let isValid = String(validatingCString: text) != nil
      let line = String(cString: text)
      let name = String(decoding: line.utf8.prefix { $0 != UInt8(ascii: "=") }, as: UTF8.self)
      if !isValid, Variable.isOwn(name) || names.contains(name) {
        throw Failure(.usage, "\(DisplayText.oneLine(name, limit: 60)) is not valid UTF-8")
      }
      if let mark = line.utf8.firstIndex(of: UInt8(ascii: "=")) {
        // By bytes: a mark on the first letter would belong to the sign before it.
        values[name] = String(decoding: line.utf8[line.utf8.index(after: mark)...], as: UTF8.self)
      }
      entry += 1
    }
    return values
  }
}
