/// The fields of a pasted request, classified by name: user name, password, other secrets,
/// constants.
struct CurlFields {
  private(set) var username: String?
  private(set) var password: String?
  /// `login.authorization`.
  private(set) var authorization = "none"
  private(set) var notes: [String] = []
  /// Names that contain a secret word but hold nothing secret.
  private(set) var publicNames: [String] = []

  private var fields: [(name: String, value: String)] = []
  /// Roles that the user gave to fields whose names are not known.
  private var told: [String: CurlFieldRole] = [:]
  private var count = 0
  private var appKey: String?
  private var clientSecret: String?
  /// The rank of the field that the user name comes from.
  private var userRank: Int?

  private static let maximumCount = 500
  private static let maximumName = 256
  /// `TOMLTree.maximumDepth` less the levels around a body.
  private static let maximumDepth = 48

  mutating func note(_ text: String) {
    if !notes.contains(text) { notes.append(text) }
  }

  // MARK: - Collecting

  /// Adds every text and number in `value` as a field called `name`.
  mutating func collect(
    _ name: String, _ value: JSONValue, depth: Int = 0
  ) throws(Failure) {
    guard depth < Self.maximumDepth else {
      throw Failure(.usage, "the body of the curl command is nested too deeply")
    }
    count += 1
    guard name.utf8.count <= Self.maximumName, count <= Self.maximumCount else {
      throw Failure(
        .usage, "the curl command has too many fields, or a field name that is too long")
    }
    switch value {
    case .string(let text), .number(let text):
      fields.append((name, text))
    case .array(let values):
      for value in values { try collect(name, value, depth: depth + 1) }
    case .object(let members):
      for member in members { try collect(member.key, member.value, depth: depth + 1) }
    case .null, .bool: break
    }
  }

  private func role(_ name: String) -> CurlFieldRole { told[name] ?? CurlFieldRole(name) }

  /// Whether a field has the name of a password.
  var hasPassword: Bool { fields.contains { role($0.name) == .password } }

  /// Decides which fields hold the name and the password.
  ///
  /// - Parameter asking: puts a question to the user; nil if there is no one to ask.
  /// - Throws: `usage` without a password, or with several; whatever `asking` throws.
  mutating func choose(
    basic: (user: String, password: String?, hasColon: Bool)?,
    asking: ((String) throws(Failure) -> String)?
  ) throws(Failure) {
    func isPassword(_ name: String) -> Bool { role(name) == .password }
    func rank(_ name: String) -> Int? {
      if case .username(let rank) = role(name) { rank } else { nil }
    }
    if basic == nil, let asking {
      if !fields.contains(where: { isPassword($0.name) }) {
        try ask("password", as: .password, asking)
      }
      if !fields.contains(where: { rank($0.name) != nil }) {
        try ask("user name", as: .username(rank: 0), asking)
      }
    }
    let passwords = fields.filter { isPassword($0.name) }
    let filled = passwords.filter { !$0.value.isEmpty }
    password = filled.first?.value
    guard filled.allSatisfy({ isSame($0.value, password) }) else {
      throw Failure(
        .usage, "the curl command has several passwords: " + Self.list(filled.map(\.name)),
        hint: "keep only the fields that sign in")
    }
    userRank = fields.compactMap { rank($0.name) }.min()
    let named = fields.filter { rank($0.name) != nil && !$0.value.isEmpty }
    username = named.first { rank($0.name) == userRank }?.value
    guard let basic else {
      if passwords.isEmpty { throw noPassword }
      return
    }
    guard !passwords.isEmpty else {
      authorization = "basic"
      username = basic.user
      password = basic.password
      return
    }
    let isRepeated = isSame(basic.user, username) && isSame(basic.password ?? "", password)
    authorization = isRepeated ? "basic" : "app"
    guard !isRepeated else { return }
    appKey = basic.user + ":" + (basic.password ?? "")
    note("HTTP Basic carries the application's key: authctl asks for it (--app-key-stdin)")
  }

  private func isSame(_ value: String, _ other: String?) -> Bool {
    other.map { $0.utf8.elementsEqual(value.utf8) } ?? false
  }

