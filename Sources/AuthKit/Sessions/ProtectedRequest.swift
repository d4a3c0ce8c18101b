/// A request that carries the session.
package struct ProtectedRequest {
  /// The request without the session's headers and cookies.
  package var request: WireRequest
  /// Which redirects are followed.
  package var redirects = RedirectPolicy()
  /// The total time limit in seconds; nil for the one that `-m` sets.
  package var timeLimit: Double?
  /// Whether a status counts as success (`--ok`).
  package var accepted: (Int) -> Bool = { _ in false }

  /// The values that the recipe's prefetch already returned, with their cookies.
  var taken: (values: TemplateValues, cookies: CookieJar)?

  /// Creates a request with the limits of `get`.
  package init(_ request: WireRequest) { self.request = request }
}

/// The session that a request carries, and the lease that decides what to do when the server
/// refuses it.
struct CarriedSession {
  var session: Session
  var lease: SessionLease
}

extension SessionKeeper {
  /// Returns the origins that may receive the access token: those fixed at sign-in that the profile
  /// still allows (rule A2).
  ///
  /// - Throws: `origin_refused` when the way to the server has changed since sign-in (rule A3).
  package func permittedOrigins(of session: Session) throws(Failure) -> [Origin] {
    try api.checkWay(of: session.way)
    return try api.requestOrigins().filter { session.requestOrigins.contains($0) }
  }

  /// Refuses a URL outside the session's origins, before anything is sent.
  package func check(_ url: WebURL, for session: Session) throws(Failure) {
    try check(url.origin, for: session)
  }

  func check(_ origin: Origin, for session: Session) throws(Failure) {
    if try permittedOrigins(of: session).contains(origin) { return }
    if try api.requestOrigins().contains(origin) { throw api.notPinned(origin) }
    throw Failure(
      .originRefused,
      "\(profile.name): refused to send the credential of \(api.base.origin) to \(origin)",
      hint: "add the origin to network.allow_origins in the profile and sign in again")
  }

  /// Returns `session`, renewed first if its access token is about to expire.
  ///
  /// - Throws: `session_expired` when it has expired and cannot be renewed; nothing has been sent
  ///   then.
  /// - Parameter minimum: seconds of validity required; nil for what a request needs.
  package func fresh(_ session: Session, minimum: Double? = nil) throws(Failure) -> Session {
    var carried = carry(session)
    try makeReady(&carried, minimum: minimum)
    return carried.session
  }

  /// Sends a request with the session and passes the answer on. Renews the session before, if its
  /// token is about to expire, or once after the server refuses it.
  ///
  /// - Parameter session: updated for the next request.
  /// - Throws: `origin_refused`, `session_expired` (401 with a credential), what sending throws.
  package func send(
    _ wanted: ProtectedRequest, with session: inout Session,
    onHead: HTTPClient.OnHead, onBody: HTTPClient.OnBody
  ) throws(Failure) {
    try check(wanted.request.url, for: session)
    // A body from a pipe is kept only where it may have to be sent again.
    if session.variable == nil { wanted.request.keepBody() }
    var carried = carry(session)
    try makeReady(&carried)
    defer { session = carried.session }
    while let rejection = try attempt(wanted, &carried, onHead, onBody) {
      refusal = rejection.head
      guard try replace(&carried) else { throw rejected(carried.session, rejection) }
      guard wanted.request.isRepeatable else { throw cannotRepeat(rejection) }
    }
  }

  /// Returns `session` with a new lease.
  func carry(_ session: Session) -> CarriedSession {
    let isBrief = profile.recipe.session.renewOnEveryResponse
    return CarriedSession(
      session: session, lease: SessionLease(renewsOnEveryResponse: isBrief))
  }

  /// Returns what a lease needs to know about `session`.
  func condition(of session: Session, minimum: Double? = nil) -> SessionLease.Condition {
    let now = clock()
    return SessionLease.Condition(
      isFixed: session.variable != nil, isRenewable: canRenew(session),
      hasEnded: session.secondsLeft(now: now).map { $0 <= 0 } ?? false,
      isDue: session.isDue(now: now, minimum: minimum))
  }

