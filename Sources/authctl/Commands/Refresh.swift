internal import ArgumentParser
internal import AuthKit

/// `authctl refresh`
struct Refresh: Command {
  static let configuration = CommandConfiguration(
    commandName: "refresh", abstract: "Renew the session now.",
    usage: "authctl refresh [<options>] [<name|file>]",
    discussion: """
      Examples:
        authctl refresh
        authctl refresh shop --json
      """
  ).alone

  @OptionGroup var profile: ProfileArgument
  @OptionGroup var output: JSONOutput
  @OptionGroup(title: "Global options") var globals: Globals

  var wantsJSON: Bool { output.json }
  var profileArgument: String? { profile.name }

  func run(in app: App) throws(Failure) -> Int32 {
    let choice = try app.choose()
    if let variable = app.tokenVariable(of: choice.profile) {
      throw Failure(
        .usage, "\(variable) is set: a token from a variable cannot be renewed",
        hint: "unset \(variable) to renew the stored session")
    }
    let keeper = try app.keeper(for: choice.profile)
    let session = try keeper.renewed(try app.session(for: choice, keeper), .asked)
    app.console.notice(
      "Renewed \(session.profile) as \(DisplayText.oneLine(session.account)). "
        + Messages.validity(session))
    if output.json {
      try app.console.out(Messages.json(session, keeper))
    }
    return 0
  }
}
