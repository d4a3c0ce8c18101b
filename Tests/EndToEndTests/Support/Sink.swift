import Glibc
import Synchronization

/// A server that counts a long body without storing it, and answers `200 OK` with the number.
final class Sink: Sendable {
  let port: UInt16
  var url: String { "http://127.0.0.1:\(port)" }
  private let listener: Int32

  /// - Parameter atEnd: called with the number of bytes before the response is sent.
  init(atEnd: @escaping @Sendable (Int) -> Void) throws {
    (listener, port) = try Sockets.listen(at: "127.0.0.1", port: 0)
    let listener = listener
    startThread {
      while true {
        let socket = GNU.accept4(listener, nil, nil, Int32(SOCK_CLOEXEC.rawValue))
        guard socket >= 0 else { break }
        startThread { Self.serve(socket, atEnd) }
      }
      Glibc.close(listener)
    }
  }

  func close() { shutdown(listener, Int32(SHUT_RDWR)) }

  private static func serve(_ socket: Int32, _ atEnd: (Int) -> Void) {
    defer { Glibc.close(socket) }
    Sockets.setReceiveTimeout(socket, seconds: 30)
    var head: [UInt8] = []
    let end = Array("\r\n\r\n".utf8)
    while find(end, in: head) == nil {
      guard let piece = Sockets.receive(from: socket) else { return }
      head += piece
    }
    let text = String(decoding: head, as: UTF8.self).lowercased()
    if text.contains("expect: 100-continue") {
      Sockets.send(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8), to: socket)
    }
    var count = head.count - (find(end, in: head) ?? 0) - 4
    // A chunked body is counted with its framing: only the end matters.
    let isChunked = text.contains("transfer-encoding: chunked")
    let wanted =
      text.split(separator: "\r\n").first { $0.hasPrefix("content-length:") }
      .flatMap { Int($0.dropFirst(15).filter(\.isNumber)) } ?? 0
    var tail = Array(head.suffix(5))
    while isChunked ? tail != Array("0\r\n\r\n".utf8) : count < wanted {
      guard let piece = Sockets.receive(from: socket) else { return }
      count += piece.count
      tail = Array((tail + piece.suffix(5)).suffix(5))
    }
    atEnd(count)
    Sockets.send(
      Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".utf8), to: socket)
  }
}