  /// Renews the session if its token is about to expire.
  ///
  /// - Throws: `session_expired` when it has expired and cannot be renewed; what a renewal throws.
  func makeReady(_ carried: inout CarriedSession, minimum: Double? = nil) throws(Failure) {
    switch carried.lease.beforeSending(condition(of: carried.session, minimum: minimum)) {
    case .use: break
    case .renew: try renew(&carried, .due)
    case .reread, .reject: throw expired(carried.session, .due, .noRenewal)
    }
  }

  /// Replaces a refused session by a renewed one or by a newer one from the store; returns false
  /// when there is none to try.
  func replace(_ carried: inout CarriedSession, isRepeat: Bool = false) throws(Failure) -> Bool {
    while true {
      let condition = condition(of: carried.session)
      switch carried.lease.afterRefusal(condition, isRepeat: isRepeat, now: clock()) {
      case .renew:
        try renew(&carried, .rejected)
        return true
      case .reread:
        if let stored = try read(carried.session.account), isNewer(stored, than: carried.session) {
          carried.session = stored
          carried.lease.wasReread(self.condition(of: stored))
          return true
        }
        carried.lease.wasReread(nil)
      case .use, .reject: return false
      }
    }
  }

  private func renew(_ carried: inout CarriedSession, _ reason: Reason) throws(Failure) {
    carried.session = try renewed(carried.session, reason)
    carried.lease.wasRenewed(condition(of: carried.session))
  }

  /// Sends a request without the session.
  package func sendAnonymously(
    _ wanted: ProtectedRequest,
    onHead: HTTPClient.OnHead, onBody: HTTPClient.OnBody
  ) throws(Failure) {
    try exchange(wanted, nil, onHead: onHead, onBody: onBody)
  }

  /// Sends the request once and marks the failures of sending.
  private func exchange(
    _ wanted: ProtectedRequest, _ credential: Credential?,
    onHead: HTTPClient.OnHead, onBody: HTTPClient.OnBody
  ) throws(Failure) {
    do throws(Failure) {
      try api.http.exchange(
        wanted.request, credential: credential, redirects: wanted.redirects,
        timeLimit: wanted.timeLimit, onHead: onHead, onBody: onBody)
    } catch {
      throw Self.ofRequest(error)
    }
  }

  /// Marks a failure of sending the user's own request.
  static func ofRequest(_ failure: Failure) -> Failure {
    var failure = failure
    failure.isOfRequest = failure.kind == .network || failure.kind == .timeout
    // Commands that send other requests have no such options.
    if failure.kind == .timeout, failure.hint == nil {
      failure.hint = "raise the limit with -m SECONDS or --connect-timeout SECONDS"
    }
    return failure
  }

  /// Tries once; an answer that refuses the credential is returned instead of being passed on.
  private func attempt(
    _ wanted: ProtectedRequest, _ carried: inout CarriedSession,
    _ onHead: HTTPClient.OnHead, _ onBody: HTTPClient.OnBody
  ) throws(Failure) -> RecipeResponse? {
    let credential: Credential
    switch try self.credential(of: carried.session, for: wanted) {
    case .ready(let ready): credential = ready
    case .rejected(let answer): return answer
    }
    let mayRenew = carried.lease.mayRenew(condition(of: carried.session), now: clock())
    var attempt = Attempt(wanted, mayRenew: mayRenew)
    try exchange(wanted, credential) { (head, hops) throws(Failure) in
      try receiveHead(head, hops, &attempt, &carried.session, onHead)
    } onBody: { (bytes) throws(Failure) in
      try receiveBody(bytes, &attempt, onHead, onBody)
    }
    let rejection = try rejection(&attempt, onHead, onBody)
    if rejection == nil, attempt.hops != nil {
      noteAnswer(attempt.head.status, to: carried.session)
    }
    return rejection
  }

  /// Passes the head of the answer on, or holds it back until the verdict is clear.
  func receiveHead(
    _ head: ResponseHead, _ hops: HTTPClient.RedirectTrace, _ attempt: inout Attempt,
    _ session: inout Session, _ onHead: HTTPClient.OnHead
  ) throws(Failure) {
    if let page = hops.signInPage, head.isPage {
      noteRefusal(of: session)
      throw expired(session, .rejected, .signInPage(page))
    }
    if hops.carriedCredential {
      // Before the body: even if that fails, the server has already made these changes.
      try keepChanges(of: &session, head, hops, storesLater: attempt.storesCookiesLater)
      attempt.verdict = verdict(on: head.status, attempt.wanted, attempt.mayRenew)
      attempt.head = head
      attempt.hops = hops
      if attempt.verdict != .accepted { return }
    }
    try onHead(head, hops)
  }

