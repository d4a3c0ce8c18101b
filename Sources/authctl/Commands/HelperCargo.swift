internal import ArgumentParser
internal import AuthKit

/// `authctl helper cargo --cargo-plugin`
///
/// https://doc.rust-lang.org/cargo/reference/credential-provider-protocol.html
struct HelperCargo: Command {
  static let configuration = CommandConfiguration(
    commandName: "cargo", abstract: "Answer cargo (registry.credential-provider).",
    usage: "authctl helper cargo [<options>] --cargo-plugin",
    discussion: """
      In ~/.cargo/config.toml:
        [registry]
        global-credential-providers = ["authctl helper cargo"]

      Examples:
        authctl helper cargo --cargo-plugin
        authctl helper cargo -p crates --cargo-plugin
      """
  ).alone

  @Flag(name: .customLong("cargo-plugin"), help: "Required; cargo adds it.") var plugin = false
  @OptionGroup(title: "Global options") var globals: Globals

  func run(in app: App) throws(Failure) -> Int32 {
    try app.console.out(#"{"v":[1]}"#)
    while let line = HelperCredential.line() {
      if line.isEmpty { continue }
      try app.console.out(try answer(to: try? JSONValue.parse(line), app))
    }
    return 0
  }

  private func answer(to request: JSONValue?, _ app: App) throws(Failure) -> JSONValue {
    func failure(_ kind: String) -> JSONValue {
      .object([("Err", .object([("kind", .string(kind))]))])
    }
    let asked: Origin?
    do throws(Refusal) { asked = try Self.origin(of: request) } catch {
      return failure(error.rawValue)
    }
    guard let origin = asked,
      let found = try HelperCredential(app: app, givesPasswords: false).credential(for: origin)
    else { return failure("not-found") }
    // cargo sends the token as the whole Authorization header.
    guard found.header.name.lowercased() == "authorization" else { return failure("not-found") }
    try HelperCredential.check(found.header.value)
    var answer: [(key: String, value: JSONValue)] = [
      ("kind", "get"), ("token", .string(found.header.value)),
    ]
    if let end = found.session.expiresAt {
      answer += [("cache", "expires"), ("expiration", .number(end.seconds.rounded(.down)))]
    } else {
      answer.append(("cache", "never"))
    }
    answer.append(("operation_independent", true))
    return .object([("Ok", .object(answer))])
  }

  /// The kind of an error, as cargo names it.
  enum Refusal: String, Error {
    case operation = "operation-not-supported"
    case url = "url-not-supported"
  }

  /// Returns the origin of the registry that a request asks a token for; nil if its URL is not
  /// canonical.
  ///
  /// - Throws: `Refusal` for another request, or a registry of git.
  static func origin(of request: JSONValue?) throws(Refusal) -> Origin? {
    guard request?["v"]?.double == 1, request?["kind"]?.text == "get",
      let index = request?["registry"]?["index-url"]?.text
    else { throw .operation }
    let sparse = "sparse+"
    guard index.utf8.starts(with: sparse.utf8) else { throw .url }
    return Origin(
      canonicalStartOf: String(decoding: index.utf8.dropFirst(sparse.utf8.count), as: UTF8.self))
  }
}
