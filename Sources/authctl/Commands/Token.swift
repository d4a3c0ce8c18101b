internal import ArgumentParser
internal import AuthKit

/// `authctl token`
struct PrintToken: Command {
  static let configuration = CommandConfiguration(
    commandName: "token", abstract: "Print a valid access token, renewed first if necessary.",
    usage: "authctl token [<options>] [<name|file>]",
    discussion: """
      Examples:
        curl -H @<(authctl token shop --header) https://api.shop.example/orders
        authctl token --min-ttl 10m
        authctl token --json
      """
  ).alone

  @Flag(help: "Print the whole header: 'Authorization: Bearer T'.")
  var header = false

  @Option(
    name: .customLong("min-ttl"), parsing: .unconditional,
    help: ArgumentHelp("Renew unless it is valid for at least this long.", valueName: "duration"))
  var minTTL: Duration?

  @Flag(name: .customLong("force-refresh"), help: "Renew the token first, even if it is valid.")
  var forceRefresh = false

  @Flag(
    name: .customLong("allow-password"),
    help: "Print the Authorization header of a stored password.")
  var allowPassword = false

  @Flag(name: .customLong("id-token"), help: "Print the ID token of the sign-in instead.")
  var idToken = false

  @Flag(help: "Introspect the token at the server (RFC 7662).")
  var introspect = false

  @Flag(help: "Mask the token in the log of GitHub Actions, and print nothing else.")
  var mask = false

  @OptionGroup var profile: ProfileArgument
  @OptionGroup var output: JSONOutput
  @OptionGroup(title: "Global options") var globals: Globals

  var wantsJSON: Bool { output.json }
  var profileArgument: String? { profile.name }
  static var preloads: Preload { .session }

  func run(in app: App) throws(Failure) -> Int32 {
    guard !(idToken && introspect), !(header && (idToken || introspect)) else {
      throw Failure(.usage, "--header, --id-token and --introspect cannot be used together")
    }
    guard !mask || !(header || introspect || output.json) else {
      throw Failure(.usage, "--mask cannot be used together with --header, --introspect or --json")
    }
    // Elsewhere nobody takes the line off the log, which would then have the token.
    guard !mask || app.environment["GITHUB_ACTIONS"] == "true" else {
      throw Failure(
        .usage, "--mask is for jobs of GitHub Actions, and GITHUB_ACTIONS is not true here")
    }
    let choice = try app.choose()
    try Messages.refusePassword(choice.profile, allowed: allowPassword)
    let keeper = try app.keeper(for: choice.profile)
    if introspect {
      let about = try keeper.introspection(of: try app.session(for: choice, keeper))
      try app.console.out(about)
      return 0
    }
    let handed = try keeper.handOver(try app.session(for: choice, keeper), isAccess: !idToken) {
      (session) throws(Failure) in
      forceRefresh && session.variable == nil
        ? try keeper.renewed(session, .asked) : try keeper.fresh(session, minimum: minTTL?.seconds)
    }
    let session = handed.session
    if let minTTL, let left = session.secondsLeft(now: Clock.now()), left < minTTL.seconds {
      throw keeper.expired(session, .asked, .tooShort(seconds: minTTL.seconds))
    }
    if mask {
      guard let secret = try idToken ? handed.idToken() : handed.secret else {
        throw keeper.notSignedIn(session.account)
      }
      try app.console.out(Self.maskCommand(secret))
      return 0
    }
    if idToken {
      try app.console.out(try handed.idToken().secret)
      return 0
    }
    let carrier = try handed.header()
    if output.json {
      try app.console.out(
        JSONValue.object([
          ("access_token", handed.token.map { .string($0.text) } ?? nil),
          ("expires_at", Messages.time(session.expiresAt)),
          (
            "header",
            carrier.map { .object([("name", .string($0.name)), ("value", .string($0.value))]) }
              ?? nil
          ),
        ]))
    } else if header || choice.profile.recipe.session.keepPassword {
      guard let carrier else {
        throw Failure(.usage, "\(choice.profile.name) sends no header with a credential")
      }
      try app.console.out("\(carrier.name): \(carrier.value)")
    } else {
      guard let token = handed.token else { throw keeper.notSignedIn(session.account) }
      try app.console.out(token.secret)
    }
    return 0
  }

  /// Returns the command that makes the runner mask `secret` (rule B17). It decodes `%25`, `%0D` and
  /// `%0A`. https://docs.github.com/actions/reference/workflow-commands-for-github-actions
  private static func maskCommand(_ secret: SharedSecret) -> Secret {
    var line = SecretBuilder()
    line.append("::add-mask::")
    secret.withBytes { bytes in
      for byte in bytes {
        switch byte {
        case UInt8(ascii: "%"): line.append("%25")
        case UInt8(ascii: "\r"): line.append("%0D")
        case UInt8(ascii: "\n"): line.append("%0A")
        default: line.append(byte)
        }
      }
    }
    return line.secret()
  }
}
