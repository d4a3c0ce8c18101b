internal import Glibc

/// How a server was reached, step by step; all times in seconds.
package struct ServerProbe {
  /// Why it was not, or not whole.
  package internal(set) var failure: Failure?
  /// The head of its answer, and when that was there by this machine's clock.
  package internal(set) var head: ResponseHead?
  var answeredAt: Timestamp?
  /// What finding the name, connecting and agreeing on TLS took, each by itself; nil: not done.
  package private(set) var naming: Double?
  /// TCP.
  package private(set) var connecting: Double?
  /// The handshake.
  package private(set) var securing: Double?
  /// The protocol that was agreed on: `TLS1.3`.
  package private(set) var protocolName: String?
  /// When the server's certificate ends.
  package private(set) var certificateEnd: Timestamp?
  /// The proxy in between.
  package private(set) var proxy: Proxy?
  private var proxyVariable: String?

  /// A proxy, and what named it.
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

  /// What the server's clock says beyond this machine's; nil where the server does not tell.
  ///
  /// A cache in between repeats the Date of the first answer and says in Age how old that is
  /// (RFC 9111, section 5.1).
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

  /// `Nov 30 12:00:00 2026 GMT` is OpenSSL's form, `2026-11-30 12:00:00 GMT` that of GnuTLS.
  static func moment(ofCertificate text: String) -> Timestamp? {
    var text = text
    if text.ends(withBytesOf: " GMT") { text.removeLast(4) }
    // The form of asctime(3) without the day of the week, which nobody checks.
    return Timestamp.parse(httpDate: "Mon " + text) ?? Timestamp.parse(iso8601: text)
  }

  // MARK: libcurl's remarks

  /// Takes what a line of libcurl's tells and no option of libcurl's does.
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
  /// Those that libcurl looks at. `HTTP_PROXY` is none: a CGI program gets it from its client.
  private static let names = [
    "http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY",
  ]

  /// The variables that are set, each with its proxy's host and port.
  package static func variables(of environment: [String: String]) -> [(name: String, host: String?)]
  {
    names.compactMap { name in
      guard let value = environment[name], !value.isEmpty else { return nil }
      return (name, name.asciiLowercased == "no_proxy" ? nil : host(of: value))
    }
  }

  /// Whether programs look for a proxy in the variable: more than libcurl does, `FTP_PROXY` say.
  static func isVariable(_ name: String) -> Bool {
    name.asciiLowercased.utf8.reversed().starts(with: "_proxy".utf8.reversed())
  }

  /// A remark of libcurl's without the proxy's address, in which a password may stand: by place, for
  /// a short one is not known by its value.
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

  /// Host and port of a proxy's address. A name and a password in it are left out, even where they
  /// hold what should have been percent-encoded.
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
  /// A password with a `/` or an `@` that should have been percent-encoded is cut up by every program
  /// in its own way: whatever could be one is learned, and the address as a whole.
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
      // A text without a scheme, and one whose password begins with slashes.
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

  /// Learns a text, and what it stands for where it is percent-encoded.
  private func learnEncoded(_ bytes: ArraySlice<UInt8>) {
    learn(String(decoding: bytes, as: UTF8.self))
    guard bytes.contains(UInt8(ascii: "%")) else { return }
    learn(String(decoding: percentDecoded(bytes), as: UTF8.self))
  }
}

extension String {
  /// What follows `beginning`, where the text begins with it.
  fileprivate func behind(_ beginning: String) -> String? {
    utf8.starts(with: beginning.utf8) ? String(utf8.dropFirst(beginning.utf8.count)) : nil
  }
}
