import Glibc

/// The result of a run on a terminal: everything shown, including echoed input.
struct TerminalRun: Sendable {
  /// With CR LF replaced by LF.
  var screen: String
  var bytes: [UInt8]
  var status: Int32
}

/// A program on its own pseudo-terminal, as session leader: /dev/tty works.
final class Terminal: Sendable {
  let child: Child
  /// Open in this process too, so that the settings can be read at any time.
  private let settings: Int32

  init(_ launch: Launch, columns: Int, rows: Int = 24, spawn: (Launch) throws -> Child) throws {
    let master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
    var unlock: Int32 = 0
    var number: UInt32 = 0
    guard master >= 0, ioctl(master, GNU.setTerminalLock, &unlock) == 0,
      ioctl(master, GNU.getTerminalNumber, &number) == 0
    else { throw HarnessError("no pseudo-terminal: errno \(errno)") }
    var size = winsize(
      ws_row: UInt16(rows), ws_col: UInt16(columns), ws_xpixel: 0, ws_ypixel: 0)
    _ = ioctl(master, UInt(TIOCSWINSZ), &size)
    settings = fcntl(master, F_DUPFD_CLOEXEC, 3)
    let slave = "/dev/pts/\(number)"
    var launch = launch
    launch.streams = .terminal(master: master, slave: slave)
    do { child = try spawn(launch) } catch {
      close(settings)
      throw error
    }
  }

  deinit { close(settings) }

  /// Waits until the text appears on the screen after position `start`; returns its end.
  @discardableResult
  func waitFor(_ text: String, from start: Int = 0) async throws -> Int {
    let needle = Array(text.utf8)
    let view = await child.until { find(needle, in: $0.out, from: start) != nil }
    guard let hit = find(needle, in: view.out, from: start) else {
      let shown = String(decoding: view.out, as: UTF8.self).debugDescription
      throw HarnessError(
        "\(child.brief) ended (\(view.status ?? -1)) without showing \(text.debugDescription): "
          + shown)
    }
    return hit + needle.count
  }

  /// Types the text; end a line with "\n" (the terminal translates the Enter key's CR to it).
  func type(_ text: String) { child.write(text.utf8) }
  /// ^C: SIGINT to the foreground process group.
  func interrupt() { type("\u{3}") }
  /// ^Z: SIGTSTP. Stops only a program started from a shell: see `jobControl`.
  func suspend() { type("\u{1A}") }
  /// ^D at the beginning of a line: end of file.
  func endOfFile() { type("\u{4}") }

  /// Whether the terminal echoes input.
  var isEchoOn: Bool {
    var flags = termios()
    guard tcgetattr(settings, &flags) == 0 else { return false }
    return flags.c_lflag & tcflag_t(ECHO) != 0
  }

  /// Waits until echo is on (or off).
  /// - Throws: `HarnessError` if the program exited first.
  func waitForEcho(_ on: Bool) async throws {
    // A terminal does not report changes of its settings; check them with each tick of the pump.
    let view = await child.until { [self] _ in isEchoOn == on }
    guard isEchoOn == on else {
      throw HarnessError("\(child.brief) ended (\(view.status ?? -1)) with echo \(!on)")
    }
  }

  var screen: String { Self.text(child.view.out) }

  /// Waits until the program exits.
  func finish() async throws -> TerminalRun {
    let run = try await child.finish()
    return TerminalRun(
      screen: Self.text(run.stdoutBytes), bytes: run.stdoutBytes, status: run.status)
  }

  private static func text(_ bytes: [UInt8]) -> String {
    var kept: [UInt8] = []
    for (index, byte) in bytes.enumerated() {
      if byte == 13 && index + 1 < bytes.count && bytes[index + 1] == 10 { continue }
      kept.append(byte)
    }
    return String(decoding: kept, as: UTF8.self)
  }
}

extension Sandbox {
  /// Starts authctl (or `program`) on a terminal and returns it for interaction.
  /// - Parameter jobControl: runs it from a shell, as at a prompt: when ^Z stops it, the shell
  ///   shows `[stopped]`, waits for a line (type "\n") and continues it in the foreground.
  func openTerminal(
    _ arguments: [String], columns: Int = 80, env: [String: String?] = [:],
    program: String? = nil, directory: String? = nil, jobControl: Bool = false,
    mayPrint: [String] = [], limit: Int = Sandbox.limit
  ) throws -> Terminal {
    var command = [try program ?? Built.authctl()] + arguments
    if jobControl {
      // 148: 128 + SIGTSTP.
      let script = #"""
        set -m
        "$@"; status=$?
        while [ $status = 148 ]; do
          echo '[stopped]'; read -r _; fg >/dev/null; status=$?
        done
        exit $status
        """#
      command = ["/bin/sh", "-c", script, "sh"] + command
    }
    // Tests compare text; those about colours set NO_COLOR to nil.
    let variables = environment(["TERM": "xterm", "NO_COLOR": "1"].merging(env) { $1 })
    let launch = Launch(
      command: command, environment: variables, directory: directory ?? home, limit: limit)
    let terminal = try Terminal(launch, columns: columns) { try spawn($0) }
    remember(terminal.child, mayPrint: mayPrint)
    return terminal
  }

  /// Runs authctl (or `program`) on a terminal: waits for each text in turn and types the answer.
  ///
  ///     try await box.terminal(["login", "-p", "shop"], answers: [("Password for", "pw\n")])
  func terminal(
    _ arguments: [String], answers: [(waitFor: String, type: String)] = [], columns: Int = 80,
    env: [String: String?] = [:], program: String? = nil, mayPrint: [String] = [],
    limit: Int = Sandbox.limit
  ) async throws -> TerminalRun {
    let terminal = try openTerminal(
      arguments, columns: columns, env: env, program: program, mayPrint: mayPrint, limit: limit)
    var position = 0
    for answer in answers {
      position = try await terminal.waitFor(answer.waitFor, from: position)
      terminal.type(answer.type)
    }
    return try await terminal.finish()
  }
}
