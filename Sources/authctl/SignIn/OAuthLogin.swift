internal import AuthKit
internal import Glibc

/// A sign-in by an authorization server: chooses the way to it and leads the person through it.
struct OAuthLogin {
  let app: App
  let keeper: SessionKeeper
  let settings: OAuthSettings
  let asker: CredentialPrompt
  let options: BrowserOptions

  /// How long a person may take in the browser, in seconds.
  private static let patience: Double = 600

  private var profile: Profile { keeper.api.profile }

  /// Signs in and returns the new session, which is not stored.
  ///
  /// - Parameter account: the name that the user gave.
  func signIn(account: String?) throws(Failure) -> SignedIn {
    guard let clientID = settings.clientID else {
      throw Failure(
        .usage, "\(profile.name): no client ID is known for its authorization server",
        hint: "register a client there and give its ID by --client-id")
    }
    let wishes = try options.wishes()
    var secret: SharedSecret?
    if let given = try asker.reader.read(.clientSecret) { secret = SharedSecret(given) }
    let server = try keeper.api.authorizationServer(settings)
    let grant = grant(server, hasSecret: secret != nil)
    if secret == nil, grant == .clientCredentials { secret = try askForSecret() }
    let client = try OAuthClient(
      keeper.api, settings, server, clientID: clientID, secret: secret)
    switch grant {
    case .clientCredentials:
      return try client.signIn(grant, TemplateValues(), account: account)
    case .password: return try byPassword(client, account)
    case .deviceCode: return try byCode(client, account)
    case .authorizationCode:
      guard opensBrowser else { return try byPaste(client, wishes, account) }
      return try byBrowser(client, wishes, account)
    }
  }

  // MARK: - The way

  private var opensBrowser: Bool { !options.noBrowser && Browser.isThere(app.environment) }

  /// Returns the profile's grant or, without one, that which fits who is there.
  private func grant(_ server: AuthorizationServer, hasSecret: Bool) -> OAuthSettings.Grant {
    if let grant = settings.grant { return grant }
    let grant: OAuthSettings.Grant
    let reason: String
    if hasSecret, !app.mayAsk {
      (grant, reason) = (.clientCredentials, "a client secret, and nobody to ask")
    } else if opensBrowser {
      (grant, reason) = (.authorizationCode, "a browser is there")
    } else if server.endpoints[.deviceAuthorization] != nil {
      (grant, reason) = (.deviceCode, "no browser here")
    } else {
      (grant, reason) = (.authorizationCode, "no browser here, and the server has no device codes")
    }
    app.console.verbose("* \(grant.rawValue) (\(reason))")
    return grant
  }

  /// Refuses a sign-in that needs a person where nobody is.
  private func requirePerson(hint: String) throws(Failure) {
    guard app.globals.noInput || app.isOn(.noInput) else { return }
    throw Failure(
      .inputNeeded, "\(profile.name): this sign-in needs a person at a browser", hint: hint)
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
    let call = settings.tokenRequest(.password)
    let account = try asker.account(for: call, keeper.api, known: known)
    app.context.account = account
    let values = try asker.values(for: call, keeper.api, account: account)
    return try client.signIn(.password, values, account: account)
  }

  private func byBrowser(
    _ client: OAuthClient, _ wishes: AuthorizationRequest.Wishes, _ account: String?
  ) throws(Failure) -> SignedIn {
    try requirePerson(hint: "--grant client-credentials needs none")
    let listener = try LoopbackListener(
      host: settings.redirectHost, port: settings.redirectPort)
    // Until the token is there nobody else may listen on the port.
    defer { withExtendedLifetime(listener) {} }
    let request = try AuthorizationRequest(
      client, redirectURI: "http://\(listener.authority)\(settings.redirectPath)", wishes: wishes)
    let isOpen = Browser.open(request.url, environment: app.environment, before: app.before)
    app.console.notice(
      isOpen
        ? "Opening your browser. If nothing opens, visit:" : "No browser could be opened. Visit:")
    app.console.notice("  " + request.url)
    app.console.notice("Waiting for the browser (Ctrl-C ends; --no-browser for a code instead)")
    var code: SharedSecret?
    try listener.wait(path: settings.redirectPath, seconds: Self.patience) {
      (query) throws(Failure) in
      guard case .code(let found) = try request.answer(query: query) else { return .ignored }
      code = found
      return .accepted
    }
    guard let code else { throw Failure(.answerNotUnderstood, "the browser brought no code") }
    return try exchange(code, of: request, client, account)
  }

  private func byPaste(
    _ client: OAuthClient, _ wishes: AuthorizationRequest.Wishes, _ account: String?
  ) throws(Failure) -> SignedIn {
    let terminal = try app.terminal(
      for: "a person at a browser", hint: "--grant client-credentials needs none")
    // Nobody else may get the browser's visit; what it brings is pasted.
    let listener = try LoopbackListener(
      host: settings.redirectHost, port: settings.redirectPort)
    defer { withExtendedLifetime(listener) {} }
    let uri = "http://\(listener.authority)\(settings.redirectPath)"
    let request = try AuthorizationRequest(client, redirectURI: uri, wishes: wishes)
    app.console.notice("Visit")
    app.console.notice("  " + request.url)
    let pasted = try terminal.ask(
      "and paste the address that the browser shows afterwards (it may say that it cannot connect)",
      onNextLine: true)
    let parts = pasted.utf8.split(
      separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0].elementsEqual(uri.utf8),
      case .code(let code) = try request.answer(query: String(decoding: parts[1], as: UTF8.self))
    else {
      throw Failure(
        .answerNotUnderstood, "\(profile.name): this is not the address of this sign-in",
        hint: "it begins with \(uri)?")
    }
    return try exchange(code, of: request, client, account)
  }

  private func exchange(
    _ code: SharedSecret, of request: AuthorizationRequest, _ client: OAuthClient,
    _ account: String?
  ) throws(Failure) -> SignedIn {
    app.redactor.learn(code.secret)
    return try client.signIn(
      .authorizationCode, request.values(for: code), account: account, nonce: request.nonce)
  }

  private func byCode(_ client: OAuthClient, _ account: String?) throws(Failure) -> SignedIn {
    try requirePerson(hint: "--grant client-credentials needs none")
    var device = try DeviceAuthorization(client)
    let left = Timestamp.spoken(device.expiresAt.seconds - Clock.now().seconds)
    app.console.notice("On any device visit")
    app.console.notice("  \(device.page.text)")
    app.console.notice("and enter   \(device.userCode)   (\(left) left)")
    app.console.notice("You started this sign-in here; enter a code only if you did.")
    return try device.wait(client, account: account) { (seconds) throws(Failure) in
      Clock.sleep(seconds)
    }
  }
}
