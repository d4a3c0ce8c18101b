/// The result of a sign-in or a registration.
package struct SignedIn {
  /// The new session, not stored yet.
  package var session: Session
  /// Where the token was found, if it had to be guessed: a JSON Pointer.
  package var guessedPlace: String?
  /// The keys of the profile that the sign-in changed, such as those of a registration.
  package var changes: [(key: String, value: JSONValue)] = []
  /// What the server answered to a name and password that it accepted, if that is an error: the
  /// path of the sign-in is forbidden, for example.
  package var refusedPath: String?

  /// Creates a result; without `guessedPlace` the token was where the recipe expects it.
  package init(session: Session, guessedPlace: String? = nil, refusedPath: String? = nil) {
    self.session = session
    self.guessedPlace = guessedPlace
    self.refusedPath = refusedPath
  }
}

extension RecipeClient {
  /// Signs in with `values` and returns a session, which is not stored.
  ///
  /// - Parameters:
  ///   - account: the name that the user gave; nil to take it from the answer.
  ///   - permitted: the limits of a stored session; nil to use only the profile's.
  ///   - seconds: the time limit of the sign-in; a second request with a code has the default.
  ///   - onAnswer: called with its status when the answer begins to arrive.
  ///   - code: returns the one-time code; called only when the server asks for one.
  /// - Throws: `credentials_refused`, `client_error`, `server_error`, `answer_not_understood`, and
  ///   what sending and `code` throw.
  package func login(
    _ values: TemplateValues, account: String?, permitted: SessionLimits? = nil,
    seconds: Double = HTTPClient.signInTime, onAnswer: (_ status: Int) -> Void = { _ in },
    code: (Origin) throws(Failure) -> SharedSecret
  ) throws(Failure) -> SignedIn {
    guard let call = profile.recipe.login else {
      throw Failure(
        .usage, "\(profile.name): this profile has no sign-in with a name and password",
        hint: Suggestion.storeToken(profile.name).command
          .map { "to store a token or key, run: \($0)" })
    }
    var answer = try send(
      call, values: values, permitted: permitted, seconds: seconds, onAnswer: onAnswer)
    var refusedPath: String?
    if let factor = profile.recipe.secondFactor, try answer.asksForCode(factor) {
      answer = try sendCode(factor, after: answer, to: call, values, code)
    } else if (300...399).contains(answer.head.status), try answer.accessToken() != nil {
      // A form that signs in and redirects to a page: the token came with it, so the page is not
      // requested.
    } else if try refusesOnlyPath(answer, of: call, values, permitted: permitted) {
      refusedPath = "\(named(call, answer)): HTTP \(answer.head.status)"
    } else {
      try refuse(
        answer, of: call, what: "this name and password", refused: answer.recipe.refused,
        hint: checksOnlyPassword(call) && answer.head.status == 403
          ? howToSet("login.path=/PATH")
          : Suggestion.login(profile.name, account: account ?? "NAME").command)
    }
    guard var signedIn = try session(from: answer, values: values, account: account) else {
      throw notUnderstood(
        answer, "no token in the answer to \(named(call, answer))", hint: howToPlaceToken)
    }
    signedIn.refusedPath = refusedPath
    return signedIn
  }

  /// Whether the sign-in is a request by HTTP Basic that only checks the password.
  private func checksOnlyPassword(_ call: RecipeRequest) -> Bool {
    profile.recipe.session.keepPassword && call.authorization == .basic
      && ["GET", "HEAD"].contains(call.method)
  }

  /// Whether `answer` accepts the password but not the path: without a credential the same request
  /// gets 401 (RFC 9110, sections 15.5.2 and 15.5.4).
  private func refusesOnlyPath(
    _ answer: RecipeResponse, of call: RecipeRequest, _ values: TemplateValues,
    permitted: SessionLimits?
  ) throws(Failure) -> Bool {
    guard checksOnlyPassword(call), [403, 404, 405].contains(answer.head.status) else {
      return false
    }
    var plain = call
    plain.authorization = .none
    return try send(plain, values: values, permitted: permitted).head.status == 401
  }

