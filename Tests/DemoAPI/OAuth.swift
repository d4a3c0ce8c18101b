import Foundation

/// An OAuth 2.0 authorization server and OpenID provider, with an API at /oauth-api that accepts its
/// tokens. It follows the standards; `POST /oauth-settings` makes it misbehave.
actor OAuth {
  let accounts: Accounts
  let signer: Signer
  let options: Options
  var settings: OAuthSettings
  var clients = OAuthClient.known
  var codes: [String: Code] = [:]
  var pushed: [String: (form: Form, expires: Date)] = [:]
  var tokens: [String: Token] = [:]
  var devices: [String: Device] = [:]
  var ended = EndedFamilies()
  /// The `jti` of all assertions and proofs so far.
  var seen: Set<String> = []
  var nonces: Set<String> = []
  lazy var key = SigningKey()

  init(accounts: Accounts, signer: Signer, options: Options) {
    (self.accounts, self.signer, self.options) = (accounts, signer, options)
    settings = OAuthSettings(rotate: options.rotate)
  }

  /// The origin (from the Host header) and the issuer that a request addresses.
  struct Place: Sendable {
    let origin: String
    /// The origin, or the tenant below it.
    let base: String
    let issuer: String
    /// Method and path below `base`.
    let route: String

    init(_ request: Request, _ settings: OAuthSettings, tenant: Bool? = nil) {
      let scheme = request.header("x-forwarded-proto") ?? "http"
      origin = scheme + "://" + (request.header("host") ?? "127.0.0.1")
      let isTenant = tenant ?? request.path.hasPrefix("/tenant/")
      base = isTenant ? origin + "/tenant" : origin
      issuer =
        settings.text("issuer")?.replacingOccurrences(of: "{origin}", with: origin) ?? base
      route =
        isTenant ? request.route.replacingOccurrences(of: " /tenant/", with: " /") : request.route
    }
  }

  /// What a client is permitted, and by whom.
  struct Grant: Sendable {
    var family = UUID().uuidString
    let client: String
    /// nil: the client acts for itself.
    var user: Accounts.User?
    var subject: String
    var scope: [String]
    var resource: [String] = []
    var audience: String?
    var nonce: String?
    var acr: String?
    /// The thumbprint of the DPoP key that tokens are bound to.
    var jkt: String?
    let since = Int(Date().timeIntervalSince1970)

    /// The user's e-mail address, or the subject.
    var account: String { user?.email ?? subject }

    /// Whether the authorization request named every resource in `form`. If it named none, the
    /// token is issued anyway; with `resource_required` the API rejects it.
    func covers(_ form: Form) -> Bool {
      resource.isEmpty || form.all("resource").allSatisfy(resource.contains)
    }
  }

  struct Code: Sendable {
    let grant: Grant
    let redirect: String
    let challenge: String?
    let expires = Date(timeIntervalSinceNow: 60)
    var used: Date?
  }

  struct Token: Sendable {
    let grant: Grant
    let isRefresh: Bool
    var expires: Date
    /// When a refresh token was used up.
    var used: Date?
  }

  func answer(_ request: Request) async -> Answer? {
    let place = Place(request, settings)
    do {
      if let answer = metadata(request) { return answer }
      switch place.route {
      case "GET /authorize", "POST /authorize": return try await authorize(request, place)
      case "POST /par": return try push(request, place)
      case "POST /token": return await tokenAnswer(request, place)
      case "POST /device_authorization": return try startDevice(request, place)
      case "GET /device", "POST /device": return await devicePage(request)
      case "POST /revoke": return try revoke(request, place)
      case "POST /introspect": return try introspect(request, place)
      case "GET /userinfo", "POST /userinfo": return try userinfo(request, place)
      case "GET /jwks": return json(200, key.jwks)
      case "POST /connect/register": return try register(request, place)
      case let route where route.contains(" /connect/register/"): return manage(request, place)
      case "GET /ci-token": return ciToken(request, place)
      case _ where (request.path + "/").hasPrefix("/oauth-api/"): return try api(request, place)
      default: return nil
      }
    } catch {
      return refusal(error, to: request)
    }
  }

  // MARK: Control

  /// Applies changes to the switches; returns an error message if it cannot.
  func change(_ fields: JSON?) -> JSON? {
    guard case .object(let changes)? = fields else { return "The body must be a JSON object." }
    let actions = ["forget_clients", "forget_tokens"]
    for (name, _) in changes where !OAuthSettings.has(name) && !actions.contains(name) {
      return .string("There is no switch \(name).")
    }
    for (name, value) in changes {
      switch name {
      case "forget_clients": clients = OAuthClient.known
      case "forget_tokens": (tokens, codes, devices) = ([:], [:], [:])
      default: settings[name] = value
      }
    }
    return nil
  }

  func resetSettings() { settings = OAuthSettings(rotate: options.rotate) }

  func expireAccessTokens() {
    for (text, token) in tokens where !token.isRefresh { tokens[text]?.expires = .distantPast }
  }

  // MARK: Answers

  func json(_ status: Int, _ value: JSON, headers: [(String, String)] = []) -> Answer {
    .json(
      status, value, type: "application/json", headers: [("Cache-Control", "no-store")] + headers)
  }

  func page(_ status: Int, _ title: String, _ content: String = "") -> Answer {
    .html(
      status, "<!DOCTYPE html>\n<title>DemoAPI</title>\n<h1>\(title.htmlEscaped)</h1>\n\(content)",
      headers: [("Cache-Control", "no-store"), ("Referrer-Policy", "no-referrer")])
  }

  func refusal(_ error: any Error, to request: Request) -> Answer {
    let error = error as? OAuthError ?? OAuthError("server_error", "\(error)")
    return json(error.status, .object(members(of: error, request)), headers: error.headers)
  }

  func members(of error: OAuthError, _ request: Request) -> [(String, JSON)] {
    let echo =
      settings.flag("error_echo") ? String(decoding: request.body, as: UTF8.self) : nil
    var members: [(String, JSON)] = [
      ("error", .string(error.code)),
      (
        "error_description",
        .string(settings.text("error_description") ?? echo ?? error.description)
      ),
    ]
    if let uri = settings.text("error_uri") { members.append(("error_uri", .string(uri))) }
    return members
  }
}

