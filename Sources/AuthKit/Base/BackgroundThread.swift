internal import CSystem
internal import Glibc

/// Work that starts on a separate thread, before its result is needed. What it uses belongs to that
/// thread until `wait` returns. The work itself is released there, too.
final class BackgroundThread {
  private final class Work {
    let run: () -> Void
    init(_ run: @escaping () -> Void) { self.run = run }
  }

  private var thread = pthread_t()
  private var isRunning = false

  /// Starts the work; if no thread can be created, runs it at once.
  init(_ work: @escaping () -> Void) {
    start(work)?()
  }

  private init() {}

  /// Starts work that this thread must not do itself, as it may never end; nil if no thread can be
  /// created.
  static func endless(_ work: consuming @escaping () -> Void) -> BackgroundThread? {
    let thread = BackgroundThread()
    return thread.start(work) == nil ? thread : nil
  }

  /// Starts the work; returns it if no thread can be created.
  private func start(_ work: consuming @escaping () -> Void) -> (() -> Void)? {
    let box = Unmanaged.passRetained(Work(work))
    let status = pthread_create(
      &thread, nil,
      { box in
        if let box { Unmanaged<Work>.fromOpaque(box).takeRetainedValue().run() }
        return nil
      }, box.toOpaque())
    isRunning = status == 0
    return isRunning ? nil : box.takeRetainedValue().run
  }

  /// Waits until the work is done.
  func wait() {
    if isRunning { isRunning = pthread_join(thread, nil) != 0 }
  }

  /// Waits until the work is done, for at most `seconds`; returns whether it is.
  func wait(seconds: Double) -> Bool {
    guard isRunning else { return true }
    let end = MonotonicClock.now() + seconds
    let whole = end.rounded(.down)
    var time = timespec(tv_sec: Int(whole), tv_nsec: Int((end - whole) * 1e9))
    isRunning = authctl_clockjoin(thread, CLOCK_MONOTONIC, &time) != 0
    return !isRunning
  }

  deinit { if isRunning { pthread_detach(thread) } }
}
