import Glibc
import Testing

/// A place without desktop, and what every command says there: see `HeadlessTests`.
struct Headless: Sendable {
  /// One command of the table.
  struct Row: Sendable {
    var words: [String]
    var stdin: String?
  }
  /// What is expected of it.
  struct Outcome: Sendable, Equatable {
    var status: Int32
    /// Whole; nil: something, which other suites look at.
    var out: String?
    var err: String?

    static let works = Outcome(status: 0, out: nil, err: "")
    static func works(_ out: String?, err: String? = "") -> Outcome {
      Outcome(status: 0, out: out, err: err)
    }
    func with(status: Int32? = nil, out: String? = nil) -> Outcome {
      Outcome(status: status ?? self.status, out: out ?? self.out, err: err)
    }
    /// One line of what is missing, and one of what to set.
    static func says(_ status: Int32, _ message: String, hint: String) -> Outcome {
      Outcome(status: status, out: "", err: "authctl: \(message)\nhint: \(hint)\n")
    }
  }

  let box: Sandbox
  let api: APIServer
  /// authctl, where everybody can reach it.
  let binary: String
  /// A configuration folder with the profile `shop`.
  var config: String { box.root + "/config/authctl" }
  var profile: String { config + "/profiles/shop.toml" }

  /// A user of whom the system knows nothing.
  static let stranger = 54321

  static func with(_ body: @Sendable (Headless) async throws -> Void) async throws {
    try await Sandbox.with(.none) { box in
      // The machine's own bus would be used, where there is one.
      try #require(access("/run/user/\(geteuid())/bus", F_OK) != 0)
      let api = try await box.api()
      _ = try Shop(box, api.url)
      let (folder, binary) = (box.root + "/keyring", box.root + "/keyring/authctl")
      let copy = try await box.run([try Built.authctl(), binary], program: "/bin/cp")
      try #require(copy.status == 0, "\(copy.stderr)")
      let headless = Headless(box: box, api: api, binary: binary)
      for path in [box.root, folder, binary, box.root + "/config", headless.config] {
        chmod(path, 0o755)
      }
      chmod(headless.config + "/profiles", 0o755)
      chmod(headless.profile, 0o644)
      try await body(headless)
    }
  }

  /// Makes a folder of somebody.
  func folder(_ name: String, owner: Int) -> String {
    let path = box.root + "/" + name
    mkdir(path, 0o700)
    chown(path, uid_t(owner), gid_t(owner))
    return path
  }

  // MARK: Environments

  /// Without a terminal, and with nothing in the environment but `PATH` and `env`.
  func run(
    _ row: Row, env: [String: String], before: [String] = [], mayPrint: [String] = []
  ) async throws -> Run {
    var variables: [String: String?] = box.environment().mapValues { _ in nil }
    variables["PATH"] = "/usr/bin:/bin"
    for (name, value) in env { variables[name] = value }
    let command = before + ["/usr/bin/setsid", "--wait", binary] + row.words
    return try await box.run(
      Array(command.dropFirst()), stdin: row.stdin, env: variables, program: command[0],
      directory: "/", mayPrint: mayPrint)
  }

  /// Runs the rest as a user of whom the system knows nothing.
  static let asStranger = [
    "/usr/bin/setpriv", "--reuid", "\(stranger)", "--regid", "\(stranger)", "--clear-groups",
  ]

  /// Runs the rest where nothing can be written but below `writable`.
  func readOnly(writable: String = "") -> [String] {
    let script = #"""
      root=$1 writable=$2; shift 2
      mount --bind "$root" "$root" || exit 99
      [ -z "$writable" ] || mount --bind "$writable" "$writable" || exit 99
      mount -o remount,bind,ro "$root" && mount -o remount,bind,ro / || exit 99
      [ ! -d /run/user ] || mount -t tmpfs -o ro tmpfs /run/user || exit 99
      ! touch "$root/probe" 2>/dev/null || exit 99
      exec "$@"
      """#
    return [
      "/usr/bin/unshare", "--mount", "--propagation", "private", "/bin/sh", "-c", script, "sh",
      box.root, writable,
    ]
  }

  /// Whether file systems may be made read-only here; says so where not.
  func mayMount() async throws -> Bool {
    let words = readOnly() + ["/bin/true"]
    let run = try await box.run(Array(words.dropFirst()), program: words[0])
    if run.status != 0 {
      print("Skipped, no file system may be made read-only here: \(run.stderr)")
    }
    return run.status == 0
  }
}
