/// A sign-in with a token from elsewhere: exchanged (RFC 8693), or as an assertion (RFC 7523, section
/// 2.1).
extension OAuthClient {
  /// The most characters of the server's words that are shown: it may repeat the token (rule B17).
  private static let mostWords = 200

  /// Sends the token request of `grant` with `token` and returns the new session, which is not
  /// stored.
  ///
  /// - Parameters:
  ///   - account: the name that the user gave; nil to take it from the answer.
  ///   - known: the name to use if the server tells none; without it, whom the token is about.
  ///   - command: a command that prints such a token, which the session keeps to renew itself.
  /// - Throws: as `signIn`.
  package func signIn(
    _ grant: OAuthSettings.Grant, with token: SharedSecret, account: String?, known: String?,
    keeping command: SharedSecret?
  ) throws(Failure) -> SignedIn {
    let name =
      grant == .jwtBearer ? OAuthSettings.bearerAssertion : OAuthSettings.subjectToken
    var values = TemplateValues()
    values[name] = token
    var signedIn: SignedIn
    do throws(Failure) {
      signedIn = try signIn(
        grant, values, account: account, known: known ?? Self.subject(of: token))
    } catch {
      var failure = error
      // Masked before they are cut: the redactor does not find half of a secret.
      failure.server = error.server.map {
        DisplayText.oneLine(api.redactor.mask($0), limit: Self.mostWords)
      }
      throw failure
    }
    if let command { keep(command, for: name, of: grant, in: &signedIn.session) }
    return signedIn
  }

  /// Keeps a command in the session, to sign in again with the password or the token that it prints.
  ///
  /// - Parameter name: the placeholder of what it prints.
  package func keep(
    _ command: SharedSecret, for name: Template.Name, of grant: OAuthSettings.Grant,
    in session: inout Session
  ) {
    session.reauthentication = Session.Reauthentication(command: command, name: name)
    let kept: [(Template.Name, String?)] = [
      (OAuthSettings.againGrant, grant.type),
      (OAuthSettings.againUser, grant == .password ? session.account : nil),
      (
        OAuthSettings.againTokenType,
        grant == .tokenExchange ? settings.subjectTokenType : nil
      ),
      (OAuthSettings.againScope, settings.scope), (OAuthSettings.againAudience, settings.audience),
    ]
    for (name, value) in kept { session.notes[name.member] = value }
  }

  /// Whom a JSON Web Token is about (RFC 7519, section 4.1.2); nil for another token, and for a
  /// subject that is no name.
  private static func subject(of token: SharedSecret) -> String? {
    guard let subject = JWT.payload(of: token.text)?["sub"]?.text,
      (try? RecipeClient.check(account: subject)) != nil
    else { return nil }
    return subject
  }
}

extension OAuthSettings {
  /// Returns a token type by its short name or its URI (RFC 8693, section 3).
  ///
  /// - Throws: `usage` for a name that is not known.
  package static func tokenType(_ text: String) throws(Failure) -> String {
    let names = ["access_token", "refresh_token", "id_token", "jwt", "saml1", "saml2"]
    if names.contains(text) { return "urn:ietf:params:oauth:token-type:" + text }
    guard text.utf8.contains(UInt8(ascii: ":")),
      text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
    else {
      throw Failure(
        .usage, "--subject-token-type \(DisplayText.oneLine(text, limit: 60)) is not known",
        hint: names.joined(separator: ", ") + ", or a URI")
    }
    return text
  }
}
