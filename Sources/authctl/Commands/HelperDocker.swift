internal import ArgumentParser
internal import AuthKit

/// `authctl helper docker get|store|erase|list`
///
/// https://github.com/docker/docker-credential-helpers
struct HelperDocker: Command {
  static let configuration = CommandConfiguration(
    commandName: "docker", abstract: "Answer docker and podman (credHelpers).",
    usage: "authctl helper docker [<options>] get|store|erase|list",
    discussion: """
      ~/.docker/config.json: {"credHelpers":{"registry.example":"authctl"}}

      Examples:
        echo registry.example | authctl helper docker get
        authctl helper docker list
      """
  ).alone

  @Argument(help: ArgumentHelp("The operation: get, store, erase or list.", valueName: "operation"))
  var operation: String
  @OptionGroup(title: "Global options") var globals: Globals

  func run(in app: App) throws(Failure) -> Int32 {
    guard operation != "list" else {
      try app.console.out("{}")
      return 0
    }
    guard ["get", "store", "erase"].contains(operation) else {
      throw Failure(
        .usage, "helper docker has no operation \(DisplayText.oneLine(operation, limit: 40))",
        hint: "the operations are get, store, erase and list")
    }
    guard operation == "get" else {
      throw Failure(
        .failed,
        "docker \(operation == "store" ? "login" : "logout") cannot change authctl's sessions",
        hint: "authctl \(operation == "store" ? "login" : "logout")")
    }
    let server = HelperCredential.input().map {
      String(decoding: $0, as: UTF8.self).trimmingLineEnd
    }
    let answerer = HelperCredential(app: app, givesPasswords: true)
    guard let server, let origin = HelperCredential.origin(ofRegistry: server),
      let found = try answerer.credential(for: origin)
    else {
      // docker recognises this text and goes on without a credential.
      try app.console.out("credentials not found in native keychain")
      return Failure.Kind.failed.exitCode
    }
    try app.console.out(
      JSONValue.object([
        ("ServerURL", .string(server)), ("Username", .string(found.session.account)),
        ("Secret", .string(found.secret)),
      ]))
    return 0
  }
}
