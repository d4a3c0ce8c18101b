internal import ArgumentParser
internal import AuthKit

/// `authctl help`: every command by what it is for, one line each.
enum HelpScreen {
  static var text: String {
    var lines = [
      Authctl.configuration.abstract, "", "USAGE", "  authctl COMMAND [OPTIONS] [ARGS]",
    ]
    for group in Authctl.configuration.groupedSubcommands {
      lines += ["", heading(group.name)]
      lines += rows(group.subcommands.map { ($0.name, $0.configuration.abstract) })
    }
    lines += ["", "HELP ABOUT"] + rows(Topics.summaries)
    lines += [
      "",
      "OPTIONS OF EVERY COMMAND",
      "  -p, --profile NAME|FILE  which API        -v, --verbose   tell what happens",
      "  -u, --username NAME      which account    -q, --quiet     errors alone",
      "      --store NAME         where it is      --no-input      never ask",
      "      --errors json        errors as JSON   -h, --help      of a command",
      "",
      "authctl help COMMAND    the whole of it         authctl --version",
    ]
    return lines.joined(separator: "\n")
  }

  /// `Other programs:` as `OTHER PROGRAMS`.
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
