internal import ArgumentParser
internal import AuthKit

/// The options for which statuses exit with 0 (design 3).
struct StatusOptions: ParsableArguments {
  @Option(
    parsing: .unconditionalSingleValue,
    help: ArgumentHelp("Exit with 0 for these statuses: 404,409 or 4xx.", valueName: "list"))
  var ok: [String] = []

  @Flag(
    name: .customLong("ignore-status"),
    help: "Exit with 0 for every HTTP status, as --ok 3xx,4xx,5xx does.")
  var ignoreStatus = false

  /// Returns a test for the statuses that count as success.
  ///
  /// - Throws: `usage` for an invalid list.
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

extension Failure.Kind {
  /// Creates the kind of failure for an HTTP status.
  init(status: Int) {
    self =
      switch status {
      case 300...399: .redirect
      case 400...499: .clientError
      default: .serverError
      }
  }
}
