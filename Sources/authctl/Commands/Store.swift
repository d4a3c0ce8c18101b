internal import ArgumentParser
internal import AuthKit

/// `authctl store`
struct StoreGroup: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "store", abstract: "The place where sessions are kept.",
    subcommands: [StoreTest.self, StoreUnlock.self])
}

/// `authctl store unlock`
struct StoreUnlock: Command {
  static let configuration = CommandConfiguration(
    commandName: "unlock", abstract: "Unlock the keyring, by its own dialog.",
    usage: "authctl store unlock [<options>]",
    discussion: """
      Examples:
        authctl store unlock
        authctl store unlock && authctl get /me
      """)

  @OptionGroup var output: JSONOutput
  @OptionGroup(title: "Global options") var globals: Globals

  var wantsJSON: Bool { output.json }

  func run(in app: App) throws(Failure) -> Int32 {
    let store = try app.store()
    try store.open()
    app.console.notice("T\(store.title.dropFirst()) is unlocked.")
    return 0
  }
}
