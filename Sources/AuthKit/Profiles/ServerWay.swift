/// The settings of a profile that decide how its server is reached, and so who could read along.
///
/// A session keeps the settings it was made with. If the profile changes them later, its secrets
/// are sent nowhere (rule A3): no one gets them by changing the file.
package struct ServerWay: Sendable, Equatable {
  /// Values by key, without those that the profile leaves to the system and the environment.
  private var settings: [String: String] = [:]

  /// The key for the content of `ca_file`: the name does not show who is trusted.
  private static let authorities = "ca_file_sha256"

  /// No settings: only those of the system and the environment apply.
  init() {}

  /// The settings of a profile as it is now, with a digest of its `ca_file` and the authorization
  /// server that renews its sessions. A client certificate
  /// can be renewed in place: it identifies the client and gives no one a token.
  package init(of profile: Profile) {
    let network = profile.recipe.network
    settings["proxy"] = network.proxy
    settings["ca_file"] = network.caFile
    settings[Self.authorities] = network.caFile.map(NamedFile.digest)
    settings["client_cert"] = network.clientCertificate
    settings["client_key"] = network.clientKey
    settings["allow_http"] = network.allowHTTP ? "true" : nil
    guard let oauth = profile.recipe.oauth else { return }
    settings["oauth.issuer"] = oauth.issuer
    for (endpoint, url) in oauth.endpoints { settings["oauth.\(endpoint.rawValue)"] = url }
  }

  /// Returns the names of the keys that differ from `other`, for messages.
  func difference(from other: ServerWay) -> [String] {
    Set(settings.keys).union(other.settings.keys).sorted()
      .filter { settings[$0] != other.settings[$0] }
      .map {
        if $0 == Self.authorities { return "the content of network.ca_file" }
        return $0.utf8.starts(with: "oauth.".utf8) ? $0 : "network.\($0)"
      }
  }

  // MARK: - The stored form

  /// nil if there is nothing to store.
  var json: JSONValue? {
    guard !settings.isEmpty else { return nil }
    return .object(settings.sorted { $0.key < $1.key }.map { ($0.key, .string($0.value)) })
  }

  /// Reads the output of `json`; nil, as in older sessions, means no settings.
  init?(stored json: JSONValue?) {
    guard let json else { return }
    guard case .object(let members) = json else { return nil }
    for member in members {
      guard let text = member.value.text else { return nil }
      settings[member.key] = text
    }
  }
}

/// The limits that a stored session sets for a request of the recipe.
package struct SessionLimits: Sendable {
  /// The origins that may receive it (rule A2).
  let origins: [Origin]
  /// The settings that they must be reached with (rule A3).
  let way: ServerWay
}
