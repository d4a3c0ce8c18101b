/// What a sign-in or a registration came to.
package struct SignedIn {
  /// The new session, not stored yet.
  package var session: Session
  /// Where the token stood, when it had to be guessed: a JSON Pointer.
  package var guessedPlace: String?

  /// A session whose token was where it was expected.
  package init(session: Session, guessedPlace: String? = nil) {
    self.session = session
    self.guessedPlace = guessedPlace
  }
}

extension RecipeClient {
  /// Signs in with `values` and makes a session of the answer; stores nothing.
  ///
  /// - Parameters:
  ///   - account: the name that the person gave; where there is none, the answer's is taken.
  ///   - permitted: what a stored session allows; without one the profile does.
  ///   - seconds: for the sign-in; a second request, with a code, has as much.
  ///   - onAnswer: called with its status when the answer begins to arrive.
  ///   - code: gets the one-time code; called only when the server asks for one.
  /// - Throws: `credentials_refused`, `client_error`, `server_error`, `answer_not_understood`, and
  ///   what sending and `code` throw.
  package func login(
    _ values: TemplateValues, account: String?, permitted: SessionLimits? = nil,
    seconds: Double = HTTPClient.signInTime, onAnswer: (_ status: Int) -> Void = { _ in },
    code: (Origin) throws(Failure) -> SharedSecret
  ) throws(Failure) -> SignedIn {
    guard let call = profile.recipe.login else {
      throw Failure(
        .usage, "\(profile.name): this API has no sign-in by name and password",
        hint: Suggestion.storeToken(profile.name).command
          .map { $0 + " stores a token or key of yours" })
    }
    var answer = try send(
      call, values: values, permitted: permitted, seconds: seconds, onAnswer: onAnswer)
    if let factor = profile.recipe.secondFactor, try answer.asksForCode(factor) {
      answer = try sendCode(factor, after: answer, to: call, values, code)
    } else if (300...399).contains(answer.head.status), try answer.accessToken() != nil {
      // A form that signs in and goes on to a page: the token came with it, the page is not asked.
    } else {
      try refuse(
        answer, of: call, what: "this name and password", refused: answer.recipe.refused,
        hint: Suggestion.login(profile.name, account: "NAME").command)
    }
    guard let signedIn = try session(from: answer, values: values, account: account) else {
      throw notUnderstood(
        answer, "no token in the answer to \(named(call))", hint: howToPlaceToken)
    }
    return signedIn
  }

