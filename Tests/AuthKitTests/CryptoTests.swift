import Testing

@testable import AuthKit

/// Crypto.swift's calls to libcrypto, checked with the examples of the standards.
@Suite struct CryptoTests {
  private func bytes(_ hex: String) throws -> [UInt8] { try #require(hexDecoded(hex.utf8)) }

  private func secret(_ hex: String) throws -> Secret {
    let bytes = try bytes(hex)
    return Secret(count: bytes.count) { $0.copyBytes(from: bytes) }
  }

  private func hex(_ secret: borrowing Secret) -> String { secret.withBytes { hexDigits($0) } }

  // MARK: Hashes and keys

  /// FIPS 180-4: https://csrc.nist.gov/projects/cryptographic-standards-and-guidelines/example-values
  @Test(arguments: [
    ("", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ("abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (
      "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
    ),
    ("a", 1_000_000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
  ])
  func sha256(_ text: String, _ times: Int, _ hash: String) throws {
    #expect(hexDigits(try Crypto.sha256(Array(String(repeating: text, count: times).utf8))) == hash)
  }

  /// RFC 5869, appendix A.1 to A.3.
  @Test(arguments: [
    (
      String(repeating: "0b", count: 22), "000102030405060708090a0b0c", "f0f1f2f3f4f5f6f7f8f9",
      "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"
    ),
    (
      hexDigits(0x00...0x4F), hexDigits(0x60...0xAF), hexDigits(0xB0...0xFF),
      "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e59"
        + "0e09da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87"
    ),
    (
      String(repeating: "0b", count: 22), "", "",
      "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"
    ),
  ])
  func hkdf(_ key: String, _ salt: String, _ info: String, _ output: String) throws {
    let derived = try Crypto.hkdf(
      SharedSecret(try secret(key)), salt: try bytes(salt), info: try bytes(info),
      count: output.utf8.count / 2)
    #expect(hex(derived) == output)
  }

  /// RFC 7914, section 12; its last example needs 1 GiB.
  @Test(arguments: [
    (
      ("", "", 16, 1, 1) as (String, String, UInt64, UInt64, UInt64),
      "77d6576238657b203b19ca42c18a0497f16b4844e3074ae8dfdffa3fede21442"
        + "fcd0069ded0948f8326a753a0fc81f17e8d3e0fb2e0d3628cf35e20c38d18906"
    ),
    (
      ("password", "NaCl", 1024, 8, 16),
      "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162"
        + "2eaf30d92e22a3886ff109279d9830dac727afb94a83ee6d8360cbdfa2cc0640"
    ),
    (
      ("pleaseletmein", "SodiumChloride", 16384, 8, 1),
      "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2"
        + "d5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887"
    ),
  ])
  func scrypt(_ input: (String, String, UInt64, UInt64, UInt64), _ output: String) throws {
    let (phrase, salt, n, r, p) = input
    let key = try Crypto.scrypt(
      SharedSecret(phrase), salt: Array(salt.utf8), n: n, r: r, p: p, count: 64)
    #expect(hex(key) == output)
  }

  /// Values out of range are refused, and no conversion traps.
  @Test(
    arguments: [
      (0, 8, 1), (1, 8, 1), (3, 8, 1), (16, 0, 1), (16, 8, 0), (1 << 63, 8, 1), (.max, .max, .max),
      (1 << 62, 1 << 62, 1), (2, 1, .max),
    ] as [(UInt64, UInt64, UInt64)])
  func impossibleScrypt(_ n: UInt64, _ r: UInt64, _ p: UInt64) {
    let failure = #expect(throws: Failure.self) {
      _ = try Crypto.scrypt(SharedSecret("x"), salt: [1], n: n, r: r, p: p, count: 32)
    }
    #expect(failure?.message == "libcrypto refuses scrypt")
    #expect(failure?.kind == .storeMissing)
  }

  // MARK: AES-256-GCM

  private struct Example {
    var key = String(repeating: "00", count: 32)
    var nonce = String(repeating: "00", count: 12)
    var head = ""
    let (plain, sealed): (String, String)
  }

  /// "The Galois/Counter Mode of Operation" (McGrew and Viega, NIST), test cases 13 to 16.
  private static let examples: [Example] = {
    let key = "feffe9928665731c6d6a8f9467308308"
    let plain =
      "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
      + "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39"
    let sealed =
      "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
      + "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662"
    return [
      Example(plain: "", sealed: "530f8afbc74536b9a963b4f1c4cb738b"),
      Example(
        plain: String(repeating: "00", count: 16),
        sealed: "cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919"),
      Example(
        key: key + key, nonce: "cafebabefacedbaddecaf888", plain: plain + "1aafd255",
        sealed: sealed + "898015ad" + "b094dac5d93471bdec1a502270e3cc6c"),
      Example(
        key: key + key, nonce: "cafebabefacedbaddecaf888",
        head: "feedfacedeadbeeffeedfacedeadbeefabaddad2", plain: plain,
        sealed: sealed + "76fc6ece0f4e1768cddf8853bb2d551b"),
    ]
  }()

  private func open(_ example: Example, _ box: [UInt8]) throws -> String? {
    let plain = try Crypto.open(
      box, with: try secret(example.key), nonce: try bytes(example.nonce),
      authenticating: try bytes(example.head))
    guard let plain else { return nil }
    return hex(plain)
  }

  @Test(arguments: 0..<4) func gcm(_ index: Int) throws {
    let example = Self.examples[index]
    let box = try bytes(example.plain).withUnsafeBytes { plain in
      try Crypto.seal(
        plain, with: try secret(example.key), nonce: try bytes(example.nonce),
        authenticating: try bytes(example.head))
    }
    #expect(hexDigits(box) == example.sealed)
    #expect(try open(example, box) == example.plain)
  }

  @Test(arguments: 0..<4) func nothingThatWasChangedIsOpened(_ index: Int) throws {
    let example = Self.examples[index]
    let whole = try bytes(example.sealed)
    for place in whole.indices {
      for bit in 0..<8 {
        var box = whole
        box[place] ^= 1 << bit
        #expect(try open(example, box) == nil, "byte \(place), bit \(bit)")
      }
      #expect(try open(example, Array(whole[..<place])) == nil, "\(place) bytes")
      #expect(try open(example, Array(whole[(place + 1)...])) == nil, "without \(place) bytes")
    }
    #expect(try open(example, whole + [0]) == nil)
    for (key, nonce, head) in [("01", "", ""), ("", "01", ""), ("", "", "01")] {
      var other = example
      other.key = key + example.key.dropFirst(key.count)
      other.nonce = nonce + example.nonce.dropFirst(nonce.count)
      other.head = head + example.head
      #expect(try open(other, whole) == nil)
    }
  }

  @Test(arguments: [(31, 12), (33, 12), (16, 12), (0, 12), (32, 11), (32, 13), (32, 0)])
  func otherLengthsOfKeyAndNonceAreRefused(_ key: Int, _ nonce: Int) throws {
    let key = Secret(String(repeating: "k", count: key))
    let nonce = [UInt8](repeating: 0, count: nonce)
    do throws(Failure) {
      let box = [UInt8](repeating: 0, count: 16)
      _ = try Crypto.open(box, with: key, nonce: nonce, authenticating: [])
      Issue.record("not refused")
    } catch {
      #expect(error.message == "libcrypto refuses AES-256-GCM")
    }
  }
}