  /// Sends the one-time code that the server asks for: with the recipe's second request, or with
  /// the sign-in again.
  private func sendCode(
    _ factor: SecondFactor, after first: RecipeResponse, to login: RecipeRequest,
    _ values: TemplateValues,
    _ code: (Origin) throws(Failure) -> SharedSecret
  ) throws(Failure) -> RecipeResponse {
    let call = factor.call ?? login
    var values = values
    values[.otp] = try code(origin(of: call))
    if factor.call != nil {
      // The fields of the sign-in's body do not belong in this one.
      let named = call.names(request: profile.recipe.request)
      values.fields.removeAll { !named.contains(.field($0.name)) }
    }
    try extract(factor.take, from: first, into: &values)
    let answer = try send(call, values: values, cookies: try first.cookies(now: clock()))
    if (300...399).contains(answer.head.status), try answer.accessToken() != nil { return answer }
    let what = "this one-time code"
    let asksAgain = try answer.asksForCode(factor) ? [answer.head.status] : []
    try refuse(answer, of: call, what: what, refused: answer.recipe.refused + [401] + asksAgain)
    guard asksAgain.isEmpty else {
      throw Failure(
        .credentialsRefused, "\(profile.name) refused \(what) (HTTP \(answer.head.status))")
    }
    return answer
  }

  /// Creates an account; returns a session only if the server answers with tokens.
  ///
  /// - Throws: as `login`; 409 is a refusal too.
  package func register(_ values: TemplateValues, account: String?) throws(Failure) -> SignedIn? {
    guard let call = profile.recipe.register else {
      throw Failure(
        .usage, "\(profile.name): this profile has no registration",
        hint: howToSet("register.path=/PATH").map { "if the API has one: " + $0 })
    }
    let answer = try send(call, values: values)
    try refuse(answer, of: call, what: "this registration", refused: answer.recipe.refused + [409])
    guard !profile.recipe.session.keepPassword else { return nil }
    return try session(from: answer, values: values, account: account)
  }

  /// Returns a session for a token from elsewhere; sends no request.
  package func adopt(_ values: TemplateValues, account: String) throws(Failure) -> Session {
    var tokens = Tokens()
    tokens.values = values.filtered { $0 == .accessToken || $0 == .refreshToken }
    let now = clock()
    if let token = values[.accessToken]?.text {
      let empty = RecipeResponse(head: ResponseHead(), body: [], url: base, of: profile)
      tokens.expiresAt = try empty.expiry(token: token, now: now)
      tokens.lifetime = tokens.expiresAt.map { max(0, $0.seconds - now.seconds) }
    }
    return try makeSession(tokens, values: values, account: account, now: now)
  }

  /// Returns the session in `answer`; nil if it holds no token.
  ///
  /// - Parameter nameOf: returns the account if neither the user nor the answer names it.
  func session(
    from answer: RecipeResponse, values: TemplateValues, account: String?,
    nameOf: (Tokens) throws(Failure) -> String? = { (_) throws(Failure) in nil }
  ) throws(Failure) -> SignedIn? {
    guard let tokens = try tokens(in: answer) else { return nil }
    var name = account ?? tokens.account
    if name == nil { name = try nameOf(tokens) }
    guard let name else {
      throw Failure(
        .inputNeeded, "\(profile.name): the answer does not name the account",
        hint: "give the account with -u NAME")
    }
    try Self.check(account: name)
    let session = try makeSession(tokens, values: values, account: name, now: clock())
    return SignedIn(session: session, guessedPlace: tokens.guessedPlace)
  }

