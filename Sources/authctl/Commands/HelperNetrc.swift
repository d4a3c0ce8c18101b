internal import ArgumentParser
internal import AuthKit

/// `authctl helper netrc`
struct HelperNetrc: Command {
  static let configuration = CommandConfiguration(
    commandName: "netrc", abstract: "A line of .netrc, for programs that know no better.",
    usage: "authctl helper netrc [<options>]",
    discussion: """
      The token stands as the password, which few APIs take; a .netrc does not know
      ports or https.

      Examples:
        authctl helper netrc -p shop
        curl --netrc-file <(authctl helper netrc -p shop) https://shop.example/me
      """
  ).alone

  @OptionGroup(title: "Global options") var globals: Globals

  func run(in app: App) throws(Failure) -> Int32 {
    guard globals.profile != nil else {
      throw Failure(.usage, ".netrc does not name the API", hint: "-p NAME says which")
    }
    let found = try HelperCredential(app: app, givesPasswords: false).credentialOfNamed(for: nil)
    guard !found.session.account.isEmpty else {
      throw Failure(
        .inputNeeded, "a token of a variable has no account, and .netrc wants one",
        hint: "-u NAME gives it")
    }
    for text in [found.session.account, found.secret] {
      try HelperCredential.check(text, forbidden: " #\"\\")
    }
    try app.console.out(
      "machine \(found.keeper.api.base.origin.host) login \(found.session.account) "
        + "password \(found.secret)")
    return 0
  }
}
