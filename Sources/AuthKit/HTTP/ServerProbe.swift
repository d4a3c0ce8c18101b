/// How a server was reached, step by step; all durations are in seconds.
package struct ServerProbe {
  /// Why the server was not reached, or only in part.
  package internal(set) var failure: Failure?
  /// The head of its answer; `answeredAt` is when it arrived by this machine's clock.
  package internal(set) var head: ResponseHead?
  var answeredAt: Timestamp?
  /// The time for the name lookup; nil, as in the next two: not done.
  package private(set) var naming: Double?
  /// The time for the TCP connection.
  package private(set) var connecting: Double?
  /// The time for the TLS handshake.
  package private(set) var securing: Double?
  /// The negotiated protocol: `TLS1.3`.
  package private(set) var protocolName: String?
  /// When the server's certificate expires.
  package private(set) var certificateEnd: Timestamp?
  /// The proxy that was used, if any.
  package private(set) var proxy: Proxy?
  private var proxyVariable: String?

  /// A proxy, and its source.
  package struct Proxy {
    /// Its host and port.
    package let host: String
    /// The variable that named it; nil: the profile did.
    let variable: String?

    /// Whether the profile named it.
    package var isOfProfile: Bool { variable == nil }
    /// The variable or the profile's key.
    package var source: String { variable ?? "network.proxy" }
  }

  init() {}

  /// How far the server's clock is ahead of this machine's; nil when the server sends no Date.
  ///
  /// A cache in between repeats the Date of the first answer and gives its age in Age (RFC 9111,
  /// section 5.1).
  package var clockDifference: Double? {
    guard let answeredAt, let text = head?.first("Date"),
      let date = Timestamp.parse(httpDate: text),
      let bounded = Timestamp.bounded(date, now: answeredAt)
    else { return nil }
    let age = head?.first("Age").flatMap { Double($0) }
      .flatMap { Timestamp.bounded(seconds: $0, now: answeredAt) }
    return bounded.seconds + (age ?? 0) - answeredAt.seconds
  }

  mutating func setTimes(
    _ seen: (named: Double, connected: Double, secured: Double, certificateEnd: String?)
  ) {
    if seen.named > 0 { naming = seen.named }
    if seen.connected > 0 { connecting = max(0, seen.connected - seen.named) }
    if seen.secured > 0 { securing = max(0, seen.secured - seen.connected) }
    certificateEnd = seen.certificateEnd.flatMap(Self.moment)
  }

  /// Reads OpenSSL's form, `Nov 30 12:00:00 2026 GMT`, and GnuTLS's, `2026-11-30 12:00:00 GMT`.
  static func moment(ofCertificate text: String) -> Timestamp? {
    var text = text
    if text.ends(withBytesOf: " GMT") { text.removeLast(4) }
    // The form of asctime(3) without the day of the week, which `parse` does not check.
    return Timestamp.parse(httpDate: "Mon " + text) ?? Timestamp.parse(iso8601: text)
  }

  // MARK: libcurl's remarks

  /// Reads facts from a libcurl remark that no libcurl call returns.
  mutating func note(_ line: String) {
    if let rest = line.behind("SSL connection using ") {
      let name = rest.utf8.prefix { $0 != UInt8(ascii: " ") }
      // OpenSSL writes TLSv1.3, GnuTLS TLS1.3.
      let digits = name.drop { !$0.isDigit }
      protocolName = DisplayText.oneLine("TLS" + String(decoding: digits, as: UTF8.self), limit: 12)
    } else if let rest = line.behind("Uses proxy env variable ") {
      let name = String(decoding: rest.utf8.prefix { $0 != UInt8(ascii: " ") }, as: UTF8.self)
      if name.asciiLowercased != "no_proxy" { proxyVariable = name }
    }
  }

  mutating func findProxy(configured: String?, _ environment: [String: String]) {
    if let configured {
      if !configured.isEmpty { proxy = Proxy(host: Proxies.host(of: configured), variable: nil) }
    } else if let name = proxyVariable, let value = environment[name] {
      proxy = Proxy(host: Proxies.host(of: value), variable: name)
    }
  }
}

