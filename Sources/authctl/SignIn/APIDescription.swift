internal import AuthKit
internal import Glibc

/// The settings of an API: from options, from a curl command line, or from detection and questions
/// at the terminal.
struct APIDescription {
  /// The keys of the profile, with the default preset if none was named.
  var settings: [(key: String, value: JSONValue)]
  /// The keys that were given.
  var wanted: [(key: String, value: JSONValue)]
  /// The origin of the curl command line.
  private var curlURL: String?
  /// The account of the curl command line.
  var account: String?
  /// The password of the curl command line, for this sign-in only.
  var password: SharedSecret?
  /// The token of the curl command line, which becomes the session.
  var token: SharedSecret?

  /// Creates the description from options.
  ///
  /// - Parameters:
  ///   - assumesYes: uses the curl command line without asking (`--yes`).
  ///   - check: checks the URL of a curl command line before the user is asked anything.
  /// - Throws: `usage` for options that cannot be used together or a line that is not a curl
  ///   command, `input_needed` when the user declines the result, and what `check` throws.
  init(
    _ options: ProfileOptions, assumesYes: Bool = false, in app: App,
    checking check: (_ url: String) throws(Failure) -> Void = { _ in }
  ) throws(Failure) {
    guard let file = options.fromCurl else {
      settings = try options.settings()
      wanted = try options.wantedSettings()
      return
    }
    guard options.preset == nil, options.body == nil, !options.form else {
      throw Failure(.usage, "--from-curl and --preset, --body or --form cannot be used together")
    }
    let terminal = app.mayAsk ? Terminal.open() : nil
    var asking: ((String) throws(Failure) -> String)?
    if let terminal { asking = { (text) throws(Failure) in try terminal.ask(text) } }
    if file == "-", isatty(STDIN_FILENO) == 1 {
      app.console.notice("Paste the curl command, then press Enter and Ctrl-D.")
    }
    let line = try CurlLine(try File.text(file, option: "--from-curl"))
    try check(line.url)
    let recipe = try CurlRecipe(line, asking: asking)
    wanted = recipe.settings + (try options.wantedSettings())
    settings = wanted
    if recipe.signsIn, !wanted.contains(where: { $0.key == "preset" }) {
      let isForm = wanted.contains { $0.key == "login.encoding" && $0.value.text == "form" }
      settings.insert(("preset", isForm ? "form" : "json"), at: 0)
    }
    curlURL = recipe.url
    account = recipe.username
    password = recipe.password
    token = recipe.token
    for secret in [password, token].compactMap({ $0 }) { app.redactor.learn(secret.secret) }
    try Self.show(recipe, to: assumesYes ? nil : terminal, in: app)
  }

  /// Sets the grant that takes a token from elsewhere, for an authorization server without a grant.
  mutating func useTokenExchange() {
    let grant = (key: "oauth.grant", value: OAuthSettings.Grant.tokenExchange.rawValue)
    guard settings.contains(where: { $0.key.utf8.starts(with: "oauth.".utf8) }),
      !settings.contains(where: { $0.key == grant.key })
    else { return }
    settings.append((grant.key, .string(grant.value)))
  }

  /// Returns the API's base: `given`, else the origin of the curl command line.
  ///
  /// - Throws: `usage` when their origins differ.
  mutating func base(_ given: String?) throws(Failure) -> String? {
    guard let given, let curlURL else { return given ?? curlURL }
    let url = try WebURL(given, from: .person)
    guard try WebURL(curlURL, from: .person).origin == url.origin else {
      throw Failure(.usage, "the curl command is for \(curlURL), not for \(url.origin)")
    }
    // The curl command has the whole path; drop the part that the base includes.
    guard let index = settings.firstIndex(where: { $0.key == "login.path" }),
      let path = settings[index].value.text, path.utf8.starts(with: (url.path + "/").utf8)
    else { return curlURL }
    settings[index].value = .string(
      String(decoding: path.utf8.dropFirst(url.path.utf8.count), as: UTF8.self))
    return given
  }

  /// Prints the settings from the curl command and, on a terminal, asks to use them.
  private static func show(
    _ recipe: CurlRecipe, to terminal: Terminal?, in app: App
  ) throws(Failure) {
    func told(_ key: String) -> String? {
      recipe.settings.first { $0.key == key }.map { $0.value.text ?? $0.value.serialized() }
    }
    app.console.notice(
      recipe.signsIn
        ? "Signs in with \(recipe.method) \(recipe.url)\(told("login.path") ?? "/")"
        : "The command has a token for \(recipe.url).")
    for (word, key) in [
      ("Preset", "preset"), ("Request headers", "request.headers"),
      ("Request query", "request.query"),
      ("Authorization", "login.authorization"), ("Encoding", "login.encoding"),
      ("Query", "login.query"), ("Headers", "login.headers"), ("Body", "login.body"),
    ] {
      if let text = told(key) { app.console.notice(word, foreign: text) }
    }
    if let account = recipe.username {
      app.console.notice("Account", foreign: account)
    }
    for note in recipe.notes { app.console.notice("Note", foreign: note) }
    guard let terminal else { return }
    guard try terminal.confirm(recipe.token == nil ? "Use it?" : "Use this token?", default: true)
    else {
      throw Failure(
        .inputNeeded, "the curl command was not used",
        hint: "change it, or describe the sign-in with --set login.path=/... --body JSON")
    }
  }

