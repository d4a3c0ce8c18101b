/// An answer to a sign-in, a refresh or a whoami, read by the recipe.
///
/// Only what the recipe names is taken from it.
struct RecipeResponse {
  let head: ResponseHead
  let body: [UInt8]
  /// The URL that answered.
  let url: WebURL
  var recipe: SessionRecipe
  /// Whether the request proved to have a key, which tokens in the answer are bound to.
  var isToProof = false
  /// The profile's name, for messages.
  let profile: String
  /// The body as JSON; nil if it is not JSON.
  let json: JSONValue?
  /// Whether the body is JSON with too many values.
  private let isTooLarge: Bool
  /// The cookies of the request that it answers.
  private let sentCookies: CookieJar

  /// The largest value that is kept, 64 KiB (rule B6).
  static let largestValue = 65_536

  init(
    head: ResponseHead, body: [UInt8], url: WebURL, of profile: Profile,
    sentCookies: CookieJar = CookieJar()
  ) {
    self.head = head
    self.body = body
    self.url = url
    recipe = profile.recipe.session
    self.profile = profile.name
    self.sentCookies = sentCookies
    do throws(JSONError) {
      json = try JSONValue.parse(body)
      isTooLarge = false
    } catch {
      json = recipe.errors == nil ? nil : Self.form(body, of: head)
      isTooLarge = error.isTooLarge
    }
  }

  /// Returns the fields of a form as a JSON object. Some authorization servers answer as older
  /// drafts of OAuth did, with `access_token=...` or `error=...` and any media type.
  private static func form(_ body: [UInt8], of head: ResponseHead) -> JSONValue? {
    let isNamed = head.mediaType == "application/x-www-form-urlencoded"
    guard isNamed || ["access_token=", "error="].contains(where: { body.starts(with: $0.utf8) })
    else { return nil }
    var members: [(key: String, value: JSONValue)] = []
    for field in formFields(body) {
      guard let value = field.value, members.count < 100 else { return nil }
      members.append((field.name, .string(value)))
    }
    return .object(members)
  }

  /// Returns the value at the first of `places` that has one; null and the empty string count as
  /// absent.
  ///
  /// - Throws: `answer_not_understood` when a key or a header is duplicated (rule C4).
  func value(at places: [ValueSource]) throws(Failure) -> JSONValue? {
    for place in places {
      if let found = try value(at: place) { return found }
    }
    return nil
  }

  private func value(at place: ValueSource) throws(Failure) -> JSONValue? {
    switch place {
    case .pointer(let pointer):
      do throws(JSONPointerError) {
        guard let found = try json?.at(pointer) else { return nil }
        switch found {
        case .null, .string(""): return nil
        default: return found
        }
      } catch {
        throw Failure(
          .answerNotUnderstood,
          "\(profile): the answer is ambiguous: a key of \(pointer) appears twice"
        )
      }
    case .header(let name):
      let values = head.all(name).filter { !$0.isEmpty }
      guard let first = values.first else { return nil }
      guard values.allSatisfy({ $0.utf8.elementsEqual(first.utf8) }) else {
        throw Failure(
          .answerNotUnderstood, "\(profile): the answer is ambiguous: it has two \(name) headers")
      }
      return .string(first)
    case .cookie(let name):
      for line in head.all("Set-Cookie") {
        let pair = line.utf8.prefix { $0 != UInt8(ascii: ";") }
        guard let equals = pair.firstIndex(of: UInt8(ascii: "=")),
          pair[..<equals].elementsEqual(name.utf8)
        else { continue }
        let value = String(decoding: pair[pair.index(after: equals)...], as: UTF8.self)
        if !value.isEmpty { return .string(value) }
      }
      return nil
    case .body: return wholeText.map { .string($0) }
    case .claim(let pointer, let claim):
      guard let token = try value(at: .pointer(pointer))?.text,
        let found = JWT.payload(of: token).flatMap({ (try? $0.at(claim)) ?? nil })
      else { return nil }
      switch found {
      case .null, .string(""): return nil
      default: return found
      }
    }
  }

  /// The error code in the answer (RFC 6749, section 5.2); nil without one, and for an API that has
  /// none.
  ///
  /// A known one decides, whatever the status: some servers answer 200 to an error.
  func errorCode() throws(Failure) -> (code: String, meaning: ErrorCodes.Meaning)? {
    guard let errors = recipe.errors, let code = try value(at: errors.place)?.text else {
      return nil
    }
    if let meaning = errors.meanings[code] { return (code, meaning) }
    return (200...299).contains(head.status) ? (code, .mistake(nil)) : nil
  }

  /// Whether the server wants the same request with a nonce in its proof (RFC 9449, sections 8 and 9).
  var asksForNonce: Bool {
    head.asksForNonce || head.status == 400 && json?["error"] == .string("use_dpop_nonce")
  }

