internal import AuthKit

/// The stores that a command may use (contract section 7).
extension App {
  /// The store that `--store`, `AUTHCTL_STORE` or `config.toml` names.
  ///
  /// - Parameter mayPrompt: false for commands that never raise a dialog of the keyring.
  func store(mayPrompt: Bool = true) throws(Failure) -> any SessionStore {
    try store(try storeName(), mayPrompt: mayPrompt)
  }

  /// Whether a variable gives some profile a token, so that the store need not be asked.
  static func namesToken(_ environment: [String: String]) -> Bool {
    environment.contains { $0.utf8.starts(with: "AUTHCTL_TOKEN".utf8) && !$1.isEmpty }
  }

  /// The name of that store.
  func storeName() throws(Failure) -> StoreName {
    let variable = environment["AUTHCTL_STORE"].flatMap { $0.isEmpty ? nil : $0 }
    if let text = globals.store ?? variable { return try StoreName(named: text) }
    return try config().store
  }

  /// The store `name`.
  func store(_ name: StoreName, mayPrompt: Bool) throws(Failure) -> any SessionStore {
    let config = try config()
    let timeout = globals.storeTimeout?.seconds ?? config.storeTimeout
    switch name {
    case .secretService:
      defer { keyringAhead = nil }
      return SecretServiceStore(
        timeout: timeout, mayPrompt: mayPrompt && mayAsk, isAttended: mayAsk,
        busAddress: environment["DBUS_SESSION_BUS_ADDRESS"], ahead: keyringAhead)
    case .file:
      let key = StoreKey(
        environment: environment, stateFolder: stateFolder(), redactor: redactor)
      return fileStore(timeout, key)
    case .plaintext:
      return fileStore(timeout, nil)
    }
  }

  private func fileStore(_ timeout: Double, _ key: StoreKey?) -> FileStore {
    let folder = stateFolder() + "/sessions"
    return FileStore(
      folder: folder, shownAs: profiles.shown(folder), timeout: timeout, sealedWith: key)
  }

  // MARK: - What other stores hold (rule C1)

  /// The stores that are not in use: a session may have been left there. None raises a dialog.
  func otherStores(than store: any SessionStore) throws(Failure) -> [any SessionStore] {
    var others: [any SessionStore] = []
    for name in StoreName.allCases where name != store.name {
      others.append(try self.store(name, mayPrompt: false))
    }
    return others
  }

  /// Forgets what the stores that are not in use hold for the account of a new session.
  func forgetElsewhere(_ session: Session, keptIn store: any SessionStore) throws(Failure) {
    for other in try otherStores(than: store) {
      do throws(Failure) {
        if try other.delete(profile: session.profile, account: session.account) {
          console.notice("Forgot the session before, which was in \(other.title).")
        }
      } catch {
        warnUnread(other, error)
      }
    }
  }

  /// Names a store that could not be looked into, once.
  func warnUnread(_ store: any SessionStore, _ failure: Failure) {
    guard unreadStores.insert(store.name).inserted else { return }
    console.notice("Not looked into: the store \(store.name.rawValue) (\(failure.message)).")
  }
}
