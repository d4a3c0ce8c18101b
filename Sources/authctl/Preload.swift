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
    let keyring = config.flatMap { $0.store == .secretService ? $0.storeTimeout : nil }.map {
      (busAddress: environment["DBUS_SESSION_BUS_ADDRESS"], timeout: $0)
    }
    let isSealed =
      config?.store == .file
      || contains(.session) && environment["AUTHCTL_STORE"] == StoreName.file.rawValue
    let ahead = beginAhead(keyring: keyring, sealed: isSealed, http: contains(.http))
    return Begun(keyring: ahead, config: config)
  }

  private static func isElsewhere(_ words: [String], _ environment: [String: String]) -> Bool {
    App.namesToken(environment) || !(environment["AUTHCTL_STORE"] ?? "").isEmpty
      || words.contains {
        $0.utf8.starts(with: "--store".utf8) || ["--anonymous", "--help", "-h"].contains($0)
      }
  }
}
