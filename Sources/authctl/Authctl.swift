internal import ArgumentParser
internal import AuthKit

/// The root command.
struct Authctl: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "authctl",
    abstract: "Sign in to an HTTP API once, then send requests.",
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
        name: "Setup:",
        subcommands: [Use.self, ProfileGroup.self, StoreGroup.self, JWTGroup.self, Doctor.self]),
    ])
}
