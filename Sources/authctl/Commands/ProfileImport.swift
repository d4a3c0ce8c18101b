internal import ArgumentParser
internal import AuthKit

/// `authctl profile import NAME FILE|-`
struct ProfileImport: Command {
  static let configuration = CommandConfiguration(
    commandName: "import", abstract: "Make a profile of somebody's file.",
    usage: "authctl profile import [<options>] <name> <file>",
    discussion: """
      Every origin that will receive a password or a token is told. A file with a
      proxy, authorities or a client certificate of its own, with clear http, or
      with origins beside its url is taken only after a yes on the terminal, or
      with --trust.

      Examples:
        authctl profile import shop team/shop.toml
        curl -sS https://wiki.corp.example/shop.toml | authctl profile import shop -
      """
  ).alone

  @Argument(help: ArgumentHelp("Its name here.", valueName: "name")) var name: String
  @Argument(help: ArgumentHelp("The file; - is standard input.", valueName: "file"))
  var file: String

  @Flag(help: "Take what the file says of proxies, certificates and further origins.")
  var trust = false

  @OptionGroup var output: JSONOutput
  @OptionGroup(title: "Global options") var globals: Globals

  var wantsJSON: Bool { output.json }

  func run(in app: App) throws(Failure) -> Int32 {
    guard try !app.profiles.names().contains(name) else {
      throw Failure(
        .usage, "there is a profile called \(name) already",
        hint: "import it under another name, or authctl profile remove \(name)")
    }
    let label = file == "-" ? "standard input" : DisplayText.oneLine(file, limit: 200)
    let text =
      file == "-"
      ? try File.text(file, option: "profile import") : try ProfileStore.text(ofFile: file)
    let draft = try app.profiles.read(text, as: name, label: label)
    let recipients = try draft.recipients()
    for (origin, gets) in recipients.origins {
      app.console.notice("\(name) sends to \(origin): \(gets)")
    }
    for risk in recipients.risks { app.console.warn(risk) }
    if !recipients.risks.isEmpty, !trust { try askForTrust(app) }
    try app.profiles.write(text, as: name)
    app.console.notice(
      "Made the profile \(name): \(app.profiles.shown(app.profiles.path(of: name)))")
    if output.json { try app.console.out(ProfileText.json(of: draft)) }
    return 0
  }

  private func askForTrust(_ app: App) throws(Failure) {
    let terminal = try app.terminal(
      for: "a yes to this", hint: "read the file, then --trust takes it as it is")
    guard try terminal.confirm("Take it?", default: false) else {
      throw Failure(.inputNeeded, "\(name) was not imported")
    }
  }
}
