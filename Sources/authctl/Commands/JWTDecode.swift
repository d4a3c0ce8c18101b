internal import ArgumentParser
internal import AuthKit

/// `authctl jwt decode [FILE|-]`
struct JWTDecode: Command {
  static let configuration = CommandConfiguration(
    commandName: "decode", abstract: "Print a token's header and claims, without verifying it.",
    usage: "authctl jwt decode [<options>] [<file>]",
    discussion: """
      Without a file, decodes the stored session's access token. Sends no request.

      Examples:
        authctl jwt decode -p shop
        wl-paste | authctl jwt decode - --json
      """
  ).alone

  @Argument(
    help: ArgumentHelp("A file with the token; - is standard input.", valueName: "file"))
  var file: String?

  @OptionGroup var output: JSONOutput
  @OptionGroup(title: "Global options") var globals: Globals

  var wantsJSON: Bool { output.json }

  func run(in app: App) throws(Failure) -> Int32 {
    let token = try token(app)
    guard let decoded = token.withBytes({ JWT.decode($0) }) else {
      throw Failure(
        .failed, "this token is not a JSON Web Token: only the server can decode it",
        hint: "a JWT has three parts, separated by dots (RFC 7519)")
    }
    app.console.insist("the signature was not verified")
    let now = Clock.now()
    let times = ["iat", "nbf", "auth_time", "exp"].compactMap { name -> (String, Timestamp)? in
      decoded.payload[name]?.double.flatMap(Self.moment).map { (name, $0) }
    }
    let end = times.first { $0.0 == "exp" }?.1
    if output.json {
      let value = JSONValue.object([
        ("header", decoded.header), ("payload", decoded.payload),
        ("expires_at", Messages.time(end)),
        ("seconds_left", end.map { .number(($0.seconds - now.seconds).rounded()) } ?? nil),
        ("verified", false),
      ])
      try app.console.isOutTerminal ? app.console.out(pretty: value) : app.console.out(value)
      return 0
    }
    try app.console.out(pretty: decoded.header)
    try app.console.out(pretty: decoded.payload)
    for (name, moment) in times {
      try app.console.out("\(name): \(moment.localText()), \(Self.spoken(moment, now))")
    }
    return 0
  }

  /// Returns a claim's time, however far off (it is only printed); above 1e11 in milliseconds.
  private static func moment(_ epoch: Double) -> Timestamp? {
    let seconds = epoch > 1e11 ? epoch / 1000 : epoch
    return (0...1e11).contains(seconds) ? Timestamp(seconds: seconds) : nil
  }

  private static func spoken(_ moment: Timestamp, _ now: Timestamp) -> String {
    let left = moment.seconds - now.seconds
    return left > 0 ? "in \(Timestamp.spoken(left))" : "\(Timestamp.spoken(-left)) ago"
  }

  /// Returns whether `text` has 3 or 5 parts of base64url (RFC 7515, RFC 7516).
  private static func looksLikeToken(_ text: String) -> Bool {
    let dots = text.utf8.count { $0 == UInt8(ascii: ".") }
    return [2, 4].contains(dots) && text.utf8.count >= 40
      && text.utf8.allSatisfy { $0.isLetterOrDigit || "-_.=".utf8.contains($0) }
  }

  private func token(_ app: App) throws(Failure) -> Secret {
    guard let file else {
      let choice = try app.choose()
      let keeper = try app.localKeeper(for: choice.profile, mayPrompt: false)
      let session = try app.session(for: choice, keeper)
      return try keeper.tokenToRead(of: session)
    }
    // A token in the arguments can be read by every user of the machine (rule B7).
    guard !Self.looksLikeToken(file) else {
      throw Failure(
        .usage, "do not put a token on the command line",
        hint: "to read it from standard input, run: authctl jwt decode -")
    }
    let source = SecretSource(kind: .token, file: file, variable: "jwt decode")
    guard let secret = try app.secrets([source]).read(.token) else {
      throw Failure(.inputNeeded, "there is no token in \(DisplayText.oneLine(file))")
    }
    return secret
  }
}
