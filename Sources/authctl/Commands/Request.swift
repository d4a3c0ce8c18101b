internal import ArgumentParser
internal import AuthKit

/// `authctl request METHOD TARGET`
struct Request: Command {
  static let configuration = CommandConfiguration(
    commandName: "request", abstract: "An authenticated request of any method.",
    discussion: """
      head, post, put, patch and delete are the same with the method fixed.

      Examples:
        authctl request PROPFIND /files/
        authctl request POST /orders --json '{"item":7}'
        authctl request PUT /notes/1 --input note.txt -H 'Content-Type: text/plain'
      """
  ).alone

  @Argument(help: ArgumentHelp("The method (RFC 9110, section 9).", valueName: "method"))
  var method: String
  @Argument(help: ArgumentHelp("/PATH of the API, or a URL.", valueName: "target"))
  var target: String

  @OptionGroup(title: "Body") var body: BodyOptions
  @OptionGroup var options: RequestOptions
  @OptionGroup(title: "Global options") var globals: Globals

  static var preloads: Preload { [.session, .http] }

  func run(in app: App) throws(Failure) -> Int32 {
    try RequestRun(
      app, method: try Self.checked(method), target: target, options, body
    ).run()
  }

  /// The method that a person means.
  ///
  /// - Throws: `usage` for what is none.
  static func checked(_ method: String) throws(Failure) -> String {
    guard HeaderSyntax.isToken(method) else {
      throw Failure(.usage, "\(DisplayText.oneLine(method, limit: 40)) is not a method (RFC 9110)")
    }
    // Methods are case-sensitive; nobody means another one by `post`.
    let known = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
    let upper = method.uppercased()
    return known.contains(upper) ? upper : method
  }
}

/// A command whose name is the method.
protocol MethodCommand: Command {
  static var method: String { get }
  var target: String { get }
  var body: BodyOptions { get }
  var options: RequestOptions { get }
}

extension MethodCommand {
  static var preloads: Preload { [.session, .http] }

  func run(in app: App) throws(Failure) -> Int32 {
    try RequestRun(app, method: Self.method, target: target, options, body).run()
  }

  /// How the five differ: nothing but the name and the examples.
  static func withMethodFixed(_ examples: String) -> CommandConfiguration {
    CommandConfiguration(
      commandName: method.lowercased(), abstract: "An authenticated \(method).",
      discussion: "Examples:\n" + examples
    ).alone
  }
}

/// `authctl head TARGET`
struct Head: MethodCommand {
  static let method = "HEAD"
  static let configuration = withMethodFixed(
    """
      authctl head /report.pdf
      authctl head -p shop '/orders?open=1'
    """)
  @Argument(help: ArgumentHelp("/PATH of the API, or a URL.", valueName: "target"))
  var target: String
  @OptionGroup(title: "Body") var body: BodyOptions
  @OptionGroup var options: RequestOptions
  @OptionGroup(title: "Global options") var globals: Globals
}

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
  @Argument(help: ArgumentHelp("/PATH of the API, or a URL.", valueName: "target"))
  var target: String
  @OptionGroup(title: "Body") var body: BodyOptions
  @OptionGroup var options: RequestOptions
  @OptionGroup(title: "Global options") var globals: Globals
}

/// `authctl put TARGET`
struct Put: MethodCommand {
  static let method = "PUT"
  static let configuration = withMethodFixed(
    """
      authctl put /notes/1 --json '{"text":"hello"}'
      authctl put /notes/1 --input note.txt -H 'Content-Type: text/plain'
      authctl put /files/ -T report.pdf
    """)
  @Argument(help: ArgumentHelp("/PATH of the API, or a URL.", valueName: "target"))
  var target: String
  @OptionGroup(title: "Body") var body: BodyOptions
  @OptionGroup var options: RequestOptions
  @OptionGroup(title: "Global options") var globals: Globals
}

/// `authctl patch TARGET`
struct Patch: MethodCommand {
  static let method = "PATCH"
  static let configuration = withMethodFixed(
    """
      authctl patch /orders/1 --json '{"count":3}'
      authctl patch /orders/1 --json @change.json
    """)
  @Argument(help: ArgumentHelp("/PATH of the API, or a URL.", valueName: "target"))
  var target: String
  @OptionGroup(title: "Body") var body: BodyOptions
  @OptionGroup var options: RequestOptions
  @OptionGroup(title: "Global options") var globals: Globals
}

/// `authctl delete TARGET`
struct Delete: MethodCommand {
  static let method = "DELETE"
  static let configuration = withMethodFixed(
    """
      authctl delete /orders/1
      authctl delete /orders/1 --ok 404
      authctl delete /orders --json '{"ids":[7,8]}'
    """)
  @Argument(help: ArgumentHelp("/PATH of the API, or a URL.", valueName: "target"))
  var target: String
  @OptionGroup(title: "Body") var body: BodyOptions
  @OptionGroup var options: RequestOptions
  @OptionGroup(title: "Global options") var globals: Globals
}
