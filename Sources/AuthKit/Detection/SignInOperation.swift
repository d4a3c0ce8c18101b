/// An operation of an OpenAPI document that signs in, read as a recipe.
struct SignInOperation {
  let operation: OpenAPI.Operation
  /// The properties for the name and for the password.
  let userField: String
  let passwordField: String

  /// Whether a path's last segment names a sign-in.
  static func isSignIn(_ path: String) -> Bool {
    let words = path.asciiLowercased.utf8.split(separator: UInt8(ascii: "/"))
      .map { String(decoding: $0, as: UTF8.self) }
    // A path with a parameter needs a value that is not known.
    guard let last = words.last, !path.utf8.contains(UInt8(ascii: "{")) else { return false }
    // Django's djoser signs in at /jwt/create/: the segment before says what is created.
    return HTTPClient.signInNames.contains(last) || ["auth-with-password", "local"].contains(last)
      || last == "create" && words.count > 1 && ["jwt", "token"].contains(words[words.count - 2])
  }

  /// Returns nil unless the path's last segment and the body's properties are those of a sign-in.
  init?(_ operation: OpenAPI.Operation) {
    guard operation.fields.count <= Self.mostFields, Self.isSignIn(operation.path) else {
      return nil
    }
    let names = operation.fields.map(\.key)
    guard let password = Self.first(of: Self.passwordNames, in: names),
      let user = Self.first(of: Self.userNames, in: names)
    else { return nil }
    // A second password field is a registration's.
    guard names.count(where: { Self.isPassword($0) }) == 1 else { return nil }
    self.operation = operation
    userField = user
    passwordField = password
  }

  /// The maximum number of body fields of a sign-in.
  private static let mostFields = 100
  private static let passwordNames = ["password", "pass", "pwd", "passwd"]
  private static let userNames = [
    "username", "email", "identifier", "identity", "login", "user", "user_name", "userName",
    "userNameOrEmail", "usernameOrEmail", "email_address", "login_id", "name",
  ]

  private static func first(of wanted: [String], in names: [String]) -> String? {
    wanted.lazy.compactMap { word in
      names.first { $0.asciiLowercased.utf8.elementsEqual(word.asciiLowercased.utf8) }
    }.first
  }

  private static func isPassword(_ name: String) -> Bool {
    let lower = name.asciiLowercased
    return passwordNames.contains(lower) || lower.contains(bytesOf: "password")
  }

  // MARK: - As a recipe

  /// The profile keys for an API without a preset of its own.
  var settings: [(key: String, value: JSONValue)] {
    let isForm = operation.encoding == .form
    var settings: [(key: String, value: JSONValue)] = [
      ("preset", isForm ? "form" : "json"), ("login.path", .string(operation.path)),
    ]
    if operation.method != "POST" { settings.append(("login.method", .string(operation.method))) }
    if operation.encoding == .multipart { settings.append(("login.encoding", "multipart")) }
    settings.append(("login.body", .object(body)))
    if let place = tokenPlace {
      settings.append(("session.access_token", .array([.string(place)])))
    }
    return settings
  }

  private var body: [(key: String, value: JSONValue)] {
    var body: [(key: String, value: JSONValue)] = [
      (userField, "{username}"), (passwordField, "{password}"),
    ]
    for field in operation.fields where operation.required.contains(field.key) {
      guard field.key != userField, field.key != passwordField else { continue }
      // A profile takes no NUL character.
      guard !field.key.utf8.contains(0) else { continue }
      if !RecipeReader.isSecretName(field.key), let value = Self.constant(of: field.value) {
        body.append((field.key, value))
      } else if Template.isPlainName(field.key.utf8) {
        body.append((field.key, .string("{field.\(field.key)}")))
      }
    }
    return body
  }

  /// Returns the only value that a schema allows, or the one that it proposes.
  private static func constant(of schema: JSONValue) -> JSONValue? {
    var values = [schema["const"], schema["default"]].compactMap { $0 }
    if case .array(let words)? = schema["enum"], words.count == 1 { values += words }
    return values.first { value in
      switch value {
      case .string(let text): !text.utf8.contains { $0 == UInt8(ascii: "{") || $0 == 0 }
      case .number: value.double != nil
      case .bool: true
      default: false
      }
    }
  }

  /// The fields that are required besides the name and the password.
  var furtherFields: [String] {
    let constants = body.filter { !($0.value.text?.utf8.starts(with: "{field.".utf8) ?? false) }
    return operation.required.filter { name in !constants.contains { $0.key == name } }
  }

  /// The JSON Pointer of the token in the response, if the schema shows it.
  var tokenPlace: String? {
    guard let answer = operation.answer else { return nil }
    let names = [
      "access_token", "accessToken", "token", "access", "jwt", "auth_token", "authToken",
      "id_token", "key",
    ]
    func place(_ schema: JSONValue) -> String? {
      guard case .object(let members)? = schema["properties"] else { return nil }
      return names.first { name in members.contains { $0.key == name } }.map { "/" + $0 }
    }
    if let place = place(answer) { return place }
    return ["data", "result"].lazy.compactMap { name in
      answer["properties"]?[name].flatMap(place).map { "/\(name)\($0)" }
    }.first
  }

  // MARK: - Matching presets

  /// Returns the preset whose requests the document has, the one with the most of them; of those
  /// with as many, a general one first.
  func preset(among operations: [(method: String, path: String)]) -> String? {
    var best: (name: String, hits: Int)?
    for (name, recipe) in Self.recipes {
      guard let login = recipe.login, isSame(login) else { continue }
      let calls = [login, recipe.register, recipe.refresh, recipe.logout, recipe.whoami]
      let hits = calls.count { call in
        guard let call, let path = call.path.plainText else { return false }
        let method = call.method.asciiLowercased
        return operations.contains { $0.method == method && $0.path == path }
      }
      if hits > best?.hits ?? 0 { best = (name, hits) }
    }
    return best?.name
  }

  /// Every preset that works without other settings, the general ones first; read on first use.
  private static let recipes: [(name: String, recipe: Recipe)] = {
    let general = ["json", "form"]
    let names = general + Presets.names.filter { !general.contains($0) }
    return names.compactMap { name in
      let profile = try? ProfileReader.read(
        text: "url = \"https://api.example.com\"\npreset = \"\(name)\"\n", name: "example",
        file: nil)
      return profile.map { (name, $0.recipe) }
    }
  }()

  private func isSame(_ login: RecipeRequest) -> Bool {
    guard login.method == operation.method, login.authorization == .none,
      let path = login.path.plainText, path.utf8.elementsEqual(operation.path.utf8),
      login.encoding == operation.encoding, case .object(let fields)? = login.body
    else { return false }
    let own = fields.map(\.name)
    return own.contains(userField) && own.contains(passwordField)
      && operation.required.allSatisfy { own.contains($0) }
  }
}
