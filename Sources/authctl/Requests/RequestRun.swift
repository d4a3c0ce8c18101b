internal import AuthKit

/// One request of the command line, from its target to the exit status.
struct RequestRun {
  let app: App
  private let method: String
  private let target: String
  let options: RequestOptions
  /// nil if none is given.
  let rare: RareOptions?
  private let body: RequestBody
  private let accepted: (Int) -> Bool
  let observers: TransferObservers
  /// The filter of `--jq`.
  let filter: JQFilter?

  init(
    _ app: App, method: String, target: String, _ options: RequestOptions, _ rare: RareOptions?,
    _ data: BodyOptions
  ) throws(Failure) {
    self.app = app
    self.method = try options.output.method(method)
    self.target = target
    var options = options
    options.output = try options.output.settled(for: target)
    self.options = options
    self.rare = rare
    guard options.method == nil else {
      throw Failure(
        .usage, "-X cannot be used with this command, which has its own method",
        hint: "to use another method, run: authctl request METHOD /PATH")
    }
    body = try data.body(for: method, app.environment)
    accepted = try options.status.accepted()
    try app.checkTarget(target, after: Self.command(for: method))
    try rare?.pages.check(method: method, options.output)
    if options.output.filter != nil, method == "HEAD" { throw PageOptions.noBody() }
    guard options.maximumRedirects >= 0 else {
      throw Failure(.usage, "--max-redirs must be 0 or more")
    }
    filter = try options.output.filter.map { (text) throws(Failure) in try JQFilter(text) }
    observers = try TransferObservers(app, options, sendsBody: !body.isEmpty)
  }

  /// Returns the words of the command that sends `method`.
  private static func command(for method: String) -> [String] {
    let own = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]
    return own.contains(method) ? [method.lowercased()] : ["request", method]
  }

  func run() throws(Failure) -> Int32 {
    let choice = try chosen()
    let keeper = try app.keeper(
      for: choice.profile,
      options: observers.attached(to: NetworkOptions.http(rare?.network, in: app)))
    let url = try keeper.api.url(for: body.target(target))
    if !options.anonymous { try app.checkParameters(of: url, choice.profile) }
    var wanted = ProtectedRequest(
      try body.request(
        method, to: url, with: try PersonalHeaders(options, choice.profile, app.redactor)))
    wanted.redirects.maximum = options.maximumRedirects
    wanted.redirects.allMethods = options.location
    wanted.accepted = accepted
    if options.output.dryRun || options.output.asCurl {
      return try DryRun(
        app: app, choice: choice, keeper: keeper, request: wanted.request, options: options,
        network: rare?.network
      ).run()
    }
    if let rare, rare.network.insecure {
      app.console.insist("-k: the certificate of \(url.origin) is not verified")
    }
    guard !options.anonymous else {
      return try deliver(wanted, Asking(who: "anonymous", profile: choice.profile)) {
        (wanted, head, body) throws(Failure) in
        try keeper.sendAnonymously(wanted, onHead: head, onBody: body)
      }
    }
    var session = try app.session(for: choice, keeper, at: url)
    try keeper.check(url, for: session)
    let account = session.variable ?? DisplayText.oneLine(session.account, limit: 80)
    let origins = try keeper.permittedOrigins(of: session)
    let asking = Asking(
      who: "\(choice.profile.name), \(account)", profile: choice.profile, origins: origins,
      refusal: { keeper.refusal })
    return try deliver(wanted, asking) { (wanted, head, body) throws(Failure) in
      try keeper.send(wanted, with: &session, onHead: head, onBody: body)
    }
  }

  /// The identity that a request is sent with.
  struct Asking {
    let who: String
    let profile: Profile
    /// The origins that may get the credential; nil without a credential.
    var origins: [Origin]?
    /// Returns the head of the answer that refused the credential, if that is how it ended.
    var refusal: () -> ResponseHead? = { nil }
  }

  /// Delivers pages or one answer, with retries.
  private func deliver(
    _ wanted: ProtectedRequest, _ asking: Asking, once: @escaping RetryingSender.Send
  ) throws(Failure) -> Int32 {
    var attempts = try RetryingSender(
      app.console, rare?.retries, limit: rare?.network.maximumTime?.seconds, once: once)
    if let pages = rare?.pages, pages.isWanted {
      return try deliver(pages, wanted, asking, by: &attempts)
    }
    return try deliver(wanted, asking, by: &attempts)
  }

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
      let answer = WriteOut.Outcome(
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
        try observers.receiveHead(head, text)
        sink = try BodySink(
          app.console, head: head, options.output, filter, isWanted: isSuccess(head.status),
          shownHead: options.output.include || method == "HEAD" ? text : nil)
      } onBody: { (bytes) throws(Failure) in
        try sink?.receiveBody(bytes)
      }
      try sink?.finish()
      observers.tellSaved(sink)
    } catch {
      sink?.abandon()
      if final == nil, let refusal = asking.refusal() {
        final = (refusal, wanted.request.url)
        try observers.receiveHead(refusal, shown(refusal, asking.profile))
      }
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
    if asking.profile.recipe.oauth != nil, let challenge = head.tokenChallenge,
      challenge["error"] == "insufficient_scope"
    {
      failure.hint =
        Suggestion.loginForScope(
          asking.profile.name, challenge["scope"].map { DisplayText.oneLine($0, limit: 400) }
        ).command
    }
    failure.status = head.status
    failure.url = shownURL
    failure.profile = asking.profile.name
    failure.account = app.context.account
    return failure
  }

  // MARK: - Headers

  /// Returns the status line and headers, with secrets masked (rule B3).
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
