internal import AuthKit

/// One request of the command line, from its target to the exit status.
struct RequestRun {
  let app: App
  private let method: String
  private let target: String
  let options: RequestOptions
  private let body: RequestBody
  private let accepted: (Int) -> Bool
  let observers: TransferObservers

  init(
    _ app: App, method: String, target: String, _ options: RequestOptions, _ data: BodyOptions
  ) throws(Failure) {
    self.app = app
    self.method = try options.output.method(method)
    self.target = target
    var options = options
    options.output = try options.output.settled(for: target)
    self.options = options
    guard options.method == nil else {
      throw Failure(
        .usage, "-X is not needed: the method is the command's",
        hint: "authctl request METHOD TARGET takes any")
    }
    body = try data.body(for: method, app.environment)
    accepted = try options.status.accepted()
    if options.fail {
      throw Failure(
        .usage, "-f is not needed: an HTTP error already ends with 4 or 5",
        hint: "--ok 404 or --ignore-status makes one end with 0")
    }
    try app.checkTarget(target)
    try options.pages.check(method: method, options.output)
    guard options.maximumRedirects >= 0 else {
      throw Failure(.usage, "--max-redirs must be 0 or more")
    }
    observers = try TransferObservers(app, options)
  }

  func run() throws(Failure) -> Int32 {
    let choice = try chosen()
    let keeper = try app.keeper(
      for: choice.profile, options: observers.attached(to: options.network.http(in: app)))
    let url = try keeper.api.url(for: body.target(target))
    var wanted = ProtectedRequest(
      WireRequest(
        method: method, url: url, headers: try headers(choice.profile),
        body: body.content ?? (body.isEmpty && takesBody ? SharedSecret("") : nil)))
    wanted.request.upload = body.upload
    wanted.request.parts = body.parts
    wanted.redirects.maximum = options.maximumRedirects
    wanted.redirects.allMethods = options.location
    wanted.accepted = accepted
    if options.output.dryRun || options.output.asCurl {
      return try DryRun(
        app: app, choice: choice, keeper: keeper, request: wanted.request, options: options
      ).run()
    }
    if options.network.insecure {
      app.console.insist("-k: the certificate of \(url.origin) is not verified")
    }
    guard !options.anonymous else {
      return try deliver(wanted, Asking(who: "anonymous", profile: choice.profile)) {
        (wanted, head, body) throws(Failure) in
        try keeper.sendAnonymously(wanted, onHead: head, onBody: body)
      }
    }
    var session = try app.session(for: choice, keeper)
    try keeper.check(url, for: session)
    let account = session.variable ?? DisplayText.oneLine(session.account, limit: 80)
    let origins = try keeper.permittedOrigins(of: session)
    let asking = Asking(
      who: "\(choice.profile.name), \(account)", profile: choice.profile, origins: origins)
    return try deliver(wanted, asking) { (wanted, head, body) throws(Failure) in
      try keeper.send(wanted, with: &session, onHead: head, onBody: body)
    }
  }

  /// On whose behalf a request is sent.
  struct Asking {
    let who: String
    let profile: Profile
    /// Where the credential may go; none without one.
    var origins: [Origin]?
  }

  /// Pages, or one answer; each by as many attempts as it takes.
  private func deliver(
    _ wanted: ProtectedRequest, _ asking: Asking, once: @escaping RetryingSender.Send
  ) throws(Failure) -> Int32 {
    var attempts = try RetryingSender(
      app.console, options.retries, limit: options.network.maximumTime?.seconds, once: once)
    return options.pages.isWanted
      ? try deliverPages(wanted, asking, by: &attempts) : try deliver(wanted, asking, by: &attempts)
  }

  /// Whether a request without data says so, by `Content-Length: 0` (RFC 9110, section 8.6).
  private var takesBody: Bool { ["POST", "PUT", "PATCH"].contains(method) }

  /// Without a credential, a URL needs no profile.
  private func chosen() throws(Failure) -> ProfileChoice {
    guard options.anonymous, app.isURL(target), app.globals.profile == nil else {
      return try app.choose(target: target)
    }
    return ProfileChoice(
      profile: try app.transient(try WebURL(target, from: .person).origin.description),
      reason: "anonymous")
  }

  private func deliver(
    _ wanted: ProtectedRequest, _ asking: Asking, by attempts: inout RetryingSender
  ) throws(Failure) -> Int32 {
    var sink: BodySink?
    var final: (head: ResponseHead, url: WebURL)?
    func end(_ code: Int32, _ failure: Failure?) throws(Failure) {
      let answer = WriteOut.RecipeResponse(
        method: wanted.request.method, url: wanted.request.url, final: final,
        mask: mask(asking.profile), file: sink?.path)
      try observers.end(answer, code: code, failure)
    }
    do throws(Failure) {
      try attempts.send(wanted) {
        sink?.mayStartAnew ?? true
      } onHead: { (head, hops) throws(Failure) in
        sink?.abandon()
        final = (head, hops.url)
        let text = shown(head, asking.profile)
        try observers.take(head, text)
        sink = try BodySink(
          app.console, head: head, options.output, isWanted: isSuccess(head.status),
          shownHead: options.output.include || method == "HEAD" ? text : nil)
      } onBody: { (bytes) throws(Failure) in
        try sink?.take(bytes)
      }
      try sink?.finish()
    } catch {
      sink?.abandon()
      try end(error.kind.exitCode, error)
      throw error
    }
    guard let final, !isSuccess(final.head.status) else {
      try end(0, nil)
      return 0
    }
    let failure = statusFailure(final.head, final.url, wanted.request.method, asking)
    app.console.status(failure)
    try end(failure.kind.exitCode, nil)
    return failure.kind.exitCode
  }

