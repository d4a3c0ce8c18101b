/// A place where sessions are kept (design 7).
///
/// One item per profile and account. Names only find the item: whether its content belongs to them
/// is checked by who reads it. Every method throws `Failure` of exit code 12: `storeLocked`,
/// `storeMissing`, `storeTimeout`; a wrong configuration of the store is `usage`.
package protocol SessionStore: AnyObject {
  /// The name by which it is chosen.
  var name: StoreName { get }

  /// What people call it, to stand within a sentence: "the Secret Service (gnome-keyring)".
  var title: String { get }

  /// What a person should know before a session is kept there; nil where all is well.
  var caution: String? { get }

  /// Makes ready to write: before a login asks or sends anything.
  func open() throws(Failure)

  /// The session's payload; nil when it is certainly not there (never for "locked").
  func read(profile: String, account: String) throws(Failure) -> Secret?

  /// Stores the payload over what is there: afterwards there is the old item or the new one.
  func write(_ payload: borrowing Secret, key: SessionKey) throws(Failure)

  /// Deletes what is stored for this profile and account; false when there was nothing.
  func delete(profile: String, account: String) throws(Failure) -> Bool

  /// Every stored session. Unlocks nothing and raises no dialog. `profiles` are names to try where
  /// the store shows hashes of names only.
  func list(profiles: [String]) throws(Failure) -> [SessionItem]

  /// Looks at everything that the store rests on, then writes, reads and deletes a probe, which no
  /// list of sessions shows. Unlocks nothing, raises no dialog, and takes no longer than one
  /// operation may.
  func test() -> [Check]
}

extension SessionStore {
  /// Every stored session, as far as the store tells names by itself.
  package func list() throws(Failure) -> [SessionItem] { try list(profiles: []) }
}

/// The stores by the names of design 7.
package enum StoreName: String, CaseIterable, Sendable {
  case secretService = "secret-service"
  case file
  case plaintext

  /// The store that a person calls `text`.
  ///
  /// - Throws: `usage` that names the nearest.
  package init(named text: String) throws(Failure) {
    guard let name = Self.allCases.first(where: { $0.rawValue.utf8.elementsEqual(text.utf8) })
    else {
      let names = Self.allCases.map(\.rawValue)
      throw Failure(
        .usage, "unknown store \(DisplayText.oneLine(text, limit: 40))",
        hint: nearest(text, in: names).map { "did you mean \($0)?" }
          ?? "the stores are \(names.joined(separator: ", "))")
    }
    self = name
  }
}

/// What one stored session is found by. None of it is secret.
package struct SessionKey: Sendable {
  /// Bytes of the largest payload that a store keeps: 256 KiB (rule B6).
  static let largestPayload = 262_144

  /// The profile's name.
  package var profile: String
  /// The account's name.
  package var account: String
  /// The origin of the profile's `url` at sign-in; it is told, not looked up by.
  package var origin: String
  /// New at each login; told where the store has a place for it, not looked up by.
  package var loginID: String

  /// A key of these.
  package init(profile: String, account: String, origin: String, loginID: String = "") {
    self.profile = profile
    self.account = account
    self.origin = origin
    self.loginID = loginID
  }
}

/// One stored session as `list` sees it.
package struct SessionItem: Sendable {
  /// The profile's name; nil where it cannot be told: a keyring never unlocked since its start has
  /// hashes only, a file may be damaged.
  package var profile: String?
  /// The account's name, or nil as above.
  package var account: String?
  /// The origin, or nil as above.
  package var origin: String?
  /// Whether reading it needs what is not at hand: the keyring's password, the key of the files.
  package var isLocked: Bool

  /// What may be there, and cannot be told without a password.
  static let unnamed = SessionItem(profile: nil, account: nil, origin: nil, isLocked: true)
}
