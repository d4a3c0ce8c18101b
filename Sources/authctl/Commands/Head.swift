internal import ArgumentParser
internal import AuthKit

/// `authctl head TARGET`
struct Head: MethodCommand {
  static let method = "HEAD"
  static let configuration = withMethodFixed(
    """
      authctl head /report.pdf
      authctl head -p shop '/orders?open=1'
    """)
  @Argument(help: ArgumentHelp("A path of the API (/PATH), or a URL.", valueName: "target"))
  var target: String
  @OptionGroup(title: "Body") var body: BodyOptions
  @OptionGroup var options: RequestOptions
  @OptionGroup var rare: RareOptions
  @OptionGroup(title: "Global options") var globals: Globals
}
