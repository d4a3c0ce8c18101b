/// A request that carries the session.
public struct ProtectedRequest {
  public var request: WireRequest
  public var maximumRedirects = 10
  /// Redirects on methods other than GET and HEAD too (`-L`).
  public var followsAllMethods = false
  /// Statuses that the person takes for success (`--ok`).
  public var accepted: (Int) -> Bool = { _ in false }

  public init(_ request: WireRequest) { self.request = request }
}

extension SessionKeeper {
  /// Where the session's access token may go: what was fixed at sign-in and what the profile says
  /// now, both (rule A2).
  public func permittedOrigins(of session: Session) throws(Failure) -> [Origin] {
    try api.requestOrigins().filter { session.requestOrigins.contains($0) }
  }

  /// Refuses a URL that the session was not made for, before anything is sent.
  public func check(_ url: WebURL, for session: Session) throws(Failure) {
    if try permittedOrigins(of: session).contains(url.origin) { return }
    if try api.requestOrigins().contains(url.origin) { throw api.notPinned(url.origin) }
    throw Failure(
      .originRefused,
      "\(profile.name): refused to send the credential of \(api.base.origin) to \(url.origin)",
      hint: "network.allow_origins in the profile, then a new login, would allow it")
  }

  /// `session`, renewed first if its access token is about to end.
  ///
  /// - Throws: `session_expired` when it has ended and cannot be renewed; nothing has been sent then.
  /// - Parameter minimum: seconds that it must have left; none: what a request needs.
  public func fresh(_ session: Session, minimum: Double? = nil) throws(Failure) -> Session {
    guard session.isDue(now: clock(), minimum: minimum) else { return session }
    if session.refreshable, api.canRefresh(session) { return try renewed(session, .due) }
    if let left = session.secondsLeft(now: clock()), left <= 0 {
      throw expired(session, .due, "no renewal")
    }
    return session
  }

  /// Sends a request with the session and passes the answer on: renewed before it, where its token
  /// is about to end, or once after the server did not accept it.
  ///
  /// - Throws: `origin_refused`, `session_expired` (401 with a credential), what sending throws.
  public func send(
    _ wanted: ProtectedRequest, with session: Session,
    onHead: (ResponseHead, HTTPClient.Hops) throws(Failure) -> Void,
    onBody: (UnsafeRawBufferPointer) throws(Failure) -> Void
  ) throws(Failure) {
    try check(wanted.request.url, for: session)
    let before = session.accessToken
    var session = try fresh(session)
    var mayRenew = session.refreshable && api.canRefresh(session)
    if let before, let now = session.accessToken, !before.hasSameBytes(as: now) { mayRenew = false }
    while true {
      let rejection = try attempt(wanted, &session, mayRenew, onHead, onBody)
      guard let rejection else { return }
      guard mayRenew else { throw rejected(session, rejection) }
      session = try renewed(session, .rejected)
      mayRenew = false
    }
  }

  /// Sends a request that carries nothing of the session.
  public func sendAnonymously(
    _ wanted: ProtectedRequest,
    onHead: (ResponseHead, HTTPClient.Hops) throws(Failure) -> Void,
    onBody: (UnsafeRawBufferPointer) throws(Failure) -> Void
  ) throws(Failure) {
    var none: Credential?
    try api.http.exchange(
      wanted.request, credential: &none, maximumRedirects: wanted.maximumRedirects,
      followAllMethods: wanted.followsAllMethods, onHead: onHead, onBody: onBody)
  }

