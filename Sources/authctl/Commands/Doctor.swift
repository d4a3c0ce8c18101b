internal import ArgumentParser
internal import AuthKit

/// `authctl doctor`
struct Doctor: Command {
  static let configuration = CommandConfiguration(
    commandName: "doctor",
    abstract: "Check this machine's setup and say how to fix it.",
    usage: "authctl doctor [--all] [<options>] [<name|file>]",
    discussion: """
      Checks folders, the store, proxies and the clock, and sends a GET without a
      credential to the profile's server. It unlocks nothing and opens no dialog.
      It exits with 1 if a check fails. The output contains no secret, so you can
      paste it into a bug report.

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
      app, asJSON: output.json, closing: " This output contains no secret.")
  }
}
