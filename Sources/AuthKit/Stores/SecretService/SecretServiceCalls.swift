/// Methods and properties of the Secret Service and its surroundings, one a function.
/// https://specifications.freedesktop.org/secret-service-spec/latest/
extension SecretServiceBus {
  /// Service.SearchItems: object paths of what has these attributes. Unlocks nothing, but see
  /// `asksOften`.
  func search(
    _ attributes: [(String, String)]
  ) throws(Failure) -> (unlocked: [String], locked: [String]) {
    try call(Self.root, "Service", "SearchItems", [dictionary(attributes)], reply: "(aoao)") {
      (strings($0, 0), strings($0, 1))
    }
  }

  /// Item.SetSecret: another value in an item that stays.
  func setSecret(of item: String, _ payload: borrowing Secret) throws(Failure) {
    try withEncoded(payload) { (value) throws(Failure) in
      try call(item, "Item", "SetSecret", [value]) { _ in }
    }
  }

  /// Item.Delete: the path of a prompt, "/" when done.
  func deleteItem(_ item: String) throws(Failure) -> String {
    try call(item, "Item", "Delete", reply: "(o)") { string($0, 0) }
  }

  /// Service.Unlock: what is unlocked now, and the path of a prompt for the rest, or "/".
  func unlock(_ paths: [String]) throws(Failure) -> (unlocked: [String], prompt: String) {
    let objects = build("ao", paths.map { path($0) })
    return try call(Self.root, "Service", "Unlock", [objects], reply: "(aoo)") {
      (strings($0, 0), string($0, 1))
    }
  }

  /// Service.ReadAlias: the path of the collection, or "/".
  func collection(alias: String) throws(Failure) -> String {
    try call(Self.root, "Service", "ReadAlias", [text(alias)], reply: "(o)") { string($0, 0) }
  }

  /// The `Collections` property: paths of all.
  func collections() throws(Failure) -> [String] {
    try property(Self.root, "Service", "Collections", type: "ao") { elements($0) }
  }

  /// The `Items` property of a collection.
  func items(ofCollection path: String) throws(Failure) -> [String] {
    try property(path, "Collection", "Items", type: "ao") { elements($0) }
  }

  /// Service.CreateCollection: its path, or "/" and the path of a prompt.
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

  /// The `Attributes` of an item. A keyring that was never unlocked keeps hashes only.
  func attributes(ofItem path: String) throws(Failure) -> [String: String] {
    try property(path, "Item", "Attributes", type: "a{ss}") { pairs($0) }
  }

  /// Whether the service raises dialogs where the specification has none. KeePassXC answers a search
  /// in a locked collection when the dialog that unlocks it is closed (its setting
  /// `UnlockBeforeSearch`), and asks before CreateItem replaces an item, whatever its settings.
  var asksOften: Bool { program == .keepassxc }

  // MARK: gnome-keyring's own

  /// Where gnome-keyring's login module hands the password over; gcr's dialogs end here as well.
  /// https://gitlab.gnome.org/GNOME/gnome-keyring/-/blob/42.1/daemon/dbus/org.gnome.keyring.InternalUnsupportedGuiltRiddenInterface.xml
  private static let passwordInterface =
    "org.gnome.keyring.InternalUnsupportedGuiltRiddenInterface"

  /// Whether the service unlocks by a password that another program gives it.
  func takesPassword() throws(Failure) -> Bool {
    let words = try ask(
      Self.root, "org.freedesktop.DBus.Introspectable", "Introspect", reply: "(s)"
    ) { string($0, 0) }
    return words.contains(bytesOf: Self.passwordInterface)
  }

  /// Whether there is, or the bus can start, a program that shows the dialogs of gnome-keyring.
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
