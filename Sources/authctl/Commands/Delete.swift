internal import ArgumentParser
internal import AuthKit

/// `authctl delete TARGET`
struct Delete: MethodCommand {
  static let method = "DELETE"
  static let configuration = withMethodFixed(
    """
      authctl delete /orders/1
      authctl delete /orders/1 --ok 404
      authctl delete /orders --json '{"ids":[7,8]}'
    """)
  @Argument(help: ArgumentHelp("A path of the API (/PATH), or a URL.", valueName: "target"))
  var target: String
  @OptionGroup(title: "Body") var body: BodyOptions
  @OptionGroup var options: RequestOptions
  @OptionGroup var rare: RareOptions
  @OptionGroup(title: "Global options") var globals: Globals
}
