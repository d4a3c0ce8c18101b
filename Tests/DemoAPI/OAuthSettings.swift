import Foundation

/// The switches of `POST /oauth-settings`. They stay until they are changed or `POST /reset`.
struct OAuthSettings: Sendable {
  /// Name, value at the start, and what it does. An *overlay* is an object that changes members of
  /// an answer: `null` takes a member away, any other value replaces or adds it. In its texts,
  /// `{origin}`, `{issuer}` and `{value}` (what the member would be) are filled in.
  static let table: [(name: String, value: JSON, help: String)] = [
    ("issuer", nil, "the issuer everywhere, e.g. {origin}/; null: the origin asked"),
    ("metadata", [:], "overlay of both documents of the authorization server"),
    ("openid_metadata", [:], "overlay of openid-configuration"),
    ("oauth_metadata", [:], "overlay of oauth-authorization-server"),
    ("resource_metadata", [:], "overlay of oauth-protected-resource"),
    ("openid_answer", nil, "not_found, error, html, redirect or huge instead of the document"),
    ("oauth_answer", nil, "the same for oauth-authorization-server"),
    ("resource_answer", nil, "the same for oauth-protected-resource"),

    ("authorize", [:], "overlay of the redirect's parameters; a list: several times"),
    ("authorize_path", nil, "the redirect goes to this path instead"),
    ("authorize_mode", "query", "query, fragment or form_post"),
    ("iss_first", false, "iss is the first parameter of the redirect, not the last"),
    ("error_page", false, "authorization errors are a page, never a redirect"),
    ("auto_approve", nil, "GET /authorize approves at once as this account"),
    ("par_required", false, "only pushed authorization requests are taken"),
    ("nonce_required", false, "scope openid needs a nonce"),
    ("redirect_exact", false, "the port of a loopback redirect is compared too"),
    ("redirect_uris", [], "more redirect URIs that every client may use"),
    ("scopes", [], "the scopes that exist; empty: the usual ones"),
    ("grant_scope", nil, "the scope that is granted, whatever is asked"),
    ("required_audience", nil, "requests without this audience get invalid_target"),

    ("client_auth", [], "the only client authentication methods taken; empty: all"),
    ("basic_raw", false, "HTTP Basic with id and secret that are not form-encoded"),
    ("client_id_in_body", false, "client_id is wanted in the form beside Basic or an assertion"),
    ("client_key_pem", nil, "public key (PEM) of demo-key and demo-service"),
    ("assertion_aud", nil, "token_endpoint or issuer: the only audience of assertions taken"),
    ("subject_tokens", ["demo-subject-token"], "texts taken as assertion or subject_token"),

    ("token", [:], "overlay of token answers"),
    ("refresh", [:], "overlay of the answer to a refresh, on top of token"),
    ("token_ttl", nil, "seconds that access tokens live"),
    ("refresh_ttl", nil, "seconds that refresh tokens live"),
    ("access_token_jwt", false, "access tokens are JSON Web Tokens"),
    ("token_error", nil, "error for every token request, or an object: one by grant type"),
    ("token_error_status", nil, "HTTP status of errors of the token endpoint, e.g. 200"),
    ("token_format", "json", "json, form or html"),
    ("error_description", nil, "description of all errors"),
    ("error_uri", nil, "error_uri of all errors"),
    ("error_echo", false, "the description is the body of the request, secrets and all"),
    ("rotate", true, "a refresh brings a new refresh token"),
    ("reuse_kills", true, "a refresh token that comes again ends its whole family"),
    ("offline_access_required", false, "a refresh token only with the scope offline_access"),

    ("id_token", [:], "overlay of the claims of ID tokens"),
    ("refresh_id_token", [:], "overlay at a refresh, on top of id_token"),
    ("id_token_alg", "RS256", "RS256, HS256 or none"),
    ("userinfo", [:], "overlay"),
    ("introspection", [:], "overlay"),
    ("revoke_confidential_only", false, "public clients cannot revoke"),

    ("device", [:], "overlay; interval and expires_in hold for the server too"),
    ("device_polls", [], "errors that the first polls get, e.g. [\"slow_down\"]"),
    ("device_auto_approve", nil, "a poll approves as this account"),
    ("device_deny_silent", false, "a denied code stays authorization_pending"),

    ("registration", [:], "overlay"),
    ("registration_error", nil, "error for every registration"),
    ("registration_method", nil, "client authentication that every new client gets"),
    ("registration_token", nil, "initial access token that registration requires"),

    ("dpop_required", false, "the token endpoint requires a DPoP proof"),
    ("dpop_nonce_token", nil, "fixed, once or always (never content) at the token endpoint"),
    ("dpop_nonce_api", nil, "fixed, once or always at /oauth-api"),
    ("api_error", nil, "invalid_token, insufficient_scope or insufficient_user_authentication"),
    ("api_challenge", [:], "overlay of the parameters of WWW-Authenticate"),
    ("resource_required", false, "/oauth-api takes only tokens whose authorization named it"),
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

  /// As `GET /oauth-settings` tells them.
  var description: JSON {
    .object(Self.table.map { ($0.name, ["value": self[$0.name], "help": .string($0.help)]) })
  }

  /// The members of an answer, changed by these overlays one after the other.
  func overlaid(
    _ members: [(String, JSON)], by overlays: String..., at place: OAuth.Place
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
