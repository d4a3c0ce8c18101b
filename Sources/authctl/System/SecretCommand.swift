internal import AuthKit
internal import CSystem
internal import Glibc

/// A `--…-command`: a command of the user's that prints a secret (rule A11).
struct SecretCommand {
  private static let mostOutput = 65536
  private static let mostComplaint = 2048

  private let command: String
  private let option: String
  private let environment: [String: String]
  private let secondsAllowed: Int

  /// - Parameters:
  ///   - command: for `/bin/sh -c`.
  ///   - option: the option that gave it, for messages.
  ///   - environment: this process's; the command gets it without secrets.
  ///   - secondsAllowed: the time after which the command and its children are killed.
  init(
    _ command: String, option: String, environment: [String: String], secondsAllowed: Int = 60
  ) {
    self.command = command
    self.option = option
    self.environment = environment.withoutSecrets
    self.secondsAllowed = secondsAllowed
  }

  /// Runs `command` and returns the first line that it prints, as a secret.
  ///
  /// - Throws: as `run`; `usage` for a line that cannot be a secret.
  static func first(
    _ kind: SecretKind, of command: String, option: String, environment: [String: String],
    secondsAllowed: Int = 60
  ) throws(Failure) -> Secret {
    let output = try SecretCommand(
      command, option: option, environment: environment, secondsAllowed: secondsAllowed
    ).run()
    return try output.withBytes { bytes throws(Failure) in
      let line = SecretText.firstLine(bytes)
      return try SecretText.checked(line, name: kind.name, from: option, limit: kind.limit)
    }
  }

  /// Runs the command and returns everything that it printed.
  ///
  /// A signal that ends this process is passed on to the command, which runs in its own process
  /// group and gets no signals from the terminal.
  ///
  /// - Throws: `inputNeeded`, with the command's standard error, when it failed, was killed, timed
  ///   out or printed more than 64 KiB; `failed` when it cannot be started.
  func run() throws(Failure) -> Secret {
    let relay = try SignalRelay(SignalRelay.endings + [SIGTSTP, SIGCHLD])
    defer {
      relay.end()
      // For an outer relay: this one may have consumed the SIGCHLD of its child.
      raise(SIGCHLD)
    }
    let output = try Pipe()
    let complaint = try Pipe()
    let child = try start(output, complaint)
    output.closeWriteEnd()
    complaint.closeWriteEnd()
    let status: Int32
    do throws(Failure) {
      status = try wait(for: child, output, complaint, relay)
    } catch {
      kill(-child, SIGKILL)
      _ = Self.reap(child, options: 0)
      throw error
    }
    guard status == 0 else { throw failure(Self.words(for: status), complaint) }
    return output.secret()
  }

  // MARK: Waiting

  private func wait(
    for child: pid_t, _ output: Pipe, _ complaint: Pipe, _ relay: SignalRelay
  ) throws(Failure) -> Int32 {
    var deadline = Self.now() + secondsAllowed * 1000
    while true {
      output.read(atMost: Self.mostOutput + 1)
      complaint.read(atMost: Self.mostComplaint)
      if output.count > Self.mostOutput { throw failure("printed more than 64 KiB", complaint) }
      switch relay.next() {
      case nil: break
      case SIGCHLD:
        guard let status = Self.reap(child, options: WNOHANG) else { continue }
        // Read the rest of its output now; descendants may hold the pipe open for long.
        output.read(atMost: Self.mostOutput + 1)
        complaint.read(atMost: Self.mostComplaint)
        if output.count > Self.mostOutput { throw failure("printed more than 64 KiB", complaint) }
        return status
      case SIGTSTP:
        let before = Self.now()
        kill(-child, SIGSTOP)
        relay.stopProcess()
        kill(-child, SIGCONT)
        deadline += Self.now() - before
      case let signal?:
        kill(-child, signal)
        kill(-child, SIGCONT)
        throw relay.reraise(signal)
      }
      let left = deadline - Self.now()
      guard left > 0 else { throw failure("took longer than \(secondsAllowed) s", complaint) }
      var waiting = [relay.descriptor, output.readEnd, complaint.readEnd].map {
        pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
      }
      poll(&waiting, nfds_t(waiting.count), Int32(clamping: left))
    }
  }

