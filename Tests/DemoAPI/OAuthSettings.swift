import Foundation

/// The switches of `POST /oauth-settings`. They last until they are changed or `POST /reset`.
struct OAuthSettings: Sendable {
  /// Name, default, description. An *overlay* is an object that changes members of a response:
  /// `null` removes a member, any other value replaces or adds it. Strings in an overlay may contain
  /// `{origin}`, `{issuer}` and `{value}` (the value that the overlay replaces).
  static let table: [(name: String, value: JSON, help: String)] = [
    ("issuer", nil, "the issuer in all responses, for example {origin}/; null: the origin"),
    ("metadata", [:], "overlay of openid-configuration and oauth-authorization-server"),
    ("openid_metadata", [:], "overlay of openid-configuration"),
    ("oauth_metadata", [:], "overlay of oauth-authorization-server"),
    ("resource_metadata", [:], "overlay of oauth-protected-resource"),
    ("openid_answer", nil, "openid-configuration is: not_found, error, html, redirect or huge"),
    (
      "oauth_answer", nil, "oauth-authorization-server is: not_found, error, html, redirect or huge"
    ),
    (
      "resource_answer", nil,
      "oauth-protected-resource is: not_found, error, html, redirect or huge"
    ),

    ("authorize", [:], "overlay of the parameters of the redirect; a list repeats one"),
    ("authorize_path", nil, "path of the redirect, instead of the one in redirect_uri"),
    ("authorize_mode", "query", "query, fragment or form_post"),
    ("iss_first", false, "iss is the first parameter of the redirect, not the last"),
    ("error_page", false, "authorization errors are shown on a page instead of redirected"),
    ("auto_approve", nil, "account as which GET /authorize approves without a form"),
    ("par_required", false, "requires pushed authorization requests"),
    ("nonce_required", false, "requires a nonce with the scope openid"),
    ("redirect_exact", false, "compares the port of loopback redirects too"),
    ("redirect_uris", [], "further redirect URIs that every client may use"),
    ("scopes", [], "the supported scopes; empty: the default ones"),
    ("grant_scope", nil, "the scope to grant, whatever the request"),
    ("required_audience", nil, "requires this audience, else invalid_target"),

    ("client_auth", [], "accepted client authentication methods; empty: all"),
    ("basic_raw", false, "expects HTTP Basic without form-encoding"),
    (
      "client_id_in_body", false,
      "requires client_id in the form in addition to Basic or an assertion"
    ),
    ("client_key_pem", nil, "public key (PEM) of the fixed clients"),
    ("assertion_aud", nil, "only accepted audience of assertions: token_endpoint or issuer"),
    ("subject_tokens", ["demo-subject-token"], "strings accepted as assertion or subject_token"),

    ("token", [:], "overlay of token responses"),
    ("refresh", [:], "overlay of the response to a refresh, after token"),
    ("token_ttl", nil, "lifetime of access tokens in seconds"),
    ("refresh_ttl", nil, "lifetime of refresh tokens in seconds"),
    ("access_token_jwt", false, "access tokens are JSON Web Tokens"),
    ("token_error", nil, "error of the token endpoint, or an object: errors by grant type"),
    ("token_error_status", nil, "HTTP status of token errors, for example 200"),
    ("token_format", "json", "format of token responses: json, form or html"),
    ("error_description", nil, "error_description of all errors"),
    ("error_uri", nil, "error_uri of all errors"),
    ("error_echo", false, "error_description is the body of the request, with its secrets"),
    ("rotate", true, "a refresh returns a new refresh token"),
    ("reuse_kills", true, "reuse of a refresh token revokes its family"),
    ("offline_access_required", false, "issues refresh tokens only with the scope offline_access"),

    ("id_token", [:], "overlay of the claims of ID tokens"),
    ("refresh_id_token", [:], "overlay of the claims of ID tokens at a refresh, after id_token"),
    ("id_token_alg", "RS256", "RS256, HS256 or none"),
    ("userinfo", [:], "overlay of userinfo"),
    ("introspection", [:], "overlay of introspection responses"),
    ("revoke_confidential_only", false, "public clients cannot revoke tokens"),

    ("device", [:], "overlay of device responses; its interval and expires_in apply"),
    ("device_polls", [], "errors of the first polls, for example [\"slow_down\"]"),
    ("device_auto_approve", nil, "account as which each poll approves"),
    ("device_deny_silent", false, "a denied code stays pending"),

    ("registration", [:], "overlay of registration responses"),
    ("registration_error", nil, "error of every registration"),
    ("registration_method", nil, "authentication method of new clients, whatever they request"),
    ("registration_token", nil, "initial access token that registration requires"),

    ("dpop_required", false, "the token endpoint requires a DPoP proof"),
    (
      "dpop_nonce_token", nil,
      "nonce at the token endpoint: fixed, once, or always (a new one, for ever)"
    ),
    ("dpop_nonce_api", nil, "nonce at /oauth-api: fixed, once, or always (a new one, for ever)"),
    ("api_error", nil, "error of /oauth-api: invalid_token, insufficient_scope, …"),
    ("api_challenge", [:], "overlay of the parameters of WWW-Authenticate"),
    (
      "resource_required", false,
      "/oauth-api accepts only tokens whose authorization request named it"
    ),
  ]

  private var values: [String: JSON]

  init(rotate: Bool) {
    values = Dictionary(uniqueKeysWithValues: Self.table.map { ($0.name, $0.value) })
    values["rotate"] = .bool(rotate)
  }

  subscript(name: String) -> JSON {
    get {
      guard let value = values[name] else { preconditionFailure("no switch \(name)") }
      return value
    }
    set { values[name] = newValue }
  }

  static func has(_ name: String) -> Bool { table.contains { $0.name == name } }

  func flag(_ name: String) -> Bool { self[name].bool ?? false }
  func text(_ name: String) -> String? { self[name].string }
  func texts(_ name: String) -> [String] { (self[name].array ?? []).compactMap(\.string) }

  /// The response to `GET /oauth-settings`.
  var description: JSON {
    .object(Self.table.map { ($0.name, ["value": self[$0.name], "help": .string($0.help)]) })
  }

  /// The members of a response after these overlays.
  func overlaid(
    _ members: [(String, JSON)], by overlays: [String], at place: OAuth.Place
  ) -> [(String, JSON)] {
    var members = members
    for overlay in overlays {
      guard case .object(let changes) = self[overlay] else { continue }
      for (name, change) in changes {
        let index = members.firstIndex { $0.0 == name }
        let old = index.map { members[$0].1 }
        if case .null = change {
          members.removeAll { $0.0 == name }
        } else if let index {
          members[index].1 = change.filled(place, old)
        } else {
          members.append((name, change.filled(place, old)))
        }
      }
    }
    return members
  }
}

extension JSON {
  fileprivate func filled(_ place: OAuth.Place, _ old: JSON?) -> JSON {
    switch self {
    case .string(let text):
      .string(
        text.replacingOccurrences(of: "{origin}", with: place.origin)
          .replacingOccurrences(of: "{issuer}", with: place.issuer)
          .replacingOccurrences(of: "{value}", with: old?.string ?? ""))
    case .array(let items): .array(items.map { $0.filled(place, old) })
    case .object(let members): .object(members.map { ($0, $1.filled(place, old?[$0])) })
    default: self
    }
  }
}