  func isSuccess(_ status: Int) -> Bool { status < 300 || accepted(status) }

  func statusFailure(
    _ head: ResponseHead, _ url: WebURL, _ method: String, _ asking: Asking
  ) -> Failure {
    let kind = Failure.Kind(status: head.status)
    let shownURL = Redactor.withoutQuery(url.text)
    var failure = Failure(
      kind,
      "HTTP \(head.status) \(DisplayText.oneLine(app.redactor.mask(head.reason), limit: 60)): \(method) \(shownURL) (\(asking.who))"
    )
    if let location = head.redirect {
      failure.hint = "Location: \(DisplayText.oneLine(Redactor.withoutQuery(location)))"
    }
    failure.status = head.status
    failure.url = shownURL
    failure.profile = asking.profile.name
    failure.account = app.context.account
    return failure
  }

  // MARK: - Headers

  /// The headers of `-H`: none through which the recipe sends a credential (rule B2).
  private func headers(_ profile: Profile) throws(Failure) -> [WireHeader] {
    var headers: [WireHeader] = []
    for text in options.header {
      guard text.utf8.first == UInt8(ascii: "@") else {
        headers.append(try header(text, profile))
        continue
      }
      let lines = try File.text(String(text.dropFirst()), option: "-H")
      for line in lines.utf8.split(separator: UInt8(ascii: "\n")) {
        let bytes = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
        if !bytes.isEmpty {
          headers.append(try header(String(decoding: bytes, as: UTF8.self), profile))
        }
      }
    }
    let own = Set(headers.map(\.name.asciiLowercased))
    if let type = body.type, !own.contains("content-type") {
      headers.append(try WireHeader(name: "Content-Type", value: type))
    }
    try addAgentAndCookies(to: &headers, own, profile)
    if body.isEmpty, takesBody, !own.contains("content-type") {
      headers.append(try WireHeader(removing: "Content-Type"))
    }
    if body.wantsJSON, !own.contains("accept") {
      headers.append(try WireHeader(name: "Accept", value: "application/json"))
    }
    return headers
  }

  private func header(_ text: String, _ profile: Profile) throws(Failure) -> WireHeader {
    guard let mark = text.utf8.firstIndex(where: { $0 == 0x3A || $0 == 0x3B }) else {
      throw Failure(
        .usage, "-H \(DisplayText.oneLine(text, limit: 40)): write 'NAME: VALUE'")
    }
    let name = String(decoding: text.utf8[..<mark], as: UTF8.self)
    let value = String(decoding: text.utf8[text.utf8.index(after: mark)...], as: UTF8.self)
      .trimmingSpaces
    try check(name, profile)
    if value.isEmpty, text.utf8[mark] == UInt8(ascii: ":") { return try WireHeader(removing: name) }
    guard text.utf8[mark] == UInt8(ascii: ":") || value.isEmpty else {
      throw Failure(.usage, "-H \(name);: a semicolon ends a header without a value")
    }
    let header = try WireHeader(name: name, value: value)
    if header.mayBeCredential { app.redactor.learn(value) }
    return header
  }

  private func check(
    _ name: String, _ profile: Profile, option: String? = nil
  ) throws(Failure) {
    guard HeaderSyntax.isToken(name) else {
      throw Failure(.usage, "-H: \(DisplayText.oneLine(name, limit: 40)) is not a header name")
    }
    guard !options.anonymous else { return }
    if profile.carriesCredential(in: name) {
      throw Failure(
        .usage,
        "\(option ?? "-H \(name)"): \(profile.name) sends its credential in that header",
        hint: "--anonymous sends your own instead")
    }
    if HeaderSyntax.isForbiddenBesideCredential(name) {
      throw Failure(
        .usage, "-H \(name) is not sent beside a credential", hint: "--anonymous allows it")
    }
  }

  /// `-A` and `-b`; a header of `-H` comes before them, as in curl.
  private func addAgentAndCookies(
    to headers: inout [WireHeader], _ own: Set<String>, _ profile: Profile
  ) throws(Failure) {
    if let agent = options.agent, !own.contains("user-agent") {
      try check("User-Agent", profile, option: "-A")
      headers.append(
        try agent.isEmpty
          ? WireHeader(removing: "User-Agent") : WireHeader(name: "User-Agent", value: agent))
    }
    guard !options.cookie.isEmpty else { return }
    try check("Cookie", profile, option: "-b")
    for text in options.cookie where !text.utf8.contains(UInt8(ascii: "=")) {
      throw Failure(
        .usage, "-b \(DisplayText.oneLine(text, limit: 40)): write NAME=VALUE",
        hint: "files of cookies are not read; request.cookies in the profile keeps a session's")
    }
    guard !own.contains("cookie") else { return }
    let value = options.cookie.joined(separator: "; ")
    app.redactor.learn(value)
    for pair in value.utf8.split(separator: UInt8(ascii: ";")) {
      let mark = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.startIndex
      app.redactor.learn(String(decoding: pair[mark...].dropFirst(), as: UTF8.self))
    }
    headers.append(try WireHeader(name: "Cookie", value: value))
  }

  /// Status line and headers, with what is secret in them masked (rule B3).
  func shown(_ head: ResponseHead, _ profile: Profile) -> String {
    let mask = mask(profile)
    var text = "\(head.version) \(head.status) \(mask.shown(head.reason))\r\n"
    for field in head.fields {
      text += "\(field.name): \(mask.shown(field.value, of: field.name))\r\n"
    }
    return text + "\r\n"
  }

  private func mask(_ profile: Profile) -> HeaderMask {
    HeaderMask(profile, app.redactor, showsSecrets: options.output.showSecrets)
  }
}
