import CCrypto
import Foundation

/// A JSON Web Token (RFC 7519), not yet verified.
struct JWT: Sendable {
  let header: JSON
  let claims: JSON
  let signed: String
  let signature: Data

  init?(_ text: String?) {
    let parts = (text ?? "").split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let header = Data(base64url: parts[0]).flatMap({ JSON($0) }),
      let claims = Data(base64url: parts[1]).flatMap({ JSON($0) }),
      let signature = Data(base64url: parts[2])
    else { return nil }
    (self.header, self.claims, self.signature) = (header, claims, signature)
    signed = parts[0] + "." + parts[1]
  }

  var algorithm: String { header["alg"]?.string ?? "" }

  /// Whether `exp` is in the future and `aud` contains one of `audiences`.
  func isFor(_ audiences: [String]) -> Bool {
    let named = claims["aud"]?.array?.compactMap(\.string) ?? [claims["aud"]?.string ?? ""]
    return (claims["exp"]?.double ?? 0) > Date().timeIntervalSince1970
      && !audiences.filter(named.contains).isEmpty
  }

  func isSigned(withSecret secret: String) -> Bool {
    algorithm == "HS256" && Digest.mac(signed, key: Array(secret.utf8)) == Array(signature)
  }

  func isSigned(by key: PublicKey) -> Bool {
    key.verifies(Data(signed.utf8), signature, algorithm: algorithm)
  }
}

/// A public key: a SubjectPublicKeyInfo in DER (RFC 5280, RFC 5480).
struct PublicKey: Sendable {
  let der: Data

  /// From the output of `openssl pkey -pubout`.
  init?(pem: String) {
    let lines = pem.split(separator: "\n").filter { !$0.hasPrefix("-----") }
    guard let der = Data(base64Encoded: lines.joined()), !der.isEmpty else { return nil }
    self.der = der
  }

  /// RFC 7517: RSA, P-256, P-384 or Ed25519.
  init?(jwk: JSON?) {
    guard let jwk else { return nil }
    func part(_ name: String) -> Data? { jwk[name]?.string.flatMap { Data(base64url: $0) } }
    let x = part("x")
    let sizes = ["P-256": 32, "P-384": 48]
    let identifiers: [String: [UInt8]] = [
      "RSA": [0x06, 9, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 1, 1, 5, 0],
      "P-256": [
        0x06, 7, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 2, 1, 0x06, 8, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 3, 1, 7,
      ],
      "P-384": [0x06, 7, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 2, 1, 0x06, 5, 0x2B, 0x81, 4, 0, 34],
      "Ed25519": [0x06, 3, 0x2B, 0x65, 0x70],
    ]
    let curve = jwk["crv"]?.string ?? ""
    let bits: Data
    switch jwk["kty"]?.string {
    case "RSA":
      guard let n = part("n"), let e = part("e") else { return nil }
      bits = DER.sequence(DER.integer(n) + DER.integer(e))
    case "EC":
      guard let x, let y = part("y"), x.count == sizes[curve], y.count == x.count else {
        return nil
      }
      bits = [4] + x + y
    case "OKP":
      guard curve == "Ed25519", let x else { return nil }
      bits = x
    default: return nil
    }
    guard let identifier = identifiers[jwk["kty"]?.string == "RSA" ? "RSA" : curve] else {
      return nil
    }
    der = DER.sequence(DER.sequence(Data(identifier)) + DER.value(3, [0] + bits))
  }

  /// The thumbprint of a key (RFC 7638).
  static func thumbprint(_ jwk: JSON) -> String {
    let names = ["crv", "e", "kty", "n", "x", "y"]
    let members = JSON.object(names.compactMap { name in jwk[name].map { (name, $0) } })
    return Signer.base64url(Data(Digest.sha256(Data(members.text().utf8))))
  }

  static let algorithms: JSON = ["ES256", "ES384", "EdDSA", "PS256", "RS256"]

