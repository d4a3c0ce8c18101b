internal import ArgumentParser
internal import AuthKit

/// `authctl doctor`
struct Doctor: Command {
  static let configuration = CommandConfiguration(
    commandName: "doctor",
    abstract: "What works and what does not on this machine, with the mend.",
    usage: "authctl doctor [--all] [<options>] [<name|file>]",
    discussion: """
      Looks at folders, the store, proxies and the clock, and at how the profile's
      server is reached, by a GET that carries nothing. Nothing is unlocked and no
      dialog raised. Ends with 1 when something fails. There is no secret in what
      it prints: it is fit for a report of a bug.

      Examples:
        authctl doctor
        authctl doctor shop --json
        authctl doctor --all
      """
  ).alone

  @Flag(help: "Check every profile.") var all = false

  @OptionGroup var profile: ProfileArgument
  @OptionGroup var output: JSONOutput
  @OptionGroup(title: "Global options") var globals: Globals

  var wantsJSON: Bool { output.json }
  var profileArgument: String? { profile.name }

  func run(in app: App) throws(Failure) -> Int32 {
    guard !all || app.globals.profile == nil else {
      throw Failure(
        .usage, "--all and a profile cannot be used together", hint: "authctl help doctor")
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
