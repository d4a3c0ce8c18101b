/// The store in the freedesktop Secret Service: gnome-keyring, KWallet, KeePassXC.
///
/// One item per profile and account, found by the attributes `xdg:schema`, `profile` and `account`.
/// Attributes only find the item: the caller checks whether its content belongs to them. Two items
/// of one profile and account are an error for `read`, whatever their origins: another program can
/// plant an item, and authctl cannot know which one is right. `write` leaves one and `delete`
/// leaves none, so a new login or a logout fixes it.
///
/// Every method throws `Failure` of exit code 12: `storeLocked`, `storeMissing`, `storeTimeout`.
/// https://specifications.freedesktop.org/secret-service-spec/latest/
package final class SecretServiceStore: SessionStore {
  let timeout: Double
  private let promptTimeout: Double
  private let mayPrompt: Bool
  private let hasDisplay: Bool
  let isAttended: Bool
  let busAddress: String?
  /// Asks the user for the password of a keyring, given its name in messages; nil if nobody can be
  /// asked. Used only for a keyring that takes a password and can show no dialog.
  package var askPassword: ((_ keyring: String) throws(Failure) -> Secret)?
  private var bus: SecretServiceBus?
  private var ahead: SecretServiceAhead?

  /// The path of libsecret; nil if it cannot be opened.
  package static var libraryPath: String? { SecretServiceBus.libraryPath }

  /// Creates a store that connects at first use. Each operation has `timeout` seconds, and
  /// `promptTimeout` seconds more while a dialog of the keyring is open; without `mayPrompt` it
  /// unlocks nothing and opens no dialog. `hasDisplay` is whether a dialog could be seen here.
  /// `isAttended` selects the hint: whether a user could be asked at all. `busAddress` is the value
  /// of DBUS_SESSION_BUS_ADDRESS; nil if it is not set. `ahead` is a connection that is being made
  /// already.
  package init(
    timeout: Double = 30, promptTimeout: Double = 120, mayPrompt: Bool,
    hasDisplay: Bool = true, isAttended: Bool? = nil, busAddress: String? = nil,
    ahead: SecretServiceAhead? = nil
  ) {
    // A day at most (NaN too): the limits become integers of milliseconds.
    self.timeout = timeout < 86_400 ? max(timeout, 0.001) : 86_400
    self.promptTimeout = promptTimeout < 86_400 ? max(promptTimeout, 0.001) : 86_400
    self.mayPrompt = mayPrompt
    self.hasDisplay = hasDisplay
    self.isAttended = isAttended ?? mayPrompt
    self.busAddress = busAddress
    self.ahead = ahead
  }

  /// `secret-service`.
  package var name: StoreName { .secretService }

  /// Includes the name of the program. Connects if necessary.
  package var title: String { "the Secret Service (\(serviceName))" }

  /// Always nil: the manual says what other programs can read there.
  package var caution: String? { nil }

  /// The name of the program that keeps the items, such as `gnome-keyring`; "Secret Service" if it
  /// is not visible. Connects if necessary.
  package var serviceName: String {
    (try? connected())?.serviceName ?? SecretServiceProgram.unknown.name
  }

  /// Connects and unlocks, before a login asks or sends anything, so that a later write works.
  package func open() throws(Failure) {
    let bus = try connected()
    let collection = try collection(bus)
    if try bus.isLocked(collection: collection) { try unlock(bus, [collection]) }
    _ = try bus.sessionAlgorithm()
  }

  /// Whether the collection for sessions is locked.
  package func isLocked() throws(Failure) -> Bool {
    let bus = try connected()
    return try bus.isLocked(collection: try collection(bus))
  }

  /// Whether another program can give the service the password to unlock: gnome-keyring allows it,
  /// KWallet and KeePassXC ask with dialogs of their own.
  package func takesPassword() throws(Failure) -> Bool { try connected().takesPassword() }

  /// Returns the name of the collection for sessions, for a question.
  package func keyringName() throws(Failure) -> String {
    let bus = try connected()
    return try keyringName(bus, try collection(bus))
  }

  private func keyringName(
    _ bus: SecretServiceBus, _ collection: String
  ) throws(Failure) -> String {
    let label = keyringText(try bus.label(ofCollection: collection))
    return "the keyring \"\(label)\" (\(bus.serviceName))"
  }

  /// Unlocks the collection for sessions without a dialog. The password is sent only over the
  /// encrypted session, and nothing stores it (rule C11).
  ///
  /// - Throws: `storeLocked` for a wrong password; `storeMissing` without an encrypted bus session.
  package func unlock(with password: borrowing Secret) throws(Failure) {
    let bus = try connected()
    try unlock(bus, try collection(bus), with: password)
  }

  private func unlock(
    _ bus: SecretServiceBus, _ collection: String, with password: borrowing Secret
  ) throws(Failure) {
    guard try bus.sessionAlgorithm() != "plain" else { throw .busIsPlain(bus.serviceName) }
    do throws(Failure) {
      try bus.unlock(collection, with: password)
    } catch {
      guard bus.isDenied else { throw error }
      let label = try? bus.label(ofCollection: collection)
      throw .keyringPasswordWrong(bus.serviceName, collection: label)
    }
    if try bus.isLocked(collection: collection) { throw locked(bus, collection) }
  }

  /// Returns the session's payload; nil when it is certainly not there (never for "locked").
  package func read(profile: String, account: String) throws(Failure) -> Secret? {
    let bus = try connected()
    let attributes = try attributes(profile, account)
    // Try twice: another process may have replaced the item between search and read.
    for isLast in [false, true] {
      let items = try unlocked(bus, attributes)
      guard let item = items.first else { return nil }
      if items.count > 1 { throw twoItems(bus, items, profile, account) }
      do throws(Failure) {
        return try bus.secret(of: item)
      } catch {
        if isLast || !bus.isObjectMissing { throw error }
      }
    }
    return nil
  }

  /// Creates the item in the default collection or replaces it. Others of the same profile and
  /// account (an earlier origin, a former default collection) are deleted after that, so that no
  /// failure loses both.
  package func write(_ payload: borrowing Secret, key: SessionKey) throws(Failure) {
    let bus = try connected()
    let attributes = try attributes(key.profile, key.account)
    let origin = try checked(key.origin)
    let old = try unlocked(bus, attributes)
    if let same = old.first, old.count == 1, bus.asksOften,
      try bus.attributes(ofItem: same)["origin"] == origin
    {
      return try bus.setSecret(of: same, payload)
    }
    let label = "authctl: \(key.profile) (\(key.account))"
    let collection = try collection(bus)
    let all = attributes + [("origin", origin)]
    var made: (item: String, prompt: String)
    do throws(Failure) {
      made = try bus.createItem(in: collection, label: label, attributes: all, payload)
    } catch {
      guard error.kind == .storeLocked else { throw error }
      try unlock(bus, [collection])
      made = try bus.createItem(in: collection, label: label, attributes: all, payload)
    }
    let item = try finish(bus, made.item, prompt: made.prompt, collection: collection)
    for other in old where other != item { try remove(bus, other) }
  }

  /// Deletes the items of this profile and account; returns false if there were none.
  package func delete(profile: String, account: String) throws(Failure) -> Bool {
    let bus = try connected()
    let items = try unlocked(bus, try attributes(profile, account))
    for item in items { try remove(bus, item) }
    return !items.isEmpty
  }

  /// Returns every stored session. Unlocks nothing, reads no secret, opens no dialog. Where the
  /// keyring shows only hashes, it tries `profiles` to find an item's profile. An item without any
  /// names means that a locked collection shows nothing.
  package func list(profiles: [String]) throws(Failure) -> [SessionItem] {
    let bus = try connected()
    if bus.asksOften, try hiding(bus) != nil { return [.unnamed] }
    let (hidden, found) = try all(bus)
    // A set: the service decides how many there are.
    var hashed = Set(hidden)
    hashed.subtract(found.locked + found.unlocked)
    var items: [SessionItem] = []
    for (paths, isLocked) in [(found.unlocked, false), (found.locked + hashed, true)] {
      for path in paths {
        do throws(Failure) {
          let attributes = try bus.attributes(ofItem: path)
          items.append(
            SessionItem(
              profile: attributes["profile"], account: attributes["account"],
              origin: attributes["origin"], isLocked: isLocked))
        } catch {
          // Deleted by another process since the search.
          if bus.isObjectMissing { continue }
          throw error
        }
        guard hashed.contains(path) else { continue }
        for profile in profiles where items[items.count - 1].profile == nil {
          let same = try bus.search([Self.hashedSchema, ("profile", try checked(profile))])
          if same.locked.contains(path) { items[items.count - 1].profile = profile }
        }
      }
    }
    if items.isEmpty, try hiding(bus) != nil { return [.unnamed] }
    return items
  }

  /// Reads all payloads in one call, and the names from the payloads. Any exception, such as a locked
  /// or an unknown item, is left to `list` and `read`.
  package func readAll(
    profiles: [String], names: (borrowing Secret) -> (profile: String, account: String)?
  ) throws(Failure) -> [SessionContent] {
    if let contents = try inOneCall(names) { return contents }
    return readEach(of: try list(profiles: profiles))
  }

  /// All payloads need one call, the names in attributes one for each item.
  package func list(
    names: (borrowing Secret) -> (profile: String, account: String)?
  ) throws(Failure) -> [SessionItem] {
    if let contents = try inOneCall(names) { return contents.map(\.item) }
    return try list(profiles: [])
  }

  private func inOneCall(
    _ names: (borrowing Secret) -> (profile: String, account: String)?
  ) throws(Failure) -> [SessionContent]? {
    let bus = try connected()
    guard !bus.asksOften else { return nil }
    let (hidden, found) = try all(bus)
    guard hidden.isEmpty, !found.unlocked.isEmpty, found.locked.isEmpty,
      let payloads = try? bus.secrets(of: found.unlocked), payloads.count == found.unlocked.count
    else { return nil }
    var seen: Set<String> = []
    var contents: [SessionContent] = []
    for payload in payloads {
      guard let (profile, account) = names(payload.secret),
        seen.insert(profile + "\0" + account).inserted
      else { return nil }
      let item = SessionItem(profile: profile, account: account, origin: nil, isLocked: false)
      contents.append(SessionContent(item: item, payload: .success(payload)))
    }
    return contents
  }

  // MARK: Steps

  private static let schema = ("xdg:schema", "io.github.authctl.Session")

  /// A gnome-keyring keyring that was not unlocked since its start knows only the MD5 of each
  /// attribute's value. Searches by value find its items, except by `xdg:schema`, which it takes
  /// for a generic attribute: that one is searched for by its hash.
  private static let hashedSchema = (
    "gkr:compat:hashed:xdg:schema", "40bdf6af7d3a37ea4bcf44fac846aa6d"
  )

  /// Searches for all items: by hash first, so that one that is unlocked meanwhile is found twice, not
  /// never.
  private func all(
    _ bus: SecretServiceBus
  ) throws(Failure) -> (hashed: [String], found: (unlocked: [String], locked: [String])) {
    let results = try bus.search(each: [[Self.hashedSchema], [Self.schema]])
    return (results[0].locked, results[1])
  }

  private func attributes(
    _ profile: String, _ account: String
  ) throws(Failure) -> [(String, String)] {
    [Self.schema, ("profile", try checked(profile)), ("account", try checked(account))]
  }

  /// In C a NUL would end the text, and the shorter name could be another account's.
  private func checked(_ text: String) throws(Failure) -> String {
    if text.utf8.contains(0) {
      throw Failure(.failed, "a name with a NUL byte cannot be stored in the keyring")
    }
    return text
  }

  /// Returns the connection with a new time limit; replaces one that has ended.
  private func connected() throws(Failure) -> SecretServiceBus {
    if let ahead {
      self.ahead = nil
      do throws(Failure) { bus = try ahead.bus() } catch {
        // Another try would take as long again; it reports any other error anew.
        if error.kind == .storeTimeout { throw error }
      }
    }
    if let bus, !bus.isGone {
      bus.begin(timeout)
      return bus
    }
    bus = nil
    let fresh = try connect()
    try fresh.bind()
    bus = fresh
    return fresh
  }

  func connect() throws(Failure) -> SecretServiceBus {
    try SecretServiceAhead(busAddress: busAddress, timeout: timeout) { _ in }.bus()
  }

  /// Returns the paths of the items with these attributes, after unlocking them.
  private func unlocked(
    _ bus: SecretServiceBus, _ attributes: [(String, String)]
  ) throws(Failure) -> [String] {
    if bus.asksOften, let hiding = try hiding(bus) { try unlock(bus, [hiding]) }
    var found = try bus.search(attributes)
    if found.unlocked.isEmpty, found.locked.isEmpty {
      found.locked = try bus.search([Self.hashedSchema] + attributes.dropFirst()).locked
    }
    if found.unlocked.isEmpty, found.locked.isEmpty {
      if let hiding = try hiding(bus) {
        found.locked = [hiding]
      } else {
        // It may have been unlocked since the first search.
        found = try bus.search(attributes)
      }
    }
    if !found.locked.isEmpty {
      try unlock(bus, found.locked)
      found = try bus.search(attributes)
      if let still = found.locked.first { throw locked(bus, still) }
    }
    return found.unlocked
  }

  /// Returns the default collection if it is locked and shows no items, as in KeePassXC: it may
  /// hold items that a search did not find. (An empty one of gnome-keyring looks the same.)
  private func hiding(_ bus: SecretServiceBus) throws(Failure) -> String? {
    let path = try bus.collection(alias: "default")
    guard path != "/", try bus.isLocked(collection: path),
      try bus.items(ofCollection: path).isEmpty
    else { return nil }
    return path
  }

  private func unlock(_ bus: SecretServiceBus, _ paths: [String]) throws(Failure) {
    guard mayPrompt, let first = paths.first else { throw locked(bus, paths.first ?? "") }
    if let askPassword, try !showsDialogs(bus), (try? bus.takesPassword()) ?? false {
      return try unlock(bus, paths, asking: askPassword)
    }
    let answer = try bus.unlock(paths)
    if answer.prompt != "/" {
      let end = try bus.perform(prompt: answer.prompt, timeout: promptTimeout)
      bus.begin(timeout)
      if end.dismissed { throw .keyringDismissed() }
    } else if !paths.allSatisfy({ answer.unlocked.contains($0) }) {
      throw locked(bus, first)
    }
  }

  /// Whether a dialog of the service can be seen: there is a display, and the bus knows a prompter.
  private func showsDialogs(_ bus: SecretServiceBus) throws(Failure) -> Bool {
    hasDisplay ? try bus.hasPrompter() : false
  }

  /// Unlocks the collections of `paths` by passwords that the user types.
  private func unlock(
    _ bus: SecretServiceBus, _ paths: [String],
    asking askPassword: (_ keyring: String) throws(Failure) -> Secret
  ) throws(Failure) {
    for path in paths {
      let collection = Self.collection(of: path)
      guard try bus.isLocked(collection: collection) else { continue }
      let password = try askPassword(try keyringName(bus, collection))
      // The time limit of an operation began before the question.
      bus.begin(timeout)
      try unlock(bus, collection, with: password)
    }
  }

  /// Returns the object that a call made, at once or after its prompt.
  private func finish(
    _ bus: SecretServiceBus, _ object: String, prompt: String, collection: String
  ) throws(Failure) -> String {
    if prompt == "/" { return object }
    let end = try perform(bus, prompt, in: collection)
    guard let made = end.object else {
      throw .keyringFailed(bus.serviceName, "its dialog ended without a result")
    }
    return made
  }

  /// Runs the prompt of a change. KeePassXC has one for each new and each deleted item, and shows a
  /// dialog only if its settings require it: such a prompt also runs without `mayPrompt`, within
  /// the time of an operation, unless the collection is locked.
  private func perform(
    _ bus: SecretServiceBus, _ prompt: String, in collection: String
  ) throws(Failure) -> (dismissed: Bool, object: String?) {
    let isOpen = collection.isEmpty ? false : try !bus.isLocked(collection: collection)
    guard mayPrompt || isOpen else { throw locked(bus, collection) }
    let end = try bus.perform(prompt: prompt, timeout: mayPrompt ? promptTimeout : timeout)
    bus.begin(timeout)
    if end.dismissed { throw isOpen ? .keyringRefused(bus.serviceName) : .keyringDismissed() }
    return end
  }

  private func remove(_ bus: SecretServiceBus, _ item: String) throws(Failure) {
    do throws(Failure) {
      let prompt = try bus.deleteItem(item)
      if prompt == "/" { return }
      _ = try perform(bus, prompt, in: Self.collection(of: item))
    } catch {
      if !bus.isObjectMissing { throw error }
    }
  }

  /// Returns the default collection. KeePassXC may have none: then the only permanent one; if there
  /// is none at all, a new one, for which the keyring asks its user for a password.
  func collection(_ bus: SecretServiceBus) throws(Failure) -> String {
    let path = try bus.collection(alias: "default")
    if path != "/" { return path }
    let session = try bus.collection(alias: "session")
    let lasting = try bus.collections().filter { $0 != session }
    if let only = lasting.first, lasting.count == 1 { return only }
    guard mayPrompt, lasting.isEmpty else {
      throw .keyringNotThere(
        bus.program, hasOthers: !lasting.isEmpty, mayAsk: isAttended)
    }
    let made = try bus.createCollection(label: "Default keyring", alias: "default")
    do throws(Failure) {
      return try finish(bus, made.collection, prompt: made.prompt, collection: "")
    } catch {
      // No collection exists that could be locked, and the dialog was already tried.
      guard error.kind == .storeLocked else { throw error }
      throw .keyringNotThere(bus.program, hasOthers: false, mayAsk: false)
    }
  }

  /// Returns the collection of `path`, a collection or an item in one:
  /// /org/freedesktop/secrets/collection/NAME[/ITEM].
  private static func collection(of path: String) -> String {
    let parts = path.utf8.split(separator: UInt8(ascii: "/")).prefix(5).map { String($0) ?? "" }
    return "/" + parts.joined(separator: "/")
  }

  private func locked(_ bus: SecretServiceBus, _ path: String) -> Failure {
    let collection = Self.collection(of: path)
    let label = try? bus.label(ofCollection: collection)
    // KeePassXC locks an item for each program that its user has not allowed.
    if path != collection, let isLocked = try? bus.isLocked(collection: collection), !isLocked {
      return .keyringAsks(bus.serviceName, collection: label)
    }
    let takesPassword = (try? bus.takesPassword()) ?? false
    return .keyringLocked(
      bus.serviceName, collection: label, isAttended: isAttended, takesPassword: takesPassword)
  }

  private func twoItems(
    _ bus: SecretServiceBus, _ items: [String], _ profile: String, _ account: String
  ) -> Failure {
    let origins = items.prefix(3).map {
      (try? bus.attributes(ofItem: $0))?["origin"] ?? "no origin"
    }
    return .twoItems(items.count, profile: profile, account: account, origins: origins)
  }
}
