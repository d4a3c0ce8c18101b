import Glibc
import Testing

/// What is left of a `--password-command` that does not end as it should: nothing (rule A11).
@Suite struct SecretCommandTests {
  /// Whether a process has ended; one that nobody has waited for yet counts.
  private static func hasEnded(_ pid: String) -> Bool {
    guard let line = readFile("/proc/\(pid)/stat") else { return true }
    // The state follows the name of the program, which may contain anything.
    return line.split(separator: UInt8(ascii: ")")).last?.dropFirst().first == UInt8(ascii: "Z")
  }

  private func wait(for what: String, until isSo: @escaping @Sendable () -> Bool) async throws {
    try await onThread {
      let start = monotonicMilliseconds()
      while !isSo() {
        guard monotonicMilliseconds() - start < 20_000 else { throw HarnessError(what) }
        usleep(1000)
      }
    }
  }

  /// The command has started a program in the background.
  @Test(arguments: [nil, SIGTERM, SIGHUP])
  func wholeGroupIsKilled(_ signal: Int32?) async throws {
    try await Sandbox.with { box in
      let api = try box.recorder()
      try box.profile("shop", Scene.profile(api.url))
      let file = box.root + "/pid"
      let then = signal == nil ? "head -c 70000 /dev/zero" : "wait"
      let login = try box.start([
        "login", "-p", "shop", "-u", "ada", "--password-command",
        "sleep 1000 & echo $! >'\(file)'; \(then)",
      ])
      @Sendable func pid() -> String? {
        readFile(file).map { String(decoding: $0, as: UTF8.self) }
          .flatMap { $0.hasSuffix("\n") ? String($0.dropLast()) : nil }
      }
      try await wait(for: "the command was not started") { pid() != nil }
      let sleeper = try #require(pid())
      if let signal { login.signal(signal) }
      let run = try await login.finish()
      #expect(run.stdout == "" && run.status == signal.map { 128 + $0 } ?? 10, "\(run.stderr)")
      try await wait(for: "a program of the command still runs") { Self.hasEnded(sleeper) }
      #expect(api.connections.isEmpty)
    }
  }
}
