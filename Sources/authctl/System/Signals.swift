internal import AuthKit
internal import CSystem
internal import Glibc
internal import Synchronization

// A signal handler captures no values and may only call the functions in signal-safety(7), so it
// writes the signal's number to this pipe, which is created once and never closed.
private let wakePipe = makeWakePipe()

// A flag in the byte of the signal's number, which is at most 64: the program that is to begin has
// not got it yet.
private let isForProgram: UInt8 = 0x80

// The program that gets what arrives; 0 without one.
private let receiver = Atomic<pid_t>(0)

private func makeWakePipe() -> (readEnd: Int32, writeEnd: Int32)? {
  var ends: [Int32] = [-1, -1]
  guard pipe(&ends) == 0 else { return nil }
  for end in ends {
    guard fcntl(end, F_SETFD, FD_CLOEXEC) == 0, fcntl(end, F_SETFL, O_NONBLOCK) == 0 else {
      return nil
    }
  }
  return (ends[0], ends[1])
}

/// Turns signals into bytes on a descriptor while something needs cleanup before they take
/// effect: echo on a terminal, a running child.
///
/// A signal mask is not enough: existing threads of GLib and libcurl would receive the signal.
/// Relays may be nested; the inner one ends first.
final class SignalRelay {
  /// The signals by which a user or the system ends a program.
  static let endings = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]

  private let readEnd: Int32
  private var replaced: [(number: Int32, action: sigaction)] = []

  /// Relays `numbers`, except those that this process was started to ignore (nohup, `&` in a
  /// script). SIGCHLD is always relayed: if it is ignored, wait(2) gets no status.
  ///
  /// - Throws: `failed` when there is no pipe.
  init(_ numbers: [Int32]) throws(Failure) {
    guard let wakePipe else {
      throw Failure(.failed, "cannot open a pipe: \(SystemError(errno).reason)")
    }
    readEnd = wakePipe.readEnd
    // The handler may not be the first to use it: a global value is created at its first use.
    _ = receiver.load(ordering: .relaxed)
    for number in numbers {
      var old = sigaction()
      guard sigaction(number, nil, &old) == 0 else { continue }
      if authctl_is_ignored(number) && number != SIGCHLD { continue }
      replaced.append((number, old))
      Self.install(number)
    }
  }

  /// The descriptor for poll(2), besides the caller's own.
  var descriptor: Int32 { readEnd }

  /// Returns the next pending signal, if any. One that only an outer relay replaces has been passed
  /// on already.
  func next() -> Int32? {
    while let signal = nextOfAll()?.signal {
      if replaced.contains(where: { $0.number == signal }) { return signal }
    }
    return nil
  }

  /// Returns the next pending signal of any relay, if any, and whether it arrived before `passOn` and
  /// has yet to be passed on.
  func nextOfAll() -> (signal: Int32, isForProgram: Bool)? {
    var byte: UInt8 = 0
    guard read(readEnd, &byte, 1) == 1 else { return nil }
    return (Int32(byte & ~isForProgram), byte & isForProgram != 0)
  }

  /// Passes every relayed signal on to `child` at once, whatever this process waits for; 0 ends that.
  static func passOn(to child: pid_t) { receiver.store(child, ordering: .sequentiallyConsistent) }

  /// Stops this process as SIGTSTP does without a relay; returns when it continues.
  func stopProcess() {
    var old = sigaction()
    for entry in replaced where entry.number == SIGTSTP { old = entry.action }
    sigaction(SIGTSTP, &old, nil)
    raise(SIGTSTP)
    Self.install(SIGTSTP)
  }

  /// Restores the dispositions; pending signals take effect now.
  func end() {
    guard !replaced.isEmpty else { return }
    for var entry in replaced { sigaction(entry.number, &entry.action, nil) }
    replaced = []
    var left: [Int32] = []
    while let next = nextOfAll() { left.append(next.signal) }
    for number in left { raise(number) }
  }

  /// Ends the relay and lets `number` take effect. If that does not end the process, because an
  /// outer relay received the signal, the caller throws the returned failure.
  func reraise(_ number: Int32) -> Failure {
    end()
    raise(number)
    return Failure(.failed, "interrupted by signal \(number)")
  }

  private static func install(_ number: Int32) {
    var action = sigaction()
    action.__sigaction_handler.sa_sigaction = { number, info, _ in
      let saved = errno
      var byte = UInt8(truncatingIfNeeded: number)
      // https://man7.org/linux/man-pages/man2/sigaction.2.html: above 0 means from the kernel. ^C and
      // ^\\ reach the program directly: it is in the terminal's group too.
      let isKernel = info.map { $0.pointee.si_code > 0 } ?? false
      let isKey = isKernel && (number == SIGINT || number == SIGQUIT)
      if number != SIGCHLD, !isKey {
        let child = receiver.load(ordering: .sequentiallyConsistent)
        // What this process raises again has arrived before.
        let isOwn = !isKernel && info.map { $0.pointee._sifields._kill.si_pid == getpid() } ?? false
        if child == 0 { byte |= isForProgram } else if !isOwn { kill(child, number) }
      }
      if let wakePipe {
        while Glibc.write(wakePipe.writeEnd, &byte, 1) < 0, errno == EINTR {}
      }
      errno = saved
    }
    action.sa_flags = SA_RESTART | SA_SIGINFO
    sigaction(number, &action, nil)
  }

  deinit { end() }
}
