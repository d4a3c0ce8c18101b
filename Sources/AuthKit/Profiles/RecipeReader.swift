/// Makes a `Recipe` of the values in force, and refuses what no recipe may do
/// (security rules A2, A3, A4, A9, C9).
struct RecipeReader {
  let values: ProfileValues
  /// The folder at which relative file names start.
  let folder: String
  private var keptNames: [String] = []
  private var publicNames: [String] = []
  private var keepsPassword = false

  init(_ values: ProfileValues, folder: String) {
    self.values = values
    self.folder = folder
  }

  mutating func read() throws(Failure) -> Recipe {
    var recipe = Recipe()
    publicNames = try values.texts("public") ?? []
    recipe.session = try session()
    keptNames = recipe.session.keep.map(\.name)
    keepsPassword = recipe.session.keepPassword
    recipe.login = try call("login")
    recipe.register = try call("register")
    recipe.refresh = try call("refresh")
    recipe.logout = try call("logout")
    recipe.whoami = try call("whoami")
    recipe.request.headers = try headers("request.headers", in: "request")
    recipe.request.cookies = try values.flag("request.cookies") ?? false
    recipe.network = try network()
    recipe.usesOAuth = try checkOAuth()
    return recipe
  }

  // MARK: - Tables

  private func session() throws(Failure) -> SessionRecipe {
    var session = SessionRecipe()
    session.accessToken = try values.places("session.access_token") ?? []
    session.refreshToken = try values.places("session.refresh_token") ?? []
    session.expiresIn = try values.timePlaces("session.expires_in") ?? []
    session.expiresAt = try values.timePlaces("session.expires_at") ?? []
    session.account = try values.places("session.account") ?? []
    session.message = try values.places("session.message") ?? []
    if let text = try values.text("session.success") {
      session.success = try values.place(text, key: "session.success")
    }
    session.refused = try values.statuses("session.refused") ?? []
    session.expired = try values.statuses("session.expired") ?? []
    for (name, text) in try values.textMembers("session.keep") ?? [] {
      guard !name.isEmpty, name.utf8.allSatisfy(Template.isNameByte) else {
        throw values.failure(
          "session.keep", name, "is not a name", hint: "letters, digits, dot, _ and - are allowed")
      }
      let place = try values.place(text, key: "session.keep", member: name)
      session.keep.append(Kept(name: name, place: place))
    }
    session.renewOnEveryResponse = try values.flag("session.renew_on_every_response") ?? false
    session.keepPassword = try values.flag("session.keep_password") ?? false
    return session
  }

  private func call(_ table: String) throws(Failure) -> Call? {
    guard let first = values.firstKey(of: table) else { return nil }
    guard let text = try values.text("\(table).path") else {
      throw values.failure(first, nil, "[\(table)] has no path", hint: "add path = \"/...\"")
    }
    let key = "\(table).path"
    var call = Call(path: try template(text, key))
    call.method = try values.text("\(table).method") ?? Self.method(of: table)
    guard HeaderSyntax.isToken(call.method) else {
      throw values.failure("\(table).method", nil, "is not an HTTP method (RFC 9110)")
    }
    call.authorization =
      try values.choice("\(table).authorization", of: Call.Authorization.self)
      ?? Self.authorization(of: table)
    call.encoding = try values.choice("\(table).encoding", of: Call.Encoding.self) ?? .json
    call.secretsInURL = try values.flag("\(table).secrets_in_url") ?? false
    call.query = try query("\(table).query", secretsInURL: call.secretsInURL, in: table)
    call.headers = try headers("\(table).headers", in: table)
    call.body = try body(of: table, encoding: call.encoding)
    try checkPath(call, key, in: table)
    try checkAuthorization(call.authorization, in: table)
    return call
  }

  /// The method where neither preset nor profile names one.
  static func method(of table: String) -> String { table == "whoami" ? "GET" : "POST" }

