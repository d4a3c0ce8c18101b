internal import ArgumentParser
internal import AuthKit

/// `authctl store test`
struct StoreTest: Command {
  static let configuration = CommandConfiguration(
    commandName: "test", abstract: "Test the store by writing, reading and deleting an entry.",
    usage: "authctl store test [<options>]",
    discussion: """
      The test entry (the probe) is in no list of sessions. The test unlocks nothing
      and opens no dialog. It exits with 1 if something does not work.

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