  /// Asks which field has the role; an empty answer means none.
  private mutating func ask(
    _ what: String, as role: CurlFieldRole, _ asking: (String) throws(Failure) -> String
  ) throws(Failure) {
    let others = fields.filter { !$0.value.isEmpty && self.role($0.name) != .password }
    let shown = others.map(\.name).filter { Self.shown($0) != "(unnamed)" }
    guard !shown.isEmpty else { return }
    while true {
      let answer = try asking("Which field holds the \(what) (\(Self.list(shown)))")
      if answer.isEmpty { return }
      if shown.contains(answer) {
        told[answer] = role
        return
      }
    }
  }

  private var noPassword: Failure {
    // A name without a value may be a value itself.
    let names = fields.filter { !$0.value.isEmpty }.map(\.name)
    guard !fields.isEmpty else {
      return Failure(
        .usage, "the curl command sends no user name and no password",
        hint: "copy the request that signs in")
    }
    let shown = names.isEmpty ? "(unnamed)" : Self.list(names)
    return Failure(
      .usage, "no field of the curl command looks like a password: \(shown)",
      hint: "authctl login URL --body '{\"FIELD\":\"{username}\",\"FIELD\":\"{password}\"}'")
  }

  /// Names for messages. A name with unusual bytes may be a value in the wrong place.
  private static func list(_ names: [String]) -> String {
    var shown: [String] = []
    for name in names.map(Self.shown) where !shown.contains(name) { shown.append(name) }
    let more = shown.count > 12 ? ", ..." : ""
    return shown.prefix(12).joined(separator: ", ") + more
  }

  private static func shown(_ name: String) -> String {
    let isName =
      !name.isEmpty && name.utf8.count <= 40
      && name.utf8.allSatisfy { Template.isNameByte($0) || "[]:$".utf8.contains($0) }
    return isName ? name : "(unnamed)"
  }

  // MARK: - Filling

  /// The template for `value`; nil if the field is left out.
  private mutating func filled(_ name: String, _ value: String) -> String? {
    let role = role(name)
    let isPassword = isSame(value, password)
    // If both values are `admin`, only the field's name decides.
    let isRepeated = isPassword && !isSame(value, username)
    switch role {
    case .password: return "{password}"
    case .otherPassword where isPassword: return "{password}"
    case .username(let rank) where isSame(value, username) || value.isEmpty && rank == userRank:
      return "{username}"
    case _ where isRepeated && !CurlFieldRole.isDescription(name): return "{password}"
    case .pageToken: return leftOut(name, "[prefetch] can get a fresh one")
    case _ where value.isEmpty: return ""
    case .username, .constant: return constant(value)
    case .otherPassword: return leftOut(name, "it looks like another password")
    case .captcha: return leftOut(name, "a captcha answer works only once")
    case .token: return leftOut(name, "it looks like a token from an earlier sign-in")
    case .otp:
      note("\(Self.shown(name)) is a one-time code: authctl asks for it (--otp-stdin)")
      return "{otp}"
    case .aboutSecret:
      if !publicNames.contains(name) { publicNames.append(name) }
      note("\(Self.shown(name)) is kept in the profile as a public value")
      return constant(value)
    case .clientSecret where clientSecret == nil || isSame(value, clientSecret):
      clientSecret = value
      note("\(Self.shown(name)) is not kept: authctl asks for it (--client-secret-stdin)")
      return "{client_secret}"
    case .clientSecret, .appKey:
      guard appKey == nil || isSame(value, appKey) else {
        return leftOut(name, "a profile has only one application key")
      }
      appKey = value
      note("\(Self.shown(name)) is not kept: authctl asks for it (--app-key-stdin)")
      return "{app_key}"
    }
  }

  private mutating func leftOut(_ name: String, _ why: String) -> String? {
    note("\(Self.shown(name)) was left out: \(why)")
    return nil
  }

