internal import ArgumentParser
internal import AuthKit

/// `authctl store`
struct StoreGroup: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "store", abstract: "The place where sessions are kept.",
    subcommands: [StoreTest.self, StoreUnlock.self, StoreMigrate.self])
}
