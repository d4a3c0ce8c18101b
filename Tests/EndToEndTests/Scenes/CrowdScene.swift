import Glibc
import Synchronization
import Testing

/// A proxy for the recipe's refresh requests to DemoAPI: it records when each request and its
/// response arrive, and can delay or drop it. It handles one at a time, in the order of arrival.
final class Relay: Sendable {
  /// One complete refresh request.
  struct Passage: Sendable {
    /// Seconds since 1970.
    var received: Double
    /// When the server's response arrived; nil: the request was not forwarded.
    var answered: Double?
  }

  private struct State {
    var passages: [Passage] = []
    var doomed: Set<Int> = []
    var after: @Sendable () throws -> Void = {}
  }
  private let listener: Int32
  private let port: UInt16
  private let apiPort: UInt16
  private let latch: Latch?
  private let state = Mutex(State())

  var url: String { "http://127.0.0.1:\(port)" }
  var passages: [Passage] { state.withLock { $0.passages } }

  private init(to api: APIServer, holds: Bool) throws {
    apiPort = api.port
    latch = holds ? try Latch() : nil
    (listener, port) = try Sockets.listen(at: "127.0.0.1", port: 0)
    startThread { self.serve() }
  }

  /// Runs `body` with a shop where ada is signed in and refreshes go through a relay.
  /// - Parameter holds: whether each refresh waits until the test releases it.
  static func withShop(
    holds: Bool = true, _ body: @Sendable (Shop, APIServer, Relay) async throws -> Void
  ) async throws {
    try await Sandbox.with { box in
      let api = try await box.api()
      let relay = try Relay(to: api, holds: holds)
      defer { relay.close() }
      let shop = try Shop(
        box, api.url, without: ["refresh"],
        more: """
          [refresh]
          path = "\(relay.url)/refresh"
          body = { refresh_token = "{refresh_token}" }
          [network]
          sign_in_origins = ["\(relay.url)"]
          """)
      try await shop.signIn()
      try await body(shop, api, relay)
    }
  }

  /// Releases the waiting refresh or the next one.
  func release() { latch?.open() }

  /// Releases all of them.
  func releaseAll() { for _ in 0..<1000 { release() } }

  /// Drops refresh `index`: it never reaches the server.
  func drop(_ index: Int) {
    state.withLock { _ = $0.doomed.insert(index) }
    release()
  }

  /// Runs `work` after the server's response, before the response is forwarded.
  func afterAnswer(_ work: @escaping @Sendable () throws -> Void) {
    state.withLock { $0.after = work }
  }

  /// Waits until `count` refreshes have arrived, by polling this process's own memory.
  func waitForPassages(_ count: Int) async throws {
    try await onThread { [self] in
      let start = monotonicMilliseconds()
      while passages.count < count {
        guard monotonicMilliseconds() - start < 30_000 else {
          throw HarnessError("\(count) refreshes did not come: \(passages.count)")
        }
        usleep(1000)
      }
    }
  }

  /// Returns when everything sent to the relay so far is handled.
  func settle() async throws {
    let port = port
    try await onThread {
      let socket = try Sockets.connect(to: "127.0.0.1", port: port)
      defer { Glibc.close(socket) }
      Sockets.send(Array("GET /settle HTTP/1.1\r\n\r\n".utf8), to: socket)
      guard Sockets.receive(from: socket) != nil else { throw HarnessError("the relay is gone") }
    }
  }

  private func close() {
    releaseAll()
    shutdown(listener, Int32(SHUT_RDWR))
  }

  private func serve() {
    while true {
      let socket = GNU.accept4(listener, nil, nil, Int32(SOCK_CLOEXEC.rawValue))
      if socket < 0 && (errno == EINTR || errno == ECONNABORTED) { continue }
      guard socket >= 0 else { break }
      serve(socket)
      Glibc.close(socket)
    }
    Glibc.close(listener)
  }

  private func serve(_ socket: Int32) {
    guard let request = Self.message(from: socket) else { return }
    if request.starts(with: "GET /settle ".utf8) {
      Sockets.send(Array("HTTP/1.1 204 Settled\r\n\r\n".utf8), to: socket)
      return
    }
    let index = state.withLock {
      $0.passages.append(Passage(received: Shop.now()))
      return $0.passages.count - 1
    }
    latch?.wait()
    guard !state.withLock({ $0.doomed.contains(index) }),
      let server = try? Sockets.connect(to: "127.0.0.1", port: apiPort)
    else { return }
    defer { Glibc.close(server) }
    Sockets.send(request, to: server)
    guard let answer = Self.message(from: server) else { return }
    let after = state.withLock {
      $0.passages[index].answered = Shop.now()
      return $0.after
    }
    do { try after() } catch { Issue.record(error) }
    Sockets.send(answer, to: socket)
  }

  /// A whole request or response; nil if the peer closed before its end.
  private static func message(from socket: Int32) -> [UInt8]? {
    var bytes: [UInt8] = []
    while !HTTPMessage.isWhole(bytes) {
      guard let piece = Sockets.receive(from: socket) else { return nil }
      bytes += piece
    }
    return bytes
  }
}

/// Monitors a sandbox's bus with dbus-monitor; messages are in the order of the bus.
struct BusMonitor {
  /// One line of `dbus-monitor --profile`.
  struct Message: Sendable {
    var isCall: Bool
    /// Seconds since 1970.
    var time: Double
    var serial: Int
    var sender: String
    /// Only in a reply: its receiver and the serial of the call.
    var destination: String
    var replySerial: Int?
    /// Only in a call.
    var member: String
  }
  private let child: Child
  private let box: Sandbox

