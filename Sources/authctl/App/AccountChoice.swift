internal import AuthKit

/// The choice of a command's account and session.
extension App {
  /// Returns the account that a command works with, and how it was chosen.
  ///
  /// - Throws: `input_needed` with the list when several are stored and none is named,
  ///   `not_signed_in` when none is stored.
  func account(of keeper: SessionKeeper) throws(Failure) -> (name: String, reason: String) {
    if let named = namedAccount(keeper.api.profile) { return named }
    let names = try storedAccounts(of: keeper.api.profile.name, in: keeper.store)
    guard let first = names.first else { throw keeper.notSignedIn(nil) }
    guard names.count == 1 else { throw whichAccount(names, of: keeper.api.profile) }
    return (first, "the only session")
  }

  /// Returns the failure for several stored accounts of which none is named.
  func whichAccount(_ names: [String], of profile: Profile) -> Failure {
    Failure(
      .inputNeeded,
      "\(profile.name): several accounts are signed in: "
        + names.map { DisplayText.oneLine($0, limit: 80) }.joined(separator: ", "),
      hint: "choose one with -u NAME")
  }

  /// The account that an option, a variable or the profile names.
  func namedAccount(_ profile: Profile) -> (name: String, reason: String)? {
    if let name = globals.username { return (name, "from -u") }
    if let name = givenAccount { return (name, "from AUTHCTL_USERNAME") }
    return profile.account.map { ($0, "profile's account") }
  }

  /// The account that `-u` or `AUTHCTL_USERNAME` names.
  var givenAccount: String? { globals.username ?? environment[.username] }

  /// Refuses curl's `-u NAME:PASSWORD` without repeating it, unless an account has that name.
  ///
  /// - Throws: `usage`.
  func checkAccountOption(_ profile: Profile, in store: any SessionStore) throws(Failure) {
    guard let name = globals.username, name.utf8.contains(UInt8(ascii: ":")) else { return }
    let stored = (try? storedAccounts(of: profile.name, in: store)) ?? []
    guard !stored.contains(where: { $0.utf8.elementsEqual(name.utf8) }) else { return }
    let account = String(decoding: name.utf8.prefix { $0 != UInt8(ascii: ":") }, as: UTF8.self)
    throw Failure(
      .usage, "-u takes only an account name; do not put a password on the command line",
      suggestion: .login(profile.name, account: account.isEmpty ? nil : account))
  }

  /// Prints the first line of `-v`: the profile, the account, and why each was chosen.
  func logChoice(_ choice: ProfileChoice, _ account: (name: String, reason: String)?) {
    let who = account.map { ", \(DisplayText.oneLine($0.name)) (\($0.reason))" } ?? ""
    console.verbose("* \(choice.profile.name) (\(choice.reason))\(who)")
  }

  /// Returns the accounts that have a stored session for the profile.
  func storedAccounts(
    of profile: String, in store: any SessionStore
  ) throws(Failure) -> [String] {
    func mine() throws(Failure) -> [SessionItem] {
      try store.list(profiles: [profile]).filter { item in
        item.profile.map { $0.utf8.elementsEqual(profile.utf8) } ?? true
      }
    }
    var items = try mine()
    // A keyring that was never unlocked shows only hashed attributes, not the account names.
    if items.contains(where: { $0.isLocked && $0.account == nil }) {
      try store.open()
      items = try mine()
    }
    return items.compactMap(\.account).sorted()
  }

  /// Returns the session that a command works with: from a variable, else the stored one.
  ///
  /// - Parameter url: where it will be used at once. The connection is begun while the store is read.
  func session(
    for choice: ProfileChoice, _ keeper: SessionKeeper, at url: WebURL? = nil
  ) throws(Failure) -> Session {
    try checkAccountOption(choice.profile, in: keeper.store)
    if let url, url.origin == keeper.api.base.origin, choice.profile.file != nil,
      !choice.profile.isInPlace
    {
      keeper.api.http.connectAhead(begun?.connection)
    }
    if let session = try environmentSession(for: choice) {
      console.verbose("* \(choice.profile.name) (\(choice.reason)), \(session.variable ?? "")")
      return session
    }
    if choice.profile.file == nil {
      throw Failure(
        .notSignedIn, "not signed in to \(keeper.api.base.origin)",
        hint: "set AUTHCTL_TOKEN to a token for AUTHCTL_URL, or run: authctl login URL")
    }
    let account = try account(of: keeper)
    context.account = account.name
    logChoice(choice, account)
    guard let session = try keeper.read(account.name) else {
      throw keeper.notSignedIn(account.name)
    }
    return session
  }
}
