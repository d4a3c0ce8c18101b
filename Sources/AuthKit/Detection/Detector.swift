/// Detects how to use an API with GET and OPTIONS requests that carry no credential, only to the
/// origin that was named (rule A13).
package struct Detector {
  /// The maximum number of requests, and of those to the root of a URL with a path: `/` and the
  /// descriptions.
  static let mostRequests = 12
  package static let mostAtRoot = 6
  /// The limits of a response: its bytes, and the seconds to wait for it.
  static let mostBytes = 2 << 20
  static let seconds: Double = 10

  let base: WebURL
  private let http: HTTPClient
  private let profile: Profile
  private let most: Int
  var detection: Detection
  /// By path, with `OPTIONS ` before it for another method than GET.
  private(set) var answers: [String: RecipeResponse] = [:]
  /// Whether the API's description was found.
  private var hasDocument = false
  /// A path that requires a credential, according to the API's description.
  private var protectedPath: String?

  /// A detector for the API of `profile`, which needs no recipe.
  ///
  /// - Throws: `Failure` of kind `origin_refused` for plain HTTP to another machine.
  package init(
    _ profile: Profile, base: WebURL, http: HTTPClient, most: Int = mostRequests
  ) throws(Failure) {
    guard base.origin.isSecure || base.origin.isLoopback else {
      throw Failure(
        .originRefused, "refused to detect the API at \(base.origin) over plain HTTP",
        hint: "use https, or add the profile: authctl profile add NAME URL --set login.path=/...")
    }
    self.profile = profile
    self.base = base
    self.most = most
    self.http = http
    detection = Detection(url: Self.base(base.origin, base.path))
  }

  /// Returns a base URL as people write it: without a trailing slash.
  private static func base(_ origin: Origin, _ path: String) -> String {
    origin.description + path.withoutTrailingSlashes
  }

  /// Sends requests until a finding is certain or nothing is left to try.
  ///
  /// - Throws: the failure of the first request, when the API cannot be reached.
  package mutating func run() throws(Failure) -> Detection {
    var marks = Fingerprint.all().filter { $0.endpoint == nil }
    try ask("/")
    try lookForResource(named: "/")
    look(for: &marks, at: "GET /")
    marks.removeAll { !$0.isWorthAsking(after: answers["/"]) }
    for path in Self.documents where !isCertain && !hasDocument {
      try ask(path)
      readDocument(path)
    }
    if let protectedPath, !isCertain {
      try ask(protectedPath)
      try lookForResource(named: protectedPath)
    }
    try lookForAuthorizationServer()
    // First what the answer to / suggests, then what several presets share, then general marks.
    func rank(_ marks: [Fingerprint]) -> Int {
      marks.count + (marks.contains { !$0.after.isEmpty } ? 100 : 0)
    }
    let requests = Dictionary(grouping: marks, by: \.request)
      .sorted { (rank($0.value), $0.key) > (rank($1.value), $1.key) }
    for (request, marked) in requests where !isCertain {
      try ask(marked[0].path, by: marked[0].method)
      look(for: &marks, at: request)
    }
    if !isCertain { lookForChallenge() }
    detection.findings.sort { $0.certainty > $1.certainty }
    return detection
  }

  /// The usual paths of API descriptions, and those of frameworks that generate them.
  private static let documents = [
    "/openapi.json", "/swagger.json", "/v3/api-docs", "/swagger/v1/swagger.json",
    "/api/schema/?format=json",
  ]

  /// Looks only for the authorization server of the API, and returns what was found.
  ///
  /// - Throws: as `run`.
  package mutating func runForAuthorizationServer() throws(Failure) -> Detection {
    try ask("/")
    try lookForResource(named: "/")
    try lookForAuthorizationServer()
    return detection
  }

  var isCertain: Bool {
    detection.findings.contains { $0.certainty == .certain && !$0.settings.isEmpty }
  }

  // MARK: - Asking

  mutating func ask(_ path: String, by method: String = "GET") throws(Failure) {
    let place = method == "GET" ? path : "\(method) \(path)"
    guard answers[place] == nil, detection.tried.count < most else { return }
    let isFirst = detection.tried.isEmpty
    // Well-known paths and product marks are at the root of the origin; documents below the base.
    let isDocument = Self.documents.contains(path)
    let start = Self.base(base.origin, isDocument ? base.path : "")
    let target = path == "/" ? base.path : start.dropFirst(base.origin.description.count) + path
    do throws(Failure) {
      let url = try WebURL(base.origin.description + target, from: .person)
      forgetLongAnswers()
      let (head, body) = try http.look(
        at: url, by: method, seconds: Self.seconds, most: Self.mostBytes)
      answers[place] = RecipeResponse(head: head, body: body, url: url, of: profile)
      detection.tried.append("\(method) \(target): \(head.status)")
    } catch {
      // An unreachable API shows nothing; one that answers strangely may show more.
      if isFirst, [.network, .tls, .timeout].contains(error.kind) { throw error }
      detection.tried.append("\(method) \(target): \(error.message)")
    }
  }

  /// Drops long bodies, which have been read by now, so that only one is held; their heads stay.
  private mutating func forgetLongAnswers() {
    for (path, answer) in answers where answer.body.count > 65_536 {
      answers[path] = RecipeResponse(head: answer.head, body: [], url: answer.url, of: profile)
    }
  }

  // MARK: - Marks of products

  private mutating func look(for marks: inout [Fingerprint], at request: String) {
    for mark in marks where mark.request == request {
      let place = mark.method == "GET" ? mark.path : request
      guard let answer = answers[place], mark.isShown(by: answer) else { continue }
      var finding = Finding(
        mark.isLikely ? .likely : .certain, at: place, "matches the preset \(mark.preset)",
        why: Presets.summary(mark.preset))
      finding.settings = [("preset", .string(mark.preset))]
      // Marks are at the root of the origin, and so is what the preset names.
      if mark.path != "/", !detection.url.utf8.elementsEqual(base.origin.description.utf8) {
        finding.settings.insert(("url", .string(base.origin.description)), at: 0)
      }
      detection.findings.append(finding)
    }
    marks.removeAll { $0.request == request }
  }

  /// Adds what a protected path requires, from the paths already requested.
  private mutating func lookForChallenge() {
    let refused = answers.filter { $0.value.head.status == 401 && $0.key.utf8.first == 0x2F }
    guard let (path, answer) = refused.min(by: { $0.key < $1.key }) else { return }
    for value in answer.head.all("WWW-Authenticate") {
      let scheme = String(decoding: value.utf8.prefix { $0 != 0x20 }, as: UTF8.self)
      var finding = Finding(
        .possible, at: path, "requires \(DisplayText.oneLine(scheme, limit: 20)) authentication",
        why: "it answers 401 with WWW-Authenticate (RFC 9110, section 11.6.1)")
      if scheme.asciiLowercased == "basic" {
        finding.certainty = .likely
        finding.settings = [("preset", "http-basic")]
        if path != "/" { finding.settings.append(("login.path", .string(path))) }
      }
      detection.findings.append(finding)
    }
  }

  // MARK: - Documents

  private mutating func readDocument(_ path: String) {
    guard let answer = answers[path], let json = answer.json,
      let document = OpenAPI(json, url: answer.url)
    else { return }
    hasDocument = true
    let shown = String(decoding: path.utf8.prefix { $0 != UInt8(ascii: "?") }, as: UTF8.self)
    protectedPath = protectedPath ?? document.protectedPath
    if !document.isElsewhere {
      detection.paths = APIPaths(
        base: Self.base(base.origin, document.basePath), document.described)
    }
    for url in document.foreign {
      detection.findings.append(
        Finding(
          .possible, at: shown, "names another origin, which authctl does not use",
          why: DisplayText.oneLine(Redactor.withoutQuery(url), limit: 80)))
    }
    var found = document.bodies(of: "POST", where: SignInOperation.isSignIn)
      .compactMap(SignInOperation.init).prefix(5).map { finding($0, shown, document) }
    if found.isEmpty, let path = document.passwordGrant {
      found = [passwordGrant(path, shown, document)]
    }
    if found.isEmpty, let schemes = schemes(shown, document) { found = [schemes] }
    let url = Self.base(base.origin, document.basePath)
    for var finding in found {
      if document.isElsewhere {
        finding.certainty = .possible
        finding.settings = []
      }
      // The document says where its paths begin, whatever base was asked.
      if !finding.settings.isEmpty, !url.utf8.elementsEqual(detection.url.utf8) {
        finding.settings.insert(("url", .string(url)), at: 0)
      }
      detection.findings.append(finding)
    }
  }

  private func finding(
    _ signIn: SignInOperation, _ place: String, _ document: OpenAPI
  ) -> Finding {
    let operation = signIn.operation
    let preset = signIn.preset(among: document.operations)
    let isGeneral = preset == "json" || preset == "form"
    let like = preset.map { isGeneral ? "" : ", like \($0)" } ?? ""
    let answer = signIn.tokenPlace.map { "; the token is at \($0)" } ?? ""
    var finding = Finding(
      preset != nil || signIn.tokenPlace != nil ? .certain : .likely, at: place,
      "signs in with \(operation.spokenEncoding) at \(document.basePath)\(operation.path)\(like)",
      why: "\(operation.method) \(operation.path) takes "
        + "\(DisplayText.oneLine(signIn.userField)) and "
        + "\(DisplayText.oneLine(signIn.passwordField))\(answer)")
    for field in signIn.furtherFields {
      finding.why += "; requires --field \(DisplayText.oneLine(field, limit: 40))=VALUE"
    }
    if let preset, !isGeneral {
      finding.settings = [("preset", .string(preset))]
    } else {
      finding.settings = signIn.settings
    }
    return finding
  }

  /// Returns the finding for a token endpoint without an operation (RFC 6749, section 4.3.2).
  private func passwordGrant(_ path: String, _ place: String, _ document: OpenAPI) -> Finding {
    var finding = Finding(
      .likely, at: place, "signs in with a form at \(document.basePath)\(path)",
      why: "tokenUrl of its password flow (RFC 6749, section 4.3)")
    finding.settings = [
      ("preset", "form"), ("login.path", .string(path)),
      (
        "login.body",
        .object([
          (key: "grant_type", value: "password"), (key: "username", value: "{username}"),
          (key: "password", value: "{password}"),
        ])
      ),
    ]
    return finding
  }

  private func schemes(_ place: String, _ document: OpenAPI) -> Finding? {
    let schemes = document.schemes.compactMap(\.told).joined(separator: ", ")
    guard !schemes.isEmpty else { return nil }
    var finding = Finding(
      .possible, at: place, "describes no sign-in; requests carry \(schemes)",
      why: "its security schemes")
    if let header = document.keyHeader, header.asciiLowercased != "authorization" {
      finding.settings = [
        ("preset", "api-key"),
        ("request.headers", .object([(key: header, value: .string("{access_token}"))])),
      ]
    }
    return finding
  }
}
