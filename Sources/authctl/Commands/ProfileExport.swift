internal import ArgumentParser
internal import AuthKit

/// `authctl profile export NAME`
struct ProfileExport: Command {
  static let configuration = CommandConfiguration(
    commandName: "export", abstract: "Print a profile without its account, to share it.",
    usage: "authctl profile export [<options>] <name>",
    discussion: """
      A profile contains no secret. Others can import the file with authctl profile
      import, or use it in place: -p ./team/shop.toml

      Examples:
        authctl profile export shop >team/shop.toml
      """
  ).alone

  @Argument(help: ArgumentHelp("The profile's name.", valueName: "name")) var name: String
  @OptionGroup(title: "Global options") var globals: Globals

  func run(in app: App) throws(Failure) -> Int32 {
    let text = try app.profiles.shareable(name)
    for mistake in try app.profiles.mistakes(name) { throw mistake }
    try app.console.out(text.trimmingLineEnd)
    return 0
  }
}
