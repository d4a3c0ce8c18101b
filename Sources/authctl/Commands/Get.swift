internal import ArgumentParser
internal import AuthKit

/// The options of a request; the letters are curl's (contract section 8).
struct RequestOptions: ParsableArguments {
  @Flag(name: .customShort("i"), help: "Status line and headers before the body.")
  var include = false

  @Option(
    name: [.customShort("o", allowingJoined: true), .customLong("output")], parsing: .unconditional,
    help: ArgumentHelp("Write the body to FILE, whole or not at all.", valueName: "file"))
  var output: String?

  @Option(
    name: [.customShort("H", allowingJoined: true), .customLong("header")],
    parsing: .unconditionalSingleValue,
    help: ArgumentHelp("A further header, or @FILE of headers.", valueName: "header"))
  var header: [String] = []

  @Option(
    name: [.customShort("m", allowingJoined: true), .customLong("max-time")],
    parsing: .unconditional,
    help: ArgumentHelp("Time limit for the whole request.", valueName: "duration"))
  var maximumTime: Duration?

  @Option(
    name: .customLong("connect-timeout"), parsing: .unconditional,
    help: ArgumentHelp("Time limit for connecting (10s).", valueName: "duration"))
  var connectTimeout: Duration?

  @Option(
    name: .customLong("cacert"), parsing: .unconditional,
    help: ArgumentHelp("Trust the authorities in FILE, and no others.", valueName: "file"))
  var authorities: String?

  @Flag(
    name: [.customShort("k"), .customLong("insecure")],
    help: "Do not verify the server's certificate, for this request alone.")
  var insecure = false

  @Flag(help: "Ask for a compressed answer, and undo that.")
  var compressed = false

  @Option(
    parsing: .unconditionalSingleValue,
    help: ArgumentHelp("Statuses that end with 0: 404,409 or 4xx.", valueName: "list"))
  var ok: [String] = []

  @Flag(name: .customLong("ignore-status"), help: "The same as --ok 3xx,4xx,5xx.")
  var ignoreStatus = false

  @Flag(help: "Send no credential but what -H gives.")
  var anonymous = false

  @Option(
    name: .customLong("max-redirs"), parsing: .unconditional,
    help: ArgumentHelp("How many redirects to follow (10).", valueName: "n"))
  var maximumRedirects: Int = 10

  @Flag(
    name: [.customShort("L"), .customLong("location")],
    help: "Follow redirects (GET and HEAD do anyway).")
  var location = false

  @Flag(help: "The body as it is, on a terminal too.")
  var raw = false

  @Flag(name: .customLong("show-secrets"), help: "With -i: do not mask headers.")
  var showSecrets = false

  @Option(
    name: [.customShort("X", allowingJoined: true), .customLong("request")],
    parsing: .unconditional, help: .hidden)
  var method: String?

  @Flag(name: [.customShort("s"), .customLong("silent")], help: .hidden) var silent = false
  @Flag(name: [.customShort("S"), .customLong("show-error")], help: .hidden) var showError = false
  @Flag(name: [.customShort("N"), .customLong("no-buffer")], help: .hidden) var noBuffer = false
  @Flag(name: [.customShort("f"), .customLong("fail")], help: .hidden) var fail = false

  var http: HTTPOptions {
    var options = HTTPOptions()
    options.insecure = insecure
    options.caFile = authorities
    options.connectTimeout = connectTimeout?.seconds
    options.totalTimeout = maximumTime?.seconds
    options.compressed = compressed
    return options
  }

  /// The statuses that the person takes for success.
  ///
  /// - Throws: `usage` for a list that is none.
  func accepted() throws(Failure) -> (Int) -> Bool {
    var ranges: [ClosedRange<Int>] = ignoreStatus ? [300...599] : []
    for text in ok.flatMap({ $0.utf8.split(separator: UInt8(ascii: ",")) }) {
      let word = (String(text) ?? "").lowercased().trimmingSpaces
      if word.utf8.count == 3, word.utf8.dropFirst().elementsEqual("xx".utf8),
        let hundred = Int(word.prefix(1)), (1...5).contains(hundred)
      {
        ranges.append((hundred * 100)...(hundred * 100 + 99))
      } else if let status = Int(word), (100...599).contains(status) {
        ranges.append(status...status)
      } else {
        throw Failure(.usage, "--ok \(DisplayText.oneLine(word, limit: 20)): write 404,409 or 4xx")
      }
    }
    return { [ranges] status in ranges.contains { $0.contains(status) } }
  }
}

/// `authctl get TARGET`
struct Get: MethodCommand {
  static let method = "GET"
  static let configuration = CommandConfiguration(
    commandName: "get", abstract: "An authenticated GET.",
    discussion: """
      Examples:
        authctl get /me
        authctl get -p shop -i '/orders?open=1'
        authctl get https://api.shop.example/report.pdf -o report.pdf
      """)

  @Argument(help: ArgumentHelp("/PATH of the API, or a URL.", valueName: "target"))
  var target: String

  @OptionGroup(title: "Query") var body: BodyOptions
  @OptionGroup var options: RequestOptions
  @OptionGroup(title: "Global options") var globals: Globals
}
