internal import ArgumentParser
internal import AuthKit

/// `authctl request METHOD TARGET`
struct Request: Command {
  static let configuration = CommandConfiguration(
    commandName: "request", abstract: "Send an authenticated request with any method.",
    usage: "authctl request [<options>] <method> <target>",
    discussion: """
      get, head, post, put, patch and delete send one method each.

      Examples:
        authctl request PROPFIND /files/
        authctl request POST /orders --json '{"item":7}'
        authctl request PUT /notes/1 --input note.txt -H 'Content-Type: text/plain'
      """
  ).alone

  @Argument(help: ArgumentHelp("The method (RFC 9110, section 9).", valueName: "method"))
  var method: String
  @Argument(help: ArgumentHelp("A path of the API (/PATH), or a URL.", valueName: "target"))
  var target: String?

  @OptionGroup(title: "Body") var body: BodyOptions
  @OptionGroup var options: RequestOptions
  @OptionGroup var rare: RareOptions
  @OptionGroup(title: "Global options") var globals: Globals

  static var preloads: Preload { [.session, .http] }

  func run(in app: App) throws(Failure) -> Int32 {
    var options = options
    var words = [method] + (target.map { [$0] } ?? [])
    // As in curl: with -X, the only word is the target.
    if let given = options.method {
      words.insert(given, at: 0)
      options.method = nil
    }
    guard words.count == 2 else {
      throw Failure(
        .usage,
        words.count < 2
          ? "missing expected argument '<target>'" : "-X and a method cannot be used together",
        hint: "authctl request METHOD /PATH")
    }
    return try RequestRun(
      app, method: try HTTPMethod.checked(words[0]), target: words[1], options, rare, body
    ).run()
  }
}