  /// The body, if it is one text: a JSON string, or a single word of any media type, as some
  /// frameworks send every text as HTML. A page has spaces or begins with `<`.
  private var wholeText: String? {
    if let json { return json.text.flatMap { $0.isEmpty ? nil : $0 } }
    guard let text = String(validating: body, as: UTF8.self)?.trimmingLineEnd, !text.isEmpty,
      text.utf8.first != UInt8(ascii: "<"), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
    else { return nil }
    return text
  }

  /// Whether the answer meets `condition`.
  func holds(_ condition: Condition) throws(Failure) -> Bool {
    guard let value = try value(at: condition.place) else { return false }
    guard let text = condition.text else { return value != .bool(false) }
    let found = if case .bool(let flag) = value { "\(flag)" } else { value.scalarText }
    return found?.utf8.elementsEqual(text.utf8) ?? false
  }

  /// Whether the answer meets any of `conditions`; false if there are none.
  func holdsAny(_ conditions: [Condition]) throws(Failure) -> Bool {
    for condition in conditions where try holds(condition) { return true }
    return false
  }

  /// Whether the answer to a sign-in asks for a one-time code.
  func asksForCode(_ factor: SecondFactor) throws(Failure) -> Bool {
    guard factor.statuses.contains(head.status) else { return false }
    return factor.conditions.isEmpty ? true : try holdsAny(factor.conditions)
  }

  /// Returns the name of the cookie that holds the access token; nil if no cookie does.
  func tokenCookie() throws(Failure) -> String? {
    for place in recipe.accessToken where try value(at: place) != nil {
      if case .cookie(let name) = place { return name }
      return nil
    }
    return nil
  }

  /// Returns the cookies of the request, updated by the answer.
  ///
  /// - Throws: `answer_not_understood` when there are too many.
  func cookies(now: Timestamp) throws(Failure) -> CookieJar {
    var jar = sentCookies
    for line in head.all("Set-Cookie") {
      let outcome = jar.store(
        setCookie: line, origin: url.origin.description, requestPath: url.path, now: now)
      if outcome == .overflow {
        throw Failure(.answerNotUnderstood, "\(profile): the answer sets too many cookies")
      }
    }
    return jar
  }

  /// Returns a value to keep, text or number, if it is not too large.
  func keptText(at places: [ValueSource]) throws(Failure) -> String? {
    guard let found = try value(at: places)?.scalarText else { return nil }
    guard found.utf8.count <= Self.largestValue else {
      throw Failure(
        .answerNotUnderstood, "\(profile): the answer contains a value longer than 64 KiB")
    }
    return found
  }

  /// Returns the access token, without a header's scheme (`Bearer `).
  func accessToken() throws(Failure) -> String? {
    guard let text = try keptText(at: recipe.accessToken) else { return nil }
    let words = text.utf8.split(separator: UInt8(ascii: " "), maxSplits: 1)
    let schemes = ["bearer", "token", "jwt", "basic"]
    if schemes.contains(text.trimmingSpaces.asciiLowercased), case .header? = firstPresentPlace() {
      return nil
    }
    if words.count == 2, words[0].count <= 8, case .header? = firstPresentPlace() {
      return String(decoding: words[1], as: UTF8.self)
    }
    return text
  }

  private func firstPresentPlace() -> ValueSource? {
    recipe.accessToken.first { ((try? value(at: $0)) ?? nil) != nil }
  }

  /// Returns the only JWT in the answer and the pointer to it; nil if there is none or more than
  /// one.
  func onlyJWT() -> (token: String, pointer: String)? {
    var found: [(String, String)] = []
    // The path to the value. A pointer is built only for a token, not for each of many values under
    // one long key.
    var steps: [String] = []
    func look(_ value: JSONValue) {
      guard found.count < 2 else { return }
      switch value {
      case .string(let text) where JWT.payload(of: text) != nil:
        found.append((text, steps.map { "/" + JWT.pointerStep($0) }.joined()))
      case .array(let items):
        for (index, item) in items.enumerated() {
          steps.append("\(index)")
          look(item)
          steps.removeLast()
        }
      case .object(let members):
        for member in members {
          steps.append(member.key)
          look(member.value)
          steps.removeLast()
        }
      default: break
      }
    }
    if let json { look(json) }
    guard found.count == 1, let only = found.first, only.0.utf8.count <= Self.largestValue else {
      return nil
    }
    return only
  }

  // MARK: - Time

  /// Returns how far the server's clock is ahead of this one; 0 up to 30 s either way (rule B6).
  func skew(now: Timestamp) -> Double {
    guard let date = head.first("Date").flatMap(Timestamp.parse(httpDate:)) else { return 0 }
    let difference = date.seconds - now.seconds
    return abs(difference) > 30 ? difference : 0
  }

