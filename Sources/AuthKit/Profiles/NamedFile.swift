internal import Glibc

/// A file that a profile names: `network.ca_file`, `client_cert`, `client_key`, `oauth.client_key`.
enum NamedFile {
  /// The maximum size; a system's CA bundle has about a fifth of a MiB.
  private static let largest = 16 << 20
  private static let largestSecret = 65_536

  /// Returns the SHA-256 of the file at `path`, which changes with its content.
  ///
  /// A file of root's in /etc or /usr belongs to the system: the package manager renews it, and
  /// anyone who could change it needs no profile. Its path identifies it.
  ///
  /// - Returns: the digest; `system` for a system file; empty if the file cannot be read or without
  ///   libcrypto, when nothing is sent either.
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

  /// Returns the content of the file at `path`, which holds a secret.
  ///
  /// - Parameter key: the key of the profile that names the file.
  /// - Throws: `failed` when it cannot be read, or when others may read it too.
  static func secret(_ path: String, key: String) throws(Failure) -> Secret {
    let shown = "\(key): \(DisplayText.oneLine(path))"
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard descriptor >= 0 else {
      throw Failure(.failed, "\(shown): \(SystemError(errno).reason)")
    }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw Failure(.failed, "\(shown): is not a file")
    }
    let ownership = Ownership(status)
    guard ownership.isOwnOrRoots else {
      throw Failure(.failed, "\(shown): belongs to another user")
    }
    guard !ownership.isOpenToOthers else {
      throw Failure(
        .failed, "\(shown): other users may read this key",
        hint: DisplayText.shellCommand(["chmod", "600", path]))
    }
    guard let contents = try? Descriptor.contents(descriptor, limit: largestSecret),
      contents.count <= largestSecret
    else {
      throw Failure(.failed, "\(shown): cannot be read, or is larger than 64 KiB")
    }
    return contents
  }
}
