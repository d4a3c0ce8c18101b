internal import ArgumentParser
internal import AuthKit

/// `authctl profile detect URL`
struct ProfileDetect: Command {
  static let configuration = CommandConfiguration(
    commandName: "detect", abstract: "Look at an API: how does it want to be spoken to?",
    usage: "authctl profile detect [<options>] <url>",
    discussion: """
      Sends at most a dozen requests (GET, OPTIONS), to that origin only, without a
      credential; over https, or to this machine. Exits with 1 if nothing is found.

      Examples:
        authctl profile detect https://api.shop.example
        authctl profile detect http://127.0.0.1:8000 --json
      """
  ).alone

  @Argument(help: ArgumentHelp("The API's base.", valueName: "url")) var url: String
  @OptionGroup var output: JSONOutput
  @OptionGroup(title: "Global options") var globals: Globals

  var wantsJSON: Bool { output.json }

  func run(in app: App) throws(Failure) -> Int32 {
    let detection = try app.detect(url)
    let command = try detection.best.map { finding throws(Failure) in
      try Detected.command(finding, detection.url, app)
    }
    if output.json {
      try app.console.out(Detected.json(detection, command ?? nil))
      return detection.findings.isEmpty ? 1 : 0
    }
    guard !detection.findings.isEmpty else {
      for request in detection.tried { app.console.notice("Tried", foreign: request) }
      throw Detected.nothing(detection)
    }
    for finding in detection.findings {
      let found = "\(finding.place): \(finding.what)"
      try app.console.out("\(finding.certainty.rawValue): \(DisplayText.oneLine(found))")
      try app.console.out("  \(DisplayText.oneLine(finding.why))")
    }
    if let command, let command { try app.console.out("Next: \(command)") }
    return 0
  }
}
