import Foundation
import Testing

@testable import AuthKit

/// The format of a sealed session, byte for byte, and every way it can be damaged: rule B9.
@Suite struct SealedFileTests {
  private static var key: SharedSecret { SharedSecret(String(repeating: "k", count: 32)) }
  private static let session = SessionKey(
    profile: "shop", account: "ada@shop.example", origin: "https://api.shop.example",
    loginID: "00112233445566778899aabbccddeeff")

  private func seal(
    _ payload: String = #"{"a":1}"#, _ session: SessionKey = Self.session,
    by derivation: SealedFile.Derivation = .file
  ) throws -> [UInt8] {
    try SealedFile.seal(Secret(payload), of: session, with: Self.key, by: derivation)
  }

  private func parsed(_ bytes: [UInt8]) throws(Failure) -> SealedFile {
    try bytes.withUnsafeBufferPointer { (buffer) throws(Failure) in
      try SealedFile(UnsafeRawBufferPointer(buffer), label: "it")
    }
  }

  /// The content sealed in `bytes`, as text.
  private func content(_ bytes: [UInt8], _ key: SharedSecret = Self.key) throws(Failure) -> String {
    try parsed(bytes).payload(key).withBytes { String(decoding: $0, as: UTF8.self) }
  }

  /// The failure of reading `bytes`, which must fail.
  private func flaw(_ bytes: [UInt8], _ key: SharedSecret = Self.key) -> Failure? {
    do throws(Failure) { _ = try content(bytes, key) } catch { return error }
    return nil
  }

