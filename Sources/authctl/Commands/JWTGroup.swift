internal import ArgumentParser
internal import AuthKit

/// `authctl jwt`
struct JWTGroup: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "jwt", abstract: "Decode JSON Web Tokens.", subcommands: [JWTDecode.self])
}
