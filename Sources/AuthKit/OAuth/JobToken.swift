/// The request for the token of a job at GitHub Actions (rule B17).
/// https://docs.github.com/actions/reference/security/oidc
package struct JobToken {
  /// The variables of a job that may ask for a token: where, and with which credential.
  package static let urlVariable = "ACTIONS_ID_TOKEN_REQUEST_URL"
  package static let tokenVariable = "ACTIONS_ID_TOKEN_REQUEST_TOKEN"
  /// What the hosts of GitHub that issue tokens end in.
  private static let hosts = ".actions.githubusercontent.com"

  let url: WebURL
  /// Whom the token is for.
  let audience: String

  /// - Parameters:
  ///   - text: the URL that the job has in its environment.
  ///   - host: a host that may be asked besides those of GitHub.
  /// - Throws: `usage` when `host` is no host, `origin_refused` for a URL that may not be asked: an
  ///   earlier step of the job can have set it.
  package init(_ text: String, host: String?, audience: String) throws(Failure) {
    let named = try host.map { (text) throws(Failure) in try Self.host(text) }
    let url: WebURL
    do throws(Failure) { url = try WebURL(text, from: .server) } catch {
      throw Failure(.originRefused, "\(Self.urlVariable): \(error.message)", hint: error.hint)
    }
    let origin = url.origin
    let isNamed = named.map { origin.host.utf8.elementsEqual($0.utf8) } ?? false
    guard
      isNamed
        || origin.host.utf8.count > Self.hosts.utf8.count
          && origin.host.utf8.suffix(Self.hosts.utf8.count).elementsEqual(Self.hosts.utf8)
    else {
      throw Failure(
        .originRefused, "\(Self.urlVariable) leads to \(origin), which is not GitHub",
        hint: "--ci-host HOST permits the host of a GitHub Enterprise Server")
    }
    guard origin.isSecure || isNamed && origin.isLoopback else {
      throw Failure(.originRefused, "\(Self.urlVariable) is not an https URL: \(origin)")
    }
    guard !url.hasParameter("audience") else {
      throw Failure(.originRefused, "\(Self.urlVariable) names an audience itself")
    }
    self.url = try url.adding([
      WireParameter(name: "audience", value: SharedSecret(audience), isCredential: false)
    ])
    self.audience = audience
  }

  private static func host(_ text: String) throws(Failure) -> String {
    guard let url = try? WebURL("https://\(text)", from: .person), url.path == "/",
      url.query == nil, url.origin.port == 443
    else {
      throw Failure(
        .usage, "--ci-host \(DisplayText.oneLine(text, limit: 80)) is not a host",
        hint: "write the host alone, such as github.example.com")
    }
    return url.origin.host
  }

  /// Asks for the token.
  ///
  /// - Parameter credential: the job's, which the redactor knows already.
  /// - Throws: `credentials_refused`, `client_error`, `server_error` by the status,
  ///   `answer_not_understood` for a redirect and for a token for another audience; what sending
  ///   throws.
  package func request(
    with credential: SharedSecret, _ api: RecipeClient
  ) throws(Failure) -> SharedSecret {
    if let refusal = api.refusal { throw refusal }
    var header = SecretBuilder()
    header.append("Bearer ")
    header.append(credential.secret)
    var request = WireRequest(method: "GET", url: url)
    request.headers = [try WireHeader(name: "Authorization", value: header.secret())]
    try api.http.addDefaults(to: &request)
    let (head, body) = try api.http.call(
      request, seconds: HTTPClient.signInTime, showsCertificate: false
    ) { _ in }
    let answer = RecipeResponse(head: head, body: body, url: url, of: api.profile)
    guard (200...299).contains(head.status) else { throw refusal(answer) }
    guard let token = answer.json?["value"]?.text, !token.isEmpty,
      token.utf8.count <= RecipeResponse.largestValue
    else {
      throw failure(.answerNotUnderstood, "GitHub answered without a token of the job", answer)
    }
    api.redactor.learn(token)
    guard isForAudience(token) else {
      throw failure(
        .answerNotUnderstood, "GitHub answered with a token for another audience", answer)
    }
    return SharedSecret(token)
  }

  private func isForAudience(_ token: String) -> Bool {
    (JWT.payload(of: token).map(JWT.audiences) ?? [])
      .contains { $0.utf8.elementsEqual(audience.utf8) }
  }

  private func refusal(_ answer: RecipeResponse) -> Failure {
    switch answer.head.status {
    case 300...399:
      failure(
        .answerNotUnderstood, "GitHub answered with a redirect, which is not followed", answer)
    case 401, 403:
      failure(
        .credentialsRefused, "GitHub refused a token to this job", answer,
        hint: "the job needs the permission id-token: write")
    case 500...: failure(.serverError, "GitHub issued no token", answer, hint: "try again later")
    default: failure(.clientError, "GitHub issued no token", answer)
    }
  }

  /// The server's own words are left out: they may repeat the request.
  private func failure(
    _ kind: Failure.Kind, _ message: String, _ answer: RecipeResponse, hint: String? = nil
  ) -> Failure {
    var failure = Failure(kind, "\(message) (HTTP \(answer.head.status))", hint: hint)
    failure.status = answer.head.status
    failure.url = Redactor.withoutQuery(url.text)
    return failure
  }
}
