internal import CSystem
internal import Glibc

/// A file that gets its name once it is complete: at any moment the old or the new file exists.
///
/// Until `commit` it has a temporary name in the same folder, or none; a file that is not committed
/// leaves nothing.
package final class AtomicFile {
  /// Open for writing.
  package let descriptor: Int32
  private let folder: Int32
  private let place: String
  private let temporary: String
  private var hasName = true

  /// - Parameters:
  ///   - place: the path of the file, not a link.
  ///   - folder: an open folder that relative paths start in; nil for the current one.
  ///   - temporary: the path of the temporary file, in the folder of `place`.
  ///   - isNameless: the file has no name before `commit`, if the system can do that: it leaves
  ///     nothing, however the process ends.
  package init(
    _ place: String, in folder: Int32? = nil, temporary: String, isNameless: Bool = false
  ) throws(SystemError) {
    self.folder = folder ?? AT_FDCWD
    self.place = place
    self.temporary = temporary
    if isNameless {
      let flags = authctl_O_TMPFILE | O_WRONLY | O_CLOEXEC
      let nameless = openat(self.folder, parentFolder(of: place), flags, 0o600)
      if nameless >= 0, access("/proc/self/fd/\(nameless)", F_OK) == 0 {
        descriptor = nameless
        hasName = false
        return
      }
      if nameless >= 0 { close(nameless) }
    }
    let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
    descriptor = openat(self.folder, temporary, flags, 0o600)
    guard descriptor >= 0 else {
      hasName = false
      throw SystemError(errno)
    }
  }

  package func write(_ bytes: UnsafeRawBufferPointer) throws(SystemError) {
    try Descriptor.write(bytes, to: descriptor)
  }

  /// Puts the file in its place.
  ///
  /// - Parameters:
  ///   - isSynced: whether its bytes are on disk before it gets its name; the folder is not synced.
  ///   - isReplacing: false never overwrites.
  /// - Throws: EEXIST when the name exists and may not be replaced.
  package func commit(isSynced: Bool = false, isReplacing: Bool = true) throws(SystemError) {
    if isSynced {
      var result = fsync(descriptor)
      while result != 0, errno == EINTR { result = fsync(descriptor) }
      try check(result)
    }
    // link(2), because rename(2) would replace a file that another process has just made.
    guard isReplacing else { return try link(as: place) }
    if !hasName {
      try link(as: temporary)
      hasName = true
    }
    try check(renameat(folder, temporary, folder, place))
    hasName = false
  }

  private func link(as name: String) throws(SystemError) {
    try check(
      hasName
        ? linkat(folder, temporary, folder, name, 0)
        : linkat(AT_FDCWD, "/proc/self/fd/\(descriptor)", folder, name, AT_SYMLINK_FOLLOW))
  }

  private func check(_ result: Int32) throws(SystemError) {
    if result != 0 { throw SystemError(errno) }
  }

  /// Removes the temporary file; the old file stays.
  package func abandon() {
    if hasName { unlinkat(folder, temporary, 0) }
    hasName = false
  }

  deinit {
    abandon()
    if descriptor >= 0 { close(descriptor) }
  }
}

/// Returns the folder of the file at `path`; `.` for a bare name.
package func parentFolder(of path: String) -> String {
  guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
  let parent = String(decoding: path.utf8[..<slash], as: UTF8.self)
  return parent.isEmpty ? "/" : parent
}