/// The variables that name proxies: https://curl.se/libcurl/c/CURLOPT_PROXY.html
package enum Proxies {
  /// The variables that libcurl reads. It ignores `HTTP_PROXY`, which a client can set for a CGI
  /// program.
  private static let names = [
    "http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY",
  ]

  /// Returns the variables that are set, each with its proxy's host and port.
  package static func variables(of environment: [String: String]) -> [(name: String, host: String?)]
  {
    names.compactMap { name in
      guard let value = environment[name], !value.isEmpty else { return nil }
      return (name, name.asciiLowercased == "no_proxy" ? nil : host(of: value))
    }
  }

  /// Whether a variable names a proxy.
  static func areSet(in environment: [String: String]) -> Bool {
    variables(of: environment).contains { $0.name.asciiLowercased != "no_proxy" }
  }

  /// Whether any program may read a proxy from the variable, also one that libcurl ignores, such as
  /// `FTP_PROXY`.
  static func isVariable(_ name: String) -> Bool {
    name.asciiLowercased.utf8.reversed().starts(with: "_proxy".utf8.reversed())
  }

  /// Removes the proxy's address, which may contain a password, from a libcurl remark: by place,
  /// because a short password is not masked by value.
  ///
  ///     Uses proxy env variable https_proxy == 'http://ada:secret@proxy:3128'
  ///     Unsupported proxy syntax in 'http://ada:se/cret@proxy:3128': Port number was not ...
  ///     Proxy auth using Basic with user 'token'
  static func withoutAddress(_ remark: String) -> String {
    let bytes = Array(remark.utf8)
    let isOfProxy = ["Uses proxy env variable ", "Proxy auth using "].contains {
      bytes.starts(with: $0.utf8)
    }
    let mayHoldPassword = bytes.contains(UInt8(ascii: "@")) && bytes.contains(bytesOf: "proxy")
    guard isOfProxy || mayHoldPassword,
      let start = bytes.firstIndex(where: { "'=".utf8.contains($0) })
    else { return remark }
    return String(decoding: bytes[..<start], as: UTF8.self).trimmingSpaces
  }

  /// Returns host and port of a proxy's address, without its name and password, even if those are
  /// not percent-encoded as required.
  static func host(of address: String) -> String {
    var rest = address.utf8[...]
    if let at = rest.lastIndex(of: UInt8(ascii: "@")) {
      rest = rest[rest.index(after: at)...]
    } else if let scheme = rest.firstIndex(of: UInt8(ascii: ":")),
      rest[scheme...].starts(with: "://".utf8)
    {
      rest = rest[rest.index(scheme, offsetBy: 3)...]
    }
    let host = rest.prefix { !"/?#".utf8.contains($0) }
    return DisplayText.oneLine(String(decoding: host, as: UTF8.self), limit: 100)
  }
}

extension Redactor {
  /// Learns the names and passwords in the variables that name proxies, before anything shows them.
  ///
  /// Programs disagree on where a password ends if its `/` or `@` is not percent-encoded. The
  /// redactor therefore learns every candidate, and the whole address.
  package func learnProxies(of environment: [String: String]) {
    for (name, value) in environment where Proxies.isVariable(name) {
      let bytes = Array(value.utf8)
      guard let end = bytes.lastIndex(of: UInt8(ascii: "@")) else { continue }
      var start = 0
      if let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
        bytes[colon...].starts(with: "://".utf8)
      {
        start = colon + 3
      }
      // Cover a text without a scheme, and one whose password begins with slashes.
      for start in Set([0, start]) where start < end {
        let userInformation = bytes[start..<end]
        learnEncoded(bytes[start...])
        learnEncoded(userInformation)
        for mark in userInformation.indices where ":/@".utf8.contains(userInformation[mark]) {
          learnEncoded(userInformation[(mark + 1)...])
        }
      }
    }
  }

  /// Learns a text and, if it is percent-encoded, its decoded form.
  private func learnEncoded(_ bytes: ArraySlice<UInt8>) {
    learn(String(decoding: bytes, as: UTF8.self))
    guard bytes.contains(UInt8(ascii: "%")) else { return }
    learn(String(decoding: percentDecoded(bytes), as: UTF8.self))
  }
}

extension String {
  /// Returns the text after `beginning`, or nil if the text does not begin with it.
  fileprivate func behind(_ beginning: String) -> String? {
    utf8.starts(with: beginning.utf8) ? String(utf8.dropFirst(beginning.utf8.count)) : nil
  }
}
