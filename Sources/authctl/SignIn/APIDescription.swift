internal import AuthKit

/// How an API wants to be spoken to, as somebody described it: options, a line of curl, or what a
/// look at the API and questions at the terminal gave.
struct APIDescription {
  /// The keys of the profile, the usual preset among them where none was named.
  var settings: [(key: String, value: JSONValue)]
  /// Those that were asked for.
  var wanted: [(key: String, value: JSONValue)]
  /// The origin that a line of curl goes to.
  private var curlURL: String?
  /// The account of a line of curl.
  var account: String?
  /// The password of a line of curl, for this one sign-in.
  var password: SharedSecret?

  /// What the options say.
  ///
  /// - Throws: `usage` for options that exclude each other or a line that is not curl's,
  ///   `input_needed` when the person does not want what the line came to.
  init(_ options: ProfileOptions, in app: App) throws(Failure) {
    guard let file = options.fromCurl else {
      settings = try options.settings()
      wanted = try options.wantedSettings()
      return
    }
    guard options.preset == nil, options.body == nil, !options.form else {
      throw Failure(.usage, "--from-curl and --preset, --body or --form exclude each other")
    }
    let terminal = app.mayAsk ? Terminal.open() : nil
    var asking: ((String) throws(Failure) -> String)?
    if let terminal { asking = { (text) throws(Failure) in try terminal.ask(text) } }
    let line = try CurlLine(try File.text(file, option: "--from-curl"))
    let recipe = try CurlRecipe(line, asking: asking)
    wanted = recipe.settings + (try options.wantedSettings())
    let isForm = wanted.contains { $0.key == "login.encoding" && $0.value.text == "form" }
    settings = [("preset", isForm ? "form" : "json")] + wanted
    curlURL = recipe.url
    account = recipe.username
    password = recipe.password
    if let password { app.redactor.learn(password.secret) }
    try Self.show(recipe, to: terminal, in: app)
  }

  /// The API's base: what was given, or what the line of curl says.
  ///
  /// - Throws: `usage` when they are of different origins.
  mutating func base(_ given: String?) throws(Failure) -> String? {
    guard let given, let curlURL else { return given ?? curlURL }
    let url = try WebURL(given, from: .person)
    guard try WebURL(curlURL, from: .person).origin == url.origin else {
      throw Failure(.usage, "the line of curl is for \(curlURL), not for \(url.origin)")
    }
    // The line has the whole path; below a base that is part of it, the rest is wanted.
    guard let index = settings.firstIndex(where: { $0.key == "login.path" }),
      let path = settings[index].value.text, path.utf8.starts(with: (url.path + "/").utf8)
    else { return curlURL }
    settings[index].value = .string(
      String(decoding: path.utf8.dropFirst(url.path.utf8.count), as: UTF8.self))
    return given
  }

  /// Tells what became of the line, and has it confirmed where somebody is there.
  private static func show(
    _ recipe: CurlRecipe, to terminal: Terminal?, in app: App
  ) throws(Failure) {
    func told(_ key: String) -> String? {
      recipe.settings.first { $0.key == key }.map { $0.value.text ?? $0.value.serialized() }
    }
    let method = told("login.method") ?? "POST"
    app.console.notice("Signs in by \(method) \(recipe.url)\(told("login.path") ?? "/")")
    for (word, key) in [
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
    guard try terminal.confirm("Use it?", default: true) else {
      throw Failure(
        .inputNeeded, "the line was not used",
        hint: "change it, or describe the sign-in by --set login.path=/... --body JSON")
    }
  }

  // MARK: - By looking and asking

  /// What a look at the API shows, and what the person says to that.
  ///
  /// - Parameter assumesYes: takes what was found without asking (`--yes`).
  /// - Throws: `input_needed` when something was found and nobody can say yes to it; what
  ///   `Detector` throws.
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
        "Nothing known answers at \(detection.url) (\(detection.tried.count) places tried).")
      settings += try Self.ask(terminal)
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
        .inputNeeded, "nobody may be asked here whether to sign in so",
        hint: isPresetAlone ? DisplayText.shellCommand(words) : "--yes takes what was found")
    }
  }

  /// Whether it is what would be done without having looked.
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
