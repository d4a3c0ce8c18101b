internal import AuthKit
internal import CSystem
internal import Glibc

// A signal handler carries no value and may only call what signal-safety(7) lists; so it writes
// the signal's number into this one pipe, which is made once and never closed.
private let wakePipe = makeWakePipe()

// Beside the signal's number, which is 64 at most.
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

/// Turns signals into bytes on a descriptor, for as long as something must be put right before
/// they may take effect: echo on a terminal, a child that runs.
///
/// A mask would not do: threads of GLib and libcurl that exist already would take the signal.
/// Relays may be nested; the inner one ends first.
final class SignalRelay {
  /// The signals by which a user or the system ends a program.
  static let endings = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]

  private let readEnd: Int32
  private var replaced: [(number: Int32, action: sigaction)] = []

  /// Relays `numbers`, except those that this process was started to ignore (nohup, `&` in a
  /// script). SIGCHLD is always relayed: where it is ignored, wait(2) has nothing to tell.
  ///
  /// - Throws: `failed` without a pipe.
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

  /// What poll(2) is to wait for besides the caller's own descriptors.
  var descriptor: Int32 { readEnd }

  /// The next signal that has come, if any.
  func next() -> Int32? { nextWithSender()?.signal }

  /// The next signal that has come, if any, and whether the kernel sent it (a key of the terminal)
  /// and no process.
  func nextWithSender() -> (signal: Int32, isFromKernel: Bool)? {
    var byte: UInt8 = 0
    guard read(readEnd, &byte, 1) == 1 else { return nil }
    return (Int32(byte & ~fromKernel), byte & fromKernel != 0)
  }

  /// Stops this process as SIGTSTP would have; returns when it is continued.
  func stopProcess() {
    var old = sigaction()
    for entry in replaced where entry.number == SIGTSTP { old = entry.action }
    sigaction(SIGTSTP, &old, nil)
    raise(SIGTSTP)
    Self.install(SIGTSTP)
  }

  /// Puts the dispositions back; signals that came and were not looked at take effect now.
  func end() {
    guard !replaced.isEmpty else { return }
    for var entry in replaced { sigaction(entry.number, &entry.action, nil) }
    replaced = []
    var left: [Int32] = []
    while let number = next() { left.append(number) }
    for number in left { raise(number) }
  }

  /// Ends the relay and lets `number` do what it would have done without it. Where that does not
  /// end the process, because an outer relay took it, the failure is for the caller to throw.
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
      // https://man7.org/linux/man-pages/man2/sigaction.2.html: above 0 is the kernel's own.
      if let info, info.pointee.si_code > 0 { byte |= fromKernel }
      if let wakePipe { _ = Glibc.write(wakePipe.writeEnd, &byte, 1) }
      errno = saved
    }
    action.sa_flags = SA_RESTART | SA_SIGINFO
    sigaction(number, &action, nil)
  }

  deinit { end() }
}
