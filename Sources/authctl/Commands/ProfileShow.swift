internal import ArgumentParser
internal import AuthKit

/// `authctl profile show [NAME]`
struct ProfileShow: Command {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Print the values that a profile sets.",
    usage: "authctl profile show [<options>] [<name>]",
    discussion: """
      Without --all, omits the values of the preset and the defaults. --json always
      prints every value and where it comes from.

      Examples:
        authctl profile show
        authctl profile show shop --all
        authctl profile show shop --json
      """
  ).alone

  @Argument(help: ArgumentHelp("The profile's name.", valueName: "name")) var name: String?

  @Flag(help: "Print every value and where it comes from.")
  var all = false

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
    let values = profile.values.filter { all || $0.source == .file }
    let lines = values.map { value in
      DisplayText.oneLine("\(value.key) = \(ProfileText.toml(value.value))", limit: .max)
    }
    guard all else {
      for line in lines { try app.console.out(line) }
      if app.console.isErrTerminal {
        let rest = profile.preset.map { "preset \($0) and " } ?? ""
        app.console.hint("use --all to include \(rest)the defaults")
      }
      return 0
    }
    // The remarks are aligned, except after a long value.
    let width = lines.map(Table.width).filter { $0 <= Self.column }.max() ?? 0
    for (line, value) in zip(lines, values) {
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
