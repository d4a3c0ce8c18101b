internal import Glibc

/// The options of the command line for how requests are sent.
package struct HTTPOptions {
  /// `-k`: only for the request on the command line, never for a sign-in or a refresh (rule B13).
  package var insecure = false
  /// The file of the only certificate authorities to trust (`--cacert`).
  package var caFile: String?
  /// A folder of certificate authorities, hashed by openssl-rehash(1) (`--capath`).
  package var caFolder: String?
  /// The PEM file of the client certificate (`--cert`).
  package var clientCertificate: String?
  /// The file of its key, if separate (`--key`).
  package var clientKey: String?
  /// The passphrase of the key.
  package var keyPassphrase: SharedSecret?
  /// The only public key that the server may have: `sha256//…` or a file (`--pinnedpubkey`).
  package var pinnedKey: String?
  /// `--tlsv1.3`.
  package var atLeastTLS13 = false
  /// `-x`; an empty address means no proxy.
  package var proxy: ProxyAddress?
  /// `NAME:PASSWORD` for whichever proxy is used.
  package var proxyUser: SharedSecret?
  /// Whether `proxyUser` comes from a variable and was not given for this request.
  package var proxyUserIsAmbient = false
  /// `--noproxy`.
  package var noProxy: String?
  /// `--resolve`, each `HOST:PORT:ADDRESS`.
  package var resolve: [String] = []
  /// `--connect-to`, each `HOST:PORT:HOST:PORT`.
  package var connectTo: [String] = []
  /// `--unix-socket`.
  package var unixSocket: String?
  /// `-4`, `-6`.
  package var family = AddressFamily.any
  /// `--http1.1`, `--http2`.
  package var httpVersion = HTTPVersion.best
  /// Seconds; nil: the profile's.
  package var connectTimeout: Double?
  /// `-m`, seconds.
  package var totalTimeout: Double?
  /// Whether to request a compressed answer (`--compressed`).
  package var compressed = false
  /// Whether to leave a compressed answer as it is (`--raw`).
  package var raw = false
  /// `--trace`.
  package var trace: TraceSink?
  /// Receives the progress of the request on the command line, in bytes; an unknown total is nil.
  package var onProgress: ((_ received: Int, _ all: Int?, _ sent: Int, _ allSent: Int?) -> Void)?
  /// Receives the facts of each of its transfers at its end.
  package var onFacts: ((TransferFacts) -> Void)?
  /// The defaults: no option is given.
  package init() {}

  /// Removes a name and password from a variable when no option names the proxy: they are for the
  /// user's own proxies, not for one from someone else's file (rule A3).
  ///
  /// - Returns: whether there was a name and password to remove.
  package mutating func withholdsProxyUser() -> Bool {
    guard proxyUserIsAmbient, proxyUser != nil, proxy == nil else { return false }
    proxyUser = nil
    return true
  }

  /// Applies the options for every request, including a renewal that the request needs: the route
  /// to the server, but nothing that weakens trust.
  func applyRoute(to settings: inout TransferSettings) {
    settings.atLeastTLS13 = atLeastTLS13
    if let proxy { settings.proxy = proxy.text }
    settings.proxyUser = proxyUser.map(Self.encoded)
    settings.noProxy = noProxy
    settings.resolve = resolve
    settings.connectTo = connectTo
    settings.unixSocket = unixSocket
    settings.family = family
    settings.httpVersion = httpVersion
  }

  /// Percent-encodes name and password, which libcurl decodes; the first colon separates them.
  /// https://curl.se/libcurl/c/CURLOPT_PROXYUSERPWD.html
  private static func encoded(_ user: SharedSecret) -> SharedSecret {
    var text = SecretBuilder()
    user.withBytes { bytes in
      let mark = bytes.firstIndex(of: UInt8(ascii: ":")) ?? bytes.endIndex
      text.appendPercentEncoded(UnsafeRawBufferPointer(rebasing: bytes[..<mark]))
      if mark < bytes.endIndex {
        text.append(UInt8(ascii: ":"))
        text.appendPercentEncoded(UnsafeRawBufferPointer(rebasing: bytes[(mark + 1)...]))
      }
    }
    return SharedSecret(text.secret())
  }

  /// Returns the certificate authorities to trust. Only the first source that is set counts, even
  /// if it is unreadable (rule B13).
  ///
  /// - Returns: nil for both to use the system's authorities.
  /// - Throws: `tls` for a source that is unreadable or empty.
  func authorities(
    _ network: NetworkRecipe, _ environment: [String: String]
  ) throws(Failure) -> (file: String?, folder: String?) {
    if caFile != nil || caFolder != nil {
      return try (Self.file(caFile, "--cacert"), Self.folder(caFolder, "--capath"))
    }
    if let file = network.caFile { return try (Self.file(file, "network.ca_file"), nil) }
    func variable(_ name: String) -> String? {
      environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }
    if let file = variable("CURL_CA_BUNDLE") {
      return try (Self.file(file, "CURL_CA_BUNDLE"), nil)
    }
    return try (
      Self.file(variable("SSL_CERT_FILE"), "SSL_CERT_FILE"),
      Self.folder(variable("SSL_CERT_DIR"), "SSL_CERT_DIR")
    )
  }

  private static func file(_ path: String?, _ source: String) throws(Failure) -> String? {
    guard let path else { return nil }
    var status = stat()
    guard access(path, R_OK) == 0, stat(path, &status) == 0 else {
      throw unfit(path, source, SystemError(errno).reason)
    }
    guard status.st_mode & S_IFMT != S_IFDIR else { throw unfit(path, source, "is a directory") }
    guard status.st_size > 0 || status.st_mode & S_IFMT != S_IFREG else {
      throw unfit(path, source, "is empty")
    }
    return path
  }

  private static func folder(_ path: String?, _ source: String) throws(Failure) -> String? {
    guard let path else { return nil }
    guard let folder = opendir(path) else {
      throw unfit(path, source, SystemError(errno).reason)
    }
    defer { closedir(folder) }
    // Every folder has two entries: `.` and `..`.
    for _ in 0..<3 where readdir(folder) == nil { throw unfit(path, source, "is empty") }
    return path
  }

  private static func unfit(_ path: String, _ source: String, _ why: String) -> Failure {
    Failure(
      .tls, "certificate authorities: \(DisplayText.oneLine(path)): \(why)",
      hint: "\(source) sets it; no other authorities are used instead")
  }
}

