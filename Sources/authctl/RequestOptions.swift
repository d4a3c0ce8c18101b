internal import ArgumentParser
internal import AuthKit

/// The options of a request; the letters are curl's (contract section 8).
struct RequestOptions: ParsableArguments {
  @OptionGroup(title: "Answer") var output: OutputOptions

  @Option(
    name: [.customShort("H", allowingJoined: true), .customLong("header")],
    parsing: .unconditionalSingleValue,
    help: ArgumentHelp("A further header, or @FILE of headers.", valueName: "header"))
  var header: [String] = []

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

  @OptionGroup(title: "Network") var network: NetworkOptions

  @Option(
    name: [.customShort("X", allowingJoined: true), .customLong("request")],
    parsing: .unconditional, help: .hidden)
  var method: String?

  @Flag(name: [.customShort("s"), .customLong("silent")], help: .hidden) var silent = false
  @Flag(name: [.customShort("S"), .customLong("show-error")], help: .hidden) var showError = false
  @Flag(name: [.customShort("N"), .customLong("no-buffer")], help: .hidden) var noBuffer = false
  @Flag(name: [.customShort("f"), .customLong("fail")], help: .hidden) var fail = false

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
