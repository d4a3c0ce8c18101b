import Glibc
import Testing

/// Copies of a password in memory after it was sent: rule C13.
@Suite(.enabled(if: geteuid() == 0, "reads another process's memory: needs root"))
struct MemoryTests {
  /// The process has its token and waits for the keyring, which is stopped: the password is no
  /// longer needed.
  @Test func passwordIsWipedAfterItsUse() async throws {
    try await Sandbox.with { box in
      let password = box.canary.make("password")
      let access = box.canary.make("access")
      let api = try box.recorder { _, _ in
        box.stopKeyring()
        return Scene.tokens(access)
      }
      try box.profile("shop", Scene.profile(api.url))
      let child = try box.start(
        ["login", "-p", "shop", "-u", "ada", "--password-stdin"], stdin: password + "\n")
      let (body, token) = try await onThread {
        try Self.waitForRest(child, locks: box.stateHome + "/authctl/locks")
        return (
          try Self.count(Array(password.utf8), in: child.pid),
          try Self.count(Array(access.utf8), in: child.pid)
        )
      }
      #expect(Scene.holds(api, [password]) == [password])
      // The token, which must still be stored, shows that process and moment are right.
      #expect(token > 0)
      // One copy may remain in libcurl's request buffer, which it frees without wiping.
      #expect(body <= 1)
      box.continueKeyring()
      #expect(try await child.finish().status == 0)
    }
  }

  /// Waits until the lock of the session exists and the process has been asleep for a while.
  private static func waitForRest(_ child: Child, locks: String) throws {
    let start = monotonicMilliseconds()
    var (quiet, last) = (0, "")
    while quiet < 20 {
      guard monotonicMilliseconds() - start < 20_000, child.view.status == nil else {
        throw HarnessError("authctl does not come to rest")
      }
      usleep(5000)
      let text =
        readFile("/proc/\(child.pid)/stat").map { String(decoding: $0, as: UTF8.self) } ?? ""
      // State, user time and system time: fields 3, 14 and 15 of proc_pid_stat(5).
      let fields = text.split(separator: " ")
      let now = fields.count > 14 ? "\(fields[2]) \(fields[13]) \(fields[14])" : ""
      quiet = !list(locks).isEmpty && now == last && now.hasPrefix("S ") ? quiet + 1 : 0
      last = now
    }
  }

  /// Counts `needle` in the writable memory of `pid`.
  private static func count(_ needle: [UInt8], in pid: pid_t) throws -> Int {
    guard let maps = readFile("/proc/\(pid)/maps") else { throw HarnessError("no maps of \(pid)") }
    let memory = open("/proc/\(pid)/mem", O_RDONLY | O_CLOEXEC)
    guard memory >= 0 else {
      throw HarnessError("cannot read the memory of \(pid): errno \(errno)")
    }
    defer { close(memory) }
    var found = 0
    for line in String(decoding: maps, as: UTF8.self).split(separator: "\n") {
      let words = line.split(separator: " ")
      let ends = words[0].split(separator: "-").compactMap { UInt(String($0), radix: 16) }
      guard ends.count == 2, words[1].hasPrefix("rw"), ends[1] - ends[0] < 1 << 28 else { continue }
      var region = [UInt8](repeating: 0, count: Int(ends[1] - ends[0]))
      let got = pread(memory, &region, region.count, off_t(ends[0]))
      guard got > 0 else { continue }
      region.removeLast(region.count - got)
      var at = 0
      while let hit = find(needle, in: region, from: at) {
        found += 1
        at = hit + needle.count
      }
    }
    return found
  }
}
