import Foundation

/// The metadata documents: OpenID Connect Discovery 1.0, RFC 8414 and RFC 9728.
extension OAuth {
  func metadata(_ request: Request) -> Answer? {
    let isMoved = request.path.hasPrefix("/moved/.well-known/")
    let path = isMoved ? String(request.path.dropFirst("/moved".count)) : request.path
    guard request.route.hasPrefix("GET "), path.contains("/.well-known/") else { return nil }
    let (openid, oauth) = (
      "/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"
    )
    let resource = "/.well-known/oauth-protected-resource"
    let place = Place(request, settings, tenant: path.contains("/tenant"))
    let (kind, members): (String, [(String, JSON)])
    switch path {
    case openid, "/tenant" + openid: (kind, members) = ("openid", server(place, "openid_metadata"))
    case oauth, oauth + "/tenant": (kind, members) = ("oauth", server(place, "oauth_metadata"))
    case resource: (kind, members) = ("resource", self.resource(place, ""))
    case resource + "/oauth-api",
      _ where path.hasPrefix(resource + "/oauth-api/"):
      (kind, members) = ("resource", self.resource(place, "/oauth-api"))
    default: return nil
    }
    switch isMoved ? nil : settings.text(kind + "_answer") {
    case "not_found": return json(404, ["message": "Not found"])
    case "error": return json(503, ["error": "temporarily_unavailable"])
    case "html": return page(200, "Welcome")
    case "redirect": return Answer(302, type: nil, headers: [("Location", "/moved" + path)])
    case "huge":
      let padding = String(repeating: "x", count: 2 << 20)
      return document(members + [("padding", .string(padding))])
    default: return document(members)
    }
  }

  /// Unlike other responses, metadata may be cached.
  private func document(_ members: [(String, JSON)]) -> Answer {
    .json(200, .object(members), type: "application/json")
  }

  private func server(_ place: Place, _ overlay: String) -> [(String, JSON)] {
    let endpoints = [
      ("authorization_endpoint", "/authorize"), ("token_endpoint", "/token"),
      ("userinfo_endpoint", "/userinfo"), ("jwks_uri", "/jwks"),
      ("registration_endpoint", "/connect/register"), ("revocation_endpoint", "/revoke"),
      ("introspection_endpoint", "/introspect"),
      ("device_authorization_endpoint", "/device_authorization"),
      ("pushed_authorization_request_endpoint", "/par"),
    ]
    let methods = settings.texts("client_auth")
    let members: [(String, JSON)] =
      [("issuer", .string(place.issuer))]
      + endpoints.map { ($0, .string(place.base + $1)) } + [
        ("scopes_supported", .array(scopes.map { .string($0) })),
        ("response_types_supported", ["code"]),
        ("response_modes_supported", ["query", "fragment", "form_post"]),
        ("grant_types_supported", .array(Self.grantTypes.map { .string($0) })),
        ("subject_types_supported", ["public"]),
        ("id_token_signing_alg_values_supported", ["RS256"]),
        (
          "token_endpoint_auth_methods_supported",
          .array((methods.isEmpty ? OAuthClient.methods : methods).map { .string($0) })
        ),
        ("token_endpoint_auth_signing_alg_values_supported", PublicKey.algorithms),
        ("code_challenge_methods_supported", ["S256"]),
        ("dpop_signing_alg_values_supported", PublicKey.algorithms),
        ("authorization_response_iss_parameter_supported", true),
        ("client_id_metadata_document_supported", true),
        ("require_pushed_authorization_requests", .bool(settings.flag("par_required"))),
      ]
    return settings.overlaid(members, by: ["metadata", overlay], at: place)
  }

  private func resource(_ place: Place, _ path: String) -> [(String, JSON)] {
    settings.overlaid(
      [
        ("resource", .string(place.origin + path)),
        ("authorization_servers", [.string(place.issuer)]),
        ("scopes_supported", ["read", "write"]),
        ("bearer_methods_supported", ["header"]),
        ("resource_name", "DemoAPI"),
      ], by: ["resource_metadata"], at: place)
  }
}
