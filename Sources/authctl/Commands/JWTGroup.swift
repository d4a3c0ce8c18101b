internal import ArgumentParser
internal import AuthKit

/// `authctl jwt`
struct JWTGroup: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "jwt", abstract: "Look into a JSON Web Token.", subcommands: [JWTDecode.self])
}
