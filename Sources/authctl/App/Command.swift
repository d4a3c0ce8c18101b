internal import ArgumentParser
internal import AuthKit

/// A subcommand with its parsed options, which runs in an `App`.
protocol Command: ParsableCommand {
  var globals: Globals { get }
  /// Whether `--json` was given, so that errors are JSON too.
  var wantsJSON: Bool { get }
  /// The profile that an argument names, in place of `-p`.
  var profileArgument: String? { get }
  /// The resources that it needs, whatever its options say.
  static var preloads: Preload { get }
  /// Runs the command and returns its exit status; failures are thrown.
  func run(in app: App) throws(Failure) -> Int32
}

extension Command {
  var wantsJSON: Bool { false }
  var profileArgument: String? { nil }
  static var preloads: Preload { [] }
}

extension CommandConfiguration {
  /// The configuration for parsing the command without the root: the parser then skips the search
  /// for its own `--generate-completion-script`, which costs 1.5 ms.
  var alone: CommandConfiguration {
    var copy = self
    copy._superCommandName = "authctl"
    return copy
  }
}
