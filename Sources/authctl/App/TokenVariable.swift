internal import AuthKit

/// Tokens in the environment.
extension App {
  /// Returns the session that a variable gives for `choice`; nil when none does (design 4).
  ///
  /// - Throws: `origin_refused` when `AUTHCTL_TOKEN` belongs to another origin, `usage` when
  ///   `AUTHCTL_TOKEN_FOR_NAME` fits two profiles (rule A1).
  func environmentSession(for choice: ProfileChoice) throws(Failure) -> Session? {
    let own = Variable.token(of: choice.profile.name)
    let variables = [own, Variable.token.rawValue, Variable.tokenFile.rawValue]
    guard let variable = variables.first(where: { !(environment[$0] ?? "").isEmpty }),
      let value = environment[variable]
    else { return nil }
    if variable == own {
      try checkName(own, choice.profile)
    } else {
      try checkPin(variable, choice)
    }
    let base = try WebURL(choice.profile.url, from: .person)
    var values = TemplateValues()
    values[.accessToken] = SharedSecret(
      try checked(
        variable == Variable.tokenFile.rawValue
          ? try tokenFile(value) : try token(value, from: variable),
        variable))
    // Only one origin: no sign-in fixed a list, and a profile can be edited.
    var session = Session(
      profile: choice.profile.name, account: "", values: values, now: Clock.now(),
      requestOrigins: [base.origin], signInOrigins: [])
    session.way = ServerWay(of: choice.profile)
    session.variable = variable
    return session
  }

  /// Returns the variable that gives a profile its token, for remarks, without reading the token.
  func tokenVariable(of profile: Profile) -> String? {
    let own = Variable.token(of: profile.name)
    if !(environment[own] ?? "").isEmpty { return own }
    let choice = ProfileChoice(profile: profile, reason: "")
    return [Variable.token, .tokenFile].first { variable in
      environment[variable] != nil && (try? checkPin(variable.rawValue, choice)) != nil
    }?.rawValue
  }

  /// Returns the failure for `AUTHCTL_TOKEN` or `AUTHCTL_TOKEN_FILE` where neither a profile nor
  /// `AUTHCTL_URL` says which API the token is for; nil if neither variable is set.
  ///
  /// - Parameter origin: that of the requested URL; nil for a path, or without a request.
  func tokenWithoutAPI(for origin: Origin? = nil) -> Failure? {
    guard let variable = [Variable.token, .tokenFile].first(where: { environment[$0] != nil })
    else { return nil }
    return Failure(
      origin == nil ? .usage : .originRefused,
      "\(variable.rawValue) is set, but no API is named for it",
      hint: "set AUTHCTL_URL=\(origin?.description ?? "https://HOST")")
  }

  /// Requires that `AUTHCTL_TOKEN` is used for one origin only: that of `AUTHCTL_URL`, else that of
  /// the named profile.
  private func checkPin(_ variable: String, _ choice: ProfileChoice) throws(Failure) {
    let origin = try WebURL(choice.profile.url, from: .person).origin
    if let url = environment[.url] {
      let pinned = try WebURL(url, from: .person).origin
      if pinned == origin { return }
      throw Failure(
        .originRefused, "\(variable) belongs to \(pinned) (AUTHCTL_URL), not to \(origin)",
        hint: "unset \(variable), or give -p the profile of \(pinned)")
    }
    guard choice.isByURL, try profiles.names().count > 1 || isNamedElsewhere(choice) else { return }
    throw Failure(
      .originRefused, "\(variable) is not sent to a profile that was chosen by its URL: \(origin)",
      hint: "use -p \(choice.profile.name), or set AUTHCTL_URL=\(origin)")
  }

  /// Rejects a variable that fits two profiles: `my-shop` and `my.shop` share one name.
  private func checkName(_ variable: String, _ profile: Profile) throws(Failure) {
    let others = try profiles.names().filter {
      !$0.utf8.elementsEqual(profile.name.utf8) && Variable.token(of: $0) == variable
    }
    guard !others.isEmpty else { return }
    throw Failure(
      .usage,
      "\(variable) matches several profiles: "
        + ([profile.name] + others).sorted().joined(separator: ", "),
      hint: "use AUTHCTL_TOKEN with AUTHCTL_URL")
  }

  /// Whether `AUTHCTL_PROFILE` names another profile, which may be a file in place.
  private func isNamedElsewhere(_ choice: ProfileChoice) -> Bool {
    guard let name = environment[.profile] else { return false }
    return !name.utf8.elementsEqual(choice.profile.name.utf8)
  }

  /// Checks at once that the token fits in a header: it is the user's mistake, not a server's.
  private func checked(_ token: consuming Secret, _ variable: String) throws(Failure) -> Secret {
    guard token.withBytes({ HeaderSyntax.isRecipeValue($0) }) else {
      throw Failure(.usage, "\(variable) contains a byte that is not allowed in a header")
    }
    return token
  }

  private func token(_ text: String, from variable: String) throws(Failure) -> Secret {
    try Secret(text).withBytes { bytes throws(Failure) in
      try SecretText.checked(bytes, name: "token", from: variable, limit: SecretKind.token.limit)
    }
  }

  private func tokenFile(_ path: String) throws(Failure) -> Secret {
    let source = SecretSource(kind: .token, file: path, variable: Variable.tokenFile.rawValue)
    guard path != "-", let secret = try secrets([source]).read(.token) else {
      throw Failure(.inputNeeded, "AUTHCTL_TOKEN_FILE has no token")
    }
    return secret
  }
}
