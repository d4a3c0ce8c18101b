/// The result of a sign-in: the stored item of one profile and account.
package struct Session {
  /// The profile's name.
  package internal(set) var profile: String
  /// The account's name, compared as bytes.
  package var account: String
  /// New at each login, kept through refreshes (rule B1).
  package var loginID: String
  /// `access_token`, `refresh_token`, `app_key`, `client_secret`, `session.NAME`; for a stored
  /// password `password`; `proof_key` where the tokens are bound to it.
  var values: TemplateValues
  /// What else the sign-in fixed, by the names of `{session.NAME}`; no secrets: the URLs of an
  /// authorization server, the granted scope.
  package var notes: [String: String] = [:]
  /// The user's identifier at the server, which a renewal must not change.
  var subject: String?
  /// When the access token expires, by this machine's clock; nil if the server did not say.
  package var expiresAt: Timestamp?
  /// The access token's validity in seconds, from issue to expiry.
  package var lifetime: Double?
  /// When the tokens were received.
  package var obtainedAt: Timestamp
  /// The cookies that the recipe keeps.
  package var cookies: CookieJar
  /// Origins that may receive the access token, cookies, kept values and the application's key
  /// (rule A2).
  package var requestOrigins: [Origin]
  /// Origins that may also receive the refresh token, password, codes and client secret.
  package var signInOrigins: [Origin]
  /// How the server was reached at sign-in (rule A3).
  package var way = ServerWay()
  /// Whether the recipe could renew it when it was stored; the current profile must allow it too.
  package var refreshable: Bool
  /// Whether the server refused it last, and nothing could replace it. Only shown: requests are sent
  /// all the same.
  package var isRefused = false
  /// The cookie that is the session: its end is the session's.
  var sessionCookie: String?
  /// How to sign in again without the user (`login --keep-command`).
  package var reauthentication: Reauthentication?
  /// The environment variable that it came from, if not from the store.
  package var variable: String?

  /// What is needed to sign in again when nothing else can renew the session.
  package struct Reauthentication {
    /// The command, for `/bin/sh -c`, that prints the password or a token from elsewhere.
    package var command: SharedSecret
    /// The fields that `--field` set at the sign-in.
    package var fields: [(name: String, value: JSONValue)]
    /// The placeholder that what it prints fills: of the sign-in for the password, else of the
    /// recipe's `again`.
    let name: Template.Name
    /// Whether it prints the password.
    package var isPassword: Bool { name == .password }

    /// Creates one from a command and fields.
    package init(command: SharedSecret, fields: [(name: String, value: JSONValue)]) {
      self.init(command: command, fields: fields, name: .password)
    }

    init(
      command: SharedSecret, fields: [(name: String, value: JSONValue)] = [], name: Template.Name
    ) {
      self.command = command
      self.fields = fields
      self.name = name
    }
  }

  /// Whether its refresh token is what renews it, and not a credential of the client itself.
  var renewsByRefreshToken: Bool {
    [OAuthSettings.refreshGrant, nil].contains(notes[OAuthSettings.renewalGrant.member])
  }

  /// Whether it can get a new access token without the user.
  package var isRenewable: Bool { refreshable || reauthentication != nil }

  /// Keeps what is needed to sign in again, with the application's key and the client secret from
  /// `signIn`.
  package mutating func keep(_ reauthentication: Reauthentication, _ signIn: TemplateValues) {
    self.reauthentication = reauthentication
    for name in [Template.Name.appKey, .clientSecret] where signIn[name] != nil {
      values[name] = signIn[name]
    }
  }

  /// The access token; other programs get it through `SessionKeeper.handOver` only.
  var accessToken: SharedSecret? { values[.accessToken] }

  /// Whether the session stores the password itself (rule B15).
  package var keepsPassword: Bool { values[.password] != nil }

  /// Whether its tokens are bound to a key of the session: no other program can use them (RFC 9449).
  package var isBound: Bool { values[.proofKey] != nil }

  /// The claims of the ID token; nil without one (OpenID Connect Core 1.0, section 2).
  package var idTokenClaims: JSONValue? {
    values[OAuthSettings.idToken].flatMap { JWT.payload(of: $0.text) }
  }

  /// The granted scopes (RFC 6749, section 3.3); empty if nothing was said about them.
  package var scopes: [String] {
    (notes[OAuthSettings.grantedScope.member] ?? "").words
  }

  /// Whether `scope` was granted.
  func hasScope(_ scope: String) -> Bool {
    scopes.contains { $0.utf8.elementsEqual(scope.utf8) }
  }

  /// Whether both sessions have an access token and the two differ.
  package func hasOtherToken(than other: Session) -> Bool {
    guard let own = accessToken, let others = other.accessToken else { return false }
    return !own.hasSameBytes(as: others)
  }

  /// Creates a new session with its own login ID.
  package init(
    profile: String, account: String, values: TemplateValues, now: Timestamp,
    requestOrigins: [Origin],
    signInOrigins: [Origin]
  ) {
    self.profile = profile
    self.account = account
    self.values = values
    self.requestOrigins = requestOrigins
    self.signInOrigins = signInOrigins
    loginID = randomHex(bytes: 16)
    obtainedAt = now
    cookies = CookieJar()
    refreshable = false
  }

  /// Returns the seconds until the access token expires; nil if the server did not say.
  package func secondsLeft(now: Timestamp) -> Double? {
    expiresAt.map { $0.seconds - now.seconds }
  }

  /// Whether it must be renewed before a request: 30 s left, or a quarter of its lifetime if that
  /// is less (design 6); with `minimum`, less than that many seconds left.
  package func isDue(now: Timestamp, minimum: Double? = nil) -> Bool {
    guard let left = secondsLeft(now: now) else { return false }
    return left <= 0 || left < minimum ?? min(30, lifetime.map { $0 / 4 } ?? 30)
  }
}

