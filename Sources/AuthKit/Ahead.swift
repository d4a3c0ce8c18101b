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
  func wait() {
    if isRunning { pthread_join(thread, nil) }
    isRunning = false
  }

  deinit { if isRunning { pthread_detach(thread) } }
}

/// Begins to load libsecret with GLib, libcurl with its thirty libraries, or one after the other;
/// who needs one waits until it is there.
public func loadAhead(keyring: Bool, http: Bool) {
  guard keyring || http else { return }
  _ = Ahead {
    if keyring { SecretServiceBus.load() }
    if http { _ = try? openedLibcurl() }
  }
}
