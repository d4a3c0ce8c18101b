internal import ArgumentParser
internal import AuthKit

/// `authctl profile`
struct ProfileGroup: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "profile", abstract: "The APIs that authctl knows.",
    subcommands: [
      ProfileAdd.self, ProfileList.self, ProfileShow.self, ProfileSet.self, ProfileRemove.self,
      ProfileDefault.self, ProfilePresets.self, ProfileDetect.self, ProfileExport.self,
      ProfileImport.self, ProfileCheck.self,
    ])
}

/// `authctl profile list`
struct ProfileList: Command {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "The profiles, and the sessions they have.",
    usage: "authctl profile list [<options>]",
    discussion: """
      Examples:
        authctl profile list
        authctl profile list --json
      """
  ).alone

  @OptionGroup var output: JSONOutput
  @OptionGroup(title: "Global options") var globals: Globals

  var wantsJSON: Bool { output.json }

  func run(in app: App) throws(Failure) -> Int32 {
    let names = try app.profiles.names()
    // A profile is there whether or not the store can be looked into.
    let sessions: [StoredSession]?
    do throws(Failure) { sessions = names.isEmpty ? [] : try StoredSession.all(app) } catch {
      sessions = nil
      app.console.warn("the sessions are not known: \(error.message)")
    }
    // Behind a lock that shows nothing any profile may have sessions.
    let isHidden = sessions?.contains { $0.isHidden } ?? false
    var table = Table(header: ["NAME", "PRESET", "ACCOUNTS", "STATE", "URL"])
    var values: [JSONValue] = []
    var worst: Failure?
    let standard = try app.config().defaultProfile ?? (names.count == 1 ? names[0] : nil)
    for name in names {
      let profile: Profile
      do throws(Failure) { profile = try app.profiles.load(name) } catch {
        app.console.report(error)
        worst = error
        continue
      }
      var own = sessions?.filter { $0.profile.map { $0.utf8.elementsEqual(name.utf8) } ?? false }
      var state = own.map(Self.state)
      if isHidden, own?.isEmpty ?? false {
        own = nil
        state = StoredSession.State.locked.rawValue
      }
      let isDefault = name == standard
      table.add(
        [
          name, profile.preset ?? "-", own.map { String($0.count) } ?? "?", state ?? "unknown",
          profile.url,
        ], marked: isDefault)
      values.append(
        .object([
          ("name", .string(name)), ("url", .string(profile.url)),
          ("preset", profile.preset.map { .string($0) } ?? nil), ("default", .bool(isDefault)),
          ("account", profile.account.map { .string($0) } ?? nil),
          ("accounts", own.map { .array($0.compactMap(\.account).map { .string($0) }) } ?? nil),
          ("state", state.map { .string($0) } ?? nil),
        ]))
    }
    if output.json {
      try app.console.out(JSONValue.array(values).serialized())
    } else if names.isEmpty {
      app.console.notice("No profiles.")
      app.console.hint("authctl login URL")
    } else {
      try app.console.out(table)
    }
    return worst?.kind.exitCode ?? 0
  }

  private static func state(_ sessions: [StoredSession]) -> String {
    let order: [StoredSession.State] = [.valid, .refreshable, .locked, .expired]
    return order.first { state in sessions.contains { $0.state == state } }?.rawValue
      ?? "signed out"
  }
}

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
      try app.console.out(Shown.json(of: profile))
      return 0
    }
    if let file = profile.file { try app.console.out("# \(app.profiles.shown(file))") }
    let lines = profile.values.map { value in
      DisplayText.oneLine("\(value.key) = \(Shown.toml(value.value))", limit: .max)
    }
    // The remarks stand below each other; a long value does not take those of all others along.
    let width = lines.map(Table.width).filter { $0 <= Self.column }.max() ?? 0
    for (line, value) in zip(lines, profile.values) {
      let blanks = String(repeating: " ", count: max(0, width - Table.width(of: line)) + 2)
      try app.console.out("\(line)\(blanks)# \(Shown.source(value.source))")
    }
    return 0
  }

  /// The widest value that the remarks stand to the right of.
  private static let column = 44

  private func chosen(_ app: App) throws(Failure) -> Profile {
    do throws(Failure) { return try app.choose().profile } catch {
      // That there is no session is no answer to this.
      guard error.kind == .notSignedIn else { throw error }
      throw Failure(.usage, "no profiles", hint: error.hint)
    }
  }
}

