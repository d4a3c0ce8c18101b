/// The role of a field, a parameter or a header of a pasted request, from its name only:
/// `user[email]`, `j_username`, `txtUserName`, `X-Api-Key`. Case and punctuation do not count.
enum CurlFieldRole: Equatable {
  /// The user name; if there are several, the one with the lowest rank.
  case username(rank: Int)
  case password
  /// A second password, or a value derived from one.
  case otherPassword
  /// A value that a page issues once for each form.
  case pageToken
  /// The answer to a captcha.
  case captcha
  /// A code of a second factor.
  case otp
  /// `client_secret` of OAuth (RFC 6749, section 2.3.1).
  case clientSecret
  /// An application's key, unlike a token from an earlier answer.
  case appKey
  /// Another secret (rule C9).
  case token
  /// Something public with a secret word in its name: `token_name`.
  case aboutSecret
  case constant

  init(_ name: String) {
    // `email` of `user[email]`, of `user.email`, of `form:email` and of `page$email`.
    let last = Self.plain(Array(name.utf8).split { "[].:$/".utf8.contains($0) }.last ?? [])
    let whole = Self.plain(Array(name.utf8)[...])
    func end(_ words: [String]) -> Int? {
      words.firstIndex { last.ends(withBytesOf: $0) }
    }
    func holds(_ words: [String]) -> Bool { words.contains(where: whole.contains(bytesOf:)) }
    let isAside = holds(Self.asides)

    if holds(Self.pageTokens) || Self.pageTokenNames.contains(name.asciiLowercased) {
      self = .pageToken
    } else if holds(["captcha", "turnstile"]) {
      self = .captcha
    } else if Self.otps.contains(last) {
      self = .otp
    } else if !isAside, end(Self.passwords) != nil {
      self = .password
    } else if holds(["passw", "pwd"]) || end(["pass"]) != nil || last == "pin" {
      self = .otherPassword
    } else if !isAside, let rank = Self.soleUsers.contains(last) ? Int.max : end(Self.users) {
      self = .username(rank: rank)
    } else if !RecipeReader.isSecretName(name) {
      self = .constant
    } else if end(Self.descriptions) != nil {
      self = .aboutSecret
    } else if end(["clientsecret"]) != nil {
      self = .clientSecret
    } else if !holds(["authorization", "cookie", "session"]),
      holds(["key", "secret"]) || end(Self.appTokens) != nil
    {
      self = .appKey
    } else {
      self = .token
    }
  }

  /// Letters and digits, without digits at the end, in lower case.
  private static func plain(_ name: ArraySlice<UInt8>) -> String {
    var bytes = name.filter(\.isLetterOrDigit)
    while bytes.last?.isDigit == true { bytes.removeLast() }
    return String(decoding: bytes, as: UTF8.self).asciiLowercased
  }

  /// Whether the value is a protocol keyword, which can be the word "password": `grant_type`.
  static func isDescription(_ name: String) -> Bool {
    let name = plain(Array(name.utf8)[...])
    return descriptions.contains { name.ends(withBytesOf: $0) }
  }

  // MARK: - Ends of names

  private static let users = [
    "username", "loginname", "accountname", "email", "emailaddress", "user", "userid",
    "userlogin", "identifier", "identity", "login", "loginid", "uname", "mail", "phone",
    "phonenumber", "mobile", "mobilenumber", "benutzer", "benutzername",
  ]
  private static let passwords = [
    "password", "passwd", "pwd", "pass", "passphrase", "passcode", "pw", "pswd", "passwort",
    "kennwort", "senha",
  ]
  private static let appTokens = ["apitoken", "apptoken", "clienttoken", "applicationtoken"]
  private static let descriptions = [
    "name", "type", "ttl", "lifetime", "expiry", "expires", "duration", "format", "size",
    "length", "version", "kind", "mode", "method", "strategy", "provider", "connection", "realm",
  ]

  // MARK: - Whole names

  private static let soleUsers = ["name", "log", "uid", "account"]
  private static let otps = [
    "otp", "totp", "mfacode", "otpcode", "totpcode", "twofactorcode", "otpattempt", "tfacode",
    "verificationcode", "2fa", "2facode",
  ]
  private static let pageTokenNames = ["_token", "lt", "execution"]

  // MARK: - Parts of names

  private static let pageTokens = [
    "csrf", "xsrf", "authenticitytoken", "requestverificationtoken", "nonce", "viewstate",
    "eventvalidation", "formbuildid", "formtoken",
  ]
  /// Words that make the name one of a switch, a button or another value.
  private static let asides = [
    "remember", "show", "new", "old", "confirm", "repeat", "again", "retype", "verif", "hint",
    "forgot", "reset", "submit", "button", "btn",
  ]
}
