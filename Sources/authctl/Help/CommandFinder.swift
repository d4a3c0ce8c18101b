internal import ArgumentParser
internal import AuthKit

/// The lookup of commands on the command line, and its errors.
enum CommandFinder {
  /// The global options allowed before the command; `withValue` take a value, `flags` do not.
  private static let withValue = [
    "-p", "--profile", "-u", "--username", "--store", "--errors", "--color",
    "--store-timeout", "--lock-timeout",
  ]
  private static let flags = ["--verbose", "--quiet", "--trust", "--no-input"]

  /// An option that the parser adds to each command; it needs more than is linked (AbsentFoundation).
  private static let parserOption = "--experimental-dump-help"

  /// The action that the words ask for.
  enum Invocation {
    case version(asJSON: Bool)
    /// A text of help, for standard output as it is.
    case help(String)
    /// `--help`, `help COMMAND` or `help TOPIC`: a text, and the manual page with more.
    case manual(page: String?, text: String)
    /// A command and its words, including the global options before its name.
    case run(any ParsableCommand.Type, [String], name: String)
  }

  /// Whether the words call a request command, in which `--json` is curl's option.
  static func isRequest(_ words: [String]) -> Bool {
    let names = [Get.self, Request.self, Head.self, Post.self, Put.self, Patch.self, Delete.self]
      .map { (type: any ParsableCommand.Type) in type.name }
    return words.dropFirst().contains(where: names.contains)
  }

  /// Finds the command by its name, so that the parser loads one command, not all.
  ///
  /// - Throws: `usage` for an unknown command, with the nearest name as the hint.
  static func resolve(_ words: [String]) throws(Failure) -> Invocation {
    let leading = try globalOptions(before: words)
    let rest = words[leading.count...]
    guard let name = rest.first else { return .help(HelpScreen.text) }
    switch name {
    case "-V", "--version": return .version(asJSON: rest.contains("--json"))
    case "-h": return .help(ShortHelp.text)
    case "--help": return .manual(page: nil, text: HelpScreen.text)
    case "help":
      return try manual(of: rest.dropFirst().prefix { $0.utf8.first != UInt8(ascii: "-") })
    default: break
    }
    if name.utf8.first == UInt8(ascii: "-") {
      throw unknownOption(name, known: ["--version"], of: "")
    }
    let (command, depth) = try find(rest.prefix { $0.utf8.first != UInt8(ascii: "-") })
    let behind = Array(leading) + rest.dropFirst(depth)
    let path = rest.prefix(depth)
    let help = Self.help(in: behind, command, path)
    if !subcommands(of: command).isEmpty {
      let options = try globalOptions(before: behind)
      let more = behind.dropFirst(options.count)
      if let next = more.first {
        if next.utf8.first != UInt8(ascii: "-") { return try resolve(Array(options + path + more)) }
        if help == nil { throw unknownOption(next, of: path.joined(separator: " ")) }
      }
      return help ?? .help(HelpScreen.text(of: command))
    }
    if let help { return help }
    if behind.prefix(while: { $0 != "--" }).contains(parserOption) {
      throw unknownOption(parserOption, of: path.joined(separator: " "))
    }
    return .run(command, separated(behind), name: path.joined(separator: " "))
  }

  /// Returns the answer to `--help` or `-h` among a command's `words`; nil without one.
  private static func help(
    in words: [String], _ command: any ParsableCommand.Type, _ path: ArraySlice<String>
  ) -> Invocation? {
    let own = words.prefix { $0 != "--" }
    if own.contains("--help") { return manual(of: command, path) }
    guard own.contains("-h") else { return nil }
    return .help(ShortHelp.text(of: command, called: path.joined(separator: " ")))
  }

  private static func manual(
    of command: any ParsableCommand.Type, _ path: ArraySlice<String>
  ) -> Invocation {
    .manual(
      page: (["authctl"] + path).joined(separator: "-"), text: HelpScreen.text(of: command))
  }

  private static func manual(of path: ArraySlice<String>) throws(Failure) -> Invocation {
    if path.count == 1, let text = path.first.flatMap(Topics.text) {
      return .manual(page: nil, text: text)
    }
    let (command, depth) = try find(path, or: Topics.summaries.map(\.0))
    guard depth > 0 else { return .manual(page: nil, text: HelpScreen.text) }
    return manual(of: command, path.prefix(depth))
  }

  /// Splits `-da=1` into `-d a=1`: the parser would take `a` for a part of the option's name.
  private static func separated(_ words: [String]) -> [String] {
    let own = words.prefix { $0 != "--" }
    let joined = own.flatMap { word -> [String] in
      let bytes = word.utf8
      let isJoined =
        bytes.count > 2 && bytes.first == UInt8(ascii: "-")
        && "puodHmXDwAbFTx".utf8.contains(bytes[bytes.index(after: bytes.startIndex)])
        && bytes.contains(UInt8(ascii: "="))
      return isJoined ? [String(word.prefix(2)), String(word.dropFirst(2))] : [word]
    }
    return joined + words.dropFirst(own.count)
  }

