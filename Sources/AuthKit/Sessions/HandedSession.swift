/// What another program may get of a session.
///
/// `SessionKeeper.handOver` makes it, and is the only way for a credential out of authctl other than
/// in a request: `exec`, `helper` and `token` cannot skip its check (rule A1).
package struct HandedSession {
  /// The session, renewed as its maker asked for.
  package let session: Session
  private let api: RecipeClient

  fileprivate init(_ session: Session, _ api: RecipeClient) {
    self.session = session
    self.api = api
  }

  /// The access token; nil where the session has none.
  package var token: SharedSecret? { session.accessToken }

  /// The access token, or the password where that is what the profile stores (rule B15).
  package var secret: SharedSecret? {
    api.profile.recipe.session.keepPassword ? session.values[.password] : token
  }

  /// The header of a request that carries it; nil where the recipe sends none.
  ///
  /// - Throws: `input_needed` for a value that the session does not have.
  package func header() throws(Failure) -> (name: String, value: String)? {
    try api.credentialHeader(of: session)
  }

  /// `template` with the values of the session: what may go with a request, and nothing that signs
  /// in.
  ///
  /// - Parameter passwords: a stored password may be handed out too.
  /// - Throws: `usage` for a template that names something else, `input_needed` for a value that the
  ///   session does not have.
  package func text(_ template: String, passwords: Bool = false) throws(Failure) -> String {
    try api.text(template, of: session, passwords: passwords)
  }
}

extension SessionKeeper {
  /// `session` for another program, which will use it at `origin`.
  ///
  /// - Parameters:
  ///   - origin: where the credential is to be sent; nil: to the origin of the profile's `url`.
  ///   - renewed: renews the session where it must be.
  /// - Throws: `origin_refused` where a request would be refused too: the session was not made for
  ///   `origin`. Nothing has been sent then. What `renewed` throws.
  package func handOver(
    _ session: Session, for origin: Origin? = nil,
    renewed: (Session) throws(Failure) -> Session
  ) throws(Failure) -> HandedSession {
    let origin = origin ?? api.base.origin
    try check(origin, for: session)
    let session = try renewed(session)
    // Another process may have signed in again meanwhile, to another origin.
    try check(origin, for: session)
    return HandedSession(session, api)
  }

  /// The session's own token for a command that shows what is in it; it is not handed on.
  package func tokenToRead(of session: Session) throws(Failure) -> Secret {
    guard let token = session.accessToken else { throw notSignedIn(session.account) }
    return token.secret.copy()
  }
}
