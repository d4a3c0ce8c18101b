import Testing

@testable import AuthKit

/// A profile whose API an authorization server signs in to, and answers that no server sends.
enum OAuthTable {
  static let issuer = "https://id.shop.example"
  static let now = Timestamp(seconds: 1_796_047_509)

  /// A profile with these lines in `[oauth]`.
  static func profile(_ oauth: String, more: String = "") throws -> Profile {
    try ProfileReader.read(
      text: "url = \"https://api.shop.example\"\n[oauth]\n\(oauth)\n\(more)\n", name: "shop",
      file: "/nowhere/shop.toml", label: "shop.toml")
  }

  static func settings(_ oauth: String) throws -> OAuthSettings {
    try #require(try profile(oauth).recipe.oauth)
  }

  static func api(_ profile: Profile) throws -> RecipeClient {
    let base = try WebURL(profile.url, from: .person)
    let http = HTTPClient(
      network: profile.recipe.network, base: base.origin, secretHeaders: [],
      options: HTTPOptions(), environment: [:], clock: { now }, warn: { _ in }, log: nil,
      trace: nil)
    return RecipeClient(
      profile: profile, base: base, http: http, redactor: Redactor(), clock: { now })
  }

  static func server(_ oauth: String, _ metadata: String?) throws -> AuthorizationServer {
    try AuthorizationServer(
      of: settings(oauth), metadata: try metadata.map { try JSONValue.parse($0) })
  }

  /// The metadata of the issuer; `more` adds members.
  static func metadata(_ more: String = "") -> String {
    let endpoints = ["authorization", "token", "device_authorization", "userinfo"].map {
      #""\#($0)_endpoint":"\#(issuer)/\#($0)""#
    }
    return #"{"issuer":"\#(issuer)","# + endpoints.joined(separator: ",")
      + (more.isEmpty ? "}" : "," + more + "}")
  }

  /// A client of the issuer, by its metadata.
  static func client(
    _ oauth: String = "", secret: String? = nil, metadata: String = metadata()
  ) throws -> OAuthClient {
    let lines = "issuer = \"\(issuer)\"\nclient_id = \"shop-cli\"\n" + oauth
    let profile = try profile(lines)
    let settings = try #require(profile.recipe.oauth)
    return try OAuthClient(
      api(profile), settings, server(lines, metadata), clientID: "shop-cli",
      secret: secret.map { SharedSecret($0) })
  }

  static func answer(
    _ body: String, status: Int = 200, type: String = "application/json", of profile: Profile
  ) throws -> RecipeResponse {
    func bytes<T>(_ text: String, _ body: (UnsafeRawBufferPointer) -> T) -> T {
      Array(text.utf8).withUnsafeBytes(body)
    }
    var head = bytes("HTTP/1.1 \(status) X") { ResponseHead(statusLine: $0) }
    bytes("Content-Type: \(type)") { head.add(line: $0) }
    return RecipeResponse(
      head: head, body: Array(body.utf8), url: try WebURL(issuer + "/token", from: .person),
      of: profile)
  }

  static func failure<T>(_ body: () throws -> T) -> Failure? {
    do {
      _ = try body()
      return nil
    } catch {
      return error as? Failure
    }
  }

  /// An unsigned-looking JWT: the signature is not checked.
  static func jwt(_ claims: String, header: String = #"{"alg":"RS256"}"#) -> String {
    base64URL(Array(header.utf8)) + "." + base64URL(Array(claims.utf8)) + ".c2ln"
  }
}
