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
    copy._superCommandName = Authctl.configuration.commandName
    return copy
  }
}

/// The root command.
struct Authctl: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "authctl",
    abstract: "Sign in to an HTTP API once; then send requests.",
    version: release,
    groupedSubcommands: [
      CommandGroup(
        name: "Session:",
        subcommands: [
          Login.self, Register.self, Logout.self, Whoami.self, Status.self, Refresh.self,
          PrintToken.self,
        ]),
      CommandGroup(
        name: "Requests:",
        subcommands: [
          Get.self, Request.self, Head.self, Post.self, Put.self, Patch.self, Delete.self,
          Batch.self,
        ]),
      CommandGroup(name: "Other programs:", subcommands: [Exec.self, HelperGroup.self]),
      CommandGroup(
        name: "Setting up:",
        subcommands: [ProfileGroup.self, StoreGroup.self, JWTGroup.self, Doctor.self]),
    ])
}
