/// A request as it would go out, without the session in it: for `--dry-run` and `--as-curl`.
public struct Outline {
  /// A header of it.
  public struct Header {
    /// What may be shown of a value.
    public enum Value {
      case text(String)
      /// It carries the session.
      case session
      /// The person gave it, and it may be a credential.
      case personal
      /// The header is not sent.
      case removed
    }
    /// The name as it is sent.
    public let name: String
    /// Its value.
    public let value: Value
  }

  /// The request without what carries the session.
  public let request: WireRequest
  /// All its headers, in the order in which they are sent.
  public let headers: [Header]
}

extension API {
  /// What would become of `request`.
  ///
  /// - Parameter anonymous: nothing of the session is attached.
  /// - Throws: `origin_refused` where the session would not be sent.
  public func outline(of request: WireRequest, anonymous: Bool) throws(Failure) -> Outline {
    let own = Set(request.headers.map(\.name.asciiLowercased))
    var headers: [Outline.Header] = request.headers.map { header in
      guard let value = header.shownValue else {
        return Outline.Header(name: header.name, value: .removed)
      }
      return Outline.Header(
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
          let plain = Expansion(values: Values(), profile: profile.name)
          added.headers += try plain.headers([pair])
        } else {
          headers.append(Outline.Header(name: pair.name, value: .session))
        }
      }
      if profile.recipe.request.cookies {
        headers.append(Outline.Header(name: "Cookie", value: .session))
      }
    }
    // The defaults are those that neither the person nor the recipe has set.
    let recipe = added.headers
    added.headers = request.headers + recipe
    try http.addDefaults(to: &added)
    let plain = recipe + added.headers.dropFirst(request.headers.count + recipe.count)
    headers += plain.map { header in
      Outline.Header(name: header.name, value: header.shownValue.map { .text($0) } ?? .removed)
    }
    return Outline(request: request, headers: headers)
  }
}

extension RequestRecipe {
  /// The headers of a request: some of them only of one that may change something.
  func pairs(for method: String) -> [Call.Pair] {
    headers + (["GET", "HEAD", "OPTIONS"].contains(method) ? [] : writeHeaders)
  }

  /// Whether one header with the access token is all that carries the session in a request: what
  /// another program can be given.
  public func isOneHeader(for method: String) -> Bool {
    let filled = pairs(for: method).filter { !$0.value.names.isEmpty }
    return !cookies && filled.count == 1 && filled[0].value.names.contains(.accessToken)
  }
}

extension Recipe {
  /// The table `[network]` in options of curl.
  public var curlWords: [(option: String, value: String)] {
    [
      ("--cacert", network.caFile), ("--cert", network.clientCertificate),
      ("--key", network.clientKey), ("-x", network.proxy),
    ].compactMap { option, value in value.map { (option, $0) } }
  }
}
