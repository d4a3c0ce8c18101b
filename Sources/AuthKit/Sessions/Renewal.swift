internal import Glibc

/// Renewal of a session: by its refresh token, or by signing in again with a kept command.
extension SessionKeeper {
  /// Why a session is renewed.
  package enum Reason {
    /// The access token is about to expire.
    case due
    /// The server refused the access token.
    case rejected
    /// The user asked for it.
    case asked
  }

  /// The most seconds that the lock of a session is held (rule B6).
  static var longestHold: Double { 40 }

  /// Seconds for a kept command; the rest of `longestHold` is for the sign-in.
  private static var commandTime: Int { 15 }

  /// Whether `session` has the values that the recipe's refresh needs.
  func canRefresh(_ session: Session) -> Bool {
    // A refresh token that the profile did not use at sign-in serves once it does.
    (session.refreshable || session.values[.refreshToken] != nil) && api.canRefresh(session)
  }

  /// Whether `session` can get a new access token without the user.
  package func canRenew(_ session: Session) -> Bool {
    canRefresh(session) || session.reauthentication != nil
  }

  /// Returns `session` with a fresh access token.
  ///
  /// Takes the lock, reads the store again, sends the refresh, and stores the new pair before it is
  /// used: any number of processes send only one refresh (design 6).
  ///
  /// - Throws: `session_expired` when the server refuses or nothing can renew it; the session is
  ///   kept when the server cannot be reached or is broken. `input_needed` when a kept command fails.
  package func renewed(_ session: Session, _ reason: Reason) throws(Failure) -> Session {
    try locked(session.account) { () throws(Failure) in
      let limit = clock().seconds + Self.longestHold
      guard let stored = try read(session.account) else { throw notSignedIn(session.account) }
      if isNewer(stored, than: session), reason == .asked || !stored.isDue(now: clock()) {
        return stored
      }
      guard canRenew(stored) else { throw expired(stored, reason, .noRenewal) }
      // Check the store first: after the refresh, the stored pair is dead.
      try store.open()
      var release: (() -> Void)?
      defer { release?() }
      // As soon as the server has answered, the old pair is dead: no signal may interrupt before
      // the new one is stored.
      let hold = { (status: Int) in
        if status < 300, release == nil { release = self.holdSignals() }
      }
      let fresh: Session
      switch try renewal(of: stored, reason, before: limit, hold) {
      case .byOthers(let session): return session
      case .fresh(let session): fresh = session
      }
      if fresh.secondsLeft(now: clock()) ?? 1 <= 0 {
        warn(
          "\(profile.name): the new token has already expired; "
            + "check the clocks here and on the server"
        )
      }
      do throws(Failure) { try storeNewPair(fresh) } catch {
        // An explicit renewal must be stored; a request can use the new token anyway.
        if reason == .asked { throw error }
        warn(
          "\(profile.name): the renewed session could not be stored (\(error.message)); "
            + "it works for this command only, so sign in again")
      }
      return fresh
    }
  }

  private enum Renewal {
    case fresh(Session)
    /// Another process has stored it meanwhile, perhaps on another machine.
    case byOthers(Session)
  }

  /// Uses the refresh token first, then the kept command if there is no refresh token or the server
  /// refuses it.
  private func renewal(
    of stored: Session, _ reason: Reason, before limit: Double, _ hold: (_ status: Int) -> Void
  ) throws(Failure) -> Renewal {
    var stored = stored
    var refusal: RecipeResponse?
    if canRefresh(stored) {
      switch try refreshed(stored, before: limit, onAnswer: hold) {
      case .fresh(let fresh): return .fresh(fresh)
      case .refused(let answer): refusal = answer
      case .usedUp(let failure):
        forgetRefreshToken(of: stored, reason)
        throw failure
      }
      // Another process may have renewed it without our lock: read the store again before the
      // session is reported as expired.
      guard let now = try read(stored.account) else { throw notSignedIn(stored.account) }
      if isNewer(now, than: stored) { return .byOthers(now) }
      // Whatever renews it now, this refresh token is not sent again.
      if stored.renewsByRefreshToken, stored.reauthentication != nil {
        stored.values[.refreshToken] = nil
        try? write(stored)
      }
    }
    if let reauthentication = stored.reauthentication {
      return .fresh(try signedInAgain(stored, reauthentication, reason, before: limit, hold))
    }
    guard let refusal else { throw expired(stored, reason, .noRenewal) }
    throw dead(stored, reason, refusal)
  }

  // MARK: - By the refresh token

  enum Refreshed {
    case fresh(Session)
    case refused(RecipeResponse)
    /// The server has replaced the refresh token, but its answer cannot be used.
    case usedUp(Failure)
  }

