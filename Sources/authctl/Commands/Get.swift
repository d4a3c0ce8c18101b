internal import ArgumentParser
internal import AuthKit

/// `authctl get TARGET`
struct Get: MethodCommand {
  static let method = "GET"
  static let configuration = CommandConfiguration(
    commandName: "get", abstract: "Send an authenticated GET request.",
    discussion: """
      Examples:
        authctl get /me
        authctl get -p shop -i '/orders?open=1'
        authctl get https://api.shop.example/report.pdf -o report.pdf
      """
  ).alone

  @Argument(help: ArgumentHelp("A path of the API (/PATH), or a URL.", valueName: "target"))
  var target: String

  @OptionGroup(title: "Query") var body: BodyOptions
  @OptionGroup var options: RequestOptions
  @OptionGroup var rare: RareOptions
  @OptionGroup(title: "Global options") var globals: Globals
}
