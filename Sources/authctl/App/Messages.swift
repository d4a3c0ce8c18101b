internal import AuthKit

/// Sentences and JSON shapes that several commands share.
enum Messages {
  /// `Valid for 15 min; renewed automatically.`
  static func validity(_ session: Session) -> String {
    let renews = session.refreshable
    let ending =
      session.reauthentication == nil ? "" : ", then the stored command signs in again."
    guard let left = session.secondsLeft(now: Clock.now()) else {
      let time = "The server did not say when it expires"
      return renews
        ? time + "; it is renewed automatically." : ending.isEmpty ? time + "." : time + ending
    }
    // A 15-minute token has slightly less left when it arrives.
    let time = Timestamp.spoken(left < 120 ? max(left, 0).rounded() : (left / 60).rounded() * 60)
    if renews { return "Valid for \(time); renewed automatically." }
    return ending.isEmpty ? "Valid for \(time); cannot be renewed." : "Valid for \(time)" + ending
  }

  /// Tells how to renew a session whose refresh token the profile does not use.
  static func tellUnusedRefreshToken(of session: Session, _ keeper: SessionKeeper, _ app: App) {
    guard keeper.api.leavesRefreshToken(of: session), session.reauthentication == nil else {
      return
    }
    app.console.notice("The answer has a refresh token; set refresh.path to renew.")
    guard !keeper.api.profile.isInPlace else { return }
    if let command = keeper.api.setRefresh.command { app.console.hint(command) }
  }

  /// Returns a command to continue with.
  static func nextRequest(_ profile: Profile, _ app: App) -> String {
    var words = ["authctl", "get"]
    let names = (try? app.profiles.names()) ?? []
    if names != [profile.name], (try? app.config().defaultProfile) != profile.name {
      words += ["-p", profile.name]
    }
    if let (path, body) = profile.onlyEndpoint {
      words[1] = "post"
      return DisplayText.shellCommand(words + [path, "--json", body]) ?? ""
    }
    guard let whoami = profile.recipe.whoami, !whoami.isEndpoint else {
      return DisplayText.shellCommand(words + ["/PATH"]) ?? ""
    }
    if let path = whoami.plainPath { return DisplayText.shellCommand(words + [path]) ?? "" }
    words[1] = "whoami"
    return DisplayText.shellCommand(words) ?? ""
  }

  /// Returns the JSON result of `login`, `register` and `refresh` (design 2).
  static func json(_ session: Session, _ keeper: SessionKeeper) -> JSONValue {
    JSONValue.object([
      ("profile", .string(session.profile)),
      ("account", .string(session.account)),
      ("origin", .string(keeper.api.base.origin.description)),
      ("expires_at", time(session.expiresAt)),
      ("refreshable", .bool(session.isRenewable)),
      ("store", .string(keeper.store.name.rawValue)),
    ])
  }

  /// Runs `work`; adds to a network failure the hint that nothing was stored or changed. Nothing is
  /// added for a new profile: its hint is the command to repeat.
  static func nothingChanged<R>(
    _ profile: Profile, _ work: () throws(Failure) -> R
  ) throws(Failure) -> R {
    do throws(Failure) { return try work() } catch {
      var failure = error
      let isOfNetwork = failure.kind == .network || failure.kind == .timeout
      if isOfNetwork, failure.hint == nil, !profile.isDraft {
        let doctor = Suggestion.doctor(profile.name).command
        failure.hint =
          "nothing was stored" + (doctor.map { "; to check the connection, run: \($0)" } ?? "")
      }
      throw failure
    }
  }

  static func time(_ moment: Timestamp?) -> JSONValue { moment.map { .string($0.rfc3339) } ?? nil }

  /// Refuses to print a stored password as if it were a token (rule B15).
  static func refusePassword(_ profile: Profile, allowed: Bool) throws(Failure) {
    guard profile.recipe.session.keepPassword, !allowed else { return }
    throw Failure(
      .usage, "\(profile.name) stores a password, not a token",
      hint: "the helpers git and docker can give it, and token with --allow-password")
  }
}
