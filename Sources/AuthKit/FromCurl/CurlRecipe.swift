/// The sign-in in a pasted curl command, or the token that it sends, as the settings of a profile.
///
/// The settings contain neither the user name nor the password; anything else that looks like a
/// secret is asked for or left out (rule C9).
package struct CurlRecipe {
  /// The origin, for a profile's `url`.
  package let url: String
  /// Keys of `[login]` with their values, and `public` if a name needs it; `preset` where a request
  /// by HTTP Basic does not sign in; `request.headers` where the command sends a token.
  package let settings: [(key: String, value: JSONValue)]
  /// The method of the line.
  package let method: String
  /// Whether the line signs in with a name and a password; otherwise it sends a token.
  package let signsIn: Bool
  /// The token in the line.
  package let token: SharedSecret?
  /// The user name in the line.
  package let username: String?
  /// The password in the line.
  package let password: SharedSecret?
  /// Parts that were left out or cannot be expressed, one sentence each, without values.
  package let notes: [String]

  /// Makes a recipe of `line`.
  ///
  /// - Parameter asking: puts a question to the user if no known field name shows which field holds
  ///   the user name or the password; nil if there is no one to ask.
  /// - Throws: `Failure` of kind `usage` for a request without a password, with several, or that no
  ///   recipe can express; it quotes only names of fields. Whatever `asking` throws.
  package init(
    _ line: CurlLine, asking: ((String) throws(Failure) -> String)? = nil
  ) throws(Failure) {
    if let option = line.otherSignIn {
      throw Failure(
        .usage, "the curl command's \(option) is not supported",
        hint: "a profile can sign in with HTTP Basic, JSON, a form or a query")
    }
    let target = try CurlTarget(line.url)
    let body = try CurlBody(line)
    var fields = CurlFields()
    fields.noteOmissions(of: line)
    for note in target.notes + body.notes { fields.note(note) }
    let headers = try fields.kept(line.headers)
    for member in body.members { try fields.collect(member.key, member.value) }
    for pair in target.query { try fields.collect(pair.name, .string(pair.value)) }
    for header in headers { try fields.collect(header.name, .string(header.value)) }
    method = line.method
    url = target.origin
    let basic = try Self.basic(line, target)
    if basic == nil, !fields.hasPassword,
      let sent = Self.token(line, headers, target.query)
    {
      for header in headers where header.name != sent.name {
        fields.noteLeftOut(header: header.name)
      }
      settings = [(sent.key, .object([(sent.name, .string(sent.scheme + "{access_token}"))]))]
      signsIn = false
      token = CurlFields.isStandIn(sent.token) ? nil : SharedSecret(sent.token)
      username = nil
      password = nil
      notes = fields.notes
      return
    }
    signsIn = true
    token = nil
    try fields.choose(basic: basic, asking: asking)

    let isBasic =
      fields.authorization == "basic" && body.members.isEmpty
      && Self.isRead(line, at: target.path)
    if isBasic, basic?.password == nil, basic?.hasColon ?? false {
      // The name may be a key, which must not become the account.
      throw Failure(
        .usage, "-u of the curl command has no password",
        hint: "to sign in by HTTP Basic, give a name and a password")
    }
    var settings: [(key: String, value: JSONValue)] = []
    if isBasic { settings.append(("preset", "http-basic")) }
    if line.method != (isBasic ? "GET" : "POST") {
      settings.append(("login.method", .string(line.method)))
    }
    let path = fields.constant(target.path)
    let pathPlace = settings.count
    if !isBasic {
      if fields.authorization != "none" {
        settings.append(("login.authorization", .string(fields.authorization)))
      }
      settings.append(("login.encoding", .string(body.encoding.rawValue)))
    }
    let query = try fields.pairs(target.query)
    if !query.isEmpty { settings.append(("login.query", .object(query))) }
    var table = try fields.headers(headers, authorization: Self.authorization(line))
    if let type = body.contentType, HeaderSyntax.isRecipeValue(type) {
      table.append(("Content-Type", .string(fields.constant(type))))
    }
    if !table.isEmpty { settings.append(("login.headers", .object(table))) }
    if !body.members.isEmpty {
      let members = try fields.members(body.members, isForm: body.encoding != .json)
      settings.append(("login.body", .object(members)))
    }
    let inURL = query.map(\.value) + [.string(path)]
    if inURL.contains(where: { CurlFields.hasSecret($0.text ?? "") }) {
      settings.append(("login.secrets_in_url", true))
      fields.note("the URL contains secrets, and servers and proxies log URLs")
    }
    settings.insert(("login.path", .string(path)), at: pathPlace)
    if !fields.publicNames.isEmpty {
      settings.insert(("public", .array(fields.publicNames.map { .string($0) })), at: 0)
    }
    self.settings = settings
    username = fields.username.flatMap { CurlFields.isStandIn($0) ? nil : $0 }
    password = fields.password.flatMap { CurlFields.isStandIn($0) ? nil : SharedSecret($0) }
    notes = fields.notes
  }

  private static func authorization(_ line: CurlLine) -> String? {
    line.headers.first { $0.name.asciiLowercased == "authorization" }?.value
  }

  /// A token or key that the line sends, and the key of the profile that says how.
  private struct Sent {
    var key = "request.headers"
    var name = "Authorization"
    /// The beginning of the value: `Bearer `, or empty.
    var scheme = ""
    var token: String
  }

  /// The token of an Authorization header (`Bearer TOKEN`, or another scheme and one word), else
  /// the only header or parameter with the name of a key.
  private static func token(
    _ line: CurlLine, _ headers: [(name: String, value: String)],
    _ query: [(name: String, value: String)]
  ) -> Sent? {
    func isKey(_ pair: (name: String, value: String)) -> Bool {
      let role = CurlFieldRole(pair.name)
      return (role == .appKey || role == .token) && !pair.value.isEmpty
    }
    if let header = authorization(line) {
      let words = header.utf8.split(separator: 0x20).map { String(decoding: $0, as: UTF8.self) }
      guard words.count == 2, HeaderSyntax.isToken(words[0]), HeaderSyntax.isRecipeValue(words[1])
      else { return nil }
      return Sent(scheme: words[0] + " ", token: words[1])
    }
    let (inHeaders, inQuery) = (headers.filter(isKey), query.filter(isKey))
    guard inHeaders.count + inQuery.count == 1, line.data == nil, line.parts.isEmpty else {
      return nil
    }
    if let header = inHeaders.first { return Sent(name: header.name, token: header.value) }
    return inQuery.first.map { Sent(key: "request.query", name: $0.name, token: $0.value) }
  }

  /// Whether the line reads something and does not look like a sign-in: with HTTP Basic, the API
  /// takes name and password on every request.
  private static func isRead(_ line: CurlLine, at path: String) -> Bool {
    let last = path.utf8.split(separator: UInt8(ascii: "/")).last ?? []
    let name = String(decoding: last, as: UTF8.self).asciiLowercased
    return ["GET", "HEAD"].contains(line.method) && !HTTPClient.signInNames.contains(name)
  }

  /// The name and password of HTTP Basic (RFC 7617), from the header, `-u` or the URL.
  private static func basic(
    _ line: CurlLine, _ target: CurlTarget
  ) throws(Failure) -> (user: String, password: String?, hasColon: Bool)? {
    var text = line.user ?? target.user
    if let header = authorization(line) {
      text = nil
      let scheme = header.utf8.prefix { $0 != 0x20 }
      if String(decoding: scheme, as: UTF8.self).asciiLowercased == "basic" {
        let value = String(decoding: header.utf8.dropFirst(scheme.count), as: UTF8.self)
        guard let bytes = base64URLDecoded(value.trimmingSpaces.utf8),
          let decoded = String(validating: bytes, as: UTF8.self)
        else {
          throw Failure(.usage, "the Basic header of the curl command is not text in base64")
        }
        text = decoded
      }
    }
    guard let text, !text.isEmpty else { return nil }
    guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else {
      return (text, nil, false)
    }
    let password = String(text.utf8[text.utf8.index(after: colon)...]) ?? ""
    return (String(text.utf8[..<colon]) ?? "", password.isEmpty ? nil : password, true)
  }
}

