internal import ArgumentParser
internal import AuthKit
internal import Glibc

/// The options for how a request reaches its server (design 8); the names are curl's.
struct NetworkOptions: ParsableArguments {
  @Option(
    name: [.customShort("m", allowingJoined: true), .customLong("max-time")],
    parsing: .unconditional,
    help: ArgumentHelp("Limit the whole request to this time.", valueName: "duration"))
  var maximumTime: Duration?

  @Option(
    name: .customLong("connect-timeout"), parsing: .unconditional,
    help: ArgumentHelp("Limit connecting to this time (10s).", valueName: "duration"))
  var connectTimeout: Duration?

  @Option(
    name: .customLong("cacert"), parsing: .unconditional,
    help: ArgumentHelp("Trust only the authorities in FILE.", valueName: "file"))
  var authorities: String?

  @Option(
    name: .customLong("capath"), parsing: .unconditional,
    help: ArgumentHelp(
      "Trust only the authorities in a folder made by openssl rehash.", valueName: "folder"))
  var authorityFolder: String?

  @Option(
    name: .customLong("cert"), parsing: .unconditional,
    help: ArgumentHelp("Use this client certificate (PEM).", valueName: "file"))
  var certificate: String?

  @Option(
    name: .customLong("key"), parsing: .unconditional,
    help: ArgumentHelp("Use this key, if it is not in the certificate's file.", valueName: "file"))
  var key: String?

  @OptionGroup(visibility: .hidden) var passphrase: SecretOptions<KeyPassphraseNames>

  @Option(
    name: .customLong("pinnedpubkey"), parsing: .unconditional,
    help: ArgumentHelp(
      "Require this public key of the server: sha256//..., or a file.", valueName: "key"))
  var pinnedKey: String?

  @Flag(
    name: [.customShort("k"), .customLong("insecure")],
    help: "Do not verify the server's certificate in this request.")
  var insecure = false

  @Flag(name: .customLong("tlsv1.2"), help: "Require TLS 1.2 or later (the default).")
  var atLeastTLS12 = false

  @Flag(name: .customLong("tlsv1.3"), help: "Require TLS 1.3 or later.")
  var atLeastTLS13 = false

  @Option(
    name: [.customShort("x", allowingJoined: true), .customLong("proxy")], parsing: .unconditional,
    help: ArgumentHelp("Use this proxy; '' for none.", valueName: "[scheme://]host:port"))
  var proxy: String?

  @OptionGroup(visibility: .hidden) var proxyUser: SecretOptions<ProxyUserNames>

  @Option(
    name: .customLong("noproxy"), parsing: .unconditional,
    help: ArgumentHelp("Reach these hosts without the proxy; * for all.", valueName: "list"))
  var noProxy: String?

