import Foundation
import Synchronization

/// A second listener for responses that no HTTP library would send: it answers every connection
/// with the bytes of the last `POST /raw` and records the requests. As another origin, it also
/// shows what a client sends after a redirect.
final class RawListener: Sendable {
  private struct State {
    var answer = RawListener.plainAnswer
    var close = true
    var reset = false
    var seen: [Data] = []
  }

  private static let plainAnswer = Data(
    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 3\r\nConnection: close\r\n\r\nraw"
      .utf8)
  private let state = Mutex(State())
  let port: UInt16

  init(port: UInt16) throws {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var yes: Int32 = 1
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, 4)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let bound = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, size) == 0 && listen(listener, 512) == 0
          && getsockname(listener, $0, &size) == 0
      }
    }
    guard bound else {
      throw Options.Misuse(description: "cannot listen on port \(port): errno \(errno)")
    }
    self.port = UInt16(bigEndian: address.sin_port)
    Thread.detachNewThread { [self] in
      while true {
        let client = accept(listener, nil, nil)
        if client >= 0 { Thread.detachNewThread { [self] in serve(client) } }
      }
    }
  }

  var seen: [Data] { state.withLock { $0.seen } }

  /// - Parameters:
  ///   - close: whether to end the connection after the bytes; otherwise it stays open and silent.
  ///   - reset: whether to end it by a TCP reset.
  func answer(with bytes: Data, close: Bool, reset: Bool) {
    state.withLock { ($0.answer, $0.close, $0.reset) = (bytes, close, reset) }
  }

  func reset() { state.withLock { $0 = State() } }

  private func serve(_ client: Int32) {
    let request = readRequest(client)
    let (answer, ends, resets) = state.withLock {
      $0.seen.append(request)
      return ($0.answer, $0.close, $0.reset)
    }
    var rest = answer[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes {
        send(client, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      if count <= 0 { break }
      rest = rest.dropFirst(count)
    }
    if resets {
      var linger = linger(l_onoff: 1, l_linger: 0)
      setsockopt(
        client, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
    } else {
      if ends { shutdown(client, Int32(SHUT_WR)) }
      // Closing with unread bytes would reset the connection and lose the response.
      while let more = readSome(client, timeout: ends ? 1000 : -1), !more.isEmpty {}
    }
    close(client)
  }

  /// One whole request, or the bytes received if no more come for two seconds.
  private func readRequest(_ client: Int32) -> Data {
    var request = Data()
    while !isWhole(request), let more = readSome(client, timeout: 2000), !more.isEmpty {
      request += more
    }
    return request
  }

  /// Returns nil on timeout (milliseconds; -1: none) and no bytes if the peer has finished.
  private func readSome(_ client: Int32, timeout: Int32) -> Data? {
    var waiting = pollfd(fd: client, events: Int16(POLLIN), revents: 0)
    guard poll(&waiting, 1, timeout) > 0 else { return nil }
    var buffer = [UInt8](repeating: 0, count: 65536)
    let count = recv(client, &buffer, buffer.count, 0)
    return Data(buffer.prefix(max(0, count)))
  }

  private func isWhole(_ request: Data) -> Bool {
    guard let end = request.range(of: Data("\r\n\r\n".utf8)) else { return false }
    let head = String(decoding: request[..<end.lowerBound], as: UTF8.self).lowercased()
    if head.contains("transfer-encoding:") {
      return request.suffix(5) == Data("0\r\n\r\n".utf8)
    }
    let length = head.components(separatedBy: "\r\n").first { $0.hasPrefix("content-length:") }
    let wanted = length.flatMap { Int($0.dropFirst(15).trimmingCharacters(in: .whitespaces)) } ?? 0
    return request.distance(from: end.upperBound, to: request.endIndex) >= wanted
  }
}