  private static func globalOptions(before words: [String]) throws(Failure) -> ArraySlice<String> {
    var index = 0
    while index < words.count {
      if withValue.contains(words[index]) {
        guard index + 1 < words.count else {
          throw Failure(.usage, "\(words[index]) needs a value", hint: "authctl help")
        }
        index += 2
      } else if flags.contains(words[index]) || isCluster(words[index]) || isJoined(words[index]) {
        index += 1
      } else {
        break
      }
    }
    return words[..<index]
  }

  /// Returns the command that `path` names, and the number of words in its name; the rest are
  /// arguments.
  private static func find(
    _ path: some Collection<String>, or topics: [String] = []
  ) throws(Failure) -> (command: any ParsableCommand.Type, depth: Int) {
    var command: any ParsableCommand.Type = Authctl.self
    var depth = 0
    for word in path {
      let known = subcommands(of: command)
      if known.isEmpty { break }
      guard let next = known.first(where: { $0.name == word }) else {
        let near = nearest(word, in: known.map { $0.name } + ["help"] + (depth == 0 ? topics : []))
        throw Failure(
          .usage,
          "unknown command "
            + DisplayText.oneLine(Redactor.withoutUserInformation(word), limit: 40),
          hint: near.map { "did you mean \($0)?" } ?? "authctl help")
      }
      command = next
      depth += 1
    }
    return (command, depth)
  }

  /// Returns the failure for an unknown option without a command, or with only a group.
  private static func unknownOption(
    _ word: String, known more: [String] = [], of group: String
  ) -> Failure {
    let name = String(decoding: word.utf8.prefix { $0 != UInt8(ascii: "=") }, as: UTF8.self)
    let known = withValue.filter { $0.utf8.count > 2 } + flags + more + ["--help"]
    return Failure(
      .usage, "unknown option '\(DisplayText.oneLine(name, limit: 40))'",
      hint: nearest(name, in: known).map { "did you mean '\($0)'?" }
        ?? (group.isEmpty ? "authctl help" : "authctl help \(group)"))
  }

  /// Whether `word` is `-v`, `-q`, `-vvq` and so on.
  private static func isCluster(_ word: String) -> Bool {
    word.utf8.count > 1 && word.utf8.first == UInt8(ascii: "-")
      && word.utf8.dropFirst().allSatisfy { $0 == UInt8(ascii: "v") || $0 == UInt8(ascii: "q") }
  }

  private static func isJoined(_ word: String) -> Bool {
    for option in withValue {
      let isLong = option.utf8.starts(with: "--".utf8)
      let start = isLong ? option + "=" : option
      if word.utf8.starts(with: start.utf8), word.utf8.count > start.utf8.count { return true }
    }
    return false
  }

  private static func subcommands(
    of command: any ParsableCommand.Type
  ) -> [any ParsableCommand.Type] {
    command.configuration.subcommands
  }

  /// Removes user information of URLs from the parser's message, which repeats the words as given.
  private static func withoutUserInformation(_ message: String, _ words: [String]) -> String {
    var message = message
    for word in words {
      let shown = Redactor.withoutUserInformation(word)
      if shown.utf8.elementsEqual(word.utf8) { continue }
      let (before, after) = message.separated(by: word)
      if let after { message = before + shown + after }
    }
    return message
  }

  /// Returns the parser's message about `words` as a failure; its question becomes the hint.
  static func usage(_ message: String, of command: String, _ words: [String]) -> Failure {
    if isRequest(["authctl", command]),
      let failure = ItemWords.failure(words, inMessage: message)
    {
      return failure
    }
    let parts = DisplayText.oneLine(withoutUserInformation(message, words), limit: 200)
      .separated(by: " Did you mean ")
    var text = parts.0
    let hint = parts.1.map { "did you mean " + $0 }
    while let last = text.utf8.last, last == UInt8(ascii: ".") { text.removeLast() }
    let first = String(text.prefix(1)).lowercased()
    // Without `--`, the parser takes the program's options for those of exec.
    let form = command == Exec.name && !words.contains("--") ? Exec.form : nil
    return Failure(
      .usage, first + text.dropFirst(),
      hint: hint ?? example(for: text) ?? form ?? "authctl help \(command)")
  }

  /// Returns the form of the value that the parser's message calls invalid.
  private static func example(for message: String) -> String? {
    guard message.contains(bytesOf: "is invalid for") else { return nil }
    if message.contains(bytesOf: "<duration>") {
      return "a duration is 30, 30s, 5m, 24h or 7d"
    }
    return message.contains(bytesOf: "<rate>") ? "a rate is 20/s, 100/m or 5000/h" : nil
  }
}

extension String {
  /// Returns the parts before and after the first `mark`; the second is nil without one.
  func separated(by mark: String) -> (String, String?) {
    let (bytes, wanted) = (Array(utf8), Array(mark.utf8))
    guard bytes.count >= wanted.count else { return (self, nil) }
    for start in 0...(bytes.count - wanted.count)
    where bytes[start..<(start + wanted.count)].elementsEqual(wanted) {
      return (
        String(decoding: bytes[..<start], as: UTF8.self),
        String(decoding: bytes[(start + wanted.count)...], as: UTF8.self)
      )
    }
    return (self, nil)
  }
}
