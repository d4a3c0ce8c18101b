internal import ArgumentParser
internal import AuthKit

/// The options of every command, also accepted before the command's name.
struct Globals: ParsableArguments {
  @Option(
    name: [.customShort("p", allowingJoined: true), .long], parsing: .unconditional,
    help: ArgumentHelp(
      "Use this profile: a name, or a file (with a slash).", valueName: "name|file"))
  var profile: String?

  @Option(
    name: [.customShort("u", allowingJoined: true), .long], parsing: .unconditional,
    help: ArgumentHelp("Use this account.", valueName: "name"))
  var username: String?

  @Option(
    parsing: .unconditional, help: ArgumentHelp("Use this store for sessions.", valueName: "name"))
  var store: String?

  @Option(
    name: .customLong("store-timeout"), parsing: .unconditional,
    help: ArgumentHelp("Limit each store operation to this time (30s).", valueName: "duration"))
  var storeTimeout: Duration?

  @Option(
    name: .customLong("lock-timeout"), parsing: .unconditional,
    help: ArgumentHelp("Wait this long for another authctl (60s).", valueName: "duration"))
  var lockTimeout: Duration?

  @Flag(name: .shortAndLong, help: "Show what happens, with secrets masked; -vv shows more.")
  var verbose: Int

  @Flag(name: .shortAndLong, help: "Print no notices, warnings or status lines; only errors.")
  var quiet = false

  @Flag(help: "Trust the profile's file: its proxy, certificates and origins.")
  var trust = false

  @Flag(name: .customLong("no-input"), help: "Never ask; exit with 10 instead.")
  var noInput = false

  @Option(
    parsing: .unconditional, help: ArgumentHelp("Print errors in this format.", valueName: "form"))
  var errors: ErrorForm?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Use color: auto, always or never.", valueName: "when"))
  var color: ColourChoice?
}

/// The argument that names the profile, for commands that take nothing else.
struct ProfileArgument: ParsableArguments {
  @Argument(help: ArgumentHelp("The profile, as with -p.", valueName: "name|file"))
  var name: String?
}

extension ColourChoice: ExpressibleByArgument {
  static var allValueStrings: [String] { allCases.map(\.rawValue) }
}

/// The form in which errors are printed.
enum ErrorForm: String, ExpressibleByArgument, CaseIterable {
  case text, json

  // The parser's own makes a key path, in each command: 0.3 million instructions.
  static var allValueStrings: [String] { allCases.map(\.rawValue) }
}

/// A span of time: seconds, or `30s 5m 24h 7d`.
struct Duration: ExpressibleByArgument {
  let seconds: Double
  /// As it was given.
  let text: String

  init?(argument: String) {
    guard let seconds = Timestamp.duration(argument) else { return nil }
    self.seconds = seconds
    text = argument
  }
}

/// `--json`, for the commands that are not requests.
struct JSONOutput: ParsableArguments {
  @Flag(name: .customLong("json"), help: "Print one JSON value, and errors as JSON.")
  var json = false
}

extension Globals {
  /// Returns the defaults: no option is given.
  static func standard() throws(Failure) -> Globals {
    do { return try Globals.parse([]) } catch { throw Failure(.failed, "\(error)") }
  }
}