  /// Passes a piece of the body on, or holds it back.
  func receiveBody(
    _ bytes: UnsafeRawBufferPointer, _ attempt: inout Attempt,
    _ onHead: HTTPClient.OnHead, _ onBody: HTTPClient.OnBody
  ) throws(Failure) {
    if attempt.verdict == .undecided, attempt.body.count + bytes.count > Attempt.limit {
      // Too long for a message that the token has expired.
      try pass(&attempt, onHead, onBody)
    }
    if attempt.verdict == .accepted { return try onBody(bytes) }
    attempt.body.append(contentsOf: bytes.prefix(max(0, Attempt.limit - attempt.body.count)))
  }

  /// Returns the complete answer if it refuses the credential.
  func rejection(
    _ attempt: inout Attempt,
    _ onHead: HTTPClient.OnHead, _ onBody: HTTPClient.OnBody
  ) throws(Failure) -> RecipeResponse? {
    guard attempt.verdict != .accepted, let hops = attempt.hops else { return nil }
    let answer = RecipeResponse(head: attempt.head, body: attempt.body, url: hops.url, of: profile)
    if attempt.verdict == .undecided, try !answer.holdsAny(profile.recipe.session.expiredWhen) {
      try pass(&attempt, onHead, onBody)
      return nil
    }
    return answer
  }

  /// One try of a request, with the part of its answer that is held back.
  struct Attempt {
    /// The most bytes of the body that are kept.
    static let limit = 65_536
    let wanted: ProtectedRequest
    /// Whether the session can be replaced when the answer refuses it.
    let mayRenew: Bool
    /// Whether the caller stores `newCookies` itself.
    let storesCookiesLater: Bool
    fileprivate var verdict = Verdict.accepted
    fileprivate var head = ResponseHead()
    fileprivate var hops: HTTPClient.RedirectTrace?
    fileprivate var body: [UInt8] = []

    init(_ wanted: ProtectedRequest, mayRenew: Bool, storesCookiesLater: Bool = false) {
      self.wanted = wanted
      self.mayRenew = mayRenew
      self.storesCookiesLater = storesCookiesLater
    }

    /// The cookies that the answer set.
    var newCookies: [HTTPClient.NewCookie] { hops?.newCookies ?? [] }
  }

  /// What a status says about the credential.
  fileprivate enum Verdict {
    case accepted
    case rejected
    /// The body decides (`session.expired_when`).
    case undecided
  }

  private func verdict(on status: Int, _ wanted: ProtectedRequest, _ mayRenew: Bool) -> Verdict {
    let recipe = profile.recipe.session
    let isExpiry = recipe.expired.contains(status)
    if isExpiry, status != 401, !recipe.expiredWhen.isEmpty {
      return mayRenew || !wanted.accepted(status) ? .undecided : .accepted
    }
    return isExpiry && mayRenew || status == 401 && !wanted.accepted(401) ? .rejected : .accepted
  }

  /// Passes on what was held back.
  private func pass(
    _ held: inout Attempt,
    _ onHead: HTTPClient.OnHead, _ onBody: HTTPClient.OnBody
  ) throws(Failure) {
    guard let hops = held.hops else { return }
    held.verdict = .accepted
    try onHead(held.head, hops)
    let body = held.body
    guard !body.isEmpty else { return }
    var failure: Failure?
    body.withUnsafeBytes { bytes in
      do throws(Failure) { try onBody(bytes) } catch { failure = error }
    }
    if let failure { throw failure }
  }

  enum Attached {
    case ready(Credential)
    /// The prefetch was refused with this answer.
    case rejected(RecipeResponse)
  }

