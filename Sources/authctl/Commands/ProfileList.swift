internal import ArgumentParser
internal import AuthKit

/// `authctl profile list`
struct ProfileList: Command {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List profiles and their sessions.",
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
    // List the profiles even if the store cannot be read.
    let sessions: [StoredSession]?
    do throws(Failure) { sessions = names.isEmpty ? [] : try StoredSession.all(app) } catch {
      sessions = nil
      app.console.warn("cannot list the sessions: \(error.message)")
    }
    // A locked store that shows nothing may hold sessions of any profile.
    let isHidden = sessions?.contains { $0.isHidden } ?? false
    var table = Table(header: ["NAME", "PRESET", "ACCOUNTS", "STATE", "URL"])
    table.colours = (3, StoredSession.State.colours)
    var values: [JSONValue] = []
    let standard = try app.standardProfile()
    for name in names {
      let profile: Profile
      do throws(Failure) { profile = try app.profiles.load(name) } catch {
        // A broken profile does not hide the others.
        app.console.warn(error.message)
        if let hint = error.hint { app.console.hint(hint) }
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
      try app.console.out(JSONValue.array(values))
    } else if names.isEmpty {
      app.console.notice("No profiles.")
      app.console.hint("authctl login URL")
    } else {
      try app.console.out(table)
    }
    return 0
  }

  private static func state(_ sessions: [StoredSession]) -> String {
    let order: [StoredSession.State] = [.valid, .refreshable, .locked, .expired, .refused]
    return order.first { state in sessions.contains { $0.state == state } }?.rawValue
      ?? "signed out"
  }
}
