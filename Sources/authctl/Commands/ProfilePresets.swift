internal import ArgumentParser
internal import AuthKit

/// `authctl profile presets [NAME|FILTER]`
struct ProfilePresets: Command {
  static let configuration = CommandConfiguration(
    commandName: "presets",
    abstract: "List the presets, or print one.",
    usage: "authctl profile presets [<options>] [<name|filter>]",
    discussion: """
      With the name of a preset, prints that preset. With any other word, lists the
      presets that have the word in their name, summary or group.

      Examples:
        authctl profile presets
        authctl profile presets django
        authctl profile presets express-jwt
      """
  ).alone

  @Argument(help: ArgumentHelp("A preset, or a part of its name.", valueName: "name|filter"))
  var filter: String?
  @OptionGroup var output: JSONOutput
  @OptionGroup(title: "Global options") var globals: Globals

  var wantsJSON: Bool { output.json }

  func run(in app: App) throws(Failure) -> Int32 {
    let exact = filter.flatMap { filter in
      Presets.names.first { $0.utf8.elementsEqual(filter.utf8) }
    }
    if let exact, !output.json {
      try app.console.out(Presets.text(called: exact).trimmingLineEnd)
      return 0
    }
    let groups =
      exact.map { [(name: Presets.group($0), presets: [$0])] }
      ?? Presets.groups(matching: filter ?? "")
    // Fails with the nearest name.
    if let filter, groups.isEmpty { _ = try Presets.text(called: filter) }
    if output.json {
      let values = groups.flatMap(\.presets).sorted().map { name -> JSONValue in
        .object([
          ("name", .string(name)), ("summary", .string(Presets.summary(name))),
          ("group", .string(Presets.group(name))),
        ])
      }
      try app.console.out(JSONValue.array(values))
      return 0
    }
    var isFirst = true
    for group in groups {
      try app.console.out((isFirst ? "" : "\n") + group.name + ":")
      isFirst = false
      var table = Table()
      for name in group.presets { table.add([name, Presets.summary(name)]) }
      for line in table.lines(in: app.console.room) { try app.console.out(line) }
    }
    return 0
  }
}
