internal import ArgumentParser
internal import AuthKit

/// `authctl helper bazel get`
///
/// https://github.com/EngFlow/credential-helper-spec
struct HelperBazel: Command {
  static let configuration = CommandConfiguration(
    commandName: "bazel", abstract: "Answer Bazel (--credential_helper).",
    usage: "authctl helper bazel [<options>] get",
    discussion: """
      Examples:
        bazel build --credential_helper=cache.example=bazel-credential-authctl //...
        echo '{"uri":"https://cache.example/"}' | authctl helper bazel get
      """
  ).alone

  @Argument(help: ArgumentHelp("The operation: get.", valueName: "operation"))
  var operation: String
  @OptionGroup(title: "Global options") var globals: Globals

  func run(in app: App) throws(Failure) -> Int32 {
    guard operation == "get" else {
      throw Failure(.usage, "unknown operation \(DisplayText.oneLine(operation, limit: 40))")
    }
    guard let origin = HelperCredential.input().flatMap(Self.origin),
      let found = try HelperCredential(app: app, givesPasswords: false).credential(for: origin)
    else {
      try app.console.out(#"{"headers":{}}"#)
      return 0
    }
    try HelperCredential.check(found.header.value)
    var members: [(key: String, value: JSONValue)] = [
      ("headers", .object([(found.header.name, .array([.string(found.header.value)]))]))
    ]
    if let end = found.session.expiresAt { members.append(("expires", .string(end.rfc3339))) }
    try app.console.out(JSONValue.object(members))
    return 0
  }

  /// Returns the origin that a request asks for; nil for what is no request, or not canonical.
  static func origin(of request: [UInt8]) -> Origin? {
    (try? JSONValue.parse(request))?["uri"]?.text.flatMap { Origin(canonicalStartOf: $0) }
  }
}
