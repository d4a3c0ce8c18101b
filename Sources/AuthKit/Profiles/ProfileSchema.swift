/// The keys that a profile, a preset and `config.toml` can contain (design 5).
enum ProfileSchema {
  /// The type of a value. `ProfileValues` and `RecipeReader` check the details.
  enum Kind: Equatable {
    case text
    case choice([String])
    case flag
    case number
    case texts
    case numbers
    /// Names and texts.
    case textTable
    /// Names and values of any kind.
    case table

    /// The type, for messages.
    var described: String {
      switch self {
      case .text: "a string"
      case .choice(let words): "one of " + words.joined(separator: ", ")
      case .flag: "true or false"
      case .number: "a number"
      case .texts: "a list of strings"
      case .numbers: "a list of numbers"
      case .textTable: "a table of strings"
      case .table: "a table"
      }
    }
  }

  /// A key by its dotted name.
  struct Key {
    let name: String
    let kind: Kind
  }

  static let callTables = [
    "login", "register", "otp", "prefetch", "refresh", "logout", "whoami",
  ]
  static let tables =
    callTables + [
      "vars", "session", "request", "pages", "oauth", "network", "detect",
    ]

  /// All keys of a profile, in the order in which they are shown.
  static let keys: [Key] =
    [
      Key(name: "url", kind: .text), Key(name: "preset", kind: .text),
      Key(name: "account", kind: .text), Key(name: "public", kind: .texts),
    ]
    + callTables.flatMap { table in callKeys.map { Key(name: "\(table).\($0.name)", kind: $0.kind) }
    }
    + [
      Key(name: "otp.status", kind: .numbers), Key(name: "otp.when", kind: .texts),
      Key(name: "otp.take", kind: .textTable), Key(name: "prefetch.take", kind: .textTable),
      Key(name: "session.access_token", kind: .texts),
      Key(name: "session.refresh_token", kind: .texts),
      Key(name: "session.expires_in", kind: .texts),
      Key(name: "session.expires_at", kind: .texts),
      Key(name: "session.account", kind: .texts),
      Key(name: "session.message", kind: .texts),
      Key(name: "session.success", kind: .text),
      Key(name: "session.refused", kind: .numbers),
      Key(name: "session.expired", kind: .numbers),
      Key(name: "session.expired_when", kind: .texts),
      Key(name: "session.keep", kind: .textTable),
      Key(name: "session.renew_on_every_response", kind: .flag),
      Key(name: "session.keep_password", kind: .flag),
      Key(name: "request.headers", kind: .textTable),
      Key(name: "request.write_headers", kind: .textTable),
      Key(name: "request.query", kind: .textTable),
      Key(name: "request.cookies", kind: .flag),
      Key(name: "pages.next", kind: .text), Key(name: "pages.cursor", kind: .text),
    ] + oauthKeys
    + [
      Key(name: "network.allow_origins", kind: .texts),
      Key(name: "network.sign_in_origins", kind: .texts),
      Key(name: "network.allow_http", kind: .flag), Key(name: "network.ca_file", kind: .text),
      Key(name: "network.client_cert", kind: .text), Key(name: "network.client_key", kind: .text),
      Key(name: "network.proxy", kind: .text),
      Key(name: "network.connect_timeout", kind: .number),
      Key(name: "network.idle_timeout", kind: .number),
    ] + markKeys

  /// How to recognize a product (`authctl profile detect`); only for presets.
  private static let markKeys = [
    Key(name: "detect.method", kind: .text), Key(name: "detect.after", kind: .texts),
    Key(name: "detect.likely", kind: .flag), Key(name: "detect.path", kind: .text),
    Key(name: "detect.status", kind: .numbers),
    Key(name: "detect.when", kind: .texts), Key(name: "detect.text", kind: .texts),
    Key(name: "detect.endpoint", kind: .text), Key(name: "detect.body", kind: .text),
  ]

  private static let callKeys: [Key] = [
    Key(name: "method", kind: .text), Key(name: "path", kind: .text),
    Key(name: "authorization", kind: .choice(RecipeRequest.Authorization.allCases.map(\.rawValue))),
    Key(name: "encoding", kind: .choice(RecipeRequest.Encoding.allCases.map(\.rawValue))),
    Key(name: "query", kind: .textTable), Key(name: "headers", kind: .textTable),
    Key(name: "body", kind: .table), Key(name: "secrets_in_url", kind: .flag),
  ]

