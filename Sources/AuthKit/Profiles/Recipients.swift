/// Who gets something secret when a profile is used (security rule A3).
package struct Recipients {
  /// Each origin with what it gets, that of `url` first; hosts in punycode.
  package var origins: [(origin: Origin, gets: String)] = []
  /// What a profile of somebody else's must not bring unseen: each key with what it does.
  package var risks: [String] = []
}

extension Profile {
  /// Where access token, cookies, kept values and the application's key may go: `url` and
  /// `allow_origins` (rule A2).
  package func requestOrigins() throws(Failure) -> [Origin] {
    var origins = [try WebURL(url, from: .person).origin]
    for text in recipe.network.allowOrigins { origins.append(try Origin(text)) }
    return origins
  }

  /// The origins that receive passwords, tokens or a browser, and what takes trust.
  ///
  /// - Throws: `Failure` of kind `usage` for a URL that libcurl does not take.
  package func recipients() throws(Failure) -> Recipients {
    var found = Recipients()
    let network = recipe.network
    let home = try WebURL(url, from: .person).origin
    let carries = recipe.session.keepPassword ? "password" : "password, tokens"
    found.origins.append((home, carries))
    func add(_ origin: Origin, _ gets: String, _ risk: String) {
      guard !found.origins.contains(where: { $0.origin == origin && $0.gets == gets }) else {
        return
      }
      found.origins.append((origin, gets))
      if origin != home { found.risks.append(risk) }
    }
    for (table, call) in calls {
      guard case .text(let text)? = call.path.pieces.first, URLText.isAbsolute(text) else {
        continue
      }
      let origin = try WebURL(text, from: .person).origin
      add(origin, "what [\(table)] sends", "[\(table)] goes to \(origin)")
    }
    for text in network.signInOrigins {
      let origin = try Origin(text)
      add(origin, "password, codes, refresh token", "sign_in_origins names \(origin)")
    }
    for text in network.allowOrigins {
      let origin = try Origin(text)
      add(origin, "access token, cookies", "allow_origins names \(origin)")
    }
    for value in values where value.key.utf8.starts(with: "oauth.".utf8) {
      guard let text = value.value.text, URLText.isAbsolute(text) else { continue }
      let origin = try WebURL(text, from: .person).origin
      add(origin, "browser, codes", "\(value.key) is \(origin)")
    }
    if let proxy = network.proxy {
      found.risks.append("proxy = \(DisplayText.oneLine(proxy)): all requests go through it")
    }
    if let file = network.caFile {
      found.risks.append("ca_file = \(DisplayText.oneLine(file)): it says which servers are real")
    }
    if let file = network.clientCertificate ?? network.clientKey {
      found.risks.append("client certificate: \(DisplayText.oneLine(file))")
    }
    if network.allowHTTP { found.risks.append("allow_http: passwords and tokens in clear") }
    return found
  }
}
