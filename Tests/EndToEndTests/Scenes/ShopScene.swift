import Glibc
import Synchronization
import Testing

/// A profile `shop` with the account ada, shared by the suites about sessions.
struct Shop: Sendable {
  static let ada = "ada@example.com"
  static let password = "correct horse battery"
  static let grace = "grace@example.com"
  static let gracePassword = "s3cret|with|pipes"

  let box: Sandbox
  /// The URL of the API: DemoAPI, or a `Script`.
  let url: String

  /// Writes the profile; `more` is appended (for example `[network]`), and `without` names tables
  /// to omit.
  init(
    _ box: Sandbox, _ url: String, session: String = "", without: Set<String> = [],
    more: String = ""
  ) throws {
    self.box = box
    self.url = url
    var text = """
      url = "\(url)"
      account = "\(Self.ada)"
      [login]
      path = "/login"
      body = { email = "{username}", password = "{password}" }
      [register]
      path = "/register"
      body = { email = "{username}", password = "{password}" }

      """
    let tables = [
      "refresh": "path = \"/refresh\"\nbody = { refresh_token = \"{refresh_token}\" }",
      "logout": "path = \"/logout\"\nencoding = \"none\"", "whoami": "path = \"/me\"",
    ]
    for (name, content) in tables.sorted(by: { $0.key < $1.key }) where !without.contains(name) {
      text += "[\(name)]\n\(content)\n"
    }
    text += "[session]\n\(session)\n\(more)\n"
    try box.write("config/authctl/profiles/shop.toml", text)
    box.canary.watch(Self.password)
  }

  /// Runs `body` with DemoAPI, started with `options`, and the profile; ada is signed in unless
  /// `signsIn` is false. The other parameters are those of the profile.
  static func with(
    _ options: String..., kind: Sandbox.Kind = .keyring, session: String = "",
    without: Set<String> = [], more: String = "", signsIn: Bool = true,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ body: (Shop, APIServer) async throws -> Void
  ) async throws {
    try await Sandbox.with(kind, sourceLocation: sourceLocation) { box in
      let api = try await box.api(options)
      let shop = try Shop(box, api.url, session: session, without: without, more: more)
      if signsIn { try await shop.signIn(sourceLocation: sourceLocation) }
      try await body(shop, api)
    }
  }

  /// Runs `authctl login -p shop --password-stdin …`
  func login(
    _ options: String..., password: String = Shop.password, limit: Int = Sandbox.limit
  ) async throws -> Run {
    try await box.run(
      ["login", "-p", "shop", "--password-stdin"] + options, stdin: password + "\n", limit: limit)
  }

  /// Signs in, and has the canary watch the received tokens.
  func signIn(
    _ account: String = Shop.ada, password: String = Shop.password,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let run = try await login("-u", account, password: password)
    try #require(run.status == 0, "\(run.stderr)", sourceLocation: sourceLocation)
    let values = try await payload(account)["values"]
    for name in ["access_token", "refresh_token"] {
      // A short value may occur elsewhere by chance.
      if let secret = values?[name]?.string, secret.utf8.count > 15 { box.canary.watch(secret) }
    }
  }

  // MARK: Stored sessions

  /// The stored item of `account`.
  func item(_ account: String = Shop.ada) async throws -> KeyringItem {
    let items = try await box.items().filter { $0.attributes["account"] == account }
    return try #require(items.first)
  }

  /// The secret of `account`'s item.
  func payload(_ account: String = Shop.ada) async throws -> JSON {
    try JSON(parsing: try await item(account).secret ?? "")
  }

  func accessToken(_ account: String = Shop.ada) async throws -> String {
    try #require(try await payload(account)["values"]?["access_token"]?.string)
  }

  func refreshToken(_ account: String = Shop.ada) async throws -> String {
    try #require(try await payload(account)["values"]?["refresh_token"]?.string)
  }

  /// Replaces the secret of the stored item.
  func rewrite(_ account: String = Shop.ada, _ change: (String) throws -> String) async throws {
    let item = try await item(account)
    let secret = try change(item.secret ?? "")
    try await clear(account)
    try await box.store(attributes: item.attributes, secret: secret, label: item.label)
  }

