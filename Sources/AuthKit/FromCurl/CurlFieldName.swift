/// What the name of a field, a parameter or a header tells of its value: `user[email]`,
/// `j_username`, `txtUserName`, `X-Api-Key`. ASCII case does not count.
struct CurlFieldName {
  /// The name in ASCII lower case.
  private let lower: String
  /// The words of the last part: user, name.
  private let words: [String]
  /// The words without anything between them: username.
  private let joined: String

  init(_ name: String) {
    lower = name.asciiLowercased
    words = Self.words(of: Self.lastPart(Array(name.utf8)))
    joined = words.joined()
  }

  /// `email` of `user[email]`, of `user.email`, of `form:email` and of `page$email`.
  private static func lastPart(_ name: [UInt8]) -> ArraySlice<UInt8> {
    let parts = name.split { "[].:$/".utf8.contains($0) }
    return parts.last ?? []
  }

  /// Letters only, cut where a small one is followed by a capital one, and at anything else.
  private static func words(of part: ArraySlice<UInt8>) -> [String] {
    var words: [[UInt8]] = [[]]
    var wasSmall = false
    for byte in part.prefix(200) {
      let isCapital = (0x41...0x5A).contains(byte)
      let isSmall = (0x61...0x7A).contains(byte)
      if isCapital && wasSmall || !isCapital && !isSmall { words.append([]) }
      if isCapital || isSmall { words[words.count - 1].append(byte | 0x20) }
      wasSmall = isSmall
    }
    return words.filter { !$0.isEmpty }.map { String(decoding: $0, as: UTF8.self) }
  }

  private func has(_ list: [String]) -> Bool { words.contains { list.contains($0) } }

  private func ends(_ list: [String]) -> Bool {
    list.contains { joined.utf8.reversed().starts(with: $0.utf8.reversed()) }
  }

  private func holds(_ list: [String]) -> Bool {
    list.contains(where: lower.contains(bytesOf:))
  }

  // MARK: - Names and passwords

  /// How likely it holds the password: 0 is likeliest, nil not at all.
  var passwordRank: Int? {
    guard !has(Self.aside) else { return nil }
    let numbered = ["passwordfield", "passwordinput", "passwordbox", "passwordtext"]
    if ends(["password", "passwd", "passwort"] + numbered) { return 0 }
    if ends(["pwd"]) { return 1 }
    if words.last == "pass" || ends(["userpass", "loginpass", "txtpass"]) { return 2 }
    let last = words.last ?? ""
    return Self.rarePasswords.contains(last) || Self.soloPasswords.contains(joined) ? 3 : nil
  }

  /// Whether it speaks of a password: it repeats it, or is made of it, or asks for one to be shown.
  var mentionsPassword: Bool {
    holds(["passw", "pwd"]) || words.contains(where: Self.passWords.contains)
  }
  private static let passWords: Set<String> = ["pass", "newpass", "oldpass", "userpass"]

  /// How likely it holds the user's name: 0 is likeliest, nil not at all.
  var userRank: Int? {
    guard !has(Self.aside), passwordRank == nil else { return nil }
    if ends(["username", "loginname", "accountname"]) { return 0 }
    if ends(["email", "emailaddress", "useremail"]) { return 1 }
    let last = words.last ?? ""
    if last == "user" || ends(["userid", "userlogin"]) { return 2 }
    if last == "identifier" || last == "identity" { return 3 }
    if last == "login" || ends(["loginid"]) { return 4 }
    return Self.rareUsers.contains(last) || Self.soloUsers.contains(joined) ? 5 : nil
  }

  private static let rarePasswords = [
    "pw", "psw", "pswd", "passphrase", "passcode", "pin", "kennwort", "senha",
  ]

  private static let rareUsers = [
    "uname", "usr", "mail", "phone", "mobile", "benutzer", "benutzername",
  ]

  /// Words that mean it only when nothing stands beside them: `name`, but not `file_name`.
  private static let soloPasswords = ["secret", "credential"]
  private static let soloUsers = [
    "account", "uid", "log", "name", "member", "customer", "nick", "nickname", "handle",
    "loginfmt", "principal", "phonenumber", "mobilenumber", "id",
  ]

  /// Words of names that tell something about the sign-in, not who signs in.
  private static let aside = [
    "remember", "keep", "save", "stay", "show", "is", "has", "auto", "type", "agent", "role",
    "otp", "code", "csrf", "xsrf", "token", "redirect", "url", "uri", "next", "return", "submit",
    "button", "btn", "lang", "locale", "confirm", "confirmation", "repeat", "again", "verify",
    "retype", "verified", "new", "old", "forgot", "reset", "hint", "device", "client", "session",
    "request", "operation", "trace", "correlation", "app", "application", "tenant", "challenge",
    "host", "domain", "grant",
  ]

  // MARK: - Secrets

  /// Words whose names no profile keeps a fixed value under (`RecipeReader`, security rule C9).
  var isSecret: Bool { holds(["authorization", "cookie", "token", "key", "secret"]) }

  /// A secret word in the name of something public: `token_name`, `key_type`.
  var isAboutSecret: Bool {
    [
      "name", "type", "ttl", "lifetime", "expiry", "expires", "duration", "format", "size",
      "length", "version", "kind", "mode",
    ].contains(words.last)
  }

  /// `client_secret` of OAuth (RFC 6749, section 2.3.1).
  var isClientSecret: Bool { ends(["clientsecret"]) }

  /// The key of an application, as opposed to a token that an earlier answer gave.
  var isAppKey: Bool {
    if holds(["authorization", "cookie", "session"]) { return false }
    return holds(["key", "secret"])
      || has(["app", "application", "client", "api"]) && !holds(["access", "refresh"])
  }

  /// What a page hands out once for each form.
  var isPageToken: Bool {
    holds([
      "csrf", "xsrf", "authenticity_token", "requestverificationtoken", "nonce", "__viewstate",
      "__eventvalidation", "form_build_id", "form_token", "formtoken",
    ]) || ["_token", "lt", "execution"].contains(lower)
  }

  /// The answer to a captcha.
  var isCaptcha: Bool { holds(["captcha", "turnstile"]) }

  /// A code of a second factor.
  var isOTP: Bool {
    [
      "otp", "totp", "mfacode", "otpcode", "totpcode", "twofactorcode", "otpattempt", "tfacode",
      "verificationcode",
    ].contains(joined) || ["2fa", "2fa_code", "2facode"].contains(lower)
  }

  /// A word of a protocol, which may be the word "password" itself: `grant_type`.
  var isProtocolWord: Bool {
    let last = words.last ?? ""
    return [
      "type", "grant", "method", "mode", "flow", "strategy", "provider", "scheme", "action",
      "kind", "connection", "realm", "name", "query",
    ].contains(last)
  }
}
