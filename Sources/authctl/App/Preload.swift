internal import AuthKit

/// The resources that a command needs whatever its options say. They load while the options are
/// parsed; if the options are wrong, the work is wasted but has no effect.
struct Preload: OptionSet {
  let rawValue: UInt8

  /// A stored session.
  static let session = Preload(rawValue: 1)
  /// The HTTP library.
  static let http = Preload(rawValue: 2)

  /// The resources that have begun to load.
  struct Begun {
    let keyring: SecretServiceAhead?
    /// `config.toml`, if it had to be read.
    let config: Config?
  }

  /// Begins to load; the keyring only if nothing says that the session is elsewhere.
  func begin(_ words: [String], _ environment: [String: String]) -> Begun {
    let mayAskKeyring = contains(.session) && !Self.isElsewhere(words, environment)
    let config = mayAskKeyring ? try? App.profiles(environment).config() : nil
    // The session comes first because it is needed first: while libcurl and its thirty libraries
    // load, no thread can start.
    guard let config, config.store == .secretService else {
      if Self.isSealed(config, environment), contains(.session) {
        Crypto.prepareAhead(then: loadCurl)
      } else {
        loadCurl()
      }
      return Begun(keyring: nil, config: config)
    }
    let keyring = SecretServiceAhead(
      busAddress: environment["DBUS_SESSION_BUS_ADDRESS"], timeout: config.storeTimeout,
      then: loadCurl)
    return Begun(keyring: keyring, config: config)
  }

  private func loadCurl() {
    if contains(.http) { CurlClient.loadAhead() }
  }

  private static func isSealed(_ config: Config?, _ environment: [String: String]) -> Bool {
    config?.store == .file || environment[.store] == StoreName.file.rawValue
  }

  private static func isElsewhere(_ words: [String], _ environment: [String: String]) -> Bool {
    App.namesToken(environment) || environment[.store] != nil
      || words.contains {
        $0.utf8.starts(with: "--store".utf8) || ["--anonymous", "--help", "-h"].contains($0)
      }
  }
}