  /// Answers the server's question for a one-time code: the recipe's second request, or the sign-in
  /// again, this time with the code.
  private func sendCode(
    _ factor: SecondFactor, after first: RecipeResponse, to login: RecipeRequest,
    _ values: TemplateValues,
    _ code: (Origin) throws(Failure) -> SharedSecret
  ) throws(Failure) -> RecipeResponse {
    let call = factor.call ?? login
    var values = values
    values[.otp] = try code(origin(of: call))
    if factor.call != nil {
      // What joined the body of the sign-in has nothing to do here.
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

  /// Creates an account; a session only where the server answers with tokens.
  ///
  /// - Throws: as `login`; 409 is a refusal too.
  package func register(_ values: TemplateValues, account: String?) throws(Failure) -> SignedIn? {
    guard let call = profile.recipe.register else {
      throw Failure(
        .usage, "\(profile.name): the recipe has no registration",
        hint: howToSet("register.path=/PATH").map { "if the API has one: " + $0 })
    }
    let answer = try send(call, values: values)
    try refuse(answer, of: call, what: "this registration", refused: answer.recipe.refused + [409])
    guard !profile.recipe.session.keepPassword else { return nil }
    return try session(from: answer, values: values, account: account)
  }

  /// A session around a token that was got elsewhere; no request is sent.
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

  /// The session that `answer` makes; nil when it holds no token.
  private func session(
    from answer: RecipeResponse, values: TemplateValues, account: String?
  ) throws(Failure) -> SignedIn? {
    guard let tokens = try tokens(in: answer) else { return nil }
    guard let name = account ?? tokens.account else {
      throw Failure(
        .inputNeeded, "\(profile.name): the answer does not tell the account",
        hint: "-u NAME names it")
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
    session.refreshable = canRefresh(session)
    // What no request could carry is no sign-in: better to know now than at the first request.
    do {
      _ = try requestHeaders(self.values(of: session))
    } catch  where error.kind == .inputNeeded {
      throw Failure(.answerNotUnderstood, error.message, hint: "session.keep names its place")
    }
    return session
  }

  /// The values that the recipe's requests may use for `session`.
  func values(of session: Session) -> TemplateValues {
    var values = session.values
    if !session.account.isEmpty { values[.username] = SharedSecret(session.account) }
    return values
  }

  /// Whether the recipe can renew `session`.
  package func canRefresh(_ session: Session) -> Bool {
    guard let call = profile.recipe.refresh, session.variable == nil else { return false }
    return canFill(call, with: session)
  }

  /// Whether `session` has every value that `call` needs; what the request before it takes will be
  /// there in time.
  func canFill(_ call: RecipeRequest, with session: Session) -> Bool {
    let values = values(of: session)
    return call.requiredNames(request: profile.recipe.request).allSatisfy {
      values[$0] != nil || $0.isTaken
    }
  }

  /// The application's key and the client secret are kept when a later request needs them.
  private func isNeededLater(_ name: Template.Name) -> Bool {
    let recipe = profile.recipe
    let later = [recipe.refresh, recipe.logout, recipe.whoami, recipe.prefetch?.call]
    return later.contains { $0?.names(request: recipe.request).contains(name) ?? false }
      || (recipe.request.headers + recipe.request.writeHeaders).contains {
        $0.value.names.contains(name)
      }
  }

  /// UTF-8 without control characters, at most 256 bytes (rule B18).
  package static func check(account: String) throws(Failure) {
    guard !account.isEmpty, account.utf8.count <= 256,
      account.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control })
    else {
      throw Failure(
        .usage, "an account's name has 1 to 256 bytes and no control characters")
    }
  }

  // MARK: - Answers that are not what was wanted

  /// Throws for every answer that is not a success (design 3).
  func refuse(
    _ answer: RecipeResponse, of call: RecipeRequest, what: String, refused: [Int],
    hint: String? = nil
  ) throws(Failure) {
    let status = answer.head.status
    let place = named(call)
    var failure: Failure
    if (200...299).contains(status) {
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
        "\(place) answered with a redirect\(target.map { " to \($0)" } ?? ""), not with a sign-in")
      failure.hint = pathMayBeWrong
    } else {
      let reason = DisplayText.oneLine("\(status) \(answer.head.reason)", limit: 80)
      failure = Failure(
        status >= 500 || status < 100 ? .serverError : .clientError,
        "\(profile.name): HTTP \(reason): \(place)")
      if status == 429, let wait = answer.head.first("Retry-After") {
        failure.hint =
          "the server asks to wait: Retry-After: \(DisplayText.oneLine(wait, limit: 40))"
      } else if status == 404 || status == 405 {
        failure.hint = pathMayBeWrong
      }
    }
    if failure.kind == .credentialsRefused { failure.hint = hint }
    failure.server = answer.words
    failure.status = status
    failure.url = Redactor.withoutQuery(answer.url.text)
    failure.profile = profile.name
    throw failure
  }

  /// The command that tells how the API is spoken to; none for a profile that is not kept.
  var showCommand: String? {
    profile.isDraft
      ? nil : Suggestion.showProfile(profile.name).command
  }

  private var pathMayBeWrong: String {
    "the path may be wrong" + (showCommand.map { ": " + $0 } ?? "")
  }

  /// How a key of the profile is set: by a command; where it is read in place, in its file; where it
  /// is new, by the options that make it.
  package func howToSet(_ setting: String) -> String? {
    if profile.isDraft { return "the same with --set \(setting)" }
    return profile.name.utf8.contains(UInt8(ascii: "/"))
      ? "\(setting), in \(DisplayText.oneLine(profile.name))"
      : Suggestion.setProfile(profile.name, setting: setting).command
  }

  /// How the recipe learns where an answer has the token.
  var howToPlaceToken: String? { howToSet("session.access_token=/POINTER") }

  /// - Parameter hint: for all but a page, in which there is nothing to be found.
  func notUnderstood(_ answer: RecipeResponse, _ message: String, hint: String? = nil) -> Failure {
    var failure = Failure(
      .answerNotUnderstood,
      "\(profile.name): \(message) (HTTP \(answer.head.status), \(answer.shape))",
      hint: answer.head.isPage ? "a page answered: this path may be the one for browsers" : hint)
    failure.server = answer.words
    failure.status = answer.head.status
    failure.profile = profile.name
    return failure
  }
}
