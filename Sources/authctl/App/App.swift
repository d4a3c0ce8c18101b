internal import AuthKit
internal import Glibc

/// The resources of a command: environment, clock, console, profiles, stores, network.
///
/// Commands reach everything outside the process from here. Each resource is created on first use:
/// no command loads, asks or connects to more than it needs.
final class App {
  let environment: [String: String]
  private(set) var globals: Globals
  let console: Console
  let redactor: Redactor
  let profiles: ProfileStore
  /// The process state to restore for child processes; nil if no child is started.
  let before: Hardening.Before?
  private var openedConfig: Config?
  /// The keyring connection that `Preload` began, for every store in the keyring: a second one would
  /// negotiate keys again, while the first may still do so.
  let keyringAhead: SecretServiceAhead?
  /// What `Preload` began for a request.
  let begun: Preload.Request?
  /// The stores that `warnUnread` has named.
  var unreadStores: Set<StoreName> = []
  /// The file in place that is trusted in this run.
  var agreedTo: String?
  /// The profile and account in use, for errors that do not name them.
  var context: (profile: String?, account: String?)

  init(
    globals: Globals, json: Bool = false, environment: [String: String],
    before: Hardening.Before? = nil, begun: Preload.Begun? = nil
  ) {
    keyringAhead = begun?.keyring
    openedConfig = begun?.config
    self.begun = begun?.request
    self.environment = environment
    self.before = before
    self.globals = globals
    redactor = Redactor()
    console = Console(
      quiet: globals.quiet, verbosity: globals.verbose,
      errorsAsJSON: Self.wantsJSONErrors(globals, json, environment), redactor: redactor,
      colour: globals.color ?? .auto, environment: environment)
    for (name, value) in environment {
      guard let variable = Variable(named: name), variable.isSecret else { continue }
      redactor.learn(value)
      if variable == .appKey || variable == .proxyUser { redactor.learn(appKey: value) }
    }
    redactor.learnProxies(of: environment)
    profiles = Self.profiles(environment)
  }

  static func profiles(_ environment: [String: String]) -> ProfileStore {
    ProfileStore(
      configDirectory: folder(
        environment, own: .configFolder, xdg: "XDG_CONFIG_HOME", inHome: ".config"),
      home: environment["HOME"], homelessHint: homelessHint(environment))
  }

  static func wantsJSONErrors(
    _ globals: Globals?, _ json: Bool, _ environment: [String: String]
  ) -> Bool {
    if let errors = globals?.errors { return errors == .json }
    return json || environment[.errors] == "json"
  }

  /// `$OWN`, else `$XDG/authctl`, else `~/…/authctl`.
  private static func folder(
    _ environment: [String: String], own: Variable?, xdg: String, inHome: String
  ) -> String {
    if let own, let folder = environment[own] { return File.absolute(folder) }
    // The XDG specification: ignore a relative path.
    if let folder = environment[xdg], folder.utf8.first == UInt8(ascii: "/") {
      return folder + "/authctl"
    }
    return "\(home(environment))/\(inHome)/authctl"
  }

  /// `$HOME`, else the user's home folder in the password database, without a trailing slash.
  ///
  /// The root folder for an unknown user, as in containers and services: a token in the environment
  /// needs no folder at all.
  private static func home(_ environment: [String: String]) -> String {
    (knownHome(environment) ?? "").withoutTrailingSlashes
  }

  private static func knownHome(_ environment: [String: String]) -> String? {
    if let home = environment["HOME"], !home.isEmpty { return home }
    return getpwuid(geteuid()).flatMap { String(validatingCString: $0.pointee.pw_dir) }
  }

  private static func homelessHint(_ environment: [String: String]) -> String? {
    guard environment[.configFolder] == nil, (environment["XDG_CONFIG_HOME"] ?? "").isEmpty,
      knownHome(environment) == nil
    else { return nil }
    return "HOME is not set: set HOME or AUTHCTL_CONFIG_DIR, or use -p FILE"
  }

  // MARK: - Configuration

  /// `config.toml`, read once.
  func config() throws(Failure) -> Config {
    if let openedConfig { return openedConfig }
    let config = try profiles.config()
    openedConfig = config
    return config
  }

  /// Sets `default_profile`; nil removes it.
  func setDefault(_ name: String?) throws(Failure) {
    try profiles.setDefault(name)
    openedConfig = nil
  }

  /// Takes the profile of a command's argument for that of `-p`.
  ///
  /// - Throws: `usage` for a URL, and when `-p` names another profile.
  func take(profile name: String?) throws(Failure) {
    guard let name else { return }
    let shown = DisplayText.oneLine(Redactor.withoutUserInformation(name), limit: 80)
    guard !isURL(name) else {
      throw Failure(.usage, "\(shown) is a URL, not a profile", hint: "authctl profile list")
    }
    if let given = globals.profile, !given.utf8.elementsEqual(name.utf8) {
      throw Failure(
        .usage, "two profiles are given: \(shown) and -p \(DisplayText.oneLine(given, limit: 80))",
        hint: "give only one of them")
    }
    globals.profile = name
  }

  /// The absolute path of the folder of locks and session files.
  func stateFolder() -> String {
    Self.folder(
      environment, own: .stateFolder, xdg: "XDG_STATE_HOME", inHome: ".local/state")
  }

  /// What completion knows of APIs.
  var pathCache: PathCache {
    let folder = Self.folder(environment, own: nil, xdg: "XDG_CACHE_HOME", inHome: ".cache")
    return PathCache(folder: folder + "/paths")
  }

