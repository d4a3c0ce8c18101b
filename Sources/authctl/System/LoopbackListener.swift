internal import AuthKit
internal import Glibc

/// The listener that a browser comes back to after a sign-in (RFC 8252, section 7.3; rule A14).
///
/// It listens on this machine only, and until it is released: a port that is free for a moment could
/// be taken over by another user, who would get the answer. Whatever is not the expected answer gets
/// 404 or 403, and the wait goes on.
final class LoopbackListener {
  /// `127.0.0.1:PORT`, as the browser sends it in its Host header.
  let authority: String
  private var listeners: [Int32] = []
  private var connections: [Connection] = []

  /// Other programs must not block the browser.
  private static let mostConnections = 16
  private static let mostBytes = 8192
  private static let seconds: Double = 5

  private struct Connection {
    var descriptor: Int32
    var head: [UInt8] = []
    var isForbidden: Bool
    var isAnswered = false
    var deadline: Double
  }

  /// What becomes of a request for the expected path.
  enum Verdict {
    /// It is the answer: the person sees the closing page.
    case accepted
    /// It is not: 404.
    case ignored
  }

  /// Listens on `host` (`127.0.0.1`, `[::1]`, or `localhost` for both) and `port`, 0 for any.
  ///
  /// - Throws: `failed` when the port is taken.
  init(host: String, port: UInt16) throws(Failure) {
    var bound = port
    if host != "[::1]" {
      guard let first = Self.listen(AF_INET, &bound) else { throw Self.taken(host, port) }
      listeners.append(first)
    }
    if host != "127.0.0.1" {
      // For `localhost` browsers try both: where nobody can listen on ::1, nobody needs to.
      if let second = Self.listen(AF_INET6, &bound) {
        listeners.append(second)
      } else if host == "[::1]" || errno == EADDRINUSE {
        listeners.forEach { close($0) }
        throw Self.taken(host, port)
      }
    }
    authority = "\(host):\(bound)"
  }

  deinit {
    listeners.forEach { close($0) }
    for connection in connections { Self.drop(connection) }
  }

  /// Closes a connection without a wait in the kernel (TIME_WAIT): the port must be free for the
  /// next sign-in, and only this side may be made to wait for it.
  private static func drop(_ connection: Connection) {
    var now = linger(l_onoff: 1, l_linger: 0)
    setsockopt(
      connection.descriptor, SOL_SOCKET, SO_LINGER, &now, socklen_t(MemoryLayout<linger>.size))
    close(connection.descriptor)
  }

  private static func taken(_ host: String, _ port: UInt16) -> Failure {
    Failure(
      .failed,
      "cannot listen on \(host):\(port) for the browser (\(String(cString: strerror(errno))))",
      hint: "--no-browser needs no port")
  }

  /// Without SO_REUSEADDR and SO_REUSEPORT: nobody else may share the port, and no earlier
  /// connection to it may still be open.
  private static func listen(_ family: Int32, _ port: inout UInt16) -> Int32? {
    let type =
      Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
      | Int32(SOCK_NONBLOCK.rawValue)
    let descriptor = socket(family, type, 0)
    guard descriptor >= 0 else { return nil }
    var storage = sockaddr_storage()
    var length: socklen_t
    if family == AF_INET {
      length = socklen_t(MemoryLayout<sockaddr_in>.size)
    } else {
      length = socklen_t(MemoryLayout<sockaddr_in6>.size)
      var yes: Int32 = 1
      setsockopt(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &yes, 4)
    }
    let isBound = withUnsafeMutableBytes(of: &storage) { bytes -> Bool in
      guard let base = bytes.baseAddress else { return false }
      if family == AF_INET {
        let address = base.assumingMemoryBound(to: sockaddr_in.self)
        address.pointee.sin_family = sa_family_t(AF_INET)
        address.pointee.sin_port = port.bigEndian
        address.pointee.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      } else {
        let address = base.assumingMemoryBound(to: sockaddr_in6.self)
        address.pointee.sin6_family = sa_family_t(AF_INET6)
        address.pointee.sin6_port = port.bigEndian
        address.pointee.sin6_addr = in6addr_loopback
      }
      let address = base.assumingMemoryBound(to: sockaddr.self)
      guard bind(descriptor, address, length) == 0, Glibc.listen(descriptor, 16) == 0,
        getsockname(descriptor, address, &length) == 0
      else { return false }
      // The port lies at the same place in both kinds of address.
      port = base.load(fromByteOffset: 2, as: UInt16.self).bigEndian
      return true
    }
    if isBound { return descriptor }
    let code = errno
    close(descriptor)
    errno = code
    return nil
  }

