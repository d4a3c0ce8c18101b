internal import ArgumentParser
internal import AuthKit

/// The text of `authctl help`: all commands by purpose, one line each.
enum HelpScreen {
  static var text: String {
    var lines = [
      Authctl.configuration.abstract, "", "USAGE", "  authctl COMMAND [OPTIONS] [ARGS]",
    ]
    for group in Authctl.configuration.groupedSubcommands {
      lines += ["", heading(group.name)]
      lines += rows(group.subcommands.map { ($0.name, $0.configuration.abstract) })
    }
    lines += ["", "HELP TOPICS"] + rows(Topics.summaries)
    lines += [
      "",
      "GLOBAL OPTIONS",
      "  -p, --profile NAME|FILE  the profile      -v, --verbose   show what happens",
      "  -u, --username NAME      the account      -q, --quiet     only errors",
      "      --store NAME         session store    --no-input      never ask",
      "      --errors json        errors as JSON   --trust         trust the profile",
      "      --color WHEN         auto, always, never",
      "  -h                       short help       --help          manual page",
      "",
      "For details, run authctl help COMMAND or authctl help TOPIC.",
    ]
    return lines.joined(separator: "\n")
  }

  /// Returns the help of one command, with its own options before the titled groups and the global
  /// options: the parser prints options without a title last. Omits `--version`, which the parser
  /// lists but only the program itself has.
  static func text(of command: any ParsableCommand.Type) -> String {
    let lines = Authctl.helpMessage(for: command)
      .split(separator: "\n", omittingEmptySubsequences: false)
      .filter { !$0.utf8.starts(with: "  --version ".utf8) }
    var blocks = lines.split(separator: "", omittingEmptySubsequences: false)
    if let own = blocks.firstIndex(where: { $0.first == "OPTIONS:" }),
      let titled = blocks[..<own].firstIndex(where: { isTitle($0.first ?? "") })
    {
      blocks.insert(blocks.remove(at: own), at: titled)
    }
    return blocks.joined(separator: [""]).joined(separator: "\n")
  }

  /// Whether `line` is a title such as `GLOBAL OPTIONS:`, except that of the arguments, which come
  /// first.
  private static func isTitle(_ line: Substring) -> Bool {
    line.utf8.last == UInt8(ascii: ":") && line != "ARGUMENTS:"
      && !line.utf8.contains { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) }
  }

  /// Returns `Other programs:` as `OTHER PROGRAMS`.
  private static func heading(_ name: String) -> String {
    String(decoding: name.utf8.filter { $0 != UInt8(ascii: ":") }, as: UTF8.self).uppercased()
  }

  private static func rows(_ pairs: [(String, String)]) -> [String] {
    pairs.map { name, summary in
      "  " + name + String(repeating: " ", count: max(1, 13 - name.utf8.count)) + summary
    }
  }
}

extension ParsableCommand {
  /// The word that names it on the command line.
  static var name: String { configuration.commandName ?? String(describing: self).lowercased() }
}
