internal import ArgumentParser
internal import AuthKit

/// `authctl profile add NAME URL`
struct ProfileAdd: Command {
  static let configuration = CommandConfiguration(
    commandName: "add", abstract: "Create a profile.",
    discussion: """
      Examples:
        authctl profile add school http://127.0.0.1:8101 --preset express-jwt
        authctl profile add shop https://api.shop.example --set login.path=/auth \\
          --body '{"user":"{username}","pass":"{password}"}' --token-at /data/jwt
        authctl profile add shop-test https://test.shop.example --like shop
      """
  ).alone

  @Argument(help: ArgumentHelp("The profile's name.", valueName: "name")) var name: String
  @Argument(
    help: ArgumentHelp("The API's base URL; not needed with --from-curl.", valueName: "url"))
  var url: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Copy another profile, without its account.", valueName: "name"))
  var like: String?

  @Flag(help: "Replace the profile if it exists.") var replace = false
  @OptionGroup(title: "API settings") var options: ProfileOptions
  @OptionGroup var output: JSONOutput
  @OptionGroup(title: "Global options") var globals: Globals

  var wantsJSON: Bool { output.json }

  func run(in app: App) throws(Failure) -> Int32 {
    let draft = try draft(app)
    try app.profiles.write(draft.text, as: name, replacing: replace)
    let file = app.profiles.shown(app.profiles.path(of: name))
    app.console.notice("Created the profile \(name): \(file)")
    if draft.profile.putsSecretsInURLs {
      app.console.warn("\(name): its URLs contain secrets, which servers and proxies log")
    }
    app.console.next(Suggestion.login(name).command ?? "")
    if output.json { try app.console.out(ProfileText.json(of: draft.profile)) }
    return 0
  }

  private func draft(_ app: App) throws(Failure) -> (profile: Profile, text: String) {
    if let like {
      guard options.preset == nil, options.fromCurl == nil else {
        throw Failure(.usage, "--like and --preset or --from-curl cannot be used together")
      }
      var settings = try options.wantedSettings()
      if let url { settings.insert(("url", .string(url)), at: 0) }
      return try app.profiles.draft(name, like: like, settings: settings)
    }
    var described = try APIDescription(options, in: app)
    guard let base = try described.base(url) else {
      throw Failure(
        .usage, "missing expected argument <url>",
        hint: DisplayText.shellCommand(["authctl", "profile", "add", name, "https://..."]))
    }
    try ProfileStore.check(url: base)
    return try app.profiles.draft(name, settings: [("url", .string(base))] + described.settings)
  }
}
