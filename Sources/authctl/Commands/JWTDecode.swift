internal import ArgumentParser
internal import AuthKit

/// `authctl jwt`
struct JWTGroup: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "jwt", abstract: "Look into a JSON Web Token.", subcommands: [JWTDecode.self])
}

/// `authctl jwt decode [FILE|-]`
struct JWTDecode: Command {
  static let configuration = CommandConfiguration(
    commandName: "decode", abstract: "Print header and claims of a token; nothing is verified.",
    usage: "authctl jwt decode [<options>] [<file>]",
    discussion: """
      Without a file the stored session's access token, as it is; no network.

      Examples:
        authctl jwt decode -p shop
        pbpaste | authctl jwt decode - --json
      """)

  @Argument(
    help: ArgumentHelp("A file that holds the token; - is standard input.", valueName: "file"))
  var file: String?

  @OptionGroup var output: JSONOutput
  @OptionGroup(title: "Global options") var globals: Globals

  var wantsJSON: Bool { output.json }

  func run(in app: App) throws(Failure) -> Int32 {
    let token = try token(app)
    guard let decoded = token.withBytes({ JWT.decode($0) }) else {
      throw Failure(
        .failed, "this token is not a JSON Web Token: only the server can look into it",
        hint: "a JWT has three parts with dots between (RFC 7519)")
    }
    app.console.insist("not verified: the signature was not looked at")
    let now = App.now()
    let times = ["iat", "nbf", "auth_time", "exp"].compactMap { name -> (String, Moment)? in
      decoded.payload[name]?.double.flatMap { Moment.bounded(epoch: $0, now: now) }
        .map { (name, $0) }
    }
    let end = times.first { $0.0 == "exp" }?.1
    if output.json {
      try app.console.out(
        JSONValue.object([
          ("header", decoded.header), ("payload", decoded.payload),
          ("expires_at", Words.time(end)),
          ("seconds_left", end.map { .number(($0.seconds - now.seconds).rounded()) } ?? nil),
          ("verified", false),
        ]).serialized())
      return 0
    }
    try app.console.out(decoded.header.prettyPrinted(colour: false).trimmingLineEnd)
    try app.console.out(decoded.payload.prettyPrinted(colour: false).trimmingLineEnd)
    for (name, moment) in times {
      try app.console.out("\(name): \(moment.localText()), \(Self.spoken(moment, now))")
    }
    return 0
  }

  private static func spoken(_ moment: Moment, _ now: Moment) -> String {
    let left = moment.seconds - now.seconds
    return left > 0 ? "in \(Moment.spoken(left))" : "\(Moment.spoken(-left)) ago"
  }

  private func token(_ app: App) throws(Failure) -> Secret {
    guard let file else {
      let choice = try app.choose()
      let keeper = try app.keeper(for: choice.profile, mayPrompt: false)
      let session = try app.session(for: choice, keeper)
      guard let token = session.accessToken else { throw keeper.notSignedIn(session.account) }
      return token.secret.copy()
    }
    // A token in the arguments can be read by every user of the machine (rule B7).
    guard file.utf8.count(where: { $0 == UInt8(ascii: ".") }) != 2 || file.utf8.count < 40 else {
      throw Failure(
        .usage, "a token does not belong on the command line",
        hint: "authctl jwt decode - reads it from standard input")
    }
    let source = SecretSource(kind: .token, file: file, variable: "jwt decode")
    guard let secret = try app.secrets([source]).read(.token) else {
      throw Failure(.inputNeeded, "there is no token in \(DisplayText.oneLine(file))")
    }
    return secret
  }
}
