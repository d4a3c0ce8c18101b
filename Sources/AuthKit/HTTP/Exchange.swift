/// Which redirects a request of the person follows.
package struct RedirectPolicy: Sendable {
  /// How many; 0 follows none.
  package var maximum = 10
  /// On methods other than GET and HEAD too (`-L`).
  package var allMethods = false
  /// Those away from the credential's origins are refused (rule A12).
  package var staysHome = false

  /// What `get` does.
  package init() {}

  /// Whether a redirect of a request with this method is followed.
  func follows(_ method: String) -> Bool {
    maximum > 0 && (allMethods || method == "GET" || method == "HEAD")
  }
}

/// A request of the person and the redirects that it is led along: which transfer is next, and what
/// the head of its answer means. What waits for one answer goes by it, and what has many on their
/// way at once.
///
/// Once a hop has left the credential's origins nothing is attached again, even back home
/// (rule A6).
package struct Exchange {
  private let client: HTTPClient
  private let credential: Credential?
  private let redirects: RedirectPolicy
  private let timeLimit: Double?
  private let start: Timestamp
  /// The headers that the person gave.
  private var personalHeaders: [WireHeader]
  private let homes: [Origin]
  private var request: WireRequest
  private var hops: HTTPClient.RedirectTrace
  private var isHome = true
  private var count = 0
  /// The redirect that the last head was.
  private var location: (status: Int, target: String)?

  /// The exchange before its first transfer.
  ///
  /// - Parameter timeLimit: seconds for all hops together, beside what `-m` leaves.
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

  /// What is to be sent now, with what may go along to that origin.
  ///
  /// - Throws: `origin_refused` for a credential in clear, `timeout` when no time is left.
  mutating func next() throws(Failure) -> (WireRequest, TransferSettings) {
    isHome = isHome && homes.contains(request.url.origin)
    hops.carriedCredential = isHome && credential != nil
    hops.url = request.url
    request.headers = isHome ? personalHeaders : []
    if isHome, let credential { attach(credential) }
    try client.addDefaults(to: &request)
    let carriesSecrets =
      isHome && (credential != nil || personalHeaders.contains { $0.mayBeCredential })
    var settings =
      carriesSecrets
      ? try client.settings(carryingSecretsTo: request.url.origin) : try client.plainSettings()
    settings.totalTimeout = try timeLeft()
    settings.compressed = client.options.compressed
    settings.insecure = client.options.insecure
    settings.pinnedKey = client.options.pinnedKey
    if isHome, client.options.clientCertificate != nil { client.showCertificate(&settings) }
    return (request, settings)
  }

  /// Reads the head of the answer: nil when it is a redirect, whose body nobody wants.
  mutating func receiveHead(_ head: ResponseHead) -> HTTPClient.RedirectTrace? {
    if hops.carriedCredential { keepCookies(of: head) }
    guard let target = head.redirect, redirects.follows(request.method) else { return hops }
    location = (head.status, target)
    return nil
  }

  /// Goes where the answer that has just ended points; false when it was the final one.
  ///
  /// - Throws: `too_many_redirects`; `origin_refused` for a place to which no server may lead.
  mutating func follow() throws(Failure) -> Bool {
    guard let location else { return false }
    self.location = nil
    count += 1
    guard count <= redirects.maximum else {
      throw Failure(
        .tooManyRedirects, "\(request.url.origin) redirects more than \(redirects.maximum) times",
        hint: "--max-redirs N allows more")
    }
    try redirect(location.status, to: location.target)
    if HTTPClient.looksLikeSignIn(request.url.path) {
      hops.signInPage = "HTTP \(location.status) to \(request.url.path)"
    }
    let stays = isHome && homes.contains(request.url.origin)
    guard stays || !redirects.staysHome else {
      throw Failure(
        .originRefused,
        "refused to follow a redirect to \(request.url.origin), where the credential does not go")
    }
    client.log?(
      "* redirect to \(Redactor.maskedQuery(request.url.text))"
        + (stays || credential == nil ? "" : ", asked without the credential"))
    return true
  }

  /// Makes the request that a redirect asks for (RFC 9110, section 15.4).
  ///
  /// - Throws: `origin_refused` from https to http, and for a body that would go to another origin;
  ///   `redirect` for a body that cannot be sent again.
  private mutating func redirect(_ status: Int, to target: String) throws(Failure) {
    let next = try request.url.resolving(target, from: .server)
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

  /// What the limit and `-m`, which counts from the beginning of the command, leave for one hop.
  private func timeLeft() throws(Failure) -> Double? {
    let now = client.clock().seconds
    let left = [
      client.options.totalTimeout.map { client.began.seconds + $0 - now },
      timeLimit.map { start.seconds + $0 - now },
    ].compactMap { $0 }.min()
    if let left, left <= 0 {
      throw Failure(
        .timeout, "\(request.url.origin) did not answer in time",
        hint: "raise the limit by -m SECONDS")
    }
    return left
  }

  private mutating func attach(_ credential: Credential) {
    // A header of the person's wins over a header of the recipe that is no credential (rule B2);
    // the command has refused the others.
    let own = Set(request.headers.map(\.name.asciiLowercased))
    request.headers += credential.headers.filter {
      let name = $0.name.asciiLowercased
      // The type of a multipart body has its boundary in it.
      return !own.contains(name) && (name != "content-type" || request.parts.isEmpty)
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
  /// Gets the head of the final answer, and what led to it.
  package typealias OnHead = (ResponseHead, RedirectTrace) throws(Failure) -> Void
  /// Gets its body, decoded, piece by piece.
  package typealias OnBody = CurlClient.OnBody

  /// What a followed chain of redirects has done to the request.
  package struct RedirectTrace {
    /// Whether the answer is to a request that carried the credential.
    package var carriedCredential: Bool
    /// Where the last request went.
    package var url: WebURL
    /// The redirect to what looks like a page for signing in, where one was followed.
    package var signInPage: String?
    /// The credential's cookies, with what the answers so far have set; none where none are kept.
    package var cookies: CookieJar?
    /// The Set-Cookie headers behind those.
    var newCookies: [NewCookie] = []
  }

  /// A Set-Cookie header and where it came from.
  struct NewCookie {
    let line: String
    let origin: Origin
    let path: String
  }
}
