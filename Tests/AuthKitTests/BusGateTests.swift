import Glibc
import Testing

@testable import AuthKit

/// The authentication at a bus; its messages, in pieces of any size, are measured before they are
/// admitted.
@Suite struct BusGateTests {
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
    var gauge = BusGauge(message: limit)
    var rest = bytes[...]
    while !rest.isEmpty {
      let piece = Array(rest.prefix(pieces))
      rest = rest.dropFirst(pieces)
      if !piece.withUnsafeBytes({ gauge.admits($0) }) { return false }
    }
    return true
  }

  @Test(arguments: [1, 2, 7, 16, 17, 100_000], [true, false])
  func messagesAreMeasuredOneByOne(pieces: Int, littleEndian: Bool) {
    let fits = message(fields: 13, body: 968, littleEndian: littleEndian)
    #expect(fits.count == 1000)
    let large = message(fields: 13, body: 969, littleEndian: littleEndian)
    let empty = message(fields: 0, body: 0, littleEndian: littleEndian)
    #expect(admits(fits + empty + fits, pieces: pieces))
    #expect(!admits(fits + empty + large, pieces: pieces))
    // The header is enough to refuse it, even if nothing follows.
    #expect(!admits(Array(large.prefix(16)), pieces: pieces))
  }

  @Test(arguments: [true, false])
  func lengthsThatNoMessageHas(littleEndian: Bool) {
    for at in [4, 12] {
      var header = message(fields: 0, body: 0, littleEndian: littleEndian)
      for index in at..<at + 4 { header[index] = 0xFF }
      #expect(!admits(header, pieces: 16, limit: 1 << 20))
    }
  }

  /// What is sent to a bus that answers with `answer` and closes, and the reason of a refusal.
  private func greet(_ answer: String) throws -> (sent: String, refusal: String?) {
    var pair: [Int32] = [-1, -1]
    try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
    defer { for end in pair { close(end) } }
    try #require(write(pair[1], answer, answer.utf8.count) == answer.utf8.count)
    shutdown(pair[1], Int32(SHUT_WR))
    let refusal = BusGreeting.refusal(of: pair[0])
    var sent = [UInt8](repeating: 0, count: 100)
    let count = read(pair[1], &sent, sent.count)
    return (String(decoding: sent[..<max(0, count)], as: UTF8.self), refusal)
  }

  @Test(
    arguments: [
      ("OK 0123456789abcdef\r\n", nil),
      ("REJECTED EXTERNAL\r\n", "it refused the authentication"),
      ("ERROR \"no\"\r\n", "it refused the authentication"),
      ("OK", "it closed the connection"), ("", "it closed the connection"),
      (String(repeating: "O", count: 5000), "its answer is too long"),
      // A message that nobody has asked for.
      ("OK 0123456789abcdef\r\nl\u{2}", "it closed the connection"),
    ] as [(String, String?)])
  func greeting(_ answer: String, _ reason: String?) throws {
    let (sent, refusal) = try greet(answer)
    let user = String(geteuid()).utf8.map { "3" + String(decoding: [$0], as: UTF8.self) }.joined()
    #expect(sent == "\0AUTH EXTERNAL \(user)\r\nBEGIN\r\n")
    #expect(refusal == reason)
  }

  @Test func greetingOfABusThatIsGone() throws {
    var pair: [Int32] = [-1, -1]
    try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
    defer { close(pair[0]) }
    close(pair[1])
    #expect(BusGreeting.refusal(of: pair[0]) == "broken pipe")
  }
}
