internal import CCrypt
internal import Glibc

/// scrypt (RFC 7914) with 32 bytes of output, as crypt_r(3) of libxcrypt computes it for settings
/// that begin with `$7$`.
struct Scrypt: Equatable {
  /// The binary logarithm of the cost N: 128 * r * N bytes of memory.
  var log2N: Int
  /// The size of a block, in units of 128 bytes.
  var r: Int
  /// How often the whole is done.
  var p: Int
  /// 32 hexadecimal digits, 16 random bytes. scrypt's salt is this text, for crypt(5) has no other.
  var salt: String

  /// What writers use, with a new salt: 128 MiB, and 0.4 s of one core of 2024.
  static func fresh() -> Scrypt {
    Scrypt(log2N: 17, r: 8, p: 1, salt: randomHex(bytes: 16))
  }

  /// Whether it is as costly as what writers use.
  var isStandard: Bool { log2N == 17 && r == 8 && p == 1 }

  /// What readers accept, who get these numbers from a file before they know who wrote it.
  var isAccepted: Bool {
    (15...18).contains(log2N) && r == 8 && (1...4).contains(p)
      && hexDecoded(salt.utf8)?.count == 16
  }

  /// The longest passphrase, in bytes: CRYPT_MAX_PASSPHRASE_SIZE of <crypt.h>, less the NUL.
  static let longestPassphrase = 511

  /// The key that `passphrase` gives.
  ///
  /// - Throws: `store_missing` when there is no libcrypt, or one that cannot do it.
  func key(from passphrase: SharedSecret) throws(Failure) -> Secret {
    var phrase = SecretBuilder(capacity: passphrase.secret.count + 1)
    passphrase.withBytes { phrase.append($0) }
    phrase.append(0)
    let hash = UnsafeMutableBufferPointer<CChar>.allocate(capacity: Int(AUTHCTL_CRYPT_OUTPUT))
    hash.initialize(repeating: 0)
    defer {
      if let base = hash.baseAddress { explicit_bzero(base, hash.count) }
      hash.deallocate()
    }
    let result = phrase.secret().withBytes { bytes -> Int32 in
      guard let text = bytes.assumingMemoryBound(to: CChar.self).baseAddress,
        let out = hash.baseAddress
      else { return EINVAL }
      return authctl_crypt(text, setting, out)
    }
    guard result == 0 else { throw Self.failure(result) }
    let head = setting.utf8.count
    let digits = UnsafeRawBufferPointer(hash).prefix { $0 != 0 }
    guard digits.count == head + 44, digits.starts(with: (setting + "$").utf8) else {
      throw Self.failure(EINVAL)
    }
    return Self.decoded(UnsafeRawBufferPointer(rebasing: digits.dropFirst(head + 1)))
  }

  // MARK: crypt(5)

  private static let digits = Array(
    "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)

  /// `$7$`, one digit for log2N, five for r and five for p, the lowest six bits first; the salt.
  private var setting: String {
    func five(_ value: Int) -> [UInt8] { (0..<5).map { Self.digits[value >> ($0 * 6) & 63] } }
    return String(
      decoding: "$7$".utf8 + [Self.digits[log2N & 63]] + five(r) + five(p), as: UTF8.self) + salt
  }

  /// The bytes of a hash: in groups of four digits for three bytes, the lowest bits first.
  private static func decoded(_ text: UnsafeRawBufferPointer) -> Secret {
    var bytes = SecretBuilder(capacity: 32)
    var (bits, count): (UInt32, UInt32) = (0, 0)
    for digit in text {
      bits |= UInt32(Self.digits.firstIndex(of: digit) ?? 0) << count
      count += 6
      guard count >= 8 else { continue }
      bytes.append(UInt8(truncatingIfNeeded: bits))
      bits >>= 8
      count -= 8
    }
    return bytes.secret()
  }

  private static func failure(_ result: Int32) -> Failure {
    let hint = "AUTHCTL_STORE_KEY_FILE needs none: a file with 32 random bytes"
    if result == -1 {
      let words = keyringText(String(cString: authctl_crypt_error()))
      return Failure(.storeMissing, "libcrypt cannot be loaded: \(words)", hint: hint)
    }
    let words = String(cString: strerror(result)).asciiLowercased
    return Failure(
      .storeMissing, "libcrypt cannot make a key of the passphrase by scrypt: \(words)", hint: hint)
  }
}

/// The bytes that hexadecimal digits stand for; nil for anything else.
func hexDecoded(_ text: some Collection<UInt8>) -> [UInt8]? {
  var digits = text.makeIterator()
  var bytes: [UInt8] = []
  bytes.reserveCapacity(text.count / 2)
  while let high = digits.next() {
    guard let low = digits.next(), let upper = hexValue(high), let lower = hexValue(low) else {
      return nil
    }
    bytes.append(upper << 4 | lower)
  }
  return bytes
}
