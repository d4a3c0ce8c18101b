import Glibc
import Synchronization

/// The result of a finished child.
struct Run: Sendable {
  /// The program and its arguments.
  var command: [String]
  /// The exit code; 128+N if signal N ended it.
  var status: Int32
  var stdoutBytes: [UInt8]
  var stderrBytes: [UInt8]
  /// Whether a descendant still held stdout or stderr half a second after the child exited.
  var leftOutputOpen: Bool

  /// stdout as UTF-8 text (repaired; use `stdoutBytes` to compare bytes).
  var stdout: String { String(decoding: stdoutBytes, as: UTF8.self) }
  var stderr: String { String(decoding: stderrBytes, as: UTF8.self) }
}

struct HarnessError: Error, CustomStringConvertible {
  var description: String
  init(_ description: String) { self.description = description }
}

/// The settings to start a child with. Nothing else is inherited.
struct Launch: Sendable {
  enum Streams: Sendable {
    /// Three pipes; `closed` lists descriptors (0...2) that are closed in the child instead.
    case pipes(closed: Set<Int32>)
    /// All three are this terminal, which also becomes the controlling terminal.
    case terminal(master: Int32, slave: String)
  }
  var command: [String]
  var environment: [String: String]
  var directory: String
  var streams = Streams.pipes(closed: [])
  /// The first bytes of stdin; nil: stdin is /dev/null.
  var stdin: [UInt8]?
  /// Whether stdin stays open after these bytes, until `Child.closeInput()`.
  var keepInputOpen = false
  /// Seconds after which the child's process group is killed; nil: never.
  var limit: Int? = 60
  /// Whether to sample the command lines of it and its descendants.
  var isSampled = true
}

/// A running child process, with a thread that moves its bytes, samples the command lines of it and
/// its descendants, enforces the time limit and reaps it. Each child leads its own process group
/// (on a terminal: its own session).
final class Child: Sendable {
  /// The state of the child at one moment.
  struct View: Sendable {
    var out: [UInt8] = []
    var err: [UInt8] = []
    /// nil while it runs.
    var status: Int32?
    var timedOut = false
    var leftOutputOpen = false
    /// Everything is read and reaped; the view no longer changes.
    var finished = false
    /// Every command line (with NULs, as in /proc) seen of the child and its descendants.
    var commandLines: Set<[UInt8]> = []
  }
  private struct Waiter {
    var condition: @Sendable (View) -> Bool
    var continuation: CheckedContinuation<View, Never>
  }
  private struct State {
    var view = View()
    var input: [UInt8] = []
    var closeInput = false
    var waiters: [Waiter] = []
    /// A socket; a byte written to it wakes the pump; -1 after the pump has ended.
    var wake: Int32 = -1

    func rouse() { if wake >= 0 { _ = send(wake, [1], 1, Int32(MSG_NOSIGNAL)) } }
  }

  let pid: pid_t
  let command: [String]
  private let limit: Int?
  private let isSampled: Bool
  private let state: Mutex<State>