  private func failure(_ what: String, _ complaint: Pipe) -> Failure {
    complaint.read(atMost: Self.mostComplaint)
    let words = DisplayText.server([complaint.text]).first.map { ": " + $0 } ?? ""
    return Failure(.inputNeeded, "\(option): the command \(what)\(words)")
  }

  /// Returns the wait status, or nil while the child runs.
  private static func reap(_ child: pid_t, options: Int32) -> Int32? {
    var status: Int32 = 0
    var result: pid_t
    repeat { result = waitpid(child, &status, options) } while result < 0 && errno == EINTR
    // Something else reaped the child: its status is unknown and counts as a failure.
    return result == child ? status : result < 0 ? authctl_wait_status(1) : nil
  }

  private static func words(for status: Int32) -> String {
    let signal = authctl_ending_signal(status)
    return signal == 0
      ? "exited with status \(authctl_exit_status(status))" : "was killed by signal \(signal)"
  }

  /// Returns milliseconds on a clock that nobody sets.
  private static func now() -> Int { Int(MonotonicClock.now() * 1000) }

  // MARK: Starting

  private func start(_ output: Pipe, _ complaint: Pipe) throws(Failure) -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, output.writeEnd, STDOUT_FILENO)
    posix_spawn_file_actions_adddup2(&actions, complaint.writeEnd, STDERR_FILENO)
    // The command must not get open connections of libcurl, nor descriptors that this process
    // inherited. Without /proc, close those below the usual limit: glibc ignores closed ones.
    for descriptor in Child.openDescriptors() ?? Set(3..<1024) where descriptor > STDERR_FILENO {
      posix_spawn_file_actions_addclose(&actions, descriptor)
    }

    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    sigaddset(&signals, SIGPIPE)
    posix_spawnattr_setsigdefault(&attributes, &signals)
    posix_spawnattr_setpgroup(&attributes, 0)
    posix_spawnattr_setflags(
      &attributes,
      Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

    let words = ["sh", "-c", command]
    var arguments: [UnsafeMutablePointer<CChar>?] = words.map { (word: String) in strdup(word) }
    var variables: [UnsafeMutablePointer<CChar>?] = environment.map(Child.variable)
    arguments.append(nil)
    variables.append(nil)
    defer { for text in arguments + variables { free(text) } }
    var child: pid_t = 0
    let code = posix_spawn(&child, "/bin/sh", &actions, &attributes, arguments, variables)
    guard code == 0 else {
      throw Failure(.failed, "\(option): cannot start /bin/sh: \(SystemError(code).reason)")
    }
    return child
  }
}

/// A pipe from a child and the bytes read from it, which are wiped on deinit.
private final class Pipe {
  /// -1 after the end of input: poll(2) ignores it.
  private(set) var readEnd: Int32
  private(set) var writeEnd: Int32
  private var builder = SecretBuilder(capacity: 4096)

  init() throws(Failure) {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else {
      throw Failure(.failed, "cannot open a pipe: \(SystemError(errno).reason)")
    }
    readEnd = ends[0]
    writeEnd = ends[1]
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    _ = fcntl(readEnd, F_SETFL, O_NONBLOCK)
  }

  var count: Int { builder.count }
  var text: String { builder.secret().withBytes { DisplayText.repaired($0) } }
  func secret() -> Secret { builder.secret() }

  func closeWriteEnd() {
    close(writeEnd)
    writeEnd = -1
  }

  /// Reads the available bytes; discards those beyond `limit` in all.
  func read(atMost limit: Int) {
    guard readEnd >= 0 else { return }
    withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { chunk in
      // Limit the rounds, for a child that writes without end.
      for _ in 0..<64 {
        let count = Glibc.read(readEnd, chunk.baseAddress, chunk.count)
        if count > 0 {
          let room = max(0, limit - builder.count)
          builder.append(UnsafeRawBufferPointer(rebasing: chunk[..<min(count, room)]))
        } else if count == 0 || (errno != EAGAIN && errno != EINTR) {
          close(readEnd)
          readEnd = -1
          break
        } else if errno == EAGAIN {
          break
        }
      }
      if let base = chunk.baseAddress { explicit_bzero(base, chunk.count) }
    }
  }

  deinit {
    if readEnd >= 0 { close(readEnd) }
    if writeEnd >= 0 { close(writeEnd) }
  }
}