  /// The locks of sessions, with the seconds to wait of `--lock-timeout` or `config.toml`.
  func locks() throws(Failure) -> SessionLocks {
    let configured = try config().lockTimeout
    return SessionLocks(
      folder: lockFolder, timeout: globals.lockTimeout?.seconds ?? configured ?? 60)
  }

  /// The folder of session locks.
  var lockFolder: String { stateFolder() + "/locks" }

  /// Whether authctl may ask: there is a terminal, and neither option nor variable forbids it.
  var mayAsk: Bool { !globals.noInput && !isOn(.noInput) && Terminal.isThere }

  /// Whether a variable is set to `1`, `true` or `yes`.
  func isOn(_ variable: Variable) -> Bool {
    ["1", "true", "yes"].contains(environment[variable] ?? "")
  }

  /// Returns the terminal to ask on.
  ///
  /// - Throws: `input_needed` with `hint` when authctl may not ask.
  func terminal(for what: String, hint: String) throws(Failure) -> Terminal {
    guard mayAsk, let terminal = Terminal.open() else {
      throw Failure(.inputNeeded, "\(what) is required, but authctl cannot ask here", hint: hint)
    }
    return terminal
  }

  // MARK: - Errors

  /// Returns the failure with the profile and account in use, where it names none.
  func inContext(_ failure: Failure) -> Failure {
    var failure = failure
    failure.profile = failure.profile ?? context.profile
    failure.account = failure.account ?? context.account
    return failure
  }

  /// Prints the failure and returns its exit status.
  func report(_ failure: Failure) -> Int32 {
    console.report(inContext(failure))
    return failure.exitCode
  }

  // MARK: - One API

  /// Returns a keeper that may send requests for `profile`; it first requires trust in a file in
  /// place.
  ///
  /// - Throws: `input_needed` for a file that needs trust and has none.
  func keeper(
    for profile: Profile, options: HTTPOptions = HTTPOptions(), mayPrompt: Bool = true,
    in store: (any SessionStore)? = nil
  ) throws(Failure) -> SessionKeeper {
    try requireTrust(in: profile, mayAsk: mayPrompt)
    return try trustedKeeper(for: profile, options: options, mayPrompt: mayPrompt, in: store)
  }

  /// Returns a keeper for work that needs no server; for an untrusted file it sends nothing.
  func localKeeper(
    for profile: Profile, mayPrompt: Bool = true, mayAskForTrust: Bool = false,
    in store: (any SessionStore)? = nil
  ) throws(Failure) -> SessionKeeper {
    let keeper = try trustedKeeper(
      for: profile, options: HTTPOptions(), mayPrompt: mayPrompt, in: store)
    do throws(Failure) {
      try requireTrust(in: profile, mayAsk: mayAskForTrust && mayAsk)
    } catch {
      keeper.api.refusal = error
    }
    return keeper
  }

  private func trustedKeeper(
    for profile: Profile, options: HTTPOptions, mayPrompt: Bool, in store: (any SessionStore)?
  ) throws(Failure) -> SessionKeeper {
    let base = try WebURL(profile.url, from: .person)
    let http = http(for: profile, base: base.origin, options: options)
    let store = if let store { store } else { try self.store(mayPrompt: mayPrompt) }
    let keeper = SessionKeeper(
      api: RecipeClient(
        profile: profile, base: base, http: http, redactor: redactor, clock: Clock.now),
      store: store, locks: try locks(), redactor: redactor, clock: Clock.now,
      warn: { [console] in console.warn($0) })
    keeper.runCommand = { [environment] (kept, seconds) throws(Failure) in
      try SecretCommand.first(
        kept.isPassword ? .password : .subjectToken, of: kept.command.text,
        option: "--keep-command", environment: environment, secondsAllowed: seconds)
    }
    keeper.holdSignals = {
      let relay = try? SignalRelay(SignalRelay.endings)
      return { relay?.end() }
    }
    return keeper
  }

  /// Returns the HTTP client for `profile`.
  func http(
    for profile: Profile, base: Origin, options: HTTPOptions = HTTPOptions()
  ) -> HTTPClient {
    var options = options
    if profile.isInPlace, profile.recipe.namesProxy, options.withholdsProxyUser() {
      console.warn("AUTHCTL_PROXY_USER is not sent to the proxy that \(profile.name) names")
    }
    return HTTPClient(
      network: profile.recipe.network, base: base,
      secretHeaders: profile.filledHeaders + profile.secretAnswerHeaders,
      secretParameters: profile.filledParameters, options: options, environment: environment,
      clock: Clock.now, warn: { [console] in console.warn($0) },
      log: globals.verbose > 0 ? { [console] in console.verbose($0) } : nil,
      trace: globals.verbose > 1 ? { [console] in console.verbose("* " + $0) } : nil)
  }

  /// Returns a reader of the command's secret sources.
  ///
  /// - Parameter origin: who gets the secrets, for prompts.
  func secrets(
    _ sources: [SecretSource], for origin: Origin? = nil
  ) throws(Failure) -> SecretReader {
    try SecretReader(sources: sources, environment: environment, redactor: redactor) {
      [self] (kind) throws(Failure) in
      let place = origin.map { " for \($0)" } ?? ""
      return try terminal(
        for: "the \(kind.name)", hint: "use --\(kind.stem)-stdin to read it from a pipe or a file"
      ).prompt(kind.prompt + place, for: kind.name)
    }
  }
}

extension Redactor {
  /// Learns the value of `NAME:VALUE`, which is a secret without its name too.
  func learn(appKey: String) {
    if let mark = appKey.utf8.firstIndex(of: UInt8(ascii: ":")) {
      learn(String(decoding: appKey.utf8[appKey.utf8.index(after: mark)...], as: UTF8.self))
    }
  }
}
