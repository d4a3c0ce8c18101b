internal import Glibc

/// The configuration folder: `config.toml`, and the profiles in `profiles/` (design 5).
package struct ProfileStore: Sendable {
  /// `$XDG_CONFIG_HOME/authctl`, or the value of `AUTHCTL_CONFIG_DIR`.
  package let configDirectory: String
  private let home: String?
  /// The hint for an unknown profile when there is no home folder.
  package let homelessHint: String?

  /// - Parameters:
  ///   - home: the home folder, shown as `~` in messages.
  ///   - homelessHint: how to set a configuration folder when there is no home folder.
  package init(configDirectory: String, home: String? = nil, homelessHint: String? = nil) {
    self.configDirectory = configDirectory
    self.home = home
    self.homelessHint = homelessHint
  }

  var folder: String { configDirectory + "/profiles" }
  private var configPath: String { configDirectory + "/config.toml" }

  /// The file of the profile called `name`.
  package func path(of name: String) -> String { "\(folder)/\(name).toml" }

  /// `path` as messages show it, with `~` for the home folder.
  package func shown(_ path: String) -> String {
    guard let home, !home.isEmpty, path.utf8.starts(with: (home + "/").utf8) else { return path }
    return "~" + String(decoding: path.utf8.dropFirst(home.utf8.count), as: UTF8.self)
  }

  // MARK: - Profiles

  /// The names of all profiles, sorted by bytes. Files with other names are ignored.
  ///
  /// - Throws: `Failure` of kind `usage` if others can write the folders, `failed` for I/O errors.
  package func names() throws(Failure) -> [String] {
    try checkFolders()
    return try ConfigFolder.list(folder)
      .filter { $0.ends(withBytesOf: ".toml") }
      .map { String(decoding: $0.utf8.dropLast(5), as: UTF8.self) }
      .filter(Self.isName)
      .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  /// The profile called `name`.
  ///
  /// - Throws: `Failure` of kind `usage` when there is no such profile, naming the nearest, or when
  ///   its file is invalid or others can write it.
  package func load(_ name: String) throws(Failure) -> Profile {
    try ProfileReader.read(
      text: try text(of: name), name: name, file: path(of: name), label: shown(path(of: name)))
  }

  /// The profile in the file at `path`, used in place and named by its real path.
  ///
  /// - Throws: `Failure` of kind `usage`.
  package static func load(file path: String) throws(Failure) -> Profile {
    let file = try file(path)
    var profile = try ProfileReader.read(
      text: file.text, name: file.path, file: file.path,
      label: DisplayText.oneLine(path, limit: 200))
    profile.textInPlace = file.text
    return profile
  }

  /// The real path and the text of the profile in the file at `path`.
  private static func file(_ path: String) throws(Failure) -> (path: String, text: String) {
    let shown = DisplayText.oneLine(path, limit: 200)
    let missing = Failure(.usage, "no such file: \(shown)")
    guard !path.utf8.contains(0) else { throw missing }
    guard let real = ConfigFolder.realPath(path) else {
      let error = SystemError(errno)
      guard ![ENOENT, ENOTDIR].contains(error.number) else { throw missing }
      throw Failure(.failed, "cannot read \(shown): \(error.reason)")
    }
    guard let text = try ConfigFolder.read(real, label: shown) else {
      throw Failure(.usage, "\(shown) is not a regular file")
    }
    return (real, text)
  }

  /// The text of a profile's file.
  package func text(of name: String) throws(Failure) -> String {
    try Self.check(name: name)
    try checkFolders()
    let path = path(of: name)
    if let text = try ConfigFolder.read(path, label: shown(path)) { return text }
    throw Failure(
      .usage, try unknown(name), hint: homelessHint ?? "authctl profile list")
  }

  private func unknown(_ name: String) throws(Failure) -> String {
    let near = nearest(name, in: try names())
    return "no profile called \(name)" + (near.map { "; did you mean \($0)?" } ?? "")
  }

  /// Writes `text`, which must be a valid profile, with mode 0600 in folders of mode 0700.
  ///
  /// - Parameter replacing: whether to replace an existing profile of that name.
  /// - Throws: `Failure` of kind `usage` when the text is invalid or the name is taken.
  @discardableResult
  package func write(
    _ text: String, as name: String, replacing: Bool = false
  ) throws(Failure) -> Profile {
    let profile = try read(text, as: name)
    try checkFolders()
    let path = path(of: name)
    do throws(Failure) {
      try locked { () throws(Failure) in
        try ConfigFolder.write(text, to: path, label: shown(path), replacing: replacing)
      }
    } catch {
      var failure = error
      if failure.kind == .usage, failure.hint == nil {
        failure.hint = "use --replace to overwrite it"
      }
      throw failure
    }
    return profile
  }

  /// Checks, before a sign-in, that a profile can be written.
  ///
  /// - Throws: `Failure` of kind `failed`.
  package func checkWritable() throws(Failure) { try ConfigFolder.checkWritable(folder) }

  /// Parses `text` as the profile `name`; writes nothing.
  ///
  /// - Parameter label: the name of the text in messages; nil for the profile's file.
  /// - Throws: `Failure` of kind `usage`.
  package func read(
    _ text: String, as name: String, label: String? = nil
  ) throws(Failure) -> Profile {
    try Self.check(name: name)
    let path = path(of: name)
    return try ProfileReader.read(text: text, name: name, file: path, label: label ?? shown(path))
  }

  /// Checks that `url` can be the base URL of an API.
  ///
  /// - Throws: `Failure` of kind `usage`.
  package static func check(url: String) throws(Failure) {
    _ = try WebURL(url, from: .person)
    if let problem = URLText.problemOfBase(url) {
      throw Failure(
        .usage, "\(DisplayText.oneLine(Redactor.withoutQuery(url), limit: 80)): \(problem)",
        hint: "write https://HOST/PATH")
    }
  }

  /// Returns the text of the profile at `path`, with relative file names in it made absolute.
  ///
  /// - Throws: `Failure` of kind `usage` when there is no such file, or when others can write it.
  package static func text(ofFile path: String) throws(Failure) -> String {
    let file = try file(path)
    let label = DisplayText.oneLine(path, limit: 200)
    let folder = parentFolder(of: file.path)
    var text = file.text
    for name in ["ca_file", "client_cert", "client_key"] {
      let document = try TOMLDocument(text, label: label)
      guard let file = document.value(at: ["network", name])?.text,
        file.utf8.first != UInt8(ascii: "/")
      else { continue }
      text = try document.setting(.string("\(folder)/\(file)"), at: ["network", name])
    }
    return text
  }

  /// Makes a profile and its text from keys and values, in the order given; writes nothing.
  ///
  /// - Parameter like: a profile to start from, without its account.
  /// - Throws: `Failure` of kind `usage`.
  package func draft(
    _ name: String, like: String? = nil, settings: [(key: String, value: JSONValue)]
  ) throws(Failure) -> (profile: Profile, text: String) {
    try Self.check(name: name)
    var text = ""
    if let like { text = try shareable(like) }
    for setting in settings {
      let key = try ProfileSchema.key(setting.key)
      text = try TOMLDocument(text, label: name).setting(setting.value, at: Self.path(of: key))
    }
    var profile = try read(text, as: name)
    profile.isDraft = true
    return (profile, text)
  }

  /// The text of a profile without the account, which is personal.
  ///
  /// - Throws: `Failure` of kind `usage` when there is no such profile.
  package func shareable(_ name: String) throws(Failure) -> String {
    let document = try TOMLDocument(try text(of: name), label: shown(path(of: name)))
    guard document.value(at: ["account"]) != nil else { return document.text }
    return try document.removing(at: ["account"])
  }

  /// Returns every mistake in a profile; empty if it is valid.
  ///
  /// - Parameter name: the profile's name or, if it contains a slash, a file's path.
  /// - Throws: `Failure` of kind `usage` when there is no such profile.
  package func mistakes(_ name: String) throws(Failure) -> [Failure] {
    guard name.utf8.contains(UInt8(ascii: "/")) else {
      let path = path(of: name)
      return ProfileReader.mistakes(
        text: try text(of: name), name: name, file: path, label: shown(path))
    }
    let file = try Self.file(name)
    return ProfileReader.mistakes(
      text: file.text, name: file.path, file: file.path,
      label: DisplayText.oneLine(name, limit: 200))
  }

  /// The keys that a profile can contain, in the order of the file.
  package static var keys: [String] {
    ProfileSchema.keys.map(\.name).filter { !$0.utf8.starts(with: "detect.".utf8) }
  }

  /// Converts the right side of `--set KEY=VALUE` to the key's type.
  ///
  /// - Throws: `Failure` of kind `usage` for an invalid value or unknown key, naming the nearest.
  package static func value(of key: String, from text: String) throws(Failure) -> JSONValue {
    // Check it here: there may be no file yet in which to show the mistake.
    if key == "preset" { _ = try Presets.text(called: text) }
    return try ProfileSchema.value(of: try ProfileSchema.key(key), from: text)
  }

  /// Changes keys in a profile's file; comments and order stay. Checks the whole result before it
  /// replaces the file.
  ///
  /// - Parameter unset: keys to remove, so that the preset's or the built-in value applies again.
  /// - Returns: the keys of `unset` that were absent.
  /// - Throws: `Failure` of kind `usage` for an unknown key, an invalid value, or a result that is
  ///   not a valid profile.
  @discardableResult
  package func change(
    _ name: String, set: [(key: String, value: JSONValue)], unset: [String] = []
  ) throws(Failure) -> [String] {
    _ = try text(of: name)
    return try locked { () throws(Failure) in try changeLocked(name, set: set, unset: unset) }
  }

  private func changeLocked(
    _ name: String, set: [(key: String, value: JSONValue)], unset: [String]
  ) throws(Failure) -> [String] {
    var text = try text(of: name)
    let label = shown(path(of: name))
    var absent: [String] = []
    for change in set {
      let place = Self.path(of: try ProfileSchema.key(change.key))
      text = try TOMLDocument(text, label: label).setting(change.value, at: place)
    }
    for key in unset {
      let place = Self.path(of: try ProfileSchema.key(key))
      let document = try TOMLDocument(text, label: label)
      if document.value(at: place) == nil {
        absent.append(key)
      } else {
        text = try document.removing(at: place)
      }
    }
    let path = path(of: name)
    _ = try ProfileReader.read(text: text, name: name, file: path, label: label)
    try ConfigFolder.write(text, to: path, label: label, replacing: true)
    return absent
  }

  /// Removes the profile's file, and `default_profile` if it names this profile.
  ///
  /// - Throws: `Failure` of kind `usage` when there is no such profile.
  package func remove(_ name: String) throws(Failure) {
    try Self.check(name: name)
    try checkFolders()
    let path = path(of: name)
    guard try ConfigFolder.remove(path, label: shown(path)) else {
      throw Failure(.usage, try unknown(name), hint: "authctl profile list")
    }
    if try config().defaultProfile == name { try setDefault(nil) }
  }

  /// Runs `work` while no other authctl changes the folder (design 5), after removing the temporary
  /// files of killed processes.
  func locked<R>(_ work: () throws(Failure) -> R) throws(Failure) -> R {
    try ConfigFolder.locked(configDirectory, label: shown(configDirectory)) { () throws(Failure) in
      for folder in [configDirectory, folder] { ConfigFolder.sweep(folder) }
      return try work()
    }
  }

  private static func path(of key: ProfileSchema.Key) -> [String] {
    key.name.utf8.split(separator: UInt8(ascii: ".")).map { String(decoding: $0, as: UTF8.self) }
  }

  func checkFolders() throws(Failure) {
    try ConfigFolder.checkFolder(configDirectory)
    try ConfigFolder.checkFolder(folder)
  }
}

// MARK: - config.toml

/// The settings in `config.toml`.
package struct Config: Sendable, Equatable {
  /// The profile to use when nothing else selects one.
  package var defaultProfile: String?
  /// The store for sessions.
  package var store = StoreName.secretService
  /// The time limit of a store operation, in seconds.
  package var storeTimeout = 30.0
  /// How long to wait for another process's refresh, in seconds.
  package var lockTimeout: Double?

  /// No setting is given.
  package init() {}
}

extension ProfileStore {
  /// Reads `config.toml`; without the file, no setting is given.
  ///
  /// - Throws: `Failure` of kind `usage` that names file, line and key.
  package func config() throws(Failure) -> Config {
    try checkFolders()
    return try config(try configDocument(), ignoring: [])
  }

  /// Returns every mistake in `config.toml`.
  package func configMistakes() -> [Failure] {
    var found: [Failure] = []
    var ignoring: [[String]] = []
    while true {
      do throws(Failure) {
        try checkFolders()
        _ = try config(try configDocument(), ignoring: ignoring)
        return found
      } catch {
        found.append(error)
        guard let key = error.key, !ignoring.contains(key) else { return found }
        ignoring.append(key)
      }
    }
  }

  private func config(
    _ document: TOMLDocument, ignoring: [[String]]
  ) throws(Failure) -> Config {
    var config = Config()
    for (key, value) in try ProfileSchema.entries(
      of: document, keys: ProfileSchema.configKeys, tables: [], ignoring: ignoring)
    {
      func mistake(_ message: String) -> Failure {
        var failure = Failure(
          .usage, "\(document.place(of: [key.name])): \(key.name): \(message)")
        failure.key = [key.name]
        return failure
      }
      switch (key.name, value) {
      case ("default_profile", .string(let text)):
        guard Self.isName(text) || text.utf8.first == UInt8(ascii: "/") else {
          throw mistake("must be a profile name or the absolute path of a file")
        }
        config.defaultProfile = text
      case ("store", .string(let text)):
        do throws(Failure) { config.store = try StoreName(named: text) } catch {
          var failure = mistake(error.message)
          failure.hint = error.hint
          throw failure
        }
      case ("store_timeout", .number), ("lock_timeout", .number):
        guard let seconds = value.double, seconds > 0, seconds <= 86400 else {
          throw mistake("must be more than 0 and at most 86400 seconds")
        }
        if key.name == "store_timeout" {
          config.storeTimeout = seconds
        } else {
          config.lockTimeout = seconds
        }
      default: throw mistake("must be \(key.kind.described)")
      }
    }
    return config
  }

  /// Sets `default_profile`; nil removes it.
  ///
  /// - Throws: `Failure` of kind `usage` when there is no such profile.
  package func setDefault(_ name: String?) throws(Failure) {
    if let name { _ = try text(of: name) }
    let isSet = try configDocument().value(at: ["default_profile"]) != nil
    guard name != nil || isSet else { return }
    try locked { () throws(Failure) in try writeDefault(name) }
  }

  /// Writes `default_profile`; call it in `locked`.
  func writeDefault(_ name: String?) throws(Failure) {
    let document = try configDocument()
    var text = document.text
    if let name {
      text = try document.setting(.string(name), at: ["default_profile"])
    } else if document.value(at: ["default_profile"]) != nil {
      text = try document.removing(at: ["default_profile"])
    }
    try ConfigFolder.write(text, to: configPath, label: shown(configPath), replacing: true)
  }

  private func configDocument() throws(Failure) -> TOMLDocument {
    let label = shown(configPath)
    return try TOMLDocument(try ConfigFolder.read(configPath, label: label) ?? "", label: label)
  }
}
