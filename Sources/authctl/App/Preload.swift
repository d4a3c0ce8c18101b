internal import AuthKit

/// The resources that a command needs whatever its options say. They load while the options are
/// parsed; if the options are wrong, the work is wasted but has no effect.
struct Preload: OptionSet {
  let rawValue: UInt8

  /// A stored session.
  static let session = Preload(rawValue: 1)
  /// The HTTP library.
  static let http = Preload(rawValue: 2)
  /// The connection to the API.
  static let connection = Preload(rawValue: 4)

  /// The resources that have begun to load.
  struct Begun {
    let keyring: SecretServiceAhead?
    /// `config.toml`, if it had to be read.
    let config: Config?
    /// The request, if its words say nothing else.
    let request: Request?
  }

  /// The profile of a request, and the connection to its API.
  struct Request {
    let profile: Profile
    let connection: ConnectionAhead?
  }

  /// Begins to load; the keyring only if nothing says that the session is elsewhere.
  func begin(_ words: [String], _ environment: [String: String]) -> Begun {
    let mayAskKeyring = contains(.session) && !Self.isElsewhere(words, environment)
    let profiles = App.profiles(environment)
    let usual = contains(.connection) ? Self.usual(words) : nil
    let config =
      mayAskKeyring || usual.map { $0.profile == nil } == true ? try? profiles.config() : nil
    // The way to the server is the longest.
    let request = usual.flatMap { Self.request($0, environment, profiles, config) }
    // The session comes first because it is needed first, and because the keyring then computes while
    // the rest is loaded. While libcurl and its libraries load, no thread can start.
    guard mayAskKeyring, let config, config.store == .secretService else {
      let isSealed =
        mayAskKeyring && config?.store == .file || environment[.store] == StoreName.file.rawValue
      if isSealed, contains(.session) {
        Crypto.prepareAhead(then: loadCurl)
      } else {
        loadCurl()
      }
      return Begun(keyring: nil, config: config, request: request)
    }
    let keyring = SecretServiceAhead(
      busAddress: environment["DBUS_SESSION_BUS_ADDRESS"], timeout: config.storeTimeout)
    keyring.waitUntilAsked()
    loadCurl()
    return Begun(keyring: keyring, config: config, request: request)
  }

  /// Returns what the words name if they are only a target and a profile; nil with any other: the
  /// parser has to say where the connection goes, and it is made 4 ms later.
  private static func usual(_ words: [String]) -> (profile: String?, target: String)? {
    var (profile, target): (String?, String?)
    var rest = words[...]
    while let word = rest.popFirst() {
      if word == "-p" || word == "--profile" {
        guard let name = rest.popFirst() else { return nil }
        profile = name
      } else if target == nil {
        target = word
      } else {
        return nil
      }
    }
    return target.map { (profile, $0) }
  }

  /// Loads the profile of a request and begins to connect to its API, if the target is a path or a
  /// URL of the API's origin.
  private static func request(
    _ named: (profile: String?, target: String), _ environment: [String: String],
    _ profiles: ProfileStore, _ config: Config?
  ) -> Request? {
    let standard =
      environment[.profile] ?? (environment[.url] == nil ? config?.defaultProfile : nil)
    guard let name = named.profile ?? standard, let profile = try? profiles.load(name),
      let origin = try? WebURL(profile.url, from: .person).origin
    else { return nil }
    // Without -p, a URL chooses the profile.
    let isOfAPI = named.profile != nil && named.target.utf8.starts(with: "\(origin)/".utf8)
    guard App.isPath(named.target) || isOfAPI else { return nil }
    let http = HTTPClient(
      network: profile.recipe.network, base: origin, secretHeaders: [], options: HTTPOptions(),
      environment: environment, clock: Clock.now, warn: { _ in }, log: nil, trace: nil)
    return Request(profile: profile, connection: http.connectionAhead())
  }

  private func loadCurl() {
    if contains(.http) { CurlClient.loadAhead() }
  }

  private static func isElsewhere(_ words: [String], _ environment: [String: String]) -> Bool {
    App.namesToken(environment) || environment[.store] != nil
      || words.contains {
        $0.utf8.starts(with: "--store".utf8) || ["--anonymous", "--help", "-h"].contains($0)
      }
  }
}
