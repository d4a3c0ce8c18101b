internal import ArgumentParser
internal import AuthKit

/// `authctl profile default [NAME]`
struct ProfileDefault: Command {
  static let configuration = CommandConfiguration(
    commandName: "default", abstract: "Print or set the default profile.",
    usage: "authctl profile default [<options>] [<name>]",
    discussion: """
      Examples:
        authctl profile default
        authctl profile default shop
        authctl profile default --unset
      """
  ).alone

  @Argument(help: ArgumentHelp("The profile's name.", valueName: "name")) var name: String?
  @Flag(help: "Remove the default.") var unset = false
  @OptionGroup(title: "Global options") var globals: Globals

  func run(in app: App) throws(Failure) -> Int32 {
    if unset {
      guard name == nil else { throw Failure(.usage, "--unset and a name cannot be used together") }
      try app.setDefault(nil)
    } else if let name {
      try app.setDefault(name)
    } else if let name = try app.config().defaultProfile {
      try app.console.out(name)
    } else {
      throw Failure(
        .failed, "no default profile is set", hint: "authctl use NAME")
    }
    return 0
  }
}
