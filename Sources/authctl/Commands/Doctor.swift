internal import ArgumentParser
internal import AuthKit

/// `authctl doctor`
struct Doctor: Command {
  static let configuration = CommandConfiguration(
    commandName: "doctor",
    abstract: "What works and what does not on this machine, with the mend.",
    usage: "authctl doctor [-p <name|file>] [--all] [<options>]",
    discussion: """
      Looks at folders, the store, proxies and the clock, and at how the profile's
      server is reached, by a GET that carries nothing. Nothing is unlocked and no
      dialog raised. Ends with 1 when something fails. There is no secret in what
      it prints: it is fit for a report of a bug.

      Examples:
        authctl doctor
        authctl doctor -p shop --json
        authctl doctor --all
      """
  ).alone

  @Flag(help: "Look at every profile.") var all = false

  @OptionGroup var output: JSONOutput
  @OptionGroup(title: "Global options") var globals: Globals

  var wantsJSON: Bool { output.json }

  func run(in app: App) throws(Failure) -> Int32 {
    guard !all || globals.profile == nil else {
      throw Failure(.usage, "--all and -p exclude each other", hint: "authctl help doctor")
    }
    var examination = DoctorChecks(app)
    examination.machine()
    let profiles = examination.profiles(all: all)
    for profile in profiles { examination.checkServer(of: profile) }
    examination.proxies()
    for profile in profiles { examination.session(of: profile) }
    examination.variables()
    return try examination.checks.report(
      app, asJSON: output.json, closing: " There is no secret in this text.")
  }
}
