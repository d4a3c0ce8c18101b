/// An authctl command that a message suggests. It works in a shell as printed (rule A13).
package enum Suggestion: Equatable, Sendable {
  /// Signs in to a profile, as `account` if given.
  case login(_ profile: String, account: String? = nil)
  /// Signs in for a scope that the session lacks, as `account` if given.
  case loginForScope(_ profile: String, _ scope: String?, account: String? = nil)
  /// Signs in again in the way that the server requires (RFC 9470).
  case loginAgain(_ profile: String, acrValues: String?, maxAge: String?)
  /// Signs in to an API without a profile.
  case loginTo(url: String)
  /// Stores a token that was made elsewhere.
  case storeToken(_ profile: String)
  /// Forgets the session of an account.
  case logout(_ profile: String, account: String)
  /// Forgets what a store other than the chosen one holds: of a profile and an account, or of all.
  case logoutFrom(store: String, profile: String?, account: String? = nil)
  /// Shows how authctl uses the API of a profile.
  case showProfile(_ profile: String)
  /// Changes a key of a profile; `setting` is KEY=VALUE.
  case setProfile(_ profile: String, setting: String)
  /// Unlocks the store.
  case unlockStore
  /// Checks the setup of the machine, and a profile if given.
  case doctor(_ profile: String? = nil)

  /// The command; nil when a name in it must not be printed.
  package var command: String? { DisplayText.shellCommand(["authctl"] + words) }

  private var words: [String] {
    switch self {
    case .login(let profile, let account):
      ["login", "-p", profile] + (account.map { ["-u", $0] } ?? [])
    case .loginForScope(let profile, let scope, let account):
      ["login", "-p", profile] + (account.map { ["-u", $0] } ?? [])
        + ["--scope", scope ?? "SCOPE"]
    case .loginAgain(let profile, let acrValues, let maxAge):
      ["login", "-p", profile] + (acrValues.map { ["--acr-values", $0] } ?? [])
        + (maxAge.map { ["--max-age", $0] } ?? [])
    case .loginTo(let url): ["login", url]
    case .storeToken(let profile): ["login", "-p", profile, "--token-stdin"]
    case .logout(let profile, let account): ["logout", "-p", profile, "-u", account]
    case .logoutFrom(let store, let profile, let account):
      ["logout"] + (profile.map { ["-p", $0] } ?? []) + (account.map { ["-u", $0] } ?? ["--all"])
        + ["--store", store]
    case .showProfile(let profile): ["profile", "show", profile, "--all"]
    case .setProfile(let profile, let setting): ["profile", "set", profile, setting]
    case .unlockStore: ["store", "unlock"]
    case .doctor(let profile): ["doctor"] + (profile.map { ["-p", $0] } ?? [])
    }
  }
}