/// A profile, told.
enum Shown {
  static func json(of profile: Profile) -> String {
    JSONValue.object([
      ("name", .string(profile.name)),
      ("file", profile.file.map { .string($0) } ?? nil),
      (
        "values",
        .array(
          profile.values.map {
            .object([
              ("key", .string($0.key)), ("value", $0.value), ("source", .string(source($0.source))),
            ])
          })
      ),
    ]).serialized()
  }

  static func source(_ source: EffectiveValue.Source) -> String {
    switch source {
    case .builtIn: "built in"
    case .preset(let name): "preset \(name)"
    case .file: "profile"
    }
  }

  /// A value as TOML writes it on one line: JSON but for tables.
  static func toml(_ value: JSONValue) -> String {
    switch value {
    case .object(let members):
      members.isEmpty
        ? "{}"
        : "{ " + members.map { "\(key($0.key)) = \(toml($0.value))" }.joined(separator: ", ") + " }"
    case .array(let items): "[" + items.map(toml).joined(separator: ", ") + "]"
    default: value.serialized()
    }
  }

  private static func key(_ name: String) -> String {
    let isBare = name.utf8.allSatisfy { HeaderSyntax.isToken([$0]) && $0 != 0x2E && $0 != 0x27 }
    return isBare && !name.isEmpty ? name : JSONValue.string(name).serialized()
  }
}

/// `authctl profile default [NAME]`
struct ProfileDefault: Command {
  static let configuration = CommandConfiguration(
    commandName: "default", abstract: "Print or set the profile that is used when none is named.",
    usage: "authctl profile default [<options>] [<name>]",
    discussion: """
      Examples:
        authctl profile default
        authctl profile default shop
        authctl profile default --unset
      """
  ).alone

  @Argument(help: ArgumentHelp("Its name.", valueName: "name")) var name: String?
  @Flag(help: "Unset it.") var unset = false
  @OptionGroup(title: "Global options") var globals: Globals

  func run(in app: App) throws(Failure) -> Int32 {
    if unset {
      guard name == nil else { throw Failure(.usage, "--unset goes without a name") }
      try app.profiles.setDefault(nil)
    } else if let name {
      try app.profiles.setDefault(name)
    } else if let name = try app.config().defaultProfile {
      try app.console.out(name)
    } else {
      throw Failure(
        .failed, "no default profile is set", hint: "authctl profile default NAME")
    }
    return 0
  }
}

/// `authctl profile presets [NAME]`
struct ProfilePresets: Command {
  static let configuration = CommandConfiguration(
    commandName: "presets",
    abstract: "The recipes that authctl knows; with a name, that one whole.",
    usage: "authctl profile presets [<options>] [<name>]",
    discussion: """
      Examples:
        authctl profile presets
        authctl profile presets express-jwt
      """
  ).alone

  @Argument(help: ArgumentHelp("A preset.", valueName: "name")) var name: String?
  @OptionGroup var output: JSONOutput
  @OptionGroup(title: "Global options") var globals: Globals

  var wantsJSON: Bool { output.json }

  func run(in app: App) throws(Failure) -> Int32 {
    if let name {
      try app.console.out(Presets.text(called: name).trimmingLineEnd)
      return 0
    }
    if output.json {
      let values = Presets.names.map { name -> JSONValue in
        .object([("name", .string(name)), ("summary", .string(Presets.summary(name)))])
      }
      try app.console.out(JSONValue.array(values).serialized())
      return 0
    }
    var table = Table()
    for name in Presets.names { table.add([name, Presets.summary(name)]) }
    for line in table.lines { try app.console.out(String(line.dropFirst(2))) }
    return 0
  }
}
