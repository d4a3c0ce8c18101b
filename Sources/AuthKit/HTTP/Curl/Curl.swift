internal import CCurl
internal import Glibc

// The one door to libcurl: URLs are read and requests sent here (Curl.swift, CurlMulti.swift and
// WebURL.swift), nowhere else.
// libcurl's own redirects, cookies, .netrc, HSTS and Alt-Svc files stay off.

func openedLibcurl() throws(Failure) -> authctl_curl {
  guard let functions = authctl_curl() else {
    throw Failure(.failed, "libcurl 4 is not installed", hint: "apt install libcurl4")
  }
  return functions.pointee
}

/// Sends one request and receives one answer, then the next: alone, or driven by a `CurlMulti`.
/// Connections are kept.
package final class CurlClient {
  /// Begins to load libcurl on a thread of its own, for a first request that is yet to be put together.
  package static func loadAhead() { _ = BackgroundThread { _ = try? openedLibcurl() } }

  let easy: UnsafeMutableRawPointer
  let curl: authctl_curl
  /// What the callbacks of a transfer write to, at an address that stays.
  private let receiver: UnsafeMutablePointer<Receiver?>
  /// What libcurl reads during a transfer.
  private var sent:
    (
      request: WireRequest, headers: UnsafeMutablePointer<curl_slist>?, mime: OpaquePointer?
    )?
  /// What else libcurl points at during a transfer.
  var held: [AnyObject] = []
  /// Where the system keeps its certificate authorities; asked once, not with each transfer.
  let systemAuthorities: (file: UnsafePointer<CChar>, folder: UnsafePointer<CChar>)?
  /// The system's authorities are trusted as far as they stand in their folder.
  var trustsFolderAlone = false
  /// That was not enough before.
  var needsBundle = false
  /// What libcurl says about a failure, beside its number.
  let remark = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

  init() throws(Failure) {
    curl = try openedLibcurl()
    guard let easy = curl.curl_easy_init() else { throw Failure(.failed, "libcurl did not start") }
    self.easy = easy
    systemAuthorities = Self.systemAuthorities(easy, curl)
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

  /// Gets the head of the answer. What it throws ends the transfer and is thrown on.
  package typealias OnHead = (ResponseHead) throws(Failure) -> Void
  /// Gets its body, decoded, piece by piece. What it throws ends the transfer and is thrown on.
  package typealias OnBody = (UnsafeRawBufferPointer) throws(Failure) -> Void

  /// Sends `request` and passes its answer on.
  ///
  /// - Throws: `network`, `tls`, `timeout`, `origin_refused` (cleartext to a peer that is not this
  ///   machine), or what a callback threw.
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

  /// Makes the handle ready for one transfer; `end` has to follow it.
  ///
  /// - Throws: `failed` for a body that has gone.
  func begin(
    _ request: WireRequest, settings: TransferSettings, onHead: @escaping OnHead,
    onBody: @escaping OnBody
  ) throws(Failure) {
    configure(settings)
    let mime = try body(request)
    authctl_curl_set_pointer(easy, CURLOPT_CURLU, UnsafeRawPointer(try request.url.handle()))
    var list: UnsafeMutablePointer<curl_slist>?
    // libcurl looks for the end of the list that it is given: the last node is a short one.
    var last: UnsafeMutablePointer<curl_slist>?
    for header in request.headers {
      header.line.withBytes {
        let node = curl.curl_slist_append(last, $0.bindMemory(to: CChar.self).baseAddress)
        last = last == nil ? node : node?.pointee.next
      }
      list = list ?? last
    }
    authctl_curl_set_pointer(easy, CURLOPT_HTTPHEADER, list)
    sent = (request, list, mime)
    authctl_curl_set_text(easy, CURLOPT_CUSTOMREQUEST, request.method)
    if request.method == "HEAD" {
      authctl_curl_set_text(easy, CURLOPT_CUSTOMREQUEST, nil)
      authctl_curl_set_long(easy, CURLOPT_NOBODY, 1)
    }
    receiver.pointee = Receiver(onHead: onHead, onBody: onBody, settings: settings, easy: easy)
    connectCallbacks()
  }

  /// Reads what came of the transfer; `result` is what libcurl says of it.
  ///
  /// - Throws: as `send` does.
  func end(_ result: CURLcode) throws(Failure) {
    defer { release() }
    guard let receiver = receiver.pointee, let request = sent?.request else { return }
    receiver.settings.wire?.end()
    receiver.settings.onFacts?(facts)
    // An answer that ends before its announced length has been passed on so far: it is a failure.
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
    // `..` and `%2e%2e` stay as they are written: what was checked is what is sent.
    authctl_curl_set_long(easy, CURLOPT_PATH_AS_IS, 1)
    authctl_curl_set_text(easy, CURLOPT_ACCEPT_ENCODING, settings.compressed ? "" : nil)
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
    // Where it knows no more to say it leaves a blank at the end.
    let said = remark.pointee == 0 ? nil : String(cString: remark).trimmingSpaces
    var failure: Failure
    switch code {
    case CURLE_ABORTED_BY_CALLBACK:
      let limit = JSONValue.number(receiver.settings.idleTimeout).serialized()
      failure = Failure(
        .timeout, "\(origin) did not answer in time: no byte for \(limit) s",
        hint: "network.idle_timeout in the profile raises the limit")
    case CURLE_OPERATION_TIMEDOUT:
      failure = Failure(
        .timeout, "\(origin) did not answer in time",
        hint: "raise the limit by -m SECONDS or --connect-timeout SECONDS")
    case CURLE_COULDNT_RESOLVE_HOST:
      failure = Failure(.network, "cannot reach \(origin): host name not found")
    case CURLE_COULDNT_RESOLVE_PROXY:
      failure = Failure(.network, "cannot reach \(origin): the proxy's name was not found")
    case CURLE_COULDNT_CONNECT:
      var number = 0
      authctl_curl_get_long(easy, CURLINFO_OS_ERRNO, &number)
      let reason =
        number > 0 && number < 200 ? String(cString: strerror(Int32(number))) : "could not connect"
      let socket = receiver.settings.unixSocket.map { " by \(DisplayText.oneLine($0))" } ?? ""
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
    case CURLE_PARTIAL_FILE:
      failure = Failure(.network, "the answer of \(origin) broke off before its end")
    default:
      failure = Failure(.network, "the request to \(origin) failed: \(words)")
    }
    failure.url = Redactor.withoutQuery(url.text)
    return failure
  }
}

/// What the callbacks of one transfer write to.
private struct Receiver {
  let onHead: CurlClient.OnHead
  let onBody: CurlClient.OnBody
  let settings: TransferSettings
  let easy: UnsafeMutableRawPointer
  var failure: Failure?
  private var head = ResponseHead()
  private var headBytes = 0
  private var headers = 0
  private var bodyBytes = 0
  private var headIsComplete = false
  /// Bytes so far, and when there was no new one for the first time, in microseconds; none before a
  /// connection.
  private var lastSign: (bytes: Int, time: curl_off_t?)?

  init(
    onHead: @escaping CurlClient.OnHead, onBody: @escaping CurlClient.OnBody,
    settings: TransferSettings, easy: UnsafeMutableRawPointer
  ) {
    self.onHead = onHead
    self.onBody = onBody
    self.settings = settings
    self.easy = easy
  }

  mutating func header(_ bytes: UnsafeRawBufferPointer) -> Int {
    // Trailers come after the body; nobody asked for them.
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
        // 1xx is followed by the real head; so is a proxy's answer to CONNECT, which libcurl
        // is told to keep to itself.
        guard receiver.head.status >= 200 else { return }
        receiver.headIsComplete = true
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

  /// Rule A7: what libcurl really connected to, seen before a byte of the request has left.
  mutating func accept(peer: String) -> Bool {
    lastSign = (0, elapsed)
    guard settings.peerMustBeLoopback, settings.unixSocket == nil,
      !Origin.isLoopbackAddress(peer)
    else { return true }
    failure = Failure(
      .originRefused, "refused to send a credential in clear to \(peer), which is not this machine",
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

  /// Tells how far the transfer is; false when no byte has come or gone for too long. libcurl's own
  /// limit counts bytes a second: a server that says ":" twice a minute, to show that it lives,
  /// would fall under it.
  mutating func goesOn(received: Int, of all: Int, sent: Int, of allSent: Int) -> Bool {
    settings.onProgress?(received, all > 0 ? all : nil, sent, allSent > 0 ? allSent : nil)
    guard let last = lastSign else { return true }
    let bytes = received &+ sent &+ headBytes
    // The clock is asked when nothing comes: not with each of many pieces.
    guard bytes == last.bytes, let since = last.time else {
      lastSign = (bytes, bytes == last.bytes ? elapsed : nil)
      return true
    }
    return Double(elapsed &- since) <= max(1, settings.idleTimeout) * 1e6
  }

  /// An answer without a head at all cannot happen with HTTP/1 or later; HTTP/0.9 is off.
  func finish() throws(Failure) {
    if !headIsComplete { throw Failure(.network, "the answer broke off before its end") }
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
