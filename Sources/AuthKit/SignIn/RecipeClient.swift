/// One API, as its profile describes it: the recipe's requests, sent and their answers read.
package final class RecipeClient {
  /// How the API wants to be spoken to.
  package let profile: Profile
  /// The profile's `url`, read.
  package let base: WebURL
  let http: HTTPClient
  let clock: () -> Timestamp
  private let redactor: Redactor
  /// The profile's `url` without a slash at its end.
  private let root: String
  /// What `requestOrigins` has read: each request asks.
  private var readOrigins: [Origin]?
  /// How the profile says that the server is reached, looked at once, before anything is sent.
  package lazy var way = ServerWay(of: profile)
  /// Why nothing may be sent at all, as by a profile that is not trusted.
  package var refusal: Failure?

  /// An API that is asked by `http`; what its answers hold is taught to `redactor`.
  package init(
    profile: Profile, base: WebURL, http: HTTPClient, redactor: Redactor,
    clock: @escaping () -> Timestamp
  ) {
    self.profile = profile
    self.base = base
    let root = base.origin.description + base.path
    self.root = root.utf8.last == UInt8(ascii: "/") ? String(root.dropLast()) : root
    self.http = http
    self.redactor = redactor
    self.clock = clock
  }

  // MARK: - Origins

  /// Where access token, cookies, kept values and the application's key may go (rule A2).
  package func requestOrigins() throws(Failure) -> [Origin] {
    if let readOrigins { return readOrigins }
    let origins = try profile.requestOrigins()
    readOrigins = origins
    return origins
  }

  /// Where password, codes and refresh token may go: the origins of the recipe's own requests and
  /// `sign_in_origins`.
  package func signInOrigins() throws(Failure) -> [Origin] {
    var origins = [base.origin]
    for text in profile.recipe.network.signInOrigins { origins.append(try Origin(text)) }
    return origins
  }

  /// The origin that a call goes to, for prompts; the values in its path are not needed for that.
  package func origin(of call: RecipeRequest?) -> Origin {
    guard let call, case .text(let text)? = call.path.pieces.first, URLText.isAbsolute(text),
      let url = try? WebURL(text, from: .person)
    else { return base.origin }
    return url.origin
  }

  /// `target`, a path or an absolute URL, below the profile's `url` (design 5).
  package func url(for target: String) throws(Failure) -> WebURL {
    if URLText.isAbsolute(target) { return try WebURL(target, from: .person) }
    let url = try WebURL(root + target, from: .person)
    guard url.origin == base.origin else {
      throw Failure(.usage, "\(DisplayText.oneLine(target)) is not a path of \(base.origin)")
    }
    return url
  }

  // MARK: - Calls

  /// Sends one of the recipe's requests and reads the answer; any status is an answer here.
  ///
  /// - Parameters:
  ///   - permitted: what a stored session allows; a sign-in asks the profile alone.
  ///   - seconds: for all of it.
  ///   - onAnswer: called with its status when the answer to `call` begins to arrive.
  /// - Throws: what sending throws, `input_needed` for a value that is missing, `origin_refused`.
  func send(
    _ call: RecipeRequest, values: TemplateValues, cookies: CookieJar = CookieJar(),
    permitted: SessionLimits? = nil,
    seconds: Double = HTTPClient.signInTime, onAnswer: (_ status: Int) -> Void = { _ in }
  ) throws(Failure) -> RecipeResponse {
    var (values, cookies) = (values, cookies)
    let start = clock().seconds
    _ = try prefetch(for: call, into: &values, &cookies, permitted: permitted, seconds: seconds)
    let left = seconds - max(0, clock().seconds - start)
    return try sendAlone(
      call, values: values, cookies: cookies, permitted: permitted, seconds: left, onAnswer)
  }

  /// Makes the request that has to come before `call`, where the recipe has one that `call` names.
  ///
  /// - Returns: whether there was one; `values` and `cookies` hold then what it brought.
  /// - Throws: what sending and `take` throw.
  func prefetch(
    for call: RecipeRequest, into values: inout TemplateValues, _ cookies: inout CookieJar,
    permitted: SessionLimits?,
    seconds: Double = HTTPClient.signInTime
  ) throws(Failure) -> Bool {
    let names = call.names(request: profile.recipe.request)
    guard let prefetch = profile.recipe.prefetch, prefetch.isNeeded(for: names) else {
      return false
    }
    let answer = try fetch(
      prefetch, values: values, cookies: cookies, permitted: permitted, seconds: seconds)
    try extract(prefetch, from: answer, into: &values)
    cookies = try answer.cookies(now: clock())
    return true
  }

  /// Makes the request that has to come before another.
  func fetch(
    _ prefetch: Prefetch, values: TemplateValues, cookies: CookieJar, permitted: SessionLimits?,
    seconds: Double = HTTPClient.signInTime
  ) throws(Failure) -> RecipeResponse {
    try sendAlone(
      prefetch.call, values: values, cookies: cookies, permitted: permitted, seconds: seconds)
  }

  /// Takes from the answer to `prefetch` what the next request wants.
  ///
  /// - Throws: what `refuse` throws for an answer that is no success.
  func extract(
    _ prefetch: Prefetch, from answer: RecipeResponse, into values: inout TemplateValues
  ) throws(Failure) {
    do throws(Failure) {
      try refuse(answer, of: prefetch.call, what: "the request before this one", refused: [])
    } catch {
      var failure = error
      failure.hint = showCommand.map { "[prefetch] in " + $0 }
      throw failure
    }
    try extract(prefetch.take, from: answer, into: &values)
  }

  /// `{taken.NAME}`: values of one answer for the request that follows.
  ///
  /// - Throws: `answer_not_understood` when one is not there.
  func extract(
    _ wanted: [Extraction], from answer: RecipeResponse, into values: inout TemplateValues
  ) throws(Failure) {
    for kept in wanted {
      guard let value = try answer.keptText(at: [kept.place]), !value.isEmpty else {
        var failure = Failure(
          .answerNotUnderstood,
          "\(profile.name): the answer of \(Redactor.withoutQuery(answer.url.text)) has no "
            + "\(kept.name) (HTTP \(answer.head.status), \(answer.shape))",
          hint: showCommand.map { $0 + " tells where it is looked for (take)" })
        failure.server = answer.words
        failure.status = answer.head.status
        throw failure
      }
      redactor.learn(value)
      values[.taken(kept.name)] = SharedSecret(value)
    }
  }

  private func sendAlone(
    _ call: RecipeRequest, values: TemplateValues, cookies: CookieJar, permitted: SessionLimits?,
    seconds: Double,
    _ onAnswer: (_ status: Int) -> Void = { _ in }
  ) throws(Failure) -> RecipeResponse {
    if let refusal { throw refusal }
    let request = try request(for: call, values: values, cookies: cookies)
    let origin = request.url.origin
    guard try signInOrigins().contains(origin) else {
      throw Failure(
        .originRefused, "\(profile.name): \(origin) is not an origin for signing in",
        hint: "name it in network.sign_in_origins of the profile")
    }
    if let permitted {
      try checkWay(of: permitted.way)
      guard permitted.origins.contains(origin) else { throw notPinned(origin) }
    }
    // What a new session is to keep, before the request and not after it.
    _ = way
    let (head, body): (ResponseHead, [UInt8])
    do throws(Failure) { (head, body) = try http.call(request, seconds: seconds, onAnswer) } catch {
      var failure = error
      if failure.kind == .answerNotUnderstood {
        failure.message = "\(profile.name): \(failure.message)"
      }
      throw failure
    }
    return RecipeResponse(
      head: head, body: body, url: request.url, of: profile, sentCookies: cookies)
  }

  /// Nothing goes to an origin that was not fixed at sign-in (rule A2).
  func notPinned(_ origin: Origin) -> Failure {
    Failure(
      .originRefused, "\(profile.name): the session was not made for \(origin)",
      suggestion: .login(profile.name))
  }

  /// Nothing goes by another way than that of the sign-in (rule A3).
  ///
  /// - Throws: `origin_refused` where the profile says otherwise since; `refusal`.
  func checkWay(of session: ServerWay) throws(Failure) {
    if let refusal { throw refusal }
    if way == session { return }
    let changed = way.difference(from: session)
    throw Failure(
      .originRefused,
      "\(profile.name): changed since the sign-in, so nothing is sent: "
        + changed.joined(separator: ", "), suggestion: .login(profile.name))
  }

  /// The request that `call` stands for, every placeholder filled.
  func request(
    for call: RecipeRequest, values: TemplateValues, cookies: CookieJar = CookieJar()
  ) throws(Failure) -> WireRequest {
    let expansion = TemplateFiller(values: values, profile: profile.name)
    let url = try url(of: call, expansion)
    var headers = try expansion.headers(call.headers)
    switch call.authorization {
    case .none: break
    case .basic:
      headers.append(try authorization("Basic ", expansion.basic(.username, .password)))
    case .app: headers.append(try authorization("Basic ", appCredential(expansion)))
    case .refresh:
      headers.append(
        try authorization("Bearer ", expansion.required(.refreshToken).secret.copy()))
    case .access:
      let own = Set(headers.map(\.name.asciiLowercased))
      headers += try expansion.headers(
        profile.recipe.request.headers.filter { !own.contains($0.name.asciiLowercased) })
    }
    if let line = cookies.header(
      for: url.origin.description, path: url.path, isSecure: url.origin.isSecure, now: clock())
    {
      headers.append(try WireHeader(name: "Cookie", value: line))
    }
    var request = WireRequest(method: call.method, url: url)
    try addBody(of: call, expansion, to: &request, &headers)
    let own = Set(headers.map(\.name.asciiLowercased))
    for (name, value) in [("Accept", "application/json"), ("User-Agent", "authctl/\(version)")]
    where !own.contains(name.asciiLowercased) {
      headers.append(try WireHeader(name: name, value: value))
    }
    headers.append(try WireHeader(removing: "Expect"))
    request.headers = headers
    return request
  }

  private func addBody(
    of call: RecipeRequest, _ expansion: TemplateFiller, to request: inout WireRequest,
    _ headers: inout [WireHeader]
  ) throws(Failure) {
    func type(_ value: String) throws(Failure) {
      guard !headers.contains(where: { $0.name.asciiLowercased == "content-type" }) else { return }
      headers.append(try WireHeader(name: "Content-Type", value: value))
    }
    switch call.encoding {
    case .none:
      // A POST of no bytes still says so: `Content-Length: 0`.
      if call.method != "GET", call.method != "HEAD", call.method != "DELETE" {
        request.body = SharedSecret("")
        headers.append(try WireHeader(removing: "Content-Type"))
      }
    case .json:
      guard let body = try expansion.json(call) else { return }
      request.body = body
      try type("application/json")
    case .form:
      request.body = TemplateFiller.form(try expansion.flat(call))
      try type("application/x-www-form-urlencoded")
    case .multipart:
      request.parts = try expansion.flat(call)
    }
  }

  private func url(of call: RecipeRequest, _ expansion: TemplateFiller) throws(Failure) -> WebURL {
    var text = String(
      decoding: try expansion.filled(call.path, for: .path).withBytes { Array($0) }, as: UTF8.self)
    var separator = text.utf8.contains(UInt8(ascii: "?")) ? "&" : "?"
    for pair in call.query where !expansion.isLeftOut(pair.value) {
      // A parameter whose placeholder has no value is left out, as a body's member is.
      if !pair.value.names.isEmpty, !expansion.canFill(pair.value) { continue }
      var builder = SecretBuilder()
      var name = pair.name
      name.withUTF8 { builder.appendPercentEncoded(UnsafeRawBufferPointer($0)) }
      builder.append("=")
      try expansion.fill(pair.value, for: .query, into: &builder)
      text += separator + builder.secret().withBytes { String(decoding: $0, as: UTF8.self) }
      separator = "&"
    }
    return try url(for: text)
  }

  private func authorization(
    _ scheme: String, _ value: consuming Secret
  ) throws(Failure) -> WireHeader {
    guard value.withBytes({ HeaderSyntax.isRecipeValue($0) }) else {
      throw Failure(
        .answerNotUnderstood,
        "\(profile.name): the token holds a byte that may not stand in a header")
    }
    var builder = SecretBuilder()
    builder.append(scheme)
    builder.append(value)
    return try WireHeader(name: "Authorization", value: builder.secret())
  }

  /// The application's key as Basic: `NAME:VALUE` as it is, `VALUE` alone as the name.
  private func appCredential(_ expansion: TemplateFiller) throws(Failure) -> Secret {
    let key = try expansion.required(.appKey)
    var joined = SecretBuilder()
    joined.append(key.secret)
    if !key.withBytes({ $0.contains(UInt8(ascii: ":")) }) { joined.append(":") }
    var encoded = SecretBuilder()
    joined.secret().withBytes { encoded.appendBase64($0) }
    return encoded.secret()
  }

  // MARK: - Reading answers

  /// What a sign-in or refresh brought.
  struct Tokens {
    var values = TemplateValues()
    var expiresAt: Timestamp?
    var lifetime: Double?
    var account: String?
    var cookies = CookieJar()
    /// Where the token stood, when none of the places named it.
    var guessedPlace: String?
  }

  /// Takes from `answer` what the recipe names; nil when there is no access token in it.
  ///
  /// - Throws: `answer_not_understood` for a value that no header could carry, or too many cookies.
  func tokens(in answer: RecipeResponse) throws(Failure) -> Tokens? {
    let now = clock()
    var tokens = Tokens()
    var token = try answer.accessToken()
    if token == nil, usesUsualPlaces, let only = answer.onlyJWT() {
      token = only.token
      tokens.guessedPlace = only.pointer
    }
    if token == nil, !profile.recipe.session.keepPassword { return nil }
    if let token {
      redactor.learn(token)
      tokens.values[.accessToken] = SharedSecret(token)
    }
    if let refresh = try answer.keptText(at: answer.recipe.refreshToken) {
      redactor.learn(refresh)
      tokens.values[.refreshToken] = SharedSecret(refresh)
    }
    for kept in answer.recipe.keep {
      guard let value = try answer.keptText(at: [kept.place]) else { continue }
      redactor.learn(value)
      tokens.values[.session(kept.name)] = SharedSecret(value)
    }
    tokens.expiresAt = try answer.expiry(token: token, now: now)
    tokens.lifetime = tokens.expiresAt.map { max(0, $0.seconds - now.seconds) }
    tokens.account = try answer.value(at: answer.recipe.account)?.text
    guard profile.recipe.request.cookies else { return tokens }
    tokens.cookies = try answer.cookies(now: now)
    for cookie in tokens.cookies.cookies { redactor.learn(cookie.value) }
    return tokens
  }

  /// No place was named by anybody: neither preset nor profile.
  private var usesUsualPlaces: Bool {
    profile.values.first { $0.key == "session.access_token" }?.source == .builtIn
  }

  /// The headers of a protected request, filled.
  ///
  /// - Throws: `input_needed` when the session lacks a value, `answer_not_understood` when one of
  ///   them cannot stand in a header.
  func requestHeaders(_ values: TemplateValues) throws(Failure) -> [WireHeader] {
    try TemplateFiller(values: values, profile: profile.name).headers(
      profile.recipe.request.headers)
  }

  /// The header that carries the credential of `session`, for programs other than authctl; nil
  /// where no header does.
  ///
  /// - Throws: `input_needed` when the session lacks a value.
  func credentialHeader(of session: Session) throws(Failure) -> (
    name: String, value: String
  )? {
    let wanted: Template.Name = profile.recipe.session.keepPassword ? .password : .accessToken
    guard
      let pair = profile.recipe.request.headers.first(where: { $0.value.names.contains(wanted) })
    else { return nil }
    let expansion = TemplateFiller(values: values(of: session), profile: profile.name)
    let value = try expansion.filled(pair.value, for: .header)
    return (pair.name, value.withBytes { String(decoding: $0, as: UTF8.self) })
  }

  /// Reads a template that `text` is to fill.
  ///
  /// - Parameter passwords: a stored password may be handed out too.
  /// - Throws: `usage` for one that cannot be read or names what is not handed out.
  @discardableResult
  package func checkText(_ template: String, passwords: Bool = false) throws(Failure) -> Template {
    let template = try Template(template)
    let open: [Template.Name] = [.accessToken, .username] + (passwords ? [.password] : [])
    for name in template.names where !open.contains(name) && !name.isSession {
      throw Failure(
        .usage, "{\(name)} is not handed out",
        hint: "{access_token}, {username} and {session.NAME} are")
    }
    return template
  }

  /// `template` with the values of `session`, for other programs: what may go with a request, and
  /// nothing that signs in.
  ///
  /// - Throws: `usage` for a template that names something else, `input_needed` for a value that the
  ///   session does not have.
  func text(
    _ template: String, of session: Session, passwords: Bool = false
  ) throws(Failure) -> String {
    let template = try checkText(template, passwords: passwords)
    let expansion = TemplateFiller(values: values(of: session), profile: profile.name)
    let value = try expansion.filled(template, for: .plain)
    return try value.withBytes { (bytes) throws(Failure) in
      guard !bytes.contains(0) else {
        throw Failure(.failed, "\(profile.name): the token holds a NUL byte")
      }
      return String(decoding: bytes, as: UTF8.self)
    }
  }

  /// `POST https://api.shop.example/login`, for messages.
  func named(_ call: RecipeRequest) -> String {
    let path = call.shownPath
    return "\(call.method) "
      + (URLText.isAbsolute(path)
        ? path : base.origin.description + (base.path == "/" ? "" : base.path) + path)
  }
}

extension RecipeRequest {
  /// The path, where a plain GET of it does the same as the call.
  package var plainPath: String? {
    method == "GET" && query.isEmpty && headers.isEmpty ? path.plainText : nil
  }

  /// The path as it is told: placeholders by their names, in braces.
  package var shownPath: String {
    path.pieces.map { piece in
      switch piece {
      case .text(let text): text
      case .value(let name), .basic(let name, _): "{\(name)}"
      }
    }.joined()
  }
}
