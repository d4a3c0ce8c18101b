/// A session in the form of the store `file` (rule B9). It reads and writes no files.
///
///     AUTHCTL1        8 bytes
///     header length   4 bytes, the highest first
///     header          JSON, at most 4 KiB
///     nonce           12 bytes, random
///     ciphertext      AES-256-GCM of the session's payload
///     tag             16 bytes
///
/// The cipher's key is HKDF-SHA256 of the store's key, with the salt of the header and the info
/// `authctl session v1`: each write has a new salt, so that no key ever seals twice. Everything
/// before the nonce is authenticated with the ciphertext. The header is not secret.
struct SealedFile {
  /// How the store's key is derived from the user's input.
  enum Derivation: Equatable {
    /// The 32 bytes of a key file.
    case file
    /// scrypt of a passphrase.
    case scrypt(Scrypt)
  }

  struct Header {
    var derivation: Derivation
    /// 32 random bytes, new in each write, as hexadecimal digits.
    var salt: String
    /// Identifies the key that sealed the file: 8 bytes of HKDF-SHA256 of the store's key.
    var keyName: String
    var session: SessionKey
  }

  let header: Header
  /// Everything before the nonce.
  private let head: [UInt8]
  /// Nonce, ciphertext, tag.
  private let box: [UInt8]
  /// The name of the session for messages.
  private let label: String

  private static let magic = Array("AUTHCTL1".utf8)
  private static let largestHeader = 4096
  /// The length of nonce and tag.
  private static let least = Crypto.nonceLength + Crypto.tagLength

  // MARK: Reading

  /// Parses a file and checks everything that needs no key, above all the cost of deriving the key.
  ///
  /// - Throws: `store_missing` when it does not have this form.
  init(_ bytes: UnsafeRawBufferPointer, label: String) throws(Failure) {
    func flaw(_ words: String) -> Failure { Failure(.storeMissing, "\(label) \(words)") }
    let begin = Self.magic.count + 4
    guard bytes.prefix(begin - 4).elementsEqual(Self.magic.prefix(bytes.count)) else {
      throw flaw("is not a sealed file")
    }
    guard bytes.count >= begin else { throw flaw("is incomplete") }
    let length = bytes[(begin - 4)..<begin].reduce(0) { $0 << 8 | Int($1) }
    guard length <= Self.largestHeader else {
      throw flaw("has a header that is too long (\(length) bytes)")
    }
    guard bytes.count >= begin + length + Self.least else {
      throw flaw("is incomplete")
    }
    let text = UnsafeRawBufferPointer(rebasing: bytes[begin..<(begin + length)])
    guard let json = try? JSONValue.parse(text), let header = Header(json) else {
      throw flaw("has an unreadable header")
    }
    if case .scrypt(let scrypt) = header.derivation, !scrypt.isAccepted {
      throw flaw(
        "has scrypt parameters outside the allowed range"
          + " (log2N \(scrypt.log2N), r \(scrypt.r), p \(scrypt.p))")
    }
    self.header = header
    self.label = label
    head = Array(bytes[..<(begin + length)])
    box = Array(bytes[(begin + length)...])
  }

  /// Returns the decrypted payload.
  ///
  /// - Parameter key: the store's key.
  /// - Throws: `store_locked` when another key sealed it, `store_missing` when it was changed.
  func payload(_ key: SharedSecret) throws(Failure) -> Secret {
    guard header.keyName.utf8.elementsEqual(try Self.name(of: key).utf8) else {
      throw Failure(.storeLocked, "\(label) was sealed with another key")
    }
    let payload = try Crypto.open(
      Array(box.dropFirst(Crypto.nonceLength)),
      with: Self.sessionKey(key, salt: header.salt),
      nonce: Array(box.prefix(Crypto.nonceLength)), authenticating: head)
    guard let payload else {
      throw Failure(.storeMissing, "\(label) was changed or damaged after it was sealed")
    }
    return payload
  }

  // MARK: Writing

  /// Returns the bytes of a file for `payload`.
  ///
  /// - Parameters:
  ///   - key: the store's key, derived by `derivation`.
  /// - Throws: `store_missing` when the names are too long for the header.
  static func seal(
    _ payload: borrowing Secret, of session: SessionKey, with key: SharedSecret,
    by derivation: Derivation
  ) throws(Failure) -> [UInt8] {
    let header = Header(
      derivation: derivation, salt: randomHex(bytes: 32), keyName: try name(of: key),
      session: session)
    let text = Array(header.json.serialized().utf8)
    guard text.count <= largestHeader else {
      throw Failure(
        .storeMissing, "the names of profile, account and origin are too long for a sealed file")
    }
    let length = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: text.count >> $0) }
    let head = magic + length + text
    let nonce = randomBytes(Crypto.nonceLength)
    let sessionKey = try sessionKey(key, salt: header.salt)
    let box = try payload.withBytes { (bytes) throws(Failure) in
      try Crypto.seal(bytes, with: sessionKey, nonce: nonce, authenticating: head)
    }
    return head + nonce + box
  }

  // MARK: Keys

  private static func sessionKey(
    _ key: SharedSecret, salt: String
  ) throws(Failure) -> Secret {
    try Crypto.hkdf(
      key, salt: hexDecoded(salt.utf8) ?? [], info: Array("authctl session v1".utf8), count: 32)
  }

  private static func name(of key: SharedSecret) throws(Failure) -> String {
    try Crypto.hkdf(key, salt: [], info: Array("authctl key name v1".utf8), count: 8)
      .withBytes { hexDigits($0) }
  }
}

// MARK: - The header

extension SealedFile.Header {
  /// Parses a header; nil if it is not one. Does not check the costs of scrypt.
  init?(_ json: JSONValue) {
    func whole(_ name: String) -> Int? { json[name]?.double.flatMap { Int(exactly: $0) } }
    guard let session = SessionKey(json), let salt = json["salt"]?.text,
      hexDecoded(salt.utf8)?.count == 32, let keyName = json["key"]?.text
    else { return nil }
    switch json["kdf"]?.text {
    case "file": derivation = .file
    case "scrypt":
      guard let log2N = whole("log2N"), let r = whole("r"), let p = whole("p"),
        let salt = json["kdf_salt"]?.text
      else { return nil }
      derivation = .scrypt(Scrypt(log2N: log2N, r: r, p: p, salt: salt))
    default: return nil
    }
    self.salt = salt
    self.keyName = keyName
    self.session = session
  }

  var json: JSONValue {
    var members: [(key: String, value: JSONValue)]
    switch derivation {
    case .file: members = [("kdf", "file")]
    case .scrypt(let scrypt):
      members = [
        ("kdf", "scrypt"), ("log2N", .number(scrypt.log2N)), ("r", .number(scrypt.r)),
        ("p", .number(scrypt.p)), ("kdf_salt", .string(scrypt.salt)),
      ]
    }
    members += [("salt", .string(salt)), ("key", .string(keyName))]
    return .object(members + session.members)
  }
}

extension SessionKey {
  /// Parses the names in a header.
  init?(_ json: JSONValue) {
    guard let profile = json["profile"]?.text, let account = json["account"]?.text,
      let origin = json["origin"]?.text, let loginID = json["generation"]?.text
    else { return nil }
    self.init(profile: profile, account: account, origin: origin, loginID: loginID)
  }

  var members: [(key: String, value: JSONValue)] {
    [
      ("profile", .string(profile)), ("account", .string(account)), ("origin", .string(origin)),
      ("generation", .string(loginID)),
    ]
  }
}
