/// A text with placeholders, as in recipes: `Bearer {access_token}`.
///
/// Placeholders are filled in one pass; their values are never scanned again. `{{` is a brace.
package struct Template: Sendable {
  /// A run of plain text or a placeholder.
  package enum Piece: Sendable {
    /// Plain text, with `{{` already read as a brace.
    case text(String)
    /// `{NAME}`: the value as is.
    case value(Name)
    /// `{basic:user:secret}`: base64 of the two values joined by a colon (RFC 7617, section 2).
    case basic(Name, Name)
  }

  /// The name of a value in a placeholder: `username`, `session.client`, `field.role`.
  package struct Name: Hashable, Sendable, CustomStringConvertible {
    /// The name as recipes write it.
    package let description: String
    init(_ text: String) { description = text }

    /// The account.
    package static let username = Name("username")
    /// The password.
    package static let password = Name("password")
    /// The one-time code of a second factor.
    package static let otp = Name("otp")
    /// The access token (RFC 6749, section 1.4).
    package static let accessToken = Name("access_token")
    /// The refresh token (RFC 6749, section 1.5).
    package static let refreshToken = Name("refresh_token")
    /// The key of the application, `NAME:VALUE` or `VALUE`.
    package static let appKey = Name("app_key")
    /// The client secret (RFC 6749, section 2.3.1).
    package static let clientSecret = Name("client_secret")

    /// The private key that the tokens of a session are bound to (RFC 9449). No placeholder names it.
    static let proofKey = Name("proof_key")

    /// 16 hex digits, new at each use, for names that must be unused.
    package static let unique = Name("unique")
    /// The profile's `url`.
    static let url = Name("url")

    /// A further value of the answer, which the recipe keeps (`keep`).
    package static func session(_ name: String) -> Name { Name("session." + name) }
    /// A value given by `--field NAME=VALUE`.
    package static func field(_ name: String) -> Name { Name("field." + name) }
    /// A value of the answer to the previous request (`take`); never stored.
    static func taken(_ name: String) -> Name { Name("taken." + name) }

    /// Whether it may not be in a path or a query unless `secrets_in_url` allows it (rule A9).
    package var isSecret: Bool {
      Template.plainNames.contains(self) && self != .username && self != .unique && self != .url
        || isTaken
    }
    /// Whether `--field` sets it.
    package var isField: Bool { description.utf8.starts(with: "field.".utf8) }
    /// Whether the recipe keeps it from an answer.
    package var isSession: Bool { description.utf8.starts(with: "session.".utf8) }
    /// Whether it comes from the answer to the previous request.
    var isTaken: Bool { description.utf8.starts(with: "taken.".utf8) }
    /// Whether it is a constant of the recipe (`[vars]`).
    var isConstant: Bool { description.utf8.starts(with: "vars.".utf8) }
    /// The part after the dot of `session.`, `field.`, `taken.` and `vars.`.
    var member: String {
      String(decoding: description.utf8.drop { $0 != UInt8(ascii: ".") }.dropFirst(), as: UTF8.self)
    }
  }

  /// The pieces in order.
  package let pieces: [Piece]
  /// Names written `{NAME?}`: without a value, the template's header or field is left out.
  let optionalNames: [Name]

  /// Parses `text`.
  ///
  /// - Throws: `Failure` of kind `usage` for an unknown or an unclosed placeholder.
  package init(_ text: String) throws(Failure) {
    var pieces: [Piece] = []
    var optionalNames: [Name] = []
    var plain: [UInt8] = []
    let bytes = Array(text.utf8)
    var index = 0
    func flush() {
      if !plain.isEmpty { pieces.append(.text(String(decoding: plain, as: UTF8.self))) }
      plain = []
    }
    while index < bytes.count {
      let byte = bytes[index]
      guard byte == UInt8(ascii: "{") else {
        plain.append(byte)
        index += 1
        continue
      }
      if index + 1 < bytes.count, bytes[index + 1] == UInt8(ascii: "{") {
        plain.append(byte)
        index += 2
        continue
      }
      guard let end = bytes[index...].firstIndex(of: UInt8(ascii: "}")) else {
        throw Failure(.usage, "a placeholder is not closed", hint: "write {{ for a literal brace")
      }
      flush()
      var inner = bytes[(index + 1)..<end]
      let isOptional = inner.last == UInt8(ascii: "?")
      if isOptional { inner.removeLast() }
      let piece = try Self.placeholder(String(decoding: inner, as: UTF8.self))
      if isOptional { optionalNames += Self.names(of: piece) }
      pieces.append(piece)
      index = end + 1
    }
    flush()
    self.pieces = pieces
    self.optionalNames = optionalNames
  }

  /// Creates a template of `pieces`, as `{NAME?}` where the name is in `optionalNames`.
  init(pieces: [Piece], optionalNames: [Name]) {
    self.pieces = pieces
    self.optionalNames = optionalNames
  }

  /// Returns the template with the placeholders that `constant` knows replaced by their values.
  func fixing(_ constant: (Name) throws(Failure) -> String?) throws(Failure) -> Template {
    var fixed: [Piece] = []
    var optionalNames = optionalNames
    for piece in pieces {
      var piece = piece
      if case .value(let name) = piece, let text = try constant(name) {
        piece = .text(text)
        optionalNames.removeAll { $0 == name }
      }
      // Adjacent texts become one: a template without placeholders has one piece.
      if case .text(let text) = piece, case .text(let before)? = fixed.last {
        fixed[fixed.count - 1] = .text(before + text)
      } else {
        fixed.append(piece)
      }
    }
    return Template(pieces: fixed, optionalNames: optionalNames)
  }

  /// The template for a token that is bound to a key, which has a scheme of its own (RFC 9449,
  /// section 7.1).
  var forBoundToken: Template {
    guard pieces.count == 2, case .text("Bearer ") = pieces[0],
      case .value(.accessToken) = pieces[1]
    else { return self }
    return Template(pieces: [.text("DPoP "), pieces[1]], optionalNames: optionalNames)
  }

  static let plainNames: [Name] = [
    .username, .password, .otp, .accessToken, .refreshToken, .appKey, .clientSecret, .unique, .url,
  ]

  private static func placeholder(_ text: String) throws(Failure) -> Piece {
    let parts = text.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
      .map { String(decoding: $0, as: UTF8.self) }
    if parts.count == 3, parts[0] == "basic" {
      return .basic(try name(parts[1]), try name(parts[2]))
    }
    return .value(try name(text))
  }

  private static func name(_ text: String) throws(Failure) -> Name {
    let name = Name(text)
    if plainNames.contains(name) { return name }
    for prefix in ["session.", "field.", "taken.", "vars."]
    where text.utf8.starts(with: prefix.utf8) {
      if isPlainName(text.utf8.dropFirst(prefix.utf8.count)) { return name }
    }
    throw Failure(
      .usage, "unknown placeholder {\(DisplayText.oneLine(text, limit: 40))}",
      hint:
        "the placeholders are {username} {password} {otp} {access_token} {refresh_token} {app_key} "
        + "{client_secret} {session.NAME} {field.NAME} {vars.NAME} {taken.NAME} {unique} {url}; "
        + "{{ is a literal brace")
  }

  /// Whether a name may stand after `session.`, `field.` and so on.
  static func isPlainName(_ name: some Collection<UInt8>) -> Bool {
    !name.isEmpty && name.allSatisfy(isNameByte)
  }

  /// Whether such a name may have `byte`: letters, digits, `_-.`.
  static func isNameByte(_ byte: UInt8) -> Bool {
    byte.isLetterOrDigit || "_-.".utf8.contains(byte)
  }

  /// Every name in it, including those inside `{basic:...}`.
  package var names: [Name] { pieces.flatMap(Self.names) }

  /// The names that must have a value for it to be sent.
  var requiredNames: [Name] { names.filter { !optionalNames.contains($0) } }

  private static func names(of piece: Piece) -> [Name] {
    switch piece {
    case .text: []
    case .value(let name): [name]
    case .basic(let user, let secret): [user, secret]
    }
  }

  /// The name, if the text is only that placeholder.
  package var onlyName: Name? {
    if pieces.count == 1, case .value(let name) = pieces[0] { name } else { nil }
  }
}

extension Template {
  /// The text of a template without placeholders.
  var plainText: String? {
    if pieces.count == 1, case .text(let text) = pieces[0] { text } else { nil }
  }
}
