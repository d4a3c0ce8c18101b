/// Fills a recipe's templates with values (rule A9): in one pass, encoded for each place.
struct TemplateFiller {
  let values: TemplateValues
  /// The profile's name, for messages.
  let profile: String

  /// The place of a filled template.
  enum Target {
    /// Each placeholder fills one segment.
    case path
    case query
    case form
    case header
    case jsonText
    case plain
  }

  /// Fills every placeholder of `template`, encoded for `target`.
  ///
  /// - Throws: `input_needed` for a value that is missing, `usage` or `answer_not_understood` for one
  ///   that the target cannot carry.
  func fill(
    _ template: Template, for target: Target, into builder: inout SecretBuilder
  ) throws(Failure) {
    for piece in template.pieces {
      switch piece {
      case .text(let text):
        var text = text
        text.withUTF8 { appendLiteral(UnsafeRawBufferPointer($0), target, &builder) }
      case .value(let name):
        let value = try required(name)
        try check(value, name, target)
        value.withBytes { append($0, target, &builder) }
      case .basic(let user, let secret):
        let joined = try basic(user, secret)
        joined.withBytes { append($0, target, &builder) }
      }
    }
  }

  /// Returns the filled template.
  func filled(_ template: Template, for target: Target) throws(Failure) -> Secret {
    var builder = SecretBuilder()
    try fill(template, for: target, into: &builder)
    return builder.secret()
  }

  /// Whether every placeholder of `template` has a value.
  func canFill(_ template: Template) -> Bool {
    template.names.allSatisfy { values[$0] != nil || values.field($0) != nil }
  }

  /// Whether `template` is left out: an optional placeholder has no value.
  func isLeftOut(_ template: Template) -> Bool {
    template.optionalNames.contains { values[$0] == nil && values.field($0) == nil }
  }

  /// Returns the headers of a recipe that are sent.
  func headers(_ pairs: [RecipeRequest.Pair]) throws(Failure) -> [WireHeader] {
    let isBound = values[.proofKey] != nil
    var headers: [WireHeader] = []
    for pair in pairs where !isLeftOut(pair.value) {
      headers.append(try header(pair.name, isBound ? pair.value.forBoundToken : pair.value))
    }
    return headers
  }

  /// Returns the parameters of a recipe that are added to a URL.
  func parameters(_ pairs: [RecipeRequest.Pair]) throws(Failure) -> [WireParameter] {
    var parameters: [WireParameter] = []
    for pair in pairs where !isLeftOut(pair.value) {
      parameters.append(
        WireParameter(
          name: pair.name, value: SharedSecret(try filled(pair.value, for: .plain)),
          isCredential: !pair.value.names.isEmpty))
    }
    return parameters
  }

  /// Returns a header of a recipe: an RFC 9110 field value without obs-text, never empty (rule A4).
  func header(_ name: String, _ template: Template) throws(Failure) -> WireHeader {
    let value = try filled(template, for: .header)
    // Check each value separately too: a trailing space would go unnoticed inside the whole.
    var isFit = value.withBytes { HeaderSyntax.isRecipeValue($0) }
    for case .value(let part) in template.pieces {
      isFit = try required(part).withBytes { HeaderSyntax.isRecipeValue($0) } && isFit
    }
    guard isFit else {
      let kind: Failure.Kind =
        template.names.allSatisfy(\.isPersonal) ? .usage : .answerNotUnderstood
      throw Failure(
        kind, "\(profile): the value for \(name) contains a byte that is not allowed in a header")
    }
    return try WireHeader(name: name, value: value)
  }

  /// Returns `user:secret` in base64 (RFC 7617).
  func basic(_ user: Template.Name, _ secret: Template.Name) throws(Failure) -> Secret {
    let (userValue, secretValue) = (try required(user), try required(secret))
    if userValue.withBytes({ $0.contains(UInt8(ascii: ":")) }) {
      throw Failure(
        .usage,
        "\(profile): a user name for HTTP Basic cannot contain a colon (RFC 7617, section 2)")
    }
    var joined = SecretBuilder()
    joined.append(userValue.secret)
    joined.append(UInt8(ascii: ":"))
    joined.append(secretValue.secret)
    var encoded = SecretBuilder()
    joined.secret().withBytes { encoded.appendBase64($0) }
    return encoded.secret()
  }

  /// Returns the value of `name`.
  func required(_ name: Template.Name) throws(Failure) -> SharedSecret {
    if let value = values[name], !value.secret.isEmpty { return value }
    if let field = values.field(name), let text = field.scalarText, !text.isEmpty {
      return SharedSecret(text)
    }
    throw Failure(
      .inputNeeded, "\(profile): no value for {\(name)}, which the request needs",
      hint: name.wayToGive)
  }

  private func check(
    _ value: SharedSecret, _ name: Template.Name, _ target: Target
  ) throws(Failure) {
    guard case .path = target else { return }
    let isDots = value.withBytes { $0.elementsEqual(".".utf8) || $0.elementsEqual("..".utf8) }
    if isDots {
      throw Failure(.usage, "\(profile): {\(name)} cannot be . or .. in a path")
    }
  }

