internal import Glibc

/// Passes bytes between the bus and GDBus, and ends the connection when a message is too large.
///
/// GDBus reads any length that a message announces, up to 128 MiB, and makes an object of each
/// value in it: a reply of 10 MB took 240 MB. Only incoming bytes are checked.
/// https://dbus.freedesktop.org/doc/dbus-specification.html#message-protocol-messages
final class BusGate {
  /// The largest message allowed, in bytes: a session has at most 256 KiB, and the paths of 15 000
  /// items fit.
  static let largestMessage = 1 << 20

  /// The most bytes of the authentication, before the first message.
  private static let largestGreeting = 4096

  private let bus: Int32
  private let client: Int32
  private var gauge = BusGauge(message: largestMessage, greeting: largestGreeting)
  private var work: BackgroundThread?

  /// Takes over `bus` and `client`, and passes bytes between them until one of them ends.
  init(bus: Int32, client: Int32) {
    self.bus = bus
    self.client = client
  }

  /// Starts on a thread of its own, which keeps this object until the end; returns false if no
  /// thread can be created.
  func open() -> Bool {
    work = .endless { [self] in run() }
    return work != nil
  }

  /// Whether the connection has ended because a message was too large; waits for its end for at most
  /// `seconds`.
  func hasRefused(within seconds: Double) -> Bool {
    guard let work, work.wait(seconds: seconds) else { return false }
    return gauge.isTooLarge
  }

  private func run() {
    withUnsafeTemporaryAllocation(byteCount: 1 << 16, alignment: 1) { buffer in
      while pass(buffer) {}
      // The buffer may have held secrets that the service could not encrypt.
      if let start = buffer.baseAddress { explicit_bzero(start, buffer.count) }
    }
    // GDBus notices the end of its socket and closes its own end.
    close(client)
    close(bus)
  }

  /// Waits for input from either side and passes it on; returns false at the end.
  private func pass(_ buffer: UnsafeMutableRawBufferPointer) -> Bool {
    var ends = [bus, client].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    guard poll(&ends, 2, -1) > 0 || errno == EINTR else { return false }
    for (from, to) in [(0, client), (1, bus)] where ends[from].revents != 0 {
      let count = read(ends[from].fd, buffer.baseAddress, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return false }
      let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
      if from == 0, !gauge.admits(bytes) { return false }
      guard Self.write(bytes, to: to) else { return false }
    }
    return true
  }

  private static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Bool {
    var rest = bytes
    while !rest.isEmpty {
      let count = send(descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return false }
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    }
    return true
  }
}

/// Follows the bytes from a bus to a client: lines of the authentication, then messages, each of
/// which begins with its length. A line of a bus begins with a capital letter other than B; the
/// first byte of a message is `l` or `B`, its byte order.
struct BusGauge {
  private let message: Int
  private let greeting: Int
  private var greeted = 0
  private var isAtLineStart = true
  private var isGreeting = true
  private var header: [UInt8] = []
  private var rest = 0

  /// Whether a message was too large.
  private(set) var isTooLarge = false

  /// Allows messages of `message` bytes, after `greeting` bytes of authentication.
  init(message: Int, greeting: Int) {
    self.message = message
    self.greeting = greeting
  }

  /// Whether the next bytes are allowed; once false, no more are.
  mutating func admits(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var next = bytes[...]
    while let byte = next.first, !isTooLarge {
      if isGreeting, !greets(byte) {
        next.removeFirst()
      } else if rest > 0 {
        let count = min(rest, next.count)
        rest -= count
        next.removeFirst(count)
      } else {
        header.append(byte)
        next.removeFirst()
        if header.count == 16 { begin() }
      }
    }
    return !isTooLarge
  }

  /// Whether the authentication is over.
  private mutating func greets(_ byte: UInt8) -> Bool {
    if isAtLineStart, byte == UInt8(ascii: "l") || byte == UInt8(ascii: "B") {
      isGreeting = false
      return true
    }
    isAtLineStart = byte == UInt8(ascii: "\n")
    greeted += 1
    isTooLarge = greeted > greeting
    return false
  }

  /// Reads the length of the message whose first 16 bytes have arrived.
  private mutating func begin() {
    func number(at place: Int) -> Int {
      let bytes = header[place..<place + 4]
      let order = header[0] == UInt8(ascii: "l") ? Array(bytes.reversed()) : Array(bytes)
      return order.reduce(0) { $0 << 8 | Int($1) }
    }
    rest = (number(at: 12) + 7) / 8 * 8 + number(at: 4)
    isTooLarge = 16 + rest > message
    header.removeAll(keepingCapacity: true)
  }
}
