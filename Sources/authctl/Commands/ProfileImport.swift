internal import ArgumentParser
internal import AuthKit

/// `authctl profile import NAME FILE|-`
struct ProfileImport: Command {
  static let configuration = CommandConfiguration(
    commandName: "import", abstract: "Make a profile of somebody's file.",
    usage: "authctl profile import [<options>] <name> <file>",
    discussion: """
      Every origin that will receive a password or a token is told. A file with a
      proxy, authorities or a client certificate of its own, with clear http,
      secrets in URLs, or origins beside its url is taken only after a yes on the
      terminal, or with --trust.

      Examples:
        authctl profile import shop team/shop.toml
        curl -sS https://wiki.corp.example/shop.toml | authctl profile import shop -
      """
  ).alone

  @Argument(help: ArgumentHelp("The name of the new profile.", valueName: "name")) var name: String
  @Argument(help: ArgumentHelp("The file; - is standard input.", valueName: "file"))
  var file: String

  @OptionGroup var output: JSONOutput
  @OptionGroup(title: "Global options") var globals: Globals

  var wantsJSON: Bool { output.json }

  func run(in app: App) throws(Failure) -> Int32 {
    guard try !app.profiles.names().contains(name) else {
      throw Failure(
        .usage, "there is a profile called \(name) already",
        hint: "import it under another name, or first: authctl profile remove \(name)")
    }
    let label = file == "-" ? "standard input" : DisplayText.oneLine(file, limit: 200)
    let text =
      file == "-"
      ? try File.text(file, option: "profile import") : try ProfileStore.text(ofFile: file)
    let draft = try app.profiles.read(text, as: name, label: label)
    let refusal = Failure(
      .inputNeeded, "a yes to this is required, but authctl cannot ask here",
      hint: "read the file, then --trust takes it as it is")
    try app.agree(
      to: try draft.recipients(), of: name, "Trust this file?", orElse: refusal)
    try app.profiles.write(text, as: name)
    app.console.notice(
      "Made the profile \(name): \(app.profiles.shown(app.profiles.path(of: name)))")
    if output.json { try app.console.out(ProfileText.json(of: draft)) }
    return 0
  }
}
