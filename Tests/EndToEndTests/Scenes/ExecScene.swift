/// Programs to run and a shop, shared by the suites of `exec`.
enum ExecScene {
  /// The two ways in which `exec` runs a program: replaced by it, and as its parent.
  static let ways: [[String]] = [[], ["--file"]]

  /// The output of `env -0` as a dictionary.
  static func environment(_ output: [UInt8]) -> [String: String] {
    var found: [String: String] = [:]
    for entry in output.split(separator: 0) {
      let parts = entry.split(
        separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      let texts = parts.map { String(decoding: $0, as: UTF8.self) }
      found[texts[0]] = texts.count > 1 ? texts[1] : ""
    }
    return found
  }

  /// Prints the numbers of all open descriptors below 256.
  static let descriptors = [
    "/bin/sh", "-c",
    "n=0; while [ $n -lt 256 ]; do [ -e /proc/$$/fd/$n ] && echo $n; n=$((n+1)); done; exit 0",
  ]

  /// Shell arguments that run `first` and then `exec` the words.
  static func shell(_ first: String, _ words: [String]) -> [String] {
    ["-c", first + #" exec "$@""#, "sh"] + words
  }

  /// A program that waits so that a signal interrupts it at once; `traps` is run first.
  static func waiting(_ traps: String) -> [String] {
    ["/bin/sh", "-c", "\(traps)\nsleep 120 >/dev/null 2>&1 & echo \"ready $$\"\nwait $!\nexit 99"]
  }
}

extension Sandbox {
  /// The existing token folders.
  var tokenFolders: [String] { list(runtimeDirectory + "/authctl-exec") }
}

extension Child {
  /// The process id that the program prints after `ready `.
  func readyProcess() async throws -> Int32 {
    try await waitFor("ready ")
    let view = await until { $0.out.last == 10 || $0.finished }
    let text = String(decoding: view.out, as: UTF8.self)
    guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix("ready ") }),
      let number = Int32(line.dropFirst("ready ".utf8.count).filter(\.isNumber))
    else { throw HarnessError("no process in \(text.debugDescription)") }
    return number
  }
}
