internal import CCrypto

/// The cryptography of authctl (rule B9): the only access to OpenSSL's libcrypto, which gets its
/// security updates from the system. Contexts that held a key are wiped when they are freed.
///
/// Every function throws `store_missing` when libcrypto is not installed or reports an error.
/// https://docs.openssl.org/3.0/man7/evp/
package enum Crypto {
  /// Returns the SHA-256 hash (FIPS 180-4): 32 bytes.
  static func sha256(_ bytes: [UInt8]) throws(Failure) -> [UInt8] {
    let crypto = try opened()
    var hash = [UInt8](repeating: 0, count: 32)
    guard crypto.EVP_Digest(bytes, bytes.count, &hash, nil, crypto.EVP_sha256(), nil) == 1 else {
      throw refusal("SHA-256")
    }
    return hash
  }

  /// Returns the SHA-256 hash in lower-case hexadecimal digits.
  static func sha256Hex(_ bytes: [UInt8]) throws(Failure) -> String {
    hexDigits(try sha256(bytes))
  }

  // MARK: Keys

  /// Derives `count` bytes, at most 8160, with HKDF-SHA256 (RFC 5869).
  static func hkdf(
    _ key: SharedSecret, salt: [UInt8], info: [UInt8], count: Int
  ) throws(Failure) -> Secret {
    let crypto = try opened()
    guard let context = crypto.EVP_PKEY_CTX_new_id(EVP_PKEY_HKDF, nil) else {
      throw refusal("HKDF")
    }
    defer { crypto.EVP_PKEY_CTX_free(context) }
    let isReady = key.withBytes { key in
      crypto.EVP_PKEY_derive_init(context) == 1
        && crypto.EVP_PKEY_CTX_set_hkdf_md(context, crypto.EVP_sha256()) == 1
        && crypto.EVP_PKEY_CTX_set1_hkdf_salt(context, salt, Int32(clamping: salt.count)) == 1
        && crypto.EVP_PKEY_CTX_set1_hkdf_key(context, key.octets, Int32(clamping: key.count)) == 1
        && crypto.EVP_PKEY_CTX_add1_hkdf_info(context, info, Int32(clamping: info.count)) == 1
    }
    guard isReady else { throw refusal("HKDF") }
    return try Secret(count: count) { (output) throws(Failure) in
      var written = count
      guard crypto.EVP_PKEY_derive(context, output.octets, &written) == 1, written == count else {
        throw refusal("HKDF")
      }
    }
  }

  /// Derives `count` bytes with scrypt (RFC 7914).
  ///
  /// - Parameters:
  ///   - n: the cost, a power of 2; scrypt takes 128 * r * n bytes of memory.
  ///   - r: the block size, in units of 128 bytes.
  ///   - p: the number of times that the whole is done.
  static func scrypt(
    _ passphrase: SharedSecret, salt: [UInt8], n: UInt64, r: UInt64, p: UInt64, count: Int
  ) throws(Failure) -> Secret {
    let crypto = try opened()
    // n blocks, the two being mixed, and the p waiting ones. The default limit is 32 MiB.
    let memory = 128 &* r &* (n &+ 2 &+ p)
    return try Secret(count: count) { (output) throws(Failure) in
      let result = passphrase.withBytes { phrase in
        crypto.EVP_PBE_scrypt(
          phrase.assumingMemoryBound(to: CChar.self).baseAddress, phrase.count, salt, salt.count,
          n, r, p, memory, output.octets, count)
      }
      guard result == 1 else { throw refusal("scrypt") }
    }
  }

  // MARK: AES-256-GCM

  /// The length of a nonce, in bytes.
  static let nonceLength = 12
  /// The length of the tag, in bytes.
  static let tagLength = 16

  /// Encrypts with AES-256-GCM (NIST SP 800-38D); returns the ciphertext followed by the tag.
  ///
  /// - Parameters:
  ///   - key: 32 bytes.
  ///   - nonce: 12 bytes, which must never be used twice with one key.
  ///   - head: data that is authenticated but not encrypted.
  static func seal(
    _ plain: UnsafeRawBufferPointer, with key: borrowing Secret, nonce: [UInt8],
    authenticating head: [UInt8]
  ) throws(Failure) -> [UInt8] {
    let cipher = try Cipher()
    try cipher.begin(key, nonce: nonce, head: head, encrypts: true)
    var box = [UInt8](repeating: 0, count: plain.count + tagLength)
    let isSealed = box.withUnsafeMutableBytes { box in
      cipher.write(plain, to: box) && cipher.finish()
        && cipher.tag(EVP_CTRL_AEAD_GET_TAG, .init(rebasing: box.suffix(tagLength)))
    }
    guard isSealed else { throw refusal("AES-256-GCM") }
    return box
  }

  /// Decrypts what `seal` returned; nil when the box, the key, the nonce or the head differs.
  static func open(
    _ box: [UInt8], with key: borrowing Secret, nonce: [UInt8],
    authenticating head: [UInt8]
  ) throws(Failure) -> Secret? {
    guard box.count >= tagLength else { return nil }
    let cipher = try Cipher()
    try cipher.begin(key, nonce: nonce, head: head, encrypts: false)
    var tag = Array(box.suffix(tagLength))
    var isWhole = false
    let plain = Secret(count: box.count - tagLength) { plain in
      isWhole =
        box.dropLast(tagLength).withUnsafeBytes { cipher.write($0, to: plain) }
        && tag.withUnsafeMutableBytes { cipher.tag(EVP_CTRL_AEAD_SET_TAG, $0) } && cipher.finish()
    }
    guard isWhole else { return nil }
    return plain
  }

  /// One encryption or decryption in progress.
  private struct Cipher: ~Copyable {
    private let crypto: authctl_crypto
    private let context: OpaquePointer

    init() throws(Failure) {
      let crypto = try opened()
      guard let context = crypto.EVP_CIPHER_CTX_new() else { throw refusal("AES-256-GCM") }
      (self.crypto, self.context) = (crypto, context)
    }

    deinit { crypto.EVP_CIPHER_CTX_free(context) }

    func begin(
      _ key: borrowing Secret, nonce: [UInt8], head: [UInt8], encrypts: Bool
    ) throws(Failure) {
      let isReady = key.withBytes { key in
        key.count == 32 && nonce.count == nonceLength
          && crypto.EVP_CipherInit_ex(
            context, crypto.EVP_aes_256_gcm(), nil, key.octets, nonce, encrypts ? 1 : 0) == 1
      }
      guard isReady, head.withUnsafeBytes({ write($0, to: nil) }) else {
        throw refusal("AES-256-GCM")
      }
    }

    /// Encrypts or decrypts `input`; without `output`, only authenticates it.
    func write(
      _ input: UnsafeRawBufferPointer, to output: UnsafeMutableRawBufferPointer?
    ) -> Bool {
      var count: Int32 = 0
      return input.isEmpty
        || crypto.EVP_CipherUpdate(
          context, output?.octets, &count, input.octets, Int32(clamping: input.count))
          == 1 && count == input.count
    }

    /// Reads or sets the tag.
    func tag(_ command: Int32, _ bytes: UnsafeMutableRawBufferPointer) -> Bool {
      crypto.EVP_CIPHER_CTX_ctrl(context, command, Int32(clamping: bytes.count), bytes.baseAddress)
        == 1
    }

    /// Finishes the operation; when decrypting, returns whether the tag matches.
    func finish() -> Bool {
      // GCM has no last block, so nothing is written.
      var (none, count): (UInt8, Int32) = (0, 0)
      return crypto.EVP_CipherFinal_ex(context, &none, &count) == 1
    }
  }

  // MARK: The library

  /// Loads libcrypto and encrypts once: the first use of each algorithm looks up its
  /// implementation, 1.5 ms in all. A failure here shows again when the algorithm is needed.
  static func prepare() {
    do throws(Failure) {
      let key = try hkdf(SharedSecret("prepare"), salt: [], info: [], count: 32)
      let nonce = [UInt8](repeating: 0, count: nonceLength)
      _ = try seal(
        UnsafeRawBufferPointer(start: nil, count: 0), with: key, nonce: nonce, authenticating: [])
    } catch {}
  }

  /// Loads libcrypto on a separate thread, then calls `next` there.
  package static func prepareAhead(then next: @escaping () -> Void) {
    _ = BackgroundThread {
      prepare()
      next()
    }
  }

  /// Returns libcrypto's functions.
  static func opened() throws(Failure) -> authctl_crypto {
    guard let functions = authctl_crypto() else {
      throw .missingLibrary(
        .storeMissing, "libcrypto 3 of OpenSSL", package: "libssl3",
        reason: String(cString: authctl_crypto_error()))
    }
    return functions.pointee
  }

  private static func refusal(_ what: String) -> Failure {
    Failure(.storeMissing, "libcrypto does not support \(what)")
  }
}

extension UnsafeRawBufferPointer {
  fileprivate var octets: UnsafePointer<UInt8>? {
    assumingMemoryBound(to: UInt8.self).baseAddress
  }
}

extension UnsafeMutableRawBufferPointer {
  fileprivate var octets: UnsafeMutablePointer<UInt8>? {
    assumingMemoryBound(to: UInt8.self).baseAddress
  }
}