extension Session {
  /// Replaces the cookies; the session ends when its own cookie does.
  mutating func take(_ jar: CookieJar, now: Timestamp) {
    cookies = jar
    guard let sessionCookie else { return }
    expiresAt = jar.end(ofCookie: sessionCookie)
    lifetime = expiresAt.map { max(0, $0.seconds - now.seconds) }
  }

  /// The limits for requests with the access token.
  var requestLimits: SessionLimits { SessionLimits(origins: requestOrigins, way: way) }
  /// The limits for requests that sign in or refresh.
  var signInLimits: SessionLimits { SessionLimits(origins: signInOrigins, way: way) }
}

extension Redactor {
  /// Learns every secret of a session.
  func learn(_ session: Session) {
    for entry in session.values.all
    where !entry.value.withBytes({
      $0.elementsEqual(session.account.utf8)
    }) {
      learn(entry.value.secret)
    }
    for cookie in session.cookies.cookies { learn(cookie.value) }
    if let command = session.reauthentication?.command { learn(command.secret) }
  }
}

// MARK: - The stored form

extension Session {
  /// The JSON that the store keeps.
  ///
  /// - Throws: `answer_not_understood` when it is larger than 256 KiB.
  func payload() throws(Failure) -> Secret {
    var builder = SecretBuilder(capacity: 2048)
    func member(_ name: String, _ value: JSONValue) {
      builder.append(builder.count == 0 ? "{" : ",")
      JSONValue.string(name).write(into: &builder)
      builder.append(":")
      value.write(into: &builder)
    }
    func time(_ moment: Timestamp?) -> JSONValue { moment.map { .number($0.seconds) } ?? .null }
    member("version", .number(1))
    member("profile", .string(profile))
    member("account", .string(account))
    member("generation", .string(loginID))
    member("expires_at", time(expiresAt))
    member("lifetime", lifetime.map { .number($0) } ?? .null)
    member("obtained_at", time(obtainedAt))
    member("refreshable", .bool(refreshable))
    member("request_origins", .array(requestOrigins.map { .string($0.description) }))
    member("sign_in_origins", .array(signInOrigins.map { .string($0.description) }))
    if let way = way.json { member("server_way", way) }
    if !notes.isEmpty {
      member("notes", .object(notes.sorted { $0.key < $1.key }.map { ($0.key, .string($0.value)) }))
    }
    if let subject { member("subject", .string(subject)) }
    member("cookies", cookies.json)
    // Absent by default: members that an older authctl does not know, it ignores.
    if isRefused { member("refused", .bool(true)) }
    if let sessionCookie { member("session_cookie", .string(sessionCookie)) }
    if let reauthentication { member("sign_in_again", reauthentication.json) }
    builder.append(",\"values\":{")
    for (index, entry) in values.all.enumerated() {
      if index > 0 { builder.append(",") }
      JSONValue.string(entry.name.description).write(into: &builder)
      builder.append(":")
      entry.value.withBytes { JSONValue.escape($0, into: &builder) }
    }
    builder.append("}}")
    guard builder.count <= SessionKey.largestPayload else {
      throw Failure(.answerNotUnderstood, "\(profile): the session is larger than 256 KiB")
    }
    return builder.secret()
  }

