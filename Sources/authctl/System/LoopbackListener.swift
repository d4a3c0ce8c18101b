internal import AuthKit
internal import Glibc

/// The listener that a browser comes back to after a sign-in (RFC 8252, section 7.3; rule A14).
///
/// It holds its port on this machine until it is released: a port that is free for a moment could be
/// taken over by another user, who would get the answer. Until `listen`, connections are refused:
/// where the address is pasted, a browser says at once that it cannot connect, and shows it.
/// Whatever is not the expected answer gets 404 or 403, and the wait goes on.
final class LoopbackListener {
  /// `127.0.0.1:PORT`, as the browser sends it in its Host header.
  let authority: String
  private let port: UInt16
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

    /// Whether nothing more is expected of it: it makes room for another.
    var isOver: Bool { isForbidden || isAnswered }
  }

  /// What becomes of a request for the expected path.
  enum Verdict {
    /// It is the answer: the person sees the closing page.
    case accepted
    /// It is not: 404.
    case ignored
  }

  /// Takes the port: on `host` (`127.0.0.1`, `[::1]`, or `localhost` for both) and `port`, 0 for any.
  ///
  /// - Throws: `failed` when the port is taken.
  init(host: String, port: UInt16) throws(Failure) {
    var bound = port
    if host != "[::1]" {
      guard let first = Self.bind(AF_INET, &bound) else { throw Self.taken(host, port) }
      listeners.append(first)
    }
    if host != "127.0.0.1" {
      // For `localhost` browsers try both: where nobody can listen on ::1, nobody needs to.
      if let second = Self.bind(AF_INET6, &bound) {
        listeners.append(second)
      } else if host == "[::1]" || errno == EADDRINUSE {
        listeners.forEach { close($0) }
        throw Self.taken(host, port)
      }
    }
    authority = "\(host):\(bound)"
    self.port = bound
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
      "cannot listen on \(host):\(port) for the browser (\(SystemError(errno).reason))",
      hint: "use --no-browser to sign in without a port")
  }

  /// Without SO_REUSEADDR and SO_REUSEPORT: nobody else may share the port, and no earlier
  /// connection to it may still be open.
  private static func bind(_ family: Int32, _ port: inout UInt16) -> Int32? {
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
      guard Glibc.bind(descriptor, address, length) == 0,
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

  /// Accepts connections from now on.
  ///
  /// - Throws: `failed` when the port is taken.
  func listen() throws(Failure) {
    for listener in listeners where Glibc.listen(listener, 16) != 0 {
      throw Failure(
        .failed,
        "cannot listen on \(authority) for the browser (\(SystemError(errno).reason))",
        hint: "--no-browser needs no port")
    }
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
    let end = MonotonicClock.now() + seconds
    while true {
      let now = MonotonicClock.now()
      guard now < end else {
        throw Failure(
          .timeout, "no sign-in in the browser within \(Timestamp.spoken(seconds))",
          hint: "if the browser shows an error page, read it for the cause")
      }
      drop { $0.deadline <= now }
      // Without room, further connections wait in the kernel's queue.
      let open = hasRoom ? listeners : []
      var waiting = (open + connections.map(\.descriptor)).map {
        pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
      }
      let next = connections.map(\.deadline).min().map { min($0, end) } ?? end
      poll(&waiting, nfds_t(waiting.count), Int32(max(1, min(60000, (next - now) * 1000))))
      for index in open.indices where waiting[index].revents != 0 { accept(open[index]) }
      let ready = waiting.dropFirst(open.count).filter { $0.revents != 0 }.map(\.fd)
      for descriptor in ready where try serve(descriptor, path, judge) { return }
    }
  }

  private func drop(_ isOver: (Connection) -> Bool) {
    for connection in connections where isOver(connection) { Self.drop(connection) }
    connections.removeAll(where: isOver)
  }

  private var hasRoom: Bool {
    connections.count < Self.mostConnections || connections.contains(where: \.isOver)
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
    if connections.count >= Self.mostConnections {
      guard let index = connections.firstIndex(where: \.isOver) else {
        close(descriptor)
        return
      }
      Self.drop(connections.remove(at: index))
    }
    connections.append(
      Connection(
        descriptor: descriptor, isForbidden: PeerUser.isForeign(storage, to: port),
        deadline: MonotonicClock.now() + Self.seconds))
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
      Self.reply(404, "Not found.", to: descriptor)
      return false
    }
    do throws(Failure) {
      switch try judge(request.query) {
      case .accepted:
        Self.reply(200, "You can close this page and return to the terminal.", to: descriptor)
        return true
      case .ignored:
        Self.reply(404, "This is not the response to the current sign-in.", to: descriptor)
        return false
      }
    } catch {
      Self.reply(400, "The sign-in failed. See the terminal for the reason.", to: descriptor)
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

/// Who is at the other end of a connection on this machine, by the kernel's tables
/// (https://www.kernel.org/doc/Documentation/networking/proc_net_tcp.txt).
enum PeerUser {
  /// The user that stands for those of other namespaces.
  private static let overflow: UInt32 = 65534

  /// Whether the socket of `peer` belongs to another user, root excepted. One that its program has
  /// closed already counts as foreign, because the kernel shows it as root's; a browser keeps its
  /// connection open until it has the answer.
  ///
  /// - Parameters:
  ///   - peer: its address and port; any address of this machine can be the source.
  ///   - own: the port that it is connected to.
  static func isForeign(_ peer: sockaddr_storage, to own: UInt16) -> Bool {
    let isIPv6 = Int32(peer.ss_family) == AF_INET6
    // The tables show an address in words of the machine's byte order.
    let from = withUnsafeBytes(of: peer) { bytes in
      (isIPv6 ? [8, 12, 16, 20] : [4]).map {
        hex(bytes.load(fromByteOffset: $0, as: UInt32.self), digits: 8)
      }.joined() + ":" + hex(UInt32(bytes.load(fromByteOffset: 2, as: UInt16.self).bigEndian))
    }
    if isIPv6 { return isForeign(from, own, in: "/proc/net/tcp6") ?? false }
    // A socket for both families shows an IPv4 address as a mapped one (RFC 4291, section 2.5.5.2).
    return isForeign(from, own, in: "/proc/net/tcp")
      ?? isForeign("0000000000000000FFFF0000" + from, own, in: "/proc/net/tcp6") ?? false
  }

  /// nil if the table does not have the socket, as with one of another network namespace.
  private static func isForeign(_ from: String, _ own: UInt16, in file: String) -> Bool? {
    let to = ":" + hex(UInt32(own))
    let descriptor = open(file, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    guard let table = try? Descriptor.contents(descriptor, limit: 1 << 24) else { return nil }
    let lines = table.withBytes { $0.split(separator: UInt8(ascii: "\n")).map { Array($0) } }
    for line in lines {
      let fields = line.split(separator: UInt8(ascii: " "))
      guard fields.count > 9, fields[1].elementsEqual(from.utf8),
        fields[2].suffix(to.utf8.count).elementsEqual(to.utf8),
        let user = UInt32(String(decoding: fields[7], as: UTF8.self))
      else { continue }
      // Without an inode no program has the socket open.
      if fields[9].elementsEqual("0".utf8) { return true }
      return user != geteuid() && user != 0 && user != overflow
    }
    return nil
  }

  private static func hex(_ number: UInt32, digits count: Int = 4) -> String {
    let digits = String(number, radix: 16, uppercase: true)
    return String(repeating: "0", count: count - digits.utf8.count) + digits
  }
}
