/// Questions about a session: whose it is, and whether its token is valid.
extension SessionKeeper {
  /// Returns what the authorization server says about the access token (RFC 7662, section 2.2).
  ///
  /// - Throws: `usage` when it cannot be asked; `client_error`, `server_error`,
  ///   `answer_not_understood` for other answers; what a renewal and sending throw.
  package func introspection(of session: Session) throws(Failure) -> JSONValue {
    guard let call = profile.recipe.introspection, api.canFill(call, with: session) else {
      throw Failure(
        .usage, "\(profile.name): this profile has no introspection endpoint",
        hint: "set oauth.introspection_endpoint in the profile")
    }
    let session = try fresh(session)
    let answer = try api.send(
      call, values: api.values(of: session), permitted: session.signInLimits)
    try api.refuse(answer, of: call, what: "to introspect the token", refused: [])
    guard let about = answer.json else {
      throw api.notUnderstood(answer, "no JSON in the answer to \(api.named(call, answer))")
    }
    return about
  }

  /// The request that asks the server whose `session` it is; nil if there is none, or if the session
  /// lacks a value that it needs.
  package func whoamiCall(of session: Session) -> RecipeRequest? {
    profile.recipe.whoami.flatMap { api.canFill($0, with: session) ? $0 : nil }
  }

  /// Returns the account's name and the whole answer of the recipe's whoami.
  ///
  /// - Throws: `usage` when the recipe has none; `client_error`, `server_error`,
  ///   `answer_not_understood` for other answers; what `send` throws.
  package func whoami(_ session: Session) throws(Failure) -> (name: String?, user: JSONValue) {
    guard let call = profile.recipe.whoami else {
      throw Failure(.usage, "\(profile.name): this profile has no whoami request")
    }
    let answer = try ask(call, session)
    if let failure = lacksOpenID(session, call, answer) { throw failure }
    let isSuccess = (200...299).contains(answer.head.status)
    // Some servers answer 200 to everyone and report only in the body that no one is signed in.
    if isSuccess, try answer.saysNo() || answer.json.map(Self.isNobody) ?? false {
      throw rejected(session, answer)
    }
    try api.refuse(answer, of: call, what: "the whoami request", refused: [])
    guard let user = answer.json else {
      throw api.notUnderstood(
        answer, "no JSON in the answer to \(api.named(call, answer))",
        hint: api.showCommand.map { "to see [whoami], run: " + $0 })
    }
    if call.isEndpoint, let subject = session.subject, let named = user["sub"]?.text,
      !named.utf8.elementsEqual(subject.utf8)
    {
      // OpenID Connect Core 1.0, section 5.3.2.
      throw api.notUnderstood(answer, "userinfo is about another user")
    }
    return (try answer.value(at: profile.recipe.session.account)?.scalarText, user)
  }

  /// Returns the failure for a userinfo endpoint that refuses the token of a sign-in that was not one
  /// of OpenID Connect (OpenID Connect Core 1.0, section 5.3); nil for other answers.
  private func lacksOpenID(
    _ session: Session, _ call: RecipeRequest, _ answer: RecipeResponse
  ) -> Failure? {
    let status = answer.head.status
    guard call.isEndpoint, status == 401 || status == 403, !session.hasScope("openid") else {
      return nil
    }
    let scope = ["openid"] + session.scopes
    var failure = Failure(
      status == 403 ? .clientError : .sessionExpired,
      "\(profile.name): HTTP \(status): userinfo requires the scope openid, which the session lacks",
      suggestion: .loginForScope(
        profile.name, scope.joined(separator: " "), account: session.account))
    failure.server = answer.words
    failure.status = status
    failure.url = Redactor.withoutQuery(answer.url.text)
    failure.profile = profile.name
    return failure
  }

  /// Whether `user` means that no one is signed in: null, false or empty.
  private static func isNobody(_ user: JSONValue) -> Bool {
    switch user {
    case .null, .bool(false): true
    case .object(let members): members.isEmpty
    case .array(let items): items.isEmpty
    default: false
    }
  }

  /// Sends a call with the session, or with what else its `authorization` names.
  private func ask(_ call: RecipeRequest, _ session: Session) throws(Failure) -> RecipeResponse {
    var values = api.values(of: session)
    guard call.authorization == .access else {
      return try api.send(
        call, values: values, cookies: session.cookies, permitted: session.signInLimits)
    }
    if call.isEndpoint { return try askEndpoint(call, session) }
    // Each try attaches the session's headers: a renewal changes them.
    var plain = call
    plain.authorization = .none
    var cookies = session.cookies
    let isTaken = try api.prefetch(
      for: plain, into: &values, &cookies, permitted: session.requestLimits)
    var wanted = ProtectedRequest(try api.request(for: plain, values: values))
    if isTaken { wanted.taken = (values.filtered(\.isTaken), cookies) }
    // A redirect of a recipe's call is an answer that was not understood (rule A6).
    wanted.redirects.maximum = 0
    wanted.timeLimit = HTTPClient.signInTime
    var (head, body) = (ResponseHead(), [UInt8]())
    var session = session
    try send(wanted, with: &session) { (answer, _) throws(Failure) in
      head = answer
    } onBody: { (bytes) throws(Failure) in
      guard body.count + bytes.count <= HTTPClient.signInBody else {
        throw Failure(
          .answerNotUnderstood, "\(profile.name): the answer is longer than 1024 KiB")
      }
      body.append(contentsOf: bytes)
    }
    return RecipeResponse(head: head, body: body, url: wanted.request.url, of: profile)
  }

  /// Sends a call with the access token to an endpoint that the session fixed at sign-in, and once
  /// more after a renewal if the token is refused.
  private func askEndpoint(
    _ call: RecipeRequest, _ session: Session
  ) throws(Failure) -> RecipeResponse {
    var session = try fresh(session)
    var hasRenewed = false
    while true {
      let answer = try api.send(
        call, values: api.values(of: session), permitted: session.signInLimits)
      guard answer.head.status == 401 else { return answer }
      guard !hasRenewed, canRenew(session) else {
        throw lacksOpenID(session, call, answer) ?? rejected(session, answer)
      }
      session = try renewed(session, .rejected)
      hasRenewed = true
    }
  }
}
