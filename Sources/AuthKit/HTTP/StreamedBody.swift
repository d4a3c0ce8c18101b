internal import Glibc

/// A body, or a part of one, that is read while it is sent.
package final class StreamedBody {
  /// Where bytes come from.
  package enum Source {
    /// Memory.
    case bytes(SharedSecret)
    /// A file or a pipe.
    case file(BodyFile)
  }

  /// The sources, one behind the other.
  package let sources: [Source]
  /// Bytes in all; none where a pipe has not said it.
  package let length: Int64?
  /// Why reading ended before its time.
  private(set) var failure: Failure?
  private var index = 0
  private var offset = 0

  /// A body of `sources`, one behind the other.
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

  /// Whether all of it can be sent from the beginning, once more or for the first time.
  package var isRepeatable: Bool { files.allSatisfy(\.isRepeatable) }

  /// Keeps what is read of pipes, so that it can be sent once more.
  func keep() {
    for file in files { file.isKept = true }
  }

  /// Hands on all of it, piece by piece.
  ///
  /// - Throws: `failed` when it cannot be read.
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

  /// Back to the beginning; false where that has gone.
  func rewind() -> Bool {
    guard isRepeatable else { return false }
    (index, offset, failure) = (0, 0, nil)
    return files.allSatisfy { $0.rewind() }
  }

  /// The next bytes; 0 at the end, nil after a failure.
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
  /// Whether the body can be sent from its beginning, once more or for the first time.
  package var isRepeatable: Bool { uploads.allSatisfy(\.isRepeatable) }

  /// The bytes of a body that is not of parts, files and pipes read to their ends; nil: there is none.
  ///
  /// - Throws: `failed` when they cannot be read.
  package func wholeBody() throws(Failure) -> SharedSecret? {
    guard let upload else { return body }
    var bytes = SecretBuilder()
    try upload.readAll { bytes.append($0) }
    return SharedSecret(bytes.secret())
  }

  /// Whether there is a body, be it empty.
  package var hasBody: Bool { body != nil || upload != nil || !parts.isEmpty }

  /// Whether it is so long that libcurl asks first, by `Expect: 100-continue`, whether the server
  /// wants it (RFC 9110, section 10.1.1).
  package var isLong: Bool {
    let lengths = uploads.map(\.length)
    return lengths.contains(nil) || lengths.reduce(0) { $0 &+ ($1 ?? 0) } > 1 << 20
  }

  /// Keeps what is read of pipes, for a request that may have to be sent once more.
  package func keepBody() { uploads.forEach { $0.keep() } }

  /// Everything that is read while it is sent.
  var uploads: [StreamedBody] { (upload.map { [$0] } ?? []) + parts.compactMap(\.upload) }

  /// Nothing of the body goes along any more.
  mutating func removeBody() {
    body = nil
    upload = nil
    parts = []
  }
}
