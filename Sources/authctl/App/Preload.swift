internal import AuthKit

/// What a command is going to need whatever its options say: it is begun while they are read. Where
/// they turn out to be wrong it was begun in vain, and nothing has come of it.
struct Preload: OptionSet {
  let rawValue: UInt8

  /// A stored session.
  static let session = Preload(rawValue: 1)
  /// Something is sent.
  static let http = Preload(rawValue: 2)

  /// What was begun.
  struct Begun {
    let keyring: SecretServiceAhead?
    /// `config.toml`, where it had to be looked into.
    let config: Config?
  }

  /// Begins; with the keyring only where nothing says that the session is elsewhere.
  func begin(_ words: [String], _ environment: [String: String]) -> Begun {
    let mayAskKeyring = contains(.session) && !Self.isElsewhere(words, environment)
    let config = mayAskKeyring ? try? App.profiles(environment).config() : nil
    // The session first, since it is needed first; while libcurl and its thirty libraries are being
    // loaded no thread can be made.
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
