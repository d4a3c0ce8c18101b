internal import ArgumentParser
internal import AuthKit

/// `authctl store`
struct StoreGroup: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "store", abstract: "Test, unlock and migrate the store of sessions.",
    subcommands: [StoreTest.self, StoreUnlock.self, StoreMigrate.self])
}
