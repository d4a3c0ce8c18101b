import Glibc
import Synchronization
import Testing

/// authctl with a profile `shop` whose API an authorization server signs in to: DemoAPI is both.
struct OAuthShop: Sendable {
  static let ada = "ada@example.com"
  static let secret = "s3cr:t &+%"

  let box: Sandbox
  let api: APIServer
  let variables: [String: String?]

  /// Runs `body` with DemoAPI, started with `options`. `oauth` has further lines of `[oauth]`, or
  /// replaces them all where it names an issuer or an endpoint itself.
  static func with(
    _ options: String..., oauth: String = "client_id = \"demo-public\"\nscope = \"openid read\"",
    more: String = "", settings: JSON = ["auto_approve": .string(ada)],
    sourceLocation: SourceLocation = #_sourceLocation,
    _ body: (OAuthShop) async throws -> Void
  ) async throws {
    try await Sandbox.with(.none, sourceLocation: sourceLocation) { box in
      let key = try box.write("key", String(repeating: "0f", count: 32) + "\n")
      let api = try await box.api(options)
      let shop = OAuthShop(
        box: box, api: api,
        variables: ["AUTHCTL_STORE": "file", "AUTHCTL_STORE_KEY_FILE": key])
      try shop.profile(oauth, more: more)
      try shop.browser()
      try await shop.set(settings)
      try await body(shop)
    }
  }

  /// Below the ports that Linux gives to connections: a port that a first sign-in was given could be
  /// another program's at the second, which then registers anew.
  private static let ports = Mutex(Int.random(in: 20_000..<30_000))

  /// Returns the setting of a port for the redirect that no other test uses.
  static func ownPort() -> String {
    ports.withLock { port in
      port += 1
      return "\nredirect_port = \(port)"
    }
  }

  func profile(_ oauth: String, more: String = "", url: String? = nil) throws {
    let issuer =
      oauth.contains("_endpoint") || oauth.contains("issuer")
      ? "" : "issuer = \"\(api.url)\"\n"
    try box.profile(
      "shop", "url = \"\(url ?? api.url + "/oauth-api")\"\n[oauth]\n\(issuer)\(oauth)\n\(more)\n")
  }

  func set(_ switches: JSON) async throws { try await api.ask("POST", "/oauth-settings", switches) }

  // MARK: - Running

  func run(
    _ words: String..., stdin: String? = nil, env: [String: String?] = [:],
    limit: Int = Sandbox.limit
  ) async throws -> Run {
    try await run(words, stdin: stdin, env: env, limit: limit)
  }

  func run(
    _ words: [String], stdin: String? = nil, env: [String: String?] = [:],
    limit: Int = Sandbox.limit
  ) async throws -> Run {
    try await box.run(
      words, stdin: stdin, env: environment(env), limit: limit)
  }

  func environment(_ env: [String: String?] = [:]) -> [String: String?] {
    variables.merging(["BROWSER": browser]) { $1 }.merging(env) { $1 }
  }

  /// Signs in, by the browser unless `words` say otherwise.
  func signIn(
    _ words: String..., stdin: String? = nil, env: [String: String?] = [:],
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let run = try await run(["login"] + words, stdin: stdin, env: env)
    try #require(run.status == 0, "\(run.stderr)", sourceLocation: sourceLocation)
  }

  /// Looks, from now on and in what was printed so far, for every secret that the server has been
  /// sent: codes, verifiers, tokens, passwords, client secrets.
  func watchSent() async throws {
    let names = [
      "code", "code_verifier", "refresh_token", "device_code", "client_secret", "password", "token",
      "subject_token", "assertion", "client_assertion",
    ]
    for request in try await api.requests() {
      if let header = request["headers"]?["authorization"]?.string {
        box.canary.watch(String(header.split(separator: " ").last ?? ""))
      }
      for pair in (request["body"]?.string ?? "").split(separator: "&") {
        let parts = pair.split(separator: "=", maxSplits: 1).map(String.init)
        if parts.count == 2, names.contains(parts[0]) { box.canary.watch(parts[1]) }
      }
    }
  }

