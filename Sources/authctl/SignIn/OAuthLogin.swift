internal import ArgumentParser
internal import AuthKit
internal import Glibc

/// A sign-in by an authorization server: chooses the way to it and leads the person through it.
struct OAuthLogin {
  let app: App
  let keeper: SessionKeeper
  let settings: OAuthSettings
  let asker: CredentialPrompt
  let options: BrowserOptions
  let subject: SubjectToken
  /// Whether the session keeps the command that prints the password or the subject token
  /// (`--keep-command`).
  let keepsCommand: Bool
  /// The command that prints the password; nil without one.
  let passwordCommand: SharedSecret?
  /// Whether what the server asks for is agreed to (`--yes`).
  let assumesYes: Bool

  /// How long a person may take in the browser, in seconds.
  private static let patience: Double = 600

  private var profile: Profile { keeper.api.profile }

  /// Signs in and returns the new session, which is not stored.
  ///
  /// - Parameters:
  ///   - account: the name that the user gave for this sign-in.
  ///   - known: the name of the profile or of its session, if the server tells none.
  func signIn(account: String?, known: String?) throws(Failure) -> SignedIn {
    let wishes = try options.wishes()
    var secret: SharedSecret?
    if let given = try asker.reader.read(.clientSecret) { secret = SharedSecret(given) }
    let server = try keeper.api.authorizationServer(settings)
    let grant = try grant(server, hasSecret: secret != nil)
    _ = try server.url(of: .token, for: grant.rawValue)
    try check(grant)
    let settings = try subject.applied(to: settings, grant)
    if secret == nil, !settings.hasKey, grant == .clientCredentials {
      secret = try askForSecret()
    }
    // A redirect URI may be compared as a whole: the port comes before the registration.
    let listener = try grant == .authorizationCode ? listen() : nil
    // Until the token is there nobody else may listen on the port.
    defer { withExtendedLifetime(listener) {} }
    let uri = listener.map { "http://\($0.authority)\(settings.redirectPath)" }
    var isNew = false
    while true {
      let (client, changes) = try client(
        server, settings, grant, secret, redirectURI: uri, known: known, registersAgain: isNew)
      do throws(Failure) {
        var signedIn = try obtain(grant, client, listener, uri, wishes, account, known)
        signedIn.changes = changes
        reportUngranted(client, signedIn.session, grant, wishes)
        return signedIn
      } catch {
        // A server that has lost its clients (RFC 6749, section 5.2).
        let isLost = error.errorCode == "invalid_client" && [400, 401].contains(error.status)
        let registers = grant == .authorizationCode || grant == .deviceCode
        guard settings.isRegistered, registers, secret == nil, isLost, !isNew else { throw error }
        app.console.notice("\(profile.name): the server no longer knows this client.")
        isNew = true
      }
    }
  }

  /// Refuses options that are for another grant.
  private func check(_ grant: OAuthSettings.Grant) throws(Failure) {
    guard !options.qr || grant == .deviceCode else {
      throw Failure(
        .usage, "\(profile.name): --qr is for the grant device-code, not \(grant.rawValue)")
    }
    let command = grant == .password ? passwordCommand : subject.command
    guard !keepsCommand || grant != .authorizationCode && grant != .deviceCode && command != nil
    else {
      throw Failure(
        .usage, "\(profile.name): --keep-command has no command for the grant \(grant.rawValue)")
    }
  }

  /// Gets the tokens by `grant`.
  private func obtain(
    _ grant: OAuthSettings.Grant, _ client: OAuthClient, _ listener: LoopbackListener?,
    _ uri: String?, _ wishes: AuthorizationRequest.Wishes, _ account: String?, _ known: String?
  ) throws(Failure) -> SignedIn {
    var client = client
    switch grant {
    case .clientCredentials:
      return try client.signIn(grant, TemplateValues(), account: account)
    case .password: return try byPassword(client, account ?? known)
    case .deviceCode: return try byCode(client, account, known)
    case .jwtBearer where !subject.isGiven && client.settings.clientKey != nil:
      let name = account ?? known ?? client.clientID
      try client.signAssertions(about: name)
      return try client.signIn(grant, TemplateValues(), account: name)
    case .jwtBearer, .tokenExchange:
      return try client.signIn(
        grant, with: try subject.read(for: keeper.api), account: account, known: known,
        keeping: keepsCommand ? subject.command : nil)
    case .authorizationCode:
      guard let listener, let uri else { throw Failure(.failed, "no listener") }
      let request = try AuthorizationRequest(client, redirectURI: uri, wishes: wishes)
      let code =
        try opensBrowser ? codeFromBrowser(request, listener) : pastedCode(request)
      app.redactor.learn(code.secret)
      return try client.signIn(
        grant, request.values(for: code), account: account, known: known,
        asked: request.asked)
    }
  }

