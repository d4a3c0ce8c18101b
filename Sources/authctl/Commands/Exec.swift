internal import ArgumentParser
internal import AuthKit
internal import Glibc

/// `authctl exec [OPTIONS] -- CMD…`
struct Exec: Command {
  static let configuration = CommandConfiguration(
    commandName: "exec", abstract: "Run a program with a token in its environment or in a file.",
    usage: "authctl exec [<options>] -- <cmd> [<args> ...]",
    discussion: """
      The program gets AUTHCTL_URL, AUTHCTL_PROFILE, and the token in AUTHCTL_TOKEN
      or as --env and --file say. It inherits no other token. authctl exits with
      the program's status. Before it starts the program, it can exit with 13 (the
      token must not go to that API), with the sign-in's code (--login failed), or
      with 125 (any other failure). 126 and 127: the program cannot be run.

      Examples:
        authctl exec -p shop -- ./deploy.sh
        authctl exec --env 'AUTH=Bearer {access_token}' -- ./report.sh
        authctl exec --file --login -p ./ci/shop.toml -u ci -- make deploy
      """
  ).alone

  @Option(
    parsing: .unconditionalSingleValue,
    help: ArgumentHelp(
      """
      Pass the token in this variable, not in AUTHCTL_TOKEN. The template is text with \
      {access_token}, {username} or {session.NAME}.
      """,
      valueName: "name[=template]"))
  var env: [String] = []

