import Glibc
import Synchronization

/// A raw TCP listener that records every byte of every connection, to check which origin received
/// what. It reads one HTTP request (head, and a body by Content-Length or chunked), answers with
/// given bytes, closes its side, and keeps recording until the peer closes too.
final class Recorder: Sendable {
  enum Answer: Sendable {
    /// Send these bytes, then close.
    case bytes([UInt8])
    /// Send nothing, close.
    case close
    /// Send nothing and keep the connection open until the recorder or the peer closes it.
    case hang
    /// Send these bytes and keep the connection open: a response that never ends.
    case bytesThenHang([UInt8])
    /// Send these bytes, if any, then reset the connection (RST).
    case reset([UInt8])
  }
  /// The answer to connection `index` (from 0) that sent `request`.
  typealias Answering = @Sendable (_ index: Int, _ request: [UInt8]) -> Answer

  let address: String
  let port: UInt16
  /// As in a URL: `127.0.0.2:8080`, `[::1]:8080`.
  var authority: String {
    (address.utf8.contains(UInt8(ascii: ":")) ? "[\(address)]" : address) + ":\(port)"
  }
  var url: String { "http://" + authority }

  private struct State {
    var connections: [[UInt8]] = []
    var open: Set<Int32> = []
    var closed = false
  }
  private let listener: Int32
  private let state = Mutex(State())

  /// Use `Sandbox.recorder(at:port:answering:)`, which also closes it.
  init(at address: String, port: UInt16, answering: @escaping Answering) throws {
    self.address = address
    (listener, self.port) = try Sockets.listen(at: address, port: port)
    startThread { self.accept(answering) }
  }

  /// The bytes of each connection, in the order of acceptance. A connection is counted once it is
  /// accepted, even if it sends nothing.
  var connections: [[UInt8]] { state.withLock { $0.connections } }
  /// `connections` as text.
  var texts: [String] { connections.map { String(decoding: $0, as: UTF8.self) } }
  /// All bytes of all connections.
  var bytes: [UInt8] { connections.flatMap { $0 } }

  /// `200 OK` with an empty JSON object.
  static let ok: Answering = { _, _ in .http(200, "{}") }

  /// Gives these answers in turn, and then the last one for all further connections.
  static func list(_ answers: Answer...) -> Answering {
    { index, _ in answers.isEmpty ? .close : answers[min(index, answers.count - 1)] }
  }

  func close() {
    state.withLock { state in
      guard !state.closed else { return }
      state.closed = true
      shutdown(listener, Int32(SHUT_RDWR))
      for socket in state.open { shutdown(socket, Int32(SHUT_RDWR)) }
    }
  }

  private func accept(_ answering: @escaping Answering) {
    while true {
      let socket = GNU.accept4(listener, nil, nil, Int32(SOCK_CLOEXEC.rawValue))
      if socket < 0 && (errno == EINTR || errno == ECONNABORTED) { continue }
      let index: Int? = state.withLock { state in
        guard socket >= 0, !state.closed else { return nil }
        state.connections.append([])
        state.open.insert(socket)
        return state.connections.count - 1
      }
      guard let index else {
        if socket >= 0 { Glibc.close(socket) }
        Glibc.close(listener)
        return
      }
      startThread { self.serve(socket, index, answering) }
    }
  }

  private func serve(_ socket: Int32, _ index: Int, _ answering: Answering) {
    func take() -> [UInt8]? {
      guard let piece = Sockets.receive(from: socket) else { return nil }
      state.withLock { $0.connections[index] += piece }
      return piece
    }
    var request: [UInt8] = []
    var isOpen = true
    while isOpen, !HTTPMessage.isWhole(request) {
      if let piece = take() { request += piece } else { isOpen = false }
    }
    var resets = false
    if !request.isEmpty {
      switch answering(index, request) {
      case .bytes(let bytes):
        Sockets.send(bytes, to: socket)
        shutdown(socket, Int32(SHUT_WR))
      case .close: shutdown(socket, Int32(SHUT_WR))
      case .hang: break
      case .bytesThenHang(let bytes): Sockets.send(bytes, to: socket)
      case .reset(let bytes):
        Sockets.send(bytes, to: socket)
        resets = true
      }
    }
    if resets {
      var linger = Glibc.linger(l_onoff: 1, l_linger: 0)
      setsockopt(socket, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<linger>.size))
    } else {
      while isOpen { isOpen = take() != nil }
    }
    state.withLock { state in
      state.open.remove(socket)
      Glibc.close(socket)
    }
  }
}

extension Recorder.Answer {
  /// An HTTP/1.1 response with Content-Length and `Connection: close`.
  static func http(
    _ status: Int, _ body: String = "", type: String = "application/json",
    headers: [(String, String)] = []
  ) -> Recorder.Answer {
    var head = "HTTP/1.1 \(status) Recorded\r\nContent-Type: \(type)\r\n"
    for (name, value) in headers { head += "\(name): \(value)\r\n" }
    head += "Content-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n"
    return .bytes(Array((head + body).utf8))
  }

  /// A redirect to `location`.
  static func redirect(_ status: Int = 302, to location: String) -> Recorder.Answer {
    .http(status, "", headers: [("Location", location)])
  }
}

/// The part of HTTP/1.1 that the harness must understand.
enum HTTPMessage {
  /// Whether head and body are complete (a message without a length has no body).
  static func isWhole(_ bytes: [UInt8]) -> Bool {
    guard let end = find(Array("\r\n\r\n".utf8), in: bytes) else { return false }
    let body = bytes[(end + 4)...]
    for line in bytes[..<end].split(separator: 10) {
      let text = String(decoding: line.filter { $0 != 13 }, as: UTF8.self).lowercased()
      if text.hasPrefix("transfer-encoding:"), text.hasSuffix("chunked") {
        return find(Array("0\r\n\r\n".utf8), in: Array(body)) != nil
      }
      if text.hasPrefix("content-length:") {
        let digits = text.utf8.filter { (48...57).contains($0) }
        return body.count >= Int(String(decoding: digits, as: UTF8.self)) ?? 0
      }
    }
    return true
  }
}

extension Sandbox {
  /// Starts recorders at several addresses on one port. A port that is free at the first address may
  /// be taken at another: then a new one is tried.
  func recorders(
    at addresses: [String], answering answer: @escaping Recorder.Answering = Recorder.ok
  ) throws -> [Recorder] {
    for attempt in 1... {
      let first = try recorder(at: addresses[0], answering: answer)
      do {
        return [first]
          + (try addresses.dropFirst().map {
            try recorder(at: $0, port: first.port, answering: answer)
          })
      } catch {
        if attempt == 20 { throw error }
      }
    }
    return []
  }
}
