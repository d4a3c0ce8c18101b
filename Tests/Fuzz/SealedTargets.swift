@testable import AuthKit

/// A file that another program sealed with the key 00 01 … 1f (SealedFileTests).
private let sealed =
  base64URLDecoded(
    """
    QVVUSENUTDEAAADzeyJrZGYiOiJmaWxlIiwic2FsdCI6IjY0NjU2NjY3Njg2OTZhNmI2YzZkNmU2ZjcwNzE3MjczNzQ3NTc2N\
    zc3ODc5N2E3YjdjN2Q3ZTdmODA4MTgyODMiLCJrZXkiOiI5ODRkODU0ZDYyNjcwN2Q0IiwicHJvZmlsZSI6InNob3AiLCJhY2\
    NvdW50IjoiYWRhQHNob3AuZXhhbXBsZSIsIm9yaWdpbiI6Imh0dHBzOi8vYXBpLnNob3AuZXhhbXBsZSIsImdlbmVyYXRpb24\
    iOiIwMDExMjIzMzQ0NTU2Njc3ODg5OWFhYmJjY2RkZWVmZiJ9yMnKy8zNzs/Q0dLTH0rW7/gaHsLvNPZ9WPLJ1lcreJzm31Q=
    """.utf8) ?? []

nonisolated(unsafe) private let key = SharedSecret(secret(Array(0..<32)))

private func read(_ bytes: [UInt8]) throws(Failure) -> SealedFile {
  try ByteBuffer(bytes).withBytes { (bytes) throws(Failure) in try SealedFile(bytes, label: "it") }
}

/// A sealed file: any file, one with another header, one with changed bytes, and a new one. Only
/// what was sealed is opened. No passphrase is derived, so that scrypt costs nothing here.
@Sendable func fuzzSealed(_ bytes: [UInt8]) throws {
  var input = FuzzInput(bytes)
  switch input.byte() % 4 {
  case 0: try checkUnopened(input.bytes())
  case 1:
    // The header of the input with the ciphertext of the file.
    let header = input.bytes()
    let length = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: header.count >> $0) }
    try checkUnopened(sealed[..<8] + length + header + sealed.suffix(35))
  case 2:
    // Changes of the file: a place and a value each, the first also of its length.
    var changed = sealed
    if case let cut = input.byte(), cut > 0 { changed.removeLast(min(cut, changed.count)) }
    while case let (high, low, mask) = (input.byte(), input.byte(), input.byte()), mask > 0 {
      if changed.isEmpty { break }
      changed[(high << 8 | low) % changed.count] ^= UInt8(mask)
    }
    try checkUnopened(changed)
  default:
    let names = (0..<4).map { _ in String(decoding: input.line(), as: UTF8.self) }
    let payload = input.bytes()
    let session = SessionKey(
      profile: names[0], account: names[1], origin: names[2], loginID: names[3])
    let file: [UInt8]
    do throws(Failure) {
      file = try SealedFile.seal(
        secret(payload), of: session, with: key, by: .file)
    } catch {
      return try check(names.joined().utf8.count > 500, "short names can be sealed: \(error)")
    }
    let again = try sure("what is sealed can be read") { try read(file) }
    let opened = try sure("what is sealed can be opened") {
      try again.payload(key).withBytes { Array($0) }
    }
    try check(opened == payload, "it is the same")
    let found = JSONValue.object(again.header.session.members)
    try check(found == .object(session.members), "its names are the same")
    let other = SharedSecret(String(repeating: "k", count: 32))
    try check((try? again.payload(other)) == nil, "another key does not open it")
  }
}

/// A file that nobody sealed is not opened, and its header has its limits.
private func checkUnopened(_ bytes: [UInt8]) throws {
  let file: SealedFile
  do throws(Failure) { file = try read(bytes) } catch {
    return try check(error.kind == .storeMissing, "a damaged file is reported as one")
  }
  try check(bytes.count >= 40 && bytes.starts(with: "AUTHCTL1".utf8), "a file has its form")
  try check(
    bytes[8..<12].reduce(0) { $0 << 8 | Int($1) } <= min(4096, bytes.count - 40), "a header fits")
  if case .scrypt(let scrypt) = file.header.derivation {
    try check(
      (15...17).contains(scrypt.log2N) && scrypt.r == 8 && scrypt.p == 1, "scrypt has its limits")
  }
  let payload = try? file.payload(key).withBytes { Array($0) }
  try check((payload == Array(#"{"a":1}"#.utf8)) == (bytes == sealed), "what was sealed is opened")
  try check((payload != nil) == (bytes == sealed), "only what was sealed is opened")
}
