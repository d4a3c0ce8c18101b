/// The limits of every recipe (rules A2, A3, A4, A9, C9).
extension RecipeReader {
  /// Parses `text` as a template and replaces the recipe's constants.
  func template(
    _ text: String, _ key: String, _ member: String? = nil, isPath: Bool = false,
    isBody: Bool = false
  ) throws(Failure) -> Template {
    let template: Template
    do throws(Failure) { template = try Template(text) } catch {
      throw values.failure(key, member, error)
    }
    // Before constants are replaced: they too may only come after the host.
    if isPath { try checkPath(template, key) }
    return try template.fixing { (name) throws(Failure) in
      guard name.isConstant || name == .url else { return nil }
      let value = try values.anyText(name == .url ? "url" : name.description)
      // An empty constant is no value: a body field or optional text that uses it is left out.
      let mayBeEmpty = isBody || template.optionalNames.contains(name)
      if mayBeEmpty, let value, value.isEmpty { return nil }
      guard let value, !value.isEmpty else {
        if values.isIgnored("vars", name.member) { return nil }
        throw values.failure(
          key, member, "{\(name)} has no value",
          hint: "use --set \(name)=VALUE, or add \(name.member) = \"VALUE\" to [vars]")
      }
      return isPath ? try segment(value, of: name) : value
    }
  }

  /// Encodes a constant as one segment of a path (rule A9).
  private func segment(_ value: String, of name: Template.Name) throws(Failure) -> String {
    guard ![".", ".."].contains(where: { $0.utf8.elementsEqual(value.utf8) }) else {
      throw values.failure(name.description, nil, "cannot be . or .. in a path")
    }
    var builder = SecretBuilder()
    var value = value
    value.withUTF8 { builder.appendPercentEncoded(UnsafeRawBufferPointer($0)) }
    return builder.secret().withBytes { String(decoding: $0, as: UTF8.self) }
  }

  func checkPath(_ path: Template, _ key: String) throws(Failure) {
    for (index, piece) in path.pieces.enumerated() {
      guard case .text(let text) = piece else {
        if index == 0 {
          throw values.failure(key, nil, "a placeholder cannot come before the path")
        }
        continue
      }
      let problem =
        index == 0
        ? URLText.problemOfPathStart(text, isWhole: path.pieces.count == 1)
        : URLText.problemOfPath(Array(text.utf8)[...])
      if let problem { throw values.failure(key, nil, problem) }
    }
  }

  /// Checks which values may go where (rules A2 and A9).
  func checkNames(
    _ template: Template, _ key: String, _ member: String?, in table: String, isURL: Bool
  ) throws(Failure) {
    let signsIn = Self.signsIn(table)
    for case .basic(let user, let secret) in template.pieces
    where [user, secret].contains(where: { $0.isConstant || $0 == .url }) {
      throw values.failure(key, member, "a constant cannot be used in {basic:...}")
    }
    for name in template.names {
      if name.isTaken { try checkTaken(name, key, member, in: table) }
      if isURL, name.isSecret {
        throw values.failure(
          key, member, "{\(name)} would be in URLs, which servers and proxies log",
          hint: "send it in a header or the body, or set secrets_in_url = true")
      }
      let mayHoldPassword = keepsPassword || values.isIgnored("session", "keep_password")
      if name == .otp && !signsIn || name == .password && !(signsIn || mayHoldPassword) {
        throw values.failure(key, member, "{\(name)} works only in [login] and [register]")
      }
      if name == .refreshToken || name == .clientSecret,
        table == "request" || table == "whoami" || table == "prefetch"
      {
        throw values.failure(key, member, "{\(name)} cannot be used in [\(table)]")
      }
      if name.isSession {
        let kept = name.member
        guard !values.isIgnored("session", "keep"),
          !keptNames.contains(where: { $0.utf8.elementsEqual(kept.utf8) })
        else { continue }
        throw values.failure(
          key, member, "session.keep has no \(kept)",
          hint: nearest(kept, in: keptNames).map { "did you mean {session.\($0)}?" }
            ?? "add keep = { \(kept) = \"header:NAME\" } to [session]")
      }
    }
  }

