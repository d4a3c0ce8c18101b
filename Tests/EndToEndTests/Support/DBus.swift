import Glibc

/// The D-Bus types that the Secret Service uses.
enum DBusValue: Sendable, Equatable {
  case byte(UInt8)
  case bool(Bool)
  case uint32(UInt32)
  case string(String)
  case path(String)
  case signature(String)
  case bytes([UInt8])
  /// `element` is the signature of one element (for a dictionary: `{..}`).
  case array(element: String, [DBusValue])
  /// A structure, or a dictionary entry.
  case tuple([DBusValue], isEntry: Bool = false)
  indirect case variant(DBusValue)

  var signature: String {
    switch self {
    case .byte: "y"
    case .bool: "b"
    case .uint32: "u"
    case .string: "s"
    case .path: "o"
    case .signature: "g"
    case .bytes: "ay"
    case .array(let element, _): "a" + element
    case .tuple(let parts, let isEntry):
      (isEntry ? "{" : "(") + parts.map(\.signature).joined() + (isEntry ? "}" : ")")
    case .variant: "v"
    }
  }

  static func entry(_ key: DBusValue, _ value: DBusValue) -> DBusValue {
    .tuple([key, value], isEntry: true)
  }

  var text: String? {
    switch self {
    case .string(let text), .path(let text), .signature(let text): text
    case .variant(let inner): inner.text
    default: nil
    }
  }
  var parts: [DBusValue] {
    switch self {
    case .array(_, let parts), .tuple(let parts, _): parts
    case .variant(let inner): inner.parts
    default: []
    }
  }
}

/// An error reply from a D-Bus peer.
struct DBusError: Error, CustomStringConvertible {
  var name: String
  var message: String
  var description: String { "\(name): \(message)" }
}

/// A call to a service.
struct DBusCall: Sendable {
  var path: String
  var member: String
  var arguments: [DBusValue]
}

/// A service's reaction to a call.
enum DBusAnswer: Sendable {
  case values([DBusValue])
  case error(String, String)
  /// No reply.
  case silence
  /// The service ends.
  case end
  /// An empty reply, then the signal Completed of a prompt with these values.
  case completed([DBusValue])
}

/// A blocking client of one bus, sufficient for tests: calls a method and returns its reply.
/// https://dbus.freedesktop.org/doc/dbus-specification.html
final class DBusConnection {
  private let socket: Int32
  private var serial: UInt32 = 0

  /// Connects, authenticates (EXTERNAL) and sends Hello.
  init(path: String, timeout: Int = 10) throws {
    socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    withUnsafeMutableBytes(of: &address.sun_path) { target in
      for (index, byte) in bytes.prefix(target.count - 1).enumerated() { target[index] = byte }
    }
    let code = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard code == 0 else { throw HarnessError("connect \(path): errno \(errno)") }
    var limit = timeval(tv_sec: timeout, tv_usec: 0)
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    let user = "\(geteuid())".utf8.map { "3" + String($0 - 48) }.joined()
    try send([0] + Array("AUTH EXTERNAL \(user)\r\n".utf8))
    var answer: [UInt8] = []
    while answer.last != 10 { answer += try receive(1) }
    guard answer.starts(with: "OK ".utf8) else { throw HarnessError("D-Bus authentication") }
    try send(Array("BEGIN\r\n".utf8))
    _ = try call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus.Hello")
  }

  deinit { close(socket) }

  /// Calls `method` (`interface.Member`) and returns the values of the reply.
  @discardableResult
  func call(
    _ destination: String, _ path: String, _ method: String, _ arguments: [DBusValue] = []
  ) throws -> [DBusValue] {
    let dot = method.lastIndex(of: ".") ?? method.startIndex
    let serial = try send(
      type: 1,
      [
        (1, .path(path)), (2, .string(String(method[..<dot]))),
        (3, .string(String(method[method.index(after: dot)...]))), (6, .string(destination)),
      ], arguments)
    while true {
      if let answer = try receiveAnswer(to: serial) { return answer }
    }
  }

