internal import ArgumentParser
internal import AuthKit

/// The screen of `-h`: usage, examples and the options that people use. `--help` has everything.
struct ShortHelp {
  /// The options on the screen, by command; of any other command, its own and then `common`.
  private static let options = [
    "login": [
      "--preset", "--from-curl", "--body", "--token-at", "--send", "--if-needed", "--yes",
      "--password-stdin", "--password-command", "--token-stdin", "--profile", "--username",
    ],
    "register": [
      "--field", "--password-stdin", "--password-command", "--json", "--profile", "--username",
    ],
    "get": [
      "--header", "--field", "--include", "--output", "--remote-name", "--pointer",
      "--paginate", "--each", "--retry", "--profile", "--username", "--verbose",
    ],
    "head": [
      "--header", "--location", "--ok", "--anonymous", "--write-out", "--max-time", "--retry",
      "--profile", "--username", "--verbose",
    ],
    "post": sending, "put": sending, "patch": sending, "delete": sending, "request": sending,
    "batch": [
      "--parallel", "--unordered", "--fail-fast", "--ok", "--anonymous", "--show-secrets",
      "--retry", "--rate", "--max-time", "--profile", "--username", "--quiet",
    ],
    "exec": [
      "--env", "--env-keep", "--file", "--login", "--password-stdin", "--password-command",
      "--profile", "--username", "--verbose",
    ],
    "profile add": [
      "--preset", "--from-curl", "--like", "--body", "--form", "--token-at", "--send", "--set",
      "--replace", "--json",
    ],
    "store unlock": ["--password-stdin", "--password-file", "--password-command", "--json"],
  ]
  private static let sending = [
    "--header", "--data", "--json", "--field", "--form", "--upload-file", "--include", "--output",
    "--pointer", "--retry", "--dry-run", "--profile", "--username",
  ]
  private static let common = ["--profile", "--username", "--quiet"]
  /// The most options and examples on a screen of 24 lines.
  private static let most = 12
  private static let mostExamples = 3
  private static let width = 79

  /// Returns the screen of the command or group that is called `name`.
  static func text(of command: any ParsableCommand.Type, called name: String) -> String {
    let lines =
      command.configuration.subcommands.isEmpty
      ? ShortHelp(HelpScreen.text(of: command)).lines(of: name) : group(command, name)
    return lines.joined(separator: "\n")
  }

  /// The screen of `authctl -h`.
  static var text: String {
    let groups = Authctl.configuration.groupedSubcommands.map { group in
      (
        String(decoding: group.name.utf8.filter { $0 != UInt8(ascii: ":") }, as: UTF8.self),
        group.subcommands.map { $0.name }.joined(separator: " ")
      )
    }
    let lines =
      [
        Authctl.configuration.abstract, "", "Usage: authctl COMMAND [OPTIONS] [ARGS]", "",
        "Examples:", "  authctl login https://api.example.com", "  authctl get /me",
        "  authctl status", "", "Commands:",
      ] + rows(groups) + [""] + rows(more)
    return lines.joined(separator: "\n")
  }

  private static let more = [
    ("authctl COMMAND -h", "common options of a command"),
    ("authctl help COMMAND", "all options of a command"),
    ("authctl help", "all commands and topics"),
  ]

  private static func group(_ command: any ParsableCommand.Type, _ name: String) -> [String] {
    [command.configuration.abstract, "", "Usage: authctl \(name) COMMAND", "", "Commands:"]
      + rows(command.configuration.subcommands.map { ($0.name, $0.configuration.abstract) })
      + [""] + rows([("authctl help \(name)", "details")])
  }

  // MARK: - The long form, read

  private var abstract = ""
  private var usage = ""
  private var examples: [String] = []
  private var entries: [(section: String, label: String, summary: String)] = []

  /// Reads what `--help` prints.
  private init(_ long: String) {
    var section = ""
    var exampleCount = 0
    for line in long.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      let text = String(decoding: line, as: UTF8.self)
      let indent = line.prefix { $0 == UInt8(ascii: " ") }.count
      let words = text.trimmingSpaces
      if indent == 0, line.starts(with: "OVERVIEW: ".utf8) {
        abstract = String(text.dropFirst(10))
        section = "OVERVIEW"
      } else if indent == 0, line.starts(with: "USAGE: ".utf8) {
        usage = String(text.dropFirst(7))
        section = "USAGE"
      } else if line.isEmpty {
        section = section == "OVERVIEW" ? "" : section
      } else if indent == 0 {
        section = section == "OVERVIEW" ? section : text
        if section == "OVERVIEW" { abstract += " " + words }
      } else if section == "USAGE" {
        usage += " " + words
      } else if section == "Examples:" {
        if indent == 2 { exampleCount += 1 }
        if exampleCount <= Self.mostExamples { examples.append(text) }
      } else if indent == 2, line.dropFirst(2).first == UInt8(ascii: "-") {
        // Summaries begin in column 27, unless the label is longer.
        let isShort = line.count > 26 && Array(line)[25] == UInt8(ascii: " ")
        let label = isShort ? String(text.prefix(26)) : text
        let summary = isShort ? String(text.dropFirst(26)) : ""
        entries.append((section, label.trimmingSpaces, summary))
      } else if !entries.isEmpty {
        entries[entries.count - 1].summary += (entries.last?.summary == "" ? "" : " ") + words
      }
    }
  }

  private func lines(of name: String) -> [String] {
    var lines = [abstract]
    lines += Console.wrapped("Usage: " + usage, indent: 2).enumerated()
      .map { $0 == 0 ? $1 : "  " + $1 }
    if !examples.isEmpty { lines += ["", "Examples:"] + examples }
    let shown = chosen(for: name).map { ($0.label, $0.summary) }
    if !shown.isEmpty { lines += ["", "Options:"] + Self.rows(shown) }
    return lines + [""] + Self.rows([("authctl help \(name)", "all options and details")])
  }

  private func chosen(
    for name: String
  ) -> [(section: String, label: String, summary: String)] {
    func entry(_ option: String) -> (section: String, label: String, summary: String)? {
      entries.first {
        $0.label.utf8.split(separator: UInt8(ascii: " ")).contains { $0.elementsEqual(option.utf8) }
      }
    }
    if let options = Self.options[name] {
      return Array(options.compactMap(entry).prefix(Self.most))
    }
    let own = entries.filter { $0.section == "OPTIONS:" && !$0.label.ends(withBytesOf: "--help") }
    return own.prefix(Self.most - Self.common.count) + Self.common.compactMap(entry)
  }

  /// Returns aligned lines of a label and a summary, each as long as the screen allows.
  private static func rows(_ pairs: [(String, String)]) -> [String] {
    let widest = pairs.map(\.0.utf8.count).max() ?? 0
    return pairs.map { label, summary in
      let start = "  " + label + String(repeating: " ", count: widest - label.utf8.count + 2)
      return start + fitted(summary, to: width - start.utf8.count)
    }
  }

  /// Cuts a summary at the end of a clause.
  private static func fitted(_ summary: String, to room: Int) -> String {
    let bytes = Array(summary.utf8)
    guard bytes.count > room else { return summary }
    func end(after marks: String) -> Int? {
      bytes.indices.prefix(room).dropFirst().last {
        bytes[$0] == UInt8(ascii: " ") && marks.utf8.contains(bytes[$0 - 1])
      }
    }
    guard let end = end(after: ".;:") ?? end(after: ",") else {
      return Console.wrapped(summary, columns: room).first ?? ""
    }
    return String(decoding: bytes[..<(end - 1)], as: UTF8.self) + "."
  }
}
