internal import AuthKit

/// The token from elsewhere that a sign-in hands in: that of an option, or the CI job's own.
struct SubjectToken {
  private let app: App
  private let options: SubjectOptions
  private let reader: SecretReader
  /// The request for the token of a job at GitHub; nil without `--ci github`.
  private let job: (token: JobToken, credential: SharedSecret)?

  /// Checks what the environment says before anything is sent.
  ///
  /// - Parameter audience: that of `--audience`. A profile does not choose for whom the job vouches:
  ///   it may come from somebody else, who could use the token at another service.
  /// - Throws: `usage` without an audience, `input_needed` outside a job, `origin_refused` for a URL
  ///   that may not be asked (rule B17).
  init(
    _ options: SubjectOptions, audience: String?, _ reader: SecretReader, in app: App
  ) throws(Failure) {
    self.app = app
    self.options = options
    self.reader = reader
    job = options.ci == .github ? try Self.job(options, audience, app) : nil
  }

  /// Whether an option gives a token.
  var isWanted: Bool { options.given != nil }

  /// Whether an option or `AUTHCTL_SUBJECT_TOKEN` gives a token.
  var isGiven: Bool { isWanted || reader.isGiven(.subjectToken) }

  /// The command that prints the token; nil without one.
  var command: SharedSecret? { options.token.command.map { SharedSecret($0) } }

  /// Returns `settings` with the type of the token.
  ///
  /// - Throws: `usage` for options that are not for this grant, and for an unknown type.
  func applied(to settings: OAuthSettings, _ grant: OAuthSettings.Grant) throws(Failure)
    -> OAuthSettings
  {
    if let option = options.given, grant != .tokenExchange, grant != .jwtBearer {
      throw Failure(
        .usage, "\(option) is for the grants token-exchange and jwt-bearer, not \(grant.rawValue)",
        hint: "--grant token-exchange, or oauth.grant in the profile, chooses it")
    }
    guard grant == .tokenExchange else {
      guard options.type == nil else {
        throw Failure(.usage, "--subject-token-type is for the grant token-exchange")
      }
      return settings
    }
    var settings = settings
    let type = options.type ?? (options.ci == nil ? nil : "jwt")
    if let type { settings.subjectTokenType = try OAuthSettings.tokenType(type) }
    return settings
  }

  /// Returns the token.
  ///
  /// - Throws: `input_needed` if there is none; what reading it or asking the service throws.
  func read(for api: RecipeClient) throws(Failure) -> SharedSecret {
    switch options.ci {
    case .github:
      guard let job else { break }
      return try job.token.request(with: job.credential, api)
    case .gitlab: return try ofGitLab()
    case nil: break
    }
    let token = try reader.read(.subjectToken) { () throws(Failure) in
      try app.terminal(
        for: "a token to sign in with",
        hint: "--subject-token-stdin, --subject-token-file F, --subject-token-command C, --ci, or "
          + Variable.subjectToken.rawValue
      ).prompt(SecretKind.subjectToken.prompt, for: SecretKind.subjectToken.name)
    }
    guard let token else { throw Failure(.inputNeeded, "a subject token is needed") }
    return SharedSecret(token)
  }

  // MARK: - Jobs

  private static func job(
    _ options: SubjectOptions, _ audience: String?, _ app: App
  ) throws(Failure) -> (JobToken, SharedSecret) {
    guard let audience = options.audience ?? audience, !audience.isEmpty else {
      throw Failure(
        .usage, "--ci github requires an audience",
        hint: "--audience NAME says whom the job's token is for")
    }
    func value(_ name: String) throws(Failure) -> String {
      if let text = app.environment[name], !text.isEmpty { return text }
      throw Failure(
        .inputNeeded, "--ci github: \(name) is not set",
        hint: app.environment["GITHUB_ACTIONS"] == "true"
          ? "give the job the permission id-token: write" : "this is not a job of GitHub Actions")
    }
    let url = try value(JobToken.urlVariable)
    let credential = SharedSecret(try value(JobToken.tokenVariable))
    app.redactor.learn(credential.secret)
    return (try JobToken(url, host: options.host, audience: audience), credential)
  }

  /// The job names the variable itself (https://docs.gitlab.com/ci/yaml/#id_tokens).
  private func ofGitLab() throws(Failure) -> SharedSecret {
    let name = options.variable ?? Variable.subjectToken.rawValue
    guard let text = app.environment[name], !text.isEmpty else {
      throw Failure(
        .inputNeeded,
        "--ci gitlab: \(DisplayText.oneLine(name, limit: 80)) is not set",
        hint: app.environment["GITLAB_CI"] == "true"
          ? "name it below id_tokens of the job, with its aud" : "this is not a job of GitLab CI")
    }
    let token = try Secret(text).withBytes { bytes throws(Failure) in
      try SecretText.checked(
        bytes, name: SecretKind.subjectToken.name, from: DisplayText.oneLine(name, limit: 80),
        limit: SecretKind.subjectToken.limit)
    }
    let shared = SharedSecret(token)
    app.redactor.learn(shared.secret)
    return shared
  }
}
