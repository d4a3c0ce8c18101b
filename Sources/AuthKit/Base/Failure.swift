/// What a person or a script can be told about something that did not work.
///
/// One value carries everything: the exit code, authctl's own sentence, the server's words and the
/// hint. `Console` writes it, as text or as JSON; nothing else prints an error.
package struct Failure: Error {
  /// The kind of failure: its raw value is the `code` of JSON errors, `exitCode` the process status.
  package enum Kind: String, Sendable {
    case failed
    case usage
    case redirect
    case clientError = "client_error"
    case serverError = "server_error"
    case tooManyRedirects = "too_many_redirects"
    case network
    case tls
    case timeout
    case notSignedIn = "not_signed_in"
    case inputNeeded = "input_needed"
    case sessionExpired = "session_expired"
    case storeLocked = "store_locked"
    case storeMissing = "store_missing"
    case storeTimeout = "store_timeout"
    case originRefused = "origin_refused"
    case credentialsRefused = "credentials_refused"
    case answerNotUnderstood = "answer_not_understood"

    /// Whether it is the secret store that failed.
    package var isOfStore: Bool {
      switch self {
      case .storeLocked, .storeMissing, .storeTimeout: true
      default: false
      }
    }

    /// The process exit status.
    package var exitCode: Int32 {
      switch self {
      case .failed: 1
      case .usage: 2
      case .redirect: 3
      case .clientError: 4
      case .serverError: 5
      case .tooManyRedirects: 6
      case .network: 7
      case .tls: 8
      case .timeout: 9
      case .notSignedIn, .inputNeeded: 10
      case .sessionExpired: 11
      case .storeLocked, .storeMissing, .storeTimeout: 12
      case .originRefused: 13
      case .credentialsRefused: 14
      case .answerNotUnderstood: 15
      }
    }
  }

  /// What `exec` ends with when its program did not run, as `env` and `docker run` do.
  package enum Exec: Int32 {
    /// authctl failed before the program.
    case notBegun = 125
    /// It is there and cannot be executed.
    case notExecutable = 126
    /// There is none of that name.
    case notFound = 127
  }

  /// What was wrong with TLS: it decides what helps.
  package enum TLSProblem: Sendable {
    /// The server has another key than the one that is pinned.
    case pinnedKey
    /// The server requires another certificate of the client, or one at all.
    case clientCertificate
    /// The server's certificate has ended, or is not valid yet.
    case expired, notYetValid
    /// The server's certificate is for another host.
    case hostName
    /// There is no version of TLS that both know.
    case protocolVersion
    /// Anything else, usually an authority that is not trusted.
    case authority
  }

  /// What sort of failure it is.
  package var kind: Kind
  /// What happened, in authctl's own words; no trailing full stop, no secret.
  package var message: String
  /// The server's own words, each piece as it came; `DisplayText` makes them fit to be shown.
  package var server: [String] = []
  /// What was wrong with TLS, for `tls`.
  package var tlsProblem: TLSProblem?
  /// The HTTP status of the answer, where there was one.
  package var status: Int?
  /// The URL in question, without query and user information.
  package var url: String?
  /// The profile's name.
  package var profile: String?
  /// The account's name.
  package var account: String?
  /// The command to run or the fact that helps.
  package var hint: String? { didSet { suggestion = nil } }
  /// The suggestion that is the whole of `hint`, where it was made of one.
  package private(set) var suggestion: Suggestion?
  /// Whether the person's own request broke off, or got no answer in time: not a sign-in or renewal
  /// on its behalf. What `--retry` may send again.
  package var isOfRequest = false
  /// The key of a profile that is wrong, by its names from the root.
  var key: [String]?

  /// A failure of `kind`, said in `message`, with what fixes it in `hint`.
  package init(_ kind: Kind, _ message: String, hint: String? = nil) {
    self.kind = kind
    self.message = message
    self.hint = hint
  }

  /// A failure of `kind`, said in `message`, that `suggestion` helps with.
  package init(_ kind: Kind, _ message: String, suggestion: Suggestion) {
    self.init(kind, message, hint: suggestion.command)
    self.suggestion = suggestion
  }
}
