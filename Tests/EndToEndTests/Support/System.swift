import Glibc

/// Runs `body` on a new thread with all signals blocked: blocking calls must not occupy the
/// cooperative pool, and SIGPIPE must not end the test process.
func startThread(_ body: @escaping @Sendable () -> Void) {
  final class Box: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }
  let box = Unmanaged.passRetained(Box(body))
  var thread = pthread_t()
  var attributes = pthread_attr_t()
  pthread_attr_init(&attributes)
  pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
  defer { pthread_attr_destroy(&attributes) }
  let code = pthread_create(
    &thread, &attributes,
    { context in
      var all = sigset_t()
      sigfillset(&all)
      pthread_sigmask(SIG_BLOCK, &all, nil)
      if let context { Unmanaged<Box>.fromOpaque(context).takeRetainedValue().body() }
      return nil
    }, box.toOpaque())
  precondition(code == 0, "pthread_create: \(code)")
}

/// Runs `body` on a new thread and returns its result.
func onThread<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
  try await withCheckedThrowingContinuation { continuation in
    startThread { continuation.resume(with: Result(catching: body)) }
  }
}

func makePipe() throws -> (reader: Int32, writer: Int32) {
  var ends: [Int32] = [-1, -1]
  guard GNU.pipe2(&ends, O_CLOEXEC) == 0 else { throw HarnessError("pipe2: errno \(errno)") }
  return (ends[0], ends[1])
}

func monotonicMilliseconds() -> Int {
  var now = timespec()
  clock_gettime(CLOCK_MONOTONIC, &now)
  return now.tv_sec * 1000 + now.tv_nsec / 1_000_000
}

/// Reaps a child and returns its exit code; nil while it runs.
func reap(_ pid: pid_t) -> Int32? {
  var status: Int32 = 0
  guard waitpid(pid, &status, WNOHANG) == pid else { return nil }
  let signal = status & 0x7f
  return signal == 0 ? (status >> 8) & 0xff : 128 + signal
}

func withCStrings<R>(
  _ strings: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> R
) -> R {
  let pointers = strings.map { strdup($0) } + [nil]
  defer { for pointer in pointers { free(pointer) } }
  return pointers.withUnsafeBufferPointer { buffer in
    guard let base = buffer.baseAddress else { preconditionFailure("never empty") }
    return body(base)
  }
}

/// The whole file; nil if it cannot be read. Works for /proc too.
func readFile(_ path: String) -> [UInt8]? {
  let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
  guard descriptor >= 0 else { return nil }
  defer { close(descriptor) }
  var bytes: [UInt8] = []
  var buffer = [UInt8](repeating: 0, count: 16384)
  while true {
    let count = read(descriptor, &buffer, buffer.count)
    if count < 0 && errno == EINTR { continue }
    guard count >= 0 else { return nil }
    if count == 0 { return bytes }
    bytes += buffer[..<count]
  }
}

/// The names in a folder, sorted, without "." and "..".
func list(_ folder: String) -> [String] {
  guard let stream = opendir(folder) else { return [] }
  defer { closedir(stream) }
  var names: [String] = []
  while let entry = readdir(stream) {
    let name = withUnsafePointer(to: &entry.pointee.d_name) {
      $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
    }
    if name != "." && name != ".." { names.append(name) }
  }
  return names.sorted()
}

/// Adds /proc/PID/cmdline of `pid` and of all its descendants.
func collectCommandLines(of pid: pid_t, into found: inout Set<[UInt8]>, depth: Int) {
  guard depth < 16 else { return }
  if let line = readFile("/proc/\(pid)/cmdline"), !line.isEmpty { found.insert(line) }
  for thread in list("/proc/\(pid)/task") {
    guard let children = readFile("/proc/\(pid)/task/\(thread)/children") else { continue }
    for child in children.split(separator: UInt8(ascii: " ")) {
      if let number = pid_t(String(decoding: child, as: UTF8.self)) {
        collectCommandLines(of: number, into: &found, depth: depth + 1)
      }
    }
  }
}

/// The first position of `needle` in `hay`, from `start` on.
func find(_ needle: [UInt8], in hay: [UInt8], from start: Int = 0) -> Int? {
  guard !needle.isEmpty else { return start }
  guard start >= 0, hay.count - start >= needle.count else { return nil }
  return hay.withUnsafeBytes { hay in
    needle.withUnsafeBytes { needle in
      guard let base = hay.baseAddress, let wanted = needle.baseAddress else { return nil }
      let last = hay.count - needle.count
      var at = start
      while at <= last, let hit = memchr(base + at, Int32(needle[0]), last - at + 1) {
        at = UnsafeRawPointer(hit) - base
        if memcmp(base + at, wanted, needle.count) == 0 { return at }
        at += 1
      }
      return nil
    }
  }
}

/// glibc functions that its headers declare only with _GNU_SOURCE, and so not for Swift.
enum GNU {
  typealias Actions = UnsafeMutablePointer<posix_spawn_file_actions_t>
  static let pipe2: @Sendable @convention(c) (UnsafeMutablePointer<Int32>, Int32) -> Int32 =
    load("pipe2")
  static let accept4:
    @Sendable @convention(c) (Int32, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?, Int32) ->
      Int32 = load("accept4")
  static let addCloseFrom: @Sendable @convention(c) (Actions, Int32) -> Int32 =
    load("posix_spawn_file_actions_addclosefrom_np")
  static let addChangeDirectory: @Sendable @convention(c) (Actions, UnsafePointer<CChar>) -> Int32 =
    load("posix_spawn_file_actions_addchdir_np")
  /// POSIX_SPAWN_SETSID of <spawn.h>.
  static let spawnSetSID: Int32 = 0x80
  /// TIOCSPTLCK and TIOCGPTN of <asm-generic/ioctls.h>.
  static let setTerminalLock: UInt = 0x4004_5431
  static let getTerminalNumber: UInt = 0x8004_5430

  private static func load<F>(_ name: String) -> F {
    guard let symbol = dlsym(nil, name) else { preconditionFailure("glibc has no \(name)") }
    return unsafeBitCast(symbol, to: F.self)
  }
}
