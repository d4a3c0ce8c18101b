internal import ArgumentParser
internal import AuthKit

/// The options of a new profile whose API an authorization server signs in to.
struct OAuthOptions: ParsableArguments {
  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Sign in at this OAuth 2.0 or OpenID Connect issuer.", valueName: "url"))
  var issuer: String?

  @Option(
    name: .customLong("client-id"), parsing: .unconditional,
    help: ArgumentHelp("Use this client ID.", valueName: "id"))
  var clientID: String?

  @Option(
    name: .customLong("client-key"), parsing: .unconditional,
    help: ArgumentHelp("Authenticate the client with this private key (PEM).", valueName: "file"))
  var clientKey: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Use this grant: authorization-code, device-code, client-credentials, password, jwt-bearer or token-exchange.",
      valueName: "grant"))
  var grant: String?

  @Option(
    parsing: .unconditionalSingleValue,
    help: ArgumentHelp("Request this scope.", valueName: "scope"))
  var scope: [String] = []

  @Option(
    parsing: .unconditionalSingleValue,
    help: ArgumentHelp("Request a token for this API (RFC 8707).", valueName: "url"))
  var resource: [String] = []

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Request a token for this audience; not all issuers support it.", valueName: "name"))
  var audience: String?

  /// Whether no option is given that only a new profile takes.
  var isEmpty: Bool { issuer == nil && clientID == nil && clientKey == nil }

  /// Returns `settings` with what the options ask for in one sign-in.
  ///
  /// - Throws: `usage` for an unknown grant.
  func applied(to settings: OAuthSettings) throws(Failure) -> OAuthSettings {
    var settings = settings
    if let grant {
      guard let known = OAuthSettings.Grant(rawValue: grant) else {
        let names = OAuthSettings.Grant.allCases.map(\.rawValue)
        throw Failure(
          .usage, "unknown grant \(DisplayText.oneLine(grant, limit: 40))",
          hint: names.joined(separator: ", "))
      }
      settings.grant = known
    }
    if !scope.isEmpty { settings.scope = scope.joined(separator: " ") }
    if !resource.isEmpty { settings.resources = resource }
    if let audience { settings.audience = audience }
    return settings
  }

  /// The options that are given: name, key of the profile, values, and whether it takes several.
  private var given: [(option: String, key: String, values: [String], isList: Bool)] {
    func one(_ value: String?) -> [String] { value.map { [$0] } ?? [] }
    let all = [
      ("--issuer", "oauth.issuer", one(issuer), false),
      ("--grant", "oauth.grant", one(grant), false),
      ("--client-id", "oauth.client_id", one(clientID), false),
      ("--client-key", "oauth.client_key", one(clientKey.map(File.absolute)), false),
      ("--audience", "oauth.audience", one(audience), false),
      ("--scope", "oauth.scope", scope, true), ("--resource", "oauth.resource", resource, true),
    ]
    return all.filter { !$0.2.isEmpty }
  }

  /// The keys and values that the options set.
  var settings: [(key: String, value: JSONValue)] {
    given.map { option in
      let values = option.values.map { JSONValue.string($0) }
      return (option.key, option.isList ? .array(values) : values[0])
    }
  }

  /// The options as they were given.
  var words: [String] { given.flatMap { option in option.values.flatMap { [option.option, $0] } } }
}

/// The options of one sign-in by a browser.
struct BrowserOptions: ParsableArguments {
  @Flag(
    name: .customLong("no-browser"),
    help: "Do not open a browser: sign in with a code, or paste an address.")
  var noBrowser = false

  @Flag(help: "Sign in with a code, and show its page as a QR code.")
  var qr = false

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Ask the server for this prompt: login, consent or select_account.", valueName: "what"))
  var prompt: String?

  @Option(
    name: .customLong("acr-values"), parsing: .unconditional,
    help: ArgumentHelp("Request this authentication context class (RFC 9470).", valueName: "acr"))
  var acrValues: String?

  @Option(
    name: .customLong("max-age"), parsing: .unconditional,
    help: ArgumentHelp(
      "Require a sign-in that is at most this old.", valueName: "duration"))
  var maxAge: Duration?

  @Option(
    name: .customLong("param"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp("Add a parameter to the authorization request.", valueName: "name=value"))
  var parameters: [String] = []

  /// The options as they were given.
  var words: [String] {
    let values = [
      ("--prompt", prompt), ("--acr-values", acrValues), ("--max-age", maxAge?.text),
    ]
    return (noBrowser ? ["--no-browser"] : []) + (qr ? ["--qr"] : [])
      + values.flatMap { option, value in value.map { [option, $0] } ?? [] }
      + parameters.flatMap { ["--param", $0] }
  }

  /// What the sign-in asks of the server.
  func wishes() throws(Failure) -> AuthorizationRequest.Wishes {
    var wishes = AuthorizationRequest.Wishes()
    wishes.prompt = prompt
    wishes.acrValues = acrValues
    wishes.maxAge = maxAge.map { Int($0.seconds) }
    for text in parameters {
      let (name, value) = try split(text, at: "=", option: "--param", form: "NAME=VALUE")
      guard !OAuthSettings.ownParameters.contains(name.asciiLowercased) else {
        throw Failure(.usage, "--param \(name): authctl sets this parameter itself")
      }
      wishes.parameters.append((name, value))
    }
    return wishes
  }
}