  private static let oauthKeys: [Key] =
    [Key(name: "oauth.issuer", kind: .text)]
    + OAuthSettings.Endpoint.allCases.map { Key(name: "oauth.\($0.rawValue)", kind: .text) }
    + [
      Key(
        name: "oauth.grant", kind: .choice(OAuthSettings.Grant.allCases.map(\.rawValue))),
      Key(name: "oauth.client_id", kind: .text), Key(name: "oauth.registered", kind: .flag),
      Key(
        name: "oauth.client_auth",
        kind: .choice(OAuthSettings.ClientAuthentication.allCases.map(\.rawValue))),
      Key(name: "oauth.client_key", kind: .text), Key(name: "oauth.scope", kind: .texts),
      Key(name: "oauth.audience", kind: .text),
      Key(name: "oauth.resource", kind: .texts), Key(name: "oauth.parameters", kind: .textTable),
      Key(name: "oauth.token_parameters", kind: .textTable),
      Key(name: "oauth.redirect_host", kind: .choice(["127.0.0.1", "[::1]", "localhost"])),
      Key(name: "oauth.redirect_port", kind: .number),
      Key(name: "oauth.redirect_path", kind: .text), Key(name: "oauth.pushed", kind: .flag),
      Key(name: "oauth.dpop", kind: .flag),
      Key(name: "oauth.id_token", kind: .choice(["optional", "required"])),
    ]

  /// The keys of `config.toml`.
  static let configKeys: [Key] = [
    Key(name: "default_profile", kind: .text), Key(name: "store", kind: .text),
    Key(name: "store_timeout", kind: .number), Key(name: "lock_timeout", kind: .number),
  ]

  /// The key called `name`.
  ///
  /// - Throws: `Failure` of kind `usage` that names the nearest known key.
  static func key(_ name: String, in keys: [Key] = keys) throws(Failure) -> Key {
    if let key = keys.first(where: { $0.name == name }) ?? variable(name) { return key }
    throw Failure(
      .usage, "unknown key \(DisplayText.oneLine(name, limit: 80))",
      hint: suggestion(for: name, in: keys.map(\.name))
        ?? suggestionElsewhere(for: name, in: keys))
  }

