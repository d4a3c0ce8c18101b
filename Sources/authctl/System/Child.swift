internal import AuthKit
internal import CSystem
internal import Glibc

/// The program that `exec` runs, in this process's group, so that the terminal's signals reach it.
struct Child {
  /// The two failures to start that `env` and `docker run` tell apart by exit code (design 3).
  enum CannotStart: Error {
    case notExecutable(String)
    case notFound(String)
  }

  private let words: [String]
  private let environment: [String: String]
  private let before: Hardening.Before?
  private let inherited: Set<Int32>?

  /// - Parameters:
  ///   - words: the program and its arguments.
  ///   - before: the state at the start of this process, which is restored for the program.
  ///   - inherited: the descriptors that it may inherit: `openDescriptors()` from before libraries
  ///     opened any, because they do not close theirs on execve. nil: unknown.
  init(
    _ words: [String], environment: [String: String], before: Hardening.Before?,
    inherited: Set<Int32>?
  ) {
    self.inherited = inherited
    self.words = words
    self.environment = environment
    self.before = before
  }

  /// Replaces this process with the program; returns only on failure.
  ///
  /// https://man7.org/linux/man-pages/man2/execve.2.html
  func replaceThisProcess() -> CannotStart {
    var last: Int32 = ENOENT
    keepOwnDescriptors()
    before?.restore()
    for path in candidates {
      withCStrings { arguments, variables in _ = execve(path, arguments, variables) }
      if errno != ENOENT, errno != ENOTDIR { last = errno }
    }
    before?.hardenAgain()
    return Self.failure(last, words[0])
  }

  /// Starts the program as a child of this process.
  ///
  /// - Parameter detached: out of reach of the terminal's signals, with nothing to read and nowhere
  ///   to write: for a program that the user does not wait for.
  func start(detached: Bool = false) throws(CannotStart) -> pid_t {
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    // This process ignores SIGPIPE; the program gets the caller's disposition.
    if before?.ignoredPipes != true { sigaddset(&signals, SIGPIPE) }
    posix_spawnattr_setsigdefault(&attributes, &signals)
    let group = detached ? POSIX_SPAWN_SETPGROUP : 0
    posix_spawnattr_setflags(
      &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | group))
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for descriptor in 0...2 where detached {
      posix_spawn_file_actions_addopen(
        &actions, Int32(descriptor), "/dev/null", descriptor == 0 ? O_RDONLY : O_WRONLY, 0)
    }
    var child: pid_t = 0
    var last: Int32 = ENOENT
    keepOwnDescriptors()
    before?.restoreCoreLimit()
    defer { before?.hardenAgain() }
    for path in candidates {
      var code: Int32 = 0
      withCStrings { arguments, variables in
        code = posix_spawn(&child, path, &actions, &attributes, arguments, variables)
      }
      if code == 0 { return child }
      if code != ENOENT, code != ENOTDIR { last = code }
    }
    throw Self.failure(last, words[0])
  }

  // MARK: - Descriptors

  /// Returns the open descriptors of this process; nil without /proc.
  static func openDescriptors() -> Set<Int32>? {
    guard let stream = opendir("/proc/self/fd") else { return nil }
    defer { closedir(stream) }
    var found: Set<Int32> = []
    while let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if let number = Int32(name), number != dirfd(stream) { found.insert(number) }
    }
    return found
  }

  /// Sets close-on-exec on descriptors opened since: libcurl leaves its sockets inheritable.
  private func keepOwnDescriptors() {
    guard let inherited else { return }
    for descriptor in Self.openDescriptors() ?? [] where !inherited.contains(descriptor) {
      _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }
  }

  private static func failure(_ code: Int32, _ name: String) -> CannotStart {
    code == ENOENT ? .notFound(name) : .notExecutable(name)
  }

  /// The paths at which the program may be, as execvp(3) searches for it.
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
    let arguments = words.indices.map(argument) + [nil]
    let variables = environment.map(Self.variable) + [nil]
    body(arguments, variables)
    for text in arguments { free(text) }
    for text in variables {
      if let text { explicit_bzero(text, strlen(text)) }
      free(text)
    }
  }

  /// Returns the original bytes of an argument: Swift's copy has invalid UTF-8 repaired.
  private func argument(_ index: Int) -> UnsafeMutablePointer<CChar>? {
    let all = Arguments.raw
    let place = all.count - words.count + index
    if place >= 0, String(cString: all[place]).utf8.elementsEqual(words[index].utf8) {
      return strdup(all[place])
    }
    return strdup(words[index])
  }

  /// Returns `NAME=VALUE`; an unchanged inherited value keeps its original bytes.
  static func variable(
    _ name: String, _ value: String
  ) -> UnsafeMutablePointer<CChar>? {
    guard let given = Hardening.inheritedValue(name), String(validatingCString: given) == nil,
      String(cString: given).utf8.elementsEqual(value.utf8)
    else { return strdup("\(name)=\(value)") }
    let bytes = UnsafeBufferPointer(start: given, count: strlen(given) + 1)
    return strdup("\(name)=".utf8.map { CChar(bitPattern: $0) } + bytes)
  }

  // MARK: - Waiting

  /// Whether `child` has ended; it is not reaped yet.
  private static func hasEnded(_ child: pid_t) -> Bool {
    var info = siginfo_t()
    while waitid(P_PID, id_t(child), &info, WEXITED | WNOHANG | WNOWAIT) == -1 {
      guard errno == EINTR else { return true }
    }
    return info._sifields._sigchld.si_pid == child
  }

  /// Waits until `child` exits, and passes signals on to it, also while `pause` takes long.
  ///
  /// - Parameter pause: called before each wait; returns the maximum wait in milliseconds.
  /// - Returns: its exit status, or 128 plus the number of the signal that ended it.
  static func wait(for child: pid_t, _ relay: SignalRelay, pause: () -> Int32) -> Int32 {
    SignalRelay.passOn(to: child)
    while true {
      let limit = pause()
      // What waited for another program during the pause may have taken this one's SIGCHLD.
      if !hasEnded(child) {
        var waiting = pollfd(fd: relay.descriptor, events: Int16(POLLIN), revents: 0)
        poll(&waiting, 1, limit)
      }
      while let (signal, isForProgram) = relay.nextOfAll() {
        if isForProgram { kill(child, signal) }
      }
      guard hasEnded(child) else { continue }
      // Its number may be another process's as soon as it is reaped.
      SignalRelay.passOn(to: 0)
      var status: Int32 = 0
      while waitpid(child, &status, 0) == -1, errno == EINTR {}
      let number = authctl_ending_signal(status)
      // Signals that arrive with the child's exit must not end this process: return its status.
      while relay.nextOfAll() != nil {}
      return number == 0 ? authctl_exit_status(status) : 128 + number
    }
  }
}
