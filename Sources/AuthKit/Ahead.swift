internal import Glibc

/// Work that is begun on a thread of its own, before its result is needed. What it touches belongs
/// to that thread until `wait` returns.
final class Ahead {
  private final class Work {
    let run: () -> Void
    init(_ run: @escaping () -> Void) { self.run = run }
  }

  private var thread = pthread_t()
  private var isRunning = false

  /// Begins; where no thread can be made, the work is done at once.
  init(_ work: @escaping () -> Void) {
    let box = Unmanaged.passRetained(Work(work))
    let status = pthread_create(
      &thread, nil,
      { box in
        if let box { Unmanaged<Work>.fromOpaque(box).takeRetainedValue().run() }
        return nil
      }, box.toOpaque())
    isRunning = status == 0
    if !isRunning { box.takeRetainedValue().run() }
  }

  /// Waits until the work is done.
  func wait() { wait(by: { pthread_join($0, nil) }) }

  /// Waits by `join`, which gives 0 when the thread has ended; false when it has not.
  @discardableResult func wait(by join: (pthread_t) -> Int32) -> Bool {
    if isRunning { isRunning = join(thread) != 0 }
    return !isRunning
  }

  deinit { if isRunning { pthread_detach(thread) } }
}

/// Begins what a command is going to need: to reach the Secret Service, as `keyring` says, or to load
/// libcrypto, when the session is in a `sealed` file; and to load libcurl with its thirty libraries.
/// The session comes first, since it is needed first; while libcurl is being loaded no thread can be
/// made.
public func beginAhead(
  keyring: (busAddress: String?, timeout: Double)?, sealed: Bool, http: Bool
) -> SecretServiceAhead? {
  func loadCurl() { if http { _ = Ahead { _ = try? openedLibcurl() } } }
  guard let keyring else {
    if sealed {
      _ = Ahead {
        Crypto.prepare()
        loadCurl()
      }
    } else {
      loadCurl()
    }
    return nil
  }
  return SecretServiceAhead(timeout: keyring.timeout) { () throws(Failure) in
    defer { loadCurl() }
    let bus = try SecretServiceBus(busAddress: keyring.busAddress, timeout: keyring.timeout)
    try bus.bind(mayStart: false)
    try bus.negotiateAhead()
    return bus
  }
}
