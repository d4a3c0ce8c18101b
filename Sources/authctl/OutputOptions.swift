internal import ArgumentParser

/// What becomes of an answer (contract sections 2 and 8).
struct OutputOptions: ParsableArguments {
  @Flag(name: .customShort("i"), help: "Status line and headers before the body.")
  var include = false

  @Option(
    name: [.customShort("o", allowingJoined: true), .customLong("output")], parsing: .unconditional,
    help: ArgumentHelp("Write the body to FILE, whole or not at all.", valueName: "file"))
  var file: String?

  @Flag(help: "The body as it is, on a terminal too.")
  var raw = false

  @Flag(name: .customLong("show-secrets"), help: "With -i: do not mask headers.")
  var showSecrets = false
}
