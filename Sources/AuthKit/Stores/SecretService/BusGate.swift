internal import CLibsecret
internal import Glibc
internal import Synchronization

/// Measures what GDBus reads from a bus, and ends the connection when a message is too large.
///
/// GDBus reads any length that a message announces, up to 128 MiB, and makes an object of each
/// value in it: a reply of 10 MB took 240 MB. Only incoming bytes are checked.
/// https://dbus.freedesktop.org/doc/dbus-specification.html#message-protocol-messages
final class BusGate {
  /// The largest message allowed, in bytes: a session has at most 256 KiB, and the paths of 15 000
  /// items fit.
  static let largestMessage = 1 << 20

  // Only the thread on which GDBus reads uses it.
  private var gauge = BusGauge(message: largestMessage)
  private let refused = Atomic(false)

  /// Whether the connection has ended because a message was too large.
  var hasRefused: Bool { refused.load(ordering: .acquiring) }

  /// Returns the connection of GDBus over `socket`, which has to be authenticated and belongs to the
  /// connection from now on; nil with `error`. The connection keeps this object.
  func connection(
    over socket: Int32, _ error: inout UnsafeMutablePointer<GError>?
  ) -> OpaquePointer? {
    // What has been written until here is seen by the thread that loads this.
    refused.store(false, ordering: .releasing)
    return authctl_bus_connection(
      socket, Unmanaged.passRetained(self).toOpaque(),
      { gate, bytes, count in
        let gate = Unmanaged<BusGate>.fromOpaque(gate).takeUnretainedValue()
        return gate.admits(UnsafeRawBufferPointer(start: bytes, count: count))
      },
      { gate in if let gate { Unmanaged<BusGate>.fromOpaque(gate).release() } }, &error)
  }

  private func admits(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard !refused.load(ordering: .acquiring) else { return false }
    let isAdmitted = gauge.admits(bytes)
    if !isAdmitted { refused.store(true, ordering: .releasing) }
    return isAdmitted
  }
}

/// Follows messages from a bus, each of which begins with its length.
struct BusGauge {
  private let largest: Int
  private var header: [UInt8] = []
  private var rest = 0
  private var isTooLarge = false

  /// Allows messages of `message` bytes.
  init(message: Int) { largest = message }

  /// Whether the next bytes are allowed; once false, no more are.
  mutating func admits(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var next = bytes[...]
    while let byte = next.first, !isTooLarge {
      if rest > 0 {
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

  /// Reads the length of the message whose first 16 bytes have arrived.
  private mutating func begin() {
    func number(at place: Int) -> Int {
      let bytes = header[place..<place + 4]
      let order = header[0] == UInt8(ascii: "l") ? Array(bytes.reversed()) : Array(bytes)
      return order.reduce(0) { $0 << 8 | Int($1) }
    }
    rest = (number(at: 12) + 7) / 8 * 8 + number(at: 4)
    isTooLarge = 16 + rest > largest
    header.removeAll(keepingCapacity: true)
  }
}

/// The authentication of a client at a bus, as the user that the socket belongs to (EXTERNAL), in one
/// piece: GDBus would wait for four answers.
/// https://dbus.freedesktop.org/doc/dbus-specification.html#auth-protocol
enum BusGreeting {
  /// The longest answer, in bytes.
  private static let largestAnswer = 4096

  /// Authenticates at the bus of `socket`. Blocks without limit on one that does not answer.
  ///
  /// - Returns: nil once messages may be sent; else the reason.
  static func refusal(of socket: Int32) -> String? {
    let user = hexDigits(String(geteuid()).utf8)
    let lines = Array("\0AUTH EXTERNAL \(user)\r\nBEGIN\r\n".utf8)
    guard send(socket, lines, lines.count, Int32(MSG_NOSIGNAL)) == lines.count else {
      return SystemError(errno).reason
    }
    var answer: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: largestAnswer)
    // Nothing follows the line before a message is sent.
    while answer.last != UInt8(ascii: "\n") {
      let count = recv(socket, &piece, piece.count, 0)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else {
        return count == 0 ? "it closed the connection" : SystemError(errno).reason
      }
      answer += piece[..<count]
      guard answer.count <= largestAnswer else { return "its answer is too long" }
    }
    return answer.starts(with: "OK ".utf8) ? nil : "it refused the authentication"
  }
}