  @Option(
    name: .customLong("env-keep"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp("Keep this authctl secret in the environment.", valueName: "name")
  )
  var envKeep: [String] = []

  @Flag(
    help: "Pass the token in a file that is kept up to date: AUTHCTL_TOKEN_FILE, BEARER_TOKEN_FILE."
  )
  var file = false

  @Option(
    name: .customLong("token-dir"), parsing: .unconditional,
    help: ArgumentHelp(
      "Create the file in this folder, not in the runtime directory.", valueName: "dir")
  )
  var tokenDirectory: String?

  @Flag(help: "Sign in only for this program: store nothing, and sign out when it ends.")
  var login = false

  @Flag(
    name: .customLong("allow-password"),
    help: "Also pass on a stored password; requires --env NAME={password}.")
  var allowPassword = false

  @OptionGroup var credentials: CredentialOptions
  @Argument(parsing: .postTerminator, help: ArgumentHelp("The program to run.", valueName: "cmd"))
  var command: [String] = []

  @OptionGroup(title: "Global options") var globals: Globals

  /// The usage in short.
  static let form = "authctl exec -- CMD"

  func run(in app: App) throws(Failure) -> Int32 {
    guard !command.isEmpty else {
      throw Failure(.usage, "no program to run", hint: Self.form)
    }
    do throws(Failure) { return try runProgram(app) } catch {
      var failure = error
      // A refused origin has an exit status of its own (rule A1).
      if failure.kind != .originRefused { failure.exec = .notBegun }
      return app.report(failure)
    }
  }

  private func runProgram(_ app: App) throws(Failure) -> Int32 {
    let inherited = Child.openDescriptors()
    let choice = try app.choose()
    try Messages.refusePassword(choice.profile, allowed: allowPassword)
    let keeper = try app.keeper(for: choice.profile)
    // Check this before sending a request: a mistake here must not cost a sign-in.
    let variables = try wantedVariables()
    for variable in variables {
      try keeper.api.checkText(variable.template, passwords: allowPassword)
    }
    try checkKeptVariables()
    var session: Session
    if login {
      do throws(Failure) { session = try signIn(keeper, app) } catch { return app.report(error) }
    } else {
      session = try app.session(for: choice, keeper)
    }
    var isEnded = !login
    defer { if !isEnded { endLogin(session, keeper, app) } }
    let handed = try keeper.handOver(session) { (session) throws(Failure) in
      login ? session : try keeper.fresh(session)
    }
    session = handed.session
    var environment = try environment(for: handed, variables, keeper, app)
    guard file || login else {
      return report(
        Child(command, environment: environment, before: app.before, inherited: inherited)
          .replaceThisProcess(), app)
    }
    let relay = try SignalRelay(SignalRelay.endings + [SIGUSR1, SIGUSR2, SIGCHLD])
    defer { relay.end() }
    let tokenFile = file ? try makeFile(handed, keeper, app) : nil
    defer {
      do throws(Failure) { try tokenFile?.remove() } catch { app.console.warn(error.message) }
    }
    for (name, value) in fileVariables(tokenFile) { environment[name] = value }
    // End the session while signals are held back.
    defer {
      if !isEnded { endLogin(session, keeper, app) }
      isEnded = true
    }
    let child: pid_t
    do throws(Child.CannotStart) {
      child = try Child(
        command, environment: environment, before: app.before, inherited: inherited
      ).start()
    } catch {
      return report(error, app)
    }
    var next = Clock.now().seconds
    return Child.wait(for: child, relay) {
      if let tokenFile, Clock.now().seconds >= next {
        next = Clock.now().seconds + keepFresh(&session, tokenFile, keeper, app)
      }
      return tokenFile == nil
        ? -1 : Int32(clamping: Int(max(0.1, next - Clock.now().seconds) * 1000))
    }
  }

  // MARK: - Session

  private func signIn(_ keeper: SessionKeeper, _ app: App) throws(Failure) -> Session {
    let profile = keeper.api.profile
    let asker = try CredentialPrompt(
      app: app, profile: profile, sources: credentials.sources, fields: credentials.field)
    if let oauth = profile.recipe.oauth {
      return try OAuthLogin(app, keeper, oauth, asker)
        .signIn(account: app.givenAccount, known: app.namedAccount(profile)?.name).session
    }
    let call = profile.recipe.login
    try keeper.api.check(call)
    let account = try asker.account(for: call, keeper.api, known: app.namedAccount(profile)?.name)
    app.context.account = account
    let values = try asker.values(for: call, keeper.api, account: account)
    return try keeper.api.login(values, account: account) { (origin) throws(Failure) in
      try asker.code(at: origin)
    }.session
  }

  private func endLogin(_ session: Session, _ keeper: SessionKeeper, _ app: App) {
    if let reason = keeper.revoke(session).1 {
      app.console.warn("the server did not end the session: \(reason.message)")
    }
  }

  /// The seconds to wait after a failed renewal.
  private static let patience: Double = 15

  /// Renews the session when it is due; returns the seconds until the next check.
  private func keepFresh(
    _ session: inout Session, _ tokenFile: TokenFile, _ keeper: SessionKeeper, _ app: App
  ) -> Double {
    do throws(Failure) {
      let handed = try keeper.handOver(session) { (session) throws(Failure) in
        login ? try keeper.freshInMemory(session) : try keeper.fresh(session)
      }
      // Even if the file cannot be written, the refresh token before is dead.
      session = handed.session
      if let token = handed.token { try tokenFile.write(token) }
    } catch {
      app.console.warn("the token in \(tokenFile.path) was not renewed: \(error.message)")
      // Retry sooner if the token expires before that.
      return max(1, min(Self.patience, (session.secondsLeft(now: Clock.now()) ?? .infinity) / 3))
    }
    guard let left = session.secondsLeft(now: Clock.now()) else { return 3600 }
    // Check shortly after renewal is due.
    let margin = min(30, (session.lifetime ?? 120) / 4)
    return min(3600, max(0.2, left - margin + 0.1))
  }

  // MARK: - Environment

  /// Variables that `--env` refuses: they decide what runs, or say which API a token is for.
  private static let forbidden =
    ["PATH", "IFS", "BASH_ENV", "ENV"] + [Variable.url, .profile].map(\.rawValue)
  private static let forbiddenStarts = ["LD_", Variable.token.rawValue + "_"]

  /// Returns the program's variables: what it gets of the session, and the API that this is for. An
  /// inherited token, for whatever API, is removed (rule A1).
  private func environment(
    for handed: HandedSession, _ variables: [(name: String, template: String)],
    _ keeper: SessionKeeper, _ app: App
  ) throws(Failure) -> [String: String] {
    var environment = app.environment.withoutSecrets
    // Set by an outer `exec --file`.
    environment["BEARER_TOKEN_FILE"] = nil
    for name in envKeep { environment[name] = app.environment[name] }
    let profile = keeper.api.profile
    environment[.url] = profile.url
    // Without a file, the API is described by AUTHCTL_URL only and has no profile name.
    environment[.profile] = profile.file == nil ? nil : profile.name
    if env.isEmpty, !file { environment[.token] = try handed.text("{access_token}") }
    for variable in variables {
      environment[variable.name] = try handed.text(variable.template, passwords: allowPassword)
    }
    return environment
  }

  /// Refuses to keep an inherited token that the program would take for one of this API.
  private func checkKeptVariables() throws(Failure) {
    let ours = [Variable.token, .tokenFile].map(\.rawValue)
    guard let name = envKeep.first(where: ours.contains) else { return }
    throw Failure(
      .usage, "--env-keep \(name): the program gets only the profile's token",
      hint: "AUTHCTL_TOKEN_FOR_NAME can be kept: it is used only with the profile NAME")
  }

  /// Returns the variables of `--env`, in order.
  ///
  /// - Throws: `usage` for a name that may not be set.
  private func wantedVariables() throws(Failure) -> [(name: String, template: String)] {
    var variables: [(name: String, template: String)] = []
    for item in env {
      let mark = item.utf8.firstIndex(of: UInt8(ascii: "="))
      let name = String(decoding: item.utf8[..<(mark ?? item.utf8.endIndex)], as: UTF8.self)
      guard Self.isName(name), !Self.forbidden.contains(name),
        !Self.forbiddenStarts.contains(where: { name.utf8.starts(with: $0.utf8) })
      else {
        throw Failure(
          .usage,
          "--env \(DisplayText.oneLine(name, limit: 60)): authctl does not set this variable")
      }
      let template = mark.map {
        String(decoding: item.utf8[item.utf8.index(after: $0)...], as: UTF8.self)
      }
      variables.append((name, template ?? "{access_token}"))
    }
    return variables
  }

  private static func isName(_ name: String) -> Bool {
    let isDigit = { (byte: UInt8) in (0x30...0x39).contains(byte) }
    return !name.isEmpty && !(name.utf8.first.map(isDigit) ?? true)
      && name.utf8.allSatisfy { byte in
        (0x41...0x5A).contains(byte & 0xDF) || isDigit(byte) || byte == UInt8(ascii: "_")
      }
  }

  private func makeFile(
    _ handed: HandedSession, _ keeper: SessionKeeper, _ app: App
  ) throws(Failure) -> TokenFile {
    guard let folder = tokenDirectory ?? TokenFile.runtimeFolder(app.environment) else {
      throw Failure(
        .storeMissing, "no runtime directory for the token file (XDG_RUNTIME_DIR)",
        hint: "use --token-dir DIR with a private folder, preferably in memory (below /dev/shm)")
    }
    guard let token = handed.token else {
      throw keeper.notSignedIn(handed.session.account)
    }
    let tokenFile = try TokenFile(below: folder + "/authctl-exec")
    do throws(Failure) { try tokenFile.write(token) } catch {
      try? tokenFile.remove()
      throw error
    }
    return tokenFile
  }

  private func fileVariables(_ tokenFile: TokenFile?) -> [(String, String)] {
    guard let tokenFile else { return [] }
    return [
      (Variable.tokenFile.rawValue, tokenFile.path), ("BEARER_TOKEN_FILE", tokenFile.path),
      (Variable.tokenFolder.rawValue, tokenFile.folder),
    ]
  }

  private func report(_ reason: Child.CannotStart, _ app: App) -> Int32 {
    var failure: Failure
    switch reason {
    case .notExecutable(let name):
      failure = Failure(.failed, "\(DisplayText.oneLine(name)) cannot be executed")
      failure.exec = .notExecutable
    case .notFound(let name):
      failure = Failure(.failed, "\(DisplayText.oneLine(name)): no such program")
      failure.exec = .notFound
    }
    return app.report(failure)
  }
}
