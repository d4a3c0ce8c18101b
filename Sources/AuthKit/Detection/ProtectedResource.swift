/// What an API says of itself and of the authorization server that signs in to it (RFC 9728).
struct ProtectedResource {
  /// What a token has to be for: the API's URL or one above it.
  let resource: String
  /// The issuer of the first authorization server.
  let issuer: String
  /// The scopes that the API has; nil if it does not say.
  let scope: String?
  /// Whether it takes only tokens that are bound to a key (RFC 9449).
  let bindsTokens: Bool

  /// Reads a document for the API at `base`; nil if it is for another one or names no server.
  init?(_ document: JSONValue, for base: WebURL) {
    guard let resource = document["resource"]?.text, Self.isAbove(base, resource),
      case .array(let servers)? = document["authorization_servers"],
      let issuer = servers.first?.text, URLText.problemOfBase(issuer) == nil
    else { return nil }
    self.resource = resource
    self.issuer = issuer
    bindsTokens = document["dpop_bound_access_tokens_required"] == .bool(true)
    guard case .array(let scopes)? = document["scopes_supported"] else {
      scope = nil
      return
    }
    let names = scopes.compactMap(\.text)
    scope = names.isEmpty ? nil : names.joined(separator: " ")
  }

  /// Whether `resource` is `base` or a URL above it (RFC 9728, section 3.3); a slash at the end
  /// makes no difference.
  private static func isAbove(_ base: WebURL, _ resource: String) -> Bool {
    guard let url = try? WebURL(resource, from: .server), url.origin == base.origin,
      url.query == nil, !resource.utf8.contains(UInt8(ascii: "#"))
    else { return false }
    let above = url.path.withoutTrailingSlashes + "/"
    return (base.path.withoutTrailingSlashes + "/").utf8.starts(with: above.utf8)
  }
}

extension Detector {
  private static let wellKnown = "/.well-known/oauth-protected-resource"

  /// Reads the metadata that the answer to `path` names in its challenge (RFC 9728, section 5.1).
  mutating func lookForResource(named path: String) throws(Failure) {
    guard let answer = answers[path], answer.head.status == 401,
      let challenge = answer.head.tokenChallenge,
      let text = challenge["resource_metadata"]
    else { return }
    guard let url = try? WebURL(text, from: .server), url.origin == base.origin else {
      return addPossible(
        path, "names metadata that authctl does not request",
        why: "resource_metadata (RFC 9728) is not on this origin: \(Self.shown(text))")
    }
    let place = url.path + (url.query.map { "?" + $0 } ?? "")
    try ask(place)
    readResource(place, scope: challenge["scope"])
  }

  /// Asks for the metadata of the API and of an authorization server at its origin, in the usual
  /// places (RFC 9728, section 3.1; OpenID Connect Discovery 1.0, section 4; RFC 8414, section 3).
  mutating func lookForAuthorizationServer() throws(Failure) {
    let path = base.path.withoutTrailingSlashes
    for place in [Self.wellKnown + path] + (path.isEmpty ? [] : [Self.wellKnown])
    where !isCertain {
      try ask(place)
      readResource(place, scope: answers["/"]?.head.tokenChallenge?["scope"])
    }
    for place in [
      "/.well-known/openid-configuration", "/.well-known/oauth-authorization-server",
    ] where !isCertain {
      try ask(place)
      guard let issuer = answers[place]?.json?["issuer"]?.text else { continue }
      guard let url = try? WebURL(issuer, from: .server), url.origin == base.origin else {
        addPossible(
          place, "names the issuer \(Self.shown(issuer))",
          why: "not on this origin (RFC 8414, section 3.3); if it signs in: --issuer")
        continue
      }
      add(issuer, at: place, why: "metadata of an authorization server (RFC 8414)", [])
    }
  }

  private mutating func readResource(_ place: String, scope: String?) {
    guard let document = answers[place]?.json, case .object = document else { return }
    guard let found = ProtectedResource(document, for: base) else {
      guard let resource = document["resource"]?.text else { return }
      return addPossible(
        place, "describes \(Self.shown(resource))",
        why: "not this API, or without an authorization server (RFC 9728, section 3.3)")
    }
    // What the API asks for now comes before all that it has.
    let scope = scope ?? found.scope
    add(
      found.issuer, at: place, why: "the API names this authorization server (RFC 9728)",
      [("oauth.resource", .array([.string(found.resource)]))]
        + (scope.map { [("oauth.scope", .string($0))] } ?? [])
        + (found.bindsTokens ? [("oauth.dpop", true)] : []))
  }

  private mutating func addPossible(_ place: String, _ summary: String, why: String) {
    detection.findings.append(Finding(.possible, at: place, summary, why: why))
  }

  private mutating func add(
    _ issuer: String, at place: String, why: String, _ more: [(key: String, value: JSONValue)]
  ) {
    var finding = Finding(
      .certain, at: place, "signs in with OAuth 2.0 at \(Self.shown(issuer))", why: why)
    finding.settings = [("oauth.issuer", .string(issuer))] + more
    let path = base.path.withoutTrailingSlashes
    let endpoints = Fingerprint.all().filter { mark in
      mark.endpoint.map { path.utf8.suffix($0.utf8.count).elementsEqual($0.utf8) } ?? false
    }
    if let product = endpoints.first, let endpoint = product.endpoint {
      let url = base.origin.description + path.dropLast(endpoint.count)
      finding.settings.insert(
        contentsOf: [("url", .string(url)), ("preset", .string(product.preset))], at: 0)
    }
    detection.findings.append(finding)
  }

  private static func shown(_ url: String) -> String {
    DisplayText.oneLine(Redactor.withoutQuery(url), limit: 80)
  }
}
