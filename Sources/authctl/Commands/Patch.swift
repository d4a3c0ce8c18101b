internal import ArgumentParser
internal import AuthKit

/// `authctl patch TARGET`
struct Patch: MethodCommand {
  static let method = "PATCH"
  static let configuration = withMethodFixed(
    """
      authctl patch /orders/1 --json '{"count":3}'
      authctl patch /orders/1 --json @change.json
    """)
  @Argument(help: ArgumentHelp("A path of the API (/PATH), or a URL.", valueName: "target"))
  var target: String
  @OptionGroup(title: "Body") var body: BodyOptions
  @OptionGroup var options: RequestOptions
  @OptionGroup var rare: RareOptions
  @OptionGroup(title: "Global options") var globals: Globals
}
