internal import AuthKit

/// What a command is going to need whatever its options say: it is loaded while they are read. That
/// takes 5 ms for a request, libsecret and libcurl 2 and 5.
struct Preload: OptionSet {
  let rawValue: UInt8

  /// A stored session.
  static let session = Preload(rawValue: 1)
  /// Something is sent.
  static let http = Preload(rawValue: 2)

  /// Begins to load; the keyring's library only where nothing says that the session is elsewhere.
  func begin(_ words: [String], _ environment: [String: String]) {
    loadAhead(
      keyring: contains(.session) && Self.isInKeyring(words, environment), http: contains(.http))
  }

  private static func isInKeyring(_ words: [String], _ environment: [String: String]) -> Bool {
    let elsewhere =
      App.namesToken(environment) || !(environment["AUTHCTL_STORE"] ?? "").isEmpty
      || words.contains { $0.utf8.starts(with: "--store".utf8) || $0 == "--anonymous" }
    guard !elsewhere, let config = try? App.profiles(environment).config() else {
      return false
    }
    return config.store ?? .secretService == .secretService
  }
}
