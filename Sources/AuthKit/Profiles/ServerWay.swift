/// How a profile says that its server is reached: what decides who could read along.
///
/// A session keeps the way by which it was made. Where the profile says otherwise since, its secrets
/// are sent nowhere (rule A3): whoever changes the file does not get what others have signed in for.
package struct ServerWay: Sendable, Equatable {
  /// By key; what a profile leaves to the system and the environment has none.
  private var settings: [String: String] = [:]

  /// The key for what is in `ca_file`: its name alone does not say who is trusted.
  private static let authorities = "ca_file_sha256"

  /// Nothing but what the system and the environment say.
  init() {}

  /// The way of a profile as it is now. The file of its authorities is read; a client's certificate
  /// shows the server who asks, and no one a token: it may be renewed in its place.
  package init(of profile: Profile) {
    let network = profile.recipe.network
    settings["proxy"] = network.proxy
    settings["ca_file"] = network.caFile
    settings[Self.authorities] = network.caFile.map(NamedFile.digest)
    settings["client_cert"] = network.clientCertificate
    settings["client_key"] = network.clientKey
    settings["allow_http"] = network.allowHTTP ? "true" : nil
  }

  /// What differs from `other`, in words: keys of a profile.
  func difference(from other: ServerWay) -> [String] {
    Set(settings.keys).union(other.settings.keys).sorted()
      .filter { settings[$0] != other.settings[$0] }
      .map { $0 == Self.authorities ? "what is in network.ca_file" : "network.\($0)" }
  }

  // MARK: - The stored form

  /// nil where there is nothing to be kept.
  var json: JSONValue? {
    guard !settings.isEmpty else { return nil }
    return .object(settings.sorted { $0.key < $1.key }.map { ($0.key, .string($0.value)) })
  }

  /// Reads what `json` gave; none, as in sessions of before this was kept, is the empty way.
  init?(stored json: JSONValue?) {
    guard let json else { return }
    guard case .object(let members) = json else { return nil }
    for member in members {
      guard let text = member.value.text else { return nil }
      settings[member.key] = text
    }
  }
}

/// What a stored session permits to a request of the recipe.
package struct SessionLimits: Sendable {
  /// The origins that may receive it (rule A2).
  let origins: [Origin]
  /// The way by which they must be reached (rule A3).
  let way: ServerWay
}
