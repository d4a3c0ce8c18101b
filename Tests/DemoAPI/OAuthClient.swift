import Foundation

/// A registered client.
struct OAuthClient: Sendable {
  let id: String
  var secret: String?
  /// The client authentication methods that it may use.
  var methods: Set<String>
  var redirects: [String] = []
  /// nil: any scope.
  var scope: [String]?
  /// nil: any grant type.
  var grants: [String]?
  /// RFC 7517.
  var keys: [JSON] = []
  var bindsTokens = false
  var registrationToken: String?
  /// The response to its registration.
  var details: [(String, JSON)] = []

  static let methods = [
    "none", "client_secret_basic", "client_secret_post", "client_secret_jwt", "private_key_jwt",
  ]
  private static let secretMethods: Set = [
    "client_secret_basic", "client_secret_post", "client_secret_jwt",
  ]
  private static let loopback = [
    "http://127.0.0.1/callback", "http://[::1]/callback", "http://localhost/callback",
  ]
  static let known: [String: OAuthClient] = Dictionary(
    uniqueKeysWithValues: [
      OAuthClient(id: "demo-public", methods: ["none"], redirects: loopback),
      OAuthClient(
        id: "demo-confidential", secret: "s3cr:t &+%", methods: secretMethods, redirects: loopback),
      OAuthClient(
        id: "demo-service", secret: "service-secret",
        methods: secretMethods.union(["private_key_jwt"])),
      OAuthClient(id: "demo-key", methods: ["private_key_jwt"], redirects: loopback),
    ].map { ($0.id, $0) })

  var isPublic: Bool { methods == ["none"] }

  /// A loopback redirect URI without its port, which may be any (RFC 8252, section 7.3).
  static func withoutPort(_ uri: String) -> Substring? {
    let loopback = #/(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost))(?::\d+)?(\/[^#]*)/#
    return (try? loopback.wholeMatch(in: uri)).map { $0.1 + $0.2 }
  }
}

extension OAuth {
  /// A URL is the ID of a client that publishes its metadata there. DemoAPI does not fetch it, and
  /// permits loopback redirects.
  func client(_ id: String?) -> OAuthClient? {
    guard let id else { return nil }
    if let client = clients[id] { return client }
    guard id.hasPrefix("https://") || id.hasPrefix("http://") else { return nil }
    return OAuthClient(id: id, methods: ["none"])
  }

  func permits(_ redirect: String, _ client: OAuthClient) -> Bool {
    let known = client.redirects + settings.texts("redirect_uris")
    if known.contains(redirect) { return true }
    guard !settings.flag("redirect_exact"), let plain = OAuthClient.withoutPort(redirect) else {
      return false
    }
    return client.id.contains("://") || known.contains { OAuthClient.withoutPort($0) == plain }
  }

  // MARK: Authentication

  /// RFC 6749, section 2.3, and RFC 7523, section 2.2.
  func authenticate(_ request: Request, _ form: Form, _ place: Place) throws -> OAuthClient {
    var shown: [(method: String, id: String?, secret: String)] = []
    if request.authorization != nil {
      guard let basic = request.basic else { throw refuse("Only HTTP Basic is supported.") }
      func decoded(_ text: String) -> String {
        settings.flag("basic_raw") ? text : Request.pairs("x=\(text)").first?.value ?? ""
      }
      shown.append(("client_secret_basic", decoded(basic.user), decoded(basic.password)))
    }
    if let secret = form["client_secret"] {
      shown.append(("client_secret_post", form["client_id"], secret))
    }
    if let assertion = form["client_assertion"] {
      let type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
      guard form["client_assertion_type"] == type, let jwt = JWT(assertion) else {
        throw refuse("The assertion is not valid.")
      }
      let method = jwt.algorithm == "HS256" ? "client_secret_jwt" : "private_key_jwt"
      shown.append((method, jwt.claims["sub"]?.string, assertion))
    }
    guard shown.count < 2 else {
      throw OAuthError("invalid_request", "The request has more than one client authentication.")
    }
    let (method, id, secret) = shown.first ?? ("none", form["client_id"], "")
    guard let client = client(id), form["client_id"] ?? client.id == client.id else {
      throw refuse("The client is unknown.")
    }
    let taken = settings.texts("client_auth")
    guard client.methods.contains(method),
      method == "none" || taken.isEmpty || taken.contains(method)
    else { throw refuse("Client authentication by \(method) is not accepted.") }
    if settings.flag("client_id_in_body"), form["client_id"] == nil {
      throw OAuthError("invalid_request", "client_id is missing.")
    }
    switch method {
    case "none": break
    case "client_secret_basic", "client_secret_post":
      guard client.secret?.utf8.elementsEqual(secret.utf8) == true else {
        throw refuse("The secret is wrong.")
      }
    default:
      guard let jwt = JWT(secret), jwt.claims["iss"]?.string == client.id else {
        throw refuse("iss and sub must be the client.")
      }
      guard isBelieved(jwt, client, place) else {
        throw refuse("The assertion's signature, aud, exp or jti is wrong.")
      }
    }
    return client
  }