  // MARK: - The browser

  var browser: String { box.root + "/browser" }

  /// Makes a browser of shell commands; `$1` is its URL, `$url` what the server redirects it to.
  func browser(_ script: String = "visit \"$1\"") throws {
    try box.write(
      "browser",
      """
      #!/bin/sh
      printf '%s\\n' "$#" "$@" >>'\(box.root)/browser.words'
      tr '\\0' '\\n' </proc/$$/environ >'\(box.root)/browser.environment'
      get() { curl -s -g -o /dev/null -w '%{http_code}\\n' "$@" >>'\(box.root)/browser.statuses'; }
      visit() {
        curl -s -L -o '\(box.root)/browser.page' \\
          -w '%{http_code}\\n' "$1" >>'\(box.root)/browser.statuses'
      }
      target() { curl -s -g -o /dev/null -w '%{redirect_url}' "$1"; }
      \(script)
      echo done >'\(box.root)/browser.done'
      """, mode: 0o755)
  }

  /// The URL that the browser was started with, last.
  var visited: String? {
    box.read("browser.words")?.split(separator: "\n").last.map(String.init)
  }

  /// The HTTP statuses that the browser got.
  var statuses: [Int] {
    box.read("browser.statuses")?.split(separator: "\n").compactMap { Int($0) } ?? []
  }

  /// Waits until the browser has left a file, and returns it.
  func wait(for file: String) async throws -> String {
    let start = monotonicMilliseconds()
    while true {
      if let text = box.read(file), !text.isEmpty { return text }
      guard monotonicMilliseconds() - start < 60_000 else { throw HarnessError("no \(file)") }
      try await Task.sleep(for: .milliseconds(5))
    }
  }

  // MARK: - What was sent

  /// The forms of the requests to a path, in the order of arrival.
  func forms(_ path: String) async throws -> [[String: String]] {
    try await api.requests().filter { $0["path"]?.string == path }.map { request in
      let pairs = (request["body"]?.string ?? "").split(separator: "&").map { pair in
        let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        return (String(parts[0]), parts.count > 1 ? String(parts[1]) : "")
      }
      return Dictionary(pairs) { "\($0),\($1)" }
    }
  }

  func headers(_ name: String, of path: String) async throws -> [String?] {
    try await api.requests().filter { $0["path"]?.string == path }
      .map { $0["headers"]?[name]?.string }
  }

  // MARK: - Expected output

  /// stderr with the browser's URL and ports as words, without the line of the first sign-in that
  /// tells the default profile.
  func shown(_ run: Run) -> String {
    run.stderr.replacing(/http:\/\/[^ ]*\/authorize\?[^ \n]*/, with: "URL")
      .replacing(api.url, with: "API").replacing(box.root, with: "BOX")
      .replacing(/expired [^;]* ago/, with: "expired T ago")
      .replacing("Default profile: shop. To change it, run: authctl use NAME\n", with: "")
  }

  static let opening = """
    Opening your browser. If nothing opens, visit:
      URL
    Waiting for the browser. Press Ctrl-C to cancel, or try --no-browser.

    """

  static func signedIn(
    _ account: String = ada, _ validity: String = "Valid for 15 min; renewed automatically."
  ) -> String {
    folded("Signed in to shop as \(account). \(validity)") + """
      Saved: session in the store of sealed files
      (BOX/state/authctl/sessions).
      Next: authctl get /PATH

      """
  }

  /// A line as it is shown: folded at a space before column 80.
  private static func folded(_ line: String) -> String {
    guard line.count > 79, let space = line.prefix(80).lastIndex(of: " ") else {
      return line + "\n"
    }
    return line[..<space] + "\n" + line[line.index(after: space)...] + "\n"
  }
}
