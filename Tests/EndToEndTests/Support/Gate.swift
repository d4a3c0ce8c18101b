/// Admits a limited number at a time, first come, first served.
actor Gate {
  /// Two cores carry about six buses, keyrings and servers at once without slowing down too much.
  static let sandboxes = Gate(places: 6)
  /// True inside a sandbox: a nested sandbox takes no second place, so that six tests that each
  /// need two cannot deadlock.
  @TaskLocal static var isInside = false

  private var free: Int
  private var queue: [CheckedContinuation<Void, Never>] = []

  init(places: Int) { free = places }

  func enter() async {
    if free > 0 {
      free -= 1
    } else {
      await withCheckedContinuation { queue.append($0) }
    }
  }

  func leave() {
    if queue.isEmpty {
      free += 1
    } else {
      queue.removeFirst().resume()
    }
  }
}