  /// Starts `launch`.
  /// - Throws: `HarnessError` if the program cannot be started.
  init(_ launch: Launch) throws {
    command = launch.command
    limit = launch.limit
    isSampled = launch.isSampled
    var initial = State()
    initial.input = launch.stdin ?? []
    initial.closeInput = !launch.keepInputOpen
    state = Mutex(initial)

    var input: Int32 = -1
    var outputs: [Int32] = [-1, -1]
    var theirs: [Int32] = []
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer {
      posix_spawn_file_actions_destroy(&actions)
      for descriptor in theirs { close(descriptor) }
    }
    var flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK
    switch launch.streams {
    case .pipes(let closed):
      flags |= POSIX_SPAWN_SETPGROUP
      if launch.stdin == nil && !launch.keepInputOpen {
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
      } else {
        let (reader, writer) = try makePipe()
        _ = fcntl(writer, F_SETFL, O_NONBLOCK)
        input = writer
        theirs.append(reader)
        posix_spawn_file_actions_adddup2(&actions, reader, 0)
      }
      for number in 1...2 {
        let (reader, writer) = try makePipe()
        outputs[number - 1] = reader
        theirs.append(writer)
        posix_spawn_file_actions_adddup2(&actions, writer, Int32(number))
      }
      for descriptor in closed.sorted() {
        posix_spawn_file_actions_addclose(&actions, descriptor)
      }
    case .terminal(let master, let slave):
      // glibc runs file actions after setsid(2): the first terminal opened becomes the controlling
      // one.
      flags |= GNU.spawnSetSID
      posix_spawn_file_actions_addopen(&actions, 0, slave, O_RDWR, 0)
      posix_spawn_file_actions_adddup2(&actions, 0, 1)
      posix_spawn_file_actions_adddup2(&actions, 0, 2)
      input = master
      outputs[0] = master
    }
    _ = GNU.addCloseFrom(&actions, 3)
    _ = GNU.addChangeDirectory(&actions, launch.directory)

    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    sigfillset(&signals)
    posix_spawnattr_setsigdefault(&attributes, &signals)
    posix_spawnattr_setpgroup(&attributes, 0)
    posix_spawnattr_setflags(&attributes, Int16(flags))

    var started: pid_t = 0
    let code = withCStrings(launch.command) { arguments in
      withCStrings(launch.environment.map { "\($0.key)=\($0.value)" }) { environment in
        posix_spawn(&started, launch.command[0], &actions, &attributes, arguments, environment)
      }
    }
    pid = started
    guard code == 0 else {
      for descriptor in Set([input] + outputs) where descriptor >= 0 { close(descriptor) }
      throw HarnessError("cannot start \(launch.command[0]): \(String(cString: strerror(code)))")
    }
    let (inputEnd, outputEnds) = (input, outputs)
    var wakes: [Int32] = [-1, -1]
    let kind = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
    socketpair(AF_UNIX, Int32(kind), 0, &wakes)
    let (wake, alarm) = (wakes[0], wakes[1])
    state.withLock { $0.wake = alarm }
    startThread { self.pump(input: inputEnd, outputs: outputEnds, wake: wake) }
  }

  /// The current state.
  var view: View { state.withLock { $0.view } }

  /// Appends bytes to stdin; on a terminal, types them.
  func write(_ bytes: some Sequence<UInt8>) {
    state.withLock {
      $0.input += bytes
      $0.rouse()
    }
  }

  /// Closes stdin after everything is written.
  func closeInput() {
    state.withLock {
      $0.closeInput = true
      $0.rouse()
    }
  }

  /// Signals only the child, or its whole process group. Does nothing after the child was reaped.
  func signal(_ number: Int32, group: Bool = false) {
    state.withLock { if $0.view.status == nil { _ = kill(group ? -pid : pid, number) } }
  }

  /// Waits until `condition` holds or the child has finished, whichever comes first.
  @discardableResult
  func until(_ condition: @escaping @Sendable (View) -> Bool) async -> View {
    await withCheckedContinuation { continuation in
      let now: View? = state.withLock {
        if $0.view.finished || condition($0.view) { return $0.view }
        $0.waiters.append(Waiter(condition: condition, continuation: continuation))
        return nil
      }
      if let now { continuation.resume(returning: now) }
    }
  }

  /// Waits until stdout (or stderr) contains `text`.
  /// - Throws: `HarnessError` if the child exited without writing it.
  func waitFor(_ text: String, onError: Bool = false) async throws {
    let needle = Array(text.utf8)
    let view = await until { find(needle, in: onError ? $0.err : $0.out) != nil }
    guard find(needle, in: onError ? view.err : view.out) != nil else {
      throw HarnessError("\(brief) ended without writing \(text.debugDescription): \(said(view))")
    }
  }

  /// Waits until the child exits.
  /// - Throws: `HarnessError` if the time limit killed it.
  func finish() async throws -> Run {
    let view = await until { $0.finished }
    guard !view.timedOut else {
      throw HarnessError("\(brief) was killed after \(limit ?? 0) s: \(said(view))")
    }
    return Run(
      command: command, status: view.status ?? -1, stdoutBytes: view.out, stderrBytes: view.err,
      leftOutputOpen: view.leftOutputOpen)
  }

  var brief: String { command.joined(separator: " ") }

