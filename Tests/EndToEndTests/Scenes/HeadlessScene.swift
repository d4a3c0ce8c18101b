import Glibc
import Testing

/// An environment without desktop, in which `HeadlessTests` runs every command.
struct Headless: Sendable {
  /// One command of the table.
  struct Row: Sendable {
    var words: [String]
    var stdin: String?
  }
  /// The expected outcome of a command.
  struct Outcome: Sendable, Equatable {
    var status: Int32
    /// The whole output; nil: any, since other suites check it.
    var out: String?
    var err: String?

    static let works = Outcome(status: 0, out: nil, err: "")
    static func works(_ out: String?, err: String? = "") -> Outcome {
      Outcome(status: 0, out: out, err: err)
    }
    func with(status: Int32? = nil, out: String? = nil) -> Outcome {
      Outcome(status: status ?? self.status, out: out ?? self.out, err: err)
    }
    /// One line for the missing part, and one for what to set.
    static func says(_ status: Int32, _ message: String, hint: String) -> Outcome {
      Outcome(status: status, out: "", err: "authctl: \(message)\nhint: \(hint)\n")
    }
  }

  let box: Sandbox
  let api: APIServer
  /// authctl in a place that every user can reach.
  let binary: String
  /// A configuration folder with the profile `shop`.
  var config: String { box.root + "/config/authctl" }
  var profile: String { config + "/profiles/shop.toml" }

  /// A user without a passwd entry.
  static let stranger = 54321

  static func with(_ body: @Sendable (Headless) async throws -> Void) async throws {
    try await Sandbox.with(.none) { box in
      // authctl would use the machine's own bus if there is one.
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

  /// Makes a folder that belongs to `owner`.
  func folder(_ name: String, owner: Int) -> String {
    let path = box.root + "/" + name
    mkdir(path, 0o700)
    chown(path, uid_t(owner), gid_t(owner))
    return path
  }

  // MARK: Environments

  /// Runs a command without a terminal, with only `PATH` and `env` in its environment.
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

  /// Runs the rest of the command as a user without a passwd entry.
  static let asStranger = [
    "/usr/bin/setpriv", "--reuid", "\(stranger)", "--regid", "\(stranger)", "--clear-groups",
  ]

  /// Runs the rest of the command with everything read-only except `writable`.
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

  /// Whether read-only mounts are possible here; if not, reports it.
  func mayMount() async throws -> Bool {
    let words = readOnly() + ["/bin/true"]
    let run = try await box.run(Array(words.dropFirst()), program: words[0])
    if run.status != 0 {
      print("Skipped, no file system may be made read-only here: \(run.stderr)")
    }
    return run.status == 0
  }
}
