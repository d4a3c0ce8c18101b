/// A failure, as reported to a person or a script.
///
/// One value holds everything: the exit code, authctl's own sentence, the server's words and the
/// hint. Only `Console` prints errors, as text or as JSON.
package struct Failure: Error {
  /// The kind of failure: the raw value is the `code` of JSON errors, `exitCode` the exit status.
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

    /// Whether the secret store failed.
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

  /// The exit codes of `exec` when its program did not run, as in `env` and `docker run`.
  package enum Exec: Int32 {
    /// authctl failed before it started the program.
    case notBegun = 125
    /// The program exists but cannot be executed.
    case notExecutable = 126
    /// The program does not exist.
    case notFound = 127
  }

  /// The cause of a TLS failure, which decides the hint.
  package enum TLSProblem: Sendable {
    /// The server's key is not the pinned one.
    case pinnedKey
    /// The server requires a client certificate, or another one.
    case clientCertificate
    /// The server's certificate has expired, or is not valid yet.
    case expired, notYetValid
    /// The server's certificate is for another host.
    case hostName
    /// Client and server have no TLS version in common.
    case protocolVersion
    /// Anything else, usually an untrusted authority.
    case authority
  }

  /// The kind of failure.
  package var kind: Kind
  /// What `exec` exits with instead; nil for every other command.
  package var exec: Exec?
  /// The process exit status.
  package var exitCode: Int32 { exec?.rawValue ?? kind.exitCode }
  /// What happened, in authctl's own words; no trailing full stop, no secret.
  package var message: String
  /// The server's own words, each piece as received; `DisplayText` makes them safe to show.
  package var server: [String] = []
  /// The cause of a failure of kind `tls`.
  package var tlsProblem: TLSProblem?
  /// The HTTP status of the response, if there was one.
  package var status: Int?
  /// The server's error code, as received (RFC 6749, section 5.2).
  package var errorCode: String?
  /// The URL in question, without query and user information.
  package var url: String?
  /// The profile's name.
  package var profile: String?
  /// The account's name.
  package var account: String?
  /// The command to run, or a fact that helps.
  package var hint: String? { didSet { suggestion = nil } }
  /// The suggestion that `hint` was made from, if any.
  package private(set) var suggestion: Suggestion?
  /// Whether this machine has no such store, so that it holds no session.
  package var isStoreAbsent = false
  /// Whether the user's own request was interrupted or timed out, rather than a sign-in or renewal
  /// on its behalf. `--retry` may send it again.
  package var isOfRequest = false
  /// The path of the invalid profile key, from the root.
  var key: [String]?

  /// A failure of `kind` with a message and a hint that says how to fix it.
  package init(_ kind: Kind, _ message: String, hint: String? = nil) {
    self.kind = kind
    self.message = message
    self.hint = hint
  }

  /// A library that cannot be opened: it is not installed, or the system has no descriptor or
  /// memory left for it.
  ///
  /// - Parameters:
  ///   - package: the Debian package that has it.
  ///   - reason: the words of dlerror(3).
  static func missingLibrary(
    _ kind: Kind, _ name: String, package: String, reason: String
  ) -> Failure {
    reason.contains(bytesOf: "No such file")
      ? Failure(kind, "\(name) is not installed", hint: "apt install \(package)")
      : Failure(kind, "\(name) cannot be loaded: \(DisplayText.oneLine(reason, limit: 300))")
  }

  /// A failure of `kind` with a message and a command that helps.
  package init(_ kind: Kind, _ message: String, suggestion: Suggestion) {
    self.init(kind, message, hint: suggestion.command)
    self.suggestion = suggestion
  }
}