  func verifies(_ message: Data, _ signature: Data, algorithm: String) -> Bool {
    let crypto = Digest.library
    var signature = signature
    if algorithm.hasPrefix("ES") {  // r and s, concatenated (RFC 7518, section 3.4)
      let half = signature.count / 2
      signature = DER.sequence(
        DER.integer(signature.prefix(half)) + DER.integer(signature.dropFirst(half)))
    }
    let key: OpaquePointer? = der.withUnsafeBytes {
      var start = $0.bindMemory(to: UInt8.self).baseAddress
      return LibCrypto.d2iPublicKey(nil, &start, der.count)
    }
    let context = crypto.EVP_MD_CTX_new()
    defer {
      crypto.EVP_MD_CTX_free(context)
      LibCrypto.freeKey(key)
    }
    let digests = [
      "ES256": crypto.EVP_sha256(), "RS256": crypto.EVP_sha256(), "PS256": crypto.EVP_sha256(),
      "ES384": LibCrypto.sha384(), "EdDSA": nil,
    ]
    var options: OpaquePointer?
    guard key != nil, let digest = digests[algorithm],
      LibCrypto.verifyInit(context, &options, digest, nil, key) == 1
    else { return false }
    if algorithm == "PS256" {  // RSA_PKCS1_PSS_PADDING, RSA_PSS_SALTLEN_DIGEST
      guard LibCrypto.setPadding(options, 6) == 1, LibCrypto.setSaltLength(options, -1) == 1 else {
        return false
      }
    }
    return signature.withUnsafeBytes { signature in
      message.withUnsafeBytes {
        LibCrypto.verify(
          context, signature.baseAddress, signature.count, $0.baseAddress, $0.count) == 1
      }
    }
  }
}

/// The RSA key that signs ID tokens.
final class SigningKey {
  private let key: OpaquePointer?

  init() {
    let crypto = Digest.library
    let maker = crypto.EVP_PKEY_CTX_new_id(6, nil)  // EVP_PKEY_RSA
    defer { crypto.EVP_PKEY_CTX_free(maker) }
    var key: OpaquePointer?
    precondition(
      LibCrypto.makeKeyInit(maker) == 1 && LibCrypto.setKeySize(maker, 2048) == 1
        && LibCrypto.makeKey(maker, &key) == 1)
    self.key = key
  }

  deinit { LibCrypto.freeKey(key) }

  /// Signs with RS256.
  func jwt(_ claims: JSON) -> String {
    let header: JSON = ["alg": "RS256", "typ": "JWT", "kid": "demo"]
    let signed = Signer.base64url(header.text()) + "." + Signer.base64url(claims.text())
    let crypto = Digest.library
    let context = crypto.EVP_MD_CTX_new()
    defer { crypto.EVP_MD_CTX_free(context) }
    var (signature, size) = (Data(count: 256), 256)
    precondition(LibCrypto.signInit(context, nil, crypto.EVP_sha256(), nil, key) == 1)
    let result = signature.withUnsafeMutableBytes { signature in
      Data(signed.utf8).withUnsafeBytes {
        LibCrypto.sign(context, signature.baseAddress, &size, $0.baseAddress, $0.count)
      }
    }
    precondition(result == 1)
    return signed + "." + Signer.base64url(signature)
  }

  var publicKey: PublicKey? {
    var bytes: UnsafeMutablePointer<UInt8>?
    let size = LibCrypto.i2dPublicKey(key, &bytes)
    guard size > 0, let bytes else { return nil }
    defer { LibCrypto.release(bytes, "DemoAPI", 0) }
    return PublicKey(pem: Data(bytes: bytes, count: Int(size)).base64EncodedString())
  }

  /// RFC 7517. The modulus of a 2048-bit key is at byte 33 of its DER; the exponent is 65537.
  var jwks: JSON {
    let modulus = publicKey?.der.dropFirst(33).prefix(256) ?? Data()
    return [
      "keys": [
        [
          "kty": "RSA", "use": "sig", "alg": "RS256", "kid": "demo", "e": "AQAB",
          "n": .string(Signer.base64url(Data(modulus))),
        ]
      ]
    ]
  }
}

