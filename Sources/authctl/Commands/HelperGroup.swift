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

  /// Links to authctl, by the names that programs call their helpers.
  static let programs = [
    "git-credential-authctl": "git", "docker-credential-authctl": "docker",
    "bazel-credential-authctl": "bazel",
  ]
}