/// The URL of a pasted curl command.
struct CurlTarget {
  /// Scheme, host and port.
  let origin: String
  /// The path, ready for `login.path`; an absolute URL if it begins with two slashes.
  let path: String
  let query: [(name: String, value: String)]
  /// The user name and password before the host, joined by a colon.
  let user: String?
  private(set) var notes: [String] = []

  init(_ url: String) throws(Failure) {
    var bytes = Array(url.utf8.prefix { $0 != UInt8(ascii: "#") })
    if URLText.authorityStart(bytes) == nil {
      guard !URLText.hasForeignScheme(url) || Self.isHostAndPort(bytes) else {
        throw Failure(.usage, "the URL of the curl command is neither http nor https")
      }
      let isLocal = ["localhost", "127.", "[::1]"].contains { bytes.starts(with: $0.utf8) }
      let scheme = isLocal ? "http://" : "https://"
      notes.append("the URL has no scheme: authctl uses \(scheme)")
      bytes = Array(scheme.utf8) + bytes
    }
    let start = URLText.authorityStart(bytes) ?? 0
    let end = bytes[start...].firstIndex { "/?".utf8.contains($0) } ?? bytes.count
    var authority = bytes[start..<end]
    if let at = authority.lastIndex(of: UInt8(ascii: "@")) {
      guard let decoded = FormText.decoded(authority[..<at]) else {
        throw Failure(.usage, "the user name in the URL of the curl command is not UTF-8")
      }
      user = decoded
      authority = authority[(at + 1)...]
    } else {
      user = nil
    }
    let scheme = String(decoding: bytes[..<start], as: UTF8.self).asciiLowercased
    origin = scheme + String(decoding: authority, as: UTF8.self)
    if let problem = URLText.problemOfBase(origin) {
      throw Failure(.usage, "the URL of the curl command \(problem)")
    }
    let mark = bytes[end...].firstIndex(of: UInt8(ascii: "?")) ?? bytes.count
    let path = try Self.path(bytes[end..<mark])
    self.path = path.utf8.starts(with: "//".utf8) ? origin + path : path
    query = try FormText.pairs(String(decoding: bytes[mark...].dropFirst(), as: UTF8.self))
  }

  /// Whether it is like `shop.example:8080`, which looks like a scheme.
  private static func isHostAndPort(_ bytes: [UInt8]) -> Bool {
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { return false }
    return bytes[(colon + 1)...].first?.isDigit ?? false
  }

  private static func path(_ bytes: ArraySlice<UInt8>) throws(Failure) -> String {
    guard !bytes.isEmpty else { return "/" }
    var builder = SecretBuilder()
    for byte in bytes {
      guard byte >= 0x20, byte != 0x7F else {
        throw Failure(.usage, "the URL of the curl command contains a control character")
      }
      if byte == 0x20 || byte > 0x7E || byte == UInt8(ascii: "\\") {
        withUnsafeBytes(of: byte) { builder.appendPercentEncoded($0) }
      } else {
        builder.append(byte)
      }
    }
    return builder.secret().withBytes { String(decoding: $0, as: UTF8.self) }
  }
}
