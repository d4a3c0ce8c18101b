internal import AuthKit

/// The output of bare `authctl`: how to begin, or who is signed in and the next steps.
enum Overview {
  static func show(_ environment: [String: String]) throws(Failure) -> Int32 {
    let globals = try Globals.standard()
    let app = App(globals: globals, environment: environment)
    // Without profiles, print the welcome without accessing the keyring.
    let names = try app.profiles.names()
    guard !names.isEmpty else {
      try app.console.out(welcome)
      return 0
    }
    var rows: [StoredSession] = []
    do throws(Failure) { rows = try StoredSession.all(app) } catch {
      app.console.report(error)
      return error.kind.exitCode
    }
    var table = Table()
    table.commands = 3
    table.colours = (2, StoredSession.State.colours)
    for row in rows { table.add(cells(row), marked: row.isDefault) }
    // A hidden session in a locked keyring may belong to any profile: show none as signed out.
    let signedOut = names.filter { name in
      !rows.contains { $0.profile == name || $0.isHidden }
    }
    let chosen = try? app.choose().profile.name
    for name in signedOut {
      let login = Suggestion.login(name).command ?? ""
      table.add([name, "-", "signed out", login], marked: name == chosen)
    }
    try app.console.out(table)
    try app.console.out("")
    var steps = Table()
    steps.commands = 0
    if let chosen, signedOut.contains(chosen) {
      steps.add([pad("authctl login"), "sign in to \(chosen) (*)"])
    } else if let chosen {
      steps.add([pad("authctl get /PATH"), "send a request to \(chosen) (*)"])
    } else {
      steps.add([pad("authctl get -p NAME /PATH"), "send a request"])
    }
    steps.add([pad("authctl login URL"), "sign in to another API (-u: another account)"])
    steps.add([pad("authctl help"), "list all commands"])
    try app.console.out(steps)
    return 0
  }

  private static func cells(_ row: StoredSession) -> [String] {
    let names = [row.profile ?? "?", row.account ?? "?"]
    switch row.state {
    case .locked: return names + ["locked", Suggestion.unlockStore.command ?? ""]
    case .refreshable: return names + ["expired, renewable", ""]
    case .valid:
      let left = row.secondsLeft.map { ", \(Timestamp.spoken($0)) left" } ?? ""
      return names + ["valid\(left)\(row.isRefreshable ? ", renewable" : "")", ""]
    case .refused: return names + ["refused", row.loginCommand ?? ""]
    case .expired:
      let ago = row.secondsLeft.map { " \(Timestamp.spoken(-$0)) ago" } ?? ""
      return names + ["expired\(ago)", row.loginCommand ?? ""]
    }
  }

  private static func pad(_ text: String) -> String {
    text + String(repeating: " ", count: max(0, 26 - text.utf8.count))
  }

  private static let welcome = """
    authctl signs in to an HTTP API once, then sends requests with the session.

      authctl login https://api.example.com    sign in
      authctl get /me                          send a request
      authctl status                           list sessions

    All commands: authctl help        Manual: man authctl
    """
}