  private func said(_ view: View) -> String {
    let out = String(decoding: view.out.suffix(2000), as: UTF8.self)
    let err = String(decoding: view.err.suffix(2000), as: UTF8.self)
    return "status \(view.status ?? -1), stdout \(out.debugDescription), "
      + "stderr \(err.debugDescription)"
  }

  private func pump(input: Int32, outputs: [Int32], wake: Int32) {
    var input = input
    var outputs = outputs
    let started = monotonicMilliseconds()
    var ended: Int?
    while true {
      let now = monotonicMilliseconds()
      var entries = outputs.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      // poll(2) ignores a descriptor of -1.
      entries.append(pollfd(fd: wake, events: Int16(POLLIN), revents: 0))
      let hasInput = input >= 0 && input != outputs[0] && state.withLock { !$0.input.isEmpty }
      if hasInput { entries.append(pollfd(fd: input, events: Int16(POLLOUT), revents: 0)) }
      let isYoung = now - started < 100
      poll(&entries, nfds_t(entries.count), !isSampled ? 20 : isYoung ? 1 : 2)
      var wakes = [UInt8](repeating: 0, count: 64)
      _ = recv(wake, &wakes, wakes.count, 0)
      if isSampled && ended == nil { sampleCommandLines() }
      for (index, entry) in entries.prefix(outputs.count).enumerated()
      where entry.fd >= 0 && entry.revents != 0 {
        if !take(from: entry.fd, intoErr: index == 1) {
          if entry.fd != input { close(entry.fd) }
          outputs[index] = -1
        }
      }
      feed(&input, isTerminal: input >= 0 && input == outputs[0])
      let status: Int32? = state.withLock { state in
        if let limit, now - started > limit * 1000, state.view.status == nil {
          state.view.timedOut = true
          kill(-pid, SIGKILL)
          kill(pid, SIGKILL)
        }
        if state.view.status == nil { state.view.status = reap(pid) }
        return state.view.status
      }
      if status != nil && ended == nil { ended = now }
      let allRead = outputs.allSatisfy { $0 < 0 }
      if let ended, allRead || now - ended > 500 {
        state.withLock {
          $0.view.leftOutputOpen = !allRead
          $0.view.finished = true
          close($0.wake)
          $0.wake = -1
        }
        close(wake)
        for descriptor in Set([input] + outputs) where descriptor >= 0 { close(descriptor) }
        wakeWaiters()
        return
      }
      wakeWaiters()
    }
  }

  /// Returns false at the end of the stream.
  private func take(from descriptor: Int32, intoErr: Bool) -> Bool {
    var buffer = [UInt8](repeating: 0, count: 65536)
    let count = read(descriptor, &buffer, buffer.count)
    guard count > 0 else { return count < 0 && (errno == EINTR || errno == EAGAIN) }
    state.withLock {
      if intoErr {
        $0.view.err += buffer[..<count]
      } else {
        $0.view.out += buffer[..<count]
      }
    }
    return true
  }

  private func feed(_ input: inout Int32, isTerminal: Bool) {
    guard input >= 0 else { return }
    let done: Bool = state.withLock { state in
      if !state.input.isEmpty {
        let size = min(state.input.count, isTerminal ? 1024 : 65536)
        let count = Glibc.write(input, state.input, size)
        if count > 0 { state.input.removeFirst(count) }
        if count < 0 && errno != EAGAIN && errno != EINTR { state.input = [] }
      }
      return state.input.isEmpty && state.closeInput && !isTerminal
    }
    if done {
      close(input)
      input = -1
    }
  }

  private func sampleCommandLines() {
    var found: Set<[UInt8]> = []
    collectCommandLines(of: pid, into: &found, depth: 0)
    state.withLock { $0.view.commandLines.formUnion(found) }
  }

  private func wakeWaiters() {
    let ready: [(Waiter, View)] = state.withLock { state in
      let view = state.view
      let (fulfilled, rest) = (
        state.waiters.filter { view.finished || $0.condition(view) },
        state.waiters.filter { !(view.finished || $0.condition(view)) }
      )
      state.waiters = rest
      return fulfilled.map { ($0, view) }
    }
    for (waiter, view) in ready { waiter.continuation.resume(returning: view) }
  }
}