  private func appendLiteral(
    _ bytes: UnsafeRawBufferPointer, _ target: Target, _ builder: inout SecretBuilder
  ) {
    // The path's own text is already a path; everything else is encoded like a value.
    if case .path = target { builder.append(bytes) } else { append(bytes, target, &builder) }
  }

  private func append(
    _ bytes: UnsafeRawBufferPointer, _ target: Target, _ builder: inout SecretBuilder
  ) {
    switch target {
    case .path, .query: builder.appendPercentEncoded(bytes)
    case .form: builder.appendFormEncoded(bytes)
    case .header, .plain, .jsonText: builder.append(bytes)
    }
  }
}

// MARK: - Bodies

extension TemplateFiller {
  /// Whether a member of a body is left out: its placeholder has no value (design 5), or it is a
  /// table of only such members.
  private func isLeftOut(_ field: RecipeRequest.Field) -> Bool {
    if let name = field.condition, values[name] == nil { return true }
    return switch field.value {
    case .template(let template): !template.names.isEmpty && !canFill(template)
    case .object(let fields): !fields.isEmpty && fields.allSatisfy(isLeftOut)
    case .words(let name): values[name] == nil
    case .literal, .array: false
    }
  }

  /// Returns the body's members and the fields that no placeholder of the call names.
  private func members(of call: RecipeRequest) throws(Failure) -> [RecipeRequest.Field] {
    var fields: [RecipeRequest.Field] = []
    switch call.body {
    case .object(let own): fields = own
    case nil: break
    default:
      if !values.fields.isEmpty {
        throw Failure(.usage, "\(profile): --field cannot be added to a body that is not a table")
      }
      return []
    }
    let named = call.names(request: RequestRecipe())
    for (name, value) in values.fields where !named.contains(.field(name)) {
      fields.removeAll { $0.name.utf8.elementsEqual(name.utf8) }
      fields.append(RecipeRequest.Field(name: name, value: .literal(value)))
    }
    return fields
  }

  /// Returns the JSON body of `call`; nil if it has none.
  func json(_ call: RecipeRequest) throws(Failure) -> SharedSecret? {
    let fields = try members(of: call)
    if call.body == nil && fields.isEmpty { return nil }
    var builder = SecretBuilder()
    if case .object? = call.body {
      try write(.object(fields), &builder)
    } else if let body = call.body {
      try write(body, &builder)
    } else {
      try write(.object(fields), &builder)
    }
    return SharedSecret(builder.secret())
  }

  private func write(_ body: RecipeRequest.Body, _ builder: inout SecretBuilder) throws(Failure) {
    switch body {
    case .literal(let value): value.write(into: &builder)
    case .template(let template):
      // A placeholder that is only a field keeps its type: --field roleId=1 is a number.
      if let name = template.onlyName, let field = values.field(name) {
        field.write(into: &builder)
      } else {
        try filled(template, for: .jsonText).withBytes { JSONValue.escape($0, into: &builder) }
      }
    case .words(let name):
      try write(.array(words(of: name).map { .literal(.string($0)) }), &builder)
    case .array(let items):
      builder.append("[")
      for (index, item) in items.enumerated() {
        if index > 0 { builder.append(",") }
        try write(item, &builder)
      }
      builder.append("]")
    case .object(let fields):
      builder.append("{")
      var isFirst = true
      for field in fields where !isLeftOut(field) {
        if !isFirst { builder.append(",") }
        isFirst = false
        JSONValue.string(field.name).write(into: &builder)
        builder.append(":")
        try write(field.value, &builder)
      }
      builder.append("}")
    }
  }

  private func words(of name: Template.Name) -> [String] { values[name]?.text.words ?? [] }

  /// Returns names and values for form and multipart bodies.
  ///
  /// - Throws: `usage` for `--field` with a body that is not a table; what `fill` throws.
  func flat(_ call: RecipeRequest) throws(Failure) -> [WirePart] {
    var parts: [WirePart] = []
    for field in try members(of: call) where !isLeftOut(field) {
      try flatten(field.name, field.value, into: &parts)
    }
    return parts
  }

  private func flatten(
    _ name: String, _ body: RecipeRequest.Body, into parts: inout [WirePart]
  ) throws(Failure) {
    switch body {
    case .template(let template):
      parts.append(WirePart(name: name, value: SharedSecret(try filled(template, for: .plain))))
    case .literal(.null): break
    case .literal(let value):
      parts.append(
        WirePart(name: name, value: SharedSecret(value.scalarText ?? value.serialized())))
    case .words(let source):
      for word in words(of: source) {
        parts.append(WirePart(name: name, value: SharedSecret(word)))
      }
    case .array(let items):
      for item in items { try flatten(name + "[]", item, into: &parts) }
    case .object(let fields):
      for field in fields where !isLeftOut(field) {
        try flatten("\(name)[\(field.name)]", field.value, into: &parts)
      }
    }
  }

  /// Returns `parts` as application/x-www-form-urlencoded.
  static func form(_ parts: [WirePart]) -> SharedSecret {
    var builder = SecretBuilder()
    for (index, part) in parts.enumerated() {
      if index > 0 { builder.append("&") }
      var name = part.name
      name.withUTF8 { builder.appendFormEncoded(UnsafeRawBufferPointer($0)) }
      builder.append("=")
      part.value.withBytes { builder.appendFormEncoded($0) }
    }
    return SharedSecret(builder.secret())
  }
}
