import Glibc
import Testing

/// Requests to DemoAPI's OAuth endpoints by curl, and the steps of a person in a browser.
struct OAuthByHand {
  let box: Sandbox
  let api: APIServer

  /// RFC 7636, appendix B.
  static let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
  static let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
  static let redirect = "http://127.0.0.1:4711/callback"
  static let ada = ["email": "ada@example.com", "password": "correct horse battery"]
  static let grant = "urn:ietf:params:oauth:grant-type:"

  static func with(
    _ options: String..., body: (OAuthByHand) async throws -> Void
  ) async throws {
    try await Sandbox.with(.none) { box in
      try await body(OAuthByHand(box: box, api: try await box.api(options)))
    }
  }

  struct Reply {
    var status: Int
    /// Names in lower case.
    var headers: [String: String]
    var body: String
    var json: JSON { (try? JSON(parsing: body)) ?? .null }
    var error: String? { json["error"]?.string }
    var location: String { headers["location"] ?? "" }
    var challenge: String { headers["www-authenticate"] ?? "" }
    func string(_ name: String) -> String { json[name]?.string ?? "" }
  }

  /// One request: a GET, or a POST of this form or JSON.
  func send(
    _ path: String, _ form: [String: String]? = nil, json: JSON? = nil, method: String? = nil,
    headers: [String] = []
  ) async throws -> Reply {
    var words = ["-s", "-g", "-i", "--path-as-is", api.url + path]
    for header in headers { words += ["-H", header] }
    for (name, value) in (form ?? [:]).sorted(by: { $0.key < $1.key }) {
      words += ["--data-urlencode", name + "=" + value]
    }
    if let json { words += ["-H", "Content-Type: application/json", "--data-raw", json.text] }
    if let method { words += ["-X", method] }
    let run = try await box.run(words, program: "/usr/bin/curl")
    let end = try #require(find(Array("\r\n\r\n".utf8), in: run.stdoutBytes), "\(run)")
    let head = run.stdoutBytes[..<end].split(separator: 13).map {
      String(decoding: $0.drop { $0 == 10 }, as: UTF8.self)
    }
    var fields: [String: String] = [:]
    for line in head.dropFirst() {
      let name = line.prefix { $0 != ":" }
      fields[name.lowercased()] = String(line.dropFirst(name.count + 2))
    }
    return Reply(
      status: head[0].split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0,
      headers: fields, body: String(decoding: run.stdoutBytes[(end + 4)...], as: UTF8.self))
  }

  func set(_ switches: JSON) async throws { try await api.ask("POST", "/oauth-settings", switches) }

  // MARK: Steps

  /// The path to visit; `changes` replace parameters, or remove them if nil.
  func address(_ changes: [String: String?] = [:], at path: String = "/authorize") -> String {
    var parameters: [String: String?] = [
      "response_type": "code", "client_id": "demo-public", "redirect_uri": Self.redirect,
      "scope": "openid read", "state": "the-state", "nonce": "the-nonce",
      "code_challenge": Self.challenge, "code_challenge_method": "S256",
    ]
    for (name, value) in changes { parameters[name] = value }
    let pairs = parameters.compactMap { name, value in value.map { name + "=" + Self.escaped($0) } }
    return path + "?" + pairs.sorted().joined(separator: "&")
  }

  /// The person signs in and approves.
  func approve(_ address: String) async throws -> Reply { try await send(address, Self.ada) }

  func code(_ changes: [String: String?] = [:]) async throws -> String {
    let reply = try await approve(address(changes))
    let code = try #require(reply.location.firstMatch(of: /[?&]code=([A-Za-z]+)/), "\(reply)")
    return String(code.1)
  }

  func redeem(
    _ code: String, _ changes: [String: String] = [:], headers: [String] = []
  ) async throws -> Reply {
    let form = [
      "grant_type": "authorization_code", "code": code, "redirect_uri": Self.redirect,
      "code_verifier": Self.verifier, "client_id": "demo-public",
    ]
    return try await send("/token", form.merging(changes) { $1 }, headers: headers)
  }

  /// Signs in and returns the response of the token endpoint.
  func tokens(_ changes: [String: String?] = [:]) async throws -> Reply {
    let client = (changes["client_id"] ?? nil).map { ["client_id": $0] } ?? [:]
    return try await redeem(try await code(changes), client)
  }

  func refresh(_ token: String, headers: [String] = []) async throws -> Reply {
    let form = [
      "grant_type": "refresh_token", "refresh_token": token, "client_id": "demo-public",
    ]
    return try await send("/token", form, headers: headers)
  }

  func me(_ token: String, at path: String = "/oauth-api/me") async throws -> Reply {
    try await send(path, headers: ["Authorization: Bearer " + token])
  }

