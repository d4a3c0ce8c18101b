/// The recipients of secrets when a profile is used (rule A3).
package struct Recipients {
  /// Each origin and what it receives, that of `url` first; hosts in punycode.
  package var origins: [(origin: Origin, gets: String)] = []
  /// Settings that someone else's profile must not bring unseen: the key and its effect.
  package var risks: [(key: String, what: String)] = []
}

extension Profile {
  /// The origins that may receive access token, cookies, kept values and the application's key:
  /// `url` and `allow_origins` (rule A2).
  package func requestOrigins() throws(Failure) -> [Origin] {
    var origins = [try WebURL(url, from: .person).origin]
    for text in recipe.network.allowOrigins { origins.append(try Origin(text)) }
    return origins
  }

  /// The origins that receive passwords, tokens or a browser, and the settings that need trust.
  ///
  /// - Throws: `Failure` of kind `usage` for a URL that libcurl does not accept.
  package func recipients() throws(Failure) -> Recipients {
    var found = Recipients()
    let network = recipe.network
    let home = try WebURL(url, from: .person).origin
    let carries = recipe.session.keepPassword ? "password" : "password, tokens"
    found.origins.append((home, carries))
    func add(_ origin: Origin, _ gets: String, _ key: String, _ risk: String) {
      guard !found.origins.contains(where: { $0.origin == origin && $0.gets == gets }) else {
        return
      }
      found.origins.append((origin, gets))
      if origin != home { found.risks.append((key, risk)) }
    }
    for (table, call) in calls {
      guard case .text(let text)? = call.path.pieces.first, URLText.isAbsolute(text) else {
        continue
      }
      let origin = try WebURL(text, from: .person).origin
      add(origin, "the [\(table)] request", "\(table).path", "[\(table)] is sent to \(origin)")
    }
    for text in network.signInOrigins {
      let origin = try Origin(text)
      add(
        origin, "password, codes, refresh token", "network.sign_in_origins",
        "sign_in_origins names \(origin)")
    }
    for text in network.allowOrigins {
      let origin = try Origin(text)
      add(
        origin, "access token, cookies", "network.allow_origins", "allow_origins names \(origin)")
    }
    for value in values where value.key.utf8.starts(with: "oauth.".utf8) {
      guard let text = value.value.text, URLText.isAbsolute(text) else { continue }
      let origin = try WebURL(text, from: .person).origin
      add(origin, "browser, codes", value.key, "\(value.key) is \(origin)")
    }
    if let key = recipe.oauth?.clientKey {
      found.risks.append(
        ("oauth.client_key", "client_key = \(DisplayText.oneLine(key)): it signs requests"))
    }
    found.risks += secretsInURLs + network.risks
    return found
  }

  /// The keys of the profile's own file that put secrets into URLs.
  private var secretsInURLs: [(key: String, what: String)] {
    values.filter { value in
      value.source == .file
        && (value.value == .bool(true) && value.key.ends(withBytesOf: ".secrets_in_url")
          || value.key == "request.query" && !recipe.request.carryingParameters.isEmpty)
    }
    .map { ($0.key, "\($0.key): the URL contains secrets, which servers and proxies log") }
  }
}

extension NetworkRecipe {
  /// The settings of a profile that affect how secrets travel.
  fileprivate var risks: [(key: String, what: String)] {
    var risks: [(key: String, what: String)] = []
    func add(_ key: String, _ value: String?, _ what: (String) -> String) {
      if let value { risks.append(("network.\(key)", what(DisplayText.oneLine(value)))) }
    }
    add("proxy", proxy) { "proxy = \($0): all requests go through it" }
    add("ca_file", caFile) { "ca_file = \($0): it decides which servers are trusted" }
    add("client_cert", clientCertificate) { "client certificate: \($0)" }
    add("client_key", clientKey) { "client key: \($0)" }
    add("allow_http", allowHTTP ? "" : nil) { _ in
      "allow_http: passwords and tokens are sent over plain HTTP"
    }
    return risks
  }
}