  /// Signing out and asking who one is are done as the session's owner.
  static func authorization(of table: String) -> Call.Authorization {
    table == "whoami" || table == "logout" ? .access : .none
  }

  private func query(
    _ key: String, secretsInURL: Bool, in table: String
  ) throws(Failure) -> [Call.Pair] {
    var pairs: [Call.Pair] = []
    for (name, text) in try values.textMembers(key) ?? [] {
      let value = try template(text, key, name)
      try checkNames(value, key, name, in: table, isURL: !secretsInURL)
      try refuseStaticSecret(value, key, name)
      pairs.append(Call.Pair(name: name, value: value))
    }
    return pairs
  }

  private func headers(_ key: String, in table: String) throws(Failure) -> [Call.Pair] {
    var pairs: [Call.Pair] = []
    var seen: [String] = []
    for (name, text) in try values.textMembers(key) ?? [] {
      guard HeaderSyntax.isToken(name) else {
        throw values.failure(key, name, "is not a name of a header (RFC 9110)")
      }
      let lower = name.asciiLowercased
      guard !HeaderSyntax.isForbiddenInRecipe(name) else {
        throw values.failure(key, name, "a recipe may not set this header")
      }
      guard !seen.contains(lower) else { throw values.failure(key, name, "stands here twice") }
      seen.append(lower)
      let value = try template(text, key, name)
      try checkHeaderText(value, key, name)
      try checkNames(value, key, name, in: table, isURL: false)
      try refuseStaticSecret(value, key, name)
      pairs.append(Call.Pair(name: name, value: value))
    }
    return pairs
  }

  private func body(of table: String, encoding: Call.Encoding) throws(Failure) -> Call.Body? {
    let key = "\(table).body"
    guard let members = try values.members(key) else { return nil }
    let body = try fields(members, key, top: nil, in: table)
    if encoding == .form || encoding == .multipart {
      for member in members {
        switch member.value {
        case .array, .object:
          throw values.failure(
            key, member.key, "a \(encoding.rawValue) body has no nested values",
            hint: "name the field as the server reads it: \"user[email]\" = \"{username}\"")
        default: break
        }
      }
    }
    // A preset's body stays unused where the profile turns the body off.
    return encoding == .none ? nil : body
  }

  private func fields(
    _ members: [TOMLMember], _ key: String, top: String?, in table: String
  ) throws(Failure) -> Call.Body {
    var fields: [Call.Field] = []
    for member in members {
      let value = try bodyValue(
        member.value, key, top ?? member.key, name: member.key, in: table)
      fields.append(Call.Field(name: member.key, value: value))
    }
    return .object(fields)
  }

  private func bodyValue(
    _ value: JSONValue, _ key: String, _ top: String, name: String, in table: String
  ) throws(Failure) -> Call.Body {
    switch value {
    case .string(let text):
      let template = try template(text, key, top)
      try checkNames(template, key, top, in: table, isURL: false)
      try refuseStaticSecret(template, key, top, name: name)
      return .template(template)
    case .number(let digits):
      try refuseStaticSecret(try Template(digits), key, top, name: name)
      return .literal(value)
    case .null, .bool: return .literal(value)
    case .array(let values):
      var parts: [Call.Body] = []
      for value in values {
        parts.append(try bodyValue(value, key, top, name: name, in: table))
      }
      return .array(parts)
    case .object(let members): return try fields(members, key, top: top, in: table)
    }
  }

  private func network() throws(Failure) -> NetworkRecipe {
    var network = NetworkRecipe()
    network.allowOrigins = try origins("network.allow_origins")
    network.signInOrigins = try origins("network.sign_in_origins")
    network.allowHTTP = try values.flag("network.allow_http") ?? false
    network.caFile = try fileName("network.ca_file")
    network.clientCertificate = try fileName("network.client_cert")
    network.clientKey = try fileName("network.client_key")
    network.proxy = try proxy()
    if let seconds = try values.seconds("network.connect_timeout") {
      network.connectTimeout = seconds
    }
    if let seconds = try values.seconds("network.idle_timeout") { network.idleTimeout = seconds }
    return network
  }

