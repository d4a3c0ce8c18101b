/// The parameters that derive the key of the sealed files from a passphrase: scrypt (RFC 7914).
struct Scrypt: Equatable {
  /// The binary logarithm of the cost N: 128 * r * N bytes of memory.
  var log2N: Int
  /// The size of a block, in units of 128 bytes.
  var r: Int
  /// The parallelization parameter.
  var p: Int
  /// 32 hexadecimal digits of 16 random bytes. The salt is this text, not the bytes: files have
  /// been sealed so since version 0.1.0.
  var salt: String

  /// Returns the parameters for writers with a new salt: 128 MiB, and 0.4 s of one core of 2024.
  static func fresh() -> Scrypt {
    Scrypt(log2N: 17, r: 8, p: 1, salt: randomHex(bytes: 16))
  }

  /// Whether the costs are those of writers.
  var isStandard: Bool { log2N == 17 && r == 8 && p == 1 }

  /// Whether readers accept the costs: at most a writer's, as the numbers come from a file whose
  /// writer is not known yet (rule B9).
  var isAccepted: Bool {
    (15...17).contains(log2N) && r == 8 && p == 1
      && hexDecoded(salt.utf8)?.count == 16
  }

  /// Returns the key of 32 bytes for `passphrase`; call it only if `isAccepted`.
  ///
  /// - Throws: `store_missing` without libcrypto or enough memory.
  func key(from passphrase: SharedSecret) throws(Failure) -> Secret {
    try Crypto.scrypt(
      passphrase, salt: Array(salt.utf8), n: 1 << UInt64(clamping: log2N),
      r: UInt64(clamping: r), p: UInt64(clamping: p), count: 32)
  }
}
