internal import CCrypto

/// A private key that signs JSON Web Signatures (RFC 7515; RFC 7518, section 3.1; RFC 8037).
struct SigningKey: ~Copyable {
  /// The algorithms, by their names in the header `alg`.
  enum Algorithm: String {
    case rs256 = "RS256"
    case ps256 = "PS256"
    case es256 = "ES256"
    case es384 = "ES384"
    case edDSA = "EdDSA"
  }

  /// What the key can do, the usual algorithm first.
  let algorithms: [Algorithm]
  private let crypto: authctl_crypto
  private let key: OpaquePointer

  /// Reads a key in PEM: PKCS #8, PKCS #1 or SEC 1, without a passphrase.
  ///
  /// https://docs.openssl.org/3.0/man3/PEM_read_bio_PrivateKey/
  ///
  /// - Parameter name: the file's name, for messages.
  /// - Throws: `failed` for what is no such key.
  init(pem: borrowing Secret, name: String) throws(Failure) {
    let crypto = try Crypto.opened()
    let found = pem.withBytes { bytes -> OpaquePointer? in
      guard let source = crypto.BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count))
      else { return nil }
      defer { _ = crypto.BIO_free(source) }
      // Without this libcrypto would ask for a passphrase on the terminal.
      return crypto.PEM_read_bio_PrivateKey(source, nil, { _, _, _, _ in -1 }, nil)
    }
    guard let found else {
      throw Failure(
        .failed, "\(name): not an unencrypted private key in PEM format",
        hint: "to write one, run: openssl pkey -in FILE -out KEY.pem")
    }
    let algorithms = Self.algorithms(
      crypto.EVP_PKEY_get_base_id(found), bits: crypto.EVP_PKEY_get_bits(found))
    guard !algorithms.isEmpty else {
      crypto.EVP_PKEY_free(found)
      throw Failure(
        .failed, "\(name): unsupported key; use RSA with 2048 bits or more, P-256, P-384 or Ed25519"
      )
    }
    (self.crypto, key, self.algorithms) = (crypto, found, algorithms)
  }

  /// Makes a new key for ES256.
  ///
  /// https://docs.openssl.org/3.0/man3/EVP_PKEY_keygen/
  static func newP256() throws(Failure) -> SigningKey {
    let crypto = try Crypto.opened()
    let refusal = Failure(.failed, "libcrypto refuses to make a key")
    guard let context = crypto.EVP_PKEY_CTX_new_id(EVP_PKEY_EC, nil) else { throw refusal }
    defer { crypto.EVP_PKEY_CTX_free(context) }
    var made: OpaquePointer?
    guard crypto.EVP_PKEY_keygen_init(context) == 1,
      crypto.EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1) == 1,
      crypto.EVP_PKEY_keygen(context, &made) == 1, let made
    else { throw refusal }
    return SigningKey(algorithms: [.es256], crypto: crypto, key: made)
  }

  private init(algorithms: [Algorithm], crypto: authctl_crypto, key: OpaquePointer) {
    (self.algorithms, self.crypto, self.key) = (algorithms, crypto, key)
  }

  /// Reads what `exported` returned.
  ///
  /// - Throws: `failed` for anything else.
  init(exported text: SharedSecret, name: String) throws(Failure) {
    var pem = SecretBuilder()
    pem.append("-----BEGIN EC PRIVATE KEY-----\n")
    pem.append(text.secret)
    pem.append("\n-----END EC PRIVATE KEY-----\n")
    try self.init(pem: pem.secret(), name: name)
  }

  /// Returns a key of P-256 as base64 of its DER form (RFC 5915), in one line.
  func exported() throws(Failure) -> SharedSecret {
    let refusal = Failure(.failed, "libcrypto refuses to export a key")
    let count = Int(crypto.i2d_PrivateKey(key, nil))
    guard count > 0 else { throw refusal }
    let der = try Secret(count: count) { (bytes) throws(Failure) in
      var end = bytes.assumingMemoryBound(to: UInt8.self).baseAddress
      guard crypto.i2d_PrivateKey(key, &end) == count else { throw refusal }
    }
    var text = SecretBuilder()
    der.withBytes { text.appendBase64($0) }
    return SharedSecret(text.secret())
  }

  /// Returns x and y of the public key of P-256, 32 bytes each: the end of its DER form, whose point
  /// is uncompressed (RFC 5480, section 2).
  func publicPoint() throws(Failure) -> (x: [UInt8], y: [UInt8]) {
    let refusal = Failure(.failed, "libcrypto refuses to export a public key")
    let count = Int(crypto.i2d_PUBKEY(key, nil))
    guard algorithms == [.es256], count > 65 else { throw refusal }
    var der = [UInt8](repeating: 0, count: count)
    let written = der.withUnsafeMutableBufferPointer { bytes in
      var end = bytes.baseAddress
      return Int(crypto.i2d_PUBKEY(key, &end))
    }
    guard written == count, der[count - 65] == 0x04 else { throw refusal }
    return (Array(der.suffix(64).prefix(32)), Array(der.suffix(32)))
  }

  private static func algorithms(_ type: Int32, bits: Int32) -> [Algorithm] {
    switch (type, bits) {
    case (EVP_PKEY_RSA, 2048...): [.rs256, .ps256]
    case (EVP_PKEY_EC, 256): [.es256]
    case (EVP_PKEY_EC, 384): [.es384]
    case (EVP_PKEY_ED25519, _): [.edDSA]
    default: []
    }
  }

  deinit { crypto.EVP_PKEY_free(key) }

  /// Signs `bytes`; an ECDSA signature is the two numbers one after the other (RFC 7518,
  /// section 3.4).
  ///
  /// https://docs.openssl.org/3.0/man3/EVP_DigestSignInit/
  func sign(_ bytes: [UInt8], by algorithm: Algorithm) throws(Failure) -> [UInt8] {
    let refusal = Failure(.failed, "libcrypto refuses to sign by \(algorithm.rawValue)")
    guard let context = crypto.EVP_MD_CTX_new() else { throw refusal }
    defer { crypto.EVP_MD_CTX_free(context) }
    let digest: OpaquePointer? =
      switch algorithm {
      case .edDSA: nil
      case .es384: crypto.EVP_sha384()
      case .rs256, .ps256, .es256: crypto.EVP_sha256()
      }
    var parameters: OpaquePointer?
    guard crypto.EVP_DigestSignInit(context, &parameters, digest, nil, key) == 1 else {
      throw refusal
    }
    if algorithm == .ps256 {
      guard crypto.EVP_PKEY_CTX_set_rsa_padding(parameters, RSA_PKCS1_PSS_PADDING) == 1,
        crypto.EVP_PKEY_CTX_set_rsa_pss_saltlen(parameters, RSA_PSS_SALTLEN_DIGEST) == 1
      else { throw refusal }
    }
    var count = 0
    guard crypto.EVP_DigestSign(context, nil, &count, bytes, bytes.count) == 1 else {
      throw refusal
    }
    var signature = [UInt8](repeating: 0, count: count)
    guard crypto.EVP_DigestSign(context, &signature, &count, bytes, bytes.count) == 1 else {
      throw refusal
    }
    signature.removeLast(signature.count - count)
    guard algorithm == .es256 || algorithm == .es384 else { return signature }
    let size = algorithm == .es256 ? 32 : 48
    guard let joined = Self.joined(signature, size: size) else { throw refusal }
    return joined
  }

  /// Returns the two numbers of a DER sequence (RFC 3279, section 2.2.3), each in `size` bytes.
  private static func joined(_ der: [UInt8], size: Int) -> [UInt8]? {
    var rest = der[...]
    guard rest.popFirst() == 0x30, let length = rest.popFirst(), length < 0x80 else { return nil }
    var joined: [UInt8] = []
    for _ in 0..<2 {
      guard rest.popFirst() == 0x02, let count = rest.popFirst(), count <= rest.count else {
        return nil
      }
      let number = rest.prefix(Int(count)).drop { $0 == 0 }
      rest = rest.dropFirst(Int(count))
      guard number.count <= size else { return nil }
      joined += [UInt8](repeating: 0, count: size - number.count) + number
    }
    return joined
  }
}

extension Crypto {
  /// Returns HMAC-SHA256 (RFC 2104): 32 bytes.
  static func hmac(_ bytes: [UInt8], key: SharedSecret) throws(Failure) -> [UInt8] {
    let crypto = try opened()
    var code = [UInt8](repeating: 0, count: 32)
    var count: UInt32 = 32
    let result = key.withBytes { key in
      crypto.HMAC(
        crypto.EVP_sha256(), key.baseAddress, Int32(clamping: key.count), bytes, bytes.count, &code,
        &count)
    }
    guard result != nil, count == 32 else { throw Failure(.failed, "libcrypto refuses HMAC") }
    return code
  }
}
