import FlyingFox
import FlyingSocks
import Foundation

/// A body whose content, length and speed a test chooses.
struct ScriptedBody: AsyncBufferedSequence {
  typealias Element = UInt8

  /// The bytes to repeat.
  var pattern: [UInt8]
  /// How many bytes to send in total; nil: no end.
  var length: Int?
  /// The Content-Length; nil: chunked.
  var announced: Int?
  /// Seconds before each byte; nil: full speed.
  var drip: Double?

  var sequence: HTTPBodySequence {
    let size = drip == nil ? 64 * 1024 : 1
    return if let announced {
      HTTPBodySequence(from: self, count: announced, suggestedBufferSize: size)
    } else {
      HTTPBodySequence(from: self, suggestedBufferSize: size)
    }
  }

  func makeAsyncIterator() -> Iterator { Iterator(body: self) }

  struct Iterator: AsyncBufferedIteratorProtocol {
    let body: ScriptedBody
    /// The pattern, repeated so that large pieces can be cut from it.
    let repeated: [UInt8]
    var sent = 0

    init(body: ScriptedBody) {
      self.body = body
      let times = 128 * 1024 / Swift.max(1, body.pattern.count) + 1
      repeated = Array(repeatElement(body.pattern, count: times).joined())
    }

    mutating func next() async throws -> UInt8? { try await nextBuffer(suggested: 1)?.first }

    mutating func nextBuffer(suggested count: Int) async throws -> [UInt8]? {
      let left = (body.length ?? .max) - sent
      guard left > 0, !body.pattern.isEmpty else {
        // The body is shorter than its Content-Length: FlyingFox hangs up only on an error.
        if let announced = body.announced, sent < announced { throw CutOff() }
        return nil
      }
      if let drip = body.drip { try await Task.sleep(for: .seconds(drip)) }
      let start = sent % body.pattern.count
      let piece = repeated[start..<Swift.min(start + Swift.min(count, left), repeated.count)]
      sent &+= piece.count
      return Array(piece)
    }
  }

  struct CutOff: Error {}
}

/// gzip (RFC 1952) with stored blocks: clients must only be able to unpack it.
func gzip(_ data: Data) -> Data {
  func littleEndian(_ number: some FixedWidthInteger) -> Data {
    withUnsafeBytes(of: number.littleEndian) { Data($0) }
  }
  var out = Data([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255])
  var rest = data
  repeat {
    let block = rest.prefix(0xFFFF)
    rest = rest.dropFirst(block.count)
    let size = UInt16(block.count)
    out += [rest.isEmpty ? 1 : 0] + littleEndian(size) + littleEndian(~size) + block
  } while !rest.isEmpty
  return out + littleEndian(crc32(data)) + littleEndian(UInt32(truncatingIfNeeded: data.count))
}

private func crc32(_ data: Data) -> UInt32 {
  var crc = UInt32.max
  for byte in data {
    crc ^= UInt32(byte)
    for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
  }
  return ~crc
}