  /// `text` as a template: braces doubled, and the password within it replaced by its placeholder.
  func constant(_ text: String) -> String {
    let bytes = Array(text.utf8)
    let needle = needle
    var out: [UInt8] = []
    var index = 0
    while index < bytes.count {
      if let first = needle.first, bytes[index] == first, bytes[index...].starts(with: needle) {
        out += "{password}".utf8
        index += needle.count
        continue
      }
      if bytes[index] == UInt8(ascii: "{") { out.append(bytes[index]) }
      out.append(bytes[index])
      index += 1
    }
    return String(decoding: out, as: UTF8.self)
  }

  /// The password, if it can be recognized within other text: an ordinary word, as in examples, may
  /// mean something else there.
  private var needle: [UInt8] {
    guard let password, (6...128).contains(password.utf8.count),
      !password.utf8.allSatisfy(\.isLetter)
    else { return [] }
    return Array(password.utf8)
  }

  /// Whether a template has a placeholder that may not be in a URL by default (rule A9).
  static func hasSecret(_ template: String) -> Bool {
    (try? Template(template))?.names.contains(where: \.isSecret) ?? false
  }

  /// Whether it is a manual's placeholder for a value: `{{password}}`, `<password>`, `****`.
  static func isStandIn(_ value: String) -> Bool {
    let bytes = Array(value.utf8)
    guard let first = bytes.first, let last = bytes.last else { return true }
    switch (first, last) {
    case (UInt8(ascii: "<"), UInt8(ascii: ">")): return bytes.count > 2
    case (UInt8(ascii: "{"), UInt8(ascii: "}")), (UInt8(ascii: "$"), UInt8(ascii: "}")):
      return bytes.count > 2
    default: return bytes.allSatisfy { $0 == UInt8(ascii: "*") }
    }
  }
}

// MARK: - Tables

extension CurlFields {
  /// The parameters of a query.
  mutating func pairs(
    _ pairs: [(name: String, value: String)]
  ) throws(Failure) -> [(key: String, value: JSONValue)] {
    try members(pairs.map { ($0.name, .string($0.value)) }, isForm: true)
  }

  /// The members of a body.
  ///
  /// - Parameter isForm: whether the last of several fields with the same name counts.
  /// - Throws: `usage` for values that TOML cannot express.
  mutating func members(
    _ members: [(key: String, value: JSONValue)], isForm: Bool = false
  ) throws(Failure) -> [(key: String, value: JSONValue)] {
    var out: [(key: String, value: JSONValue)] = []
    var places: [[UInt8]: Int] = [:]
    let needle = needle
    for member in members {
      let name = Array(member.key.utf8)
      let isPassword =
        !needle.isEmpty && name.indices.contains { name[$0...].starts(with: needle) }
      guard !isPassword else {
        throw Failure(
          .usage, "a field name of the curl command contains the password",
          hint: "is an = or & missing?")
      }
      guard let value = try filled(member.key, member.value) else { continue }
      if let place = places.updateValue(out.count, forKey: name) {
        let shown = Self.shown(member.key)
        guard isForm else {
          throw Failure(.usage, "\(shown) appears twice in an object of the curl command's JSON")
        }
        note("\(shown) appears twice: the last value is kept")
        out[place].value = value
        places[name] = place
      } else {
        out.append((member.key, value))
      }
    }
    return out
  }

  private mutating func filled(
    _ name: String, _ value: JSONValue
  ) throws(Failure) -> JSONValue? {
    switch value {
    case .string(let text): return filled(name, text).map { .string($0) }
    case .number(let digits):
      guard let template = filled(name, digits) else { return nil }
      guard template.utf8.elementsEqual(digits.utf8) else {
        note("\(Self.shown(name)) was a number and is sent as text")
        return .string(template)
      }
      let isWhole = digits.utf8.allSatisfy { $0 == UInt8(ascii: "-") || $0.isDigit }
      guard isWhole ? Int64(digits) != nil : value.double != nil else {
        throw Failure(.usage, "\(Self.shown(name)): the number is too large for a profile")
      }
      return value
    case .bool: return value
    case .null:
      note("\(Self.shown(name)) was left out: a profile cannot contain null")
      return nil
    case .array(let values):
      var out: [JSONValue] = []
      for value in values {
        if case .null = value {
          throw Failure(.usage, "\(Self.shown(name)): a profile cannot contain null in a list")
        }
        if let value = try filled(name, value) { out.append(value) }
      }
      return .array(out)
    case .object(let inner): return .object(try members(inner))
    }
  }