/// A proxy, as `-x` names it: `[SCHEME://]HOST[:PORT]`.
package struct ProxyAddress: Sendable {
  /// The address for libcurl; empty: no proxy.
  package let text: String
  /// Whether it is literally this machine.
  let isLoopback: Bool

  private static let schemes = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"]

  /// - Throws: `usage` when `text` is not a proxy or names a user (rule B7).
  package init(_ text: String, option: String) throws(Failure) {
    self.text = text
    guard !text.isEmpty else {
      isLoopback = true
      return
    }
    let bytes = Array(text.utf8)
    guard !bytes.contains(UInt8(ascii: "@")) else {
      throw Failure(
        .usage,
        "\(option): a proxy address cannot have a name and password, which other users could read",
        hint: "use AUTHCTL_PROXY_USER=NAME:PASSWORD or --proxy-user-file FILE")
    }
    var rest = bytes[...]
    var isKnown = true
    if let mark = bytes.firstIndex(of: UInt8(ascii: ":")), bytes[mark...].starts(with: "://".utf8) {
      let scheme = String(decoding: bytes[..<mark], as: UTF8.self).asciiLowercased
      isKnown = Self.schemes.contains(scheme)
      rest = bytes[(mark + 3)...]
    }
    while rest.last == UInt8(ascii: "/") { rest = rest.dropLast() }
    var host = rest
    if let colon = rest.lastIndex(of: UInt8(ascii: ":")), rest.last != UInt8(ascii: "]") {
      host = rest[..<colon]
      isKnown = isKnown && UInt16(String(decoding: rest[(colon + 1)...], as: UTF8.self)) ?? 0 > 0
    }
    guard isKnown, !host.isEmpty,
      host.allSatisfy({ $0 > 0x20 && $0 < 0x7F && !"/?#\\".utf8.contains($0) })
    else {
      throw Failure(
        .usage, "\(option): \(DisplayText.oneLine(text, limit: 80)) is not a proxy address",
        hint: "write [SCHEME://]HOST:PORT; SCHEME is " + Self.schemes.joined(separator: ", "))
    }
    isLoopback =
      Origin(
        scheme: "http", host: String(decoding: host, as: UTF8.self).asciiLowercased, port: 80
      ).isLoopback
  }
}
