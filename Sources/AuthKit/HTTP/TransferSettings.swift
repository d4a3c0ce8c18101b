/// How one request is sent; all times in seconds.
package struct TransferSettings {
  /// The limit on all headers of a transfer, in bytes (rule B6); `mostHeaders` limits their number.
  /// libcurl's own limit is 300 KB for one answer.
  static let largestHead = 256 * 1024
  static let mostHeaders = 1000

  var connectTimeout: Double = 10
  /// Seconds without a byte.
  package var idleTimeout: Double = 60
  var totalTimeout: Double?
  /// Bytes after decoding; nil: unlimited.
  package var largestBody: Int?
  /// The kind of failure when the answer is too long.
  private(set) var tooLong = Failure.Kind.failed
  /// Whether to request a compressed answer.
  package var compressed = false
  /// Whether to decode a compressed answer, requested or not, by its Content-Encoding.
  var decodes = true
  var insecure = false
  var caFile: String?
  var caFolder: String?
  var clientCertificate: String?
  var clientKey: String?
  var keyPassphrase: SharedSecret?
  /// `sha256//…` or a file: the only public key that the server may have.
  var pinnedKey: String?
  var atLeastTLS13 = false
  /// nil: the environment decides. Empty: no proxy.
  package var proxy: String?
  /// Hosts that are reached without the proxy; nil: the environment decides.
  var noProxy: String?
  /// `NAME:PASSWORD` for the proxy, both percent-encoded.
  var proxyUser: SharedSecret?
  /// `HOST:PORT:ADDRESS`, in libcurl's form.
  var resolve: [String] = []
  /// `HOST:PORT:HOST:PORT`, in libcurl's form.
  var connectTo: [String] = []
  var unixSocket: String?
  var family = AddressFamily.any
  var httpVersion = HTTPVersion.best
  /// A connection to use, which is established.
  private(set) var ahead: ConnectionAhead?
  /// Whether to refuse every peer except this machine (rule A7).
  package var peerMustBeLoopback = false
  /// Receives libcurl's own remarks, with `-vv`.
  package var trace: ((String) -> Void)?
  /// The most bytes that are received or sent in one piece. This is curl's own number; for many
  /// parallel transfers, libcurl's 16 KiB are enough.
  var pieceLength = 100 * 1024
  /// Whether to wait for a pending connection that may be shared (HTTP/2) before opening another.
  var sharesConnection = false
  /// Whether to keep the server's certificate details for `CurlClient.connection`.
  var keepsCertificate = false
  /// Logs what is sent and received.
  var wire: WireLog?
  /// Receives the bytes of the answer and of the sent body so far, each with its total; an unknown
  /// total is nil. Called about once a second when no bytes move.
  var onProgress: ((_ received: Int, _ all: Int?, _ sent: Int, _ allSent: Int?) -> Void)?
  /// Receives the facts of the transfer at its end, whether it succeeded or failed.
  var onFacts: ((TransferFacts) -> Void)?

  init() {}

  /// Waits for `connection` as long as a connection may take; libcurl has the rest of that time.
  mutating func wait(for connection: ConnectionAhead) {
    let start = MonotonicClock.now()
    if connection.wait(seconds: min(connectTimeout, totalTimeout ?? .infinity)) {
      ahead = connection
    }
    let waited = MonotonicClock.now() - start
    connectTimeout = max(0.001, connectTimeout - waited)
    totalTimeout = totalTimeout.map { max(0.001, $0 - waited) }
  }

  /// Whether a handle that has the options of `other` needs no change, but for what is set for each
  /// transfer.
  func hasSameOptions(as other: TransferSettings) -> Bool {
    connectTimeout == other.connectTimeout && totalTimeout == other.totalTimeout
      && compressed == other.compressed && decodes == other.decodes && insecure == other.insecure
      && caFile == other.caFile && caFolder == other.caFolder
      && clientCertificate == other.clientCertificate && clientKey == other.clientKey
      && keyPassphrase === other.keyPassphrase && pinnedKey == other.pinnedKey
      && atLeastTLS13 == other.atLeastTLS13 && proxy == other.proxy && noProxy == other.noProxy
      && proxyUser === other.proxyUser && resolve == other.resolve && connectTo == other.connectTo
      && unixSocket == other.unixSocket && family == other.family
      && httpVersion == other.httpVersion && ahead == nil && other.ahead == nil
      && pieceLength == other.pieceLength && sharesConnection == other.sharesConnection
      && keepsCertificate == other.keepsCertificate
      && (trace == nil && wire == nil) == (other.trace == nil && other.wire == nil)
  }

  /// Adapts the settings to a request of the recipe, which the user did not ask to see.
  mutating func setPrivate() {
    tooLong = .answerNotUnderstood
    wire?.isPrivate = true
    onProgress = nil
    onFacts = nil
  }
}

/// The address family to connect to.
package enum AddressFamily: Sendable {
  case any, ipv4, ipv6
}

/// The HTTP version to offer.
package enum HTTPVersion: Sendable {
  /// HTTP/2 over TLS if the server supports it, else HTTP/1.1.
  case best
  case http1
  /// HTTP/2, also without TLS by an upgrade.
  case http2
}
