internal import ArgumentParser
internal import AuthKit

/// `authctl helper curl-config [TARGET…]`
struct HelperCurlConfig: Command {
  static let configuration = CommandConfiguration(
    commandName: "curl-config", abstract: "Print the header and the URLs for curl -K -.",
    usage: "authctl helper curl-config [<options>] [<target> ...]",
    discussion: """
      The configuration turns off redirects, which could send the header to another
      origin. Give the targets here: authctl checks them, but cannot check URLs on
      curl's own command line.

      Examples:
        authctl helper curl-config -p shop /orders | curl -K -
        authctl helper curl-config -p shop /a /b | curl -Z -K - -o a.json -o b.json
      """
  ).alone

  @Argument(help: ArgumentHelp("Paths or URLs of the API.", valueName: "target"))
  var targets: [String] = []

  @OptionGroup(title: "Global options") var globals: Globals

  func run(in app: App) throws(Failure) -> Int32 {
    let found = try HelperCredential.ofNamedProfile(by: "curl-config", in: app)
    let urls = try found.urls(of: targets, app)
    try HelperCredential.check(found.header.value)
    var lines = ["header = " + Self.quoted("\(found.header.name): \(found.header.value)")]
    let isSecure =
      urls.isEmpty ? found.keeper.api.base.origin.isSecure : urls.allSatisfy(\.origin.isSecure)
    lines.append("proto = \"=\(isSecure ? "https" : "http,https")\"")
    lines.append("max-redirs = 0")
    for url in urls {
      try HelperCredential.check(url.text, "URL")
      lines.append("url = " + Self.quoted(url.text))
    }
    for line in lines { try app.console.out(line) }
    return 0
  }

  /// Returns `text` as a value in quotes (https://curl.se/docs/manpage.html#-K).
  private static func quoted(_ text: String) -> String {
    var bytes: [UInt8] = []
    for byte in text.utf8 {
      if "\"\\".utf8.contains(byte) { bytes.append(UInt8(ascii: "\\")) }
      bytes.append(byte)
    }
    return "\"" + String(decoding: bytes, as: UTF8.self) + "\""
  }
}