  /// Returns the profile and the account that a payload names; nil for a damaged one.
  package static func names(
    in payload: borrowing Secret
  ) -> (profile: String, account: String)? {
    guard payload.count <= SessionKey.largestPayload,
      let parsed = payload.withBytes({ try? JSONValue.parse($0) }),
      let profile = parsed["profile"]?.text, let account = parsed["account"]?.text
    else { return nil }
    return (profile, account)
  }

  /// Reads what the store gave for `profile` and `account`.
  ///
  /// - Throws: `store_missing` when it is damaged or belongs to another session (rule B12).
  package init(
    payload: borrowing Secret, profile: String, account: String
  ) throws(Failure) {
    let damaged = Failure(
      .storeMissing, "\(profile): the stored session of \(account) is damaged",
      suggestion: .logout(profile, account: account))
    // Check the size first: a parsed document takes far more memory than its text.
    guard payload.count <= SessionKey.largestPayload else { throw damaged }
    let parsed = payload.withBytes { try? JSONValue.parse($0) }
    guard let parsed, parsed["version"]?.double == 1,
      let storedProfile = parsed["profile"]?.text, let storedAccount = parsed["account"]?.text,
      let loginID = parsed["generation"]?.text,
      let obtained = parsed["obtained_at"]?.double,
      case .object(let members)? = parsed["values"],
      let jar = parsed["cookies"].flatMap(CookieJar.init(json:)),
      case .array(let requestTexts)? = parsed["request_origins"],
      case .array(let signInTexts)? = parsed["sign_in_origins"],
      let way = ServerWay(stored: parsed["server_way"])
    else { throw damaged }
    guard storedProfile.utf8.elementsEqual(profile.utf8),
      storedAccount.utf8.elementsEqual(account.utf8)
    else {
      throw Failure(
        .storeMissing, "\(profile): the stored item of \(account) contains another session",
        hint: "another program may have changed it; sign in again")
    }
    var values = TemplateValues()
    for member in members {
      guard let text = member.value.text else { throw damaged }
      values[Template.Name(member.key)] = SharedSecret(text)
    }
    func origins(_ texts: [JSONValue]) throws(Failure) -> [Origin] {
      var origins: [Origin] = []
      for text in texts {
        guard let origin = text.text.flatMap(Origin.init(canonical:)) else { throw damaged }
        origins.append(origin)
      }
      return origins
    }
    self.init(
      profile: profile, account: account, values: values, now: Timestamp(seconds: obtained),
      requestOrigins: try origins(requestTexts), signInOrigins: try origins(signInTexts))
    self.loginID = loginID
    self.way = way
    if case .object(let stored)? = parsed["notes"] {
      for note in stored { notes[note.key] = note.value.text }
    }
    subject = parsed["subject"]?.text
    // Bounded like the server's numbers: another program can write to the store.
    let times = 0...1e11
    expiresAt = parsed["expires_at"]?.double.flatMap {
      times.contains($0) ? Timestamp(seconds: $0) : nil
    }
    lifetime = parsed["lifetime"]?.double.flatMap { times.contains($0) ? $0 : nil }
    if case .bool(true)? = parsed["refreshable"] { refreshable = true }
    if case .bool(true)? = parsed["refused"] { isRefused = true }
    sessionCookie = parsed["session_cookie"]?.text
    cookies = jar
    reauthentication = try parsed["sign_in_again"].map { (json) throws(Failure) in
      guard let stored = Reauthentication(json) else { throw damaged }
      return stored
    }
  }
}

extension Session.Reauthentication {
  fileprivate var json: JSONValue {
    .object(
      [("command", .string(command.text)), ("fields", .object(fields.map { ($0.name, $0.value) }))]
        + (isPassword ? [] : [("for", .string(name.description))]))
  }

  fileprivate init?(_ json: JSONValue) {
    guard let command = json["command"]?.text, case .object(let fields)? = json["fields"] else {
      return nil
    }
    self.init(
      command: SharedSecret(command), fields: fields.map { (name: $0.key, value: $0.value) },
      name: json["for"]?.text.map { Template.Name($0) } ?? .password)
  }
}