  // MARK: Headers

  /// Notes a header of a line that only sends a token.
  mutating func noteLeftOut(header name: String) {
    note("\(Self.shown(name)) was left out: request.headers can add it")
  }

  /// The headers that matter for the sign-in, as spelled in the line.
  mutating func kept(
    _ headers: [(name: String, value: String)]
  ) throws(Failure) -> [(name: String, value: String)] {
    guard headers.count <= Self.maximumCount else {
      throw Failure(.usage, "the curl command has too many headers")
    }
    var kept: [(name: String, value: String)] = []
    var seen: [String] = []
    for header in headers {
      let lower = header.name.asciiLowercased
      if Self.isNoise(lower) { continue }
      if let told = Self.told[lower] {
        note(told)
        continue
      }
      // A browser accepts anything; a sign-in needs the answer of the API.
      if lower == "accept", header.value == "*/*" { continue }
      guard HeaderSyntax.isToken(header.name), !HeaderSyntax.isForbiddenInRecipe(header.name),
        HeaderSyntax.isRecipeValue(header.value), !seen.contains(lower)
      else {
        note("\(Self.shown(header.name)) was left out: a profile cannot send this header")
        continue
      }
      seen.append(lower)
      kept.append(header)
    }
    return kept
  }

  /// The table of `headers`, and an Authorization that repeats the application's key.
  mutating func headers(
    _ headers: [(name: String, value: String)], authorization header: String?
  ) throws(Failure) -> [(key: String, value: JSONValue)] {
    var table = try members(headers.map { ($0.name, .string($0.value)) })
    table.removeAll { $0.value.text?.isEmpty ?? true }
    guard let header, !header.isEmpty else { return table }
    let scheme = String(decoding: header.utf8.prefix { $0 != 0x20 }, as: UTF8.self)
    if scheme.asciiLowercased == "basic" { return table }
    let credential = String(decoding: header.utf8.dropFirst(scheme.utf8.count), as: UTF8.self)
    if let appKey, HeaderSyntax.isToken(scheme),
      appKey.utf8.elementsEqual(credential.trimmingSpaces.utf8)
    {
      table.append(("Authorization", .string(constant(scheme) + " {app_key}")))
    } else {
      note("Authorization was left out: it looks like a token from an earlier sign-in")
    }
    return table
  }

  /// Whether the header describes the browser, one connection or one request.
  private static func isNoise(_ name: String) -> Bool {
    noise.contains(name)
      || ["sec-", "if-", "x-datadog-", "x-b3-", "x-newrelic-"].contains {
        name.utf8.starts(with: $0.utf8)
      }
  }

  private static let noise: Set<String> = [
    "user-agent", "accept-encoding", "accept-language", "cache-control", "pragma",
    "content-length", "content-type", "authorization", "host", "authority", "connection",
    "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "upgrade-insecure-requests",
    "expect", "priority", "dnt", "range", "purpose", "save-data", "device-memory", "dpr",
    "viewport-width", "width", "downlink", "ect", "rtt", "traceparent", "tracestate", "baggage",
    "sentry-trace", "newrelic", "x-amzn-trace-id", "x-cloud-trace-context", "x-client-data",
    "postman-token",
  ]

  private static let told = [
    "cookie": cookieNote, "origin": "Origin was left out", "referer": "Referer was left out",
  ]
  private static let cookieNote = "cookies were left out: authctl keeps its own"

  /// Notes the parts of `line` that a recipe cannot take.
  mutating func noteOmissions(of line: CurlLine) {
    for option in line.dropped {
      let isCookie = option == "-b" || option == "--cookie"
      note(isCookie ? Self.cookieNote : "\(option) was left out: certificates are always checked")
    }
    for what in line.leftOut { note("left out: \(what)") }
    if !line.unknown.isEmpty {
      note("left out: " + line.unknown.joined(separator: ", "))
    }
  }
}
