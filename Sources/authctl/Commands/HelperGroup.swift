internal import ArgumentParser
internal import AuthKit

/// `authctl helper PROTOCOL`
struct HelperGroup: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "helper", abstract: "Answer another program's credential-helper protocol.",
    subcommands: [
      HelperGit.self, HelperDocker.self, HelperBazel.self, HelperCargo.self, HelperKubectl.self,
      HelperCurlConfig.self, HelperHeaders.self, HelperNetrc.self,
    ])

  /// Returns the protocol of a link to authctl, by the name that a program calls its helper; nil for
  /// another name. No dictionary: every command asks.
  static func name(ofLink link: Substring) -> String? {
    switch link {
    case "git-credential-authctl": "git"
    case "docker-credential-authctl": "docker"
    case "bazel-credential-authctl": "bazel"
    default: nil
    }
  }
}
