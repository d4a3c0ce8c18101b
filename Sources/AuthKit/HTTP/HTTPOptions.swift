internal import Glibc

/// What the command line says about how requests are sent.
package struct HTTPOptions {
  /// `-k`: for the request on the command line alone, never for a sign-in or a refresh (rule B13).
  package var insecure = false
  /// The file of certificate authorities to trust, and no others (`--cacert`).
  package var caFile: String?
  /// A folder of them, hashed by openssl-rehash(1) (`--capath`).
  package var caFolder: String?
  /// A client's certificate, in a PEM file (`--cert`).
  package var clientCertificate: String?
  /// Its key, where that is in a file of its own (`--key`).
  package var clientKey: String?
  /// What the key is encrypted with.
  package var keyPassphrase: SharedSecret?
  /// The only public key that the server may have: `sha256//…` or a file (`--pinnedpubkey`).
  package var pinnedKey: String?
  /// `--tlsv1.3`.
  package var atLeastTLS13 = false
  /// `-x`; an empty one: no proxy.
  package var proxy: ProxyAddress?
  /// `NAME:PASSWORD` for whichever proxy is used.
  package var proxyUser: SharedSecret?
  /// `proxyUser` comes from a variable: it was not given for this request.
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
  /// Seconds; none: the profile's.
  package var connectTimeout: Double?
  /// `-m`, seconds.
  package var totalTimeout: Double?
  /// Ask for a compressed answer, and undo that (`--compressed`).
  package var compressed = false
  /// `--trace`.
  package var trace: TraceSink?
  /// Hears of the bytes of the request on the command line: received, of so many, sent, of so many.
  package var onProgress: ((_ received: Int, _ all: Int?, _ sent: Int, _ allSent: Int?) -> Void)?
  /// Gets what is known of each of its transfers at their end.
  package var onFacts: ((TransferFacts) -> Void)?
  /// As if no option had been given.
  package init() {}

  /// Takes a variable's name and password away where no option names the proxy: they are for the
  /// user's own proxies, and not for one that somebody else's file names (rule A3).
  ///
  /// - Returns: whether there was one to be taken away.
  package mutating func withholdsProxyUser() -> Bool {
    guard proxyUserIsAmbient, proxyUser != nil, proxy == nil else { return false }
    proxyUser = nil
    return true
  }

  /// What holds for every request, also for a renewal that the request needs: the way to the
  /// machine, never what is trusted less there.
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

  /// libcurl decodes both; the first colon parts them.
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

  /// The authorities that are trusted; the first place that is set is the only one, and an
  /// unreadable one is no licence to use another (rule B13).
  ///
  /// - Returns: nothing where the system's own are to be used.
  /// - Throws: `tls` for a place that is unreadable or empty.
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
      throw unfit(path, source, String(cString: strerror(errno)).asciiLowercased)
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
      throw unfit(path, source, String(cString: strerror(errno)).asciiLowercased)
    }
    defer { closedir(folder) }
    // Every folder has two entries, itself and the one above it.
    for _ in 0..<3 where readdir(folder) == nil { throw unfit(path, source, "is empty") }
    return path
  }

  private static func unfit(_ path: String, _ source: String, _ why: String) -> Failure {
    Failure(
      .tls, "certificate authorities: \(DisplayText.oneLine(path)): \(why)",
      hint: "\(source) names it; nothing else is trusted in its place")
  }
}

/// A proxy, as `-x` names it: `[SCHEME://]HOST[:PORT]`.
package struct ProxyAddress: Sendable {
  /// For libcurl; empty: no proxy.
  package let text: String
  /// Whether it is literally this machine.
  let isLoopback: Bool

  private static let schemes = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"]

  /// - Throws: `usage` for what is no proxy, or names a user (rule B7).
  package init(_ text: String, option: String) throws(Failure) {
    self.text = text
    guard !text.isEmpty else {
      isLoopback = true
      return
    }
    let bytes = Array(text.utf8)
    guard !bytes.contains(UInt8(ascii: "@")) else {
      throw Failure(
        .usage, "\(option): no name and password in a proxy's address: every user could read them",
        hint: "AUTHCTL_PROXY_USER=NAME:PASSWORD, or --proxy-user-file FILE")
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
        .usage, "\(option) \(DisplayText.oneLine(text, limit: 80)) is no proxy",
        hint: "write [SCHEME://]HOST:PORT; SCHEME: " + Self.schemes.joined(separator: " "))
    }
    isLoopback =
      Origin(
        scheme: "http", host: String(decoding: host, as: UTF8.self).asciiLowercased, port: 80
      ).isLoopback
  }
}
