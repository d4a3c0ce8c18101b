internal import ArgumentParser
internal import AuthKit

/// The options of every command, also accepted before the command's name.
struct Globals: ParsableArguments {
  @Option(
    name: [.customShort("p", allowingJoined: true), .long], parsing: .unconditional,
    help: ArgumentHelp("Profile: a name, or a file (with a slash).", valueName: "name|file"))
  var profile: String?

  @Option(
    name: [.customShort("u", allowingJoined: true), .long], parsing: .unconditional,
    help: ArgumentHelp("Account.", valueName: "name"))
  var username: String?

  @Option(
    parsing: .unconditional, help: ArgumentHelp("Where sessions are kept.", valueName: "name"))
  var store: String?

  @Option(
    name: .customLong("store-timeout"), parsing: .unconditional,
    help: ArgumentHelp("Bound of one store operation (30s).", valueName: "duration"))
  var storeTimeout: Duration?

  @Option(
    name: .customLong("lock-timeout"), parsing: .unconditional,
    help: ArgumentHelp("How long to wait for another authctl (60s).", valueName: "duration"))
  var lockTimeout: Duration?

  @Flag(name: .shortAndLong, help: "Tell what happens, secrets masked; -vv tells more.")
  var verbose: Int

  @Flag(name: .shortAndLong, help: "No notices, warnings or status lines; errors always.")
  var quiet = false

  @Flag(help: "Trust the profile's file: its proxy, certificates, origins.")
  var trust = false

  @Flag(name: .customLong("no-input"), help: "Never ask; end with 10 instead.")
  var noInput = false

  @Option(
    parsing: .unconditional, help: ArgumentHelp("How errors are written.", valueName: "form"))
  var errors: ErrorForm?

  @Option(
    parsing: .unconditional, help: ArgumentHelp("When to write colours.", valueName: "when"))
  var color: ColourChoice?
}

/// The argument that names the profile, for commands that take nothing else.
struct ProfileArgument: ParsableArguments {
  @Argument(help: ArgumentHelp("The profile, as with -p.", valueName: "name|file"))
  var name: String?
}

extension ColourChoice: ExpressibleByArgument {}

/// The form in which errors are printed.
enum ErrorForm: String, ExpressibleByArgument, CaseIterable {
  case text, json
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
  @Flag(name: .customLong("json"), help: "One JSON value on standard output; errors as JSON.")
  var json = false
}

extension Globals {
  /// Returns the defaults: no option is given.
  static func standard() throws(Failure) -> Globals {
    do { return try Globals.parse([]) } catch { throw Failure(.failed, "\(error)") }
  }
}
