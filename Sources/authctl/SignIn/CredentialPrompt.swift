internal import AuthKit

/// The values that a recipe's call needs from a user or a script: account, password, keys, fields.
struct CredentialPrompt {
  private let app: App
  private let profile: Profile
  private let fields: [(name: String, value: JSONValue)]
  let reader: SecretReader

  init(
    app: App, profile: Profile, sources: [SecretSource], fields: [String]
  ) throws(Failure) {
    self.app = app
    self.profile = profile
    reader = try app.secrets(sources, for: try WebURL(profile.url, from: .person).origin)
    var typed: [(name: String, value: JSONValue)] = []
    for field in fields {
      let (name, value) = try split(field, at: "=", option: "--field", form: "NAME=VALUE")
      typed.append((name, try FieldValue.typed(value)))
    }
    self.fields = typed
  }

  /// Returns the account to sign in as, known or asked for; nil if the recipe needs none.
  func account(for call: RecipeRequest?, _ api: RecipeClient, known: String?) throws(Failure)
    -> String?
  {
    if let known {
      try RecipeClient.check(account: known)
      return known
    }
    guard let call, call.names(request: profile.recipe.request).contains(.username) else {
      return nil
    }
    let terminal = try app.terminal(
      for: "an account", hint: "use -u NAME or AUTHCTL_USERNAME")
    let account = try terminal.ask("Account")
    try RecipeClient.check(account: account)
    return account
  }

  /// Returns every value that `call` needs, each from its source, without missing optional ones.
  ///
  /// - Parameters:
  ///   - pasted: the password of a curl command line, used if no other is given.
  ///   - isNew: whether the password is a new one, which is typed twice.
  func values(
    for call: RecipeRequest?, _ api: RecipeClient, account: String?, pasted: SharedSecret? = nil,
    isNew: Bool = false
  ) throws(Failure) -> TemplateValues {
    var values = TemplateValues()
    values.fields = fields
    guard let call else { return values }
    let names = call.names(request: profile.recipe.request)
    if let account {
      if names.contains(.username), call.authorization == .basic, account.utf8.contains(0x3A) {
        throw Failure(
          .usage, "a user name for HTTP Basic cannot contain a colon (RFC 7617, section 2)")
      }
      values[.username] = SharedSecret(account)
    }
    // In the order in which several -stdin options read their lines.
    if names.contains(.password) {
      let isGiven = pasted == nil || reader.hasOption(for: .password)
      values[.password] = isGiven ? try password(account, api.origin(of: call), isNew) : pasted
    }
    // If the server can ask for a code, it is read only then.
    if names.contains(.otp), profile.recipe.secondFactor == nil {
      values[.otp] = try code(at: api.origin(of: call))
    }
    if let secret = try reader.read(.clientSecret) { values[.clientSecret] = SharedSecret(secret) }
    if let key = try reader.read(.appKey) {
      let shared = SharedSecret(key)
      app.redactor.learn(appKey: shared.text)
      values[.appKey] = shared
    }
    if call.requiredNames(request: profile.recipe.request).contains(.appKey), values[.appKey] == nil
    {
      throw Failure(
        .inputNeeded, "\(profile.name): the API requires the application's key",
        hint:
          "use --app-key-stdin, --app-key-file F, --app-key-command C or AUTHCTL_APP_KEY: NAME:VALUE"
      )
    }
    return values
  }

  /// Returns a token or key from elsewhere, which an API without a sign-in requires; nil if none is
  /// given and the API has a sign-in.
  ///
  /// - Parameter pasted: the token of a curl command line, used if no option gives one.
  func token(pasted: SharedSecret? = nil) throws(Failure) -> SharedSecret? {
    if let pasted, !reader.isGiven(.token) { return pasted }
    let recipe = profile.recipe
    guard recipe.login == nil, recipe.oauth == nil, !reader.hasOption(for: .password) else {
      guard let token = try reader.read(.token) else { return nil }
      return SharedSecret(token)
    }
    let origin = try WebURL(profile.url, from: .person).origin
    let token = try reader.read(.token) { () throws(Failure) in
      let terminal = try app.terminal(
        for: "a token or key",
        hint: "use --token-stdin, --token-file F or --token-command C")
      let prompt = recipe.request.sendsBearer ? SecretKind.token.prompt : "API key"
      return try terminal.prompt("\(prompt) for \(origin)", for: "token")
    }
    guard let token else { return nil }
    return SharedSecret(token)
  }

  /// Returns the one-time code that `origin` requires.
  func code(at origin: Origin) throws(Failure) -> SharedSecret {
    let code = try reader.read(.otp) { () throws(Failure) in
      let terminal = try app.terminal(
        for: "a one-time code",
        hint: "use --otp-stdin, --otp-file F, --otp-command C or AUTHCTL_OTP")
      return try terminal.prompt("One-time code at \(origin)", for: "one-time code")
    }
    guard let code else { throw Failure(.inputNeeded, "a one-time code is required") }
    return SharedSecret(code)
  }

  private func password(
    _ account: String?, _ origin: Origin, _ isNew: Bool
  ) throws(Failure) -> SharedSecret {
    let who = account.map { " for \(DisplayText.oneLine($0, limit: 80))" } ?? ""
    let password = try reader.read(.password) { () throws(Failure) in
      let terminal = try app.terminal(
        for: "a password",
        hint: "use --password-stdin, --password-file F, --password-command C or AUTHCTL_PASSWORD")
      let question = "Password\(who) at \(origin)"
      return isNew
        ? try Self.new(question, on: terminal) : try terminal.prompt(question, for: "password")
    }
    guard let password else { throw Failure(.inputNeeded, "a password is required") }
    let shared = SharedSecret(password)
    if let account { app.redactor.learn(user: account, secret: shared.secret) }
    return shared
  }
}

extension CredentialPrompt {
  /// Asks for a new password until it is typed twice the same, at most three times.
  private static func new(_ question: String, on terminal: Terminal) throws(Failure) -> Secret {
    for _ in 1...3 {
      let password = SharedSecret(try terminal.prompt(question, for: "password"))
      if try isRepeated(password, on: terminal) { return password.secret.copy() }
      terminal.show(["The passwords do not match."])
    }
    throw Failure(.inputNeeded, "the passwords did not match three times")
  }

  private static func isRepeated(
    _ password: SharedSecret, on terminal: Terminal
  ) throws(Failure) -> Bool {
    do throws(Failure) {
      return SharedSecret(try terminal.prompt("Repeat the password", for: "password"))
        .hasSameBytes(as: password)
    } catch  where error.kind == .usage {
      // An empty line, for example, is only a difference.
      return false
    }
  }
}

/// The value of `--field NAME=VALUE`, typed as `gh api -F` does.
enum FieldValue {
  static func typed(_ text: String) throws(Failure) -> JSONValue {
    switch text {
    case "true": return true
    case "false": return false
    case "null": return nil
    default: break
    }
    if text.utf8.first == UInt8(ascii: "@") {
      return .string(try File.text(String(text.dropFirst()), option: "--field"))
    }
    return Int(text).map { .number($0) } ?? .string(text)
  }
}