  /// Changes members of the stored secret.
  func edit(_ changes: [String: JSON], of account: String = Shop.ada) async throws {
    try await rewrite(account) { text in
      guard case .object(let members) = try JSON(parsing: text) else { return text }
      return JSON.object(members.merging(changes) { $1 }).text
    }
  }

  /// Changes the stored session so that its access token expired `ago` seconds ago (or expires in
  /// `-ago`), with this lifetime.
  func age(_ account: String = Shop.ada, ended ago: Double, lifetime: Double = 900) async throws {
    let now = Shop.now()
    try await edit(
      [
        "expires_at": .number(now - ago), "lifetime": .number(lifetime),
        "obtained_at": .number(now - ago - lifetime),
      ], of: account)
  }

  /// Deletes the stored item.
  func clear(_ account: String = Shop.ada) async throws {
    let run = try await box.run(
      "clear", "profile", "shop", "account", account, program: "/usr/bin/secret-tool")
    try #require(run.status == 0, "\(run.stderr)")
  }

  /// Seconds since 1970.
  static func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  /// A time in the format of the `Date` header (RFC 9110), or in another strftime(3) format.
  static func date(_ seconds: Double, _ format: String = "%a, %d %b %Y %H:%M:%S GMT") -> String {
    var (time, parts) = (time_t(seconds), tm())
    gmtime_r(&time, &parts)
    var buffer = [CChar](repeating: 0, count: 64)
    let count = strftime(&buffer, buffer.count, format, &parts)
    return String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  // MARK: Expected output

  static let refused = "authctl: shop refused this name and password"
  static let loginHint = "hint: authctl login -p shop -u \(ada)\n"
  /// The output of `get /me`, which shows that the renewed session works.
  static let me = #"{"id":"1","email":"ada@example.com","name":"Ada Lovelace"}"#
}

/// A recorder's responses by route, which a test can change: `script["POST /login"] = .http(500)`.
final class Script: Sendable {
  private let answers = Mutex<[String: Recorder.Answer]>([:])

  subscript(route: String) -> Recorder.Answer {
    get { answers.withLock { $0[route] ?? .http(404, "{}") } }
    set { answers.withLock { $0[route] = newValue } }
  }

  /// For `Sandbox.recorder(answering:)`.
  var answering: Recorder.Answering {
    { _, request in
      let line = request.prefix { $0 != 13 }.split(separator: 32)
      let path = line.dropFirst().first?.prefix { $0 != UInt8(ascii: "?") } ?? []
      return self[String(decoding: (line.first ?? []) + [32] + path, as: UTF8.self)]
    }
  }

  /// The response to a successful sign-in.
  static func tokens(_ more: JSON = ["expires_in": 900]) -> Recorder.Answer {
    guard case .object(let members) = more else { return .close }
    let body = members.merging(["access_token": "access-1", "refresh_token": "refresh-1"]) { a, _ in
      a
    }
    return .http(200, JSON.object(body).text)
  }
}

extension APIServer {
  /// Waits until a route was requested this often.
  func waitFor(_ route: String, times: Int = 1) async throws {
    let start = monotonicMilliseconds()
    while try await count(route) < times {
      guard monotonicMilliseconds() - start < 30_000 else {
        throw HarnessError("\(route) was not asked for \(times) times")
      }
      try await Task.sleep(for: .milliseconds(5))
    }
  }
}

extension Run {
  /// Whether stderr has the form of design 2: one line of authctl's own, then the server's lines,
  /// then the hint, without control characters.
  var hasErrorForm: Bool {
    var rest = stderr.split(separator: "\n", omittingEmptySubsequences: false)[...]
    guard rest.popLast() == "", rest.popFirst()?.hasPrefix("authctl: ") == true else {
      return false
    }
    while rest.first?.hasPrefix("server: ") == true { rest.removeFirst() }
    if rest.first?.hasPrefix("hint: ") == true { rest.removeFirst() }
    return rest.isEmpty
      && stderr.unicodeScalars.allSatisfy {
        $0 == "\n" || $0.properties.generalCategory != .control
      }
  }
}
