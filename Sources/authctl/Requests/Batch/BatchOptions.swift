internal import ArgumentParser
internal import AuthKit

/// The options of `batch`.
struct BatchOptions: ParsableArguments {
  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("How many requests may be under way.", valueName: "n"))
  var parallel: Int = 8

  @Flag(help: "Each answer as soon as it is there.")
  var unordered = false

  @Flag(name: .customLong("fail-fast"), help: "Start no further request after a failure.")
  var failFast = false

  @Flag(name: .customLong("show-secrets"), help: "Do not mask secrets in headers.")
  var showSecrets = false

  @Flag(help: "Send no credential but what a line's headers give.")
  var anonymous = false

  @OptionGroup var status: StatusOptions
  @OptionGroup(title: "Retries") var retries: RetryOptions
  @OptionGroup(title: "Network") var network: NetworkOptions

  /// Checks that the values are in range.
  ///
  /// - Throws: `usage`.
  func check() throws(Failure) {
    guard (1...500).contains(parallel) else {
      throw Failure(.usage, "--parallel \(parallel): write 1 to 500")
    }
  }
}
