/// The headers and cookies of a session, and the origins that may receive them.
package struct Credential {
  /// The recipe's headers, with values filled in.
  package var headers: [WireHeader]
  /// The recipe's parameters for URLs, with values filled in.
  package var parameters: [WireParameter]
  /// Origins that may receive them.
  package var origins: [Origin]
  /// The cookies that the recipe keeps; nil when it keeps none.
  package var cookies: CookieJar?
  /// What proves that the sender has the key that the token is bound to, and the token; nil for one
  /// that is bound to none.
  var proof: (maker: ProofOfPossession, token: SharedSecret)?

  init(
    headers: [WireHeader], parameters: [WireParameter] = [], origins: [Origin],
    cookies: CookieJar?
  ) {
    self.headers = headers
    self.parameters = parameters
    self.origins = origins
    self.cookies = cookies
  }
}

/// Sends the requests of one profile: applies limits, TLS, proxies and redirects, and decides where
/// a credential may go.
package final class HTTPClient {
  /// The limits of a sign-in, refresh, logout or whoami: 30 s in all and 1 MiB (rule B6).
  package static let signInTime: Double = 30
  static let signInBody = 1 << 20

  private let network: NetworkRecipe
  private let base: Origin
  let options: HTTPOptions
  private let environment: [String: String]
  let clock: () -> Timestamp
  let began: Timestamp
  /// Lower-case names of the recipe's headers whose values are never shown.
  private let secretHeaders: Set<String>
  /// Names of the URL parameters whose values are never shown.
  private let secretParameters: Set<String>
  /// Receives the lines of `-v` and `--trace`; nil without them.
  let log: ((String) -> Void)?
  /// Receives libcurl's own remarks, with `-vv`.
  private let trace: ((String) -> Void)?
  let warn: (String) -> Void
  private var curl: CurlClient?
  private var ahead: ConnectionAhead?
  private var hasWarnedOfCookies = false
  private var madeHeaders: [WireHeader]?
  /// The certificate authorities to trust; looked up once for all requests.
  private var authorities: (file: String?, folder: String?)?

  /// - Parameters:
  ///   - network: how the server is reached.
  ///   - base: the origin of the profile's `url`.
  ///   - secretHeaders: names of the headers whose values are masked, whether sent or received.
  ///   - secretParameters: names of the URL parameters whose values are masked.
  ///   - environment: for proxies and certificate authorities.
  ///   - warn: receives warnings, at every verbosity.
  ///   - log: receives the lines of `-v`, masked by place.
  ///   - trace: receives libcurl's own remarks.
  package init(
    network: NetworkRecipe, base: Origin, secretHeaders: [String],
    secretParameters: [String] = [], options: HTTPOptions,
    environment: [String: String], clock: @escaping () -> Timestamp,
    warn: @escaping (String) -> Void, log: ((String) -> Void)?,
    trace: ((String) -> Void)?
  ) {
    self.network = network
    self.base = base
    self.options = options
    self.environment = environment
    self.clock = clock
    began = clock()
    self.warn = warn
    self.trace = trace.map { trace in
      // With HTTP/2, libcurl's remarks have the path.
      secretParameters.isEmpty
        ? trace : { trace(Redactor.maskedQuery($0, names: Set(secretParameters))) }
    }
    let file = options.trace
    self.log =
      log == nil && file == nil
      ? nil
      : { line in
        log?(line)
        file?.line(line)
      }
    self.secretHeaders = Set(secretHeaders.map(\.asciiLowercased))
    self.secretParameters = Set(secretParameters)
  }

  // MARK: - Sign-in requests

  /// Sends a request of the recipe and returns its whole answer; does not follow redirects
  /// (rule A6).
  ///
  /// - Parameters:
  ///   - seconds: the time limit; all requests of one step together have `signInTime`.
  ///   - showsCertificate: shows the client certificate to an origin of another server than the
  ///     API's too.
  ///   - onAnswer: called with the status when the answer begins to arrive.
  func call(
    _ request: WireRequest, seconds: Double, showsCertificate: Bool,
    _ onAnswer: (_ status: Int) -> Void
  ) throws(Failure) -> (ResponseHead, [UInt8]) {
    var settings = try settings(carryingSecretsTo: request.url.origin)
    if showsCertificate { showCertificate(&settings) }
    // Never the limit of -m: a renewal that is cut short may already have used its refresh token.
    settings.totalTimeout = max(1, seconds)
    if request.url.origin == base { settings.pinnedKey = options.pinnedKey }
    settings.largestBody = Self.signInBody
    settings.compressed = true
    settings.setPrivate()
    let (head, body) = try answer(to: request, settings, onAnswer)
    settings.wire?.sumUp(head, body)
    return (head, body)
  }

  /// Sends a request without credentials or a body, to examine an API; does not follow redirects (rule A13).
  ///
  /// - Parameters:
  ///   - seconds: the time limit for the whole request.
  ///   - most: the limit on the decoded body, in bytes.
  func look(
    at url: WebURL, by method: String = "GET", seconds: Double, most: Int
  ) throws(Failure) -> (ResponseHead, [UInt8]) {
    var settings =
      try url.origin.isSecure ? plainSettings() : settings(carryingSecretsTo: url.origin)
    settings.totalTimeout = seconds
    settings.largestBody = most
    settings.compressed = true
    settings.setPrivate()
    var request = WireRequest(method: method, url: url)
    try addDefaults(to: &request)
    return try answer(to: request, settings)
  }

  /// Tests how the server of `url` is reached: sends a GET without credentials and stops after the
  /// head of its answer. `ServerProbe.failure` holds any error.
  package func probe(_ url: WebURL) -> ServerProbe {
    var probe = ServerProbe()
    var isDirect = false
    do throws(Failure) {
      var settings =
        try url.origin.isSecure ? plainSettings() : settings(carryingSecretsTo: url.origin)
      settings.totalTimeout = Self.signInTime
      settings.keepsCertificate = true
      isDirect = settings.peerMustBeLoopback
      settings.trace = { [trace] line in
        probe.note(line)
        trace?(line)
      }
      var request = WireRequest(method: "GET", url: url)
      try addDefaults(to: &request)
      let curl = try CurlClient()
      defer { probe.setTimes(curl.connection) }
      try curl.send(request, settings: settings) { (head) throws(Failure) in
        probe.head = head
        probe.answeredAt = clock()
        throw Failure(.failed, "enough")
      } onBody: { (_) throws(Failure) in
      }
    } catch {
      if probe.head == nil { probe.failure = error }
    }
    if !isDirect { probe.findProxy(configured: network.proxy, environment) }
    return probe
  }

  // MARK: - Requests of the user

  /// Sends `request`, follows redirects hop by hop, and passes the final answer on.
  ///
  /// - Parameter timeLimit: seconds for all hops together, in addition to the limit of `-m`.
  package func exchange(
    _ request: WireRequest, credential: Credential?, redirects: RedirectPolicy,
    timeLimit: Double? = nil, onHead: OnHead, onBody: OnBody
  ) throws(Failure) {
    var exchange = Exchange(
      self, request, credential: credential, redirects: redirects, timeLimit: timeLimit)
    repeat {
      let (request, settings) = try exchange.next()
      var isFinal = false
      try send(request, settings) { (head) throws(Failure) in
        guard let hops = try exchange.receiveHead(head) else { return }
        isFinal = true
        try onHead(head, hops)
      } onBody: { (bytes) throws(Failure) in
        if isFinal { try onBody(bytes) }
      }
    } while try exchange.follow()
  }

  /// Last path segments of sign-in URLs (design 5).
  package static let signInNames = [
    "login", "signin", "sign_in", "sign-in", "session", "sessions", "token", "auth", "authenticate",
  ]

  static func looksLikeSignIn(_ path: String) -> Bool {
    let segments = path.asciiLowercased.utf8.split(separator: UInt8(ascii: "/")).suffix(2)
    let beginnings = [
      "login", "log-in", "log_in", "signin", "sign-in", "sign_in", "sso", "authorize",
    ]
    return segments.contains { segment in
      signInNames.contains(String(decoding: segment, as: UTF8.self))
        || beginnings.contains { segment.starts(with: $0.utf8) }
    }
  }

  /// Warns only once: a server that sets too many cookies does so in every answer.
  func warnOfCookies(_ refused: Int) {
    guard !hasWarnedOfCookies else { return }
    hasWarnedOfCookies = true
    let what = refused == 1 ? "a cookie was" : "\(refused) cookies were"
    warn("\(what) not kept: a session can have at most 50 cookies of 4 KiB, 64 KiB in total")
  }

  func addDefaults(to request: inout WireRequest) throws(Failure) {
    let own = request.headers
    for header in try usualHeaders()
    where !own.contains(where: { $0.name.equalsIgnoringCase(header.name) }) {
      if header.name != "Expect" || !request.isLong { request.headers.append(header) }
    }
  }

  /// Returns the default headers, made once for all requests of a batch.
  private func usualHeaders() throws(Failure) -> [WireHeader] {
    if let madeHeaders { return madeHeaders }
    let headers = [
      try WireHeader(name: "User-Agent", value: "authctl/\(version)"),
      try WireHeader(name: "Accept", value: "application/json, */*;q=0.5"),
      try WireHeader(removing: "Expect"),
    ]
    madeHeaders = headers
    return headers
  }

  // MARK: - Settings

  /// Returns the settings for a request that carries secrets: encrypted, or only to this machine,
  /// unless the profile allows plain HTTP (rule A7).
  func settings(carryingSecretsTo origin: Origin) throws(Failure) -> TransferSettings {
    var settings = try plainSettings()
    if origin == base || network.allowOrigins.contains(where: { (try? Origin($0)) == origin }) {
      showCertificate(&settings)
    }
    guard !origin.isSecure, !(network.allowHTTP && origin == base) else { return settings }
    try Self.checkPlainHTTP(to: origin)
    settings.peerMustBeLoopback = true
    // A proxy could read the plain HTTP that is meant only for this machine.
    if let proxy = options.proxy, options.unixSocket == nil {
      guard proxy.isLoopback else {
        throw Failure(
          .originRefused,
          "refused to send a credential over plain HTTP to \(origin) through the proxy of -x",
          hint: "use https, or -x '' for no proxy")
      }
    } else {
      settings.proxy = ""
    }
    return settings
  }

  /// Refuses an origin to which a credential would travel over plain HTTP (rule A7).
  ///
  /// - Parameter isNew: whether the profile is not saved yet, for the hint.
  /// - Throws: `origin_refused`.
  package static func checkPlainHTTP(to origin: Origin, isNew: Bool = false) throws(Failure) {
    guard origin.isSecure || origin.isLoopback else {
      throw Failure(
        .originRefused, "refused to send a credential over plain HTTP to \(origin)",
        hint: isNew
          ? "use https, or add --set network.allow_http=true"
          : "use https, or set network.allow_http = true in the profile")
    }
  }

  /// Whether there is a client certificate to show.
  var hasCertificate: Bool {
    (options.clientCertificate ?? network.clientCertificate) != nil
  }

  func showCertificate(_ settings: inout TransferSettings) {
    settings.clientCertificate = options.clientCertificate ?? network.clientCertificate
    settings.clientKey =
      options.clientKey ?? (options.clientCertificate == nil ? network.clientKey : nil)
    settings.keyPassphrase = options.keyPassphrase
  }

  func plainSettings() throws(Failure) -> TransferSettings {
    var settings = TransferSettings()
    settings.connectTimeout = options.connectTimeout ?? network.connectTimeout
    settings.idleTimeout = network.idleTimeout
    settings.proxy = network.proxy
    settings.trace = trace
    if let log {
      settings.wire = WireLog(
        secretHeaders: secretHeaders, secretParameters: secretParameters, log: log,
        trace: options.trace)
    }
    settings.onProgress = options.onProgress
    settings.onFacts = options.onFacts
    options.applyRoute(to: &settings)
    let trusted =
      if let authorities { authorities } else { try options.authorities(network, environment) }
    authorities = trusted
    (settings.caFile, settings.caFolder) = trusted
    return settings
  }

  // MARK: - The wire

  /// Begins to connect to the API, for the first request to it, or takes over the connection `begun`.
  package func connectAhead(_ begun: ConnectionAhead?) { ahead = connectionAhead(begun) }

  /// Returns a connection to the API that has begun, or `begun`; nil where another thing than the URL
  /// of the profile decides where a connection goes, or if the API is on this machine.
  package func connectionAhead(_ begun: ConnectionAhead? = nil) -> ConnectionAhead? {
    guard !base.isLoopback, let settings = try? settings(carryingSecretsTo: base),
      settings.proxy?.isEmpty ?? !Proxies.areSet(in: environment),
      settings.unixSocket == nil, settings.resolve.isEmpty, settings.connectTo.isEmpty,
      settings.family == .any,
      // 0 is libcurl's own limit, of which no part can be taken.
      settings.connectTimeout > 0
    else { return nil }
    if let begun, begun.origin == base { return begun }
    return ConnectionAhead(
      to: base, seconds: min(settings.connectTimeout, options.totalTimeout ?? .infinity))
  }

  /// Sends `request` and collects its answer.
  private func answer(
    to request: WireRequest, _ settings: TransferSettings,
    _ onAnswer: (_ status: Int) -> Void = { _ in }
  ) throws(Failure) -> (ResponseHead, [UInt8]) {
    var (head, body) = (ResponseHead(), [UInt8]())
    try send(request, settings) { (answer) throws(Failure) in
      onAnswer(answer.status)
      head = answer
    } onBody: { (bytes) throws(Failure) in
      body.append(contentsOf: bytes)
    }
    return (head, body)
  }

  private func send(
    _ request: WireRequest, _ settings: TransferSettings, onHead: CurlClient.OnHead,
    onBody: OnBody
  ) throws(Failure) {
    // A connection without certificate verification is never reused.
    if curl == nil || settings.insecure { curl = try CurlClient() }
    guard let curl else { return }
    var settings = settings
    if let ahead, ahead.origin == request.url.origin {
      self.ahead = nil
      settings.wait(for: ahead)
    }
    try curl.send(request, settings: settings, onHead: onHead, onBody: onBody)
    if settings.insecure { self.curl = nil }
  }
}

extension CookieJar {
  @discardableResult
  mutating func store(_ cookie: HTTPClient.NewCookie, now: Timestamp) -> Outcome {
    store(
      setCookie: cookie.line, origin: cookie.origin.description, requestPath: cookie.path, now: now)
  }
}
