internal import ArgumentParser
internal import AuthKit

/// `authctl profile show [NAME]`
struct ProfileShow: Command {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "The profile in force and where each value is from.",
    usage: "authctl profile show [<options>] [<name>]",
    discussion: """
      Examples:
        authctl profile show
        authctl profile show shop --json
      """
  ).alone

  @Argument(help: ArgumentHelp("Its name.", valueName: "name")) var name: String?
  @OptionGroup var output: JSONOutput
  @OptionGroup(title: "Global options") var globals: Globals

  var wantsJSON: Bool { output.json }

  func run(in app: App) throws(Failure) -> Int32 {
    let profile = if let name { try app.load(name) } else { try chosen(app) }
    if output.json {
      try app.console.out(ProfileText.json(of: profile))
      return 0
    }
    if let file = profile.file { try app.console.out("# \(app.profiles.shown(file))") }
    let lines = profile.values.map { value in
      DisplayText.oneLine("\(value.key) = \(ProfileText.toml(value.value))", limit: .max)
    }
    // The remarks are aligned, except after a long value.
    let width = lines.map(Table.width).filter { $0 <= Self.column }.max() ?? 0
    for (line, value) in zip(lines, profile.values) {
      let blanks = String(repeating: " ", count: max(0, width - Table.width(of: line)) + 2)
      try app.console.out("\(line)\(blanks)# \(ProfileText.source(value.source))")
    }
    return 0
  }

  /// The widest line that remarks are aligned with.
  private static let column = 44

  private func chosen(_ app: App) throws(Failure) -> Profile {
    do throws(Failure) { return try app.choose().profile } catch {
      // A message about a missing session does not help here.
      guard error.kind == .notSignedIn else { throw error }
      throw Failure(.usage, "no profiles", hint: error.hint)
    }
  }
}