  private func origins(_ key: String) throws(Failure) -> [String] {
    let texts = try values.texts(key) ?? []
    for text in texts {
      guard let problem = URLText.problemOfOrigin(text) else { continue }
      throw values.failure(key, nil, "\(DisplayText.oneLine(text, limit: 80)): \(problem)")
    }
    return texts
  }

  private func fileName(_ key: String) throws(Failure) -> String? {
    guard let text = try values.text(key) else { return nil }
    if text.utf8.first == UInt8(ascii: "/") { return text }
    guard text.utf8.first != UInt8(ascii: "~") else {
      throw values.failure(key, nil, "~ is not read here", hint: "write the whole path")
    }
    return folder.utf8.last == UInt8(ascii: "/") ? folder + text : "\(folder)/\(text)"
  }

  private func proxy() throws(Failure) -> String? {
    guard let text = try values.text("network.proxy") else { return nil }
    guard !text.utf8.contains(UInt8(ascii: "@")) else {
      throw values.failure(
        "network.proxy", nil, "must have no user name or password in it",
        hint: "AUTHCTL_PROXY_USER holds them")
    }
    guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw values.failure("network.proxy", nil, "must be printable ASCII without spaces")
    }
    return text
  }

  /// Reads `[oauth]` for its mistakes only: it is reserved.
  private func checkOAuth() throws(Failure) -> Bool {
    guard values.firstKey(of: "oauth") != nil else { return false }
    for name in ["issuer"] + ProfileSchema.oauthEndpoints {
      guard let text = try values.text("oauth.\(name)") else { continue }
      if let problem = URLText.problemOfBase(text) {
        throw values.failure("oauth.\(name)", nil, problem)
      }
    }
    for key in ProfileSchema.keys where key.name.utf8.starts(with: "oauth.".utf8) {
      if case .choice(let words) = key.kind { _ = try values.word(key.name, of: words) }
    }
    _ = try values.text("oauth.client_id")
    _ = try values.text("oauth.scope")
    if let path = try values.text("oauth.redirect_path") {
      let problem = URLText.problemOfPath(Array(path.utf8)[...])
      guard path.utf8.first == UInt8(ascii: "/"), problem == nil else {
        throw values.failure("oauth.redirect_path", nil, problem ?? "must begin with /")
      }
    }
    for (name, text) in try values.textMembers("oauth.parameters") ?? [] {
      guard !Self.ownParameters.contains(name.asciiLowercased) else {
        throw values.failure("oauth.parameters", name, "authctl sets this parameter itself")
      }
      try refuseStaticSecret(try template(text, "oauth.parameters", name), "oauth.parameters", name)
    }
    return true
  }

  /// Security rule A15.
  private static let ownParameters = [
    "client_id", "client_secret", "redirect_uri", "response_type", "response_mode", "state",
    "nonce", "scope", "code", "code_challenge", "code_challenge_method", "code_verifier",
    "grant_type", "refresh_token", "client_assertion", "client_assertion_type",
  ]

  // MARK: - Checks

  private func template(
    _ text: String, _ key: String, _ member: String? = nil
  ) throws(Failure) -> Template {
    do throws(Failure) { return try Template(text) } catch {
      throw values.failure(key, member, error)
    }
  }

  private func checkPath(_ call: Call, _ key: String, in table: String) throws(Failure) {
    for (index, piece) in call.path.pieces.enumerated() {
      guard case .text(let text) = piece else {
        if index == 0 {
          throw values.failure(key, nil, "nothing may be filled in before the path")
        }
        continue
      }
      let problem =
        index == 0
        ? URLText.problemOfPathStart(text, isWhole: call.path.pieces.count == 1)
        : URLText.problemOfPath(Array(text.utf8)[...])
      if let problem { throw values.failure(key, nil, problem) }
    }
    try checkNames(call.path, key, nil, in: table, isURL: !call.secretsInURL)
  }

  /// Which value may go where (security rules A2 and A9).
  private func checkNames(
    _ template: Template, _ key: String, _ member: String?, in table: String, isURL: Bool
  ) throws(Failure) {
    let signsIn = table == "login" || table == "register"
    for name in template.names {
      if isURL, name.isSecret {
        throw values.failure(
          key, member, "{\(name)} would stand in URLs, which servers and proxies write down",
          hint: "send it in a header or the body, or set secrets_in_url = true")
      }
      if name == .otp && !signsIn || name == .password && !(signsIn || keepsPassword) {
        throw values.failure(key, member, "{\(name)} may stand in [login] and [register] only")
      }
      if name == .refreshToken || name == .clientSecret, table == "request" || table == "whoami" {
        throw values.failure(key, member, "{\(name)} may not stand in [\(table)]")
      }
      if name.isSession {
        let kept = String(decoding: name.description.utf8.dropFirst(8), as: UTF8.self)
        guard !keptNames.contains(where: { $0.utf8.elementsEqual(kept.utf8) }) else { continue }
        throw values.failure(
          key, member, "session.keep has no \(kept)",
          hint: nearest(kept, in: keptNames).map { "did you mean {session.\($0)}?" }
            ?? "add keep = { \(kept) = \"header:NAME\" } to [session]")
      }
    }
  }

  private func checkAuthorization(
    _ authorization: Call.Authorization, in table: String
  ) throws(Failure) {
    let signsIn = table == "login" || table == "register"
    let key = "\(table).authorization"
    if authorization == .basic, !signsIn, !keepsPassword {
      throw values.failure(
        key, nil, "basic sends the password, which is for [login] and [register] only")
    }
    if authorization == .refresh, table != "refresh", table != "logout" {
      throw values.failure(key, nil, "refresh is for [refresh] and [logout] only")
    }
  }

  /// Bytes that may stand in a header (security rule A4).
  private func checkHeaderText(
    _ template: Template, _ key: String, _ member: String
  ) throws(Failure) {
    guard !template.pieces.isEmpty else { throw values.failure(key, member, "must not be empty") }
    for piece in template.pieces {
      guard case .text(let text) = piece else { continue }
      guard text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
        throw values.failure(key, member, "must be printable ASCII")
      }
    }
    if case .text(let text)? = template.pieces.first, text.utf8.first == 0x20 {
      throw values.failure(key, member, "must not begin with a space")
    }
    if case .text(let text)? = template.pieces.last, text.utf8.last == 0x20 {
      throw values.failure(key, member, "must not end with a space")
    }
  }

  /// A fixed value under the name of a secret (security rule C9).
  private func refuseStaticSecret(
    _ template: Template, _ key: String, _ member: String, name: String? = nil
  ) throws(Failure) {
    let name = name ?? member
    guard template.names.isEmpty, !template.pieces.isEmpty else { return }
    let lower = name.asciiLowercased
    guard Self.secretWords.contains(where: { Self.contains(lower, $0) }) else { return }
    guard
      !publicNames.contains(where: { $0.asciiLowercased.utf8.elementsEqual(lower.utf8) })
    else {
      return
    }
    let shown = DisplayText.oneLine(name, limit: 60)
    throw values.failure(
      key, member, "a fixed \(shown) looks like a secret, and profiles hold none",
      hint: "use {app_key} or {client_secret}; for a public one: public = [\"\(shown)\"]")
  }

  private static let secretWords = ["authorization", "cookie", "token", "key", "secret"]

  private static func contains(_ text: String, _ word: String) -> Bool {
    let text = Array(text.utf8)
    let word = Array(word.utf8)
    return text.indices.contains { text[$0...].starts(with: word) }
  }
}
