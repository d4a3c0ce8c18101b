internal import ArgumentParser
internal import AuthKit

/// The options of `batch`.
struct BatchOptions: ParsableArguments {
  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Send at most this many requests at a time.", valueName: "n"))
  var parallel: Int = 8

  @Flag(help: "Print each answer as soon as it arrives.")
  var unordered = false

  @Flag(name: .customLong("fail-fast"), help: "Start no more requests after a failure.")
  var failFast = false

  @Flag(name: .customLong("show-secrets"), help: "Do not mask secrets in headers.")
  var showSecrets = false

  @Flag(help: "Send no credential except in a line's headers.")
  var anonymous = false

  @OptionGroup var status: StatusOptions
  @OptionGroup(title: "Retries") var retries: RetryOptions
  @OptionGroup(title: "Network") var network: NetworkOptions

  /// Checks that the values are in range.
  ///
  /// - Throws: `usage`.
  func check() throws(Failure) {
    guard (1...500).contains(parallel) else {
      throw Failure(.usage, "--parallel \(parallel): must be from 1 to 500")
    }
  }
}
