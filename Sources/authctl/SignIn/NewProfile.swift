internal import AuthKit

/// The profile for `login URL`: an existing one or a new one.
struct NewProfile {
  var profile: Profile
  /// The text of a new profile, written once it is known to stay; nil for an existing one.
  var text: String?

  var isNew: Bool { text != nil }

  /// Writes a new profile's file, unless it exists by now.
  func save(in app: App) throws(Failure) {
    if let text, try !app.profiles.names().contains(profile.name) {
      try app.profiles.write(text, as: profile.name)
    }
  }

  /// Finds or makes the profile for `address`, the API's base or sign-in address (design 5).
  ///
  /// - Parameters:
  ///   - looks: whether to detect the settings of an API if none are given.
  ///   - assumesYes: whether to use detected settings without asking.
  static func make(
    for address: String, _ described: APIDescription, looks: Bool, assumesYes: Bool, in app: App
  ) throws(Failure) -> NewProfile {
    try app.checkURL(address)
    let url = try WebURL(address, from: .person)
    guard url.query == nil else { throw Failure(.usage, "the API's URL must not have a query") }
    let last = url.path.utf8.split(separator: UInt8(ascii: "/")).last.map { String($0) ?? "" } ?? ""
    let isSignIn = HTTPClient.signInNames.contains(last.lowercased())
    let base = (isSignIn ? url.origin.description : url.text).withoutTrailingSlashes
    let signInPath = isSignIn ? url.path : nil
    let names = try app.profiles.names()
    if let name = app.globals.profile, names.contains(name) {
      return try existing(try app.profiles.load(name), base, signInPath, described)
    }
    if app.globals.profile == nil {
      let known = try WebURL(base, from: .person)
      // An endpoint is found by what its token is for.
      let same = try app.profiles(at: known.origin).filter {
        ([$0.url] + ($0.recipe.oauth?.resources ?? [])).contains { text in
          (try? WebURL(text, from: .person))?.text == known.text
        }
      }
      if let profile = try app.one(of: same, for: known) {
        return try existing(profile, base, signInPath, described)
      }
    }
    let name = app.globals.profile ?? ProfileStore.name(for: url.origin, taken: names)
    var settings = described.settings
    if let signInPath {
      settings.append(("login.path", .string(signInPath)))
    } else if looks, url.origin.isSecure || url.origin.isLoopback {
      settings = try look(at: base, described, assumesYes, app)
    }
    let draft = try app.profiles.draft(name, settings: [("url", .string(base))] + settings)
    return NewProfile(profile: draft.profile, text: draft.text)
  }

  /// Detects the settings of an API if none are given, and the authorization server if it is not
  /// named, once the store is open.
  private static func look(
    at base: String, _ described: APIDescription, _ assumesYes: Bool, _ app: App
  ) throws(Failure) -> [(key: String, value: JSONValue)] {
    let lacksServer = OAuthSettings.lackServer(in: described.settings)
    guard described.wanted.isEmpty || lacksServer,
      app.environment[.token] == nil, app.environment[.tokenFile] == nil
    else { return described.settings }
    try app.profiles.checkWritable()
    try app.store().open()
    var found = described
    if lacksServer {
      try found.addServer(detectedAt: base, assumesYes: assumesYes, in: app)
    } else {
      found = try APIDescription(lookingAt: base, assumesYes: assumesYes, in: app)
    }
    return found.settings
  }

  private static func existing(
    _ profile: Profile, _ base: String, _ signInPath: String?, _ described: APIDescription
  ) throws(Failure) -> NewProfile {
    let origin = try WebURL(base, from: .person).origin
    guard try WebURL(profile.url, from: .person).origin == origin else {
      throw Failure(
        .usage, "the profile \(profile.name) is for another API: \(profile.url)",
        hint: "leave out -p, or use another name with -p")
    }
    let known = profile.values.first { $0.key == "login.path" }?.value.text
    if let signInPath, let known, !known.utf8.elementsEqual(signInPath.utf8) {
      throw Failure(
        .usage, "the profile \(profile.name) signs in at \(known), not at \(signInPath)",
        suggestion: .setProfile(profile.name, setting: "login.path=\(signInPath)"))
    }
    let isOther = described.wanted.contains { setting in
      profile.values.first { $0.key == setting.key }?.value != setting.value
        && !(setting.key == "preset" && profile.preset == setting.value.text)
    }
    guard !isOther else {
      throw Failure(
        .usage, "the profile \(profile.name) already exists for this URL, with different settings",
        hint: Suggestion.setProfile(profile.name, setting: "KEY=VALUE").command
          .map { "use another name with -p, or to change it, run: " + $0 })
    }
    return NewProfile(profile: profile, text: nil)
  }
}
