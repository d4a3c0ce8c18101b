internal import CCurl
internal import Glibc

// The only access to libcurl: only Curl.swift, CurlMulti.swift and WebURL.swift read URLs and send
// requests.
// libcurl's own redirects, cookies, .netrc, HSTS and Alt-Svc files stay off.

func openedLibcurl() throws(Failure) -> authctl_curl {
  guard let functions = authctl_curl() else {
    throw .missingLibrary(
      .failed, "libcurl 4", package: "libcurl4", reason: String(cString: authctl_curl_error()))
  }
  return functions.pointee
}

/// Sends requests one after another, by itself or driven by a `CurlMulti`, and keeps connections
/// open between them.
package final class CurlClient {
  /// Starts to load libcurl on a background thread, while the first request is still being built.
  package static func loadAhead() { _ = BackgroundThread { _ = try? openedLibcurl() } }

  /// Loads libcurl.
  ///
  /// - Throws: `failed` when it cannot be loaded.
  package static func load() throws(Failure) { _ = try openedLibcurl() }

  let easy: UnsafeMutableRawPointer
  let curl: authctl_curl
  /// The receiver that the callbacks of a transfer write to, at a stable address.
  private let receiver: UnsafeMutablePointer<Receiver?>
  /// The data that libcurl reads during a transfer.
  private var sent:
    (
      request: WireRequest, headers: UnsafeMutablePointer<curl_slist>?, mime: OpaquePointer?
    )?
  /// Other objects that libcurl points to during a transfer.
  var held: [AnyObject] = []
  /// The settings whose options the handle has; nil if one has changed since.
  private var configured: TransferSettings?
  /// The lists that options of the handle point to.
  var resolve: CurlList?
  var connectTo: CurlList?
  /// The content encodings that libcurl decodes.
  private let encodings: [String]
  /// The connection that the last transfer was offered.
  var ahead: ConnectionAhead?
  /// The system's certificate authorities, looked up once for all transfers.
  let systemAuthorities: (file: UnsafePointer<CChar>, folder: UnsafePointer<CChar>)?
  /// Whether the system's CA folder is used without the bundle file.
  var trustsFolderAlone = false
  /// Whether the CA folder failed once without the bundle; use both from then on.
  var needsBundle = false
  /// libcurl's text about a failure, in addition to its number.
  let remark = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

  init() throws(Failure) {
    curl = try openedLibcurl()
    guard let easy = curl.curl_easy_init() else {
      throw Failure(.failed, "libcurl cannot be initialized")
    }
    self.easy = easy
    systemAuthorities = Self.systemAuthorities(easy, curl)
    encodings = Self.encodings(of: curl)
    receiver = .allocate(capacity: 1)
    receiver.initialize(to: nil)
  }

  deinit {
    curl.curl_easy_cleanup(easy)
    release()
    receiver.deinitialize(count: 1)
    receiver.deallocate()
    remark.deallocate()
  }

  /// Receives the head of the answer. An error it throws ends the transfer and is rethrown.
  package typealias OnHead = (ResponseHead) throws(Failure) -> Void
  /// Receives the decoded body in pieces. An error it throws ends the transfer and is rethrown.
  package typealias OnBody = (UnsafeRawBufferPointer) throws(Failure) -> Void

  /// Sends `request` and passes its answer on.
  ///
  /// - Throws: `network`, `tls`, `timeout`, `origin_refused` (plain HTTP to a peer that is not this
  ///   machine), or the error of a callback.
  package func send(
    _ request: WireRequest, settings: TransferSettings, onHead: OnHead, onBody: OnBody
  ) throws(Failure) {
    try withoutActuallyEscaping(onHead) { (onHead) throws(Failure) in
      try withoutActuallyEscaping(onBody) { (onBody) throws(Failure) in
        try begin(request, settings: settings, onHead: onHead, onBody: onBody)
        var result = curl.curl_easy_perform(easy)
        if triesBundle(after: result) { result = curl.curl_easy_perform(easy) }
        try end(result)
      }
    }
  }

  /// Prepares the handle for one transfer; `end` must be called after the transfer.
  ///
  /// - Throws: `failed` for a body that cannot be sent again.
  func begin(
    _ request: WireRequest, settings: TransferSettings, onHead: @escaping OnHead,
    onBody: @escaping OnBody
  ) throws(Failure) {
    // The handle of a batch keeps its options: setting them takes a thirtieth of a request.
    if configured?.hasSameOptions(as: settings) != true { configure(settings) }
    configured = settings
    remark.pointee = 0
    let mime = try body(request)
    authctl_curl_set_pointer(easy, CURLOPT_CURLU, UnsafeRawPointer(try request.url.handle()))
    var list: UnsafeMutablePointer<curl_slist>?
    // libcurl searches for the end of the list: starting from the last node keeps that short.
    var last: UnsafeMutablePointer<curl_slist>?
    for header in request.headers {
      header.line.withBytes {
        let node = curl.curl_slist_append(last, $0.bindMemory(to: CChar.self).baseAddress)
        last = last == nil ? node : node?.pointee.next
      }
      list = list ?? last
    }
    // libcurl decodes only with this option, which would ask for an encoding too.
    if settings.decodes, !settings.compressed {
      last = curl.curl_slist_append(last, "Accept-Encoding:")
      list = list ?? last
    }
    authctl_curl_set_pointer(easy, CURLOPT_HTTPHEADER, list)
    sent = (request, list, mime)
    authctl_curl_set_text(easy, CURLOPT_CUSTOMREQUEST, request.method)
    if request.method == "HEAD" {
      authctl_curl_set_text(easy, CURLOPT_CUSTOMREQUEST, nil)
      authctl_curl_set_long(easy, CURLOPT_NOBODY, 1)
    }
    receiver.pointee = Receiver(
      onHead: onHead, onBody: onBody, settings: settings, easy: easy,
      knownEncodings: encodings)
    connectCallbacks()
  }

  /// Ends the transfer; `result` is libcurl's result code.
  ///
  /// - Throws: as `send` does.
  func end(_ result: CURLcode) throws(Failure) {
    defer { release() }
    guard let receiver = receiver.pointee, let request = sent?.request else { return }
    if receiver.isLeftEncoded { configured = nil }
    receiver.settings.wire?.end()
    receiver.settings.onFacts?(facts)
    // An answer that ends before its announced length is a failure, though part was passed on.
    if let failure = receiver.failure { throw failure }
    for upload in request.uploads { if let failure = upload.failure { throw failure } }
    if result != CURLE_OK { throw failure(result, request.url, receiver) }
    try receiver.finish()
  }

  private func release() {
    receiver.pointee = nil
    held = []
    guard let sent else { return }
    self.sent = nil
    Self.wipe(sent.headers)
    curl.curl_slist_free_all(sent.headers)
    if let mime = sent.mime { curl.curl_mime_free(mime) }
  }

  private func connectCallbacks() {
    let context = UnsafeMutableRawPointer(receiver)
    authctl_curl_set_receive(easy, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
      context.assumingMemoryBound(to: Receiver?.self).pointee?
        .header(UnsafeRawBufferPointer(start: bytes, count: size * count)) ?? 0
    }
    authctl_curl_set_pointer(easy, CURLOPT_HEADERDATA, context)
    authctl_curl_set_receive(easy, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
      context.assumingMemoryBound(to: Receiver?.self).pointee?
        .body(UnsafeRawBufferPointer(start: bytes, count: size * count)) ?? 0
    }
    authctl_curl_set_pointer(easy, CURLOPT_WRITEDATA, context)
    authctl_curl_set_prereq(easy, CURLOPT_PREREQFUNCTION) { context, peer, _, _, _ in
      context.assumingMemoryBound(to: Receiver?.self).pointee?
        .accept(peer: String(cString: peer)) ?? false
        ? Int32(CURL_PREREQFUNC_OK) : Int32(CURL_PREREQFUNC_ABORT)
    }
    authctl_curl_set_pointer(easy, CURLOPT_PREREQDATA, context)
    authctl_curl_set_debug(easy, CURLOPT_DEBUGFUNCTION) { _, kind, bytes, count, context in
      context.assumingMemoryBound(to: Receiver?.self).pointee?
        .hear(kind, UnsafeRawBufferPointer(start: bytes, count: count))
      return 0
    }
    authctl_curl_set_pointer(easy, CURLOPT_DEBUGDATA, context)
    authctl_curl_set_progress(easy, CURLOPT_XFERINFOFUNCTION) {
      context, all, now, allSent, sent in
      context.assumingMemoryBound(to: Receiver?.self).pointee?
        .goesOn(received: Int(now), of: Int(all), sent: Int(sent), of: Int(allSent)) ?? true ? 0 : 1
    }
    authctl_curl_set_pointer(easy, CURLOPT_XFERINFODATA, context)
  }

  private func configure(_ settings: TransferSettings) {
    authctl_curl_set_long(easy, CURLOPT_NOSIGNAL, 1)
    authctl_curl_set_long(easy, CURLOPT_FOLLOWLOCATION, 0)
    authctl_curl_set_text(easy, CURLOPT_PROTOCOLS_STR, "http,https")
    authctl_curl_set_long(easy, CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
    authctl_curl_set_long(easy, CURLOPT_HTTPAUTH, 0)
    // Send `..` and `%2e%2e` as written, so that the checked path is the one sent.
    authctl_curl_set_long(easy, CURLOPT_PATH_AS_IS, 1)
    authctl_curl_set_text(
      easy, CURLOPT_ACCEPT_ENCODING, settings.compressed || settings.decodes ? "" : nil)
    authctl_curl_set_long(easy, CURLOPT_HTTP_CONTENT_DECODING, settings.decodes ? 1 : 0)
    authctl_curl_set_long(easy, CURLOPT_CONNECTTIMEOUT_MS, milliseconds(settings.connectTimeout))
    authctl_curl_set_long(easy, CURLOPT_TIMEOUT_MS, milliseconds(settings.totalTimeout ?? 0))
    authctl_curl_set_long(easy, CURLOPT_BUFFERSIZE, settings.pieceLength)
    authctl_curl_set_long(easy, CURLOPT_UPLOAD_BUFFERSIZE, settings.pieceLength)
    setConnectionOptions(settings)
    authctl_curl_set_long(easy, CURLOPT_CERTINFO, settings.keepsCertificate ? 1 : 0)
    authctl_curl_set_long(easy, CURLOPT_PIPEWAIT, settings.sharesConnection ? 1 : 0)
    authctl_curl_set_long(
      easy, CURLOPT_VERBOSE, settings.trace == nil && settings.wire == nil ? 0 : 1)
    authctl_curl_set_long(easy, CURLOPT_NOPROGRESS, 0)
  }

  private func milliseconds(_ seconds: Double) -> Int {
    // Rounded up: 0 would mean "no limit".
    Int(exactly: (min(max(seconds, 0), 1e9) * 1000).rounded(.up)) ?? 0
  }

  private static func wipe(_ list: UnsafeMutablePointer<curl_slist>?) {
    var node = list
    while let current = node {
      if let text = current.pointee.data { explicit_bzero(text, strlen(text)) }
      node = current.pointee.next
    }
  }

  /// https://curl.se/libcurl/c/libcurl-errors.html
  private func failure(_ code: CURLcode, _ url: WebURL, _ receiver: Receiver) -> Failure {
    let origin = url.origin.description
    let words =
      curl.curl_easy_strerror(code).map { String(cString: $0) } ?? "error \(code.rawValue)"
    // libcurl leaves a space at the end when it has no details to add.
    let said = remark.pointee == 0 ? nil : String(cString: remark).trimmingSpaces
    var failure: Failure
    switch code {
    case CURLE_ABORTED_BY_CALLBACK:
      let limit = JSONValue.number(receiver.settings.idleTimeout).serialized()
      failure = Failure(
        .timeout, "\(origin) did not answer in time: no data for \(limit) s",
        hint: "raise network.idle_timeout in the profile")
    case CURLE_OPERATION_TIMEDOUT:
      failure = Failure(.timeout, "\(origin) did not answer in time")
    case CURLE_COULDNT_RESOLVE_HOST:
      failure = Failure(.network, "cannot reach \(origin): host name not found")
    case CURLE_COULDNT_RESOLVE_PROXY:
      failure = Failure(.network, "cannot reach \(origin): proxy host name not found")
    case CURLE_COULDNT_CONNECT:
      var number = 0
      authctl_curl_get_long(easy, CURLINFO_OS_ERRNO, &number)
      let reason =
        number > 0 && number < 200 ? SystemError(Int32(number)).reason : "could not connect"
      let socket = receiver.settings.unixSocket.map { " through \(DisplayText.oneLine($0))" } ?? ""
      failure = Failure(.network, "cannot reach \(origin)\(socket): \(reason.asciiLowercased)")
    case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CERTPROBLEM,
      CURLE_SSL_CIPHER, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_CRL_BADFILE,
      CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_PINNEDPUBKEYNOTMATCH,
      CURLE_SSL_CLIENTCERT, CURLE_USE_SSL_FAILED, CURLE_SSL_SHUTDOWN_FAILED:
      failure = TLSAdvice.failure(code, said ?? words, origin)
    case CURLE_GOT_NOTHING, CURLE_RECV_ERROR, CURLE_SEND_ERROR:
      if ProxyAdvice.isRefusal(said) {
        failure = ProxyAdvice.failure(said ?? words, origin)
      } else if TLSAdvice.isAlert(said) {
        failure = TLSAdvice.failure(code, said ?? words, origin)
      } else {
        failure = Failure(.network, "\(origin) closed the connection without an answer")
      }
    case CURLE_BAD_CONTENT_ENCODING:
      failure = Failure(
        .network, "the answer from \(origin) does not match its Content-Encoding",
        hint: "use --raw to get it without decoding")
    case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY:
      failure = Failure(.network, "the answer from \(origin) is not HTTP")
    case CURLE_PARTIAL_FILE:
      failure = Failure(.network, "the answer from \(origin) is incomplete")
    default:
      failure = Failure(.network, "the request to \(origin) failed: \(words)")
    }
    failure.url = Redactor.withoutQuery(url.text)
    return failure
  }
}

/// The state that the callbacks of one transfer write to.
private struct Receiver {
  let onHead: CurlClient.OnHead
  let onBody: CurlClient.OnBody
  let settings: TransferSettings
  let easy: UnsafeMutableRawPointer
  /// The content encodings that libcurl decodes.
  let knownEncodings: [String]
  var failure: Failure?
  /// Whether the option to decode was taken back for this answer.
  private(set) var isLeftEncoded = false
  private var head = ResponseHead()
  private var headBytes = 0
  private var headers = 0
  private var bodyBytes = 0
  private var headIsComplete = false
  /// The bytes so far and, if none are new, since when, in microseconds; nil before a connection.
  private var lastSign: (bytes: Int, time: curl_off_t?)?

  init(
    onHead: @escaping CurlClient.OnHead, onBody: @escaping CurlClient.OnBody,
    settings: TransferSettings, easy: UnsafeMutableRawPointer, knownEncodings: [String]
  ) {
    self.onHead = onHead
    self.onBody = onBody
    self.settings = settings
    self.easy = easy
    self.knownEncodings = knownEncodings
  }

  mutating func header(_ bytes: UnsafeRawBufferPointer) -> Int {
    // Ignore trailers, which come after the body.
    if headIsComplete && bodyBytes > 0 { return bytes.count }
    headBytes &+= bytes.count
    return attempt(bytes.count) { receiver throws(Failure) in
      if receiver.headBytes > TransferSettings.largestHead {
        throw Failure(receiver.settings.tooLong, "the answer's headers are longer than 256 KiB")
      }
      if bytes.starts(with: "HTTP/".utf8) {
        receiver.head = ResponseHead(statusLine: bytes)
        receiver.headIsComplete = false
      } else if bytes.allSatisfy({ $0 == 0x0D || $0 == 0x0A }) {
        // The real head follows a 1xx, and a proxy's answer to CONNECT, which libcurl is set to
        // suppress.
        guard receiver.head.status >= 200 else { return }
        receiver.headIsComplete = true
        // Left as it is, where libcurl would fail.
        if !receiver.head.isDecodable(by: receiver.knownEncodings) {
          receiver.isLeftEncoded = true
          authctl_curl_set_long(receiver.easy, CURLOPT_HTTP_CONTENT_DECODING, 0)
        }
        receiver.settings.wire?.received(receiver.head)
        try receiver.onHead(receiver.head)
      } else {
        receiver.headers += 1
        guard receiver.headers <= TransferSettings.mostHeaders else {
          let most = TransferSettings.mostHeaders
          throw Failure(receiver.settings.tooLong, "the answer has more than \(most) headers")
        }
        receiver.head.add(line: bytes)
      }
    }
  }

  mutating func body(_ bytes: UnsafeRawBufferPointer) -> Int {
    bodyBytes = bodyBytes &+ bytes.count
    return attempt(bytes.count) { receiver throws(Failure) in
      if let limit = receiver.settings.largestBody, receiver.bodyBytes > limit {
        throw Failure(
          receiver.settings.tooLong, "the answer is longer than \(limit / 1024) KiB")
      }
      receiver.settings.wire?.received(bytes)
      try receiver.onBody(bytes)
    }
  }

  mutating func hear(_ kind: curl_infotype, _ bytes: UnsafeRawBufferPointer) {
    switch kind {
    case CURLINFO_TEXT: trace(bytes)
    case CURLINFO_HEADER_OUT: settings.wire?.sent(head: bytes)
    case CURLINFO_DATA_OUT: settings.wire?.sent(body: bytes)
    default: break
    }
  }

  /// Whether the peer that libcurl connected to is allowed, checked before any byte of the request
  /// is sent (rule A7).
  mutating func accept(peer: String) -> Bool {
    lastSign = (0, elapsed)
    guard settings.peerMustBeLoopback, settings.unixSocket == nil,
      !Origin.isLoopbackAddress(peer)
    else { return true }
    failure = Failure(
      .originRefused,
      "refused to send a credential over plain HTTP to \(peer), which is not this machine",
      hint: "use https, or set network.allow_http = true in the profile")
    return false
  }

  private mutating func trace(_ bytes: UnsafeRawBufferPointer) {
    let remark = Proxies.withoutAddress(DisplayText.repaired(bytes)).trimmingLineEnd
    settings.trace?(remark)
    settings.wire?.remark(remark)
  }

  private var elapsed: curl_off_t {
    var time: curl_off_t = 0
    authctl_curl_get_offset(easy, CURLINFO_TOTAL_TIME_T, &time)
    return time
  }

  /// Reports progress; returns false when no byte was received or sent for too long. libcurl's own
  /// limit counts bytes per second: it would end a stream that sends ":" twice a minute to keep the
  /// connection alive.
  mutating func goesOn(received: Int, of all: Int, sent: Int, of allSent: Int) -> Bool {
    settings.onProgress?(received, all > 0 ? all : nil, sent, allSent > 0 ? allSent : nil)
    guard let last = lastSign else { return true }
    let bytes = received &+ sent &+ headBytes
    // Read the clock only when no bytes are new, not for each of many pieces.
    guard bytes == last.bytes, let since = last.time else {
      lastSign = (bytes, bytes == last.bytes ? elapsed : nil)
      return true
    }
    return Double(elapsed &- since) <= max(1, settings.idleTimeout) * 1e6
  }

  /// Checks that a head was received: HTTP/1 and later always send one, and HTTP/0.9 is off.
  func finish() throws(Failure) {
    if !headIsComplete { throw Failure(.network, "the answer is incomplete") }
  }

  private mutating func attempt(
    _ count: Int, _ work: (inout Receiver) throws(Failure) -> Void
  ) -> Int {
    do {
      try work(&self)
      return count
    } catch {
      failure = error
      return 0
    }
  }
}
