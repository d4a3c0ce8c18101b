internal import ArgumentParser
internal import AuthKit

/// A subcommand: what it was given, and what it does with an `App`.
protocol Command: ParsableCommand {
  var globals: Globals { get }
  /// Whether `--json` was given, so that errors are JSON too.
  var wantsJSON: Bool { get }
  /// What it needs, whatever its options say.
  static var preloads: Preload { get }
  /// Does the work; the result is the exit status of a command that succeeded at what it does.
  func run(in app: App) throws(Failure) -> Int32
}

extension Command {
  var wantsJSON: Bool { false }
  static var preloads: Preload { [] }
}

extension CommandConfiguration {
  /// Of a command that is parsed by itself, without the root: the parser does not look for its own
  /// `--generate-completion-script` then, which costs 1.5 ms.
  var alone: CommandConfiguration {
    var copy = self
    copy._superCommandName = "authctl"
    return copy
  }
}