  private func refuse(_ why: String) -> OAuthError {
    OAuthError("invalid_client", why, headers: [("WWW-Authenticate", #"Basic realm="demo""#)])
  }

  /// Whether an assertion (RFC 7523, section 3) is signed, for this server, and not used before.
  func isBelieved(_ jwt: JWT, _ client: OAuthClient, _ place: Place) -> Bool {
    let endpoint = place.base + "/token"
    let audiences = ["issuer": [place.issuer], "token_endpoint": [endpoint]]
    guard jwt.isFor(audiences[settings.text("assertion_aud") ?? ""] ?? [place.issuer, endpoint]),
      let id = jwt.claims["jti"]?.string, seen.insert("assertion " + id).inserted
    else { return false }
    if let secret = client.secret, jwt.isSigned(withSecret: secret) { return true }
    var keys = client.keys.compactMap { PublicKey(jwk: $0) }
    if OAuthClient.known[client.id] != nil, let pem = settings.text("client_key_pem") {
      keys += [PublicKey(pem: pem)].compactMap { $0 }
    }
    return keys.contains { jwt.isSigned(by: $0) }
  }

  // MARK: Registration

  /// RFC 7591.
  func register(_ request: Request, _ place: Place) throws -> Answer {
    if let token = settings.text("registration_token"), request.bearer != token {
      throw OAuthError(
        "invalid_token", "Registration requires an initial access token.", status: 401)
    }
    if let error = settings.text("registration_error") { throw OAuthError(error) }
    guard request.isJSON, let asked = request.fields, asked.isObject else {
      throw OAuthError("invalid_client_metadata", "The body must be a JSON object.")
    }
    let redirects = (asked["redirect_uris"]?.array ?? []).compactMap(\.string)
    let web = ["https://", "http://"]
    for uri in redirects where !web.contains(where: uri.hasPrefix) || uri.contains("#") {
      throw OAuthError("invalid_redirect_uri", "\(uri) cannot be a redirect URI.")
    }
    let method =
      settings.text("registration_method") ?? asked["token_endpoint_auth_method"]?.string
      ?? "client_secret_basic"
    guard OAuthClient.methods.contains(method) else {
      throw OAuthError("invalid_client_metadata", "\(method) is not known.")
    }
    let scope = asked["scope"]?.string?.words
    if let unknown = scope?.first(where: { !scopes.contains($0) }) {
      throw OAuthError("invalid_client_metadata", "The scope \(unknown) does not exist.")
    }
    let grants = asked["grant_types"]?.array?.compactMap(\.string) ?? ["authorization_code"]
    var client = OAuthClient(
      id: "client-" + randomText(12, of: .hexDigits),
      secret: method.hasPrefix("client_secret") ? randomText(32, of: .asciiLetters) : nil,
      methods: [method], redirects: redirects, scope: scope,
      grants: grants,
      keys: asked["jwks"]?["keys"]?.array ?? [],
      bindsTokens: asked["dpop_bound_access_tokens"]?.bool ?? false,
      registrationToken: randomText(32, of: .asciiLetters))
    var members: [(String, JSON)] = [
      ("client_id", .string(client.id)),
      ("client_id_issued_at", .int(Int(Date().timeIntervalSince1970))),
      ("registration_access_token", .string(client.registrationToken ?? "")),
      ("registration_client_uri", .string(place.base + "/connect/register/" + client.id)),
      ("token_endpoint_auth_method", .string(method)),
    ]
    if let secret = client.secret {
      members += [("client_secret", .string(secret)), ("client_secret_expires_at", 0)]
    }
    if case .object(let all) = asked {
      members += all.filter { member in !members.contains { $0.0 == member.0 } }
    }
    client.details = members
    clients[client.id] = client
    return json(201, .object(settings.overlaid(members, by: ["registration"], at: place)))
  }

  /// RFC 7592, without updates.
  func manage(_ request: Request, _ place: Place) -> Answer {
    let id = request.path.split(separator: "/").last.map(String.init) ?? ""
    guard let client = clients[id], let token = client.registrationToken, request.bearer == token
    else {
      return json(
        401, ["error": "invalid_token"],
        headers: [("WWW-Authenticate", #"Bearer error="invalid_token""#)])
    }
    switch place.route.prefix(while: { $0 != " " }) {
    case "GET": return json(200, .object(client.details))
    case "DELETE":
      clients[id] = nil
      return Answer(204, type: nil)
    default: return json(405, ["error": "invalid_request"], headers: [("Allow", "GET, DELETE")])
    }
  }
}
