import Testing

@testable import AuthKit

/// Messages from a bus, in pieces of any size, are measured before they are admitted.
@Suite struct BusGateTests {
  private static let greeting = Array("OK 0123456789abcdef\r\nAGREE_UNIX_FD\r\n".utf8)

  /// A message of `fields` and `body` bytes, padded as on the wire.
  private func message(fields: Int, body: Int, littleEndian: Bool = true) -> [UInt8] {
    func number(_ value: Int) -> [UInt8] {
      let bytes = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
      return littleEndian ? bytes.reversed() : bytes
    }
    let start: [UInt8] = [UInt8(ascii: littleEndian ? "l" : "B"), 2, 0, 1]
    let rest = [UInt8](repeating: 0x42, count: (fields + 7) / 8 * 8 + body)
    return start + number(body) + number(1) + number(fields) + rest
  }

  private func admits(_ bytes: [UInt8], pieces: Int, limit: Int = 1000) -> Bool {
    var gauge = BusGauge(message: limit, greeting: 64)
    var rest = bytes[...]
    while !rest.isEmpty {
      let piece = Array(rest.prefix(pieces))
      rest = rest.dropFirst(pieces)
      if !piece.withUnsafeBytes({ gauge.admits($0) }) { return false }
    }
    return !gauge.isTooLarge
  }

  @Test(arguments: [1, 2, 7, 16, 17, 100_000], [true, false])
  func messagesAreMeasuredOneByOne(pieces: Int, littleEndian: Bool) {
    let fits = message(fields: 13, body: 968, littleEndian: littleEndian)
    #expect(fits.count == 1000)
    let large = message(fields: 13, body: 969, littleEndian: littleEndian)
    let empty = message(fields: 0, body: 0, littleEndian: littleEndian)
    #expect(admits(Self.greeting + fits + empty + fits, pieces: pieces))
    #expect(!admits(Self.greeting + fits + empty + large, pieces: pieces))
    // The header is enough to refuse it, even if nothing follows.
    #expect(!admits(Self.greeting + large.prefix(16), pieces: pieces))
  }

  @Test(arguments: [true, false])
  func lengthsThatNoMessageHas(littleEndian: Bool) {
    for at in [4, 12] {
      var header = message(fields: 0, body: 0, littleEndian: littleEndian)
      for index in at..<at + 4 { header[index] = 0xFF }
      #expect(!admits(Self.greeting + header, pieces: 16, limit: 1 << 20))
    }
  }

  @Test func greetingHasAnEnd() {
    #expect(admits(Self.greeting, pieces: 1))
    #expect(!admits(Array(repeating: 0x41, count: 65), pieces: 5))
    #expect(!admits(Array(repeating: 0x0A, count: 65), pieces: 65))
  }
}
