internal import ArgumentParser
internal import AuthKit

/// `authctl store test`
struct StoreTest: Command {
  static let configuration = CommandConfiguration(
    commandName: "test", abstract: "Try the store: what it rests on, and a probe.",
    usage: "authctl store test [<options>]",
    discussion: """
      A probe is written, read and deleted; no list of sessions shows it. Nothing
      is unlocked and no dialog raised. Ends with 1 when something does not work.

      Examples:
        authctl store test
        authctl store test --json
        AUTHCTL_STORE=file authctl store test
      """
  ).alone

  @OptionGroup var output: JSONOutput
  @OptionGroup(title: "Global options") var globals: Globals

  var wantsJSON: Bool { output.json }

  func run(in app: App) throws(Failure) -> Int32 {
    let store = try app.store(mayPrompt: false)
    var checks = CheckReport()
    checks.add(.store, .ok, store.name.rawValue)
    for check in store.test() { checks.add(check) }
    return try checks.report(app, asJSON: output.json)
  }
}