  /// Checks that `{taken.NAME}` is used only in the request that follows.
  private func checkTaken(
    _ name: Template.Name, _ key: String, _ member: String?, in table: String
  ) throws(Failure) {
    func holds(_ names: [String]) -> Bool {
      names.contains { $0.utf8.elementsEqual(name.member.utf8) }
    }
    if table == "otp", holds(takenNames.otp) || values.isIgnored("otp", "take") { return }
    if table != "prefetch", values.isIgnored("prefetch", "take") { return }
    guard table != "prefetch", holds(takenNames.prefetch) else {
      var hint = nearest(name.member, in: takenNames.prefetch).map { "did you mean {taken.\($0)}?" }
      if table == "prefetch" {
        hint = "only the next request can use what [prefetch] takes"
      } else if holds(takenNames.otp) {
        hint = "only [otp] can use what [otp] takes"
      }
      throw values.failure(
        key, member, "{\(name)} has no value",
        hint: hint ?? "add take = { \(name.member) = \"/POINTER\" } to [prefetch]")
    }
    if prefetchWantsSession,
      Self.signsIn(table) || key == "request.headers" || key == "request.query"
    {
      throw values.failure(
        key, member, "[prefetch] carries the session and cannot be used for \(key)",
        hint: key == "request.headers"
          ? "use it in request.write_headers"
          : "set authorization = \"none\" in [prefetch] and use no token there")
    }
  }

  func checkAuthorization(
    _ authorization: RecipeRequest.Authorization, in table: String
  ) throws(Failure) {
    let signsIn = Self.signsIn(table)
    let key = "\(table).authorization"
    if authorization == .basic, !signsIn, !keepsPassword {
      throw values.failure(
        key, nil, "basic sends the password and works only in [login] and [register]")
    }
    if authorization == .refresh, table != "refresh", table != "logout" {
      throw values.failure(key, nil, "refresh works only in [refresh] and [logout]")
    }
    if authorization == .access, signsIn {
      throw values.failure(key, nil, "access needs a session, which [\(table)] does not have yet")
    }
  }

  /// Checks that a header has only allowed bytes (rule A4).
  func checkHeaderText(
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

  /// Refuses keys that cannot be used together.
  func checkExclusions() throws(Failure) {
    for table in ProfileSchema.callTables
    where values.isInFile("\(table).encoding") && values.isInFile("\(table).body") {
      guard try values.text("\(table).encoding") == RecipeRequest.Encoding.none.rawValue else {
        continue
      }
      throw values.failure(
        "\(table).body", nil, "\(table).body and encoding = \"none\" cannot be used together",
        hint: "remove one of them")
    }
    if values.firstKey(of: "oauth") != nil {
      for table in ["login", "refresh"] where values.isInFile("\(table).path") {
        throw values.failure(
          table: "oauth", "cannot be used together with [\(table)]", hint: "remove one of them")
      }
    }
    guard keepsPassword else { return }
    let key = "session.keep_password"
    if values.has("refresh.path") {
      throw values.failure(
        key, nil, "keep_password and [refresh] cannot be used together", hint: "remove one of them")
    }
    if values.isInFile("session.access_token"), try values.texts("session.access_token") != [] {
      throw values.failure(
        key, nil, "keep_password and session.access_token cannot be used together",
        hint: "remove one of them")
    }
  }

  /// Refuses secrets in constants too.
  func checkConstants() throws(Failure) {
    for name in values.constants {
      let key = "vars.\(name)"
      guard let text = try values.anyText(key), !text.isEmpty else { continue }
      guard !text.utf8.contains(UInt8(ascii: "{")) else {
        throw values.failure(key, nil, "a constant cannot contain a brace")
      }
      try refuseStaticSecret(try Template(text), key, nil, name: name)
    }
  }

  /// Refuses a fixed value under the name of a secret (rule C9).
  func refuseStaticSecret(
    _ template: Template, _ key: String, _ member: String?, name: String
  ) throws(Failure) {
    guard template.names.isEmpty, !template.pieces.isEmpty else { return }
    let lower = name.asciiLowercased
    guard Self.isSecretName(name), !values.isIgnored("public") else { return }
    guard
      !publicNames.contains(where: { $0.asciiLowercased.utf8.elementsEqual(lower.utf8) })
    else {
      return
    }
    let shown = DisplayText.oneLine(name, limit: 60)
    throw values.failure(
      key, member,
      "a fixed value for \(shown) looks like a secret, which a profile must not contain",
      hint: "use {app_key} or {client_secret}; if it is public, add public = [\"\(shown)\"]")
  }

  private static let secretWords = ["authorization", "cookie", "token", "key", "secret"]

  /// Whether a value with this name is usually a secret.
  static func isSecretName(_ name: String) -> Bool {
    let lower = name.asciiLowercased
    return secretWords.contains(where: lower.contains(bytesOf:))
  }
}
