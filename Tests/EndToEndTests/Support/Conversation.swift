import Glibc
import Testing

/// A dialogue between authctl and a scripted server, as written in a file of `Conversations`. The
/// file NAME.txt is for the preset NAME. Each line begins with a mark and one space:
///
///     # TEXT                a comment; empty lines are ignored too
///     url: /base            the path of the profile's url (default: none)
///     set: KEY=VALUE        a `--set` of `profile add`; like all marks below, it can be repeated
///     $ [VAR=X] login -u ada    a command with its environment; quotes as in a shell. `-p` is
///                           added, and the password pass-word-1 for login and register
///     > POST /path?a=1      a request that the server must receive now, exact method and target
///     > Name: VALUE         a header of it, exactly; written twice, it must be there twice
///     > !Name               a header that it must not have
///     >> BODY               its whole body (default: empty); CR LF between several lines
///     < 200                 the status of the response
///     < Name: VALUE         a header of the response; default Content-Type: application/json
///     << BODY               its body; LF between several lines
///     = 0                   the exit code of the command
///     out: LINE             a line of its stdout (default: empty). The output of request commands
///                           has no final line feed, like the body
///     err: TEXT             a text that its stderr must contain
///
/// Placeholders, except in comments: `{jwt+900}`, a JSON Web Token of `ada` that expires in 900 s,
/// the same each time, and `{jwt+900b}`, a different one; `{now+60}` in seconds since 1970,
/// `{iso+60}` in ISO 8601; `{url}` of the profile, `{origin}` of the server. In requests:
/// `{unique}`, any 16 hex digits; `{boundary}`, the one in Content-Type.
struct Conversation: Sendable {
  /// A mistake in the file, or a difference from it, with the line of the file.
  struct Complaint: Error, Sendable, CustomStringConvertible {
    var line: Int
    var text: String

    var description: String { "\(line): \(text)" }

    init(line: Int, text: String) { (self.line, self.text) = (line, text) }

    /// `what` is not as expected; `more` may explain why.
    init(_ line: Int, _ what: String, _ wanted: String, _ got: String, _ more: String = "") {
      // One below the other and with few escapes, to make the difference visible.
      func shown(_ text: String) -> String {
        text.unicodeScalars.map {
          $0.properties.generalCategory == .control ? $0.escaped(asASCII: true) : String($0)
        }.joined()
      }
      self.init(line: line, text: "\(what)\nwanted: \(shown(wanted))\n   got: \(shown(got))\(more)")
    }
  }
  /// A text and its line in the file.
  struct Text: Sendable {
    var line: Int
    var text: String
  }
  struct Header: Sendable {
    var line: Int
    var name: String
    var value: String
  }
  /// An expected request and its response.
  struct Exchange: Sendable {
    var line: Int
    /// Method and target: `POST /login?a=1`.
    var request: String
    var headers: [Header] = []
    var forbidden: [Text] = []
    var body: [Text] = []
    var status: Int?
    var answerHeaders: [Header] = []
    var answer: [String] = []
  }
  struct Command: Sendable {
    var line: Int
    var environment: [String: String] = [:]
    var words: [String] = []
    var exchanges: [Exchange] = []
    var status: Int32?
    var out: [Text] = []
    var err: [Text] = []
  }

  static let password = "pass-word-1"

  /// The path of the profile's url.
  fileprivate(set) var base = ""
  fileprivate(set) var settings: [String] = []
  fileprivate(set) var commands: [Command] = []
  /// The JSON Web Tokens generated for placeholders.
  fileprivate(set) var tokens: Set<String> = []

  /// Reads `text` for a server at `origin`.
  /// - Throws: `Complaint` about the first invalid line.
  init(parsing text: String, origin: String) throws {
    var reader = ConversationReader(origin: origin)
    for line in text.utf8.split(separator: 10, omittingEmptySubsequences: false) {
      reader.number += 1
      try reader.read(String(decoding: line, as: UTF8.self))
    }
    try reader.endCommand()
    self = reader.made
    guard !commands.isEmpty else { throw Complaint(line: 1, text: "there is no command ($)") }
  }

  fileprivate init() {}

  /// Values that the user must not see: the password and other secrets of the environment; the
  /// placeholders' tokens; in the server's responses cookies, headers and JSON members with names
  /// of secrets, and a body of one word.
  var secrets: [String] {
    var found = tokens.union([Self.password])
    for (name, value) in commands.flatMap(\.environment)
    where name.contains(/(PASSWORD|SECRET|KEY|TOKEN)$/) {
      // The value of NAME:VALUE.
      found.formUnion(value.split(separator: ":").suffix(1).map(String.init))
    }
    for exchange in commands.flatMap(\.exchanges) {
      for header in exchange.answerHeaders { found.formUnion(Self.secrets(in: header)) }
      let body = exchange.answer.joined(separator: "\n")
      let isToken = (200..<300).contains(exchange.status ?? 0)
      let value = (try? JSON(parsing: body)) ?? .string(body)
      found.formUnion(Self.secrets(in: value, named: isToken ? "token" : ""))
    }
    // A short value may occur elsewhere by chance, and a sentence is no secret.
    return found.filter { $0.utf8.count >= 8 && !$0.contains(/\s/) }.sorted()
  }