  // MARK: - Waiting

  /// Serves requests until one to `path` is accepted.
  ///
  /// - Parameters:
  ///   - seconds: the time limit.
  ///   - judge: gets the query of a request for `path`.
  /// - Throws: what `judge` throws, after the browser has been told; `timeout`.
  func wait(
    path: String, seconds: Double, judge: (_ query: String) throws(Failure) -> Verdict
  ) throws(Failure) {
    let end = Clock.uptime() + seconds
    while true {
      let now = Clock.uptime()
      guard now < end else {
        throw Failure(
          .timeout, "nobody signed in within \(Timestamp.spoken(seconds))",
          hint: "if the browser shows an error page, it says what is wrong with the request")
      }
      drop { $0.deadline <= now }
      var waiting = (listeners + connections.map(\.descriptor)).map {
        pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
      }
      let next = connections.map(\.deadline).min().map { min($0, end) } ?? end
      poll(&waiting, nfds_t(waiting.count), Int32(max(1, min(60000, (next - now) * 1000))))
      for index in listeners.indices where waiting[index].revents != 0 { accept(listeners[index]) }
      let ready = waiting.dropFirst(listeners.count).filter { $0.revents != 0 }.map(\.fd)
      for descriptor in ready where try serve(descriptor, path, judge) { return }
    }
  }

  private func drop(_ isOver: (Connection) -> Bool) {
    for connection in connections where isOver(connection) { Self.drop(connection) }
    connections.removeAll(where: isOver)
  }

  private func accept(_ listener: Int32) {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let descriptor = withUnsafeMutablePointer(to: &storage) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        Glibc.accept(listener, address, &length)
      }
    }
    guard descriptor >= 0 else { return }
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    guard connections.count < Self.mostConnections else {
      close(descriptor)
      return
    }
    let port = withUnsafeBytes(of: storage) {
      $0.load(fromByteOffset: 2, as: UInt16.self).bigEndian
    }
    connections.append(
      Connection(
        descriptor: descriptor,
        isForbidden: PeerUser.isForeign(port: port, isIPv6: Int32(storage.ss_family) == AF_INET6),
        deadline: Clock.uptime() + Self.seconds))
  }

  /// Reads what has arrived on a connection; returns whether it was the answer.
  private func serve(
    _ descriptor: Int32, _ path: String, _ judge: (String) throws(Failure) -> Verdict
  ) throws(Failure) -> Bool {
    guard let index = connections.firstIndex(where: { $0.descriptor == descriptor }) else {
      return false
    }
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    if count < 0, errno == EAGAIN || errno == EINTR { return false }
    guard count > 0, connections[index].head.count + count <= Self.mostBytes else {
      drop { $0.descriptor == descriptor }
      return false
    }
    connections[index].head += buffer[..<count]
    guard !connections[index].isAnswered, let request = BrowserRequest(connections[index].head)
    else { return false }
    // The browser has all of the page by its length, and closes.
    connections[index].isAnswered = true
    if connections[index].isForbidden {
      Self.reply(403, "This sign-in belongs to another user.", to: descriptor)
      return false
    }
    guard request.isGet, request.host == authority, request.path == path else {
      Self.reply(404, "There is nothing here.", to: descriptor)
      return false
    }
    do throws(Failure) {
      switch try judge(request.query) {
      case .accepted:
        Self.reply(200, "You can close this page and go back to the terminal.", to: descriptor)
        return true
      case .ignored:
        Self.reply(404, "This is not the answer to the sign-in that is waiting.", to: descriptor)
        return false
      }
    } catch {
      Self.reply(400, "The sign-in failed. The terminal says why.", to: descriptor)
      throw error
    }
  }

  /// Sends a page that holds nothing of the request, and that no cache and no script gets at.
  private static func reply(_ status: Int, _ text: String, to descriptor: Int32) {
    let body = "<!DOCTYPE html><title>authctl</title><p>\(text)</p>\n"
    let page = """
      HTTP/1.1 \(status) \(status == 200 ? "OK" : "Refused")\r
      Content-Type: text/html; charset=utf-8\r
      Content-Length: \(body.utf8.count)\r
      Cache-Control: no-store\r
      Referrer-Policy: no-referrer\r
      Content-Security-Policy: default-src 'none'\r
      Connection: close\r
      \r
      \(body)
      """
    let bytes = Array(page.utf8)
    _ = send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
  }
}

