internal import ArgumentParser
internal import AuthKit

/// `authctl whoami`
struct Whoami: Command {
  static let configuration = CommandConfiguration(
    commandName: "whoami", abstract: "Ask the server which account the session has.",
    usage: "authctl whoami [<options>] [<name|file>]",
    discussion: """
      Examples:
        authctl whoami
        authctl whoami shop --json
        authctl whoami --offline
      """
  ).alone

  @Flag(help: "Read the store only: no request and no dialog.")
  var offline = false

  @OptionGroup var profile: ProfileArgument
  @OptionGroup var output: JSONOutput
  @OptionGroup(title: "Global options") var globals: Globals

  var wantsJSON: Bool { output.json }
  var profileArgument: String? { profile.name }

  static var preloads: Preload { [.session, .http] }

  func run(in app: App) throws(Failure) -> Int32 {
    let choice = try app.choose()
    let keeper =
      try offline
      ? app.localKeeper(for: choice.profile, mayPrompt: false) : app.keeper(for: choice.profile)
    let session = try app.session(for: choice, keeper)
    var account = session.account
    var user: JSONValue = nil
    var source = "store"
    if !offline, let call = keeper.whoamiCall(of: session) {
      let answer = try keeper.whoami(session)
      account = answer.name ?? account
      // Some servers return the token itself, under any name. By now the redactor knows every
      // token, including one that this call has renewed.
      user = answer.user.withoutSecrets(of: app.redactor, sparing: account)
      if answer.name == nil, !account.isEmpty {
        app.console.notice(
          "The server did not return a name; this is the name you signed in with.")
      }
      source = "server"
      app.console.verbose(
        "* \(keeper.api.base.origin), answered by \(call.method) \(call.shownPath)")
    } else if offline, let claims = session.idTokenClaims {
      user = claims
    } else if !offline, session.variable == nil {
      app.console.notice(
        "\(choice.profile.name) has no whoami request; this is the name you signed in with.")
    }
    if output.json {
      try app.console.out(
        JSONValue.object([
          ("profile", .string(choice.profile.name)),
          ("account", account.isEmpty ? nil : .string(account)),
          ("origin", .string(keeper.api.base.origin.description)),
          ("source", .string(source)), ("user", user),
        ]))
    } else if account.isEmpty {
      throw source == "server"
        ? Failure(
          .failed, "\(choice.profile.name): the server did not return an account name",
          hint: "to see the whole answer, run: authctl whoami --json")
        : Failure(
          .failed, "\(choice.profile.name): a token from a variable has no account",
          hint: offline && choice.profile.recipe.whoami != nil
            ? "leave out --offline to ask the server"
            : "to ask the server, add [whoami] to the profile")
    } else {
      try app.console.out(DisplayText.oneLine(account))
    }
    return 0
  }
}

extension JSONValue {
  /// Returns the value without members that have a secret's name or contain a known secret: some
  /// APIs answer with the whole row of their user table, password hash included.
  ///
  /// - Parameter account: the name to keep, even if the redactor knows it as a secret.
  fileprivate func withoutSecrets(of redactor: Redactor, sparing account: String) -> JSONValue {
    func isSecret(_ value: JSONValue) -> Bool {
      guard let text = value.scalarText, !text.utf8.elementsEqual(account.utf8) else {
        return false
      }
      return !redactor.mask(text).utf8.elementsEqual(text.utf8)
    }

    switch self {
    case .object(let members):
      return .object(
        members.filter { member in
          let isText = member.value.scalarText != nil
          return !(isText && Self.isSecretName(member.key)) && !isSecret(member.value)
        }
        .map { ($0.key, $0.value.withoutSecrets(of: redactor, sparing: account)) })
    case .array(let items):
      return .array(
        items.filter { !isSecret($0) }
          .map { $0.withoutSecrets(of: redactor, sparing: account) })
    default: return self
    }
  }

  private static func isSecretName(_ name: String) -> Bool {
    let name = name.lowercased()
    let words = ["password", "passwd", "salt", "secret", "token", "digest", "hash", "otp"]
    return words.contains(where: name.contains(bytesOf:))
  }
}
