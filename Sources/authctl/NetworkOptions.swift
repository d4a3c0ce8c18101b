internal import ArgumentParser
internal import AuthKit

/// How a request reaches its server (contract section 8).
struct NetworkOptions: ParsableArguments {
  @Option(
    name: [.customShort("m", allowingJoined: true), .customLong("max-time")],
    parsing: .unconditional,
    help: ArgumentHelp("Time limit for the whole request.", valueName: "duration"))
  var maximumTime: Duration?

  @Option(
    name: .customLong("connect-timeout"), parsing: .unconditional,
    help: ArgumentHelp("Time limit for connecting (10s).", valueName: "duration"))
  var connectTimeout: Duration?

  @Option(
    name: .customLong("cacert"), parsing: .unconditional,
    help: ArgumentHelp("Trust the authorities in FILE, and no others.", valueName: "file"))
  var authorities: String?

  @Flag(
    name: [.customShort("k"), .customLong("insecure")],
    help: "Do not verify the server's certificate, for this request alone.")
  var insecure = false

  @Flag(help: "Ask for a compressed answer, and undo that.")
  var compressed = false

  /// The options in the form that `HTTPClient` takes.
  var http: HTTPOptions {
    var options = HTTPOptions()
    options.insecure = insecure
    options.caFile = authorities
    options.connectTimeout = connectTimeout?.seconds
    options.totalTimeout = maximumTime?.seconds
    options.compressed = compressed
    return options
  }
}
