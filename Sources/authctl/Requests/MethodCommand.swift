internal import ArgumentParser
internal import AuthKit

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

  /// Returns the configuration of a command, given its examples.
  static func withMethodFixed(_ examples: String) -> CommandConfiguration {
    CommandConfiguration(
      commandName: method.lowercased(), abstract: "Send an authenticated \(method) request.",
      discussion: "Examples:\n" + examples
    ).alone
  }
}
