internal import ArgumentParser
internal import AuthKit

/// `authctl get TARGET`
struct Get: MethodCommand {
  static let method = "GET"
  static let configuration = CommandConfiguration(
    commandName: "get", abstract: "An authenticated GET.",
    discussion: """
      Examples:
        authctl get /me
        authctl get -p shop -i '/orders?open=1'
        authctl get https://api.shop.example/report.pdf -o report.pdf
      """
  ).alone

  @Argument(help: ArgumentHelp("/PATH of the API, or a URL.", valueName: "target"))
  var target: String

  @OptionGroup(title: "Query") var body: BodyOptions
  @OptionGroup var options: RequestOptions
  @OptionGroup(title: "Global options") var globals: Globals
}