  private func makeSession(
    _ tokens: Tokens, values: TemplateValues, account: String, now: Timestamp
  ) throws(Failure) -> Session {
    var kept = tokens.values
    for name in [Template.Name.appKey, .clientSecret] where isNeededLater(name) {
      kept[name] = values[name]
    }
    if profile.recipe.session.keepPassword { kept[.password] = values[.password] }
    var session = Session(
      profile: profile.name, account: account, values: kept, now: now,
      requestOrigins: try requestOrigins(), signInOrigins: try signInOrigins())
    session.way = way
    session.expiresAt = tokens.expiresAt
    session.lifetime = tokens.lifetime
    session.cookies = tokens.cookies
    session.notes = tokens.notes
    session.subject = tokens.subject
    session.sessionCookie = tokens.sessionCookie
    session.refreshable = canRefresh(session)
    // Check now that requests can carry the session, not at the first request.
    do {
      _ = try requestHeaders(self.values(of: session))
    } catch  where error.kind == .inputNeeded {
      throw Failure(.answerNotUnderstood, error.message, hint: "set its place in session.keep")
    }
    return session
  }

  /// Returns the values that the recipe's requests may use for `session`.
  func values(of session: Session) -> TemplateValues {
    var values = session.values
    if !session.account.isEmpty { values[.username] = SharedSecret(session.account) }
    for note in session.notes { values[.session(note.key)] = SharedSecret(note.value) }
    // A session without it is of an earlier version.
    if let oauth = profile.recipe.oauth, values[OAuthSettings.renewalResource] == nil {
      values[OAuthSettings.renewalResource] = SharedSecret(oauth.keptResources)
    }
    return values
  }

  /// Whether the recipe can renew `session`.
  package func canRefresh(_ session: Session) -> Bool {
    guard let call = profile.recipe.refresh, session.variable == nil else { return false }
    // A client's own credential needs no refresh token, which the call leaves out then.
    let lacksToken =
      session.values[.refreshToken] == nil
      && session.notes[OAuthSettings.renewalGrant.member] == OAuthSettings.refreshGrant
    return !lacksToken && canFill(call, with: session)
  }

  /// Whether `session` has a refresh token that the recipe does not use.
  package func leavesRefreshToken(of session: Session) -> Bool {
    profile.recipe.refresh == nil && session.variable == nil
      && session.values[.refreshToken] != nil
  }

  /// The command that says how sessions are renewed with their refresh token.
  package var setRefresh: Suggestion {
    .setProfile(profile.name, setting: "refresh.path=/PATH")
  }

  /// Whether `session` has every value that `call` needs, except those that the prefetch will
  /// bring.
  func canFill(_ call: RecipeRequest, with session: Session) -> Bool {
    let values = values(of: session)
    return call.requiredNames(request: profile.recipe.request).allSatisfy {
      values[$0] != nil || $0.isTaken
    }
  }

  /// Whether a later request needs `name`, the application's key or the client secret, so that it
  /// is kept.
  private func isNeededLater(_ name: Template.Name) -> Bool {
    let recipe = profile.recipe
    let later = [recipe.refresh, recipe.logout, recipe.whoami, recipe.prefetch?.call]
    return later.contains { $0?.names(request: recipe.request).contains(name) ?? false }
      || (recipe.request.headers + recipe.request.writeHeaders + recipe.request.query).contains {
        $0.value.names.contains(name)
      }
  }