  /// Warns of what the server was asked for and did not grant.
  private func reportUngranted(
    _ client: OAuthClient, _ session: Session, _ grant: OAuthSettings.Grant,
    _ wishes: AuthorizationRequest.Wishes
  ) {
    let missing = client.ungrantedScopes(of: session)
    if !missing.isEmpty {
      app.console.warn("the server did not grant the scope \(missing.joined(separator: " "))")
      // OpenID Connect Core 1.0, section 11.
      if missing.contains("offline_access"), grant == .authorizationCode, wishes.prompt == nil {
        app.console.hint("some servers grant offline_access only with --prompt consent")
      }
    }
    // Classes are a wish, not a condition (OpenID Connect Core 1.0, section 3.1.2.1).
    if let wanted = wishes.acrValues, let claims = session.idTokenClaims,
      !wanted.words.contains(where: { $0.utf8.elementsEqual((claims["acr"]?.text ?? "").utf8) })
    {
      app.console.warn("the sign-in does not have the authentication context class \(wanted)")
    }
  }

  private func listen() throws(Failure) -> LoopbackListener {
    do throws(Failure) {
      return try LoopbackListener(host: settings.redirectHost, port: settings.redirectPort)
    } catch {
      // The port of authctl's own registration is its own affair: another registration has another.
      guard settings.isRegistered, settings.redirectPort != 0 else { throw error }
      let listener = try LoopbackListener(host: settings.redirectHost, port: 0)
      app.console.notice(
        "\(profile.name): port \(settings.redirectPort), which the client is registered for, is not free."
      )
      return listener
    }
  }

  // MARK: - The client

  /// Returns the client and the keys of the profile that change with it: those of a registration.
  private func client(
    _ server: AuthorizationServer, _ settings: OAuthSettings, _ grant: OAuthSettings.Grant,
    _ secret: SharedSecret?, redirectURI: String?, known: String?, registersAgain: Bool
  ) throws(Failure) -> (OAuthClient, [(key: String, value: JSONValue)]) {
    if let id = settings.clientID, !registersAgain, try !isForAnotherWay(redirectURI) {
      let isOwn = settings.isRegistered && secret == nil
      if isOwn, let client = try registeredClient(server, settings, id, known) {
        return (client, [])
      }
      guard isOwn, settings.clientAuthentication?.usesSecret ?? false else {
        return (
          try OAuthClient(keeper.api, settings, server, clientID: id, secret: secret), []
        )
      }
      app.console.notice("\(profile.name): no session has the secret of the registered client.")
    }
    try agreeToRegistration(server, grant)
    let registered = try RegisteredClient(keeper.api, settings, server, redirectURI: redirectURI)
    if let secret = registered.secret { app.redactor.learn(secret.secret) }
    if let token = registered.management?.token { app.redactor.learn(token.secret) }
    let port = redirectURI.flatMap { try? WebURL($0, from: .person).origin.port }
    let client = try OAuthClient(keeper.api, settings, server, registered: registered)
    return (
      client,
      [("oauth.client_id", .string(registered.id)), ("oauth.registered", true)]
        + (client.method.map { [("oauth.client_auth", .string($0))] } ?? [])
        + (port != nil || settings.redirectPort != 0
          ? [("oauth.redirect_port", .number(Int(port ?? 0)))] : [])
        + (registered.bindsTokens ? [("oauth.dpop", true)] : [])
    )
  }

  /// Returns the client that authctl has registered, from a session of the profile, as these have its
  /// secret; nil if there is none.
  private func registeredClient(
    _ server: AuthorizationServer, _ settings: OAuthSettings, _ id: String, _ known: String?
  ) throws(Failure) -> OAuthClient? {
    let accounts = try app.storedAccounts(of: profile.name, in: keeper.store)
    for account in [known].compactMap({ $0 }) + accounts {
      guard let session = try keeper.read(account),
        let client = try OAuthClient(
          keeper.api, settings, server, clientID: id, registeredFor: session)
      else { continue }
      return client
    }
    return nil
  }