  private static func secrets(in header: Header) -> [String] {
    let name = header.name.lowercased()
    if name == "set-cookie" {
      let pair = header.value.prefix { $0 != ";" }
      return [String(pair.drop { $0 != "=" }.dropFirst())]
    }
    guard name == "authorization" || isSecret(name) else { return [] }
    return header.value.split(separator: " ").suffix(1).map(String.init)
  }

  private static func secrets(in value: JSON, named name: String) -> [String] {
    switch value {
    case .object(let members): members.flatMap { secrets(in: $0.value, named: $0.key) }
    case .array(let values): values.flatMap { secrets(in: $0, named: "") }
    case .string(let text) where isSecret(name.lowercased()): [text]
    default: []
    }
  }

  private static func isSecret(_ name: String) -> Bool {
    guard !name.contains(/type|expir|name|_at$|ur[il]$/) else { return false }
    return name.contains(/token|jwt|secret|ticket|session|passw/)
      || ["access", "refresh", "key", "value", "auth", "sid"].contains(name)
  }
}

/// A file of the folder `Conversations`.
struct ConversationFile: Sendable, CustomTestStringConvertible {
  let path: String
  /// The preset that the file is for.
  let preset: String

  var testDescription: String { preset }

  /// All files.
  static let all: [ConversationFile] = {
    let tests = "/" + #filePath.split(separator: "/").dropLast(2).joined(separator: "/")
    let folder = tests + "/Conversations/"
    return list(folder).filter { $0.hasSuffix(".txt") }.map { name in
      ConversationFile(path: folder + name, preset: String(name.dropLast(4)))
    }
  }()

  /// The files named in AUTHCTL_CONVERSATION=NAME,NAME; default: all.
  static let chosen: [ConversationFile] = {
    guard let names = getenv("AUTHCTL_CONVERSATION") else { return all }
    let chosen = String(cString: names).split(separator: ",").map(String.init)
    return all.filter { chosen.contains($0.preset) }
  }()

  /// Runs the conversation, and records an issue, at its line of the file, for every difference.
  func check() async throws {
    guard let bytes = readFile(path) else { throw HarnessError("cannot read \(path)") }
    let text = String(decoding: bytes, as: UTF8.self)
    for complaint in try await ConversationRun.complaints(text, preset: preset) {
      let place = SourceLocation(
        fileID: "Conversations/\(preset).txt", filePath: path, line: complaint.line, column: 1)
      Issue.record("\(preset).txt:\(complaint)", sourceLocation: place)
    }
  }
}

/// Reads a conversation line by line.
private struct ConversationReader {
  let origin: String
  let now = Int(Shop.now())
  var made = Conversation()
  /// The number of the current line, from 1.
  var number = 0

  init(origin: String) { self.origin = origin }

  private func complaint(_ text: String) -> Conversation.Complaint {
    Conversation.Complaint(line: number, text: text)
  }

  mutating func read(_ line: String) throws {
    guard !line.isEmpty, !line.hasPrefix("#") else { return }
    guard !line.utf8.contains(13) else { throw complaint("a carriage return") }
    let mark = String(line.prefix { $0 != " " })
    let text = try filled(String(line.dropFirst(mark.count + 1)))
    let place = Conversation.Text(line: number, text: text)
    switch mark {
    case "url:", "set:": try readSetting(mark, text)
    case "$": try readCommand(text)
    case ">": try readRequest(text)
    case ">>": try inExchange(answered: false) { $0.body.append(place) }
    case "<": try readAnswer(text)
    case "<<": try inExchange(answered: true) { $0.answer.append(text) }
    case "=": try readStatus(text)
    case "out:": try inCommand { $0.out.append(place) }
    case "err:": try inCommand { $0.err.append(place) }
    default: throw complaint("a line begins with # url: set: $ > >> < << = out: err: and a space")
    }
  }

  // MARK: Parts

  private mutating func readSetting(_ mark: String, _ text: String) throws {
    guard made.commands.isEmpty else { throw complaint("\(mark) stands before the first command") }
    if mark == "set:" {
      made.settings.append(text)
    } else {
      guard made.base.isEmpty, text.hasPrefix("/") else { throw complaint("url: is one /path") }
      made.base = text
    }
  }

  private mutating func readCommand(_ text: String) throws {
    try endCommand()
    var command = Conversation.Command(line: number)
    for word in try words(of: text) {
      if command.words.isEmpty, let match = word.wholeMatch(of: /([A-Za-z_][A-Za-z0-9_]*)=(.*)/) {
        command.environment[String(match.1)] = String(match.2)
      } else {
        command.words.append(word)
      }
    }
    guard !command.words.isEmpty else { throw complaint("$ names no command") }
    made.commands.append(command)
  }

