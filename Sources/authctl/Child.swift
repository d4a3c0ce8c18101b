internal import AuthKit
internal import Glibc

/// The program that `exec` runs, in this process's group, so that the terminal's signals reach it.
struct Child {
  /// What `env` and `docker run` end with when there is nothing to run (contract section 3).
  enum CannotStart: Error {
    case notExecutable(String)
    case notFound(String)
  }

  private let words: [String]
  private let environment: [String: String]
  private let before: Hardening.Before?

  /// - Parameters:
  ///   - words: the program and its arguments.
  ///   - before: what it is to find as it was when this process began.
  init(_ words: [String], environment: [String: String], before: Hardening.Before?) {
    self.words = words
    self.environment = environment
    self.before = before
  }

  /// Replaces this process by the program; returns only when that cannot be done.
  ///
  /// https://man7.org/linux/man-pages/man2/execve.2.html
  func replaceThisProcess() -> CannotStart {
    var last: Int32 = ENOENT
    before?.restore()
    for path in candidates {
      withCStrings { arguments, variables in _ = execve(path, arguments, variables) }
      if errno != ENOENT, errno != ENOTDIR { last = errno }
    }
    before?.hardenAgain()
    return Self.failure(last, words[0])
  }

  /// Starts the program beside this process.
  func start() throws(CannotStart) -> pid_t {
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    // This process ignores what the program is to find as its caller left it.
    if before?.ignoredPipes != true { sigaddset(&signals, SIGPIPE) }
    posix_spawnattr_setsigdefault(&attributes, &signals)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
    var child: pid_t = 0
    var last: Int32 = ENOENT
    before?.restoreCoreLimit()
    defer { before?.hardenAgain() }
    for path in candidates {
      var code: Int32 = 0
      withCStrings { arguments, variables in
        code = posix_spawn(&child, path, nil, &attributes, arguments, variables)
      }
      if code == 0 { return child }
      if code != ENOENT, code != ENOTDIR { last = code }
    }
    throw Self.failure(last, words[0])
  }

  private static func failure(_ code: Int32, _ name: String) -> CannotStart {
    code == ENOENT ? .notFound(name) : .notExecutable(name)
  }

  /// Where the program may be, as execvp(3) looks for it.
  private var candidates: [String] {
    let name = words[0]
    if name.utf8.contains(UInt8(ascii: "/")) { return [name] }
    let folders = environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin"
    return folders.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
      .map { ($0.isEmpty ? "." : String(decoding: $0, as: UTF8.self)) + "/" + name }
  }

  private func withCStrings(
    _ body: ([UnsafeMutablePointer<CChar>?], [UnsafeMutablePointer<CChar>?]) -> Void
  ) {
    let arguments = words.map { (word: String) in strdup(word) } + [nil]
    let variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
    body(arguments, variables)
    for text in arguments { free(text) }
    for text in variables {
      if let text { explicit_bzero(text, strlen(text)) }
      free(text)
    }
  }

  // MARK: - Waiting

  /// Waits until `child` has ended, passing signals on to it.
  ///
  /// - Parameter pause: called when nothing has happened; gives the milliseconds to wait at most.
  /// - Returns: its exit status, or 128 and the signal that ended it.
  static func wait(for child: pid_t, _ relay: SignalRelay, pause: () -> Int32) -> Int32 {
    while true {
      var waiting = pollfd(fd: relay.descriptor, events: Int16(POLLIN), revents: 0)
      poll(&waiting, 1, pause())
      while let signal = relay.next() {
        if signal != SIGCHLD {
          if !isFromTerminal(signal) { kill(child, signal) }
          continue
        }
        var status: Int32 = 0
        guard waitpid(child, &status, WNOHANG) == child else { continue }
        // https://man7.org/linux/man-pages/man2/wait.2.html
        let number = status & 0x7F
        return number == 0 ? (status >> 8) & 0xFF : 128 + number
      }
    }
  }

  /// ^C and ^\ reach the program by themselves: it is of the terminal's foreground group too.
  private static func isFromTerminal(_ signal: Int32) -> Bool {
    (signal == SIGINT || signal == SIGQUIT) && Terminal.open()?.isInForeground ?? false
  }
}
