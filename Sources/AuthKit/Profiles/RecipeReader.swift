/// Makes a `Recipe` from the values in force; `RecipeRules` checks its limits.
struct RecipeReader {
  let values: ProfileValues
  /// The folder that relative file names refer to.
  let folder: String
  /// The names in `session.keep`.
  private(set) var keptNames: [String] = []
  /// The names in `prefetch.take` and `otp.take`.
  private(set) var takenNames: (prefetch: [String], otp: [String]) = ([], [])
  private(set) var publicNames: [String] = []
  private(set) var keepsPassword = false
  /// Whether `[prefetch]` carries the session, so that requests before sign-in cannot use it.
  private(set) var prefetchWantsSession = false

  init(_ values: ProfileValues, folder: String) {
    self.values = values
    self.folder = folder
  }

  mutating func read() throws(Failure) -> Recipe {
    var recipe = Recipe()
    publicNames = try values.texts("public") ?? []
    try checkConstants()
    recipe.session = try session()
    keptNames = recipe.session.keep.map(\.name)
    if values.firstKey(of: "oauth") != nil { keptNames += OAuthSettings.keptNames }
    keepsPassword = recipe.session.keepPassword
    try checkExclusions()
    recipe.prefetch = try prefetch()
    recipe.login = try call("login")
    recipe.register = try call("register")
    recipe.secondFactor = try secondFactor(login: recipe.login)
    recipe.refresh = try call("refresh")
    recipe.logout = try call("logout")
    recipe.whoami = try call("whoami")
    recipe.request.headers = try headers("request.headers", in: "request")
    recipe.request.writeHeaders = try headers("request.write_headers", in: "request")
    for pair in recipe.request.writeHeaders
    where recipe.request.headers.contains(where: {
      $0.name.asciiLowercased == pair.name.asciiLowercased
    }) {
      throw values.failure(
        "request.write_headers", pair.name, "is already in request.headers")
    }
    // A recipe without the flag `secrets_in_url`: this key has no other purpose (rule A9).
    recipe.request.query = try query("request.query", secretsInURL: true, in: "request")
    if !recipe.request.carryingParameters.isEmpty,
      values.isNearer("request.query", than: "request.headers")
    {
      recipe.request.headers.removeAll { !$0.value.names.isEmpty }
    }
    recipe.request.cookies = try values.flag("request.cookies") ?? false
    recipe.nextPage = try nextPage()
    recipe.network = try network()
    if let oauth = try oauth() { oauth.translate(into: &recipe, isSet: values.isInFile) }
    _ = try Fingerprint.read(values, "")
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
    session.refused = try values.refusals("session.refused") ?? []
    session.expired = try values.refusals("session.expired") ?? []
    session.expiredWhen = try values.conditions("session.expired_when") ?? []
    session.keep = try values.kept("session.keep")
    session.renewOnEveryResponse = try values.flag("session.renew_on_every_response") ?? false
    session.keepPassword = try values.flag("session.keep_password") ?? false
    return session
  }

  private mutating func prefetch() throws(Failure) -> Prefetch? {
    let take = try values.kept("prefetch.take")
    guard let call = try call("prefetch") else { return nil }
    guard !take.isEmpty || values.isIgnored("prefetch", "take") else {
      throw values.failure(
        table: "prefetch", "has no take", hint: "add take = { csrf = \"/token\" }")
    }
    takenNames.prefetch = take.map(\.name)
    prefetchWantsSession = call.names(request: RequestRecipe()).contains {
      $0 == .accessToken || $0.isSession
    }
    prefetchWantsSession = prefetchWantsSession || call.authorization == .access
    return Prefetch(call: call, take: take)
  }

