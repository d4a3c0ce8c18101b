internal import Glibc

/// A file with a secret that the user named: opened through links, then checked as an open file
/// (rule B10).
package struct PrivateFile: ~Copyable {
  /// The descriptor, open for reading; closed with the value.
  package let descriptor: Int32

  /// - Parameters:
  ///   - option: the option or variable that names the file, for messages.
  ///   - environment: for `CREDENTIALS_DIRECTORY`.
  ///   - kind: the kind of the failure.
  /// - Throws: `kind` when the file cannot be opened, or when others could read or change it;
  ///   `failed` in place of `usage` when that is not the file's fault.
  package init(
    _ path: String, option: String, environment: [String: String], kind: Failure.Kind = .usage
  ) throws(Failure) {
    descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
    guard descriptor >= 0 else {
      let error = SystemError(errno)
      throw Failure(
        kind == .usage ? error.kindForInput : kind,
        "\(option): \(DisplayText.oneLine(path)): \(error.reason)")
    }
    do throws(Failure) {
      try Self.checkOwnerAndMode(descriptor, path, option, environment)
    } catch {
      close(descriptor)
      var failure = error
      failure.kind = kind
      throw failure
    }
  }

  deinit { close(descriptor) }

  private static func checkOwnerAndMode(
    _ descriptor: Int32, _ path: String, _ option: String, _ environment: [String: String]
  ) throws(Failure) {
    let shown = "\(option): \(DisplayText.oneLine(path))"
    var status = stat()
    guard fstat(descriptor, &status) == 0 else {
      throw Failure(.usage, "\(shown): \(SystemError(errno).reason)")
    }
    if status.st_mode & S_IFMT == S_IFDIR { throw Failure(.usage, "\(shown): Is a directory") }
    // `<(...)` and /dev/null have nothing to check; files from systemd, Docker and Kubernetes look
    // readable to more users than they are.
    guard status.st_mode & S_IFMT == S_IFREG,
      !isOnReadOnlyMount(descriptor), !isCredential(descriptor, environment)
    else { return }

    let mode = status.st_mode & 0o777
    let octal = "mode 0" + String(mode, radix: 8)
    let ownership = Ownership(status)
    if ownership.isOwn {
      guard ownership.isOpenToOthers else { return }
      throw Failure(
        .usage, "\(shown) is accessible to other users (\(octal))",
        hint: DisplayText.shellCommand(["chmod", "600", path]))
    }
    guard ownership.isOwnOrRoots else {
      throw Failure(
        .usage, "\(shown) belongs to another user (uid \(ownership.owner))",
        hint: "use a file that you own, with mode 0600")
    }
    guard ownership.isWritableByGroupOrOthers else { return }
    throw Failure(
      .usage, "\(shown) is writable by other users (\(octal))",
      hint: DisplayText.shellCommand(["sudo", "chmod", "go-w", path]))
  }

  // https://man7.org/linux/man-pages/man3/statvfs.3.html
  private static func isOnReadOnlyMount(_ descriptor: Int32) -> Bool {
    var mount = statvfs()
    let readOnly: UInt = 1  // ST_RDONLY
    return fstatvfs(descriptor, &mount) == 0 && mount.f_flag & readOnly != 0
  }

  /// Whether the open file is in systemd's folder of credentials.
  private static func isCredential(_ descriptor: Int32, _ environment: [String: String]) -> Bool {
    environment[.credentialsFolder].map { isBelow($0, descriptor) } ?? false
  }

  /// Whether the open file is below `folder`, an absolute path.
  func isBelow(_ folder: String) -> Bool { Self.isBelow(folder, descriptor) }

  private static func isBelow(_ folder: String, _ descriptor: Int32) -> Bool {
    guard folder.utf8.first == 0x2F, let real = realpath(folder, nil) else { return false }
    defer { free(real) }
    let place = Array(UnsafeBufferPointer(start: real, count: strlen(real)))
    var name = [CChar](repeating: 0, count: Int(PATH_MAX))
    // The link shows where the open file is, even if the path has been replaced since.
    let length = readlink("/proc/self/fd/\(descriptor)", &name, name.count)
    return place.count > 1 && length > place.count + 1
      && name.starts(with: place + [CChar(bitPattern: UInt8(ascii: "/"))])
  }
}
