internal import ArgumentParser
internal import AuthKit

/// `authctl profile import NAME FILE|-`
struct ProfileImport: Command {
  static let configuration = CommandConfiguration(
    commandName: "import", abstract: "Create a profile from a file.",
    usage: "authctl profile import [<options>] <name> <file>",
    discussion: """
      Prints every origin that will receive a password or a token. authctl asks for
      your trust, or requires --trust, if the file sets a proxy, authorities, a
      client certificate or further origins, or permits plain HTTP or secrets in
      URLs.

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
        .usage, "the profile \(name) already exists",
        hint: "use another name, or run: authctl profile remove \(name)")
    }
    let label = file == "-" ? "standard input" : DisplayText.oneLine(file, limit: 200)
    let text =
      file == "-"
      ? try File.text(file, option: "profile import") : try ProfileStore.text(ofFile: file)
    let draft = try app.profiles.read(text, as: name, label: label)
    let refusal = Failure(
      .inputNeeded, "\(name) is not trusted yet, and there is no terminal to ask on",
      hint: "read the file, then add --trust")
    try app.agree(
      to: try draft.recipients(), of: name, "Trust this file?", orElse: refusal)
    try app.profiles.write(text, as: name)
    app.console.notice(
      "Created the profile \(name): \(app.profiles.shown(app.profiles.path(of: name)))")
    if output.json { try app.console.out(ProfileText.json(of: draft)) }
    return 0
  }
}
