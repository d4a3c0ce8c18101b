import Foundation

/// The back end that a token belongs to: a token works only in its own dialect.
enum Dialect: Sendable { case demo, expressJWT, vaporBasic, railsJWT, railsTurbo, railsSelfie }

/// All accounts, and all tokens that were issued.
actor Accounts {
  struct User: Sendable {
    let id: Int
    let uuid = UUID().uuidString
    let email: String
    let name: String
    let password: String
    var roleId: Int?
    /// Counts the sign-outs, each of which invalidates earlier remember cookies.
    var rememberGeneration = 0
    let created = Date()
  }

  struct Token: Sendable {
    let dialect: Dialect
    let email: String
    /// All tokens that come from one sign-in share a family.
    let family: String
    /// nil: never expires.
    var expires: Date?
    /// When a refresh token was used up.
    var used: Date?
    var isExpired: Bool { expires.map { $0 <= Date() } ?? false }
  }

  enum Holder: Sendable {
    case valid(User, Token)
    case expired, unknown
  }
  enum Spent: Sendable {
    case good(User, Token)
    case expired, used, revoked, unknown
  }

  private var users: [String: User] = [:]
  private var accessTokens: [String: Token] = [:]
  private var refreshTokens: [String: Token] = [:]
  /// A token added to one of them later is invalid.
  private(set) var ended = EndedFamilies()

  init() {
    for (id, (name, email, password)) in [
      ("Ada Lovelace", "ada@example.com", "correct horse battery"),
      ("Grace Hopper", "grace@example.com", "s3cret|with|pipes"),
    ].enumerated() {
      users[email] = User(id: id + 1, email: email, name: name, password: password, roleId: 1)
    }
  }

  // MARK: People

  /// Returns nil if the e-mail address is taken.
  func register(email: String, password: String, name: String, roleId: Int? = nil) -> User? {
    guard users[email] == nil else { return nil }
    let user = User(
      id: users.count + 1, email: email, name: name, password: password, roleId: roleId)
    users[email] = user
    return user
  }

  /// Finds a user by e-mail address, or by the part of it before the `@`.
  func user(named name: String?) -> User? {
    guard let name, !name.isEmpty else { return nil }
    return users[name] ?? users.values.first { $0.email.hasPrefix(name + "@") }
  }

  /// Compares bytes: Swift's `==` treats "é" and "e" + accent as equal.
  func user(named name: String?, password: String?) -> User? {
    guard let user = user(named: name), let password,
      user.password.utf8.elementsEqual(password.utf8)
    else { return nil }
    return user
  }

  func forgetRememberCookies(of email: String) { users[email]?.rememberGeneration += 1 }

  // MARK: Access tokens

  func add(
    access token: String, _ dialect: Dialect, to user: User, family: String, expires: Date?
  ) {
    accessTokens[token] = Token(
      dialect: dialect, email: user.email, family: family, expires: expires)
  }

  func holder(of token: String?, _ dialect: Dialect) -> Holder {
    guard let token, let found = accessTokens[token], found.dialect == dialect,
      !ended.contains(found.family), let user = users[found.email]
    else { return .unknown }
    return found.isExpired ? .expired : .valid(user, found)
  }

  /// Returns the user's existing token in this dialect, or makes one.
  func standing(
    _ dialect: Dialect, for user: User, lifetime: Double?, make: @Sendable () -> String
  ) -> (text: String, expires: Date?) {
    let old = accessTokens.first {
      $0.value.dialect == dialect && $0.value.email == user.email && !$0.value.isExpired
        && !ended.contains($0.value.family)
    }
    if let old { return (old.key, old.value.expires) }
    let expires = lifetime.map { Date(timeIntervalSinceNow: $0) }
    let text = make()
    add(access: text, dialect, to: user, family: text, expires: expires)
    return (text, expires)
  }

  /// Expires all access tokens, whatever their claims say; refresh tokens stay valid.
  func expireAccessTokens() {
    for token in accessTokens.keys { accessTokens[token]?.expires = .distantPast }
  }

  // MARK: Refresh tokens

  func add(
    refresh token: String, _ dialect: Dialect, to user: User, family: String, lifetime: Double
  ) {
    refreshTokens[token] = Token(
      dialect: dialect, email: user.email, family: family,
      expires: Date(timeIntervalSinceNow: lifetime))
  }

  /// Uses a refresh token up, unless it is `reusable`.
  /// - Parameter killOnReuse: a token used twice must have been copied: end the whole sign-in.
  func spend(
    refresh token: String?, _ dialect: Dialect, reusable: Bool = false, killOnReuse: Bool = false
  ) -> Spent {
    guard let token, let found = refreshTokens[token], found.dialect == dialect,
      let user = users[found.email]
    else { return .unknown }
    if let used = found.used {
      if killOnReuse { ended.insert(found.family, of: found.email, .reuse, spent: used) }
      return .used
    }
    if ended.contains(found.family) { return .revoked }
    if found.isExpired { return .expired }
    if !reusable { refreshTokens[token]?.used = Date() }
    return .good(user, found)
  }

  /// Ends the sign-in that a token comes from, with all its tokens.
  func signOut(_ token: Token) { ended.insert(token.family, of: token.email, .signOut) }
}
