internal import AuthKit
internal import Glibc

/// The user's terminal: `/dev/tty`, whatever the standard streams are.
final class Terminal {
  // The kernel silently cuts a line of more than 4095 bytes (N_TTY_BUF_SIZE).
  private static let longestLine = 4094

  private let descriptor: Int32

  private init(_ descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  /// Whether there is a controlling terminal, even if the streams are redirected.
  static let isThere = open() != nil

  /// Opens the controlling terminal; returns nil when there is none (cron, CI, a service).
  static func open() -> Terminal? {
    // Non-blocking: ^U or ^Z may discard a line between poll(2) and read(2).
    let descriptor = Glibc.open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK)
    return descriptor < 0 ? nil : Terminal(descriptor)
  }

  /// Asks for a secret with the prompt `text: ` and hides the input.
  ///
  /// Echo is restored however the prompt ends. ^Z stops the process, `fg` asks again.
  ///
  /// - Parameter name: the name of the secret, for messages ("password").
  /// - Throws: `inputNeeded` at the end of input (^D), `usage` for an empty or too long line and
  ///   for bytes that a secret may not hold (rule C8), `failed` when echo cannot be turned off.
  func prompt(_ text: String, for name: String) throws(Failure) -> Secret {
    let line = try hiddenLine(DisplayText.oneLine(text) + ": ", name)
    return try SecretText.checked(line, name: name, limit: Self.longestLine)
  }

  /// Asks for a line: `text: `, or `text [standard]: ` when an empty line means `standard`.
  ///
  /// - Parameter onNextLine: for long questions, asks for the answer after `> ` on the next line.
  /// - Throws: `inputNeeded` at the end of input, `usage` for bytes that an answer may not hold.
  func ask(
    _ text: String, default standard: String? = nil, onNextLine: Bool = false
  ) throws(Failure) -> String {
    var question = DisplayText.oneLine(text)
    if let standard { question += " [" + DisplayText.oneLine(standard) + "]" }
    let line = try shownLine(question + (onNextLine ? ":\n> " : ": "), "answer")
    if line.isEmpty, let standard { return standard }
    if line.isEmpty { return "" }
    return try SecretText.checked(line, name: "answer", limit: Self.longestLine)
      .withBytes { String(decoding: $0, as: UTF8.self) }
  }

  /// Asks until the answer is yes or no; an empty line means `standard`.
  ///
  /// - Throws: `inputNeeded` at the end of input.
  func confirm(_ question: String, default standard: Bool) throws(Failure) -> Bool {
    while true {
      let text = DisplayText.oneLine(question) + (standard ? " [Y/n] " : " [y/N] ")
      let answer = try shownLine(text, "answer").withBytes { bytes in
        String(decoding: bytes, as: UTF8.self)
      }
      switch answer.lowercased() {
      case "": return standard
      case "y", "yes": return true
      case "n", "no": return false
      default: continue
      }
    }
  }

  /// Shows lines before a question.
  func show(_ lines: [String]) {
    for line in lines { write(DisplayText.oneLine(line, limit: 2000) + "\n") }
  }

  // MARK: Lines

  private func shownLine(_ question: String, _ name: String) throws(Failure) -> Secret {
    write(question)
    let line = LineBuffer()
    while true {
      _ = wait(for: nil)
      if try readInput(into: line, name) { return line.secret() }
    }
  }