  private mutating func secondFactor(login: RecipeRequest?) throws(Failure) -> SecondFactor? {
    guard values.hasTable("otp") else { return nil }
    let take = try values.kept("otp.take")
    let conditions = try values.conditions("otp.when") ?? []
    takenNames.otp = take.map(\.name)
    let call = values.has("otp.path") ? try call("otp") : nil
    let statuses = try values.statuses("otp.status")
    guard let statuses = statuses ?? (values.isIgnored("otp", "status") ? [] : nil) else {
      throw values.failure(
        table: "otp", "has no status",
        hint: "add status = [401], the status of the answer that asks for a code")
    }
    if call == nil, let login,
      (login.headers + login.query).contains(where: {
        $0.value.requiredNames.contains(.otp)
      })
    {
      throw values.failure(
        table: "otp", "asks for the code later, but a header or parameter of [login] requires it",
        hint: "write {otp?} there")
    }
    let wanted = call ?? login
    let isKnown = !values.isIgnored("otp") && !values.isIgnored("login")
    guard !isKnown || wanted?.names(request: RequestRecipe()).contains(.otp) ?? false else {
      throw values.failure(
        table: "otp", "is set, but no request sends {otp}",
        hint: "use {otp} in [login], or give [otp] its own path and body")
    }
    return SecondFactor(
      statuses: statuses, conditions: conditions, take: take, call: call)
  }

  private func call(_ table: String) throws(Failure) -> RecipeRequest? {
    guard values.hasTable(table) else { return nil }
    let isPathIgnored = values.isIgnored(table, "path")
    guard let text = try values.text("\(table).path") ?? (isPathIgnored ? "/" : nil) else {
      throw values.failure(table: table, "has no path", hint: "add path = \"/...\"")
    }
    let key = "\(table).path"
    var call = RecipeRequest(path: try template(text, key, isPath: true))
    call.method = try values.text("\(table).method") ?? Self.method(of: table)
    guard HeaderSyntax.isToken(call.method) else {
      throw values.failure("\(table).method", nil, "is not an HTTP method (RFC 9110)")
    }
    call.authorization =
      try values.choice("\(table).authorization", of: RecipeRequest.Authorization.self)
      ?? Self.authorization(of: table)
    call.encoding = try values.choice("\(table).encoding", of: RecipeRequest.Encoding.self) ?? .json
    call.secretsInURL = try values.flag("\(table).secrets_in_url") ?? false
    call.query = try query("\(table).query", secretsInURL: call.secretsInURL, in: table)
    call.headers = try headers("\(table).headers", in: table)
    call.body = try body(of: table, encoding: call.encoding)
    try checkPath(call.path, key)
    try checkNames(call.path, key, nil, in: table, isURL: !call.secretsInURL)
    try checkAuthorization(call.authorization, in: table)
    return call
  }

  /// The default method of a table.
  static func method(of table: String) -> String {
    table == "whoami" || table == "prefetch" ? "GET" : "POST"
  }

  /// The default authorization: sign-out and whoami use the session.
  static func authorization(of table: String) -> RecipeRequest.Authorization {
    table == "whoami" || table == "logout" ? .access : .none
  }

  /// Whether the table's request comes before there is a session.
  static func signsIn(_ table: String) -> Bool {
    table == "login" || table == "register" || table == "otp"
  }

  private func query(
    _ key: String, secretsInURL: Bool, in table: String
  ) throws(Failure) -> [RecipeRequest.Pair] {
    var pairs: [RecipeRequest.Pair] = []
    for (name, text) in try values.textMembers(key) ?? [] {
      let value = try template(text, key, name)
      try checkNames(value, key, name, in: table, isURL: !secretsInURL)
      try refuseStaticSecret(value, key, name, name: name)
      pairs.append(RecipeRequest.Pair(name: name, value: value))
    }
    return pairs
  }

  private func headers(_ key: String, in table: String) throws(Failure) -> [RecipeRequest.Pair] {
    var pairs: [RecipeRequest.Pair] = []
    var seen: [String] = []
    for (name, text) in try values.textMembers(key) ?? [] {
      guard HeaderSyntax.isToken(name) else {
        throw values.failure(key, name, "is not a header name (RFC 9110)")
      }
      let lower = name.asciiLowercased
      guard !HeaderSyntax.isForbiddenInRecipe(name) else {
        throw values.failure(key, name, "a profile cannot set this header")
      }
      guard !seen.contains(lower) else { throw values.failure(key, name, "appears twice") }
      seen.append(lower)
      let value = try template(text, key, name)
      try checkHeaderText(value, key, name)
      try checkNames(value, key, name, in: table, isURL: false)
      try refuseStaticSecret(value, key, name, name: name)
      pairs.append(RecipeRequest.Pair(name: name, value: value))
    }
    return pairs
  }

