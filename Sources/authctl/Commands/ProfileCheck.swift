internal import ArgumentParser
internal import AuthKit

/// `authctl profile check [NAME…]`
struct ProfileCheck: Command {
  static let configuration = CommandConfiguration(
    commandName: "check", abstract: "Check profiles for mistakes; without a name, all of them.",
    usage: "authctl profile check [<options>] [<name|file> ...]",
    discussion: """
      Prints each mistake with line, column and the nearest known key. Exits with 2
      if there is one.

      Examples:
        authctl profile check
        authctl profile check shop ./team/shop.toml
      """
  ).alone

  @Argument(help: ArgumentHelp("A profile, or a file (with a slash).", valueName: "name|file"))
  var names: [String] = []

  @OptionGroup var output: JSONOutput
  @OptionGroup(title: "Global options") var globals: Globals

  var wantsJSON: Bool { output.json }

  func run(in app: App) throws(Failure) -> Int32 {
    let names = names.isEmpty ? globals.profile.map { [$0] } ?? [] : names
    var results: [(name: String, mistakes: [Failure])] = []
    let configMistakes = names.isEmpty ? app.profiles.configMistakes() : []
    if !configMistakes.isEmpty { results.append(("config.toml", configMistakes)) }
    for name in names.isEmpty ? try app.profiles.names() : names {
      // A profile that cannot be read does not hide the others.
      do throws(Failure) { results.append((name, try app.profiles.mistakes(name))) } catch {
        results.append((name, [error]))
      }
    }
    if output.json {
      try app.console.out(
        JSONValue.array(
          results.map { name, mistakes in
            .object([
              ("name", .string(name)), ("ok", .bool(mistakes.isEmpty)),
              ("mistakes", .array(mistakes.map(Self.json))),
            ])
          }
        ))
    } else {
      for (name, mistakes) in results where mistakes.isEmpty {
        app.console.notice("\(DisplayText.oneLine(name)): no mistakes")
      }
      for mistake in results.flatMap(\.mistakes) { app.console.report(mistake) }
    }
    return results.flatMap(\.mistakes).map(\.kind.exitCode).max() ?? 0
  }

  private static func json(_ mistake: Failure) -> JSONValue {
    .object([
      ("message", .string(mistake.message)),
      ("hint", mistake.hint.map { .string($0) } ?? nil),
    ])
  }
}
