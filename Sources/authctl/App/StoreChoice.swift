internal import AuthKit

/// The stores that a command may use (design 7).
extension App {
  /// Returns the store that `--store`, `AUTHCTL_STORE` or `config.toml` names.
  ///
  /// - Parameter mayPrompt: false for commands that never raise a keyring dialog.
  func store(mayPrompt: Bool = true) throws(Failure) -> any SessionStore {
    try store(try storeName(), mayPrompt: mayPrompt)
  }

  /// Whether a variable gives a token, so that the store may not be needed.
  static func namesToken(_ environment: [String: String]) -> Bool {
    environment.contains { Variable(named: $0)?.isToken == true && !$1.isEmpty }
  }

  /// Returns the name of that store.
  func storeName() throws(Failure) -> StoreName {
    if let text = globals.store ?? environment[.store] { return try StoreName(named: text) }
    return try config().store
  }

  /// Returns the store `name`.
  func store(_ name: StoreName, mayPrompt: Bool) throws(Failure) -> any SessionStore {
    let config = try config()
    let timeout = globals.storeTimeout?.seconds ?? config.storeTimeout
    switch name {
    case .secretService:
      return keyring(timeout, mayPrompt: mayPrompt && mayAsk)
    case .file:
      let key = StoreKey(
        environment: environment, stateFolder: stateFolder(), redactor: redactor)
      return fileStore(timeout, key)
    case .plaintext:
      return fileStore(timeout, nil)
    }
  }

  private func keyring(_ timeout: Double, mayPrompt: Bool) -> SecretServiceStore {
    let hasDisplay = ["DISPLAY", "WAYLAND_DISPLAY"].contains { !(environment[$0] ?? "").isEmpty }
    let keyring = SecretServiceStore(
      timeout: timeout, mayPrompt: mayPrompt, hasDisplay: hasDisplay, isAttended: mayAsk,
      busAddress: environment["DBUS_SESSION_BUS_ADDRESS"], ahead: keyringAhead)
    if mayPrompt {
      keyring.askPassword = { [self] (name) throws(Failure) in try keyringPassword(of: name) }
    }
    return keyring
  }

  /// Asks on the terminal for the password of a keyring.
  func keyringPassword(of keyring: String) throws(Failure) -> Secret {
    let terminal = try terminal(
      for: "a password", hint: "use --password-stdin, --password-file F or --password-command C")
    let password = try terminal.prompt("Password of \(keyring)", for: "password")
    redactor.learn(password)
    return password
  }

  private func fileStore(_ timeout: Double, _ key: StoreKey?) -> FileStore {
    let folder = stateFolder() + "/sessions"
    return FileStore(
      folder: folder, shownAs: profiles.shown(folder), timeout: timeout, sealedWith: key)
  }

  // MARK: - Other stores (rule C1)

  /// Returns all stores except the chosen one. None of them raises a dialog.
  func otherStores(than store: any SessionStore) throws(Failure) -> [any SessionStore] {
    var others: [any SessionStore] = []
    for name in StoreName.allCases where name != store.name {
      others.append(try self.store(name, mayPrompt: false))
    }
    return others
  }

  /// Returns the sessions in the other stores. Skips a store that it cannot list: the user did not
  /// ask for it.
  ///
  /// - Parameters:
  ///   - profile: of this profile only; nil: of all.
  ///   - account: of this account only; nil: of all.
  func heldElsewhere(
    than store: any SessionStore, profile: String?, account: String? = nil
  ) throws(Failure) -> [(store: StoreName, items: [SessionItem])] {
    func isWanted(_ wanted: String?, _ found: String?) -> Bool {
      guard let wanted, let found else { return wanted == nil }
      return wanted.utf8.elementsEqual(found.utf8)
    }
    return try otherStores(than: store).compactMap { other in
      let items = ((try? other.list(profiles: profile.map { [$0] } ?? [])) ?? [])
        .filter { isWanted(profile, $0.profile) && isWanted(account, $0.account) }
      return items.isEmpty ? nil : (other.name, items)
    }
  }

  /// Prints which other stores still hold sessions, each with the command that ends them there.
  ///
  /// - Parameters:
  ///   - profile: of this profile only; nil: of all.
  ///   - account: of this account only; nil: of all.
  func reportHeldElsewhere(
    than store: any SessionStore, profile: String?, account: String? = nil
  ) throws(Failure) {
    for (other, items) in try heldElsewhere(than: store, profile: profile, account: account) {
      let whose =
        items.count == 1
        ? "a session of \(DisplayText.oneLine(items[0].account ?? "?", limit: 80))"
        : "\(items.count) sessions"
      console.notice("The store \(other.rawValue) still has \(whose).")
      let logout = Suggestion.logoutFrom(
        store: other.rawValue, profile: profile, account: account)
      if let line = logout.command { console.hint(line) }
    }
  }

  /// Reports a store that could not be read, once.
  func warnUnread(_ store: any SessionStore, _ failure: Failure) {
    guard unreadStores.insert(store.name).inserted else { return }
    console.notice("The store \(store.name.rawValue) was not checked: \(failure.message).")
  }
}
