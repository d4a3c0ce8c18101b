internal import Glibc

/// A file that a profile names: `network.ca_file`, `client_cert`, `client_key`.
enum NamedFile {
  /// The largest that is read; the authorities of a system have a fifth of a MiB.
  private static let largest = 16 << 20

  /// What tells the content of the file at `path` from another: its SHA-256.
  ///
  /// One of root's below /etc or /usr is the system's: it is renewed by the package manager, and
  /// whoever could change it needs no profile. Its place stands for what is in it.
  ///
  /// - Returns: `system`; empty for a file that cannot be read, and without libcrypto: nothing is sent then either.
  static func digest(of path: String) -> String {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard descriptor >= 0 else { return "" }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return "" }
    if status.st_uid == 0, status.st_mode & 0o022 == 0, let real = ConfigFolder.realPath(path),
      ["/etc/", "/usr/"].contains(where: { real.utf8.starts(with: $0.utf8) })
    {
      return "system"
    }
    guard let contents = try? Descriptor.contents(descriptor, limit: largest),
      contents.count <= largest
    else { return "" }
    return (try? Crypto.sha256Hex(contents.withBytes { Array($0) })) ?? ""
  }
}
