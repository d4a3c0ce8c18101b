/// A place where sessions are kept (design 7).
///
/// A store has one item per profile and account. Names only find the item: its reader checks
/// whether its content belongs to them. Every method throws `Failure` of exit code 12:
/// `storeLocked`, `storeMissing`, `storeTimeout`; a wrong configuration of the store is `usage`.
package protocol SessionStore: AnyObject {
  /// The name that selects it.
  var name: StoreName { get }

  /// The name for messages, which fits within a sentence: "the Secret Service (gnome-keyring)".
  var title: String { get }

  /// A warning to show before a session is stored; nil if there is none.
  var caution: String? { get }

  /// Prepares for writing, before a login asks or sends anything.
  func open() throws(Failure)

  /// Returns the session's payload; nil when it is certainly not there (never for "locked").
  func read(profile: String, account: String) throws(Failure) -> Secret?

  /// Stores the payload atomically: afterwards there is the old item or the new one.
  func write(_ payload: borrowing Secret, key: SessionKey) throws(Failure)

  /// Deletes the item of this profile and account; returns false if there was none.
  func delete(profile: String, account: String) throws(Failure) -> Bool

  /// Returns every stored session. Unlocks nothing and opens no dialog. `profiles` are names to try
  /// if the store shows only hashes of names.
  func list(profiles: [String]) throws(Failure) -> [SessionItem]

  /// Returns every stored session as `list` does, for a caller that reads each of them afterwards:
  /// where payloads are cheaper than lists, the names are read from them.
  func list(
    names: (borrowing Secret) -> (profile: String, account: String)?
  ) throws(Failure) -> [SessionItem]

  /// Returns every stored session as `list` does, with its payload. `names` reads the profile and the
  /// account from a payload.
  func readAll(
    profiles: [String], names: (borrowing Secret) -> (profile: String, account: String)?
  ) throws(Failure) -> [SessionContent]

  /// Checks everything that the store depends on, then writes, reads and deletes a probe, which no
  /// list of sessions shows. Unlocks nothing, opens no dialog, and takes no longer than one
  /// operation.
  func test() -> [Check]
}

extension SessionStore {
  /// Returns every stored session, with the names that the store itself can show.
  package func list() throws(Failure) -> [SessionItem] { try list(profiles: []) }

  /// Returns the same as `list`.
  package func list(
    names: (borrowing Secret) -> (profile: String, account: String)?
  ) throws(Failure) -> [SessionItem] { try list() }

  /// Reads the sessions of `list` one by one.
  package func readAll(
    profiles: [String], names: (borrowing Secret) -> (profile: String, account: String)?
  ) throws(Failure) -> [SessionContent] { try readEach(of: list(profiles: profiles)) }

  /// Reads each of `items` that can be read.
  func readEach(of items: [SessionItem]) -> [SessionContent] {
    items.map { item in
      guard !item.isLocked, let profile = item.profile, let account = item.account else {
        return SessionContent(item: item, payload: .success(nil))
      }
      do throws(Failure) {
        guard let payload = try read(profile: profile, account: account) else {
          return SessionContent(item: item, payload: .success(nil))
        }
        return SessionContent(item: item, payload: .success(SharedSecret(payload)))
      } catch {
        return SessionContent(item: item, payload: .failure(error))
      }
    }
  }

  /// Stores the payload and returns whether the store then gives exactly this back.
  func writeReadingBack(_ payload: borrowing Secret, key: SessionKey) throws(Failure) -> Bool {
    try write(payload, key: key)
    guard let copy = try read(profile: key.profile, account: key.account) else { return false }
    return payload.hasSameBytes(as: copy)
  }
}

/// The stores by the names of design 7.
package enum StoreName: String, CaseIterable, Sendable {
  case secretService = "secret-service"
  case file
  case plaintext

  /// Returns the store named `text`.
  ///
  /// - Throws: `usage` with the nearest name.
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

/// The names that find one stored session. None of it is secret.
package struct SessionKey: Sendable {
  /// The most bytes of a payload, 256 KiB (rule B6).
  static let largestPayload = 262_144

  /// The profile's name.
  package var profile: String
  /// The account's name.
  package var account: String
  /// The origin of the profile's `url` at sign-in; for listings only.
  package var origin: String
  /// New at each login; stored if the store has a place for it, not used to find the item.
  package var loginID: String

  /// Creates a key.
  package init(profile: String, account: String, origin: String, loginID: String = "") {
    self.profile = profile
    self.account = account
    self.origin = origin
    self.loginID = loginID
  }
}

/// One stored session in a list, with its payload: nil for one that is locked or was deleted since.
package struct SessionContent {
  package var item: SessionItem
  package var payload: Result<SharedSecret?, Failure>
}

/// One stored session in a list.
package struct SessionItem: Sendable {
  /// The profile's name; nil if unknown: a keyring that was not unlocked since its start has only
  /// hashes, a file may be damaged.
  package var profile: String?
  /// The account's name, or nil as above.
  package var account: String?
  /// The origin, or nil as above.
  package var origin: String?
  /// Whether reading it needs a secret that is not available: the keyring's password, the key of
  /// the files.
  package var isLocked: Bool

  /// An item that may exist, but cannot be read without a password.
  static let unnamed = SessionItem(profile: nil, account: nil, origin: nil, isLocked: true)
}
