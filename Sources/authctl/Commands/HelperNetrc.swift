internal import ArgumentParser
internal import AuthKit

/// `authctl helper netrc`
struct HelperNetrc: Command {
  static let configuration = CommandConfiguration(
    commandName: "netrc", abstract: "Print a .netrc line for programs that take only that.",
    usage: "authctl helper netrc [<options>]",
    discussion: """
      The line has the token as the password, which few APIs accept. It names no
      port and does not require https.

      Examples:
        authctl helper netrc -p shop
        curl --netrc-file <(authctl helper netrc -p shop) https://shop.example/me
      """
  ).alone

  @OptionGroup(title: "Global options") var globals: Globals

  func run(in app: App) throws(Failure) -> Int32 {
    let found = try HelperCredential.ofNamedProfile(by: "netrc", in: app)
    guard !found.session.account.isEmpty else {
      throw Failure(
        .inputNeeded, "a token from a variable has no account, but .netrc requires one",
        hint: "give the account with -u NAME")
    }
    try HelperCredential.check(found.session.account, "account", forbidden: " #\"\\")
    try HelperCredential.check(found.secret, forbidden: " #\"\\")
    try app.console.out(
      "machine \(found.keeper.api.base.origin.host) login \(found.session.account) "
        + "password \(found.secret)")
    return 0
  }
}
