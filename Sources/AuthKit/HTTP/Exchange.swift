/// Which redirects a request of the user follows.
package struct RedirectPolicy: Sendable {
  /// The largest number of redirects to follow; 0 follows none.
  package var maximum = 10
  /// Whether to follow for all methods, not only GET and HEAD (`-L`).
  package var allMethods = false
  /// Whether to refuse redirects that leave the credential's origins (rule A12).
  package var staysHome = false

  /// The policy of `get`.
  package init() {}

  /// Whether a redirect of a request with this method is followed.
  func follows(_ method: String) -> Bool {
    maximum > 0 && (allMethods || method == "GET" || method == "HEAD")
  }
}

/// A request of the user and its redirects: decides which transfer is next and what the head of its
/// answer means, for single and for parallel requests.
///
/// After a hop has left the credential's origins, no later hop gets the credential, even one that
/// returns to them (rule A6).
package struct Exchange {
  private let client: HTTPClient
  private let credential: Credential?
  private let redirects: RedirectPolicy
  private let timeLimit: Double?
  private let start: Timestamp
  /// The headers that the user gave.
  private var personalHeaders: [WireHeader]
  private let homes: [Origin]
  /// The next request; its URL has no parameters of the credential.
  private var request: WireRequest
  private var hops: HTTPClient.RedirectTrace
  private var isHome = true
  private var count = 0
  /// The redirect in the last head, if it was one.
  private var location: (status: Int, target: String)?
  /// The nonce for which this request is repeated.
  private var nonce: String?
  /// Whether the last head asked for a proof with that nonce.
  private var repeats = false

  /// Creates the exchange before its first transfer.
  ///
  /// - Parameter timeLimit: seconds for all hops together, in addition to the limit of `-m`.
  init(
    _ client: HTTPClient, _ request: WireRequest, credential: Credential?,
    redirects: RedirectPolicy, timeLimit: Double?
  ) {
    self.client = client
    self.credential = credential
    self.redirects = redirects
    self.timeLimit = timeLimit
    self.request = request
    // A redirect may ask for the body once more.
    if redirects.allMethods { self.request.keepBody() }
    start = client.clock()
    personalHeaders = request.headers
    homes = credential?.origins ?? [request.url.origin]
    hops = HTTPClient.RedirectTrace(
      carriedCredential: credential != nil, url: request.url, cookies: credential?.cookies)
  }

  /// Returns the next request to send, with only the credentials that its origin may receive.
  ///
  /// - Throws: `origin_refused` for a credential over plain HTTP, `timeout` when no time is left.
  mutating func next() throws(Failure) -> (WireRequest, TransferSettings) {
    isHome = isHome && homes.contains(request.url.origin)
    // A server may have put the credential into the URL of a next page.
    request.url = try withoutCredential(request.url)
    hops.carriedCredential = isHome && credential != nil
    hops.url = request.url
    request.headers = isHome ? personalHeaders : []
    if isHome, let credential { try attach(credential) }
    try client.addDefaults(to: &request)
    var wire = request
    if isHome, let credential { wire.url = try request.url.adding(credential.parameters) }
    let carriesSecrets =
      isHome && (credential != nil || personalHeaders.contains { $0.mayBeCredential })
    var settings =
      carriesSecrets
      ? try client.settings(carryingSecretsTo: request.url.origin) : try client.plainSettings()
    settings.totalTimeout = try timeLeft()
    settings.compressed = client.options.compressed
    settings.decodes = !client.options.raw && (client.options.compressed || !asksForCodedBytes)
    settings.insecure = client.options.insecure
    settings.pinnedKey = client.options.pinnedKey
    if isHome, client.options.clientCertificate != nil { client.showCertificate(&settings) }
    return (wire, settings)
  }

  /// Reads the head of the answer; returns nil for one that another request follows, whose body is not
  /// needed.
  ///
  /// - Throws: `client_error` when the server accepts no proof of possession.
  mutating func receiveHead(_ head: ResponseHead) throws(Failure) -> HTTPClient.RedirectTrace? {
    if hops.carriedCredential {
      keepCookies(of: head)
      repeats = try asksForNonce(head)
      if repeats { return nil }
    }
    guard let target = head.redirect, redirects.follows(request.method) else { return hops }
    location = (head.status, target)
    return nil
  }

  /// Takes the nonce of an answer; returns whether the request must be repeated with it, which is done
  /// once (RFC 9449, section 9). The token is not refused then.
  private mutating func asksForNonce(_ head: ResponseHead) throws(Failure) -> Bool {
    guard let (maker, token) = credential?.proof else { return false }
    if let failure = ProofOfPossession.invalidProof(head, at: request.url) { throw failure }
    guard head.asksForNonce else {
      maker.keepNonce(of: head, from: request.url, token: token, used: nonce)
      return false
    }
    guard nonce == nil, let given = ProofOfPossession.nonce(in: head) else {
      throw ProofOfPossession.refusal(at: request.url)
    }
    guard request.isRepeatable else {
      var failure = ProofOfPossession.refusal(at: request.url)
      failure.message =
        "HTTP 401: \(request.url.origin) requires a nonce in the proof of possession, but the "
        + "body came from a pipe and cannot be sent again"
      failure.hint = "send the body from a file"
      throw failure
    }
    nonce = given
    return true
  }

  /// Follows the redirect of the answer that has just ended, or repeats the request with the nonce of
  /// that answer; returns false if it was the final one.
  ///
  /// - Throws: `too_many_redirects`; `origin_refused` for a target that is not allowed; `redirect`
  ///   for a body that cannot be sent again.
  mutating func follow() throws(Failure) -> Bool {
    if repeats {
      repeats = false
      return true
    }
    nonce = nil
    guard let location else { return false }
    self.location = nil
    count += 1
    guard count <= redirects.maximum else {
      throw Failure(
        .tooManyRedirects, "\(request.url.origin) redirects more than \(redirects.maximum) times",
        hint: "use --max-redirs N to allow more")
    }
    try redirect(location.status, to: location.target)
    if HTTPClient.looksLikeSignIn(request.url.path) {
      hops.signInPage = "HTTP \(location.status) to \(request.url.path)"
    }
    let stays = isHome && homes.contains(request.url.origin)
    guard stays || !redirects.staysHome else {
      throw Failure(
        .originRefused,
        "refused to follow a redirect to \(request.url.origin), which must not get the credential"
      )
    }
    client.log?(
      "* redirect to \(Redactor.maskedQuery(request.url.text))"
        + (stays || credential == nil ? "" : ", sent without the credential"))
    return true
  }

  /// Makes the request that a redirect asks for (RFC 9110, section 15.4).
  ///
  /// - Throws: `origin_refused` from https to http, and for a body that would go to another origin;
  ///   `redirect` for a body that cannot be sent again.
  private mutating func redirect(_ status: Int, to target: String) throws(Failure) {
    let next = try withoutCredential(try request.url.resolving(target, from: .server))
    try check(hop: next)
    request.url = next
    if status == 303 || (status <= 302 && request.method == "POST") {
      if request.method != "HEAD" { request.method = "GET" }
      request.removeBody()
      personalHeaders.removeAll { $0.name.asciiLowercased == "content-type" }
    } else if !request.isRepeatable {
      throw Failure(
        .redirect,
        "HTTP \(status) to \(Redactor.withoutQuery(next.text)): the body came from a pipe "
          + "and cannot be sent again", hint: "send it from a file, or to that URL")
    }
  }

  /// Returns a URL of a server without the credential's parameters.
  private func withoutCredential(_ url: WebURL) throws(Failure) -> WebURL {
    guard let credential else { return url }
    return try url.removing(
      credential.parameters, isHome: isHome && homes.contains(url.origin))
  }

  private func check(hop next: WebURL) throws(Failure) {
    let shown = Redactor.withoutQuery(next.text)
    if request.url.origin.isSecure, !next.origin.isSecure {
      throw Failure(.originRefused, "refused to follow a redirect from https to \(shown)")
    }
    if next.origin != request.url.origin, request.hasBody {
      throw Failure(
        .originRefused, "refused to send the request's body to another origin: redirect to \(shown)"
      )
    }
  }

  /// Whether the request asks for a part of the bytes on the wire, or for an encoding by a header
  /// of the user's own: these bytes are the answer.
  private var asksForCodedBytes: Bool {
    request.headers.contains {
      $0.name.equalsIgnoringCase("Range") || $0.name.equalsIgnoringCase("Accept-Encoding")
    }
  }

  /// Returns the seconds left by `timeLimit` and by `-m`, which counts from the command's start.
  private func timeLeft() throws(Failure) -> Double? {
    let now = client.clock().seconds
    let left = [
      client.options.totalTimeout.map { client.began.seconds + $0 - now },
      timeLimit.map { start.seconds + $0 - now },
    ].compactMap { $0 }.min()
    if let left, left <= 0 {
      throw Failure(
        .timeout, "\(request.url.origin) did not answer in time",
        hint: "raise the limit with -m SECONDS")
    }
    return left
  }

  private mutating func attach(_ credential: Credential) throws(Failure) {
    // The user's header overrides a recipe header that is not a credential (rule B2); the command
    // has already refused the others.
    let own = Set(request.headers.map(\.name.asciiLowercased))
    request.headers += credential.headers.filter {
      let name = $0.name.asciiLowercased
      // libcurl sets the type of a multipart body, which includes the boundary.
      return !own.contains(name) && (name != "content-type" || request.parts.isEmpty)
    }
    if let (maker, token) = credential.proof {
      guard !own.contains("dpop") else {
        throw Failure(
          .usage, "-H DPoP: the session sends its own proof of possession in that header",
          hint: "--anonymous sends your own instead")
      }
      request.headers.append(
        try maker.header(of: request.method, request.url, token: token, nonce: nonce))
    }
    if let jar = hops.cookies,
      let line = jar.header(
        for: request.url.origin.description, path: request.url.path,
        isSecure: request.url.origin.isSecure, now: client.clock()),
      let header = try? WireHeader(name: "Cookie", value: line)
    {
      request.headers.append(header)
    }
  }

  private mutating func keepCookies(of head: ResponseHead) {
    guard hops.cookies != nil else { return }
    var refused = 0
    for line in head.all("Set-Cookie") {
      let cookie = HTTPClient.NewCookie(
        line: line, origin: request.url.origin, path: request.url.path)
      if hops.cookies?.store(cookie, now: client.clock()) == .overflow { refused += 1 }
      hops.newCookies.append(cookie)
    }
    if refused > 0 { client.warnOfCookies(refused) }
  }
}

extension HTTPClient {
  /// Receives the head of the final answer, and the redirects that led to it.
  package typealias OnHead = (ResponseHead, RedirectTrace) throws(Failure) -> Void
  /// Receives its body, decoded, piece by piece.
  package typealias OnBody = CurlClient.OnBody

  /// The state of a request after the redirects that it followed.
  package struct RedirectTrace {
    /// Whether the answer is to a request that carried the credential.
    package var carriedCredential: Bool
    /// The URL of the last request.
    package var url: WebURL
    /// The last followed redirect to an apparent sign-in page, if any.
    package var signInPage: String?
    /// The credential's cookies, updated by the answers so far; nil when none are kept.
    package var cookies: CookieJar?
    /// The Set-Cookie headers of those answers.
    var newCookies: [NewCookie] = []
  }

  /// A Set-Cookie header and where it came from.
  struct NewCookie {
    let line: String
    let origin: Origin
    let path: String
  }
}
