internal import CCurl
internal import CSystem
internal import Glibc

/// A TCP connection to the API that is opened while the session is read from its store, so that
/// the round trip of the handshake does not come on top (rule A17).
///
/// Nothing is sent on it before libcurl takes it over for the first request. Name and addresses are
/// treated as libcurl would: the addresses in the order of getaddrinfo(3), the families in turns, one
/// more attempt every 200 ms or as soon as one fails (RFC 8305). If no attempt succeeds, libcurl goes
/// its own way, and reports what is wrong.
///
/// At a distance of 20 ms a `get` takes 10 ms of 62 less by http, and 10 of 109 by https; 4 ms less
/// still if it begins before the options are read.
package final class ConnectionAhead {
  /// Where it leads.
  let origin: Origin
  private var thread: BackgroundThread?
  // The thread's own until it has ended.
  private var addresses: [Address] = []
  private var connection: (socket: Int32, address: Address, since: Double)?
  /// The socket that libcurl has taken over.
  private var taken: Int32?

  /// The seconds after which another address is tried: CURLOPT_HAPPY_EYEBALLS_TIMEOUT_MS.
  private static let headStart = 0.2
  /// The most addresses that are tried; libcurl has the rest of the time for more.
  private static let mostAttempts = 16
  /// The seconds after which a server may have tired of a connection without a request.
  private static let longestIdle = 2.0

  /// Begins to connect to `origin`, for at most `seconds`; nil when no thread can be created.
  init?(to origin: Origin, seconds: Double) {
    self.origin = origin
    let end = MonotonicClock.now() + seconds
    thread = .endless { [self] in
      addresses = Self.addresses(of: origin)
      connection = Self.firstConnection(addresses, before: end)
    }
    if thread == nil { return nil }
    // Where threads share a processor, this one would go on for 3 ms before the other begins.
    sched_yield()
  }

  // MARK: - For libcurl

  /// Waits for the connection, for at most `seconds`; returns whether there is one.
  func wait(seconds: Double) -> Bool {
    (thread?.wait(seconds: seconds) ?? false) && connection != nil
  }

  /// What CURLOPT_RESOLVE takes, so that the name is not resolved again; the address that answered
  /// comes first. https://curl.se/libcurl/c/CURLOPT_RESOLVE.html
  var resolution: [String] {
    guard !origin.isAddress, let used = connection?.address else { return [] }
    let all = ([used] + addresses.filter { $0 != used }).map(\.text)
    // libcurl cannot read the zone of a link-local address: it resolves such a name itself.
    guard !all.contains(where: { $0.utf8.contains(UInt8(ascii: "%")) }) else { return [] }
    // With "+" it is forgotten like an answer of DNS.
    return ["+\(origin.host):\(origin.port):" + all.joined(separator: ",")]
  }

  /// Makes libcurl use the connection for its next transfer, which must not outlive this object.
  ///
  /// https://curl.se/libcurl/c/CURLOPT_OPENSOCKETFUNCTION.html
  func offer(to easy: UnsafeMutableRawPointer) {
    authctl_curl_set_opensocket(easy, CURLOPT_OPENSOCKETFUNCTION) { context, _, wanted in
      Unmanaged<ConnectionAhead>.fromOpaque(context).takeUnretainedValue().socket(for: wanted)
    }
    authctl_curl_set_sockopt(easy, CURLOPT_SOCKOPTFUNCTION) { context, socket, _ in
      let ahead = Unmanaged<ConnectionAhead>.fromOpaque(context).takeUnretainedValue()
      return socket == ahead.taken ? CURL_SOCKOPT_ALREADY_CONNECTED : CURL_SOCKOPT_OK
    }
    let context = Unmanaged.passUnretained(self).toOpaque()
    authctl_curl_set_pointer(easy, CURLOPT_OPENSOCKETDATA, context)
    authctl_curl_set_pointer(easy, CURLOPT_SOCKOPTDATA, context)
  }

  /// Takes the offer back.
  static func withdraw(from easy: UnsafeMutableRawPointer) {
    authctl_curl_set_opensocket(easy, CURLOPT_OPENSOCKETFUNCTION, nil)
    authctl_curl_set_sockopt(easy, CURLOPT_SOCKOPTFUNCTION, nil)
  }

  /// Returns the connection if it leads to `wanted` and lives, else a new socket.
  private func socket(for wanted: UnsafeMutablePointer<curl_sockaddr>) -> curl_socket_t {
    taken = nil
    if let (socket, address, since) = connection {
      connection = nil
      var state = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
      // A server that says something before it is asked, even goodbye, gets a new connection.
      if address == Address(wanted), MonotonicClock.now() - since < Self.longestIdle,
        poll(&state, 1, 0) == 0
      {
        taken = socket
        return socket
      }
      close(socket)
    }
    return Glibc.socket(
      wanted.pointee.family, authctl_stream_socket, wanted.pointee.protocol)
  }

  deinit { if let connection { close(connection.socket) } }

  // MARK: - Connecting

  private static func addresses(of origin: Origin) -> [Address] {
    var hints = addrinfo()
    hints.ai_protocol = Int32(IPPROTO_TCP)
    hints.ai_flags = origin.isAddress ? AI_NUMERICHOST : 0
    let isBracketed = origin.host.utf8.first == UInt8(ascii: "[")
    let host = isBracketed ? String(origin.host.dropFirst().dropLast()) : origin.host
    var first: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(host, String(origin.port), &hints, &first) == 0 else { return [] }
    defer { freeaddrinfo(first) }
    var all: [Address] = []
    for entry in sequence(first: first, next: { $0?.pointee.ai_next }) {
      guard let entry, let address = entry.pointee.ai_addr else { break }
      all.append(Address(address, length: entry.pointee.ai_addrlen))
    }
    let preferred = all.filter { $0.family == all.first?.family }
    let others = all.filter { $0.family != all.first?.family }
    // In turns, beginning with the preferred family (RFC 8305, section 4).
    return (0..<all.count).flatMap { place in
      [preferred, others].compactMap { place < $0.count ? $0[place] : nil }
    }
  }

  /// Returns the first connection that is established before the time `end` and before another
  /// address would have to be tried than the first `mostAttempts`; closes all others.
  private static func firstConnection(
    _ addresses: [Address], before end: Double
  ) -> (socket: Int32, address: Address, since: Double)? {
    var waiting: [(socket: Int32, address: Address)] = []
    defer { for attempt in waiting { close(attempt.socket) } }
    var rest = addresses[...]
    var next = MonotonicClock.now()
    while true {
      let now = MonotonicClock.now()
      if now >= end || waiting.isEmpty && rest.isEmpty { return nil }
      if let address = rest.first, waiting.isEmpty || now >= next {
        if rest.startIndex == mostAttempts { return nil }
        rest = rest.dropFirst()
        if let socket = address.beginConnecting() { waiting.append((socket, address)) }
        next = now + headStart
        continue
      }
      var states = waiting.map { pollfd(fd: $0.socket, events: Int16(POLLOUT), revents: 0) }
      let limit = min(end, rest.isEmpty ? end : next)
      _ = poll(&states, nfds_t(states.count), Int32(clamping: Int((limit - now) * 1000) + 1))
      for (place, state) in states.enumerated().reversed() where state.revents != 0 {
        let attempt = waiting.remove(at: place)
        if isConnected(attempt.socket) {
          return (attempt.socket, attempt.address, MonotonicClock.now())
        }
        close(attempt.socket)
      }
    }
  }

  /// Whether a connection attempt has succeeded: connect(2), EINPROGRESS.
  private static func isConnected(_ socket: Int32) -> Bool {
    var error: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    return getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == 0
  }
}

