internal import ArgumentParser
internal import AuthKit

/// `authctl whoami`
struct Whoami: Command {
  static let configuration = CommandConfiguration(
    commandName: "whoami", abstract: "Who the session is: asks the server.",
    usage: "authctl whoami [<options>]",
    discussion: """
      Examples:
        authctl whoami
        authctl whoami -p shop --json
        authctl whoami --offline
      """)

  @Flag(help: "Answer from the store; no network, no dialog.")
  var offline = false

  @OptionGroup var output: JSONOutput
  @OptionGroup(title: "Global options") var globals: Globals

  var wantsJSON: Bool { output.json }

  func run(in app: App) throws(Failure) -> Int32 {
    let choice = try app.choose()
    let keeper = try app.keeper(for: choice.profile, mayPrompt: !offline)
    let session = try app.session(for: choice, keeper)
    var account = session.account
    var user: JSONValue = nil
    var source = "store"
    if !offline, let call = choice.profile.recipe.whoami {
      let answer = try keeper.whoami(session)
      account = answer.name ?? account
      // Some answer with the token itself, under any name.
      let secrets =
        session.values.all.filter { !$0.name.isSession }.map(\.value.text)
        + session.cookies.cookies.map(\.value)
      user = answer.user.withoutSecrets(secrets)
      if answer.name == nil, !account.isEmpty {
        app.console.notice(
          "The server does not tell the account by name: this is the one that signed in.")
      }
      source = "server"
      app.console.verbose(
        "* \(keeper.api.base.origin), answered by \(call.method) \(call.shownPath)")
    } else if !offline {
      app.console.notice(
        "\(choice.profile.name) has no who-am-I: this is the account that signed in.")
    }
    if output.json {
      try app.console.out(
        JSONValue.object([
          ("profile", .string(choice.profile.name)),
          ("account", account.isEmpty ? nil : .string(account)),
          ("origin", .string(keeper.api.base.origin.description)),
          ("source", .string(source)), ("user", user),
        ]).serialized())
    } else if account.isEmpty {
      throw Failure(
        .failed, "\(choice.profile.name): the server does not tell the account by name",
        hint: "authctl whoami --json shows what it tells")
    } else {
      try app.console.out(DisplayText.oneLine(account))
    }
    return 0
  }
}

extension JSONValue {
  /// Without members that are secret, by their names or because they hold one of `secrets`: some
  /// APIs answer with the whole row of their user table, password hash included.
  fileprivate func withoutSecrets(_ secrets: [String]) -> JSONValue {
    switch self {
    case .object(let members):
      .object(
        members.filter { member in
          let isText = member.value.scalarText != nil
          return !(isText && Self.isSecretName(member.key)) && !member.value.isOne(of: secrets)
        }
        .map { ($0.key, $0.value.withoutSecrets(secrets)) })
    case .array(let items):
      .array(items.filter { !$0.isOne(of: secrets) }.map { $0.withoutSecrets(secrets) })
    default: self
    }
  }

  private func isOne(of secrets: [String]) -> Bool {
    guard let text else { return false }
    return secrets.contains { $0.utf8.elementsEqual(text.utf8) }
  }

  private static func isSecretName(_ name: String) -> Bool {
    let name = name.lowercased()
    let words = ["password", "passwd", "salt", "secret", "token", "digest", "hash", "otp"]
    return words.contains { word in
      name.utf8.indices.contains { name.utf8[$0...].starts(with: word.utf8) }
    }
  }
}
