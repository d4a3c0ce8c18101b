internal import ArgumentParser
internal import AuthKit

/// The services whose jobs have a token of their own (OpenID Connect).
enum CIService: String, ExpressibleByArgument, CaseIterable { case github, gitlab }

/// The options of a sign-in with a token from elsewhere: the grants `token-exchange` and `jwt-bearer`.
struct SubjectOptions: ParsableArguments {
  @OptionGroup var token: SecretOptions<SubjectTokenNames>

  @Option(
    name: .customLong("subject-token-type"), parsing: .unconditional,
    help: ArgumentHelp(
      "Its type (RFC 8693): access_token, id_token, jwt, saml2 or a URI.", valueName: "type"))
  var type: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Sign in with the CI job's own token: github or gitlab.", valueName: "service"))
  var ci: CIService?

  @Option(
    name: .customLong("ci-audience"), parsing: .unconditional,
    help: ArgumentHelp(
      "Ask GitHub for a token for this audience, not that of --audience.", valueName: "name"))
  var audience: String?

  @Option(
    name: .customLong("ci-host"), parsing: .unconditional,
    help: ArgumentHelp(
      "Also accept this host for the job's token (GitHub Enterprise Server).", valueName: "host"))
  var host: String?

  @Option(
    name: .customLong("ci-variable"), parsing: .unconditional,
    help: ArgumentHelp(
      "Find GitLab's token in this variable, not in AUTHCTL_SUBJECT_TOKEN.", valueName: "name"))
  var variable: String?

  /// The option that gives a token; nil if none does.
  var given: String? { ci != nil ? "--ci" : token.source.words?.first }

  /// The options as they were given, except those that give a token.
  var words: [String] {
    let values = [
      ("--ci", ci?.rawValue), ("--ci-audience", audience), ("--ci-host", host),
      ("--ci-variable", variable), ("--subject-token-type", type),
    ]
    return values.flatMap { option, value in value.map { [option, $0] } ?? [] }
  }

  /// Refuses options that do not fit together.
  ///
  /// - Throws: `usage`.
  func check() throws(Failure) {
    if ci != nil, let other = token.source.words?.first {
      throw Failure(.usage, "--ci and \(other) both give the subject token; use one of them")
    }
    for (option, value, service) in [
      ("--ci-audience", audience, CIService.github), ("--ci-host", host, .github),
      ("--ci-variable", variable, .gitlab),
    ] where value != nil && ci != service {
      throw Failure(.usage, "\(option) is for --ci \(service.rawValue)")
    }
  }
}