  // MARK: Tokens and keys

  static func escaped(_ text: String) -> String {
    text.utf8.map { byte in
      let digit = String(byte, radix: 16, uppercase: true)
      let isPlain = byte < 128 && (byte == 46 || byte == 45 || isalnum(Int32(byte)) != 0)
      return isPlain
        ? String(Unicode.Scalar(byte)) : "%" + (byte < 16 ? "0" : "") + digit
    }.joined()
  }

  private static let digits = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  static func base64URL(_ bytes: [UInt8]) -> String {
    var (bits, count, text) = (0, 0, [UInt8]())
    for byte in bytes + [0] {
      bits = (bits << 8 | Int(byte)) & 0xFFFF
      count += 8
      while count >= 6 {
        count -= 6
        text.append(digits[bits >> count & 63])
      }
    }
    return String(decoding: text.prefix((bytes.count * 8 + 5) / 6), as: UTF8.self)
  }

  /// The claims of a JSON Web Token.
  static func claims(_ token: String) throws -> JSON {
    let parts = token.split(separator: ".", omittingEmptySubsequences: false)
    let bytes = decoded(parts.count == 3 ? parts[1] : "")
    return try JSON(parsing: String(decoding: bytes, as: UTF8.self))
  }

  /// The bytes of base64url without padding.
  static func decoded(_ text: some StringProtocol) -> [UInt8] {
    var (bits, count, bytes) = (0, 0, [UInt8]())
    for digit in text.utf8 {
      bits = (bits << 6 | (digits.firstIndex(of: digit) ?? 0)) & 0xFFFF
      count += 6
      if count >= 8 {
        count -= 8
        bytes.append(UInt8(bits >> count & 0xFF))
      }
    }
    return bytes
  }

  @discardableResult
  func openssl(_ words: String...) async throws -> [UInt8] {
    let run = try await box.run(words, program: "/usr/bin/openssl")
    try #require(run.status == 0, "\(run.stderr)")
    return run.stdoutBytes
  }

  /// Makes a private key for this algorithm and returns its path.
  func makeKey(_ algorithm: String) async throws -> String {
    let path = box.home + "/" + algorithm + ".pem"
    switch algorithm {
    case "RS256", "PS256": try await openssl("genpkey", "-algorithm", "RSA", "-out", path)
    case "EdDSA": try await openssl("genpkey", "-algorithm", "ed25519", "-out", path)
    default:
      let curve = "ec_paramgen_curve:P-" + algorithm.dropFirst(2)
      try await openssl("genpkey", "-algorithm", "EC", "-pkeyopt", curve, "-out", path)
    }
    return path
  }

  /// A signed JSON Web Token.
  func jwt(
    _ algorithm: String, _ key: String, _ claims: JSON, header: [String: JSON] = [:]
  ) async throws -> String {
    let head = JSON.object(header.merging(["alg": .string(algorithm)]) { $1 })
    let signed =
      Self.base64URL(Array(head.text.utf8)) + "." + Self.base64URL(Array(claims.text.utf8))
    let file = try box.write("signed.txt", signed)
    var signature: [UInt8]
    switch algorithm {
    case "EdDSA":
      signature = try await openssl("pkeyutl", "-sign", "-inkey", key, "-rawin", "-in", file)
    case "PS256":
      signature = try await openssl(
        "dgst", "-sha256", "-sign", key, "-sigopt", "rsa_padding_mode:pss", "-sigopt",
        "rsa_pss_saltlen:-1", file)
    default:
      signature = try await openssl("dgst", "-sha" + algorithm.dropFirst(2), "-sign", key, file)
    }
    if algorithm.hasPrefix("ES") {  // from DER to two integers of the same length
      let size = algorithm == "ES256" ? 32 : 48
      var (at, raw) = (2, [UInt8]())
      for _ in 0..<2 {
        let count = Int(signature[at + 1])
        let number = signature[(at + 2)..<(at + 2 + count)].drop { $0 == 0 }
        raw += [UInt8](repeating: 0, count: size - number.count) + number
        at += 2 + count
      }
      signature = raw
    }
    return signed + "." + Self.base64URL(signature)
  }

  /// The public half of a P-256 key (RFC 7517).
  func jwk(_ key: String) async throws -> JSON {
    let der = try await openssl("pkey", "-in", key, "-pubout", "-outform", "DER").suffix(64)
    return [
      "kty": "EC", "crv": "P-256", "x": .string(Self.base64URL(Array(der.prefix(32)))),
      "y": .string(Self.base64URL(Array(der.suffix(32)))),
    ]
  }

  func sha256(_ text: String) async throws -> [UInt8] {
    try await openssl("dgst", "-sha256", "-binary", try box.write("hashed.txt", text))
  }

  static var now: Int { time(nil) }
}
