import Glibc

/// Blocking TCP on loopback addresses, for `Recorder` and the harness's own HTTP requests.
enum Sockets {
  /// A listening socket at "127.0.0.N" or "::1", and its port.
  static func listen(at address: String, port: UInt16) throws -> (socket: Int32, port: UInt16) {
    let (family, length, bytes) = try socketAddress(address, port)
    let socket = Glibc.socket(family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var storage = bytes
    let bound = withSocketAddress(&storage) { bind(socket, $0, length) }
    guard bound == 0, Glibc.listen(socket, 64) == 0 else {
      let code = errno
      close(socket)
      throw HarnessError("cannot listen at \(address):\(port): errno \(code)")
    }
    var size = length
    _ = withSocketAddress(&storage) { getsockname(socket, $0, &size) }
    // sin_port and sin6_port are both at bytes 2 and 3, big-endian.
    let got = withUnsafeBytes(of: &storage) { UInt16($0[2]) << 8 | UInt16($0[3]) }
    return (socket, got)
  }

  static func connect(to address: String, port: UInt16) throws -> Int32 {
    let (family, length, bytes) = try socketAddress(address, port)
    let socket = Glibc.socket(family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var storage = bytes
    guard withSocketAddress(&storage, { Glibc.connect(socket, $0, length) }) == 0 else {
      let code = errno
      close(socket)
      throw HarnessError("cannot connect to \(address):\(port): errno \(code)")
    }
    setReceiveTimeout(socket, seconds: 30)
    return socket
  }

  static func setReceiveTimeout(_ socket: Int32, seconds: Int) {
    var limit = timeval(tv_sec: seconds, tv_usec: 0)
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
  }

  /// Returns false if the peer has closed.
  @discardableResult
  static func send(_ bytes: [UInt8], to socket: Int32) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes {
        Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  /// Received bytes; nil at the end, on an error, and on the socket's timeout.
  static func receive(from socket: Int32) -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: 65536)
    let count = recv(socket, &buffer, buffer.count, 0)
    return count > 0 ? Array(buffer[..<count]) : nil
  }

  private static func socketAddress(
    _ text: String, _ port: UInt16
  ) throws -> (family: Int32, length: socklen_t, storage: sockaddr_storage) {
    var storage = sockaddr_storage()
    let isSix = text.utf8.contains(UInt8(ascii: ":"))
    let code = withUnsafeMutablePointer(to: &storage) { pointer in
      if isSix {
        pointer.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
          $0.pointee.sin6_family = sa_family_t(AF_INET6)
          $0.pointee.sin6_port = port.bigEndian
          return inet_pton(AF_INET6, text, &$0.pointee.sin6_addr)
        }
      } else {
        pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
          $0.pointee.sin_family = sa_family_t(AF_INET)
          $0.pointee.sin_port = port.bigEndian
          return inet_pton(AF_INET, text, &$0.pointee.sin_addr)
        }
      }
    }
    guard code == 1 else { throw HarnessError("not an IP address: \(text)") }
    return isSix
      ? (AF_INET6, socklen_t(MemoryLayout<sockaddr_in6>.size), storage)
      : (AF_INET, socklen_t(MemoryLayout<sockaddr_in>.size), storage)
  }

  private static func withSocketAddress<R>(
    _ storage: inout sockaddr_storage, _ body: (UnsafeMutablePointer<sockaddr>) -> R
  ) -> R {
    withUnsafeMutablePointer(to: &storage) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0) }
    }
  }
}