  /// One try; the answer that did not accept the credential comes back instead of being passed on.
  private func attempt(
    _ wanted: ProtectedRequest, _ session: inout Session, _ mayRenew: Bool,
    _ onHead: (ResponseHead, HTTPClient.Hops) throws(Failure) -> Void,
    _ onBody: (UnsafeRawBufferPointer) throws(Failure) -> Void
  ) throws(Failure) -> Answer? {
    let recipe = profile.recipe
    var credential: Credential? = Credential(
      headers: try api.requestHeaders(api.values(of: session)),
      origins: try permittedOrigins(of: session),
      cookies: recipe.request.cookies ? session.cookies : nil)
    var rejection: (head: ResponseHead, url: WebURL)?
    var body: [UInt8] = []
    var rotated: Values?
    try api.http.exchange(
      wanted.request, credential: &credential, maximumRedirects: wanted.maximumRedirects,
      followAllMethods: wanted.followsAllMethods
    ) { (head, hops) throws(Failure) in
      if hops.carriedCredential {
        if let page = hops.signInPage, head.mediaType == "text/html" {
          throw expired(session, .rejected, "it redirected to its sign-in page (\(page))")
        }
        let isRejection =
          recipe.session.expired.contains(head.status)
          && (mayRenew || head.status == 401 && !wanted.accepted(401))
        if isRejection {
          rejection = (head, hops.url)
          return
        }
        if recipe.session.renewOnEveryResponse {
          let answer = Answer(head: head, body: [], url: hops.url, of: profile)
          rotated = try api.tokens(in: answer, cookiesFrom: CookieJar())?.values
        }
      }
      try onHead(head, hops)
    } onBody: { (bytes) throws(Failure) in
      guard rejection != nil else { return try onBody(bytes) }
      if body.count < 65_536 { body.append(contentsOf: bytes.prefix(65_536)) }
    }
    try keepChanges(of: &session, credential?.cookies, rotated)
    return rejection.map {
      Answer(head: $0.head, body: body, url: $0.url, of: profile)
    }
  }

  private func keepChanges(
    of session: inout Session, _ jar: CookieJar?, _ rotated: Values?
  ) throws(Failure) {
    let cookies = jar.flatMap { $0 == session.cookies ? nil : $0 }
    guard cookies != nil || rotated != nil, session.variable == nil else { return }
    if let cookies { session.cookies = cookies }
    if let rotated { session.values.merge(rotated) }
    // The answer is here and stands: a store that fails now is a warning.
    do throws(Failure) { try update(session, cookies: cookies, rotated: rotated) } catch {
      warn("\(profile.name): new cookies or values could not be stored: \(error.message)")
    }
  }

  private func rejected(_ session: Session, _ answer: Answer) -> Failure {
    var failure: Failure
    if let variable = session.variable {
      failure = Failure(
        .sessionExpired,
        "\(profile.name): the token in \(variable) was refused (HTTP \(answer.head.status))",
        hint: "set \(variable) to a token that is valid, or unset it and sign in")
      failure.profile = profile.name
    } else {
      let why =
        profile.recipe.refresh == nil || !session.refreshable ? "no renewal" : "renewed in vain"
      failure = expired(session, .rejected, why)
    }
    failure.server = answer.words
    failure.status = answer.head.status
    failure.url = Redactor.withoutQuery(answer.url.text)
    return failure
  }

  /// Who the session is, by the server: the whole answer of the recipe's whoami.
  ///
  /// - Throws: `usage` when the recipe has none; `client_error`, `server_error`,
  ///   `answer_not_understood` for other answers than wanted; what `send` throws.
  public func whoami(_ session: Session) throws(Failure) -> (name: String?, user: JSONValue) {
    guard let call = profile.recipe.whoami else {
      throw Failure(.usage, "\(profile.name): the recipe has no whoami")
    }
    let expansion = Expansion(values: api.values(of: session), profile: profile.name)
    let path = try expansion.filled(call.path, for: .path)
    var request = WireRequest(
      method: call.method,
      url: try api.url(for: path.withBytes { String(decoding: $0, as: UTF8.self) }))
    for pair in call.headers {
      request.headers.append(try expansion.header(pair.name, pair.value))
    }
    if !request.headers.contains(where: { $0.name.asciiLowercased == "accept" }) {
      request.headers.append(try WireHeader(name: "Accept", value: "application/json"))
    }
    if call.method == "POST" { request.body = try expansion.json(call) ?? SharedSecret("") }
    var wanted = ProtectedRequest(request)
    // A redirect of a whoami is an answer that was not understood (rule A6).
    wanted.maximumRedirects = 0
    var (head, body) = (ResponseHead(), [UInt8]())
    try send(wanted, with: session) { (answer, _) throws(Failure) in
      head = answer
    } onBody: { (bytes) throws(Failure) in
      guard body.count + bytes.count <= HTTPClient.signInBody else {
        throw Failure(.answerNotUnderstood, "the answer is longer than 1 MiB")
      }
      body.append(contentsOf: bytes)
    }
    let answer = Answer(head: head, body: body, url: request.url, of: profile)
    try api.refuse(answer, of: call, what: "to tell who this is")
    guard let user = answer.json else {
      throw api.notUnderstood(answer, call, "no JSON in the answer to \(api.named(call))")
    }
    return (try answer.value(at: profile.recipe.session.account)?.scalarText, user)
  }
}
