import Testing

/// A proof of possession as authctl sent it (RFC 9449).
struct SentProof {
  /// The request that it came with.
  let request: JSON
  let text: String
  let head: JSON
  let claims: JSON

  init(_ text: String, of request: JSON) throws {
    self.text = text
    self.request = request
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    head = try OAuthByHand.claims(".\(parts[0]).")
    claims = try OAuthByHand.claims(text)
  }

  var key: String { head["jwk"]?.text ?? "" }
  var nonce: String? { claims["nonce"]?.string }

  /// The public key in DER (RFC 5480), for openssl.
  var publicKey: [UInt8] {
    let start = "3059301306072a8648ce3d020106082a8648ce3d03010703420004"
    let digits = Array(start.utf8).map { $0 < 58 ? $0 - 48 : $0 - 87 }
    let bytes = stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    let point = ["x", "y"].flatMap { OAuthByHand.decoded(head["jwk"]?[$0]?.string ?? "") }
    return bytes + point
  }

  /// The signature in DER (RFC 3279, section 2.2.3), for openssl.
  var signature: [UInt8] {
    let raw = OAuthByHand.decoded(text.split(separator: ".")[2])
    let numbers = [raw.prefix(32), raw.suffix(32)].flatMap { half -> [UInt8] in
      let digits = Array(half.drop { $0 == 0 })
      let number = (digits.first ?? 0) > 127 ? [0] + digits : digits
      return [2, UInt8(number.count)] + number
    }
    return [0x30, UInt8(numbers.count)] + numbers
  }

  var signed: String { text.split(separator: ".").prefix(2).joined(separator: ".") }
}

extension OAuthShop {
  static let bound = "client_id = \"demo-public\"\nscope = \"openid read\"\ndpop = true"

  /// The proofs of the requests to a path, or to all.
  func proofs(_ path: String? = nil) async throws -> [SentProof] {
    try await api.requests().filter { path == nil || $0["path"]?.string == path }
      .compactMap { request in
        try request["headers"]?["dpop"]?.string.map { try SentProof($0, of: request) }
      }
  }

  /// The private key of the session, as the store would have it without its encryption.
  func privateKey() async throws -> String {
    try await migrate("file", "plaintext")
    let texts = box.files().filter { $0.hasSuffix(".plaintext") }.compactMap(box.read)
    try await migrate("plaintext", "file")
    let key = try #require(
      texts.lazy.compactMap { $0.firstMatch(of: /"proof_key":"([^"]+)"/) }.first)
    return String(key.1)
  }

  private func migrate(_ source: String, _ target: String) async throws {
    let run = try await run("store", "migrate", "--from", source, "--to", target)
    try #require(run.status == 0, "\(run.stderr)")
  }
}