  /// Returns when the access token expires, by this machine's clock; nil if the server does not
  /// say.
  func expiry(token: String?, now: Timestamp) throws(Failure) -> Timestamp? {
    for place in recipe.expiresIn {
      guard let seconds = try number(at: place, token: token) else { continue }
      let life = place.form == .milliseconds ? seconds / 1000 : seconds
      if let life = Timestamp.bounded(seconds: life, now: now) {
        return Timestamp(seconds: now.seconds + life)
      }
    }
    let skew = skew(now: now)
    for place in recipe.expiresAt {
      guard let moment = try moment(at: place, token: token, now: now) else { continue }
      return Timestamp(seconds: moment.seconds - skew)
    }
    return nil
  }

  private func number(at place: TimeSource, token: String?) throws(Failure) -> Double? {
    guard let value = try timeValue(at: place, token: token) else { return nil }
    return value.double ?? value.text.flatMap(Double.init).flatMap { $0.isFinite ? $0 : nil }
  }

  private func moment(at place: TimeSource, token: String?, now: Timestamp) throws(Failure)
    -> Timestamp?
  {
    if let text = try timeValue(at: place, token: token)?.text,
      let parsed = Timestamp.parse(iso8601: text) ?? Timestamp.parse(httpDate: text)
    {
      return Timestamp.bounded(parsed, now: now)
    }
    guard let epoch = try number(at: place, token: token) else { return nil }
    return Timestamp.bounded(epoch: place.form == .milliseconds ? epoch / 1000 : epoch, now: now)
  }

  private func timeValue(at place: TimeSource, token: String?) throws(Failure) -> JSONValue? {
    guard place.form == .tokenPayload else { return try value(at: place.place) }
    guard let token, case .pointer(let pointer) = place.place else { return nil }
    return JWT.payload(of: token).flatMap { (try? $0.at(pointer)) ?? nil }
  }

  // MARK: - The server's messages

  /// Whether the body reports a failure (`success: false`).
  func saysNo() throws(Failure) -> Bool {
    guard let place = recipe.success, let value = try value(at: place) else { return false }
    if case .bool(let isSuccess) = value { return !isSuccess }
    return false
  }

  /// The server's message: text, a list of texts, or a table of texts by field.
  var words: [String] {
    // The first place with displayable text: HTML is not.
    let place = recipe.message.lazy.compactMap { (try? value(at: $0)) ?? nil }.first {
      !DisplayText.server(Self.pieces($0)).isEmpty
    }
    if let place { return Self.pieces(place) }
    if let json {
      // A table of lists by field, as Django writes it: the whole answer is the message.
      if case .object(let members) = json, members.allSatisfy({ Self.isListOfTexts($0.value) }) {
        return Self.pieces(json)
      }
      // A code that no message names, as it has no meaning here.
      guard head.status >= 300, let errors = recipe.errors,
        let code = (try? value(at: errors.place))??.text, errors.meanings[code] == nil
      else { return [] }
      return [code]
    }
    // Text after a success is not an error message: it may be the token itself.
    guard head.status >= 300, let text = String(validating: body, as: UTF8.self),
      text.utf8.count <= 4096,
      head.mediaType.map({ $0 == "text/plain" || $0 == "*/*" }) ?? true
    else { return [] }
    return [text]
  }

  private static func isListOfTexts(_ value: JSONValue) -> Bool {
    if case .array(let items) = value { items.allSatisfy { $0.text != nil } } else { false }
  }

  private static func pieces(_ value: JSONValue) -> [String] {
    switch value {
    case .string(let text): return [text]
    case .number(let digits): return [digits]
    case .array(let items): return items.prefix(5).flatMap(pieces)
    case .object(let members):
      // A problem of one field: {"loc": ["body", "email"], "msg": "field required"}.
      for key in ["msg", "message", "detail", "description"] {
        guard let text = value[key]?.text else { continue }
        if case .array(let path)? = value["loc"], let field = path.last?.scalarText {
          return ["\(field): \(text)"]
        }
        return [text]
      }
      return members.prefix(5).flatMap { member -> [String] in
        let said = pieces(member.value)
        return said.isEmpty ? [] : ["\(member.key): \(said.joined(separator: " "))"]
      }
    case .bool, .null: return []
    }
  }

  /// The names and types in an answer that was not understood, without its values.
  var shape: String {
    if let json { return "json: \(json.shape())" }
    if isTooLarge { return "\(body.count) bytes of JSON with too many values" }
    if body.isEmpty { return "an empty body" }
    let type = head.mediaType.map { DisplayText.oneLine($0, limit: 60) } ?? "unknown type"
    return "\(body.count) bytes of \(type)"
  }
}
