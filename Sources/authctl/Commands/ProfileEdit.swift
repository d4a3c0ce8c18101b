internal import ArgumentParser
internal import AuthKit
internal import Glibc

/// `authctl profile edit NAME`
struct ProfileEdit: Command {
  static let configuration = CommandConfiguration(
    commandName: "edit",
    abstract: "Edit a profile in your editor; it is checked before it is saved.",
    usage: "authctl profile edit [<options>] <name>",
    discussion: """
      Runs the editor in VISUAL or EDITOR, otherwise editor or vi. If your text has a
      mistake, authctl does not save it.

      Examples:
        authctl profile edit shop
        EDITOR='sed -i s/v1/v2/' authctl profile edit shop
      """
  ).alone

  @Argument(help: ArgumentHelp("The profile's name.", valueName: "name")) var name: String
  @OptionGroup(title: "Global options") var globals: Globals

  func run(in app: App) throws(Failure) -> Int32 {
    let old = try app.profiles.text(of: name)
    let copy = try app.profiles.editableCopy(of: name)
    var isKept = false
    defer { if !isKept { app.profiles.removeCopy(at: copy) } }
    while true {
      try Editor(app).edit(copy)
      let new = try app.profiles.editedText(at: copy)
      guard !new.utf8.elementsEqual(old.utf8) else {
        app.console.notice("No changes.")
        return 0
      }
      let mistakes = app.profiles.mistakes(in: new, of: name)
      if mistakes.isEmpty {
        do throws(Failure) { try app.profiles.replace(old, by: new, in: name) } catch {
          var failure = error
          failure.hint = failure.hint ?? "your text is in \(app.profiles.shown(copy))"
          isKept = true
          throw failure
        }
        app.console.notice("Saved the profile \(name).")
        return 0
      }
      for mistake in mistakes.dropLast() { app.console.report(mistake) }
      guard try editsAgain(after: mistakes[mistakes.count - 1], app) else {
        throw mistakes[mistakes.count - 1]
      }
    }
  }

  /// Asks whether to correct the mistakes; false where nobody can be asked.
  private func editsAgain(after last: Failure, _ app: App) throws(Failure) -> Bool {
    guard app.mayAsk, let terminal = Terminal.open() else { return false }
    app.console.report(last)
    if try terminal.confirm("Edit again?", default: true) { return true }
    throw Failure(.usage, "\(name) was not changed")
  }
}

/// The user's editor.
private struct Editor {
  private let app: App
  private let words: [String]

  init(_ app: App) {
    self.app = app
    let chosen = ["VISUAL", "EDITOR"].compactMap { app.environment[$0] }.first { !$0.isEmpty }
    // Debian's `editor` is what the user or the system has chosen.
    let usual = "$(command -v editor || echo vi)"
    words = ["/bin/sh", "-c", "\(chosen ?? usual) \"$@\"", "sh"]
  }

  /// Lets the user edit the file at `path`.
  ///
  /// - Throws: `failed` when the editor cannot be started or fails.
  func edit(_ path: String) throws(Failure) {
    let relay = try SignalRelay(SignalRelay.endings + [SIGCHLD])
    defer { relay.end() }
    let status: Int32
    do throws(Child.CannotStart) {
      let child = try Child(
        words + [path], environment: app.environment.withoutSecrets, before: app.before,
        inherited: nil
      ).start()
      status = Child.wait(for: child, relay) { -1 }
    } catch {
      throw failed("cannot be started")
    }
    guard status == 0 else { throw failed("exited with \(status)") }
  }

  private func failed(_ what: String) -> Failure {
    Failure(
      .failed, "the editor \(what); nothing was changed",
      hint: "set VISUAL or EDITOR to another editor")
  }
}
