/// Methods and properties of the Secret Service and related interfaces, one per function.
/// https://specifications.freedesktop.org/secret-service-spec/latest/
extension SecretServiceBus {
  /// Service.SearchItems: returns the object paths of the items with these attributes. Unlocks
  /// nothing, but see `asksOften`.
  func search(
    _ attributes: [(String, String)]
  ) throws(Failure) -> (unlocked: [String], locked: [String]) {
    try search(each: [attributes])[0]
  }

  /// Several searches, which a service runs in this order.
  func search(
    each attributes: [[(String, String)]]
  ) throws(Failure) -> [(unlocked: [String], locked: [String])] {
    let arguments = attributes.map { [dictionary($0)] }
    return try call(Self.root, "Service", "SearchItems", each: arguments, reply: "(aoao)") {
      (strings($0, 0), strings($0, 1))
    }
  }

  /// Item.SetSecret: replaces the value of an item.
  func setSecret(of item: String, _ payload: borrowing Secret) throws(Failure) {
    try withEncoded(payload) { (value) throws(Failure) in
      try call(item, "Item", "SetSecret", [value]) { _ in }
    }
  }

  /// Item.Delete: returns the path of a prompt, "/" when done.
  func deleteItem(_ item: String) throws(Failure) -> String {
    try call(item, "Item", "Delete", reply: "(o)") { string($0, 0) }
  }

  /// Service.Unlock: returns what is unlocked now, and the path of a prompt for the rest, or "/".
  func unlock(_ paths: [String]) throws(Failure) -> (unlocked: [String], prompt: String) {
    let objects = build("ao", paths.map { path($0) })
    return try call(Self.root, "Service", "Unlock", [objects], reply: "(aoo)") {
      (strings($0, 0), string($0, 1))
    }
  }

  /// Service.ReadAlias: returns the path of the collection, or "/".
  func collection(alias: String) throws(Failure) -> String {
    try call(Self.root, "Service", "ReadAlias", [text(alias)], reply: "(o)") { string($0, 0) }
  }

  /// The `Collections` property: the paths of all collections.
  func collections() throws(Failure) -> [String] {
    try property(Self.root, "Service", "Collections", type: "ao") { elements($0) }
  }

  /// The `Items` property of a collection.
  func items(ofCollection path: String) throws(Failure) -> [String] {
    try property(path, "Collection", "Items", type: "ao") { elements($0) }
  }

  /// Service.CreateCollection: returns its path, or "/" and the path of a prompt.
  func createCollection(
    label: String, alias: String
  ) throws(Failure) -> (collection: String, prompt: String) {
    let properties = build(
      "a{sv}", [entry("org.freedesktop.Secret.Collection.Label", text(label))])
    let arguments = [properties, text(alias)]
    return try call(Self.root, "Service", "CreateCollection", arguments, reply: "(oo)") {
      (string($0, 0), string($0, 1))
    }
  }

  /// The `Label` of a collection.
  func label(ofCollection path: String) throws(Failure) -> String {
    try property(path, "Collection", "Label", type: "s") { content($0) }
  }

  /// The `Locked` property of a collection.
  func isLocked(collection path: String) throws(Failure) -> Bool {
    try property(path, "Collection", "Locked", type: "b") { isTrue($0) }
  }

  /// The `Attributes` of an item. A keyring that was not unlocked yet has only hashes.
  func attributes(ofItem path: String) throws(Failure) -> [String: String] {
    try property(path, "Item", "Attributes", type: "a{ss}") { pairs($0) }
  }

  /// Whether the service opens dialogs where the specification has none. KeePassXC answers a search
  /// in a locked collection only after its unlock dialog is closed (its setting
  /// `UnlockBeforeSearch`), and asks before CreateItem replaces an item, whatever its settings.
  var asksOften: Bool { program == .keepassxc }

  // MARK: gnome-keyring's own

  /// The interface over which gnome-keyring's login module passes the password; gcr's dialogs use
  /// it too.
  /// https://gitlab.gnome.org/GNOME/gnome-keyring/-/blob/42.1/daemon/dbus/org.gnome.keyring.InternalUnsupportedGuiltRiddenInterface.xml
  private static let passwordInterface =
    "org.gnome.keyring.InternalUnsupportedGuiltRiddenInterface"

  /// Whether another program can give the service the password to unlock.
  func takesPassword() throws(Failure) -> Bool {
    let words = try ask(
      Self.root, "org.freedesktop.DBus.Introspectable", "Introspect", reply: "(s)"
    ) { string($0, 0) }
    return words.contains(bytesOf: Self.passwordInterface)
  }

  /// Whether a program that shows gnome-keyring's dialogs is running or can be started by the bus.
  func hasPrompter() throws(Failure) -> Bool {
    for list in ["ListNames", "ListActivatableNames"] {
      let names = try callBus(list, reply: "(as)") { strings($0, 0) }
      if names.contains("org.gnome.keyring.SystemPrompter") { return true }
    }
    return false
  }

  /// UnlockWithMasterPassword: unlocks a collection without a dialog, or fails.
  func unlock(_ collection: String, with password: borrowing Secret) throws(Failure) {
    try withEncoded(password) { (value) throws(Failure) in
      let arguments = [path(collection), value]
      try ask(Self.root, Self.passwordInterface, "UnlockWithMasterPassword", arguments) { _ in }
    }
  }
}
