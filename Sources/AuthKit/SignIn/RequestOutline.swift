/// A request as it would go out, without the session in it: for `--dry-run` and `--as-curl`.
package struct RequestOutline {
  /// A header of it.
  package struct Header {
    /// What may be shown of a value.
    package enum Value {
      case text(String)
      /// It carries the session.
      case session
      /// The person gave it, and it may be a credential.
      case personal
      /// The header is not sent.
      case removed
    }
    /// The name as it is sent.
    package let name: String
    /// Its value.
    package let value: Value
  }

  /// The request without what carries the session.
  package let request: WireRequest
  /// All its headers, in the order in which they are sent.
  package let headers: [Header]
}

extension RecipeClient {
  /// What would become of `request`.
  ///
  /// - Parameter anonymous: nothing of the session is attached.
  /// - Throws: `origin_refused` where the session would not be sent.
  package func outline(of request: WireRequest, anonymous: Bool) throws(Failure) -> RequestOutline {
    let own = Set(request.headers.map(\.name.asciiLowercased))
    var headers: [RequestOutline.Header] = request.headers.map { header in
      guard let value = header.shownValue else {
        return RequestOutline.Header(name: header.name, value: .removed)
      }
      return RequestOutline.Header(
        name: header.name, value: header.mayBeCredential ? .personal : .text(value))
    }
    var added = WireRequest(method: request.method, url: request.url)
    if !anonymous {
      guard try requestOrigins().contains(request.url.origin) else {
        throw Failure(
          .originRefused,
          "\(profile.name): refused to send the credential of \(base.origin) to "
            + "\(request.url.origin)",
          hint: "network.allow_origins in the profile, then a new login, would allow it")
      }
      for pair in profile.recipe.request.pairs(for: request.method)
      where !own.contains(pair.name.asciiLowercased) {
        if pair.value.names.isEmpty {
          let plain = TemplateFiller(values: TemplateValues(), profile: profile.name)
          added.headers += try plain.headers([pair])
        } else {
          headers.append(RequestOutline.Header(name: pair.name, value: .session))
        }
      }
      if profile.recipe.request.cookies {
        headers.append(RequestOutline.Header(name: "Cookie", value: .session))
      }
    }
    // The defaults are those that neither the person nor the recipe has set.
    let recipe = added.headers
    added.headers = request.headers + recipe
    try http.addDefaults(to: &added)
    let plain = recipe + added.headers.dropFirst(request.headers.count + recipe.count)
    headers += plain.map { header in
      RequestOutline.Header(
        name: header.name, value: header.shownValue.map { .text($0) } ?? .removed)
    }
    return RequestOutline(request: request, headers: headers)
  }
}

extension RequestRecipe {
  /// The headers of a request: some of them only of one that may change something.
  func pairs(for method: String) -> [RecipeRequest.Pair] {
    headers + (["GET", "HEAD", "OPTIONS"].contains(method) ? [] : writeHeaders)
  }

  /// Whether one header with the access token is all that carries the session in a request: what
  /// another program can be given.
  package func isOneHeader(for method: String) -> Bool {
    let filled = pairs(for: method).filter { !$0.value.names.isEmpty }
    return !cookies && filled.count == 1 && filled[0].value.names.contains(.accessToken)
  }
}

extension Recipe {
  /// Whether the profile names a proxy, and is not content with the environment's.
  package var namesProxy: Bool { network.proxy?.isEmpty == false }

  /// The table `[network]` in options of curl.
  package var curlWords: [(option: String, value: String)] {
    [
      ("--cacert", network.caFile), ("--cert", network.clientCertificate),
      ("--key", network.clientKey), ("-x", network.proxy),
    ].compactMap { option, value in value.map { (option, $0) } }
  }
}
