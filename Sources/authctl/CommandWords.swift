internal import ArgumentParser
internal import AuthKit

/// The order of words on the command line, and what is said when they are wrong.
enum CommandWords {
  /// Global options that stand before the command, by whether a value follows.
  private static let withValue = [
    "-p", "--profile", "-u", "--username", "--store", "--errors", "--store-timeout",
    "--lock-timeout",
  ]
  private static let flags = ["--verbose", "--quiet", "--no-input"]

  /// The words with the global options that stood before the command put behind it, where the
  /// parser of the command looks for them.
  ///
  /// - Throws: `usage` for an unknown command, naming the nearest.
  static func ordered(_ words: [String]) throws(Failure) -> [String] {
    var leading: [String] = []
    var index = 0
    while index < words.count {
      let word = words[index]
      if withValue.contains(word) {
        guard index + 1 < words.count else {
          throw Failure(.usage, "\(word) wants a value", hint: "authctl help")
        }
        leading += words[index..<min(index + 2, words.count)]
        index += 2
      } else if flags.contains(word) || isCluster(word) || isJoined(word) {
        leading.append(word)
        index += 1
      } else {
        break
      }
    }
    guard index < words.count else { return ["help"] }
    let name = words[index]
    if name == "-V" || name == "--version" { return ["--version"] }
    if name == "-h" || name == "--help" { return ["--help"] }
    if name == "help" { return Array(words[index...]) }
    var path = [name]
    try check(name, among: names(of: Authctl.self), of: "command")
    if let group = subcommands(of: Authctl.self).first(where: { commandName($0) == name }),
      !subcommands(of: group).isEmpty, index + 1 < words.count,
      words[index + 1].utf8.first != UInt8(ascii: "-")
    {
      path.append(words[index + 1])
      try check(words[index + 1], among: names(of: group), of: "\(name) command")
    }
    return path + leading + words[(index + path.count)...]
  }

  /// The words of the command that `help`, `-h` or `--help` asks about; nil without them.
  static func helpWanted(_ words: [String]) -> [String]? {
    let before = words.prefix { $0 != "--" }
    if before.first == "help" { return Array(before.dropFirst()) }
    guard before.contains("-h") || before.contains("--help") else { return nil }
    return Array(before.prefix { $0.utf8.first != UInt8(ascii: "-") }.prefix(2))
  }

  /// The command that `help WORD…` asks about; the root for `help` alone.
  ///
  /// - Throws: `usage` for a word that names no command.
  static func helped(_ words: [String]) throws(Failure) -> any ParsableCommand.Type {
    var command: any ParsableCommand.Type = Authctl.self
    for word in words where word.utf8.first != UInt8(ascii: "-") {
      // Words behind a command that has no subcommands are its arguments.
      if subcommands(of: command).isEmpty { break }
      guard let next = subcommands(of: command).first(where: { commandName($0) == word }) else {
        try check(word, among: names(of: command), of: "command")
        break
      }
      command = next
    }
    return command
  }

  /// `-v`, `-q`, `-vvq`.
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

  private static func check(
    _ name: String, among names: [String], of what: String
  ) throws(Failure) {
    if names.contains(name) { return }
    let near = nearest(name, in: names)
    throw Failure(
      .usage, "unknown \(what) \(DisplayText.oneLine(name, limit: 40))",
      hint: near.map { "did you mean \($0)?" } ?? "authctl help lists all commands")
  }

  private static func subcommands(
    of command: any ParsableCommand.Type
  ) -> [any ParsableCommand.Type] {
    command.configuration.subcommands
      + command.configuration.groupedSubcommands.flatMap(\.subcommands)
  }

  private static func names(of command: any ParsableCommand.Type) -> [String] {
    subcommands(of: command).map(commandName) + ["help"]
  }

  private static func commandName(_ command: any ParsableCommand.Type) -> String {
    command.configuration.commandName ?? String(describing: command).lowercased()
  }

  /// The parser's message as a failure: its question becomes the hint.
  static func usage(_ message: String, of words: [String]) -> Failure {
    let parts = DisplayText.oneLine(message, limit: 200).separated(by: " Did you mean ")
    var text = parts.0
    let hint = parts.1.map { "did you mean " + $0 }
    while let last = text.utf8.last, last == UInt8(ascii: ".") { text.removeLast() }
    let first = String(text.prefix(1)).lowercased()
    let command = words.prefix { $0.utf8.first != UInt8(ascii: "-") }.prefix(2)
    let known = command.filter { $0.utf8.allSatisfy { (0x61...0x7A).contains($0) || $0 == 0x2D } }
    return Failure(
      .usage, first + text.dropFirst(),
      hint: hint ?? "authctl help \(known.joined(separator: " "))".trimmingSpaces)
  }
}

extension String {
  /// What stands before and behind the first `mark`.
  fileprivate func separated(by mark: String) -> (String, String?) {
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
