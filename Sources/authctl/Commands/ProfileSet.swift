internal import ArgumentParser
internal import AuthKit

/// `authctl profile set NAME KEY=VALUE…`
struct ProfileSet: Command {
  static let configuration = CommandConfiguration(
    commandName: "set", abstract: "Change keys of a profile; comments are kept.",
    usage: "authctl profile set [<options>] <name> [<key=value> ...]",
    discussion: """
      Examples:
        authctl profile set shop account=bob@shop.example
        authctl profile set shop login.path=/login session.access_token=/data/jwt
        authctl profile set shop --unset account
      """
  ).alone

  @Argument(help: ArgumentHelp("The profile's name.", valueName: "name")) var name: String
  @Argument(help: ArgumentHelp("A key with dots, as in login.path=/login.", valueName: "key=value"))
  var settings: [String] = []

  @Option(
    parsing: .unconditionalSingleValue, help: ArgumentHelp("Remove this key.", valueName: "key"))
  var unset: [String] = []

  @OptionGroup(title: "Global options") var globals: Globals

  func run(in app: App) throws(Failure) -> Int32 {
    guard !settings.isEmpty || !unset.isEmpty else {
      throw Failure(
        .usage, "nothing to set",
        suggestion: .setProfile(name, setting: "KEY=VALUE"))
    }
    var changes: [(key: String, value: JSONValue)] = []
    for text in settings {
      let (key, value) = try split(text, at: "=", option: "profile set", form: "KEY=VALUE")
      changes.append((key, try ProfileStore.value(of: key, from: value)))
    }
    for key in try app.profiles.change(name, set: changes, unset: unset) {
      app.console.notice("\(name) does not set \(DisplayText.oneLine(key, limit: 60)).")
    }
    return 0
  }
}
