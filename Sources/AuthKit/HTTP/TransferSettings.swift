/// How one request is sent; all times in seconds.
package struct TransferSettings {
  /// Bytes of all headers of a transfer, 256 KiB (rule B6), and their number. libcurl's own bound is
  /// 300 KB for one answer.
  static let largestHead = 256 * 1024
  static let mostHeaders = 1000

  var connectTimeout: Double = 10
  /// Seconds without a byte.
  package var idleTimeout: Double = 60
  var totalTimeout: Double?
  /// Bytes after decoding; none: unlimited.
  package var largestBody: Int?
  /// An answer that is too long is one that was not understood; else the request has failed.
  private(set) var tooLong = Failure.Kind.failed
  /// Ask for and undo a Content-Encoding.
  package var compressed = false
  var insecure = false
  var caFile: String?
  var caFolder: String?
  var clientCertificate: String?
  var clientKey: String?
  var keyPassphrase: SharedSecret?
  /// `sha256//…` or a file: the only public key that the server may have.
  var pinnedKey: String?
  var atLeastTLS13 = false
  /// None: as the environment says. Empty: no proxy.
  package var proxy: String?
  /// Hosts that are asked without the proxy; none: as the environment says.
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
  /// Rule A7: refuse any peer but this machine.
  package var peerMustBeLoopback = false
  /// Gets libcurl's own remarks, with `-vv`.
  package var trace: ((String) -> Void)?
  /// Bytes that are received and passed on, or read and sent, in one piece at the most. curl's own
  /// number; where many transfers are under way, libcurl's 16 KiB do.
  var pieceLength = 100 * 1024
  /// Wait whether a connection that is being made can be shared (HTTP/2) before making another.
  var sharesConnection = false
  /// Keep what the server's certificate says, for `CurlClient.connection`.
  var keepsCertificate = false
  /// Tells what is sent and received.
  var wire: WireLog?
  /// Hears of bytes: those of the answer with their total, those of the body sent with theirs; a
  /// total that is not known is nil. About once a second when there are none.
  var onProgress: ((_ received: Int, _ all: Int?, _ sent: Int, _ allSent: Int?) -> Void)?
  /// Gets what is known of the transfer at its end, whatever that was.
  var onFacts: ((TransferFacts) -> Void)?

  init() {}

  /// Makes them fit for a request of the recipe: nobody asked to see it.
  mutating func setPrivate() {
    tooLong = .answerNotUnderstood
    wire?.isPrivate = true
    onProgress = nil
    onFacts = nil
  }
}

/// Addresses that are connected to.
package enum AddressFamily: Sendable {
  case any, ipv4, ipv6
}

/// Versions of HTTP that are offered.
package enum HTTPVersion: Sendable {
  /// 2 over TLS, where the server has it, else 1.1.
  case best
  case http1
  /// 2 without TLS too, by an upgrade.
  case http2
}
