import Glibc
import Synchronization
import Testing

/// Stands before DemoAPI for the recipe's refresh alone: sees when one comes and when its answer
/// goes, holds it back, drops it. One at a time, in the order in which they come.
final class Relay: Sendable {
  /// One refresh that came whole.
  struct Passage: Sendable {
    /// Seconds since 1970.
    var received: Double
    /// When the server's answer was here; nil: it was not handed on to the server.
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

  /// A shop with ada signed in, whose refreshes go through a relay.
  /// - Parameter holds: each refresh waits for a word of the test.
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

  /// Lets the refresh through that waits, or the next one.
  func release() { latch?.open() }

  /// Lets all through.
  func releaseAll() { for _ in 0..<1000 { release() } }

  /// The refresh `index` never reaches the server.
  func drop(_ index: Int) {
    state.withLock { _ = $0.doomed.insert(index) }
    release()
  }

  /// `work` is done when the server has answered, before the answer goes on.
  func afterAnswer(_ work: @escaping @Sendable () throws -> Void) {
    state.withLock { $0.after = work }
  }

  /// Waits until `count` refreshes have come; the poll is on this process's own memory.
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

  /// Returns when everything that was sent here before is done with.
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

  /// A whole request or answer; nil when the peer went before its end.
  private static func message(from socket: Int32) -> [UInt8]? {
    var bytes: [UInt8] = []
    while !HTTPMessage.isWhole(bytes) {
      guard let piece = Sockets.receive(from: socket) else { return nil }
      bytes += piece
    }
    return bytes
  }
}

/// What goes over a sandbox's bus, by dbus-monitor, in the order in which the bus passes it on.
struct BusMonitor {
  /// One line of `dbus-monitor --profile`.
  struct Message: Sendable {
    var isCall: Bool
    /// Seconds since 1970.
    var time: Double
    var serial: Int
    var sender: String
    /// Of an answer: to whom, and to which serial.
    var destination: String
    var replySerial: Int?
    /// Of a call.
    var member: String
  }
  private let child: Child
  private let box: Sandbox

  /// Sees calls of `members`, and answers where `answers` is set.
  init(_ box: Sandbox, calls members: String..., answers: Bool = false) async throws {
    self.box = box
    var rules = (members + ["GetId"]).map { "type='method_call',member='\($0)'" }
    if answers { rules.append("type='method_return'") }
    child = try box.spawn(
      Launch(
        command: ["/usr/bin/dbus-monitor", "--address", "unix:path=\(box.busSocket)", "--profile"]
          + rules, environment: box.environment(), directory: box.root, limit: nil,
        isSampled: false), isDaemon: true)
    // The bus takes the name from who becomes a monitor.
    try await child.waitFor("NameLost\n")
  }

  /// How many bytes were written so far: where `messages(from:)` is to begin.
  var position: Int { child.view.out.count }

  /// What was seen from a position on.
  func messages(from position: Int = 0) -> [Message] { Self.read(child.view.out[position...]) }

  /// Waits until what was seen from `position` on is enough.
  func wait(
    from position: Int, until isEnough: @escaping @Sendable ([Message]) -> Bool
  ) async throws {
    let view = await child.until { isEnough(Self.read($0.out[position...])) }
    guard view.status == nil else { throw HarnessError("dbus-monitor has ended") }
  }

  /// Waits until `count` different programs have called `member`.
  func waitForCallers(_ count: Int, of member: String, from position: Int) async throws {
    try await wait(from: position) { seen in
      Set(seen.filter { $0.isCall && $0.member == member }.map(\.sender)).count >= count
    }
  }

  /// Returns when all that the keyring was asked so far is done, and has been seen here.
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
    // The last line may not be whole yet.
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
  /// Starts authctl without sampling its command line: a hundred samplers want both cores.
  func startUnsampled(
    _ arguments: [String], stdin: String? = nil, env: [String: String?] = [:]
  ) throws -> Child {
    let child = try spawn(
      Launch(
        command: [try Built.authctl()] + arguments, environment: environment(env),
        directory: home, stdin: stdin.map { Array($0.utf8) }, isSampled: false))
    remember(child, mayPrint: [])
    return child
  }

  /// Unlocks the default collection without a dialog.
  func unlockKeyring() async throws {
    let (socket, password) = (busSocket, keyringPassword)
    try await onThread {
      let service = try SecretService(socket: socket)
      try service.unlock(try service.defaultCollection(), password: password)
    }
  }
}

/// The one of `children` that holds a lock of flock(2), by /proc/locks.
func lockHolder(among children: [Child]) throws -> Child {
  for line in (readFile("/proc/locks") ?? []).split(separator: 10) {
    let words = line.split(separator: 32).map { String(decoding: $0, as: UTF8.self) }
    guard words.count > 4, words[1] == "FLOCK", words[3] == "WRITE" else { continue }
    if let holder = children.first(where: { $0.pid == pid_t(words[4]) }) { return holder }
  }
  throw HarnessError("none of them holds a lock")
}

/// Waits until `child` has opened a lock; gives its device and inode. Root may look there.
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
