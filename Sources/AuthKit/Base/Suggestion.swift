/// A command of authctl that a message suggests. A shell takes it as it is printed (rule A13).
package enum Suggestion: Equatable, Sendable {
  /// Signs in to a profile, as an account where one is named.
  case login(_ profile: String, account: String? = nil)
  /// Signs in to an API without a profile.
  case loginTo(url: String)
  /// Stores a token that was made elsewhere.
  case storeToken(_ profile: String)
  /// Forgets the session of an account.
  case logout(_ profile: String, account: String)
  /// Shows how the API of a profile is used.
  case showProfile(_ profile: String)
  /// Changes a key of a profile; `setting` is KEY=VALUE.
  case setProfile(_ profile: String, setting: String)
  /// Unlocks the store.
  case unlockStore
  /// Looks for what does not work, on the machine or with a profile as well.
  case doctor(_ profile: String? = nil)

  /// The command; nil when a name in it must not be printed as it is.
  package var command: String? { DisplayText.shellCommand(["authctl"] + words) }

  private var words: [String] {
    switch self {
    case .login(let profile, let account):
      ["login", "-p", profile] + (account.map { ["-u", $0] } ?? [])
    case .loginTo(let url): ["login", url]
    case .storeToken(let profile): ["login", "-p", profile, "--token-stdin"]
    case .logout(let profile, let account): ["logout", "-p", profile, "-u", account]
    case .showProfile(let profile): ["profile", "show", profile]
    case .setProfile(let profile, let setting): ["profile", "set", profile, setting]
    case .unlockStore: ["store", "unlock"]
    case .doctor(let profile): ["doctor"] + (profile.map { ["-p", $0] } ?? [])
    }
  }
}
