internal import ArgumentParser
internal import AuthKit

/// `authctl helper headers [TARGET…]`
struct HelperHeaders: Command {
  static let configuration = CommandConfiguration(
    commandName: "headers",
    abstract: "Print the header as JSON, for programs that run a command to get headers.",
    usage: "authctl helper headers [<options>] [<target> ...]",
    discussion: """
      Prints one JSON object with the header that carries the credential. Give the
      program's targets here, and authctl checks that they may get it. For example,
      in .mcp.json: "headersHelper": "authctl helper headers -p shop"

      Examples:
        authctl helper headers -p shop
        authctl helper headers -p shop https://api.shop.example/mcp
      """
  ).alone

  @Argument(help: ArgumentHelp("Paths or URLs of the API.", valueName: "target"))
  var targets: [String] = []

  @OptionGroup(title: "Global options") var globals: Globals

  func run(in app: App) throws(Failure) -> Int32 {
    let found = try HelperCredential.ofNamedProfile(by: "headers", in: app)
    _ = try found.urls(of: targets, app)
    try HelperCredential.check(found.header.value)
    try app.console.out(JSONValue.object([(found.header.name, .string(found.header.value))]))
    return 0
  }
}
