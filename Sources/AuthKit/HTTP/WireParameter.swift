/// A parameter that a recipe adds to the URL of a request.
///
/// It is added when the request is sent, and removed from every URL that a server names: no URL
/// that is shown, compared or resolved holds it (rule A9).
package struct WireParameter {
  /// The name, not encoded.
  let name: String
  /// The value, not encoded.
  let value: SharedSecret
  /// Whether the value is one of the session.
  let isCredential: Bool

  fileprivate func isNamed(in part: Substring.UTF8View) -> Bool { isPart(part, named: name) }

  /// Whether `part` has the value, whatever its name.
  fileprivate func isValue(in part: Substring.UTF8View) -> Bool {
    let value = part.drop { $0 != UInt8(ascii: "=") }.dropFirst()
    return self.value.withBytes { bytes in
      percentDecoded(value, plusIsSpace: true).elementsEqual(bytes)
        || percentDecoded(value).elementsEqual(bytes)
    }
  }

  /// `NAME=VALUE`, encoded.
  fileprivate var encoded: String {
    var builder = SecretBuilder()
    var name = name
    name.withUTF8 { builder.appendPercentEncoded(UnsafeRawBufferPointer($0)) }
    builder.append("=")
    value.withBytes { builder.appendPercentEncoded($0) }
    return builder.secret().withBytes { String(decoding: $0, as: UTF8.self) }
  }
}

/// Whether `part`, `NAME=VALUE` of a query, has the name.
private func isPart(_ part: Substring.UTF8View, named wanted: String) -> Bool {
  let name = part.prefix { $0 != UInt8(ascii: "=") }
  return percentDecoded(name, plusIsSpace: true).elementsEqual(wanted.utf8)
}

extension WebURL {
  /// Whether the query has a parameter of this name.
  func hasParameter(_ name: String) -> Bool { parts.contains { isPart($0, named: name) } }

  private var parts: [Substring.UTF8View] {
    (query ?? "")[...].utf8.split(separator: UInt8(ascii: "&"))
  }

  /// Returns the URL with `parameters` at the end of its query: a credential in place of parameters
  /// of its name, another one only where there is none.
  func adding(_ parameters: [WireParameter]) throws(Failure) -> WebURL {
    guard !parameters.isEmpty else { return self }
    let own = parts
    let kept = own.filter { part in
      !parameters.contains { $0.isCredential && $0.isNamed(in: part) }
    }
    let added = parameters.filter { parameter in
      parameter.isCredential || !own.contains(where: parameter.isNamed)
    }
    return try with(query: kept.map { String(Substring($0)) } + added.map(\.encoded))
  }

  /// Returns the URL without the credentials among `parameters`, which a server may have put into
  /// it.
  ///
  /// - Parameter isHome: whether they are added to it again; then every parameter of their names
  ///   is removed, otherwise only one that has the value too: other APIs have parameters of the
  ///   same name. A long value is removed there under any name.
  func removing(_ parameters: [WireParameter], isHome: Bool) throws(Failure) -> WebURL {
    let secrets = parameters.filter(\.isCredential)
    let own = parts
    let kept = own.filter { part in
      !secrets.contains { secret in
        let isNamed = secret.isNamed(in: part)
        return isHome
          ? isNamed : (isNamed || secret.value.secret.count >= 8) && secret.isValue(in: part)
      }
    }
    return kept.count == own.count ? self : try with(query: kept.map { String(Substring($0)) })
  }

  private func with(query parts: [String]) throws(Failure) -> WebURL {
    // A reference of a path and no query removes the query (RFC 3986, section 5.2.2).
    let query = parts.isEmpty ? "" : "?" + parts.joined(separator: "&")
    let url = try WebURL(origin.description + path + query, from: .server)
    guard url.origin == origin, url.path.utf8.elementsEqual(path.utf8) else {
      throw Failure(.failed, "a parameter cannot be added to \(Redactor.withoutQuery(text))")
    }
    return url
  }
}