  /// Sees calls of `members`, and replies if `answers` is set.
  init(_ box: Sandbox, calls members: String..., answers: Bool = false) async throws {
    self.box = box
    var rules = (members + ["GetId"]).map { "type='method_call',member='\($0)'" }
    if answers { rules.append("type='method_return'") }
    child = try box.spawn(
      Launch(
        command: ["/usr/bin/dbus-monitor", "--address", "unix:path=\(box.busSocket)", "--profile"]
          + rules, environment: box.environment(), directory: box.root,
        // What a test waits for may never come.
        limit: 10 * Sandbox.limit, isSampled: false), isDaemon: true)
    // A connection loses its name when it becomes a monitor.
    try await child.waitFor("NameLost\n")
  }

  /// How many bytes have been written so far: a start for `messages(from:)`.
  var position: Int { child.view.out.count }

  /// The messages after a position.
  func messages(from position: Int = 0) -> [Message] { Self.read(child.view.out[position...]) }

  /// Waits until the messages after `position` are enough.
  func wait(
    from position: Int, until isEnough: @escaping @Sendable ([Message]) -> Bool
  ) async throws {
    let view = await child.until { isEnough(Self.read($0.out[position...])) }
    guard view.status == nil else { throw HarnessError("dbus-monitor has ended") }
  }

  /// Waits until `count` different connections have called `member`.
  func waitForCallers(_ count: Int, of member: String, from position: Int) async throws {
    try await wait(from: position) { seen in
      Set(seen.filter { $0.isCall && $0.member == member }.map(\.sender)).count >= count
    }
  }

  /// Returns when the keyring has handled all calls so far and their messages are here.
  func settle() async throws {
    let (socket, before) = (box.busSocket, position)
    try await onThread {
      _ = try SecretService(socket: socket).defaultCollection()
      try DBusConnection(path: socket).call(
        "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus.GetId")
    }
    try await wait(from: before) { seen in seen.contains { $0.member == "GetId" } }
  }

  private static func read(_ bytes: ArraySlice<UInt8>) -> [Message] {
    // The last line may be incomplete.
    let whole = bytes[...(bytes.lastIndex(of: 10) ?? bytes.startIndex - 1)]
    return whole.split(separator: 10).compactMap { line in
      let parts = line.split(separator: 9).map { String(decoding: $0, as: UTF8.self) }
      guard parts.count > 5, ["mc", "mr"].contains(parts[0]), let time = Double(parts[1]) else {
        return nil
      }
      let isCall = parts[0] == "mc"
      return Message(
        isCall: isCall, time: time, serial: Int(parts[2]) ?? 0, sender: parts[3],
        destination: parts[4], replySerial: isCall ? nil : Int(parts[5]),
        member: isCall ? parts.last ?? "" : "")
    }
  }
}

extension Sandbox {
  /// Starts authctl as one of many: it gives way to the tests beside it, and nothing samples its
  /// command line, for which a hundred samplers would use both cores.
  func startUnsampled(
    _ arguments: [String], stdin: String? = nil, env: [String: String?] = [:]
  ) throws -> Child {
    let child = try spawn(
      Launch(
        command: [try Built.authctl()] + arguments, environment: environment(env),
        directory: home, stdin: stdin.map { Array($0.utf8) }, limit: Self.crowdLimit,
        isSampled: false))
    remember(child, mayPrint: [])
    setpriority(__priority_which_t(PRIO_PROCESS.rawValue), id_t(child.pid), 19)
    return child
  }

  /// How many seconds each of many processes may take on one busy processor, where all others
  /// come first.
  static let crowdLimit = 5 * limit

  /// Lets each of many processes wait for the keyring and its lock as long as it may take.
  func allowCrowd() throws {
    let seconds = Self.crowdLimit
    try write(
      "config/authctl/config.toml", "store_timeout = \(seconds)\nlock_timeout = \(seconds)\n")
  }

  /// Unlocks the default collection without a prompt.
  func unlockKeyring() async throws {
    let password = keyringPassword
    try await inKeyring { service, _ in
      try service.unlock(try service.defaultCollection(), password: password)
    }
  }
}

/// The one of `children` that holds a flock(2) lock, according to /proc/locks.
func lockHolder(among children: [Child]) throws -> Child {
  for line in (readFile("/proc/locks") ?? []).split(separator: 10) {
    let words = line.split(separator: 32).map { String(decoding: $0, as: UTF8.self) }
    guard words.count > 4, words[1] == "FLOCK", words[3] == "WRITE" else { continue }
    if let holder = children.first(where: { $0.pid == pid_t(words[4]) }) { return holder }
  }
  throw HarnessError("none of them holds a lock")
}

/// Waits until `child` has opened a lock; returns its device and inode. Needs root.
func openedLock(of child: Child) async throws -> String {
  try await onThread {
    let start = monotonicMilliseconds()
    while true {
      for name in list("/proc/\(child.pid)/fd") {
        let path = "/proc/\(child.pid)/fd/\(name)"
        var (target, info) = ([CChar](repeating: 0, count: 4096), stat())
        let count = readlink(path, &target, target.count)
        let text = target.prefix(max(count, 0)).map { UInt8(bitPattern: $0) }
        if text.suffix(5).elementsEqual(".lock".utf8), stat(path, &info) == 0 {
          return "\(info.st_dev) \(info.st_ino)"
        }
      }
      guard monotonicMilliseconds() - start < 20_000 else {
        throw HarnessError("\(child.brief) has not opened a lock")
      }
      usleep(1000)
    }
  }
}
