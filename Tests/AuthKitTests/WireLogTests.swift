import Testing

@testable import AuthKit

/// The output of `-v` and `--trace` for a transfer (rule B3).
struct WireLogTests {
  private static let secret = "s3cret/token+of=16"

  /// Collects everything written by the log and the trace.
  private final class Told {
    var lines: [String] = []
    var bytes: [UInt8] = []
    var text: String { String(decoding: bytes, as: UTF8.self) }
    private let redactor = Redactor()

    func log(secretHeaders: Set<String> = [], traces: Bool = true) -> WireLog {
      redactor.learn(WireLogTests.secret)
      let sink = TraceSink(redactor) { self.bytes += $0 }
      return WireLog(
        secretHeaders: secretHeaders,
        log: {
          self.lines.append($0)
          if traces { sink.line($0) }
        }, trace: traces ? sink : nil)
    }
  }

  private func bytes(_ text: String, _ body: (UnsafeRawBufferPointer) -> Void) {
    Array(text.utf8).withUnsafeBytes(body)
  }

  @Test(arguments: 1...40) func headInPieces(_ size: Int) {
    let told = Told()
    let log = told.log(secretHeaders: ["x-key"])
    let head = """
      POST /x?token=abc&y=1 HTTP/1.1\r
      Host: h\r
      Authorization: Bearer abc\r
      X-KEY:  abc \r
      Referer: http://h/?code=abc\r
      X-Plain: a:b\r
      \r

      """
    let all = Array(head.utf8)
    for start in stride(from: 0, to: all.count, by: size) {
      bytes(String(decoding: all[start..<min(start + size, all.count)], as: UTF8.self)) {
        log.sent(head: $0)
      }
    }
    #expect(
      told.lines == [
        "> POST /x?token=***&y=1 HTTP/1.1", "> Host: h", "> Authorization: ***", "> X-KEY: ***",
        "> Referer: http://h/?code=***", "> X-Plain: a:b",
      ])
    #expect(told.text == told.lines.map { $0 + "\n" }.joined())
  }

  /// A secret that is split at any byte is found, even across chunk boundaries.
  @Test func bodiesInPieces() {
    let body = "{\"a\":\"\(Self.secret)\"}"
    for cut in 1..<body.utf8.count {
      for isChunked in [false, true] {
        let told = Told()
        let log = told.log()
        let pieces = [String(body.prefix(cut)), String(body.dropFirst(cut))]
        if isChunked {
          bytes("PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n") { log.sent(head: $0) }
        }
        told.bytes = []
        for piece in pieces {
          let size = String(piece.utf8.count, radix: 16)
          bytes(isChunked ? "\(size)\r\n\(piece)\r\n" : piece) { log.sent(body: $0) }
        }
        if isChunked { bytes("0\r\n\r\n") { log.sent(body: $0) } }
        for piece in pieces { bytes(piece) { log.received($0) } }
        log.end()
        #expect(told.text == "} {\"a\":\"***\"}\n{ {\"a\":\"***\"}\n")
      }
    }
  }

  /// Lines of a body cannot pass for header lines or move the cursor.
  @Test func bodiesAreLinesOfTheirOwn() {
    let told = Told()
    let log = told.log()
    bytes("< HTTP/1.1 200 OK\n\u{1B}[2J\r\n\nhint: x") { log.received($0) }
    log.remark("done")
    #expect(told.text == "{ < HTTP/1.1 200 OK\n{ ^[[2J\r\n{ \n{ hint: x\n* done\n")
  }

  /// For a sign-in, neither the body nor anything that reveals its length is shown.
  @Test func bodiesOfTheRecipeAreSummedUp() throws {
    let told = Told()
    let log = told.log()
    log.isPrivate = true
    bytes(
      "POST /login HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 23\r\n\r\n"
    ) { log.sent(head: $0) }
    bytes(#"{"email":"a","password"#) { log.sent(body: $0) }
    bytes(#":"me"}"#) { log.sent(body: $0) }
    bytes("HTTP/1.1 200 OK\r\n") { log.received(ResponseHead(statusLine: $0)) }
    bytes(#"{"token":"a"}"#) { log.received($0) }
    log.sumUp(ResponseHead(), Array(#"{"token":"a"}"#.utf8))
    log.end()
    #expect(
      told.text == """
        > POST /login HTTP/1.1
        > Content-Type: application/json
        > Content-Length: ***
        } [json]
        < HTTP/1.1 200 OK
        < [json, 13 bytes: token]

        """)
  }
}