  /// Sends the refresh. 503 is a temporary failure (RFC 9110, section 15.6.4), as during a restart:
  /// the refresh is retried twice, since other processes wait for it anyway.
  ///
  /// - Parameter other: a call in place of the recipe's refresh, with its values.
  func refreshed(
    _ stored: Session, by other: (call: RecipeRequest, values: TemplateValues)? = nil,
    before limit: Double, onAnswer: (_ status: Int) -> Void = { _ in }
  ) throws(Failure) -> Refreshed {
    guard let call = other?.call ?? profile.recipe.refresh else {
      throw expired(stored, .due, .noRenewal)
    }
    let values = other?.values ?? api.values(of: stored)
    var pauses: [Double] = [1, 0.5]
    while true {
      let answer = try api.send(
        call, values: values, cookies: stored.cookies,
        permitted: stored.signInLimits, seconds: try secondsLeft(before: limit),
        onAnswer: onAnswer)
      if try isRefusal(answer, of: stored) { return .refused(answer) }
      if answer.head.status == 503, answer.head.first("Retry-After") == nil,
        let pause = pauses.popLast()
      {
        usleep(UInt32(pause * 1_000_000))
        continue
      }
      try api.refuse(answer, of: call, what: "to renew the session", refused: [])
      do throws(Failure) {
        var fresh = try renewed(stored, by: answer, to: call)
        fresh.refreshable = other == nil || api.canRefresh(fresh)
        return .fresh(fresh)
      } catch {
        guard other == nil, replacesRefreshToken(of: stored, answer) else { throw error }
        var failure = error
        failure.message += "; the refresh token is used up, so sign in again"
        let help = Suggestion.login(profile.name, account: stored.account)
        failure.hint = failure.hint ?? help.command
        return .usedUp(failure)
      }
    }
  }

  /// Returns `stored` with the tokens of `answer`.
  ///
  /// - Throws: `answer_not_understood` for tokens that it cannot use, or those of another user.
  private func renewed(
    _ stored: Session, by answer: RecipeResponse, to call: RecipeRequest
  ) throws(Failure) -> Session {
    guard let tokens = try api.tokens(in: answer) else {
      throw api.notUnderstood(
        answer, "no token in the answer to \(api.named(call, answer))", hint: api.howToPlaceToken)
    }
    if let subject = tokens.subject, let own = stored.subject,
      !subject.utf8.elementsEqual(own.utf8)
    {
      throw api.notUnderstood(answer, "the renewed session belongs to another user")
    }
    var fresh = stored.renewed(with: tokens, now: clock())
    if !stored.renewsByRefreshToken { fresh.values[.refreshToken] = nil }
    if let problem = try idTokenProblem(in: answer, of: stored) {
      warn("\(profile.name): \(problem), so the session keeps the one it had")
      fresh.values[OAuthSettings.idToken] = stored.values[OAuthSettings.idToken]
    }
    _ = try api.requestHeaders(api.values(of: fresh))
    return fresh
  }

  /// Returns what is wrong with the ID token of a renewal (OpenID Connect Core 1.0, section 12.2);
  /// nil if it is right, or if there is none.
  private func idTokenProblem(
    in answer: RecipeResponse, of stored: Session
  ) throws(Failure) -> String? {
    guard let oauth = profile.recipe.oauth,
      let id = stored.notes[OAuthSettings.clientID.member]
    else { return nil }
    return try IDToken.problem(
      in: answer, issuer: stored.idTokenClaims?["iss"]?.text ?? oauth.issuer, clientID: id,
      asked: nil, isRequired: false, now: clock())
  }

  /// Whether `answer` has another refresh token: the one of `stored` is dead then, and to send it
  /// again may end the tokens of other sessions (RFC 9700, section 4.14.2).
  private func replacesRefreshToken(of stored: Session, _ answer: RecipeResponse) -> Bool {
    guard stored.renewsByRefreshToken, let own = stored.values[.refreshToken],
      let new = (try? answer.keptText(at: answer.recipe.refreshToken)) ?? nil
    else { return false }
    redactor.learn(new)
    return !own.hasSameBytes(as: SharedSecret(new))
  }

  /// Returns the seconds that one sign-in request may take while the lock is held.
  ///
  /// - Throws: `timeout` when nothing is left.
  func secondsLeft(before limit: Double) throws(Failure) -> Double {
    let left = limit - clock().seconds
    guard left > 0 else {
      throw Failure(.timeout, "\(api.base.origin) did not answer in time", hint: "try again later")
    }
    return min(left, HTTPClient.signInTime)
  }

  func isNewer(_ stored: Session, than mine: Session) -> Bool {
    if stored.loginID != mine.loginID { return true }
    guard let theirs = stored.accessToken, let own = mine.accessToken else { return false }
    return !theirs.hasSameBytes(as: own) || stored.obtainedAt > mine.obtainedAt
  }

  /// Whether the server refused the refresh token; 404 and similar statuses mean that the recipe is
  /// wrong.
  ///
  /// - Throws: `session_expired` when the server refuses the client, but not the token.
  private func isRefusal(
    _ answer: RecipeResponse, of stored: Session
  ) throws(Failure) -> Bool {
    if let (code, meaning) = try answer.errorCode() {
      switch meaning {
      case .refused, .late: return true
      case .mistake, .temporary: return false
      case .clientRefused:
        var failure = expired(stored, .rejected, .clientRefused(code))
        failure.server = answer.words
        failure.status = answer.head.status
        throw failure
      }
    }
    if (200...299).contains(answer.head.status) { return try answer.saysNo() }
    return [400, 401, 403, 422].contains(answer.head.status)
      || answer.recipe.refused.contains(answer.head.status)
  }