  /// Checks an account's name: UTF-8 without control characters, at most 256 bytes (rule B18).
  package static func check(account: String) throws(Failure) {
    guard !account.isEmpty, account.utf8.count <= 256,
      account.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control })
    else {
      throw Failure(
        .usage, "an account name must have 1 to 256 bytes and no control characters")
    }
  }

  // MARK: - Answers that are not what was wanted

  /// Throws for every answer that is not a success (design 3).
  func refuse(
    _ answer: RecipeResponse, of call: RecipeRequest, what: String, refused: [Int],
    hint: String? = nil
  ) throws(Failure) {
    let status = answer.head.status
    let place = named(call, answer)
    var failure: Failure
    if let error = try answer.errorCode() {
      failure = refusal(error, what: what, place: place)
      failure.errorCode = error.code
    } else if (200...299).contains(status) {
      guard try answer.saysNo() else { return }
      failure = Failure(
        refused.isEmpty ? .answerNotUnderstood : .credentialsRefused,
        "\(profile.name) refused \(what) (HTTP \(status))")
    } else if refused.contains(status) {
      failure = Failure(.credentialsRefused, "\(profile.name) refused \(what) (HTTP \(status))")
    } else if (300...399).contains(status) {
      let target = answer.head.redirect.map { DisplayText.oneLine(Redactor.withoutQuery($0)) }
      failure = notUnderstood(
        answer,
        "\(place) answered with a redirect\(target.map { " to \($0)" } ?? "") that is not followed")
      failure.hint = pathMayBeWrong
    } else {
      let reason = DisplayText.oneLine("\(status) \(answer.head.reason)", limit: 80)
      failure = Failure(
        status >= 500 || status < 100 ? .serverError : .clientError,
        "\(profile.name): HTTP \(reason): \(place)")
      if status == 429, let wait = answer.head.first("Retry-After") {
        failure.hint =
          "the server asks you to wait (Retry-After: \(DisplayText.oneLine(wait, limit: 40)))"
      } else if status == 404 || status == 405 {
        failure.hint = pathMayBeWrong
      }
    }
    if failure.kind == .credentialsRefused, failure.hint == nil { failure.hint = hint }
    failure.server = answer.words
    failure.status = status
    failure.url = Redactor.withoutQuery(answer.url.text)
    failure.profile = profile.name
    throw failure
  }

  /// Returns the failure that an error code of the server means at a sign-in.
  private func refusal(
    _ error: (code: String, meaning: ErrorCodes.Meaning), what: String, place: String
  ) -> Failure {
    // A server may repeat what it was sent: masked before it is cut, which would hide it.
    let code = DisplayText.oneLine(redactor.mask(error.code), limit: 80)
    let refused = "\(profile.name) refused"
    return switch error.meaning {
    case .refused: Failure(.credentialsRefused, "\(refused) \(what) (\(code))")
    case .clientRefused:
      Failure(
        .credentialsRefused, "\(refused) this client (\(code))",
        hint: "check oauth.client_id and oauth.client_auth"
          + (showCommand.map { ": " + $0 } ?? ""))
    case .mistake(let advice):
      Failure(.clientError, "\(profile.name): \(code): \(place)", hint: advice)
    case .temporary:
      Failure(.serverError, "\(profile.name): \(code): \(place)", hint: "try again later")
    case .late: Failure(.timeout, "\(profile.name): the sign-in timed out (\(code))")
    }
  }

  /// The command that shows the API's settings; nil for a profile that is not stored.
  var showCommand: String? {
    profile.isDraft
      ? nil : Suggestion.showProfile(profile.name).command
  }

  private var pathMayBeWrong: String {
    "the path may be wrong" + (showCommand.map { ": " + $0 } ?? "")
  }

  /// Returns how to set a key of the profile: by a command, in its file if it is used in place, or
  /// with the options that create it if it is new.
  package func howToSet(_ setting: String) -> String? {
    if profile.isDraft { return "repeat the command with --set \(setting)" }
    return profile.name.utf8.contains(UInt8(ascii: "/"))
      ? "set \(setting) in \(DisplayText.oneLine(profile.name))"
      : Suggestion.setProfile(profile.name, setting: setting).command
  }

  /// How to set where answers have the token.
  var howToPlaceToken: String? { howToSet("session.access_token=/POINTER") }

  /// - Parameter hint: shown unless the answer is a page, which holds nothing to find.
  func notUnderstood(_ answer: RecipeResponse, _ message: String, hint: String? = nil) -> Failure {
    var failure = Failure(
      .answerNotUnderstood,
      "\(profile.name): \(message) (HTTP \(answer.head.status), \(answer.shape))",
      hint: answer.head.isPage
        ? "the answer is a web page: this path may be for browsers only" : hint)
    failure.server = answer.words
    failure.status = answer.head.status
    failure.profile = profile.name
    return failure
  }
}
