internal import AuthKit

/// The profile that is used when none is named.
extension App {
  /// Returns the name of the profile that a command without `-p` and without a URL works with; nil
  /// if it has none.
  func standardProfile() throws(Failure) -> String? {
    if let name = environment[.profile] { return try? load(name).name }
    if environment[.url] != nil { return nil }
    let names = try profiles.names()
    return try config().defaultProfile ?? (names.count == 1 ? names[0] : nil)
  }

  /// Makes the first profile that signs in the default, and says so: commands without `-p` then work
  /// with it, whatever profiles are added later.
  ///
  /// It does nothing if another profile has a session, or where `config.toml` cannot be written: the
  /// sign-in has succeeded all the same.
  func makeFirstDefault(_ profile: Profile, in store: any SessionStore) {
    let name = profile.name
    guard profile.file == profiles.path(of: name),
      let config = try? config(), config.defaultProfile == nil,
      let items = try? store.list(profiles: (try? profiles.names()) ?? []),
      items.allSatisfy({ $0.profile.map { $0.utf8.elementsEqual(name.utf8) } ?? false }),
      (try? setDefault(name)) != nil
    else { return }
    console.notice("Default profile: \(name). To change it, run: authctl use NAME")
  }
}