  // MARK: - By looking and asking

  /// Creates the description by detection and, on a terminal, by questions.
  ///
  /// - Parameter assumesYes: uses the detected settings without asking (`--yes`).
  /// - Throws: `input_needed` when settings are detected but there is no terminal to confirm them;
  ///   what `Detector` throws.
  init(lookingAt base: String, assumesYes: Bool, in app: App) throws(Failure) {
    let origin = try WebURL(base, from: .person).origin
    settings = [("preset", "json")]
    wanted = []
    guard origin.isSecure || origin.isLoopback else { return }
    let detection = try app.detect(base)
    let terminal = app.mayAsk ? Terminal.open() : nil
    guard let finding = detection.best else {
      guard let terminal else { return }
      app.console.notice(
        "The API at \(detection.url) was not recognized (\(detection.tried.count) requests sent).")
      settings += try Self.ask(terminal)
      return
    }
    if let issuer = finding.issuer {
      try Self.agree(
        to: issuer, for: base, assumesYes: assumesYes, asks: false, in: app)
      settings = finding.settings
      return
    }
    app.console.notice("Found \(DisplayText.oneLine("\(finding.place): \(finding.what)")).")
    if assumesYes || Self.isUsual(finding.settings) {
      settings = finding.settings
    } else if let terminal {
      let isPreset = finding.settings.allSatisfy { ["preset", "url"].contains($0.key) }
      let question = finding.preset.flatMap { isPreset ? "Use preset \($0)?" : nil } ?? "Use it?"
      settings =
        try terminal.confirm(question, default: true)
        ? finding.settings : settings + (try Self.ask(terminal))
    } else {
      let words = ["authctl", "login", base] + (finding.preset.map { ["--preset", $0] } ?? [])
      let isPresetAlone = finding.settings.allSatisfy { $0.key == "preset" }
      throw Failure(
        .inputNeeded, "authctl found a sign-in, but cannot ask here whether to use it",
        hint: isPresetAlone
          ? DisplayText.shellCommand(words) : "use --yes to accept the detected settings")
    }
  }

  /// Adds the authorization server that the API at `base` names, and what it says of tokens.
  ///
  /// - Throws: `input_needed` when it has another origin and nobody agrees to it; what
  ///   `detectAuthorizationServer` throws.
  mutating func addServer(
    detectedAt base: String, assumesYes: Bool, in app: App
  ) throws(Failure) {
    let finding = try app.detectAuthorizationServer(base)
    // A registration asks anyway.
    let isClient = wanted.contains { $0.key == "oauth.client_id" }
    try Self.agree(
      to: finding.issuer ?? "", for: base, assumesYes: assumesYes, asks: isClient, in: app)
    let own = settings.map(\.key)
    settings += finding.settings.filter { !own.contains($0.key) }
  }

  /// Names the authorization server of an API. On another origin than the API's it has to be agreed
  /// to.
  ///
  /// - Parameter asks: whether to ask on the terminal, where no later question does.
  private static func agree(
    to issuer: String, for base: String, assumesYes: Bool, asks: Bool, in app: App
  ) throws(Failure) {
    let (server, api) = (
      try WebURL(issuer, from: .server).origin, try WebURL(base, from: .person).origin
    )
    let shown = DisplayText.oneLine(issuer, limit: 120)
    app.console.notice("\(api) signs in with OAuth 2.0 at \(shown).")
    guard server != api, !assumesYes, asks || !app.mayAsk else { return }
    let terminal = try app.terminal(
      for: "your consent to sign in at \(server)", hint: "use --yes to agree")
    guard try terminal.confirm("Sign in there?", default: true) else {
      throw Failure(
        .inputNeeded, "the authorization server \(shown) was not used",
        hint: "name another one with --issuer URL")
    }
  }

  /// Returns whether these are the settings that are used without detection.
  private static func isUsual(_ settings: [(key: String, value: JSONValue)]) -> Bool {
    let usual: [String: JSONValue] = [
      "preset": "json", "login.path": "/login",
      "login.body": .object([("username", "{username}"), ("password", "{password}")]),
    ]
    return settings.allSatisfy { setting in
      setting.key == "session.access_token" || usual[setting.key] == setting.value
    }
  }

  private static func ask(
    _ terminal: Terminal
  ) throws(Failure) -> [(key: String, value: JSONValue)] {
    let path = try terminal.ask("Sign-in path", default: "/login")
    let usual = #"{"username":"{username}","password":"{password}"}"#
    let body = try terminal.ask("Body, as JSON", default: usual, onNextLine: true)
    return [("login.path", .string(path)), ("login.body", try ProfileOptions.jsonBody(body))]
  }
}
