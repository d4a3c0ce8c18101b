internal import ArgumentParser
internal import AuthKit

/// `authctl profile presets [NAME]`
struct ProfilePresets: Command {
  static let configuration = CommandConfiguration(
    commandName: "presets",
    abstract: "The recipes that authctl knows; with a name, that one whole.",
    usage: "authctl profile presets [<options>] [<name>]",
    discussion: """
      Examples:
        authctl profile presets
        authctl profile presets express-jwt
      """
  ).alone

  @Argument(help: ArgumentHelp("A preset.", valueName: "name")) var name: String?
  @OptionGroup var output: JSONOutput
  @OptionGroup(title: "Global options") var globals: Globals

  var wantsJSON: Bool { output.json }

  func run(in app: App) throws(Failure) -> Int32 {
    if let name {
      try app.console.out(Presets.text(called: name).trimmingLineEnd)
      return 0
    }
    if output.json {
      let values = Presets.names.map { name -> JSONValue in
        .object([("name", .string(name)), ("summary", .string(Presets.summary(name)))])
      }
      try app.console.out(JSONValue.array(values))
      return 0
    }
    var table = Table()
    for name in Presets.names { table.add([name, Presets.summary(name)]) }
    for line in table.lines(in: app.console.room) { try app.console.out(String(line.dropFirst(2))) }
    return 0
  }
}
