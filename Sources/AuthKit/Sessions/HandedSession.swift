/// The part of a session that another program may receive.
///
/// Only `SessionKeeper.handOver` makes it, and a credential leaves authctl in no other way except
/// in a request: `exec`, `helper` and `token` cannot skip its check (rule A1).
package struct HandedSession {
  /// The session, renewed as the caller of `handOver` asked for.
  package let session: Session
  private let api: RecipeClient

  fileprivate init(_ session: Session, _ api: RecipeClient) {
    self.session = session
    self.api = api
  }

  /// The access token; nil if the session has none.
  package var token: SharedSecret? { session.accessToken }

  /// The access token, or the password where that is what the profile stores (rule B15).
  package var secret: SharedSecret? {
    api.profile.recipe.session.keepPassword ? session.values[.password] : token
  }

  /// The ID token of the sign-in (OpenID Connect Core 1.0, section 2).
  ///
  /// - Throws: `usage` when the session has none.
  package func idToken() throws(Failure) -> SharedSecret {
    if let token = session.values[OAuthSettings.idToken] { return token }
    throw Failure(
      .usage, "\(session.profile): the session has no ID token",
      hint: "to get one, sign in with --scope openid")
  }

  /// The header that carries the credential; nil if the recipe sends none.
  ///
  /// - Throws: `input_needed` for a value that the session does not have.
  package func header() throws(Failure) -> (name: String, value: String)? {
    try api.credentialHeader(of: session)
  }

  /// Fills `template` with values of the session: only those that may go with a request, none that
  /// signs in.
  ///
  /// - Parameter passwords: whether a stored password may be handed out too.
  /// - Throws: `usage` for a template with any other name, `input_needed` for a value that the
  ///   session does not have.
  package func text(_ template: String, passwords: Bool = false) throws(Failure) -> String {
    try api.text(template, of: session, passwords: passwords)
  }
}

extension SessionKeeper {
  /// Returns `session` for another program, which will use it at `origin`.
  ///
  /// - Parameters:
  ///   - origin: where the program sends the credential; nil for the origin of the profile's `url`.
  ///   - isAccess: whether the program gets the access token, not only the ID token.
  ///   - renewed: renews the session if needed.
  /// - Throws: `origin_refused`, before anything is sent, when the session was not made for
  ///   `origin`; `usage` for an access token that is bound to a key; what `renewed` throws.
  package func handOver(
    _ session: Session, for origin: Origin? = nil, isAccess: Bool = true,
    renewed: (Session) throws(Failure) -> Session
  ) throws(Failure) -> HandedSession {
    let origin = origin ?? api.base.origin
    try check(origin, for: session)
    if isAccess, session.isBound { throw bound }
    let session = try renewed(session)
    // Another process may have signed in again meanwhile, to another origin.
    try check(origin, for: session)
    if isAccess, session.isBound { throw bound }
    return HandedSession(session, api)
  }

  /// The failure of a command that would hand out a token that is bound to a key (rule B19): nothing
  /// can use it without the key, which authctl does not hand out.
  package var bound: Failure {
    var failure = Failure(
      .usage,
      "\(profile.name): the token is bound to a key that only authctl has (DPoP), so no other "
        + "program can use it",
      hint: DisplayText.shellCommand(["authctl", "get", "-p", profile.name, "/PATH"])
        .map { "to send a request, run: \($0)" })
    failure.profile = profile.name
    return failure
  }

  /// Returns the access token for a command that shows its contents; it is not handed on.
  package func tokenToRead(of session: Session) throws(Failure) -> Secret {
    guard let token = session.accessToken else { throw notSignedIn(session.account) }
    return token.secret.copy()
  }
}
