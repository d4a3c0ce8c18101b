internal import Glibc

/// A body, or a part of one, that is read while it is sent.
package final class StreamedBody {
  /// A source of bytes.
  package enum Source {
    /// Memory.
    case bytes(SharedSecret)
    /// A file or a pipe.
    case file(BodyFile)
  }

  /// The sources, in order.
  package let sources: [Source]
  /// The total number of bytes; nil when the length of a pipe is unknown.
  package let length: Int64?
  /// Why reading stopped early.
  private(set) var failure: Failure?
  private var index = 0
  private var offset = 0

  /// Creates a body from `sources`, in order.
  package init(_ sources: [Source]) {
    self.sources = sources
    var total: Int64? = 0
    for source in sources {
      switch source {
      case .bytes(let bytes): total = total.map { $0 &+ Int64(bytes.secret.count) }
      case .file(let file):
        if let length = file.length, let sum = total { total = sum &+ length } else { total = nil }
      }
    }
    length = total
  }

  /// Whether the whole body can be sent from the beginning, again or for the first time.
  package var isRepeatable: Bool { files.allSatisfy(\.isRepeatable) }

  /// Keeps the bytes read from pipes, so that they can be sent again.
  func keep() {
    for file in files { file.isKept = true }
  }

  /// Passes the whole body to `onBytes`, piece by piece.
  ///
  /// - Throws: `failed` when the body cannot be read.
  package func readAll(_ onBytes: (UnsafeRawBufferPointer) -> Void) throws(Failure) {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 1)
    defer {
      if let base = buffer.baseAddress { explicit_bzero(base, buffer.count) }
      buffer.deallocate()
    }
    while let count = read(into: buffer), count > 0 {
      onBytes(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    }
    if let failure { throw failure }
  }

  private var files: [BodyFile] {
    sources.compactMap { if case .file(let file) = $0 { file } else { nil } }
  }

  /// Goes back to the beginning; false when the beginning was not kept.
  func rewind() -> Bool {
    guard isRepeatable else { return false }
    (index, offset, failure) = (0, 0, nil)
    return files.allSatisfy { $0.rewind() }
  }

  /// Reads the next bytes; returns 0 at the end, nil after a failure.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
    do throws(Failure) {
      while index < sources.count {
        let count: Int
        switch sources[index] {
        case .file(let file): count = try file.read(into: buffer)
        case .bytes(let bytes):
          count = bytes.withBytes { all in
            let part = UnsafeRawBufferPointer(rebasing: all.dropFirst(offset).prefix(buffer.count))
            buffer.copyMemory(from: part)
            return part.count
          }
          offset += count
        }
        if count > 0 { return count }
        index += 1
        offset = 0
      }
      return 0
    } catch {
      failure = error
      return nil
    }
  }
}

extension WireRequest {
  /// Whether the body can be sent from its beginning, again or for the first time.
  package var isRepeatable: Bool { uploads.allSatisfy(\.isRepeatable) }

  /// Returns the whole body, with files and pipes read to their ends; nil if there is none or it
  /// consists of parts.
  ///
  /// - Throws: `failed` when a file or pipe cannot be read.
  package func wholeBody() throws(Failure) -> SharedSecret? {
    guard let upload else { return body }
    var bytes = SecretBuilder()
    try upload.readAll { bytes.append($0) }
    return SharedSecret(bytes.secret())
  }

  /// Whether there is a body, even an empty one.
  package var hasBody: Bool { body != nil || upload != nil || !parts.isEmpty }

  /// Whether the body is so long that libcurl first asks the server to accept it, with
  /// `Expect: 100-continue` (RFC 9110, section 10.1.1).
  package var isLong: Bool {
    let lengths = uploads.map(\.length)
    return lengths.contains(nil) || lengths.reduce(0) { $0 &+ ($1 ?? 0) } > 1 << 20
  }

  /// Keeps the bytes read from pipes, for a request that may have to be sent again.
  package func keepBody() { uploads.forEach { $0.keep() } }

  /// All bodies and parts that are read while they are sent.
  var uploads: [StreamedBody] { (upload.map { [$0] } ?? []) + parts.compactMap(\.upload) }

  /// Removes the whole body.
  mutating func removeBody() {
    body = nil
    upload = nil
    parts = []
  }
}