  /// The words of a command line; quotes, single and double, take everything literally.
  private func words(of text: String) throws -> [String] {
    var (words, word, quote): ([String], String?, Character?) = ([], nil, nil)
    for character in text {
      if character == quote {
        quote = nil
      } else if quote != nil {
        word = (word ?? "") + String(character)
      } else if character == "'" || character == "\"" {
        (quote, word) = (character, word ?? "")
      } else if character == " " {
        if let whole = word { words.append(whole) }
        word = nil
      } else {
        word = (word ?? "") + String(character)
      }
    }
    guard quote == nil else { throw complaint("a quote is not closed") }
    return words + (word.map { [$0] } ?? [])
  }

  private mutating func readRequest(_ text: String) throws {
    let number = number
    if let open = made.commands.last?.exchanges.last, open.status == nil {
      if let match = text.wholeMatch(of: /!([^ :]+)/) {
        let name = Conversation.Text(line: number, text: String(match.1))
        return try inExchange(answered: false) { $0.forbidden.append(name) }
      }
      let header = try header(text)
      return try inExchange(answered: false) { $0.headers.append(header) }
    }
    guard text.contains(/^[A-Z]+ \/[^ ]*$/) else {
      throw complaint("a request begins with > METHOD /PATH")
    }
    guard made.commands.last?.status == nil else { throw complaint("a request stands before =") }
    try inCommand { $0.exchanges.append(Conversation.Exchange(line: number, request: text)) }
  }

  private mutating func readAnswer(_ text: String) throws {
    if made.commands.last?.exchanges.last?.status != nil {
      let header = try header(text)
      return try inExchange(answered: true) { $0.answerHeaders.append(header) }
    }
    guard text.contains(/^[1-5][0-9][0-9]$/), let status = Int(text) else {
      throw complaint("an answer begins with < STATUS")
    }
    try inExchange(answered: false) { $0.status = status }
  }

  private mutating func readStatus(_ text: String) throws {
    guard let status = Int32(text) else { throw complaint("= is followed by an exit status") }
    guard made.commands.last?.status == nil else { throw complaint("a second exit status") }
    try checkAnswered()
    try inCommand { $0.status = status }
  }

  private func header(_ text: String) throws -> Conversation.Header {
    guard let match = text.wholeMatch(of: /([^ :]+): ?(.*)/) else {
      throw complaint("a header is NAME: VALUE")
    }
    return Conversation.Header(line: number, name: String(match.1), value: String(match.2))
  }

  // MARK: The owner of a part

  private mutating func inCommand(_ change: (inout Conversation.Command) -> Void) throws {
    guard let last = made.commands.indices.last else { throw complaint("there is no $ before it") }
    change(&made.commands[last])
  }

  private mutating func inExchange(
    answered: Bool, _ change: (inout Conversation.Exchange) -> Void
  ) throws {
    guard let exchange = made.commands.last?.exchanges.last, (exchange.status != nil) == answered,
      made.commands.last?.status == nil
    else {
      throw complaint(
        answered ? "there is no answer (< STATUS) before it" : "there is no open request before it")
    }
    try inCommand { change(&$0.exchanges[$0.exchanges.count - 1]) }
  }

  private func checkAnswered() throws {
    guard let open = made.commands.last?.exchanges.last, open.status == nil else { return }
    throw Conversation.Complaint(line: open.line, text: "the request has no answer (< STATUS)")
  }

  func endCommand() throws {
    guard let command = made.commands.last, command.status == nil else { return }
    try checkAnswered()
    throw Conversation.Complaint(line: command.line, text: "the command has no exit status (=)")
  }

  // MARK: Placeholders

  private mutating func filled(_ text: String) throws -> String {
    let named = text.replacing("{url}", with: origin + made.base)
      .replacing("{origin}", with: origin)
    let filled = named.replacing(/\{(jwt|now|iso)([+-][0-9]{1,9})([a-z]?)\}/) { match in
      let moment = now + (Int(match.2) ?? 0)
      switch match.1 {
      case "jwt":
        let token = Self.token(of: String(match.3), from: now, until: moment)
        made.tokens.insert(token)
        return token
      case _ where !match.3.isEmpty: return String(match.0)
      case "now": return "\(moment)"
      default: return Shop.date(Double(moment), "%Y-%m-%dT%H:%M:%S.000Z")
      }
    }
    if let wrong = filled.firstMatch(of: /\{(jwt|now|iso)[^"{}]*\}/) {
      throw complaint("\(wrong.0) is not a placeholder: {jwt+900} {jwt+900b} {now+900} {iso+900}")
    }
    return filled
  }

  /// A JSON Web Token; its signature is never checked.
  private static func token(of letter: String, from start: Int, until end: Int) -> String {
    let claims: JSON = [
      "sub": "ada", "iat": .number(Double(start)), "exp": .number(Double(end)),
      "jti": .string("conversation" + letter),
    ]
    let parts = [#"{"alg":"HS256","typ":"JWT"}"#, claims.text, "the signature of a conversation"]
    // Pads to whole groups of three bytes: base64 then needs no padding, and this text gives no +
    // or /.
    return parts.map { part in
      let bytes = Array(part.utf8)
      return bytes + [UInt8](repeating: 32, count: (3 - bytes.count % 3) % 3)
    }.map { String(decoding: Canary.base64($0), as: UTF8.self) }.joined(separator: ".")
  }
}
