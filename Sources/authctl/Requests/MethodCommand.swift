internal import ArgumentParser
internal import AuthKit

/// A command whose name is the method.
protocol MethodCommand: Command {
  static var method: String { get }
  var target: String { get }
  var body: BodyOptions { get }
  var options: RequestOptions { get }
  var rare: RareOptions { get }
}

extension MethodCommand {
  static var preloads: Preload { [.session, .http, .connection] }

  func run(in app: App) throws(Failure) -> Int32 {
    try RequestRun(app, method: Self.method, target: target, options, rare, body).run()
  }

  /// Returns the configuration of a command, given its examples.
  static func withMethodFixed(_ examples: String) -> CommandConfiguration {
    CommandConfiguration(
      commandName: method.lowercased(), abstract: "Send an authenticated \(method) request.",
      discussion: "Examples:\n" + examples
    ).alone
  }
}

/// A call of `get`, `post` and so on that names no rare option: with half of the options, the parser
/// needs 16 million instructions for `get /me`, not 24.
struct UsualRequest: Command {
  // With -h in a cluster, the command's own parser shows the help.
  static let configuration = CommandConfiguration(commandName: "get", helpNames: []).alone

  @Argument var target: String
  @OptionGroup var body: BodyOptions
  @OptionGroup var options: RequestOptions
  @OptionGroup var globals: Globals
  private var method = ""

  private enum CodingKeys: CodingKey { case target, body, options, globals }

  /// The options of `RareOptions`; a call with one is not tried as a usual one.
  static let rare: Set<String> = [
    "--paginate", "--next", "--next-cursor", "--slurp", "--each", "--max-pages", "--max-items",
    "--retry", "--retry-max-time", "--retry-all-methods", "--rate", "-m", "--max-time",
    "--connect-timeout", "--cacert", "--capath", "--cert", "--key", "--pinnedpubkey", "-k",
    "--insecure", "--tlsv1.2", "--tlsv1.3", "-x", "--proxy", "--noproxy", "--resolve",
    "--connect-to", "--unix-socket", "--http1.1", "--http2", "-4", "--ipv4", "-6", "--ipv6",
    "--compressed",
  ]

  /// Parses the words of `command`. Returns nil if it has no usual form, or if only its own parser
  /// can take the words, or say what is wrong with them.
  static func parse(_ words: [String], of command: any ParsableCommand.Type) -> UsualRequest? {
    guard let command = command as? any MethodCommand.Type,
      !words.contains(where: { rare.contains(String($0.prefix { $0 != "=" })) }),
      var request = try? parseAsRoot(words) as? UsualRequest
    else { return nil }
    request.method = command.method
    return request
  }

  func run(in app: App) throws(Failure) -> Int32 {
    try RequestRun(app, method: method, target: target, options, nil, body).run()
  }
}
