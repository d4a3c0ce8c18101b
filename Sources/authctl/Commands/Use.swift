internal import ArgumentParser
internal import AuthKit

/// `authctl use NAME`
struct Use: Command {
  static let configuration = CommandConfiguration(
    commandName: "use", abstract: "Set the default profile.",
    usage: "authctl use [<options>] <name>",
    discussion: """
      This is short for authctl profile default NAME.

      Examples:
        authctl use shop
        authctl use shop && authctl get /me
      """
  ).alone

  @Argument(help: ArgumentHelp("The profile's name.", valueName: "name")) var name: String
  @OptionGroup(title: "Global options") var globals: Globals

  func run(in app: App) throws(Failure) -> Int32 {
    try app.setDefault(name)
    return 0
  }
}
