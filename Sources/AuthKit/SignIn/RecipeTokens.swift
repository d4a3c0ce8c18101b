extension RecipeClient {
  /// The tokens and values of a sign-in or refresh.
  struct Tokens {
    var values = TemplateValues()
    var expiresAt: Timestamp?
    var lifetime: Double?
    var account: String?
    var cookies = CookieJar()
    /// The cookie whose end is the session's, where the answer says no other.
    var sessionCookie: String?
    /// Where the token was found, if in none of the named places.
    var guessedPlace: String?
    /// Further values that are no secrets, by the names that the session keeps them by.
    var notes: [String: String] = [:]
    /// The user's identifier, if the answer has it.
    var subject: String?
  }

  /// Returns what the recipe names in `answer`; nil if it holds no access token.
  ///
  /// - Throws: `answer_not_understood` for a value that no header could carry, or too many cookies.
  func tokens(in answer: RecipeResponse) throws(Failure) -> Tokens? {
    let now = clock()
    var tokens = Tokens()
    var token = try answer.accessToken()
    if token == nil, usesUsualPlaces, let only = answer.onlyJWT() {
      token = only.token
      tokens.guessedPlace = only.pointer
    }
    if token == nil, !profile.recipe.session.keepPassword { return nil }
    if let token {
      redactor.learn(token)
      tokens.values[.accessToken] = SharedSecret(token)
    }
    try checkTokenType(of: answer)
    tokens.subject = try answer.recipe.subject.flatMap { place throws(Failure) in
      try answer.value(at: [place])?.text
    }
    for note in answer.recipe.notes {
      tokens.notes[note.name] = try answer.keptText(at: [note.place])
    }
    if let refresh = try answer.keptText(at: answer.recipe.refreshToken) {
      redactor.learn(refresh)
      tokens.values[.refreshToken] = SharedSecret(refresh)
    }
    tokens.account = try answer.value(at: answer.recipe.account)?.text
    for kept in answer.recipe.keep {
      guard let value = try answer.keptText(at: [kept.place]) else { continue }
      // Some APIs send the account's name along: a hint must be able to name it.
      if tokens.account?.utf8.elementsEqual(value.utf8) != true { redactor.learn(value) }
      tokens.values[.session(kept.name)] = SharedSecret(value)
    }
    tokens.expiresAt = try answer.expiry(token: token, now: now)
    tokens.lifetime = tokens.expiresAt.map { max(0, $0.seconds - now.seconds) }
    guard profile.recipe.request.cookies else { return tokens }
    tokens.cookies = try answer.cookies(now: now)
    for cookie in tokens.cookies.cookies { redactor.learn(cookie.value) }
    if tokens.expiresAt == nil, let name = try answer.tokenCookie() {
      tokens.sessionCookie = name
      tokens.expiresAt = tokens.cookies.end(ofCookie: name)
      tokens.lifetime = tokens.expiresAt.map { max(0, $0.seconds - now.seconds) }
    }
    return tokens
  }

  /// Checks that the server gives a Bearer token (RFC 6750) or, to a request with a proof, one that
  /// is bound to its key (RFC 9449, section 5), if it says which type it gives. Its name is compared
  /// in any case (RFC 6749, section 5.1).
  private func checkTokenType(of answer: RecipeResponse) throws(Failure) {
    guard let place = answer.recipe.tokenType, let type = try answer.value(at: [place])?.text,
      !type.equalsIgnoringCase(answer.isToProof ? "DPoP" : "Bearer")
    else { return }
    // A profile that asks for bound tokens does not accept others silently (rule B19).
    if type.equalsIgnoringCase("Bearer") {
      throw notUnderstood(
        answer, "the server gave a Bearer token, which is not bound to the key of this sign-in",
        hint: howToSet("oauth.dpop=false").map { "to accept such tokens: " + $0 })
    }
    throw notUnderstood(
      answer,
      "a token of the type \(DisplayText.oneLine(redactor.mask(type), limit: 40)) is not supported",
      hint: type.equalsIgnoringCase("DPoP")
        ? howToSet("oauth.dpop=true").map { "to use such tokens: " + $0 } : nil)
  }

  /// Whether neither preset nor profile names a place for the token.
  private var usesUsualPlaces: Bool {
    profile.recipe.oauth == nil
      && profile.values.first { $0.key == "session.access_token" }?.source == .builtIn
  }
}
