import Glibc
import Synchronization
import Testing

/// A Secret Service for tests. It uses no encryption, and is honest except for what `lie` changes.
final class FakeKeyring: Sendable {
  struct Item: Sendable {
    var attributes: [String: String]
    var secret: [UInt8]
  }
  typealias Lie = @Sendable (DBusCall, FakeKeyring) -> DBusAnswer?

  static let collection = "/org/freedesktop/secrets/collection/login"
  private static let session = "/org/freedesktop/secrets/session/1"
  let items = Mutex<[String: Item]>([:])
  private let lie = Mutex<Lie?>(nil)

  /// The name that authctl shows for it: its executable, which is the test's own.
  static let name: String = {
    var path = [CChar](repeating: 0, count: 4096)
    let count = max(0, readlink("/proc/self/exe", &path, path.count))
    let bytes = path[..<count].map { UInt8(bitPattern: $0) }
    return String(decoding: bytes.split(separator: UInt8(ascii: "/")).last ?? [], as: UTF8.self)
  }()

  /// Starts a keyring on the bus of `box`; it runs until the bus ends.
  static func start(_ box: Sandbox) async throws -> FakeKeyring {
    let keyring = FakeKeyring()
    let socket = box.busSocket
    startThread {
      // The thread ends with the bus.
      try? DBusConnection(path: socket, timeout: 60).serve("org.freedesktop.secrets") { call in
        keyring.lie.withLock { $0 }?(call, keyring) ?? keyring.answer(call)
      }
    }
    let wait = ["wait", "--session", "--timeout", "20", "org.freedesktop.secrets"]
    try await box.expect(0, "", wait, program: "/usr/bin/gdbus")
    return keyring
  }

  /// From now on `lie` answers first, and the keyring answers only what `lie` does not.
  func turn(_ lie: @escaping Lie) { self.lie.withLock { $0 = lie } }

  /// The path of the only item.
  var item: String { items.withLock { $0.keys.first ?? "/" } }

  static func paths(_ paths: [String]) -> DBusValue {
    .array(element: "o", paths.map { .path($0) })
  }

  static func secret(_ bytes: [UInt8], type: String = "text/plain") -> DBusValue {
    .tuple([.path(session), .bytes([]), .bytes(bytes), .string(type)])
  }

  private static func pairs(_ value: DBusValue?) -> [String: String] {
    var found: [String: String] = [:]
    for entry in value?.parts ?? [] {
      if let key = entry.parts.first?.text { found[key] = entry.parts.last?.text }
    }
    return found
  }

  private func answer(_ call: DBusCall) -> DBusAnswer {
    let missing = DBusAnswer.error("org.freedesktop.Secret.Error.NoSuchObject", "")
    switch call.member {
    case "OpenSession":
      return call.arguments.first?.text == "plain"
        ? .values([.variant(.string("")), .path(Self.session)])
        : .error("org.freedesktop.DBus.Error.NotSupported", "")
    // Without the interface through which gnome-keyring takes a password.
    case "Introspect": return .values([.string("<node/>")])
    case "ReadAlias": return .values([.path(Self.collection)])
    case "SearchItems":
      let wanted = Self.pairs(call.arguments.first)
      let found = items.withLock { items in
        items.filter { item in
          wanted.allSatisfy { item.value.attributes[$0.key] == $0.value }
        }
      }
      return .values([Self.paths(found.keys.sorted()), Self.paths([])])
    case "Get": return property(call).map { .values([.variant($0)]) } ?? missing
    case "GetSecret":
      let item = items.withLock { $0[call.path] }
      return item.map { .values([Self.secret($0.secret)]) } ?? missing
    case "Delete":
      items.withLock { $0[call.path] = nil }
      return .values([.path("/")])
    case "CreateItem":
      let attributes = call.arguments.first?.parts.first {
        $0.parts.first?.text == "org.freedesktop.Secret.Item.Attributes"
      }
      guard call.arguments.count == 3, call.arguments[1].parts.count == 4,
        case .bytes(let secret) = call.arguments[1].parts[2]
      else { return missing }
      let path = Self.collection + "/1"
      items.withLock {
        $0[path] = Item(attributes: Self.pairs(attributes?.parts.last), secret: secret)
      }
      return .values([.path(path), .path("/")])
    default: return .error("org.freedesktop.DBus.Error.NotSupported", "")
    }
  }

  private func property(_ call: DBusCall) -> DBusValue? {
    switch call.arguments.last?.text {
    case "Locked": return .bool(false)
    case "Label": return .string("Login")
    case "Items": return Self.paths([])
    case "Attributes":
      guard let item = items.withLock({ $0[call.path] }) else { return nil }
      let entries = item.attributes.map { DBusValue.entry(.string($0.key), .string($0.value)) }
      return .array(element: "{ss}", entries)
    default: return nil
    }
  }
}