  @Option(
    name: .customLong("resolve"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp(
      "Use these addresses for a host; the origin does not change.", valueName: "host:port:address")
  )
  var resolve: [String] = []

  @Option(
    name: .customLong("connect-to"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp(
      "Connect to another host; the origin does not change.", valueName: "host:port:host:port"))
  var connectTo: [String] = []

  @Option(
    name: .customLong("unix-socket"), parsing: .unconditional,
    help: ArgumentHelp(
      "Connect through this socket; the origin does not change.", valueName: "path"))
  var unixSocket: String?

  @Flag(name: .customLong("http1.1"), help: "Offer only HTTP/1.1.") var http1 = false
  @Flag(name: .customLong("http2"), help: "Offer HTTP/2, also without TLS.") var http2 = false
  @Flag(name: [.customShort("4"), .customLong("ipv4")], help: "Use only IPv4 addresses.")
  var ipv4 = false
  @Flag(name: [.customShort("6"), .customLong("ipv6")], help: "Use only IPv6 addresses.")
  var ipv6 = false

  @Flag(help: "Ask for a compressed answer and decode it.")
  var compressed = false

  /// Returns the options, nil if none is given, in the form that `HTTPClient` takes, with the
  /// secrets of the environment.
  ///
  /// - Throws: `usage` for what curl or a rule refuses, before anything is sent.
  static func http(_ given: NetworkOptions?, in app: App) throws(Failure) -> HTTPOptions {
    var options = try given?.http(in: app) ?? HTTPOptions()
    let passphrase = given?.passphrase.source ?? SecretSource(kind: .keyPassphrase)
    let proxyUser = given?.proxyUser.source ?? SecretSource(kind: .proxyUser)
    let secrets = try app.secrets([passphrase, proxyUser])
    if let secret = try secrets.read(.keyPassphrase) {
      options.keyPassphrase = SharedSecret(secret)
    }
    // An empty variable counts as unset, as in curl.
    if proxyUser.isGiven || app.environment[.proxyUser] != nil,
      let secret = try secrets.read(.proxyUser)
    {
      options.proxyUser = SharedSecret(secret)
      options.proxyUserIsAmbient = !proxyUser.isGiven
    }
    return options
  }

  private func http(in app: App) throws(Failure) -> HTTPOptions {
    var options = HTTPOptions()
    options.insecure = insecure
    options.caFile = authorities
    options.caFolder = authorityFolder
    options.pinnedKey = try pinned()
    options.atLeastTLS13 = atLeastTLS13
    try identify(&options, app)
    options.proxy = try proxy.map { text throws(Failure) in
      try ProxyAddress(text, option: "-x")
    }
    options.noProxy = noProxy
    for text in resolve { try Self.check(text, "--resolve", parts: 3, "HOST:PORT:ADDRESS") }
    for text in connectTo { try Self.check(text, "--connect-to", parts: 4, "HOST:PORT:HOST:PORT") }
    options.resolve = resolve
    options.connectTo = connectTo
    options.unixSocket = try socket()
    try Self.exclude("-4", ipv4, "-6", ipv6)
    try Self.exclude("--http1.1", http1, "--http2", http2)
    options.family = ipv4 ? .ipv4 : ipv6 ? .ipv6 : .any
    options.httpVersion = http1 ? .http1 : http2 ? .http2 : .best
    options.connectTimeout = connectTimeout?.seconds
    options.totalTimeout = maximumTime?.seconds
    options.compressed = compressed
    return options
  }

  /// Checks `--cert` and `--key`: private files, without a passphrase after a colon.
  private func identify(_ options: inout HTTPOptions, _ app: App) throws(Failure) {
    if let certificate {
      let isThere = access(certificate, F_OK) == 0
      if !isThere, certificate.utf8.contains(UInt8(ascii: ":")) {
        throw Failure(
          .usage, "--cert takes only a file: other users could read a passphrase there",
          hint: "use --cert FILE with --pass-file FILE or --pass-command CMD")
      }
      guard access(certificate, R_OK) == 0 else {
        throw Failure(
          .failed,
          "--cert: cannot read \(DisplayText.oneLine(certificate)): \(SystemError(errno).reason)")
      }
      // Without --key, this file holds the key too.
      if key == nil {
        _ = try PrivateFile(certificate, option: "--cert", environment: app.environment)
      }
    }
    if let key { _ = try PrivateFile(key, option: "--key", environment: app.environment) }
    options.clientCertificate = certificate
    options.clientKey = key
  }

  private func pinned() throws(Failure) -> String? {
    guard let pinnedKey else { return nil }
    guard pinnedKey.utf8.starts(with: "sha256//".utf8) || access(pinnedKey, R_OK) == 0 else {
      throw Failure(
        .failed,
        "--pinnedpubkey: cannot read \(DisplayText.oneLine(pinnedKey)): \(SystemError(errno).reason)",
        hint: "write sha256//BASE64 or the name of a PEM or DER file")
    }
    return pinnedKey
  }

  private func socket() throws(Failure) -> String? {
    guard let unixSocket else { return nil }
    // The length of sun_path in unix(7).
    guard !unixSocket.isEmpty, unixSocket.utf8.count < 108 else {
      throw Failure(.usage, "--unix-socket: the path must have 1 to 107 bytes")
    }
    return unixSocket
  }

  private static func check(
    _ text: String, _ option: String, parts: Int, _ form: String
  ) throws(Failure) {
    let bytes = text.utf8
    // Colons in brackets are part of an address.
    var (depth, colons) = (0, 0)
    for byte in bytes {
      if byte == UInt8(ascii: "[") { depth += 1 }
      if byte == UInt8(ascii: "]") { depth -= 1 }
      if byte == UInt8(ascii: ":"), depth == 0 { colons += 1 }
    }
    let isRemoval = option == "--resolve" && bytes.first == UInt8(ascii: "-") && colons == 1
    let isPlain = bytes.allSatisfy { $0 > 0x20 && $0 != 0x7F }
    guard isRemoval || colons >= parts - 1, isPlain else {
      let shown = DisplayText.oneLine(Redactor.withoutUserInformation(text), limit: 60)
      throw Failure(.usage, "\(option) \(shown): write \(form)")
    }
  }

  private static func exclude(
    _ first: String, _ isFirst: Bool, _ second: String, _ isSecond: Bool
  ) throws(Failure) {
    if isFirst, isSecond {
      throw Failure(.usage, "\(first) and \(second) cannot be used together")
    }
  }
}

enum KeyPassphraseNames: SecretNames { static var kind: SecretKind { .keyPassphrase } }
enum ProxyUserNames: SecretNames { static var kind: SecretKind { .proxyUser } }
