import CCrypto
import Foundation

/// SHA-256 of data that arrives in pieces.
final class Digest {
  private let crypto = Digest.library
  private let context: OpaquePointer?

  /// The tests run authctl on the same machine, which needs libcrypto too.
  static var library: authctl_crypto {
    guard let functions = authctl_crypto() else { fatalError("libcrypto.so.3 is not installed") }
    return functions.pointee
  }

  init() {
    context = crypto.EVP_MD_CTX_new()
    precondition(crypto.EVP_DigestInit_ex(context, crypto.EVP_sha256(), nil) == 1)
  }

  deinit { crypto.EVP_MD_CTX_free(context) }

  func update(_ piece: Data) {
    piece.withUnsafeBytes {
      precondition(crypto.EVP_DigestUpdate(context, $0.baseAddress, $0.count) == 1)
    }
  }

  /// The digest in hexadecimal; it must be the last call.
  func finish() -> String {
    var hash = [UInt8](repeating: 0, count: 32)
    precondition(crypto.EVP_DigestFinal_ex(context, &hash, nil) == 1)
    return hash.hex
  }

  static func sha256(_ data: Data) -> [UInt8] {
    let crypto = library
    var hash = [UInt8](repeating: 0, count: 32)
    let result = data.withUnsafeBytes {
      crypto.EVP_Digest($0.baseAddress, $0.count, &hash, nil, crypto.EVP_sha256(), nil)
    }
    precondition(result == 1)
    return hash
  }

  /// HMAC-SHA256 (RFC 2104).
  static func mac(_ text: String, key: [UInt8]) -> [UInt8] {
    let crypto = library
    var (text, mac) = (text, [UInt8](repeating: 0, count: 32))
    let result = text.withUTF8 {
      crypto.HMAC(
        crypto.EVP_sha256(), key, Int32(key.count), $0.baseAddress, $0.count, &mac, nil)
    }
    precondition(result != nil)
    return mac
  }
}

extension Sequence<UInt8> {
  var hex: String { map { String(format: "%02x", $0) }.joined() }
}