  /// Stores the session without its refresh token, which is not tried again. A client's own
  /// credential stays: it may be accepted the next time.
  private func forgetRefreshToken(of used: Session, _ reason: Reason) {
    var stored = used
    if stored.renewsByRefreshToken {
      stored.values[.refreshToken] = nil
      stored.refreshable = false
    }
    if reason == .rejected { stored.isRefused = true }
    try? write(stored)
  }

  /// Marks the session as expired for good.
  private func dead(_ stored: Session, _ reason: Reason, _ answer: RecipeResponse) -> Failure {
    forgetRefreshToken(of: stored, reason)
    let code = (try? answer.errorCode())?.code
    var failure = expired(stored, reason, .renewalRefused(code))
    let words = answer.words
    failure.server =
      [
        "HTTP \(answer.head.status)" + (words.first.map { ": \($0)" } ?? "")
      ] + words.dropFirst()
    failure.status = answer.head.status
    return failure
  }

  // MARK: - By the kept command

  /// Signs in again with what the session's command prints. A refused password is not tried again:
  /// the server could lock the account.
  private func signedInAgain(
    _ stored: Session, _ reauthentication: Session.Reauthentication, _ reason: Reason,
    before limit: Double, _ hold: (_ status: Int) -> Void
  ) throws(Failure) -> Session {
    guard let runCommand else { throw expired(stored, reason, .noRenewal) }
    let credential = SharedSecret(try runCommand(reauthentication, Self.commandTime))
    if reauthentication.isPassword {
      redactor.learn(user: stored.account, secret: credential.secret)
    } else {
      redactor.learn(credential.secret)
    }
    if let call = profile.recipe.again {
      return try exchanged(
        stored, credential, reauthentication, by: call, reason, before: limit, hold)
    }
    guard reauthentication.isPassword else { throw expired(stored, reason, .noRenewal) }
    // All that the sign-in kept, but for what it got: tokens and the server's values.
    var values = api.values(of: stored).filtered { ![.accessToken, .refreshToken].contains($0) }
    values[.password] = credential
    values.fields = reauthentication.fields
    var fresh: Session
    do throws(Failure) {
      fresh = try api.login(
        values, account: stored.account, permitted: stored.signInLimits,
        seconds: try secondsLeft(before: limit), onAnswer: hold
      ) { (origin) throws(Failure) in
        throw Failure(
          .inputNeeded, "\(profile.name): \(origin) requires a one-time code",
          suggestion: .login(profile.name, account: stored.account))
      }.session
    } catch  where error.kind == .credentialsRefused {
      throw passwordRefused(stored, reason, error.server, error.status)
    }
    // No user agreed to origins other than those of the first sign-in (rule A2).
    fresh.requestOrigins = stored.requestOrigins
    fresh.signInOrigins = stored.signInOrigins
    fresh.way = stored.way
    fresh.notes = stored.notes.merging(fresh.notes) { $1 }
    fresh.keep(reauthentication, values)
    return fresh
  }

  /// Gets new tokens for a password or a token from elsewhere, which the session's command has
  /// printed.
  private func exchanged(
    _ stored: Session, _ credential: SharedSecret, _ reauthentication: Session.Reauthentication,
    by call: RecipeRequest, _ reason: Reason, before limit: Double,
    _ hold: (_ status: Int) -> Void
  ) throws(Failure) -> Session {
    var values = api.values(of: stored)
    values[reauthentication.name] = credential
    switch try refreshed(stored, by: (call, values), before: limit, onAnswer: hold) {
    case .fresh(let fresh): return fresh
    case .refused(let answer) where reauthentication.isPassword:
      throw passwordRefused(stored, reason, answer.words, answer.head.status)
    case .refused(let answer): throw dead(stored, reason, answer)
    case .usedUp(let failure): throw failure
    }
  }

  /// Stores the session without its command, which is not run again.
  private func passwordRefused(
    _ stored: Session, _ reason: Reason, _ words: [String], _ status: Int?
  ) -> Failure {
    var stored = stored
    stored.reauthentication = nil
    if reason == .rejected { stored.isRefused = true }
    try? write(stored)
    var failure = expired(stored, reason, .passwordRefused)
    failure.server = words
    failure.status = status
    return failure
  }

  // MARK: - Storing

  /// Stores a new pair. The old pair is dead by now, so a store that fails at once is retried for a
  /// few seconds; a store that timed out is not, as other processes wait for the lock.
  func storeNewPair(_ session: Session) throws(Failure) {
    let begin = clock()
    for pause in [0, 200_000, 800_000, 2_000_000] as [UInt32] {
      usleep(pause)
      do throws(Failure) { return try write(session) } catch {
        if pause == 2_000_000 || clock().seconds - begin.seconds > 3 { throw error }
      }
    }
  }
}