  private func hiddenLine(_ question: String, _ name: String) throws(Failure) -> Secret {
    let relay = try SignalRelay(SignalRelay.endings + [SIGTSTP, SIGCONT])
    defer { relay.end() }
    // Declared after the relay, so that echo is back before a late signal ends the process.
    var original = try hideInput()
    defer { tcsetattr(descriptor, TCSANOW, &original) }
    write(question)
    let line = LineBuffer()
    var stoppedHere = false
    while true {
      guard let signal = wait(for: relay) else {
        if try readInput(into: line, name) { return line.secret() }
        continue
      }
      if signal == SIGCONT && stoppedHere {
        stoppedHere = false
      } else if signal == SIGTSTP || signal == SIGCONT {
        if signal == SIGTSTP {
          tcsetattr(descriptor, TCSANOW, &original)
          relay.stopProcess()
          stoppedHere = true
        }
        line.clear()
        // The shell may have changed the settings meanwhile; authctl changes only the echo.
        let resumed = try hideInput()
        if signal == SIGTSTP { original = resumed }
        // Overwrite the first prompt if the cursor is still on its line.
        write("\r" + question)
      } else {
        tcsetattr(descriptor, TCSANOW, &original)
        write("\n")
        throw relay.reraise(signal)
      }
    }
  }

  /// Turns echo off, except for the newline; returns the previous settings.
  private func hideInput() throws(Failure) -> termios {
    // In the background the settings are the shell's own: wait for `fg`, as tcsetattr(3) does,
    // before reading them. If nothing can stop this process, continue.
    for _ in 0..<3 where tcgetpgrp(descriptor) != getpgrp() { kill(0, SIGTTOU) }
    var settings = termios()
    guard tcgetattr(descriptor, &settings) == 0 else { throw unusable("tcgetattr failed") }
    let original = settings
    settings.c_lflag &= ~tcflag_t(ECHO)
    settings.c_lflag |= tcflag_t(ECHONL)
    guard tcsetattr(descriptor, TCSANOW, &settings) == 0 else {
      throw unusable("echo cannot be turned off")
    }
    return original
  }

  private func unusable(_ reason: String) -> Failure {
    Failure(
      .failed, "cannot ask on this terminal: \(reason) (\(SystemError(errno).reason))",
      hint: "use an option, such as --password-stdin")
  }

  /// Waits for input or a signal; returns the signal, if any.
  private func wait(for relay: SignalRelay?) -> Int32? {
    var waiting = [pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)]
    if let relay {
      waiting.append(pollfd(fd: relay.descriptor, events: Int16(POLLIN), revents: 0))
    }
    poll(&waiting, nfds_t(waiting.count), -1)
    return relay?.next()
  }

  /// Reads the available input; returns true when the line is complete.
  private func readInput(into line: LineBuffer, _ name: String) throws(Failure) -> Bool {
    switch line.read(from: descriptor) {
    case .line: return true
    case .partial: return false
    case .end:
      write("\n")
      throw Failure(.inputNeeded, "no \(name) was given")
    case .error(EINTR), .error(EAGAIN): return false
    case .error(let code):
      throw Failure(.failed, "cannot read from the terminal: \(SystemError(code).reason)")
    }
  }

  private func write(_ text: String) {
    try? Secret(text).withBytes { bytes throws(SystemError) in
      try Descriptor.write(bytes, to: descriptor)
    }
  }
}

/// A line as the user types it, wiped on deinit.
private final class LineBuffer {
  enum Step {
    case line
    case partial
    case end
    case error(Int32)
  }

  private let buffer: UnsafeMutableRawBufferPointer = .allocate(byteCount: 8192, alignment: 1)
  private var used = 0

  /// Calls read(2) once. A line longer than the buffer counts as complete: it is rejected later.
  func read(from descriptor: Int32) -> Step {
    let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[used...])
    let count = Glibc.read(descriptor, rest.baseAddress, rest.count)
    if count < 0 { return .error(errno) }
    if count == 0 { return .end }
    if let end = rest[..<count].firstIndex(of: UInt8(ascii: "\n")) {
      used += end
      return .line
    }
    used += count
    return used == buffer.count ? .line : .partial
  }

  func secret() -> Secret { Secret(copying: UnsafeRawBufferPointer(rebasing: buffer[..<used])) }

  func clear() {
    if let base = buffer.baseAddress { explicit_bzero(base, buffer.count) }
    used = 0
  }

  deinit {
    clear()
    buffer.deallocate()
  }
}