  private func body(of table: String, encoding: RecipeRequest.Encoding) throws(Failure)
    -> RecipeRequest.Body?
  {
    let key = "\(table).body"
    guard let members = try values.members(key) else { return nil }
    let body = try fields(members, key, top: nil, in: table)
    if encoding == .form || encoding == .multipart {
      for member in members {
        switch member.value {
        case .array, .object:
          throw values.failure(
            key, member.key, "a \(encoding.rawValue) body cannot have nested values",
            hint: "write the name that the server expects: \"user[email]\" = \"{username}\"")
        default: break
        }
      }
    }
    // A preset's body is unused when the profile turns the body off.
    return encoding == .none ? nil : body
  }

  private func fields(
    _ members: [TOMLMember], _ key: String, top: String?, in table: String
  ) throws(Failure) -> RecipeRequest.Body {
    var fields: [RecipeRequest.Field] = []
    for member in members {
      let value = try bodyValue(
        member.value, key, top ?? member.key, name: member.key, in: table)
      fields.append(RecipeRequest.Field(name: member.key, value: value))
    }
    return .object(fields)
  }

  private func bodyValue(
    _ value: JSONValue, _ key: String, _ top: String, name: String, in table: String
  ) throws(Failure) -> RecipeRequest.Body {
    switch value {
    case .string(let text):
      let template = try template(text, key, top, isBody: true)
      try checkNames(template, key, top, in: table, isURL: false)
      try refuseStaticSecret(template, key, top, name: name)
      return .template(template)
    case .number(let digits):
      try refuseStaticSecret(try Template(digits), key, top, name: name)
      return .literal(value)
    case .null, .bool: return .literal(value)
    case .array(let values):
      var parts: [RecipeRequest.Body] = []
      for value in values {
        parts.append(try bodyValue(value, key, top, name: name, in: table))
      }
      return .array(parts)
    case .object(let members): return try fields(members, key, top: top, in: table)
    }
  }

  private func nextPage() throws(Failure) -> NextPage {
    let next = try values.text("pages.next")
    let cursor = try values.text("pages.cursor")
    guard next == nil || cursor == nil else {
      throw values.failure("pages.cursor", nil, "cannot be used together with pages.next")
    }
    if let next {
      if let page = NextPage(pointer: next) { return page }
      throw values.failure("pages.next", nil, "must be a JSON Pointer, as in /next")
    }
    if let cursor {
      if let page = NextPage(cursor: cursor) { return page }
      throw values.failure(
        "pages.cursor", nil, "must be POINTER=PARAMETER, as in /meta/cursor=cursor")
    }
    return .usual
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

  /// Reads the name of a file; a relative one refers to the profile's folder.
  func fileName(_ key: String) throws(Failure) -> String? {
    guard let text = try values.text(key) else { return nil }
    if text.utf8.first == UInt8(ascii: "/") { return text }
    guard text.utf8.first != UInt8(ascii: "~") else {
      throw values.failure(key, nil, "~ is not expanded", hint: "write the absolute path")
    }
    return folder.utf8.last == UInt8(ascii: "/") ? folder + text : "\(folder)/\(text)"
  }

  private func proxy() throws(Failure) -> String? {
    guard let text = try values.text("network.proxy") else { return nil }
    guard !text.utf8.contains(UInt8(ascii: "@")) else {
      throw values.failure(
        "network.proxy", nil, "must not contain a user name or password",
        hint: "use the variable HTTPS_PROXY, which can contain them")
    }
    guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw values.failure("network.proxy", nil, "must be printable ASCII without spaces")
    }
    return text
  }
}