  /// Returns the headers and cookies that carry `session`, after the recipe's prefetch where the
  /// request needs it.
  func credential(
    of session: Session, for wanted: ProtectedRequest
  ) throws(Failure) -> Attached {
    let recipe = profile.recipe
    let pairs = recipe.request.pairs(for: wanted.request.method)
    var values = api.values(of: session)
    var cookies = recipe.request.cookies ? session.cookies : nil
    if let taken = wanted.taken {
      values.merge(taken.values)
      cookies = taken.cookies
    } else if let prefetch = recipe.prefetch,
      prefetch.isNeeded(for: (pairs + recipe.request.query).flatMap(\.value.names))
    {
      let answer = try api.fetch(
        prefetch, values: values, cookies: session.cookies, permitted: session.requestLimits)
      let carriesSession = prefetch.call.authorization == .access
      if answer.head.status == 401, carriesSession { return .rejected(answer) }
      try api.extract(prefetch, from: answer, into: &values)
      cookies = try answer.cookies(now: clock())
    }
    let filler = TemplateFiller(values: values, profile: profile.name)
    var credential = Credential(
      headers: try filler.headers(pairs), parameters: try filler.parameters(recipe.request.query),
      origins: try permittedOrigins(of: session), cookies: cookies)
    if let proof = try api.proof(for: values), let token = session.accessToken {
      credential.proof = (proof, token)
    }
    return .ready(credential)
  }

  /// Stores the cookies and rotated values of an answer.
  private func keepChanges(
    of session: inout Session, _ head: ResponseHead, _ hops: HTTPClient.RedirectTrace,
    storesLater: Bool
  ) throws(Failure) {
    guard session.variable == nil else { return }
    let keepsCookies = profile.recipe.request.cookies
    // Other requests may have changed the jar while this one was under way.
    var jar = session.cookies
    if keepsCookies { for cookie in hops.newCookies { jar.store(cookie, now: clock()) } }
    let cookies = jar == session.cookies ? nil : jar
    var tokens: RecipeClient.Tokens?
    var release: (() -> Void)?
    defer { release?() }
    if profile.recipe.session.renewOnEveryResponse {
      // The old values are dead: no signal may interrupt before the new ones are stored.
      release = holdSignals()
      let answer = RecipeResponse(
        head: head, body: [], url: hops.url, of: profile, sentCookies: cookies ?? session.cookies)
      tokens = try api.tokens(in: answer)
    }
    guard cookies != nil || tokens != nil else { return }
    var changed = session
    if let tokens { changed = changed.renewed(with: tokens, now: clock()) }
    if let cookies { changed.take(cookies, now: clock()) }
    // The answer is valid all the same: a failure to store is only a warning.
    do throws(Failure) {
      _ = try api.requestHeaders(api.values(of: changed))
      // The values before are dead, whether these can be stored or not.
      session = changed
      if tokens != nil || !storesLater {
        try update(changed, cookies: hops.newCookies, tokens: tokens)
      }
    } catch {
      warn("\(profile.name): new cookies or values could not be stored: \(error.message)")
    }
  }

  /// The session has been renewed, but the body can no longer be read.
  private func cannotRepeat(_ answer: RecipeResponse) -> Failure {
    var failure = Failure(
      .sessionExpired,
      "\(profile.name): the token was refused (HTTP \(answer.head.status)) and has been renewed, "
        + "but the body came from a pipe and cannot be sent again",
      hint: "run the command again, or send the body from a file")
    failure.profile = profile.name
    failure.status = answer.head.status
    failure.url = Redactor.withoutQuery(answer.url.text)
    return failure
  }

  /// Marks a refused session that nothing could replace, and returns the failure.
  func rejected(_ session: Session, _ answer: RecipeResponse) -> Failure {
    noteRefusal(of: session)
    var failure: Failure
    if let variable = session.variable {
      failure = Failure(
        .sessionExpired,
        "\(profile.name): the token in \(variable) was refused (HTTP \(answer.head.status))",
        hint: "set \(variable) to a valid token, or unset it and sign in")
      failure.profile = profile.name
    } else {
      failure = expired(
        session, .rejected, canRenew(session) ? .renewalUseless : .noRenewal)
      if let challenge = answer.head.tokenChallenge,
        challenge["error"] == "insufficient_user_authentication"
      {
        // The server wants another kind of sign-in, or a newer one (RFC 9470, section 3).
        failure.hint =
          Suggestion.loginAgain(
            profile.name, acrValues: challenge["acr_values"], maxAge: challenge["max_age"]
          ).command
      }
    }
    failure.server = answer.words
    failure.status = answer.head.status
    failure.url = Redactor.withoutQuery(answer.url.text)
    return failure
  }
}