/// The head of a browser's request.
struct BrowserRequest {
  let isGet: Bool
  /// The Host header; nil unless there is exactly one.
  let host: String?
  let path: String
  let query: String

  /// Reads a head; nil until it is complete. One that is no request is for no path.
  init?(_ bytes: [UInt8]) {
    let lines = bytes.split(
      separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false
    ).map { $0.last == UInt8(ascii: "\r") ? $0.dropLast() : $0 }
    guard let end = lines.dropLast().firstIndex(where: \.isEmpty), end > 0 else { return nil }
    let words = lines[0].split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
      .map { String(decoding: $0, as: UTF8.self) }
    isGet = words.count == 3 && words[0] == "GET"
    let target = (words.count == 3 ? words[1] : "").utf8.split(
      separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false)
    path = target.first.map { String(decoding: $0, as: UTF8.self) } ?? ""
    query = target.count > 1 ? String(decoding: target[1], as: UTF8.self) : ""
    let hosts = lines[1..<end].compactMap { line -> String? in
      let parts = line.split(separator: UInt8(ascii: ":"), maxSplits: 1)
      guard parts.count == 2,
        String(decoding: parts[0], as: UTF8.self).equalsIgnoringCase("Host")
      else { return nil }
      return String(decoding: parts[1], as: UTF8.self).trimmingSpaces
    }
    host = hosts.count == 1 ? hosts[0] : nil
  }
}

/// Who is at the other end of a connection on this machine, by the kernel's tables
/// (https://www.kernel.org/doc/Documentation/networking/proc_net_tcp.txt).
enum PeerUser {
  /// The user that stands for those of other namespaces.
  private static let overflow: UInt32 = 65534

  /// Whether the socket of `port` on this machine certainly belongs to another user, root excepted.
  static func isForeign(port: UInt16, isIPv6: Bool) -> Bool {
    let file = isIPv6 ? "/proc/net/tcp6" : "/proc/net/tcp"
    let address = isIPv6 ? "00000000000000000000000001000000" : "0100007F"
    let digits = String(port, radix: 16, uppercase: true)
    let wanted = "\(address):" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
    let descriptor = open(file, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    guard let table = try? Descriptor.contents(descriptor, limit: 1 << 24) else { return false }
    let lines = table.withBytes { $0.split(separator: UInt8(ascii: "\n")).map { Array($0) } }
    for line in lines {
      let fields = line.split(separator: UInt8(ascii: " "))
      guard fields.count > 7, fields[1].elementsEqual(wanted.utf8),
        let user = UInt32(String(decoding: fields[7], as: UTF8.self))
      else { continue }
      return user != geteuid() && user != 0 && user != overflow
    }
    return false
  }
}