private enum DER {
  static func value(_ tag: UInt8, _ content: Data) -> Data {
    let count = content.count
    let length: [UInt8] =
      count < 128
      ? [UInt8(count)]
      : count < 256 ? [0x81, UInt8(count)] : [0x82, UInt8(count >> 8 & 0xFF), UInt8(count & 0xFF)]
    return [tag] + length + content
  }

  static func sequence(_ content: Data) -> Data { value(0x30, content) }

  /// An unsigned integer in its shortest form.
  static func integer(_ bytes: Data) -> Data {
    let digits = Data(bytes.drop { $0 == 0 })
    return value(2, (digits.first ?? 0x80) & 0x80 == 0 ? digits : [0] + digits)
  }
}

/// The functions of libcrypto that only DemoAPI uses.
private enum LibCrypto {
  typealias Pointer = OpaquePointer?
  typealias Init =
    @Sendable @convention(c) (Pointer, UnsafeMutablePointer<Pointer>?, Pointer, Pointer, Pointer) ->
    Int32
  static let d2iPublicKey:
    @Sendable @convention(c) (
      UnsafeMutablePointer<Pointer>?, UnsafeMutablePointer<UnsafePointer<UInt8>?>, Int
    ) -> Pointer = load("d2i_PUBKEY")
  static let i2dPublicKey:
    @Sendable @convention(c) (Pointer, UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>) -> Int32 =
      load("i2d_PUBKEY")
  static let release:
    @Sendable @convention(c) (UnsafeMutableRawPointer, UnsafePointer<CChar>, Int32)
      -> Void = load("CRYPTO_free")
  static let freeKey: @Sendable @convention(c) (Pointer) -> Void = load("EVP_PKEY_free")
  static let sha384: @Sendable @convention(c) () -> Pointer = load("EVP_sha384")
  static let verifyInit: Init = load("EVP_DigestVerifyInit")
  static let verify:
    @Sendable @convention(c) (Pointer, UnsafeRawPointer?, Int, UnsafeRawPointer?, Int) -> Int32 =
      load("EVP_DigestVerify")
  static let signInit: Init = load("EVP_DigestSignInit")
  static let sign:
    @Sendable @convention(c) (
      Pointer, UnsafeMutableRawPointer?, UnsafeMutablePointer<Int>, UnsafeRawPointer?, Int
    ) -> Int32 = load("EVP_DigestSign")
  static let setPadding: @Sendable @convention(c) (Pointer, Int32) -> Int32 =
    load("EVP_PKEY_CTX_set_rsa_padding")
  static let setSaltLength: @Sendable @convention(c) (Pointer, Int32) -> Int32 =
    load("EVP_PKEY_CTX_set_rsa_pss_saltlen")
  static let makeKeyInit: @Sendable @convention(c) (Pointer) -> Int32 = load("EVP_PKEY_keygen_init")
  static let setKeySize: @Sendable @convention(c) (Pointer, Int32) -> Int32 =
    load("EVP_PKEY_CTX_set_rsa_keygen_bits")
  static let makeKey: @Sendable @convention(c) (Pointer, UnsafeMutablePointer<Pointer>) -> Int32 =
    load("EVP_PKEY_keygen")

  private static func load<F>(_ name: String) -> F {
    guard let symbol = dlsym(dlopen("libcrypto.so.3", RTLD_LAZY), name) else {
      preconditionFailure("libcrypto has no \(name)")
    }
    return unsafeBitCast(symbol, to: F.self)
  }
}

extension Data {
  init?(base64url text: some StringProtocol) {
    guard text.utf8.allSatisfy({ $0 != 0x2B && $0 != 0x2F && $0 != 0x3D }) else { return nil }
    let plain = text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(
      of: "_", with: "/")
    self.init(base64Encoded: plain + String(repeating: "=", count: (4 - plain.count % 4) % 4))
  }
}