  /// The same file with another header and the same sealed content.
  private func withHeader(
    _ bytes: [UInt8], _ change: (String) throws -> String
  ) rethrows -> [UInt8] {
    let end = 12 + Int(bytes[10]) << 8 + Int(bytes[11])
    let header = Array(try change(String(decoding: bytes[12..<end], as: UTF8.self)).utf8)
    let length = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: header.count >> $0) }
    return bytes[..<8] + length + header + bytes[end...]
  }

  // MARK: Format

  /// Made by an independent program (Python's cryptography and hashlib) from the text of rule B9.
  @Test(arguments: [
    (
      (0..<32).map { UInt8($0) },
      """
      QVVUSENUTDEAAADzeyJrZGYiOiJmaWxlIiwic2FsdCI6IjY0NjU2NjY3Njg2OTZhNmI2YzZkNmU2ZjcwNzE3MjczNzQ3N\
      Tc2Nzc3ODc5N2E3YjdjN2Q3ZTdmODA4MTgyODMiLCJrZXkiOiI5ODRkODU0ZDYyNjcwN2Q0IiwicHJvZmlsZSI6InNob3\
      AiLCJhY2NvdW50IjoiYWRhQHNob3AuZXhhbXBsZSIsIm9yaWdpbiI6Imh0dHBzOi8vYXBpLnNob3AuZXhhbXBsZSIsImd\
      lbmVyYXRpb24iOiIwMDExMjIzMzQ0NTU2Njc3ODg5OWFhYmJjY2RkZWVmZiJ9yMnKy8zNzs/Q0dLTH0rW7/gaHsLvNPZ9\
      WPLJ1lcreJzm31Q=
      """
    ),
    (
      [],
      """
      QVVUSENUTDEAAAE6eyJrZGYiOiJzY3J5cHQiLCJsb2cyTiI6MTUsInIiOjgsInAiOjEsImtkZl9zYWx0IjoiMDAxMTIyM\
      zM0NDU1NjY3Nzg4OTlhYWJiY2NkZGVlZmYiLCJzYWx0IjoiNjQ2NTY2Njc2ODY5NmE2YjZjNmQ2ZTZmNzA3MTcyNzM3ND\
      c1NzY3Nzc4Nzk3YTdiN2M3ZDdlN2Y4MDgxODI4MyIsImtleSI6Ijg3NTIwZTZkY2JlM2ZjMDEiLCJwcm9maWxlIjoic2h\
      vcCIsImFjY291bnQiOiJhZGFAc2hvcC5leGFtcGxlIiwib3JpZ2luIjoiaHR0cHM6Ly9hcGkuc2hvcC5leGFtcGxlIiwi\
      Z2VuZXJhdGlvbiI6IjAwMTEyMjMzNDQ1NTY2Nzc4ODk5YWFiYmNjZGRlZWZmIn3IycrLzM3Oz9DR0tMx8bzJdi+Ka107n\
      58IpSuGYBwLUqU8fg==
      """
    ),
  ])
  func fileOfAnotherProgramIsRead(_ key: [UInt8], _ base64: String) throws {
    let bytes = try #require(Data(base64Encoded: base64))
    let file = try parsed(Array(bytes))
    let session = JSONValue.object(file.header.session.members)
    #expect(session.serialized() == JSONValue.object(Self.session.members).serialized())
    let shared: SharedSecret
    switch file.header.derivation {
    case .file:
      var builder = SecretBuilder()
      for byte in key { builder.append(byte) }
      shared = SharedSecret(builder.secret())
    case .scrypt(let scrypt):
      #expect(scrypt.salt == "00112233445566778899aabbccddeeff")
      #expect(scrypt.log2N == 15 && scrypt.r == 8 && scrypt.p == 1)
      shared = SharedSecret(try scrypt.key(from: SharedSecret("correct horse")))
    }
    let text = try file.payload(shared).withBytes { String(decoding: $0, as: UTF8.self) }
    #expect(text == #"{"a":1}"#)
  }

  @Test func everyByteHasItsPlace() throws {
    let scrypt = Scrypt(log2N: 17, r: 8, p: 1, salt: String(repeating: "5a", count: 16))
    for derivation in [SealedFile.Derivation.file, .scrypt(scrypt)] {
      let bytes = try seal("payload", by: derivation)
      #expect(bytes[..<8].elementsEqual("AUTHCTL1".utf8))
      let length = Int(bytes[8]) << 24 | Int(bytes[9]) << 16 | Int(bytes[10]) << 8 | Int(bytes[11])
      let header = try JSONValue.parse(Array(bytes[12..<(12 + length)]))
      let salt = try #require(header["salt"]?.text)
      #expect(salt.utf8.count == 64)
      var members: [(key: String, value: JSONValue)] = [("kdf", "file")]
      if derivation != .file {
        members = [
          ("kdf", "scrypt"), ("log2N", 17), ("r", 8), ("p", 1), ("kdf_salt", .string(scrypt.salt)),
        ]
      }
      members += [("salt", .string(salt)), ("key", try #require(header["key"]))]
      members += [
        ("profile", "shop"), ("account", "ada@shop.example"),
        ("origin", "https://api.shop.example"), ("generation", "00112233445566778899aabbccddeeff"),
      ]
      #expect(header == .object(members))
      #expect(bytes.count == 12 + length + 12 + 7 + 16)
      #expect(try content(bytes) == "payload")
    }
  }

  @Test(arguments: ["", "\0", "\r\n", "é", String(repeating: "x", count: 262_144)])
  func anyPayloadComesBack(_ payload: String) throws {
    #expect(try content(try seal(payload)).utf8.elementsEqual(payload.utf8))
  }

  @Test func noKeySealsTwice() throws {
    var seen: Set<[UInt8]> = []
    for _ in 0..<10_000 {
      let bytes = try seal("x")
      let file = try parsed(bytes)
      let nonce = bytes.suffix(12 + 1 + 16).prefix(12)
      #expect(seen.insert(Array(file.header.salt.utf8)).inserted)
      #expect(seen.insert(Array(nonce)).inserted)
    }
    #expect(seen.count == 20_000)
  }

  @Test func namesThatAreTooLongAreRefused() throws {
    var session = Self.session
    session.profile = "/" + String(repeating: "p", count: 4096)
    #expect(throws: Failure.self) { try seal("x", session) }
    session.profile = "/" + String(repeating: "p", count: 3600)
    #expect(try content(try seal("x", session)) == "x")
  }

  // MARK: Damage

  @Test func everyFlippedBitIsFound() throws {
    let whole = try seal()
    for index in whole.indices {
      for bit in 0..<8 {
        var bytes = whole
        bytes[index] ^= 1 << bit
        #expect(flaw(bytes)?.kind.exitCode == 12, "byte \(index), bit \(bit)")
      }
    }
  }

  @Test func everyOtherLengthIsFound() throws {
    let whole = try seal()
    for length in 0..<whole.count {
      #expect(flaw(Array(whole[..<length]))?.kind.exitCode == 12, "\(length) bytes")
    }
    for more in 1...40 {
      let bytes = whole + [UInt8](repeating: 0, count: more)
      #expect(flaw(bytes)?.kind.exitCode == 12, "\(more) bytes more")
    }
  }

  @Test func eachDamageHasItsSentence() throws {
    let whole = try seal()
    var changed = whole
    changed[whole.count - 20] ^= 1
    let other = SharedSecret(String(repeating: "o", count: 32))
    let table: [([UInt8], SharedSecret, Failure.Kind, String)] = [
      (Array("{}".utf8), Self.key, .storeMissing, "it is not a sealed file"),
      ([], Self.key, .storeMissing, "it is cut off"),
      (Array(whole[..<5]), Self.key, .storeMissing, "it is cut off"),
      (Array(whole[..<100]), Self.key, .storeMissing, "it is cut off"),
      (
        withHeader(whole) { _ in "[]" }, Self.key, .storeMissing,
        "it has a header that cannot be read"
      ),
      (whole, other, .storeLocked, "it was sealed with another key"),
      (changed, Self.key, .storeMissing, "it was changed or damaged after it was sealed"),
    ]
    for (bytes, key, kind, message) in table {
      let failure = try #require(flaw(bytes, key))
      #expect(failure.message == message)
      #expect(failure.kind == kind, "\(message)")
    }
  }

  /// The header and the content of two sessions sealed with one key cannot be combined.
  @Test func headersCannotBeSwapped() throws {
    var bob = Self.session
    bob.account = "bob@shop.example"
    let (mine, his) = (try seal("mine"), try seal("his", bob))
    let head = try headLength(mine)
    let hisHead = try headLength(his)
    let swapped = [mine[..<head] + his[hisHead...], his[..<hisHead] + mine[head...]]
    for bytes in swapped {
      #expect(
        flaw(Array(bytes))?.message == "it was changed or damaged after it was sealed")
    }
  }

  private func headLength(_ bytes: [UInt8]) throws -> Int {
    12 + Int(bytes[10]) << 8 + Int(bytes[11])
  }

  /// Any change to the header after sealing is detected.
  @Test(arguments: [
    (#""account":"ada@shop.example""#, #""account":"eve@shop.example""#),
    (#""profile":"shop""#, #""profile":"evil""#),
    (#""origin":"https://api.shop.example""#, #""origin":"https://evil.shop.example""#),
    (#""generation":"00"#, #""generation":"ff"#), (#"{"kdf""#, #"{ "kdf""#),
    (#"{"kdf""#, #"{"more":1,"kdf""#),
  ])
  func changedHeaderIsFound(_ old: String, _ new: String) throws {
    let bytes = withHeader(try seal()) { header in
      header.replacingOccurrences(of: old, with: new)
    }
    #expect(flaw(bytes)?.message == "it was changed or damaged after it was sealed")
  }

  @Test func lengthOfTheHeaderIsBounded() throws {
    let whole = try seal()
    for (length, words) in [
      ([0, 0, 0x10, 0x01], "it has a header of 4097 bytes"),
      ([0xFF, 0xFF, 0xFF, 0xFF], "it has a header of 4294967295 bytes"),
      ([0x80, 0, 0, 0], "it has a header of 2147483648 bytes"), ([0, 0, 0x10, 0], "it is cut off"),
      ([0, 0, 0, 0], "it has a header that cannot be read"),
    ] as [([UInt8], String)] {
      #expect(flaw(whole[..<8] + length + whole[12...])?.message == words)
    }
    let long = withHeader(whole) { "{\"x\":\"" + String(repeating: "y", count: 4100) + "\"," + $0 }
    #expect(flaw(long)?.message.hasPrefix("it has a header of ") == true)
  }

  /// Derivation parameters in the header are checked before they are used: a header cannot cause
  /// work. Parsing the file fails, and parsing needs no key.
  @Test(arguments: [
    ("log2N", "40"), ("log2N", "18"), ("log2N", "14"), ("log2N", "0"), ("log2N", "-17"),
    ("log2N", "63"), ("log2N", "64"), ("log2N", "9223372036854775807"), ("log2N", "1e308"),
    ("log2N", "17.5"), ("log2N", "\"17\""), ("log2N", "null"), ("r", "9"), ("r", "7"),
    ("r", "1073741824"), ("p", "0"), ("p", "2"), ("p", "-1"), ("p", "4294967297"),
    ("kdf_salt", "\"\""), ("kdf_salt", "\"5a\""), ("kdf_salt", "\"" + "5$" + "\""),
    ("kdf_salt", "\"" + String(repeating: "5a", count: 17) + "\""), ("kdf", "\"none\""),
    ("kdf", "null"), ("salt", "\"\""), ("salt", "\"zz\""), ("salt", "null"),
  ])
  func unacceptableDerivationIsRefusedBeforeItBegins(_ name: String, _ value: String) throws {
    let scrypt = Scrypt(log2N: 17, r: 8, p: 1, salt: String(repeating: "5a", count: 16))
    let bytes = try withHeader(try seal(by: .scrypt(scrypt))) { header in
      header.replacing(try Regex("\"\(name)\":(\"[^\"]*\"|[0-9]+)"), with: "\"\(name)\":\(value)")
    }
    #expect(throws: Failure.self) { try parsed(bytes) }
  }

  @Test(arguments: [15, 16, 17])
  func acceptedDerivations(_ log2N: Int) throws {
    let salt = String(repeating: "5A", count: 16)
    let scrypt = Scrypt(log2N: log2N, r: 8, p: 1, salt: salt)
    #expect(scrypt.isAccepted)
    #expect(try parsed(try seal(by: .scrypt(scrypt))).header.derivation == .scrypt(scrypt))
  }

  @Test func foreignHeadersAreNoHeaders() throws {
    let whole = try seal()
    for text in [
      "", "null", "[]", "{}", "{", "\u{FEFF}", String(repeating: "[", count: 4000),
      #"{"kdf":"file"}"#, #"{"kdf":"file","salt":1,"key":2,"profile":3}"#,
    ] {
      let bytes = withHeader(whole) { _ in text }
      #expect(
        flaw(bytes)?.message == "it has a header that cannot be read", "\(text.prefix(40))")
    }
  }
}
