internal import ArgumentParser
internal import AuthKit

/// `authctl helper git get|store|erase`
///
/// https://git-scm.com/docs/git-credential, https://git-scm.com/docs/gitcredentials
struct HelperGit: Command {
  static let configuration = CommandConfiguration(
    commandName: "git", abstract: "Answer git (credential.helper = authctl).",
    usage: "authctl helper git [<options>] get|store|erase",
    discussion: """
      Examples:
        git config --global credential.https://git.example.helper authctl
        printf 'protocol=https\\nhost=git.example\\n\\n' | authctl helper git get
      """
  ).alone

  @Argument(help: ArgumentHelp("The operation: get, store or erase.", valueName: "operation"))
  var operation: String
  @OptionGroup(title: "Global options") var globals: Globals

  func run(in app: App) throws(Failure) -> Int32 {
    // store and erase do nothing: only login and logout change sessions.
    guard let bytes = HelperCredential.input(), operation == "get", let request = Self.read(bytes)
    else {
      return 0
    }
    guard let scheme = request["protocol"], scheme == "https" || scheme == "http",
      let host = request["host"], let origin = Origin(canonical: "\(scheme)://\(host)")
    else { return 0 }
    let answerer = HelperCredential(app: app, givesPasswords: true)
    guard
      let found = try answerer.credential(for: origin, username: request["username"])
    else { return 0 }
    for line in try Self.lines(found, takesSchemes: request["authtype"] != nil) {
      try app.console.out(line)
    }
    return 0
  }

  private static func lines(
    _ found: HelperCredential.Credential, takesSchemes: Bool
  ) throws(Failure) -> [String] {
    var lines: [String] = []
    let parts = found.header.value.utf8.split(separator: UInt8(ascii: " "), maxSplits: 1)
      .map { String(decoding: $0, as: UTF8.self) }
    let isPassword = found.keeper.api.profile.recipe.session.keepPassword
    if takesSchemes, !isPassword, parts.count == 2,
      found.header.name.lowercased() == "authorization"
    {
      lines = ["capability[]=authtype", "authtype=\(parts[0])", "credential=\(parts[1])"]
    } else {
      lines = ["username=\(found.session.account)", "password=\(found.secret)"]
    }
    if let end = found.session.expiresAt {
      lines.append(
        "password_expiry_utc=\(JSONValue.number(end.seconds.rounded(.down)).serialized())")
    }
    // git takes any name that fits on a line; the other values are checked as any credential.
    for line in lines where !line.utf8.starts(with: "username=".utf8) {
      try HelperCredential.check(line)
    }
    guard !found.session.account.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
      throw Failure(.failed, "the account contains a control character")
    }
    return lines
  }

  /// Reads `key=value` lines; `authtype` means the capability of that name. nil for what git never
  /// writes: a repeated key that identifies the credential, or a control byte.
  static func read(_ bytes: [UInt8]) -> [String: String]? {
    var request: [String: String] = [:]
    for line in bytes.split(separator: 0x0A, omittingEmptySubsequences: false) {
      if line.isEmpty { break }
      guard line.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }),
        let mark = line.firstIndex(of: UInt8(ascii: "="))
      else { return nil }
      let key = String(decoding: line[..<mark], as: UTF8.self)
      let value = String(decoding: line[(mark + 1)...], as: UTF8.self)
      if key == "capability[]" {
        if value == "authtype" { request["authtype"] = value }
        continue
      }
      guard ["protocol", "host", "username"].contains(key) else { continue }
      guard request[key] == nil else { return nil }
      request[key] = value
    }
    return request
  }
}
