import Glibc
import Synchronization
import Testing

/// A made-up API, defined by its request lines, and profiles for it, shared by the security suites.
enum Scene {
  static let account = "ada@shop.example"

  /// Answers by `"POST /login"` (method and path, without the query); 404 for everything else.
  static func routes(_ table: [String: Recorder.Answer]) -> Recorder.Answering {
    { _, request in table[route(of: request)] ?? .http(404, #"{"message":"no such route"}"#) }
  }

  /// `"GET /me"`: method and path of a raw request.
  static func route(of request: [UInt8]) -> String {
    let line = String(decoding: request.prefix { $0 != 13 && $0 != 10 }, as: UTF8.self)
    let words = line.split(separator: " ", omittingEmptySubsequences: false)
    guard words.count > 1 else { return line }
    return words[0] + " " + (words[1].split(separator: "?").first ?? "")
  }

  /// The response to a sign-in or a renewal.
  static func tokens(
    _ access: String, _ refresh: String? = nil, seconds: Int? = 900, more: JSON = [:]
  ) -> Recorder.Answer {
    guard case .object(var members) = more else { return .close }
    members["access_token"] = .string(access)
    members["refresh_token"] = refresh.map { .string($0) }
    members["expires_in"] = seconds.map { .number(Double($0)) }
    return .http(200, JSON.object(members).text)
  }

  /// A profile with sign-in, renewal, sign-out and whoami below `url`.
  static func profile(
    _ url: String, top: String = "", login: String = "path = \"/login\"",
    refresh: String = "path = \"/refresh\"", logout: String = "path = \"/logout\"",
    request: String = "headers = { Authorization = \"Bearer {access_token}\" }",
    session: String = "", network: String = "", more: String = ""
  ) -> String {
    """
    url = "\(url)"
    \(top)
    [login]
    \(login)
    body = { email = "{username}", password = "{password}" }
    [refresh]
    \(refresh)
    body = { refresh_token = "{refresh_token}" }
    [logout]
    \(logout)
    authorization = "access"
    encoding = "none"
    [whoami]
    path = "/me"
    [session]
    \(session)
    [request]
    \(request)
    [network]
    \(network)
    \(more)
    """
  }

  /// The secrets that the recorder has received in any encoding.
  static func holds(_ recorder: Recorder, _ secrets: [String]) -> [String] {
    let bytes = recorder.bytes
    return secrets.filter { secret in
      Canary.forms(of: secret).contains { find($0, in: bytes) != nil }
    }
  }
}

extension Sandbox {
  /// Writes the profile `name`.
  func profile(_ name: String, _ text: String) throws {
    try write("config/authctl/profiles/\(name).toml", text)
  }

  /// Runs `login -p name -u account` with the password on standard input; it must exit with 0.
  func signIn(
    _ name: String, as account: String = Scene.account, password: String = "a password",
    _ options: String..., sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let run = try await run(
      ["login", "-p", name, "-u", account, "--password-stdin"] + options, stdin: password + "\n")
    try #require(run.status == 0, "\(run.stderr)", sourceLocation: sourceLocation)
  }

  /// The member `access_token` of every stored session, sorted.
  func storedTokens() async throws -> [String] {
    try await items().compactMap { $0.secret }
      .compactMap { try? JSON(parsing: $0)["values"]?["access_token"]?.string }.sorted()
  }
}

/// Blocks a recorder's response until a test opens it.
final class Latch: Sendable {
  private let ends: (reader: Int32, writer: Int32)

  init() throws { ends = try makePipe() }

  deinit {
    close(ends.reader)
    close(ends.writer)
  }

  /// Lets one waiter through.
  func open() { _ = write(ends.writer, [1], 1) }

  /// Waits on the calling thread.
  func wait() {
    var byte: UInt8 = 0
    while read(ends.reader, &byte, 1) < 0 && errno == EINTR {}
  }
}

extension Recorder {
  /// Waits until `count` connections are accepted, by polling this process's own memory.
  func waitForConnections(_ count: Int) async throws {
    try await onThread { [self] in
      let start = monotonicMilliseconds()
      while connections.count < count || connections[count - 1].isEmpty {
        guard monotonicMilliseconds() - start < 20_000 else {
          throw HarnessError("\(url) was not asked \(count) times")
        }
        usleep(1000)
      }
    }
  }
}

/// A value that a test changes and a recorder's responses read.
final class Mutable<Value: Sendable>: Sendable {
  fileprivate let held: Mutex<Value>
  init(_ value: Value) { held = Mutex(value) }
  var value: Value {
    get { held.withLock { $0 } }
    set { held.withLock { $0 = newValue } }
  }
}

extension Mutable<Int> {
  /// Adds one atomically: `value += 1` is two steps, and another thread can run in between.
  @discardableResult func increase() -> Int {
    held.withLock {
      $0 += 1
      return $0
    }
  }
}
