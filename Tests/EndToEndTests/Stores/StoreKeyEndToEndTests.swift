import Glibc
import Testing

/// Files that may hold the key of the sealed files, for users other than root, on other mounts and
/// from pipes: rule B10. StoreKeyTests covers a process with its own files.
@Suite struct StoreKeyEndToEndTests {
  private static let isRoot = geteuid() == 0
  private static let nobody: uid_t = 65534
  private static let key = String(repeating: "k", count: 32)

  /// Whether this process may mount: CAP_SYS_ADMIN, capabilities(7).
  private static let mayMount: Bool = {
    let status = String(decoding: readFile("/proc/self/status") ?? [], as: UTF8.self)
    let line = status.split(separator: "\n").first { $0.hasPrefix("CapEff:") }
    let mask = line?.split(separator: "\t").last.flatMap { UInt64($0, radix: 16) } ?? 0
    return mask & 1 << 21 != 0
  }()

  private static func variables(_ box: Sandbox, _ key: String) -> [String: String?] {
    [
      "AUTHCTL_STORE": "file", "AUTHCTL_STORE_KEY_FILE": key, "HOME": nil,
      "AUTHCTL_CONFIG_DIR": box.root + "/none", "AUTHCTL_STATE_DIR": box.root + "/own/state",
    ]
  }

  private static func isOpen(_ run: Run, _ words: Comment) {
    #expect(run.status == 0, "\(words): \(run.stderr)")
    #expect(run.stderr.hasPrefix("The store of sealed files"), "\(words): \(run.stderr)")
  }

  private static func isRefused(_ run: Run, _ message: String) {
    let line = run.stderr.split(separator: "\n").first ?? ""
    #expect(line == "authctl: AUTHCTL_STORE_KEY_FILE: \(message)")
    #expect(run.stdout == "" && run.status == 12)
  }

  /// Runs `store unlock` as that user, with this key file and these variables.
  private typealias Unlock = @Sendable (String, [String: String?]) async throws -> Run

  /// A sandbox that the user nobody may traverse, with a copy of authctl and a folder for that
  /// user.
  private func withNobody(
    _ body: @Sendable (Sandbox, Unlock) async throws -> Void
  ) async throws {
    try await Sandbox.with(.none) { box in
      chmod(box.root, 0o711)
      let copy = box.root + "/authctl"
      #expect(try await box.run(try Built.authctl(), copy, program: "/bin/cp").status == 0)
      chmod(copy, 0o755)
      try #require(mkdir(box.root + "/own", 0o700) == 0)
      try #require(chown(box.root + "/own", Self.nobody, Self.nobody) == 0)
      try await body(box) { key, more in
        try await box.run(
          [
            "--reuid=65534", "--regid=65534", "--clear-groups", "--", copy, "store", "unlock",
          ], env: Self.variables(box, key).merging(more) { $1 }, program: "/usr/bin/setpriv",
          directory: "/")
      }
      unlink(copy)
    }
  }

  /// systemd provides a credential as a file of root, 0440, with an access control list for the
  /// user of the service; Kubernetes as a link to a file of root, 0644. Both are accepted.
  @Test(.enabled(if: isRoot, "needs root to be somebody else"))
  func filesOfRootThatTheUserMayRead() async throws {
    try await withNobody { box, unlock in
      let listed = try box.write("listed", Self.key, mode: 0o400)
      try #require(Self.allow(Self.nobody, toRead: listed))
      #expect(permissions(listed) == 0o440)
      Self.isOpen(try await unlock(listed, [:]), "access control list")
      let open = try box.write("open", Self.key, mode: 0o644)
      Self.isOpen(try await unlock(open, [:]), "0644")
      symlink("open", box.root + "/link")
      Self.isOpen(try await unlock(box.root + "/link", [:]), "link")
      try #require(mkdir(box.root + "/credentials", 0o755) == 0)
      let credential = try box.write("credentials/authctl-store-key", Self.key, mode: 0o440)
      try #require(Self.allow(Self.nobody, toRead: credential))
      let variables: [String: String?] = [
        "CREDENTIALS_DIRECTORY": box.root + "/credentials", "AUTHCTL_STORE_KEY_FILE": nil,
      ]
      chmod(box.root + "/credentials", 0o755)
      Self.isOpen(try await unlock("", variables), "credential")
    }
  }

