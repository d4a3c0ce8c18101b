internal import Glibc

/// The error number of a system call that failed.
package struct SystemError: Error {
  /// As in errno(3).
  package let number: Int32
  /// The text of strerror(3) in lower case, as it stands after a colon.
  package var reason: String { String(cString: strerror(number)).asciiLowercased }

  /// `usage`, if what the caller named cannot be read; `failed`, if the machine is out of something
  /// or broken.
  package var kindForInput: Failure.Kind {
    [EIO, ENOMEM, EMFILE, ENFILE].contains(number) ? .failed : .usage
  }

  package init(_ number: Int32) { self.number = number }
}

/// Reads and writes open files: retries after a signal, and waits for a non-blocking descriptor.
package enum Descriptor {
  /// Reads the next bytes; returns 0 at the end.
  package static func read(
    _ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer
  ) throws(SystemError) -> Int {
    while true {
      let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
      if count >= 0 { return count }
      try recover(descriptor, POLLIN)
    }
  }

  /// Reads one byte, so that the rest is left to other programs; returns nil at the end.
  package static func byte(_ descriptor: Int32) throws(SystemError) -> UInt8? {
    var byte: UInt8 = 0
    let count = try withUnsafeMutableBytes(of: &byte) { (buffer) throws(SystemError) in
      try read(descriptor, into: buffer)
    }
    return count == 0 ? nil : byte
  }

  /// Reads to the end, but at most one byte more than `limit`, which shows that there is too much.
  package static func contents(_ descriptor: Int32, limit: Int) throws(SystemError) -> Secret {
    var contents = SecretBuilder(capacity: 4096)
    let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: 16_384, alignment: 1)
    defer {
      if let base = piece.baseAddress { explicit_bzero(base, piece.count) }
      piece.deallocate()
    }
    while contents.count <= limit {
      let room = piece.prefix(limit + 1 - contents.count)
      let count = try read(descriptor, into: UnsafeMutableRawBufferPointer(rebasing: room))
      if count == 0 { break }
      contents.append(UnsafeRawBufferPointer(rebasing: piece[..<count]))
    }
    return contents.finish()
  }

  /// Writes all of `bytes`.
  package static func write(
    _ bytes: UnsafeRawBufferPointer, to descriptor: Int32
  ) throws(SystemError) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let piece = UnsafeRawBufferPointer(rebasing: rest)
      let count = Glibc.write(descriptor, piece.baseAddress, piece.count)
      if count >= 0 { rest = rest.dropFirst(count) } else { try recover(descriptor, POLLOUT) }
    }
  }

  /// Waits until the call that has just failed can be made again.
  private static func recover(_ descriptor: Int32, _ event: Int32) throws(SystemError) {
    let number = errno
    guard number == EINTR || number == EAGAIN else { throw SystemError(number) }
    // Somebody else with the same open file may have made it non-blocking.
    var waiting = pollfd(fd: descriptor, events: Int16(event), revents: 0)
    if number == EAGAIN { poll(&waiting, 1, -1) }
  }
}

/// Returns the names in a folder, in the order of the file system.
///
/// - Throws: what readdir(3) fails with.
func entryNames(_ folder: OpaquePointer) throws(SystemError) -> [String] {
  var names: [String] = []
  // readdir(3) returns nil at the end and for an error, which only errno tells apart.
  errno = 0
  while let entry = readdir(folder) {
    names.append(
      withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      })
    errno = 0
  }
  guard errno == 0 else { throw SystemError(errno) }
  return names
}
