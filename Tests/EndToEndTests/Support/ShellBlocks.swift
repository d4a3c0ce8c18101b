/// A block of commands that a document tells its readers to type.
struct ShellBlock: Sendable {
  /// The heading of its section, `## …`.
  var section: String
  /// The number of its first line.
  var line: Int
  var text: String
  /// Why it cannot be run, from `<!-- not run: REASON -->` in the line above.
  var excuse: String?

  /// The commands, with lines joined that end with a backslash.
  var commands: [String] {
    var commands: [String] = []
    var open = ""
    for line in text.split(separator: "\n") {
      open += line
      if line.hasSuffix("\\") {
        open += "\n"
      } else {
        commands.append(open)
        open = ""
      }
    }
    return commands
  }

  /// The blocks of a Markdown text: text indented by four spaces, and text fenced as `sh`. In a
  /// block with lines that begin with `$`, only these are commands; the others are output.
  static func all(inMarkdown text: String) -> [ShellBlock] {
    var blocks: [ShellBlock] = []
    var section = ""
    var excuse: String?
    var fence: (isShell: Bool, at: Int)?
    var open: [String] = []
    func close(at line: Int) {
      while open.last == "" { open.removeLast() }
      guard !open.isEmpty else { return }
      let typed = open.filter { $0.hasPrefix("$ ") }.map { String($0.dropFirst(2)) }
      blocks.append(
        ShellBlock(
          section: section, line: line,
          text: (typed.isEmpty ? open : typed).joined(separator: "\n"),
          excuse: excuse))
      (open, excuse) = ([], nil)
    }
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    for (index, line) in lines.enumerated() {
      if let current = fence {
        if line.hasPrefix("```") {
          fence = nil
          if current.isShell { close(at: current.at) }
          open = []
        } else {
          open.append(line)
        }
        continue
      }
      if line.hasPrefix("    ") || (line == "" && !open.isEmpty) {
        open.append(String(line.dropFirst(4)))
        continue
      }
      close(at: index + 1 - open.count)
      if line.hasPrefix("```") {
        fence = (["```sh", "```console"].contains(line), index + 1)
      } else if line.hasPrefix("## ") {
        section = String(line.dropFirst(3))
      } else if let match = line.wholeMatch(of: /<!-- not run: (.+) -->/) {
        excuse = String(match.1)
      } else if line != "" {
        excuse = nil
      }
    }
    close(at: lines.count)
    return blocks
  }

  /// The literal displays in the section EXAMPLES of an mdoc(7) page.
  static func all(inPage text: String) -> [ShellBlock] {
    var blocks: [ShellBlock] = []
    var (isExample, start) = (false, 0)
    var open: [String]?
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
    {
      if line.hasPrefix(".Sh ") { isExample = line == ".Sh EXAMPLES" }
      if isExample, line.hasPrefix(".Bd -literal") {
        (open, start) = ([], index + 2)
      } else if line == ".Ed", let typed = open {
        blocks.append(
          ShellBlock(section: "EXAMPLES", line: start, text: typed.joined(separator: "\n")))
        open = nil
      } else {
        open?.append(
          String(line).replacing("\\-", with: "-").replacing("\\e", with: "\\").replacing(
            "\\&", with: ""))
      }
    }
    return blocks
  }
}
