internal import AuthKit

/// What a command is going to need whatever its options say: it is begun while they are read. Where
/// they turn out to be wrong it was begun in vain, and nothing has come of it.
struct Preload: OptionSet {
  let rawValue: UInt8

  /// A stored session.
  static let session = Preload(rawValue: 1)
  /// Something is sent.
  static let http = Preload(rawValue: 2)

  /// Begins; with the keyring only where nothing says that the session is elsewhere.
  func begin(_ words: [String], _ environment: [String: String]) -> SecretServiceAhead? {
    beginAhead(
      keyring: contains(.session) ? Self.keyring(words, environment) : nil, http: contains(.http))
  }

  private static func keyring(
    _ words: [String], _ environment: [String: String]
  ) -> (busAddress: String?, timeout: Double)? {
    let elsewhere =
      App.namesToken(environment) || !(environment["AUTHCTL_STORE"] ?? "").isEmpty
      || words.contains {
        $0.utf8.starts(with: "--store".utf8) || ["--anonymous", "--help", "-h"].contains($0)
      }
    guard !elsewhere, let config = try? App.profiles(environment).config(),
      config.store ?? .secretService == .secretService
    else { return nil }
    return (environment["DBUS_SESSION_BUS_ADDRESS"], config.storeTimeout ?? 30)
  }
}