  /// The key of a constant of the recipe, `vars.NAME`, with any name.
  private static func variable(_ name: String) -> Key? {
    let path = name.utf8.split(
      separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
    guard path.count == 2, path[0].elementsEqual("vars".utf8), !path[1].isEmpty,
      path[1].allSatisfy({ Template.isNameByte($0) && $0 != UInt8(ascii: ".") })
    else { return nil }
    return Key(name: name, kind: .text)
  }

  /// The entries of `document`, flattened to known keys.
  ///
  /// - Parameter ignoring: keys, by their names from the root, to treat as absent.
  /// - Throws: `Failure` of kind `usage` for the first unknown key, with its place and the nearest.
  static func entries(
    of document: TOMLDocument, keys: [Key] = keys, tables: [String] = tables,
    ignoring: [[String]] = []
  ) throws(Failure) -> [(key: Key, value: JSONValue)] {
    var found: [(key: Key, value: JSONValue)] = []
    for member in document.root where !ignoring.contains([member.key]) {
      if tables.contains(member.key) {
        found += try inner(of: member, document, keys, ignoring)
        continue
      }
      let dot = UInt8(ascii: ".")
      guard !member.key.utf8.contains(dot), let key = keys.first(where: { $0.name == member.key })
      else {
        let known = keys.filter { !$0.name.utf8.contains(dot) }
        let near =
          suggestion(for: member.key, in: known.map(\.name) + tables)
          ?? suggestionElsewhere(for: member.key, in: keys)
        throw unknown([member.key], in: document, hint: near)
      }
      found.append((key, member.value))
    }
    return found
  }

  private static func inner(
    of table: TOMLMember, _ document: TOMLDocument, _ keys: [Key], _ ignoring: [[String]]
  ) throws(Failure) -> [(key: Key, value: JSONValue)] {
    guard case .object(let members) = table.value else {
      var failure = Failure(
        .usage, "\(document.place(of: [table.key])): \(table.key): must be a table",
        hint: "write [\(table.key)] on a line of its own and its keys below it")
      failure.key = [table.key]
      throw failure
    }
    var found: [(key: Key, value: JSONValue)] = []
    let prefix = table.key + "."
    for member in members where !ignoring.contains([table.key, member.key]) {
      let name = prefix + member.key
      guard let key = keys.first(where: { $0.name == name }) ?? variable(name) else {
        let known = keys.filter { $0.name.utf8.starts(with: prefix.utf8) }
        let names = known.map { String($0.name.dropFirst(prefix.count)) }
        let near =
          suggestion(for: member.key, in: names) ?? suggestionElsewhere(for: member.key, in: keys)
        throw unknown([table.key, member.key], in: document, hint: near)
      }
      var value = member.value
      if case .object(let parts) = value {
        value = .object(parts.filter { !ignoring.contains([table.key, member.key, $0.key]) })
      }
      found.append((key, value))
    }
    return found
  }

  /// Parses the value of `--set KEY=VALUE`: text as is; a single text for a list is a list of one;
  /// tables and lists as JSON or TOML.
  ///
  /// - Throws: `Failure` of kind `usage`.
  static func value(of key: Key, from text: String) throws(Failure) -> JSONValue {
    let trimmed = trim(text)
    let first = trimmed.utf8.first
    switch key.kind {
    case .text, .choice: return .string(text)
    case .flag where trimmed == "true": return .bool(true)
    case .flag where trimmed == "false": return .bool(false)
    case .number:
      if case .number(let number)? = structured(trimmed) { return .number(number) }
    case .texts:
      if first == UInt8(ascii: "[") {
        if case .array(let values)? = structured(trimmed) { return .array(values) }
      } else {
        return .array([.string(text)])
      }
    case .numbers:
      switch structured(trimmed) {
      case .array(let values): return .array(values)
      case .number(let number): return .array([.number(number)])
      default: break
      }
    case .textTable, .table:
      if case .object(let members)? = structured(trimmed) { return .object(members) }
    case .flag: break
    }
    throw Failure(
      .usage, "\(key.name): must be \(key.kind.described)",
      hint: key.kind == .table || key.kind == .textTable
        ? "write --set '\(key.name)={\"name\":\"value\"}'" : nil)
  }

  // MARK: - Parts

  private static func structured(_ text: String) -> JSONValue? {
    // JSON first: `{"a":1}` is not TOML, and `{ a = 1 }` is not JSON.
    if let value = try? JSONValue.parse(text) { return value }
    guard !text.utf8.contains(0x0A) else { return nil }
    return (try? TOMLDocument("value = \(text)", label: "value"))?.value(at: ["value"])
  }

  private static func trim(_ text: String) -> String {
    let isSpace = { (byte: UInt8) in byte == 0x20 || (0x09...0x0D).contains(byte) }
    let bytes = text.utf8.drop(while: isSpace).reversed().drop(while: isSpace).reversed()
    return String(decoding: Array(bytes), as: UTF8.self)
  }

  private static func unknown(
    _ path: [String], in document: TOMLDocument, hint: String?
  ) -> Failure {
    let name = DisplayText.oneLine(TOMLWriter.key(path), limit: 80)
    var failure = Failure(
      .usage, "\(document.place(of: path)): unknown key \(name)", hint: hint)
    failure.key = path
    return failure
  }

  private static func suggestion(for name: String, in names: [String]) -> String? {
    nearest(name, in: names).map { "did you mean \($0)?" }
  }

  /// A suggestion for a key in the wrong table.
  private static func suggestionElsewhere(for name: String, in keys: [Key]) -> String? {
    let last = String(
      decoding: name.utf8.split(separator: UInt8(ascii: ".")).last ?? [], as: UTF8.self)
    let homes = keys.map(\.name).filter { $0.utf8.elementsEqual(("login." + last).utf8) }
    let others = keys.map(\.name).filter { $0.ends(withBytesOf: "." + last) }
    return (homes.first ?? others.first).map { "did you mean \($0)?" }
  }
}
