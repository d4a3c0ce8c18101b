/// One item of the keyring.
struct KeyringItem: Sendable, Equatable {
  var collection: String
  var label: String
  var attributes: [String: String]
  /// nil while the item is locked.
  var secretBytes: [UInt8]?

  var secret: String? { secretBytes.map { String(decoding: $0, as: UTF8.self) } }
}

/// The calls that tests make to the Secret Service. Blocking: use `onThread`.
/// https://specifications.freedesktop.org/secret-service/latest/
struct SecretService {
  private static let name = "org.freedesktop.secrets"
  private static let root = "/org/freedesktop/secrets"
  private static let api = "org.freedesktop.Secret"
  private let bus: DBusConnection

  init(socket: String) throws { bus = try DBusConnection(path: socket) }

  static func isOwned(on bus: DBusConnection) throws -> Bool {
    try bus.call(
      "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus.NameHasOwner",
      [.string(name)]) == [.bool(true)]
  }

  /// The object path of the default collection; "/" if there is none yet.
  func defaultCollection() throws -> String {
    try call(Self.root, "Service.ReadAlias", [.string("default")]).first?.text ?? "/"
  }

  func items() throws -> [KeyringItem] {
    let session = try openSession()
    var items: [KeyringItem] = []
    for collection in try property(Self.root, "Service", "Collections").parts {
      guard let collection = collection.text else { continue }
      for item in try property(collection, "Collection", "Items").parts {
        guard let item = item.text else { continue }
        var attributes: [String: String] = [:]
        for entry in try property(item, "Item", "Attributes").parts {
          if let key = entry.parts.first?.text { attributes[key] = entry.parts.last?.text }
        }
        let label = try property(item, "Item", "Label").text ?? ""
        items.append(
          KeyringItem(
            collection: collection, label: label, attributes: attributes,
            secretBytes: try secret(of: item, session: session)))
      }
    }
    return items
  }

  func store(label: String, attributes: [String: String], secret: [UInt8]) throws {
    let session = try openSession()
    let table = DBusValue.array(
      element: "{ss}", attributes.map { .entry(.string($0.key), .string($0.value)) })
    let properties = DBusValue.array(
      element: "{sv}",
      [
        .entry(.string(Self.api + ".Item.Label"), .variant(.string(label))),
        .entry(.string(Self.api + ".Item.Attributes"), .variant(table)),
      ])
    let value = DBusValue.tuple([
      .path(session), .bytes([]), .bytes(secret), .string("text/plain"),
    ])
    let answer = try call(
      try defaultCollection(), "Collection.CreateItem", [properties, value, .bool(false)])
    guard answer.first?.text != "/" else { throw HarnessError("the keyring asks for a prompt") }
  }

  func lock(_ collection: String) throws {
    let answer = try call(Self.root, "Service.Lock", [.array(element: "o", [.path(collection)])])
    guard answer.first?.parts.isEmpty == false else { throw HarnessError("not locked") }
  }

  /// Unlocks without a prompt, as gnome-keyring's login module does.
  func unlock(_ collection: String, password: String) throws {
    let secret = DBusValue.tuple([
      .path(try openSession()), .bytes([]), .bytes(Array(password.utf8)), .string("text/plain"),
    ])
    try bus.call(
      Self.name, Self.root,
      "org.gnome.keyring.InternalUnsupportedGuiltRiddenInterface.UnlockWithMasterPassword",
      [.path(collection), secret])
  }

  private func openSession() throws -> String {
    // A client whose first call is this one can make gnome-keyring abort: see SecretServiceBus.meet.
    _ = try property(Self.root, "Service", "Collections")
    return try call(Self.root, "Service.OpenSession", [.string("plain"), .variant(.string(""))])
      .last?.text ?? "/"
  }

  private func secret(of item: String, session: String) throws -> [UInt8]? {
    do {
      let answer = try call(item, "Item.GetSecret", [.path(session)])
      guard let parts = answer.first?.parts, parts.count == 4, case .bytes(let secret) = parts[2]
      else { return nil }
      return secret
    } catch let error as DBusError where error.name.hasSuffix(".IsLocked") {
      return nil
    }
  }

  private func property(_ path: String, _ interface: String, _ name: String) throws -> DBusValue {
    let answer = try bus.call(
      Self.name, path, "org.freedesktop.DBus.Properties.Get",
      [.string("\(Self.api).\(interface)"), .string(name)])
    guard let value = answer.first else { throw HarnessError("no property \(name)") }
    return value
  }

  private func call(
    _ path: String, _ method: String, _ arguments: [DBusValue]
  ) throws -> [DBusValue] {
    try bus.call(Self.name, path, "\(Self.api).\(method)", arguments)
  }
}
