/// The stores in this user's files, one per session: `file` seals (encrypts) them, `plaintext` does
/// not. They need no other program.
///
/// The name of a file is the SHA-256 of profile, NUL and account in hexadecimal, with `.sealed` or
/// `.plaintext` at its end: the two stores ignore each other's files.
package final class FileStore: SessionStore {
  let folder: String
  let shownFolder: String
  let timeout: Double
  /// Nil if the files are not sealed.
  let key: StoreKey?

  /// Creates a store in `folder`, which the first write creates.
  ///
  /// - Parameters:
  ///   - shownAs: the folder's path for messages.
  ///   - timeout: seconds that a writer waits for another one.
  ///   - key: seals the files; nil for plain text.
  package init(folder: String, shownAs: String, timeout: Double, sealedWith key: StoreKey?) {
    self.folder = folder
    shownFolder = shownAs
    self.timeout = timeout
    self.key = key
  }

  /// `file` or `plaintext`.
  package var name: StoreName { key == nil ? .plaintext : .file }

  /// Includes the folder.
  package var title: String {
    "the store of \(key == nil ? "plain" : "sealed") files (\(shownFolder))"
  }

  /// Warns that plain files are not sealed, or that a passphrase is short.
  package var caution: String? {
    if let key { return key.caution }
    return
      "the store plaintext does not encrypt: anyone who can read \(shownFolder) can use the session"
  }

  var suffix: String { "." + (key == nil ? "plaintext" : "sealed") }

  /// With a NUL in a name, two pairs of names could have the same hash.
  private func fileName(_ profile: String, _ account: String) throws(Failure) -> String {
    guard !profile.utf8.contains(0), !account.utf8.contains(0) else {
      throw Failure(.failed, "a name with a NUL byte cannot be stored in a file")
    }
    return try SessionLocks.fileName(profile: profile, account: account) + suffix
  }

  /// Whether the file name is that of the session.
  func isNamed(_ name: String, after session: SessionKey) throws(Failure) -> Bool {
    let own = try SessionLocks.fileName(profile: session.profile, account: session.account) + suffix
    return own.utf8.elementsEqual(name.utf8)
  }

  // MARK: SessionStore

  /// Creates the folder, and reads or derives the key.
  package func open() throws(Failure) {
    let folder = try SessionFolder.made(folder)
    _ = try key?.keyForWriting { () throws(Failure) in try self.derivations(in: folder) }
  }

  /// Returns the session's payload; nil if there is no file.
  package func read(profile: String, account: String) throws(Failure) -> Secret? {
    guard let folder = try SessionFolder.existing(folder) else { return nil }
    let name = try fileName(profile, account)
    do throws(Failure) {
      guard let content = try folder.read(name) else { return nil }
      return try content.withBytes { (bytes) throws(Failure) in
        try payload(bytes, of: profile, account)
      }
    } catch {
      var failure = error
      failure.profile = profile
      failure.account = account
      failure.hint =
        failure.hint
        ?? Suggestion.login(profile, account: account).command
        .map { "to replace it, run: \($0)" }
      throw failure
    }
  }

  /// Writes the file, sealed with a new salt and nonce.
  package func write(_ payload: borrowing Secret, key session: SessionKey) throws(Failure) {
    let folder = try SessionFolder.made(folder)
    let name = try fileName(session.profile, session.account)
    // Only one writer at a time looks up and uses the salt of a passphrase.
    try folder.locked(timeout: timeout) { () throws(Failure) in
      try write(payload, of: session, as: name, in: folder)
    }
  }

  /// Writes the file; call it in `locked`.
  func write(
    _ payload: borrowing Secret, of session: SessionKey, as name: String,
    in folder: borrowing SessionFolder
  ) throws(Failure) {
    guard let key else {
      return try PlainFile.text(payload, of: session).withBytes { (bytes) throws(Failure) in
        try folder.write(bytes, as: name)
      }
    }
    let found = try key.keyForWriting { () throws(Failure) in try self.derivations(in: folder) }
    let sealed = try SealedFile.seal(payload, of: session, with: found.key, by: found.derivation)
    try sealed.withUnsafeBufferPointer { (bytes) throws(Failure) in
      try folder.write(UnsafeRawBufferPointer(bytes), as: name)
    }
  }

  /// Deletes the file, readable or not; needs no key.
  package func delete(profile: String, account: String) throws(Failure) -> Bool {
    guard let folder = try SessionFolder.existing(folder) else { return false }
    let isRemoved = try folder.remove(try fileName(profile, account))
    // A killed writer may have left a part file of this session.
    do throws(Failure) { try folder.locked(timeout: 0) {} } catch {}
    return isRemoved
  }

  /// Returns an item for every file, from its header; needs no key. An unreadable file is an item
  /// without names.
  package func list(profiles: [String]) throws(Failure) -> [SessionItem] {
    guard let folder = try SessionFolder.existing(folder) else { return [] }
    let isLocked = key.map { !$0.isGiven } ?? false
    return try headers(in: folder).map { header in
      SessionItem(
        profile: header?.session.profile, account: header?.session.account,
        origin: header?.session.origin, isLocked: isLocked && header != nil)
    }
  }

  // MARK: Files

  func payload(
    _ bytes: UnsafeRawBufferPointer, of profile: String, _ account: String
  ) throws(Failure) -> Secret {
    let label = "\(profile): the stored session of \(DisplayText.oneLine(account, limit: 80))"
    func check(_ session: SessionKey) throws(Failure) {
      guard session.profile.utf8.elementsEqual(profile.utf8),
        session.account.utf8.elementsEqual(account.utf8)
      else {
        throw Failure(
          .storeMissing, "\(label) belongs to another profile or account: its file was moved")
      }
    }
    guard let key else {
      let (session, payload) = try PlainFile.parts(of: bytes, label: label)
      try check(session)
      return Secret(copying: payload)
    }
    let file = try SealedFile(bytes, label: label)
    try check(file.header.session)
    return try file.payload(try key.key(for: file.header.derivation, label: label))
  }

  typealias Header = (session: SessionKey, derivation: SealedFile.Derivation?)

  /// Returns the headers of all files; nil for one that is damaged or has another session's name.
  private func headers(in folder: borrowing SessionFolder) throws(Failure) -> [Header?] {
    var headers: [Header?] = []
    for name in try folder.names(suffix) {
      var header: Header?
      do throws(Failure) {
        guard let content = try folder.read(name) else { continue }
        header = try content.withBytes { (bytes) throws(Failure) in try self.header(of: bytes) }
      } catch {}
      headers.append(
        try header.flatMap { (header) throws(Failure) in
          try isNamed(name, after: header.session) ? header : nil
        })
    }
    return headers
  }

  func header(
    of bytes: UnsafeRawBufferPointer, label: String = ""
  ) throws(Failure) -> Header {
    if key == nil { return (try PlainFile.parts(of: bytes, label: label).session, nil) }
    let header = try SealedFile(bytes, label: label).header
    return (header.session, header.derivation)
  }

  func derivations(
    in folder: borrowing SessionFolder
  ) throws(Failure) -> [SealedFile.Derivation] {
    try headers(in: folder).compactMap { $0?.derivation }
  }
}

/// A file of the store `plaintext`: a line of JSON with the names, then a line with the payload.
private enum PlainFile {
  static func text(_ payload: borrowing Secret, of session: SessionKey) -> Secret {
    var text = SecretBuilder(capacity: payload.count + 512)
    JSONValue.object([("authctl", 1)] + session.members).write(into: &text)
    text.append("\n")
    text.append(payload)
    text.append("\n")
    return text.secret()
  }

  static func parts(
    of bytes: UnsafeRawBufferPointer, label: String
  ) throws(Failure) -> (session: SessionKey, payload: UnsafeRawBufferPointer) {
    guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")),
      let json = try? JSONValue.parse(UnsafeRawBufferPointer(rebasing: bytes[..<end])),
      json["authctl"]?.double == 1, let session = SessionKey(json), bytes.count > end + 1,
      bytes.last == UInt8(ascii: "\n")
    else { throw Failure(.storeMissing, "\(label) is not a plaintext file of authctl") }
    return (session, UnsafeRawBufferPointer(rebasing: bytes[(end + 1)...].dropLast()))
  }
}
