internal import ArgumentParser
internal import AuthKit

/// `authctl store unlock`
struct StoreUnlock: Command {
  static let configuration = CommandConfiguration(
    commandName: "unlock", abstract: "Unlock the keyring with its own dialog or with a password.",
    usage: "authctl store unlock [<options>]",
    discussion: """
      For gnome-keyring, give the password with an option, or on the terminal if no
      dialog can be shown. KWallet and KeePassXC ask only in their own dialogs.
      AUTHCTL_PASSWORD is for APIs and is never sent to a keyring. For the store
      file, authctl tries the key on every session. plaintext has no lock.

      Examples:
        authctl store unlock
        authctl store unlock --password-stdin </run/secrets/keyring
        authctl store unlock && authctl get /me
      """
  ).alone

  @OptionGroup(title: "The keyring's password") var password: SecretOptions<PasswordNames>
  @OptionGroup var output: JSONOutput
  @OptionGroup(title: "Global options") var globals: Globals

  var wantsJSON: Bool { output.json }

  func run(in app: App) throws(Failure) -> Int32 {
    let reader = try app.secrets([password.source])
    let store = try app.store()
    if let keyring = store as? SecretServiceStore {
      try unlock(keyring, reader)
    } else {
      guard !reader.hasOption(for: .password) else {
        throw Failure(
          .usage, "the store \(store.name.rawValue) does not use a password",
          hint: "set AUTHCTL_STORE_KEY_FILE or AUTHCTL_STORE_PASSPHRASE for the store file"
        )
      }
      try tryKey(of: store)
    }
    app.console.notice(
      store.name == .plaintext
        ? "Nothing to unlock: \(store.title) has no lock."
        : "T\(store.title.dropFirst()) is unlocked.")
    if output.json {
      try app.console.out(
        JSONValue.object([("store", .string(store.name.rawValue)), ("unlocked", .bool(true))]))
    }
    return 0
  }

  private func unlock(
    _ keyring: SecretServiceStore, _ reader: SecretReader
  ) throws(Failure) {
    guard reader.hasOption(for: .password) else { return try keyring.open() }
    guard try keyring.takesPassword() else {
      throw Failure(
        .storeLocked, "\(keyring.serviceName) accepts no password from other programs",
        hint: "to use its own dialog, run on its desktop: authctl store unlock")
    }
    guard try keyring.isLocked() else { return }
    if let password = try reader.read(.password) { try keyring.unlock(with: password) }
  }

  /// Tries the key on every stored session.
  private func tryKey(of store: any SessionStore) throws(Failure) {
    try store.open()
    for item in try store.list() {
      guard let profile = item.profile, let account = item.account else { continue }
      _ = try store.read(profile: profile, account: account)
    }
  }
}