/// An error response (RFC 6749, section 5.2) or challenge (RFC 6750, section 3).
struct OAuthError: Error {
  let code: String
  let description: String
  var status: Int
  var headers: [(String, String)]

  init(
    _ code: String, _ description: String = "As the settings say.", status: Int? = nil,
    headers: [(String, String)] = []
  ) {
    let statuses = ["invalid_client": 401, "temporarily_unavailable": 503, "server_error": 500]
    (self.code, self.description, self.headers) = (code, description, headers)
    self.status = status ?? statuses[code] ?? 400
  }
}

/// The parameters of a request. An empty one counts as absent (RFC 6749, section 3.2).
struct Form: Sendable {
  var pairs: [(name: String, value: String)]

  init(_ pairs: [(name: String, value: String)]) { self.pairs = pairs }

  /// From a body that must be a form without repeated parameters.
  init(body request: Request) throws {
    guard request.mediaType == "application/x-www-form-urlencoded" else {
      throw OAuthError("invalid_request", "The body must be a form.")
    }
    pairs = Request.pairs(String(decoding: request.body, as: UTF8.self))
    for name in Set(pairs.map(\.name)).subtracting(["resource", "audience"])
    where all(name).count > 1 {
      throw OAuthError("invalid_request", "\(name) is repeated.")
    }
  }

  subscript(name: String) -> String? { all(name).first }

  func all(_ name: String) -> [String] {
    pairs.filter { $0.name == name && !$0.value.isEmpty }.map(\.value)
  }

  func needed(_ name: String) throws -> String {
    guard let value = self[name] else {
      throw OAuthError("invalid_request", "\(name) is missing.")
    }
    return value
  }
}

extension String {
  var words: [String] { split(separator: " ").map(String.init) }

  /// Percent-encoded for a form or a query.
  var formEncoded: String {
    let plain = CharacterSet(
      charactersIn: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~")
    return addingPercentEncoding(withAllowedCharacters: plain) ?? ""
  }
}
