/// A request as it would be sent, without the session's values: for `--dry-run` and `--as-curl`.
package struct RequestOutline {
  /// A header of the request.
  package struct Header {
    /// The part of a value that may be shown.
    package enum Value {
      case text(String)
      /// It carries the session.
      case session
      /// The user set it, and it may be a credential.
      case personal
      /// The header is not sent.
      case removed
    }
    /// The name as it is sent.
    package let name: String
    /// Its value.
    package let value: Value
  }

  /// The request without the session's headers, parameters and cookies.
  package let request: WireRequest
  /// The names of the parameters that the session adds to the URL.
  package let parameters: [String]
  /// All its headers, in the order in which they are sent.
  package let headers: [Header]
}

extension RecipeClient {
  /// Returns `request` as it would be sent.
  ///
  /// - Parameter anonymous: whether the session is left out.
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
    var shown = request
    let plain = TemplateFiller(values: TemplateValues(), profile: profile.name)
    if !anonymous {
      guard try requestOrigins().contains(request.url.origin) else {
        throw Failure(
          .originRefused,
          "\(profile.name): refused to send the credential of \(base.origin) to "
            + "\(request.url.origin)",
          hint: "add the origin to network.allow_origins in the profile and sign in again")
      }
      for pair in profile.recipe.request.pairs(for: request.method)
      where !own.contains(pair.name.asciiLowercased) {
        if pair.value.names.isEmpty {
          added.headers += try plain.headers([pair])
        } else {
          headers.append(RequestOutline.Header(name: pair.name, value: .session))
        }
      }
      shown.url = try shown.url.adding(
        try plain.parameters(profile.recipe.request.query.filter(\.value.names.isEmpty)))
      if profile.recipe.request.cookies {
        headers.append(RequestOutline.Header(name: "Cookie", value: .session))
      }
    }
    // The defaults apply where neither the user nor the recipe has set a header.
    let recipe = added.headers
    added.headers = request.headers + recipe
    try http.addDefaults(to: &added)
    let rest = recipe + added.headers.dropFirst(request.headers.count + recipe.count)
    headers += rest.map { header in
      RequestOutline.Header(
        name: header.name, value: header.shownValue.map { .text($0) } ?? .removed)
    }
    return RequestOutline(
      request: shown, parameters: anonymous ? [] : profile.recipe.request.carryingParameters,
      headers: headers)
  }
}

extension RequestRecipe {
  /// Returns the headers of a request; some only go with methods that may change something.
  func pairs(for method: String) -> [RecipeRequest.Pair] {
    headers + (["GET", "HEAD", "OPTIONS"].contains(method) ? [] : writeHeaders)
  }

  /// Whether a single header with the access token carries the session, which another program can
  /// be given.
  package func isOneHeader(for method: String) -> Bool {
    let filled = pairs(for: method).filter { !$0.value.names.isEmpty }
    return !cookies && carryingParameters.isEmpty && filled.count == 1
      && filled[0].value.names.contains(.accessToken)
  }
}

extension Recipe {
  /// Whether the profile sets a proxy of its own instead of the environment's.
  package var namesProxy: Bool { network.proxy?.isEmpty == false }

  /// The table `[network]` as options of curl.
  package var curlWords: [(option: String, value: String)] {
    [
      ("--cacert", network.caFile), ("--cert", network.clientCertificate),
      ("--key", network.clientKey), ("-x", network.proxy),
    ].compactMap { option, value in value.map { (option, $0) } }
  }
}
