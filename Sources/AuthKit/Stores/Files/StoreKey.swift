internal import Glibc

/// The key of the sealed files, from the source in the environment; read and derived once per run.
///
/// `AUTHCTL_STORE_KEY_FILE` names a file with the key. `AUTHCTL_STORE_PASSPHRASE` is a text from
/// which scrypt derives it. Without either, the key is in
/// `$CREDENTIALS_DIRECTORY/authctl-store-key`, if systemd has put it there. The variables cannot be
/// used together: nothing says which one is right.
package final class StoreKey {
  private enum Source {
    case file(String, option: String)
    case passphrase(SharedSecret)
  }

  private let environment: [String: String]
  private let stateFolder: String
  private let redactor: Redactor
  private var fileKey: SharedSecret?
  private var derived: [(scrypt: Scrypt, key: SharedSecret)] = []

  /// - Parameters:
  ///   - stateFolder: the folder with the sealed files; the key must not be below it.
  ///   - redactor: learns the key.
  package init(environment: [String: String], stateFolder: String, redactor: Redactor) {
    self.environment = environment
    self.stateFolder = stateFolder
    self.redactor = redactor
  }

  private static let fileVariable = Variable.storeKeyFile.rawValue
  private static let passphraseVariable = Variable.storePassphrase.rawValue
  private static let makeOne =
    "to create a key file, run: (umask 077; head -c 32 /dev/urandom >FILE)"

  /// Whether a source of the key is set.
  var isGiven: Bool {
    do throws(Failure) { return try source() != nil } catch { return true }
  }

  /// A warning about the key; nil if there is none.
  var caution: String? {
    guard case .passphrase(let phrase)? = try? source(), phrase.secret.count < 12 else {
      return nil
    }
    return "\(Self.passphraseVariable) has fewer than 12 bytes: anyone with the sealed files "
      + "can find it by trying all"
  }

  /// Returns the source of the key: a file by its path and mode, a passphrase by its variable.
  ///
  /// - Throws: `store_locked` when there is none, `usage` when there are two.
  func place() throws(Failure) -> String {
    switch try found() {
    case .passphrase: return Self.passphraseVariable
    case .file(let path, let option):
      var status = stat()
      let mode = stat(path, &status) == 0 ? ", mode \(octal(status.st_mode))" : ""
      return "\(option): \(DisplayText.oneLine(path))\(mode)"
    }
  }

  // MARK: Keys

  /// Returns the key for a file that was sealed with `derivation`.
  ///
  /// - Parameter label: the name of the file for messages.
  /// - Throws: `store_locked` when the key is missing, unsuitable, or of the other kind.
  func key(for derivation: SealedFile.Derivation, label: String) throws(Failure) -> SharedSecret {
    switch (derivation, try found()) {
    case (.file, .file(let path, let option)): return try read(path, option)
    case (.scrypt(let scrypt), .passphrase(let phrase)): return try key(of: phrase, scrypt)
    case (.file, .passphrase):
      throw Failure(
        .storeLocked, "\(label) was sealed with a key file, not with a passphrase",
        hint: "set \(Self.fileVariable) and unset \(Self.passphraseVariable)")
    case (.scrypt, .file(_, let option)):
      throw Failure(
        .storeLocked, "\(label) was sealed with a passphrase, not with a key file",
        hint: "set \(Self.passphraseVariable) and unset \(option)")
    }
  }

  /// Returns the key to seal with and its derivation. A passphrase uses the salt that the store
  /// already has, so that a run derives only once.
  ///
  /// - Parameter known: the derivations of the store's files.
  /// - Throws: `store_locked` as `key(for:label:)`.
  func keyForWriting(
    known: () throws(Failure) -> [SealedFile.Derivation]
  ) throws(Failure) -> (key: SharedSecret, derivation: SealedFile.Derivation) {
    switch try found() {
    case .file(let path, let option): return (try read(path, option), .file)
    case .passphrase(let phrase):
      let stored = try known().compactMap { derivation -> Scrypt? in
        if case .scrypt(let scrypt) = derivation, scrypt.isStandard { scrypt } else { nil }
      }
      let own = derived.last { $0.scrypt.isStandard }?.scrypt
      let mine = own.flatMap { stored.isEmpty || stored.contains($0) ? $0 : nil }
      let scrypt = mine ?? stored.first ?? Scrypt.fresh()
      return (try key(of: phrase, scrypt), .scrypt(scrypt))
    }
  }

  private func key(of phrase: SharedSecret, _ scrypt: Scrypt) throws(Failure) -> SharedSecret {
    if let known = derived.first(where: { $0.scrypt == scrypt }) { return known.key }
    let key = SharedSecret(try scrypt.key(from: phrase))
    derived.append((scrypt, key))
    return key
  }

  // MARK: Sources

  private func found() throws(Failure) -> Source {
    if let source = try source() { return source }
    throw Failure(
      .storeLocked,
      "no key for the sealed files: set \(Self.fileVariable) or \(Self.passphraseVariable)",
      hint: Self.makeOne)
  }

  private func source() throws(Failure) -> Source? {
    let file = environment[.storeKeyFile] ?? ""
    let phrase = (environment[.storePassphrase] ?? "").trimmingLineEnd
    guard file.isEmpty || phrase.isEmpty else {
      throw Failure(
        .usage, "\(Self.fileVariable) and \(Self.passphraseVariable) cannot be used together",
        hint: "unset the one that did not seal the files")
    }
    if !file.isEmpty { return .file(file, option: Self.fileVariable) }
    if !phrase.isEmpty { return .passphrase(SharedSecret(phrase)) }
    guard let folder = environment[.credentialsFolder] else { return nil }
    let path = folder + "/authctl-store-key"
    return access(path, F_OK) == 0 ? .file(path, option: Variable.credentialsFolder.rawValue) : nil
  }

  // MARK: Key files

  private func read(_ path: String, _ option: String) throws(Failure) -> SharedSecret {
    if let fileKey { return fileKey }
    let file = try PrivateFile(path, option: option, environment: environment, kind: .storeLocked)
    let shown = "\(option): \(DisplayText.oneLine(path))"
    guard !file.isBelow(stateFolder) else {
      throw Failure(
        .storeLocked, "\(shown) is in the state folder, next to the files that it seals",
        hint: "move the key elsewhere: a copy of the folder must not contain it")
    }
    let content: Secret
    do throws(SystemError) {
      content = try Descriptor.contents(file.descriptor, limit: Self.longest)
    } catch {
      throw Failure(.storeLocked, "\(shown): \(error.reason)")
    }
    guard !content.withBytes(Self.isLine) else {
      throw Failure(
        .storeLocked,
        "\(shown) is a line of text, not a key: a key has 32 bytes, 64 hex digits or 44 base64 "
          + "characters",
        hint: Self.makeOne)
    }
    guard let key = content.withBytes(Self.decoded) else {
      let size = content.count > Self.longest ? "more than \(Self.longest)" : "\(content.count)"
      throw Failure(
        .storeLocked,
        "\(shown) is not a key (\(size) bytes): a key has 32 bytes, 64 hex digits or 44 base64 "
          + "characters",
        hint: Self.makeOne)
    }
    redactor.learn(content)
    let shared = SharedSecret(key)
    fileKey = shared
    return shared
  }

  /// 64 digits and CR LF.
  private static let longest = 66

  /// Whether 32 bytes are a typed phrase with the editor's line end. Among random keys, one in
  /// 10^15 looks like that.
  private static func isLine(_ content: UnsafeRawBufferPointer) -> Bool {
    guard content.count == 32, content.last == UInt8(ascii: "\n") else { return false }
    let text = content[30] == UInt8(ascii: "\r") ? content.prefix(30) : content.prefix(31)
    return text.allSatisfy { (0x20..<0x7F).contains($0) }
  }

  /// Returns the 32 bytes of a key file; nil for anything else, above all a short phrase.
  private static func decoded(_ content: UnsafeRawBufferPointer) -> Secret? {
    if content.count == 32 { return Secret(copying: content) }
    var text = content[...]
    if text.last == UInt8(ascii: "\n") {
      text = text.dropLast()
      if text.last == UInt8(ascii: "\r") { text = text.dropLast() }
    }
    var bytes: [UInt8]?
    switch text.count {
    case 64: bytes = hexDecoded(text)
    // The padding is one character, and the two bits before it have no meaning.
    case 44 where text.last == UInt8(ascii: "=") && !text.dropLast().contains(UInt8(ascii: "=")):
      bytes = base64URLDecoded(text)
    default: break
    }
    guard var key = bytes.take(), key.count == 32 else { return nil }
    var secret = SecretBuilder(capacity: 32)
    key.withUnsafeMutableBytes { bytes in
      secret.append(UnsafeRawBufferPointer(bytes))
      if let base = bytes.baseAddress { explicit_bzero(base, bytes.count) }
    }
    return secret.secret()
  }
}
