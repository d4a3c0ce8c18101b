/// One API as its profile describes it: sends the recipe's requests and reads the answers.
package final class RecipeClient {
  /// The API's settings.
  package let profile: Profile
  /// The profile's `url`, parsed.
  package let base: WebURL
  package let http: HTTPClient
  let clock: () -> Timestamp
  let redactor: Redactor
  /// The profile's `url` without a trailing slash.
  private let root: String
  /// The cached result of `requestOrigins`, which every request needs.
  private var readOrigins: [Origin]?
  /// How the profile reaches the server, determined once, before anything is sent.
  package lazy var way = ServerWay(of: profile)
  /// The proofs of the last session that had a key, with the nonces of its servers.
  var lastProof: ProofOfPossession?
  /// Why nothing may be sent at all, for example because the profile is not trusted.
  package var refusal: Failure?

  /// Creates a client that sends with `http`; `redactor` learns the secrets of the answers.
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

  /// Returns the origins that may receive the access token, cookies, kept values and the
  /// application's key (rule A2).
  package func requestOrigins() throws(Failure) -> [Origin] {
    if let readOrigins { return readOrigins }
    let origins = try profile.requestOrigins()
    readOrigins = origins
    return origins
  }

  /// Returns the origins that may receive the password, codes and refresh token: those of the
  /// recipe's own requests and `sign_in_origins`.
  package func signInOrigins() throws(Failure) -> [Origin] {
    var origins = [base.origin]
    for text in profile.recipe.network.signInOrigins { origins.append(try Origin(text)) }
    return origins
  }

  /// Returns the origin of a call, for prompts; this does not need the values in its path.
  package func origin(of call: RecipeRequest?) -> Origin {
    guard let call, case .text(let text)? = call.path.pieces.first, URLText.isAbsolute(text),
      let url = try? WebURL(text, from: .person)
    else { return base.origin }
    return url.origin
  }

  /// Checks that `call` may carry secrets to its origin, before anybody is asked for them.
  ///
  /// - Throws: `origin_refused` for plain HTTP to another machine, and for an origin that is not one
  ///   for signing in.
  package func check(_ call: RecipeRequest?) throws(Failure) {
    guard let call else { return }
    let origin = origin(of: call)
    try checkSignIn(at: origin)
    let allowsHTTP = profile.recipe.network.allowHTTP && origin == base.origin
    if profile.isDraft, !allowsHTTP { try HTTPClient.checkPlainHTTP(to: origin, isNew: true) }
    _ = try http.settings(carryingSecretsTo: origin)
  }

  private func checkSignIn(at origin: Origin) throws(Failure) {
    guard try signInOrigins().contains(origin) else {
      throw Failure(
        .originRefused, "\(profile.name): refused to send a sign-in request to \(origin)",
        hint: "add it to network.sign_in_origins in the profile")
    }
  }

  /// Returns the URL of `target`, an absolute URL or a path below the profile's `url` (design 5).
  package func url(for target: String) throws(Failure) -> WebURL {
    if URLText.isAbsolute(target) { return try WebURL(target, from: .person) }
    let url = try WebURL(root + target, from: .person)
    guard url.origin == base.origin else {
      throw Failure(.usage, "\(DisplayText.oneLine(target)) is not a path on \(base.origin)")
    }
    return url
  }

  // MARK: - Calls

  /// Sends one of the recipe's requests and reads the answer; any status is an answer here.
  ///
  /// - Parameters:
  ///   - permitted: the limits of a stored session; nil for a sign-in, which only the profile
  ///     limits.
  ///   - seconds: the time limit, with the prefetch.
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

  /// Sends the recipe's prefetch if `call` uses its values.
  ///
  /// - Returns: whether it was sent; `values` and `cookies` then hold its results.
  /// - Throws: what sending and `extract` throw.
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

  /// Sends the prefetch.
  func fetch(
    _ prefetch: Prefetch, values: TemplateValues, cookies: CookieJar, permitted: SessionLimits?,
    seconds: Double = HTTPClient.signInTime
  ) throws(Failure) -> RecipeResponse {
    try sendAlone(
      prefetch.call, values: values, cookies: cookies, permitted: permitted, seconds: seconds)
  }

  /// Extracts from the answer to `prefetch` the values for the next request.
  ///
  /// - Throws: what `refuse` throws for an answer that is no success.
  func extract(
    _ prefetch: Prefetch, from answer: RecipeResponse, into values: inout TemplateValues
  ) throws(Failure) {
    do throws(Failure) {
      try refuse(answer, of: prefetch.call, what: "the [prefetch] request", refused: [])
    } catch {
      var failure = error
      failure.hint = showCommand.map { "to see [prefetch], run: " + $0 }
      throw failure
    }
    try extract(prefetch.take, from: answer, into: &values)
  }

  /// Extracts `{taken.NAME}`, values of one answer for the request that follows.
  ///
  /// - Throws: `answer_not_understood` when one is missing.
  func extract(
    _ wanted: [Extraction], from answer: RecipeResponse, into values: inout TemplateValues
  ) throws(Failure) {
    for kept in wanted {
      guard let value = try answer.keptText(at: [kept.place]), !value.isEmpty else {
        var failure = Failure(
          .answerNotUnderstood,
          "\(profile.name): the answer from \(Redactor.withoutQuery(answer.url.text)) has no "
            + "\(kept.name) (HTTP \(answer.head.status), \(answer.shape))",
          hint: showCommand.map { "to see its place (take), run: " + $0 })
        failure.server = answer.words
        failure.status = answer.head.status
        throw failure
      }
      redactor.learn(value)
      values[.taken(kept.name)] = SharedSecret(value)
    }
  }

  /// Sends one request of the recipe, with a new assertion of the client and with `proof`.
  func sendOnce(
    _ call: RecipeRequest, _ values: TemplateValues, _ cookies: CookieJar,
    _ proof: (maker: ProofOfPossession, token: SharedSecret?, nonce: String?)?,
    _ permitted: SessionLimits?, _ seconds: Double, _ onAnswer: (_ status: Int) -> Void
  ) throws(Failure) -> RecipeResponse {
    if let refusal { throw refusal }
    var values = values
    if call.isEndpoint {
      try ClientAssertion.add(
        to: &values, for: call.names(request: profile.recipe.request),
        settings: profile.recipe.oauth, now: clock())
    }
    var request = try request(for: call, values: values, cookies: cookies)
    if let (maker, token, nonce) = proof {
      request.headers.append(
        try maker.header(of: request.method, request.url, token: token, nonce: nonce))
    }
    let origin = request.url.origin
    // The URL of an endpoint is one that the session fixed at sign-in.
    if !call.isEndpoint { try checkSignIn(at: origin) }
    if let permitted {
      try checkWay(of: permitted.way)
      guard permitted.origins.contains(origin) else { throw notPinned(origin) }
    }
    // A new session keeps the way from before the request.
    _ = way
    let (head, body): (ResponseHead, [UInt8])
    do throws(Failure) {
      (head, body) = try http.call(
        request, seconds: seconds, showsCertificate: call.showsCertificate, onAnswer)
    } catch {
      var failure = error
      if failure.kind == .answerNotUnderstood {
        failure.message = "\(profile.name): \(failure.message)"
      }
      throw failure
    }
    var answer = RecipeResponse(
      head: head, body: body, url: request.url, of: profile, sentCookies: cookies)
    answer.isToProof = proof != nil
    return answer
  }

  /// Returns the failure for an origin that was not fixed at sign-in (rule A2).
  func notPinned(_ origin: Origin) -> Failure {
    Failure(
      .originRefused, "\(profile.name): the session was not created for \(origin)",
      suggestion: .login(profile.name))
  }

  /// Checks that the way to the server is that of the sign-in (rule A3).
  ///
  /// - Throws: `origin_refused` when the profile has changed it since; `refusal`.
  func checkWay(of session: ServerWay) throws(Failure) {
    if let refusal { throw refusal }
    if way == session { return }
    let changed = way.difference(from: session)
    throw Failure(
      .originRefused,
      "\(profile.name): the profile changed after the sign-in, so nothing is sent: "
        + changed.joined(separator: ", "), suggestion: .login(profile.name))
  }

  /// Returns the request of `call` with every placeholder filled.
  func request(
    for call: RecipeRequest, values: TemplateValues, cookies: CookieJar = CookieJar()
  ) throws(Failure) -> WireRequest {
    let expansion = TemplateFiller(values: values, profile: profile.name)
    var url = try url(of: call, expansion)
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
      url = try url.adding(try expansion.parameters(profile.recipe.request.query))
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
      // A POST without a body must still send `Content-Length: 0`.
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
    var text = try expansion.filled(call.path, for: call.isEndpoint ? .plain : .path)
      .withBytes { String(decoding: $0, as: UTF8.self) }
    var separator = text.utf8.contains(UInt8(ascii: "?")) ? "&" : "?"
    for pair in call.query where !expansion.isLeftOut(pair.value) {
      // A parameter whose placeholder has no value is left out, like a member of a body.
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
        "\(profile.name): the token contains a byte that is not allowed in a header")
    }
    var builder = SecretBuilder()
    builder.append(scheme)
    builder.append(value)
    return try WireHeader(name: "Authorization", value: builder.secret())
  }

  /// Returns the application's key for Basic: `NAME:VALUE` as it is, a key without a colon as the
  /// name.
  private func appCredential(_ expansion: TemplateFiller) throws(Failure) -> Secret {
    let key = try expansion.required(.appKey)
    var joined = SecretBuilder()
    joined.append(key.secret)
    if !key.withBytes({ $0.contains(UInt8(ascii: ":")) }) { joined.append(":") }
    var encoded = SecretBuilder()
    joined.secret().withBytes { encoded.appendBase64($0) }
    return encoded.secret()
  }

  // MARK: - Headers

  /// Returns the headers of a protected request.
  ///
  /// - Throws: `input_needed` when the session lacks a value, `answer_not_understood` when a header
  ///   cannot carry one.
  func requestHeaders(_ values: TemplateValues) throws(Failure) -> [WireHeader] {
    let filler = TemplateFiller(values: values, profile: profile.name)
    _ = try filler.parameters(profile.recipe.request.query)
    return try filler.headers(profile.recipe.request.headers)
  }

  /// Returns the header that carries the credential of `session`, for other programs; nil if no
  /// header does.
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

  /// Parses a template for `text`.
  ///
  /// - Parameter passwords: whether a stored password may be handed out too.
  /// - Throws: `usage` for a template that cannot be parsed or names a value that is not handed
  ///   out.
  @discardableResult
  package func checkText(_ template: String, passwords: Bool = false) throws(Failure) -> Template {
    let template = try Template(template)
    let open: [Template.Name] = [.accessToken, .username] + (passwords ? [.password] : [])
    for name in template.names where !open.contains(name) && !name.isSession {
      throw Failure(
        .usage, "{\(name)} cannot be used here",
        hint: "use {access_token}, {username} or {session.NAME}")
    }
    return template
  }

  /// Fills `template` with values of `session` for other programs: only those that may go with a
  /// request, none that signs in.
  ///
  /// - Throws: `usage` for a template with any other name, `input_needed` for a value that the
  ///   session does not have.
  func text(
    _ template: String, of session: Session, passwords: Bool = false
  ) throws(Failure) -> String {
    let template = try checkText(template, passwords: passwords)
    let expansion = TemplateFiller(values: values(of: session), profile: profile.name)
    let value = try expansion.filled(template, for: .plain)
    return try value.withBytes { (bytes) throws(Failure) in
      guard !bytes.contains(0) else {
        throw Failure(.failed, "\(profile.name): the token contains a NUL byte")
      }
      return String(decoding: bytes, as: UTF8.self)
    }
  }

  /// Returns the name of the call that got `answer` for messages, such as
  /// `POST https://api.shop.example/login`.
  func named(_ call: RecipeRequest, _ answer: RecipeResponse) -> String {
    if call.isEndpoint { return "\(call.method) \(Redactor.withoutQuery(answer.url.text))" }
    let path = call.shownPath
    return "\(call.method) "
      + (URLText.isAbsolute(path)
        ? path : base.origin.description + (base.path == "/" ? "" : base.path) + path)
  }
}

extension RecipeRequest {
  /// The path, if a plain GET of it does the same as the call; otherwise nil.
  package var plainPath: String? {
    method == "GET" && query.isEmpty && headers.isEmpty ? path.plainText : nil
  }

  /// The path for display, with placeholders as `{NAME}`.
  package var shownPath: String {
    path.pieces.map { piece in
      switch piece {
      case .text(let text): text
      case .value(let name), .basic(let name, _): "{\(name)}"
      }
    }.joined()
  }
}