  @Test(.enabled(if: isRoot, "needs root to be somebody else"))
  func filesThatOthersMayChangeOrOwn() async throws {
    try await withNobody { box, unlock in
      for (name, mode) in [("all", 0o666), ("group", 0o664)] as [(String, mode_t)] {
        let path = try box.write(name, Self.key, mode: mode)
        Self.isRefused(
          try await unlock(path, [:]),
          "\(path) is writable by other users (mode 0\(String(mode, radix: 8)))")
      }
      let foreign = try box.write("foreign", Self.key, mode: 0o644)
      try #require(chown(foreign, 1234, 1234) == 0)
      Self.isRefused(
        try await unlock(foreign, [:]), "\(foreign) belongs to another user (uid 1234)")
      let own = try box.write("mine", Self.key, mode: 0o644)
      try #require(chown(own, Self.nobody, Self.nobody) == 0)
      Self.isRefused(
        try await unlock(own, [:]), "\(own) is accessible to other users (mode 0644)")
      chmod(own, 0o600)
      Self.isOpen(try await unlock(own, [:]), "0600")
      let closed = try box.write("closed", Self.key, mode: 0o600)
      Self.isRefused(try await unlock(closed, [:]), "\(closed): permission denied")
    }
  }

  /// Docker and Kubernetes protect their read-only mounts themselves, so the mode does not matter.
  @Test(.enabled(if: mayMount, "needs CAP_SYS_ADMIN to mount"), arguments: ["rw", "ro"])
  func fileOnAMountThatCannotBeWritten(_ option: String) async throws {
    try await Sandbox.with(.none) { box in
      try #require(mkdir(box.root + "/own", 0o700) == 0)
      try #require(mkdir(box.root + "/secrets", 0o700) == 0)
      let path = box.root + "/secrets/key"
      let script = #"""
        mount -t tmpfs tmpfs "$1" && printf %s "$2" >"$1/key" && chmod 644 "$1/key" &&
        mount -o "remount,$3" "$1" && shift 3 && exec "$@"
        """#
      let run = try await box.run(
        [
          "--mount", "/bin/sh", "-c", script, "sh", box.root + "/secrets", Self.key, option,
          try Built.authctl(), "store", "unlock",
        ], env: Self.variables(box, path), program: "/usr/bin/unshare")
      if option == "ro" {
        Self.isOpen(run, "read-only")
      } else {
        Self.isRefused(run, "\(path) is accessible to other users (mode 0644)")
      }
    }
  }

  /// A session on a read-only file system can be used.
  @Test(.enabled(if: mayMount, "needs CAP_SYS_ADMIN to mount"))
  func readOnlyStateFolderServes() async throws {
    try await FileShop.with { files in
      try await files.signIn()
      let script = #"""
        mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && exec "$@"
        """#
      let get = try await files.box.run(
        [
          "--mount", "/bin/sh", "-c", script, "sh", files.box.stateHome, try Built.authctl(),
          "get", "/me",
        ], env: files.env, program: "/usr/bin/unshare")
      #expect(get.stdout == Shop.me)
      #expect(get.stderr == "" && get.status == 0)
    }
  }

  @Test func processSubstitution() async throws {
    try await Sandbox.with(.none) { box in
      try #require(mkdir(box.root + "/own", 0o700) == 0)
      let script = #"AUTHCTL_STORE_KEY_FILE=<(printf %s "$KEY") "$@""#
      var env = Self.variables(box, "")
      env["KEY"] = Self.key
      let run = try await box.run(
        ["-c", script, "bash", try Built.authctl(), "store", "unlock"], env: env,
        program: "/bin/bash")
      Self.isOpen(run, "\(script)")
      let none = try await box.run(
        "store", "unlock", env: Self.variables(box, "/dev/null"))
      Self.isRefused(
        none,
        "/dev/null is not a key (0 bytes): a key has 32 bytes, 64 hex digits or 44 base64 "
          + "characters")
    }
  }

  @Test func keyBesideWhatItSeals() async throws {
    try await FileShop.with { files in
      let path = files.box.stateHome + "/authctl/key"
      try files.box.write("state/authctl/key", Self.key)
      Self.isRefused(
        try await files.run("store", "unlock", env: ["AUTHCTL_STORE_KEY_FILE": path]),
        "\(path) is in the state folder, next to the files that it seals")
    }
  }

  /// Adds an entry for `user` to the file's access control list, acl(5), which the kernel stores in
  /// an extended attribute (linux/posix_acl_xattr.h).
  private static func allow(_ user: uid_t, toRead path: String) -> Bool {
    let undefined = UInt32.max
    let entries: [(tag: UInt16, permissions: UInt16, id: UInt32)] = [
      (1, 4, undefined), (2, 4, user), (4, 0, undefined), (16, 4, undefined), (32, 0, undefined),
    ]
    var bytes: [UInt8] = [2, 0, 0, 0]
    for entry in entries {
      for value in [entry.tag, entry.permissions] {
        withUnsafeBytes(of: value.littleEndian) { bytes += $0 }
      }
      withUnsafeBytes(of: entry.id.littleEndian) { bytes += $0 }
    }
    typealias SetAttribute =
      @convention(c) (UnsafePointer<CChar>, UnsafePointer<CChar>, UnsafeRawPointer, Int, Int32) ->
      Int32
    guard let function = dlsym(nil, "setxattr") else { return false }
    let set = unsafeBitCast(function, to: SetAttribute.self)
    return set(path, "system.posix_acl_access", bytes, bytes.count, 0) == 0
  }
}
