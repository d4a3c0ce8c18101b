internal import ArgumentParser
internal import AuthKit

/// The options of a request; the letters are curl's (design 8). Most calls use no others.
struct RequestOptions: ParsableArguments {
  @OptionGroup(title: "Answer") var output: OutputOptions

  @Option(
    name: [.customShort("H", allowingJoined: true), .customLong("header")],
    parsing: .unconditionalSingleValue,
    help: ArgumentHelp("Add a header, or the headers in @FILE.", valueName: "header"))
  var header: [String] = []

  @Option(
    name: [.customShort("A", allowingJoined: true), .customLong("user-agent")],
    parsing: .unconditional,
    help: ArgumentHelp("Set the User-Agent; empty for none.", valueName: "name"))
  var agent: String?

  @Option(
    name: [.customShort("b", allowingJoined: true), .customLong("cookie")],
    parsing: .unconditionalSingleValue,
    help: ArgumentHelp("Send a cookie of your own: NAME=VALUE.", valueName: "data"))
  var cookie: [String] = []

  @OptionGroup var status: StatusOptions

  @Flag(help: "Send no credential except those in -H.")
  var anonymous = false

  @Option(
    name: .customLong("max-redirs"), parsing: .unconditional,
    help: ArgumentHelp("Follow at most this many redirects.", valueName: "n"))
  var maximumRedirects: Int = 10

  @Flag(
    name: [.customShort("L"), .customLong("location")],
    help: "Follow redirects; GET and HEAD always do.")
  var location = false

  @Option(
    name: [.customShort("X", allowingJoined: true), .customLong("request")],
    parsing: .unconditional, help: .hidden)
  var method: String?

  @Flag(name: [.customShort("s"), .customLong("silent")], help: .hidden) var silent = false
  @Flag(name: [.customShort("S"), .customLong("show-error")], help: .hidden) var showError = false
  @Flag(name: [.customShort("N"), .customLong("no-buffer")], help: .hidden) var noBuffer = false
  @Flag(name: [.customShort("f"), .customLong("fail")], help: .hidden) var fail = false
}

/// The options of a request that most calls do without: half of all. See `UsualRequest`.
struct RareOptions: ParsableArguments {
  @OptionGroup(title: "Pages") var pages: PageOptions
  @OptionGroup(title: "Retries") var retries: RetryOptions
  @OptionGroup(title: "Network") var network: NetworkOptions
}
