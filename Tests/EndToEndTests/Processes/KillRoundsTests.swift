import Glibc
import Testing

/// `make test-kill`: sends SIGKILL at a random moment of a `get` that must refresh, a thousand
/// times, and measures the window in which that can lose the session: from the server's response,
/// which uses the old refresh token up, until the store confirms the new one (rule T8).
@Suite struct KillRoundsTests {
  /// The number of rounds; 0 in `make test`.
  static let rounds = getenv("AUTHCTL_KILL_ROUNDS").flatMap { Int(String(cString: $0)) } ?? 0
  /// Undisturbed runs, to measure.
  private static let calm = 100

  private static let isOn = rounds > 0

  /// The times at which the relay and the bus monitor saw one run's messages.
  private struct Sight {
    /// The refresh reached the server.
    var received: Double?
    var answered: Double?
    /// The new pair was sent to the keyring.
    var asked: Double?
    /// The keyring confirmed it.
    var stored: Double?
  }

  /// The objects that all rounds share.
  private struct Stage {
    let shop: Shop
    let api: APIServer
    let relay: Relay
    let monitor: BusMonitor

    /// Runs `get`, killed after `microseconds` (nil: not killed), and returns what was observed.
    func get(killedAfter microseconds: UInt32?) async throws -> (run: Run, sight: Sight) {
      try await api.expire()
      try await monitor.settle()
      let (start, index) = (monitor.position, relay.passages.count)
      let child = try shop.box.startUnsampled(["get", "/me"])
      if let microseconds {
        try await onThread {
          usleep(microseconds)
          child.signal(SIGKILL)
        }
      }
      let run = try await child.finish()
      try await relay.settle()
      try await monitor.settle()
      let passages = relay.passages
      try #require(passages.count <= index + 1, "one run, two refreshes")
      var sight = Sight()
      if index < passages.count {
        (sight.received, sight.answered) = (passages[index].received, passages[index].answered)
      }
      let seen = monitor.messages(from: start)
      if let call = seen.first(where: { $0.member == "CreateItem" }) {
        sight.asked = call.time
        sight.stored =
          seen.first { $0.replySerial == call.serial && $0.destination == call.sender }?.time
      }
      return (run, sight)
    }
  }

  private func withStage(_ body: @Sendable (Stage) async throws -> Void) async throws {
    try await Relay.withShop(holds: false) { shop, api, relay in
      let monitor = try await BusMonitor(shop.box, calls: "CreateItem", answers: true)
      try await body(Stage(shop: shop, api: api, relay: relay, monitor: monitor))
    }
  }

  @Test(.enabled(if: isOn, "make test-kill"))
  func sessionIsLostInTheWindowOnly() async throws {
    try await withStage { stage in
      let longest = try await measure(stage)
      var ends = ["by itself": 0, "before": 0, "in": 0, "after": 0]
      var lost: [String: Int] = [:]
      for round in 1...Self.rounds {
        let moment = UInt32.random(in: 0..<UInt32(longest * 1_100_000))
        let (run, sight) = try await stage.get(killedAfter: moment)
        let place =
          run.status != 128 + SIGKILL
          ? "by itself" : sight.received == nil ? "before" : sight.stored == nil ? "in" : "after"
        ends[place, default: 0] += 1
        let next = try await stage.shop.box.startUnsampled(["get", "/me"]).finish()
        let note: Comment = "round \(round), killed \(place): \(sight) \(next.stderr)"
        if next.status == 0 {
          #expect(next.stdout == Shop.me, note)
        } else {
          lost[place, default: 0] += 1
          #expect(next.status == 11, note)
          #expect(place == "in", note)
          try await stage.shop.signIn()
        }
      }
      Self.tell(ends, lost)
    }
  }

  private static func tell(_ ends: [String: Int], _ lost: [String: Int]) {
    func count(_ place: String) -> Int { ends[place] ?? 0 }
    print(
      """
      kill: \(rounds) rounds; \(count("by itself")) ended before the kill came; killed before \
      the refresh was sent \(count("before")), in the window \(count("in")), after it \
      \(count("after"))
      kill: sessions lost: \(lost.values.reduce(0, +)), of them in the window \(lost["in"] ?? 0)
      """)
  }

  /// Prints the window; returns the seconds of the slowest run.
  private func measure(_ stage: Stage) async throws -> Double {
    var (windows, exchanges, calls, runs) = ([Double](), [Double](), [Double](), [Double]())
    for _ in 0..<Self.calm {
      let (run, sight) = try await stage.get(killedAfter: nil)
      #expect(run.stdout == Shop.me, "\(run.stderr)")
      #expect(run.status == 0)
      let received = try #require(sight.received)
      let answered = try #require(sight.answered)
      let stored = try #require(sight.stored)
      windows.append(stored - answered)
      exchanges.append(answered - received)
      calls.append(stored - (try #require(sight.asked)))
    }
    for _ in 0..<20 {
      try await stage.api.expire()
      let start = Shop.now()
      _ = try await stage.shop.box.startUnsampled(["get", "/me"]).finish()
      runs.append(Shop.now() - start)
    }
    print(
      """
      kill: \(Self.calm) runs let alone
      kill: the window, the server's answer to the store's word: \(Self.spread(windows))
      kill:   of this in the keyring itself: \(Self.spread(calls))
      kill: the server's own time for the refresh: \(Self.spread(exchanges))
      kill: a whole run: \(Self.spread(runs))
      """)
    fflush(nil)
    return runs.max() ?? 0.1
  }

  /// In milliseconds.
  private static func spread(_ seconds: [Double]) -> String {
    let sorted = seconds.sorted()
    func at(_ share: Double) -> String {
      let value = sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]
      return "\((value * 10_000).rounded() / 10)"
    }
    return "median \(at(0.5)) ms, 95 % below \(at(0.95)) ms, longest \(at(1)) ms"
  }
}