  /// Owns `name` and answers calls by their members, until the bus ends or no call comes for ten
  /// seconds. nil: the call is not supported.
  func serve(
    _ name: String, _ answer: (_ member: String, _ arguments: [DBusValue]) -> [DBusValue]?
  ) throws {
    try serve(name) { call in
      answer(call.member, call.arguments).map { .values($0) }
        ?? .error("org.freedesktop.DBus.Error.NotSupported", "")
    }
  }

  /// Owns `name` and answers calls with any `DBusAnswer`.
  func serve(_ name: String, calls answer: (DBusCall) -> DBusAnswer) throws {
    let bus = "org.freedesktop.DBus"
    try call(bus, "/org/freedesktop/DBus", bus + ".RequestName", [.string(name), .uint32(0)])
    while true {
      let message = try receiveMessage()
      guard message.type == 1, let sender = message.fields[7]?.text else { continue }
      let reply: [(UInt8, DBusValue)] = [(5, .uint32(message.serial)), (6, .string(sender))]
      let path = message.fields[1]?.text ?? "/"
      let call = DBusCall(
        path: path, member: message.fields[3]?.text ?? "", arguments: message.values)
      switch answer(call) {
      case .values(let values): _ = try send(type: 2, reply, values)
      case .error(let name, let words):
        _ = try send(type: 3, reply + [(4, .string(name))], [.string(words)])
      case .silence: break
      case .end: return
      case .completed(let values):
        _ = try send(type: 2, reply, [])
        _ = try send(
          type: 4,
          [
            (1, .path(path)), (2, .string("org.freedesktop.Secret.Prompt")),
            (3, .string("Completed")),
          ], values)
      }
    }
  }

  /// Sends a message with its signature; returns its serial.
  private func send(
    type: UInt8, _ fields: [(UInt8, DBusValue)], _ arguments: [DBusValue]
  ) throws -> UInt32 {
    serial += 1
    var body = Writer()
    for argument in arguments { body.put(argument) }
    var fields = fields
    if !arguments.isEmpty {
      fields.append((8, .signature(arguments.map(\.signature).joined())))
    }
    var message = Writer()
    message.bytes = [UInt8(ascii: "l"), type, 0, 1]
    message.put(.uint32(UInt32(body.bytes.count)))
    message.put(.uint32(serial))
    message.put(.array(element: "(yv)", fields.map { .tuple([.byte($0.0), .variant($0.1)]) }))
    message.align(8)
    try send(message.bytes + body.bytes)
    return serial
  }

  /// The next message; nil if it is not the reply to `serial`.
  private func receiveAnswer(to serial: UInt32) throws -> [DBusValue]? {
    let message = try receiveMessage()
    guard case .variant(.uint32(serial))? = message.fields[5] else { return nil }
    guard message.type == 2 else {
      let words = message.values.first?.text ?? ""
      throw DBusError(name: message.fields[4]?.text ?? "?", message: words)
    }
    return message.values
  }

  private struct Message {
    var type: UInt8
    var serial: UInt32
    var fields: [UInt8: DBusValue]
    var values: [DBusValue]
  }

  private func receiveMessage() throws -> Message {
    let fixed = try receive(16)
    var head = Reader(bytes: fixed, at: 4)
    let bodyLength = Int(head.uint32())
    let serial = head.uint32()
    let fieldsLength = Int(head.uint32())
    let fieldBytes = try receive((fieldsLength + 7) / 8 * 8)
    let body = try receive(bodyLength)
    var reader = Reader(bytes: fixed + fieldBytes.prefix(fieldsLength), at: 12)
    var fields: [UInt8: DBusValue] = [:]
    for field in reader.value("a(yv)").parts {
      if case .byte(let code)? = field.parts.first { fields[code] = field.parts.last }
    }
    var values: [DBusValue] = []
    var bodyReader = Reader(bytes: body, at: 0)
    for type in Reader.types(in: fields[8]?.text ?? "") { values.append(bodyReader.value(type)) }
    return Message(type: fixed[1], serial: serial, fields: fields, values: values)
  }

