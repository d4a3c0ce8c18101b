import Glibc
import Testing

/// The profile `shop` of a `Shop` with its sessions in files, shared by the suites about them.
struct FileShop: Sendable {
  let box: Sandbox
  let api: APIServer
  /// `file` or `plaintext`.
  let store: String
  /// Environment variables of every run; nil unsets one.
  var env: [String: String?]

  /// Where a sandbox keeps sessions.
  var sessions: String { box.stateHome + "/authctl/sessions" }
  /// The store's name in messages.
  var title: String {
    "the store of \(store == "file" ? "sealed" : "plain") files (\(sessions))"
  }

  static func with(
    _ store: String = "file", _ kind: Sandbox.Kind = .none,
    _ body: @Sendable (FileShop) async throws -> Void
  ) async throws {
    try await Sandbox.with(kind) { box in
      // authctl would use the machine's own bus if there is one.
      if kind == .none { try #require(access("/run/user/\(geteuid())/bus", F_OK) != 0) }
      let api = try await box.api()
      _ = try Shop(box, api.url)
      let key = try box.write("key", String(repeating: "4b", count: 32) + "\n")
      let files = FileShop(
        box: box, api: api, store: store,
        env: ["AUTHCTL_STORE": store, "AUTHCTL_STORE_KEY_FILE": key])
      try await body(files)
    }
  }

  @discardableResult
  func run(
    _ words: String..., env more: [String: String?] = [:], mayPrint: [String] = []
  ) async throws -> Run {
    try await box.run(words, env: env.merging(more) { $1 }, mayPrint: mayPrint)
  }

  func login(
    _ options: String..., account: String = Shop.ada, password: String = Shop.password,
    env more: [String: String?] = [:]
  ) async throws -> Run {
    try await box.run(
      ["login", "-p", "shop", "-u", account, "--password-stdin"] + options, stdin: password + "\n",
      env: env.merging(more) { $1 })
  }

  /// Signs in, and requires success.
  func signIn(
    _ account: String = Shop.ada, password: String = Shop.password,
    env more: [String: String?] = [:], sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let run = try await login(account: account, password: password, env: more)
    try #require(run.status == 0, "\(run.stderr)", sourceLocation: sourceLocation)
  }

  /// The names of the session files, without the lock.
  var files: [String] { list(sessions).filter { $0 != "lock" } }

  /// The path of the only session file.
  func onlyFile() throws -> String {
    try #require(files.count == 1)
    return sessions + "/" + files[0]
  }

  /// Overwrites a file that authctl has made.
  func overwrite(_ path: String, _ bytes: [UInt8]) throws {
    let file = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC)
    try #require(file >= 0)
    defer { close(file) }
    try #require(write(file, bytes, bytes.count) == bytes.count)
  }

  static let noKey = """
    authctl: the sealed files have no key: AUTHCTL_STORE_KEY_FILE is unset
    hint: (umask 077; head -c 32 /dev/urandom >FILE) makes one; or AUTHCTL_STORE_PASSPHRASE

    """
}

/// The permission bits of a file; nil if there is none.
func permissions(_ path: String) -> mode_t? {
  var info = stat()
  return lstat(path, &info) == 0 ? info.st_mode & 0o7777 : nil
}