  /// Whether authctl's own registration is for another redirect URI: its port was taken, or it has
  /// none, as it was for a sign-in without a browser.
  private func isForAnotherWay(_ redirectURI: String?) throws(Failure) -> Bool {
    guard settings.isRegistered, let redirectURI else { return false }
    return try WebURL(redirectURI, from: .person).origin.port != settings.redirectPort
  }

  private func agreeToRegistration(
    _ server: AuthorizationServer, _ grant: OAuthSettings.Grant
  ) throws(Failure) {
    let issuer = DisplayText.oneLine(server.issuer ?? "its server", limit: 120)
    let byHand = "register a client there, and use --client-id with its ID"
    guard server.endpoints[.registration] != nil,
      grant == .authorizationCode || grant == .deviceCode
    else {
      throw Failure(.usage, "\(profile.name): \(issuer) requires a client ID", hint: byHand)
    }
    if assumesYes || settings.isRegistered {
      app.console.notice("Registering authctl at \(issuer) as a new client.")
      return
    }
    let terminal = try app.terminal(
      for: "your consent to register authctl at \(issuer)",
      hint: "use --yes to register it, or --client-id ID")
    guard try terminal.confirm("Register authctl at \(issuer) as a new client?", default: true)
    else { throw Failure(.inputNeeded, "no client ID is known for \(issuer)", hint: byHand) }
  }

  // MARK: - The way

  private var opensBrowser: Bool { !options.noBrowser && Browser.isThere(app.environment) }

  /// Returns the profile's grant or, without one, that which fits who is there.
  ///
  /// - Throws: `input_needed` when it needs a person and nobody may be asked.
  private func grant(
    _ server: AuthorizationServer, hasSecret: Bool
  ) throws(Failure) -> OAuthSettings.Grant {
    if let grant = settings.grant {
      try requirePerson(for: grant)
      return grant
    }
    let grant: OAuthSettings.Grant
    let reason: String
    if subject.isWanted {
      (grant, reason) = (.tokenExchange, "a subject token is given")
    } else if options.qr {
      (grant, reason) = (.deviceCode, "--qr")
    } else if hasSecret || settings.hasKey, !app.mayAsk {
      (grant, reason) = (.clientCredentials, "a client secret or key, and no terminal")
    } else if opensBrowser {
      (grant, reason) = (.authorizationCode, "a browser is available")
    } else if server.endpoints[.deviceAuthorization] != nil {
      (grant, reason) = (.deviceCode, "no browser")
    } else {
      (grant, reason) = (.authorizationCode, "no browser, and the server has no device codes")
    }
    try requirePerson(for: grant)
    // A browser that opens says so itself, and whoever has chosen need not be told.
    if grant == .authorizationCode && opensBrowser || options.noBrowser || options.qr
      || subject.isWanted
    {
      app.console.verbose("* \(grant.rawValue) (\(reason))")
    } else {
      app.console.notice("Signing in by \(grant.rawValue) (\(reason)).")
    }
    return grant
  }

  /// Refuses a sign-in that needs a person where nobody is, before a client is registered for it.
  private func requirePerson(for grant: OAuthSettings.Grant) throws(Failure) {
    guard grant == .authorizationCode || grant == .deviceCode,
      app.globals.noInput || app.isOn(.noInput)
    else { return }
    throw Failure(
      .inputNeeded, "\(profile.name): this sign-in requires a person with a browser",
      hint: "to sign in without a browser, use --grant client-credentials")
  }

  private func askForSecret() throws(Failure) -> SharedSecret {
    let terminal = try app.terminal(
      for: "a client secret", hint: Template.Name.clientSecret.wayToGive)
    let secret = SharedSecret(try terminal.prompt("Client secret", for: "client secret"))
    app.redactor.learn(secret.secret)
    return secret
  }

  // MARK: - The grants

  private func byPassword(_ client: OAuthClient, _ known: String?) throws(Failure) -> SignedIn {
    let call = client.tokenRequest(.password)
    let account = try asker.account(for: call, keeper.api, known: known)
    app.context.account = account
    let values = try asker.values(for: call, keeper.api, account: account)
    var signedIn = try client.signIn(.password, values, account: account)
    if keepsCommand, let passwordCommand {
      client.keep(passwordCommand, for: .password, of: .password, in: &signedIn.session)
    }
    return signedIn
  }

