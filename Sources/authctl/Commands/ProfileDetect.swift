internal import ArgumentParser
internal import AuthKit

/// `authctl profile detect URL`
struct ProfileDetect: Command {
  static let configuration = CommandConfiguration(
    commandName: "detect", abstract: "Detect how to sign in to an API.",
    usage: "authctl profile detect [<options>] <url>",
    discussion: """
      Sends at most 12 requests (GET and OPTIONS; 18 if the URL has a path) without a
      credential, only to that
      origin, over https or to this machine. Exits with 1 if it finds nothing.

      Examples:
        authctl profile detect https://api.shop.example
        authctl profile detect http://127.0.0.1:8000 --json
      """
  ).alone

  @Argument(help: ArgumentHelp("The API's base URL.", valueName: "url")) var url: String
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
    // On a terminal, lines break at spaces.
    let columns = app.console.isOutTerminal ? app.console.columns - 1 : .max
    for finding in detection.findings {
      let found = "\(finding.certainty.rawValue): \(finding.place): \(finding.what)"
      let lines = Console.wrapped(DisplayText.oneLine(found), indent: 2, columns: columns)
      let why = Console.wrapped(DisplayText.oneLine(finding.why), indent: 2, columns: columns)
      try app.console.out(lines: [lines[0]] + (lines.dropFirst() + why).map { "  " + $0 })
    }
    if let command, let command { try app.console.out("Next: \(command)") }
    return 0
  }
}