/// An address to connect to: the bytes of a `struct sockaddr_in` or `sockaddr_in6`.
private struct Address: Equatable {
  private let bytes: [UInt8]
  let family: Int32

  init(_ address: UnsafePointer<sockaddr>, length: socklen_t) {
    family = Int32(address.pointee.sa_family)
    bytes = Array(UnsafeRawBufferPointer(start: address, count: Int(length)))
  }

  /// Reads what libcurl asks for; the address is longer than the type that its struct says.
  init?(_ wanted: UnsafeMutablePointer<curl_sockaddr>) {
    guard let place = MemoryLayout<curl_sockaddr>.offset(of: \.addr) else { return nil }
    family = wanted.pointee.family
    bytes = Array(
      UnsafeRawBufferPointer(
        start: UnsafeRawPointer(wanted) + place, count: Int(wanted.pointee.addrlen)))
  }

  /// Starts to connect without waiting; nil when that fails at once.
  func beginConnecting() -> Int32? {
    let socket = Glibc.socket(family, authctl_waitless_stream_socket, 0)
    guard socket >= 0 else { return nil }
    let status = withSockaddr { connect(socket, $0, $1) }
    if status == 0 || errno == EINPROGRESS { return socket }
    close(socket)
    return nil
  }

  /// The address as CURLOPT_RESOLVE takes it.
  var text: String {
    var buffer = [CChar](repeating: 0, count: Int(NI_MAXHOST))
    let status = withSockaddr {
      getnameinfo($0, $1, &buffer, socklen_t(buffer.count), nil, 0, NI_NUMERICHOST)
    }
    guard status == 0 else { return "" }
    let text = String(
      decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return family == AF_INET6 ? "[\(text)]" : text
  }

  private func withSockaddr<R>(_ use: (UnsafePointer<sockaddr>, socklen_t) -> R) -> R? {
    bytes.withUnsafeBytes { raw in
      raw.bindMemory(to: sockaddr.self).baseAddress.map { use($0, socklen_t(raw.count)) }
    }
  }
}
