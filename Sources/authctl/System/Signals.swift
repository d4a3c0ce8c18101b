internal import AuthKit
internal import CSystem
internal import Glibc

// A signal handler captures no values and may only call the functions in signal-safety(7), so it
// writes the signal's number to this pipe, which is created once and never closed.
private let wakePipe = makeWakePipe()

// A flag in the byte of the signal's number, which is at most 64.
private let fromKernel: UInt8 = 0x80

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
      throw Failure(.failed, "cannot open a pipe: \(String(cString: strerror(errno)))")
    }
    readEnd = wakePipe.readEnd
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

  /// Returns the next pending signal, if any.
  func next() -> Int32? { nextWithSender()?.signal }

  /// Returns the next pending signal, if any, and whether the kernel (a key on the terminal), not a
  /// process, sent it.
  func nextWithSender() -> (signal: Int32, isFromKernel: Bool)? {
    var byte: UInt8 = 0
    guard read(readEnd, &byte, 1) == 1 else { return nil }
    return (Int32(byte & ~fromKernel), byte & fromKernel != 0)
  }

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
    while let number = next() { left.append(number) }
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
      // https://man7.org/linux/man-pages/man2/sigaction.2.html: above 0 means from the kernel.
      if let info, info.pointee.si_code > 0 { byte |= fromKernel }
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
