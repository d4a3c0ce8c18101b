internal import AuthKit
internal import Glibc

/// What a command may use: the environment, the clock, the console, profiles, stores, the network.
///
/// Everything that is outside of the process is reached from here, and made when it is first asked
/// for: no command loads, asks or connects to what it does not need.
final class App {
  let environment: [String: String]
  let globals: Globals
  let console: Console
  let redactor: Redactor
  let profiles: ProfileStore
  /// What children are to find as it was; none where no child is started.
  let before: Hardening.Before?
  private var openedConfig: Config?
  /// What was begun before there was an `App`, for the first store that can use it.
  var keyringAhead: SecretServiceAhead?
  /// The stores that `warnUnread` has named.
  var unreadStores: Set<StoreName> = []
  /// The file in place that a yes was given to.
  var agreedTo: String?
  /// What the command works with, for errors that do not say it themselves.
  var context: (profile: String?, account: String?)

  init(
    globals: Globals, json: Bool = false, environment: [String: String],
    before: Hardening.Before? = nil, begun: Preload.Begun? = nil
  ) {
    keyringAhead = begun?.keyring
    openedConfig = begun?.config
    self.environment = environment
    self.before = before
    self.globals = globals
    redactor = Redactor()
    console = Console(
      quiet: globals.quiet, verbosity: globals.verbose,
      errorsAsJSON: Self.wantsJSONErrors(globals, json, environment), redactor: redactor,
      environment: environment)
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
    _ environment: [String: String], own: Variable, xdg: String, inHome: String
  ) -> String {
    if let folder = environment[own] { return absolute(folder) }
    // The XDG specification: a relative path is to be ignored.
    if let folder = environment[xdg], folder.utf8.first == UInt8(ascii: "/") {
      return folder + "/authctl"
    }
    return "\(home(environment))/\(inHome)/authctl"
  }

  /// `$HOME`, else what the system knows of the user; of one that it does not know the root folder,
  /// as containers and services have it: a token of the environment needs no folder at all. Without
  /// a slash at the end.
  private static func home(_ environment: [String: String]) -> String {
    var home = knownHome(environment) ?? ""
    while home.utf8.last == UInt8(ascii: "/") { home.removeLast() }
    return home
  }

  private static func knownHome(_ environment: [String: String]) -> String? {
    if let home = environment["HOME"], !home.isEmpty { return home }
    return getpwuid(geteuid()).flatMap { String(validatingCString: $0.pointee.pw_dir) }
  }

  private static func homelessHint(_ environment: [String: String]) -> String? {
    guard environment[.configFolder] == nil, (environment["XDG_CONFIG_HOME"] ?? "").isEmpty,
      knownHome(environment) == nil
    else { return nil }
    return "no home folder here: set HOME or AUTHCTL_CONFIG_DIR, or give -p FILE"
  }

  private static func absolute(_ path: String) -> String {
    guard path.utf8.first != UInt8(ascii: "/"), let current = getcwd(nil, 0) else { return path }
    defer { free(current) }
    // A folder whose name is no UTF-8 is the current one all the same.
    return String(validatingCString: current).map { $0 + "/" + path } ?? path
  }

  // MARK: - Configuration

  /// `config.toml`, read once.
  func config() throws(Failure) -> Config {
    if let openedConfig { return openedConfig }
    let config = try profiles.config()
    openedConfig = config
    return config
  }

  /// The folder of locks and session files, whole.
  func stateFolder() -> String {
    Self.folder(
      environment, own: .stateFolder, xdg: "XDG_STATE_HOME", inHome: ".local/state")
  }

  /// The folder of the locks of sessions.
  func lockFolder() -> String { stateFolder() + "/locks" }

  /// Seconds that a session's lock is waited for.
  func lockTimeout() throws(Failure) -> Double {
    let configured = try config().lockTimeout
    return globals.lockTimeout?.seconds ?? configured ?? 60
  }

  /// Whether somebody may be asked: a terminal, and nothing that says no.
  var mayAsk: Bool { !globals.noInput && !isOn(.noInput) && Terminal.isThere }

  /// Whether a variable says yes.
  func isOn(_ variable: Variable) -> Bool {
    ["1", "true", "yes"].contains(environment[variable] ?? "")
  }

  /// The terminal to ask at.
  ///
  /// - Throws: `input_needed` with `hint` where nobody may be asked.
  func terminal(for what: String, hint: String) throws(Failure) -> Terminal {
    guard mayAsk, let terminal = Terminal.open() else {
      throw Failure(.inputNeeded, "\(what) is needed, and nobody may be asked here", hint: hint)
    }
    return terminal
  }

  // MARK: - One API

  /// Everything that requests to one profile need: the one door through which a file in place comes
  /// to be used, and so to be asked about.
  ///
  /// - Throws: `input_needed` for a file that takes trust and has none.
  func keeper(
    for profile: Profile, options: HTTPOptions = HTTPOptions(), mayPrompt: Bool = true,
    in store: (any SessionStore)? = nil
  ) throws(Failure) -> SessionKeeper {
    try requireTrust(in: profile, mayAsk: mayPrompt)
    return try trustedKeeper(for: profile, options: options, mayPrompt: mayPrompt, in: store)
  }

  /// A keeper for what needs no server: by a file without trust it sends nothing.
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
      store: store,
      lockFolder: lockFolder(), lockTimeout: try lockTimeout(),
      redactor: redactor, clock: Clock.now, warn: { [console] in console.warn($0) })
    keeper.runCommand = { [environment] (command, seconds) throws(Failure) in
      try SecretCommand.first(
        .password, of: command, option: "--keep-command", environment: environment,
        secondsAllowed: seconds)
    }
    keeper.holdSignals = {
      let relay = try? SignalRelay([SIGINT, SIGTERM, SIGHUP])
      return { relay?.end() }
    }
    return keeper
  }

  /// What sends the requests for `profile`.
  func http(
    for profile: Profile, base: Origin, options: HTTPOptions = HTTPOptions()
  ) -> HTTPClient {
    var options = options
    if profile.isInPlace, profile.recipe.namesProxy, options.withholdsProxyUser() {
      console.warn("AUTHCTL_PROXY_USER is not sent to the proxy that \(profile.name) names")
    }
    return HTTPClient(
      network: profile.recipe.network, base: base,
      secretHeaders: profile.filledHeaders + profile.secretAnswerHeaders, options: options,
      environment: environment,
      clock: Clock.now, warn: { [console] in console.warn($0) },
      log: globals.verbose > 0 ? { [console] in console.verbose($0) } : nil,
      trace: globals.verbose > 1 ? { [console] in console.verbose("* " + $0) } : nil)
  }

  /// `Password for ada at https://…`: a reader of all sources that a command has.
  func secrets(_ sources: [SecretSource]) throws(Failure) -> SecretReader {
    try SecretReader(sources: sources, environment: environment, redactor: redactor)
  }
}

extension Redactor {
  /// `NAME:VALUE`: the value is a secret without its name too.
  func learn(appKey: String) {
    if let mark = appKey.utf8.firstIndex(of: UInt8(ascii: ":")) {
      learn(String(decoding: appKey.utf8[appKey.utf8.index(after: mark)...], as: UTF8.self))
    }
  }
}
