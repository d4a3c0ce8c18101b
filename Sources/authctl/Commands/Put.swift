internal import ArgumentParser
internal import AuthKit

/// `authctl put TARGET`
struct Put: MethodCommand {
  static let method = "PUT"
  static let configuration = withMethodFixed(
    """
      authctl put /notes/1 --json '{"text":"hello"}'
      authctl put /notes/1 --input note.txt -H 'Content-Type: text/plain'
      authctl put /files/ -T report.pdf
    """)
  @Argument(help: ArgumentHelp("A path of the API (/PATH), or a URL.", valueName: "target"))
  var target: String
  @OptionGroup(title: "Body") var body: BodyOptions
  @OptionGroup var options: RequestOptions
  @OptionGroup var rare: RareOptions
  @OptionGroup(title: "Global options") var globals: Globals
}