  private func send(_ bytes: [UInt8]) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes {
        Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { throw HarnessError("D-Bus send: errno \(errno)") }
      rest = rest.dropFirst(count)
    }
  }

  private func receive(_ count: Int) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var have = 0
    while have < count {
      let got = bytes.withUnsafeMutableBytes { buffer in
        recv(socket, buffer.baseAddress.map { $0 + have }, count - have, 0)
      }
      guard got > 0 else {
        throw HarnessError(got == 0 ? "the bus hung up" : "no D-Bus answer in time")
      }
      have += got
    }
    return bytes
  }

  private struct Writer {
    var bytes: [UInt8] = []

    mutating func align(_ size: Int) {
      while bytes.count % size != 0 { bytes.append(0) }
    }
    mutating func number(_ value: UInt32) {
      align(4)
      for shift in [0, 8, 16, 24] { bytes.append(UInt8(truncatingIfNeeded: value >> shift)) }
    }
    mutating func put(_ value: DBusValue) {
      switch value {
      case .byte(let byte): bytes.append(byte)
      case .bool(let flag): number(flag ? 1 : 0)
      case .uint32(let value): number(value)
      case .string(let text), .path(let text):
        number(UInt32(text.utf8.count))
        bytes += Array(text.utf8) + [0]
      case .signature(let text): bytes += [UInt8(text.utf8.count)] + Array(text.utf8) + [0]
      case .bytes(let content):
        number(UInt32(content.count))
        bytes += content
      case .array(let element, let values):
        number(0)
        let lengthAt = bytes.count - 4
        if "({".contains(element.first ?? " ") { align(8) }
        let start = bytes.count
        for value in values { put(value) }
        let length = bytes.count - start
        for index in 0..<4 {
          bytes[lengthAt + index] = UInt8(truncatingIfNeeded: length >> (8 * index))
        }
      case .tuple(let parts, _):
        align(8)
        for part in parts { put(part) }
      case .variant(let inner):
        put(.signature(inner.signature))
        put(inner)
      }
    }
  }

  private struct Reader {
    var bytes: [UInt8]
    var at: Int

    mutating func align(_ size: Int) { at = (at + size - 1) / size * size }
    mutating func uint32() -> UInt32 {
      align(4)
      defer { at += 4 }
      return (0..<4).reduce(0) { $0 | UInt32(bytes[at + $1]) << (8 * UInt32($1)) }
    }
    mutating func text(_ length: Int) -> String {
      defer { at += length + 1 }
      return String(decoding: bytes[at..<at + length], as: UTF8.self)
    }
    mutating func byte() -> UInt8 {
      at += 1
      return bytes[at - 1]
    }
    mutating func value(_ type: String) -> DBusValue {
      switch type.first {
      case "y": return .byte(byte())
      case "b": return .bool(uint32() != 0)
      case "u": return .uint32(uint32())
      case "s": return .string(text(Int(uint32())))
      case "o": return .path(text(Int(uint32())))
      case "g": return .signature(text(Int(byte())))
      case "t", "x", "d":  // skipped: no caller needs the value
        align(8)
        at += 8
        return .uint32(0)
      case "v":
        let inner = text(Int(byte()))
        return .variant(value(inner))
      case "(", "{":
        align(8)
        let parts = Self.types(in: String(type.dropFirst().dropLast())).map { value($0) }
        return .tuple(parts, isEntry: type.first == "{")
      case "a":
        let length = Int(uint32())
        let element = String(type.dropFirst())
        if element == "y" {
          defer { at += length }
          return .bytes(Array(bytes[at..<at + length]))
        }
        if "({tx".contains(element.first ?? " ") { align(8) }
        let end = at + length
        var values: [DBusValue] = []
        while at < end { values.append(value(element)) }
        return .array(element: element, values)
      default: preconditionFailure("D-Bus type \(type) is not read here")
      }
    }
    /// The complete types of a signature.
    static func types(in signature: String) -> [String] {
      var types: [String] = []
      var current = ""
      var depth = 0
      for character in signature {
        current.append(character)
        if "({".contains(character) { depth += 1 }
        if ")}".contains(character) { depth -= 1 }
        if depth == 0 && character != "a" {
          types.append(current)
          current = ""
        }
      }
      return types
    }
  }
}
