internal import ArgumentParser
internal import AuthKit

/// `authctl post TARGET`
struct Post: MethodCommand {
  static let method = "POST"
  static let configuration = withMethodFixed(
    """
      authctl post /orders --json '{"item":7}'
      authctl post /orders -d item=7 -d count=2
      authctl post /photos -F title=Me -F image=@me.png
      authctl post /orders --field item=7 --field 'tags[]=new'
      jq -n '{item:7}' | authctl post /orders --json @-
    """)
  @Argument(help: ArgumentHelp("A path of the API (/PATH), or a URL.", valueName: "target"))
  var target: String
  @OptionGroup(title: "Body") var body: BodyOptions
  @OptionGroup var options: RequestOptions
  @OptionGroup var rare: RareOptions
  @OptionGroup(title: "Global options") var globals: Globals
}
