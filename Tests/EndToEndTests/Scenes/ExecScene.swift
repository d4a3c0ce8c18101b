/// What the suites of `exec` share: programs to run, and one shop.
enum ExecScene {
  /// What runs `exec`'s program: in its place, or beside it.
  static let ways: [[String]] = [[], ["--file"]]

  /// Every NUL-ended entry of `env -0`, by name.
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

  /// Writes the numbers of all descriptors that it was started with, below 256.
  static let descriptors = [
    "/bin/sh", "-c",
    "n=0; while [ $n -lt 256 ]; do [ -e /proc/$$/fd/$n ] && echo $n; n=$((n+1)); done; exit 0",
  ]

  /// `exec "$@"` of a shell, behind what it does first.
  static func shell(_ first: String, _ words: [String]) -> [String] {
    ["-c", first + #" exec "$@""#, "sh"] + words
  }

  /// Waits for its end in a way that a signal interrupts at once; `\(traps)` come first.
  static func waiting(_ traps: String) -> [String] {
    ["/bin/sh", "-c", "\(traps)\nsleep 120 >/dev/null 2>&1 & echo \"ready $$\"\nwait $!\nexit 99"]
  }
}

extension Sandbox {
  /// The token folders that are there.
  var tokenFolders: [String] { list(runtimeDirectory + "/authctl-exec") }
}

extension Child {
  /// The number behind `ready `, the program's process, once it has written it.
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
