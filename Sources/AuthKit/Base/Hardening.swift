internal import CSystem
// `environ` is a variable that any code may change; it is read here before a second thread exists.
@preconcurrency internal import Glibc

/// Protects a process that holds secrets, before it reads anything (rules B5, B12, B13, C14).
package enum Hardening {
  /// The settings that `begin()` changes and that a child of `exec` gets back.
  package struct Before: Sendable {
    private let coreLimit: rlim_t
    /// Whether the caller ignored SIGPIPE.
    package let ignoredPipes: Bool

    fileprivate init(coreLimit: rlim_t, ignoredPipes: Bool) {
      self.coreLimit = coreLimit
      self.ignoredPipes = ignoredPipes
    }

    /// Restores the soft limit for core files, while a child is started.
    package func restoreCoreLimit() { setCoreLimit(coreLimit) }

    /// Restores all settings, for a program that replaces this one.
    package func restore() {
      setCoreLimit(coreLimit)
      if !ignoredPipes { signal(SIGPIPE, SIG_DFL) }
    }

    /// Applies the settings again for a process that holds secrets.
    package func hardenAgain() {
      setCoreLimit(0)
      signal(SIGPIPE, SIG_IGN)
    }
  }

  /// Closes the ways in which memory, descriptors or the environment could leak secrets.
  ///
  /// Call it first, before a second thread exists and before libcurl or GLib is loaded.
  ///
  /// - Throws: `failed` in a set-user-ID process, when /dev/null cannot be opened for a closed
  ///   standard stream, or when the kernel keeps the process dumpable.
  @discardableResult
  package static func begin() throws(Failure) -> Before {
    // A handler of Swift's runtime prints memory in its backtrace.
    for number in [SIGILL, SIGTRAP, SIGABRT, SIGSEGV, SIGBUS, SIGFPE] { signal(number, SIG_DFL) }
    // So does its handler of ^\; a signal that the caller ignores, as with nohup(1), stays ignored.
    if !authctl_is_ignored(SIGQUIT) { signal(SIGQUIT, SIG_DFL) }
    // A server that closes its connection must not end the process; `Console` ends it when the
    // reader of standard output has gone.
    let ignoredPipes = authctl_is_ignored(SIGPIPE)
    signal(SIGPIPE, SIG_IGN)
    try refuseForeignPrivileges()
    try openStandardStreams()
    let before = Before(coreLimit: setCoreLimit(0), ignoredPipes: ignoredPipes)
    try forbidDumps()
    cleanEnvironment()
    return before
  }

  /// Returns the value of a variable, byte for byte as the caller set it; nil if it is not set.
  package static func inheritedValue(_ name: String) -> UnsafePointer<CChar>? {
    getenv(name).map { UnsafePointer($0) }
  }

  private static func refuseForeignPrivileges() throws(Failure) {
    guard getuid() == geteuid(), getgid() == getegid(), !authctl_is_secure_execution() else {
      throw Failure(
        .failed, "authctl must not run set-user-ID, set-group-ID or with file capabilities",
        hint: "remove them from the program with chmod u-s,g-s and setcap -r")
    }
  }

  private static func forbidDumps() throws(Failure) {
    guard authctl_set_dumpable(false) == 0 else {
      throw Failure(.failed, "prctl(PR_SET_DUMPABLE) failed")
    }
  }

  @discardableResult
  private static func setCoreLimit(_ soft: rlim_t) -> rlim_t {
    let resource = __rlimit_resource_t(RLIMIT_CORE.rawValue)
    var limit = rlimit()
    guard getrlimit(resource, &limit) == 0 else { return 0 }
    let old = limit.rlim_cur
    limit.rlim_cur = min(soft, limit.rlim_max)
    setrlimit(resource, &limit)
    return old
  }

  // Otherwise a file opened later would become standard output and receive a body or a token.
  private static func openStandardStreams() throws(Failure) {
    for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO]
    where fcntl(descriptor, F_GETFD) < 0 {
      // Not for writing: lost output must be an error, not a success.
      let mode = O_RDONLY
      // open(2) returns the lowest free number: this one, because those below it are open.
      guard open("/dev/null", mode) == descriptor else {
        throw Failure(
          .failed, "file descriptor \(descriptor) is closed, and /dev/null cannot be opened")
      }
    }
  }

  private static func cleanEnvironment() {
    // SSLKEYLOGFILE makes libcurl write TLS keys to a file, the others move libsecret's store or
    // make GLib print what it sends.
    for name in ["SSLKEYLOGFILE", "SECRET_BACKEND", "G_DBUS_DEBUG", "G_MESSAGES_DEBUG"] {
      unsetenv(name)
    }
    for name in ["SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE"] {
      if let value = getenv(name), value.pointee == 0 { unsetenv(name) }
    }
    var names: [[CChar]] = []
    let prefix = "SECRET_FILE_"
    var entry = environ
    while let text = entry.pointee {
      if strncmp(text, prefix, prefix.utf8.count) == 0 {
        let length = strcspn(text, "=")
        names.append(Array(UnsafeBufferPointer(start: text, count: length)) + [0])
      }
      entry += 1
    }
    for name in names { unsetenv(name) }
  }
}
