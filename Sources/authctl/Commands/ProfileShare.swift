internal import ArgumentParser
internal import AuthKit

/// `authctl profile export NAME`
struct ProfileExport: Command {
  static let configuration = CommandConfiguration(
    commandName: "export", abstract: "Print a profile for others: its file without the account.",
    usage: "authctl profile export [<options>] <name>",
    discussion: """
      There is no secret in a profile. Others take it by authctl profile import, or
      use the file in place: -p ./team/shop.toml

      Examples:
        authctl profile export shop >team/shop.toml
      """
  ).alone

  @Argument(help: ArgumentHelp("Its name.", valueName: "name")) var name: String
  @OptionGroup(title: "Global options") var globals: Globals

  func run(in app: App) throws(Failure) -> Int32 {
    let text = try app.profiles.shareable(name)
    for mistake in try app.profiles.mistakes(name) { throw mistake }
    try app.console.out(text.trimmingLineEnd)
    return 0
  }
}

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
    if output.json { try app.console.out(Shown.json(of: draft)) }
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

/// `authctl profile check [NAME…]`
struct ProfileCheck: Command {
  static let configuration = CommandConfiguration(
    commandName: "check", abstract: "Find every mistake in profiles; without a name, in all.",
    usage: "authctl profile check [<options>] [<name|file> ...]",
    discussion: """
      Ends with 2 when there is a mistake, each told with line, column and the
      nearest known key.

      Examples:
        authctl profile check
        authctl profile check shop ./team/shop.toml
      """
  ).alone

  @Argument(help: ArgumentHelp("A profile, or a file (with a slash).", valueName: "name|file"))
  var names: [String] = []

  @OptionGroup var output: JSONOutput
  @OptionGroup(title: "Global options") var globals: Globals

  var wantsJSON: Bool { output.json }

  func run(in app: App) throws(Failure) -> Int32 {
    let names = names.isEmpty ? globals.profile.map { [$0] } ?? [] : names
    var results: [(name: String, mistakes: [Failure])] = []
    let configMistakes = names.isEmpty ? app.profiles.configMistakes() : []
    if !configMistakes.isEmpty { results.append(("config.toml", configMistakes)) }
    for name in names.isEmpty ? try app.profiles.names() : names {
      // One that cannot be read does not keep the others from being told.
      do throws(Failure) { results.append((name, try app.profiles.mistakes(name))) } catch {
        results.append((name, [error]))
      }
    }
    if output.json {
      try app.console.out(
        JSONValue.array(
          results.map { name, mistakes in
            .object([
              ("name", .string(name)), ("ok", .bool(mistakes.isEmpty)),
              ("mistakes", .array(mistakes.map(Self.json))),
            ])
          }
        ).serialized())
    } else {
      for (name, mistakes) in results where mistakes.isEmpty {
        app.console.notice("\(DisplayText.oneLine(name)): no mistakes")
      }
      for mistake in results.flatMap(\.mistakes) { app.console.report(mistake) }
    }
    return results.flatMap(\.mistakes).map(\.kind.exitCode).max() ?? 0
  }

  private static func json(_ mistake: Failure) -> JSONValue {
    .object([
      ("message", .string(mistake.message)),
      ("hint", mistake.hint.map { .string($0) } ?? nil),
    ])
  }
}