  private func codeFromBrowser(
    _ request: AuthorizationRequest, _ listener: LoopbackListener
  ) throws(Failure) -> SharedSecret {
    try listener.listen()
    let isOpen = Browser.open(request.url, environment: app.environment, before: app.before)
    app.console.notice(
      isOpen
        ? "Opening your browser. If nothing opens, visit:" : "Cannot open a browser. Visit:")
    app.console.remark("  " + request.url)
    app.console.notice("Waiting for the browser. Press Ctrl-C to cancel, or try --no-browser.")
    var code: SharedSecret?
    var hasWarned = false
    try listener.wait(path: settings.redirectPath, seconds: Self.patience) {
      (query) throws(Failure) in
      switch try request.answer(query: query) {
      case .code(let found):
        code = found
        return .accepted
      case .error(let failure):
        if !hasWarned {
          app.console.warn(
            "\(failure.message), but the response does not say for which sign-in. "
              + "Still waiting; press Ctrl-C to cancel.")
        }
        hasWarned = true
        return .ignored
      case .foreign: return .ignored
      }
    }
    guard let code else {
      throw Failure(.answerNotUnderstood, "the response in the browser has no code")
    }
    return code
  }

  private func pastedCode(_ request: AuthorizationRequest) throws(Failure) -> SharedSecret {
    let terminal = try app.terminal(
      for: "a person with a browser",
      hint: "to sign in without a browser, use --grant client-credentials")
    app.console.notice("Visit")
    app.console.remark("  " + request.url)
    let pasted = try terminal.ask(
      "and paste the address that the browser shows afterwards, even if the page fails to load",
      onNextLine: true)
    // Some pages add a fragment, which is not part of the query (RFC 3986, section 3.5).
    let address = pasted.utf8.prefix { $0 != UInt8(ascii: "#") }
    let parts = address.split(
      separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false)
    if parts.count == 2, parts[0].elementsEqual(request.redirectURI.utf8) {
      switch try request.answer(query: String(decoding: parts[1], as: UTF8.self)) {
      case .code(let code): return code
      case .error(let failure): throw failure
      case .foreign: break
      }
    }
    throw Failure(
      .answerNotUnderstood, "\(profile.name): this is not the address of this sign-in",
      hint: "paste the whole address; it begins with \(request.redirectURI)?")
  }

  private func byCode(
    _ client: OAuthClient, _ account: String?, _ known: String?
  ) throws(Failure) -> SignedIn {
    var device = try DeviceAuthorization(client)
    let seconds = device.expiresAt.seconds - Clock.now().seconds
    let left = Timestamp.spoken(seconds < 120 ? seconds : (seconds / 60).rounded() * 60)
    // Also with -q: without them nobody can sign in.
    app.console.remark("On any device, visit")
    app.console.remark("  \(device.page.text)")
    app.console.remark("and enter   \(device.userCode)   (\(left) left)")
    app.console.remark("Enter the code only if you started this sign-in yourself.")
    if options.qr { show(device.completePage ?? device.page) }
    return try device.wait(client, account: account, known: known) { (seconds) throws(Failure) in
      Clock.sleep(seconds)
    }
  }
}

extension OAuthLogin {
  /// Shows the address of a page as a QR code; warns if that is not possible, as the address itself
  /// is there.
  private func show(_ page: WebURL) {
    do throws(Failure) {
      // A picture of a secret could not be masked.
      let lines = try QRPicture.lines(of: app.redactor.mask(page.text))
      if let problem = app.console.draw(lines) { app.console.warn("--qr: \(problem)") }
    } catch {
      app.console.warn(error.message)
      if let hint = error.hint { app.console.hint(hint) }
    }
  }

  /// Creates a sign-in that has no options of its own: `exec --login`.
  init(
    _ app: App, _ keeper: SessionKeeper, _ settings: OAuthSettings, _ asker: CredentialPrompt
  ) throws(Failure) {
    let (browser, subject): (BrowserOptions, SubjectOptions)
    do {
      (browser, subject) = (try BrowserOptions.parse([]), try SubjectOptions.parse([]))
    } catch { throw Failure(.failed, "\(error)") }
    self.init(
      app: app, keeper: keeper, settings: settings, asker: asker, options: browser,
      subject: try SubjectToken(subject, audience: nil, asker.reader, in: app),
      keepsCommand: false, passwordCommand: nil, assumesYes: false)
  }
}
